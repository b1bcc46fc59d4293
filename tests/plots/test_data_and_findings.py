"""The data of a picture are the numbers of the result, and its title says what they say."""

from __future__ import annotations

import itertools
import re

import numpy as np
import polars as pl
import pytest
from tests.plots.conftest import QRELS, collection, people, rows_with, run, title

import lightmeter as lm
from lightmeter import plots
from lightmeter.findings.language import short_names
from lightmeter.plots.labels import along, places
from lightmeter.plots.theme import DASHES, SHAPES, apart


def test_curve_shows_the_points_of_the_sweep(sweep: lm.SweepResult) -> None:
    shown = rows_with(plots.curve(sweep), "disparity", "relevance")
    points = sweep.curve().filter(pl.col("policy") == "PlackettLuce", pl.col("run") == "fair")
    mine = shown.filter(pl.col("policy") == "PlackettLuce", pl.col("run") == "fair").sort("point")
    for measure in ("disparity", "relevance"):
        wanted = points.filter(pl.col("measure") == measure)["value"]
        assert mine[measure].to_list() == pytest.approx(wanted.to_list())
    best = shown.filter(pl.col("policy") == "best possible", pl.col("run") == "fair")
    assert best["disparity"].max() == 1.0
    assert best["relevance"].max() >= mine["relevance"].max()


def ordered(good: bool) -> dict[str, dict[str, float]]:
    """The ideal order with scores far apart, or the worst."""
    return {
        q: {d: (1 if good else -1) * float(g * 10) - 0.01 * i for i, (d, g) in enumerate(docs.items())}
        for q, docs in QRELS.items()
    }


def test_finding_of_curves_flips() -> None:
    both = ["PlackettLuce", "RankTransposition"]
    above = plots.curve(lm.sweep(collection(one=ordered(True)), both, resamples=2))
    assert title(above).startswith("PlackettLuce gives more relevance than RankTransposition at")
    below = plots.curve(lm.sweep(collection(one=ordered(False)), both, resamples=2))
    assert title(below).startswith("RankTransposition gives more relevance than PlackettLuce at")
    two = collection(one=ordered(True), other=ordered(False))
    mixed = title(plots.curve(lm.sweep(two, both, resamples=2)))
    assert "for 1 of 2 runs" in mixed
    single = title(plots.curve(lm.sweep(two, "PlackettLuce", resamples=2)))
    assert single.startswith("'one' gives the most relevance")
    swapped = collection(one=ordered(False), other=ordered(True))
    assert title(plots.curve(lm.sweep(swapped, "PlackettLuce", resamples=2))).startswith(
        "'other' gives the most relevance"
    )


def test_share_of_the_curve_above_is_counted() -> None:
    from lightmeter.findings.curves import finding

    # two straight lines that cross at x = .25: the first is above on the 74 places right of it, of 99
    frame = pl.DataFrame(
        {
            "panel": ["p"] * 4,
            "run": ["p"] * 4,
            "policy": ["A", "A", "B", "B"],
            "point": [0, 1, 0, 1],
            "disparity": [0.0, 1.0, 0.0, 1.0],
            "relevance": [0.0, 1.0, 0.25, 0.25],
        }
    )
    areas = pl.DataFrame({"run": ["p", "p"], "policy": ["A", "B"], "area": [0.5, 0.25]})
    assert finding(frame, areas) == "A gives more relevance than B at 75% of disparities"
    same = frame.with_columns(relevance=pl.lit(0.5))
    assert finding(same, areas) == "A and B give about the same relevance at every disparity"


def test_randomisation_shows_eed_and_eer(sweep: lm.SweepResult) -> None:
    chart = plots.randomisation(sweep, policy="PlackettLuce")
    raw = sweep.curve(raw=True).filter(
        pl.col("run") == "good", pl.col("policy") == "PlackettLuce", pl.col("measure") == "EED"
    )
    assert title(chart).startswith("With less randomness disparity (EED) rises in all 3 runs; relevance (EER)")
    shown = rows_with(chart, "parameter", "value").filter(pl.col("run") == "good")
    known = raw.filter(pl.col("parameter").is_in(shown["parameter"].implode()))["value"].to_list()
    assert len(known) > 5
    assert shown["value"].to_list() == pytest.approx(known)


