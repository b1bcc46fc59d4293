"""lightmeter: how rankings share out exposure, together with how relevant they are.

Names are loaded when they are first used, so that a program that needs one part does not wait for the others.
"""

from typing import TYPE_CHECKING, Any

from lightmeter.terms.term import homes as _homes

if TYPE_CHECKING:
    from lightmeter.auditing.public import audit
    from lightmeter.auditing.result import AuditResult
    from lightmeter.clicks.estimate import estimate_attention
    from lightmeter.clicks.merit import click_merit
    from lightmeter.clicks.result import AttentionEstimate
    from lightmeter.comparing.comparison import Comparison
    from lightmeter.comparing.making import compare
    from lightmeter.data.collection import Collection
    from lightmeter.data.loading import load
    from lightmeter.data.values import Values
    from lightmeter.errors import InputError, LightmeterError, MissingExtraError, TermError
    from lightmeter.evaluation.evaluate import evaluate
    from lightmeter.evaluation.frontier_exposure import frontier_exposure
    from lightmeter.evaluation.sample import sample
    from lightmeter.exposure.expohedron import decompose
    from lightmeter.exposure.gradient import exposure_gradient
    from lightmeter.exposure.group_frontier import GroupFrontier, group_frontier
    from lightmeter.exposure.policy import expected_exposure, rank_marginals
    from lightmeter.io.write_runs import write_run
    from lightmeter.measures.attention import ABR, ECE, Count, MeanScore, Share
    from lightmeter.measures.base import Measure
    from lightmeter.measures.bias import InputBias, OutputBias, RankingBias, SignedBias
    from lightmeter.measures.diversity import ERR_IA, RBP_IA, D_nDCG, Dsharp_nDCG, StRecall, alpha_nDCG
    from lightmeter.measures.exposure import EED, EEL, EER, EESpread, nEED, nEEL, nEER
    from lightmeter.measures.exposure_sums import MeanExposure
    from lightmeter.measures.groups import AWRF, GF, GFR, DeltaGF, DistrSim, MaxDeviation
    from lightmeter.measures.inequality import IAA, Entropy, GeneralizedEntropy, Gini
    from lightmeter.measures.multisided import JME_AG, JME_AI, JME_GG, JME_GI, JME_IG, JME_II
    from lightmeter.measures.ndkl import NDKL
    from lightmeter.measures.pairwise import Pairwise
    from lightmeter.measures.prefixes import FAIR, MaxSkew, MinSkew, Skew, rKL, rND, rRD
    from lightmeter.measures.ratios import DIR, DTR, ExposureGap, ExposureRatio, logDP, logEUR, logRUR
    from lightmeter.measures.relevance import AP, DCG, ERR, RBP, RR, Judged, P, R, gERR, iRBU, nDCG
    from lightmeter.models.divergences import JSD, KL, NMD, RNOD, TV, W1, Divergence, SqL2
    from lightmeter.models.policies import Oracle, PlackettLuce, Policy, RankTransposition, Samples, Static
    from lightmeter.models.targets import Equal, Given, Ideal, Pool, Proportional, Relevant, Target, Uniform
    from lightmeter.models.users import Attention, Cascade, Inverse, TopK, User
    from lightmeter.report.public import write_report
    from lightmeter.reranking.amortised import Amortised
    from lightmeter.reranking.base import Reranker
    from lightmeter.reranking.columns import ByColumn
    from lightmeter.reranking.const_sort import DetConstSort
    from lightmeter.reranking.fair_exposure import FairExposure
    from lightmeter.reranking.fair_top_k import FairTopK
    from lightmeter.reranking.frontier_point import ExposureOptimal
    from lightmeter.reranking.public import rerank
    from lightmeter.reranking.randomised import EpsilonGreedy
    from lightmeter.reranking.result import Reranking
    from lightmeter.reranking.shares import DetCons, DetGreedy, DetRelaxed
    from lightmeter.reranking.unique import UniquePerValue
    from lightmeter.results.result import Result
    from lightmeter.statistics.fair_tables import FairTable, fair_table
    from lightmeter.sweeping.perform import sweep
    from lightmeter.sweeping.result import SweepResult
    from lightmeter.terms.notation import parse
    from lightmeter.terms.parameters import param
    from lightmeter.terms.term import Term

