"""Intervals of means by drawing queries with replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import LightmeterError, whole_number
from lightmeter.statistics.resampling import draws
from lightmeter.statistics.scores import complete, share, streams, tolerance

Interval = Literal["bca", "percentile"]
#: rows whose replicates are kept at a time
_ROWS = 256


@dataclass(frozen=True)
class Intervals:
    """Intervals, one entry a row; NaN where they cannot be estimated, with a reason.

    Attributes
    ----------
    mean, low, high
        The mean and the ends of its interval.
    reason
        ``few_queries`` or ``no_variance`` where there is no interval: values that are all the same tell nothing about
        how far the mean might be off.
    """

    mean: Floats
    low: Floats
    high: Floats
    reason: list[str | None]


def bootstrap_intervals(
    values: Any,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    method: Interval = "bca",
    rng: Rng = 0,
) -> Intervals:
    """Bootstrap intervals of means over queries.

    Every row is resampled with the same queries.

    Parameters
    ----------
    values
        ``[rows, queries]``, complete: scores of runs or differences between two.
    level
        Share of samples of queries whose interval holds the true mean, in (0, 1).
    resamples, rng
        How often queries are drawn, and the seed.
    method
        ``'bca'``: percentiles corrected for bias and skewness; ``'percentile'``: plain percentiles.

    Returns
    -------
    Intervals
        In the unit of the values.

    Raises
    ------
    LightmeterError
        Where the values are not complete or an option is not accepted.

    Notes
    -----
    With bias ``z0 = ndtri(#{replicate < mean} / B)`` (half of those equal) and acceleration
    ``a = sum (x - mean)^3 / (6 (sum (x - mean)^2)^1.5)``, the interval lies between the quantiles
    ``ndtr(z0 + (z0 + z)/(1 - a (z0 + z)))`` for the two z of the level. With few queries (below about 20) every
    bootstrap interval is too narrow. Source: Efron and Tibshirani 1993, chapter 14.

    Examples
    --------
    >>> found = bootstrap_intervals([[0.1, 0.4, 0.3, 0.5, 0.2, 0.9, 0.4, 0.3]])
    >>> bool(found.low[0] < found.mean[0] < found.high[0])
    True
    """
    x = complete(values, what="values")
    level = share("level", level)
    whole_number("resamples", resamples)
    if method not in ("bca", "percentile"):
        raise LightmeterError(f"method is {method!r}. Accepted: 'bca', 'percentile'.")
    rows, queries = x.shape
    mean = x.mean(axis=1)
    low, high = np.full(rows, np.nan), np.full(rows, np.nan)
    varies = np.ptp(x, axis=1) > tolerance(x) if queries > 1 else np.zeros(rows, dtype=bool)
    (seeded,) = streams(rng, 1)
    start = seeded.bit_generator.state
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    for at in range(0, rows, _ROWS):
        part = np.flatnonzero(varies[at : at + _ROWS]) + at
        if len(part):
            seeded.bit_generator.state = start  # the same queries for every row
            replicates = _replicates(x[part], resamples, seeded)
            quantiles = (
                np.broadcast_to(ends, (len(part), 2)) if method == "percentile" else _bca(x[part], replicates, ends)
            )
            low[part], high[part] = _quantiles(replicates, quantiles).T
    none = "few_queries" if queries < 2 else "no_variance"
    return Intervals(mean, low, high, [None if v else none for v in varies])


def _replicates(x: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Means of the resamples, ``[rows, resamples]``, sorted along each row."""
    parts = [x @ weight.T / x.shape[1] for weight in draws(x.shape[1], resamples, rng, wide=len(x))]
    return np.sort(np.concatenate(parts, axis=1), axis=1)


def _bca(x: Floats, replicates: Floats, ends: Floats) -> Floats:
    """Which quantiles to take, ``[rows, 2]``."""
    from scipy.special import ndtr, ndtri

    size = replicates.shape[1]
    mean = x.mean(axis=1, keepdims=True)
    tol = tolerance(x)
    below = ((replicates < mean - tol).sum(axis=1) + (replicates <= mean + tol).sum(axis=1)) / 2
    bias = ndtri(np.clip(below / size, 0.5 / size, 1 - 0.5 / size))[:, None]
    off = x - mean
    skew = ((off**3).sum(axis=1) / (6 * (off**2).sum(axis=1) ** 1.5))[:, None]
    shifted = bias + ndtri(ends)
    return np.asarray(ndtr(bias + shifted / np.maximum(1 - skew * shifted, 1e-9)))


def _quantiles(ordered: Floats, quantiles: Floats) -> Floats:
    """Quantiles of sorted rows, each row its own, by linear interpolation."""
    at = quantiles * (ordered.shape[1] - 1)
    under = np.floor(at).astype(np.int64)
    over = np.minimum(under + 1, ordered.shape[1] - 1)
    left = np.take_along_axis(ordered, under, axis=1)
    return left + (at - under) * (np.take_along_axis(ordered, over, axis=1) - left)
