"""Intent-aware measures: values of ndeval (pyndeval 0.0.8), and by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest

import lightmeter as lm

FIRST = [("1", "a", 1), ("2", "b", 1), ("1", "b", 1), ("3", "c", 0), ("2", "d", 2), ("1", "e", 1)]
#: at the second rank of the ideal ranking d2 and d3 add the same, and which is taken decides what is left
TIED = [("2", "d1", 1), ("4", "d1", 1), ("1", "d2", 1), ("4", "d2", 1), ("2", "d3", 1), ("3", "d3", 1)]


def load(judged: list[tuple[str, str, int]], docs: list[str]) -> lm.Collection:
    frame = pl.DataFrame([("q", *row) for row in judged], schema=["query", "intent", "doc", "grade"], orient="row")
    return lm.load(run={"q": docs}, intents=frame)


@pytest.mark.parametrize(
    ("judged", "docs", "measure", "expected"),
    [
        (FIRST, "b x a d", "alpha_nDCG@5", 0.922265125504376),
        (FIRST, "b x a d", "alpha_nDCG@20", 0.922265125504376),
        (FIRST, "b x a d", "ERR_IA@5", 0.8320726172465961),
        (FIRST, "b x a d", "ERR_IA@10", 0.82664221332558),
        (FIRST, "b x a d", "ERR_IA(rel=1)@20", 0.8265440857248886),
        (FIRST, "b x a d", "StRecall@5", 1.0),
        (TIED, "d2 d0 x d4 d1", "alpha_nDCG(alpha=0.25)@5", 0.6672697306309449),
        (TIED, "d2 d0 x d4 d1", "alpha_nDCG(alpha=0.25)@2", 0.6131471927654585),
        (TIED, "d2 d0 x d4 d1", "StRecall@1", 0.5),
        (TIED, "d2 d0 x d4 d1", "I_rec@1", 0.5),
    ],
)
def test_ndeval(judged: list[tuple[str, str, int]], docs: str, measure: str, expected: float) -> None:
    value = lm.evaluate(load(judged, docs.split()), [measure]).mean()["value"].item()
    assert value == pytest.approx(expected, rel=1e-12)


def test_by_hand() -> None:
    """Three intents, equally probable; the global gain of b is (1 + 1)/3, of d 2/3, of a and e 1/3."""
    c = load(FIRST, ["b", "x", "a", "d"])
    best = 2 / 3 + 2 / 3 / math.log2(3) + 1 / 3 / 2 + 1 / 3 / math.log2(5)
    dcg = 2 / 3 + 1 / 3 / 2 + 2 / 3 / math.log2(5)
    at_two = (2 / 3) / (2 / 3 + 2 / 3 / math.log2(3))
    rbp = 0.5 * (2 / 3 * (1 / 2) + 1 / 3 * (1 / 2) / 4 + 1 / 3 * 1 / 8)  # gains are grades over the highest, 2
    graded = (1 / 4) * (1 + 3 / 4 / 3) + 1 / 4 + 3 / 4 * 3 / 4 / 4  # intent 1: b, a; intent 2: b, d
    measures = ["D_nDCG", "D_nDCG@2", "Dsharp_nDCG@2", "RBP_IA(p=0.5)", "ERR_IA(max_grade=2)"]
    expected = [dcg / best, at_two, (1 + at_two) / 2, rbp, graded / 3]
    assert lm.evaluate(c, measures).mean()["value"].to_list() == pytest.approx(expected)


def test_dsharp_of_the_sample() -> None:
    """NTCIREVAL's documentation: I-rec .6667 with D-Q .1263 gives .3965, and with D-nDCG .2085 gives .4376."""
    for gain, expected in ((0.1263, 0.3965), (0.2085, 0.4376)):
        assert (0.6667 + gain) / 2 == pytest.approx(expected, abs=6e-5)
    c = load(FIRST, ["x", "a", "b"])
    both = lm.evaluate(c, ["StRecall@2", "D_nDCG@2", "Dsharp_nDCG@2"]).mean()["value"].to_list()
    assert both[2] == pytest.approx((both[0] + both[1]) / 2)
    assert both[0] == 0.5
    weighed = lm.evaluate(c, ["Dsharp_nDCG(gamma=0.25)@2"]).mean()["value"].item()
    assert weighed == pytest.approx(0.25 * both[0] + 0.75 * both[1])


