"""The independent reference of the measures of prefixes and pairs: plain loops, worst cases and chances by listing."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

from tests.reference import (
    NAN,
    Shares,
    World,
    compared,
    distribution,
    divergence,
    group_target,
    nothing_known,
    split,
    views,
)

NAMES = {
    *("Skew", "MinSkew", "MaxSkew", "NDKL", "rND", "rKL", "rRD", "FAIR", "Pairwise", "ECE"),
    *("OutputBias", "InputBias", "RankingBias", "SignedBias"),
}


def membership(world: World, by: str, query: str, doc: str) -> Shares | None:
    """Shares of a document under the rule for unknown ones; None where it belongs to no group."""
    members = world.members[by]
    of = members.get(query, doc)
    if of is not None:
        return split(of, members.kind)
    if world.unknown == "uniform":
        return dict.fromkeys(members.values, 1.0 / len(members.values))
    return {("own", doc): 1.0} if world.unknown == "distinct" else None


def value(world: World, m: Any, run: str, query: str, docs: list[str]) -> float:
    """The value of one ranking."""
    name, by = type(m).__name__, m.by
    top = docs[: m.cutoff]
    if name in ("rND", "rKL", "rRD"):
        return prefix_difference(world, m, query, docs)
    if name == "FAIR":
        return fair(world, m, run, query, top)
    if name == "Pairwise":
        return pairwise(world, m, query, top)
    if name == "SignedBias":
        return signed_bias(world, m, query, docs)
    if name in ("OutputBias", "InputBias", "RankingBias"):
        return ranking_bias(world, m, run, query, top)
    if name == "ECE":
        return ece(world, m, run, query, docs)
    if nothing_known(world, by, query, top):
        return NAN
    goal = group_target(world, m.target, by, run, query)
    if goal is None:
        return NAN
    if name == "NDKL":
        return ndkl(world, m, query, top, goal)
    shares = distribution(world, by, query, top, [1.0] * len(top)) or {}

    def skew(v: Any) -> float:
        p, q = shares.get(v, 0.0), goal.get(v, 0.0)
        if q <= 0:
            return math.inf if p > 0 else NAN
        return math.log(p / q) if p > 0 else -math.inf

    if name == "Skew":
        found = skew(m.value)
    else:
        every = [s for s in (skew(v) for v in {**shares, **goal}) if not math.isnan(s)]
        found = min(every) if name == "MinSkew" else max(every)
    return NAN if math.isinf(found) else found


def ndkl(world: World, m: Any, query: str, top: list[str], goal: Shares) -> float:
    total = mass = 0.0
    for k in range(1, len(top) + 1):
        shares = distribution(world, m.by, query, top[:k], [1.0] * k)
        if shares is None:
            continue
        far = 0.0
        p, q = compared(world, m.by, shares, goal)
        if world.unknown == "distinct" and m.eps:  # values that nobody has add nothing but rounding, or eps ln(eps/..)
            pass
        for a, b in zip(p, q, strict=True):
            if a + m.eps > 0:
                far += math.inf if b + m.eps == 0 else (a + m.eps) * math.log((a + m.eps) / (b + m.eps))
        total += far / math.log2(k + 1)
        mass += 1.0 / math.log2(k + 1)
    return NAN if math.isinf(total) else total / mass


def prefix_difference(world: World, m: Any, query: str, docs: list[str]) -> float:
    """rND, rKL and rRD; the worst case is the worst of all orders of the known documents."""
    if nothing_known(world, m.by, query, docs):
        return NAN
    member = [membership(world, m.by, query, d) for d in docs]
    have = [None if of is None else of.get(m.protected, 0.0) for of in member]
    known = [i for i, x in enumerate(have) if x is not None]
    whole, size = sum(have[i] for i in known), len(known)  # type: ignore[misc]
    if whole <= 1e-12 or whole >= size - 1e-12:
        return NAN

    def term(s: float, n: int) -> float:
        if type(m).__name__ == "rND":
            return abs(s / n - whole / size)
        if type(m).__name__ == "rRD":
            r = 0.0 if n - s < 1e-12 else s / (n - s)
            return abs(min(r, whole / (size - whole)) - whole / (size - whole))
        p = s / n
        p = m.edge if p == 0 else 1 - m.edge if p == 1 else p
        return sum(x * math.log(x / y) for x, y in ((p, whole / size), (1 - p, 1 - whole / size)) if x > 0)

    def total(order: tuple[float, ...]) -> float:
        out = 0.0
        for k in range(m.step, len(docs) + 1, m.step):
            n = sum(i < k for i in known)
            if n and (m.cutoff is None or k <= m.cutoff):
                out += term(sum(order[:n]), n) / math.log2(k + 1)
        return out

    mine = tuple(have[i] for i in known)
    worst = max(total(order) for order in set(itertools.permutations(mine)))
    return total(mine) / worst if worst > 1e-12 else NAN


# ---------------------------------------------------------------- FA*IR


def tail(x: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(x + 1))


def flips(k: int) -> list[tuple[int, ...]]:
    """Counts of protected documents in every prefix, for every ranking of k coin flips."""
    return [tuple(itertools.accumulate(f)) for f in itertools.product((0, 1), repeat=k)]


def chance(count: tuple[int, ...], p: float) -> float:
    return p ** count[-1] * (1 - p) ** (len(count) - count[-1])


def failing(table: Any, p: float) -> float:
    return math.fsum(chance(c, p) for c in flips(len(table)) if any(x < y for x, y in zip(c, table, strict=True)))


@cache
def table(k: int, p: float, alpha: float, adjust: bool) -> tuple[int, ...]:
    """FA*IR's table; the adjusted one is the nearest of all there are."""

    def at(level: float) -> tuple[int, ...]:
        return tuple(next(x for x in range(i + 1) if tail(x, i, p) >= level * (1 - 1e-12)) for i in range(1, k + 1))

    if not adjust:
        return at(alpha)
    edges = sorted({0.0, 1.0, *(tail(x, i, p) for i in range(1, k + 1) for x in range(i))})
    tables = [at((a + b) / 2) for a, b in itertools.pairwise(edges) if b - a > 1e-12]
    return min(tables, key=lambda t: round(abs(failing(t, p) - alpha), 12))


