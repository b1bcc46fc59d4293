"""Pairwise accuracy within and across groups (Beutel et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.membership import FEW
from lightmeter.data.values import Values, sum_by
from lightmeter.errors import TermError
from lightmeter.measures.base import BY
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    VALUE,
    GroupMeasure,
    by_value,
    code_of,
    looked_at,
    member,
    sorted_by,
    starts_of,
    undefined,
)
from lightmeter.terms.parameters import Choice, Maybe, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

Sums = tuple[Floats, Floats]
#: the cost of sorting an entry, and of the calls for a level, in looks at an entry
SORTING, CALLS = 6, 2000
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

    def __init__(self, block: Block, top: Booleans) -> None:
        level, self.levels = block.judgments.levels
        self.level = level[block.judgment].reshape(-1)
        self.top, self.rankings = top.reshape(-1), block.shape[0]
        self.at = np.flatnonzero(self.top)
        self.ranking = self.at // max(block.shape[1], 1)

    def count(self, more: Floats, less: Floats) -> Sums:
        """Weights of the pairs in the right order, and of all, for each ranking; a pair's weight is a product."""
        u, v = more.reshape(-1)[self.at], less.reshape(-1)[self.at]
        return _pairs(self.ranking, self.level[self.at], u, v, self.levels, self.rankings)


def _within(block: Block, by: str, places: _Places) -> Sums:
    """Pairs of documents of one group, summed over the groups."""
    m = block.membership(by)
    looked = m.of_pairs(places.top) & (m.weight > 0)
    order = by_value(np.where(looked, m.value, m.size), m.size)
    weight, rankings = m.weight[order], places.rankings
    group = m.value[order] * rankings + m.ranking[order]
    if m.size > FEW:  # only those that occur
        first = np.flatnonzero(np.diff(group, prepend=-1))
        owner = group[first] % rankings
        group = np.repeat(np.arange(len(first)), np.diff(first, append=len(group)))
    else:
        owner = np.tile(np.arange(rankings), m.size)
    of_group = _pairs(group, m.of_pairs(places.level)[order], weight, weight, places.levels, len(owner))
    right, total = (sum_by(owner, x, rankings) for x in of_group)
    if m.spread is not None:
        # a document spread evenly over c groups is of one group with any other with a chance of 1/c
        told = 1.0 - m.spread
        everyone, both = places.count(np.ones(block.shape), np.ones(block.shape)), places.count(told, told)
        right = right + (everyone[0] - both[0]) / m.size
        total = total + (everyone[1] - both[1]) / m.size
    return right, total


def _pairs(key: Integers, level: Integers, more: Floats, less: Floats, levels: int, size: int) -> Sums:
    """Pairs of entries of one key and different levels, by key: the sum of ``more`` of the one of the higher level
    times ``less`` of the other, where the higher level comes first, and everywhere.

    Entries are in order of key and rank.
    """
    above = np.cumsum(np.bincount(level, minlength=levels)[::-1])[:-1].sum()
    halvings = max(levels - 1, 0).bit_length()
    by_level = above + CALLS * levels <= halvings * (SORTING * len(level) + CALLS)
    return (_level_by_level if by_level else _by_halves)(key, level, more, less, levels, size)


def _by_halves(key: Integers, level: Integers, more: Floats, less: Floats, levels: int, size: int) -> Sums:
    """As :func:`_pairs`, all entries sorted for each bit of the levels: two levels differ at one highest bit, below a
    common prefix.
    """
    right, total = np.zeros(size), np.zeros(size)
    for bit in range(max(levels - 1, 0).bit_length()):
        prefix = level >> (bit + 1)
        order = sorted_by(key, prefix)
        fresh = starts_of(key[order], prefix[order]) == np.arange(len(order))
        high = (level[order] >> bit) & 1
        found = _level_by_level(np.cumsum(fresh) - 1, high, more[order], less[order], 2, int(fresh.sum()))
        owner = key[order][fresh]
        right += sum_by(owner, found[0], size)
        total += sum_by(owner, found[1], size)
    return right, total


def _level_by_level(key: Integers, level: Integers, more: Floats, less: Floats, levels: int, size: int) -> Sums:
    """As :func:`_pairs`, the entries of each level and above looked at once: the level is the lower one."""
    right, total = np.zeros(size), np.zeros(size)
    for lowest in range(levels - 1):
        lower = level == lowest
        below = np.cumsum(less * lower)
        end = np.cumsum(sum_by(key, less * lower, size))
        high = np.flatnonzero(~lower)
        key, level, more, less, passed = key[high], level[high], more[high], less[high], below[high]
        right += sum_by(key, more * (end[key] - passed), size)
        total += sum_by(key, more, size) * np.diff(end, prepend=0.0)
    return right, total
