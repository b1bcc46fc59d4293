"""Arithmetic of groups from their sums: shares, rates, ratios, gaps and skew.

The last axis is that of the groups, ``[.., groups]``, where nothing else is said. Measures of blocks, the functions of
:mod:`lightmeter.metrics` and the figures of an audit all call these functions, so that a quantity has one definition.
What is undefined is NaN.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats


def quotient(a: Floats, b: Floats) -> Floats:
    """``a / b``, NaN where b is not above 0: mean exposure of exposure and members, a rate, a ratio of two groups.

    Examples
    --------
    >>> quotient(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b > 0, a / b, np.nan)


def ratio_to(value: Floats, reference: int) -> Floats:
    """The value of every group over that of one of them.

    Examples
    --------
    >>> ratio_to(np.array([[0.25, 0.5]]), 1).tolist()
    [[0.5, 1.0]]
    """
    return quotient(value, value[..., [reference]])


def gap_to(value: Floats, reference: int) -> Floats:
    """The value of every group minus that of one of them."""
    return np.asarray(value - value[..., [reference]])


def per_merit(mean: Floats, merit: Floats) -> Floats:
    """Mean exposure per unit of mean merit; infinite where merit is infinite (labels whose sum is too large)."""
    return np.where(np.isinf(merit), np.inf, quotient(mean, merit))


def lowest_and_highest(value: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest value of the groups that have one ``[..]``; NaN where fewer than two have.

    Examples
    --------
    >>> low, high = lowest_and_highest(np.array([[0.5, np.nan, 0.25], [0.5, np.nan, np.nan]]))
    >>> low.tolist(), high.tolist()
    ([0.25, nan], [0.5, nan])
    """
    known = ~np.isnan(value)
    several = known.sum(axis=-1) > 1
    low = np.where(known, value, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(known, value, -np.inf).max(axis=-1, initial=-np.inf)
    return np.where(several, low, np.nan), np.where(several, high, np.nan)


def shares(amount: Floats) -> Floats:
    """The share of each group in the sum over the groups; NaN where the sum is 0.

    Examples
    --------
    >>> shares(np.array([3.0, 1.0])).tolist()
    [0.75, 0.25]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(amount / amount.sum(axis=-1, keepdims=True))


def skews(share: Floats, target: Floats) -> Floats:
    """Skew, ``ln(share / target share)``; source: Geyik et al., KDD 2019.

    It is -inf where a group has no share, inf where it has no target share, and NaN where it has neither.

    Examples
    --------
    >>> skews(np.array([0.5, 0.5]), np.array([0.5, 0.25])).round(6).tolist()
    [0.0, 0.693147]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(share) - np.log(target))
