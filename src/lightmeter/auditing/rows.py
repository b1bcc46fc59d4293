"""The rows of an audit: what is handed over, one value each, small groups masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.figures import Figure
from lightmeter.auditing.sums import Cutoff
from lightmeter.auditing.table import UNKNOWN, Attribute
from lightmeter.statistics import intervals

#: fewer of a group among the first k, or left out, and the interval of a rate is an exact one
FEW = 10
#: fewer resamples than this, and intervals are normal ones
ENOUGH = 100
SCHEMA: dict[str, Any] = {
    "measure": pl.String,
    "cutoff": pl.Int64,
    "attribute": pl.String,
    "group": pl.String,
    "reference": pl.String,
    "score": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "reason": pl.String,
}


@dataclass(frozen=True)
class Row:
    """One value; ``index`` is its group (the last of the attribute's cells is the unknown), None for all of them."""

    measure: str
    cutoff: Cutoff
    attribute: str
    index: int | None
    reference: int | None
    score: str
    value: float
    low: float = float("nan")
    high: float = float("nan")
    n: int | None = None
    reason: str | None = None

    def masked(self) -> Row:
        """The row without anything that it says."""
        lost = float("nan")
        return replace(self, value=lost, low=lost, high=lost, n=None, reason="masked")


@dataclass(frozen=True)
class Drawn:
    """Resampled figures, and how their intervals are made."""

    figure: Figure | None
    level: float
    #: rows are drawn on their own: counts are then such as exact intervals are made for
    independent: bool

    def interval(self, figure: Figure, top: Floats) -> tuple[Floats, Floats]:
        """Ends for each group; ``top`` are the rows of each among the first k."""
        value = figure.value[0]
        low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
        if figure.basis == "fixed":
            return low, high
        if self.figure is not None:
            draws = self.figure.value
            lost = np.isnan(value)
            if len(draws) >= ENOUGH:
                low, high = intervals.percentile(np.where(lost, 0.0, draws), self.level)
            else:
                low, high = intervals.normal(value, draws, self.level)
            low, high = np.where(lost, np.nan, low), np.where(lost, np.nan, high)
        if figure.basis == "top":
            # nobody there to be drawn again: the bootstrap would be sure of it
            none = top <= 0
            low[none], high[none] = np.nan, np.nan
        elif figure.count is not None and figure.size is not None and figure.basis != "none":
            self._exact(figure, figure.count, figure.size, low, high)
        return low, high

    def _exact(self, figure: Figure, count: Floats, size: Floats, low: Floats, high: Floats) -> None:
        size = np.broadcast_to(size, count.shape)
        limit = FEW if self.independent else 1
        few = (count < limit) | (size - count < limit)
        if figure.basis in ("rate_ratio", "rate_gap") and figure.reference is not None:
            few = few | few[figure.reference]
            of = intervals.rate_ratio if figure.basis == "rate_ratio" else intervals.rate_difference
            with np.errstate(invalid="ignore", divide="ignore"):
                least, most = of(count, size, count[figure.reference], size[figure.reference], self.level)
        else:
            least, most = intervals.clopper_pearson(count, size, self.level)
        few = few & ~np.isnan(figure.value[0])
        low[few], high[few] = least[few], most[few]


def rows_of(
    figure: Figure,
    drawn: Drawn,
    attribute: Attribute,
    score: str,
    count: Floats,
    top: Floats,
    hidden: Booleans,
    *,
    itself: bool = False,
) -> Iterator[Row]:
    """The rows of a figure, a row a group.

    ``count`` are the members of each group, ``top`` those among the first k, ``hidden`` the masked ones: they have rows
    without anything in them. ``itself``: the reference compared with itself is a row too.
    """
    low, high = drawn.interval(figure, top)
    value = figure.value[0]
    for i in range(len(value)):
        unknown = i == len(value) - 1
        if (unknown and not figure.unknown) or (i == figure.reference and not itself):
            continue
        if hidden[i]:
            nothing = Row(figure.measure, figure.cutoff, attribute.name, i, figure.reference, score, float("nan"))
            yield nothing.masked()
            continue
        if not count[i]:
            continue
        reason = None
        if np.isnan(value[i]):
            reason = figure.because or "undefined"
        elif np.isinf(value[i]):
            reason = "overflow"
        elif figure.cutoff is not None and top[i] <= 0:
            reason = "none_in_top"
        elif drawn.figure is not None and figure.basis == "top" and i != figure.reference and np.isnan(low[i]):
            reason = "few_in_top"  # some resamples leave nobody to compare with
        ends = (float(low[i]), float(high[i])) if i != figure.reference and count[i] > 1 else (np.nan, np.nan)
        yield Row(
            figure.measure,
            figure.cutoff,
            attribute.name,
            i,
            figure.reference,
            score,
            float(value[i]),
            *ends,
            n=int(count[i]),
            reason=reason,
        )


def frame_of(rows: list[Row], attributes: dict[str, Attribute]) -> pl.DataFrame:
    """The rows as a table, groups by name."""

    def name(attribute: str, index: int | None) -> str | None:
        if index is None:
            return None
        values = attributes[attribute].values
        return values[index] if index < len(values) else UNKNOWN

    def finite(number: float) -> float | None:
        return number if np.isfinite(number) else None

    return pl.DataFrame(
        [
            (
                r.measure,
                r.cutoff,
                r.attribute,
                name(r.attribute, r.index),
                name(r.attribute, r.reference),
                r.score,
                finite(r.value),
                finite(r.low),
                finite(r.high),
                r.n,
                r.reason,
            )
            for r in rows
        ],
        schema=SCHEMA,
        orient="row",
    )
