"""An audit by plain loops, written from the definitions and from nothing in the package."""

from __future__ import annotations

import math
from collections.abc import Callable

Row = dict[str, object]
View = Callable[[int], float]


def dcg(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def exposures(scores: list[float], queries: list[str], cutoff: int | None, view: View, averaged: bool) -> list[float]:
    """Exposure of each row."""
    out = [0.0] * len(scores)
    for q in set(queries):
        mine = [i for i in range(len(scores)) if queries[i] == q]
        order = sorted(mine, key=lambda i: -scores[i])
        seen = [view(r) if cutoff is None or r <= cutoff else 0.0 for r in range(1, len(order) + 1)]
        for r, i in enumerate(order):
            out[i] = seen[r]
        if averaged:
            for i in mine:
                block = [r for r, j in enumerate(order) if scores[j] == scores[i]]
                out[i] = sum(seen[r] for r in block) / len(block)
    return out


def audit(
    scores: list[float],
    groups: list[str | None],
    labels: list[float],
    queries: list[str],
    cutoff: int | None,
    reference: str,
    averaged: bool,
    view: View = dcg,
) -> dict[tuple[str, str | None], float]:
    """``{(measure, group): value}`` at one cutoff; what is undefined is NaN."""
    n = len(scores)
    seen = exposures(scores, queries, cutoff, view, averaged)
    inside = exposures(scores, queries, cutoff, lambda r: 1.0, averaged)
    places = sum(inside)
    known = sorted({g for g in groups if g is not None})
    median = sorted(scores)[n // 2] if n % 2 else (sorted(scores)[n // 2 - 1] + sorted(scores)[n // 2]) / 2
    out: dict[tuple[str, str | None], float] = {}
    members = {g: [i for i in range(n) if groups[i] == g] for g in [*known, None]}

    def mean(what: list[float], g: str | None) -> float:
        return sum(what[i] for i in members[g]) / len(members[g])

    def over(a: float, b: float) -> float:
        return a / b if b > 0 else math.nan

    rates: dict[str, dict[str, float]] = {}
    if cutoff is None:
        rates["above_median"] = {g: mean([float(s > median) for s in scores], g) for g in known}
        if all(y in (0, 1) for y in labels):
            rates["selection_rate"] = {g: mean(labels, g) for g in known}
    else:
        rates["selection_rate"] = {g: mean(inside, g) for g in known}
    for g in [*known, None]:
        name = "unknown" if g is None else g
        if not members[g]:
            continue
        out["count", name] = sum(inside[i] for i in members[g])
        out["exposure", name] = mean(seen, g)
        if cutoff is None:
            out["pool_share", name] = len(members[g]) / n
            out["mean_score", name] = mean(scores, g)
            out["mean_label", name] = mean(labels, g)
        else:
            out["share", name] = out["count", name] / places
    merit = {g: mean(labels, g) for g in known}
    for g in known:
        out["exposure_per_merit", g] = over(out["exposure", g], merit[g])
        if g != reference:
            out["exposure_ratio", g] = over(out["exposure", g], out["exposure", reference])
            out["exposure_gap", g] = out["exposure", g] - out["exposure", reference]
            out["exposure_per_merit_ratio", g] = over(
                out["exposure_per_merit", g], over(out["exposure", reference], merit[reference])
            )
        if cutoff is not None:
            top = {a: out["count", a] / sum(out["count", b] for b in known) for a in known if out["count", a]}
            pool = len(members[g]) / sum(len(members[b]) for b in known)
            out["skew", g] = math.log(top[g] / pool) if g in top else math.nan
    said = [float(s > median) for s in scores], labels if cutoff is None else inside
    for name, rate in rates.items():
        if members[None]:
            out[name, "unknown"] = mean(said[name == "selection_rate"], None)
        best = max(rate.values())
        top_groups = [g for g in known if rate[g] > best - 1e-12]
        for g in known:
            out[name, g] = rate[g]
            if g != reference:
                out[f"{name}_gap", g] = rate[g] - rate[reference]
            if g not in top_groups:
                out[f"{name}_ratio", g] = over(rate[g], best)
    return out


def ndkl(scores: list[float], groups: list[str | None], queries: list[str], cutoff: int | None) -> float:
    """Mean over the queries."""
    values = []
    for q in sorted(set(queries)):
        order = sorted((i for i in range(len(scores)) if queries[i] == q), key=lambda i: -scores[i])
        known = sorted({groups[i] for i in order if groups[i] is not None})  # type: ignore[type-var]
        if not known:
            continue
        pool = {g: sum(groups[i] == g for i in order) for g in known}
        all_known = sum(pool.values())
        total = weight = 0.0
        for k in range(1, min(cutoff or len(order), len(order)) + 1):
            here = [groups[i] for i in order[:k] if groups[i] is not None]
            if not here:
                continue
            kl = 0.0
            for g in known:
                p = here.count(g) / len(here)
                if p:
                    kl += p * math.log(p / (pool[g] / all_known))
            total += kl / math.log2(k + 1)
            weight += 1 / math.log2(k + 1)
        if weight:
            values.append(total / weight)
    return sum(values) / len(values) if values else math.nan


def fa_ir_p(pattern: list[bool], p: float) -> float:
    """Chance of a sequence of coin flips whose worst prefix is as short, by enumeration."""

    def tail(count: int, size: int) -> float:
        return sum(math.comb(size, j) * p**j * (1 - p) ** (size - j) for j in range(count + 1))

    def worst(flips: list[bool]) -> float:
        return min(tail(sum(flips[:k]), k) for k in range(1, len(flips) + 1))

    mine, size = worst(pattern), len(pattern)
    chance = 0.0
    for bits in range(2**size):
        flips = [bool(bits >> j & 1) for j in range(size)]
        if worst(flips) <= mine * (1 + 1e-9):
            chance += p ** sum(flips) * (1 - p) ** (size - sum(flips))
    return chance
