"""Means with their intervals over queries, and how a picture tells of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.results.result import Cell, Result

#: What the lines of a picture are.
INTERVAL = "95% interval over queries"
NO_TEST = "no test: differences may be chance"
#: Queries from which on the interval is that of a normal distribution: it is the same, and takes no time.
_MANY = 20_000
_NORMAL = 1.959964
_COLUMNS = ("run", "measure", "group", "value", "low", "high", "n")


def means_over_queries(result: Result, measures: Iterable[Any] | None = None) -> pl.DataFrame:
    """A row a run, measure and group: ``run, measure, group, value, low, high, n``.

    The ends are those of :meth:`lightmeter.Result.intervals`; null where there is none, as where queries have weights.

    Parameters
    ----------
    result
        From :func:`lightmeter.evaluate`.
    measures
        Which of its measures; by default all.
    """
    if measures is not None:
        wanted = {str(m) for m in measures}
        result = replace(result, cells=[c for c in result.cells if str(c.measure) in wanted])
    if result.weight is None and len(result.queries) <= _MANY:
        return result.intervals().select(_COLUMNS)
    rows = []
    for cell in result.cells:
        mean = result.mean_of(cell)
        rows.append((cell.run, str(cell.measure), cell.group, mean.value, *_normal(result, cell), mean.n))
    text, number = pl.String, pl.Float64
    return pl.DataFrame(
        rows, schema=dict(zip(_COLUMNS, [text] * 3 + [number] * 3 + [pl.Int64], strict=True)), orient="row"
    )


def _normal(result: Result, cell: Cell) -> tuple[float | None, float | None]:
    """The interval of a mean of many queries."""
    value = cell.values.value[~np.isnan(cell.values.value)]
    if result.weight is not None or cell.across is not None or len(value) < 2 or np.ptp(value) == 0:
        return None, None
    half = _NORMAL * float(value.std(ddof=1)) / float(np.sqrt(len(value)))
    return float(value.mean()) - half, float(value.mean()) + half


def why_none(result: Result) -> str:
    """Why no mean has an interval, in words."""
    if result.weight is not None:
        return "no intervals: queries have weights"
    return "no intervals: one query" if len(result.queries) < 2 else "no intervals: nothing varies over queries"
