"""Linear programmes over policies: the mixture of rankings of most relevance under constraints on exposure.

Relevance and constraints are linear in exposure, so a programme over doubly stochastic matrices is one over mixtures of
rankings: ``max_w sum_r w_r c . e_r`` with ``sum_r w_r F e_r = 0``, where e_r is the exposure of ranking r. There are n!
rankings, of which a few are needed: with prices lambda of the constraints the best ranking to add sorts documents by
``c - lambda . F``, and when it adds nothing the mixture is the best of all. A single constraint needs no solver;
several are one programme for all queries, by HiGHS, to which rankings are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError

#: relative to the largest relevance: a ranking that would add less is not added
ENOUGH = 1e-10
#: rounds at most, each of which adds a ranking: for one constraint, and for several
ROUNDS, SEVERAL_ROUNDS = 500, 200
#: rankings less likely than that are left out
THIN = 1e-12
#: what a unit of a constraint that is not met costs, the relevance of one document being at most 1
COST = 1e4
#: relative to the relevance there is: what is left between the mixture and its bound
GAP = 1e-9
#: rounds in which what is left does not shrink, after which HiGHS' own precision is all there is
STALE = 10
#: prices from the best so far (0) to those of the programme (1) at which rankings are looked for
STEPS = (1.0, 0.4, 0.1)


@dataclass(frozen=True)
class Mixture:
    """Policies of many queries.

    Attributes
    ----------
    order
        ``[rankings, ranks]``: positions in the ranking given, -1 in the padding.
    origin, weight
        ``[rankings]``: the query of each ranking, and its probability.
    exposure
        ``[queries, ranks]``: expected view of each position of the ranking given.
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
        ``[queries, ranks]``: what the exposure at each position is worth.
    rows
        ``[queries, constraints, ranks]``: weights of exposures whose sums have to be 0; all 0: no constraint.
    view
        ``[queries, ranks]``: view of each rank.
    valid
        ``[queries, ranks]``: which positions have a document.
    """
    # a measured curve may rise: ranks in the order of their views, put back at the end
    at = np.argsort(-view, axis=1, kind="stable")
    seen, view = view, np.take_along_axis(view, at, axis=1)
    active = np.abs(rows).max(axis=2, initial=0.0) > 0 if rows.shape[1] else np.zeros(rows.shape[:2], dtype=bool)
    number = active.sum(axis=1)
    parts: list[tuple[Integers, Integers, Floats]] = []  # origin, order, weight
    free = np.flatnonzero(number == 0)
    if len(free):
        parts.append((free, by_falling(relevance[free], valid[free]), np.ones(len(free))))
    single = np.flatnonzero(number == 1)
    if len(single):
        row = rows[single, active[single].argmax(axis=1)]
        which, order, weight = _one_constraint(relevance[single], row, view[single], valid[single])
        parts.append((single[which], order, weight))
    several = np.flatnonzero(number > 1)
    if len(several):
        which, order, weight = several_constraints(relevance[several], rows[several], view[several], valid[several])
        parts.append((several[which], order, weight))
    origin, order, weight = (np.concatenate([part[i] for part in parts]) for i in range(3))
    by_origin = np.argsort(origin, kind="stable")
    origin, order, weight = origin[by_origin], order[by_origin], weight[by_origin]
    ranked = np.full(order.shape, -1, dtype=np.int64)
    np.put_along_axis(ranked, at[origin], np.where(valid[origin], order, -1), axis=1)
    exposure = np.zeros(view.shape)
    which, rank = np.nonzero(ranked >= 0)
    np.add.at(exposure, (origin[which], ranked[which, rank]), weight[which] * seen[origin[which], rank])
    return Mixture(ranked, origin, weight, exposure)


def _one_constraint(c: Floats, f: Floats, view: Floats, valid: Booleans) -> tuple[Integers, Integers, Floats]:
    """One constraint per query, all queries side by side.

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


