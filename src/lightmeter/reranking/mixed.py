"""Linear programmes over policies: the mixture of rankings of most relevance under constraints on exposure.

Relevance and constraints are linear in exposure, so a programme over doubly stochastic matrices is one over mixtures of
rankings: ``max_w sum_r w_r c . e_r`` with ``sum_r w_r F e_r = 0``, where e_r is the exposure of ranking r. There are n!
rankings, of which a few are needed: with prices lambda of the constraints the best ranking to add sorts documents by
``c - lambda . F``, and when it adds nothing the mixture is the best of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.reranking.columns_added import several_constraints
from lightmeter.reranking.sorting import by_falling, exposures

#: relative to the largest relevance: a ranking that would add less is not added
ENOUGH = 1e-10
#: rounds at most; each adds a ranking
ROUNDS = 500
#: rankings less likely than that are left out
THIN = 1e-12


@dataclass(frozen=True)
class Mixture:
    """Policies of many queries.

    Attributes
    ----------
    order
        ``[made, ranks]``: places of the ranking given, -1 in the padding.
    origin, weight
        ``[made]``: the query of each ranking, and its probability.
    exposure
        ``[queries, ranks]``: expected view of each place of the ranking given.
    """

    order: Integers
    origin: Integers
    weight: Floats
    exposure: Floats


def best_mixtures(relevance: Floats, rows: Floats, view: Floats, valid: Booleans) -> Mixture:
    """The most relevant policies under constraints, or the nearest to them where no policy meets them.

    Parameters
    ----------
    relevance
        ``[queries, ranks]``: what each place's exposure is worth.
    rows
        ``[queries, constraints, ranks]``: weights of exposures whose sums are to be 0; all 0 asks nothing.
    view
        ``[queries, ranks]``: view of each rank.
    valid
        ``[queries, ranks]``: which places there are.
    """
    # a measured curve may rise: ranks in the order of their views, put back at the end
    at = np.argsort(-view, axis=1, kind="stable")
    seen, view = view, np.take_along_axis(view, at, axis=1)
    asks = np.abs(rows).max(axis=2, initial=0.0) > 0 if rows.shape[1] else np.zeros(rows.shape[:2], dtype=bool)
    number = asks.sum(axis=1)
    made: list[tuple[Integers, Integers, Floats]] = []  # origin, order, weight
    free = np.flatnonzero(number == 0)
    if len(free):
        made.append((free, by_falling(relevance[free], valid[free]), np.ones(len(free))))
    single = np.flatnonzero(number == 1)
    if len(single):
        row = rows[single, asks[single].argmax(axis=1)]
        which, order, weight = _one_constraint(relevance[single], row, view[single], valid[single])
        made.append((single[which], order, weight))
    several = np.flatnonzero(number > 1)
    if len(several):
        which, order, weight = several_constraints(relevance[several], rows[several], view[several], valid[several])
        made.append((several[which], order, weight))
    origin, order, weight = (np.concatenate([m[i] for m in made]) for i in range(3))
    by_origin = np.argsort(origin, kind="stable")
    origin, order, weight = origin[by_origin], order[by_origin], weight[by_origin]
    ranked = np.full(order.shape, -1, dtype=np.int64)
    np.put_along_axis(ranked, at[origin], np.where(valid[origin], order, -1), axis=1)
    exposure = np.zeros(view.shape)
    which, rank = np.nonzero(ranked >= 0)
    np.add.at(exposure, (origin[which], ranked[which, rank]), weight[which] * seen[origin[which], rank])
    return Mixture(ranked, origin, weight, exposure)


def _one_constraint(c: Floats, f: Floats, view: Floats, valid: Booleans) -> tuple[Integers, Integers, Floats]:
    """One constraint a query, all queries side by side.

    Two rankings, one on each side of the constraint, are replaced by better ones: the price at which both are worth the
    same is that of the best mixture of the two, and a ranking worth more at that price takes the place of the one on
    its side.
    """
    # the most and the least that a policy can have of the constraint, relevant documents first where that is equal
    high, low = by_falling(f, valid, c), by_falling(-f, valid, c)
    e_high, e_low = exposures(high, view), exposures(low, view)

    def dot(a: Floats, b: Floats) -> Floats:
        return np.where(valid, a * b, 0.0).sum(axis=1)

    f_high, f_low, c_high, c_low = dot(f, e_high), dot(f, e_low), dot(c, e_high), dot(c, e_low)
    scale = np.maximum(np.abs(c).max(axis=1, initial=0.0) * view.sum(axis=1), 1e-300)
    tiny = 1e-13 * np.maximum(np.abs(f).max(axis=1) * view.sum(axis=1), 1e-300)
    bracketed = (f_high > tiny) & (f_low < -tiny)
    price = np.zeros(len(c))
    open_ = bracketed.copy()
    for round_ in range(ROUNDS):
        if not open_.any():
            break
        if round_:  # at first the best ranking without a price
            price = np.where(bracketed, (c_high - c_low) / np.where(bracketed, f_high - f_low, 1.0), 0.0)
        row = np.flatnonzero(open_)
        order = by_falling(c[row] - price[row, None] * f[row], valid[row])
        e = exposures(order, view[row])
        c_new = np.where(valid[row], c[row] * e, 0.0).sum(axis=1)
        f_new = np.where(valid[row], f[row] * e, 0.0).sum(axis=1)
        gain = (c_new - price[row] * f_new) - (c_high[row] - price[row] * f_high[row])
        done = (gain <= ENOUGH * scale[row]) & (round_ > 0)
        open_[row[done]] = False
        row, order, c_new, f_new = row[~done], order[~done], c_new[~done], f_new[~done]
        above = f_new > 0
        for mine, best, c_side, f_side in ((above, high, c_high, f_high), (~above, low, c_low, f_low)):
            best[row[mine]], c_side[row[mine]], f_side[row[mine]] = order[mine], c_new[mine], f_new[mine]
    # where no policy can reach the constraint its nearest end is all there is
    weight = np.where(bracketed, -f_low / np.where(bracketed, f_high - f_low, 1.0), (f_high <= tiny) * 1.0)
    both = np.stack([weight, 1.0 - weight], axis=1)
    which, side = np.nonzero(both > THIN)
    return which, np.where(side[:, None] == 0, high[which], low[which]), both[which, side]
