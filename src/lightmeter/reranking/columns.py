"""Ranking by a column, such as the mean rating of users."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.errors import InputError, LightmeterError, suggest
from lightmeter.reranking.base import Draw, Reordered, Reranker
from lightmeter.terms.parameters import Choice, Flag, Maybe, Text, param

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

FILE = Maybe(Text("a path"))
FILE_DOC = "table doc, <column>; without one the column is looked for in the run's own table"


class ByColumn(Reranker):
    """The documents by a number of their own, such as a mean rating: highest first, equals as they stood.

    The number is a column of the run's table, or of a table ``doc, <column>``. Guarantee: the column never rises down a
    ranking (never falls with ``descending=False``), and documents of equal numbers keep their order. A number that is
    missing or not finite is refused, or with ``missing='last'`` stands at the end. Source: the run "Rating" of Sakai et
    al.'s study of group fairness and relevance.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> import polars as pl
    >>> log = pl.DataFrame({"query": ["q"] * 3, "doc": ["a", "b", "c"], "score": [3, 2, 1], "rating": [0.0, 4.5, 5.0]})
    >>> rerank(load(run=log), "ByColumn(column='rating')").run["doc"].to_list()
    ['c', 'b', 'a']
    """

    guarantee: ClassVar[str] = "the column never rises down a ranking, and equals keep their order"
    column: str = param(accepts=Text("a column's name in quotes"), doc="the column of numbers")
    file: str | None = param(default=None, accepts=FILE, doc=FILE_DOC)
    descending: bool = param(default=True, accepts=Flag(), doc="highest first")
    missing: Literal["error", "last"] = param(
        default="error", accepts=Choice(("error", "last")), doc="documents without a number"
    )

    def prepare(self, context: Context, ranked: Ranked) -> None:
        column_of(ranked, self.column, self.file, self.missing)

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        number = column_of(block.ranked, self.column, self.file, self.missing)[block.rows]
        key = np.where(np.isnan(number), np.inf, -number if self.descending else number)
        # whoever has no number stands behind everyone who has, whichever way they are sorted
        order = np.lexsort((np.broadcast_to(np.arange(block.shape[1]), block.shape), key, ~block.valid), axis=1)
        return Reordered.one_each(np.where(np.take_along_axis(block.valid, order, axis=1), order, -1))


def column_of(ranked: Ranked, name: str, file: str | None, missing: str = "error") -> Floats:
    """The number of each row of a run; NaN where it has none.

    Raises
    ------
    InputError
        Where a document has none and ``missing='error'``.
    """
    run = ranked.run
    return run.once(("column", name, file, missing), lambda: _column(ranked, name, file, missing))


def _column(ranked: Ranked, name: str, file: str | None, missing: str) -> Floats:
    run = ranked.run
    if file is not None:
        from lightmeter.io.sources import is_path
        from lightmeter.io.tabular import read_named

        if not is_path(file) or not os.path.exists(file):
            raise LightmeterError(f"{file}: there is no such file. Accepted: a table doc, {name}.")
        table, _ = read_named(file, ["doc"], text=[name])
        cells = pl.DataFrame({"doc": run.doc}).join(table, on="doc", how="left", maintain_order="left")[name]
    elif run.extra is not None and name in run.extra.columns:
        cells = run.extra[name]
    else:
        known = [] if run.extra is None else run.extra.columns
        raise LightmeterError(
            f"run {run.name} has no column {name!r}.{suggest(name, known)} Columns: {', '.join(known) or 'none'}. Name "
            f"a table doc, {name} with file='..' otherwise."
        )
    numbers = cells.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False).to_numpy().copy()
    numbers[~np.isfinite(numbers)] = np.nan
    order = np.arange(len(run)) if ranked.order is None else ranked.order
    gone = order[np.isnan(numbers[order])]
    if missing == "error" and len(gone):
        row = int(gone[0])
        raise InputError(
            f"document {run.ids[row]!r} has the {name} {cells[row]!r}" + (f" in {file}" if file else ""),
            column=name,
            accepted="a finite number for every document",
            hint="Or say missing='last'" if missing == "error" else None,
            **run.place(row),
        )
    return numbers