def several_constraints(c: Floats, rows: Floats, view: Floats, valid: Booleans) -> tuple[Integers, Integers, Floats]:
    """The most relevant mixtures of rankings whose exposures meet several constraints.

    Parameters
    ----------
    c
        ``[queries, ranks]``: what the exposure at each position is worth.
    rows
        ``[queries, constraints, ranks]``: weights of exposures whose sums have to be 0.
    view
        ``[queries, ranks]``: view of each rank, never rising.
    valid
        ``[queries, ranks]``: which positions have a document.

    Returns
    -------
    origin, order, weight
        The query of each ranking, the positions in it, and its probability.

    Notes
    -----
    The programme of each query has the rankings found so far; the prices of its constraints say by which key documents
    are sorted to find one that improves it. Prices between the best so far and the newest find rankings that are
    needed later, so that fewer rounds do.
    """
    queries, m, _ = rows.shape
    largest = np.maximum(np.abs(c).max(axis=1, initial=0.0), 1e-300)
    c = np.where(valid, c / largest[:, None], 0.0)
    size = np.abs(rows).max(axis=2, keepdims=True)
    rows = np.where(valid[:, None, :], rows / np.where(size > 0, size, 1.0), 0.0)
    total = np.maximum(view.sum(axis=1), 1e-300)
    pool = _Pool(c, rows, view)
    pool.add(np.arange(queries), by_falling(c, valid))
    for i in range(m):
        pool.add(np.arange(queries), by_falling(rows[:, i], valid, c))
        pool.add(np.arange(queries), by_falling(-rows[:, i], valid, c))
    open_ = np.arange(queries)
    best_price, bound = np.zeros((queries, m)), np.full(queries, np.inf)
    least, stale = np.full(queries, np.inf), np.zeros(queries, dtype=np.int64)
    share: dict[int, tuple[Integers, Floats]] = {}
    for _ in range(SEVERAL_ROUNDS):
        mine, weight, worth, price = pool.solve(open_)
        for number, query in enumerate(open_.tolist()):
            share[query] = mine[number], weight[number]
        center = best_price[open_].copy()
        for step in STEPS:
            at = center + step * (price - center)
            key = c[open_] + np.einsum("qm,qmn->qn", at, rows[open_])
            order = by_falling(key, valid[open_])
            reached = (key * exposures(order, view[open_])).sum(axis=1)
            better = reached < bound[open_]
            bound[open_[better]], best_price[open_[better]] = reached[better], at[better]
            pool.add(open_, order)
        left = bound[open_] - worth
        shrinks = left < 0.99 * least[open_]
        least[open_] = np.where(shrinks, left, least[open_])
        stale[open_] = np.where(shrinks, 0, stale[open_] + 1)
        open_ = open_[(left > GAP * total[open_]) & (stale[open_] < STALE)]
        if not len(open_):
            break
    origin, which, weights = [], [], []
    for query, (columns, chance) in sorted(share.items()):
        keep = chance > THIN
        origin.append(np.full(int(keep.sum()), query))
        which.append(columns[keep])
        weights.append(chance[keep] / chance[keep].sum())
    return np.concatenate(origin), pool.orders[np.concatenate(which)], np.concatenate(weights)


class _Pool:
    """Rankings found so far, and the programmes over them."""

    def __init__(self, c: Floats, rows: Floats, view: Floats) -> None:
        self.c, self.rows, self.view = c, rows, view
        self.orders = np.empty((0, c.shape[1]), dtype=np.int64)
        self.query = np.empty(0, dtype=np.int64)
        self.worth, self.imbalance = np.empty(0), np.empty((0, rows.shape[1]))

    def add(self, query: Integers, order: Integers) -> None:
        """A ranking for each of some queries."""
        e = exposures(order, self.view[query])
        self.orders = np.concatenate([self.orders, order])
        self.query = np.concatenate([self.query, query])
        self.worth = np.append(self.worth, (self.c[query] * e).sum(axis=1))
        self.imbalance = np.concatenate([self.imbalance, np.einsum("qmn,qn->qm", self.rows[query], e)])

    def solve(self, open_: Integers) -> tuple[list[Integers], list[Floats], Floats, Floats]:
        """The best mixtures of what was found: columns and weights of each query, their worth, and the constraints'
        prices.

        One programme with a block for each query. Each block has weights of rankings that sum to 1, and for each
        constraint what is lacking on either side, at a cost.
        """
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        q, m = len(open_), self.rows.shape[1]
        number = np.full(len(self.c), -1)
        number[open_] = np.arange(q)
        column = np.flatnonzero(number[self.query] >= 0)
        block = number[self.query[column]]
        k = len(column)
        # rows: q m constraints, then q sums of weights; columns: k rankings, then 2 q m for what is lacking
        at_row = np.concatenate(
            [(block[:, None] * m + np.arange(m)).ravel(), q * m + block, np.tile(np.arange(q * m), 2)]
        )
        at_column = np.concatenate([np.repeat(np.arange(k), m), np.arange(k), k + np.arange(2 * q * m)])
        value = np.concatenate([self.imbalance[column].ravel(), np.ones(k), np.ones(q * m), -np.ones(q * m)])
        found = linprog(
            np.concatenate([-self.worth[column], np.full(2 * q * m, COST)]),
            A_eq=coo_array((value, (at_row, at_column)), shape=(q * m + q, k + 2 * q * m)).tocsc(),
            b_eq=np.concatenate([np.zeros(q * m), np.ones(q)]),
            method="highs-ds",
        )
        if found.x is None:
            raise LightmeterError(f"HiGHS found no solution of the programme of exposures: {found.message}")
        weight = np.maximum(found.x[:k], 0.0)
        lacking = found.x[k:].reshape(2, q, m).sum(axis=(0, 2))
        worth = np.bincount(block, weight * self.worth[column], minlength=q) - COST * lacking
        by_block = np.argsort(block, kind="stable")
        ends = np.cumsum(np.bincount(block, minlength=q))[:-1]
        price = found.eqlin.marginals[: q * m].reshape(q, m)
        return np.split(column[by_block], ends), np.split(weight[by_block], ends), worth, price


def by_falling(key: Floats, valid: Booleans, then: Floats | None = None) -> Integers:
    """Positions by falling key, then by falling second key, equals as they stood; padding last."""
    first = np.where(valid, -key, np.inf)
    if then is None:
        return np.argsort(first, axis=1, kind="stable")
    return np.lexsort((np.where(valid, -then, np.inf), first), axis=1)


def exposures(order: Integers, view: Floats) -> Floats:
    """``[.., ranks]``: the view of each position in rankings."""
    out = np.empty(order.shape)
    np.put_along_axis(out, order, view, axis=-1)
    return out
