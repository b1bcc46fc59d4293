"""From rows to rankings: the order of documents under a tie rule, and what each row points to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Codes, Integers
from lightmeter.data.collection import Collection
from lightmeter.data.ids import distinct
from lightmeter.data.run import Run
from lightmeter.errors import InputError

#: rules that order documents of equal scores; under ``expected`` their order is random
TIES = ("docno", "file", "error")
Ties = Literal["docno", "file", "error", "expected"]
#: Cells of a block: 1 MB of float64, so that a few of them stay in the cache.
CELLS = 1 << 17


@dataclass(frozen=True)
class TieCount:
    """How many documents share their score with a neighbour, in how many rankings."""

    documents: int
    rankings: int


def rank_order(run: Run, ties: Ties, included: Booleans | None = None) -> tuple[Integers | None, TieCount]:
    """Rows of a run in rank order; ties count only in the rankings ``included``, if that is given.

    Returns
    -------
    order
        Row numbers, rankings one after the other as in ``run.offsets``; None where the rows stand in rank order
        already.
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
    order: Integers | None = None
    if not falls.all():
        order = _by_score(run)
        score = score[order]
    equal = score[:-1] == score[1:]
    equal[starts - 1] = False
    if included is not None and len(equal):
        equal &= included[run.ranking_of_row[1:]]
    if not equal.any():
        return order, TieCount(0, 0)
    tied = np.flatnonzero(np.concatenate([[False], equal]) | np.concatenate([equal, [False]]))
    count = TieCount(len(tied), distinct(run.ranking_of_row[tied]))
    if ties == "error":
        rows = tied[:2] if order is None else order[tied[:2]]
        raise InputError(
            f"documents {run.ids[int(rows[0])]!r} and {run.ids[int(rows[1])]!r} have the same score {score[tied[0]]:g}",
            hint="Ties are refused by ties='error'; accepted otherwise: docno or file",
            **run.place(int(rows[1])),
        )
    if ties == "docno":
        order = np.arange(len(score)) if order is None else order
        block = np.cumsum(np.concatenate([[True], ~equal]))[tied]
        docs = run.ids.gather(order[tied])
        frame = pl.DataFrame({"block": block, "doc": docs, "row": order[tied]})
        # block numbers rise along the tied rows, so the sorted rows fit into the same positions
        order[tied] = frame.sort(["block", "doc"], descending=[False, True])["row"].to_numpy()
    return order, count


def _by_score(run: Run) -> Integers:
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


