"""One set of properties for every registered measure, from the traits that it declares.

A measure registered later is covered without a change here, as long as its required parameters are among those of
``FILL``.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.prefix_terms import prefixes
from tests.properties.worlds import (
    call,
    expected,
    fair,
    intent_aware,
    load,
    normalised,
    relevances,
    share,
    shares_of_exposure,
    worlds,
)
from tests.reference import Members, Ranking, World

import lightmeter as lm
from lightmeter.measures.attention import ByGroup
from lightmeter.measures.base import Measure
from lightmeter.measures.relevance import RelevanceMeasure
from lightmeter.terms.registry import registered

Table = dict[tuple[str, str, str | None, str], float]


def fill(world: World | None) -> dict[str, Any]:
    """What required parameters are given, by their name."""
    positive = world.members["two"].values[0] if world else "f"
    return {
        "by": "two",
        "positive": positive,
        "value": positive,
        "protected": positive,
        "p": 0.5,
        "u": 0.5,
        "k": 3,
        "alpha": 0.1,
        "attribute": "two",
        "of": (lm.ERR(), lm.GF(by="two"), lm.nDCG()),
    }


def ours() -> dict[str, type[Measure]]:
    """The registered measures of lightmeter itself."""
    return {n: c for n, c in registered("measure").items() if c.__module__.startswith("lightmeter.")}


def examples(world: World | None) -> list[Any]:
    """Every registered measure, with and without a cutoff where it can be without."""
    out = []
    for cls in ours().values():
        needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
        one = cls(**{name: fill(world)[name] for name in needed})
        out += [one @ 2] if one.needs_cutoff else [one, one @ 2]
        if hasattr(one, "amortised"):
            out.append(one(amortised=True))
        if "by" in needed and not {"positive", "value", "protected"} & set(needed):
            out.append(one(by="g", cutoff=3))
    if world is not None:  # JME wants memberships that are the same for all users
        strange = {name for name, m in world.members.items() if m.by_query}
        out = [m for m in out if not (type(m).__name__.startswith("JME") and m.attribute in strange)]
    return out


def test_every_measure_has_an_example() -> None:
    known = fill(None)
    for name, cls in ours().items():
        needed = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
        strange = [n for n in needed if n not in known]
        assert not strange, f"{name}: add what tests should give for {strange} to FILL in {__file__}"
        assert set(cls.needs if not isinstance(cls.needs, property) else ()) <= {
            "judgments",
            "groups",
            "scores",
            "samples",
            "intents",
            "segments",
        }


def varied(data: Any, world: World) -> list[Any]:
    """Registered measures, and some with random parameters."""
    some = relevances() | expected() | normalised() | fair(world) | shares_of_exposure(world) | prefixes(world)
    some |= intent_aware()
    part = data.draw(st.integers(0, 3))  # a quarter of them at a time: over the examples all have their turn
    return examples(world)[part::4] + data.draw(st.lists(some, max_size=4))


def table(result: lm.Result) -> Table:
    """Values by run, measure, group and query; of what is reduced over queries the one value of just these queries."""
    out = {
        (c.run, str(c.measure), c.group, q): float(v)
        for c in result.cells
        for q, v in zip(result.queries, c.values.value, strict=True)
    }
    every = " and ".join(sorted(result.queries))
    reduced = [c for c in result.cells if c.across is not None]
    return out | {(c.run, str(c.measure), c.group, f"all: {every}"): result.mean_of(c).value for c in reduced}


def same(a: Table, b: Table, keep: Callable[[Any], bool] = lambda key: True) -> None:
    """The same numbers for the keys that both have."""
    both = [k for k in a if k in b and keep(k)]
    assert both
    for key in both:
        x, y = a[key], b[key]
        assert (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9), (
            f"{key}: {x} is not {y}"
        )


def changed(world: World, **parts: Any) -> World:
    return dataclasses.replace(world, **parts)


def each_ranking(world: World, change: Callable[[str, Ranking], Ranking]) -> World:
    """The world with every ranking changed."""
    return changed(
        world, runs={n: {q: [change(q, r) for r in rs] for q, rs in run.items()} for n, run in world.runs.items()}
    )


def invariant(trait: str, measures: list[Any]) -> set[str]:
    return {str(m) for m in measures if trait in m.invariant_to}


# ---------------------------------------------------------------- values


@given(st.data())
@share(0.4)
def test_bounds_and_reasons(data: Any) -> None:
    """Defined values lie within the bounds; an undefined one says why; nothing is infinite."""
    world = data.draw(worlds(unanswered=True))
    result = call(world, varied(data, world))
    for cell in result.cells:
        low, high = cell.measure.bounds
        value, reasons = cell.values.value, cell.values.reasons()
        here = result.answered[cell.run]
        assert not np.isinf(value).any()
        assert all(isinstance(r, str) for r in reasons[np.isnan(value)]), f"{cell.measure}: undefined without a reason"
        good = ~np.isnan(value) & here  # what is not answered may be worth less than any ranking
        assert (value[good] >= low - 1e-9).all(), f"{cell.measure}: {value} below {low}"
        assert (value[good] <= high + 1e-9).all(), f"{cell.measure}: {value} above {high}"
        if cell.across is not None:
            mean = result.mean_of(cell)
            assert math.isnan(mean.value) or low - 1e-9 <= mean.value <= high + 1e-9, f"{cell.measure}: {mean}"
            assert not math.isnan(mean.value) or mean.reason is not None, f"{cell.measure}: undefined without a reason"
        assert set(reasons[~here]) <= {"not_in_run"}


@given(st.data())
@share(0.3)
def test_unanswered_never_improves(data: Any) -> None:
    """A query taken out of a run is worth no more than it was, and says ``not_in_run``."""
    world = data.draw(worlds(runs=1, most=3))
    gone = data.draw(st.sampled_from(world.queries))
    whole = world.runs["run0"]
    # another run keeps the candidates and the pooled targets as they are
    both = changed(world, runs={"run0": whole, "run1": whole})
    less = changed(world, runs={"run0": {q: r for q, r in whole.items() if q != gone}, "run1": whole})
    if not less.runs["run0"].keys() & world.qrels.keys():
        return
    measures = varied(data, world)
    before, after = call(both, measures), call(less, measures)
    at, there = before.queries.index(gone), after.queries.index(gone)
    for a, b in zip(before.cells, after.cells, strict=True):
        if a.run != "run0":
            continue
        was, now = a.values.value[at], b.values.value[there]
        assert b.values.reasons()[there] == "not_in_run", f"{a.measure}: {b.values.reasons()[there]}"
        if a.measure.better == "higher":
            assert np.isnan(now) or now <= 0 or isinstance(a.measure, lm.GFR)
            assert np.isnan(was) or np.isnan(now) or now <= was + 1e-9, f"{a.measure}: {now} beats {was}"
        elif a.measure.better == "lower":
            assert np.isnan(was) or np.isnan(now) or now >= was - 1e-9, f"{a.measure}: {now} beats {was}"
        else:
            assert np.isnan(now)


@given(st.data())
@share(0.25)
def test_alone_is_among_others(data: Any) -> None:
    """The value of a measure does not depend on what else is asked for."""
    world = data.draw(worlds())
    measures = varied(data, world)
    collection = load(world)
    together = table(call(world, measures, collection))
    some = data.draw(st.lists(st.sampled_from(measures), min_size=4, max_size=8))
    for measure in some:
        same(table(call(world, [measure], collection)), together)


@given(st.data())
@share(0.25)
def test_query_alone_is_among_many(data: Any) -> None:
    """A query has the value it has without the others (the highest grade being the same)."""
    world = data.draw(worlds())
    world = changed(world, qrels={q: {**g, "u2": 3.0} for q, g in world.qrels.items()})
    # targets for the whole collection look at the other queries, and JME at all documents that any query has
    measures = [m for m in varied(data, world) if "scope='collection'" not in str(m) and "JME" not in str(m)]
    everything = table(call(world, measures))
    for query in world.queries:
        runs = {n: {query: run[query]} for n, run in world.runs.items() if query in run}
        if runs.keys() == world.runs.keys() and any(len(rs) > 1 for r in runs.values() for rs in r.values()) in (
            any(len(rs) > 1 for r in world.runs.values() for rs in r.values()),
        ):
            known = {n: m for n, m in world.members.items() if not m.by_query or any(k[0] == query for k in m.of)}
            if known.keys() == world.members.keys():
                one = changed(world, runs=runs, qrels={query: world.qrels[query]}, members=only(world.members, query))
                if all(one.members[n].values == world.members[n].values for n in known):
                    same(table(call(one, measures)), everything)


def only(members: dict[str, Members], query: str) -> dict[str, Members]:
    """Memberships of one query; nominal values are those that are left."""
    out = {}
    for name, m in members.items():
        of = {k: v for k, v in m.of.items() if not m.by_query or k[0] == query}
        values = m.values if m.ordinal else sorted({v for shares in of.values() for v in shares})
        out[name] = dataclasses.replace(m, of=of, values=values)
    return out


# ---------------------------------------------------------------- invariance


@given(st.data())
@share(0.25)
def test_query_order(data: Any) -> None:
    world = data.draw(worlds())
    order = data.draw(st.permutations([*world.queries, "extra"]))
    runs = {n: {q: run[q] for q in order if q in run} for n, run in world.runs.items()}
    turned = changed(world, runs=runs, qrels={q: world.qrels[q] for q in order if q in world.qrels})
    measures = varied(data, world)
    kept = invariant("query_order", measures)
    same(table(call(world, measures)), table(call(turned, measures)), lambda key: key[1] in kept)


@given(st.data())
@share(0.25)
def test_scores(data: Any) -> None:
    """Any increasing transform of the scores."""
    world = data.draw(worlds())
    transform = data.draw(st.sampled_from([lambda s: 3 * s - 7, math.exp, lambda s: s**3, lambda s: 1e9 + s]))
    other = each_ranking(world, lambda q, r: dataclasses.replace(r, docs=[(d, transform(s)) for d, s in r.docs]))
    measures = varied(data, world)
    kept = invariant("scores", measures)
    same(table(call(world, measures)), table(call(other, measures)), lambda key: key[1] in kept)


@given(st.data())
@share(0.25)
def test_below_the_cutoff(data: Any) -> None:
    """The order of documents below the cutoff does not count."""
    world = data.draw(worlds(ties=False))
    depth = data.draw(st.integers(1, 4))

    def shuffle(q: str, r: Ranking) -> Ranking:
        docs = [d for d, _ in r.docs]
        docs = docs[:depth] + data.draw(st.permutations(docs[depth:]))
        return dataclasses.replace(r, docs=[(d, float(len(docs) - i)) for i, d in enumerate(docs)])

    # a pooled target of some depth looks below the cutoff
    measures = [m(cutoff=depth) for m in varied(data, world) if "depth=" not in str(m)] if True else []
    measures = [m for m in measures if not unfit(m)]
    kept = invariant("below_cutoff", measures)
    same(table(call(world, measures)), table(call(each_ranking(world, shuffle), measures)), lambda key: key[1] in kept)


def unfit(m: Any) -> bool:
    """Whether a measure with a cutoff has a target without a form for it."""
    user = getattr(m, "user", None)
    return getattr(user, "by_document", False) and isinstance(getattr(m, "target", None), lm.Equal | lm.Proportional)


@given(st.data())
@share(0.25)
def test_nonrelevant_tail(data: Any) -> None:
    """More documents of grade 0 or unjudged at the end of every ranking."""
    world = data.draw(worlds(grades=(0, 1, 2)))
    tail = data.draw(st.lists(st.sampled_from(["n1", "n2", "n3"]), min_size=1, unique=True))
    if data.draw(st.booleans()):
        world = changed(world, qrels={q: {**g, "n1": 0.0} for q, g in world.qrels.items()})
    other = each_ranking(
        world, lambda q, r: dataclasses.replace(r, docs=r.docs + [(d, -10.0 - i) for i, d in enumerate(tail)])
    )
    measures = varied(data, world)
    kept = invariant("nonrelevant_tail", measures)
    same(table(call(world, measures)), table(call(other, measures)), lambda key: key[1] in kept)


@given(st.data())
@share(0.25)
def test_groups_and_grades(data: Any) -> None:
    """Measures that do not look at groups, or grades, have the same values with others."""
    world = data.draw(worlds(runs=1))
    measures = varied(data, world)
    before = table(call(world, measures))
    kept = invariant("groups", measures)
    plain = [m for m in measures if str(m) in kept]
    same(before, table(call(world, plain, load(changed(world, members={}, targets={})))))
    kept = invariant("grades", measures)
    other = changed(world, qrels={q: dict.fromkeys(g, 2.0) for q, g in world.qrels.items()})
    same(before, table(call(other, measures)), lambda key: key[1] in kept)


@given(st.data())
@share(0.25)
def test_names_of_documents(data: Any) -> None:
    """Documents renamed consistently, ties in file order."""
    world = changed(data.draw(worlds()), ties="file")
    old = sorted(
        {d for run in world.runs.values() for rs in run.values() for r in rs for d, _ in r.docs}
        | {"u1", "u2"}
        | {d for g in world.qrels.values() for d in g}
        | {f"d{i}" for i in range(7)}
    )
    new = dict(zip(old, data.draw(st.permutations([f"Ünïcode {i}" for i in range(len(old))])), strict=True))
    other = each_ranking(world, lambda q, r: dataclasses.replace(r, docs=[(new[d], s) for d, s in r.docs]))
    members = {
        n: dataclasses.replace(m, of={((k[0], new[k[1]]) if m.by_query else new[k]): v for k, v in m.of.items()})
        for n, m in world.members.items()
    }
    other = changed(
        other, qrels={q: {new[d]: g for d, g in gs.items()} for q, gs in world.qrels.items()}, members=members
    )
    other.intents = {
        q: {i: {new[d]: g for d, g in docs.items()} for i, docs in of.items()} for q, of in world.intents.items()
    }
    # its ideal ranking takes the last by id of documents that add the same
    measures = [m for m in varied(data, world) if not isinstance(m, lm.alpha_nDCG)]
    same(table(call(world, measures)), table(call(other, measures)))


@given(st.data())
@share(0.25)
def test_names_of_groups(data: Any) -> None:
    """Groups renamed, ordinal ones in their order."""
    world = data.draw(worlds())
    g = world.members["g"]
    new = dict(zip(g.values, data.draw(st.permutations([f"v{i}" for i in range(len(g.values))])), strict=True))

    def rename(shares: dict[str, float]) -> dict[str, float]:
        return {new[v]: s for v, s in shares.items()}

    values = [new[v] for v in g.values] if g.ordinal else sorted(new.values())
    renamed = dataclasses.replace(g, values=values, of={k: rename(v) for k, v in g.of.items()})
    targets = {"g": {q: rename(s) for q, s in world.targets["g"].items()}} if "g" in world.targets else {}
    named = ("positive", "value")
    measures = [m for m in varied(data, world) if m.attribute != "g" or not any(getattr(m, n, None) for n in named)]
    other = table(call(changed(world, members={**world.members, "g": renamed}, targets=targets), measures))
    of_g = {str(m) for m in measures if m.attribute == "g"}
    before = {
        (r, m, new.get(group, group) if m in of_g else group, q): v
        for (r, m, group, q), v in table(call(world, measures)).items()
    }
    same(before, other)


@given(st.data())
@share(0.25)
def test_identical_samples(data: Any) -> None:
    """N equal rankings of a query are worth what one is."""
    world = data.draw(worlds(sampled=False))
    n = data.draw(st.integers(2, 3))
    many = changed(
        world,
        runs={
            name: {
                q: [dataclasses.replace(rs[0], sample=str(i), weight=1.0) for i in range(n)] for q, rs in run.items()
            }
            for name, run in world.runs.items()
        },
    )
    measures = varied(data, world)
    same(table(call(world, measures)), table(call(many, measures)))


# ---------------------------------------------------------------- direction


@given(st.data())
@share(0.25)
def test_better_documents_up(data: Any) -> None:
    """Swapping neighbours so that the better one comes first never lowers a relevance measure, nor EER of a position
    model.
    """
    world = data.draw(worlds(sampled=False, ties=False, runs=1, most=2))
    query = world.queries[0]
    docs = [d for d, _ in world.runs["run0"][query][0].docs]
    at = next((i for i in range(len(docs) - 1) if world.gain(query, docs[i]) < world.gain(query, docs[i + 1])), None)
    if at is None:
        return
    swapped = [*docs[:at], docs[at + 1], docs[at], *docs[at + 2 :]]
    ranking = Ranking([(d, float(len(docs) - i)) for i, d in enumerate(swapped)])
    other = changed(world, runs={"run0": {**world.runs["run0"], query: [ranking]}})
    some = [m for m in examples(world) if isinstance(m, RelevanceMeasure) and "grades" not in m.invariant_to]
    some += data.draw(st.lists(relevances().filter(lambda m: not isinstance(m, lm.Judged)), max_size=4))
    some += [
        lm.EER(user=u, cutoff=k, target=lm.Ideal(complete=c))
        for u in (lm.RBP(p=0.5), lm.DCG(), lm.Inverse())
        for k in (None, 2)
        for c in (True, False)
    ]
    a, b = call(world, some), call(other, some)
    for x, y in zip(a.cells, b.cells, strict=True):
        before, after = x.values.value[0], y.values.value[0]
        assert np.isnan(before) or after >= before - 1e-12, f"{x.measure} falls from {before} to {after}"


@given(st.data())
@share(0.25)
def test_closer_to_the_target(data: Any) -> None:
    """A ranking whose prefixes all equal the target is the best there is, and one value alone against the other the
    worst.
    """
    p = lm.RBP(p=data.draw(st.sampled_from([0.0, 0.5, 0.9])))
    groups = {"two": {"a": "x", "b": "y", "c": "x"}}
    c = lm.load(run={"q": ["a", "c"]}, groups=groups, targets={"two": {"x": 1.0, "y": 0.0}})
    worst = lm.load(run={"q": ["b"]}, groups=groups, targets={"two": {"x": 1.0, "y": 0.0}})
    for measure, best in (
        (lm.GF(by="two", user=p), 1 - p.p**2),
        (lm.AWRF(by="two", user=p), 1.0),
        (lm.DistrSim(by="two", cutoff=2), 1.0),
    ):
        assert lm.evaluate(c, [measure]).cells[0].values.value[0] == pytest.approx(best)
        assert lm.evaluate(worst, [measure]).cells[0].values.value[0] == pytest.approx(0.0, abs=1e-12)


# ---------------------------------------------------------------- blocks


@given(st.data())
@share(0.2)
def test_blocks(data: Any) -> None:
    """However small the blocks, however the values are laid out, the numbers are the same."""
    world = data.draw(worlds())
    measures = varied(data, world)
    collection = load(world)
    usual = table(call(world, measures, collection))
    with pytest.MonkeyPatch.context() as patch:
        modules = [m for n, m in sys.modules.items() if n.startswith("lightmeter.")]
        for name, tiny in (("CELLS", data.draw(st.integers(1, 6))), ("CUBE", data.draw(st.integers(1, 9))), ("FEW", 0)):
            where = [m for m in modules if hasattr(m, name)]
            assert where, f"no module has {name} any more"
            for module in where:
                patch.setattr(module, name, tiny)
        same(usual, table(call(world, measures, collection)))


@given(worlds(), st.data())
@share(0.15)
def test_nothing_changes_the_collection(world: World, data: Any) -> None:
    """The arrays of a collection cannot be written to, and a second evaluation gives the same."""
    collection = load(world)
    measures = examples(world)
    same(table(call(world, measures, collection)), table(call(world, measures, collection)))
    held: list[Any] = [collection.judgments, *collection.runs.values(), *collection.attributes.values()]
    arrays = [
        (type(o).__name__, n, a)
        for o in held
        for n, a in vars(o).items()
        if isinstance(a, np.ndarray) and not n.startswith("_")
    ]
    assert len(arrays) >= 9
    for owner, name, array in arrays:
        assert not array.flags.writeable, f"{owner}.{name} can be written to"


def test_groups_say_so() -> None:
    """Measures with a row for each group have a row for the unknown ones too."""
    c = lm.load(run={"q": {"a": 2, "b": 1, "c": 0}}, groups={"two": {"a": "f", "b": "m"}})
    for cls in ours().values():
        if issubclass(cls, ByGroup):
            groups = [cell.group for cell in lm.evaluate(c, [cls(by="two")]).cells]
            assert groups == ["f", "m", "unknown"]
