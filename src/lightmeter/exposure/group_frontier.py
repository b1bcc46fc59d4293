"""The frontier of groups: the least disparity between groups at each relevance, as a quadratic programme.

Users who know the rank only. With ``xi_a = sum_d G[d,a] eps_d`` the exposure of group a and c_a what it should have,

    ``min sum_a (xi_a - c_a)^2`` over policies with ``EER = sum_d eps_d eps*_d >= floor``.

Policies are mixtures of rankings, and of a ranking only ``(xi, EER)`` counts. So the programme is solved over a few
rankings at a time: its duals say what exposure of each document would be worth, ``lambda eps*_d - 2 sum_a G[d,a]
(xi_a - c_a)``, the ranking by that worth joins, and once the best ranking is worth no more than the mixture, no policy
is better. There are as many rankings as groups and two more in the end, whatever the number of documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.group_programme import Programme
from lightmeter.exposure.ideal import level_targets
from lightmeter.exposure.reach import views
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
