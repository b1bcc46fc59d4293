"""Rerankers that make policies: against linear programmes over all matrices, enumeration and certificates."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share
from tests.reranking.worlds import World, exposure_of, rankings, vertices, weights, worlds

import lightmeter as lm
from lightmeter.reranking.amortised import next_ranking
from lightmeter.reranking.mixtures import best_mixtures


def view_of(user: str, n: int, cutoff: int | None = None) -> np.ndarray:
    view = lm.parse(user, kind="user").view_at(np.arange(1.0, n + 1))
    return np.where(np.arange(n) < (cutoff or n), view, 0.0)


def rows_of(constraint: str, group: list[str | None], merit: np.ndarray) -> np.ndarray:
    """Differences of the groups' ratios, one row a pair with the first group, as weights of exposure."""
    each = []
    for v in sorted({g for g in group if g is not None}):
        mine = np.array([g == v for g in group], dtype=float)
        size, worth = mine.sum(), (mine * merit).sum() / mine.sum()
        each.append(
            {"parity": mine / size, "treatment": mine / size / worth, "impact": mine * merit / size / worth}[constraint]
        )
    return np.array([row - each[0] for row in each[1:]]).reshape(-1, len(group))


@pytest.mark.parametrize("constraint", ["parity", "treatment", "impact"])
@given(worlds(most=6), st.sampled_from(["DCG", "RBP(p=0.6)", "TopK(k=2)"]), st.sampled_from([None, 3]))
@share(0.4)
def test_as_the_programme_over_matrices(constraint: str, world: World, user: str, cutoff: int | None) -> None:
    """The relevance of the linear programme over doubly stochastic matrices, whose constraints are met."""
    from scipy.optimize import linprog

    cut = "" if cutoff is None else f"@{cutoff}"
    made = lm.rerank(world.load(), f"FairExposure(by='g', constraint='{constraint}', user={user}){cut}")
    for query, docs in world.run.items():
        n, view = len(docs), view_of(user, len(docs), cutoff)
        merit = np.array([world.score[query][d] for d in docs])
        rows = rows_of(constraint, [world.group.get(d) for d in docs], merit)
        e = exposure_of(made, query, docs, view)
        assert e.sum() == pytest.approx(view.sum())
        met = [np.kron(row, view) for row in rows]
        each = [np.kron(np.eye(n)[i], np.ones(n)) for i in range(n)] + [
            np.kron(np.ones(n), np.eye(n)[i]) for i in range(n)
        ]
        best = linprog(
            -np.kron(merit, view), A_eq=np.array(met + each), b_eq=np.append(np.zeros(len(met)), np.ones(2 * n))
        )
        if best.status == 2:  # no matrix meets them
            assert "no policy meets the constraint" in made.why["run"][query]
            if len(rows) == 1:
                nearest = np.abs(vertices(view) @ rows[0]).min()
                assert abs(rows[0] @ e) == pytest.approx(nearest, abs=1e-9)
        else:
            assert query not in made.why["run"]
            assert np.abs(rows @ e).max(initial=0.0) < 1e-6 * max(np.abs(rows).max(initial=0.0), 1.0)
            assert merit @ e == pytest.approx(-best.fun, rel=1e-6)
        assert len(weights(made)[query]) <= len(rows) + 1
        matrix = np.zeros((n, n))
        for ranking, w in zip(rankings(made)[query], weights(made)[query], strict=True):
            matrix[[docs.index(d) for d in ranking], np.arange(n)] += w
        assert np.allclose(matrix.sum(0), 1)
        assert np.allclose(matrix.sum(1), 1)


def test_many_constraints_of_large_queries() -> None:
    """Four groups of sixty documents: the same optimum for all queries at once and for one at a time."""
    rng = np.random.default_rng(3)
    c, group = rng.gamma(2.0, 1.0, (4, 60)), rng.integers(0, 4, (4, 60))
    rows = np.stack(
        [
            (group == a) / (group == a).sum(1, keepdims=True) - (group == 0) / (group == 0).sum(1, keepdims=True)
            for a in (1, 2, 3)
        ],
        1,
    )
    view = np.tile(1 / np.log2(np.arange(2.0, 62.0)), (4, 1))
    valid = np.ones((4, 60), dtype=bool)
    together = best_mixtures(c, rows, view, valid)
    assert np.abs(np.einsum("qmn,qn->qm", rows, together.exposure)).max() < 1e-7
    for q in range(4):
        alone = best_mixtures(c[[q]], rows[[q]], view[[q]], valid[[q]])
        assert c[q] @ together.exposure[q] == pytest.approx(c[q] @ alone.exposure[0], rel=1e-7)
        # the price of every other ranking: none is worth more than the mixture plus what it moves the constraints by
        assert c[q] @ together.exposure[q] <= np.sort(c[q])[::-1] @ view[q] + 1e-9