def test_randomisation_of_results() -> None:
    c = collection(one=run(2.0, 1))
    made = {
        a: lm.evaluate(c, ["nDCG@5", "Gini(user=DCG)"], policy=lm.PlackettLuce(alpha=a), samples=20)
        for a in (0.1, 1, 10)
    }
    chart = plots.randomisation(made, parameter="alpha")
    shown = rows_with(chart, "parameter", "value")
    assert shown["value"].to_list() == pytest.approx([float(np.nanmean(r.values("nDCG@5"))) for r in made.values()])
    assert "nDCG@5 rises from" in title(chart)
    with pytest.raises(lm.LightmeterError, match="at least two parameters"):
        plots.randomisation({1.0: made[1]})


def test_tradeoff_shows_means_and_names_the_best(result: lm.Result) -> None:
    x, y = "nDCG@5", "GF(by='side', user=RBP(p=0.8))"
    chart = plots.tradeoff(result, x, y, weights=(1.0, 0.0))
    shown = rows_with(chart, "x", "y", "both")
    for name in result.runs:
        row = shown.filter(pl.col("name") == name).row(0, named=True)
        assert (row["x"], row["y"]) == pytest.approx([float(np.nanmean(result.values(m, name))) for m in (x, y)])
        assert row["both"] == pytest.approx(row["x"])
    best = shown.sort("x")["name"][-1]
    assert title(chart).startswith(f"'{best}' has the best combined score and nDCG@5")
    other = plots.tradeoff(result, x, y, weights=(0.0, 1.0))
    low, high = sorted(shown.sort("y")["y"].tail(2))
    assert 0 < high - low < 0.01  # too little to call one of them the best
    assert (
        title(other) == "'fair' and 'poor' have about the same best combined score and GF; 'good' has the best nDCG@5"
    )


def test_contours_have_equal_combined_score(result: lm.Result) -> None:
    lines = rows_with(plots.tradeoff(result, weights=(0.3, 0.7)), "level", "x2")
    assert len(lines) > 1
    assert len({len(level) - level.index(".") for level in lines["level"]}) == 1
    for row in lines.iter_rows(named=True):
        for x, y in (("x", "y"), ("x2", "y2"), ("at_x", "at_y")):
            assert 0.3 * row[x] + 0.7 * row[y] == pytest.approx(float(row["level"]), abs=1e-9)


def test_no_contours_where_lower_is_better(result: lm.Result) -> None:
    chart = plots.tradeoff(result, "nDCG@5", "EED(user=RBP(p=0.5))")
    with pytest.raises(AssertionError, match="no data"):
        rows_with(chart, "level")


@pytest.mark.parametrize(
    ("x", "y", "corner"),
    [
        ("nDCG@5", "GF(by='side', user=RBP(p=0.8))", "top right"),
        ("EED(user=RBP(p=0.5))", "nDCG@5", "top left"),
        ("nDCG@5", "EED(user=RBP(p=0.5))", "bottom right"),
    ],
)
def test_best_corner_is_named(result: lm.Result, x: str, y: str, corner: str) -> None:
    for chart in (plots.tradeoff(result, x, y), plots.arrows(result, [("poor", "good")], x, y)):
        assert f"best: {corner}" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_no_corner_where_a_measure_has_no_better_side(result: lm.Result) -> None:
    chart = plots.tradeoff(result, "nDCG@5", "DeltaGF(by='side', positive='f', user=RBP(p=0.8))")
    assert "best:" not in " ".join(chart.to_dict()["title"]["subtitle"])


def test_arrows_tell_better_from_worse() -> None:
    runs = {"bad": ordered(False), "ideal": ordered(True)}
    c = collection(**runs)
    r = lm.evaluate(c, ["nDCG@5", "RR"])
    up = plots.arrows(r, [("bad", "ideal")])
    assert title(up) == "From 'bad' to 'ideal' the change improves nDCG@5 and RR"
    assert rows_with(up, "effect")["effect"].to_list() == ["both better"]
    down = plots.arrows(r, [("ideal", "bad")])
    assert title(down) == "From 'ideal' to 'bad' the change hurts nDCG@5 and RR"
    both = plots.arrows(r, [("ideal", "bad"), ("bad", "ideal")])
    assert title(both) == (
        "From 'ideal' to 'bad' the change hurts both measures; from 'bad' to 'ideal' it improves both measures"
        "; in all nothing has changed"
    )
    five = plots.arrows(r, [("ideal", "bad"), ("bad", "ideal")] * 2 + [("ideal", "bad")])
    assert title(five) == (
        "Of 5 changes 2 improve both measures and 3 hurt both measures; "
        "in all, from 'ideal' to 'bad', it hurts nDCG@5 and RR"
    )
    # where lower is better, less is better
    eel = plots.arrows(lm.evaluate(c, ["nDCG@5", "EEL(user=RBP(p=0.5))"]), [("bad", "ideal")])
    assert rows_with(eel, "effect")["effect"].to_list() == ["both better"]