_HOME = {
    "lightmeter.auditing.public": "audit",
    "lightmeter.auditing.result": "AuditResult",
    "lightmeter.clicks.estimate": "estimate_attention",
    "lightmeter.clicks.merit": "click_merit",
    "lightmeter.clicks.result": "AttentionEstimate",
    "lightmeter.data.collection": "Collection",
    "lightmeter.comparing.comparison": "Comparison",
    "lightmeter.comparing.making": "compare",
    "lightmeter.models.divergences": "JSD KL NMD RNOD TV W1 Divergence SqL2",
    "lightmeter.errors": "InputError LightmeterError MissingExtraError TermError",
    "lightmeter.evaluation.evaluate": "evaluate",
    "lightmeter.exposure.group_frontier": "GroupFrontier group_frontier",
    "lightmeter.evaluation.frontier_exposure": "frontier_exposure",
    "lightmeter.exposure.expohedron": "decompose",
    "lightmeter.exposure.policy": "expected_exposure rank_marginals",
    "lightmeter.exposure.gradient": "exposure_gradient",
    "lightmeter.statistics.fair_tables": "FairTable fair_table",
    "lightmeter.io.write_runs": "write_run",
    "lightmeter.data.loading": "load",
    "lightmeter.measures.attention": "ABR Count MeanScore Share ECE",
    "lightmeter.measures.base": "Measure",
    "lightmeter.measures.exposure": "EED EEL EER nEED nEEL nEER EESpread",
    "lightmeter.measures.groups": "GFR AWRF GF DeltaGF DistrSim MaxDeviation",
    "lightmeter.measures.relevance": "ERR gERR iRBU DCG RBP nDCG AP RR Judged P R",
    "lightmeter.measures.prefixes": "MaxSkew MinSkew Skew rKL rND rRD FAIR",
    "lightmeter.measures.ndkl": "NDKL",
    "lightmeter.measures.ratios": "DIR DTR ExposureGap ExposureRatio logDP logEUR logRUR",
    "lightmeter.measures.inequality": "IAA Entropy GeneralizedEntropy Gini",
    "lightmeter.measures.exposure_sums": "MeanExposure",
    "lightmeter.measures.bias": "InputBias OutputBias RankingBias SignedBias",
    "lightmeter.measures.pairwise": "Pairwise",
    "lightmeter.measures.diversity": "alpha_nDCG D_nDCG Dsharp_nDCG ERR_IA RBP_IA StRecall",
    "lightmeter.measures.multisided": "JME_II JME_IG JME_GI JME_GG JME_AI JME_AG",
    "lightmeter.terms.notation": "parse",
    "lightmeter.terms.parameters": "param",
    "lightmeter.models.policies": "Oracle PlackettLuce Policy RankTransposition Samples Static",
    "lightmeter.report.public": "write_report",
    "lightmeter.reranking.base": "Reranker",
    "lightmeter.reranking.columns": "ByColumn",
    "lightmeter.reranking.const_sort": "DetConstSort",
    "lightmeter.reranking.fair_top_k": "FairTopK",
    "lightmeter.reranking.public": "rerank",
    "lightmeter.reranking.randomised": "EpsilonGreedy",
    "lightmeter.reranking.result": "Reranking",
    "lightmeter.reranking.shares": "DetCons DetGreedy DetRelaxed",
    "lightmeter.reranking.unique": "UniquePerValue",
    "lightmeter.reranking.amortised": "Amortised",
    "lightmeter.reranking.fair_exposure": "FairExposure",
    "lightmeter.reranking.frontier_point": "ExposureOptimal",
    "lightmeter.results.result": "Result",
    "lightmeter.evaluation.sample": "sample",
    "lightmeter.sweeping.perform": "sweep",
    "lightmeter.sweeping.result": "SweepResult",
    "lightmeter.models.targets": "Equal Given Ideal Pool Proportional Relevant Target Uniform",
    "lightmeter.terms.term": "Term",
    "lightmeter.models.users": "Attention Cascade Inverse TopK User",
    "lightmeter.data.values": "Values",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}
_homes.update(_MODULE)
#: Modules that are used by their own name, such as lightmeter.plots.curve.
_PARTS = ("learn", "metrics", "plots")

__all__ = [
    "ABR",
    "AP",
    "AWRF",
    "DCG",
    "DIR",
    "DTR",
    "ECE",
    "EED",
    "EEL",
    "EER",
    "ERR",
    "ERR_IA",
    "FAIR",
    "GF",
    "GFR",
    "IAA",
    "JME_AG",
    "JME_AI",
    "JME_GG",
    "JME_GI",
    "JME_IG",
    "JME_II",
    "JSD",
    "KL",
    "NDKL",
    "NMD",
    "RBP",
    "RBP_IA",
    "RNOD",
    "RR",
    "TV",
    "W1",
    "Amortised",
    "Attention",
    "AttentionEstimate",
    "AuditResult",
    "ByColumn",
    "Cascade",
    "Collection",
    "Comparison",
    "Count",
    "D_nDCG",
    "DeltaGF",
    "DetCons",
    "DetConstSort",
    "DetGreedy",
    "DetRelaxed",
    "DistrSim",
    "Divergence",
    "Dsharp_nDCG",
    "EESpread",
    "Entropy",
    "EpsilonGreedy",
    "Equal",
    "ExposureGap",
    "ExposureOptimal",
    "ExposureRatio",
    "FairExposure",
    "FairTable",
    "FairTopK",
    "GeneralizedEntropy",
    "Gini",
    "Given",
    "GroupFrontier",
    "Ideal",
    "InputBias",
    "InputError",
    "Inverse",
    "Judged",
    "LightmeterError",
    "MaxDeviation",
    "MaxSkew",
    "MeanExposure",
    "MeanScore",
    "Measure",
    "MinSkew",
    "MissingExtraError",
    "Oracle",
    "OutputBias",
    "P",
    "Pairwise",
    "PlackettLuce",
    "Policy",
    "Pool",
    "Proportional",
    "R",
    "RankTransposition",
    "RankingBias",
    "Relevant",
    "Reranker",
    "Reranking",
    "Result",
    "Samples",
    "Share",
    "SignedBias",
    "Skew",
    "SqL2",
    "StRecall",
    "Static",
    "SweepResult",
    "Target",
    "Term",
    "TermError",
    "TopK",
    "Uniform",
    "UniquePerValue",
    "User",
    "Values",
    "alpha_nDCG",
    "audit",
    "click_merit",
    "compare",
    "decompose",
    "estimate_attention",
    "evaluate",
    "expected_exposure",
    "exposure_gradient",
    "fair_table",
    "frontier_exposure",
    "gERR",
    "group_frontier",
    "iRBU",
    "load",
    "logDP",
    "logEUR",
    "logRUR",
    "nDCG",
    "nEED",
    "nEEL",
    "nEER",
    "param",
    "parse",
    "rKL",
    "rND",
    "rRD",
    "rank_marginals",
    "rerank",
    "sample",
    "sweep",
    "write_report",
    "write_run",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("lightmeter")
    if name not in _MODULE and name not in _PARTS:
        raise AttributeError(f"module 'lightmeter' has no attribute {name!r}")
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"lightmeter.{name}")
    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
