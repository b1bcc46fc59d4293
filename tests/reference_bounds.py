"""Bounds of expected exposure by listing rankings: every order of the candidates' grades, or of their groups.

Plain and slow, and without lightmeter: what :mod:`tests.reference` is for the values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import nnls
from tests import reference
from tests.reference import World

Label = Any


def orders(counts: Counter[Label], length: int) -> Iterator[list[Label]]:
    """Every order of ``length`` labels out of a multiset."""
    if length == 0:
        yield []
        return
    for label in sorted(counts, key=repr):
        if counts[label]:
            counts[label] -= 1
            for rest in orders(counts, length - 1):
                yield [label, *rest]
            counts[label] += 1


def number_of_orders(counts: Counter[Label]) -> int:
    out = math.factorial(counts.total())
    for n in counts.values():
        out //= math.factorial(n)
    return out


def least_square(points: list[list[float]]) -> float:
    """Squared distance of the convex hull of points from 0: min ||P'w||^2 + (sum w - 1)^2 over w >= 0, rescaled."""
    rows = np.unique(np.array(points).round(14), axis=0)
    system = np.vstack([rows.T, np.ones(len(rows))])
    weight, _ = nnls(system, np.append(np.zeros(rows.shape[1]), 1.0))
    nearest = weight @ rows / weight.sum()
    return float(nearest @ nearest)


def last_seen(user: Any, cutoff: int | None) -> float:
    """The last rank with a view."""
    name = type(user).__name__
    last = user.k if name == "TopK" else len(user.weights) if name == "Attention" else math.inf
    return min(last, math.inf if cutoff is None else cutoff)


def endless_square(user: Any, cutoff: int | None) -> float:
    """``sum V_k^2`` down an endless list of documents of grade 0; a sum of many terms where it has no end."""
    end = min(last_seen(user, cutoff), 3000)
    if type(user).__name__ == "Inverse" and math.isinf(last_seen(user, cutoff)):
        return math.pi**2 / 6
    return math.fsum(v * v for v in reference.views(user, [0.0] * int(end), None, 1.0))


def limits(world: World, m: Any, query: str) -> tuple[float, float] | None:
    """Lowest and highest value of a normalised measure's plain form; None where there are too many rankings to list."""
    plain, user, cutoff = type(m).__name__[1:], m.user, m.cutoff
    docs = reference.candidates(world, query)
    gains = {d: world.gain(query, d) for d in docs}
    if m.by is not None:
        return group_limits(world, m, query, docs, gains)
    top, pool = world.max_grade, gains
    if not m.target.complete:
        pool = {d: g for d, g in gains.items() if g > 0}
        if plain == "EED":
            return 0.0, endless_square(user, cutoff)
    target = {gains[d]: x for d, x in reference.ideal(world, user, pool, cutoff).items()}
    counts = Counter(pool.values())
    norm = sum(n * target[g] ** 2 for g, n in counts.items())
    if not m.target.complete:
        if plain == "EEL":
            return 0.0, endless_square(user, cutoff) + norm
        # documents of grade 0 can stand between the relevant ones, which matters where views rise with the rank
        counts[0.0] = len(user.weights) if type(user).__name__ == "Attention" else 0
        target[0.0] = 0.0
    if number_of_orders(counts) > 6000:
        return None
    squares, dots, losses, means = [], [], [], []
    for order in orders(counts.copy(), counts.total()):
        seen = reference.views(user, order, cutoff, top)
        squares.append(math.fsum(v * v for v in seen))
        dots.append(math.fsum(v * target[g] for v, g in zip(seen, order, strict=True)))
        losses.append(squares[-1] - 2 * dots[-1] + norm)
        share = dict.fromkeys(counts, 0.0)
        for v, g in zip(seen, order, strict=True):
            share[g] += v
        means.append([share[g] / math.sqrt(n) for g, n in counts.items() if n])
    if plain == "EER":
        return (min(dots) if m.target.complete else 0.0), max(dots)
    # the mean over documents of one grade is a policy's, and the policy that is nearest to 0 gives them alike
    return (0.0, max(losses)) if plain == "EEL" else (least_square(means), max(squares))


def group_limits(
    world: World, m: Any, query: str, docs: list[str], gains: dict[str, float]
) -> tuple[float, float] | None:
    """The same for EED of groups: hard membership, and users who know the rank only."""
    labels: Counter[Label] = Counter()
    for d in docs:
        of = world.members[m.by].get(query, d)
        if of is None:
            of = {("own", d): 1.0} if world.unknown == "distinct" else {None: 1.0}
        counted = m.docs == "all" or gains[d] > 0
        labels[next(iter(of)) if counted else None] += 1
    if not m.target.complete:
        labels[None] = len(m.user.weights) if type(m.user).__name__ == "Attention" else 0
    if number_of_orders(labels) > 6000:
        return None
    groups = [label for label in labels if label is not None and labels[label]]
    points = []
    for order in orders(labels.copy(), labels.total()):
        seen = reference.views(m.user, [0.0] * len(order), m.cutoff, 1.0)
        points.append([math.fsum(v for v, o in zip(seen, order, strict=True) if o == g) for g in groups])
    most = max((math.fsum(x * x for x in p) for p in points), default=0.0)
    return (least_square(points) if m.target.complete and groups else 0.0), most


def normalised(world: World, m: Any, run: str, query: str) -> tuple[float, float | None] | None:
    """A normalised value with its standard error; None where the bounds are not listed here."""
    value, error = reference.expected(world, m, run, query, type(m).__name__[1:])
    if math.isnan(value):
        return value, error
    docs = reference.candidates(world, query)
    shortest = min(len(order) for weight, order in world.draws(run, query) if weight > 0)
    if m.target.complete and shortest < min(len(docs), last_seen(m.user, m.cutoff)):
        return math.nan, None
    if m.by is not None and world.unknown == "uniform":
        counted = [d for d in docs if m.docs == "all" or world.gain(query, d) > 0]
        if any(world.members[m.by].get(query, d) is None for d in counted):
            return math.nan, None
    ends = limits(world, m, query)
    if ends is None:
        return None
    low, high = ends
    if high - low <= 1e-9 * max(high, 1e-300):
        return math.nan, None
    return (value - low) / (high - low), None if error is None else error / (high - low)
