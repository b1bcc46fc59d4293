"""Examination by rank from clicks: by click rates, by documents seen at two ranks, by the position-based model.

**Click rates.** Right where ranks were random: all ranks then have the same relevance on average.

**Pairs.** A document that was shown at ranks k and l has the same relevance at both, so its click rates at the two
differ by attention alone. For each two ranks, over the documents seen at both,

    A_kl = sum over documents of clicks_k shown_l / (shown_k + shown_l)

has the expectation ``examination_k R_kl``, and A_lk ``examination_l R_kl`` with the same R_kl: A_kl / A_lk is the ratio
of Mantel and Haenszel, with documents as strata, and estimates examination_k / examination_l. Agarwal et al. (2019)
call such documents interventional sets and weigh all documents alike; the weights here count a document by the
information that it carries. All ranks are fitted to all ratios at once:

    maximise  sum over k, l of A_kl log(w_k / (w_k + w_l)),

which has one maximum (it is concave in log w), and whose equations have expectation 0 at the truth however few times
each document was seen.

**The position-based model**, fitted by expectation-maximisation. ``P(click) = examination_k x relevance(query,
document)``, both probabilities. Given the current values, a click says that the document was looked at and is relevant;
without a click it was looked at with probability ``e (1 - r) / (1 - e r)`` and is relevant with probability ``r (1 - e)
/ (1 - e r)``. The new values are the means of these, per rank and per document (Wang et al. 2018; the model is that of
Richardson et al. 2007 and Craswell et al. 2008).

The log-likelihood ``sum of clicks (log e + log r) + (shown - clicks) log(1 - e r)`` is concave in (log e, log r), as
``log(1 - exp(x))`` is concave in x: there is one maximum but for a common factor, and no need for several starts.
Documents seen at one rank only say nothing about ranks and are left out, as are those never clicked. As
expectation-maximisation slows down near the maximum, each few of its steps are followed by one of Newton's, which is
used only if it raises the likelihood.

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


def rates(cells: Cells, reference: int) -> Floats:
    """Clicks over showings of each rank, relative to the reference rank (counted from 0).

    ``w_k = (sum of clicks at k / showings at k) / (the same at the reference)``. Where documents were put at ranks at
    random, all ranks have the same relevance on average, and w_k is examination_k / examination_reference (Joachims,
    Swaminathan and Schnabel 2017, section 5.1). Where they were not, relevance is mixed in.
    """
    return _relative(cells.by_rank(cells.clicks), cells.by_rank(cells.shown), reference)


def rate_replicates(cells: Cells, reference: int, resamples: int, rng: np.random.Generator) -> Floats:
    """The rates of bootstrap replicates, ``[replicates, ranks]``; NaN for a rank that a replicate did not draw."""
    ranks = cells.ranks
    sums = by_query(
        np.tile(cells.query, 2),
        np.concatenate([cells.rank, cells.rank + ranks]),
        np.concatenate([cells.clicks, cells.shown]),
        (cells.queries, 2 * ranks),
    )
    return np.concatenate(
        [_relative(some[:, :ranks], some[:, ranks:], reference) for some in resampled(sums, resamples, rng)]
    )


def _relative(clicks: Floats, shown: Floats, reference: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = clicks / shown
        return rate / rate[..., reference, None]


_PAIR_STEPS = 100
_PAIR_NEAR = 1e-12
_PAIR_LONGEST = 1.0
_PAIR_LOWEST = 40.0


def harvest(cells: Cells) -> Floats:
    """A_kl of all queries together, ``[ranks, ranks]``."""
    out = np.zeros((cells.ranks, cells.ranks))
    for upper, lower in cells.partners():
        for one, other in ((upper, lower), (lower, upper)):
            np.add.at(out, (cells.rank[one], cells.rank[other]), _counted(cells, one, other))
    return out


def pair_weights(ratios: Floats, reference: int, start: Floats | None = None) -> Floats:
    """Weights relative to the reference from A_kl, ``[.., ranks, ranks]``, by Newton's method on log w.

    ``start``: weights near the solution, where some are known.
    """
    both = ratios + np.swapaxes(ratios, -1, -2)
    won = ratios.sum(-1)
    log = np.zeros(won.shape) if start is None else np.broadcast_to(np.log(start), won.shape)
    ranks = np.arange(won.shape[-1])
    ridge = 1e-12 * np.maximum(both.sum((-1, -2)), 1e-300)[..., None]
    for _ in range(_PAIR_STEPS):
        share = 1.0 / (1.0 + np.exp(log[..., None, :] - log[..., :, None]))  # w_k / (w_k + w_l)
        slope = won - (both * share).sum(-1)
        bend = both * share * (1.0 - share)
        matrix = -bend
        matrix[..., ranks, ranks] += bend.sum(-1) + ridge
        matrix[..., reference, :] = 0.0
        matrix[..., :, reference] = 0.0
        matrix[..., reference, reference] = 1.0
        slope[..., reference] = 0.0
        step = np.linalg.solve(matrix, slope[..., None])[..., 0]
        step /= np.maximum(np.abs(step).max(-1, keepdims=True) / _PAIR_LONGEST, 1.0)
        log = np.clip(log + step, -_PAIR_LOWEST, _PAIR_LOWEST)
        if np.abs(step).max(initial=0.0) < _PAIR_NEAR:
            break
    return np.exp(log)


def pair_replicates(cells: Cells, reference: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Weights of bootstrap replicates, ``[replicates, ranks]``; NaN for a rank that has no partner in a replicate."""
    ranks = cells.ranks
    shape = (cells.queries, ranks * ranks)
    sums = by_query(cells.query[:0], cells.rank[:0], cells.shown[:0], shape)
    for upper, lower in cells.partners():
        one, other = np.concatenate([upper, lower]), np.concatenate([lower, upper])
        column = cells.rank[one] * ranks + cells.rank[other]
        sums = sums + by_query(cells.query[one], column, _counted(cells, one, other), shape)
    start = pair_weights(np.asarray(sums.sum(axis=0)).reshape(ranks, ranks), reference)
    replicates = []
    for some in resampled(sums, resamples, rng):
        ratios = some.reshape(-1, ranks, ranks)
        met = (ratios + np.swapaxes(ratios, -1, -2)).sum(-1) > 0
        replicates.append(np.where(met & met[:, reference, None], pair_weights(ratios, reference, start), np.nan))
    return np.concatenate(replicates)


def _counted(cells: Cells, one: Integers, other: Integers) -> Floats:
    return cells.clicks[one] * cells.shown[other] / (cells.shown[one] + cells.shown[other])


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


def fit_model(cells: Cells, *, rounds: int = _ROUNDS, near: float = _NEAR) -> Fit:
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
    replicates = []
    for some in resampled(sums, resamples, rng):
        matrix = some[:, ranks:].reshape(-1, ranks, ranks)
        met = matrix[:, at, at] > 0
        new = log + _solved(matrix, some[:, :ranks] - whole, pinned)
        replicates.append(np.where(met & met[:, reference, None], np.exp(new - new[:, reference, None]), np.nan))
    return np.concatenate(replicates)
