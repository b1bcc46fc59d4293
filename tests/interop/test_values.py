"""The functions have the values of lm.evaluate and lm.audit on the same data, and those worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter import metrics

BY = "sex"
ODD = "ignore::lightmeter.metrics.UndefinedWarning"


@st.composite
def worlds(draw: st.DrawFn) -> dict:
    """A few lists of scored people; every list has rows of two groups, and no equal scores."""
    sizes = draw(st.lists(st.integers(2, 12), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = sum(sizes)
    groups = rng.choice(["f", "m", "x"], n, p=[0.4, 0.4, 0.2])
    starts = np.cumsum([0, *sizes[:-1]])
    groups[starts], groups[starts + 1] = "f", "m"
    return {
        "score": rng.permutation(n) / n - 0.3,
        "group": groups,
        "label": rng.integers(0, 4, n).astype(float),
        "query": np.repeat([f"q{i}" for i in range(len(sizes))], sizes),
        "k": draw(st.integers(1, 13)),
    }


def collection(world: dict) -> lm.Collection:
    doc = [f"d{i}" for i in range(len(world["score"]))]
    run = pl.DataFrame({"query": world["query"], "doc": doc, "score": world["score"]})
    qrels = pl.DataFrame({"query": world["query"], "doc": doc, "grade": world["label"].astype(int)})
    return lm.load(run=run, qrels=qrels, groups=pl.DataFrame({"doc": doc, BY: world["group"]}))


@pytest.mark.filterwarnings(ODD)
@settings(max_examples=25, deadline=None)
@given(worlds())
def test_values_are_those_of_evaluate(world: dict) -> None:
    k, y, s = world["k"], world["label"], world["score"]
    args = {"groups": world["group"], "queries": world["query"]}
    pool = lm.Pool()
    pairs = [
        (lm.ExposureRatio(by=BY) @ k, metrics.exposure_ratio(y, s, k=k, **args)),
        (lm.ExposureRatio(by=BY, user=lm.RBP(p=0.7)), metrics.exposure_ratio(y, s, user="RBP(p=0.7)", **args)),
        (
            lm.ExposureRatio(by=BY, value="f", reference="m"),
            metrics.exposure_ratio(y, s, group="f", reference="m", **args),
        ),
        (lm.ExposureGap(by=BY) @ k, metrics.exposure_gap(y, s, k=k, **args)),
        (
            lm.ExposureGap(by=BY, value="m", reference="f") @ k,
            metrics.exposure_gap(y, s, k=k, group="m", reference="f", **args),
        ),
        (lm.DTR(by=BY), metrics.exposure_per_merit_ratio(y, s, **args)),
        (
            lm.DTR(by=BY, value="m", reference="f") @ k,
            metrics.exposure_per_merit_ratio(y, s, k=k, group="m", reference="f", **args),
        ),
        (lm.ExposureRatio(by=BY, user=lm.TopK(k=k)), metrics.selection_rate_ratio(y, s, k=k, **args)),
        (lm.ABR(by=BY), metrics.abr(y, s, **args)),
        (lm.ABR(by=BY, user=lm.DCG) @ k, metrics.abr(y, s, k=k, user=lm.DCG, **args)),
        (lm.Skew(by=BY, value="m", target=pool) @ k, metrics.skew(y, s, k=k, group="m", **args)),
        (lm.Skew(by=BY, value="f") @ k, metrics.skew(y, s, k=k, group="f", target=thirds(world), **args)),
        (lm.MinSkew(by=BY, target=pool) @ k, metrics.min_skew(y, s, k=k, **args)),
        (lm.MaxSkew(by=BY, target=pool) @ k, metrics.max_skew(y, s, k=k, **args)),
        (lm.NDKL(by=BY, target=pool) @ k, metrics.ndkl(y, s, k=k, **args)),
        (lm.NDKL(by=BY), metrics.ndkl(y, s, target="uniform", **args)),
        (lm.AWRF(by=BY, target=pool) @ k, metrics.awrf(y, s, k=k, **args)),
        (
            lm.AWRF(by=BY, div=lm.TV, user=lm.Inverse),
            metrics.awrf(y, s, div="TV", user="Inverse", target="uniform", **args),
        ),
        (lm.nDCG @ k, metrics.ndcg(y, s, k=k, queries=world["query"])),
    ]
    means = lm.evaluate(collection(world), [m for m, _ in pairs]).mean()
    expected = dict(zip(means["measure"], means["value"], strict=True))
    for measure, value in pairs:
        wanted = expected[str(measure)]
        wanted = math.nan if wanted is None else wanted
        assert value == pytest.approx(wanted, abs=1e-9, nan_ok=True), str(measure)


def thirds(world: dict) -> dict[str, float]:
    """The uniform target, written out."""
    present = sorted(set(world["group"]))
    return {g: 1 / len(present) for g in present}


@pytest.mark.filterwarnings(ODD)
@settings(max_examples=15, deadline=None)
@given(worlds())
def test_mean_exposure_by_group_is_that_of_evaluate(world: dict) -> None:
    got = metrics.mean_exposures(None, world["score"], groups=world["group"], queries=world["query"], k=world["k"])
    table = lm.evaluate(collection(world), lm.MeanExposure(by=BY) @ world["k"]).mean()
    for group, value in zip(table["group"], table["value"], strict=True):
        if group in got:
            assert got[group] == pytest.approx(value, abs=1e-12)


@pytest.mark.filterwarnings(ODD)
@settings(max_examples=10, deadline=None)
@given(worlds(), st.booleans())
def test_values_are_those_of_audit(world: dict, tied: bool) -> None:
    score = np.round(world["score"], 1) if tied else world["score"]
    if not world["label"].any():
        world["label"][0] = 1.0
    table = {"p": score, BY: world["group"], "ok": world["label"]}
    k = min(world["k"], len(score))
    result = lm.audit(
        table, score="p", group=BY, label="ok", cutoffs=k, min_cell=1, resamples=0, ties="expected", reference="f"
    )
    args = {"groups": world["group"]}
    pair = {"group": "m", "reference": "f"}
    y = world["label"]
    rates = metrics.selection_rates(y, score, k=k, **args)
    exposures = metrics.mean_exposures(y, score, **args)
    for group in exposures:
        assert exposures[group] == pytest.approx(result.value("exposure", group), abs=1e-12)
        assert rates[group] == pytest.approx(result.value("selection_rate", group, cutoff=k), abs=1e-12)
    for name, value in (
        ("exposure_ratio", metrics.exposure_ratio(y, score, k=k, **pair, **args)),
        ("exposure_gap", metrics.exposure_gap(y, score, k=k, **pair, **args)),
        ("exposure_per_merit_ratio", metrics.exposure_per_merit_ratio(y, score, k=k, **pair, **args)),
        ("skew", metrics.skew(y, score, k=k, group="m", **args)),
    ):
        assert value == pytest.approx(result.value(name, "m", cutoff=k), abs=1e-9, nan_ok=True), name
    if not tied:
        assert metrics.ndkl(y, score, k=k, **args) == pytest.approx(result.value("ndkl", cutoff=k), abs=1e-9)


@pytest.mark.filterwarnings(ODD)
@settings(max_examples=25, deadline=None)
@given(worlds(), st.data())
def test_a_weight_is_a_number_of_members(world: dict, data: st.DataObject) -> None:
    """A row of weight 2 is two members who share one place: so is a pair of equal scores that gets that place twice."""
    s, g, y = world["score"], world["group"], world["label"]
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(s), max_size=len(s))), dtype=float)
    if not weight.any():
        weight[0] = 1.0
    order = np.argsort(-s)
    view = np.empty(len(s))
    view[order] = 1 / np.log2(np.arange(len(s)) + 2)
    copies = np.repeat(np.arange(len(s)), weight.astype(int))  # each member once
    got = metrics.mean_exposures(y, s, groups=g, sample_weight=weight)
    top = np.isin(np.arange(len(s)), order[:3])
    rates = metrics.selection_rates(y, s, groups=g, k=3, sample_weight=weight)
    for a in got:
        mine = copies[g[copies] == a]
        if len(mine):
            assert got[a] == pytest.approx(view[mine].mean())
            assert rates[a] == pytest.approx(top[mine].mean())
        else:
            assert math.isnan(got[a])
    # prefixes, one place after the other
    shares = {a: (g[copies] == a).mean() for a in sorted(set(g))}
    total = mass = 0.0
    for rank in range(1, len(s) + 1):
        inside = copies[np.isin(copies, order[:rank])]
        if len(inside):
            p = {a: (g[inside] == a).mean() for a in shares}
            far = sum(x * math.log(x / shares[a]) for a, x in p.items() if x > 0)
            total, mass = total + far / math.log2(rank + 1), mass + 1 / math.log2(rank + 1)
    assert metrics.ndkl(y, s, groups=g, sample_weight=weight) == pytest.approx(total / mass, abs=1e-9)


def test_weights_by_hand() -> None:
    # places 1, 1/log2(3), 1/2; the first row of group a counts three times
    args = {"groups": ["a", "b", "a"], "sample_weight": [3, 1, 1]}
    a, b = (3 * 1 + 0.5) / 4, 1 / math.log2(3)
    assert metrics.exposure_gap(None, [3, 2, 1], group="a", reference="b", **args) == pytest.approx(a - b)
    # merit of a: (3*1 + 1*0)/4, of b: 1
    got = metrics.exposure_per_merit_ratio([1, 1, 0], [3, 2, 1], group="a", reference="b", **args)
    assert got == pytest.approx((a / 0.75) / b)
    # of the first two places a has 3 of 4 members, of all 4 of 5
    assert metrics.skew(None, [3, 2, 1], group="a", k=2, **args) == pytest.approx(math.log(0.75 / 0.8))


@pytest.mark.filterwarnings(ODD)
@settings(max_examples=20, deadline=None)
@given(worlds(), st.randoms())
def test_the_order_of_rows_plays_no_part_even_with_ties(world: dict, random: object) -> None:
    s = np.round(world["score"] * 4)
    other = np.random.default_rng(random.randrange(2**32)).permutation(len(s))  # type: ignore[attr-defined]
    for name in ("exposure_ratio", "exposure_gap", "exposure_per_merit_ratio", "abr", "awrf", "min_skew", "ndkl"):
        of = getattr(metrics, name)
        k = {"k": min(world["k"], 5)}
        one = of(world["label"], s, groups=world["group"], queries=world["query"], **k)
        two = of(world["label"][other], s[other], groups=world["group"][other], queries=world["query"][other], **k)
        assert one == pytest.approx(two, abs=1e-9, nan_ok=True), name


def test_ties() -> None:
    scores, groups = [1, 1, 1, 0], ["f", "m", "m", "m"]
    # f shares the first three places: (1 + 1/log2(3) + 1/2)/3; a constant scorer is neither perfect nor the worst
    shared = (1 + 1 / math.log2(3) + 0.5) / 3
    assert metrics.mean_exposures(None, scores, groups=groups)["f"] == pytest.approx(shared)
    assert metrics.selection_rates(None, scores, groups=groups, k=2)["f"] == pytest.approx(2 / 3)
    assert metrics.mean_exposures(None, scores, groups=groups, ties="order")["f"] == 1.0
    with pytest.raises(ValueError, match="3 rows share their score"):
        metrics.exposure_ratio(None, scores, groups=groups, ties="error")
    with pytest.warns(metrics.UndefinedWarning, match="equal scores of different groups"):
        assert math.isnan(metrics.ndkl(None, scores, groups=groups))
    same = metrics.ndkl(None, [3, 2, 2, 1], groups=["f", "m", "m", "m"])  # ties within a group leave nothing open
    assert same == pytest.approx(metrics.ndkl(None, [4, 3, 2, 1], groups=["f", "m", "m", "m"]))
    below = metrics.ndkl(None, [3, 2, 1, 1], groups=["f", "m", "f", "m"], k=2)
    assert below == pytest.approx(metrics.ndkl(None, [4, 3, 2, 1], groups=["f", "m", "f", "m"], k=2))


def test_unknown_groups_keep_their_rank_and_are_in_no_ratio() -> None:
    groups = ["f", None, "m", "unknown", ""]
    got = metrics.mean_exposures(None, [5, 4, 3, 2, 1], groups=groups)
    assert got == pytest.approx({"f": 1.0, "m": 0.5})
    # shares of the prefixes: f, f, half and half, ..: KL ln 2 at ranks 1 and 2, weights 1 and .631 of 2.949 in all
    ranks = [1 / math.log2(k + 1) for k in range(1, 6)]
    by_hand = math.log(2) * (ranks[0] + ranks[1]) / sum(ranks)
    assert by_hand == pytest.approx(0.3834, abs=5e-5)
    assert metrics.ndkl(None, [5, 4, 3, 2, 1], groups=groups) == pytest.approx(by_hand)
    table = {"score": [5, 4, 3, 2, 1], BY: groups}
    assert lm.audit(table, score="score", group=BY, min_cell=1, resamples=0).value("ndkl") == pytest.approx(by_hand)
    c = lm.load(run={"q": list("abcde")}, groups=pl.DataFrame({"doc": list("abcde"), BY: ["f", None, "m", None, None]}))
    drop = (
        lm.evaluate(c, [lm.AWRF(by=BY), lm.ExposureRatio(by=BY), lm.NDKL(by=BY)], unknown="drop")
        .mean()["value"]
        .to_list()
    )
    assert drop[2] == pytest.approx(by_hand)
    assert metrics.awrf(None, [5, 4, 3, 2, 1], groups=groups) == pytest.approx(drop[0])
    assert metrics.exposure_ratio(None, [5, 4, 3, 2, 1], groups=groups) == pytest.approx(drop[1])


@pytest.mark.filterwarnings(ODD)
def test_ndkl_of_unknown_rows_is_that_of_evaluate() -> None:
    """Above the first known row there is no share: those ranks are left out, in each list by itself."""
    groups = [None, "f", None, "m", "m", None, None, "f", "m", None]
    query = ["p"] * 5 + ["q"] * 5
    args = {"groups": groups, "queries": query}
    score = [9.0, 8, 7, 6, 5] * 2
    rows = pl.DataFrame({"doc": list("abcdefghij"), BY: groups})
    c = lm.load(run={"p": list("abcde"), "q": list("fghij")}, groups=rows)
    for k in (None, 4, 2):
        measure = lm.NDKL(by=BY) if k is None else lm.NDKL(by=BY) @ k
        want = lm.evaluate(c, [measure], unknown="drop").mean()["value"][0]  # k=2: the second list is undefined
        assert metrics.ndkl(None, score, k=k, target="uniform", **args) == pytest.approx(want), k
    ranked = [1 / math.log2(k + 1) for k in range(1, 6)]
    p = (ranked[1] + ranked[2]) * math.log(3) + ranked[3] * _kl([1 / 2, 1 / 2], [1 / 3, 2 / 3])
    q = ranked[2] * math.log(2)
    want = (p / sum(ranked[1:]) + q / sum(ranked[2:])) / 2
    table = {"score": score, BY: groups, "query": query}
    result = lm.audit(table, score="score", group=BY, query="query", min_cell=1, resamples=0)
    assert result.value("ndkl") == pytest.approx(want)
    assert metrics.ndkl(None, score, **args) == pytest.approx(want)


def _kl(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_a_list_without_ndkl_leaves_those_of_the_others_as_they_are() -> None:
    scores, groups, queries = [2, 1, 2, 1], ["f", "m", "m", "m"], ["a", "a", "b", "b"]
    args = {"groups": groups, "queries": queries, "target": {"f": 0.0, "m": 1.0}}
    assert metrics.ndkl(None, scores, **args) == 0.0  # list b alone: f is ranked in a and has no target share