def lean(first: str) -> lm.Result:
    docs = ["a", "b", "c"] if first == "f" else ["c", "b", "a"]
    c = lm.load(run={"one": dict.fromkeys("xyz", docs)}, groups={"side": {"a": "f", "b": "m", "c": "m"}})
    return lm.evaluate(c, "DeltaGF(by='side', positive='f', user=RBP(p=0.5))@1")


def test_leaning_flips() -> None:
    toward, away = plots.leaning(lean("f"), other="m"), plots.leaning(lean("m"), other="m")
    assert title(toward) == "'one' leans to side f (0.500)"
    assert title(away) == "'one' leans to side m (-0.500)"
    assert rows_with(toward, "value", "side")["side"].to_list() == ["leans to side f"]
    assert rows_with(away, "value", "side")["side"].to_list() == ["leans to side m"]
    by_query = plots.leaning(lean("f"), run="one")
    assert title(by_query) == "'one' leans to side f on 3 of 3 queries, to not side f on 0"
    assert rows_with(by_query, "value", "side")["value"].to_list() == [0.5] * 3


def test_exposure_bars_start_at_zero_and_tell_the_ratio(result: lm.Result) -> None:
    chart = plots.exposure(result)
    shown = rows_with(chart, "run", "group", "value")
    for row in shown.iter_rows(named=True):
        wanted = result.values("MeanExposure(by='side', user=DCG(clip=False))", row["run"], row["group"])
        assert row["value"] == pytest.approx(float(np.nanmean(wanted)))
    assert chart.to_dict()["spec"]["layer"][0]["encoding"]["x"]["scale"]["domain"][0] == 0
    good = dict(shown.filter(pl.col("run") == "good").select("group", "value").iter_rows())
    most, least = sorted(good, key=lambda g: -good[g])
    told = re.search(
        rf"side {most} gets more exposure per member than side {least} in 'good' \(([\d.]+) times", title(chart)
    )
    assert told
    # who divides the numbers beside the bars finds the ratio of the title
    printed = {
        g: float(t) for g, t in shown.filter(pl.col("run") == "'good'".strip("'")).select("group", "told").iter_rows()
    }
    assert f"{printed[most] / printed[least]:.2f}" == told[1]
    assert float(told[1]) == pytest.approx(good[most] / good[least], abs=0.006)


def test_cutoffs_follow_the_audit(audit: lm.AuditResult) -> None:
    chart = plots.cutoffs(audit)
    wanted = audit.curve().filter(pl.col("measure") == "exposure_ratio")
    shown = rows_with(chart, "cutoff", "value", "low")
    for name in ("cutoff", "value", "low", "high"):
        assert shown[name].to_list() == [None if v is None else pytest.approx(v) for v in wanted[name].to_list()]
    assert title(chart).startswith("Beyond chance, sex b has less exposure than sex a from k")


def test_finding_of_an_audit_flips() -> None:
    worse = lm.audit(people(2.0), score="score", group="sex", reference="a", resamples=200)
    better = lm.audit(people(-2.0), score="score", group="sex", reference="a", resamples=200)
    even = lm.audit(people(0.0), score="score", group="sex", reference="a", resamples=200)
    assert title(plots.cutoffs(worse)).startswith("Beyond chance, sex b has less exposure than sex a")
    assert title(plots.cutoffs(better)).startswith("Beyond chance, sex b has more exposure than sex a")
    assert "never below four fifths" in " ".join(plots.cutoffs(better).to_dict()["title"]["subtitle"])
    assert "chance could explain it" in title(plots.cutoffs(even))


def test_where_the_cutoffs_are() -> None:
    from lightmeter.plots.cutoffs import _where

    frame = pl.DataFrame({"cutoff": [1, 2, 4, 8, 16]})
    told = {
        (1, 1, 1, 1, 1): "at every cutoff",
        (0, 0, 1, 0, 0): "at k = 4",
        (0, 1, 1, 1, 0): "from k = 2 to 8",
        (0, 0, 1, 1, 1): "from k = 4 on",
        (1, 1, 0, 0, 0): "up to k = 2",
        (1, 0, 1, 1, 0): "at k = 1 and from k = 4 to 8",
        (0, 1, 0, 1, 1): "at k = 2 and from k = 8 on",
        (1, 0, 1, 0, 1): "at 3 of 5 cutoffs drawn",
    }
    for holds, words in told.items():
        assert _where(frame, 1.0 - 2.0 * pl.Series(holds)).replace("\u00a0", " ") == words


