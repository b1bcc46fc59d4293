"""FA*IR: the best ranking that chance would call fair in every prefix (Zehlike et al., CIKM 2017).

Several protected groups have a binomial table each, or one multinomial test for all of them (Zehlike et al. 2022): a
ranking is fair if it could have come from one throw of a die per rank, whose sides are the groups and everyone else. A
prefix of i documents with counts x is too short of protected documents where so few are unlikely:
``F_i(x) = P(X_1 <= x_1, .., X_g <= x_g) < alpha`` with X multinomial of i throws. There is no table of one least count
per group: few of one group may be made up for by more of another. ``F`` follows the throws,
``F_(i+1)(x) = p_0 F_i(x) + sum_g p_g F_i(x - e_g)``, ``F_0 = 1``, and so does the chance that a random ranking has
failed by then; both are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.measures.base import BY
from lightmeter.measures.prefixes import FAIR
from lightmeter.reranking.base import VALUE, VALUES, Draw, Reordered, Reranker, hard, none_of
from lightmeter.reranking.greedy import BY_DOC
from lightmeter.reranking.group_lists import Chooser, Lists, best, followed_by_rest, shortfalls
from lightmeter.statistics.fair_tables import fair_table
from lightmeter.terms.parameters import Either, Flag, FrozenMap, MapOf, Number, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context


#: counts of all ranks that are held at once: two groups and 157 ranks, three and 43, four and 19
CELLS = 4_000_000
#: two probabilities closer than this (relative) are one
SAME = 1e-12
_SHARE = Number(above=0, below=1)


class FairTopK(Reranker, Cutoff):
    """FA*IR: every prefix of the first k documents has the protected documents that chance would give it.

    A prefix of i documents gets at least the ``alpha`` quantile of Binomial(i, p) of them, corrected for the many
    prefixes (``adjust``; :func:`~lightmeter.fair_table` gives the table). Several protected groups have one binomial
    table each, at the level ``alpha`` divided by their number (Bonferroni); ``p`` is then a share for each,
    ``{'a': 0.2, 'b': 0.3}``. With ``joint`` they have one test instead, that of Zehlike et al. 2022: a prefix with the
    counts x is too short of them where ``P(X <= x)``, of all groups together, is below the level, X multinomial; few of
    one group may be made up for by more of another, and the level is corrected so that a random ranking fails as
    often as ``alpha`` says.

    Guarantee: of all rankings that keep the table (pass the test), the one that is best rank by rank: each rank has the
    highest score that still lets all later ranks keep it. Where there are too few protected documents or the tables of
    several groups require more ranks than there are, those there are come as early as the table requires, and the
    result names the first violation. The measure :class:`~lightmeter.measures.prefixes.FAIR` tests the tables. Source:
    Zehlike et al., CIKM 2017; for ``joint`` Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Information
    Processing and Management 2022.

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

    def fairness_measures(self, judged: bool) -> list[Any]:
        level, tables = self.alpha / len(self.shares), {} if self.joint else self.shares
        return super().fairness_measures(judged) + [
            FAIR(by=self.by, protected=value, p=p, alpha=level, adjust=self.adjust, cutoff=self.cutoff)
            for value, p in tables.items()
        ]

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        names = list(self.shares)
        group = _protected(block, self.attribute, names)
        depth = block.shape[1] if self.cutoff is None else min(self.cutoff, block.shape[1])
        if self.joint:
            sizes = np.minimum(block.length, depth)
            first, why = _first_ranks(self, group, sizes)
            return Reordered.one_each(followed_by_rest(first, block.valid), why)
        least = self._least(block, depth)
        lists = Lists(group, len(names) + 1)
        # missing documents cannot be ranked; the others come in time all the same
        able = np.minimum(least, lists.size[:, None, : len(names)])
        order = followed_by_rest(lists.fill(depth, _in_time(able, lists.ranks)), block.valid)
        needed = (least[:, :, column] for column in range(len(names)))
        why = shortfalls(group, order, needed, self.attribute, lambda _, column: names[column], block.length)
        return Reordered.one_each(order, why)

    def _least(self, block: Block, depth: int) -> Integers:
        """``[rankings, depth, groups]``: how many of each the prefixes need; rankings of one length share tables."""
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
        # as many documents are needed by some rank as there are ranks up to it
        tight = lacking.sum(axis=2) >= np.arange(1, lacking.shape[1] + 1)
        first = tight.argmax(axis=1)
        now = tight.any(axis=1, keepdims=True)
        needed = lacking[np.arange(len(first)), first] > 0
        among = np.concatenate([needed | ~now, ~now], axis=1)
        return best(heads, among, ranks)

    return choose


