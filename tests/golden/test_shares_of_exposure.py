"""Ratios, gaps, IAA and inequality of exposure: values from other programs, and by hand."""

from __future__ import annotations

import math

import pytest

import lightmeter as lm

DOCS = "abcdef"
MERIT = dict(zip(DOCS, (1, 0.8, 0.6, 0.4, 0.2, 0.1), strict=True))
GROUP = {d: "0" if d in "abe" else "1" for d in DOCS}
EXPOSURE = {d: 1 / math.log2(k + 1) for k, d in enumerate(DOCS, 1)}


def value(measure: lm.Measure, **options: object) -> float:
    c = lm.load(run={"q": list(DOCS)}, qrels={"q": MERIT}, groups={"g": GROUP})
    return float(lm.evaluate(c, [measure], **options).mean()["value"][0])  # type: ignore[arg-type]


# FairRankTune's example: ranking a..f, groups a, b, e = 0 and c, d, f = 1; mean exposures .6725941869 and .4289612484
@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (lm.ExposureRatio(by="g"), 0.6377712694),
        (lm.ExposureRatio(by="g", value="0", reference="1"), 0.6725941869 / 0.4289612484),
        (lm.ExposureGap(by="g"), 0.6725941869 - 0.4289612484),
        (lm.ExposureGap(by="g", value="1", reference="0"), 0.4289612484 - 0.6725941869),
        (lm.DTR(by="g"), 0.8623781384),
        (lm.DTR(by="g", value="0", reference="1"), 1.0088912804 / 1.1698943138),
        (lm.logDP(by="g", value="0", reference="1"), math.log(0.6725941869 / 0.4289612484)),
        (lm.logEUR(by="g", value="0", reference="1"), math.log(0.8623781384)),
    ],
    ids=str,
)
def test_fairranktune(measure: lm.Measure, expected: float) -> None:
    assert value(measure) == pytest.approx(expected, rel=1e-9)


def test_mean_exposure_by_group() -> None:
    c = lm.load(run={"q": list(DOCS)}, qrels={"q": MERIT}, groups={"g": GROUP})
    found = lm.evaluate(c, [lm.MeanExposure(by="g")]).mean()["value"].to_list()
    assert found == pytest.approx([0.6725941869, 0.4289612484], rel=1e-9)


def test_by_hand() -> None:
    """Arithmetic on the same ranking: what each formula says, written out."""
    clicks = {g: sum(EXPOSURE[d] * MERIT[d] for d in DOCS if GROUP[d] == g) for g in "01"}
    merit = {g: sum(MERIT[d] for d in DOCS if GROUP[d] == g) for g in "01"}
    impact = {g: clicks[g] / merit[g] for g in "01"}
    assert value(lm.DIR(by="g", value="0", reference="1")) == pytest.approx(impact["0"] / impact["1"])
    assert value(lm.logRUR(by="g", value="0", reference="1")) == pytest.approx(math.log(impact["0"] / impact["1"]))
    whole, gain = sum(EXPOSURE.values()), sum(MERIT.values())
    iaa = sum(abs(EXPOSURE[d] / whole - MERIT[d] / gain) for d in DOCS)
    assert value(lm.IAA()) == pytest.approx(iaa)
    share = sum(EXPOSURE[d] for d in "abe") / whole - merit["0"] / gain
    assert value(lm.IAA(by="g")) == pytest.approx(2 * abs(share))
    mean = whole / 6
    assert value(lm.GeneralizedEntropy()) == pytest.approx(
        sum((e / mean) ** 2 - 1 for e in EXPOSURE.values()) / (6 * 2 * 1)
    )
    assert value(lm.Gini()) == pytest.approx(
        sum(abs(x - y) for x in EXPOSURE.values() for y in EXPOSURE.values()) / (2 * 36 * mean)
    )
    assert value(lm.Entropy()) == pytest.approx(-sum(e / whole * math.log(e / whole) for e in EXPOSURE.values()))


