"""Pairwise accuracy within and across groups (Beutel et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lightmeter.block import Block
from lightmeter.errors import TermError
from lightmeter.measures.groups import BY, GroupMeasure
from lightmeter.measures.members import (
    BY_DOC,
    VALUE,
    code_of,
    looked_at,
    member,
    sorted_by,
    starts_of,
    undefined,
)
from lightmeter.params import Choice, Maybe, param
from lightmeter.sums import sum_by
from lightmeter.values import Values

if TYPE_CHECKING:
    from lightmeter.context import Context

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Sums = tuple[Array, Array]
#: fewer pairs than this are rounding of memberships
NONE = 1e-9


class Pairwise(GroupMeasure):
    """Pairwise accuracy: of the pairs of a more and a less relevant document among the first k, the share in which
    the more relevant one stands higher.

    ``pairs='within'``: pairs of one group; ``'across'``: of two different groups; ``'all'``: any. ``more`` and
    ``less`` name the group of the more and of the less relevant document: ``Pairwise(by='g', more='f', less='m')`` is
    how often a relevant f stands above a less relevant m, and its difference from the turned pair is the gap between
    the groups. In [0, 1], higher is better; 1/2 is chance. Documents that are not judged have grade 0, and documents
    that are not ranked are in no pair. With soft and multi-valued memberships a pair counts by the product of the
    shares (``within``: the chance that both are of one group). Documents of unknown membership are in ``all`` pairs
    only with ``unknown='drop'``. Undefined (``no_pairs``) without such a pair. Source: Beutel et al., KDD 2019.

    Examples
    --------
    >>> from lightmeter import Pairwise, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "b": 0, "c": 1}},
    ...          groups={"g": {"a": "f", "b": "m", "c": "m"}})
    >>> m = Pairwise(by="g")
    >>> evaluate(c, [m, m(pairs="across"), m(pairs="within")]).mean()["value"].to_list()
    [0.5, 1.0, 0.0]
    """

    bounds = (0.0, 1.0)
    needs = frozenset({"groups", "judgments"})
    by: str = param(accepts=BY, doc=BY_DOC)
    pairs: Literal["all", "within", "across"] = param(
        default="all", accepts=Choice(("all", "within", "across")), doc="pairs of one group, of different ones, or any"
    )
    more: str | None = param(default=None, accepts=Maybe(VALUE), doc="the group of the more relevant document")
    less: str | None = param(default=None, accepts=Maybe(VALUE), doc="the group of the less relevant document")

    def check(self) -> None:
        super().check()
        if self.more is not None and self.less is not None and self.pairs != "all":
            raise TermError(
                f"{self}: more and less together say which pairs count. Accepted beside both: pairs='all' (the "
                "default)."
            )

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        for value in (self.more, self.less):
            if value is not None:
                code_of(context, measure, value)
        return measure

    def value(self, block: Block) -> Values:
        right, total = self._counts(block, _Places(block, looked_at(block, self.cutoff)))
        some = total > NONE
        values = Values(np.where(some, np.clip(right / np.where(some, total, 1.0), 0.0, 1.0), np.nan))
        if (self.pairs, self.more, self.less) != ("all", None, None):
            undefined(values, block, self.by, self.cutoff)
        return values.because(~some, "no_pairs")

    def _counts(self, block: Block, places: _Places) -> Sums:
        known = block.membership(self.by).known.astype(np.float64)
        more = None if self.more is None else member(block, self.by, self.more)
        less = None if self.less is None else member(block, self.by, self.less)
        if more is None and less is None:
            everyone = np.ones(block.shape)
            if self.pairs == "all":
                return places.count(everyone, everyone)
            within = _within(block, self.by, places)
            if self.pairs == "within":
                return within
            each = places.count(known, known)
            return each[0] - within[0], each[1] - within[1]
        one = more if more is not None else less
        if more is not None and less is not None:
            return places.count(more, less)
        other = {"all": np.ones(block.shape), "within": one, "across": known - one}[self.pairs]  # type: ignore[operator]
        return places.count(one, other) if more is not None else places.count(other, one)  # type: ignore[arg-type]


class _Places:
    """The places looked at of a block, with the order of their grades."""

    def __init__(self, block: Block, top: NDArray[np.bool_]) -> None:
        levels, level = np.unique(block.grade if block.judgments is not None else 0.0, return_inverse=True)
        self.level = level.reshape(block.shape).astype(np.int64)
        self.top, self.levels, self.rankings = top, len(levels), block.shape[0]
        self.ranking, self.rank = np.nonzero(top)

    def count(self, more: Array, less: Array) -> Sums:
        """Weights of the pairs in the right order, and of all, for each ranking; a pair's weight is a product."""
        at = self.ranking, self.rank
        return _pairs(self.ranking, self.level[at], more[at], less[at], self.levels, self.rankings)


def _within(block: Block, by: str, places: _Places) -> Sums:
    """Pairs of documents of one group, summed over the groups."""
    m = block.membership(by)
    looked = np.flatnonzero(places.top[m.ranking, m.rank] & (m.weight > 0))
    order = looked[sorted_by(m.ranking[looked], m.value[looked])]
    ranking, weight = m.ranking[order], m.weight[order]
    start = starts_of(ranking, m.value[order])
    group = np.cumsum(start == np.arange(len(order))) - 1
    level = places.level[ranking, m.rank[order]]
    count = int(group[-1]) + 1 if len(group) else 0
    of_group = _pairs(group, level, weight, weight, places.levels, count)
    owner = np.zeros(count, dtype=np.int64)
    owner[group] = ranking
    right, total = (sum_by(owner, x, places.rankings) for x in of_group)
    if m.spread is not None:
        # a document spread evenly over c groups is of one group with any other with a chance of 1/c
        told = 1.0 - m.spread
        everyone, both = places.count(np.ones(block.shape), np.ones(block.shape)), places.count(told, told)
        right = right + (everyone[0] - both[0]) / m.size
        total = total + (everyone[1] - both[1]) / m.size
    return right, total


def _pairs(key: Codes, level: Codes, more: Array, less: Array, levels: int, size: int) -> Sums:
    """Pairs of entries of one key and different levels, by key: the sum of ``more`` of the one of the higher level
    times ``less`` of the other, where the higher level comes first, and everywhere.

    Entries are in order of key and rank. Two levels differ at one highest bit, below a common prefix: for each bit the
    entries of a prefix are gone through once, so the time is that of ``log2(levels)`` sorts.
    """
    right, total = np.zeros(size), np.zeros(size)
    for bit in range(max(levels - 1, 0).bit_length()):
        prefix = level >> (bit + 1)
        k, p, u, v, high = key, prefix, more, less, (level >> bit) & 1
        if prefix.any():
            order = sorted_by(key, prefix)
            k, p, u, v, high = key[order], prefix[order], more[order], less[order], high[order]
        u, v = u * high, v * (1 - high)
        start = starts_of(k, p)
        first = np.flatnonzero(start == np.arange(len(k)))
        run = np.cumsum(u)
        above = run - (run - u)[start]
        right += sum_by(k, v * above, size)
        if len(first):
            ones, zeros = np.add.reduceat(u, first), np.add.reduceat(v, first)
            total += sum_by(k[first], ones * zeros, size)
    return right, total
