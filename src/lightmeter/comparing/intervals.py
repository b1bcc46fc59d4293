"""Bootstrap intervals of the means of a result, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.result import Result
from lightmeter.statistics.bootstrap import Intervals, bootstrap_intervals

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


def intervals_of(result: Result, level: float, resamples: int, rng: int) -> pl.DataFrame:
    """A row a run, measure and group: the mean over its defined queries, and its interval.

    Raises
    ------
    LightmeterError
        Where queries have weights.
    """
    if result.weight is not None:
        raise LightmeterError("the queries have weights (a sequence), and this bootstrap draws queries all alike.")
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
    rows: list[tuple[Any, ...]] = []
    for number, cell in enumerate(result.cells):
        mean = result.mean_of(cell)
        low = high = float("nan")
        reason = mean.reason
        if number in found:
            made, at = found[number]
            low, high, reason = float(made.low[at]), float(made.high[at]), made.reason[at]
        rows.append((cell.run, str(cell.measure), cell.group, mean.value, low, high, mean.n, reason))
    return pl.DataFrame(rows, schema=INTERVALS, orient="row")
