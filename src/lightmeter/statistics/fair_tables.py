"""FA*IR arithmetic (Zehlike et al., CIKM 2017): how few protected documents a ranking may have at its top.

A ranking is fair to a protected group of share ``p`` if it could have come from one coin flip per rank. The table
says how many protected documents the first i ranks must have at least, for every i: the ``alpha`` quantile of
Binomial(i, p). Every prefix is a test of its own, so a fair ranking fails the table more often than
``alpha``; the adjusted table fails about as often as ``alpha`` says.

Everything here takes and gives arrays and numbers; the measure is :class:`~lightmeter.measures.prefixes.FAIR`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError

#: two probabilities closer than this (relative) are one: sums of the same terms in another order
SAME = 1e-12
#: alphas tried at once while the adjusted table is searched
SECTIONS = 15
#: rounds in which a bisection finds a count
ROUNDS = 12
#: at most so many changes between two tables are listed one by one
LISTED = 20_000
#: rounding of a running sum of 1,000 probabilities
ROUNDING = 1e-10
#: least tails below this are left to the one-by-one way: their rounding is not small beside them
SMALL = 1e-6
#: ranks after which rankings that are decided are left out
CHECK = 64


@dataclass(frozen=True)
class FairTable:
    """A table of FA*IR.

    Attributes
    ----------
    minimum
        ``minimum[i - 1]``: protected documents that the first i ranks need at least.
    p
        Share of the protected group.
    alpha
        The level each prefix is tested at; below the level asked for where the table was adjusted.
    fail_probability
        How often a ranking made by one coin flip per rank fails the table somewhere, the last rank included.
    """

    minimum: Integers
    p: float
    alpha: float
    fail_probability: float


def fair_table(k: int, p: float, alpha: float = 0.1, *, adjust: bool = True) -> FairTable:
    """The protected documents that FA*IR requires in each prefix of the first k ranks.

    Parameters
    ----------
    k
        Number of ranks.
    p
        Share of the protected group, in (0, 1).
    alpha
        How often a fair ranking may fail, in (0, 1).
    adjust
        Correct for the many prefixes: of all tables the one whose fail probability is nearest ``alpha`` (the stricter
        or laxer level is in ``alpha`` of the result). Without it every prefix is tested at ``alpha``.

    Raises
    ------
    LightmeterError
        For a share or level outside (0, 1) or fewer than one rank.

    Examples
    --------
    >>> from lightmeter import fair_table
    >>> fair_table(10, p=0.2, alpha=0.15).minimum.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    >>> fair_table(20, p=0.25, alpha=0.1, adjust=False).fail_probability
    0.146887...
    """
    _check(k, p, alpha)
    return _adjusted(int(k), float(p), float(alpha)) if adjust else _plain(int(k), float(p), float(alpha))


def minimum_table(k: int, p: float, alpha: float) -> Integers:
    """For i = 1 .. k the smallest count m with ``P(Binomial(i, p) <= m) >= alpha``."""
    _check(k, p, alpha)
    size = np.arange(1, k + 1, dtype=np.int64)
    return _quantile(size, p, alpha, *_bounds(size, p, alpha))


def binomial_tail(count: ArrayLike, size: ArrayLike, p: float) -> Floats:
    """``P(Binomial(size, p) <= count)``, elementwise: how likely so few protected documents are by chance."""
    return binomial_tails(count, size, p)


def binomial_tails(count: ArrayLike, size: ArrayLike, p: ArrayLike) -> Floats:
    """:func:`binomial_tail` with a share each."""
    from scipy.special import betainc

    x, n = np.broadcast_arrays(np.asarray(count, dtype=np.float64), np.asarray(size, dtype=np.float64))
    p = np.asarray(p, dtype=np.float64)
    inside = (x >= 0) & (x < n)
    tail = betainc(np.where(inside, n - x, 1.0), np.where(inside, x + 1.0, 1.0), 1.0 - p)
    return np.where(inside, tail, (x >= n) * 1.0)


def fail_probability(
    table: ArrayLike, p: ArrayLike, *, size: Integers | None = None, enough: float = math.inf
) -> Floats:
    """How often a ranking made by one coin flip per rank has too few protected documents in some prefix.

    The exact sum over all ways, the last rank included (known programs leave that rank out and come out too low).

    Parameters
    ----------
    table
        Counts needed, ``[k]`` or ``[tables, k]``.
    p
        Share of the protected group, one for all tables or one each.
    size
        ``[tables]``: how many ranks each table has; all of them by default.
    enough
        A probability above this one may be given as any number above it, which saves time.

    Returns
    -------
    array
        One probability per table, ``[]`` or ``[tables]``.

    Notes
    -----
    A dynamic programme over ranks whose state is the count of protected documents so far: ``O(k sqrt(k))``, since
    counts far above the mean cannot fail any more. Error below 1e-14.
    """
    needed = np.atleast_2d(np.asarray(table, dtype=np.int64))
    tables, k = needed.shape
    share = np.broadcast_to(np.asarray(p, dtype=np.float64), tables)
    out = np.zeros(tables)
    rank = np.arange(1, k + 1)
    order = np.argsort(share, kind="stable")  # like shares have like windows
    for start in range(0, tables if k else 0, 256):
        rows = order[start : start + 256]
        part = needed[rows] if size is None else np.where(rank <= size[rows, None], needed[rows], 0)
        # who has m at rank i has at least m - 1 above it: the same rankings pass, and needs rise by one at most
        part = np.maximum.accumulate((part - rank)[:, ::-1], axis=1)[:, ::-1] + rank
        part = np.maximum.accumulate(np.maximum(part, 0), axis=1)
        out[rows] = np.where((part > rank).any(axis=1), 1.0, _programme(np.minimum(part, rank), share[rows], enough))
    return out.reshape(np.shape(table)[:-1])


def _programme(needed: Integers, p: Floats, enough: float) -> Floats:
    """The dynamic programme over ranks. The state is ``alive[m] / q^(i - i0)``, m protected ones among the first i that
    have failed nowhere; i0 goes along, so that numbers stay of a size.
    """
    rankings, k = needed.shape
    rank = np.arange(1, k + 1)
    q = 1.0 - p
    top = np.ceil(rank * p.max() + 8.5 * np.sqrt(rank * 0.25 if p.min() < 0.5 < p.max() else rank * (p * q).max()) + 10)
    top = np.minimum(top.astype(np.int64), rank)
    every = max(1, min(CHECK, int(200 / max(-math.log10(float(q.min())), 1e-9))))
    failed = np.zeros(rankings)
    active = np.arange(rankings)
    odds, scale = p / q, np.ones(rankings)
    alive = np.zeros((int(top[-1]) + 2, rankings))
    alive[0] = 1.0
    spare = np.empty_like(alive)
    grown, column, first = _growth(needed, len(alive))
    bottom = needed.min(axis=0)
    low = 0
    for i in range(k):
        high = int(top[i]) + 1
        np.multiply(alive[low : high - 1], odds, out=spare[: high - 1 - low])
        alive[low + 1 : high] += spare[: high - 1 - low]
        scale *= q
        out = column[first[i] : first[i + 1]]
        if len(out):
            cell = grown[first[i] : first[i + 1]]
            failed[active[out]] += alive[cell, out] * scale[out]
            alive[cell, out] = 0.0
        low = min(int(bottom[i]), high - 1)
        if (i + 1) % every == 0:
            alive[low:high] *= scale
            scale[:] = 1.0
            left = failed[active] <= enough
            if left.sum() <= 0.75 * len(active):
                if not left.any():
                    break
                active, odds, q, scale = active[left], odds[left], q[left], scale[left]
                alive = np.ascontiguousarray(alive[:, left])
                spare = np.empty_like(alive)
                grown, column, first = _growth(needed[active], len(alive))
                bottom = needed[active].min(axis=0)
    return failed


def _growth(needed: Integers, counts: int) -> tuple[Integers, Integers, Integers]:
    """Where tables ask for one more, by rank: the count that now fails, the table, and the first entry of each rank."""
    grows = np.diff(needed, axis=1, prepend=0) > 0
    rank, table = np.nonzero((grows & (needed <= counts)).T)
    return needed[table, rank] - 1, table, np.searchsorted(rank, np.arange(needed.shape[1] + 1))


def least_tail(count: ArrayLike, p: float) -> Floats:
    """The smallest binomial tail over the prefixes of rankings: the level at which they would just fail.

    ``count`` ``[.., k]`` are the protected documents in the first 1 .. k ranks.
    """
    counts = np.asarray(count)
    return binomial_tail(counts, np.arange(1, counts.shape[-1] + 1), p).min(axis=-1)


def p_value(count: ArrayLike, p: float) -> Floats:
    """How often a ranking made by one coin flip per rank is at least as short of protected documents.

    A ranking's shortage is its :func:`least_tail`; the value is the exact chance of so small a one, so that the many
    prefixes need no further correction. ``count`` is ``[rankings, k]``.
    """
    counts = np.atleast_2d(np.asarray(count))
    level, at = np.unique(least_tail(counts, p), return_inverse=True)
    return _at_most(level, _failing_tables(counts.shape[-1], p, level), p)[at].reshape(np.shape(count)[:-1])


def passes(count: ArrayLike, p: float, alpha: float) -> Booleans:
    """Whether rankings pass the adjusted table, without a search for it; ``count`` is ``[rankings, k]``.

    The fail probabilities of all tables are the values that :func:`p_value` can have. A ranking whose p-value is at
    most ``alpha`` fails the nearest table on either side. One above fails only if no table lies between it and
    ``alpha``, and the next one below is further from ``alpha``.
    """
    counts = np.atleast_2d(np.asarray(count))
    size = np.arange(1, counts.shape[-1] + 1)
    level, at = np.unique(least_tail(counts, p), return_inverse=True)
    tables = _failing_tables(counts.shape[-1], p, level)
    worse = tables - (binomial_tail(tables - 1, size, p) >= level[:, None] * (1 - SAME))
    below, above = fail_probability(worse, p), _at_most(level, tables, p)
    fails = (above <= alpha) | ((below <= alpha) & (above - alpha < (alpha - below) * (1 - SAME)))
    fails &= level < 1  # no table asks for more than protected documents alone
    return ~fails[at].reshape(np.shape(count)[:-1])


def _failing_tables(k: int, p: float, level: Floats) -> Integers:
    """The tables that every ranking fails whose least tail is one of some rising levels, or smaller."""
    size = np.arange(1, k + 1, dtype=np.int64)
    goal = np.minimum(level * (1 + 4 * SAME), 1.0 - 1e-15)
    return _tables(size, p, goal, _bounds(size, p, goal[0])[0], _bounds(size, p, goal[-1])[1])


def _at_most(level: Floats, tables: Integers, p: float) -> Floats:
    """The chance of a least tail of at most each level; all are at most 1."""
    return np.where(level < 1, fail_probability(tables, p), 1.0)


def _bounds(size: Integers, p: float, alpha: float) -> tuple[Integers, Integers]:
    """Counts between which the quantiles are: they are no further from the mean than Hoeffding's inequality says."""
    down = np.sqrt(size * -math.log(max(alpha, 1e-300)) / 2)
    up = np.sqrt(size * -math.log1p(-alpha) / 2)
    low = np.maximum(np.floor(size * p - down).astype(np.int64), 0)
    return low, np.minimum(np.ceil(size * p + up).astype(np.int64) + 1, size)


