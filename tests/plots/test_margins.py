"""What a title calls about the same: less than 1% of what a measure can be, in every picture, at the edge too."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plots.conftest import collection, run, title
from tests.plots.test_read_rightly import about

import lightmeter as lm
from lightmeter import plots
from lightmeter.findings.curves import finding as curves_finding
from lightmeter.findings.language import TAU, counts, course, margin, margin_of
from lightmeter.plots.agreement import tau_finding
from lightmeter.plots.arrows import _effect, arrow_finding
from lightmeter.plots.distribution_at import finding as shares_finding
from lightmeter.plots.exposure import exposure_finding
from lightmeter.plots.randomisation import finding as random_finding
from lightmeter.plots.scores import _apart, _best
from lightmeter.plots.scores import finding as scores_finding
from lightmeter.plots.significance import power_finding

UP, DOWN, EEL = lm.ERR(), lm.EED(), lm.EEL()


@given(st.integers(0, 99), st.integers(-3, 3))
def test_a_hundredth_counts_whatever_rounding_does(start: int, steps: int) -> None:
    # 0.29 - 0.28 is less than 0.01 in floating point, 0.30 - 0.29 more
    assert counts((start + steps) / 100 - start / 100, 0.01) == (steps != 0)
    assert not counts((start * 10 + 9) / 1000 - start * 10 / 1000, 0.01)


def test_the_margin_follows_the_range() -> None:
    assert margin_of(UP) == pytest.approx(0.01)
    assert margin_of(lm.DeltaGF(by="side", positive="f")) == pytest.approx(0.02)
    # a measure without a most: of the largest value there is
    assert margin_of(EEL, [0.4, 3.0]) == pytest.approx(0.03)
    assert margin((0.0, float("inf")), []) == 0
    assert pytest.approx(0.02) == TAU


def means(measure: str, *value: float) -> pl.DataFrame:
    return pl.DataFrame({"measure": measure, "run": ["x", "y", "z"][: len(value)], "value": value})


@pytest.mark.parametrize(("second", "best"), [(0.78, ["x"]), (0.781, ["x", "y"]), (0.79, ["x", "y"])])
def test_best_at_the_edge(second: float, best: list[str]) -> None:
    assert _best(means("ERR", 0.79, second, 0.1), UP) == best
    told = scores_finding({"ERR": best}, {"ERR": UP}, {n: n for n in "xyz"}, {"ERR"})
    assert told == (
        "x has the best mean ERR" if len(best) == 1 else "x and y are about the same and better than the rest by ERR"
    )


@pytest.mark.parametrize(("third", "clear"), [(0.485, False), (0.48, True)])
def test_the_rest_is_worse_only_where_the_next_run_is(third: float, clear: bool) -> None:
    frame = means("ERR", 0.499, 0.49, third)
    best = ["x", "y"]
    assert _best(frame, UP) == best
    assert _apart(frame, UP, best) == clear
    told = scores_finding({"ERR": best}, {"ERR": UP}, {n: n for n in "xyz"}, {"ERR"} if clear else set())
    assert told == f"x and y are about the same and {'better than the rest' if clear else 'have the best means'} by ERR"


def test_a_run_just_below_the_best_is_not_called_worse() -> None:
    runs = {
        n: {f"q{i}": ["d", "x"] if i < k else ["x", "d"] for i in range(100)}
        for n, k in (("a", 50), ("b", 49), ("c", 48))
    }
    made = lm.load(run=runs, qrels={f"q{i}": {"d": 1} for i in range(100)})
    # means of .750, .745 and .740
    told = title(lm.plots.scores(lm.evaluate(made, ["RR"])))
    assert told == "'a' and 'b' are about the same and have the best means by RR"


def test_runs_that_differ_by_little_are_never_best() -> None:
    assert _best(means("ERR", 0.786, 0.781), UP) == []
    told = scores_finding({"ERR": [], "EED": ["y"]}, {"ERR": UP, "EED": DOWN}, {"x": "x", "y": "y"})
    assert told == "y has the best mean by 1 of 2 measures; all runs are about the same by ERR"


@pytest.mark.parametrize(("end", "told"), [(0.786, "hardly changes ERR"), (0.791, "improves ERR")])
def test_arrows_at_the_edge(end: float, told: str) -> None:
    least = margin_of(UP), margin_of(lm.RR())
    effect = _effect(end - 0.781, -0.2, True, least)
    moved = pl.DataFrame([{"before": "a", "after": "b", "effect": effect}])
    at = {"a": (0.781, 0.5), "b": (end, 0.3)}
    finding = arrow_finding(moved, at, {"a": "a", "b": "b"}, UP, lm.RR(), least)
    assert told in finding
    assert "hurts RR" in finding
    assert effect == ("one about the same, one worse" if "hardly" in told else "one better, one worse")


def test_many_arrows_that_hardly_change() -> None:
    least = margin_of(UP), margin_of(lm.RR())
    effects = [_effect(0.005, 0.5, True, least)] * 3 + [_effect(0.0, 0.001, True, least)]
    moved = pl.DataFrame([{"before": "a", "after": "b", "effect": e} for e in effects])
    told = arrow_finding(moved, {}, {"a": "a", "b": "b"}, UP, lm.RR(), least)
    assert told == "Of 4 changes 3 improve one and hardly change the other and 1 hardly changes both measures"


def test_taus_that_are_about_the_same_are_named_together() -> None:
    rows = [("a", "b", 0.824), ("b", "c", 0.809), ("a", "c", 0.5), ("a", "d", 0.51), ("b", "d", 0.6), ("c", "d", 0.7)]
    frame = pl.DataFrame(rows, schema=["a", "b", "tau"], orient="row")
    assert tau_finding(frame) == (
        "a with b and b with c order the runs most alike (tau 0.81 to 0.82), "
        "a with d and a with c least (tau 0.50 to 0.51)"
    )
    apart = frame.with_columns(tau=pl.when(pl.col("tau") == 0.809).then(0.804).otherwise("tau"))
    assert tau_finding(apart).startswith("a and b order the runs most alike (tau 0.82)")


@given(st.lists(st.integers(0, 100), min_size=2, max_size=8))
def test_turns_that_do_not_count_are_left_out(steps: list[int]) -> None:
    value = np.array(steps) / 1000
    way, _ = course(value, 0.02)
    spread = max(steps) - min(steps)
    assert (way in ("hardly changes", "stays")) == (spread < 20)
    if "then" in way:
        turn = max(steps) - max(steps[0], steps[-1]), min(steps[0], steps[-1]) - min(steps)
        assert max(turn) >= 20


@pytest.mark.parametrize(("last", "told"), [(0.391, "rises in 'x'"), (0.385, "rises and then falls in 'x'")])
def test_randomisation_leaves_out_a_small_turn(last: float, told: str) -> None:
    rows = [(r, p, v) for r, end in (("x", last), ("y", 0.5)) for p, v in ((0.1, 0.04), (1.0, 0.399), (None, end))]
    frame = pl.DataFrame(rows, schema=["run", "parameter", "value"], orient="row").with_columns(
        panel=pl.lit("EER"), brief=pl.lit("EER"), group=pl.lit(None, pl.String), low=pl.lit(0.0), high=pl.lit(0.908)
    )
    finding = random_finding(frame, {"x": "'x'", "y": "'y'"})
    assert finding == "With less randomness EER rises in both runs" if last > 0.39 else told in finding


def test_what_the_title_of_randomisation_leaves_out_is_said() -> None:
    c = collection(one=run(2.0, 1))
    made = {a: lm.evaluate(c, "nDCG@5") for a in (1.0, 2.0, 3.0)}
    chart = plots.randomisation(made)
    assert title(chart).startswith("With less randomness nDCG@5 stays at")
    assert "leaves out" not in about(chart)
    assert "no interval drawn, no test" in about(chart)


@pytest.mark.parametrize(("second", "equal"), [(0.835, True), (0.83, False), (0.84, True)])
def test_distributions_at_the_edge(second: float, equal: bool) -> None:
    measure = lm.parse("DistrSim(by='level')@4", kind="measure")
    score = {("q", "x"): 0.84, ("q", "y"): second, ("q", "z"): 0.2}
    told = shares_finding(score, ["q"], {n: n for n in "xyz"}, measure)
    wanted = "x and y are nearest, about equally," if equal else "x is nearest"
    assert told == f"{wanted} to the target at rank 4 for query q"
    both = shares_finding(score | {("p", "x"): 0.1, ("p", "y"): 0.9}, ["q", "p"], {"x": "x", "y": "y"}, measure)
    assert bool(re.search("y for p; (all runs|x and y) about equally for q", both)) == equal


def test_pictures_say_what_is_about_the_same() -> None:
    c = collection(a=run(3.0, 1), b=run(3.0, 1), c=run(-3.0, 3))
    made = lm.evaluate(c, ["nDCG@5", "RR"])
    assert "filled: best mean, or less than 1% of the range from it" in about(plots.scores(made))
    chart = plots.arrows(made, [("a", "b")])
    assert title(chart) == "From 'a' to 'b' the change hardly changes nDCG@5 and RR"
    assert "about the same and hardly: by less than 1% of the range" in about(chart)
    assert "less than 1%" not in about(plots.arrows(made, [("a", "c")]))


def straight(*level: float) -> pl.DataFrame:
    """Curves of one panel that are flat, of policies A, B, ..."""
    rows = [("p", "p", "ABC"[i], j, float(j), v) for i, v in enumerate(level) for j in (0, 1)]
    return pl.DataFrame(rows, schema=["panel", "run", "policy", "point", "disparity", "relevance"], orient="row")


@pytest.mark.parametrize(("second", "same"), [(0.791, True), (0.79, False), (0.8, True)])
def test_curves_at_the_edge(second: float, same: bool) -> None:
    areas = pl.DataFrame({"run": ["p", "p"], "policy": ["A", "B"], "area": [0.8, second]})
    told = curves_finding(straight(0.8, second), areas)
    assert told == (
        "A and B give about the same relevance at every disparity"
        if same
        else "A gives more relevance than B at every disparity but 0 and 1"
    )


@pytest.mark.parametrize(
    ("second", "told"), [(0.491, "'x' and 'y' give about the same, the most,"), (0.49, "'x' gives the most")]
)
def test_areas_of_runs_at_the_edge(second: float, told: str) -> None:
    areas = pl.DataFrame({"run": ["x", "y", "z"], "area": [0.5, second, 0.2], "user": "u", "by": "b"})
    frame = straight(0.8)
    assert curves_finding(frame, areas.with_columns(policy=pl.lit("A"))) == (
        f"{told} relevance over all disparities (EEAUC 0.500), 'z' the least (0.200)"
    )


@pytest.mark.parametrize(("second", "told"), [(67, "A and B tell the most"), (66, "A tells the most")])
def test_pairs_told_apart_at_the_edge(second: int, told: str) -> None:
    rows = [("A", 68, 136), ("B", second, 136), ("C", 16, 136)]
    frame = pl.DataFrame(rows, schema=["name", "significant", "pairs"], orient="row")
    span = "67 to 68" if second == 67 else "68"
    assert power_finding(frame) == f"{told} pairs of runs apart: {span} of 136 (50%), C the fewest: 16"


@pytest.mark.parametrize(("more", "equal"), [(1.009, True), (1.012, False)])
def test_exposure_at_the_edge(more: float, equal: bool) -> None:
    frame = pl.DataFrame({"run": ["r"] * 2, "name": ["a", "b"], "value": [0.2 * more, 0.2], "low": None, "high": None})
    told = exposure_finding(frame, "exposure")
    assert told.startswith("All groups are about equal in exposure" if equal else "Group a gets more exposure than b")