def certificate(e: np.ndarray, target: np.ndarray, view: np.ndarray) -> bool:
    """Whether e has the least sum of squares of all policies of its relevance: a multiplier mu >= 0 with
    ``(mu target - e) . (v - e) <= 0`` for every vertex v, which is one interval of mu a vertex.
    """
    low, high = 0.0, np.inf
    for v in vertices(view):
        a, b = float(target @ (v - e)), float(e @ (v - e)) + 1e-9
        if a > 1e-12:
            high = min(high, b / a)
        elif a < -1e-12:
            low = max(low, b / a)
        elif b < 0:
            return False
    return low <= high * (1 + 1e-6) + 1e-6


@given(
    worlds(most=5),
    st.sampled_from(["floor=0.9", "floor=0.7", "floor=1", "cap=0.4", "cap=0", "cap=1"]),
    st.sampled_from(["score", "grade", "worth", "ideal"]),
    st.sampled_from(["DCG", "RBP(p=0.5)"]),
)
@share(0.6)
def test_frontier_points(world: World, asked: str, merit: str, user: str) -> None:
    """The floor or cap is kept, reached, and no policy of that relevance shares out more evenly."""
    made = lm.rerank(world.load(), f"ExposureOptimal({asked}, merit='{merit}', user={user})")
    for query, docs in world.run.items():
        view = view_of(user, len(docs))
        grade = np.array([world.grade[query][d] for d in docs], dtype=float)
        score = np.array([world.score[query][d] for d in docs])
        target = {"score": score, "worth": score + 1, "grade": grade}.get(merit)
        if target is None:  # mean view over the places of each grade; grade 0 has none
            above = (grade[None, :] > grade[:, None]).sum(1)
            alike = (grade[None, :] == grade[:, None]).sum(1)
            target = np.array([view[b : b + m].mean() for b, m in zip(above, alike, strict=True)]) * (grade > 0)
        if not target.max() > 0:
            assert rankings(made)[query] == [docs]
            assert "no document has merit" in made.why["run"][query]
            continue
        assert query not in made.why["run"]
        e = exposure_of(made, query, docs, view)
        assert len(weights(made)[query]) <= len(docs)
        best, uniform = float(np.sort(target) @ np.sort(view)), float(view.mean() * target.sum())
        kind, part = asked.split("=")
        if kind == "floor":
            assert target @ e == pytest.approx(max(float(part) * best, uniform), rel=1e-6)
        else:
            even = view.sum() ** 2 / len(view)
            cap = even + float(part) * ((view**2).sum() - even)
            assert e @ e <= cap + 1e-7
            assert e @ e == pytest.approx(cap, rel=1e-6) or target @ e == pytest.approx(best, rel=1e-6)
        assert certificate(e, target, view)


@given(worlds(most=5))
@share(0.5)
def test_least_loss_without_floor_and_cap(world: World) -> None:
    """EEL of the policy is that of lightmeter's own frontier at scale 1, and never above the one before."""
    made = lm.rerank(world.load(), "ExposureOptimal(user=RBP(p=0.5))")
    before, after = (r.per_query() for r in made.evaluate("EEL(user=RBP(p=0.5))"))
    for b, a, reason in zip(before["value"], after["value"], after["reason"], strict=True):
        assert reason is not None or a <= b + 1e-9


@given(
    st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n)] * 2)),
    st.sampled_from([0.0, 0.6, 0.8, 0.95, 1.0]),
    st.sampled_from(["DCG", "RBP(p=0.5)"]),
)
def test_next_ranking_by_listing(drawn: Any, quality: float, user: str) -> None:
    """The quality is kept, and no ranking of at least the same quality leaves less owed."""
    owed, merit = (np.array(x, dtype=float) for x in drawn)
    if not merit.any():
        merit = merit + 1
    owed = owed / 6 - 0.3
    view = view_of(user, len(owed))
    attention = view / view.sum()
    found = next_ranking(owed, merit, view, attention, quality)
    assert sorted(found.tolist()) == list(range(len(owed)))
    most = float(np.sort(merit) @ np.sort(view))

    def of(order: Any) -> tuple[float, float]:
        return float(np.abs(owed[list(order)] - attention).sum()), float(view @ merit[list(order)]) / most

    unfair, value = of(found)
    assert value >= quality - 1e-9
    for order in itertools.permutations(range(len(owed))):
        other, worth = of(order)
        if worth >= value - 1e-9:
            assert unfair <= other + 1e-9


