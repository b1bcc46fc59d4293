"""Target distributions and memberships: unknown documents, several values, many values."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.reference import Members, Ranking, World, evaluate

import lightmeter as lm
from lightmeter.data.rankings import Ranked
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.group_targets import distribution

RUN = {"one": {"q": ["a", "b", "c"], "r": ["c", "d"]}, "two": {"q": ["d", "a"], "r": ["a"]}}
QRELS = {"q": {"a": 2, "b": 0, "z": 1}, "r": {"c": 1, "d": 1}}
GROUPS = {"g": {"a": "x", "b": "x", "c": "y", "z": "w", "n": "y"}}  # d is unknown, w and n are never ranked


def load(**options: Any) -> lm.Collection:
    return lm.load(run=RUN, qrels=QRELS, groups=GROUPS, **options)


def distances(target: Any, c: lm.Collection | None = None, **options: Any) -> dict[str, list[float]]:
    """Total variation of the first document's group (q: x in one; r: y in one) from the target."""
    r = lm.evaluate(c or load(), [lm.DistrSim(by="g", div=lm.TV(), target=target, cutoff=1)], **options)
    return {cell.run: (1 - cell.values.value).tolist() for cell in r.cells}


# the values are w, x, y; TV of one value alone from the target is 1 minus the target's share of it
@pytest.mark.parametrize(
    ("target", "q", "r"),
    [
        ("uniform", 1 / 3, 1 / 3),
        (lm.Uniform(values="all"), 1 / 3, 1 / 3),
        # q: a, b are x, c is y; r: c is y, a is x
        (lm.Uniform(values="present"), 1 / 2, 1 / 2),
        ("pool", 2 / 3, 1 / 2),
        (lm.Pool(of="union"), 2 / 3, 1 / 2),
        (lm.Pool(of="run"), 2 / 3, 1),
        (lm.Pool(of="one"), 2 / 3, 1),
        (lm.Pool(of="two"), 1, 0),
        (lm.Pool(depth=1), 1, 1 / 2),
        # a, b, c of q and a, c of r
        (lm.Pool(scope="collection"), 3 / 5, 2 / 5),
        (lm.Pool(of="one", scope="collection"), 1 / 2, 1 / 2),
        (lm.Pool(of="groups"), 2 / 5, 2 / 5),
        # a is x and z is w; c is y, d unknown
        ("relevant", 1 / 2, 1),
        (lm.Relevant(scope="collection"), 1 / 3, 1 / 3),
    ],
    ids=str,
)
def test_targets(target: Any, q: float, r: float) -> None:
    assert distances(target)["one"] == pytest.approx([1 - q, 1 - r])


def test_the_target_of_each_run() -> None:
    assert distances(lm.Pool(of="run"), unknown="drop")["two"][1] == pytest.approx(0)  # its pool of r is a alone
    assert distances(lm.Pool(of="union"), unknown="drop")["two"][1] == pytest.approx(1 / 2)


def test_given() -> None:
    targets = pl.DataFrame(
        {
            "attribute": ["g"] * 5,
            "value": ["w", "x", "y", "x", "y"],
            "share": [0.5, 0.25, 0.25, 0.1, 0.9],
            "query": [None, None, None, "r", "r"],
        }
    )
    c = load(targets=targets)
    assert distances(None, c)["one"] == pytest.approx([0.75, 0.1])
    assert distances("given", c)["one"] == distances(lm.Given(), c)["one"] == distances(None, c)["one"]
    assert distances("uniform", c)["one"] == pytest.approx([2 / 3, 2 / 3])
    # only for one query: the others have none
    some = load(targets=targets.filter(pl.col("query") == "r"))
    r = lm.evaluate(some, [lm.GF(by="g")]).cells[0].values
    assert np.isnan(r.value).tolist() == [True, False]
    assert r.reasons().tolist() == ["no_target", None]


