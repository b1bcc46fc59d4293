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
