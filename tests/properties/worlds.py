"""Random small collections and random terms, for the property tests."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import settings
from hypothesis import strategies as st
from tests.reference import Members, Ranking, World, group_target

import lightmeter as lm

LABELS = ("low", "mid", "top", "x+y", "z")


def share(part: float) -> settings:
    """A share of the profile's examples, for tests whose examples are dear."""
    return settings(max_examples=max(int(settings().max_examples * part), 1))


@st.composite
def rankings(draw: Any, docs: list[str], *, ties: bool = True) -> list[tuple[str, float]]:
    """A ranking of some documents, with scores that tie now and then."""
    chosen = draw(st.permutations(docs))[: draw(st.integers(1, len(docs)))]
    if ties:
        return [(d, float(draw(st.integers(0, 4)))) for d in chosen]
    return [(d, float(len(chosen) - i)) for i, d in enumerate(chosen)]


@st.composite
def members(
    draw: Any, queries: list[str], docs: list[str], *, kind: str | None = None, values: int | None = None
) -> Members:
    """An attribute: hard, soft or multi, ordinal or not, by query or not, with some documents unknown."""
    kind = kind or draw(st.sampled_from(["hard", "soft", "multi"]))
    c = values or draw(st.integers(1, 4))
    names = list(draw(st.permutations(LABELS))[:c])
    by_query = draw(st.booleans()) if kind != "multi" else False
    keys: list[Any] = [(q, d) for q in queries for d in docs] if by_query else list(docs)
    of: dict[Any, dict[str, float]] = {}
    for number, key in enumerate(keys):
        if number and draw(st.integers(0, 3)) == 0:
            continue
        if kind == "hard":
            of[key] = {draw(st.sampled_from(names)): 1.0}
        elif kind == "multi":
            some = draw(st.sets(st.sampled_from(names), min_size=1))
            of[key] = {v: 1.0 for v in names if v in some}
        else:
            parts = [draw(st.integers(0, 4)) for _ in names]
            total = sum(parts) or 1
            of[key] = {v: p / total for v, p in zip(names, parts, strict=True) if p} or {names[0]: 1.0}
    ordinal = c > 1 and (values is not None or draw(st.booleans()))
    if not ordinal:
        names = sorted({v for shares in of.values() for v in shares})
    return Members(kind, names, ordinal, by_query, of)


@st.composite
def worlds(
    draw: Any,
    *,
    runs: int = 2,
    sampled: bool | None = None,
    grades: tuple[float, ...] = (-1, 0, 0, 0.5, 1, 2, 3),
    ties: bool = True,
    unanswered: bool = False,
    by_kind: str | None = None,
    values: int | None = None,
    most: int = 4,
) -> World:
    """Queries, judged and unjudged documents, one or several runs, memberships and targets."""
    docs = [f"d{i}" for i in range(draw(st.integers(2, 7)))]
    queries = [f"q{i}" for i in range(draw(st.integers(1, most)))]
    qrels = {}
    for q in queries:
        judged = draw(st.lists(st.sampled_from([*docs, "u1", "u2"]), min_size=1, unique=True))
        qrels[q] = {d: float(draw(st.sampled_from(grades))) for d in judged}
    many = draw(st.booleans()) if sampled is None else sampled
    made: dict[str, dict[str, list[Ranking]]] = {}
    for number in range(draw(st.integers(1, runs))):
        run: dict[str, list[Ranking]] = {}
        for q in queries + (["extra"] if draw(st.booleans()) else []):
            if unanswered and q != queries[0] and draw(st.integers(0, 2)) == 0:
                continue
            n = draw(st.integers(2 if q == queries[0] else 1, 4)) if many else 1
            weights = [float(draw(st.integers(1, 3))) for _ in range(n)]
            run[q] = [Ranking(draw(rankings(docs, ties=ties)), str(i + 1), w) for i, w in enumerate(weights)]
        made[f"run{number}"] = run
    world = World(made, qrels)
    world.members = {
        "g": draw(members(queries, [*docs, "u1"], kind=by_kind, values=values)),
        "two": draw(members(queries, [*docs, "u1"], kind="hard", values=2)),
    }
    g = world.members["g"]
    for q in [None, *queries] if draw(st.booleans()) else [None]:
        parts = [draw(st.integers(0, 3)) for _ in g.values]
        if q is None or draw(st.booleans()):
            parts = parts if sum(parts) else [1] * len(parts)
            world.targets.setdefault("g", {})[q] = {v: p / sum(parts) for v, p in zip(g.values, parts, strict=True)}
    for q in queries:
        names = [f"i{i}" for i in range(draw(st.integers(1, 3)))]
        some = st.dictionaries(st.sampled_from([*docs, "u1"]), st.sampled_from([-1.0, 0.0, 1.0, 2.0]), min_size=1)
        world.intents[q] = {i: draw(some) for i in names}
        parts = [draw(st.integers(1, 3)) for _ in names]
        world.intent_shares[q] = {i: p / sum(parts) for i, p in zip(names, parts, strict=True)}
    world.labels = {q: draw(st.sampled_from(["east", "west"])) for q in queries}
    world.unknown = draw(st.sampled_from(["uniform", "drop", "distinct"]))
    world.ties = draw(st.sampled_from(["docno", "file"]))
    world.weight = draw(st.sampled_from(["sampling", "probability", "count"])) if many else "sampling"
    if world.weight == "probability":
        for run in made.values():
            for q, rs in run.items():
                total = sum(r.weight for r in rs)
                run[q] = [Ranking(r.docs, r.sample, r.weight / total) for r in rs]
    return world