def _tables(size: Integers, p: float, levels: Floats, low: Integers, high: Integers) -> Integers:
    """The smallest counts, between two bounds, whose tail reaches each of some rising levels, ``[levels, sizes]``.

    Each tail between the bounds is computed once, and put behind the last level that it reaches.
    """
    between = high - low
    if between.sum() > len(levels) * len(size) * ROUNDS:
        return np.stack([_quantile(size, p, float(a), low, high) for a in levels])
    which = np.repeat(np.arange(len(size)), between)
    count = np.arange(len(which)) - np.repeat(np.cumsum(between) - between, between) + low[which]
    reached = np.searchsorted(levels * (1 - SAME), binomial_tail(count, size[which], p), side="right")
    short = np.bincount(reached * len(size) + which, minlength=(len(levels) + 1) * len(size))
    return low + np.cumsum(short.reshape(len(levels) + 1, len(size))[:-1], axis=0)


def _quantile(size: Integers, p: float, alpha: float, low: Integers, high: Integers) -> Integers:
    """The smallest counts, between two bounds, whose tail reaches ``alpha``; by bisection, all sizes at once."""
    low, high = low.copy(), high.copy()
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) // 2
        enough = binomial_tail(middle, size[open_], p) >= alpha * (1 - SAME)
        high[open_[enough]] = middle[enough]
        low[open_[~enough]] = middle[~enough] + 1
        open_ = open_[low[open_] < high[open_]]
    return high


