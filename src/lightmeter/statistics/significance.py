"""Significance: paired tests, the randomised Tukey HSD test, exact tests of counts, adjustment for many tests.

All of them take arrays and return arrays; pairs of runs are tested together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import LightmeterError, choice, whole_number
from lightmeter.io.threads import in_threads
from lightmeter.statistics.resampling import draws, stream, streams
from lightmeter.statistics.scores import complete, settled, share, tolerance

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
        flip them, and so an exact p, where there are no more than ``resamples``). ``'bootstrap'``: queries sampled
        with replacement from the differences shifted to mean 0, with Student's t as the statistic.
    resamples, rng
        How often the signs are flipped or queries are resampled, and the seed.
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
        resampled = shifted @ weight.T / queries
        variance = (squares @ weight.T / queries - resampled**2) * (queries / (queries - 1))
        some = variance > floor
        far = np.abs(resampled) >= t * np.sqrt(np.where(some, variance, 0.0))
        extreme += (far & (some | (resampled**2 > floor))).sum(axis=1)
    return (extreme + 1) / (resamples + 1)


Form = Literal["plus_one", "proportion"]
#: numbers of one piece of work: a few megabytes
_PIECE = 1 << 19


@dataclass(frozen=True)
class Tukey:
    """What the randomised Tukey HSD test found.

    Attributes
    ----------
    mean
        Mean score of each system, ``[systems]``.
    p
        p-value of each pair, ``[systems, systems]``, symmetric; 1 on the diagonal.
    effect
        Standardised difference of each pair (row minus column), ``[systems, systems]``; NaN where the scores have no
        residual.
    spread
        Largest minus smallest mean in each permutation, sorted.
    """

    mean: Floats
    p: Floats
    effect: Floats
    spread: Floats

    def __repr__(self) -> str:
        return f"Tukey({len(self.mean)} systems, {len(self.spread)} permutations)"


def randomised_tukey(scores: Any, *, permutations: int = 5000, rng: Rng = 0, form: Form = "plus_one") -> Tukey:
    """Randomised Tukey HSD: which pairs of systems differ, with one family-wise error rate over all pairs.

    Under the hypothesis that all systems are the same, a topic's scores may be handed to the systems in any order.
    Every permutation does so in each topic and notes the distance between the best and the worst mean; a pair
    differs as far as few permutations have so large a distance:
    ``p_ij = (#{max - min >= |mean_i - mean_j|} + 1) / (B + 1)``.

    Parameters
    ----------
    scores
        ``[systems, topics]``, complete.
    permutations
        B.
    rng
        Seed or generator, or None for a fresh seed. The result depends on it alone, not on the number of threads.
    form
        ``'plus_one'`` counts the scores as they stand as one of the permutations: p is in [1/(B+1), 1] and the test
        keeps its level. ``'proportion'`` is the plain share of the permutations, as in Discpower: p may be 0.

    Returns
    -------
    Tukey
        p-values in [0, 1] and effect sizes ``(mean_i - mean_j) / sqrt(V)``, V the residual variance of a two-way
        analysis of variance without replication, ``sum (x_ij - mean_i - mean_j + mean)^2 / ((m - 1)(n - 1))``.

    Raises
    ------
    LightmeterError
        Where the scores are not complete or there are fewer than two systems.

    Notes
    -----
    Means that differ by no more than 1e-9 of the largest score are equal: scores are rounded, ties are common, and
    without a tolerance p comes out too small. Source: Carterette, ACM TOIS 2012; Sakai, Laboratory Experiments in
    Information Retrieval, 2018.

    Examples
    --------
    >>> same = [0.1, 0.5, 0.3, 0.4, 0.2, 0.6]
    >>> better = [x + 0.2 + 0.01 * i for i, x in enumerate(same)]
    >>> found = randomised_tukey([same, better], permutations=1000)
    >>> bool(found.p[0, 1] < 0.06), float(found.effect[1, 0].round(2))
    (True, 17.01)
    """
    x = complete(scores, rows=2)
    whole_number("permutations", permutations)
    if form not in ("plus_one", "proportion"):
        raise LightmeterError(f"form is {form!r}. Accepted: 'plus_one', 'proportion'.")
    tol = tolerance(x)
    mean = x.mean(axis=1)
    spread = np.sort(_spreads(x, permutations, rng))
    difference = settled(mean[:, None] - mean, tol)
    extreme = permutations - np.searchsorted(spread, np.abs(difference) - tol, side="left")
    p = (extreme + 1) / (permutations + 1) if form == "plus_one" else extreme / permutations
    np.fill_diagonal(p, 1.0)
    return Tukey(mean, p, _effect(x, difference, tol), spread)


def _spreads(x: Floats, permutations: int, rng: Rng) -> Floats:
    """Largest minus smallest mean under random permutations within topics."""
    systems, topics = x.shape
    by_topic = np.sort(x.T, axis=1)  # so that permutations do not depend on the order of the systems
    size = max(1, min(permutations, _PIECE // x.size))
    starts = range(0, permutations, size)
    generators = streams(rng, len(starts))
    out = np.empty(permutations)

    def permute(piece: int) -> Floats:
        n = min(size, permutations - piece * size)
        shuffled = np.empty((n, topics, systems))
        shuffled[:] = by_topic
        generators[piece].permuted(shuffled, axis=2, out=shuffled)
        mean = shuffled.mean(axis=1)
        return mean.max(axis=1) - mean.min(axis=1)

    for piece, spread in in_threads(permute, range(len(starts))):
        out[piece * size : piece * size + len(spread)] = spread
    return out


def residual_variance(x: Floats) -> float:
    """Residual variance of the two-way analysis of variance without replication; NaN with a single topic."""
    systems, topics = x.shape
    if topics < 2 or systems < 2:
        return float("nan")
    residual = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0, keepdims=True) + x.mean()
    return float((residual**2).sum() / ((systems - 1) * (topics - 1)))


def _effect(x: Floats, difference: Floats, tol: float) -> Floats:
    deviation = np.sqrt(residual_variance(x))
    return difference / deviation if deviation > tol else np.full(difference.shape, np.nan)


@lru_cache(maxsize=4096)
def fisher(selected: int, size: int, other: int, other_size: int) -> float:
    """Fisher's exact test, two-sided: are two groups selected at one rate?

    Parameters
    ----------
    selected, size
        Selected and members of the first group.
    other, other_size
        Of the second.

    Returns
    -------
    float
        The p-value: given both margins, how likely is a table no more probable than this one.

    Examples
    --------
    >>> round(fisher(1, 10, 9, 10), 5)
    0.00109
    """
    from scipy.stats import fisher_exact

    return float(fisher_exact([[selected, size - selected], [other, other_size - other]])[1])


def shift_one(selected: int, size: int, other: int, other_size: int) -> float:
    """The ratio of two selection rates had one person of the first group been selected in place of one of the second.

    A ratio that one person turns rests on small numbers. NaN where no such exchange is possible, infinite where the
    other group is left with none.

    Examples
    --------
    >>> shift_one(1, 10, 4, 10)
    0.666...
    """
    if selected >= size or other < 1:
        return float("nan")
    if other == 1:
        return float("inf")
    return ((selected + 1) / size) / ((other - 1) / other_size)


Adjust = Literal["holm", "bh", "none"]
ADJUST: tuple[Adjust, ...] = ("holm", "bh", "none")


def adjusted(p: Any, method: str) -> Floats:
    """p-values adjusted over all that are given.

    Parameters
    ----------
    p
        p-values in [0, 1], of any shape. NaN (a test that was not possible) stays NaN and does not count.
    method
        ``'holm'``: Holm's step-down, the chance of any false finding stays below alpha. ``'bh'``: Benjamini and
        Hochberg's step-up, the expected share of false findings stays below alpha (independent or positively
        dependent tests). ``'none'``.

    Returns
    -------
    Array
        Adjusted p-values in [0, 1], of the same shape, never below p. A test is significant where they are below
        alpha.

    Raises
    ------
    LightmeterError
        Where the method is unknown or a p-value lies outside [0, 1].

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted([0.01, 0.04, 0.03], "bh").round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    choice("adjust", method, ADJUST)
    values = np.array(p, dtype=np.float64)
    tested = ~np.isnan(values)
    some = values[tested]
    if ((some < 0) | (some > 1)).any():
        raise LightmeterError("a p-value lies outside [0, 1]. Accepted: p-values.")
    if method == "holm" and len(some):
        order = np.argsort(some, kind="stable")
        steps = np.maximum.accumulate(some[order] * np.arange(len(some), 0, -1))
        some[order] = np.minimum(steps, 1.0)
    elif method == "bh" and len(some):
        from scipy.stats import false_discovery_control

        some = false_discovery_control(some, method="bh")
    values[tested] = some
    return values


def asl_curve(p: Any) -> Floats:
    """The curve of achieved significance levels: the p-values of all pairs of runs in ascending order.

    The lower the curve, the more pairs of runs differ significantly. Tests without a p-value (NaN) come last. Source:
    Sakai, SIGIR 2006 and 2007.

    Examples
    --------
    >>> asl_curve([0.2, 0.01, 0.5]).tolist()
    [0.01, 0.2, 0.5]
    """
    return np.sort(np.asarray(p, dtype=np.float64).ravel())


def discriminative_power(p: Any, alpha: float = 0.05) -> float:
    """The share of pairs whose p-value is below ``alpha``, in [0, 1]; NaN where there is no pair.

    A pair that could not be tested counts as one that does not differ significantly.

    Examples
    --------
    >>> discriminative_power([0.2, 0.01, 0.5, 0.04])
    0.5
    """
    values = np.asarray(p, dtype=np.float64).ravel()
    return float((values < share("alpha", alpha)).mean()) if len(values) else float("nan")