def run_frame(run: dict[str, list[Ranking]]) -> pl.DataFrame:
    """A run as a table with samples and weights."""
    rows = [(q, d, s, r.sample, r.weight) for q, rs in run.items() for r in rs for d, s in r.docs]
    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64, "sample": pl.String, "weight": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    several = any(len(rs) > 1 for rs in run.values())
    return frame if several else frame.drop("sample", "weight")


def group_frame(name: str, m: Members) -> pl.DataFrame:
    """An attribute as a long table."""
    rows = [(*(k if m.by_query else ("", k)), name, v, w) for k, shares in m.of.items() for v, w in shares.items()]
    schema = {"query": pl.String, "doc": pl.String, "attribute": pl.String, "value": pl.String, "weight": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = frame if m.by_query else frame.drop("query")
    return frame if m.kind == "soft" else frame.drop("weight")


def load(world: World, **options: Any) -> lm.Collection:
    """The collection through the public interface."""
    targets = [
        (name, v, s, q)
        for name, by_query in world.targets.items()
        for q, shares in by_query.items()
        for v, s in shares.items()
    ]
    schema = {"attribute": pl.String, "value": pl.String, "share": pl.Float64, "query": pl.String}
    judged = [(q, i, d, g) for q, of in world.intents.items() for i, docs in of.items() for d, g in docs.items()]
    shares = [(q, i, p) for q, of in world.intent_shares.items() for i, p in of.items()]
    if judged:
        options["intents"] = pl.DataFrame(judged, schema=["query", "intent", "doc", "grade"], orient="row")
        probabilities = pl.DataFrame(shares, schema=["query", "intent", "probability"], orient="row")
        options["intent_probabilities"] = probabilities
    if world.labels:
        options["queries"] = pl.DataFrame({"query": list(world.labels), "label": list(world.labels.values())})
        options["segment"] = "label"
    return lm.load(
        run={name: run_frame(run) for name, run in world.runs.items()},
        qrels=pl.DataFrame(
            [(q, d, g) for q, grades in world.qrels.items() for d, g in grades.items()],
            schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64},
            orient="row",
        ),
        groups=[group_frame(name, m) for name, m in world.members.items()] or None,
        targets=pl.DataFrame(targets, schema=schema, orient="row") if targets else None,
        ordinal={name: m.values for name, m in world.members.items() if m.ordinal},
        **options,
    )