def test_given_as_it_stands() -> None:
    """Shares are used as given, never rescaled."""
    c = load(targets={"g": {"w": 0.0, "x": 0.9995, "y": 0.0}})
    assert distances(None, c)["one"][0] == pytest.approx(0.0005 / 2)


def test_targets_that_cannot_be() -> None:
    c = load()
    with pytest.raises(lm.LightmeterError, match="no target distribution is given for 'g'"):
        distances("given", c)
    with pytest.raises(lm.LightmeterError, match="names the value 'v', which no document has"):
        distances("given", load(targets={"g": {"v": 1.0}}))
    with pytest.raises(lm.LightmeterError, match=r"names no run of this call. Did you mean 'one'"):
        distances(lm.Pool(of="onne"), c)
    with pytest.raises(lm.LightmeterError, match="target of exposure"):
        distances(lm.Ideal(), c)
    with pytest.raises(lm.LightmeterError, match="needs judgments"):
        lm.evaluate(lm.load(run=RUN, groups=GROUPS), [lm.AWRF(by="g", target="relevant")])
    with pytest.raises(lm.LightmeterError, match="no document of the pool"):
        lm.evaluate(lm.load(run={"q": ["k"]}, groups=GROUPS), [lm.AWRF(by="g", target=lm.Pool(scope="collection"))])


def test_reasons() -> None:
    """No known member, no relevant document: undefined, and it says why."""
    c = lm.load(
        run={"q": ["d"], "r": ["a"], "s": ["a"]}, qrels={"q": {"d": 1}, "r": {"a": 0}, "s": {"a": 1}}, groups=GROUPS
    )
    r = lm.evaluate(
        c,
        [lm.AWRF(by="g", target="relevant"), lm.AWRF(by="g", target="pool"), lm.AWRF(by="g"), lm.ABR(by="g")],
        unknown="drop",
    )
    assert [x.values.reasons().tolist() for x in r.cells] == [
        ["no_known_member", "no_relevant", None],
        ["no_known_member", None, None],
        ["no_known_member", None, None],
        ["no_known_member", "empty_group", "empty_group"],
    ]
    # a target share of 0 under KL
    c = lm.load(run={"q": ["a"]}, groups=GROUPS, targets={"g": {"y": 1.0}})
    assert lm.evaluate(c, [lm.AWRF(by="g", div=lm.KL())]).cells[0].values.reasons().tolist() == ["zero_target_share"]


@pytest.mark.parametrize(("unknown", "share"), [("uniform", (1 + 1 / 3) / 2), ("drop", 1.0), ("distinct", 0.5)])
def test_unknown(unknown: Any, share: float) -> None:
    """d and then a: what share x has of the two."""
    c = lm.load(run={"q": ["d", "a"]}, groups=GROUPS, targets={"g": {"x": 1.0}})
    assert distances(None, c, unknown=unknown)["run"][0] == pytest.approx(
        {"uniform": float("nan"), "drop": float("nan"), "distinct": 1.0}[unknown], nan_ok=True
    )
    value = lm.evaluate(c, [lm.DistrSim(by="g", div=lm.TV(), cutoff=2)], unknown=unknown).cells[0].values.value[0]
    assert value == pytest.approx(share)


def test_unknown_keeps_its_rank() -> None:
    """Dropped, it belongs to no group, and still takes attention: RBP .5 stops at rank 2 with 1/4."""
    c = lm.load(run={"q": ["d", "a"]}, groups=GROUPS, targets={"g": {"x": 1.0}})
    assert lm.evaluate(c, [lm.GF(by="g", user=lm.RBP(p=0.5))], unknown="drop").cells[0].values.value[0] == 0.25
    r = lm.evaluate(c, [lm.GF(by="g", user=lm.RBP(p=0.5))])
    assert r.manifest["unknown"]["g"]["run"]["documents"] == 0.5
    assert r.manifest["unknown"]["g"]["run"]["exposure"] == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert "50.0% of documents" in r.conventions["unknown g"]


