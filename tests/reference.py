"""An independent reference: every definition as plain Python loops, slow and without lightmeter.

Nothing of lightmeter is imported: terms are read by their class name and their parameters. Formulas follow the
specification, not the code, and where two forms exist the plainer one is taken: sums over pairs of samples instead of
T/D, sums of powers instead of closed forms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

NAN = math.nan
Shares = dict[Any, float]


@dataclass
class Ranking:
    """One ranking as it stands in a file: documents with scores, a sample id and a weight."""

    docs: list[tuple[str, float]]
    sample: str = "1"
    weight: float = 1.0

    def order(self, ties: str) -> list[str]:
        """Documents from the top, under a tie rule."""
        rows = list(enumerate(self.docs))
        if ties == "docno":
            rows.sort(key=lambda r: r[1][0].encode(), reverse=True)
        rows.sort(key=lambda r: -r[1][1])
        return [doc for _, (doc, _) in rows]


@dataclass
class Members:
    """An attribute: ``of[doc]`` or ``of[query, doc]`` is ``{value: weight}``; without an entry it is unknown."""

    kind: str
    values: list[str]
    ordinal: bool
    by_query: bool
    of: dict[Any, Shares]

    def get(self, query: str, doc: str) -> Shares | None:
        return self.of.get((query, doc) if self.by_query else doc)


@dataclass
class World:
    """A small collection in plain Python, and the conventions of a call."""

    runs: dict[str, dict[str, list[Ranking]]]
    qrels: dict[str, dict[str, float]]
    members: dict[str, Members] = field(default_factory=dict)
    targets: dict[str, dict[str | None, Shares]] = field(default_factory=dict)
    unknown: str = "uniform"
    ties: str = "docno"
    weight: str = "sampling"
    intents: dict[str, dict[str, Shares]] = field(default_factory=dict)
    intent_shares: dict[str, Shares] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def queries(self) -> list[str]:
        """The queries that count: those judged."""
        return list(self.qrels)

    def gain(self, query: str, doc: str) -> float:
        return max(self.qrels.get(query, {}).get(doc, 0.0), 0.0)

    @property
    def max_grade(self) -> float:
        return max(self.gain(q, d) for q in self.qrels for d in self.qrels[q])

    def draws(self, run: str, query: str) -> list[tuple[float, list[str]]]:
        """(weight, documents) of every draw; the weights sum to 1. Counted rankings are written out."""
        rankings = self.runs[run][query]
        if self.weight == "count":
            rankings = [r for r in rankings for _ in range(int(r.weight))]
            return [(1.0 / len(rankings), r.order(self.ties)) for r in rankings]
        total = sum(r.weight for r in rankings)
        return [(r.weight / total, r.order(self.ties)) for r in rankings]

    def exact(self, run: str, query: str) -> bool:
        """Whether the rankings are the policy itself."""
        return len(self.runs[run][query]) == 1 or self.weight == "probability"


# ---------------------------------------------------------------- users


def cascade_like(user: Any) -> bool:
    return type(user).__name__ in ("Cascade", "ERR")


def continuation(user: Any, gain: float, max_grade: float) -> float:
    """C of a document under Cascade or ERR."""
    if type(user).__name__ == "Cascade":
        return user.p * (1.0 - (user.u if gain > 0 else 0.0))
    highest = user.max_grade if user.max_grade is not None else max(max_grade, 1.0)
    return 1.0 - (2.0**gain - 1.0) / 2.0**highest


def view_at(user: Any, k: int) -> float:
    """View of rank k under a position model."""
    name = type(user).__name__
    if name == "RBP":
        return float(user.p ** (k - 1))
    if name == "DCG":
        return math.log(user.base) / math.log(max(k, user.base)) if user.clip else 1.0 / math.log2(k + 1)
    if name == "TopK":
        return 1.0 if k <= user.k else 0.0
    if name == "Inverse":
        return 1.0 / k
    if name == "Attention":
        return user.weights[k - 1] if k <= len(user.weights) else 0.0
    raise NotImplementedError(name)


def views(user: Any, gains: Sequence[float], cutoff: int | None, max_grade: float) -> list[float]:
    out = []
    seen = 1.0
    for k, g in enumerate(gains, 1):
        value = seen if cascade_like(user) else view_at(user, k)
        out.append(0.0 if cutoff is not None and k > cutoff else value)
        if cascade_like(user):
            seen *= continuation(user, g, max_grade)
    return out


def stops(user: Any, gains: Sequence[float], cutoff: int | None, max_grade: float) -> list[float]:
    """stop_k = view_k (1 - C_k), with C_k = view_{k+1} / view_k for position models."""
    out = []
    for k, (v, g) in enumerate(zip(views(user, gains, None, max_grade), gains, strict=True), 1):
        if cascade_like(user):
            c = continuation(user, g, max_grade)
        else:
            c = view_at(user, k + 1) / v if v > 0 else 0.0
        out.append(0.0 if cutoff is not None and k > cutoff else v * (1.0 - c))
    return out


# ---------------------------------------------------------------- relevance


def relevance(world: World, m: Any, query: str, docs: list[str]) -> float:
    """The relevance measures; 0 where nothing is relevant."""
    name, top = type(m).__name__, world.max_grade
    judged = world.qrels[query]
    if getattr(m, "judged_only", False):
        docs = [d for d in docs if d in judged]
    gains = [world.gain(query, d) for d in docs]
    k = m.cutoff if m.cutoff is not None else len(docs)
    if name == "Judged":
        n = min(k, len(docs))
        return sum(d in judged for d in docs[:k]) / n
    rel = getattr(m, "rel", 1)
    if rel is not None:
        hit = [int(d in judged and g >= rel) if rel <= 0 else int(g >= rel) for d, g in zip(docs, gains, strict=True)]
        number = sum(max(g, 0.0) >= rel for g in judged.values())
    if name in ("P", "R", "AP", "RR"):
        if not number:
            return 0.0
        if name == "P":
            return sum(hit[:k]) / k
        if name == "R":
            return sum(hit[:k]) / number
        if name == "RR":
            return next((1.0 / i for i, h in enumerate(hit[:k], 1) if h), 0.0)
        return sum(sum(hit[:i]) / i for i in range(1, min(k, len(hit)) + 1) if hit[i - 1]) / number
    if name in ("DCG", "nDCG"):

        def dcg(gs: list[float]) -> float:
            total = 0.0
            for i, g in enumerate(gs[:k] if m.cutoff else gs, 1):
                amount = g if m.dcg == "log2" else 2.0**g - 1.0
                total += amount * (view_at(m, i) if name == "DCG" else 1.0 / math.log2(i + 1))
            return total

        if name == "DCG":
            return dcg(gains)
        instead = m.gains or {}
        gains = [instead.get(g, g) if d in judged else 0.0 for d, g in zip(docs, gains, strict=True)]
        best = dcg(sorted((instead.get(max(g, 0.0), max(g, 0.0)) for g in judged.values()), reverse=True))
        return dcg(gains) / best if best > 0 else 0.0
    if name == "RBP":
        amounts = hit if m.rel is not None else [g / (top or 1.0) for g in gains]
        if m.rel is not None and not number:
            return 0.0
        return (1.0 - m.p) * sum(a * m.p ** (i - 1) for i, a in enumerate(amounts[:k], 1))
    if name in ("ERR", "iRBU"):
        highest = m.max_grade if m.max_grade is not None else max(top, 1.0)
        left, total = 1.0, 0.0
        for i, g in enumerate(gains[:k], 1):
            r = (2.0**g - 1.0) / 2.0**highest
            total += left * r * (1.0 / i if name == "ERR" else m.p**i)
            left *= 1.0 - r
        return total
    if name == "gERR":
        left, total = 1.0, 0.0
        for g in gains[:k]:
            total += left * (m.u if g > 0 else 0.0)
            left *= m.p * (1.0 - (m.u if g > 0 else 0.0))
        return total
    raise NotImplementedError(name)


# ---------------------------------------------------------------- exposure


def candidates(world: World, query: str) -> list[str]:
    """Judged documents, and those any run ranks."""
    out = dict.fromkeys(world.qrels.get(query, {}))
    for run in world.runs.values():
        for ranking in run.get(query, []):
            out |= dict.fromkeys(d for d, _ in ranking.docs)
    return list(out)


def exposure(world: World, user: Any, query: str, docs: list[str], cutoff: int | None) -> Shares:
    gains = [world.gain(query, d) for d in docs]
    return dict(zip(docs, views(user, gains, cutoff, world.max_grade), strict=True))


def ideal(world: World, user: Any, gains: Shares, cutoff: int | None) -> Shares:
    """The policy uniform over rankings sorted by grade: sums of powers, one place at a time."""
    out, b = {}, 0
    above = 1.0
    for grade in sorted(set(gains.values()), reverse=True):
        same = [d for d in gains if gains[d] == grade]
        m = len(same)
        places = [k for k in range(b + 1, b + m + 1) if cutoff is None or k <= cutoff]
        if cascade_like(user):
            c = continuation(user, grade, world.max_grade)
            each = sum(above * c ** (k - b - 1) for k in places) / m
            above *= c**m
        else:
            each = sum(view_at(user, k) for k in places) / m
        out |= dict.fromkeys(same, each)
        b += m
    return out


def ideal_by_enumeration(world: World, user: Any, gains: Shares, cutoff: int | None) -> Shares:
    """The same by listing every grade-sorted ranking."""
    levels = [[d for d in gains if gains[d] == g] for g in sorted(set(gains.values()), reverse=True)]
    total, number = dict.fromkeys(gains, 0.0), 0
    for parts in itertools.product(*(itertools.permutations(level) for level in levels)):
        docs = [d for part in parts for d in part]
        number += 1
        for d, v in zip(docs, views(user, [gains[d] for d in docs], cutoff, world.max_grade), strict=True):
            total[d] += v
    return {d: v / number for d, v in total.items()}


def target_exposure(world: World, target: Any, user: Any, query: str, cutoff: int | None) -> Shares | None:
    """Target exposure of every candidate, None where there is none."""
    name = type(target).__name__
    docs = candidates(world, query)
    gains = {d: world.gain(query, d) for d in docs}
    if name != "Equal" and not any(gains.values()):
        return None
    if name == "Ideal":
        if target.complete:
            return ideal(world, user, gains, cutoff)
        return ideal(world, user, {d: g for d, g in gains.items() if g > 0}, cutoff)
    merit = {d: 1.0 if name == "Equal" else (g**target.power if g > 0 else 0.0) for d, g in gains.items()}
    if cascade_like(user):
        left, total = 1.0, 0.0
        for d in docs:
            c = continuation(user, gains[d], world.max_grade)
            left *= c
            total += merit[d] * (1.0 - c)
        supply = 1.0 - left
    else:
        supply = sum(view_at(user, k) for k in range(1, len(docs) + 1) if cutoff is None or k <= cutoff)
        total = sum(merit.values())
    return {d: merit[d] * supply / total if total else 0.0 for d in docs}


def in_groups(world: World, by: str, query: str, amounts: Shares) -> Shares:
    """Amounts of documents summed by group; a multi-valued document counts fully in each of its values."""
    members = world.members[by]
    out: Shares = {}
    for doc, amount in amounts.items():
        of = members.get(query, doc)
        if of is None:
            if world.unknown == "uniform":
                of = dict.fromkeys(members.values, 1.0 / len(members.values))
            elif world.unknown == "distinct":
                of = {("own", doc): 1.0}
            else:
                of = {}
        for value, weight in of.items():
            out[value] = out.get(value, 0.0) + weight * amount
    return out


def nothing_known(world: World, by: str, query: str, docs: Sequence[str]) -> bool:
    """Whether no membership is known, and unknown documents have no value of their own."""
    return world.unknown != "distinct" and all(world.members[by].get(query, d) is None for d in docs)


def dot(a: Shares, b: Shares) -> float:
    return math.fsum(a[k] * b[k] for k in a if k in b)


def minus(a: Shares, b: Shares) -> Shares:
    return {k: a.get(k, 0.0) - b.get(k, 0.0) for k in {**a, **b}}


def over_pairs(draws: list[tuple[float, Shares]]) -> float:
    """The unbiased square: the weighted mean of e_a.e_b over ordered pairs of different draws."""
    top = bottom = 0.0
    for (i, (w, e)), (j, (v, f)) in itertools.product(enumerate(draws), repeat=2):
        if i != j:
            top += w * v * dot(e, f)
            bottom += w * v
    return top / bottom if bottom else NAN


def square_and_error(draws: list[tuple[float, Shares]]) -> tuple[float, float]:
    """The unbiased square and its delete-one standard error."""
    value = over_pairs(draws)
    n = len(draws)
    if n < 3:
        return value, NAN
    without = [over_pairs(draws[:i] + draws[i + 1 :]) for i in range(n)]
    centre = sum(without) / n
    return value, math.sqrt((n - 1) / n * sum((u - centre) ** 2 for u in without))


def expected(world: World, m: Any, run: str, query: str, name: str) -> tuple[float, float | None]:
    """EED, EER and EEL (``name``) with the standard error; individual or by group."""
    goal = target_exposure(world, m.target, m.user, query, m.cutoff)
    of_nothing = not any(world.gain(query, d) > 0 for d in candidates(world, query))
    if (goal is None and name != "EED") or (m.by is not None and m.docs == "relevant" and of_nothing):
        return NAN, None
    goal = goal or {}
    draws = [(w, exposure(world, m.user, query, docs, m.cutoff)) for w, docs in world.draws(run, query)]
    if m.by is not None and nothing_known(
        world, m.by, query, [d for _, docs in world.draws(run, query) for d in docs[: m.cutoff]]
    ):
        return NAN, None
    if m.by is not None:
        if m.docs == "relevant":
            keep = {d for d in candidates(world, query) if world.gain(query, d) > 0}
            draws = [(w, {d: x for d, x in e.items() if d in keep}) for w, e in draws]
            goal = {d: x for d, x in goal.items() if d in keep}
        draws = [(w, in_groups(world, m.by, query, e)) for w, e in draws]
        goal = in_groups(world, m.by, query, goal)
    mean: Shares = {}
    for w, e in draws:
        for d, x in e.items():
            mean[d] = mean.get(d, 0.0) + w * x
    exact = world.exact(run, query)
    if name == "EER":
        each = [dot(e, goal) for _, e in draws]
        return dot(mean, goal), 0.0 if exact else mean_error([w for w, _ in draws], each)
    if name == "EEL":
        draws = [(w, minus(e, goal)) for w, e in draws]
        mean = minus(mean, goal)
    value, error = square_and_error(draws)
    if exact:
        return dot(mean, mean), 0.0
    return (dot(mean, mean) if m.estimator == "plugin" else value), error


def mean_error(weights: list[float], values: list[float]) -> float:
    """Standard error of a weighted mean; s / sqrt(N) for equal weights."""
    n = len(values)
    if n < 2:
        return NAN
    mean = sum(w * v for w, v in zip(weights, values, strict=True))
    return math.sqrt(n / (n - 1) * sum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True)))


def spread(world: World, m: Any, run: str, query: str) -> float:
    """EESpread on the mean exposure."""
    grades = {d: world.gain(query, d) for d in world.qrels[query] if world.gain(query, d) > 0}
    if not grades:
        return NAN
    mean = dict.fromkeys(grades, 0.0)
    for w, docs in world.draws(run, query):
        for d, x in exposure(world, m.user, query, docs, m.cutoff).items():
            if d in mean:
                mean[d] += w * x
    total = 0.0
    for g in set(grades.values()):
        e = [mean[d] for d in grades if grades[d] == g]
        middle = sum(e) / len(e)
        if m.part == "range":
            one = max(e) - min(e)
        else:
            one = sum((x / middle) ** 2 - 1 for x in e) / len(e) / 2 if middle > 0 else 0.0
        total += one * len(e)
    return total / len(grades)


# ---------------------------------------------------------------- groups


def divergence(div: Any, p: Sequence[float], q: Sequence[float]) -> float:
    """Divergence of p from q over values 1..c."""
    name, c = type(div).__name__, len(p)
    if c == 1 and name != "KL":
        return 0.0

    def kl(a: Sequence[float], b: Sequence[float]) -> float:
        total = 0.0
        for x, y in zip(a, b, strict=True):
            if x > 0:
                total += math.inf if y == 0 else x * math.log(x / y)
        return total

    if name == "JSD":
        m = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
        nats = (kl(p, m) + kl(q, m)) / 2
        return nats / math.log(2) if div.base == 2 else nats
    if name == "KL":
        return kl([x + div.eps for x in p], [y + div.eps for y in q])
    if name == "TV":
        return sum(abs(x - y) for x, y in zip(p, q, strict=True)) / 2
    if name == "SqL2":
        return sum((x - y) ** 2 for x, y in zip(p, q, strict=True))
    if name in ("W1", "NMD"):
        w1 = sum(abs(sum(p[:i]) - sum(q[:i])) for i in range(1, c))
        return w1 if name == "W1" else w1 / (c - 1)
    if name == "RNOD":
        asked = [i for i in range(c) if q[i] > 0]
        od = sum(sum(abs(i - j) * (p[j] - q[j]) ** 2 for j in range(c)) for i in asked) / len(asked)
        return math.sqrt(od / (c - 1))
    raise NotImplementedError(name)


def split(of: Shares, kind: str) -> Shares:
    """Membership as shares: several values of 1 are split equally."""
    return {v: w / len(of) for v, w in of.items()} if kind == "multi" else of


def distribution(world: World, by: str, query: str, docs: Sequence[str], weights: Sequence[float]) -> Shares | None:
    """Weighted mean membership; None where nothing of weight is known."""
    members = world.members[by]
    mass, out = 0.0, {}
    for doc, weight in zip(docs, weights, strict=True):
        of = members.get(query, doc)
        if of is not None:
            of = split(of, members.kind)
        elif world.unknown == "uniform":
            of = dict.fromkeys(members.values, 1.0 / len(members.values))
        elif world.unknown == "distinct":
            of = {("own", doc): 1.0}
        else:
            continue
        mass += weight
        for v, w in of.items():
            out[v] = out.get(v, 0.0) + w * weight
    return {v: w / mass for v, w in out.items()} if mass > 0 else None


def pooled(world: World, by: str, pairs: Sequence[tuple[str, str]], *, own: bool = True) -> Shares | None:
    """Shares of the values among (query, doc) pairs; unknown ones are left out (each its own value where they are
    distinct).
    """
    members = world.members[by]
    out: Shares = {}
    for query, doc in pairs:
        of = members.get(query, doc)
        if of is None:
            of = {("own", doc): 1.0} if own and world.unknown == "distinct" else {}
        for v, w in split(of, members.kind).items():
            out[v] = out.get(v, 0.0) + w
    total = sum(out.values())
    return {v: w / total for v, w in out.items() if w > 0} if total > 0 else None


def ranked_pairs(world: World, runs: Sequence[str], query: str | None, depth: int | None) -> list[tuple[str, str]]:
    out: dict[tuple[str, str], None] = {}
    for name in runs:
        for q, rankings in world.runs[name].items():
            if q in world.qrels and query in (None, q):  # queries that are not judged do not count
                for ranking in rankings:
                    out |= dict.fromkeys((q, d) for d in ranking.order(world.ties)[:depth])
    return list(out)


def group_target(world: World, target: Any, by: str, run: str, query: str) -> Shares | None:
    """The target distribution, None where there is none."""
    members = world.members[by]
    if target is None:
        target = "given" if by in world.targets else "uniform"
    name = target if isinstance(target, str) else type(target).__name__.lower()
    option = (lambda n, default: default) if isinstance(target, str) else (lambda n, default: getattr(target, n))
    if name == "given":
        rows = world.targets[by]
        out = rows.get(query, rows.get(None))
        return out if out and sum(out.values()) > 0 else None
    if name == "uniform" and option("values", "all") == "all":
        return dict.fromkeys(members.values, 1.0 / len(members.values))
    if name == "uniform":
        there = pooled(world, by, ranked_pairs(world, list(world.runs), query, None))
        return dict.fromkeys(there, 1.0 / len(there)) if there else None
    whole = option("scope", "query") == "collection"
    if name == "relevant":
        pairs = [(q, d) for q in world.qrels for d in world.qrels[q] if world.gain(q, d) > 0 and (whole or q == query)]
        return pooled(world, by, pairs)
    of = option("of", "union")
    if of == "groups":
        if members.by_query:
            return pooled(world, by, [k for k in members.of if (whole and k[0] in world.qrels) or k[0] == query])
        return pooled(world, by, [("", d) for d in members.of])
    runs = list(world.runs) if of == "union" else [run if of == "run" else of]
    return pooled(world, by, ranked_pairs(world, runs, None if whole else query, option("depth", None)))


def compared(world: World, by: str, p: Shares, q: Shares) -> tuple[list[float], list[float]]:
    """Two distributions side by side, in the order of the values."""
    keys = list(world.members[by].values)
    keys += [k for k in {**p, **q} if k not in keys]
    return [p.get(k, 0.0) for k in keys], [q.get(k, 0.0) for k in keys]


def groups(world: World, m: Any, run: str, query: str, docs: list[str]) -> float:
    """GF, DeltaGF, DistrSim, MaxDeviation, AWRF and ABR of one ranking."""
    name, by, top = type(m).__name__, m.by, world.max_grade
    gains = [world.gain(query, d) for d in docs]
    cut = len(docs) if m.cutoff is None else m.cutoff
    if name == "ABR":
        seen = views(m.user, gains, m.cutoff, top)
        known = distribution(world, by, query, docs, [1.0] * len(docs))
        if known is None or nothing_known(world, by, query, docs):
            return NAN
        mass = in_groups(world, by, query, dict(zip(docs, seen, strict=True)))
        count = in_groups(world, by, query, dict.fromkeys(docs, 1.0))
        means = [mass[v] / count[v] for v in mass if count[v] > 0]
        return min(means) / max(means) if len(means) > 1 and max(means) > 0 else NAN
    if nothing_known(world, by, query, docs[:cut]):
        return NAN
    if name == "DeltaGF":
        a, b = world.members[by].values
        if m.positive == b:
            a, b = b, a
        return similarity(world, m, query, docs, {a: 1.0}) - similarity(world, m, query, docs, {b: 1.0})
    goal = group_target(world, m.target, by, run, query)
    if goal is None:
        return NAN
    if name == "GF":
        return similarity(world, m, query, docs, goal)
    weights = (
        views(m.user, gains, m.cutoff, top) if name == "AWRF" else [1.0 if i < cut else 0.0 for i in range(len(docs))]
    )
    d = distribution(world, by, query, docs, weights)
    if d is None:
        return NAN
    p, q = compared(world, by, d, goal)
    if name == "MaxDeviation":
        return max(abs(x - y) for x, y in zip(p, q, strict=True))
    return 1.0 - divergence(m.div, p, q)


def similarity(world: World, m: Any, query: str, docs: list[str], goal: Shares) -> float:
    gains = [world.gain(query, d) for d in docs]
    total = 0.0
    stopping = list(stops(m.user, gains, m.cutoff, world.max_grade))
    relevant = any(world.gain(query, d) > 0 for d in world.qrels.get(query, {}))
    if cascade_like(m.user) and not relevant and not any(s > 0 for s in stopping):
        return NAN
    for k, stop in enumerate(stopping, 1):
        d = distribution(world, m.by, query, docs[:k], [1.0] * k)
        if stop > 0 and d is not None:
            total += stop * (1.0 - divergence(m.div, *compared(world, m.by, d, goal)))
    return total


def intent_aware(world: World, m: Any, run: str, query: str, docs: list[str]) -> float:
    from tests import reference_intents

    return reference_intents.value(world, m, query, docs)


# ---------------------------------------------------------------- everything


def evaluate(world: World, m: Any, run: str) -> Iterator[tuple[str, float, float | None]]:
    """(query, value, standard error) of a measure for the judged queries that a run answers."""
    from tests import reference_exposure_groups, reference_intents, reference_prefixes

    for query in world.queries:
        if query not in world.runs[run]:
            continue
        name = type(m).__name__
        if name in ("EED", "EER", "EEL"):
            yield query, *expected(world, m, run, query, name)
        elif name in ("nEED", "nEER", "nEEL"):
            from tests.reference_bounds import normalised

            found = normalised(world, m, run, query)
            if found is not None:
                yield query, *found
        elif name in reference_exposure_groups.NAMES:
            yield query, *reference_exposure_groups.value(world, m, run, query)
        elif name == "EESpread":
            yield query, spread(world, m, run, query), None
        elif name == "GFR":
            parts = [c if c.cutoff is not None or m.cutoff is None else c @ m.cutoff for c in m.of]
            shares = m.weights or [1.0 / len(parts)] * len(parts)
            found = [next(v for q, v, _ in evaluate(world, c, run) if q == query) for c in parts]
            yield query, sum(w * v for w, v in zip(shares, found, strict=True) if w), None
        else:
            one = reference_prefixes.value if name in reference_prefixes.NAMES else groups if hasattr(m, "by") else None
            one = intent_aware if name in reference_intents.NAMES else one
            draws = world.draws(run, query)
            each = [one(world, m, run, query, d) if one else relevance(world, m, query, d) for _, d in draws]
            weights = [w for w, _ in draws]
            error = 0.0 if world.exact(run, query) else mean_error(weights, each)
            yield query, sum(w * v for w, v in zip(weights, each, strict=True)), error