@lru_cache(maxsize=256)
def _plain(k: int, p: float, alpha: float) -> FairTable:
    minimum = minimum_table(k, p, alpha)
    minimum.setflags(write=False)
    return FairTable(minimum, p, alpha, float(fail_probability(minimum, p)))


@lru_cache(maxsize=4096)
def _adjusted(k: int, p: float, alpha: float) -> FairTable:
    """Of all tables the one whose fail probability is nearest ``alpha``; of two as near, the laxer.

    Both the table and its fail probability rise with the level, in steps: the last step at or below ``alpha`` and the
    first above it are the two to choose from.
    """
    size = np.arange(1, k + 1, dtype=np.int64)
    # k tests at alpha / k fail no more often than alpha (Bonferroni), and at alpha more often unless k is small; at
    # level 1 everyone has to be protected
    low, high = alpha / k, alpha
    tables = minimum_table(k, p, low), minimum_table(k, p, alpha)
    fails = float(fail_probability(tables[0], p)), float(fail_probability(tables[1], p))
    if fails[1] <= alpha:
        low, high, tables, fails = high, 1.0 - p**k / 2, (tables[1], size), (fails[1], 1.0 - p**k)
    while True:
        changes = tables[1] - tables[0]
        if changes.sum() <= LISTED:
            levels = _between(tables, p)
            if len(levels) < 2:
                break
            tried = levels[np.unique(np.linspace(0, len(levels) - 1, SECTIONS + 2).astype(np.int64))[1:-1]]
            if not len(tried):
                tried = levels[:1]
        else:
            tried = np.geomspace(low, high, SECTIONS + 2)[1:-1]
        found = _tables(size, p, tried, *tables)
        chances = fail_probability(found, p)
        below = int(np.searchsorted(chances, alpha, side="right"))
        if below:
            low, tables, fails = tried[below - 1], (found[below - 1], tables[1]), (chances[below - 1], fails[1])
        if below < len(tried):
            high, tables, fails = tried[below], (tables[0], found[below]), (fails[0], chances[below])
    nearest = int(abs(fails[1] - alpha) < abs(fails[0] - alpha) * (1 - SAME))
    minimum = tables[nearest]
    minimum.setflags(write=False)
    return FairTable(minimum, p, float((low, high)[nearest]), float(fails[nearest]))


