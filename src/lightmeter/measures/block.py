"""Blocks: padded arrays [rankings, ranks] on which measures are computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from lightmeter.arrays import AnyArray, Booleans, Codes, Floats, Integers
from lightmeter.data.judgments import Judgments
from lightmeter.data.rankings import Ranked
from lightmeter.errors import LightmeterError
from lightmeter.measures.context import Context
from lightmeter.models.users import User, stopping

if TYPE_CHECKING:
    from lightmeter.data.membership import Membership

T = TypeVar("T")


class Block:
    """Some rankings of one run, of like length, side by side.

    All arrays are ``[rankings, ranks]``, padded at the end; ``valid`` marks the real places. What several measures
    need is computed once.

    Parameters
    ----------
    context
        What holds for the whole call: collection, conventions, targets.
    ranked
        The run in rank order.
    rankings
        Which rankings.
    depth
        Ranks kept; None for all.
    """

    def __init__(self, context: Context, ranked: Ranked, rankings: Integers, depth: int | None = None) -> None:
        self.context, self.ranked, self.rankings = context, ranked, rankings
        #: code of each ranking's query
        self.query = ranked.query[rankings]
        full = ranked.lengths[rankings]
        #: number of documents of each ranking, before ``depth``
        self.length = full
        width = int(full.max(initial=0))
        width = width if depth is None else min(width, depth)
        #: whether no place is padding
        self.full = bool((full >= width).all())
        shape = (len(full), width)
        self.valid: Booleans = np.ones(shape, bool) if self.full else np.arange(width) < full[:, None]
        self._width = width
        self._span = self._one_piece()
        self._cache: dict[Any, Any] = {}

    def _one_piece(self) -> slice | None:
        """Where the rows of the run stand, if they are the block's places one after the other."""
        ranked, rankings = self.ranked, self.rankings
        if not self.full or not len(rankings) or ranked.order is not None or (np.diff(rankings) != 1).any():
            return None
        start, end = int(ranked.offsets[rankings[0]]), int(ranked.offsets[rankings[-1] + 1])
        return slice(start, end) if end - start == self.valid.size else None

    @cached_property
    def rows(self) -> Integers:
        """The row of the run at each place; any in the padding."""
        places = self.ranked.offsets[self.rankings][:, None] + np.arange(self._width)
        if not self.full:
            places = np.where(self.valid, places, 0)
        return places if self.ranked.order is None else self.ranked.order[places]

    def at_places(self, of_rows: AnyArray) -> AnyArray:
        """What holds for each row of the run, ``[rankings, ranks]``; any in the padding."""
        return of_rows[self.rows] if self._span is None else of_rows[self._span].reshape(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(rankings, ranks)."""
        return self.valid.shape

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed at the first call with this key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    @property
    def judgments(self) -> Judgments:
        """The judgments; an error where there are none."""
        judgments = self.context.collection.judgments
        if judgments is None:
            raise LightmeterError("this measure needs judgments. Give them with --qrels FILE (in Python: qrels=).")
        return judgments

    @cached_property
    def judgment(self) -> Integers:
        """The judgment each document has, -1 for none."""
        # many tables are looked up by it, which takes half the time with whole numbers of 64 bits
        found = self.at_places(self.ranked.judged_row()).astype(np.int64)
        return found if self.full else np.where(self.valid, found, -1)

    @cached_property
    def judged(self) -> Booleans:
        """Which documents are judged."""
        return self.judgment >= 0

    @cached_property
    def grade(self) -> Floats:
        """Grades; unjudged and negative ones count as 0."""
        if self.context.collection.judgments is None:
            return np.zeros(self.shape)
        return self.judgments.gain_or_0[self.judgment]

    @cached_property
    def score(self) -> Floats:
        """Scores as the run gives them (minus the rank, where it gives ranks); NaN in the padding."""
        return np.where(self.valid, self.ranked.run.score[self.rows], np.nan)

    @property
    def doc(self) -> pl.Series:
        """Document ids of the valid places, ranking by ranking."""
        return self.ranked.run.ids.gather(self.rows[self.valid])

    def relevant(self, rel: float = 1) -> Booleans:
        """Which documents have a grade of at least ``rel``."""
        return self.once(
            ("relevant", rel), lambda: self.judged & (self.grade >= rel) if rel <= 0 else self.grade >= rel
        )

    def count_relevant(self, rel: float = 1) -> Integers:
        """Number of documents judged ``rel`` or higher for each ranking's query, ranked or not."""
        return self.judgments.relevant(rel)[self.query]

    def ideal(self, depth: int | None = None) -> Floats:
        """Grades of the best possible ranking of the judged documents, ``[rankings, ..]``, padded with 0."""
        judgments = self.judgments
        positive = judgments.relevant(np.nextafter(0, 1))[self.query]
        width = int(positive.max(initial=0))
        width = width if depth is None else min(width, depth)
        at = judgments.offsets[self.query][:, None] + np.arange(width)
        return np.where(
            np.arange(width) < positive[:, None],
            np.append(judgments.descending, 0.0)[np.minimum(at, len(judgments.grade))],
            0.0,
        )

    def view(self, user: User, cutoff: int | None = None) -> Floats:
        """Probability that each rank is seen, 0 below the cutoff and in the padding."""
        return self.once(("view", user, cutoff), lambda: self._cut(user, user.view, cutoff))

    def exposure(self, user: User, cutoff: int | None = None) -> Floats:
        """Expected view of each document under the call's policy; view itself where rankings are given or drawn."""
        policy = self.context.policy
        if not policy.stochastic or self.ranked.sampled:
            return self.view(user, cutoff)
        from lightmeter.exposure.policy import policy_exposure

        return self.once(
            ("exposure", user, cutoff), lambda: policy_exposure(policy, self.score, self.grade, user, cutoff)
        )

    def stop(self, user: User, cutoff: int | None = None) -> Floats:
        """Probability that each rank is the last one seen, 0 below the cutoff and in the padding."""
        return self.once(("stop", user, cutoff), lambda: self._stop(user, cutoff))

    def _stop(self, user: User, cutoff: int | None) -> Floats:
        if cutoff is None and self.full and user.by_continuation and self.context.collection.judgments is not None:
            # a document's continuation follows from its grade, so it is computed once a judgment
            return stopping(self.judgments.once(user, user.continuation)[self.judgment])
        return self._cut(user, user.stop, cutoff)

    def stops(self, user: User, cutoff: int | None = None) -> tuple[Integers, Floats]:
        """Where somebody may stop, as ``ranking * ranks + rank`` in order, and how probably; nobody stops elsewhere."""
        return self.once(("stops", user, cutoff), lambda: self._stops(user, cutoff))

    def _stops(self, user: User, cutoff: int | None) -> tuple[Integers, Floats]:
        judgments = self.context.collection.judgments
        if user.by_continuation and judgments is not None:
            goes_on = judgments.once(user, user.continuation)
            if goes_on[-1] == 1:  # everybody goes on at documents that are not judged, which most are not
                return self._stops_of_few(goes_on, judgments.once((user, "stays"), lambda _: goes_on < 1), cutoff)
        stop = self.stop(user, cutoff)
        places = np.flatnonzero(stop)
        return places, np.broadcast_to(stop, self.shape).reshape(-1)[places]

    def _stops_of_few(self, goes_on: Floats, some_stop: Booleans, cutoff: int | None) -> tuple[Integers, Floats]:
        """Stops of a user whom most documents do not stop, by judgment: only the others are looked at."""
        places = np.flatnonzero(some_stop[self.judgment])
        width = max(self.shape[1], 1)
        ranking, rank = np.divmod(places, width)
        if cutoff is not None:
            places, ranking = places[rank < cutoff], ranking[rank < cutoff]
        here = goes_on[self.judgment.reshape(-1)[places]]
        number = np.arange(len(places)) - np.searchsorted(ranking, np.arange(self.shape[0]))[ranking]
        reached = np.ones((self.shape[0], int(number.max(initial=-1)) + 2))
        reached[ranking, number + 1] = here
        np.cumprod(reached, axis=1, out=reached)
        return places, reached[ranking, number] * (1.0 - here)

    def _cut(self, user: User, vector: Callable[[Floats], Floats], cutoff: int | None) -> Floats:
        # neither view nor stop of a rank depends on what stands below it, so what is cut need not be computed
        out = np.zeros(self.shape)
        # grades are looked up for a user who sees them; to a position model all rankings of a length are alike
        grade = self.grade if user.by_document else np.zeros((1, self.shape[1]))
        out[:, :cutoff] = vector(grade[:, :cutoff])
        return out if self.full else np.where(self.valid, out, 0.0)

    def membership(self, by: str) -> Membership:
        """Memberships of the documents in the values of an attribute, under the call's rule for unknown ones."""
        return self.once(("membership", by), lambda: _membership(self, by))

    def member_entry(self, by: str) -> Codes:
        """The entry of each document in an attribute's table, -1 for unknown."""

        def look() -> Codes:
            found = self.at_places(self.ranked.member_row(by))
            return found if self.full else np.where(self.valid, found, -1)

        return self.once(("entry", by), look)


def _membership(block: Block, by: str) -> Membership:
    """Memberships of a block's documents in an attribute, under the call's rule for unknown ones."""
    from lightmeter.data.membership import Membership

    context = block.context
    attribute = context.collection.attribute(by)
    entry = block.member_entry(by)
    if attribute.indptr is None and entry.size and entry.min() >= 0:  # one value each, and no padding
        size = len(attribute.values) + (context.count_distinct(attribute) if context.unknown == "distinct" else 0)
        value = attribute.codes.take(entry.reshape(-1)).astype(np.int64)
        return Membership(attribute, size, block.shape, value, None, None, None, block.valid, True)
    unknown = block.valid & (entry < 0)
    spread: Floats | None = None
    known = block.valid
    size = len(attribute.values)
    position, codes, weight = attribute.pairs(entry.ravel(), split=True)
    multi = None
    if attribute.kind == "multi" and attribute.indptr is not None:
        multi = np.diff(attribute.indptr)[entry.ravel()[position]].astype(np.float64)
    value = codes.astype(np.int64)
    if unknown.any():
        if context.unknown == "error":
            context.refuse_unknown(attribute, block.ranked.run.name, block.doc.filter(unknown[block.valid]))
        elif context.unknown == "uniform":
            spread = unknown.astype(np.float64)
        elif context.unknown == "drop":
            known = block.valid & ~unknown
        else:
            own_value = context.distinct(attribute)[block.ranked.run.name][block.rows]
            own = np.flatnonzero(unknown.ravel())
            position = np.concatenate([position, own])
            order = np.argsort(position, kind="stable")
            position = position[order]
            value = np.concatenate([value, own_value.ravel()[own]])[order]
            weight = np.concatenate([weight, np.ones(len(own))])[order]
            multi = None if multi is None else np.concatenate([multi, np.ones(len(own))])[order]
    if context.unknown == "distinct":
        size += context.count_distinct(attribute)
    return Membership(attribute, size, block.shape, value, position, weight, spread, known, known is block.valid, multi)
