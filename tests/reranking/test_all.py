"""What holds for every reranker; chance; what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share
from tests.reranking.worlds import World, rankings, weights, worlds

import lightmeter as lm
from lightmeter.terms.registry import registered

METHODS = [
    "DetGreedy(by='g')",
    "DetCons(by='g')@3",
    "DetRelaxed(by='g', target='pool')",
    "DetConstSort(by='g')",
    "FairTopK(by='g', protected='a', p=0.4)@4",
    "EpsilonGreedy(epsilon=0.3)",
    "ByColumn(column='worth')",
    "UniquePerValue(by='g')",
    "UniquePerValue(by='g', most=2, keep='demote')",
    "ExposureOptimal(merit='score', floor=0.95)",
    "FairExposure(by='g', constraint='parity')",
    "Amortised(rounds=3)",
    "PlackettLuce(alpha=1)",
    "RankTransposition(theta=0.5)",
    "Uniform",
    "Oracle",
]


def test_every_reranker_is_here() -> None:
    ours = {n for n, cls in registered("reranker").items() if cls.__module__.startswith("lightmeter.")}
    assert ours == {m.split("(")[0] for m in METHODS}


@pytest.mark.parametrize("method", METHODS)
@given(worlds())
@share(0.16)
def test_rankings_are_rankings(method: str, world: World) -> None:
    """Each document at most once, everyone there unless dropped, weights that sum to 1, the same for the same seed,
    and a single document stays.
    """
    c = world.load()
    made = lm.rerank(c, method, samples=3, rng=5)
    for query, docs in world.run.items():
        for ranking in rankings(made)[query]:
            assert len(set(ranking)) == len(ranking)
            assert set(ranking) <= set(docs)
            if method != "UniquePerValue(by='g')":
                assert len(ranking) == len(docs)
    if "weight" in made.run.columns:
        assert all(sum(w) == pytest.approx(1.0) for w in weights(made).values())
        assert all(min(w) > 0 for w in weights(made).values())
    assert made.run.equals(lm.rerank(c, method, samples=3, rng=5).run)
    assert lm.parse(str(made.method), kind="reranker") == made.method
    if getattr(made.method, "makes", "") == "ranking":  # no query changes another's ranking
        for query, docs in world.run.items():
            alone = lm.rerank(world.only(query).load(), method)
            assert rankings(alone)[query] == rankings(made)[query], docs
    # what is made can be evaluated, and nothing else of the collection has changed
    assert made.after.queries == c.queries
    before, after = made.evaluate(["nDCG", "EED(user=RBP(p=0.5))"])
    assert before.queries == after.queries
    assert (after.per_query()["value"].drop_nulls() <= 2.0).all()


@pytest.mark.parametrize("method", METHODS)
def test_depth_and_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first ones take part; the number of threads changes nothing."""
    rng = np.random.default_rng(2)
    rows = [(f"q{q}", f"d{q}.{d}", float(rng.gamma(2)), float(d)) for q in range(5) for d in range(3 + 4 * q)]
    frame = pl.DataFrame(rows, schema=["query", "doc", "score", "worth"], orient="row")
    group = {d: "ab"[int(rng.integers(2))] for d in frame["doc"]}
    c = lm.load(run=frame, groups={"g": group}, qrels={"q0": {"d0.0": 1}})
    made = []
    for cores in (1, 4):
        monkeypatch.setattr("lightmeter.io.threads.cores", lambda n=cores: n)
        made.append(lm.rerank(c, method, samples=2, depth=4, rng=1).run)
    assert made[0].equals(made[1])
    top = frame.sort("query", "score", descending=[False, True]).group_by("query", maintain_order=True).head(4)
    assert set(made[0]["doc"]) <= set(top["doc"])
    assert made[0]["rank"].max() == 4 or "Unique" in method


def epsilon_greedy(docs: tuple[str, ...], epsilon: float) -> dict[tuple[str, ...], float]:
    """The exact distribution."""
    if not docs:
        return {(): 1.0}
    out: dict[tuple[str, ...], float] = {}
    for i, d in enumerate(docs):
        chance = epsilon / len(docs) + (1 - epsilon) * (i == 0)
        for rest, p in epsilon_greedy(docs[:i] + docs[i + 1 :], epsilon).items():
            out[(d, *rest)] = out.get((d, *rest), 0.0) + chance * p
    return out


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_epsilon_greedy_by_listing(epsilon: float) -> None:
    """Frequencies of 8,000 draws against the exact distribution, within five standard errors."""
    many = 8_000
    made = lm.rerank({"q": ["a", "b", "c"], "r": ["z"]}, lm.EpsilonGreedy(epsilon=epsilon), samples=many)
    drawn = rankings(made)["q"]
    exact = epsilon_greedy(("a", "b", "c"), epsilon)
    for order in itertools.permutations("abc"):
        p = exact.get(order, 0.0)
        found = sum(tuple(r) == order for r in drawn) / many
        assert abs(found - p) <= 5 * np.sqrt(p * (1 - p) / many)


