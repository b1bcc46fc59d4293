"""FA*IR for several protected groups at once (Zehlike et al. 2022): one multinomial test for each prefix.

A ranking is fair if it could have been drawn with one throw of a die a rank, whose sides are the groups and everyone
else. A prefix of i documents with counts x is too short of protected documents where so few are unlikely:
``F_i(x) = P(X_1 <= x_1, .., X_g <= x_g) < alpha`` with X multinomial of i throws. There is no table of one least count
a group: few of one group may be made up for by more of another.

``F`` follows the throws, ``F_(i+1)(x) = p_0 F_i(x) + sum_g p_g F_i(x - e_g)``, ``F_0 = 1``, and so does the chance that
a drawn ranking has failed by then; both are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.errors import LightmeterError

#: counts of all ranks that are held at once: two groups and 157 ranks, three and 43, four and 19
CELLS = 4_000_000
#: two probabilities closer than this (relative) are one
SAME = 1e-12


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
        How often a ranking drawn with one throw a rank fails somewhere.
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
        Ranks looked at.
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
        last = _thrown(last, shares)
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


def _thrown(before: Floats, shares: tuple[float, ...]) -> Floats:
    """One throw more: of a distribution of counts, or of its cumulative form."""
    after = (1.0 - sum(shares)) * before
    for axis, p in enumerate(shares):
        ahead: list[slice] = [slice(None)] * before.ndim
        behind = list(ahead)
        ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
        after[tuple(ahead)] += p * before[tuple(behind)]
    return after


def _fails(cumulative: Floats, shares: tuple[float, ...], alpha: float) -> float:
    """How often a drawn ranking is below the level at some prefix."""
    alive = np.zeros(cumulative.shape[1:])
    alive.flat[0] = 1.0
    failed = 0.0
    for counts in cumulative:
        alive = _thrown(alive, shares)
        below = counts < alpha * (1 - SAME)
        failed += float(alive[below].sum())
        alive[below] = 0.0
    return failed


def in_time(test: JointTest, there: Sequence[int]) -> Booleans:
    """From which counts all later prefixes can still pass.

    Parameters
    ----------
    test
        The test of k ranks.
    there
        How many documents of each group there are.

    Returns
    -------
    array
        ``[k, k + 1, .., k + 1]``: after that many ranks, with these counts. Where no ranking passes, a group that has
        run out is no longer counted against a prefix, since nothing more can be done for it.
    """
    passed = test.passed
    for axis, most in enumerate(there):
        passed[_from(passed.ndim, axis + 1, most + 1)] = False
    able = _backwards(passed)
    first = [able.flat[0], *(np.moveaxis(able[0], axis, 0)[1].flat[0] for axis in range(len(there)))]
    if any(first):
        return able
    passed = test.passed
    for axis, most in enumerate(there):
        # whoever has all of a group is judged as if it had as many as there could be
        passed[_from(passed.ndim, axis + 1, most)] = passed[_from(passed.ndim, axis + 1, -1)]
    return _backwards(passed)


def _from(axes: int, axis: int, start: int) -> tuple[slice, ...]:
    """All of an array but the beginning of one axis."""
    return tuple(slice(start, None) if a == axis else slice(None) for a in range(axes))


def _backwards(passed: Booleans) -> Booleans:
    """What passes and can be followed, with one more of a group or of nobody, by what does."""
    for i in range(len(passed) - 2, -1, -1):
        later = passed[i + 1].copy()
        for axis in range(later.ndim):
            behind = tuple(slice(None, -1) if a == axis else slice(None) for a in range(later.ndim))
            later[behind] |= passed[i + 1][_from(later.ndim, axis, 1)]
        passed[i] &= later
    return passed
