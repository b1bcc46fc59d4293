"""Agreement that counts the top of an order for more: tau_AP and rank-biased overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.statistics.scores import TOLERANCE, complete, share


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
    x, y = _two(truth, estimate)
    n = len(x)
    if n < 2:
        return float("nan")
    agree = _sign(x)  # i minus j
    above = _sign(y) < 0  # j above i
    count, tied = above.sum(axis=1), (_sign(y) == 0).sum(axis=1)
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
    x, y = _two(x, y)
    p = share("p", p)
    n = len(x)
    if not n:
        return float("nan")
    # the depth at which each thing comes in
    first = (_sign(x) < 0).sum(axis=1), (_sign(y) < 0).sum(axis=1)
    one, two = (np.cumsum(np.bincount(f, minlength=n)) for f in first)
    both = np.cumsum(np.bincount(np.maximum(*first), minlength=n))
    agreement = 2.0 * both / (one + two)
    weight = p ** np.arange(n)
    return float((1 - p) * (agreement * weight).sum() + agreement[-1] * p**n)


def _two(x: Any, y: Any) -> tuple[Floats, Floats]:
    if np.shape(x) != np.shape(y) or np.ndim(x) != 1:
        raise LightmeterError(
            f"the orders have the shapes {np.shape(x)} and {np.shape(y)}. Accepted: two lists of the same length."
        )
    if not np.size(x):
        return np.zeros(0), np.zeros(0)
    both = complete([x, y], what="orders")
    return both[0], both[1]


def _sign(x: Floats) -> Floats:
    difference = x[:, None] - x
    return np.sign(np.where(np.abs(difference) <= TOLERANCE * np.abs(x).max(initial=0.0), 0.0, difference))
