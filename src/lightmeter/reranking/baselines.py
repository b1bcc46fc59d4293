"""Simple rerankers to compare with: by a column, at random, a few documents per value."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Booleans
from lightmeter.errors import LightmeterError
from lightmeter.measures.base import BY
from lightmeter.reranking.base import Draw, Makes, Reordered, Reranker, none_of
from lightmeter.reranking.merits import FILE, FILE_DOC, column_of
from lightmeter.terms.parameters import Choice, Flag, Number, Text, param

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context


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
        # documents without a number stand behind all others, whichever way they are sorted
        order = np.lexsort((np.broadcast_to(np.arange(block.shape[1]), block.shape), key, ~block.valid), axis=1)
        return Reordered.one_each(np.where(np.take_along_axis(block.valid, order, axis=1), order, -1))


class EpsilonGreedy(Reranker):
    """At each rank the best document left, or with probability epsilon any of those left.

    Guarantee: of n documents each has the first rank with probability at least epsilon/n, and epsilon = 0 is the
    ranking given, epsilon = 1 a uniformly random one. Several rankings of each are sampled.

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
        total = len(origin)
        order = np.tile(np.arange(ranks, dtype=np.int32), (total, 1))
        length = np.repeat(block.length, draw.samples)
        for rank in range(ranks - 1):
            # the best document left is at its rank already; another moves up and those between make room
            by_chance = draw.rng.random(total) < self.epsilon
            at = rank + (draw.rng.random(total) * (length - rank)).astype(np.int64)
            row = np.flatnonzero(by_chance & (rank < length - 1) & (at > rank))
            at = at[row]
            chosen = order[row, at]
            mine = order[row, rank:]
            between = np.arange(ranks - rank) <= (at - rank)[:, None]
            moved = np.concatenate([chosen[:, None], mine[:, :-1]], axis=1)
            order[row, rank:] = np.where(between, moved, mine)
        valid = np.arange(ranks) < length[:, None]
        return Reordered(np.where(valid, order, -1).astype(np.int64), origin, none_of(rankings))


class UniquePerValue(Reranker):
    """At most one document of a value, or a few: from the top down, the others are dropped or moved down.

    ``most`` documents of one value stay. A document of several values counts in each of them, and is left out where any
    is full. A document of unknown value is a value of its own and always stays. ``keep='drop'`` leaves the others out,
    so that rankings get shorter; ``'demote'`` puts them behind all that stay, in their order.

    Guarantee: documents that stay keep their order, no value has more than ``most`` of them, and a document left out
    had that many of its value above. Source: the filter "UC" (unique chain) of Sakai et al.'s study of group fairness
    and relevance.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"chain": {"a": "x", "b": "x", "c": "y"}})
    >>> rerank(c, "UniquePerValue(by='chain')").run["doc"].to_list()
    ['a', 'c', 'd']
    >>> rerank(c, "UniquePerValue(by='chain', keep='demote')").run["doc"].to_list()
    ['a', 'c', 'd', 'b']
    """

    guarantee: ClassVar[str] = "no value has more documents than asked for among those that stay"
    by: str = param(accepts=BY, doc="attribute whose values are limited; several: their intersections")
    most: int = param(default=1, accepts=Number(low=1, integer=True), doc="documents of one value that stay")
    keep: Literal["drop", "demote"] = param(
        default="drop", accepts=Choice(("drop", "demote")), doc="what happens to the other documents"
    )

    def prepare(self, context: Context, ranked: Ranked) -> None:
        if context.collection.attribute(self.attribute).kind == "soft":
            raise LightmeterError(
                f"{self}: documents have shares of {self.attribute!r}, and it counts documents. Accepted: an attribute "
                "of one or several values per document."
            )

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        stays = self._stays(block)
        ranks = block.shape[1]
        behind = block.valid & (self.keep == "demote")
        key = np.where(stays, 0, np.where(behind, ranks, 2 * ranks)) + np.arange(ranks)
        order = np.argsort(key, axis=1, kind="stable")
        return Reordered.one_each(np.where(np.take_along_axis(stays | behind, order, axis=1), order, -1))

    def _stays(self, block: Block) -> Booleans:
        """Which documents are among the first of their values."""
        m = block.membership(self.attribute)
        keys, at = np.unique(m.ranking * m.size + m.value, return_inverse=True)
        ranks = block.shape[1]
        stays = block.valid.copy()
        if m.multi is None:
            # one value each: pairs are in the order of the ranks, so count within each value
            by_value = np.argsort(at, kind="stable")
            counts = np.bincount(at, minlength=len(keys))
            number = np.empty(len(at), dtype=np.int64)
            number[by_value] = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
            stays.reshape(-1)[m.position[number >= self.most]] = False
            return stays
        kept = np.zeros(len(keys), dtype=np.int64)
        by_rank = np.argsort(m.rank, kind="stable")
        ends = np.searchsorted(m.rank[by_rank], np.arange(ranks + 1))
        for rank in range(ranks):
            pairs = by_rank[ends[rank] : ends[rank + 1]]
            full = pairs[kept[at[pairs]] >= self.most]
            stays[m.ranking[full], rank] = False
            staying = pairs[stays[m.ranking[pairs], rank]]
            np.add.at(kept, at[staying], 1)
        return stays