def test_significance_counts_the_pairs(comparison: lm.Comparison) -> None:
    chart = plots.significance(comparison)
    power = comparison.power.sort("significant", descending=True).to_dicts()
    assert f"{power[0]['significant']} of {power[0]['pairs']}" in title(chart)
    shown = rows_with(chart, "pair", "p").filter(pl.col("measure") == "nDCG@5")
    wanted = comparison.asl().filter(pl.col("measure") == "nDCG@5")["p"].to_list()
    assert shown["p"].to_list() == pytest.approx(wanted[: len(shown)])


def test_agreement_names_the_ends(comparison: lm.Comparison) -> None:
    chart = plots.agreement(comparison)
    shown = rows_with(chart, "a", "b", "tau")
    assert shown["tau"].to_list() == pytest.approx(comparison.correlations["tau"].to_list())
    top = shown.sort("tau", descending=True, maintain_order=True).row(0, named=True)
    assert title(chart).startswith(f"{top['a']} and {top['b']} order the runs most alike")


def test_scores_count_the_best(comparison: lm.Comparison) -> None:
    chart = plots.scores(comparison)
    shown = rows_with(chart, "measure", "value", "low")
    assert shown["value"].to_list() == pytest.approx(
        comparison.means.filter(pl.col("measure") == "nDCG@5")["value"].to_list()
    )
    flipped = plots.scores(
        lm.evaluate(collection(x=ordered(False), y=ordered(True)), ["nDCG@5", "EEL(user=RBP(p=0.5))"])
    )
    assert title(flipped) == "'y' has the best mean nDCG@5 and EEL"
    equal = plots.scores(lm.evaluate(collection(x=ordered(True), y=ordered(True)), ["nDCG@5"]))
    assert title(equal) == "All runs are about the same by the measure"


def test_distribution_is_that_of_the_measure() -> None:
    groups = {"side": {"a": "f", "b": "m", "c": "m"}}
    c = lm.load(run={"x": {"q": ["a", "b", "c"]}, "y": {"q": ["b", "c", "a"]}}, groups=groups)
    chart = plots.distribution_at(c, "DistrSim(by='side')@2", "q")
    bars = rows_with(chart, "series", "value", "share").filter(~pl.col("wanted"))
    shares = {(r, v): s for r, v, s in bars.select("series", "value", "share").iter_rows()}
    assert shares == {("x", "f"): 0.5, ("x", "m"): 0.5, ("y", "f"): 0.0, ("y", "m"): 1.0}
    assert title(chart) == "'x' is nearest to the target at rank 2 for query q"
    other = lm.load(run={"x": {"q": ["b", "c", "a"]}, "y": {"q": ["a", "b", "c"]}}, groups=groups)
    assert title(plots.distribution_at(other, "DistrSim(by='side')@2", "q")).startswith("'y' is nearest")


def test_attention_curves() -> None:
    chart = plots.attention("RBP(p=0.5)", "Inverse", depth=4)
    shown = rows_with(chart, "rank", "weight")
    assert shown.filter(pl.col("term") == "Inverse")["weight"].to_list() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert title(chart) == ("Of the attention of rank 1, rank 4 gets from 12% (RBP) to 25% (Inverse)")
    log = pl.DataFrame(
        {
            "query": ["q"] * 8,
            "doc": list("aaaabbbb"),
            "rank": [1, 1, 2, 2] * 2,
            "clicked": [1, 0] * 4,
            "weight": [80, 20, 40, 60, 40, 60, 20, 80],
        }
    )
    estimated = plots.attention(lm.estimate_attention(log, method="pairs"), "RBP(p=0.9)")
    assert (
        title(estimated)
        == "Of the attention of rank 1, rank 2 gets 50% as estimated from clicks and 90% by 1 user model"
    )


def test_wrong_requests(result: lm.Result, sweep: lm.SweepResult, audit: lm.AuditResult, small: lm.Collection) -> None:
    wrong = [
        (lambda: plots.tradeoff(result, "nDCG@6", "RR"), "no measure 'nDCG@6'"),
        (lambda: plots.tradeoff(result, weights=(0.5, 0.6)), "sum to 1"),
        (lambda: plots.tradeoff(result, run="goof"), "Did you mean 'good'"),
        (lambda: plots.randomisation(sweep), "Name one: policy="),
        (lambda: plots.arrows(result, []), "no pair of runs"),
        (lambda: plots.cutoffs(audit, "skew"), "Accepted: exposure_ratio or share"),
        (lambda: plots.attention("Cascade(p=0.5, u=0.5)"), "depends on the documents"),
        (lambda: plots.distribution_at(small, "nDCG@5", "q1"), "no target at one rank"),
        (lambda: plots.distribution_at(small, "DistrSim(by='side')@3", "q77"), "no query 'q77'"),
        (lambda: plots.leaning(lm.evaluate(small, "RR")), "no measure that leans"),
        (lambda: plots.exposure(lm.evaluate(small, "RR")), "no measure with a value for each group"),
        (lambda: plots.tradeoff(lm.evaluate(small, "RR")), "needs two measures"),
    ]
    for draw, message in wrong:
        with pytest.raises(lm.LightmeterError, match=message):
            draw()


