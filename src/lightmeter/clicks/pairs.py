"""Documents seen at two ranks: attention from what was not meant as an experiment.

A document that was shown at ranks k and l has the same relevance at both, so its click rates at the two differ by
attention alone. For each two ranks, over the documents seen at both,

    A_kl = sum over documents of clicks_k shown_l / (shown_k + shown_l)

has the expectation ``examination_k R_kl``, and A_lk ``examination_l R_kl`` with the same R_kl: A_kl / A_lk is the ratio
of Mantel and Haenszel, with documents as strata, and estimates examination_k / examination_l. Agarwal et al. (2019)
call such documents interventional sets and weigh all documents alike; the weights here count a document by what it can
tell. All ranks are fitted to all ratios at once:

    maximise  sum over k, l of A_kl log(w_k / (w_k + w_l)),

which has one maximum (it is concave in log w), and whose equations have expectation 0 at the truth however few times
each document was seen.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.clicks.log import Cells
from lightmeter.statistics.resampling import by_query, resampled

_STEPS = 100
_NEAR = 1e-12
_LONGEST = 1.0
_LOWEST = 40.0


def harvest(cells: Cells) -> Floats:
    """A_kl of all queries together, ``[ranks, ranks]``."""
    out = np.zeros((cells.ranks, cells.ranks))
    for upper, lower in cells.partners():
        for one, other in ((upper, lower), (lower, upper)):
            np.add.at(out, (cells.rank[one], cells.rank[other]), _counted(cells, one, other))
    return out


def fit(ratios: Floats, reference: int, start: Floats | None = None) -> Floats:
    """Weights relative to the reference from A_kl, ``[.., ranks, ranks]``, by Newton's method on log w.

    ``start``: weights near the solution, where some are known.
    """
    both = ratios + np.swapaxes(ratios, -1, -2)
    won = ratios.sum(-1)
    log = np.zeros(won.shape) if start is None else np.broadcast_to(np.log(start), won.shape)
    ranks = np.arange(won.shape[-1])
    ridge = 1e-12 * np.maximum(both.sum((-1, -2)), 1e-300)[..., None]
    for _ in range(_STEPS):
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
        step /= np.maximum(np.abs(step).max(-1, keepdims=True) / _LONGEST, 1.0)
        log = np.clip(log + step, -_LOWEST, _LOWEST)
        if np.abs(step).max(initial=0.0) < _NEAR:
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
    start = fit(np.asarray(sums.sum(axis=0)).reshape(ranks, ranks), reference)
    made = []
    for some in resampled(sums, resamples, rng):
        ratios = some.reshape(-1, ranks, ranks)
        met = (ratios + np.swapaxes(ratios, -1, -2)).sum(-1) > 0
        made.append(np.where(met & met[:, reference, None], fit(ratios, reference, start), np.nan))
    return np.concatenate(made)


def _counted(cells: Cells, one: Integers, other: Integers) -> Floats:
    return cells.clicks[one] * cells.shown[other] / (cells.shown[one] + cells.shown[other])
