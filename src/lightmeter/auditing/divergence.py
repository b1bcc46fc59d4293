"""How sure NDKL is: rankings such as this one, the group of each place drawn with the shares of the places around it.

A bootstrap of rows would not do. Its copies stand together, so that its prefixes lie further from the pool than those
of any ranking; and at the head, which weighs most, it can draw no group that has nobody there. So places are drawn on
their own, from the shares within half their rank and ten places around them, two places with the shares of the pool
among them. An interval is moved so that the middle of what was drawn is the value: chance only ever adds to a
divergence, so what is drawn lies above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.rows import ENOUGH
from lightmeter.statistics import intervals

#: places that are looked at one by one; below them blocks of 1/FINE of their rank
SINGLE, FINE = 2048, 256
#: draws of a group in a block, in all and at a time
ROOM, AT_ONCE = 12_000_000, 1_000_000
#: how far around a place: this part of its rank, and so many places; and how many places of the pool beside them
PART, PLACES, OF_POOL = 0.5, 10, 2.0


@dataclass(frozen=True)
class Drawn:
    """NDKL of drawn rankings, ``[rankings, cutoffs]``."""

    value: Floats

    def interval(self, value: float, at: int, level: float) -> tuple[float, float]:
        """Ends for the value at one cutoff, NaN where there is none."""
        draws = self.value[:, at]
        if len(draws) < 2 or np.isnan(value) or np.isnan(draws).any():
            return float("nan"), float("nan")
        if len(draws) < ENOUGH:
            low, high = intervals.normal(np.array([value]), draws[:, None], level)
        else:
            low, high = intervals.percentile(draws[:, None] - float(np.median(draws)) + value, level)
        return max(float(low[0]), 0.0), max(float(high[0]), 0.0)


def drawn(codes: Integers, groups: int, ends: Integers, resamples: int, rng: np.random.Generator) -> Drawn:
    """NDKL of rankings drawn around one.

    Parameters
    ----------
    codes
        Group at each rank, ``groups`` where unknown.
    ends
        Down to which rank NDKL looks, rising.
    resamples
        How many rankings are wished for; fewer are drawn where there are many groups.
    """
    edges = _edges(len(codes), groups, ends)
    width = np.diff(edges)
    near = _shares_near(codes, groups, edges)
    pool = np.bincount(codes, minlength=groups + 1)[:groups]
    pool = pool / max(pool.sum(), 1)
    if not near[:, groups].any():  # nobody is unknown
        near = near[:, :groups]
    weight = np.add.reduceat(1.0 / np.log2(np.arange(1, edges[-1] + 1) + 1.0), edges[:-1])
    at = np.searchsorted(edges, ends) - 1
    cells = near.size
    many = int(min(resamples, max(ROOM // cells, ENOUGH)))
    step = max(AT_ONCE // cells, 1)
    out = np.empty((many, len(ends)))
    for start in range(0, many, step):
        some = min(step, many - start)
        counts = rng.multinomial(width, near, size=(some, len(width)))[:, :, :groups]
        out[start : start + some] = _ndkl(counts.cumsum(axis=1).astype(np.float64), pool, weight, at)
    return Drawn(out)


def _edges(n: int, groups: int, ends: Integers) -> Integers:
    """Where blocks begin and end: single places first, then longer ones; every cutoff is an end."""
    last = int(ends[-1])
    part = min(1.0, ROOM / (200.0 * (groups + 1)) / (SINGLE + 6.0 * FINE))
    single = min(max(int(SINGLE * part), 50), last)
    fine = max(FINE * part, 10.0)
    below = np.geomspace(single, last, int(np.ceil(fine * np.log(last / single))) + 1) if last > single else [last]
    inner = np.concatenate([np.arange(single + 1), np.asarray(below).round()]).astype(np.int64)
    return np.unique(np.concatenate([inner, ends]))


def _shares_near(codes: Integers, groups: int, edges: Integers) -> Floats:
    """Shares of the groups, and of the unknown, around each block."""
    n = len(codes)
    middle = (edges[:-1] + edges[1:] + 1) / 2
    low = np.clip(np.floor(middle / (1 + PART)) - PLACES, 0, n).astype(np.int64)
    high = np.clip(np.ceil(middle * (1 + PART)) + PLACES, 0, n).astype(np.int64)
    pool = np.bincount(codes, minlength=groups + 1) / n
    out = np.empty((len(middle), groups + 1))
    for group in range(groups + 1):
        upto = np.append(0, np.cumsum(codes == group))
        out[:, group] = (upto[high] - upto[low] + OF_POOL * pool[group]) / (high - low + OF_POOL)
    return out / out.sum(axis=1, keepdims=True)


def _ndkl(counts: Floats, pool: Floats, weight: Floats, at: Integers) -> Floats:
    """NDKL at some blocks, from counts of the first blocks ``[rankings, blocks, groups]``."""
    known = counts.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(counts > 0, counts * np.log(counts / pool), 0.0).sum(axis=2)
        far = np.where(known > 0, np.maximum(inner / known - np.log(known), 0.0), 0.0)
        mass = np.cumsum(weight * (known > 0), axis=1)[:, at]
        return np.asarray(np.cumsum(weight * far, axis=1)[:, at] / mass)


def drawn_queries(each: Floats, resamples: int, rng: np.random.Generator) -> Drawn:
    """The mean over queries of queries drawn again; ``each`` is ``[queries, cutoffs]``, NaN where undefined."""
    from lightmeter.statistics.resampling import draws

    there = ~np.isnan(each)
    wide = np.concatenate([np.where(there, each, 0.0), there], axis=1)
    out = np.concatenate([w @ wide for w in draws(len(each), resamples, rng, wide=wide.shape[1])])
    with np.errstate(divide="ignore", invalid="ignore"):
        return Drawn(out[:, : each.shape[1]] / out[:, each.shape[1] :])
