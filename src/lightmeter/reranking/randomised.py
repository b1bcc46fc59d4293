"""Rankings with a share of chance in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.reranking.base import Draw, Makes, Reordered, Reranker, none_of
from lightmeter.terms.parameters import Number, param

if TYPE_CHECKING:
    from lightmeter.measures.block import Block


class EpsilonGreedy(Reranker):
    """At each rank the best document left, or with probability epsilon any of those left.

    Guarantee: of n documents each has the first rank with probability at least epsilon/n, and epsilon = 0 is the
    ranking given, epsilon = 1 a uniformly random one. Several rankings of each are drawn.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c"]})
    >>> rerank(c, "EpsilonGreedy(epsilon=0.5)", samples=2).run["doc"].to_list()
    ['a', 'b', 'c', 'a', 'b', 'c']
    """

    makes: ClassVar[Makes] = "draws"
    guarantee: ClassVar[str] = "each of n documents has the first rank with probability epsilon/n or more"
    epsilon: float = param(accepts=Number(low=0, high=1), always=True, doc="probability of any document at a rank")

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        rankings, ranks = block.shape
        origin = np.repeat(np.arange(rankings), draw.samples)
        made = len(origin)
        order = np.tile(np.arange(ranks, dtype=np.int32), (made, 1))
        length = np.repeat(block.length, draw.samples)
        for rank in range(ranks - 1):
            # whoever is best is there already; somebody else comes forward and the ones between make room
            by_chance = draw.rng.random(made) < self.epsilon
            at = rank + (draw.rng.random(made) * (length - rank)).astype(np.int64)
            row = np.flatnonzero(by_chance & (rank < length - 1) & (at > rank))
            at = at[row]
            came = order[row, at]
            mine = order[row, rank:]
            between = np.arange(ranks - rank) <= (at - rank)[:, None]
            moved = np.concatenate([came[:, None], mine[:, :-1]], axis=1)
            order[row, rank:] = np.where(between, moved, mine)
        there = np.arange(ranks) < length[:, None]
        return Reordered(np.where(there, order, -1).astype(np.int64), origin, none_of(rankings))