def test_unknown_refused() -> None:
    with pytest.raises(lm.LightmeterError, match="run one: 1 documents have no known g, the first is 'd'"):
        lm.evaluate(load(), [lm.AWRF(by="g")], unknown="error")
    known = lm.load(run={"q": ["a", "b"]}, groups=GROUPS)
    assert lm.evaluate(known, [lm.AWRF(by="g")], unknown="error").cells[0].values.value[0] > 0


def test_several_values() -> None:
    """Distributions split a document equally over its values; exposure counts it fully in each."""
    c = lm.load(
        run={"q": ["a", "b"]},
        qrels={"q": {"a": 1, "b": 1}},
        groups={"g": {"a": ["x", "y"], "b": "x"}},
        targets={"g": {"x": 1.0, "y": 0.0}},
    )
    measures = [
        lm.DistrSim(by="g", div=lm.SqL2(), cutoff=2),
        lm.EED(user=lm.RBP(p=0.5), by="g"),
        lm.Count(by="g"),
        lm.Share(by="g"),
    ]
    r = lm.evaluate(c, measures)
    assert [x.values.value[0] for x in r.cells] == [1 - 2 * 0.25**2, 1.5**2 + 1, 2, 1, 0, 0.75, 0.25, 0]


def test_many_values() -> None:
    """A nominal attribute of thousands of values: time and memory follow the rows, not rows times values."""
    queries, depth, values = 60, 50, 3000
    rng = np.random.default_rng(3)
    docs = [f"d{i}" for i in range(queries * depth)]
    value = rng.integers(0, values, len(docs))
    run = pl.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(queries)], depth),
            "doc": docs,
            "score": np.tile(-np.arange(depth, dtype=float), queries),
        }
    )
    c = lm.load(run=run, groups={"g": {d: f"v{v:04}" for d, v in zip(docs, value, strict=True)}})
    assert len(c.attribute("g").values) > 1500
    measures = [lm.GF(by="g", user=lm.RBP(p=0.9), target="pool"), lm.AWRF(by="g", target="pool"), lm.ABR(by="g")]
    tracemalloc.start()
    start = time.perf_counter()
    try:
        r = lm.evaluate(c, measures, unknown="drop")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # dense, the prefixes alone would be 60 x 50 x 1900 numbers, 45 MB
    assert peak < 40e6
    assert time.perf_counter() - start < 10
    # one query by hand: prefixes against the pool of its own 50 documents
    mine = [f"v{v:04}" for v in value[:depth]]
    target = {v: mine.count(v) / depth for v in mine}
    total = 0.0
    for k in range(1, depth + 1):
        p = np.array([mine[:k].count(v) / k for v in target])
        total += 0.9 ** (k - 1) * 0.1 * (1 - float(lm.JSD().value(p, np.array(list(target.values())))))
    assert r.cells[0].values.value[0] == pytest.approx(total)


def test_distinct_values_are_the_documents_own() -> None:
    """Unknown documents are values of their own: the same in two runs, in the pool, and in group exposure."""
    c = lm.load(run={"one": {"q": ["d", "a"]}, "two": {"q": ["d", "e"]}}, qrels={"q": {"d": 1, "a": 1}}, groups=GROUPS)
    r = lm.evaluate(
        c,
        [
            lm.DistrSim(by="g", div=lm.TV(), target="pool", cutoff=2),
            lm.EED(user=lm.RBP(p=0.5), by="g", docs="all"),
            lm.EER(user=lm.RBP(p=0.5), by="g"),
        ],
        unknown="distinct",
    )
    assert [x.values.value[0] for x in r.cells] == [
        pytest.approx(2 / 3),
        1.25,
        0.75 + 0.375,
        pytest.approx(2 / 3),
        1.25,
        0.75,
    ]


