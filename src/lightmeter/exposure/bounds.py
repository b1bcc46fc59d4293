"""Exact lowest and highest EED, EER and EEL that any policy can have, from the counts of documents by grade.

*Complete*: the candidates are all there is. Users who know the rank only: EED lies in ``[(sum view)^2/n, sum view^2]``,
EER between the orders by rising and by falling target, EEL in ``[0, the order by rising target]``. Users whose
continuation C belongs to the document: :mod:`lightmeter.exposure.bounds_by_document`.

*Incomplete*: the corpus is unbounded, and the bounds do not depend on what was retrieved: EED in ``[0, sum V_k^2]``,
EER in ``[0, E]``, EEL in ``[0, sum V_k^2 + ||eps*||^2]``, with V the view down a list of documents of grade 0 and E the
largest EER over rankings of the corpus. The lower ends are approached, not reached.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.exposure.bounds_by_document import by_document, extreme_exposure
from lightmeter.exposure.expohedron import ranked_views
from lightmeter.exposure.ideal import level_targets
from lightmeter.exposure.reach import LONGEST, endless, measured_ranks, views
from lightmeter.models.users import User


def bounds(
    measure: str,
    user: User,
    gain: ArrayLike,
    count: ArrayLike,
    zeros: ArrayLike | None = None,
    cutoff: int | None = None,
) -> tuple[Floats, Floats]:
    """The lowest and the highest value of EED, EER or EEL over all policies.

    ``nX = (X - low)/(high - low)``; the target is the ideal: uniform over rankings sorted by grade.

    Parameters
    ----------
    measure
        ``"EED"``, ``"EER"`` or ``"EEL"``.
    user
        The user model.
    gain, count
        ``[queries, levels]``: the distinct grades above 0 from high to low, and how many documents of the query have
        them (0: padding).
    zeros
        ``[queries]``: number of candidates of grade 0 (*complete*); None when the corpus is unbounded (*incomplete*).
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    low, high
        ``[queries]``.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> [v.tolist() for v in bounds("EED", RBP(p=0.5), [[1.0]], [[1]], zeros=[1])]
    [[1.125], [1.25]]
    >>> [v.tolist() for v in bounds("EER", RBP(p=0.5), [[1.0]], [[2]])]
    [[0.0], [1.125]]
    """
    if measure not in ("EED", "EER", "EEL"):
        raise LightmeterError(f"{measure} has no bounds here. Accepted: EED, EER, EEL.")
    grades = np.atleast_2d(np.asarray(gain, dtype=np.float64))
    counts = np.atleast_2d(np.asarray(count, dtype=np.int64))
    grades = np.where(counts > 0, grades, 0.0)
    if (grades[counts > 0] <= 0).any():
        raise LightmeterError(
            "a level has grade 0. Accepted: grades above 0; candidates of grade 0 are counted by zeros."
        )
    if zeros is not None:
        counts = np.column_stack([counts, np.asarray(zeros, dtype=np.int64)])
        grades = np.column_stack([grades, np.zeros(len(grades))])
    target = level_targets(user, grades, counts, cutoff)
    if zeros is None:
        return np.zeros(len(counts)), _incomplete(measure, user, grades, counts, target, cutoff)
    if not user.by_document:
        return _by_rank(measure, user, counts, target, cutoff)
    found = {}
    keys = [row.tobytes() for row in np.column_stack([grades, counts.astype(np.float64)])]
    for q, key in enumerate(keys):
        if key not in found:
            there = counts[q] > 0
            go_on = user.continuation(grades[q, there])
            found[key] = by_document(measure, user, go_on, counts[q, there], target[q, there], cutoff)
    low, high = np.array([found[key] for key in keys]).reshape(-1, 2).T
    return low, high


def _by_rank(measure: str, user: User, count: Integers, target: Floats, cutoff: int | None) -> tuple[Floats, Floats]:
    """Complete, users who know the rank only."""
    order = np.argsort(-target, axis=1, kind="stable")
    count, target = np.take_along_axis(count, order, axis=1), np.take_along_axis(target, order, axis=1)
    n = count.sum(axis=1)
    low, high = np.zeros(len(n)), np.zeros(len(n))
    for m in np.unique(n[n > 0]).tolist():
        q = n == m
        seen = ranked_views(views(user, m, cutoff), np.array([m]), m)[0]
        total, squares = np.append(0.0, np.cumsum(seen)), float(seen @ seen)
        if measure == "EED":
            low[q], high[q] = total[-1] ** 2 / m, squares
            continue
        end = np.cumsum(count[q], axis=1)
        start = end - count[q]
        least = ((total[m - start] - total[m - end]) * target[q]).sum(axis=1)
        if measure == "EER":
            low[q], high[q] = least, ((total[end] - total[start]) * target[q]).sum(axis=1)
        else:
            high[q] = squares + (count[q] * target[q] ** 2).sum(axis=1) - 2.0 * least
    return low, high


def _incomplete(measure: str, user: User, gain: Floats, count: Integers, target: Floats, cutoff: int | None) -> Floats:
    """The highest value where the corpus is unbounded."""
    if measure != "EER":
        norm = (count * target**2).sum(axis=1) if measure == "EEL" else np.zeros(len(count))
        return norm + _squares(user, cutoff)
    high = np.zeros(len(count))
    if user.by_document:
        for q in range(len(count)):
            there = count[q] > 0
            go_on, c, t = user.continuation(gain[q, there]), count[q, there], target[q, there]
            room = int(c.sum() if cutoff is None else min(c.sum(), cutoff))
            high[q] = (c * t) @ extreme_exposure(t, go_on, c, room, 1.0) if room else 0.0
        return high
    order = np.argsort(-target, axis=1, kind="stable")
    count, target = np.take_along_axis(count, order, axis=1), np.take_along_axis(target, order, axis=1)
    end = np.cumsum(count, axis=1)
    n = max(int(end.max(initial=0)), measured_ranks(user))
    total = np.append(0.0, np.cumsum(ranked_views(views(user, n, cutoff), np.array([n]), n)[0]))
    return ((total[end] - total[end - count]) * target).sum(axis=1)


def _squares(user: User, cutoff: int | None) -> float:
    """``sum_k V_k^2`` down a list of documents of grade 0."""
    most = endless(user, cutoff, 2)
    if np.isinf(most):
        raise LightmeterError(
            f"{user} has no highest EED or EEL in an unbounded corpus: the squared views of its ranks sum to no finite "
            f"number that is known. Accepted: a cutoff of at most {LONGEST:,}, such as @20, or complete judgments."
        )
    return most
