"""The reference for measures of exposure shared between groups and documents: plain loops, nothing of lightmeter."""

from __future__ import annotations

import math
from typing import Any

from tests import reference as plain

NAN = math.nan
PAIRS = ("ExposureRatio", "ExposureGap", "DTR", "DIR", "logDP", "logEUR", "logRUR")
NAMES = (*PAIRS, "IAA", "GeneralizedEntropy", "Gini", "Entropy")
Draws = list[tuple[float, list[str]]]


def mean_exposure(world: Any, m: Any, query: str, draws: Draws) -> dict[str, float]:
    """Expected exposure of the documents that some draw ranks."""
    out: dict[str, float] = {}
    for w, docs in draws:
        for d, x in plain.exposure(world, m.user, query, docs, m.cutoff).items():
            out[d] = out.get(d, 0.0) + w * x
    return out


def candidates(world: Any, m: Any, run: str, query: str) -> list[str]:
    """Whose exposure counts."""
    docs = dict.fromkeys(d for r in world.runs[run][query] for d, _ in r.docs)
    if m.docs != "ranked":
        docs |= dict.fromkeys(world.qrels.get(query, {}))
    return [d for d in docs if m.docs != "relevant" or world.gain(query, d) > 0]


def memberships(world: Any, by: Any, query: str, doc: str) -> dict[Any, float]:
    """Membership in full: a document of several values counts in each."""
    return plain.in_groups(world, by, query, {doc: 1.0})


def rows(world: Any, m: Any, run: str, query: str, draws: Draws) -> dict[Any, dict[str, float]]:
    """Sums of exposure, members, merit and clicks by document or group."""
    seen = mean_exposure(world, m, query, draws)
    out: dict[Any, dict[str, float]] = {}
    by = getattr(m, "by", None)
    for d in candidates(world, m, run, query):
        of = {d: 1.0} if by is None else memberships(world, by, query, d)
        for key, w in of.items():
            row = out.setdefault(key, {"exposure": 0.0, "members": 0.0, "merit": 0.0, "clicks": 0.0})
            e, g = seen.get(d, 0.0), world.gain(query, d)
            row["exposure"] += w * e
            row["members"] += w
            row["merit"] += w * g
            row["clicks"] += w * e * g
    return {k: r for k, r in out.items() if r["members"] > 0}


def unknown(world: Any, m: Any, run: str, query: str) -> bool:
    by = getattr(m, "by", None)
    return by is not None and plain.nothing_known(world, by, query, candidates(world, m, run, query))


def amount(name: str, row: dict[str, float]) -> float:
    """What is compared between groups, NaN where there is no merit."""
    if name in ("ExposureRatio", "ExposureGap", "logDP"):
        return row["exposure"] / row["members"]
    if row["merit"] == 0:
        return NAN
    return (row["exposure"] if name in ("DTR", "logEUR") else row["clicks"]) / row["merit"]


def compare(name: str, a: float, b: float) -> float:
    """a over b, or a minus b."""
    if name == "ExposureGap":
        return a - b
    if b == 0:
        return NAN
    if not name.startswith("log"):
        return a / b
    return math.log(a / b) if a > 0 else NAN


def reduce(m: Any, table: dict[Any, dict[str, float]]) -> float:
    """The measure of the sums."""
    name = type(m).__name__
    if name in PAIRS:
        if m.value is not None:
            both = [table.get(v) for v in (m.value, m.reference)]
            if any(r is None or r["members"] < m.min_size - 1e-9 for r in both):
                return NAN
            return compare(name, *(amount(name, r) for r in both))
        found = [amount(name, r) for r in table.values() if r["members"] >= m.min_size - 1e-9]
        found = [x for x in found if not math.isnan(x)]
        if len(found) < 2:
            return NAN
        if name == "ExposureGap":
            return max(found) - min(found)
        return compare(name, min(found), max(found))
    if name == "IAA":
        merit, seen = sum(r["merit"] for r in table.values()), sum(r["exposure"] for r in table.values())
        if merit == 0 or seen == 0:
            return NAN
        return sum(abs(r["exposure"] / seen - r["merit"] / merit) for r in table.values())
    e = [r["exposure"] for r in table.values()]
    n, total = len(e), sum(e)
    if total == 0:
        return NAN
    if name == "Gini":
        return sum(abs(x - y) for x in e for y in e) / (2 * n * total)
    if name == "Entropy":
        return -sum(x / total * math.log(x / total) for x in e if x > 0)
    ratio = [x * n / total for x in e]
    if m.alpha == 0:
        return NAN if min(e) == 0 else -sum(math.log(r) for r in ratio) / n
    if m.alpha == 1:
        return sum(r * math.log(r) for r in ratio if r > 0) / n
    return sum(r**m.alpha - 1 for r in ratio) / (n * m.alpha * (m.alpha - 1))


def value(world: Any, m: Any, run: str, query: str) -> tuple[float, float | None]:
    """The value of a query and its delete-one standard error."""
    draws = world.draws(run, query)
    if unknown(world, m, run, query):
        return NAN, None
    found = reduce(m, rows(world, m, run, query, draws))
    if world.exact(run, query):
        return found, 0.0
    if len(draws) < 3 or math.isnan(found):
        return found, NAN
    without = []
    for i, (w, _) in enumerate(draws):
        less = [(v / (1.0 - w), docs) for j, (v, docs) in enumerate(draws) if j != i]
        without.append(reduce(m, rows(world, m, run, query, less)))
    centre = sum(without) / len(draws)
    return found, math.sqrt((len(draws) - 1) / len(draws) * sum((u - centre) ** 2 for u in without))


def amortised(world: Any, m: Any, run: str, weight: dict[str, float]) -> float:
    """The value over queries: sums by document or group first; members are distinct documents."""
    total: dict[Any, dict[str, float]] = {}
    heads: dict[tuple[Any, str], float] = {}
    asked: dict[str, float] = {}
    by = getattr(m, "by", None)
    mass, known = 0.0, False
    for query, w in weight.items():
        if query not in world.runs[run]:
            continue
        known = known or not unknown(world, m, run, query)
        table = rows(world, m, run, query, world.draws(run, query))
        for d in candidates(world, m, run, query):
            asked[d] = asked.get(d, 0.0) + w
            for key, share in ({d: 1.0} if by is None else memberships(world, by, query, d)).items():
                heads[key, d] = heads.get((key, d), 0.0) + w * share
        if type(m).__name__ == "IAA":
            merit, seen = (sum(r[what] for r in table.values()) for what in ("merit", "exposure"))
            if merit == 0:
                continue
            for r in table.values():
                r["merit"] /= merit
                r["exposure"] /= seen or 1.0
        mass += w
        for key, r in table.items():
            into = total.setdefault(key, dict.fromkeys(r, 0.0))
            for what, x in r.items():
                into[what] += w * x
    if not known or not mass:
        return NAN
    if by is not None:
        for key, r in total.items():
            r["members"] = sum(x / asked[d] for (k, d), x in heads.items() if k == key)
    table = {k: {what: x if what == "members" else x / mass for what, x in r.items()} for k, r in total.items()}
    if type(m).__name__ == "IAA":
        if not sum(r["exposure"] for r in table.values()):
            return NAN
        return sum(abs(r["exposure"] - r["merit"]) for r in table.values())
    return reduce(m, table)
