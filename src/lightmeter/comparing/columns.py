"""The scores of one measure (and group), run by run and query by query, with bootstrap intervals of their means."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers, Rng
from lightmeter.errors import LightmeterError, seed, whole_number
from lightmeter.measures.base import Measure
from lightmeter.results.result import Result
from lightmeter.statistics.intervals import Intervals, bootstrap_intervals
from lightmeter.statistics.resampling import draws, stream
from lightmeter.statistics.scores import share, tolerance


@dataclass(frozen=True)
class Column:
    """Scores of one measure (and group).

    Attributes
    ----------
    measure, group
        What is measured.
    scores
        ``[runs, queries]``; NaN where undefined.
    left_out
        Why queries are left out, and how many.
    """

    measure: Measure
    group: str | None
    scores: Floats
    left_out: dict[str, int]

    def __str__(self) -> str:
        return str(self.measure) if self.group is None else f"{self.measure} {self.group}"

    @cached_property
    def defined(self) -> Booleans:
        """Which queries are defined for all runs."""
        return np.asarray(~np.isnan(self.scores).any(axis=0))

    @cached_property
    def common(self) -> Floats:
        """Scores of the queries defined for all runs, ``[runs, n]``."""
        return self.scores[:, self.defined]

    @property
    def n(self) -> int:
        """How many queries are defined for all runs."""
        return int(self.defined.sum())

    @property
    def sign(self) -> float:
        """-1 where lower is better, else 1."""
        return -1.0 if self.measure.better == "lower" else 1.0

    @property
    def directed(self) -> bool:
        """Whether one of two values is better."""
        return self.measure.better != "none"

    @cached_property
    def tol(self) -> float:
        """Differences up to this come from rounding."""
        return tolerance(self.common)

    @cached_property
    def mean(self) -> Floats:
        """Means over the queries defined for all runs, ``[runs]``; NaN where there is none."""
        return self.common.mean(axis=1) if self.n else np.full(len(self.scores), np.nan)

    def order(self) -> list[int]:
        """The runs from best to worst mean; equal ones in the order given."""
        return np.argsort(np.round(-self.sign * self.mean, 12), kind="stable").tolist()


def columns_of(result: Result) -> list[Column]:
    """The columns of a result, in the order of its measures; groups that some run lacks are left out."""
    runs = result.runs
    found: dict[tuple[Any, str | None], dict[str, Any]] = {}
    for cell in result.cells:
        found.setdefault((cell.measure, cell.group), {})[cell.run] = cell.values
    out = []
    for (measure, group), by_run in found.items():
        if len(by_run) < len(runs):
            continue
        scores = np.stack([by_run[run].value for run in runs])
        undefined = np.isnan(scores).any(axis=0)
        # one reason a query: that of the first run in which it is undefined
        reasons = np.stack([by_run[run].reasons() for run in runs])
        first = np.isnan(scores).argmax(axis=0)
        why = Counter(str(r or "undefined") for r in reasons[first[undefined], np.flatnonzero(undefined)])
        out.append(Column(measure, group, scores, dict(why)))
    return out


INTERVALS = {
    "run": pl.String,
    "measure": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "reason": pl.String,
}


#: numbers that are resampled together
_AT_A_TIME = 1 << 23


@dataclass(frozen=True)
class Ends:
    """Intervals of some rows, and why one has none."""

    low: Floats
    high: Floats
    reason: list[str | None]


def intervals_of_columns(columns: list[Column], pairs: Integers, level: float, rng: int) -> list[tuple[Ends, Ends]]:
    """For each column the intervals of its runs' means and of its pairs' differences, over the queries that it uses.

    Columns of the same queries are resampled together: what costs time is to draw queries, not to add them up.
    """
    runs = len(columns[0].scores)
    nothing = [Ends(np.full(k, np.nan), np.full(k, np.nan), ["few_queries"] * k) for k in (runs, len(pairs))]
    out: list[tuple[Ends, Ends]] = [(nothing[0], nothing[1])] * len(columns)
    alike: dict[bytes, list[int]] = {}
    for number, column in enumerate(columns):
        if column.n:
            alike.setdefault(column.defined.tobytes(), []).append(number)
    for numbers in alike.values():
        each = (runs + len(pairs)) * columns[numbers[0]].n
        some = max(1, _AT_A_TIME // each)
        for start in range(0, len(numbers), some):
            part = numbers[start : start + some]
            out_of_part = _together([columns[i].common for i in part], pairs, level, rng)
            for i, ends in zip(part, out_of_part, strict=True):
                out[i] = ends
    return out


def _together(scores: list[Floats], pairs: Integers, level: float, rng: int) -> list[tuple[Ends, Ends]]:
    # each column in its own unit: what counts as no difference follows from its largest score
    units = [float(np.abs(x).max(initial=0.0)) or 1.0 for x in scores]
    rows = [np.concatenate([x, x[pairs[:, 0]] - x[pairs[:, 1]]]) / u for x, u in zip(scores, units, strict=True)]
    intervals = bootstrap_intervals(np.concatenate(rows), level=level, rng=rng)
    size = len(rows[0])
    out = []
    for k, (x, unit) in enumerate(zip(scores, units, strict=True)):
        cuts = [slice(k * size, k * size + len(x)), slice(k * size + len(x), (k + 1) * size)]
        means, differences = (
            Ends(intervals.low[c] * unit, intervals.high[c] * unit, intervals.reason[c]) for c in cuts
        )
        out.append((means, differences))
    return out


def intervals_of(result: Result, level: float, resamples: int, rng: Rng) -> pl.DataFrame:
    """A row per run, measure and group: the mean over its defined queries, and its interval (BCa).

    A measure that is reduced over queries has a percentile interval, where every resample of queries gives it a value.

    Raises
    ------
    LightmeterError
        Where queries have weights.
    """
    if result.weight is not None:
        raise LightmeterError("the queries have weights (a sequence), and this bootstrap draws queries all alike.")
    share("level", level)
    whole_number("resamples", resamples)
    rng = seed(rng)
    found: dict[int, tuple[Intervals, int]] = {}
    # cells that are defined on the same queries are resampled together
    masks: dict[bytes, list[int]] = {}
    for number, cell in enumerate(result.cells):
        masks.setdefault((~np.isnan(cell.values.value)).tobytes(), []).append(number)
    for mask, numbers in masks.items():
        some = np.frombuffer(mask, dtype=bool)
        if some.any():
            values = np.stack([result.cells[i].values.value[some] for i in numbers])
            intervals = bootstrap_intervals(values, level=level, resamples=resamples, rng=rng)
            found |= {i: (intervals, at) for at, i in enumerate(numbers)}
    across = _across(result, level, resamples, rng)
    rows: list[tuple[Any, ...]] = []
    for number, cell in enumerate(result.cells):
        mean = result.mean_of(cell)
        low, high = across.get(number, (float("nan"), float("nan")))
        reason = mean.reason
        if number in found:
            intervals, at = found[number]
            low, high, reason = float(intervals.low[at]), float(intervals.high[at]), intervals.reason[at]
        rows.append((cell.run, str(cell.measure), cell.group, mean.value, low, high, mean.n, reason))
    return pl.DataFrame(rows, schema=INTERVALS, orient="row")


def _across(result: Result, level: float, resamples: int, rng: int) -> dict[int, tuple[float, float]]:
    """Percentile intervals of measures that are reduced over queries: reduced anew for every draw of queries."""
    cells = {i: c.across for i, c in enumerate(result.cells) if c.across is not None}
    if not cells or len(result.queries) < 2:
        return {}
    values = [
        [across(weight).value for across in cells.values()]
        for part in draws(len(result.queries), resamples, stream(rng))
        for weight in part
    ]
    reduced = np.array(values)
    out = {}
    for number, of_cell in zip(cells, reduced.T, strict=True):
        if not np.isnan(of_cell).any() and np.ptp(of_cell) > 0:
            low, high = np.quantile(of_cell, [(1 - level) / 2, (1 + level) / 2])
            out[number] = (float(low), float(high))
    return out
