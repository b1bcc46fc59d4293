"""The randomised Tukey HSD test: all pairs of systems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lightmeter.arrays import Floats, Rng
from lightmeter.errors import LightmeterError, whole_number
from lightmeter.io.threads import in_threads
from lightmeter.statistics.scores import complete, settled, streams, tolerance

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
    by_topic = np.sort(x.T, axis=1)  # so that what is drawn does not depend on the order of the systems
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
