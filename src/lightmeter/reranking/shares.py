"""Reranking towards shares of groups in every prefix (Geyik, Ambler and Kenthapadi, KDD 2019): the greedy ones.

All three look at the counts that rank k asks for: at least ``floor(k p)`` of a group of target share p, and not more
than ``ceil(k p)``. They differ in whom they place when nobody is below the least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.measures.base import BY
from lightmeter.models.targets import SHORTHANDS, Pool, Target
from lightmeter.reranking.base import Draw, Reordered, Reranker, hard
from lightmeter.reranking.counted import (
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
        """The first ranks, as places of the ranking given."""
        lists = Lists(groups.group, groups.width + 1)
        return lists.fill(depth, self.choice(groups.share, lists.ranks))

    def choice(self, share: Floats, ranks: int) -> Chooser:
        """Whom to place at a rank."""
        # whoever is of no group is never below the least and never above the most
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
        """Which of the groups below their most are looked at when nobody is below the least."""
        raise NotImplementedError


def short_of_share(groups: Groups, order: Integers, depth: int, by: str, length: Integers) -> Objects:
    """Where a prefix has fewer documents of a group than its share asks for."""
    rank = np.arange(1, depth + 1)
    needed = (lowest_counts(groups.share[:, [column]], rank) for column in range(groups.width))
    return shortfalls(groups.group, order, needed, by, groups.label, length)


def _due(below_most: Booleans, most: Integers, share: Floats) -> Floats:
    """The rank at which a group comes to be below its least: ``ceil(k p) / p``; infinite for whoever has no share."""
    due = np.divide(most, share, out=np.full(share.shape, np.inf), where=share > 0)
    due[:, -1] = np.inf
    return np.where(below_most, due, np.inf)


class DetGreedy(_ToShares):
    """Greedy towards shares: the highest score among groups below their least count, else among those below their
    most.

    At rank k a group of target share p is below its least with fewer than floor(k p) documents, below its most with
    fewer than ceil(k p). Guarantee: with up to three groups the first k have at least floor(k p) of every group at
    every k, as long as the group has documents; with more groups two may fall short at one rank, and what is broken is
    told. A document of unknown group may stand anywhere; it takes a place that no group gets, so with such documents
    the guarantee may break (DetConstSort keeps it). Source: Geyik, Ambler and Kenthapadi, KDD 2019.

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
    """Conservative towards shares: as DetGreedy, but when nobody is below the least the group that will be so soonest.

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
    """Between DetGreedy and DetCons: the highest score among the groups that will be below the least at the soonest
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