def test_draws_of_a_policy_are_those_of_sample() -> None:
    c = lm.load(run={"q": {"a": 2.0, "b": 1.0, "c": 0.0}})
    made = lm.rerank(c, lm.PlackettLuce(alpha=1), samples=7, rng=3)
    assert made.run.equals(lm.sample(c, lm.PlackettLuce(alpha=1), 7, 3))
    assert made.holds
    assert "independent draw" in made.guarantee


@given(st.lists(st.one_of(st.floats(-5, 5), st.none()), min_size=1, max_size=7), st.booleans())
@share(0.5)
def test_by_column(numbers: list[float | None], descending: bool) -> None:
    """Stable, and whoever has no number at the end either way."""
    docs = [f"d{i}" for i in range(len(numbers))]
    frame = pl.DataFrame(
        {"query": "q", "doc": docs, "rank": range(1, len(docs) + 1), "rating": pl.Series(numbers, dtype=pl.Float64)}
    )
    made = lm.rerank(frame, lm.ByColumn(column="rating", descending=descending, missing="last"))
    known = [i for i, x in enumerate(numbers) if x is not None]
    known.sort(key=lambda i: -numbers[i] if descending else numbers[i])  # type: ignore[operator]
    assert rankings(made)["q"] == [
        [docs[i] for i in known] + [d for d, x in zip(docs, numbers, strict=True) if x is None]
    ]


def test_by_column_of_a_file(tmp_path: Any) -> None:
    (tmp_path / "items.csv").write_text("doc,rating\nb,4.5\na,1\n")
    made = lm.rerank({"q": ["a", "b"]}, lm.ByColumn(column="rating", file=str(tmp_path / "items.csv")))
    assert rankings(made)["q"] == [["b", "a"]]
    with pytest.raises(lm.LightmeterError, match=r"document 'c' has the rating None in .*finite number"):
        lm.rerank({"q": ["a", "c"]}, lm.ByColumn(column="rating", file=str(tmp_path / "items.csv")))


RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}
GROUPS = {"g": {"a": "x", "b": "x", "c": "y"}}


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("DetGreedy(by='g')", {}, "the attribute 'g' needs group memberships"),
        ("DetGreedy(by='h')", {"groups": GROUPS}, "there is no attribute 'h'.*Known: g"),
        ("FairTopK(by='g', protected='z', p=0.5)", {"groups": GROUPS}, "'g' has no value 'z'.*Accepted: x, y"),
        ("FairTopK(by='g', protected=['x', 'y'], p=0.5)", {"groups": GROUPS}, "a share for each"),
        ("FairTopK(by='g', protected=['x', 'y'], p={'x': 0.6, 'y': 0.6})", {"groups": GROUPS}, "shares sum to 1.2"),
        ("DetGreedy(by='g')", {"groups": {"g": {"a": "x"}}, "unknown": "error"}, "no known g"),
        ("DetGreedy(by='g')", {"groups": {"g": {"a": "x|y", "b": "x"}}}, "documents have several values of 'g'"),
        ("ByColumn(column='rating')", {}, "has no column 'rating'"),
        ("ByColumn(column='rating', file='nowhere.csv')", {}, "there is no such file"),
        ("ExposureOptimal(floor=0.9)", {}, "merit='ideal' needs judgments"),
        ("ExposureOptimal(floor=0.9, cap=0.5)", {}, "both floor and cap"),
        ("ExposureOptimal(merit='score')", {}, "need a floor or a cap"),
        ("ExposureOptimal(merit='score', floor=0.9, user=ERR)", {}, "reads the documents"),
        ("Amortised(merit='grade')", {}, "merit='grade' needs judgments"),
        ("Static", {}, "Static is a policy, but a reranker is needed here"),
        ("DetGready(by='g')", {}, "Did you mean 'DetGreedy'"),
        ("nDCG@10", {}, "nDCG is a measure, but a reranker is needed here"),
        ("DetGreedy(by='g')", {"groups": GROUPS, "unknown": "uniform"}, "unknown is 'uniform'. Accepted: drop, error"),
        ("Uniform", {"samples": 0}, "samples is 0"),
        ("Uniform", {"rng": -1}, "rng is -1"),
        ("ByColumn(column='x')", {"depth": True}, "depth is True"),
        ("Uniform", {"ties": "expected"}, "makes no ranking"),
    ],
)  # fmt: skip
def test_refusals(method: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(lm.LightmeterError, match=message):
        lm.rerank(RUN, method, **options)


def test_merits_that_are_none() -> None:
    with pytest.raises(lm.LightmeterError, match=r"document 'b' has the score -1.*numbers from 0"):
        lm.rerank({"q": {"a": 1.0, "b": -1.0}}, "Amortised")
    with pytest.raises(lm.LightmeterError, match="needs scores, and run run gives ranks only"):
        lm.rerank({"q": ["a", "b"]}, "Amortised")
    nan = pl.DataFrame({"query": "q", "doc": ["a", "b"], "rank": [1, 2], "x": [1.0, float("nan")]})
    for method in ("ByColumn(column='x')", "Amortised(merit='x')"):
        with pytest.raises(lm.InputError, match=r"row 1, column 'x'.*document 'b' has the x nan"):
            lm.rerank(nan, method)
    made = lm.rerank({"q": {"a": 0.0, "b": 0.0}}, "Amortised(rounds=2)")
    assert rankings(made)["q"] == [["b", "a"], ["b", "a"]]
    assert made.failures["reason"].to_list() == ["no document has merit, so the ranking stays as given"]


def test_infeasible_constraints_are_told() -> None:
    """Which constraint, at which rank, of which query; with strict nothing is made."""
    c = lm.load(run={"q": ["a", "b", "c", "d"]}, groups={"g": {"a": "x", "b": "x", "c": "x", "d": "y"}})
    made = lm.rerank(c, "DetGreedy(by='g')")
    told = "the first 4 have 1 of g 'y' and need 2 (1 of 4 candidates are)"
    assert made.failures.rows() == [("run", "q", told)]
    assert not made.holds
    assert "guarantee holds for 0 of 1" in made.told
    with pytest.raises(lm.LightmeterError, match="Run run, query 'q': the first 4 have 1 of g 'y' and need 2"):
        lm.rerank(c, "DetGreedy(by='g')", strict=True)
    worth = lm.load(run={"q": {"a": 9.0, "b": 1.0}}, groups={"g": {"a": "x", "b": "y"}})
    made = lm.rerank(worth, "FairExposure(by='g', constraint='treatment', user=RBP(p=0.9))")
    assert rankings(made)["q"] == [["a", "b"]]
    assert "no policy meets the constraint of treatment" in made.failures["reason"][0]
    nothing = lm.load(run={"q": {"a": 9.0, "b": 0.0}}, groups={"g": {"a": "x", "b": "y"}})
    made = lm.rerank(nothing, "FairExposure(by='g', constraint='impact')")
    assert made.failures["reason"].to_list() == ["g 'y' has no merit, so its ratio has no value"]


def test_constant_scores_follow_the_rule_for_ties() -> None:
    c = lm.load(run={"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, groups=GROUPS)
    assert rankings(lm.rerank(c, "DetGreedy(by='g')"))["q"] == [["c", "b", "a"]]
    assert rankings(lm.rerank(c, "DetGreedy(by='g')", ties="file"))["q"] == [["a", "c", "b"]]
    with pytest.raises(lm.LightmeterError, match="have the same score"):
        lm.rerank(c, "DetGreedy(by='g')", ties="error")


def test_several_runs_frames_and_what_cannot_be(tmp_path: Any) -> None:
    c = lm.load(run={"one": RUN, "two": RUN}, groups=GROUPS)
    made = lm.rerank(c, lm.DetConstSort(by="g"))
    assert made.run["run"].unique(maintain_order=True).to_list() == ["one", "two"]
    assert list(made.after.runs) == ["one", "two"]
    changes = made.compare(["Share(by='g')@2"])
    assert changes.filter(group="y").select("run", "before", "after").rows() == [("one", 0.0, 0.25), ("two", 0.0, 0.25)]
    with pytest.raises(lm.LightmeterError, match="beside a collection"):
        lm.rerank(c, "Uniform", groups=GROUPS)
    drawn = lm.load(run=lm.sample(lm.load(run=RUN), "Uniform", 2))
    with pytest.raises(lm.LightmeterError, match="has several rankings per query"):
        lm.rerank(drawn, "EpsilonGreedy(epsilon=0.1)")
    for junk in (3, None, lm.nDCG(), lm.Static()):
        with pytest.raises(lm.TermError):
            lm.rerank(RUN, junk)  # type: ignore[arg-type]
    path = tmp_path / "out.csv"
    lm.rerank(RUN, "ExposureOptimal(merit='score', cap=0)").write(path)
    assert pl.read_csv(path).columns == ["query", "doc", "rank", "sample", "weight"]
    with pytest.raises(lm.LightmeterError, match="no place for weights"):
        lm.rerank(RUN, "ExposureOptimal(merit='score', cap=0)").write(tmp_path / "out.txt")


def test_one_after_the_other() -> None:
    """By rating, then one shop of a chain: groups that are columns of the first run's table are still known."""
    log = pl.DataFrame(
        {
            "query": ["q"] * 4,
            "doc": ["a", "b", "c", "d"],
            "score": [4.0, 3.0, 2.0, 1.0],
            "rating": [1.0, 5.0, 0.0, 4.0],
            "chain": ["x", "y", "z", "y"],
        }
    )
    rated = lm.rerank(lm.load(run=log), "ByColumn(column='rating')")
    assert rankings(rated)["q"] == [["b", "d", "a", "c"]]
    both = lm.rerank(rated.after, "UniquePerValue(by='chain')")
    assert rankings(both)["q"] == [["b", "a", "c"]]
    assert rankings(lm.rerank(both.after, "Uniform", samples=1, rng=1))["q"][0] != ["b", "a", "c"]
