"""Exact lowest and highest EED, EER and EEL that any policy can have, from the counts of documents by grade.

*Complete*: the candidates are all there is. Users who know the rank only: EED lies in ``[(sum view)^2/n, sum view^2]``,
EER between the orders by rising and by falling target, EEL in ``[0, the order by rising target]``. Users whose
continuation C belongs to the document: :mod:`lightmeter.exposure.bounds`.

*Incomplete*: the corpus is unbounded, and the bounds do not depend on what was retrieved: EED in ``[0, sum V_k^2]``,
EER in ``[0, E]``, EEL in ``[0, sum V_k^2 + ||eps*||^2]``, with V the view down a list of documents of grade 0 and E the
largest EER over rankings of the corpus. The lower ends are approached, not reached.

Exact bounds where all candidates are ranked and users read the documents: C belongs to the document.

Rankings are the vertices of a polytope on which linear functions ``sum w_d eps_d`` are largest in the order of falling
``w_d/(1 - C_d)``; with a cutoff a dynamic programme first chooses how many documents of each grade are seen. The least
EED is that polytope's point nearest to 0 (Wolfe's algorithm), the largest EEL a dynamic programme over counts by grade.

Exact lowest and highest EED of groups, for users who know the rank only and groups without common documents.

Highest: the groups one after the other in the best order, all other documents below. Lowest: with f(A) the sum of the
first n_A of the last R views (R documents in groups), the groups of the set A with the least ``f(A)/|A|`` get that
exposure each, and so on with the rest and the views after those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.exposure.expohedron import ranked_views
from lightmeter.exposure.ideal import level_targets, views
from lightmeter.models.users import LONGEST, User


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
    n = int(end.max(initial=0)) + user.last_rise
    total = np.append(0.0, np.cumsum(ranked_views(views(user, n, cutoff), np.array([n]), n)[0]))
    return ((total[end] - total[end - count]) * target).sum(axis=1)


def _squares(user: User, cutoff: int | None) -> float:
    """``sum_k V_k^2`` down a list of documents of grade 0."""
    most = user.total(cutoff, 2)
    if np.isinf(most):
        raise LightmeterError(
            f"{user} has no highest EED or EEL in an unbounded corpus: the squared views of its ranks sum to no finite "
            f"number that is known. Accepted: a cutoff of at most {LONGEST:,}, such as @20, or complete judgments."
        )
    return most


STATES = 2_000_000  # of the dynamic programme for the largest EEL, a query


def by_document(
    measure: str, user: User, go_on: Floats, count: Integers, target: Floats, cutoff: int | None
) -> tuple[float, float]:
    """Complete, one query, users whose continuation belongs to the document."""
    n = int(count.sum())
    room = n if cutoff is None else min(n, cutoff)
    if room == 0:
        return 0.0, 0.0
    if measure == "EER":
        low, high = (
            float((count * target) @ extreme_exposure(target, go_on, count, room, sign)) for sign in (-1.0, 1.0)
        )
        return low, high
    if measure == "EED":
        most = np.repeat(np.sort(go_on)[::-1], count[np.argsort(-go_on)])[: room - 1]
        view = np.append(1.0, np.cumprod(most))
        return _least_squares(go_on, count, room), float(view @ view)
    return 0.0, float(count @ target**2) + _most_loss(user, go_on, count, target, room)


def _geometric(c: float, k: Floats) -> Floats:
    """``1 + c + .. + c^(k-1)``."""
    if c == 1:
        return k
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(k > 0, -np.expm1(k * np.log(c)) / (1.0 - c), 0.0)


def extreme_exposure(weight: Floats, go_on: Floats, count: Integers, room: int, sign: float) -> Floats:
    """Mean exposure by level of the ranking with the largest (sign 1) or least (-1) ``sum_d weight_d eps_d``.

    With all documents seen, levels follow each other by falling (rising) ``weight/(1 - C)``. With room for fewer, so do
    those seen, and ``F_l(b) = max_k weight (1 - C^k)/(1 - C) + C^k F_{l+1}(b - k)`` says how many of each level.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(weight == 0, 0.0, weight / (1.0 - go_on))
    order = np.argsort(-sign * ratio, kind="stable")
    taken = count[order].copy()
    if room < count.sum():
        best = np.full(room + 1, -np.inf)
        best[0] = 0.0
        choices = []
        for level in order[::-1]:
            k = np.arange(min(int(count[level]), room) + 1.0)
            gained, passed = sign * weight[level] * _geometric(go_on[level], k), go_on[level] ** k
            left = np.arange(room + 1)[:, None] - k.astype(np.int64)
            after = np.where(left >= 0, best[np.maximum(left, 0)], -np.inf)
            value = np.where(np.isinf(after), -np.inf, gained + passed * np.where(np.isinf(after), 0.0, after))
            choices.append(value.argmax(axis=1))
            best = value.max(axis=1)
        for i, choice in enumerate(choices[::-1]):
            taken[i] = choice[room]
            room -= int(taken[i])
    out = np.zeros(len(count))
    view = 1.0
    for level, k in zip(order, taken.tolist(), strict=True):
        out[level] = view * float(_geometric(go_on[level], np.array(float(k)))) / count[level]
        view *= go_on[level] ** k
    return out


