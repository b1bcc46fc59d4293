"""What documents merit: scores, grades or a column of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError, TermError
from lightmeter.models.users import User
from lightmeter.reranking.base import Reranker
from lightmeter.reranking.columns import column_of
from lightmeter.terms.parameters import Text

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

MERIT = Text("'score', 'grade', or a column's name")
MERIT_DOC = "what a document is worth: the run's score, the grade judged, or a column of numbers from 0"
USER_DOC = "user model of a reader who knows the rank only"
#: why a ranking stays as it is
NO_MERIT = "no document has merit, so the ranking stays as given"


def prepare_merits(
    reranker: Reranker, context: Context, ranked: Ranked, merit: str, file: str | None, *, signed: bool = False
) -> None:
    """Refuse merits that are not there, or below 0 where they are shared (not ``signed``).

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
    """``[rankings, ranks]``: the merit of each place, 0 in the padding."""
    if merit == "grade":
        return np.where(block.valid, block.grade, 0.0)
    if merit == "score":
        return np.where(block.valid, block.ranked.run.score[block.rows], 0.0)
    return np.where(block.valid, column_of(block.ranked, merit, file)[block.rows], 0.0)


def by_rank(reranker: Reranker, user: User) -> None:
    """Refuse users who read the documents."""
    if user.by_document:
        raise TermError(
            f"{reranker}: its user {user} reads the documents. Accepted: a user who knows the rank only, such as "
            "RBP(p=0.8) or DCG."
        )


def seen(user: User, block: Block, cutoff: int | None) -> Floats:
    """``[rankings, ranks]``: the view of each rank, 0 below the cutoff and in the padding."""
    view = user.view_at(np.arange(1.0, block.shape[1] + 1))
    return np.where(block.valid & (np.arange(block.shape[1]) < (cutoff or block.shape[1])), view, 0.0)


def sorted_by(key: Floats, block: Block) -> Integers:
    """Rankings by a falling key, equals as they stood; -1 in the padding."""
    order = np.argsort(np.where(block.valid, -key, np.inf), axis=1, kind="stable")
    return np.where(np.take_along_axis(block.valid, order, axis=1), order, -1)


def document_codes(ranked: Ranked) -> Integers:
    """For each row of a run the code of its document, whichever query it is for."""
    return ranked.run.once("document codes", lambda: _codes(ranked.run.doc))


def _codes(doc: pl.Series) -> Integers:
    return doc.rank("dense").to_numpy().astype(np.int64) - 1