def fair(world: World, m: Any, run: str, query: str, top: list[str]) -> float:
    members = world.members[m.by]
    if nothing_known(world, m.by, query, top):
        return NAN
    known = [members.get(query, d) for d in top]
    if world.unknown == "uniform" and any(of is None for of in known):
        return NAN
    if world.unknown == "drop":
        known = [of for of in known if of is not None]
    p = m.p
    if p == "pool":
        p = (group_target(world, "pool", m.by, run, query) or {}).get(m.protected, 0.0)
    if not 0 < p < 1:
        return NAN
    count = tuple(itertools.accumulate(int(bool(of) and m.protected in of) for of in known))  # type: ignore[operator]
    k = len(count)
    tails = [tail(x, i, p) for i, x in enumerate(count, 1)]
    if m.part == "tail":
        return sum(tails) / k
    if m.part == "test":
        return float(all(x >= y for x, y in zip(count, table(k, p, m.alpha, m.adjust), strict=True)))
    least = min(tails)
    return math.fsum(
        chance(c, p) for c in flips(k) if min(tail(x, i, p) for i, x in enumerate(c, 1)) <= least * (1 + 1e-12)
    )


# ---------------------------------------------------------------- sides


def sides(world: World, m: Any) -> tuple[str, str]:
    if m.negative is not None:
        return m.positive, m.negative
    return m.positive, next(v for v in world.members[m.by].values if v != m.positive)


def bias(world: World, m: Any, query: str, doc: str) -> float | None:
    """The bias of a document; None where it is left out."""
    of = membership(world, m.by, query, doc)
    positive, negative = sides(world, m)
    return None if of is None else of.get(positive, 0.0) - of.get(negative, 0.0)


