"""What is said about a result: conventions, what was ignored, and what is undefined and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.cli.inputs import with_components
from lightmeter.data.collection import Collection
from lightmeter.data.ids import distinct
from lightmeter.models.policies import Samples
from lightmeter.results.result import Result

_FEW = 3
_MOST = 5


def result_lines(collection: Collection, result: Result, notes: list[str]) -> list[str]:
    """Lines for standard error: the conventions, notes of the readers, and what was ignored."""
    lines = [
        conventions_line(result, targets_of(collection, result)),
        *(f"note: {note}" for note in collection.notes),
        *(f"note: {text}" for text in notes),
    ]
    lines += [f"ignored: {what}: {count}" for what, count in collection.ignored.items()]
    return lines


def weights_like_a_policy(collection: Collection, policy: str | None) -> list[str]:
    """A warning for each run that is read as sampled rankings while its weights sum to 1, as those of a policy do.

    It is printed with --quiet too, since values depend on it; who names a ``policy`` has decided.
    """
    if policy is not None:
        return []
    warnings = []
    for name, run in collection.runs.items():
        several = len(run.query) > distinct(run.query)  # one ranking of weight 1 is the same as draw and as policy
        if (
            several
            and run.weight is not None
            and np.allclose(np.bincount(run.query, weights=run.weight)[run.query], 1, atol=1e-6)
        ):
            whole = Samples(weight="probability")
            warnings.append(
                f"warning: {name}: its weights sum to 1 in every query, and its rankings are read as sampled ones "
                f'(--policy "{Samples()}"). If they are a whole policy, as rerank writes it, type --policy "{whole}", '
                "which gives other values."
            )
    return warnings


_NO_TARGET: Any = object()


def targets_of(collection: Collection, result: Result) -> dict[str, str]:
    """For each attribute of which measures have different targets, which measure has which."""
    measures: dict[str, dict[str, list[str]]] = {}
    for measure in dict.fromkeys(with_components(result.measures)):
        by, target = measure.attribute, getattr(measure, "target", _NO_TARGET)
        if by is None or target is _NO_TARGET:
            continue
        from lightmeter.measures.exposure import ExposureMeasure
        from lightmeter.measures.group_targets import target_term
        from lightmeter.models.targets import Target

        of_groups = target is None or isinstance(target, str) or (isinstance(target, Target) and target.of_groups)
        if isinstance(measure, ExposureMeasure) or not of_groups:
            continue
        measures.setdefault(by, {}).setdefault(str(target_term(target, by, collection)), []).append(str(measure))
    return {
        by: " and ".join(f"{target} for {_some(names)}" for target, names in targets.items())
        for by, targets in measures.items()
        if len(targets) > 1
    }


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


def conventions_line(result: Result, targets: dict[str, str] | None = None) -> str:
    """The conventions in force in one line; where runs differ, a range.

    ``targets`` says of attributes with several targets which measure has which.
    """
    parts = []
    shares = result.manifest.get("unknown", {})
    for name, rule in result.conventions.items():
        attribute = name.removeprefix("unknown ")
        if name == "policy" and rule.startswith("Static(ties="):
            continue  # the ties say it
        if attribute in shares and attribute != name:
            rule = _range(shares[attribute])
        if targets and name.startswith("target "):
            rule = targets.get(name.removeprefix("target "), rule)
        if name == "missing" and len(result.answered) > _FEW:
            rule = _short_missing(rule, result)
        parts.append(f"{name}={rule.replace('; ', ', ')}")
    return f"conventions: {'; '.join(parts)}"


def _range(shares: dict[str, dict[str, float]]) -> str:
    if not any(s["documents"] for s in shares.values()):
        return "no documents"
    return f"{_ends(shares, 'documents')} of documents, {_ends(shares, 'exposure')} of exposure (1/log2(rank+1))"


def _ends(shares: dict[str, dict[str, float]], what: str) -> str:
    low, high = (f"{end(s[what] for s in shares.values()):.1%}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _short_missing(rule: str, result: Result) -> str:
    incomplete = sum(1 for answered in result.answered.values() if not answered.all())
    runs = f"; {incomplete} of {len(result.answered)} runs leave queries unanswered" if incomplete else ""
    return rule.partition("; ")[0] + runs
