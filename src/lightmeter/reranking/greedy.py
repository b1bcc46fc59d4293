"""Greedy reranking towards target shares of groups (Geyik, Ambler and Kenthapadi, KDD 2019).

At rank k each method keeps at least ``floor(k p)`` documents of a group of target share p, and DetGreedy, DetCons and
DetRelaxed at most ``ceil(k p)``; they differ in which group comes next where none is below its least. DetConstSort
gives documents deadlines and sorts them as far as these allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.measures.base import BY
from lightmeter.models.targets import SHORTHANDS, Pool, Target
from lightmeter.reranking.base import Draw, Reordered, Reranker, hard
from lightmeter.reranking.group_lists import (
    Chooser,
    Groups,
    Lists,
    best,
    followed_by_rest,
    highest_counts,
    lowest_counts,
    shortfalls,
)
from lightmeter.terms.parameters import Choice, Either, Maybe, TermOf, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context


TARGET = Maybe(Either((Choice(tuple(SHORTHANDS)), TermOf("target"))))
TARGET_DOC = "shares that the groups should have; without one those of a targets file, else uniform"
BY_DOC = "attribute whose groups are counted; several: their intersections"


class _ToShares(Reranker, Cutoff, abstract=True):
    """Rerankers towards a target share of each group; ``@k``: only the first k ranks are."""

    guarantee: ClassVar[str] = "the first k have at least floor(k p) documents of every group of target share p"
    by: str = param(accepts=BY, doc=BY_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    @property
    def advice(self) -> str:
        pool = "" if isinstance(self.target, Pool) else "; target=Pool(of='run') asks for the candidates' own shares"
        if self.cutoff is not None:
            return f"A smaller k than {self.cutoff} asks for fewer documents{pool}"
        return (
            "Without @k every prefix counts, and the last is all candidates, whose shares are what they are: limit the "
            f"ranks that count, such as {self @ 10}{pool}"
        )

    def prepare(self, context: Context, ranked: Ranked) -> None:
        hard(self, context.collection.attribute(self.attribute))

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        groups = Groups.of(block, self.attribute, self.target)
        depth = block.shape[1] if self.cutoff is None else min(self.cutoff, block.shape[1])
        order = followed_by_rest(self.first(groups, block, depth), block.valid)
        return Reordered.one_each(order, short_of_share(groups, order, depth, self.attribute, block.length))

    def first(self, groups: Groups, block: Block, depth: int) -> Integers:
        """The first ranks, as positions in the ranking given."""
        lists = Lists(groups.group, groups.width + 1)
        return lists.fill(depth, self.choice(groups.share, lists.ranks))

    def choice(self, share: Floats, ranks: int) -> Chooser:
        """Which group comes next at a rank."""
        # documents of no group are never below the least and never above the most
        endless = np.concatenate([share, np.ones((len(share), 1))], axis=1)

        def choose(rank: int, taken: Integers, heads: Integers) -> Integers:
            there = heads < ranks
            low = lowest_counts(share, rank)
            low = np.concatenate([low, np.zeros((len(low), 1), dtype=np.int64)], axis=1)
            below_least = there & (taken < low)
            short = below_least.any(axis=1, keepdims=True)
            most = highest_counts(endless, rank)
            most[:, -1] = ranks + 1
            below_most = there & (taken < most)
            return best(heads, np.where(short, below_least, self.preferred(below_most, most, endless)), ranks)

        return choose

    def preferred(self, below_most: Booleans, most: Integers, share: Floats) -> Booleans:
        """Which of the groups below their most may come next when none is below its least."""
        raise NotImplementedError


def short_of_share(groups: Groups, order: Integers, depth: int, by: str, length: Integers) -> Objects:
    """Where a prefix has fewer documents of a group than its share asks for."""
    rank = np.arange(1, depth + 1)
    needed = (lowest_counts(groups.share[:, [column]], rank) for column in range(groups.width))
    return shortfalls(groups.group, order, needed, by, groups.label, length)


def _due(below_most: Booleans, most: Integers, share: Floats) -> Floats:
    """The rank at which a group comes to be below its least: ``ceil(k p) / p``; infinite for groups without a share."""
    due = np.divide(most, share, out=np.full(share.shape, np.inf), where=share > 0)
    due[:, -1] = np.inf
    return np.where(below_most, due, np.inf)


class DetGreedy(_ToShares):
    """Greedy towards shares: the highest score among groups below their least count, else among those below their
    most.

    At rank k a group of target share p is below its least with fewer than floor(k p) documents, below its most with
    fewer than ceil(k p). Guarantee: with up to three groups the first k have at least floor(k p) of every group at
    every k, as long as the group has documents; with more groups two may fall short at one rank, and the result names
    the first violation. A document of unknown group may stand anywhere; it takes a rank that no group gets, so with
    such documents the guarantee may break (DetConstSort keeps it). Source: Geyik, Ambler and Kenthapadi, KDD 2019.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"gender": {"a": "m", "b": "m", "c": "f", "d": "f"}})
    >>> rerank(c, "DetGreedy(by='gender')").run["doc"].to_list()
    ['a', 'c', 'b', 'd']
    """

    def preferred(self, below_most: Booleans, most: Integers, share: Floats) -> Booleans:
        return below_most


class DetCons(_ToShares):
    """Conservative towards shares: as DetGreedy, but when no group is below its least the one that will be so soonest.

    That is the group below its most of the smallest ceil(k p)/p; of two as near the higher score. Guarantee: as for
    DetGreedy. Source: Geyik, Ambler and Kenthapadi, KDD 2019.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"gender": {"a": "m", "b": "m", "c": "f", "d": "f"}})
    >>> rerank(c, "DetCons(by='gender')").run["doc"].to_list()
    ['a', 'c', 'b', 'd']
    """

    def preferred(self, below_most: Booleans, most: Integers, share: Floats) -> Booleans:
        due = _due(below_most, most, share)
        return below_most & (due <= due.min(axis=1, keepdims=True) * (1 + 1e-12))


class DetRelaxed(_ToShares):
    """Between DetGreedy and DetCons: the highest score among the groups that will be below their least at the soonest
    rank.

    That rank is ceil(ceil(k p)/p), so that groups due at one rank compete by score. Guarantee: as for DetGreedy.
    Source: Geyik, Ambler and Kenthapadi, KDD 2019.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"gender": {"a": "m", "b": "m", "c": "f", "d": "f"}})
    >>> rerank(c, "DetRelaxed(by='gender')").run["doc"].to_list()
    ['a', 'c', 'b', 'd']
    """

    def preferred(self, below_most: Booleans, most: Integers, share: Floats) -> Booleans:
        due = np.ceil(_due(below_most, most, share) - 1e-9)
        return below_most & (due <= due.min(axis=1, keepdims=True))


#: the deadline of documents that have none
NEVER = np.iinfo(np.int64).max


class DetConstSort(_ToShares):
    """Towards shares with as much order as they allow: a document that a group needs by rank k gets that rank as a
    deadline and moves up past lower scores that can wait.

    Guarantee: the first k have at least floor(k p) documents of every group of target share p at every k, for any
    number of groups, as long as the group has documents; the result names the first violation. Documents of unknown
    group too move up past lower scores that can wait. Source: Geyik, Ambler and Kenthapadi, KDD 2019 (a document never
    passes its deadline here; the printed algorithm lets it by one rank, counting from 0).

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"gender": {"a": "m", "b": "m", "c": "f", "d": "f"}})
    >>> rerank(c, "DetConstSort(by='gender')").run["doc"].to_list()
    ['a', 'c', 'b', 'd']
    """

    def first(self, groups: Groups, block: Block, depth: int) -> Integers:
        lists = Lists(groups.group, groups.width + 1)
        queue = _Queue(len(lists.row), lists.ranks)
        taken = np.zeros(lists.size.shape, dtype=np.int64)
        before = np.zeros(groups.share.shape, dtype=np.int64)
        room = np.minimum(block.length, depth)
        # rounding down leaves at most one document a group out, so that many ranks more fill the list
        last = room + (groups.share > 0).sum(axis=1)
        for rank in range(1, int(last.max(initial=0)) + 1):
            needed = lowest_counts(groups.share, rank)
            wanted = np.zeros(lists.size.shape, dtype=bool)
            wanted[:, :-1] = (needed > before) & (taken[:, :-1] < lists.size[:, :-1])
            wanted &= ((queue.length < room) & (rank <= last))[:, None]
            heads = lists.heads(taken)
            # the higher scores of those due at one rank come in first
            for _ in range(int(wanted.sum(axis=1).max(initial=0))):
                row = np.flatnonzero(wanted.any(axis=1))
                slot = np.argmin(np.where(wanted[row], heads[row], lists.ranks + 1), axis=1)
                wanted[row, slot] = False
                taken[row, slot] += 1
                queue.insert(row, heads[row, slot], np.full(len(row), rank))
            before = needed
        _insert_unknown(lists, queue)
        # documents due at one rank may be more than there is room for
        return np.where(queue.at < np.minimum(queue.length, room)[:, None], queue.position, -1)


def _insert_unknown(lists: Lists, queue: _Queue) -> None:
    """Documents of no group come in wherever they pass another; the rest follows at the end."""
    own = lists.slots - 1
    for number in range(int(lists.size[:, own].max(initial=0))):
        row = np.flatnonzero(lists.size[:, own] > number)
        queue.insert(row, lists.positions[row, lists.start[row, own] + number], None)


class _Queue:
    """Rankings that grow at the end, each new document passing those it may.

    It passes documents that stood lower in the ranking given and can wait one rank more, up to the first that cannot.
    """

    def __init__(self, rankings: int, ranks: int) -> None:
        self.position = np.full((rankings, ranks), -1, dtype=np.int64)
        self.deadline = np.full((rankings, ranks), NEVER, dtype=np.int64)
        self.length = np.zeros(rankings, dtype=np.int64)
        self.at = np.arange(ranks)

    def insert(self, row: Integers, position: Integers, deadline: Integers | None) -> None:
        """Insert one document into each of some rankings; without a deadline only where it passes another."""
        positions, until, end = self.position[row], self.deadline[row], self.length[row][:, None]
        stays = ((until < self.at + 2) | (positions < position[:, None])) & (self.at < end)
        to = np.where(stays.any(axis=1), len(self.at) - stays[:, ::-1].argmax(axis=1), 0)[:, None]
        if deadline is None:
            moves = to[:, 0] < end[:, 0]
            row, positions, until = row[moves], positions[moves], until[moves]
            to, position = to[moves], position[moves]
            deadline = np.full(len(row), NEVER)
        for array, old, new in ((self.position, positions, position), (self.deadline, until, deadline)):
            shifted = np.concatenate([old[:, :1], old[:, :-1]], axis=1)
            array[row] = np.where(self.at < to, old, np.where(self.at == to, new[:, None], shifted))
        self.length[row] += 1
