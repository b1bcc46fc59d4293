"""The reference for intent-aware measures: plain loops, nothing of lightmeter."""

from __future__ import annotations

import math
from typing import Any

NAMES = ("alpha_nDCG", "ERR_IA", "RBP_IA", "StRecall", "D_nDCG", "Dsharp_nDCG")


def greedy(of: dict[str, list[str]], alpha: float, depth: float) -> list[str]:
    """At each rank the document that adds most, the last by id among equals."""
    count: dict[str, int] = {}
    left, out = sorted(of), []
    while left and len(out) < depth:
        gain = {d: math.fsum((1 - alpha) ** count.get(i, 0) for i in of[d]) for d in left}
        best = max(d for d in left if gain[d] >= max(gain.values()) - 1e-12)
        out.append(best)
        left.remove(best)
        for i in of[best]:
            count[i] = count.get(i, 0) + 1
    return out


def alpha_dcg(of: dict[str, list[str]], docs: list[str], alpha: float) -> float:
    count: dict[str, int] = {}
    total = 0.0
    for k, d in enumerate(docs, 1):
        for i in of.get(d, []):
            total += (1 - alpha) ** count.get(i, 0) / math.log2(k + 1)
            count[i] = count.get(i, 0) + 1
    return total


def value(world: Any, m: Any, query: str, docs: list[str]) -> float:
    """The value of one ranking."""
    name = type(m).__name__
    grades = {i: {d: max(g, 0.0) for d, g in of.items()} for i, of in world.intents[query].items()}
    shares = world.intent_shares[query]
    if m.judged_only:
        docs = [d for d in docs if any(d in judged for judged in grades.values())]
    k = math.inf if m.cutoff is None else m.cutoff
    seen = docs[: m.cutoff]
    rel = getattr(m, "rel", None)
    if name == "alpha_nDCG":
        of: dict[str, list[str]] = {}
        for i, judged in grades.items():
            for d, g in judged.items():
                if g >= rel:
                    of.setdefault(d, []).append(i)
        best = alpha_dcg(of, greedy(of, m.alpha, k), m.alpha)
        return alpha_dcg(of, seen, m.alpha) / best if best else 0.0
    if name == "StRecall":
        there = [i for i, judged in grades.items() if any(g >= rel for g in judged.values())]
        return sum(any(grades[i].get(d, 0.0) >= rel for d in seen) for i in there) / len(there) if there else 0.0
    if name == "ERR_IA" and m.max_grade is None:
        there = [i for i, judged in grades.items() if any(g >= rel for g in judged.values())]
        mass = sum(shares[i] for i in there)
        total = 0.0
        for i in there:
            above = 0
            for rank, d in enumerate(seen, 1):
                if grades[i].get(d, 0.0) >= rel:
                    total += shares[i] / mass * 0.5**above / rank if mass else 0.0
                    above += 1
        most = 2 * math.log(2) if m.cutoff is None else sum(0.5 ** (j - 1) / j for j in range(1, m.cutoff + 1))
        return total / most
    if name == "ERR_IA":
        if not any(g >= rel for judged in grades.values() for g in judged.values()):
            return 0.0
        total = 0.0
        for i, judged in grades.items():
            left = 1.0
            for rank, d in enumerate(seen, 1):
                g = judged.get(d, 0.0)
                r = (2**g - 1) / 2**m.max_grade if g >= rel else 0.0
                total += shares[i] * left * r / rank
                left *= 1 - r
        return total
    if name == "RBP_IA":
        highest = max(
            (max(g, 0.0) for of in world.intents.values() for j in of.values() for g in j.values()), default=0
        )
        total = 0.0
        for i, judged in grades.items():
            for rank, d in enumerate(seen, 1):
                g = judged.get(d, 0.0)
                amount = g / (highest or 1.0) if rel is None else float(d in judged and g >= rel)
                total += shares[i] * (1 - m.p) * amount * m.p ** (rank - 1)
        return total
    if name == "D_nDCG":

        def gain(d: str) -> float:
            given = [(shares[i], judged[d]) for i, judged in grades.items() if d in judged]
            return sum(p * (2**g - 1 if m.dcg == "exp-log2" else g) for p, g in given)

        every = sorted((gain(d) for d in {d for judged in grades.values() for d in judged}), reverse=True)
        best = sum(g / math.log2(j + 2) for j, g in enumerate(every) if j < k)
        return sum(gain(d) / math.log2(j + 2) for j, d in enumerate(seen)) / best if best else 0.0
    if name == "Dsharp_nDCG":
        recall, dcg = (value(world, part, query, docs) for part in m.parts())
        return m.gamma * recall + (1 - m.gamma) * dcg
    raise NotImplementedError(name)