def test_probabilities_count() -> None:
    frame = pl.DataFrame({"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [1, 1]})
    shares = pl.DataFrame({"query": ["q", "q"], "intent": ["1", "2"], "probability": [0.75, 0.25]})
    c = lm.load(run={"q": ["b", "a"]}, intents=frame, intent_probabilities=shares)
    found = lm.evaluate(c, ["RBP_IA(p=0.5, rel=1)", "ERR_IA@2", "D_nDCG@1"]).mean()["value"].to_list()
    assert found == pytest.approx([0.5 * (0.25 + 0.75 / 2), (0.25 + 0.75 / 2) / 1.25, 0.25 / 0.75])


def test_queries_with_intents_count() -> None:
    """A query with intents that the run does not answer is worth 0; one without intents is undefined."""
    frame = pl.DataFrame({"query": ["q1", "q2"], "intent": ["1", "1"], "doc": ["a", "b"], "grade": [1, 0]})
    c = lm.load(run={"q2": ["b"]}, intents=frame)
    r = lm.evaluate(c, [lm.StRecall])
    assert r.per_query().select("query", "value", "reason").rows() == [
        ("q2", 0.0, "no_relevant"),
        ("q1", 0.0, "not_in_run"),
    ]
    c = lm.load(run={"q1": ["a"], "q3": ["a"]}, qrels={"q1": {"a": 1}, "q3": {"a": 1}}, intents=frame)
    assert lm.evaluate(c, [lm.StRecall]).per_query()["reason"].to_list() == [None, "no_intent"]


def test_exact_under_a_policy() -> None:
    """D-nDCG is linear in exposure: under a policy it is exact; alpha-nDCG is a mean over rankings."""
    frame = pl.DataFrame({"query": ["q"] * 2, "intent": ["1", "2"], "doc": ["a", "b"], "grade": [2, 1]})
    c = lm.load(run={"q": {"a": math.log(2), "b": 0.0}}, intents=frame)
    r = lm.evaluate(c, ["D_nDCG@1", "alpha_nDCG@1"], policy=lm.PlackettLuce(alpha=1, scores="raw"))
    assert r.mean()["value"][0] == pytest.approx(2 / 3 * 1 + 1 / 3 * 1 / 2)
    assert r.conventions["exact"] == "D_nDCG@1"


def test_judged_only() -> None:
    """x was judged for no intent: without it b and a stand first and second, so values are those of the list b a."""
    names = ["alpha_nDCG@2", "ERR_IA@2", "RBP_IA(p=0.5)", "StRecall@1", "D_nDCG@2", "Dsharp_nDCG@1"]
    frame = pl.DataFrame(
        [("q", "1", "a", 1), ("q", "2", "b", 1), ("q", "2", "c", 0)],
        schema=["query", "intent", "doc", "grade"],
        orient="row",
    )
    whole = lm.load(run={"q": ["x", "b", "y", "a"]}, intents=frame)
    # with judgments of their own in which x counts as judged: intents have the say
    other = lm.load(run={"q": ["x", "b", "y", "a"]}, intents=frame, qrels={"q": {"x": 1}})
    short = lm.load(run={"q": ["b", "a"]}, intents=frame)
    judged = [lm.parse(n, kind="measure")(judged_only=True) for n in names]
    wanted = lm.evaluate(short, names).mean()["value"].to_list()
    assert lm.evaluate(whole, judged).mean()["value"].to_list() == pytest.approx(wanted)
    assert lm.evaluate(other, judged).mean()["value"].to_list() == pytest.approx(wanted)
    assert lm.evaluate(whole, names).mean()["value"].to_list() != pytest.approx(wanted)
    assert wanted[3] == 0.5
    assert wanted[2] == pytest.approx(0.5 * (0.5 + 0.25))  # RBP: (1-p) sum_i Pr(i) p^(rank-1)
    # judged not relevant is judged: c keeps its rank
    kept = lm.load(run={"q": ["c", "x", "b"]}, intents=frame)
    assert lm.evaluate(kept, ["StRecall(judged_only=True)@1", "StRecall(judged_only=True)@2"]).mean()[
        "value"
    ].to_list() == [0.0, 0.5]