def _least_squares(go_on: Floats, count: Integers, room: int) -> float:
    """Least ``sum eps^2``: documents of equal C share alike, which leaves a polytope over the values of C.

    Its point nearest to 0, by Wolfe's algorithm: add the corner that is lowest in the direction of the point, go to the
    nearest point of the corners' affine hull, drop those that would count negatively.
    """
    go_on, level = np.unique(go_on, return_inverse=True)
    count = np.bincount(level, weights=count).astype(np.int64)
    root = np.sqrt(count)
    x = root * extreme_exposure(np.ones(len(count)), go_on, count, room, -1.0)
    corners, weight = x[None], np.ones(1)
    for _ in range(1000):
        corner = root * extreme_exposure(x / root, go_on, count, room, -1.0)
        if x @ corner >= x @ x * (1.0 - 1e-14):
            break
        corners, weight = np.vstack([corners, corner]), np.append(weight, 0.0)
        while True:
            system = np.ones((len(corners) + 1, len(corners) + 1))
            system[0, 0], system[1:, 1:] = 0.0, corners @ corners.T
            aim = np.linalg.lstsq(system, np.append(1.0, np.zeros(len(corners))), rcond=None)[0][1:]
            if (aim > 1e-12).all():
                weight = aim
                break
            down = aim <= 1e-12
            step = float((weight[down] / np.maximum(weight[down] - aim[down], 1e-300)).min())
            weight = weight + min(step, 1.0) * (aim - weight)
            keep = weight > 1e-12
            corners, weight = corners[keep], weight[keep] / weight[keep].sum()
        moved = weight @ corners
        if moved @ moved >= x @ x:
            break
        x = moved
    return float(x @ x)


def _most_loss(user: User, go_on: Floats, count: Integers, target: Floats, room: int) -> float:
    """Largest ``sum eps^2 - 2 eps eps*`` over rankings, by a dynamic programme over how many of each level stand above.

    Without a cutoff, documents with C = 1 leave the view as it is and stand all first or all last.
    """
    out = 0.0
    if room == count.sum():
        still = go_on == 1
        end = float(np.prod(go_on**count))
        c, t = count[still], target[still]
        out = float(np.maximum(c * (1.0 - 2.0 * t), c * (end * end - 2.0 * end * t)).sum())
        go_on, count, target = go_on[~still], count[~still], target[~still]
        room = int(count.sum())
    if room == 0:
        return out
    # documents of equal C stand by rising target
    classes = [(c, np.sort(np.repeat(target[go_on == c], count[go_on == c]))[:room]) for c in np.unique(go_on)]
    *others, (c, last) = sorted(classes, key=lambda one: len(one[1]))
    states = float(np.prod([len(targets) + 1.0 for _, targets in classes]))
    if states > STATES:
        each = "/".join(str(len(targets)) for _, targets in classes)
        raise LightmeterError(
            f"the highest EEL for {user} and {each} documents by continuation needs a search of {states:.3g} steps. "
            "Accepted: fewer documents or grades, a smaller cutoff, or incomplete judgments."
        )
    run = c ** np.arange(len(last) + 1.0)
    head = np.ones(())
    for c, targets in others:
        head = np.multiply.outer(head, c ** np.arange(len(targets) + 1.0))
    best = np.full((*head.shape, len(run)), -np.inf)
    most = -np.inf
    for above in np.ndindex(head.shape):
        left = room - sum(above)
        if left < 0:
            continue
        entered = np.full(len(run), -np.inf)
        if not any(above):
            entered[0] = 0.0
        for i, k in enumerate(above):
            if k:
                before = (*above[:i], k - 1, *above[i + 1 :])
                view = head[before] * run
                np.maximum(entered, best[before] + view * (view - 2.0 * others[i][1][k - 1]), out=entered)
        view = head[above] * run[:-1]
        sums = np.append(0.0, np.cumsum(view * (view - 2.0 * last)))
        best[above] = sums + np.maximum.accumulate(entered - sums)
        if left < len(run):
            most = max(most, float(best[above][left]))
    return out + most


