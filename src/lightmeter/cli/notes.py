"""What is said about a result: conventions, what was ignored, and what is undefined and why."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from lightmeter.cli.inputs import with_components
from lightmeter.data.collection import Collection
from lightmeter.data.ids import distinct
from lightmeter.models.policies import Samples
from lightmeter.models.targets import Target
from lightmeter.results.result import Result
from lightmeter.results.text import REASONS

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
        of_groups = target is None or isinstance(target, str) or (isinstance(target, Target) and target.of_groups)
        if by is None or not of_groups:
            continue
        from lightmeter.measures.exposure import ExposureMeasure
        from lightmeter.measures.group_targets import target_term

        if isinstance(measure, ExposureMeasure):
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


def result_notes(result: Result) -> list[str]:
    """Lines below a table: how many queries, what is undefined and why."""
    sampled = any(c.values.se is not None and not np.isnan(c.values.se).all() for c in result.cells)
    error = ["± is the standard error of what is estimated from sampled rankings"] if sampled else []
    return [*_counts(result), *_answered(result), *_directions(result), *error, *_across(result), *_reasons(result)]


def _across(result: Result) -> list[str]:
    """Which measures have one value for all queries, and why it is undefined or what it leaves out."""
    lines = []
    for measure in dict.fromkeys(c.measure for c in result.cells if c.across is not None):
        lines.append(f"{measure}: one value for all queries together, and none per query")
        for cell in (c for c in result.cells if c.measure == measure):
            reason = result.mean_of(cell).reason
            if reason is not None:
                where = ", ".join(filter(None, [cell.run, cell.group]))
                lines.append(f"{measure}: {reason} ({REASONS.get(reason, reason)}): {where}")
    return lines


def _counts(result: Result) -> list[str]:
    """n, and where it is less than the number of queries."""
    total = len(result.queries)
    less: dict[tuple[str, str | None, int], list[str]] = {}
    for cell in result.cells:
        n = result.mean_of(cell).n if cell.across is not None else int((~np.isnan(cell.values.value)).sum())
        if n < total:
            less.setdefault((str(cell.measure), cell.group, n), []).append(cell.run)
    groups: dict[tuple[str, int, str], list[str]] = {}
    for (measure, group, n), runs in less.items():
        groups.setdefault((measure, n, _runs(result, runs)), []).extend([] if group is None else [group])
    lines = [f"n = {total} {'query' if total == 1 else 'queries'}" + (", except:" if less else "")]
    return lines + [f"  n = {n} for {_titled(measure, names)}: {runs}" for (measure, n, runs), names in groups.items()]


def _titled(measure: str, groups: list[str]) -> str:
    return f"{measure} {_some(groups)}" if groups else measure


def _answered(result: Result) -> list[str]:
    total = len(result.queries)
    counts = {run: int(answered.sum()) for run, answered in result.answered.items()}
    if all(n == total for n in counts.values()):
        queries = {1: "the query", 2: "both queries"}.get(total, f"all {total} queries")
        return [f"{'every run' if len(counts) > 1 else 'the run'} answers {queries}"]
    return [f"queries answered, of {total}: " + ", ".join(f"{run} {n}" for run, n in counts.items())]


def _directions(result: Result) -> list[str]:
    """Which way is better, by the names of the measures."""
    ways = {
        way: list(dict.fromkeys(type(m).__name__ for m in result.measures if m.better == way))
        for way in ("higher", "lower")
    }
    lines = [f"{way} is better: {', '.join(names)}" for way, names in ways.items() if names]
    return ["; ".join(lines)] if lines else []


def _reasons(result: Result) -> list[str]:
    """One line per measure and reason: what is undefined, and what has a value nevertheless."""
    counted: dict[tuple[str, str | None, str, bool], Counter[str]] = {}
    for cell in result.cells:
        if cell.values.reason is None or cell.across is not None:
            continue
        reasons = cell.values.reason
        with_reason = np.array([r is not None for r in reasons], dtype=bool)
        undefined_values = np.isnan(cell.values.value[with_reason]).tolist()
        for (reason, undefined), n in Counter(
            zip(reasons[with_reason].tolist(), undefined_values, strict=True)
        ).items():
            counted.setdefault((str(cell.measure), cell.group, str(reason), undefined), Counter())[cell.run] += n
    alike: dict[tuple[str, str, bool, str], list[str]] = {}
    for (measure, group, reason, undefined), counts in counted.items():
        key = measure, reason, undefined, _numbers(result, counts)
        alike.setdefault(key, []).extend([] if group is None else [group])
    lines = []
    for (measure, reason, undefined, numbers), groups in alike.items():
        words = f"{reason} ({REASONS[reason]})" if reason in REASONS else reason
        what = "undefined, " if undefined else "counted nevertheless, "
        what = "" if undefined and reason == "undefined" else what  # once will do
        each = "for each, " if len(groups) > 1 else ""
        lines.append(f"{_titled(measure, groups)}: {what}{words}: {each}{numbers}")
    return lines


def _numbers(result: Result, counts: dict[str, int]) -> str:
    if len(counts) == len(result.runs) and len(set(counts.values())) == 1:
        n = next(iter(counts.values()))
        return f"{n} {'queries' if n > 1 else 'query'}" + (" in each run" if len(counts) > 1 else "")
    return "queries " + ", ".join(f"{run} {n}" for run, n in counts.items())


def _runs(result: Result, runs: list[str]) -> str:
    return "every run" if len(runs) == len(result.runs) else ", ".join(runs)
