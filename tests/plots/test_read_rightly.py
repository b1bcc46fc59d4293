"""What a reader needs on the picture itself: units, directions, patterns in the key, names clear of lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.plots.conftest import collection, ordered_runs, rows_with, run, title

import lightmeter as lm
from lightmeter import plots
from lightmeter.findings.glossary import user_words
from lightmeter.plots.labels import _box, around, covered, places
from lightmeter.plots.points import SIDE, contours, to_pixels
from lightmeter.plots.theme import text_width


def nodes(spec: Any) -> Iterator[dict[str, Any]]:
    """All parts of a chart's description."""
    if isinstance(spec, dict):
        yield spec
        for part in spec.values():
            yield from nodes(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from nodes(part)


def titles(chart: Any, channel: str) -> set[str]:
    """The titles of an axis, over all panels."""
    found = [
        n["encoding"][channel]["title"]
        for n in nodes(chart.to_dict())
        if "title" in n.get("encoding", {}).get(channel, {})
    ]
    return {" ".join(t) if isinstance(t, list) else t for t in found if t is not None}


def marks(chart: Any, kind: str) -> list[dict[str, Any]]:
    return [n["mark"] for n in nodes(chart.to_dict()) if isinstance(n.get("mark"), dict) and n["mark"]["type"] == kind]


def about(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"]["subtitle"])


def test_scores_say_which_way_is_better(result: lm.Result) -> None:
    assert titles(plots.scores(result), "x") >= {
        "mean, higher is better",
        "mean, lower is better",
        "mean (no best, 0: balanced, above 0: to f)",
    }


def test_scores_tell_whether_the_lead_is_significant() -> None:
    same = collection(x=run(3.0, 1), y=run(3.0, 2))
    assert "no lead of the best over the next run is significant" in about(
        plots.scores(lm.compare(same, "nDCG@5", resamples=200, changed=0))
    )
    good, bad = ordered_runs()
    apart = lm.compare(collection(good=good, bad=bad), ["nDCG@5", "RR"], resamples=200, changed=0, alpha=0.1)
    firm = apart.pairs.filter(pl.col("p_adjusted") < 0.1)
    assert len(firm) == 2
    assert "significant by all 2 measures tested" in about(plots.scores(apart))


def test_scores_share_the_first_place() -> None:
    c = collection(a=run(3.0, 1), b=run(3.0, 1), c=run(-3.0, 3))
    told = title(plots.scores(lm.evaluate(c, ["nDCG@5", "AP"])))
    assert told == "'a' and 'b' are about the same and better than the rest by nDCG@5 and AP"


def test_axes_of_two_measures_say_the_balance(result: lm.Result) -> None:
    chart = plots.tradeoff(result, "nDCG@5", "DeltaGF(by='side', positive='f', user=RBP(p=0.8))")
    assert any("0: balanced, above 0: to f" in t for t in titles(chart, "y"))


def test_exposure_has_a_unit(result: lm.Result, audit: lm.AuditResult) -> None:
    for chart in (plots.exposure(result), plots.exposure(audit)):
        assert titles(chart, "x") == {"mean exposure of a member (1 = what rank 1 gets)"}
    count = lm.evaluate(collection(one=run(1.0, 1)), "Count(by='side')@3")
    assert titles(plots.exposure(count), "x") == {"number of documents"}


def test_intervals_of_exposure_stand_out(audit: lm.AuditResult) -> None:
    rules, ticks = marks(plots.exposure(audit), "rule"), marks(plots.exposure(audit), "tick")
    assert [r["color"] for r in rules] == ["white", "#222222"]
    assert rules[0]["strokeWidth"] > rules[1]["strokeWidth"] >= 2
    assert len(ticks) == 4


def test_values_below_zero_have_room() -> None:
    c = collection(one=run(1.0, 1))
    chart = plots.exposure(lm.evaluate(c, "ECE(by='side', part='statistic')"))
    low, high = chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    values = rows_with(chart, "value")["value"]
    assert low < values.min() < 0 < values.max() < high  # type: ignore[operator]


def test_keys_show_whole_patterns(sweep: lm.SweepResult, comparison: lm.Comparison, audit: lm.AuditResult) -> None:
    charts = [
        plots.curve(sweep),
        plots.randomisation(sweep, policy="PlackettLuce"),
        plots.significance(comparison),
        plots.cutoffs(audit, "share"),
    ]
    for chart in charts:
        keys = [n["legend"] for n in nodes(chart.to_dict()) if "orient" in (n.get("legend") or {})]
        assert keys
        # pixels: longer than any pattern before it comes again
        assert all(k["symbolType"] == "stroke" and k["symbolSize"] ** 0.5 >= 24 for k in keys)


def test_points_on_the_edge_are_whole(comparison: lm.Comparison) -> None:
    chart = plots.significance(comparison)
    assert all(m["clip"] for m in marks(chart, "line"))
    (dots,) = marks(chart, "point")
    assert not dots.get("clip", False)
    top = chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"][1]
    shown = [n for n in nodes(chart.to_dict()) if isinstance(n.get("mark"), dict) and n["mark"]["type"] == "point"]
    drawn = chart.to_dict()["datasets"][shown[0]["data"]["name"]]
    assert drawn
    assert all(row["p"] <= top for row in drawn)


def test_two_runs_have_a_picture_of_their_own() -> None:
    good, bad = ordered_runs()
    two = lm.compare(collection(good=good, bad=bad), ["nDCG@5", "RR"], resamples=200, changed=0, alpha=0.1)
    chart = plots.significance(two)
    assert title(chart) == "nDCG@5 and RR tell 'good' and 'bad' apart"
    assert rows_with(chart, "name", "p", "told")["p"].to_list() == pytest.approx(two.pairs["p"].to_list())
    equal = lm.compare(collection(one=good, other=good), ["nDCG@5", "RR"], resamples=200, changed=0)
    assert title(plots.significance(equal)) == "No measure tells 'one' and 'other' apart"


def test_nothing_significant_is_still_shown() -> None:
    alike = {name: run(3.0, 1) for name in ("a", "b", "c")}
    chart = plots.significance(lm.compare(collection(**alike), "nDCG@5", resamples=200, changed=0))
    assert title(chart) == "nDCG@5 tells 0 of 3 pairs of runs apart (0%)"
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1.0]


def test_users_are_named_in_words() -> None:
    words = user_words(
        [lm.RBP(p=0.8), lm.DCG(), lm.DCG(clip=True), lm.TopK(k=5), lm.Inverse(), lm.Attention(weights=[1, 0.5])]
    )
    assert list(words.values()) == [
        "RBP: 80% go on at each rank",
        "DCG: logarithmic discount",
        "DCG: logarithmic discount, flat at the top",
        "TopK: the first 5 ranks only",
        "Inverse: one over the rank",
        "Attention: weights as given",
    ]
    two = user_words([lm.Attention(weights=[1, 0.5]), lm.Attention(weights=[1, 0.2])])
    assert len(set(two.values())) == 2
    chart = plots.attention("RBP(p=0.8)", "DCG")
    assert "clip" not in title(chart)
    line = next(n for n in nodes(chart.to_dict()) if isinstance(n.get("mark"), dict) and n["mark"]["type"] == "line")
    assert "term" in [t["field"] for t in line["encoding"]["tooltip"]]
    assert set(rows_with(chart, "term")["term"]) == {"RBP(p=0.8)", "DCG(clip=False)"}


def test_attention_that_does_not_start_at_one() -> None:
    chart = plots.attention(lm.Attention(weights=[0.5, 0.25]), depth=2)
    assert title(chart) == "Of attention, rank 2 gets 0.250 (Attention: weights as given)"
    assert titles(chart, "y") == {"attention: how often the rank is seen"}
    assert titles(plots.attention("DCG"), "y") == {"attention: how often the rank is seen (rank 1 = 1)"}


def test_cutoffs_say_where_they_count_from(audit: lm.AuditResult) -> None:
    assert all("from the top of the ranking" in t for t in titles(plots.cutoffs(audit), "x") if t.startswith("k:"))
    assert any(t.startswith("k: number of places") for t in titles(plots.cutoffs(audit), "x"))
    assert "exposure of sex b as a multiple of sex a's (1 is equal, below 1: less)" in titles(plots.cutoffs(audit), "y")


def test_disparity_says_what_its_ends_are(sweep: lm.SweepResult) -> None:
    assert titles(plots.curve(sweep), "x") == {"disparity: lower is better (0: even, at random; 1: as given)"}


def test_turns_of_a_measure_are_in_the_title() -> None:
    c = collection(one=run(2.0, 1), two=run(2.0, 2))
    made = {float(a): lm.evaluate(c, "nDCG@5") for a in (1, 2, 3)}
    turned = collection(one=run(3.0, 1), two=run(2.0, 2))
    made[2.0] = lm.evaluate(turned, "nDCG@5")
    low, high = (float(np.nanmean(made[a].values("nDCG@5", "one"))) for a in (1.0, 2.0))
    assert low + 0.02 < high < 1
    assert title(plots.randomisation(made)) == (
        f"With less randomness nDCG@5 rises and then falls in 'one' (from {low:.3f} to {high:.3f} and then {low:.3f}), "
        "stays in 'two'"
    )


def test_names_have_a_rim_and_levels_stand_clear() -> None:
    domain = (0.0, 1.0), (0.0, 1.0)
    on_the_line = [(0.08 * i, 0.8 - 0.08 * i) for i in range(5, 11)]
    dots = [to_pixels(x, y, domain) for x, y in on_the_line]
    layers, boxes = contours((0.5, 0.5), domain, dots)
    lines = rows_with(layers[0], "level", "at_x")
    middle = lines.filter(pl.col("level").cast(pl.Float64) == 0.4).row(0, named=True)
    spot = to_pixels(middle["at_x"], middle["at_y"], domain)
    assert min(np.hypot(spot[0] - x, spot[1] - y) for x, y in dots) > 15
    assert boxes
    assert [m["mark"].get("stroke") for m in (layer.to_dict() for layer in layers[1:])] == ["white", None]


def test_names_in_a_cluster_cover_nothing_and_are_led_to() -> None:
    rng = np.random.default_rng(4)
    dots = [(300 + float(a), 60 + float(b)) for a, b in rng.normal(0, 7, (30, 2))]
    named = [(f"query{i}", i) for i in range(4)]
    found = places(named, dots, SIDE, [])
    boxes = [_box(*dots[i], place, text_width(name, 10.5)) for (name, i), place in zip(named, found, strict=True)]
    assert any(place.led for place in found)
    for i, box in enumerate(boxes):
        assert covered(box, np.array(boxes[:i] + boxes[i + 1 :])) == 0
        # a corner of a letter may touch a dot
        assert covered(box, around(np.array(dots), 2.0)) < 2


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"q": ["a", "b", "c"]}, "hardly changes RR and P@2"),
        ({"q": ["a", "c", "b"]}, "hurts P@2 and hardly changes RR"),
    ],
)
def test_what_stays_is_not_called_better(after: dict[str, list[str]], told: str) -> None:
    c = lm.load(run={"x": {"q": ["a", "b", "c"]}, "y": after}, qrels={"q": {"a": 1, "b": 1}})
    chart = plots.arrows(lm.evaluate(c, ["RR", "P@2"]), [("x", "y")])
    assert title(chart) == f"From 'x' to 'y' the change {told}"


