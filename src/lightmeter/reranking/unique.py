"""At most some documents of one value, such as one shop of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Booleans
from lightmeter.errors import LightmeterError
from lightmeter.measures.base import BY
from lightmeter.reranking.base import Draw, Reordered, Reranker
from lightmeter.terms.parameters import Choice, Number, param

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context


class UniquePerValue(Reranker):
    """At most one document of a value, or a few: from the top down, the others are dropped or moved down.

    ``most`` documents of one value stay. A document of several values counts in each of them, and is left out where any
    is full. A document of unknown value is a value of its own and always stays. ``keep='drop'`` leaves the others out,
    so that rankings get shorter; ``'demote'`` puts them behind all that stay, in their order.

    Guarantee: whoever stays keeps the order, no value has more than ``most`` of those who stay, and whoever is left out
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
    by: str = param(accepts=BY, doc="attribute of whose values there are few enough; several: their intersections")
    most: int = param(default=1, accepts=Number(low=1, integer=True), doc="documents of one value that stay")
    keep: Literal["drop", "demote"] = param(
        default="drop", accepts=Choice(("drop", "demote")), doc="what becomes of the others"
    )

    def prepare(self, context: Context, ranked: Ranked) -> None:
        if context.collection.attribute(self.attribute).kind == "soft":
            raise LightmeterError(
                f"{self}: documents have shares of {self.attribute!r}, and it counts documents. Accepted: an attribute "
                "of one or several values a document."
            )

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        stays = self._stays(block)
        ranks = block.shape[1]
        behind = block.valid & (self.keep == "demote")
        key = np.where(stays, 0, np.where(behind, ranks, 2 * ranks)) + np.arange(ranks)
        order = np.argsort(key, axis=1, kind="stable")
        return Reordered.one_each(np.where(np.take_along_axis(stays | behind, order, axis=1), order, -1))

    def _stays(self, block: Block) -> Booleans:
        """Who is among the first of its values."""
        m = block.membership(self.attribute)
        keys, at = np.unique(m.ranking * m.size + m.value, return_inverse=True)
        ranks = block.shape[1]
        stays = block.valid.copy()
        if m.multi is None:
            # one value each: the pairs stand in order of the ranks, so count within each value
            by_value = np.argsort(at, kind="stable")
            counts = np.bincount(at, minlength=len(keys))
            number = np.empty(len(at), dtype=np.int64)
            number[by_value] = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
            stays.reshape(-1)[m.position[number >= self.most]] = False
            return stays
        placed = np.zeros(len(keys), dtype=np.int64)
        by_rank = np.argsort(m.rank, kind="stable")
        ends = np.searchsorted(m.rank[by_rank], np.arange(ranks + 1))
        for rank in range(ranks):
            pairs = by_rank[ends[rank] : ends[rank + 1]]
            full = pairs[placed[at[pairs]] >= self.most]
            stays[m.ranking[full], rank] = False
            staying = pairs[stays[m.ranking[pairs], rank]]
            np.add.at(placed, at[staying], 1)
        return stays
