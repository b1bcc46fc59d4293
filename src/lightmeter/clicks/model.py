"""The position-based model, by expectation-maximisation.

``P(click) = examination_k x relevance(query, document)``, both probabilities. Given the current values, a click says
that the document was looked at and is relevant; without a click it was looked at with probability ``e (1 - r) / (1 - e
r)`` and is relevant with probability ``r (1 - e) / (1 - e r)``. The new values are the means of these, per rank and per
document (Wang et al. 2018; the model is that of Richardson et al. 2007 and Craswell et al. 2008).

The log-likelihood ``sum of clicks (log e + log r) + (shown - clicks) log(1 - e r)`` is concave in (log e, log r), as
``log(1 - exp(x))`` is concave in x: there is one maximum but for a common factor, and no need for several starts.
Documents seen at one rank only tell nothing about ranks and are left out, as are those never clicked. As
expectation-maximisation slows down near the maximum, each few of its steps are followed by one of Newton's, which is
taken only if it raises the likelihood.

Intervals: a replicate's weights are one Newton step on the likelihood, with relevance maximised out, away from the
estimate (a one-step bootstrap; Andrews 2002), because slopes and curvatures of queries add up where fits do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.clicks.log import Cells
from lightmeter.statistics.resampling import by_query, resampled

_NEAR = 1e-8
_ROUNDS = 300
_STEPS = 4
_HALVINGS = 6
_SMALL = 1e-300
#: relevance stays below 1, where a step of expectation-maximisation would never leave
_TOP = 1.0 - 1e-7
_LARGEST = 1.0 - 1e-12
_LONGEST = 3.0


@dataclass(frozen=True)
class Fit:
    """The model fitted: examination by rank (the largest is 1), relevance by pair, and how it got there."""

    examination: Floats
    relevance: Floats
    rounds: int
    converged: bool
    log_likelihood: float


def informative(cells: Cells) -> Cells:
    """The cells of pairs that were seen at two ranks and clicked at one, with pairs numbered anew."""
    kept = cells.some((cells.by_pair() > 1) & (cells.by_pair(cells.clicks) > 0))
    pair = np.unique(kept.pair, return_inverse=True)[1]
    return Cells(kept.query, pair, kept.rank, kept.shown, kept.clicks, kept.queries, kept.ranks)


def fit(cells: Cells, *, rounds: int = _ROUNDS, near: float = _NEAR) -> Fit:
    """Fit examination and relevance to informative cells, until log examination changes by less than ``near``."""
    pairs = int(cells.pair.max(initial=-1)) + 1
    shown_rank = np.maximum(cells.by_rank(cells.shown), _SMALL)
    shown_pair = np.bincount(cells.pair, cells.shown, minlength=pairs)
    missed = cells.shown - cells.clicks

    def maximised(e: Floats, r: Floats) -> tuple[Floats, Floats]:
        looked, relevant = e[cells.rank], r[cells.pair]
        both = np.minimum(looked * relevant, _LARGEST)
        share = missed / (1.0 - both)
        new_e = np.bincount(cells.rank, cells.clicks + share * (looked - both), minlength=cells.ranks) / shown_rank
        new_r = np.bincount(cells.pair, cells.clicks + share * (relevant - both), minlength=pairs) / shown_pair
        return _scaled(new_e, new_r)

    e, r = np.full(cells.ranks, 0.5), np.full(pairs, 0.5)
    used, change = 0, np.inf
    while used < rounds and change >= near:
        start, used = e, used + 1
        for _ in range(_STEPS):
            e, r = maximised(e, r)
        best = likelihood(cells, e, r)
        step_e, step_r = _newton(cells, e, r)
        for half in range(_HALVINGS):
            far = _scaled(e * np.exp(step_e / 2**half), r * np.exp(step_r / 2**half))
            if likelihood(cells, *far) >= best:
                e, r = far
                break
        change = float(np.abs(np.log(e / start)).max())
    return Fit(e, r, used, change < near, likelihood(cells, e, r))


def likelihood(cells: Cells, e: Floats, r: Floats) -> float:
    """Log-likelihood of examination and relevance."""
    both = np.minimum(e[cells.rank] * r[cells.pair], _LARGEST)
    return float(cells.clicks @ np.log(both) + (cells.shown - cells.clicks) @ np.log1p(-both))


def _scaled(e: Floats, r: Floats) -> tuple[Floats, Floats]:
    """The same with the largest examination 1; relevance stays within its bounds."""
    scale = e.max()
    return np.maximum(e / scale, _SMALL), np.clip(r * scale, _SMALL, _TOP)


@dataclass(frozen=True)
class _Slopes:
    """First and second derivatives of the likelihood by log examination (or log relevance) of each cell.

    ``inverse``: 1 / curvature by the log relevance of the cell's pair; 0 where that is held at its upper bound.
    """

    slope: Floats
    bend: Floats
    inverse: Floats

    @classmethod
    def of(cls, cells: Cells, e: Floats, r: Floats) -> _Slopes:
        both = np.minimum(e[cells.rank] * r[cells.pair], _LARGEST)
        odds = both / (1.0 - both)
        missed = cells.shown - cells.clicks
        slope, bend = cells.clicks - missed * odds, missed * odds / (1.0 - both)
        free = (r[cells.pair] < _TOP) | (cells.by_pair(slope) < 0)
        return cls(slope, bend, np.where(free, 1.0 / np.maximum(cells.by_pair(bend), _SMALL), 0.0))

    def across(self, cells: Cells) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Mixed second derivatives between the ranks of one pair, relevance maximised out."""
        for upper, lower in cells.partners():
            one, other = np.concatenate([upper, lower]), np.concatenate([lower, upper])
            yield one, other, -self.bend[one] * self.bend[other] * self.inverse[one]