@given(
    st.integers(2, 4).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n)] * 2)),
    st.floats(0.5, 1.0),
)
def test_no_more_quality_than_the_price_asks_for(drawn: Any, quality: float) -> None:
    """The ranking is the best at the price of quality that is best for the bound, by listing rankings and prices."""
    owed, merit = (np.array(x, dtype=float) for x in drawn)
    merit += not merit.any()
    owed = owed / 9 - 0.3
    view = view_of("DCG", len(owed))
    attention = view / view.sum()
    orders = np.array(list(itertools.permutations(range(len(owed)))))
    unfair = np.abs(owed[orders] - attention).sum(1)
    value = merit[orders] @ view / (np.sort(merit) @ np.sort(view))
    with np.errstate(divide="ignore", invalid="ignore"):
        prices = np.subtract.outer(unfair, unfair) / np.subtract.outer(value, value)
    prices = np.append(0.0, prices[np.isfinite(prices) & (prices > 0) & (prices < 1e6)])
    worth = (unfair[:, None] + prices * (quality - value[:, None])).min(0)
    best = prices[worth.argmax()]
    found = next_ranking(owed, merit, view, attention, quality)
    mine = np.abs(owed[found] - attention).sum() + best * (
        quality - view @ merit[found] / (np.sort(merit) @ np.sort(view))
    )
    assert mine <= worth.max() + 1e-7


def test_amortised_over_queries_that_share_documents() -> None:
    """What a document got for one query is made up for in the next; the debts follow the definition step by step."""
    c = lm.load(run={"q": {"a": 2.0, "b": 1.0}, "r": {"b": 3.0, "a": 2.9, "z": 0.1}})
    made = lm.rerank(c, "Amortised(rounds=4, user=RBP(p=0.5))")
    owed: dict[str, float] = {}
    got = rankings(made)
    for number in range(4):
        for query, merit in (("q", {"a": 2.0, "b": 1.0}), ("r", {"b": 3.0, "a": 2.9, "z": 0.1})):
            for d, x in merit.items():
                owed[d] = owed.get(d, 0.0) + x / sum(merit.values())
            attention = np.array([0.5**k for k in range(len(merit))])
            attention /= attention.sum()

            def left(order: Any, owed: dict[str, float] = owed, attention: Any = attention) -> float:
                return sum(abs(owed[d] - a) for d, a in zip(order, attention, strict=True))

            order = got[query][number]
            assert left(order) == pytest.approx(min(left(o) for o in itertools.permutations(merit)), abs=1e-12)
            for d, a in zip(order, attention, strict=True):
                owed[d] -= a
    assert made.run["weight"].unique().to_list() == [0.25]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        # Attention at two ranks: (1, .6309) / 1.6309 = .6131, .3869; merit 1.1 and 1.0: .5238, .4762.
        # q: a b, then b is owed .0893. r: b .5655 before c .5238, then b -.0476. q: a .4345 before b .4286.
        ("q r q", {"q": ["a", "a"], "r": ["b"]}),
        # r: c b, then b is owed .0893. q: b .5655 before a .5238, then -.0476 and .1369. q: a .6607 before b .4286.
        ("r q q", {"q": ["b", "a"], "r": ["c"]}),
        # q: a b, -.0893 and .0893. q: b .5655 before a .4345, then b -.0476. r: c .5238 before b .4286.
        ("q q r", {"q": ["a", "b"], "r": ["c"]}),
        # what nobody asks for is not answered, and requests for queries that are not there are passed over
        ("z q z", {"q": ["a"]}),
    ],
)
def test_amortised_follows_the_order_of_a_sequence(asked: str, first: dict[str, list[str]], tmp_path: Any) -> None:
    """Whose turn it is depends on who was asked for before: worked out by hand, from a file and from a list."""
    run = {"q": {"a": 1.1, "b": 1.0}, "r": {"c": 1.1, "b": 1.0}}
    path = tmp_path / "sequence.csv"
    path.write_text("".join(f"0.{i},{q}\n" for i, q in enumerate(asked.split())), "utf-8")
    for sequence in (asked.split(), path):
        made = lm.rerank(lm.load(run=run, sequence=sequence), "Amortised(user=DCG, merit='score')")
        assert {q: [docs[0] for docs in answers] for q, answers in rankings(made).items()} == first
        assert weights(made) == {q: [1 / len(docs)] * len(docs) for q, docs in first.items()}
    assert made.holds
    again = lm.rerank(lm.load(run=run, sequence=path), "Amortised(rounds=3, user=DCG, merit='score')")
    assert {q: len(answers) for q, answers in rankings(again).items()} == {q: 3 * len(d) for q, d in first.items()}