def chunks_of_like_length(lengths: Integers, cells: int) -> Iterator[Integers]:
    """Indices in chunks whose padded size stays below ``cells`` (at least one each), like lengths together."""
    by_length = (
        np.argsort(lengths, kind="stable")[::-1]
        if len(lengths) and (lengths != lengths[0]).any()
        else np.arange(len(lengths))
    )
    start = 0
    while start < len(by_length):
        width = max(int(lengths[by_length[start]]), 1)
        step = max(cells // width, 1)
        yield by_length[start : start + step]
        start += step


class Ranked:
    """Rankings of a run's documents, with pointers from each position into the tables of judgments and memberships.

    Attributes
    ----------
    run
        The run.
    order
        Row of the run at each position, or None for the rows as they stand.
    offsets
        Places of ranking r: ``offsets[r]`` to ``offsets[r + 1]``.
    query
        Code of each ranking's query.
    weight
        Weight of each ranking, None for all alike.
    sampled
        Whether a query may have several rankings.
    """

    def __init__(
        self,
        collection: Collection,
        run: Run,
        order: Integers | None,
        offsets: Integers,
        query: Codes | None = None,
    ) -> None:
        self.collection, self.run, self.order, self.offsets = collection, run, order, offsets
        self.query = run.query if query is None else query
        self.sampled = run.sample is not None or query is not None
        #: distinguishes these rankings from others of the run
        self.key = run.name if query is None else (run.name, "sampled")
        self.weight = run.weight if query is None else None
        self._unknown: dict[str, tuple[float, float]] = {}

    @classmethod
    def of(
        cls, collection: Collection, run: Run, ties: Ties, depth: int | None = None, *, every_query: bool = True
    ) -> tuple[Ranked, TieCount]:
        """A run ranked under a tie rule.

        With ``depth`` only the first ranks of each ranking; without ``every_query`` only the queries evaluated: the
        rankings of others are empty, and their ties do not count.
        """
        included = None
        if not every_query:
            included = collection.counts[run.query]
        if included is None or included.all():
            return run.once(("ranked", ties, depth), lambda: cls._of(collection, run, ties, depth))
        key = ("ranked", ties, depth, included.tobytes())
        return run.once(key, lambda: cls._of(collection, run, ties, depth, included))

    @classmethod
    def _of(
        cls, collection: Collection, run: Run, ties: Ties, depth: int | None, included: Booleans | None = None
    ) -> tuple[Ranked, TieCount]:
        order, count = rank_order(run, ties, included)
        ranked = cls(collection, run, order, run.offsets)
        if depth is not None and run.lengths.max(initial=0) > depth:
            rank = np.arange(len(run)) - np.repeat(run.offsets[:-1], run.lengths)
            ranked = ranked.keep(rank < depth)
        return ranked if included is None else ranked.keep(included[ranked.ranking_of_position]), count

    def keep(self, positions: Booleans) -> Ranked:
        """Only the marked positions; the others close up."""
        order = np.flatnonzero(positions) if self.order is None else self.order[positions]
        kept = np.concatenate([[0], np.cumsum(positions)])
        return Ranked(
            self.collection, self.run, order, kept[self.offsets], None if self.query is self.run.query else self.query
        )

    @cached_property
    def lengths(self) -> Integers:
        """Number of documents of each ranking."""
        return np.diff(self.offsets)

    @cached_property
    def ranking_of_position(self) -> Codes:
        """The ranking of each position."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.lengths)

    def judged_row(self) -> Codes:
        """For each *row* of the run the judgment it has, -1 for none."""
        judgments = self.collection.judgments
        if judgments is None:
            return self.run.once("judged", lambda: np.full(len(self.run), -1, dtype=np.int32))
        return self.run.once("judged", lambda: self.run.find(judgments.index))

    def member_row(self, by: str) -> Codes:
        """For each *row* of the run its entry in an attribute, -1 for unknown."""
        attribute = self.collection.attribute(by)
        return self.run.once(("member", by), lambda: self.run.find(attribute.index))

    def judged_only(self) -> Ranked:
        """The rankings without their unjudged documents."""
        judged = self.judged_row() >= 0
        return self.keep(judged if self.order is None else judged[self.order])

    def unknown_share(self, by: str) -> tuple[float, float]:
        """The share of ranked documents, and of exposure (1/log2(rank + 1)), whose membership is unknown, over the
        queries evaluated.
        """
        if by not in self._unknown:
            inside = self.collection.counts[self.query][self.ranking_of_position]
            unknown = self.member_row(by) < 0
            unknown = (unknown if self.order is None else unknown[self.order]) & inside
            rank = np.arange(len(unknown)) - np.repeat(self.offsets[:-1], self.lengths)
            view = np.where(inside, 1.0 / np.log2(rank + 2.0), 0.0)
            total = int(inside.sum())
            self._unknown[by] = (
                (float(unknown.sum() / total), float((view * unknown).sum() / view.sum())) if total else (0.0, 0.0)
            )
        return self._unknown[by]

    def anything_known(self, by: str, cutoff: int | None = None) -> Booleans:
        """Which queries have a ranked document (among the first ``cutoff``) of known membership."""
        known = self.member_row(by) >= 0
        known = known if self.order is None else known[self.order]
        if cutoff is not None:
            rank = np.arange(len(known)) - np.repeat(self.offsets[:-1], self.lengths)
            known = known & (rank < cutoff)
        out = np.zeros(len(self.collection.queries), dtype=bool)
        out[self.query[self.ranking_of_position[known]]] = True
        return out