def test_iaa_amortised_by_hand() -> None:
    """Biega et al.: two equally relevant documents that change places are treated alike in the end."""
    run = {"q1": ["a", "b"], "q2": ["b", "a"]}
    judged = {q: {"a": 1, "b": 1} for q in run}
    c = lm.load(run=run, qrels=judged)
    user = lm.TopK(k=1)
    r = lm.evaluate(c, [lm.IAA(user=user), lm.IAA(user=user, amortised=True)])
    assert r.mean()["value"].to_list() == pytest.approx([1.0, 0.0])
    # q1 asked three times as often: shares a .75, b .25 against .5 each
    import polars as pl

    c = lm.load(run=run, qrels=judged, sequence=pl.DataFrame({"query": ["q1", "q2"], "weight": [3.0, 1.0]}))
    assert lm.evaluate(c, [lm.IAA(user=user, amortised=True)]).mean()["value"].item() == pytest.approx(0.5)


def test_equal_exposure_in_the_end() -> None:
    """A group that is first in every other query has no less exposure in the end, though each query has a gap."""
    run = {"q1": ["a", "b"], "q2": ["b", "a"]}
    c = lm.load(run=run, groups={"g": {"a": "x", "b": "y"}})
    user = lm.TopK(k=1)
    measures = [m(by="g", user=user, amortised=on) for m in (lm.ExposureRatio, lm.ExposureGap) for on in (False, True)]
    assert lm.evaluate(c, measures).mean()["value"].to_list() == [0.0, 1.0, 1.0, 0.0]


def test_exact_under_a_policy() -> None:
    """Plackett-Luce of two documents with weights 2 and 1: exposures 2/3 and 1/3 of a reader of one place."""
    c = lm.load(run={"q": {"a": math.log(2), "b": 0.0}}, groups={"g": {"a": "x", "b": "y"}})
    policy = lm.PlackettLuce(alpha=1, scores="raw")
    measures = [lm.ExposureRatio(by="g", user=lm.TopK(k=1)), lm.ExposureGap(by="g", user=lm.TopK(k=1))]
    r = lm.evaluate(c, measures, policy=policy)
    assert r.mean()["value"].to_list() == pytest.approx([1 / 2, 1 / 3])
    assert r.mean()["se"].to_list() == [None, None]
    assert "drawn" not in r.conventions


def test_small_groups_are_left_out() -> None:
    """``min_size``: a group of just that size stays; a smaller one is left out, or as a named group undefined."""
    c = lm.load(run={"q": list("abcd")}, groups={"g": {"a": "one", "b": "two", "c": "two", "d": "big"}})
    user = lm.RBP(p=0.5)
    for size, expected, reason in ((1, 0.125 / 1.0, None), (2, math.nan, "small_group"), (3, math.nan, "small_group")):
        r = lm.evaluate(c, [lm.ExposureRatio(by="g", user=user, min_size=size)]).per_query()
        assert r["value"].to_list() == pytest.approx([expected], nan_ok=True)
        assert r["reason"].to_list() == [reason]
    c = lm.load(run={"q": list("abcd")}, groups={"g": {"a": "one", "b": "two", "c": "two", "d": "big", "e": "x"}})
    named = [lm.ExposureGap(by="g", value="one", reference="two", user=user, min_size=s) for s in (1, 2)]
    named.append(lm.ExposureGap(by="g", value="one", reference="x", user=user))
    r = lm.evaluate(c, named).per_query()
    assert r["value"].to_list() == pytest.approx([1 - 0.375, math.nan, math.nan], nan_ok=True)
    assert r["reason"].to_list() == [None, "small_group", "empty_group"]
    left = lm.load(run={"q": list("abcd")}, groups={"g": {"a": "one", "b": "two", "c": "two", "d": "one"}})
    more = lm.load(run={"q": list("abcde")}, groups={"g": {"a": "one", "b": "two", "c": "two", "d": "one", "e": "z"}})
    ratio = lm.ExposureRatio(by="g", user=user, min_size=2)
    assert lm.evaluate(left, [ratio]).mean()["value"].item() == pytest.approx(0.375 / 0.5625)
    r = lm.evaluate(more, [ratio]).per_query()
    assert (r["value"].item(), r["reason"].item()) == (pytest.approx(0.375 / 0.5625), "small_group")


