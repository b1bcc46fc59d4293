"""NDKL of an audit, and how sure it is.

A bootstrap of rows would not do. Its copies stand together, so that its prefixes lie further from the pool than those
of any ranking; and at the head, which weighs most, it can draw no group that has nobody there. So rankings such as this
one are sampled: the group at each rank is drawn on its own, from the shares within half its rank and ten ranks around
it, two ranks with the shares of the pool among them. An interval is moved so that the middle of the sample is the
value: chance only ever adds to a divergence, so what is sampled lies above it.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranking import Cutoff, GroupRanking
from lightmeter.auditing.rows import ENOUGH, Row
from lightmeter.measures.ndkl import ndkl, ndkl_of_counts
from lightmeter.statistics import intervals
from lightmeter.statistics.resampling import draws

#: ranks that are looked at one by one; below them blocks of 1/FINE of their rank
SINGLE, FINE = 2048, 256
#: draws of a group in a block, in all and at a time
MOST_DRAWS, DRAWS_AT_ONCE = 12_000_000, 1_000_000
#: how far around a rank: this part of it, and so many ranks; and how many ranks of the pool beside them
NEAR_PART, NEAR_RANKS, POOL_RANKS = 0.5, 10, 2.0


def ndkl_rows(
    ranking: GroupRanking,
    attribute: str,
    share: Floats,
    cutoffs: list[Cutoff],
    score: str,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> list[Row]:
    """NDKL of all groups together, one row per cutoff: the mean over the queries.

    Parameters
    ----------
    ranking
        The table with its groups, the masked ones as one.
    share
        Shares of the groups in the pool of each query, ``[queries, groups]``.
    """
    ranked, known = ranking.ranked, int((ranking.codes < ranking.groups).sum())
    tied = [ranked.averaged_above(k) for k in cutoffs]
    each = np.stack([_ndkl_above(ranking, share, k) for k in cutoffs], axis=1)
    sample = None
    if resamples and known and not all(tied):
        if len(ranked.sizes) > 1:
            sample = sample_queries(each, resamples, rng)
        else:
            ends, back = np.unique([k or ranked.longest for k in cutoffs], return_inverse=True)
            sample = sample_rankings(ranking.codes, ranking.groups, ends, resamples, rng)[:, back]
    rows = []
    for i, k in enumerate(cutoffs):
        defined = each[~np.isnan(each[:, i]), i]
        reason = "tied" if tied[i] else None if len(defined) else "no_known_member"
        value, ends_at = float("nan"), (float("nan"), float("nan"))
        if reason is None:
            value = float(defined.mean())
            ends_at = ends_at if sample is None else divergence_interval(value, sample[:, i], level)
        rows.append(Row("ndkl", k, attribute, None, None, score, value, *ends_at, n=known, reason=reason))
    return rows


def _ndkl_above(ranking: GroupRanking, share: Floats, cutoff: Cutoff) -> Floats:
    ranked = ranking.ranked
    inside = ranked.rank <= (cutoff or ranked.longest)
    return ndkl(ranked.rank[inside], ranked.query[inside], ranking.codes[inside], share)


def divergence_interval(value: float, sample: Floats, level: float) -> tuple[float, float]:
    """Ends of the interval of a value from sampled ones, NaN where there is none."""
    if len(sample) < 2 or np.isnan(value) or np.isnan(sample).any():
        return float("nan"), float("nan")
    if len(sample) < ENOUGH:
        low, high = intervals.normal(np.array([value]), sample[:, None], level)
    else:
        low, high = intervals.percentile(sample[:, None] - float(np.median(sample)) + value, level)
    return max(float(low[0]), 0.0), max(float(high[0]), 0.0)


def sample_queries(each: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """The mean over queries drawn again, ``[resamples, cutoffs]``; ``each`` is ``[queries, cutoffs]``, NaN where
    undefined.
    """
    defined = ~np.isnan(each)
    wide = np.concatenate([np.where(defined, each, 0.0), defined], axis=1)
    out = np.concatenate([w @ wide for w in draws(len(each), resamples, rng, wide=wide.shape[1])])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(out[:, : each.shape[1]] / out[:, each.shape[1] :])


def sample_rankings(codes: Integers, groups: int, ends: Integers, resamples: int, rng: np.random.Generator) -> Floats:
    """NDKL of rankings sampled around one, ``[rankings, cutoffs]``.

    Parameters
    ----------
    codes
        Group at each rank, ``groups`` where unknown.
    ends
        Down to which rank NDKL looks, rising.
    resamples
        How many rankings are wished for; fewer are sampled where there are many groups.
    """
    edges = block_edges(groups, ends)
    width = np.diff(edges)
    near = _shares_near(codes, groups, edges)
    pool = np.bincount(codes, minlength=groups + 1)[:groups]
    pool = pool / max(pool.sum(), 1)
    if not near[:, groups].any():  # nobody is unknown
        near = near[:, :groups]
    size = int(min(resamples, max(MOST_DRAWS // near.size, ENOUGH)))
    step = max(DRAWS_AT_ONCE // near.size, 1)
    out = np.empty((size, len(ends)))
    for start in range(0, size, step):
        part = slice(start, min(start + step, size))
        counts = rng.multinomial(width, near, size=(part.stop - start, len(width)))[:, :, :groups]
        out[part] = ndkl_of_blocks(counts, pool, edges, ends)
    return out


def block_edges(groups: int, ends: Integers) -> Integers:
    """Where blocks begin and end: single ranks first, then longer ones; every cutoff is an end."""
    last = int(ends[-1])
    part = min(1.0, MOST_DRAWS / (200.0 * (groups + 1)) / (SINGLE + 6.0 * FINE))
    single = min(max(int(SINGLE * part), 50), last)
    fine = max(FINE * part, 10.0)
    below = np.geomspace(single, last, int(np.ceil(fine * np.log(last / single))) + 1) if last > single else [last]
    inner = np.concatenate([np.arange(single + 1), np.asarray(below).round()]).astype(np.int64)
    return np.unique(np.concatenate([inner, ends]))


def _shares_near(codes: Integers, groups: int, edges: Integers) -> Floats:
    """Shares of the groups, and of the unknown, around each block."""
    n = len(codes)
    middle = (edges[:-1] + edges[1:] + 1) / 2
    low = np.clip(np.floor(middle / (1 + NEAR_PART)) - NEAR_RANKS, 0, n).astype(np.int64)
    high = np.clip(np.ceil(middle * (1 + NEAR_PART)) + NEAR_RANKS, 0, n).astype(np.int64)
    pool = np.bincount(codes, minlength=groups + 1) / n
    out = np.empty((len(middle), groups + 1))
    for group in range(groups + 1):
        upto = np.append(0, np.cumsum(codes == group))
        out[:, group] = (upto[high] - upto[low] + POOL_RANKS * pool[group]) / (high - low + POOL_RANKS)
    return out / out.sum(axis=1, keepdims=True)


def ndkl_of_blocks(counts: Integers, pool: Floats, edges: Integers, ends: Integers) -> Floats:
    """NDKL down to each of some ranks, from the counts of blocks ``[rankings, blocks, groups]``.

    All prefixes that end in a block have the divergence of the block's end.
    """
    discount = np.add.reduceat(1.0 / np.log2(np.arange(1, edges[-1] + 1) + 1.0), edges[:-1])
    so_far = counts.cumsum(axis=1).astype(np.float64)
    return ndkl_of_counts(so_far, pool, discount)[:, np.searchsorted(edges, ends) - 1]
