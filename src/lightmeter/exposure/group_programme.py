"""The quadratic programme behind the frontier of groups, over a few rankings at a time.

Of a ranking k only ``(xi_k, EER_k)`` counts. The solver finds weights of the rankings known so far; the equations of
those it uses give them, and the dual of the floor, to the last digits; the duals price the ranking that joins next.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import MissingExtraError
from lightmeter.exposure.expohedron import ranked_views

ROUNDS = 2000
SECONDS = 2.0  # a programme; what is not solved by then is left to the equations
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Point:
    """Exposure of documents, and the rankings and probabilities that give it."""

    exposure: Floats
    rankings: Integers
    probabilities: Floats


class Programme:
    """The programme of one query; rankings found for one floor serve the next.

    Parameters
    ----------
    member, target
        ``[n, groups]`` and ``[n]``: memberships and target exposure of the documents.
    view
        ``[ranks]``.
    goal
        ``[groups]``: the exposure that each group should have.
    """

    def __init__(self, member: Floats, target: Floats, view: Floats, goal: Floats) -> None:
        self.member, self.target, self.goal = member, target, goal
        self.level = np.round(target / max(float(target.max(initial=0.0)), 1e-300), 12)  # alike but for rounding
        self.solver = quiet_solver()
        self.n = len(target)
        padded = np.append(view, np.zeros(self.n))[: self.n]
        self.place = np.argsort(-padded, kind="stable")  # ranks by falling view
        self.seen = ranked_views(view, np.array([self.n]), self.n)[0]
        self.orders: list[Integers] = []
        self.known: dict[bytes, int] = {}
        self.exposures = np.empty((0, self.n))
        self._number(np.argsort(-target, kind="stable"))
        self.most = float(self.exposures[0] @ target)

    def least(self, share: float) -> Point:
        """The policy with the least disparity of those with that share of the highest EER."""
        # only rankings by falling target have all of it: they are then the only ones, and there is no floor
        oracle = share >= 1.0 - TINY
        floor = None if oracle else share * self.most
        allowed = [0]
        if not oracle:
            allowed = list(range(len(self.orders)))
        for _ in range(ROUNDS):
            points = self.exposures[allowed]
            xi, eer = points @ self.member, points @ self.target
            weight, price = _exactly(xi, eer, self.goal, floor, _solved(self.solver, xi, eer, self.goal, floor))
            worth = price * self.target - 2.0 * self.member @ (weight @ xi - self.goal)
            order = np.lexsort((-worth, -self.level)) if oracle else np.argsort(-worth, kind="stable")
            gain = float(worth[order] @ self.seen) - float(weight @ points @ worth)
            number = self._number(order)
            if gain <= TINY * (1.0 + float(np.abs(worth) @ self.seen)) or number in allowed:
                break
            allowed.append(number)
        weight = _fewest(np.column_stack([xi, eer]), weight)
        used = np.flatnonzero(weight)
        rankings = np.empty((len(used), self.n), dtype=np.int64)
        for ranking, at in zip(rankings, used.tolist(), strict=True):
            ranking[self.place] = self.orders[allowed[at]]
        return Point(weight[used] @ points[used], rankings, weight[used])

    def _number(self, order: Integers) -> int:
        """The number of a ranking, which joins if it is new."""
        key = order.tobytes()
        if key not in self.known:
            self.known[key] = len(self.orders)
            self.orders.append(order)
            exposure = np.empty((1, self.n))
            exposure[0, order] = self.seen
            self.exposures = np.concatenate([self.exposures, exposure])
        return self.known[key]


def quiet_solver() -> Any:
    """A solver that says nothing."""
    try:
        import highspy
    except ImportError:
        raise MissingExtraError("highspy", "fair", "the frontier of groups") from None
    solver: Any = _without_banner(highspy.Highs)
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", SECONDS)
    return solver


def _without_banner(make: Callable[[], Any]) -> Any:
    """What ``make`` makes; the first solver of a process prints its version to standard output from C."""
    try:
        output, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard output
        return make()
    try:
        os.dup2(nowhere, 1)
        return make()
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.close(nowhere)


def _solved(solver: Any, xi: Floats, eer: Floats, goal: Floats, floor: float | None) -> Floats:
    """Weights w by the solver: with ``y = sum_k w_k xi_k - c``, minimise ``y.y``."""
    import highspy

    (many, groups), endless = xi.shape, highspy.kHighsInf
    limits = [1.0] if floor is None else [1.0, floor]
    model = highspy.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = many + groups, groups + len(limits)
    lp.col_cost_ = np.zeros(many + groups)
    lp.col_lower_ = np.append(np.zeros(many), np.full(groups, -endless))
    lp.col_upper_ = np.full(many + groups, endless)
    lp.row_lower_ = np.append(goal, limits)
    lp.row_upper_ = np.append(goal, [1.0, endless][: len(limits)])
    rows = np.zeros((groups + len(limits), many + groups))
    rows[:groups, :many] = xi.T
    rows[:groups, many:] = -np.eye(groups)
    rows[groups:, :many] = np.stack([np.ones(many), eer])[: len(limits)]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(len(rows) + 1) * (many + groups)
    lp.a_matrix_.index_ = np.tile(np.arange(many + groups), len(rows))
    lp.a_matrix_.value_ = rows.ravel()
    square = model.hessian_
    square.dim_, square.format_ = many + groups, highspy.HessianFormat.kTriangular
    square.start_ = np.append(np.zeros(many, dtype=np.int64), np.arange(groups + 1))
    square.index_, square.value_ = np.arange(many, many + groups), np.full(groups, 2.0)
    solver.clear()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", SECONDS)
    solver.passModel(model)
    solver.run()
    weight = np.zeros(many)
    weight[int(np.argmax(eer))] = 1.0  # what is known to have enough relevance
    if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        found = np.maximum(np.array(solver.getSolution().col_value)[:many], 0.0)
        found /= found.sum()
        if floor is not None and found @ eer < floor:  # by a little
            short = (floor - found @ eer) / (weight @ eer - found @ eer)
            found += min(short, 1.0) * (weight - found)
        weight = found
    return weight


def _exactly(xi: Floats, eer: Floats, goal: Floats, floor: float | None, start: Floats) -> tuple[Floats, float]:
    """Weights to the last digits, and the dual of the floor, by active sets from the solver's weights on.

    Go to the best mixture of the rankings in use, negative weights allowed; where one would be negative, stop on the
    way and drop it; then let the ranking join that is worth the most.
    """
    used = np.flatnonzero(start > 1e-9)
    weight, price = start[used] / start[used].sum(), 0.0
    for _ in range(10 * len(start) + 100):
        while True:
            aim, price = _equations(xi[used], eer[used], goal, floor)
            low = aim < -TINY
            if not low.any():
                weight = np.maximum(aim, 0.0)
                break
            step = weight[low] / (weight[low] - aim[low])
            weight = np.maximum(weight + step.min() * (aim - weight), 0.0)
            weight[np.flatnonzero(low)[int(np.argmin(step))]] = 0.0
            used, weight = used[weight > 0], weight[weight > 0]
        worth = price * eer - 2.0 * xi @ (weight @ xi[used] - goal)
        gain = worth - weight @ worth[used]
        gain[used] = 0.0
        best = int(np.argmax(gain))
        if gain[best] <= 1e-13 * (1.0 + float(np.abs(worth).max())):
            break
        used, weight = np.append(used, best), np.append(weight, 0.0)
    out = np.zeros(len(start))
    out[used] = weight / weight.sum()
    return out, price


def _equations(xi: Floats, eer: Floats, goal: Floats, floor: float | None) -> tuple[Floats, float]:
    """The least ``||w xi - c||^2`` with ``sum w = 1``, and with ``w.EER = floor`` where it would be less without."""
    many = len(xi)
    for tight in (False, True):
        rows = np.stack([np.ones(many), eer])[: 1 + tight]
        system = np.zeros((many + len(rows),) * 2)
        system[:many, :many] = 2.0 * xi @ xi.T
        system[many:, :many], system[:many, many:] = rows, -rows.T
        aim = np.concatenate([2.0 * xi @ goal, [1.0, floor or 0.0][: 1 + tight]])
        found = np.linalg.lstsq(system, aim, rcond=1e-14)[0]
        if floor is None or tight or found[:many] @ eer >= floor - TINY:
            break
    return found[:many], max(float(found[-1]), 0.0) if tight else 0.0


def _fewest(points: Floats, weight: Floats) -> Floats:
    """Weights of the same mean with at most as many points as coordinates and one more (Caratheodory)."""
    weight = np.where(weight > TINY, weight, 0.0)
    while (used := np.flatnonzero(weight)).size > points.shape[1] + 1:
        # a combination of the points and of ones that is 0: along it the mean stays, until a weight is used up
        still = np.linalg.svd(np.vstack([points[used].T, np.ones(len(used))]))[2][-1]
        still = still if still.max() > 0 else -still
        step = np.where(still > 0, weight[used] / np.where(still > 0, still, 1.0), np.inf)
        weight[used] -= step.min() * still
        weight[used[int(np.argmin(step))]] = 0.0
        weight = np.where(weight > TINY, weight, 0.0)
    return weight / weight.sum()
