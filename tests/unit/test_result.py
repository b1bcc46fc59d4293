"""Results: frames, means, segments, weights; and what evaluate refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.data.values import Values, as_values
from lightmeter.results.result import SCHEMA
from lightmeter.results.sheet import Entry

QRELS = {"q1": {"a": 1}, "q2": {"a": 1, "b": 0}, "q3": {"a": 0}}
RUNS = {"one": {"q1": ["a"], "q2": ["b", "a"], "q3": ["a"]}, "two": {"q2": ["a"], "q1": ["b"]}}
GROUPS = {"g": {"a": "x", "b": "y"}}


def result(**options: Any) -> lm.Result:
    return lm.evaluate(lm.load(run=RUNS, qrels=QRELS, groups=GROUPS), [lm.RR(), "Count(by='g')@1", lm.EER], **options)


def test_schema_and_order() -> None:
    """Runs, queries and measures in the order asked for; columns always the same."""
    r = result()
    frame = r.per_query()
    assert dict(frame.schema) == SCHEMA
    assert frame["run"].unique(maintain_order=True).to_list() == r.runs == ["one", "two"]
    assert frame["query"][:10].to_list() == ["q1"] * 5 + ["q2"] * 5
    assert frame["measure"][:5].to_list() == ["RR", *["Count(by='g')@1"] * 3, "EER(user=RBP(p=0.5))"]
    assert frame["group"][:5].to_list() == [None, "x", "y", "unknown", None]
    assert frame["attribute"][:5].to_list() == [None, "g", "g", "g", None]
    assert len(frame) == 2 * 3 * 5
    assert frame["n"].null_count() == len(frame)
    assert frame["se"].null_count() == len(frame)
    mean = r.mean()
    assert dict(mean.schema) == SCHEMA
    assert len(mean) == 2 * 5
    assert mean["query"].null_count() == len(mean)
    both = r.frame(per_query=True)
    assert both["run"].to_list() == ["one"] * 20 + ["two"] * 20
    assert both["query"][15:20].null_count() == 5
    assert r.frame().equals(mean)
    assert lm.evaluate(lm.load(run=RUNS, qrels=QRELS), [lm.RR, "RR", lm.RR()]).measures == [lm.RR()]


def test_means_reasons_and_unanswered() -> None:
    r = result()
    rows = {(x["run"], x["measure"], x["group"]): x for x in r.mean().iter_rows(named=True)}
    # q3 has nothing relevant: 0 with a reason for RR, undefined for EER
    assert rows["one", "RR", None]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert (rows["one", "RR", None]["n"], rows["one", "RR", None]["reason"]) == (3, None)
    assert rows["one", "EER(user=RBP(p=0.5))", None]["value"] == pytest.approx((1 + 0.5) / 2)
    assert (rows["one", "EER(user=RBP(p=0.5))", None]["n"], rows["one", "EER(user=RBP(p=0.5))", None]["reason"]) == (
        2,
        "no_relevant",
    )
    per_query = {
        (x["query"], x["measure"], x["group"]): x for x in r.per_query().filter(run="two").iter_rows(named=True)
    }
    assert (per_query["q3", "RR", None]["value"], per_query["q3", "RR", None]["reason"]) == (0, "not_in_run")
    assert math.isnan(per_query["q3", "Count(by='g')@1", "x"]["value"])
    assert rows["two", "RR", None]["value"] == pytest.approx(1 / 3)
    assert "two leaves 1 of 3 queries unanswered" in r.conventions["missing"]
    skipped = result(missing="skip")
    assert skipped.mean().filter(run="two", measure="RR")["value"].to_list() == [0.5]
    frame = skipped.per_query().filter(run="two", query="q3")
    assert frame["reason"].to_list() == ["not_in_run"] * 5
    assert frame["value"].is_nan().all()
    disparity = lm.evaluate(lm.load(run=RUNS, qrels=QRELS), [lm.EED()], missing="skip").mean().filter(run="two")
    assert (disparity["value"].item(), disparity["n"].item()) == (1.0, 2)
    with pytest.raises(lm.LightmeterError, match="run two does not answer query 'q3'"):
        result(missing="error")


def test_unanswered_disparity() -> None:
    """The most EED can be, 1/(1-p^2); EEL adds the norm of the target; without a finite bound undefined."""
    c = lm.load(run={"q1": ["a"]}, qrels=QRELS)
    r = lm.evaluate(
        c,
        [
            lm.EED(),
            lm.EEL(),
            lm.EED(user=lm.DCG()),
            lm.EED(user=lm.DCG(), cutoff=2),
            lm.EED(user=lm.TopK(k=3)),
            lm.EED(user=lm.Inverse()),
            lm.EESpread(),
        ],
    )
    unanswered = [x.values.value[1] for x in r.cells]
    dcg2 = 1 + 1 / math.log2(3) ** 2
    assert unanswered == pytest.approx([4 / 3, 4 / 3 + 1, math.nan, dcg2, 3, math.pi**2 / 6, math.nan], nan_ok=True)
    assert all(x.values.reasons()[1] == "not_in_run" for x in r.cells)
    # groups: the square of the sum of views, 2; as many times as values where a document has several
    c = lm.load(run={"q1": ["a"]}, qrels=QRELS, groups={"h": {"a": "x", "b": "y"}, "m": {"a": ["x", "y"], "b": "y"}})
    r = lm.evaluate(c, [lm.EED(by="h"), lm.EED(by="m"), lm.EED(by="h", user=lm.DCG())])
    assert [x.values.value[1] for x in r.cells] == pytest.approx([4, 8, math.nan], nan_ok=True)


def test_segments() -> None:
    run = pl.DataFrame(
        {
            "query": ["q1", "q2", "q2", "q3"],
            "doc": ["a", "b", "a", "a"],
            "score": [1.0, 2, 1, 1],
            "kind": ["short", "long", "long", None],
        }
    )
    r = lm.evaluate(lm.load(run=run, qrels=QRELS, segment="kind"), [lm.RR()])
    assert r.per_query()["segment"].to_list() == ["short", "long", None]
    mean = r.mean()
    assert mean["segment"].to_list() == [None, "long", "short"]
    assert mean["value"].to_list() == [0.5, 0.5, 1.0]
    assert mean["n"].to_list() == [3, 1, 1]
    with pytest.raises(lm.LightmeterError, match=r"no column 'kid' to segment by. Did you mean 'kind'"):
        lm.load(run=run, segment="kid")
    with pytest.raises(lm.LightmeterError, match="query 'q2' has the segments"):
        lm.load(run=run.with_columns(kind=pl.Series(["s", "s", "t", "s"])), segment="kind")


def test_weights_of_a_sequence() -> None:
    """A query weighs as often as it occurs; others are left out."""
    sequence = pl.DataFrame({"query": ["q1", "q2"], "weight": [3.0, 1.0]})
    c = lm.load(run=RUNS["one"], qrels=QRELS, sequence=sequence)
    r = lm.evaluate(c, [lm.RR(), lm.EER()])
    assert r.queries == ["q1", "q2"]
    assert r.mean()["value"].to_list() == [(3 * 1 + 0.5) / 4, (3 * 1 + 0.5) / 4]
    assert r.mean()["n"].to_list() == [2, 2]


def test_standard_errors_of_means() -> None:
    """Mean over Q queries: sqrt(sum se^2) / Q, weighted in proportion; missing where one is missing."""
    run = pl.DataFrame(
        [
            (q, d, -float(k), str(s))
            for q in ("q1", "q2")
            for s, docs in enumerate(["ab", "ba", "ab"])
            for k, d in enumerate(docs)
        ],
        schema=["query", "doc", "score", "sample"],
        orient="row",
    )
    c = lm.load(run=run, qrels={"q1": {"a": 1}, "q2": {"b": 1}})
    r = lm.evaluate(c, [lm.RR(), lm.EED()])
    for cell in r.cells:
        assert cell.values.se is not None
        mean = r.mean_of(cell)
        assert mean.se == pytest.approx(math.sqrt((cell.values.se**2).sum()) / 2)
    # RR of q1: 1, 1/2, 1
    assert r.cells[0].values.se is not None
    assert r.cells[0].values.se[0] == pytest.approx(np.std([1, 0.5, 1], ddof=1) / math.sqrt(3))
    weighted = lm.Result(r.queries, r.cells, r.answered, weight=np.array([3.0, 1.0]))
    se = r.cells[1].values.se
    assert se is not None
    assert weighted.mean_of(r.cells[1]).se == pytest.approx(math.sqrt(9 * se[0] ** 2 + se[1] ** 2) / 4)
    two = lm.evaluate(
        lm.load(
            run=run.filter((pl.col("query") == "q1") | (pl.col("sample") != "2")),
            qrels={"q1": {"a": 1}, "q2": {"b": 1}},
        ),
        [lm.EED()],
    )
    assert two.mean()["se"].to_list() == [None]


def test_values_by_name() -> None:
    r = result()
    assert r.values("RR", "one").tolist() == r.values(lm.RR(), run="one").tolist() == [1, 0.5, 0]
    assert r.values("Count(by='g')@1", run="two", group="y")[0] == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("RR",), "RR has several columns of values. Name the run. There are the runs one, two."),
        (("Count(by='g')@1", "one"), "Name the group. There are the groups x, y, unknown."),
        (("Count(by='g')@1",), "Name the run and the group. There are the runs one, two; groups x, y, unknown."),
        (("rr", "one"), "no measure 'rr'. Did you mean 'RR'? It has: RR, Count(by='g')@1, EER(user=RBP(p=0.5))."),
        (("RR", "tow"), "no run 'tow'. Did you mean 'two'? It has: one, two."),
        (("RR", "one", "x"), "RR has no groups, and group 'x' is asked for. Leave the group out."),
        (("Count(by='g')@1", "one", "unknwn"), "no group 'unknwn'. Did you mean 'unknown'? It has: x, y, unknown."),
    ],
)
def test_what_names_no_column_or_several(asked: tuple[str, ...], told: str) -> None:
    with pytest.raises(lm.LightmeterError) as error:
        result().values(*asked)
    assert str(error.value).endswith(told)


def test_equal_rankings_have_no_error_of_rounding() -> None:
    rows = [(q, d, i, s) for q in ("q1", "q2") for s in range(7) for i, d in enumerate("abcde", 1)]
    run = pl.DataFrame(rows, schema=["query", "doc", "rank", "sample"], orient="row")
    c = lm.load(run=run, qrels={q: {"a": 1, "c": 2, "d": 1} for q in ("q1", "q2")})
    alike = lm.evaluate(c, ["AP", "RBP(p=0.8)", "EED", "EEL"])
    assert alike.mean()["se"].to_list() == alike.per_query()["se"].to_list()[:4] == [0.0] * 4
    assert str(Entry(0.5, alike.mean()["se"][0], 2, None)) == "0.5000 ±0"
    # one ranking that differs is told
    other = run.with_columns(rank=pl.when(pl.col("sample") == 3).then(6 - pl.col("rank")).otherwise(pl.col("rank")))
    differ = lm.evaluate(lm.load(run=other, qrels={q: {"a": 1, "c": 2, "d": 1} for q in ("q1", "q2")}), ["AP"])
    assert differ.mean()["se"][0] > 1e-3


def test_pandas_and_repr() -> None:
    pytest.importorskip("pandas")
    r = result()
    frame = r.to_pandas()
    assert list(frame.columns) == list(SCHEMA)
    assert len(frame) == len(r.frame(per_query=True))
    assert "RR" in repr(r)
    assert "ties: docno" in repr(r)


def test_manifest() -> None:
    m = lm.evaluate(lm.load(run=RUNS, qrels=QRELS), [lm.ERR()]).manifest
    assert m["measures"] == ["ERR"]
    assert m["resolved"] == {"ERR": "ERR(max_grade=1)"}
    assert m["runs"]["one"] == {"rankings": 3, "documents": 4, "tied_documents": 0, "sampled": False}
    assert m["queries"] == 3


@pytest.mark.parametrize(
    ("measures", "options", "words"),
    [
        ([], {}, "no measure is asked for"),
        (["nDCG"], {"unknown": "unifrom"}, "Did you mean 'uniform'"),
        (["nDCG"], {"missing": "none"}, "Accepted: zero, skip, error"),
        (["P"], {}, "P needs a cutoff, such as P@10"),
        ([lm.JSD], {}, "Accepted: a measure"),
        ([3], {}, "Accepted: a measure"),
        (["MeanScore(by='g')"], {}, "needs scores, and run one gives ranks only"),
        (["AWRF(by='gg')"], {}, "no attribute 'gg'. Did you mean 'g'"),
        (["DeltaGF(by='g', positive='z')"], {}, "has no value 'z'. Accepted: x or y"),
        (["nDCG"], {"policy": "JSD"}, "a policy is needed"),
        (["ERR(max_grade=0)"], {}, "above max_grade=0"),
        (["EER(user=Cascade(p=0.5, u=0.5), target=Equal)@3"], {}, "no form"),
    ],
)
def test_refused(measures: Any, options: Any, words: str) -> None:
    with pytest.raises(lm.LightmeterError) as caught:
        lm.evaluate(lm.load(run=RUNS, qrels=QRELS, groups=GROUPS), measures, **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "measure",
    [
        lm.nDCG(),
        lm.EEL(),
        lm.EESpread(),
        lm.GF(by="g"),
        lm.EED(user=lm.Cascade(p=0.5, u=0.5)),
        lm.EED(by="g"),
        lm.EER(),
        lm.Judged(),
        lm.GFR(of=[lm.ERR(), lm.AWRF(by="g")]),
    ],
    ids=str,
)
def test_judgments_needed(measure: Any) -> None:
    c = lm.load(run=RUNS, groups=GROUPS)
    with pytest.raises(lm.LightmeterError, match="needs judgments"):
        lm.evaluate(c, [measure])
    lm.evaluate(c, [lm.GF(by="g", user=lm.RBP(p=0.5)), lm.AWRF(by="g"), lm.ABR(by="g"), lm.Count(by="g")])
    # disparity needs none, but of the exposure of relevant documents, or of a user who stops at them
    both = lm.evaluate(c, [lm.EED(), lm.EED(by="g", docs="all")], unknown="drop")
    assert [x.values.value[1] for x in both.cells if x.run == "one"] == [1.25, 1.25]


def test_policies() -> None:
    sampled = pl.DataFrame(
        {"query": ["q"] * 3, "doc": ["a", "b", "a"], "score": [1.0, 1, 2], "sample": ["1", "2", "2"]}
    )
    c = lm.load(run=sampled, qrels={"q": {"a": 1}})
    with pytest.raises(lm.LightmeterError, match="several rankings per query, so it is not static"):
        lm.evaluate(c, ["RR"], policy="Static")
    assert "Samples(weight='sampling')" in lm.evaluate(c, ["RR"]).conventions["policy"]
    assert lm.evaluate(c, ["RR"], policy=lm.Samples(weight="probability")).cells[0].values.se is None
    with pytest.raises(lm.LightmeterError, match="the probabilities of query 'q' sum to 3"):
        lm.evaluate(
            lm.load(run=sampled.with_columns(weight=pl.Series([1.0, 2, 2])), qrels={"q": {"a": 1}}),
            ["RR"],
            policy=lm.Samples(weight="probability"),
        )
    with pytest.raises(lm.LightmeterError, match=r"count 1.5"):
        lm.evaluate(
            lm.load(run=sampled.with_columns(weight=pl.Series([1.5, 2, 2])), qrels={"q": {"a": 1}}),
            ["RR"],
            policy=lm.Samples(weight="count"),
        )
    # one ranking per query may be taken as samples of one
    assert lm.evaluate(lm.load(run={"q": ["a"]}, qrels={"q": {"a": 1}}), ["RR"], policy=lm.Samples()).cells[
        0
    ].values.value.tolist() == [1]


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    result(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert [d for d, _ in seen] == sorted(d for d, _ in seen)


def test_reasons_of_values() -> None:
    """An earlier reason stays; a value may keep its number; infinities become undefined."""
    v = Values(np.array([1.0, 2, 3]), se=np.array([0.1, 0.2, 0.3]))
    v.because(np.array([True, False, False]), "first").because(np.array([True, True, False]), "second", None)
    assert v.reasons().tolist() == ["first", "second", None]
    assert v.value.tolist() == pytest.approx([math.nan, 2, 3], nan_ok=True)
    assert v.se is not None
    assert np.isnan(v.se).tolist() == [True, False, False]
    assert Values(np.array([1.0])).because(np.array([False]), "x").reason is None
    out = as_values(np.array([-math.inf, math.nan, 0.0]))
    assert out.reasons().tolist() == ["infinite", "undefined", None]
    assert np.isnan(out.value).tolist() == [True, True, False]


def test_values_of_a_measure_written_another_way() -> None:
    c = lm.load(run={"q": ["a", "b"]}, groups=GROUPS)
    r = lm.evaluate(c, ["GF(by='g', div=TV, user=RBP(p=0.5))@2"])
    # the first rank is half of the target, the second equals it: .5 * .5 + .25 * 1
    assert r.values("GF(user=RBP(p=0.50), by='g', div=TV)@2").tolist() == r.values(r.measures[0]).tolist() == [0.5]


@pytest.mark.parametrize("run", [0, ["one"]])
def test_a_run_is_named_by_its_name(run: Any) -> None:
    with pytest.raises(lm.LightmeterError, match=r"the result has no run .* It has: one, two"):
        result().values("RR", run=run)


def test_values_of_a_class() -> None:
    assert result().values(lm.RR, run="one").tolist() == result().values("RR", run="one").tolist()
