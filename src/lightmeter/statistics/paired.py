"""Paired tests of differences by query, many pairs of runs at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import choice, whole_number
from lightmeter.statistics.resampling import draws
from lightmeter.statistics.scores import complete, settled, stream, tolerance

PAIRED = ("t", "wilcoxon", "randomization", "bootstrap")
#: Shapiro and Wilk's test is calibrated for 3 to 5,000 numbers.
_SHAPIRO = (3, 5000)
#: differences whose signed ranks are counted out
_EXACT = 50
_AT_A_TIME = 1 << 22


@dataclass(frozen=True)
class Paired:
    """What a paired test found, one entry a pair.

    Attributes
    ----------
    p
        Two-sided p-values; NaN where the test cannot be made.
    effect
        Mean difference over the standard deviation of the differences (Cohen's d_z); NaN where they do not vary.
    reason
        Why p is NaN: ``few_queries``, ``no_difference``, ``no_variance``.
    normality
        For the t test, the p-value of Shapiro and Wilk's test that the differences come from a normal distribution;
        otherwise NaN.
    """

    p: Floats
    effect: Floats
    reason: list[str | None]
    normality: Floats


def paired_test(
    differences: Any,
    test: str,
    *,
    resamples: int = 5000,
    rng: Rng = 0,
    tol: float | None = None,
) -> Paired:
    """Test for each pair whether the differences by query are centred on 0.

    Parameters
    ----------
    differences
        ``[pairs, queries]``, complete.
    test
        ``'t'``: Student's paired t test, with the p-value of a test of normality beside it. ``'wilcoxon'``: signed
        ranks; queries without a difference are left out, exact for up to 50 others, ties and all, else a normal
        approximation corrected for ties. ``'randomization'``: signs of the differences flipped at random (all ways to
        flip them, and so an exact p, where there are no more than ``resamples``). ``'bootstrap'``: queries drawn
        with replacement from the differences shifted to mean 0, with Student's t as the statistic.
    resamples, rng
        How often the signs are flipped or queries are drawn, and the seed.
    tol
        Differences that count as none; by default 1e-9 of the largest. Give that of the scores where there are scores.

    Returns
    -------
    Paired
        p-values; those of the last two count the data as they stand as one of the resamples, so p > 0.

    Raises
    ------
    LightmeterError
        Where the test is unknown or the differences are not complete.

    Notes
    -----
    Source: Smucker, Allan and Carterette, CIKM 2007; Efron and Tibshirani 1993, section 16.4; Sakai, SIGIR 2006.

    Examples
    --------
    >>> found = paired_test([[0.1, 0.2, 0.1, 0.3, 0.2], [0.1, -0.2, 0.1, 0.0, 0.0]], "randomization")
    >>> found.p.round(4).tolist()
    [0.0625, 1.0]
    """
    choice("test", test, PAIRED)
    d = complete(differences, what="differences")
    whole_number("resamples", resamples)
    tol = tolerance(d) if tol is None else tol
    d = settled(d, tol)
    pairs, queries = d.shape
    mean = d.mean(axis=1)
    deviation = d.std(axis=1, ddof=1) if queries > 1 else np.zeros(pairs)
    varies = deviation > tol
    with np.errstate(all="ignore"):
        effect = np.where(varies, mean / deviation, np.nan)
    p, normality = np.full(pairs, np.nan), np.full(pairs, np.nan)
    differs = (d != 0).any(axis=1)
    if queries < 2:
        return Paired(p, effect, ["few_queries"] * pairs, normality)
    if test == "randomization":
        p = _sign_flip(d, resamples, rng, tol)
    elif test == "wilcoxon" and differs.any():
        p[differs] = _wilcoxon(d[differs], tol)
    elif test == "bootstrap" and varies.any():
        p[varies] = _bootstrap(d[varies], resamples, rng)
    elif test == "t" and varies.any():
        p[varies] = _t(d[varies])
        normality[varies] = _normality(d[varies])
    reason = [
        None if not np.isnan(value) else "no_variance" if different else "no_difference"
        for value, different in zip(p, differs, strict=True)
    ]
    return Paired(p, effect, reason, normality)


def _t(d: Floats) -> Floats:
    from scipy.stats import ttest_1samp

    return np.asarray(ttest_1samp(d, 0.0, axis=1).pvalue)


def _normality(d: Floats) -> Floats:
    """p-values of Shapiro and Wilk's test; NaN for fewer or more queries than it is made for."""
    if not _SHAPIRO[0] <= d.shape[1] <= _SHAPIRO[1]:
        return np.full(len(d), np.nan)
    from scipy.stats import shapiro

    return np.array([shapiro(row).pvalue for row in d])


def _wilcoxon(d: Floats, tol: float) -> Floats:
    if tol > 0:  # differences that differ by rounding only are tied
        d = np.round(d / tol / 2) * tol * 2
    few = (d != 0).sum(axis=1) <= _EXACT
    p = np.empty(len(d))
    p[few] = [_signed_ranks(row[row != 0]) for row in d[few]]
    if not few.all():
        from scipy.stats import wilcoxon

        p[~few] = wilcoxon(d[~few], axis=1, method="asymptotic").pvalue
    return p


def _signed_ranks(d: Floats) -> float:
    """The exact p-value of the sum of ranks with a plus sign, ties sharing their mean rank."""
    _, at, count = np.unique(np.abs(d), return_inverse=True, return_counts=True)
    twice = (2 * np.cumsum(count) - count + 1)[at]  # ranks times two are whole
    ways = np.zeros(int(twice.sum()) + 1)
    ways[0] = 1.0
    for rank in twice.tolist():
        ways[rank:] += ways[:-rank]  # NumPy reads the right side before it writes
        ways /= 2.0
    off = np.abs(2 * np.arange(len(ways)) - (len(ways) - 1))
    return float(min(ways[off >= off[int(twice[d > 0].sum())]].sum(), 1.0))


def _sign_flip(d: Floats, resamples: int, rng: Rng, tol: float) -> Floats:
    pairs, queries = d.shape
    observed = np.abs(d.mean(axis=1))[:, None] - tol
    if queries < 60 and 2**queries <= resamples:
        flips = 1.0 - 2.0 * ((np.arange(2**queries)[:, None] >> np.arange(queries)) & 1)
        return np.asarray((np.abs(d @ flips.T / queries) >= observed).mean(axis=1))
    generator = stream(rng)
    extreme = np.zeros(pairs, dtype=np.int64)
    size = max(1, min(resamples, _AT_A_TIME // max(pairs, queries)))
    for start in range(0, resamples, size):
        n = min(size, resamples - start)
        flips = generator.integers(0, 2, size=(n, queries), dtype=np.int8) * 2.0 - 1.0
        extreme += (np.abs(d @ flips.T / queries) >= observed).sum(axis=1)
    return (extreme + 1) / (resamples + 1)


def _bootstrap(d: Floats, resamples: int, rng: Rng) -> Floats:
    """Shares of resamples whose t is as far from 0; one without any variance counts as far, unless its mean is 0."""
    pairs, queries = d.shape
    mean = d.mean(axis=1, keepdims=True)
    t = np.abs(mean / d.std(axis=1, ddof=1, keepdims=True)) * (1 - 1e-9)
    shifted = d - mean
    squares = shifted**2
    floor = 1e-18 * squares.max(axis=1, keepdims=True)
    extreme = np.zeros(pairs, dtype=np.int64)
    for weight in draws(queries, resamples, stream(rng), wide=pairs):
        drawn = shifted @ weight.T / queries
        variance = (squares @ weight.T / queries - drawn**2) * (queries / (queries - 1))
        some = variance > floor
        far = np.abs(drawn) >= t * np.sqrt(np.where(some, variance, 0.0))
        extreme += (far & (some | (drawn**2 > floor))).sum(axis=1)
    return (extreme + 1) / (resamples + 1)
