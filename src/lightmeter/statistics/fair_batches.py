"""FA*IR for many rankings at once, each with a share and a length of its own.

The module ``fair_tables`` computes one share at a time: right where rankings share a table, dear where each query
has its own pool. Here all rankings go through the same steps together. Binomial tails along a path of counts are
running sums: a document that is not protected takes ``p b(i, x)`` from ``P(Binomial(i, p) <= x)``, a protected one adds
``(1-p) b(i, x+1)``, b the probability of a count. What such sums leave open, tails closer to each other than their
rounding, is decided by the incomplete beta function.
"""

from __future__ import annotations

import math

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.statistics.fair_tables import SAME, binomial_tails, p_value, passes

#: rounding of a running sum of 1,000 probabilities
ROUNDING = 1e-10
#: least tails below this are left to the one-by-one way: their rounding is not small beside them
SMALL = 1e-6
#: ranks after which rankings that are decided are left out
CHECK = 64


def tails(count: Integers, p: Floats) -> Floats:
    """``P(Binomial(i, p) <= count_i)`` of every prefix i = 1 .. k, ``[rankings, k]``; one share a ranking."""
    before = np.concatenate([np.zeros((len(count), 1), dtype=np.int64), count[:, :-1]], axis=1)
    protected = count > before
    size = np.arange(count.shape[1])
    step = _chance(before + protected, size, p)
    step *= np.where(protected, (1.0 - p)[:, None], -p[:, None])
    return np.clip(1.0 + np.cumsum(step, axis=1), 0.0, 1.0)


def p_values(count: Integers, size: Integers, p: Floats) -> Floats:
    """:func:`.fair_tables.p_value` of rankings of ``size`` documents; counts after the last are not read."""
    level = _least(count, size, p)
    out = np.ones(len(count))
    for row in np.flatnonzero(level < SMALL):
        out[row] = p_value(count[row, : size[row]], float(p[row])).item()
    some = np.flatnonzero((level >= SMALL) & (level < 1))
    if len(some):
        tables, _ = _just_failed(level[some], size[some], p[some], count.shape[1])
        out[some] = _fail(tables, size[some], p[some], math.inf)
    return out


def passing(count: Integers, size: Integers, p: Floats, alpha: float) -> Booleans:
    """:func:`.fair_tables.passes` of rankings of ``size`` documents; counts after the last are not read."""
    level = _least(count, size, p)
    # k tests fail no more often than k times one, and no less often than one: the nearest table is on this side
    out = (level > 2 * alpha) | (level >= 1)
    some = np.flatnonzero((level >= SMALL) & ~out & (level * size > alpha))
    for row in np.flatnonzero((level < SMALL) & (level * size > alpha)):
        out[row] = passes(count[row, : size[row]], float(p[row]), alpha).item()
    if not len(some):
        return out
    level, size, p = level[some], size[some], p[some]
    tables, worse = _just_failed(level, size, p, count.shape[1])
    above = _fail(tables, size, p, 2 * alpha)
    fails = above <= alpha
    near = np.flatnonzero(~fails & (above <= 2 * alpha))
    if len(near):
        below = _fail(worse[near], size[near], p[near], math.inf)
        fails[near] = (below <= alpha) & (above[near] - alpha < (alpha - below) * (1 - SAME))
    out[some] = ~fails
    return out


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


def _least(count: Integers, size: Integers, p: Floats) -> Floats:
    """The smallest tail of each ranking's prefixes, exactly."""
    k = count.shape[1]
    rough = np.where(np.arange(k) < size[:, None], tails(count, p), np.inf)
    row, at = np.nonzero(rough <= rough.min(axis=1, keepdims=True) + _rounding(k))
    out = np.full(len(count), np.inf)
    np.minimum.at(out, row, binomial_tails(count[row, at], at + 1, p[row]))
    return out


def _just_failed(level: Floats, size: Integers, p: Floats, k: int) -> tuple[Integers, Integers]:
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
    tail = tails(path, p)
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


def _fail(tables: Integers, size: Integers, p: Floats, enough: float) -> Floats:
    """:func:`.fair_tables.fail_probability` of tables with a share each, up to ``size`` ranks; one above
    ``enough`` may be given as any number above it.
    """
    rankings, k = tables.shape
    order = np.argsort(p, kind="stable")  # like shares have like windows
    out = np.zeros(rankings)
    for start in range(0, rankings, 256):
        mine = order[start : start + 256]
        rank = np.arange(1, k + 1)
        needed = np.where(rank <= size[mine, None], tables[mine], 0)
        # as in fair_tables: who has m at rank i has at least m - 1 above it
        needed = np.maximum.accumulate((needed - rank)[:, ::-1], axis=1)[:, ::-1] + rank
        out[mine] = _programme(np.maximum.accumulate(np.maximum(needed, 0), axis=1), p[mine], enough)
    return out


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
    grown, column, first = _grown(needed)
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
                grown, column, first = _grown(needed[active])
                bottom = needed[active].min(axis=0)
    return failed


def _grown(needed: Integers) -> tuple[Integers, Integers, Integers]:
    """Where tables ask for one more, by rank: the count that now fails, the table, and the first entry of each rank."""
    grows = np.diff(needed, axis=1, prepend=0) > 0
    rank, table = np.nonzero(grows.T)
    return needed[table, rank] - 1, table, np.searchsorted(rank, np.arange(needed.shape[1] + 1))