def test_undefined_says_why() -> None:
    """Zero merit, no exposure, no relevant document, nothing known."""
    groups = {"g": {"a": "x", "b": "y"}}
    c = lm.load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 0}}, groups=groups)
    nothing = lm.Attention(weights=[0.0, 0.0, 1.0])
    measures = [
        lm.DTR(by="g"),
        lm.ExposureRatio(by="g", user=nothing),
        lm.logDP(by="g", user=lm.TopK(k=1)),
        lm.Gini(user=nothing),
        lm.IAA(user=nothing),
    ]
    r = lm.evaluate(c, measures).per_query()
    assert r["reason"].to_list() == ["zero_merit", *["zero_exposure"] * 4]
    assert r["value"].is_nan().all()
    c = lm.load(run={"q": ["a", "b"]}, qrels={"q": {"a": 0}}, groups={"g": {"z": "x"}})
    r = lm.evaluate(c, [lm.Gini, lm.IAA, lm.ExposureRatio(by="g")]).per_query()
    assert r["reason"].to_list() == ["no_relevant", "zero_merit", "no_known_member"]


def test_unanswered_is_not_parity() -> None:
    """Lower is better: the worst bound where it is finite; higher is better: 0; logarithms: nothing."""
    c = lm.load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1}, "gone": {"a": 1}}, groups={"g": {"a": "x", "b": "y"}})
    measures = [lm.ExposureGap(by="g"), lm.IAA(), lm.Gini(), lm.ExposureRatio(by="g"), lm.logDP(by="g"), lm.Entropy()]
    r = lm.evaluate(c, measures).per_query()
    gone = r.filter(r["query"] == "gone")
    assert gone["value"].to_list() == pytest.approx([1.0, 2.0, 1.0, 0.0, math.nan, 0.0], nan_ok=True)
    assert set(gone["reason"]) == {"not_in_run"}
    amortised = lm.evaluate(c, [m(amortised=True) for m in measures]).mean()
    gap = 1 - 1 / math.log2(3)
    assert amortised["value"][0] == pytest.approx((gap + 1.0) / 2)
    assert amortised["value"][3] == pytest.approx(1 / math.log2(3) / 2)
    assert set(amortised["reason"]) == {"not_in_run"}
    two = lm.load(
        run={"q": ["a", "b"], "r": ["a", "b"]},
        qrels={q: {"a": 1} for q in ("q", "r", "gone")},
        groups={"g": {"a": "x", "b": "y"}},
    )
    assert lm.evaluate(two, [measures[0](amortised=True)]).mean()["value"].item() == pytest.approx((2 * gap + 1) / 3)
    skipped = lm.evaluate(c, [measures[0](amortised=True)], missing="skip").mean()
    assert skipped["value"].item() == pytest.approx(gap)


def test_members_are_distinct_documents() -> None:
    """A document that two queries rank is one member; what is not ranked counts where judgments count."""
    run = {"q1": ["a", "b"], "q2": ["a", "c"]}
    groups = {"g": {"a": "x", "b": "y", "c": "y", "d": "y", "e": "x"}}
    c = lm.load(run=run, qrels={q: {"a": 1, "d": 1, "e": 0} for q in run}, groups=groups)
    user = lm.RBP(p=0.5)
    asked = [lm.MeanExposure(by="g", user=user, docs=docs, amortised=True) for docs in ("ranked", "all", "relevant")]
    found = lm.evaluate(c, asked).mean()["value"].to_list()
    # per request: a has 1, b and c .25 each
    assert found == pytest.approx([1.0, 0.25, 0.5, 0.5 / 3, 1.0, 0.0])


def test_sampled_error_by_hand() -> None:
    """Two groups, three sampled rankings of two documents: the delete-one error of the mean gap."""
    import polars as pl

    rows = [("q", d, float(-k), str(s)) for s, r in enumerate(("ab", "ab", "ba")) for k, d in enumerate(r)]
    run = pl.DataFrame(rows, ["query", "doc", "score", "sample"], orient="row")
    c = lm.load(run=run, groups={"g": {"a": "x", "b": "y"}})
    gap = lm.ExposureGap(by="g", value="x", reference="y", user=lm.TopK(k=1))
    r = lm.evaluate(c, [gap, lm.ExposureRatio(by="g", value="y", reference="x", user=lm.TopK(k=1))]).per_query()
    assert r["value"].to_list() == pytest.approx([1 / 3, 0.5])
    # gaps 1, 1, -1: standard deviation over sqrt(3); ratios without each: 1, 1, 0
    assert r["se"].to_list() == pytest.approx([math.sqrt(4 / 3 / 3), math.sqrt(2 / 3 * 2 / 3)])