def _newton(cells: Cells, e: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Newton's step in log examination and log relevance."""
    d, ranks = _Slopes.of(cells, e, r), cells.ranks
    matrix = np.diag(cells.by_rank(d.bend - d.bend**2 * d.inverse))
    for one, other, amount in d.across(cells):
        at = cells.rank[one] * ranks + cells.rank[other]
        matrix += np.bincount(at, amount, minlength=ranks * ranks).reshape(ranks, ranks)
    gradient = cells.by_rank(d.slope - d.bend * d.inverse * cells.by_pair(d.slope))
    step = _solved(matrix[None], gradient[None], int(np.argmax(e)))[0]
    moved = np.bincount(cells.pair, d.slope - d.bend * step[cells.rank], minlength=len(r))
    inverse = np.zeros(len(r))
    inverse[cells.pair] = d.inverse
    return step, np.clip(moved * inverse, -_LONGEST, _LONGEST)


def _solved(matrix: Floats, gradient: Floats, pinned: int) -> Floats:
    """Steps of log examination, one rank held where it is; ``[.., ranks, ranks]`` and ``[.., ranks]`` are changed."""
    at = np.arange(matrix.shape[-1])
    matrix[:, at, at] += 1e-10 * matrix[:, at, at].sum(-1, keepdims=True) + _SMALL
    matrix[:, pinned, :] = 0.0
    matrix[:, :, pinned] = 0.0
    matrix[:, pinned, pinned] = 1.0
    gradient[:, pinned] = 0.0
    return np.clip(np.linalg.solve(matrix, gradient[..., None])[..., 0], -_LONGEST, _LONGEST)


def model_replicates(cells: Cells, fitted: Fit, reference: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Weights of bootstrap replicates, ``[replicates, ranks]``; NaN for a rank that a replicate did not draw."""
    ranks = cells.ranks
    d = _Slopes.of(cells, fitted.examination, fitted.relevance)
    shape = (cells.queries, ranks + ranks * ranks)
    sums = by_query(
        np.tile(cells.query, 2),
        np.concatenate([cells.rank, ranks + cells.rank * (ranks + 1)]),
        np.concatenate([d.slope - d.bend * d.inverse * cells.by_pair(d.slope), d.bend - d.bend**2 * d.inverse]),
        shape,
    )
    for one, other, amount in d.across(cells):
        sums = sums + by_query(cells.query[one], ranks + cells.rank[one] * ranks + cells.rank[other], amount, shape)
    whole = np.asarray(sums.sum(axis=0)).ravel()[:ranks]
    pinned, log, at = int(np.argmax(fitted.examination)), np.log(fitted.examination), np.arange(ranks)
    made = []
    for some in resampled(sums, resamples, rng):
        matrix = some[:, ranks:].reshape(-1, ranks, ranks)
        met = matrix[:, at, at] > 0
        new = log + _solved(matrix, some[:, :ranks] - whole, pinned)
        made.append(np.where(met & met[:, reference, None], np.exp(new - new[:, reference, None]), np.nan))
    return np.concatenate(made)