def _between(tables: tuple[Integers, Integers], p: float) -> Floats:
    """Levels that give each table from just above the first to the second one, in order."""
    changes = tables[1] - tables[0]
    size = np.repeat(np.arange(1, len(changes) + 1), changes)
    within = np.arange(len(size)) - np.repeat(np.cumsum(changes) - changes, changes)
    # a table changes where the level passes the tail of a count it accepted until then
    tails = np.sort(binomial_tail(np.repeat(tables[0], changes) + within, size, p))
    if not len(tails):
        return tails
    last = np.append(np.diff(tails) > tails[:-1] * 4 * SAME, True)
    steps = tails[last]
    return np.append((steps[:-1] + steps[1:]) / 2, 1.0)[: len(steps)]


# Many rankings at once, each with a share and a length of its own. Binomial tails along a path of counts are running
# sums: a document that is not protected takes ``p b(i, x)`` from ``P(Binomial(i, p) <= x)``, a protected one adds
# ``(1-p) b(i, x+1)``, b the probability of a count. What such sums leave open (tails closer to each other than their
# rounding) is decided by the incomplete beta function.


def batch_p_values(count: Integers, size: Integers, p: Floats) -> Floats:
    """:func:`p_value` of rankings of ``size`` documents; counts after the last are not read."""
    level = _least_tails(count, size, p)
    out = np.ones(len(count))
    for row in np.flatnonzero(level < SMALL):
        out[row] = p_value(count[row, : size[row]], float(p[row])).item()
    some = np.flatnonzero((level >= SMALL) & (level < 1))
    if len(some):
        tables, _ = failing_tables(level[some], size[some], p[some], count.shape[1])
        out[some] = fail_probability(tables, p[some], size=size[some])
    return out


