"""DetConstSort (Geyik, Ambler and Kenthapadi, KDD 2019): documents with deadlines, sorted as far as these allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Integers
from lightmeter.reranking.counted import Groups, Lists, lowest_counts
from lightmeter.reranking.shares import _ToShares

if TYPE_CHECKING:
    from lightmeter.measures.block import Block

#: deadline of whoever has none
NEVER = np.iinfo(np.int64).max


class DetConstSort(_ToShares):
    """Towards shares with as much order as they allow: whoever a group needs by rank k gets that rank as a deadline and
    moves up past lower scores that can wait.

    Guarantee: the first k have at least floor(k p) documents of every group of target share p at every k, for any
    number of groups, as long as the group has documents; what is broken is told. Documents of unknown group too move
    up past lower scores that can wait. Source: Geyik, Ambler and Kenthapadi, KDD 2019 (a document never passes its
    deadline here; the printed algorithm lets it by one rank, counting from 0).

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
        _unknown(lists, queue)
        # those who come in together may be more than there is room for
        return np.where(queue.at < np.minimum(queue.length, room)[:, None], queue.place, -1)


def _unknown(lists: Lists, queue: _Queue) -> None:
    """Documents of no group come in wherever they pass somebody; the others follow at the end."""
    own = lists.slots - 1
    for number in range(int(lists.size[:, own].max(initial=0))):
        row = np.flatnonzero(lists.size[:, own] > number)
        queue.insert(row, lists.places[row, lists.start[row, own] + number], None)


class _Queue:
    """Rankings that grow at the end, each newcomer passing those it may.

    It passes whoever stood lower in the ranking given and can wait one rank more, up to the first who cannot.
    """

    def __init__(self, rankings: int, ranks: int) -> None:
        self.place = np.full((rankings, ranks), -1, dtype=np.int64)
        self.deadline = np.full((rankings, ranks), NEVER, dtype=np.int64)
        self.length = np.zeros(rankings, dtype=np.int64)
        self.at = np.arange(ranks)

    def insert(self, row: Integers, place: Integers, deadline: Integers | None) -> None:
        """Insert one document into each of some rankings; without a deadline only where it passes somebody."""
        here, until, end = self.place[row], self.deadline[row], self.length[row][:, None]
        stays = ((until < self.at + 2) | (here < place[:, None])) & (self.at < end)
        to = np.where(stays.any(axis=1), len(self.at) - stays[:, ::-1].argmax(axis=1), 0)[:, None]
        if deadline is None:
            moves = to[:, 0] < end[:, 0]
            row, here, until, to, place = row[moves], here[moves], until[moves], to[moves], place[moves]
            deadline = np.full(len(row), NEVER)
        for array, old, new in ((self.place, here, place), (self.deadline, until, deadline)):
            shifted = np.concatenate([old[:, :1], old[:, :-1]], axis=1)
            array[row] = np.where(self.at < to, old, np.where(self.at == to, new[:, None], shifted))
        self.length[row] += 1