def test_amortised_against_the_definition_along_a_sequence() -> None:
    """Debts kept in a dictionary, answer by answer, with rounds that go on where the last one ended."""
    rng = np.random.default_rng(7)
    docs = [f"d{i}" for i in range(6)]
    run = {q: {str(d): float(rng.integers(1, 9)) for d in rng.permutation(docs)[:4]} for q in "pqr"}
    asked = list("rqprrpqqr")
    made = rankings(lm.rerank(lm.load(run=run, sequence=asked), "Amortised(rounds=2, user=RBP(p=0.5), merit='score')"))
    attention = 0.5 ** np.arange(4) / (2 - 0.5**3)
    owed = dict.fromkeys(docs, 0.0)
    given = dict.fromkeys(run, 0)
    for query in asked * 2:
        merit = run[query]
        for d, x in merit.items():
            owed[d] += x / sum(merit.values())
        order = made[query][given[query]]
        given[query] += 1
        left = {
            o: sum(abs(owed[d] - a) for d, a in zip(o, attention, strict=True)) for o in itertools.permutations(merit)
        }
        assert left[tuple(order)] == pytest.approx(min(left.values()), abs=1e-12)
        for d, a in zip(order, attention, strict=True):
            owed[d] -= a
    assert given == {q: len(answers) for q, answers in made.items()}


def test_amortised_needs_the_order_of_a_sequence() -> None:
    counts = pl.DataFrame({"query": ["q"], "weight": [3.0]})
    with pytest.raises(lm.LightmeterError, match="not in which order"):
        lm.rerank(lm.load(run={"q": {"a": 1.0}}, sequence=counts), "Amortised(merit='score')")
    c = lm.load(run={"q": {"a": 1.0}}, qrels={"q": {"a": 1}, "r": {"a": 1}}, sequence=["r"])
    with pytest.raises(lm.LightmeterError, match="asks for no query of run"):
        lm.rerank(c, "Amortised(merit='score')")


def test_amortised_evens_out() -> None:
    """Ten documents of equal merit: the unfairness of ten rounds is far below that of the same ranking ten times."""
    c = lm.load(run={"q": {f"d{i}": 1.0 for i in range(10)}})
    made = lm.rerank(c, "Amortised(rounds=10)")
    view = view_of("DCG", 10)
    e = exposure_of(made, "q", sorted({*made.run["doc"]}), view)
    assert np.ptp(e) < 0.1 * np.ptp(view)
    before, after = (r.mean()["value"].item() for r in made.evaluate("EED(user=DCG)"))
    assert after < before


def test_rising_views_are_sorted_out() -> None:
    """A measured curve whose second rank is seen most: the best document stands there."""
    c = lm.load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, groups={"g": {"a": "x", "b": "x", "c": "x"}})
    for method in (
        "FairExposure(by='g', constraint='parity', user=Attention(weights=[0.5, 1, 0.2]))",
        "Amortised(rounds=1, quality=1, user=Attention(weights=[0.5, 1, 0.2]))",
    ):
        assert rankings(lm.rerank(c, method))["q"] == [["b", "a", "c"]]


@pytest.mark.parametrize(
    ("constraint", "measure"),
    [
        ("parity", "ExposureRatio(by='g')"),
        ("treatment", "DTR(by='g', docs='ranked')"),
        ("impact", "DIR(by='g', docs='ranked')"),
    ],
)
@given(worlds(most=6))
@share(0.4)
def test_measured_by_the_measures_of_the_same_name(constraint: str, measure: str, world: World) -> None:
    """The ratio of any two groups is 1 wherever the constraint is said to hold and the measure has a value."""
    made = lm.rerank(world.load(), f"FairExposure(by='g', constraint='{constraint}', merit='grade')")
    after = made.evaluate(measure)[1].per_query()
    for query, value in after.select("query", "value").iter_rows():
        if query not in made.why["run"] and value is not None and not np.isnan(value):
            assert value == pytest.approx(1.0, abs=1e-5)