def batch_passes(count: Integers, size: Integers, p: Floats, alpha: float) -> Booleans:
    """:func:`passes` of rankings of ``size`` documents; counts after the last are not read."""
    level = _least_tails(count, size, p)
    # k tests fail no more often than k times one, and no less often than one: the nearest table is on this side
    out = (level > 2 * alpha) | (level >= 1)
    some = np.flatnonzero((level >= SMALL) & ~out & (level * size > alpha))
    for row in np.flatnonzero((level < SMALL) & (level * size > alpha)):
        out[row] = passes(count[row, : size[row]], float(p[row]), alpha).item()
    if not len(some):
        return out
    level, size, p = level[some], size[some], p[some]
    tables, worse = failing_tables(level, size, p, count.shape[1])
    above = fail_probability(tables, p, size=size, enough=2 * alpha)
    fails = above <= alpha
    near = np.flatnonzero(~fails & (above <= 2 * alpha))
    if len(near):
        below = fail_probability(worse[near], p[near], size=size[near])
        fails[near] = (below <= alpha) & (above[near] - alpha < (alpha - below) * (1 - SAME))
    out[some] = ~fails
    return out


def running_tails(count: Integers, p: Floats) -> Floats:
    """``P(Binomial(i, p) <= count_i)`` of every prefix i = 1 .. k, ``[rankings, k]``; one share a ranking."""
    before = np.concatenate([np.zeros((len(count), 1), dtype=np.int64), count[:, :-1]], axis=1)
    protected = count > before
    size = np.arange(count.shape[1])
    step = _chance(before + protected, size, p)
    step *= np.where(protected, (1.0 - p)[:, None], -p[:, None])
    return np.clip(1.0 + np.cumsum(step, axis=1), 0.0, 1.0)


def _chance(x: Integers, size: Integers, p: Floats) -> Floats:
    """``P(Binomial(size, p) = x)``; 0 where x is no possible count."""
    from scipy.special import gammaln

    log = gammaln(np.arange(1.0, int(size.max(initial=0)) + 2))
    rest = size - x
    fine = (rest >= 0) & (x >= 0)
    out = log[size] - log[np.where(fine, x, 0)] - log[np.where(fine, rest, 0)]
    out += x * np.log(p)[:, None]
    out += rest * np.log1p(-p)[:, None]
    np.exp(out, out=out, where=fine)
    out[~fine] = 0.0
    return np.asarray(out)


