"""Intervals: of rates exactly, of resampled values, of means over queries by bootstrap, of whole curves at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import LightmeterError, whole_number
from lightmeter.statistics.resampling import draws, streams
from lightmeter.statistics.scores import complete, share, tolerance

LEVEL = 0.95


def clopper_pearson(count: ArrayLike, size: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The exact interval of a binomial rate (Clopper and Pearson 1934), for whole counts.

    It never is a point: where nobody of n was counted, it reaches up to ``1 - (alpha/2)^(1/n)``.

    Parameters
    ----------
    count, size
        Successes and trials; of one shape, or such as broadcast. NaN where size is 0.
    level
        Coverage, at least.

    Returns
    -------
    low, high
        Ends in [0, 1].

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    x, n = np.broadcast_arrays(np.asarray(count, dtype=np.float64), np.asarray(size, dtype=np.float64))
    tail = (1 - level) / 2
    some, inner = x > 0, x < n
    low = np.where(some, betaincinv(np.where(some, x, 1.0), np.maximum(n - x + 1, 1.0), tail), 0.0)
    high = np.where(inner, betaincinv(x + 1, np.where(inner, n - x, 1.0), 1 - tail), 1.0)
    empty = n <= 0
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def rate_ratio(
    count: ArrayLike, size: ArrayLike, other: ArrayLike, other_size: ArrayLike, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """An exact interval of the ratio of two small rates, ``(count/size) / (other/other_size)``.

    Given their sum, the first count is binomial with odds ``ratio * size / other_size`` where the counts are Poisson;
    its Clopper-Pearson interval is turned into one of the ratio. For binomial counts it covers at least as often. It
    reaches up to infinity where the other count is 0.

    Examples
    --------
    >>> low, high = rate_ratio(0, 100, 10, 100)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0, 0.4461)
    """
    a, b = np.asarray(count, dtype=np.float64), np.asarray(other, dtype=np.float64)
    factor = np.asarray(other_size, dtype=np.float64) / np.asarray(size, dtype=np.float64)
    low, high = clopper_pearson(a, a + b, level)
    with np.errstate(divide="ignore"):
        return low / (1 - low) * factor, high / (1 - high) * factor


def rate_difference(
    count: ArrayLike, size: ArrayLike, other: ArrayLike, other_size: ArrayLike, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """An interval of the difference of two rates, the exact intervals of both combined (Newcombe 1998).

    Examples
    --------
    >>> low, high = rate_difference(0, 100, 10, 100)
    >>> round(float(low), 4), round(float(high), 4)
    (-0.1762, -0.0375)
    """
    p = np.asarray(count, dtype=np.float64) / np.asarray(size, dtype=np.float64)
    q = np.asarray(other, dtype=np.float64) / np.asarray(other_size, dtype=np.float64)
    low, high = clopper_pearson(count, size, level)
    least, most = clopper_pearson(other, other_size, level)
    return p - q - np.hypot(p - low, most - q), p - q + np.hypot(high - p, q - least)


def percentile(values: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """The middle ``level`` of resampled values, over the first axis.

    Order statistics, so that infinite values stay in their place. NaN where more than one value in a hundred is NaN.

    Examples
    --------
    >>> low, high = percentile(np.arange(1001.0))
    >>> float(low), float(high)
    (25.0, 975.0)
    """
    tail = (1 - level) / 2
    lost = np.isnan(values)
    if not lost.any():
        low, high = np.quantile(values, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return low, high
    unknown = lost.mean(axis=0) > 0.01
    whole = np.where(unknown, 0.0, values)
    low, high = np.nanquantile(whole, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def normal(value: Floats, values: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """``value`` and as many standard deviations of the resampled values around it: for few resamples."""
    from scipy.special import ndtri

    if len(values) < 2:
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    with np.errstate(invalid="ignore"):
        half = float(ndtri((1 + level) / 2)) * values.std(axis=0, ddof=1)
    return value - half, value + half


def simultaneous(values: Floats, level: float = LEVEL) -> tuple[Floats, Floats, float]:
    """A band that ``level`` of the resampled curves stay within over their whole length.

    The band is made of percentiles, at that pointwise level which the wanted share of curves fulfils everywhere.

    Parameters
    ----------
    values
        ``[resamples, points]`` without NaN.

    Returns
    -------
    low, high
        The band.
    pointwise
        The level of the percentiles, above ``level``; it is bounded by the number of resamples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> low, high, pointwise = simultaneous(rng.standard_normal((2000, 10)))
    >>> pointwise > 0.99 and bool((high > 2.3).all())
    True
    """
    resamples = len(values)
    ranked: Any = np.sort(values, axis=0)
    # how far from the nearer end each value is, by how many of the resamples; ties count as the farther in
    depth = np.full(resamples, resamples)
    for j in range(values.shape[1]):
        at = np.searchsorted(ranked[:, j], values[:, j], side="right") - 1
        back = resamples - 1 - np.searchsorted(ranked[:, j], values[:, j], side="left")
        np.minimum(depth, np.minimum(at, back), out=depth)
    # as deep as possible while enough curves stay within
    inside = int(np.sort(depth)[int(np.floor((1 - level) * resamples))])
    return ranked[inside], ranked[resamples - 1 - inside], 1 - 2 * inside / resamples


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
        ``few_queries`` or ``no_variance`` where there is no interval: values that are all the same say nothing about
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
        How often queries are resampled, and the seed.
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
