"""The frontier of groups: the least disparity between groups at each relevance, as a quadratic programme.

Users who know the rank only. With ``xi_a = sum_d G[d,a] eps_d`` the exposure of group a and c_a what it should have,

    ``min sum_a (xi_a - c_a)^2`` over policies with ``EER = sum_d eps_d eps*_d >= floor``.

Policies are mixtures of rankings, and of a ranking only ``(xi, EER)`` counts. So the programme is solved over a few
rankings at a time: its duals say what exposure of each document would be worth, ``lambda eps*_d - 2 sum_a G[d,a]
(xi_a - c_a)``, the ranking by that worth joins, and once the best ranking is worth no more than the mixture, no policy
is better. There are as many rankings as groups and two more in the end, whatever the number of documents.

The quadratic programme behind the frontier of groups, over a few rankings at a time.

Of a ranking k only ``(xi_k, EER_k)`` counts. The solver finds weights of the rankings known so far; the equations of
those it uses give them, and the dual of the floor, to the last digits; the duals price the ranking that joins next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError, MissingExtraError, TermError
from lightmeter.exposure.expohedron import ranked_views
from lightmeter.exposure.ideal import level_targets, views
from lightmeter.models.users import User, user_of

GOALS = ("parity", "merit", "least")


@dataclass(frozen=True, eq=False)
class GroupFrontier:
    """Points of the frontier of groups of one query.

    Attributes
    ----------
    names
        The groups.
    goal
        ``[groups]``: the exposure that each should have.
    relevance, disparity
        ``[points]``: EER and ``sum_a (xi_a - goal_a)^2``.
    group_exposure
        ``[points, groups]``.
    exposure
        ``[points, n]``: of the documents.
    rankings, probabilities
        The policy of each point: ``[m, n]`` positions of documents, best first, and ``[m]``; m is at most the number
        of groups plus 2.
    """

    names: tuple[Any, ...]
    goal: Floats
    relevance: Floats
    disparity: Floats
    group_exposure: Floats
    exposure: Floats
    rankings: tuple[Integers, ...]
    probabilities: tuple[Floats, ...]


def group_frontier(
    grades: ArrayLike,
    groups: Sequence[Any] | ArrayLike,
    user: User | str,
    *,
    goal: Literal["parity", "merit", "least"] | ArrayLike = "parity",
    relevance: ArrayLike = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
    complete: bool = False,
    cutoff: int | None = None,
) -> GroupFrontier:
    """The least disparity between groups that leaves a given relevance, for one query.

    ``min sum_a (xi_a - c_a)^2`` over policies with ``EER >= share x the highest EER of these documents``. Needs the
    extra ``fair`` (highspy).

    Parameters
    ----------
    grades
        ``[n]``, 0 or more.
    groups
        ``[n]`` labels, None for no group; or ``[n, groups]`` memberships, 0 or more.
    user
        A user who knows the rank only, such as ``RBP(p=0.5)``, or its notation.
    goal
        c: ``'parity'``, the exposure of all shared in proportion to the groups' sizes; ``'merit'``, in proportion to
        the sums of their grades; ``'least'``, 0, which gives the least group EED of all documents (demographic parity
        in Diaz et al. 2020); or ``[groups]`` numbers.
    relevance
        Shares of the highest EER that must be left, from 0 to 1.
    complete
        Whether the target of EER is ``Ideal(complete=True)``.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    GroupFrontier
        One point for each share.

    Raises
    ------
    MissingExtraError
        Without highspy.
    LightmeterError
        Where something does not fit together.

    Examples
    --------
    Two relevant documents of one group and two others of another: some relevance is left at parity.

    >>> import lightmeter as lm
    >>> line = lm.group_frontier([1, 1, 0, 0], ["x", "x", "y", "y"], lm.RBP(p=0.5), relevance=[0.0, 1.0])
    >>> line.disparity.round(6).tolist(), line.group_exposure.round(6).tolist()
    ([0.0, 0.632812], [[0.9375, 0.9375], [1.5, 0.375]])
    """
    reader = user_of(user)
    if reader.by_document:
        raise TermError(
            f"the frontier of groups is for users who know the rank only, and {reader} reads the documents. Accepted: "
            "such as RBP(p=0.5) or DCG."
        )
    grade = np.asarray(grades, dtype=np.float64)
    if grade.ndim != 1 or not len(grade) or not np.isfinite(grade).all() or (grade < 0).any():
        raise LightmeterError("the grades are no list of numbers. Accepted: [n] finite numbers of 0 or more.")
    member, names = _members(groups, len(grade))
    shares = np.atleast_1d(np.asarray(relevance, dtype=np.float64))
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise LightmeterError("relevance holds a number that is no share. Accepted: numbers from 0 to 1.")
    view = views(reader, len(grade), cutoff)
    target = _targets(reader, grade, complete, cutoff)
    programme = Programme(member, target, view, _goal(goal, member, grade, float(view.sum())))
    points = [programme.least(share) for share in shares.tolist()]
    exposure = np.array([p.exposure for p in points]).reshape(len(points), len(grade))
    xi = exposure @ member
    return GroupFrontier(
        names,
        programme.goal,
        exposure @ target,
        ((xi - programme.goal) ** 2).sum(axis=1),
        xi,
        exposure,
        tuple(p.rankings for p in points),
        tuple(p.probabilities for p in points),
    )


def _members(groups: Any, n: int) -> tuple[Floats, tuple[Any, ...]]:
    """Memberships ``[n, groups]`` and the groups' names."""
    given = np.asarray(groups, dtype=object)
    if given.ndim == 2:
        member = np.asarray(groups, dtype=np.float64)
        if len(member) != n or not np.isfinite(member).all() or (member < 0).any():
            raise LightmeterError(f"the memberships are no [{n}, groups] finite numbers of 0 or more.")
        return member, tuple(range(member.shape[1]))
    if given.shape != (n,):
        raise LightmeterError(
            f"there are {n} grades, and groups of the shape {given.shape}. Accepted: one label a document, or "
            "[n, groups] memberships."
        )
    names = tuple(dict.fromkeys(label for label in given.tolist() if label is not None))
    if not names:
        raise LightmeterError("no document has a group. Accepted: at least one label that is not None.")
    column = {name: i for i, name in enumerate(names)}
    member = np.zeros((n, len(names)))
    for row, label in enumerate(given.tolist()):
        if label is not None:
            member[row, column[label]] = 1.0
    return member, names


def _targets(user: User, grade: Floats, complete: bool, cutoff: int | None) -> Floats:
    """Target exposure of each document."""
    level, at, count = np.unique(-grade, return_inverse=True, return_counts=True)
    target = level_targets(user, -level[None], count[None], cutoff)[0][at]
    return target if complete else np.where(grade > 0, target, 0.0)


def _goal(goal: Any, member: Floats, grade: Floats, total: float) -> Floats:
    """The exposure that each group should have."""
    if not isinstance(goal, str):
        wanted = np.asarray(goal, dtype=np.float64)
        if wanted.shape != (member.shape[1],) or not np.isfinite(wanted).all():
            raise LightmeterError(f"the goal has the shape {wanted.shape}. Accepted: {member.shape[1]} finite numbers.")
        return wanted
    if goal not in GOALS:
        raise LightmeterError(f"goal is {goal!r}. Accepted: {', '.join(GOALS)}, or a number for each group.")
    if goal == "least":
        return np.zeros(member.shape[1])
    merit = np.ones(len(grade)) if goal == "parity" else grade
    if not merit.any():
        raise LightmeterError("goal='merit' needs a document with a grade above 0. Accepted: 'parity' or 'least'.")
    return total * (merit @ member) / merit.sum()


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
