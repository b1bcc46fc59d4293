"""Bootstrap intervals: of means and differences of columns, and of the means of a result run by run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers, Rng
from lightmeter.comparing.columns import Column
from lightmeter.errors import LightmeterError, seed, whole_number
from lightmeter.results.result import Result
from lightmeter.statistics.intervals import Intervals, bootstrap_intervals
from lightmeter.statistics.resampling import draws, stream
from lightmeter.statistics.scores import share

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
    made = bootstrap_intervals(np.concatenate(rows), level=level, rng=rng)
    size = len(rows[0])
    out = []
    for k, (x, unit) in enumerate(zip(scores, units, strict=True)):
        cuts = [slice(k * size, k * size + len(x)), slice(k * size + len(x), (k + 1) * size)]
        means, differences = (Ends(made.low[c] * unit, made.high[c] * unit, made.reason[c]) for c in cuts)
        out.append((means, differences))
    return out


def intervals_of(result: Result, level: float, resamples: int, rng: Rng) -> pl.DataFrame:
    """A row a run, measure and group: the mean over its defined queries, and its interval (BCa).

    A measure that is reduced over queries has a percentile interval, where every draw of queries gives it a value.

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
            made = bootstrap_intervals(values, level=level, resamples=resamples, rng=rng)
            found |= {i: (made, at) for at, i in enumerate(numbers)}
    across = _across(result, level, resamples, rng)
    rows: list[tuple[Any, ...]] = []
    for number, cell in enumerate(result.cells):
        mean = result.mean_of(cell)
        low, high = across.get(number, (float("nan"), float("nan")))
        reason = mean.reason
        if number in found:
            made, at = found[number]
            low, high, reason = float(made.low[at]), float(made.high[at]), made.reason[at]
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
    made = np.array(values)
    out = {}
    for number, of_cell in zip(cells, made.T, strict=True):
        if not np.isnan(of_cell).any() and np.ptp(of_cell) > 0:
            low, high = np.quantile(of_cell, [(1 - level) / 2, (1 + level) / 2])
            out[number] = (float(low), float(high))
    return out
