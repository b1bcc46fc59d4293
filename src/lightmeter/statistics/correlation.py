"""Agreement between two orders of the same things: Kendall's tau, AP correlation and rank-biased overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import LightmeterError, whole_number
from lightmeter.statistics.resampling import draws, stream
from lightmeter.statistics.scores import TOLERANCE, complete, share


@dataclass(frozen=True)
class Kendall:
    """Kendall's tau-b with Long and Cliff's interval.

    Attributes
    ----------
    tau
        In [-1, 1]; NaN where one of the orders is a single tie.
    low, high
        The interval; NaN with a reason where there is none.
    n
        How many runs (or whatever was ordered).
    reason
        ``perfect_agreement`` (tau is 1 or -1: its interval cannot be estimated), ``all_tied``, ``few_runs`` (fewer
        than three) or None.
    """

    tau: float
    low: float
    high: float
    n: int
    reason: str | None


def kendall(x: Any, y: Any, *, level: float = 0.95) -> Kendall:
    """Kendall's tau-b between two orders of the same things.

    Parameters
    ----------
    x, y
        A number for each, higher is better (or lower, in both). Numbers within 1e-9 of the largest are tied.
    level
        Level of the interval, in (0, 1).

    Returns
    -------
    Kendall
        tau and its interval.

    Raises
    ------
    LightmeterError
        Where the two have different lengths or hold something that is not a finite number.

    Notes
    -----
    With ``t_ij = sign(x_i - x_j) sign(y_i - y_j)``, tau_a their mean over pairs, ``t_i = sum_j t_ij/(n-1)`` and
    ``s^2(t_ij) = (sum t_ij^2 - n(n-1) tau_a^2)/(n(n-1) - 1)``, the variance is
    ``[4(n-2) s^2(t_i) + 2 s^2(t_ij)]/(n(n-1))``. Both tau and the ends of its normal interval are divided by
    ``sqrt((1 - ties_x)(1 - ties_y))``, ties the share of tied pairs, and clipped to [-1, 1]. For n = 10 to 50 it covers
    about what it says; below, less. Memory grows with n squared. Source: Long and Cliff, British Journal of
    Mathematical and Statistical Psychology 1997.

    Examples
    --------
    >>> found = kendall([0.9, 0.8, 0.5, 0.4, 0.1], [0.7, 0.8, 0.3, 0.6, 0.2])
    >>> found.tau, round(found.low, 3), found.high
    (0.6, -0.012, 1.0)
    >>> kendall([1, 2, 3], [2, 4, 6]).reason
    'perfect_agreement'
    """
    return kendalls(_two_orders(x, y), level=level)[0][1]


def kendalls(values: Any, *, level: float = 0.95) -> list[list[Kendall]]:
    """:func:`kendall` between all pairs of rows of ``[orders, n]``."""
    x = complete(values, what="orders")
    z = _critical(level)
    orders, n = x.shape
    signs = _signs(x)
    if n < 2:
        return [[Kendall(np.nan, np.nan, np.nan, n, "few_runs")] * orders for _ in range(orders)]
    pairs = n * (n - 1)
    untied = (signs != 0).sum(axis=(1, 2)) / pairs
    out = []
    for i in range(orders):
        t = signs[i] * signs  # [orders, n, n]
        tau_a = t.sum(axis=(1, 2)) / pairs
        of_pairs = (t**2).sum(axis=(1, 2)) - pairs * tau_a**2
        of_runs = ((t.sum(axis=2) / (n - 1) - tau_a[:, None]) ** 2).sum(axis=1) / (n - 1)
        variance = (4 * (n - 2) * of_runs + 2 * of_pairs / (pairs - 1)) / pairs
        with np.errstate(all="ignore"):
            scale = np.sqrt(untied[i] * untied)
            tau = np.clip(tau_a / scale, -1, 1)
            ends = (tau_a + z * np.array([[-1.0], [1.0]]) * np.sqrt(np.maximum(variance, 0.0))) / scale
        low, high = np.clip(ends, -1, 1)
        out.append([_kendall(tau[j], low[j], high[j], n) for j in range(orders)])
    return out


def _kendall(tau: float, low: float, high: float, n: int) -> Kendall:
    reason = (
        "all_tied"
        if np.isnan(tau)
        else "few_runs"
        if n < 3
        else "perfect_agreement"
        if abs(tau) > 1 - TOLERANCE
        else None
    )
    tau = float(np.round(tau) if reason == "perfect_agreement" else tau)
    return Kendall(tau, *((float("nan"),) * 2 if reason else (float(low), float(high))), n, reason)


def _two_orders(x: Any, y: Any) -> Floats:
    """Two orders as ``[2, n]``."""
    if np.shape(x) != np.shape(y) or np.ndim(x) != 1:
        raise LightmeterError(
            f"the orders have the shapes {np.shape(x)} and {np.shape(y)}. Accepted: two lists of the same length."
        )
    return np.stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])


def _signs(x: Floats) -> Floats:
    """``sign(x_i - x_j)`` over the last axis, 0 for ties, ``[.., n, n]``."""
    difference = x[..., :, None] - x[..., None, :]
    tol = TOLERANCE * np.abs(x).max(axis=-1, initial=0.0)[..., None, None]
    return np.sign(np.where(np.abs(difference) <= tol, 0.0, difference))


def _critical(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + share("level", level)) / 2))


def taus_over_queries(
    scores: list[Floats], *, level: float = 0.95, resamples: int = 1000, rng: Rng = 0
) -> tuple[Floats, Floats]:
    """Bootstrap intervals of tau-b between the run orders of measures: how far it depends on the queries.

    Parameters
    ----------
    scores
        For each measure ``[runs, queries]``, higher is better; NaN in whole columns where a query is left out.
    level, resamples, rng
        Level of the interval, how often queries are resampled, and the seed.

    Returns
    -------
    low, high
        ``[measures, measures]``; NaN where a tau of a resample is undefined throughout.
    """
    whole_number("resamples", resamples)
    share("level", level)
    measures, (runs, queries) = len(scores), scores[0].shape
    defined = np.stack([~np.isnan(s).any(axis=0) for s in scores]).astype(np.float64)
    filled = np.concatenate([np.where(d > 0, s, 0.0) for s, d in zip(scores, defined, strict=True)])
    taus = []
    for weight in draws(queries, resamples, stream(rng), wide=max(1, measures * runs * runs)):
        with np.errstate(all="ignore"):
            total = (weight @ filled.T).reshape(len(weight), measures, runs)
            signs = _signs(total / (weight @ defined.T)[..., None]).reshape(len(weight), measures, runs * runs)
            product = signs @ np.swapaxes(signs, 1, 2)
            own = np.sqrt(np.diagonal(product, axis1=1, axis2=2))
            taus.append(product / (own[:, :, None] * own[:, None, :]))
    resampled = np.concatenate(taus)
    low, high = np.full((measures, measures), np.nan), np.full((measures, measures), np.nan)
    some = ~np.isnan(resampled).all(axis=0)
    if some.any():
        ends = np.nanquantile(resampled[:, some], [(1 - level) / 2, (1 + level) / 2], axis=0)
        low[some], high[some] = np.clip(ends, -1, 1)
    return low, high


def tau_ap(truth: Any, estimate: Any) -> float:
    """AP correlation of an order with a true one: swaps near the top of ``estimate`` weigh more.

    Parameters
    ----------
    truth, estimate
        A number for each thing, higher is better. Numbers within 1e-9 of the largest are tied.

    Returns
    -------
    float
        ``1/(n-1) sum_i mean over those above i in estimate of the sign by which truth agrees``, in [-1, 1]; 1 where
        the orders agree. Those tied in ``estimate`` stand in random order, and the expected value is taken; those
        tied in ``truth`` agree with nothing. NaN for fewer than two things.

    Notes
    -----
    Not symmetric. Source: Yilmaz, Aslam and Robertson, SIGIR 2008; ties as tau_AP,a of Urbano and Marrero, ICTIR 2017.

    Examples
    --------
    >>> tau_ap([3, 2, 1], [3, 2, 1]), tau_ap([3, 2, 1], [2, 3, 1]), tau_ap([3, 2, 1], [3, 1, 2])
    (1.0, 0.0, 0.5)
    """
    both = _two_orders(truth, estimate)
    n = both.shape[1]
    if n:
        complete(both, what="orders")
    if n < 2:
        return float("nan")
    agree, order = _signs(both)  # the sign of i minus j
    above = order < 0  # j above i
    count, tied = above.sum(axis=1), (order == 0).sum(axis=1)
    # a thing with p above it and t tied with it has p, p+1, .., p+t-1 above it, each as likely
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n + 1))])
    with np.errstate(all="ignore"):
        weight = (harmonic[count + tied - 1] - harmonic[np.maximum(count - 1, 0)]) / tied
    score = np.where(count > 0, weight * (-agree * above).sum(axis=1), 0.0)
    return float(np.clip(score.sum() / (n - 1), -1.0, 1.0))


def rbo(x: Any, y: Any, p: float = 0.9) -> float:
    """Rank-biased overlap of two orders of the same things, extrapolated.

    Parameters
    ----------
    x, y
        A number for each thing, higher is better. Numbers within 1e-9 of the largest are tied.
    p
        Persistence in (0, 1): how far down the orders are compared; the first 10 ranks carry about 86% of the weight
        for 0.9.

    Returns
    -------
    float
        ``(1-p)/p sum_{d=1}^n A_d p^d + A_n p^n`` in [0, 1], ``A_d = 2 |S_d and T_d|/(|S_d| + |T_d|)`` the agreement of
        the things ranked d or better. Tied things share the best of their ranks. NaN for none.

    Notes
    -----
    Source: Webber, Moffat and Zobel, ACM TOIS 2010, with their ties.

    Examples
    --------
    >>> rbo([3, 2, 1], [3, 2, 1]), round(rbo([3, 2, 1], [1, 2, 3], p=0.5), 4)
    (1.0, 0.375)
    """
    both = _two_orders(x, y)
    p = share("p", p)
    n = both.shape[1]
    if not n:
        return float("nan")
    # the depth from which on each thing is included
    first = (_signs(complete(both, what="orders")) < 0).sum(axis=2)
    one, two = (np.cumsum(np.bincount(f, minlength=n)) for f in first)
    common = np.cumsum(np.bincount(np.maximum(*first), minlength=n))
    agreement = 2.0 * common / (one + two)
    weight = p ** np.arange(n)
    return float((1 - p) * (agreement * weight).sum() + agreement[-1] * p**n)