def _rounding(k: int) -> float:
    return ROUNDING * max(1.0, k / 1000)


def _least_tails(count: Integers, size: Integers, p: Floats) -> Floats:
    """The smallest tail of each ranking's prefixes, exactly."""
    k = count.shape[1]
    rough = np.where(np.arange(k) < size[:, None], running_tails(count, p), np.inf)
    row, at = np.nonzero(rough <= rough.min(axis=1, keepdims=True) + _rounding(k))
    out = np.full(len(count), np.inf)
    np.minimum.at(out, row, binomial_tails(count[row, at], at + 1, p[row]))
    return out


def failing_tables(level: Floats, size: Integers, p: Floats, k: int) -> tuple[Integers, Integers]:
    """For each ranking the table that fails its least tail, and the next laxer one that does not, ``[rankings, k]``.

    An entry is the smallest count whose tail is above the level (in the laxer one: reaches it). A guess by the normal
    distribution gives a path of counts; the tails along it and of its neighbours tell the right one.
    """
    from scipy.special import ndtri

    rank = np.arange(1, k + 1)
    z = ndtri(level)[:, None]
    q = (1.0 - p)[:, None]
    guess = rank * p[:, None] + z * np.sqrt(rank * p[:, None] * q) + (q - p[:, None]) * (z * z - 1.0) / 6.0 - 0.5
    path = np.clip(np.ceil(guess).astype(np.int64), 0, rank)
    path = np.maximum.accumulate(path, axis=1)
    path = np.minimum.accumulate(path - rank, axis=1) + rank
    tail = running_tails(path, p)
    odds = p[:, None] / q
    here = _chance(path, rank, p)
    up = here * ((rank - path) / (path + 1.0)) * odds
    down = here * (path / (rank - path + 1.0)) / odds
    limit, rounding = level[:, None], _rounding(k)
    table = path + (tail < limit) - (tail - here >= limit)
    open_ = np.abs(tail - limit) <= rounding
    for other in (tail - here, tail + up):
        open_ |= np.abs(other - limit) <= rounding
    open_ |= (tail + up < limit) | (tail - here - down >= limit)  # a guess further off
    table = np.clip(table, 0, rank)
    worse = table.copy()
    row, at = np.nonzero(open_ & (rank <= size[:, None]))
    if len(row):
        table[row, at] = _smallest(level[row] * (1 + 4 * SAME), at + 1, p[row], table[row, at])
        worse[row, at] = _smallest(level[row], at + 1, p[row], table[row, at])
    return table, worse


def _smallest(level: Floats, size: Integers, p: Floats, start: Integers) -> Integers:
    """The smallest count whose tail reaches a level (but for rounding), looked for from a start, one by one."""
    least = np.minimum(level, 1.0 - 1e-15) * (1 - SAME)
    out = start.copy()
    short = np.flatnonzero(binomial_tails(out, size, p) < least)
    down = np.setdiff1d(np.arange(len(out)), short)
    while len(short):
        out[short] += 1
        short = short[binomial_tails(out[short], size[short], p[short]) < least[short]]
    while len(down):
        down = down[(out[down] > 0) & (binomial_tails(out[down] - 1, size[down], p[down]) >= least[down])]
        out[down] -= 1
    return out


def _check(k: int, p: float, alpha: float) -> None:
    if isinstance(k, bool) or not isinstance(k, int | float | np.number) or k < 1 or int(k) != k:
        raise LightmeterError(f"FA*IR: k is {k!r}. Accepted: a whole number of ranks, at least 1.")
    for name, value in (("p", p), ("alpha", alpha)):
        if not isinstance(value, int | float | np.number) or not 0 < value < 1:
            raise LightmeterError(f"FA*IR: {name} is {value!r}. Accepted: a number above 0 and below 1.")