def test_names_are_short_and_stay_apart() -> None:
    long = [f"runs/team-{'x' * 30}-{i}.run.gz" for i in range(3)]
    assert list(short_names(long).values()) == ["0", "1", "2"]
    deep = short_names(["a/run.txt", "b/run.txt"])
    assert len(set(deep.values())) == 2
    middle = short_names([f"{'p' * 20}{i}{'s' * 20}" for i in "abc"])
    assert len(set(middle.values())) == 3


def test_labels_keep_apart() -> None:
    spread = apart([1.0, 1.1, 1.2, 5.0], 0.5)
    assert all(b - a >= 0.5 - 1e-12 for a, b in itertools.pairwise(sorted(spread)))
    assert spread[3] == 5.0
    assert sum(spread[:3]) == pytest.approx(3.3)
    dots = [(100.0, 100.0), (104.0, 101.0), (102.0, 99.0)]
    found = places([(f"name{i}", i) for i in range(3)], dots, 400, [])
    assert len({(p.across, p.up) for p in found}) == 3
    blocked = places([("name", 0)], [(200.0, 200.0)], 400, along((205.0, 200.0), (300.0, 200.0)))
    assert blocked[0].up != 0 or blocked[0].align != "left"
    free = places([("name", 0)], [(200.0, 200.0)], 400, [])
    assert (free[0].align, free[0].up, free[0].led) == ("left", 0, False)


def test_name_far_from_its_point_is_led_to() -> None:
    crowd = [(200.0 + 7 * i, 200.0 + 7 * j) for i in range(-6, 7) for j in range(-6, 7)]
    inner = crowd.index((200.0, 200.0))
    (place,) = places([("name", inner)], crowd, 400, [])
    assert place.led


def test_series_differ_without_colour() -> None:
    assert len({tuple(d) for d in DASHES}) == len(DASHES)
    assert len(set(SHAPES)) == len(SHAPES)


def test_means_over_different_queries_are_told() -> None:
    groups = {"side": {"a": "f", "b": "m"}}  # of query r nothing is known
    c = lm.load(run={"x": {"q": ["a", "b"], "r": ["c", "d"]}}, qrels={"q": {"a": 1}, "r": {"c": 1}}, groups=groups)
    chart = plots.tradeoff(lm.evaluate(c, ["RR", "GF(by='side', user=RBP(p=0.5))"]))
    assert "RR 2 queries, GF 1 query" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_equal_runs_are_not_called_best() -> None:
    c = lm.load(
        run={"x": {"q": ["a", "b", "c"]}, "y": {"q": ["a", "c", "b"]}, "z": {"q": ["b", "a", "c"]}},
        qrels={"q": {"a": 1, "b": 1}},
    )
    chart = plots.tradeoff(lm.evaluate(c, ["RR", "P@2"]))
    assert title(chart) == "'x' and 'z' share the best combined score and P@2; all runs have the same RR"


def test_undefined_query_has_no_bars() -> None:
    groups = {"side": {"a": "f", "b": "m"}}
    c = lm.load(run={"x": {"q": ["a", "b"], "r": ["c"]}, "y": {"q": ["a", "b"], "r": ["d"]}}, groups=groups)
    chart = plots.distribution_at(c, "DistrSim(by='side')@2", ["q", "r"])
    bars = rows_with(chart, "series", "share").filter(~pl.col("wanted"))
    assert set(bars["query"]) == {"q"}
    assert title(chart) == "All runs are about equally near to the target at rank 2 for query q; undefined for r"
    with pytest.raises(lm.LightmeterError, match="undefined for r"):
        plots.distribution_at(c, "DistrSim(by='side')@2", "r")


def test_users_are_not_mixed_in_the_finding_of_curves() -> None:
    two = collection(one=ordered(True), other=ordered(False))
    chart = plots.curve(lm.sweep(two, "PlackettLuce", ["RBP(p=0.5)", "RBP(p=0.8)"], resamples=2))
    assert (
        title(chart)
        == "'one' gives the most relevance over all disparities in both ways of counting (by user and exposure)"
    )
