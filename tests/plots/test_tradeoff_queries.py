"""The picture of the queries of a run: what the title counts is clear, marked, and beyond the bands that are drawn."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plots.conftest import datasets, rows_with, run, title
from tests.plots.test_read_rightly import about, nodes

import lightmeter as lm
from lightmeter import plots
from lightmeter.plots.points import SIDE
from lightmeter.plots.query_marks import (
    _NEAR,
    REST,
    SPLIT,
    margin_of,
    margins_told,
    marks_frame,
    named,
    query_finding,
    query_layers,
    split_by,
    unit_of,
)

UNIT = ((0.0, 1.0), (0.0, 1.0))
STEP = st.sampled_from([0.0, 0.04, 0.1, 0.2, 0.5, 0.9])
GF = "GF(by='side', user=RBP(p=0.8))"


def queries(points: list[tuple[float, float]]) -> pl.DataFrame:
    rows = [(f"q{i}", x, y) for i, (x, y) in enumerate(points)]
    return pl.DataFrame(rows, schema=["label", "x", "y"], orient="row")


@given(st.lists(st.tuples(STEP, STEP), min_size=2, max_size=8), st.sampled_from([1, -1]))
def test_queries_told_are_clearly_split(points: list[tuple[float, float]], sign: int) -> None:
    frame = queries(points)
    other: Any = lm.ERR() if sign > 0 else lm.nEED()
    told = query_finding(frame, lm.RR(), other, "r")
    least = margin_of(other, frame["y"].to_numpy())
    x, y = (frame[c].to_numpy() - np.median(frame[c].to_numpy()) for c in ("x", "y"))
    y = sign * y
    better_x = {f"q{i}" for i in range(len(x)) if x[i] > 0.05 + 1e-9 and y[i] < -least - 1e-9}
    better_y = {f"q{i}" for i in range(len(x)) if x[i] < -0.05 - 1e-9 and y[i] > least + 1e-9}
    counts = [int(n) for n in re.findall(r"(?:, |; )(\d+) ", told)]
    assert sorted(counts, reverse=True) == sorted(filter(None, map(len, (better_x, better_y))), reverse=True)
    assert told.startswith(f"In 'r', none of {len(points)} queries") == (not counts)
    assert set(re.findall(r"\bq\d", told)) <= better_x | better_y
    if counts:
        up = better_x if "the median by RR" in told else better_y
        assert len(up) == counts[0]
        assert re.findall(r"\bq\d", told)[0] in up


def test_a_hairs_breadth_does_not_count() -> None:
    frame = queries([(0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.1, 0.9), (0.9, 0.52)])
    assert query_finding(frame, lm.ERR(), lm.AP(), "r") == (
        "In 'r', 1 of 5 queries is clearly better than the median by AP and clearly worse by ERR (q3)"
    )
    assert margins_told(frame, lm.ERR(), lm.AP()) == "clearly: more than 0.05 beyond each median (grey bands)"
    near = queries([(0.5, 0.5), (0.5, 0.5), (0.5, 0.5), (0.1, 0.52), (0.9, 0.48)])
    assert query_finding(near, lm.ERR(), lm.AP(), "r").startswith("In 'r', none of 5 queries is clearly better")
    assert margins_told(near, lm.ERR(), lm.AP()).endswith("; 2 are so but less clearly")


def test_the_margin_itself_is_not_beyond_it() -> None:
    edge = queries([(0.5, 0.5)] * 3 + [(0.45, 0.55), (0.449, 0.551)])
    assert split_by(edge, lm.ERR(), lm.AP()).tolist() == [0, 0, 0, 0, 1]


def test_both_ways_are_told_apart() -> None:
    frame = queries([(0.5, 0.5)] * 5 + [(0.1, 0.9), (0.2, 0.8), (0.9, 0.1)])
    assert query_finding(frame, lm.ERR(), lm.AP(), "r") == (
        "In 'r', 2 of 8 queries are clearly better than the median by AP and clearly worse by ERR (most so q5); "
        "1 the other way round (q7)"
    )
    neither = lm.DeltaGF(by="side", positive="f")
    assert "clearly higher than the median by DeltaGF and clearly lower by ERR" in query_finding(
        frame, lm.ERR(), neither, "r"
    )


def test_a_measure_without_ends_has_the_margin_of_its_values() -> None:
    assert margin_of(lm.ERR(), np.array([0.1, 0.2])) == pytest.approx(0.05)
    assert margin_of(lm.DeltaGF(by="side", positive="f"), np.array([0.1])) == pytest.approx(0.1)
    free = type("Free", (), {"bounds": (0.0, float("inf"))})()
    assert margin_of(free, np.array([2.0, 12.0])) == pytest.approx(0.5)


@given(st.lists(st.tuples(STEP, STEP, st.booleans()), min_size=1, max_size=30))
def test_marks_hold_every_query_once(points: list[tuple[float, float, bool]]) -> None:
    frame = queries([(x, y) for x, y, _ in points])
    frame = frame.with_columns(kind=pl.Series([SPLIT if k else REST for *_, k in points]))
    made = marks_frame(frame, UNIT)
    assert made["n"].sum() == len(points)
    # the area tells how many
    assert (np.pi * made["radius"] ** 2 / made["n"]).to_numpy() == pytest.approx(unit_of(made["n"]))
    for kind, part in made.group_by("kind"):
        assert part["n"].sum() == (frame["kind"] == kind[0]).sum()


def test_queries_at_one_place_are_one_mark() -> None:
    frame = queries([(0.1, 0.1)] * 4 + [(0.1 + 0.5 * _NEAR / SIDE, 0.1), (0.8, 0.8)]).with_columns(kind=pl.lit(REST))
    made = marks_frame(frame, UNIT)
    assert made["n"].to_list() == [5, 1]
    assert made["label"].to_list() == ["q0, q1 and 3 others", "q5"]


def test_names_keep_in_the_frame_and_off_the_crossing_and_all_else() -> None:
    points = [(0.5, 0.5), (0.52, 0.5), (0.99, 0.9), (0.01, 0.1), (0.99, 0.2)]
    frame = queries(points).with_columns(kind=pl.lit(REST), label=pl.format("a long name of {}", "label"))
    made = marks_frame(frame, UNIT)
    _, names = named(made, SPLIT, (SIDE / 2, SIDE / 2), [], lm.ERR(), lm.AP(), UNIT)
    assert {n[-2:] for n in names} == {"q2", "q3", "q4"}
    # where all the room is taken there is no name
    assert named(made, SPLIT, (0.0, 0.0), [(0.0, 0.0, SIDE, SIDE)], lm.ERR(), lm.AP(), UNIT) == ([], [])


def test_what_is_counted_is_marked_beside_bands_of_the_margin(result: lm.Result) -> None:
    chart = plots.tradeoff(result, "nDCG@5", GF, run="poor")
    x, y = (result.values(m, "poor") for m in ("nDCG@5", GF))
    shown = rows_with(chart, "kind", "names", "n")
    middle = np.median(x), np.median(y)
    off = [np.where(np.abs(v - m) > 0.05 + 1e-9, np.sign(v - m), 0) for v, m in zip((x, y), middle, strict=True)]
    split = int((off[0] * off[1] < 0).sum())
    assert shown["n"].sum() == 6
    assert shown.filter(pl.col("kind") == SPLIT)["n"].sum() == split
    lines = next(d[0] for d in datasets(chart) if d and d[0].get("told") == "median")
    assert (lines["x"], lines["y"]) == (pytest.approx(middle[0]), pytest.approx(middle[1]))
    assert lines["r"] <= middle[0] + 0.05 + 1e-9
    assert lines["t"] <= middle[1] + 0.05 + 1e-9
    assert title(chart).startswith("In 'poor', ")
    assert "each query as it is: no interval" in about(chart)
    lines = rows_with(plots.tradeoff(result, "nDCG@5", GF, run="poor", weights=(0.3, 0.7)), "level", "x2")
    assert len(lines) > 1
    for row in lines.iter_rows(named=True):
        assert 0.3 * row["x"] + 0.7 * row["y"] == pytest.approx(float(row["level"]), abs=1e-9)
    assert "dotted: combined score 0.5 nDCG@5 + 0.5 GF" in about(chart)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_and_equal_queries(n: int) -> None:
    docs = run(1.0, 1)["q0"]
    runs = {f"q{i}": docs for i in range(n)}
    made = lm.load(run={"x": runs}, qrels={q: {"d1": 1, "d2": 1} for q in runs})
    chart = plots.tradeoff(lm.evaluate(made, ["nDCG@5", "RR"]), run="x")
    assert rows_with(chart, "names", "n")["n"].to_list() == [n]
    sizes = [e["encoding"]["size"] for e in nodes(chart.to_dict()) if "size" in e.get("encoding", {})]
    assert (sizes[0]["legend"] is None) == (n == 1)
    assert title(chart).startswith("In 'x', query q0 has" if n == 1 else f"In 'x', none of {n} queries")


def test_one_query_has_no_medians() -> None:
    layers, _ = query_layers(queries([(0.5, 0.5)]), lm.ERR(), lm.AP(), UNIT)
    assert "median" not in str([layer.to_dict() for layer in layers]).replace(SPLIT, "")