def _first_ranks(method: FairTopK, group: Integers, sizes: Integers) -> tuple[Integers, Objects]:
    """The first ranks of each ranking under the joint test, and which prefix fails it where one does.

    Parameters
    ----------
    method
        The reranker.
    group
        ``[rankings, ranks]``: the number of each document's protected value, one more for all other documents, and one
        for padding.
    sizes
        ``[rankings]``: how many ranks are tested.
    """
    names = list(method.shares)
    groups = len(names)
    first = np.full((len(group), int(sizes.max(initial=0))), -1, dtype=np.int64)
    why = none_of(len(group))
    has = np.stack([(group == g).sum(axis=1) for g in range(groups)], axis=1)
    # rankings of one length that have as many of each group are made side by side
    keys = np.concatenate([sizes[:, None], np.minimum(has, sizes[:, None])], axis=1)
    for key in np.unique(keys, axis=0):
        size = int(key[0])
        mine = np.flatnonzero((keys == key).all(axis=1))
        if not size:
            continue
        test = joint_test(size, list(method.shares.values()), method.alpha, adjust=method.adjust)
        order = _joint_order(test, group[mine], key[1:])
        first[mine, :size] = order
        taken = np.stack([(np.take_along_axis(group[mine], order, axis=1) == g) for g in range(groups)])
        count = taken.cumsum(axis=2)
        chance = test.cumulative[(np.arange(size), *count)]
        short = ~test.passed[(np.arange(size), *count)]
        for row in np.flatnonzero(short.any(axis=1)).tolist():
            at = int(short[row].argmax())
            counts = ", ".join(f"{count[g, row, at]} of {name!r}" for g, name in enumerate(names))
            why[mine[row]] = (
                f"the first {at + 1} have {counts} of {method.attribute}, and so few have a chance of "
                f"{chance[row, at]:.3g}, below {test.alpha:.3g}"
            )
    return first, why


def _joint_order(test: JointTest, group: Integers, available: Integers) -> Integers:
    """The first ranks of rankings that have as many documents of each group."""
    groups = len(available)
    lists = Lists(group, groups + 1)
    able = in_time(test, available.tolist())
    size = len(able)
    steps = np.concatenate([np.eye(groups, dtype=np.int64), np.zeros((1, groups), dtype=np.int64)])

    def choose(rank: int, taken: Integers, heads: Integers) -> Integers:
        # counts with one more document of each group, and with none
        counts = np.minimum(taken[:, None, :groups] + steps, size)
        at = (np.full(counts.shape[:2], rank - 1), *np.moveaxis(counts, 2, 0))
        some = heads < lists.ranks
        allowed = able[at] & some
        # where no choice lets later ranks pass, the one that brings this rank nearest to passing
        nearest = np.where(some, test.cumulative[at], -1.0)
        nearest = nearest >= nearest.max(axis=1, keepdims=True)
        return best(heads, np.where(allowed.any(axis=1, keepdims=True), allowed, nearest), lists.ranks)

    return lists.fill(size, choose)


@dataclass(frozen=True)
class JointTest:
    """A multinomial test of every prefix.

    Attributes
    ----------
    cumulative
        ``[k, k + 1, .., k + 1]``: ``F`` of every prefix and every count of each group.
    alpha
        The level that each prefix is tested at.
    fail_probability
        How often a ranking made by one throw per rank fails somewhere.
    """

    cumulative: Floats
    alpha: float
    fail_probability: float

    @property
    def passed(self) -> Booleans:
        """Whether a prefix with these counts passes."""
        return self.cumulative >= self.alpha * (1 - SAME)


def joint_test(k: int, shares: Sequence[float], alpha: float, *, adjust: bool = True) -> JointTest:
    """The test of the first k ranks.

    Parameters
    ----------
    k
        Number of ranks.
    shares
        Share of each protected group; everyone else has what is left of 1.
    alpha
        How often a fair ranking may fail.
    adjust
        Correct for the many prefixes: of all levels the one whose fail probability is nearest ``alpha``. Without it
        every prefix is tested at ``alpha``.

    Raises
    ------
    LightmeterError
        Where there are too many counts to hold: many groups and many ranks.

    Examples
    --------
    >>> test = joint_test(2, [0.3, 0.3], 0.2, adjust=False)
    >>> test.cumulative[1].round(2).tolist()  # two ranks, by the counts of both groups
    [[0.16, 0.4, 0.49], [0.4, 0.82, 0.91], [0.49, 0.91, 1.0]]
    >>> round(test.fail_probability, 2)  # neither of the two first ranks is of a protected group
    0.16
    """
    return _joint_test(int(k), tuple(float(p) for p in shares), float(alpha), bool(adjust))


