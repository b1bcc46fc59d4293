"""The picture of policies: what it says of differences is what it shows, and what the data hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.plots.conftest import QRELS, collection, rows_with, run, title
from tests.plots.test_read_rightly import about, marks, nodes, titles

import lightmeter as lm
from lightmeter import plots
from lightmeter.findings.policies import gap_finding, gaps_frame

PAIR = ["PlackettLuce", "RankTransposition"]
RBP = "RBP(p=0.5)"


def gaps(*rows: tuple[str, float, bool | None], other: str = "B") -> pl.DataFrame:
    """Differences between A and another policy: run, difference, whether it is found (None: not tested)."""
    made = [(r, "A", other, g, float("nan") if f is None else 0.01 if f else 0.5, bool(f)) for r, g, f in rows]
    return pl.DataFrame(made, schema=["run", "policy", "other", "gap", "p", "found"], orient="row")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [("r0", 0.1, True), ("r1", 0.1, True), ("r2", -0.1, False)],
            "A gives more area (EEAUC) than B for 2 of 3 runs; no difference is found for 'r2'",
        ),
        (
            [("r0", 0.1, True), ("r1", -0.1, True), ("r2", -0.1, True)],
            "B gives more area (EEAUC) than A for 2 of 3 runs, less for 'r0'",
        ),
        ([("r0", 0.1, True), ("r1", 0.1, True)], "A gives more area (EEAUC) than B for both runs"),
        ([("r0", 0.1, True)], "A gives more area (EEAUC) than B for 'r0'"),
        # large as drawn, and yet it may be chance
        ([("r0", 0.3, False)] * 4, "No difference in area (EEAUC) between A and B is found for any of 4 runs"),
        ([("r0", 0.0, False), ("r1", 0.0, False)], "A and B give the same area (EEAUC)"),
        (
            [("r0", -0.1, None), ("r1", 0.1, None)],
            "A gives more area (EEAUC) than B for 1 of 2 runs, less for 'r0' (not tested)",
        ),
        # less than 1% of what an area can be
        ([("r0", 4e-6, None)], "A and B give about the same area (EEAUC) for 'r0' (not tested)"),
        ([("r0", 0.009, None)] * 2, "A and B give about the same area (EEAUC) for both runs (not tested)"),
        (
            [("r0", 0.009, None), ("r1", -0.2, None)],
            "B gives more area (EEAUC) than A for 1 of 2 runs, about the same for 'r0' (not tested)",
        ),
    ],
)
def test_the_title_says_what_the_differences_say(rows: list[Any], told: str) -> None:
    assert gap_finding(gaps(*rows)) == told


def test_untested_areas_that_hardly_differ_are_about_the_same() -> None:
    one = lm.load(run={"a": {"q": ["d0", "d1"]}}, qrels={"q": {"d1": 1}})
    told = title(plots.policies(lm.sweep(one, PAIR, RBP), lm.evaluate(one, "nDCG@10")))
    assert told.endswith("give about the same area (EEAUC) for 'a' (not tested)")


def test_more_policies_are_each_compared_with_the_first() -> None:
    frame = pl.concat([gaps(("r0", 0.1, False), other=o) for o in "BCDE"])
    none = "o difference in area (EEAUC) between A and {} is found for 'r0'"
    assert gap_finding(frame) == f"N{none.format('B')}; n{none.format('C')}; 2 more beside"
    raw = "PlackettLuce(scores='raw')"
    made = collection(good=run(3.0, 1), fair=run(1.0, 2))
    sweep = lm.sweep(made, [raw, *PAIR], RBP, resamples=50)
    shown = rows_with(plots.policies(sweep, lm.evaluate(made, "nDCG@5")), "gap", "other")
    assert set(shown["policy"]) == {raw}
    assert set(shown["other"]) == set(PAIR)
    for name, other, gap in shown.select("run", "other", "gap").iter_rows():
        assert gap == pytest.approx(sweep.area(raw, name) - sweep.area(other, name))


def test_differences_are_those_of_the_areas_beside(sweep: lm.SweepResult, result: lm.Result) -> None:
    chart = plots.policies(sweep, result, "nDCG@5")
    areas, shown = rows_with(chart, "area", "static"), rows_with(chart, "gap", "low")
    known = {(r, p): a for r, p, a in areas.select("run", "policy", "area").iter_rows()}
    assert known == {(r, p): pytest.approx(sweep.area(p, r)) for r in result.runs for p in PAIR}
    assert areas["static"].is_sorted(descending=True)
    assert shown["run"].to_list() == areas["run"].unique(maintain_order=True).to_list()
    for r, one, other, gap in shown.select("run", "policy", "other", "gap").iter_rows():
        assert gap == pytest.approx(known[r, one] - known[r, other])
    # the policy with the larger areas comes first, so that most differences are above 0
    assert shown["gap"].mean() >= 0  # type: ignore[operator]
    # both panels have the same rows at the same heights
    rows = [
        n["encoding"]["y"] for n in nodes(chart.to_dict()) if n.get("encoding", {}).get("y", {}).get("field") == "row"
    ]
    assert len({str((r["scale"], r["sort"])) for r in rows}) == 1
    (zero,) = [m for m in marks(chart, "rule") if m.get("color") == "#222222"]
    assert zero["strokeWidth"] == 1.5


def steady() -> tuple[lm.SweepResult, lm.Collection]:
    """A sweep of twelve queries in which Plackett-Luce's areas differ from the other's in much the same way."""
    scores = {f"q{i}": {f"d{j}": 3.0 * (i + 2) / 20 * (8 - j) for j in range(8)} for i in range(12)}
    grades = {q: {"d0": 1, f"d{2 + i % 3}": 1} for i, q in enumerate(scores)}
    made = lm.load({"x": scores}, grades)
    return lm.sweep(made, PAIR, RBP, resamples=4000), made


def test_the_test_is_the_paired_t_test() -> None:
    sweep, made = steady()
    row = gaps_frame(sweep, ["x"], PAIR, RBP, None).row(0, named=True)
    areas = sweep.per_query().filter(pl.col("measure") == "EEAUC").pivot(on="policy", index="query", values="value")
    own = (areas[PAIR[0]] - areas[PAIR[1]]).to_numpy()
    mean, se = own.mean(), own.std(ddof=1) / np.sqrt(len(own))
    assert abs(mean / se) > 2.3  # beyond the 5% point of Student's t with 11 degrees of freedom
    # the area of the mean curve is nearly the mean of the areas, and so is its standard error
    assert row["gap"] == pytest.approx(sweep.area(PAIR[0]) - sweep.area(PAIR[1]))
    assert (row["high"] - row["gap"]) == pytest.approx(2.201 * se, rel=0.3)
    assert row["found"]
    assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
    chart = plots.policies(sweep, lm.evaluate(made, "RR"))
    assert len([m for m in marks(chart, "point") if m.get("fill") == "white"]) == 1
    filled = [n for n in nodes(chart.to_dict()) if {"filter": "datum.found"} in n.get("transform", [])]
    assert len(filled) == 1
    assert "filled: a difference is found; hollow: none is found" in str(chart.to_dict())


def test_interval_and_test_agree_on_every_run(sweep: lm.SweepResult) -> None:
    frame = gaps_frame(sweep, ["good", "fair", "poor"], PAIR, RBP, None)
    clear = (frame["low"] > 0) | (frame["high"] < 0)
    assert (clear == (frame["p"] < 0.05)).all()
    assert (frame["p_adjusted"] >= frame["p"]).all()
    # Holm: the smallest p counts for all tests
    assert frame["p_adjusted"].min() == pytest.approx(min(3 * frame["p"].min(), 1.0))  # type: ignore[operator]


def test_one_query_is_not_tested() -> None:
    made = lm.load(run={n: {"q1": run(1.0, i)["q1"]} for i, n in enumerate("ab")}, qrels={"q1": QRELS["q1"]})
    chart = plots.policies(lm.sweep(made, PAIR, RBP), lm.evaluate(made, "nDCG@5"))
    assert title(chart).endswith("(not tested)")
    assert "differences are not tested: one query" in about(chart)
    assert "over 1 query; no intervals" in str(chart.to_dict())
    assert "hollow" not in str(chart.to_dict())


def test_one_policy_has_one_panel() -> None:
    made = collection(good=run(3.0, 1), fair=run(1.0, 2))
    chart = plots.policies(lm.sweep(made, PAIR[0], RBP, resamples=20), lm.evaluate(made, "nDCG@5"))
    assert title(chart) == "PlackettLuce: areas (EEAUC) of 2 runs"
    assert "hconcat" not in chart.to_dict()
    assert "95% intervals over 6 queries" in about(chart)


def test_the_most_relevant_line_is_first_and_two_users_are_told_apart(
    sweep: lm.SweepResult, small: lm.Collection
) -> None:
    chart = plots.policies(sweep, lm.evaluate(small, "RBP(p=0.8)"))
    lines = chart.to_dict()["title"]["subtitle"]
    assert lines[0].startswith("differences: paired (")
    assert "by Holm for 3 tests" in lines[0]
    assert re.search(r"rows: by RBP\(p=0.8\) of the ranking as given, in brackets, best at the top", about(chart))
    assert "areas are for the user RBP(p=0.5), of whom 50% go on at each rank" in about(chart)
    assert "run (RBP)" in titles(chart, "y")
