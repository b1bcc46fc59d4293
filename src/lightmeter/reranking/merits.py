"""Numbers of documents that rerankers use: a column, and merits (scores, grades or a column)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import InputError, LightmeterError, TermError, suggest
from lightmeter.models.users import User
from lightmeter.reranking.base import Reranker
from lightmeter.terms.parameters import Maybe, Text

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

FILE = Maybe(Text("a path"))
FILE_DOC = "table doc, <column>; without one the column is looked for in the run's own table"
MERIT = Text("'score', 'grade', or a column's name")
MERIT_DOC = "what a document is worth: the run's score, the grade judged, or a column of numbers from 0"
USER_DOC = "user model that knows the rank only"
#: why a ranking stays as it is
NO_MERIT = "no document has merit, so the ranking stays as given"


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
    unknown = order[np.isnan(numbers[order])]
    if missing == "error" and len(unknown):
        row = int(unknown[0])
        raise InputError(
            f"document {run.ids[row]!r} has the {name} {cells[row]!r}" + (f" in {file}" if file else ""),
            column=name,
            accepted="a finite number for every document",
            hint="Or say missing='last'",
            **run.place(row),
        )
    return numbers


def prepare_merits(
    reranker: Reranker, context: Context, ranked: Ranked, merit: str, file: str | None, *, signed: bool = False
) -> None:
    """Refuse merits that do not exist, or lie below 0 where they are shares (not ``signed``).

    Raises
    ------
    LightmeterError
        Naming the first document below 0.
    """
    if merit in ("grade", "ideal"):
        if context.collection.judgments is None:
            raise LightmeterError(
                f"{reranker}: merit={merit!r} needs judgments. Give them with --qrels FILE (in Python: qrels=), or "
                "choose merit='score' or a column."
            )
        return
    if merit == "score" and ranked.run.by_rank:
        raise LightmeterError(
            f"{reranker}: merit='score' needs scores, and run {ranked.run.name} gives ranks only. Accepted: "
            "merit='grade' with judgments, or a column of numbers from 0."
        )
    number = ranked.run.score if merit == "score" else column_of(ranked, merit, file)
    below = np.flatnonzero((number < 0) & (not signed))
    if len(below):
        row = int(below[0])
        raise LightmeterError(
            f"{reranker}: document {ranked.run.ids[row]!r} has the {merit} {number[row]:g}, and merit is a share of "
            "what there is. Accepted: numbers from 0, such as merit='grade' with judgments, or a column."
        )


def merits(block: Block, merit: str, file: str | None) -> Floats:
    """``[rankings, ranks]``: the merit at each position, 0 in the padding."""
    if merit == "grade":
        return np.where(block.valid, block.grade, 0.0)
    if merit == "score":
        return np.where(block.valid, block.ranked.run.score[block.rows], 0.0)
    return np.where(block.valid, column_of(block.ranked, merit, file)[block.rows], 0.0)


def by_rank(reranker: Reranker, user: User) -> None:
    """Refuse user models that read the documents."""
    if user.by_document:
        raise TermError(
            f"{reranker}: its user model {user} reads the documents. Accepted: one that knows the rank only, such as "
            "RBP(p=0.8) or DCG."
        )


def views(user: User, block: Block, cutoff: int | None) -> Floats:
    """``[rankings, ranks]``: the view of each rank, 0 below the cutoff and in the padding."""
    view = user.view_at(np.arange(1.0, block.shape[1] + 1))
    return np.where(block.valid & (np.arange(block.shape[1]) < (cutoff or block.shape[1])), view, 0.0)


def document_codes(ranked: Ranked) -> Integers:
    """For each row of a run the code of its document, whichever query it is for."""
    doc = ranked.run.doc
    return ranked.run.once("document codes", lambda: doc.rank("dense").to_numpy().astype(np.int64) - 1)