@lru_cache(maxsize=8)
def _joint_test(k: int, shares: tuple[float, ...], alpha: float, adjust: bool) -> JointTest:
    cells = k * (k + 1) ** len(shares)
    if cells > CELLS:
        raise LightmeterError(
            f"the joint test of {k} ranks and {len(shares)} groups has {cells:,} counts. Accepted: {CELLS:,} at most, "
            "so fewer ranks (@k), fewer groups, or joint=False: a table for each group."
        )
    cumulative = np.empty((k, *([k + 1] * len(shares))))
    last = np.ones(cumulative.shape[1:])
    for i in range(k):
        last = _throw(last, shares)
        cumulative[i] = last
    if not adjust:
        return JointTest(cumulative, alpha, _fails(cumulative, shares, alpha))
    # every test there is has one of these levels, and a higher one fails no less
    levels = np.unique(cumulative)
    low, high, fails = -1, len(levels) - 1, {-1: 0.0}
    while high - low > 1:
        middle = (low + high) // 2
        fails[middle] = _fails(cumulative, shares, float(levels[middle]))
        low, high = (low, middle) if fails[middle] > alpha else (middle, high)
    if high not in fails:
        fails[high] = _fails(cumulative, shares, float(levels[high]))
    nearest = high if low < 0 or abs(fails[high] - alpha) < abs(fails[low] - alpha) else low
    return JointTest(cumulative, float(levels[nearest]), fails[nearest])


def _throw(before: Floats, shares: tuple[float, ...]) -> Floats:
    """One throw more: of a distribution of counts, or of its cumulative form."""
    after = (1.0 - sum(shares)) * before
    for axis, p in enumerate(shares):
        ahead: list[slice] = [slice(None)] * before.ndim
        behind = list(ahead)
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        after[tuple(ahead)] += p * before[tuple(behind)]
    return after


def _fails(cumulative: Floats, shares: tuple[float, ...], alpha: float) -> float:
    """How often a random ranking is below the level at some prefix."""
    alive = np.zeros(cumulative.shape[1:])
    alive.flat[0] = 1.0
    failed = 0.0
    for counts in cumulative:
        alive = _throw(alive, shares)
        below = counts < alpha * (1 - SAME)
        failed += float(alive[below].sum())
        alive[below] = 0.0
    return failed


def in_time(test: JointTest, available: Sequence[int]) -> Booleans:
    """From which counts all later prefixes can still pass.

    Parameters
    ----------
    test
        The test of k ranks.
    available
        How many documents of each group there are.

    Returns
    -------
    array
        ``[k, k + 1, .., k + 1]``: after that many ranks, with these counts. Where no ranking passes, a group that has
        run out is no longer counted against a prefix, since nothing more can be done for it.
    """
    passed = test.passed
    for axis, most in enumerate(available):
        passed[_tail_of(passed.ndim, axis + 1, most + 1)] = False
    able = _followed(passed)
    first = [able.flat[0], *(np.moveaxis(able[0], axis, 0)[1].flat[0] for axis in range(len(available)))]
    if any(first):
        return able
    passed = test.passed
    for axis, most in enumerate(available):
        # a prefix with all documents of a group counts as if it had as many as there could be
        passed[_tail_of(passed.ndim, axis + 1, most)] = passed[_tail_of(passed.ndim, axis + 1, -1)]
    return _followed(passed)


def _tail_of(axes: int, axis: int, start: int) -> tuple[slice, ...]:
    """All of an array but the beginning of one axis."""
    return tuple(slice(start, None) if a == axis else slice(None) for a in range(axes))


def _followed(passed: Booleans) -> Booleans:
    """What passes and can be followed, with one more of a group or of none, by what does."""
    for i in range(len(passed) - 2, -1, -1):
        later = passed[i + 1].copy()
        for axis in range(later.ndim):
            behind = tuple(slice(None, -1) if a == axis else slice(None) for a in range(later.ndim))
            later[behind] |= passed[i + 1][_tail_of(later.ndim, axis, 1)]
        passed[i] &= later
    return passed
