"""The rows of an audit: what is published, one value each, small groups masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.figures import Figure
from lightmeter.auditing.ranking import Cutoff
from lightmeter.auditing.table import UNKNOWN, Attribute
from lightmeter.statistics import intervals

#: fewer of a group among the first k, or left out, and the interval of a rate is an exact one
FEW = 10
#: fewer resamples than this, and intervals are normal ones
ENOUGH = 100
#: measures that are taken among the rows whose group is known, and so tell how many those are
AMONG_KNOWN = ("skew", "ndkl", "fa_ir_p")
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

    def without_value(self, reason: str | None) -> Row:
        """The row without its value, and why."""
        nan = float("nan")
        return replace(self, value=nan, low=nan, high=nan, reason=reason)

    def masked(self) -> Row:
        """The row without anything that it says."""
        return replace(self.without_value("masked"), n=None)


@dataclass(frozen=True)
class FigureIntervals:
    """Intervals of a figure from its resamples."""

    resampled: Figure | None
    level: float
    #: rows are drawn on their own: counts are then such as exact intervals are for
    independent: bool

    def of(self, figure: Figure, top: Floats) -> tuple[Floats, Floats]:
        """Ends for each group; ``top`` are the rows of each among the first k."""
        value = figure.value[0]
        low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
        if figure.basis == "fixed":
            return low, high
        if self.resampled is not None:
            values = self.resampled.value
            undefined = np.isnan(value)
            if len(values) >= ENOUGH:
                low, high = intervals.percentile(np.where(undefined, 0.0, values), self.level)
            else:
                low, high = intervals.normal(value, values, self.level)
            low, high = np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
        if figure.basis == "top":
            # nobody there to be drawn again: the bootstrap would be sure of it
            none = top <= 0
            low[none], high[none] = np.nan, np.nan
        elif figure.count is not None and figure.size is not None and figure.basis != "none":
            self._exact(figure, figure.count, figure.size, low, high)
        return low, high

    def _exact(self, figure: Figure, count: Floats, size: Floats, low: Floats, high: Floats) -> None:
        """Put exact ends where the counts are small."""
        size = np.broadcast_to(size, count.shape)
        limit = FEW if self.independent else 1
        few = (count < limit) | (size - count < limit)
        if figure.basis in ("rate_ratio", "rate_gap") and figure.reference is not None:
            few = few | few[figure.reference]
            exact = intervals.rate_ratio if figure.basis == "rate_ratio" else intervals.rate_difference
            with np.errstate(invalid="ignore", divide="ignore"):
                least, most = exact(count, size, count[figure.reference], size[figure.reference], self.level)
        else:
            least, most = intervals.clopper_pearson(count, size, self.level)
        few = few & ~np.isnan(figure.value[0])
        low[few], high[few] = least[few], most[few]


def figure_rows(
    figure: Figure,
    figure_intervals: FigureIntervals,
    attribute: Attribute,
    score: str,
    count: Floats,
    top: Floats,
    hidden: Booleans,
    *,
    itself: bool = False,
) -> Iterator[Row]:
    """The rows of a figure, one row per group.

    ``count`` are the members of each group, ``top`` those among the first k, ``hidden`` the masked ones: they have rows
    without anything in them. ``itself``: the reference compared with itself is a row too.
    """
    low, high = figure_intervals.of(figure, top)
    value = figure.value[0]
    for i in range(len(value)):
        unknown = i == len(value) - 1
        if (unknown and not figure.unknown) or (i == figure.reference and not itself):
            continue
        row = Row(figure.measure, figure.cutoff, attribute.name, i, figure.reference, score, float(value[i]))
        if hidden[i]:
            yield row.masked()
            continue
        if not count[i]:
            continue
        reason = None
        if np.isnan(value[i]):
            reason = figure.undefined or "undefined"
        elif np.isinf(value[i]):
            reason = "overflow"
        elif figure.cutoff is not None and top[i] <= 0:
            reason = "none_in_top"
        elif figure_intervals.resampled is not None and figure.basis == "top" and i != figure.reference:
            # some resamples leave nobody to compare with
            reason = "few_in_top" if np.isnan(low[i]) else None
        ends = (float(low[i]), float(high[i])) if i != figure.reference and count[i] > 1 else (np.nan, np.nan)
        yield replace(row, low=ends[0], high=ends[1], n=int(count[i]), reason=reason)


def mask_rows(rows: list[Row], hidden: Booleans) -> list[Row]:
    """The rows with nothing in those of masked groups, nor in comparisons with one."""
    shown = int((~hidden[:-1]).sum())
    return [
        r.masked()
        if (r.index is not None and hidden[r.index])
        or (r.reference is not None and hidden[r.reference])
        or (r.index is None and shown < 2 and hidden.any())
        or (r.measure in AMONG_KNOWN and hidden[-1])
        else r
        for r in rows
    ]


def rows_frame(rows: list[Row], attributes: dict[str, Attribute]) -> pl.DataFrame:
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


def query_frame(
    found: Iterable[Figure],
    count: Floats,
    attribute: Attribute,
    score: str,
    hidden: Booleans,
    hidden_by_query: Booleans,
    queries: list[str],
) -> pl.DataFrame:
    """A row for each query, group and measure; no intervals, since one query is one draw.

    A group that is masked in all queries together (``hidden``) has a masked row in each, whether it is there or not; so
    have all groups of a query that is not shown at all.

    Parameters
    ----------
    found
        Figures of sums by query.
    count
        Members of each group, ``[queries, groups + 1]``.
    """
    mask = hidden_by_query | hidden
    # query by query; within one, the order of the figures
    parts = [_query_figure(f, count, mask, hidden, attribute, score, queries) for f in found]
    return pl.concat(parts).with_row_index("_row").sort(["_query", "_row"]).drop("_row", "_query")


def _query_figure(
    figure: Figure,
    count: Floats,
    mask: Booleans,
    hidden: Booleans,
    attribute: Attribute,
    score: str,
    queries: list[str],
) -> pl.DataFrame:
    names, size = [*attribute.values, UNKNOWN], figure.value.shape[1]
    has_row = (count > 0) | (mask & (hidden | (count > 0).any(axis=0)))
    if not figure.unknown:
        has_row = has_row & (np.arange(size) < size - 1)
    masked = mask.copy()
    if figure.reference is not None:
        has_row = has_row & (np.arange(size) != figure.reference)
        masked |= mask[:, [figure.reference]]
    if figure.measure in AMONG_KNOWN:
        masked |= mask[:, [-1]]
    query, group = np.nonzero(has_row)
    masked = masked[query, group]
    value = np.where(masked, np.nan, figure.value[query, group])
    reason = np.full(len(query), None, dtype=object)
    reason[np.isnan(value)] = figure.undefined or "empty_group"
    reason[masked] = "masked"
    reference = None if figure.reference is None else names[figure.reference]
    columns: dict[str, Any] = {
        "query": pl.Series(queries, dtype=pl.String).gather(query),
        "measure": figure.measure,
        "cutoff": figure.cutoff,
        "attribute": attribute.name,
        "group": pl.Series(names, dtype=pl.String).gather(group),
        "reference": reference,
        "score": score,
        "value": pl.Series(np.where(np.isfinite(value), value, np.nan)).fill_nan(None),
        "low": None,
        "high": None,
        "n": pl.Series(count[query, group].astype(np.int64)).set(pl.Series(masked, dtype=pl.Boolean), None),
        "reason": pl.Series(reason.tolist(), dtype=pl.String),
    }
    frame = pl.DataFrame({"_query": query})
    return frame.with_columns(
        pl.lit(c).cast({"query": pl.String, **SCHEMA}[name]).alias(name) for name, c in columns.items()
    )
