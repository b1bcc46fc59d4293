"""Intervals: of rates exactly, of resampled values by percentile, of whole curves at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats

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
    gone = lost.mean(axis=0) > 0.01
    whole = np.where(gone, 0.0, values)
    low, high = np.nanquantile(whole, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return np.where(gone, np.nan, low), np.where(gone, np.nan, high)


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
