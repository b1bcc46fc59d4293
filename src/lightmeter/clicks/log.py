"""Click logs: a table ``query, doc, rank, clicked[, weight]``, checked row by row and added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import InputError, LightmeterError
from lightmeter.io.columns import fault, first, identifiers, numbers
from lightmeter.io.forms import Columns, find, need, table_form
from lightmeter.io.tables import Source
from lightmeter.io.tabular import read_table
from lightmeter.terms.parameters import Number

#: a sum of weights whose products are still numbers
HEAVY = 1e100
LOG = "a table with the columns query, doc, rank, clicked and perhaps weight"
_NAMES = ("query", "doc", "rank", "clicked", "weight")
#: how deep the curve goes at most where no depth is given, and at all
USUAL_DEPTH, GREATEST_DEPTH = 100, 200


@dataclass(frozen=True)
class ClickLog:
    """A click log as read: ``query, doc`` (text), ``rank, clicked, weight`` (numbers), one row per showing."""

    frame: pl.DataFrame
    source: Source
    ignored: dict[str, int] = field(default_factory=dict)


def read_clicks(source: Any, *, columns: Columns | None = None) -> ClickLog:
    """Read a click log and refuse what cannot be one.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, JSON lines; also a folder or pattern of part files) or a frame.
    columns
        Our names to the table's, such as ``{"query": "qid", "rank": "position"}``.

    Returns
    -------
    ClickLog
        Rows of weight 0 are left out and counted.

    Raises
    ------
    InputError
        A column is missing, a rank is not a whole number from 1 up, ``clicked`` is neither 0 nor 1, a weight is
        negative: the message names the file and line.
    """
    if isinstance(source, ClickLog):
        return source
    unknown = sorted(set(columns or {}) - set(_NAMES))
    if unknown:
        raise LightmeterError(f"columns: a click log has no {unknown[0]!r}. Accepted: {', '.join(_NAMES)}.")
    table = read_table(source, table_form(*_NAMES), columns=columns)
    where = table.source
    query, doc, rank, clicked = (table.frame[need(table, n, columns, LOG)] for n in _NAMES[:4])
    weight = find(table, "weight", columns)
    if weight is None and "weight" in (columns or {}):
        need(table, "weight", columns, LOG)
    parts = {
        "query": identifiers(query, "query", where),
        "doc": identifiers(doc, "document", where),
        "rank": _ranks(rank, where),
        "clicked": _clicked(clicked, where),
    }
    if weight is not None:
        parts["weight"] = numbers(table.frame[weight], "weight", where, least=0.0)
        if not parts["weight"].sum() < HEAVY:
            raise InputError(
                "the weights add up to more than can be computed with",
                where=where.name,
                column=weight,
                accepted=f"weights whose sum is below {HEAVY:g}, such as counts",
                hint="Divide all of them by one number: only their ratios matter",
            )
    frame = pl.DataFrame([column.alias(name) for name, column in parts.items()])
    if weight is None:
        return ClickLog(frame.with_columns(weight=pl.lit(1.0)), where, table.ignored)
    kept = frame.filter(pl.col("weight") > 0)
    if kept.is_empty():
        raise InputError("all weights are 0", where=where.name, column=weight, accepted="at least one weight above 0")
    nothing = len(frame) - len(kept)
    return ClickLog(kept, where, table.ignored | ({"rows of weight 0": nothing} if nothing else {}))


def _ranks(column: pl.Series, source: Source) -> pl.Series:
    values = numbers(column, "rank", source)
    if (row := first((values < 1) | (values != values.floor()))) is not None:
        raise fault(
            f"the rank is {column[row]}",
            source,
            row,
            column=column.name,
            accepted="whole numbers, 1 for the first rank",
        )
    return values


def _clicked(column: pl.Series, source: Source) -> pl.Series:
    values = numbers(column, "clicked", source)
    if (row := first((values != 0) & (values != 1))) is not None:
        raise fault(
            f"clicked is {column[row]}",
            source,
            row,
            column=column.name,
            accepted="1 for a click, 0 for none",
            hint="A count of clicks becomes rows with a weight",
        )
    return values


@dataclass(frozen=True)
class Cells:
    """A log added up by query, document and rank: all that the estimators look at.

    Attributes
    ----------
    query, pair, rank
        Codes from 0 of the query and of the pair (query, document), sorted; the rank counted from 0.
    shown, clicks
        How often the document was shown at the rank, and clicked there: sums of weights.
    queries, ranks
        How many there are. Ranks without a cell are possible, queries and pairs without one are not.
    """

    query: Integers
    pair: Integers
    rank: Integers
    shown: Floats
    clicks: Floats
    queries: int
    ranks: int

    def by_rank(self, amount: Floats | None = None) -> Floats:
        """Sums over the cells of each rank; how many cells there are where no amount is given."""
        return np.bincount(self.rank, amount, minlength=self.ranks).astype(np.float64)

    def by_pair(self, amount: Floats | None = None) -> Floats:
        """Sums over the cells of each pair, one for every cell."""
        return np.bincount(self.pair, amount)[self.pair].astype(np.float64)

    def some(self, keep: Booleans) -> Cells:
        """Some of the cells, with the codes of all."""
        return Cells(
            self.query[keep],
            self.pair[keep],
            self.rank[keep],
            self.shown[keep],
            self.clicks[keep],
            self.queries,
            self.ranks,
        )

    def partners(self) -> Iterator[tuple[Integers, Integers]]:
        """Each two cells of one pair once, the upper rank first, as many at a time as there are pairs."""
        at = np.arange(len(self.pair))
        for lag in range(1, self.ranks):
            upper = at[:-lag][self.pair[lag:] == self.pair[:-lag]]
            if not len(upper):
                return
            yield upper, upper + lag


def add_up(frame: pl.DataFrame, depth: int) -> Cells:
    """The cells of a log's rows down to a depth, in an order that does not depend on that of the rows."""
    cells = (
        frame.lazy()
        .filter(pl.col("rank") <= depth)
        .group_by("query", "doc", "rank")
        .agg(shown=pl.col("weight").sum(), clicks=(pl.col("weight") * pl.col("clicked")).sum())
        .sort("query", "doc", "rank")
        .select(
            pl.col("query").rle_id().cast(pl.Int64),
            pl.struct("query", "doc").rle_id().cast(pl.Int64).alias("pair"),
            pl.col("rank").cast(pl.Int64) - 1,
            "shown",
            "clicks",
        )
        .collect()
    )
    query, pair, rank, shown, clicks = (cells[n].to_numpy() for n in cells.columns)
    return Cells(
        query, pair, rank, shown, clicks, int(query[-1]) + 1 if len(query) else 0, int(rank.max(initial=-1)) + 1
    )


def depth_of(log: ClickLog, depth: int | None) -> tuple[int, list[str]]:
    """How deep to look, and what to say about it."""
    limit = USUAL_DEPTH
    if depth is not None:
        limit = checked("depth", depth, Number(low=1, high=GREATEST_DEPTH, integer=True))
    below = int((log.frame["rank"] > limit).sum())
    if not below:
        return limit, []
    why = "" if depth is not None else " (no depth was asked for)"
    return limit, [f"rows below rank {limit} are left out{why}: {below} of {len(log.frame)}"]


def checked(name: str, value: Any, accepts: Number) -> Any:
    """An option's value in its canonical form, or an error that says what is accepted."""
    try:
        return accepts.check(value)
    except (ValueError, TypeError):
        raise LightmeterError(f"{name} is {value!r}. Accepted: {accepts.describe()}.") from None
