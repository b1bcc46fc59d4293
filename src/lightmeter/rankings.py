"""From rows to rankings: the order of documents under a tie rule, and what each row points to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.collection import Collection, Run
from lightmeter.errors import InputError
from lightmeter.policies import Ties

#: Cells of a block: 1 MB of float64, so that a few of them stay in the cache.
CELLS = 1 << 17


@dataclass(frozen=True)
class TieCount:
    """How many documents share their score with a neighbour, in how many rankings."""

    documents: int
    rankings: int


def rank_order(run: Run, ties: Ties) -> tuple[NDArray[np.int64] | None, TieCount]:
    """Rows of a run in rank order.

    Returns
    -------
    order
        Row numbers, rankings one after the other as in ``run.offsets``; None where the rows stand in rank order already.
    ties
        How many documents were tied.

    Raises
    ------
    InputError
        Where ``ties='error'`` and two documents of one ranking have the same score.
    """
    score, starts = run.score, run.offsets[1:-1]
    falls = score[:-1] >= score[1:]
    falls[starts - 1] = True
    order: NDArray[np.int64] | None = None
    if not falls.all():
        order = _by_score(run)
        score = score[order]
    equal = score[:-1] == score[1:]
    equal[starts - 1] = False
    if not equal.any():
        return order, TieCount(0, 0)
    tied = np.flatnonzero(np.concatenate([[False], equal]) | np.concatenate([equal, [False]]))
    count = TieCount(len(tied), len(np.unique(run.ranking_of_row[tied])))
    if ties == "error":
        rows = tied[:2] if order is None else order[tied[:2]]
        raise InputError(
            f"documents {run.doc[int(rows[0])]!r} and {run.doc[int(rows[1])]!r} have the same score {score[tied[0]]:g}",
            hint="Ties are refused by ties='error'; accepted otherwise: docno or file", **run.place(int(rows[1])),
        )
    if ties == "docno":
        order = np.arange(len(score)) if order is None else order
        block = np.cumsum(np.concatenate([[True], ~equal]))[tied]
        docs = run.doc.gather(order[tied])
        frame = pl.DataFrame({"block": block, "doc": docs, "row": order[tied]})
        # block numbers rise along the tied rows, so the sorted rows fit into the same places
        order[tied] = frame.sort(["block", "doc"], descending=[False, True])["row"].to_numpy()
    return order, count


def _by_score(run: Run) -> NDArray[np.int64]:
    """Rows sorted by score within each ranking, stable in file order."""
    order = np.empty(len(run), dtype=np.int64)
    for part in chunks_of_like_length(run.lengths, CELLS):
        lengths = run.lengths[part]
        width = int(lengths.max(initial=0))
        at = run.offsets[part][:, None] + np.arange(width)
        inside = np.arange(width) < lengths[:, None]
        scores = np.where(inside, -run.score[np.minimum(at, len(run) - 1)], np.inf)
        by = np.argsort(scores, axis=1, kind="stable")
        order[at[inside]] = (run.offsets[part][:, None] + by)[inside]
    return order


def chunks_of_like_length(lengths: NDArray[np.int64], cells: int) -> Iterator[NDArray[np.int64]]:
    """Indices in chunks whose padded size stays below ``cells`` (at least one each), like lengths together."""
    by_length = np.argsort(lengths, kind="stable")[::-1] if len(lengths) and (lengths != lengths[0]).any() else np.arange(len(lengths))
    start = 0
    while start < len(by_length):
        width = max(int(lengths[by_length[start]]), 1)
        step = max(cells // width, 1)
        yield by_length[start : start + step]
        start += step


class Ranked:
    """A run in rank order, cut to a depth, with pointers from each place into the tables of what is known.

    Attributes
    ----------
    run
        The run.
    order
        Row at each place, or None for the rows as they stand.
    offsets
        Places of ranking r.
    """

    def __init__(
        self, collection: Collection, run: Run, order: NDArray[np.int64] | None, offsets: NDArray[np.int64],
        pointers: dict[str, NDArray[np.int32]] | None = None,
    ) -> None:
        self.collection, self.run, self.order, self.offsets = collection, run, order, offsets
        self._pointers: dict[str, NDArray[np.int32]] = pointers if pointers is not None else {}

    @classmethod
    def of(cls, collection: Collection, run: Run, ties: Ties, depth: int | None = None) -> tuple[Ranked, TieCount]:
        """A run ranked under a tie rule; with ``depth`` only the first ranks of each ranking."""
        order, count = rank_order(run, ties)
        ranked = cls(collection, run, order, run.offsets)
        if depth is not None and run.lengths.max(initial=0) > depth:
            rank = np.arange(len(run)) - np.repeat(run.offsets[:-1], run.lengths)
            ranked = ranked.keep(rank < depth)
        return ranked, count

    def keep(self, places: NDArray[np.bool_]) -> Ranked:
        """Only the marked places; the others close up."""
        order = np.flatnonzero(places) if self.order is None else self.order[places]
        kept = np.concatenate([[0], np.cumsum(places)])
        return Ranked(self.collection, self.run, order, kept[self.offsets], self._pointers)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of documents of each ranking."""
        return np.diff(self.offsets)

    @cached_property
    def ranking_of_place(self) -> NDArray[np.int32]:
        """The ranking of each place."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.lengths)

    def judged_row(self) -> NDArray[np.int32]:
        """For each *row* of the run the judgment it has, -1 for none."""
        if "judged" not in self._pointers:
            judgments = self.collection.judgments
            none = np.full(len(self.run), -1, dtype=np.int32)
            self._pointers["judged"] = none if judgments is None else self.run.find(judgments.index)
        return self._pointers["judged"]

    def member_row(self, by: str) -> NDArray[np.int32]:
        """For each *row* of the run its entry in an attribute, -1 for unknown."""
        key = f"member:{by}"
        if key not in self._pointers:
            self._pointers[key] = self.run.find(self.collection.attribute(by).index)
        return self._pointers[key]

    def judged_only(self) -> Ranked:
        """The rankings without their unjudged documents."""
        judged = self.judged_row() >= 0
        return self.keep(judged if self.order is None else judged[self.order])