def ranking_bias(world: World, m: Any, run: str, query: str, top: list[str]) -> float:
    name = type(m).__name__
    output = source = 0.0
    if name != "InputBias":
        if nothing_known(world, m.by, query, top):
            return NAN
        means = []
        for k in range(1, len(top) + 1):
            each = [b for b in (bias(world, m, query, d) for d in top[:k]) if b is not None]
            if each:
                means.append(sum(each) / len(each))
        output = sum(means) / len(means)
    if name != "OutputBias":
        pool = group_target(world, m.input, m.by, run, query)
        if pool is None:
            return NAN
        positive, negative = sides(world, m)
        source = pool.get(positive, 0.0) - pool.get(negative, 0.0)
    return source if name == "InputBias" else output - source


def signed_bias(world: World, m: Any, query: str, docs: list[str]) -> float:
    gains = [world.gain(query, d) for d in docs]
    seen = views(m.user, gains, m.cutoff, world.max_grade)
    if nothing_known(world, m.by, query, docs[: m.cutoff]):
        return NAN
    top = bottom = 0.0
    some = told = False
    for doc, gain, v in zip(docs, gains, seen, strict=True):
        counts = m.docs == "all" or gain > 0
        b = bias(world, m, query, doc)
        some |= counts and v > 0
        known = world.unknown == "distinct" or world.members[m.by].get(query, doc) is not None
        told |= counts and v > 0 and known
        if b is None:
            continue
        top += v * b if counts else 0.0
        bottom += v if counts or m.over == "ranks" else 0.0
    if not some or not told:
        return NAN
    return abs(top / bottom) if m.absolute else top / bottom


# ---------------------------------------------------------------- pairs


def pairwise(world: World, m: Any, query: str, top: list[str]) -> float:
    right = total = 0.0
    if (m.pairs, m.more, m.less) != ("all", None, None) and nothing_known(world, m.by, query, top):
        return NAN
    for (i, a), (j, b) in itertools.permutations(enumerate(top), 2):
        if not world.gain(query, a) > world.gain(query, b):
            continue
        of, against = membership(world, m.by, query, a), membership(world, m.by, query, b)
        weight = 1.0
        if m.pairs != "all" or m.more or m.less:
            both = (of or {}, against or {})
            if m.more and m.less:
                weight = both[0].get(m.more, 0.0) * both[1].get(m.less, 0.0)
            elif m.more or m.less:
                one, other = both if m.more else both[::-1]
                group = m.more or m.less
                there = (against if m.more else of) is not None
                weight = one.get(group, 0.0)
                if m.pairs == "within":
                    weight *= other.get(group, 0.0)
                elif m.pairs == "across":
                    weight *= (1.0 - other.get(group, 0.0)) if there else 0.0
            else:
                within = sum(w * both[1].get(v, 0.0) for v, w in both[0].items())
                weight = within if m.pairs == "within" else 1.0 - within
                if of is None or against is None:
                    weight = 0.0
        total += weight
        right += weight if i < j else 0.0
    return right / total if total > 1e-9 else NAN


# ---------------------------------------------------------------- attention


def ece(world: World, m: Any, run: str, query: str, docs: list[str], group: str | None = None) -> float:
    """The exposure or the statistic of a group, or the distance from the target."""
    gains = [world.gain(query, d) for d in docs]
    seen = views(m.user, gains, m.cutoff, world.max_grade)
    if nothing_known(world, m.by, query, docs[: m.cutoff]):
        return NAN
    shares = distribution(world, m.by, query, docs, seen)
    if shares is None:
        return NAN
    if m.part == "exposure":
        return shares.get(group, 0.0)
    goal = group_target(world, m.target, m.by, run, query)
    if goal is None:
        return NAN
    if m.part == "distance":
        return divergence(m.div, *compared(world, m.by, shares, goal))
    p = goal.get(group, 0.0)
    known = [v for d, v in zip(docs, seen, strict=True) if membership(world, m.by, query, d) is not None]
    spread = sum((v / sum(known)) ** 2 for v in known)
    return (shares.get(group, 0.0) - p) / math.sqrt(p * (1 - p) * spread) if 0 < p < 1 else NAN
