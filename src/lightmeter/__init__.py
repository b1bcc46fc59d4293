"""lightmeter: how rankings share out exposure, together with how relevant they are.

Names are loaded when they are first used, so that a program that needs one part does not wait for the others.
"""

from typing import Any

#: The public names by the module that each is loaded from when it is first used. ``make names`` adds the terms that the
#: classes register, and writes ``__init__.pyi`` for type checkers and editors.
_NAMES = {
    "auditing.public": "audit",
    "auditing.result": "AuditResult",
    "clicks.estimate": "estimate_attention",
    "clicks.merit": "click_merit",
    "clicks.result": "AttentionEstimate",
    "comparing.compare": "compare",
    "comparing.comparison": "Comparison",
    "data.collection": "Collection",
    "data.loading": "load",
    "data.values": "Values",
    "errors": "InputError LightmeterError MissingExtraError TermError",
    "evaluation.evaluate": "evaluate",
    "evaluation.frontier_exposure": "frontier_exposure",
    "evaluation.sample": "sample",
    "exposure.expohedron": "decompose",
    "exposure.gradient": "exposure_gradient",
    "exposure.group_frontier": "group_frontier GroupFrontier",
    "exposure.policy": "expected_exposure rank_marginals",
    "io.write_runs": "write_run",
    "measures.attention": "ABR Count ECE MeanScore Share",
    "measures.base": "Measure",
    "measures.bias": "InputBias OutputBias RankingBias SignedBias",
    "measures.diversity": "alpha_nDCG D_nDCG Dsharp_nDCG ERR_IA RBP_IA StRecall",
    "measures.exposure": "EED EEL EER EESpread nEED nEEL nEER",
    "measures.exposure_sums": "MeanExposure",
    "measures.groups": "AWRF DeltaGF DistrSim GF GFR MaxDeviation",
    "measures.inequality": "Entropy GeneralizedEntropy Gini IAA",
    "measures.multisided": "JME_AG JME_AI JME_GG JME_GI JME_IG JME_II",
    "measures.ndkl": "NDKL",
    "measures.pairwise": "Pairwise",
    "measures.prefixes": "FAIR MaxSkew MinSkew rKL rND rRD Skew",
    "measures.ratios": "DIR DTR ExposureGap ExposureRatio logDP logEUR logRUR",
    "measures.relevance": "AP DCG ERR gERR iRBU Judged nDCG P R RBP RR",
    "models.divergences": "Divergence JSD KL NMD RNOD SqL2 TV W1",
    "models.policies": "Oracle PlackettLuce Policy RankTransposition Samples Static",
    "models.targets": "Equal Given Ideal Pool Proportional Relevant Target Uniform",
    "models.users": "Attention Cascade Inverse TopK User",
    "report.public": "write_report",
    "reranking.amortised": "Amortised",
    "reranking.base": "Reranker",
    "reranking.baselines": "ByColumn EpsilonGreedy UniquePerValue",
    "reranking.exposure_policies": "ExposureOptimal FairExposure",
    "reranking.fair_top_k": "FairTopK",
    "reranking.greedy": "DetCons DetConstSort DetGreedy DetRelaxed",
    "reranking.rerank": "rerank",
    "reranking.result": "Reranking",
    "results.result": "Result",
    "statistics.fair_tables": "fair_table FairTable",
    "sweeping.result": "SweepResult",
    "sweeping.sweep": "sweep",
    "terms.catalogue": "list_measures",
    "terms.notation": "parse",
    "terms.parameters": "param",
    "terms.term": "Term",
}
MODULES = {name: f"lightmeter.{module}" for module, names in _NAMES.items() for name in names.split()}
#: Modules that are used by their own name, such as lightmeter.plots.curve.
_PARTS = ("learn", "metrics", "plots")

__all__ = sorted(MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if name in MODULES:
        value = getattr(import_module(MODULES[name]), name)
        globals()[name] = value
        return value
    if name in _PARTS:
        return import_module(f"lightmeter.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("lightmeter")
    if not name.startswith("_") and find_spec(f"lightmeter.{name}") is None:
        from lightmeter.terms.registry import own_term

        term = own_term(name)  # a new measure whose name is not in the table yet
        if term is not None:
            return term
    raise AttributeError(f"module 'lightmeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS})