def test_many_runs_are_refused_where_colours_would_come_again() -> None:
    c = collection(**{f"r{i}": run(1.0, i) for i in range(7)})
    with pytest.raises(lm.LightmeterError, match=r"shows 7 runs\. Accepted: at most 6; choose some with runs="):
        plots.distribution_at(c, "DistrSim(by='level', div=RNOD)@3", "q1")
    assert plots.distribution_at(c, "DistrSim(by='level', div=RNOD)@3", "q1", runs=["r1", "r2"]).to_dict()


def test_one_run_is_not_called_the_best(result: lm.Result) -> None:
    c = collection(one=run(1.0, 1))
    r = lm.evaluate(c, ["nDCG@5", "RR"])
    assert title(plots.scores(r)).startswith("'one' has nDCG@5 0.")
    assert title(plots.tradeoff(r)).startswith("'one' has nDCG@5 0.")
    assert "best mean" not in about(plots.scores(r))


def test_balance_is_what_is_best_of_a_measure_of_two_sides(result: lm.Result) -> None:
    delta = "DeltaGF(by='side', positive='f', user=RBP(p=0.8))"
    chart = plots.tradeoff(result, "nDCG@5", delta)
    size = {r: abs(float(np.nanmean(result.values(delta, r)))) for r in result.runs}
    assert f"'{min(size, key=lambda r: size[r])}' " in title(chart)
    assert "most balanced DeltaGF" in title(chart)
    assert "best DeltaGF" not in title(chart)