GROUPS = 12


def group_bounds(
    user: User, size: ArrayLike, others: ArrayLike | None = None, cutoff: int | None = None
) -> tuple[Floats, Floats]:
    """The lowest and the highest EED of groups, ``sum_a (sum_{d in a} eps_d)^2``, for users who know the rank only.

    Highest: the groups one after the other in the best order, all other documents below. Lowest: with f(A) the sum of
    the first n_A of the last R views (R documents in groups), give the groups of the set A with the least ``f(A)/|A|``
    that exposure each, and go on with the rest and the views after those.

    Parameters
    ----------
    user
        The user model.
    size
        ``[queries, groups]``: how many documents each group has; a document belongs to at most one.
    others
        ``[queries]``: number of candidates in no group (of grade 0, where only relevant documents count). None: an
        unbounded corpus of them.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    low, high
        ``[queries]``.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> [v.tolist() for v in group_bounds(RBP(p=0.5), [[1, 1]], others=[0])]
    [[1.125], [1.25]]
    """
    if user.by_document:
        raise LightmeterError(f"group exposure has no bounds for {user}. Accepted: users who know the rank only.")
    sizes = np.atleast_2d(np.asarray(size, dtype=np.int64))
    if sizes.shape[1] > GROUPS:
        raise LightmeterError(f"group exposure has no bounds for {sizes.shape[1]} groups. Accepted: at most {GROUPS}.")
    sizes = np.sort(sizes, axis=1)
    inside = sizes.sum(axis=1)
    rest = np.zeros(len(sizes), dtype=np.int64) if others is None else np.asarray(others, dtype=np.int64)
    lengths = inside + user.last_rise if others is None else inside + rest
    width = int(lengths.max(initial=0))
    seen = ranked_views(views(user, width, cutoff), lengths, width)
    total = np.concatenate([np.zeros((len(sizes), 1)), np.cumsum(seen, axis=1)], axis=1)
    rows = np.arange(len(sizes))
    best, above = [np.zeros(len(sizes))], [np.zeros(len(sizes), dtype=np.int64)]
    for members in range(1, 1 << sizes.shape[1]):
        inner = [g for g in range(sizes.shape[1]) if members >> g & 1]
        above.append(above[members & (members - 1)] + sizes[:, inner[0]])
        last = [
            (total[rows, above[-1]] - total[rows, above[m]]) ** 2 + best[m] for m in (members ^ 1 << g for g in inner)
        ]
        best.append(np.max(last, axis=0))
    low = np.zeros(len(sizes))
    if others is not None:
        low[:] = [_peeled(s.tolist(), t[r:]) for s, t, r in zip(sizes, total, rest.tolist(), strict=True)]
    return low, best[-1]


def _peeled(sizes: list[int], total: Floats) -> float:
    """Least sum of squares of the exposures of groups by rising size; ``total``: cumulative views."""
    out, at = 0.0, 0
    while sizes:
        up_to = at + np.cumsum(sizes)
        share = (total[up_to] - total[at]) / np.arange(1, len(sizes) + 1)
        many = int(np.argmin(share)) + 1
        out += many * float(share[many - 1]) ** 2
        at, sizes = int(up_to[many - 1]), sizes[many:]
    return out
