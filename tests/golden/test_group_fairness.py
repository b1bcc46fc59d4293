"""Group fairness and relevance: values of NTCIREVAL on its own example, and arithmetic anyone can follow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lightmeter as lm

# NTCIREVAL's group-fairness example (rmit-ir/fairweb-1), gains 1 and 3 for grades 1 and 2; six digits computed from
# the stated formula, equal to
# the program's four digits everywhere. run, topic, attribute: ERR, iRBU, GF by JSD, NMD and RNOD.
WHOLE = {
    ("toyrun1", "P001", "HINDEX"): (0.765625, 0.802537, 0.397854, 0.432292, 0.356075),
    ("toyrun1", "P001", "GENDER"): (0.765625, 0.802537, 0.466444, 0.432291, 0.383731),
    ("toyrun1", "P002", "RATINGS"): (0.120833, 0.420885, 0.419619, 0.383333, 0.363701),
    ("toyrun1", "P002", "ORIGIN"): (0.120833, 0.420885, 0.406806, 0.398992, 0.383383),
    ("toyrun1", "P003", "FOLLOWERS"): (0.559375, 0.932539, 0.636771, 0.761979, 0.624737),
    ("toyrun1", "P004", "SUBSCS"): (0.195833, 0.777507, 0.783255, 0.747222, 0.696514),
    ("toyrun2", "P001", "HINDEX"): (0.390625, 0.795112, 0.730068, 0.619792, 0.579244),
    ("toyrun2", "P003", "FOLLOWERS"): (0.809375, 0.937489, 0.518013, 0.553646, 0.469876),
}
# the program's four digits at cutoff 3
CUT = {
    ("toyrun1", "P001", "HINDEX"): (0.7500, 0.7425, 0.3384, 0.3750, 0.3037),
    ("toyrun1", "P002", "RATINGS"): (None, None, 0.2378, 0.2083, 0.2004),
    ("toyrun1", "P003", "FOLLOWERS"): (0.5312, 0.7988, 0.5002, 0.6354, 0.5008),
    ("toyrun1", "P004", "SUBSCS"): (0.0833, 0.2426, 0.2378, 0.2222, 0.2066),
}
FILES = {
    "HINDEX": "R-HINDEX",
    "GENDER": "R-GENDER",
    "RATINGS": "M-RATINGS",
    "ORIGIN": "M-ORIGIN",
    "FOLLOWERS": "T-FOLLOWERS",
    "SUBSCS": "Y-SUBSCS",
}


@pytest.fixture(scope="module")
def toy(shared_data: Path) -> lm.Collection:
    folder = shared_data / "fairweb-toy"
    return lm.load(
        run=[f"{n}={folder / n}" for n in ("toyrun1", "toyrun2")],
        qrels=str(folder / "toy.4topics.qrels"),
        groups=[f"{a}={folder / f'toy.{f}.gmemb'}" for a, f in FILES.items()],
        targets=[f"{a}={folder / f'{f}.golddistr'}" for a, f in FILES.items()],
    )


@pytest.mark.parametrize(("cutoff", "table", "digits"), [(None, WHOLE, 6), (3, CUT, 4)])
def test_ntcireval(toy: lm.Collection, cutoff: int | None, table: Any, digits: int) -> None:
    for (run, topic, by), expected in table.items():
        user = lm.ERR(max_grade=2)
        measures = [
            lm.ERR(max_grade=2),
            lm.iRBU(p=0.99, max_grade=2),
            *(lm.GF(by=by, div=d, user=user) for d in (lm.JSD(), lm.NMD(), lm.RNOD())),
        ]
        result = lm.evaluate(toy, [m(cutoff=cutoff) for m in measures], ties="file")
        at = result.queries.index(topic)
        for cell, value in zip([c for c in result.cells if c.run == run], expected, strict=True):
            if value is not None:
                assert cell.values.value[at] == pytest.approx(value, abs=0.501 * 10**-digits), (
                    run,
                    topic,
                    str(cell.measure),
                )


def typed() -> lm.Collection:
    """Three documents, grades 2, 0, 1, soft memberships in low, mid, top, target .5, .25, .25."""
    shares = [("d1", "low", 1.0), ("d2", "mid", 0.5), ("d2", "top", 0.5), ("d3", "top", 1.0)]
    groups = pl.DataFrame(
        [(d, "level", v, w) for d, v, w in shares], schema=["doc", "attribute", "value", "weight"], orient="row"
    )
    return lm.load(
        run={"q": ["d1", "d2", "d3"]},
        qrels={"q": {"d1": 2, "d3": 1}},
        groups=groups,
        ordinal={"level": ["low", "mid", "top"]},
        targets={"level": {"low": 0.5, "mid": 0.25, "top": 0.25}},
    )


def value(collection: lm.Collection, measure: Any, **options: Any) -> float:
    return float(lm.evaluate(collection, [measure], **options).cells[0].values.value[0])


def test_typed_relevance() -> None:
    """Stops of ERR with the highest grade 2: 3/4, 0, and (1/4)(1/4) at rank 3 (arithmetic)."""
    c = typed()
    assert value(c, lm.ERR()) == pytest.approx(3 / 4 + (1 / 16) / 3)
    assert value(c, lm.iRBU(p=0.99)) == pytest.approx(3 / 4 * 0.99 + 1 / 16 * 0.99**3)
    assert value(c, lm.ERR() @ 2) == pytest.approx(3 / 4)
    assert value(c, lm.gERR(p=0.5, u=0.5)) == pytest.approx(0.5 + 0.25 * 0.5 * 0.5)


def test_typed_match_distance() -> None:
    """D_1 = (1, 0, 0), D_3 = (1/3, 1/6, 1/2). NMD: |1 - .5| + |1 - .75| over 2, and |1/3 - .5| + |1/2 - .75| over 2
    (arithmetic).
    """
    nmd1, nmd3 = (0.5 + 0.25) / 2, (1 / 6 + 1 / 4) / 2
    assert value(typed(), lm.GF(by="level", div=lm.NMD())) == pytest.approx(3 / 4 * (1 - nmd1) + 1 / 16 * (1 - nmd3))
    assert value(typed(), lm.DistrSim(by="level", div=lm.NMD()) @ 1) == pytest.approx(1 - nmd1)
    assert value(typed(), lm.MaxDeviation(by="level") @ 3) == pytest.approx(0.25)


def test_typed_order_aware() -> None:
    """D_1 - target = (.5, -.25, -.25), squares (1/4, 1/16, 1/16).

    OD_1 = 1/16 + 2/16, OD_2 = 1/4 + 1/16, OD_3 = 2/4 + 1/16: mean (3 + 5 + 9)/48; RNOD = sqrt(17/48 / 2) (arithmetic).
    """
    assert value(typed(), lm.DistrSim(by="level", div=lm.RNOD()) @ 1) == pytest.approx(1 - math.sqrt(17 / 48 / 2))


def test_typed_jensen_shannon() -> None:
    """p = (1, 0, 0), q = (.5, .25, .25), midpoint (.75, .125, .125): JSD = (log2(4/3) + .5 log2(2/3) + .5) / 2
    (arithmetic).
    """
    jsd = (math.log2(4 / 3) + 0.5 * math.log2(2 / 3) + 0.5 * math.log2(2)) / 2
    assert value(typed(), lm.DistrSim(by="level", div=lm.JSD()) @ 1) == pytest.approx(1 - jsd)
    assert value(typed(), lm.DistrSim(by="level", div=lm.JSD(base="e")) @ 1) == pytest.approx(1 - jsd * math.log(2))


def test_typed_unjudged_and_uniform() -> None:
    """NTCIREVAL: unjudged documents have gain 0 and uniform membership. D_1 = (1/2, 1/2), D_2 = (1/4, 3/4), target
    1/2 each (arithmetic).
    """
    c = lm.load(run={"q": ["a", "b"]}, qrels={"q": {"b": 1}}, groups={"g": {"b": "y", "c": "x"}})
    assert value(c, lm.GF(by="g", div=lm.TV(), user=lm.RBP(p=0.5))) == pytest.approx(0.5 * 1 + 0.25 * 0.75)
    assert value(c, lm.GF(by="g", div=lm.TV())) == pytest.approx(0.5 * 0.75)


def test_typed_lean() -> None:
    """DeltaGF at rank 1 of a positive document: .5 (1 - 0) - .5 (1 - 1) (arithmetic)."""
    c = lm.load(run={"q": ["a", "b"]}, groups={"side": {"a": "pro", "b": "con"}})
    # rank 2: D = (1/2, 1/2) is equally far from both
    assert value(c, lm.DeltaGF(by="side", positive="pro", user=lm.RBP(p=0.5))) == pytest.approx(0.5)
    assert value(c, lm.DeltaGF(by="side", positive="con", user=lm.RBP(p=0.5))) == pytest.approx(-0.5)


def test_combination() -> None:
    """.25 ERR + .75 GF (arithmetic on the two)."""
    m = lm.GFR(of=[lm.ERR, lm.GF(by="level")], weights=[0.25, 0.75]) @ 2
    c = typed()
    assert value(c, m) == pytest.approx(0.25 * value(c, lm.ERR() @ 2) + 0.75 * value(c, lm.GF(by="level") @ 2))


# Memberships (1,0) (1,0) (0,1) (.5,.5), target (.5,.5): attention shares .71863637, .28136363 (TREC Fair Ranking
# 2021's AWRF, DCG discount that
# counts rank 1 as rank 2; digits of its evaluation code).
SOFT = pl.DataFrame(
    [
        (d, "g", v, w)
        for d, v, w in [("a", "x", 1.0), ("b", "x", 1.0), ("c", "y", 1.0), ("d", "x", 0.5), ("d", "y", 0.5)]
    ],
    schema=["doc", "attribute", "value", "weight"],
    orient="row",
)


@pytest.mark.parametrize(("base", "expected"), [("e", 0.97463980), (2, 0.96341296)])
def test_awrf(base: Any, expected: float) -> None:
    c = lm.load(run={"q": ["a", "b", "c", "d"]}, groups=SOFT, targets={"g": {"x": 0.5, "y": 0.5}})
    assert value(c, lm.AWRF(by="g", user=lm.DCG(clip=True), div=lm.JSD(base=base))) == pytest.approx(expected, abs=5e-9)


def test_awrf_shares() -> None:
    """The attention shares behind it: distance 0.71863637 - .5 from the target by total variation."""
    c = lm.load(run={"q": ["a", "b", "c", "d"]}, groups=SOFT)
    assert value(c, lm.AWRF(by="g", user=lm.DCG(clip=True), div=lm.TV())) == pytest.approx(1 - 0.21863637, abs=5e-9)


@pytest.mark.parametrize(("base", "expected"), [("e", 0.30685282), (2, 0.0)])
def test_awrf_disjoint(base: Any, expected: float) -> None:
    """Nothing in common with the target: 1 - ln 2 in nats, 0 in base 2 (arithmetic)."""
    c = lm.load(run={"q": ["a"]}, groups={"g": {"a": "x", "b": "y"}}, targets={"g": {"x": 0.0, "y": 1.0}})
    assert value(c, lm.AWRF(by="g", user=lm.DCG(clip=True), div=lm.JSD(base=base))) == pytest.approx(expected, abs=5e-9)


# Ranking a..f, groups a,b,e = 0 and c,d,f = 1 (FairRankTune's example).
SIX = {"g": dict(zip("abcdef", "001101", strict=True))}


def six(**options: Any) -> lm.Collection:
    return lm.load(run={"q": list("abcdef")}, groups=SIX, **options)


def test_attention_bias_ratio() -> None:
    """Attention 100 p (1-p)^(k-1), p = .5: 26.0416667 and 6.7708333 per member, ratio .26."""
    assert value(six(), lm.ABR(by="g", user=lm.RBP(p=0.5))) == pytest.approx(0.26, abs=1e-12)
    assert pytest.approx(26.0416667) == 50 * (1 + 1 / 2 + 1 / 16) / 3
    assert pytest.approx(6.7708333) == 50 * (1 / 4 + 1 / 8 + 1 / 32) / 3


def test_attention_of_several_values_counts_fully() -> None:
    """Group exposure counts a multi-valued document fully in each of its values: a has (1 + 1/2)/2, b has 1/2."""
    c = lm.load(run={"q": ["x", "y"]}, groups={"g": {"x": ["a"], "y": ["a", "b"]}})
    user = lm.RBP(p=0.5)
    assert value(c, lm.ABR(by="g", user=user)) == pytest.approx(2 / 3, abs=1e-12)
    assert value(c, lm.ExposureRatio(by="g", user=user)) == pytest.approx(2 / 3, abs=1e-12)


def test_mean_exposures() -> None:
    """Mean exposure by 1/log2(k+1): .6725941869 and .4289612484, ratio .6377712694."""
    assert value(six(), lm.ABR(by="g", user=lm.DCG())) == pytest.approx(0.6377712694, abs=5e-11)
    # over three relevant documents of each group the group exposures are three times the means
    c = six(qrels={"q": dict.fromkeys("abcdef", 1)})
    xi = (3 * 0.6725941869, 3 * 0.4289612484)
    assert value(c, lm.EED(user=lm.DCG(), by="g")) == pytest.approx(xi[0] ** 2 + xi[1] ** 2, abs=1e-8)


@pytest.mark.parametrize("user", [lm.ERR(max_grade=1), lm.Cascade(p=1.0, u=0.5)])
def test_who_never_stops_finds_no_fairness(user: lm.User) -> None:
    """Where a query has no relevant document, GF of who stops at these only is undefined, not 0; DeltaGF not balanced.

    Query 'missed' has one that is not ranked: 0 is then what the run deserves. RBP stops anyway.
    """
    run = {q: ["x", "y"] for q in ("none", "missed", "found")}
    qrels = {"none": {"x": 0}, "missed": {"x": 0, "z": 1}, "found": {"x": 1}}
    c = lm.load(run=run, qrels=qrels, groups={"g": {"x": "a", "y": "b"}})
    for measure in (lm.GF(by="g", div=lm.TV(), user=user), lm.DeltaGF(by="g", positive="a", user=user)):
        rows = lm.evaluate(c, measure).per_query().select("query", "value", "reason").rows()
        got = {query: (value, reason) for query, value, reason in rows}
        assert math.isnan(got["none"][0])
        assert got["none"][1] == "no_relevant"
        assert got["missed"] == (0.0, None)
        assert got["found"][0] > 0
    patient = lm.evaluate(c, lm.GF(by="g", div=lm.TV(), user=lm.RBP(p=0.5))).per_query()["value"]
    assert patient.to_list() == pytest.approx([0.5 * 0.5 + 0.25 * 1.0] * 3)


def test_unknown_documents_of_their_own_enter_pools_and_relevant_targets_alike():
    """a of f, b and c unknown, all ranked and relevant: achieved and target are the same thirds at rank 3."""
    c = lm.load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "b": 1, "c": 1}}, groups={"g": {"a": "f"}})
    for target in ("pool", "relevant"):
        result = lm.evaluate(c, [lm.MaxDeviation(by="g", target=target) @ 3], unknown="distinct")
        assert result.mean()["value"].to_list() == [pytest.approx(0.0, abs=1e-15)]