def test_a_measure_with_no_better_side_is_only_raised_or_lowered(result: lm.Result) -> None:
    delta = "DeltaGF(by='side', positive='f', user=RBP(p=0.8))"
    chart = plots.arrows(result, [("poor", "good"), ("good", "poor")], "nDCG@5", delta)
    effects = set(rows_with(chart, "effect")["effect"])
    assert effects <= {"both higher", "both lower", "one higher, one lower"}
    assert not set(title(chart).split()) & {"improve", "improves", "hurt", "hurts"}


def test_what_tells_two_runs_apart_is_what_the_tables_say() -> None:
    first = {f"q{i}": ["a", "b", "c", "d"] for i in range(40)}
    moved = {q: ["b", "a", "c", "d"] if int(q[1:]) < 5 else docs for q, docs in first.items()}
    grades = {q: {"a": 1, "c": 1} for q in first}
    two = lm.load({"one": first, "other": moved}, grades)
    made = lm.compare(two, ["RR", "AP", "nDCG@2", "P@1"], test="t", changed=0)
    assert made.pairs["p"].min() < 0.05 < made.pairs["p_adjusted"].min()  # type: ignore[operator]
    chart = plots.significance(made)
    assert title(chart) == "No measure tells 'one' and 'other' apart"
    assert rows_with(chart, "name", "p", "told")["p"].to_list() == pytest.approx(made.pairs["p_adjusted"].to_list())
    assert "adjusted p of 0.05 or more: not told apart" in str(chart.to_dict())
    with pytest.raises(lm.LightmeterError, match=r"two runs.*three or more"):
        plots.agreement(made)


