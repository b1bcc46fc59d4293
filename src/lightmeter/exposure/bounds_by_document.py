"""Exact bounds where all candidates are ranked and users read the documents: C belongs to the document.

Rankings are the vertices of a polytope on which linear functions ``sum w_d eps_d`` are largest in the order of falling
``w_d/(1 - C_d)``; with a cutoff a dynamic programme first chooses how many documents of each grade are seen. The least
EED is that polytope's point nearest to 0 (Wolfe's algorithm), the largest EEL a dynamic programme over counts by grade.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.models.users import User

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