def call(world: World, measures: Any, collection: lm.Collection | None = None, **options: Any) -> lm.Result:
    """Evaluate under the world's conventions."""
    several = any(len(rs) > 1 for run in world.runs.values() for rs in run.values())
    policy = lm.Samples(weight=world.weight, ties=world.ties) if several else lm.Static(ties=world.ties)  # type: ignore[arg-type]
    return lm.evaluate(collection or load(world), measures, **{"policy": policy, "unknown": world.unknown, **options})


# ---------------------------------------------------------------- terms

PROBABILITY = st.sampled_from([0.0, 0.25, 0.5, 0.8, 0.99])
CUTOFF = st.none() | st.integers(1, 8)


def users(*, document: bool = True, falling: bool = False) -> st.SearchStrategy[Any]:
    """Any user model."""
    weights = st.lists(st.integers(0, 4).map(lambda i: i / 4), min_size=1, max_size=6).filter(any)
    weights = weights.map(lambda w: sorted(w, reverse=True)) if falling else weights
    plain = [
        st.builds(lm.RBP, p=PROBABILITY),
        st.builds(lm.DCG, clip=st.booleans(), base=st.sampled_from([2.0, 4.0, 10.0])),
        st.builds(lm.TopK, k=st.integers(1, 6)),
        st.just(lm.Inverse()),
        st.builds(lm.Attention, weights=weights),
    ]
    by_document = [
        st.builds(lm.Cascade, p=st.sampled_from([0.25, 0.5, 0.9, 1.0]), u=st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        st.builds(lm.ERR, max_grade=st.sampled_from([None, 3.0, 4.0])),
    ]
    return st.one_of(*plain, *(by_document if document else []))


def divergences(*, ordinal: bool) -> st.SearchStrategy[Any]:
    """Any divergence, the ordinal ones where wanted."""
    nominal = st.sampled_from([lm.JSD(), lm.JSD(base="e"), lm.TV(), lm.SqL2(), lm.KL(eps=0.01)])
    return nominal | st.sampled_from([lm.NMD(), lm.RNOD(), lm.W1()]) if ordinal else nominal


SCOPE = st.sampled_from(["query", "collection"])


def group_targets() -> st.SearchStrategy[Any]:
    """Any target distribution; ``scope='collection'`` only where it cannot fail for want of members."""
    return st.one_of(
        st.sampled_from([None, "uniform", "pool", "relevant", "given"]),
        st.builds(lm.Uniform, values=st.sampled_from(["all", "present"])),
        st.builds(
            lm.Pool,
            of=st.sampled_from(["union", "run", "groups", "run0"]),
            scope=SCOPE,
            depth=st.none() | st.integers(1, 4),
        ),
        st.builds(lm.Relevant, scope=SCOPE),
        st.just(lm.Given()),
    )


def exposure_targets(*, cut: bool) -> st.SearchStrategy[Any]:
    """Any target exposure."""
    ideal = st.builds(lm.Ideal, complete=st.booleans())
    return (
        ideal
        if cut
        else ideal | st.just(lm.Equal()) | st.builds(lm.Proportional, power=st.sampled_from([0.0, 1.0, 2.0]))
    )


@st.composite
def expected(draw: Any, kind: Any = None) -> Any:
    """EED, EER or EEL with random parameters."""
    cutoff = draw(CUTOFF)
    user = draw(users())
    cut = cutoff is not None and user.by_document
    return (kind or draw(st.sampled_from([lm.EED, lm.EER, lm.EEL])))(
        user=user,
        target=draw(exposure_targets(cut=cut)),
        by=draw(st.sampled_from([None, None, "g", "two"])),
        docs=draw(st.sampled_from(["relevant", "all"])),
        estimator=draw(st.sampled_from(["unbiased", "plugin"])),
        cutoff=cutoff,
    )


@st.composite
def normalised(draw: Any, kind: Any = None) -> Any:
    """nEED, nEER or nEEL with random parameters that have bounds."""
    kind = kind or draw(st.sampled_from([lm.nEED, lm.nEED, lm.nEER, lm.nEEL]))
    by = draw(st.sampled_from([None, None, "two"])) if kind is lm.nEED else None
    user, cutoff = draw(users(document=by is None)), draw(CUTOFF)
    complete = draw(st.booleans())
    unbounded = isinstance(user, lm.DCG | lm.ERR) or (isinstance(user, lm.Cascade) and user.p == 1.0)
    if not complete and by is None and unbounded and kind is not lm.nEER:
        cutoff = draw(st.integers(1, 8))
    return kind(
        user=user,
        target=lm.Ideal(complete=complete),
        by=by,
        docs=draw(st.sampled_from(["relevant", "all"] if complete else ["relevant"])),
        estimator=draw(st.sampled_from(["unbiased", "plugin"])),
        cutoff=cutoff,
    )


def feasible(world: World, target: Any, by: str) -> bool:
    """Whether a target for the whole collection has members; without any it is refused."""
    if not isinstance(target, lm.Pool | lm.Relevant) or (
        target.scope == "query" and getattr(target, "of", "") != "groups"
    ):
        return True
    return all(group_target(world, target, by, run, q) is not None for run in world.runs for q in world.queries)


@st.composite
def fair(draw: Any, world: World, kind: Any = None) -> Any:
    """A measure of groups with random parameters that fit the world."""
    kind = kind or draw(st.sampled_from([lm.GF, lm.AWRF, lm.DistrSim, lm.MaxDeviation, lm.DeltaGF, lm.ABR]))
    options: dict[str, Any] = {"by": draw(st.sampled_from(["g", "two"])), "cutoff": draw(CUTOFF)}
    if kind is lm.DeltaGF:
        options |= {"by": "two", "positive": draw(st.sampled_from(world.members["two"].values))}
    if kind in (lm.DistrSim, lm.MaxDeviation):
        options["cutoff"] = draw(st.integers(1, 8))
    members = world.members[options["by"]]
    ordinal = (members.ordinal or len(members.values) <= 2) and world.unknown != "distinct"
    if kind in (lm.GF, lm.AWRF, lm.DistrSim, lm.DeltaGF):
        options["div"] = draw(divergences(ordinal=ordinal))
    if kind in (lm.GF, lm.DeltaGF):
        options["user"] = draw(users(falling=True))
    if kind in (lm.AWRF, lm.ABR):
        options["user"] = draw(users())
    if kind in (lm.GF, lm.AWRF, lm.DistrSim, lm.MaxDeviation):
        target = draw(group_targets())
        given = target == "given" or isinstance(target, lm.Given)
        nothing = (given and options["by"] not in world.targets) or not feasible(world, target, options["by"])
        options["target"] = None if nothing else target
    return kind(**options)


@st.composite
def relevances(draw: Any, kind: Any = None) -> Any:
    """A relevance measure with random parameters."""
    kind = kind or draw(
        st.sampled_from([lm.P, lm.R, lm.AP, lm.RR, lm.DCG, lm.nDCG, lm.RBP, lm.ERR, lm.iRBU, lm.gERR, lm.Judged])
    )
    options: dict[str, Any] = {"cutoff": draw(st.integers(1, 8) if kind is lm.P else CUTOFF)}
    if kind in (lm.P, lm.R, lm.AP, lm.RR):
        options["rel"] = draw(st.integers(1, 3))
    if kind is lm.RBP:
        options["rel"] = draw(st.none() | st.integers(1, 3))
    if kind in (lm.P, lm.R, lm.AP, lm.RR, lm.nDCG):
        options["judged_only"] = draw(st.booleans())
    if kind in (lm.DCG, lm.nDCG):
        options["dcg"] = draw(st.sampled_from(["log2", "exp-log2"]))
    if kind is lm.nDCG:
        options["gains"] = draw(st.sampled_from([None, None, {1: 1, 2: 3}, {3: 7}]))
    if kind is lm.DCG:
        options |= {"clip": draw(st.booleans()), "base": draw(st.sampled_from([2.0, 10.0]))}
    if kind in (lm.RBP, lm.iRBU, lm.gERR):
        options["p"] = draw(PROBABILITY)
    if kind is lm.gERR:
        options["u"] = draw(PROBABILITY)
    if kind in (lm.ERR, lm.iRBU):
        options["max_grade"] = draw(st.sampled_from([None, 3.0, 4.0]))
    return kind(**options)


@st.composite
def shares_of_exposure(draw: Any, world: World, kind: Any = None) -> Any:
    """A measure of how exposure is shared out, with random parameters that fit the world."""
    pairs = [lm.ExposureRatio, lm.ExposureGap, lm.DTR, lm.DIR, lm.logDP, lm.logEUR, lm.logRUR]
    kind = kind or draw(st.sampled_from([*pairs, lm.IAA, lm.GeneralizedEntropy, lm.Gini, lm.Entropy]))
    options: dict[str, Any] = {"user": draw(users()), "cutoff": draw(CUTOFF)}
    if kind in pairs:
        options |= {"by": draw(st.sampled_from(["g", "two"])), "min_size": draw(st.sampled_from([0, 0, 1, 2.5]))}
        values = world.members[options["by"]].values
        if len(values) > 1 and draw(st.booleans()):
            options["value"], options["reference"] = draw(st.permutations(values))[:2]
    if kind is lm.IAA:
        options["by"] = draw(st.sampled_from([None, "g", "two"]))
    else:
        options["docs"] = draw(st.sampled_from(["ranked", "all", "relevant"]))
    if kind is lm.GeneralizedEntropy:
        options["alpha"] = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]))
    return kind(**options)