def test_p_before_adjustment_is_called_so() -> None:
    good, bad = ordered_runs()
    runs = collection(good=good, bad=bad, third=run(3.0, 1))
    for test, said in (("t", True), ("tukey", False)):
        made = lm.compare(runs, ["nDCG@5", "RR"], test=test, resamples=200, changed=0)
        chart = plots.significance(made)
        assert title(chart).endswith(", before adjustment") == said
        assert ("p of the test, before adjustment" in str(chart.to_dict())) == said
        assert ("p < 0.05 before adjustment" in str(made)) == said


def test_the_group_left_out_is_the_nearest_to_equal() -> None:
    rng = np.random.default_rng(0)
    groups = ["a", "near", *"bcdefg"]
    shift = {"a": 0.0, "near": -0.05} | dict.fromkeys("bcdefg", -0.8)
    sizes = {g: 4000 if g == "a" else 400 for g in groups}
    names = np.repeat(groups, [sizes[g] for g in groups])
    scores = rng.normal(size=len(names)) + np.array([shift[g] for g in names])
    made = lm.audit(pl.DataFrame({"g": names, "s": scores}), score="s", group="g", resamples=100)
    for chart in (plots.cutoffs(made), made.plot(attribute="g")):
        assert "six lines at most; not shown: near" in about(chart)
        assert set(rows_with(chart, "group", "cutoff", "low")["group"]) == {f"g {x}" for x in "bcdefg"}
