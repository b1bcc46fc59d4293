"""Several constraints on exposure: one linear programme for all queries, by HiGHS, to which rankings are added."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.reranking.sorting import by_falling, exposures

#: what a unit of a constraint that is not met costs, the relevance of one place being at most 1
COST = 1e4
#: relative to the relevance there is: what is left between the mixture and its bound
GAP = 1e-9
ROUNDS = 200
#: rounds in which what is left does not shrink, after which HiGHS' own precision is all there is
STALE = 10
#: rankings less likely than that are left out
THIN = 1e-12
#: prices from the best so far (0) to those of the programme (1) at which rankings are looked for
STEPS = (1.0, 0.4, 0.1)


def several_constraints(c: Floats, rows: Floats, view: Floats, valid: Booleans) -> tuple[Integers, Integers, Floats]:
    """The most relevant mixtures of rankings whose exposures meet several constraints.

    Parameters
    ----------
    c
        ``[queries, ranks]``: what the exposure of each place is worth.
    rows
        ``[queries, constraints, ranks]``: weights of exposures whose sums are to be 0.
    view
        ``[queries, ranks]``: view of each rank, never rising.
    valid
        ``[queries, ranks]``: which places there are.

    Returns
    -------
    origin, order, weight
        The query of each ranking, the places in it, and its probability.

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
    for _ in range(ROUNDS):
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
        self.worth, self.apart = np.empty(0), np.empty((0, rows.shape[1]))

    def add(self, query: Integers, order: Integers) -> None:
        """A ranking for each of some queries."""
        e = exposures(order, self.view[query])
        self.orders = np.concatenate([self.orders, order])
        self.query = np.concatenate([self.query, query])
        self.worth = np.append(self.worth, (self.c[query] * e).sum(axis=1))
        self.apart = np.concatenate([self.apart, np.einsum("qmn,qn->qm", self.rows[query], e)])

    def solve(self, open_: Integers) -> tuple[list[Integers], list[Floats], Floats, Floats]:
        """The best mixtures of what was found: columns and weights a query, their worth, and the constraints' prices.

        One programme with a block a query. Each block: weights of rankings that sum to 1, and for each constraint what
        it lacks on either side, at a cost.
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
        value = np.concatenate([self.apart[column].ravel(), np.ones(k), np.ones(q * m), -np.ones(q * m)])
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
