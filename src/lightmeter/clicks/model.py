"""The position-based model, by expectation-maximisation.

``P(click) = examination_k x relevance(query, document)``, both probabilities. Given the current values, a click says
that the document was looked at and is relevant; without a click it was looked at with probability ``e (1 - r) / (1 - e
r)`` and is relevant with probability ``r (1 - e) / (1 - e r)``. The new values are the means of these, per rank and per
document (Wang et al. 2018; the model is that of Richardson et al. 2007 and Craswell et al. 2008).

The log-likelihood ``sum of clicks (log e + log r) + (shown - clicks) log(1 - e r)`` is concave in (log e, log r), as
``log(1 - exp(x))`` is concave in x: there is one maximum but for a common factor, and no need for several starts.
Documents seen at one rank only tell nothing about ranks and are left out, as are those never clicked.

Intervals: a replicate's weights are one Newton step on the likelihood, with relevance maximised out, away from the
estimate (a one-step bootstrap; Andrews 2002), because slopes and curvatures of queries add up where fits do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightmeter.clicks.log import Cells
from lightmeter.clicks.resampling import by_query, resampled

Array = NDArray[np.float64]
_NEAR = 1e-9
_STEPS = 5000
_LARGEST = 1.0 - 1e-12
_LONGEST = 3.0


@dataclass(frozen=True)
class Fit:
    """The model fitted: examination by rank (the largest is 1), relevance by pair, and how it got there."""

    examination: Array
    relevance: Array
    steps: int
    converged: bool
    log_likelihood: float


def informative(cells: Cells) -> Cells:
    """The cells of pairs that were seen at two ranks and clicked at one, with pairs numbered anew."""
    kept = cells.some((cells.by_pair() > 1) & (cells.by_pair(cells.clicks) > 0))
    pair = np.unique(kept.pair, return_inverse=True)[1]
    return Cells(kept.query, pair, kept.rank, kept.shown, kept.clicks, kept.queries, kept.ranks)


def fit(cells: Cells, *, steps: int = _STEPS, near: float = _NEAR) -> Fit:
    """Fit examination and relevance to informative cells.

    Plain steps of expectation-maximisation, which never lower the likelihood, with an extrapolation after each two
    (SQUAREM; Varadhan and Roland 2008) that is kept where it raises the likelihood more.
    """
    shown_rank = np.maximum(cells.by_rank(cells.shown), 1e-300)
    pairs = int(cells.pair.max(initial=-1)) + 1
    shown_pair = np.bincount(cells.pair, cells.shown, minlength=pairs)
    missed = cells.shown - cells.clicks

    def step(e: Array, r: Array) -> tuple[Array, Array]:
        looked, relevant = e[cells.rank], r[cells.pair]
        both = np.minimum(looked * relevant, _LARGEST)
        share = missed / (1.0 - both)
        new_e = np.bincount(cells.rank, cells.clicks + share * (looked - both), minlength=cells.ranks) / shown_rank
        new_r = np.bincount(cells.pair, cells.clicks + share * (relevant - both), minlength=pairs) / shown_pair
        return np.clip(new_e, 1e-300, 1.0), np.clip(new_r, 1e-300, 1.0)

    def height(e: Array, r: Array) -> float:
        both = np.minimum(e[cells.rank] * r[cells.pair], _LARGEST)
        return float(cells.clicks @ np.log(both) + missed @ np.log1p(-both))

    e, r = step(np.full(cells.ranks, 0.5), np.full(pairs, 0.5))
    best, done, used = height(e, r), False, 1
    while used < steps and not done:
        e1, r1 = step(e, r)
        e2, r2 = step(e1, r1)
        used += 2
        done = bool(np.abs(np.log(_to_one(e2) / _to_one(e1))).max() < near and np.abs(np.log(r2 / r1)).max() < near)
        x = [np.log(np.concatenate(two)) for two in ((e, r), (e1, r1), (e2, r2))]
        first, turn = x[1] - x[0], x[2] - 2 * x[1] + x[0]
        length = max(1.0, float(np.sqrt(first @ first / max(float(turn @ turn), 1e-300))))
        far = np.exp(np.minimum(x[0] + 2 * length * first + length**2 * turn, 0.0))
        far_e, far_r = step(*np.split(np.maximum(far, 1e-300), [cells.ranks]))
        used += 1
        low, high = height(e2, r2), height(far_e, far_r)
        (e, r), best = ((far_e, far_r), high) if high > low else ((e2, r2), low)
    scale = e.max()
    return Fit(e / scale, np.minimum(r * scale, 1.0), used, done, best)


def _to_one(e: Array) -> Array:
    return e / e.max()


def model_replicates(cells: Cells, fitted: Fit, reference: int, resamples: int, rng: np.random.Generator) -> Array:
    """Weights of bootstrap replicates, ``[replicates, ranks]``; NaN for a rank that a replicate did not draw."""
    ranks = cells.ranks
    both = np.minimum(fitted.examination[cells.rank] * fitted.relevance[cells.pair], _LARGEST)
    odds = both / (1.0 - both)
    missed = cells.shown - cells.clicks
    slope = cells.clicks - missed * odds
    bend = missed * odds / (1.0 - both)
    free = fitted.relevance[cells.pair] < _LARGEST
    inverse = np.where(free, 1.0 / np.maximum(cells.by_pair(bend), 1e-300), 0.0)  # 1 / curvature of log relevance
    shape = (cells.queries, ranks + ranks * ranks)
    sums = by_query(
        np.tile(cells.query, 2),
        np.concatenate([cells.rank, ranks + cells.rank * (ranks + 1)]),
        np.concatenate([slope, bend - bend**2 * inverse]),
        shape,
    )
    for upper, lower in cells.partners():
        one, other = np.concatenate([upper, lower]), np.concatenate([lower, upper])
        column = ranks + cells.rank[one] * ranks + cells.rank[other]
        sums = sums + by_query(cells.query[one], column, -bend[one] * bend[other] * inverse[one], shape)
    whole = np.asarray(sums.sum(axis=0)).ravel()[:ranks]
    pinned = int(np.argmax(fitted.examination))
    made = []
    for some in resampled(sums, resamples, rng):
        gradient, matrix = some[:, :ranks] - whole, some[:, ranks:].reshape(-1, ranks, ranks)
        made.append(_stepped(np.log(fitted.examination), gradient, matrix, pinned, reference))
    return np.concatenate(made)


def _stepped(log: Array, gradient: Array, matrix: Array, pinned: int, reference: int) -> Array:
    at = np.arange(len(log))
    diagonal = matrix[:, at, at].copy()
    met = diagonal > 0
    matrix[:, at, at] += 1e-10 * diagonal.sum(-1, keepdims=True) + 1e-300
    matrix[:, pinned, :] = 0.0
    matrix[:, :, pinned] = 0.0
    matrix[:, pinned, pinned] = 1.0
    gradient[:, pinned] = 0.0
    step = np.clip(np.linalg.solve(matrix, gradient[..., None])[..., 0], -_LONGEST, _LONGEST)
    new = log + step
    return np.where(met & met[:, reference, None], np.exp(new - new[:, reference, None]), np.nan)
