"""Notes on a sweep: what is left out of the curves and why, and what is not known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from lightmeter.results.text import REASONS
from lightmeter.sweeping.curve import Curve, Estimate

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult


def sweep_notes(result: SweepResult) -> list[str]:
    """What is left out of the curves and why, and what is undefined."""
    notes = []
    runs = {c.run for c in result.curves}
    for (user, by, reason), counts in _left_out(result.curves).items():
        numbers = _by_run(counts)
        if len(counts) == len(runs) and len(set(counts.values())) == 1:
            n = next(iter(counts.values()))
            numbers = f"{n} {'query' if n == 1 else 'queries'}{' in each run' if len(counts) > 1 else ''}"
        notes.append(f"{_label(user, by)}: left out, {_words(reason)}: {numbers}")
    unanswered = {c.run: int(c.scale.missing.sum()) for c in result.curves if c.scale.missing.any()}
    if unanswered:
        notes.append(f"not answered, counted with relevance 0 at every disparity: {_by_run(unanswered)}")
    for reason in dict.fromkeys(str(e.reason) for c in result.curves for e in _undefined(c)):
        curves = [c for c in result.curves if any(str(e.reason) == reason for e in _undefined(c))]
        labels = ", ".join(dict.fromkeys(_label(c.user, c.by) for c in curves))
        notes.append(f"{labels}: {'no frontier' if reason == 'no_frontier' else 'undefined'}, {_words(reason)}")
    return notes


def _left_out(curves: list[Curve]) -> dict[tuple[str, str | None, str], dict[str, int]]:
    """How many queries each run's curve leaves out, by user model, attribute and reason."""
    counts: dict[tuple[str, str | None, str], dict[str, int]] = {}
    for c in curves:
        for reason, n in Counter(c.scale.reason[~c.scale.counted].tolist()).items():
            counts.setdefault((c.user, c.by, str(reason)), {})[c.run] = n
    return counts


def _undefined(curve: Curve) -> list[Estimate]:
    return [e for e in (curve.area(), curve.frontier_area(), curve.share()) if np.isnan(e.value)]


def _by_run(counts: dict[str, int]) -> str:
    return "queries " + ", ".join(f"{run} {n}" for run, n in counts.items())


def _label(user: str, by: str | None) -> str:
    return user if by is None else f"{user} by {by}"


def _words(reason: str) -> str:
    return f"{reason} ({REASONS[reason]})" if reason in REASONS else reason
