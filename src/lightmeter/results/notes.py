"""Notes below the table of a result: how many queries, which way is better, what is undefined and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from lightmeter.results.text import REASONS

if TYPE_CHECKING:
    from lightmeter.results.result import Result

_MOST = 5


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


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