def test_columns_are_those_that_occur() -> None:
    """Of many nominal values only those of the ranking and its target get a column."""
    docs = [f"d{i:03}" for i in range(200)]
    groups = {"g": {d: f"v{d}" for d in docs}}
    c = lm.load(run={"q": docs[:3], "r": docs[10:12]}, groups=groups)
    run = c.runs["run"]
    ranked, _ = Ranked.of(c, run, "file")
    context = Context(c, {"run": ranked}, unknown="drop")
    block = Block(context, ranked, np.arange(2))
    goal = distribution(context, lm.Pool(of="run", depth=2), "g", "run")
    columns = block.membership("g").columns(goal, block.query)
    assert columns.width == 3
    assert columns.total(np.ones((2, 3))).sum(axis=1).tolist() == [3, 2]
    assert columns.q.sum(axis=1).tolist() == [1, 1]


def test_by_group() -> None:
    """Counts, shares and mean scores by group: soft members count by their weight, several values in each or split."""
    soft = pl.DataFrame(
        [("a", "s", "x", 0.25), ("a", "s", "y", 0.75), ("b", "s", "x", 1.0)],
        schema=["doc", "attribute", "value", "weight"],
        orient="row",
    )
    c = lm.load(run={"q": {"a": 4.0, "b": 2.0, "u": 1.0}}, groups=[soft, {"m": {"a": ["x", "y"], "b": "x"}}])
    r = lm.evaluate(c, [m(by=by) for by in ("s", "m") for m in (lm.Count, lm.Share, lm.MeanScore)])
    found = [float(x.values.value[0]) for x in r.cells]
    assert found == pytest.approx(
        [
            *(1.25, 0.75, 1, 1.25 / 3, 0.75 / 3, 1 / 3, (0.25 * 4 + 2) / 1.25, 4, 1),
            *(2, 1, 1, 1.5 / 3, 0.5 / 3, 1 / 3, (0.5 * 4 + 2) / 1.5, 4, 1),
        ]
    )
    cut = lm.evaluate(c, [lm.Share(by="s", cutoff=1), lm.MeanScore(by="s", cutoff=1), lm.Share(by="s", cutoff=9)])
    found = [float(x.values.value[0]) for x in cut.cells]
    assert found == pytest.approx([0.25, 0.75, 0, 4, 4, np.nan, 1.25 / 3, 0.25, 1 / 3], nan_ok=True)
    assert cut.cells[5].values.reasons().tolist() == ["empty_group"]


@pytest.mark.parametrize("unknown", ["uniform", "drop"])
@pytest.mark.parametrize("cube", [1, 100, 1 << 30])
def test_deep_rankings(unknown: Any, cube: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefixes go on from piece to piece of a deep ranking, whatever the size of the pieces."""
    rng = np.random.default_rng(11)
    docs = [f"d{i}" for i in range(70)]
    groups = {d: str(rng.choice(["x", "y", "z"])) for d in docs[::2]}
    world = World(
        {"run": {q: [Ranking([(d, -float(i)) for i, d in enumerate(docs[:n])])] for q, n in (("q", 70), ("r", 33))}},
        {"q": {"d0": 1.0}, "r": {"d0": 1.0}},
        {"g": Members("hard", ["x", "y", "z"], False, False, {d: {v: 1.0} for d, v in groups.items()})},
        unknown=unknown,
    )
    monkeypatch.setattr("lightmeter.data.membership.CUBE", cube)
    runs = {q: [d for d, _ in rankings[0].docs] for q, rankings in world.runs["run"].items()}
    c = lm.load(run=runs, qrels=world.qrels, groups={"g": groups})
    for m in (lm.GF(by="g", user=lm.RBP(p=0.99)), lm.GF(by="g", user=lm.Inverse(), cutoff=40)):
        found = lm.evaluate(c, [m], unknown=unknown).cells[0].values.value
        assert found.tolist() == pytest.approx([v for _, v, _ in evaluate(world, m, "run")])
