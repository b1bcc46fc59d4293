"""FA*IR (Zehlike et al., CIKM 2017): the best ranking that chance would call fair in every prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.arrays import Integers
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.measures.base import BY
from lightmeter.reranking.base import VALUE, VALUES, Draw, Reordered, Reranker, hard
from lightmeter.reranking.counted import Chooser, Lists, best, followed_by_rest, shortfalls
from lightmeter.reranking.shares import BY_DOC
from lightmeter.statistics.fair_tables import fair_table
from lightmeter.terms.parameters import Either, Flag, FrozenMap, MapOf, Number, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

_SHARE = Number(above=0, below=1)


class FairTopK(Reranker, Cutoff):
    """FA*IR: every prefix of the first k documents has the protected documents that chance would give it.

    A prefix of i documents gets at least the ``alpha`` quantile of Binomial(i, p) of them, corrected for the many
    prefixes (``adjust``; :func:`~lightmeter.fair_table` gives the table). Several protected groups have one binomial
    table each, at the level ``alpha`` divided by their number (Bonferroni); ``p`` is then a share for each,
    ``{'a': 0.2, 'b': 0.3}``. With ``joint`` they have one test instead, that of Zehlike et al. 2022: a prefix with the
    counts x is too short of them where ``P(X <= x)``, of all groups together, is below the level, X multinomial; few of
    one group may be made up for by more of another, and the level is corrected so that a ranking drawn by chance fails
    as often as ``alpha`` says.

    Guarantee: of all rankings that keep the table (pass the test), the one that is best rank by rank: each rank has the
    highest score that still lets all later ranks keep it. Where there are too few protected documents or the tables of
    several groups ask for more places than there are, those there are come as early as the table asks, and what is
    broken is told. The measure :class:`~lightmeter.measures.prefixes.FAIR` tests the tables. Source: Zehlike et al.,
    CIKM 2017; for ``joint`` Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Information Processing and
    Management 2022.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"gender": {"a": "m", "b": "m", "c": "m", "d": "f"}})
    >>> rerank(c, "FairTopK(by='gender', protected='f', p=0.6, alpha=0.2)").run["doc"].to_list()
    ['a', 'd', 'b', 'c']
    """

    guarantee: ClassVar[str] = "every prefix of the first k has as many protected documents as FA*IR's table asks for"
    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUES, doc="the value, or values, whose documents are protected")
    p: float = param(
        accepts=Either((_SHARE, MapOf(VALUE, _SHARE))), always=True, doc="share of the protected group, or of each"
    )
    alpha: float = param(default=0.1, accepts=_SHARE, always=True, doc="how often a fair ranking may fail")
    adjust: bool = param(default=True, accepts=Flag(), doc="correct the table for the many prefixes")
    joint: bool = param(
        default=False, accepts=Flag(), doc="one multinomial test of all protected groups, not a binomial table for each"
    )

    @property
    def promise(self) -> str:
        if self.joint:
            return "every prefix of the first k passes FA*IR's multinomial test of all protected groups together"
        if len(self.shares) > 1:
            return f"{self.guarantee}, a binomial table for each group"
        return self.guarantee

    @property
    def advice(self) -> str:
        if self.cutoff is not None:
            return f"A smaller k than {self.cutoff}, or a smaller p, asks for fewer protected documents"
        return f"Without @k every prefix down to the last candidate counts: limit those that do, such as {self @ 10}"

    def check(self) -> None:
        shares = self.shares
        if sum(shares.values()) > 1:
            raise TermError(f"{self}: the shares sum to {sum(shares.values()):g}. Accepted: shares of one whole.")

    @property
    def shares(self) -> dict[str, float]:
        """The share of each protected value."""
        values = (self.protected,) if isinstance(self.protected, str) else tuple(self.protected)
        if len(set(values)) < len(values):
            raise TermError(f"FairTopK: protected names a value twice: {', '.join(map(repr, values))}.")
        if not isinstance(self.p, FrozenMap):
            if len(values) > 1:
                raise TermError(
                    f"FairTopK: {len(values)} groups are protected and p is one share. Accepted: a share for each, "
                    f"such as p={{{', '.join(f'{v!r}: 0.2' for v in values)}}}."
                )
            return {values[0]: self.p}
        if set(self.p) != set(values):
            raise TermError(
                f"FairTopK: p has shares for {', '.join(map(repr, self.p))}, and {', '.join(map(repr, values))} are "
                "protected. Accepted: a share for each protected value."
            )
        return {v: self.p[v] for v in values}

    def prepare(self, context: Context, ranked: Ranked) -> None:
        attribute = context.collection.attribute(self.attribute)
        hard(self, attribute)
        for value in self.shares:
            if value not in attribute.values:
                raise LightmeterError(
                    f"{self}: {attribute.name!r} has no value {value!r}.{suggest(value, attribute.values)} Accepted: "
                    f"{', '.join(attribute.values[:12])}."
                )

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        names = list(self.shares)
        group = _protected(block, self.attribute, names)
        depth = block.shape[1] if self.cutoff is None else min(self.cutoff, block.shape[1])
        if self.joint:
            from lightmeter.reranking.joint import jointly

            sizes = np.minimum(block.length, depth)
            first, why = jointly(self, group, sizes, self.attribute)
            return Reordered.one_each(followed_by_rest(first, block.valid), why)
        least = self._least(block, depth)
        lists = Lists(group, len(names) + 1)
        # who is not there cannot be placed; the rest is placed in time all the same
        able = np.minimum(least, lists.size[:, None, : len(names)])
        order = followed_by_rest(lists.fill(depth, _in_time(able, lists.ranks)), block.valid)
        needed = (least[:, :, column] for column in range(len(names)))
        why = shortfalls(group, order, needed, self.attribute, lambda _, column: names[column], block.length)
        return Reordered.one_each(order, why)

    def _least(self, block: Block, depth: int) -> Integers:
        """``[rankings, depth, groups]``: how many of each the prefixes need; lists of one length share their tables."""
        shares = self.shares
        least = np.zeros((block.shape[0], depth, len(shares)), dtype=np.int64)
        sizes = np.minimum(block.length, depth)
        for size in np.unique(sizes[sizes > 0]).tolist():
            mine = sizes == size
            for column, p in enumerate(shares.values()):
                table = fair_table(size, p, self.alpha / len(shares), adjust=self.adjust).minimum
                least[mine, :size, column] = table
                least[mine, size:, column] = table[-1]
        return least


def _protected(block: Block, by: str, names: list[str]) -> Integers:
    """The column of each document's protected value; one more for all other documents, and one for padding."""
    members = block.membership(by)
    group = np.where(block.valid, len(names), len(names) + 1)
    for column, name in enumerate(names):
        mine = members.position[members.value == members.attribute.values.index(name)]
        group.reshape(-1)[mine] = column
    return group


def _in_time(least: Integers, ranks: int) -> Chooser:
    """The best document at each rank that leaves the later ones able to have what they need."""

    def choose(rank: int, taken: Integers, heads: Integers) -> Integers:
        lacking = np.maximum(least[:, rank - 1 :, :] - taken[:, None, :-1], 0)
        # as many documents are needed by some rank as there are places up to it
        tight = lacking.sum(axis=2) >= np.arange(1, lacking.shape[1] + 1)
        first = tight.argmax(axis=1)
        now = tight.any(axis=1, keepdims=True)
        needed = lacking[np.arange(len(first)), first] > 0
        among = np.concatenate([needed | ~now, ~now], axis=1)
        return best(heads, among, ranks)

    return choose
