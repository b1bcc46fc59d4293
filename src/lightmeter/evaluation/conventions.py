"""The conventions in force and the manifest: every result says how it was computed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from lightmeter.arrays import Booleans
from lightmeter.data.rankings import TieCount
from lightmeter.measures.base import Measure
from lightmeter.measures.context import Context, Missing

_TIES = {
    "docno": "score descending, then document id descending",
    "file": "score descending, then file order",
    "error": "refused",
    "expected": "score descending, equal scores in random order",
}
_UNKNOWN = {
    "uniform": "counts for all values alike",
    "drop": "keeps its rank, belongs to no group",
    "distinct": "a value of its own",
    "error": "refused",
}
_MISSING = {"zero": "0, or the worst bound where lower is better", "skip": "left out of means", "error": "refused"}


def conventions(
    context: Context,
    resolved: dict[Measure, Measure],
    missing: Missing,
    depth: int | None,
    tied: dict[str, TieCount],
    answered: dict[str, Booleans],
) -> dict[str, str]:
    """The rules of a call in words, for the line on standard error and the manifest."""
    out = {"policy": str(context.policy)}
    ties = str(getattr(context.policy, "ties", "docno"))
    number = sum(t.documents for t in tied.values())
    out["ties"] = f"{ties} ({_TIES[ties]}); {number} documents tied"
    unanswered = {run: int((~queries).sum()) for run, queries in answered.items() if not queries.all()}
    out["missing"] = f"{missing} ({_MISSING[missing]})" + "".join(
        f"; {run} leaves {n} of {len(answered[run])} queries unanswered" for run, n in unanswered.items()
    )
    if context.collection.query_weight is not None:
        requests = float(context.collection.query_weight[context.collection.evaluated].sum())
        out["weights"] = f"means weigh a query as often as the sequence asks for it ({requests:g} requests)"
    if depth is not None:
        out["depth"] = f"first {depth} ranks"
    if context.collection.judgments is not None:
        out["unjudged"] = "not relevant; negative grades count as 0"
    graded = [m for m in resolved.values() if hasattr(m, "max_grade") or hasattr(getattr(m, "user", None), "max_grade")]
    if graded and context.max_grade is not None:
        highest = {_max_grade(m, context) for m in graded}
        out["max_grade"] = (
            ", ".join(f"{g:g}" for g in sorted(highest)) + f" (highest in the judgments: {context.max_grade:g})"
        )
    attributes = _attributes(resolved)
    if attributes:
        out["unknown"] = f"{context.unknown} ({_UNKNOWN[context.unknown]})"
    for by in attributes:
        cells = context.collection.attribute(by).cells
        if cells:
            out[f"cells {by}"] = cells
        rates = "; ".join(
            f"{run} {d:.1%} of documents, {e:.1%} of exposure" for run, (d, e) in unknown_shares(context, by).items()
        )
        out[f"unknown {by}"] = f"{rates} (exposure as 1/log2(rank + 1))"
        from lightmeter.measures.group_targets import target_term

        targets = {
            str(target_term(getattr(m, "target", None), by, context.collection))
            for m in resolved.values()
            if m.attribute == by and _has_group_target(m)
        }
        if targets:
            out[f"target {by}"] = ", ".join(sorted(targets))
    return out


def _has_group_target(measure: Any) -> bool:
    target = getattr(measure, "target", False)
    return (
        target is None
        or isinstance(target, str)
        or bool(getattr(target, "of_groups", False) and not getattr(target, "of_exposure", False))
    )


def _max_grade(measure: Any, context: Context) -> float:
    own = getattr(measure, "max_grade", None)
    if own is None:
        own = getattr(getattr(measure, "user", None), "max_grade", None)
    return float(own if own is not None else context.max_grade or 0)


def unknown_shares(context: Context, by: str) -> dict[str, tuple[float, float]]:
    """For each run the share of ranked documents, and of exposure, whose membership is unknown."""
    return {name: ranked.unknown_share(by) for name, ranked in context.ranked.items()}


@cache
def version() -> str:
    """The version of lightmeter; looking it up takes a millisecond, so it is looked up once."""
    from importlib import metadata

    try:
        return metadata.version("lightmeter")
    except metadata.PackageNotFoundError:
        return "unknown"


def manifest(
    context: Context, rules: dict[str, str], tied: dict[str, TieCount], measures: list[Measure], parts: list[Measure]
) -> dict[str, Any]:
    """How a result was computed: version, inputs with sizes, conventions, counts of what was ignored."""
    collection = context.collection
    return {
        "lightmeter": version(),
        "measures": [str(m) for m in measures],
        "resolved": {str(m): str(m.resolve(context)) for m in measures},
        "runs": {
            name: {
                "rankings": len(run.query),
                "documents": len(run),
                "tied_documents": tied[name].documents,
                "sampled": run.sample is not None,
            }
            for name, run in collection.runs.items()
        },
        "queries": len(collection.evaluated),
        "conventions": rules,
        "unknown": {
            by: {run: {"documents": d, "exposure": e} for run, (d, e) in unknown_shares(context, by).items()}
            for by in _attributes(parts)
        },
        "ignored": dict(collection.ignored),
        "notes": list(collection.notes),
        "inputs": [{"name": s.name, "files": list(s.files)} for s in collection.inputs],
    }


def _attributes(measures: Iterable[Measure]) -> list[str]:
    """The attributes that the measures look at, each once."""
    return list(dict.fromkeys(m.attribute for m in measures if m.attribute is not None))
