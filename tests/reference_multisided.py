"""The reference for joint multisided exposure: full matrices of users by documents, in plain loops."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests import reference as plain
from tests.reference_exposure_groups import mean_exposure


def value(world: Any, m: Any, run: str, weight: dict[str, float]) -> float:
    """A JME measure over queries of some weight; those that are not answered have no exposure."""
    if not any(q in world.runs[run] for q in weight):
        return math.nan
    docs = dict.fromkeys(d for of in world.qrels.values() for d in of)
    for one in world.runs.values():
        for q, rankings in one.items():
            if q in world.qrels:  # what only queries without judgments have is not there
                docs |= dict.fromkeys(d for r in rankings for d, _ in r.docs)
    system, target = {}, {}
    for q in weight:
        draws = world.draws(run, q) if q in world.runs[run] else []
        seen = mean_exposure(world, m, q, draws)
        system[q] = {d: seen.get(d, 0.0) for d in docs}
        target[q] = goal(world, m, q, list(docs))
    mass = sum(weight.values())
    chance = m.collection
    if chance is None:
        chance = sum(w * sum(target[q].values()) / len(docs) for q, w in weight.items()) / mass
    name = type(m).__name__[4:]
    if name[0] == "I":
        rows = [({q: 1.0}, w) for q, w in weight.items()]
    elif name[0] == "A":
        rows = [({q: w / mass for q, w in weight.items()}, 1.0)]
    else:
        rows = []
        for label in sorted(set(world.labels.values())):
            mine = {q: w for q, w in weight.items() if world.labels[q] == label}
            if mine:
                rows.append(({q: w / sum(mine.values()) for q, w in mine.items()}, 1.0))
    if name[1] == "I":
        columns = [{d: 1.0} for d in docs]
    else:
        shares: dict[Any, dict[str, float]] = {}
        for d in docs:
            for v, w in plain.in_groups(world, m.by, "", {d: 1.0}).items():
                shares.setdefault(v, {})[d] = w
        columns = [{d: w / sum(of.values()) for d, w in of.items()} for of in shares.values()]
    if not columns:
        return math.nan
    total = 0.0
    for (users, heft), items in itertools.product(rows, columns):
        e, t = (
            sum(u * i * (matrix[q][d] - chance) for q, u in users.items() for d, i in items.items())
            for matrix in (system, target)
        )
        total += heft * ({"F": (e - t) ** 2, "D": e * e, "R": 2 * e * t}[m.part])
    return total / (sum(h for _, h in rows) * len(columns))


def goal(world: Any, m: Any, query: str, docs: list[str]) -> dict[str, float]:
    """Target exposure where every document is a candidate."""
    gains = {d: world.gain(query, d) for d in docs}
    if type(m.target).__name__ == "Equal":
        k = len(docs) if m.cutoff is None else min(m.cutoff, len(docs))
        return dict.fromkeys(docs, sum(plain.view_at(m.user, r) for r in range(1, k + 1)) / len(docs))
    if not m.target.complete:
        gains = {d: g for d, g in gains.items() if g > 0}
    return dict.fromkeys(docs, 0.0) | plain.ideal(world, m.user, gains, m.cutoff)
