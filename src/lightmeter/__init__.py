"""lightmeter: how rankings share out exposure, together with how relevant they are.

Names are loaded when they are first used, so that a program that needs one part does not wait for the others.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightmeter.clicks.estimate import estimate_attention
    from lightmeter.clicks.merit import click_merit
    from lightmeter.clicks.result import AttentionEstimate
    from lightmeter.collection import Collection
    from lightmeter.divergences import JSD, KL, NMD, RNOD, TV, W1, Divergence, SqL2
    from lightmeter.errors import InputError, LightmeterError, MissingExtraError, TermError
    from lightmeter.evaluation import evaluate
    from lightmeter.exposure.public import expected_exposure, rank_marginals
    from lightmeter.fair_tables import FairTable, fair_table
    from lightmeter.io.write_runs import write_run
    from lightmeter.loading import load
    from lightmeter.measures.attention import ABR, Count, MeanScore, Share
    from lightmeter.measures.base import Measure
    from lightmeter.measures.cascade import ERR, gERR, iRBU
    from lightmeter.measures.exposure import EED, EEL, EER
    from lightmeter.measures.gains import DCG, RBP, nDCG
    from lightmeter.measures.gfr import GFR
    from lightmeter.measures.groups import AWRF, GF, DeltaGF, DistrSim, MaxDeviation
    from lightmeter.measures.normalised import nEED, nEEL, nEER
    from lightmeter.measures.relevance import AP, RR, Judged, P, R
    from lightmeter.measures.spread import EESpread
    from lightmeter.notation import parse
    from lightmeter.params import param
    from lightmeter.policies import Oracle, PlackettLuce, Policy, RankTransposition, Samples, Static
    from lightmeter.result import Result
    from lightmeter.targets import Equal, Given, Ideal, Pool, Proportional, Relevant, Target, Uniform
    from lightmeter.terms import Term
    from lightmeter.users import Attention, Cascade, Inverse, TopK, User
    from lightmeter.values import Values

    from lightmeter.sampled import sample
_HOME = {
    "lightmeter.clicks.estimate": "estimate_attention",
    "lightmeter.clicks.merit": "click_merit",
    "lightmeter.clicks.result": "AttentionEstimate",
    "lightmeter.collection": "Collection",
    "lightmeter.divergences": "JSD KL NMD RNOD TV W1 Divergence SqL2",
    "lightmeter.errors": "InputError LightmeterError MissingExtraError TermError",
    "lightmeter.evaluation": "evaluate",
    "lightmeter.exposure.public": "expected_exposure rank_marginals",
    "lightmeter.fair_tables": "FairTable fair_table",
    "lightmeter.loading": "load",
    "lightmeter.measures.attention": "ABR Count MeanScore Share",
    "lightmeter.measures.base": "Measure",
    "lightmeter.measures.exposure": "EED EEL EER",
    "lightmeter.measures.normalised": "nEED nEEL nEER",
    "lightmeter.io.write_runs": "write_run",
    "lightmeter.measures.spread": "EESpread",
    "lightmeter.measures.gfr": "GFR",
    "lightmeter.measures.groups": "AWRF GF DeltaGF DistrSim MaxDeviation",
    "lightmeter.measures.cascade": "ERR gERR iRBU",
    "lightmeter.measures.gains": "DCG RBP nDCG",
    "lightmeter.measures.relevance": "AP RR Judged P R",
    "lightmeter.notation": "parse",
    "lightmeter.params": "param",
    "lightmeter.policies": "Oracle PlackettLuce Policy RankTransposition Samples Static",
    "lightmeter.result": "Result",
    "lightmeter.targets": "Equal Given Ideal Pool Proportional Relevant Target Uniform",
    "lightmeter.terms": "Term",
    "lightmeter.users": "Attention Cascade Inverse TopK User",
    "lightmeter.values": "Values",
}
_MODULE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "ABR",
    "AP",
    "lightmeter.sampled": "sample",
    "AWRF",
    "DCG",
    "EED",
    "EEL",
    "EER",
    "ERR",
    "GF",
    "GFR",
    "JSD",
    "KL",
    "NMD",
    "RBP",
    "RNOD",
    "RR",
    "TV",
    "W1",
    "Attention",
    "AttentionEstimate",
    "Cascade",
    "Collection",
    "Count",
    "DeltaGF",
    "DistrSim",
    "Divergence",
    "EESpread",
    "Equal",
    "FairTable",
    "Given",
    "Ideal",
    "InputError",
    "Inverse",
    "Judged",
    "LightmeterError",
    "MaxDeviation",
    "MeanScore",
    "Measure",
    "MissingExtraError",
    "Oracle",
    "P",
    "PlackettLuce",
    "Policy",
    "Pool",
    "Proportional",
    "R",
    "RankTransposition",
    "Relevant",
    "Result",
    "Samples",
    "Share",
    "SqL2",
    "Static",
    "Target",
    "Term",
    "TermError",
    "TopK",
    "Uniform",
    "User",
    "Values",
    "click_merit",
    "estimate_attention",
    "evaluate",
    "expected_exposure",
    "fair_table",
    "gERR",
    "iRBU",
    "load",
    "nDCG",
    "nEED",
    "nEEL",
    "nEER",
    "param",
    "parse",
    "rank_marginals",
]


def home_of(name: str) -> str | None:
    """The module that defines a public name."""
    return _MODULE.get(name)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module 'lightmeter' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
    "sample",
    "write_run",