@st.composite
def intent_aware(draw: Any, kind: Any = None) -> Any:
    """An intent-aware measure with random parameters."""
    kinds = [lm.alpha_nDCG, lm.ERR_IA, lm.RBP_IA, lm.StRecall, lm.D_nDCG, lm.Dsharp_nDCG]
    kind = kind or draw(st.sampled_from(kinds))
    options: dict[str, Any] = {"cutoff": draw(CUTOFF), "judged_only": draw(st.booleans())}
    if kind in (lm.alpha_nDCG, lm.ERR_IA, lm.StRecall):
        options["rel"] = draw(st.integers(1, 2))
    if kind is lm.alpha_nDCG:
        options["alpha"] = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    if kind is lm.ERR_IA:
        options["max_grade"] = draw(st.sampled_from([None, 2.0, 4.0]))
    if kind is lm.RBP_IA:
        options |= {"p": draw(PROBABILITY), "rel": draw(st.none() | st.integers(1, 2))}
    if kind in (lm.D_nDCG, lm.Dsharp_nDCG):
        options["dcg"] = draw(st.sampled_from(["log2", "exp-log2"]))
    if kind is lm.Dsharp_nDCG:
        options["gamma"] = draw(st.sampled_from([0.0, 0.5, 0.75]))
    return kind(**options)


@st.composite
def multisided(draw: Any, world: World) -> Any:
    """A JME measure with random parameters that fit the world."""
    kind = draw(st.sampled_from([lm.JME_II, lm.JME_IG, lm.JME_GI, lm.JME_GG, lm.JME_AI, lm.JME_AG]))
    user = draw(users())
    target = lm.Ideal(complete=draw(st.booleans()))
    options: dict[str, Any] = {
        "user": user,
        "cutoff": draw(CUTOFF),
        "target": target if user.by_document else draw(st.sampled_from([target, lm.Equal()])),
        "part": draw(st.sampled_from(["F", "D", "R"])),
        "collection": draw(st.sampled_from([None, None, 0.25])),
    }
    if kind in (lm.JME_IG, lm.JME_GG, lm.JME_AG):
        options["by"] = draw(st.sampled_from([n for n, m in world.members.items() if not m.by_query] or ["none"]))
        if options["by"] == "none":
            return lm.JME_II(**{k: v for k, v in options.items() if k != "by"})
    return kind(**options)
