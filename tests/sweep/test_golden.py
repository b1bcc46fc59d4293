"""Curves and areas of two and three documents, by hand and by listing all rankings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.exposure.enumeration import exposure, luce_rankings

import lightmeter as lm

TWO = lm.load({"good": {"q": {"r": 2.0, "n": 1.0}}, "bad": {"q": {"r": 1.0, "n": 2.0}}}, {"q": {"r": 1}})


@pytest.mark.parametrize(("run", "area"), [("good", 3 / 4 + 1 / 6), ("bad", 3 / 4 - 1 / 6)])
@pytest.mark.parametrize("policy", ["PlackettLuce", "RankTransposition"])
def test_two_documents_have_one_curve_for_all_policies(run: str, area: float, policy: str) -> None:
    """Exposures 3/4 + s, 3/4 - s: x = 16 s^2, y = 3/4 +- s, and so y = 3/4 +- sqrt(x)/4 with area 3/4 +- 1/6."""
    result = lm.sweep(TWO, policy)
    curve = result.find(policy, run)
    x, y = curve.mean
    assert y == pytest.approx(0.75 + (1 if run == "good" else -1) * np.sqrt(x) / 4, abs=1e-7)  # PL stops at alpha 1e12
    assert curve.area().value == pytest.approx(area, abs=5e-5)
    assert curve.query_mean().value == pytest.approx(area, abs=5e-5)
    assert curve.frontier_area().value == pytest.approx(3 / 4 + 1 / 6, abs=1e-12)
    assert curve.share().value == pytest.approx(area / (3 / 4 + 1 / 6), abs=1e-4)


def test_three_documents_by_listing_all_rankings() -> None:
    """Plackett-Luce of z-scores 1.2247.., 0, -1.2247.. and RBP(p=0.5), relevant documents first and last."""
    c = lm.load({"a": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}}, {"q": {"a": 1, "c": 1}})
    curve = lm.sweep(c, "PlackettLuce").curves[0]
    view = np.array([1.0, 0.5, 0.25])
    target = np.array([0.75, 0.0, 0.75])
    z = np.array([1.0, 0.0, -1.0]) / np.sqrt(2 / 3)
    low, high = view.sum() ** 2 / 3, (view**2).sum()
    x, y = [], []
    for alpha in curve.points.parameter[:-1]:
        eps = exposure(luce_rankings(min(alpha, 1e4) * z), 3, view, False, None)
        x.append((eps @ eps - low) / (high - low))
        y.append(eps @ target / 1.125)
    assert curve.mean[0][:-1] == pytest.approx(x, abs=1e-9)
    assert curve.mean[1][:-1] == pytest.approx(y, abs=1e-9)
    assert (curve.mean[0][-1], curve.mean[1][-1]) == pytest.approx((1.0, 1.25 * 0.75 / 1.125))
    dense_x, dense_y = [], []
    for alpha in [*np.linspace(0, 3, 700), *np.linspace(3, 30, 700)[1:], 1e3]:
        eps = exposure(luce_rankings(alpha * z), 3, view, False, None)
        dense_x.append((eps @ eps - low) / (high - low))
        dense_y.append(eps @ target / 1.125)
    assert curve.area().value == pytest.approx(np.trapezoid(dense_y, dense_x), abs=1e-4)


@pytest.mark.parametrize("user", ["RBP(p=0.5)", "DCG", "Inverse"])
def test_rank_transposition_traces_a_parabola(user: str) -> None:
    """Its area is y_uniform/3 + 2 y_static/3 where lists are equally long; the mean curve's and each query's."""
    rng = np.random.default_rng(5)
    run = {f"q{q}": {f"d{i}": float(s) for i, s in enumerate(rng.normal(size=8))} for q in range(6)}
    qrels = {f"q{q}": {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 3, 8))} | {"d9": 1} for q in range(6)}
    curve = lm.sweep(lm.load({"a": run}, qrels), "RankTransposition", user).curves[0]
    y = curve.mean[1]
    assert curve.area().value == pytest.approx(y[0] / 3 + 2 * y[-1] / 3, abs=2e-5)
    own = curve.scale.relevance(curve.points.eer)
    assert curve.query_areas == pytest.approx(own[:, 0] / 3 + 2 * own[:, -1] / 3, abs=1e-4)


def test_ties_leave_a_straight_last_step() -> None:
    """Two documents of one score: Plackett-Luce is uniform at any alpha, and goes straight to the ranking."""
    c = lm.load({"a": {"q": {"r": 1.0, "n": 1.0}}}, {"q": {"r": 1}})  # docno: the later id first
    result = lm.sweep(c, "PlackettLuce")
    curve = result.curves[0]
    assert curve.last_step == pytest.approx(1.0)
    assert curve.area().value == pytest.approx((0.75 + 1.0) / 2)
    assert "a PlackettLuce: 1.00" in result.conventions["last step"]
    assert "last step" not in lm.sweep(TWO, "PlackettLuce").conventions


def test_an_unanswered_query_counts_with_relevance_0() -> None:
    c = lm.load({"a": {"q": {"r": 2.0, "n": 1.0}}}, {"q": {"r": 1}, "p": {"r": 1}})
    result = lm.sweep(c, "RankTransposition")
    curve = result.curves[0]
    assert curve.area().value == pytest.approx((3 / 4 + 1 / 6) / 2, abs=5e-5)
    assert curve.query_mean().value == pytest.approx((3 / 4 + 1 / 6) / 2, abs=5e-5)
    assert curve.frontier_area().value == pytest.approx((3 / 4 + 1 / 6) / 2)
    assert curve.area().n == 2
    assert curve.area().low == 0.0  # a resample may hold the unanswered query only
    rows = result.per_query().filter(pl.col("measure") == "EEAUC").select("query", "value", "reason").rows()
    assert rows[1][0] == "p"
    assert rows[1][1:] == (0.0, "not_in_run")
    skipped = lm.sweep(c, "RankTransposition", missing="skip").curves[0]
    assert (skipped.area().n, skipped.area().value) == (1, pytest.approx(3 / 4 + 1 / 6, abs=5e-5))
    with pytest.raises(lm.LightmeterError, match="does not answer query 'p'"):
        lm.sweep(c, missing="error")
    nothing = lm.load({"a": {"x": {"n": 1.0}}}, {"q": {"r": 1}, "x": {"n": 0}})
    area = lm.sweep(nothing).curves[0].area()
    assert (area.value, area.reason, area.n) == (0.0, "not_in_run", 1)


def test_queries_without_a_range_or_relevant_documents_are_left_out_and_counted() -> None:
    run = {"q": {"r": 2.0, "n": 1.0}, "one": {"r": 1.0}, "none": {"n": 2.0, "m": 1.0}}
    c = lm.load({"a": run}, {"q": {"r": 1}, "one": {"r": 1}, "none": {"n": 0}})
    result = lm.sweep(c, "RankTransposition")
    assert result.curves[0].area().n == 1
    assert result.area() == pytest.approx(3 / 4 + 1 / 6, abs=5e-5)
    reasons = dict(result.per_query().filter(pl.col("measure") == "EEAUC").select("query", "reason").rows())
    assert reasons == {"q": None, "one": "no_disparity_range", "none": "no_relevant"}
    assert result.manifest["curves"][0]["left_out"] == {"no_disparity_range": 1, "no_relevant": 1}


def test_cascade_takes_disparity_of_the_means() -> None:
    """Two queries of two documents; Cascade(p=0.8, u=0.5), EED by listing: x of the mean is not the mean of x."""
    run = {"q": {"r": 2.0, "n": 1.0}, "p": {"n": 2.0, "r": 1.0}}
    curve = lm.sweep(
        lm.load({"a": run}, {"q": {"r": 1}, "p": {"r": 1}}), "PlackettLuce", "Cascade(p=0.8, u=0.5)"
    ).curves[0]
    uniform = np.array([(1 + 0.8) / 2, (1 + 0.4) / 2])  # of r and n
    low = (uniform**2).sum()
    high = ((1 + 0.4**2) + (1 + 0.8**2)) / 2
    alpha = 10**0.5 / 5
    at = int(np.argmin(np.abs(curve.points.parameter - alpha)))
    first = 1 / (1 + np.exp(-2 * curve.points.parameter[at]))  # z-scores 1 and -1
    eed = 0.0
    for share in (first, 1 - first):  # of rankings with r on top
        eps = np.array([share + (1 - share) * 0.8, share * 0.4 + (1 - share)])
        eed += (eps**2).sum() / 2
    assert curve.mean[0][at] == pytest.approx((eed - low) / (high - low), abs=1e-9)


def test_relevance_of_a_measured_curve_that_rises_stays_below_1() -> None:
    """Views .1, 1, .2: eps* of the one relevant document is .1, and no ranking has more EER than .1 * 1."""
    c = lm.load({"a": {"q": {"a": 3.0, "r": 2.0, "c": 1.0}}}, {"q": {"r": 1}})
    curve = lm.sweep(c, users="Attention(weights=[0.1, 1, 0.2])").curves[0]
    assert curve.mean[1][[0, -1]] == pytest.approx([(0.1 + 1 + 0.2) / 3, 1.0], abs=1e-12)
    assert 0 < curve.share().value <= 1


def test_the_mean_of_query_areas_has_the_standard_error_of_two_queries() -> None:
    """Areas 3/4 + 1/6 and 3/4 - 1/6: a standard deviation of sqrt(2)/6 over the root of 2."""
    run = {"good": {"r": 2.0, "n": 1.0}, "bad": {"r": 1.0, "n": 2.0}}
    found = lm.sweep(lm.load({"a": run}, {"good": {"r": 1}, "bad": {"r": 1}})).curves[0].query_mean()
    assert (found.value, found.se) == (pytest.approx(3 / 4, abs=1e-4), pytest.approx(1 / 6, abs=1e-4))


def test_intervals_of_the_frontier_count_the_unanswered() -> None:
    """Half of 40 queries are answered, each with a frontier of area 11/12."""
    qrels = {f"q{i}": {"r": 1} for i in range(40)}
    c = lm.load({"a": {f"q{i}": {"r": 2.0, "n": 1.0} for i in range(20)}}, qrels)
    found = lm.sweep(c).curves[0].frontier_area()
    assert found.value == pytest.approx(11 / 24, abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert 0.2 < found.low < 11 / 24 < found.high < 0.7
