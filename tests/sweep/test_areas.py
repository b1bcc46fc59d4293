"""Areas of many curves at once, against the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.exposure.frontier import area, frontiers, mean_frontier
from lightmeter.sweeping.areas import _under_the_largest, areas, envelope_area, frontier_areas, rough_areas
from lightmeter.sweeping.curve import interval
from lightmeter.sweeping.sweep import resampled_counts

number = st.integers(-4, 12).map(lambda i: i / 8)
curves = st.lists(st.tuples(number, st.floats(0, 1)), min_size=2, max_size=9).map(np.array)


@given(curves, st.booleans())
@example(np.array([[0.0, 1.0], [0.0, 0.0], [0.125, 5e-324]]), True)  # lines that are all but parallel
def test_areas_are_those_of_one_curve(points: np.ndarray, envelope: bool) -> None:
    x, y = points.T
    if not envelope:  # at equal x the two may sort differently
        x = x + np.arange(len(x)) * 1e-9
    assert areas(x[None], y[None], envelope)[0] == pytest.approx(area(x, y, envelope), abs=1e-7)


@given(curves)
def test_the_largest_relevance_counts_where_a_curve_turns_back(points: np.ndarray) -> None:
    x, y = points.T
    assert envelope_area(x, y) == pytest.approx(area(x, y, envelope=True), abs=1e-9)


@pytest.mark.parametrize("cells", [1, 5 * 80**2])
def test_many_turns_are_worked_on_a_few_intervals_at_a_time(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Rounding, where nothing happens, makes a turn of every other point; pairs of them would fill the memory."""
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(0.0, 0.5, 50), 0.5 + 1e-3 * rng.random(80), np.linspace(0.5, 1.0, 50)])
    y = np.concatenate([np.linspace(0.2, 0.8, 50), 0.8 + 1e-3 * rng.random(80), np.linspace(0.8, 0.4, 50)])
    sizes: list[tuple[int, int]] = []

    def look(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        sizes.append(left.shape)
        return _under_the_largest(left, right)

    whole = envelope_area(x, y)
    monkeypatch.setattr("lightmeter.sweeping.areas.CELLS", cells)
    monkeypatch.setattr("lightmeter.sweeping.areas._under_the_largest", look)
    assert envelope_area(x, y) == pytest.approx(whole, abs=1e-12)
    assert whole == pytest.approx(0.55, abs=1e-3)
    lines = sizes[0][0]
    assert 40 < lines < 85
    assert all(intervals <= max(cells / lines**2, 1) for _, intervals in sizes)
    assert sum(intervals for _, intervals in sizes) > 130


def test_a_missing_point_leaves_no_area() -> None:
    assert np.isnan(areas(np.array([[0.0, np.nan]]), np.ones((1, 2)))[0])


@given(st.integers(1, 5), st.integers(0, 1000))
def test_resampled_frontiers_are_mean_frontiers(queries: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        f.rescaled(f.x, f.end[0] - f.x, 0.0, f.end[1])
        for f in frontiers(rng.permuted(np.tile([3.0, 2.0, 1.0, 0.5], (queries, 1)), axis=1), [1.0, 0.5, 0.25])
    ]
    weight = rng.integers(0, 3, (3, queries)) + (np.arange(queries) == 0)
    share = weight / weight.sum(axis=1, keepdims=True)
    want = [mean_frontier([p for p, w in zip(parts, row, strict=True) if w], row[row > 0]).area() for row in share]
    assert frontier_areas(parts, share) == pytest.approx(want, abs=1e-12)
    line = mean_frontier(parts, np.ones(queries))
    x, y = line.curve(9)
    at = line.points(line.scale_at(x))
    assert at[0] == pytest.approx(x, abs=1e-9)
    assert at[1] == pytest.approx(y, abs=1e-9)


def test_intervals_follow_the_seed_and_hold_the_value() -> None:
    rng = np.random.default_rng(2)
    run = {f"q{q}": {f"d{i}": float(s) for i, s in enumerate(rng.normal(size=6))} for q in range(40)}
    c = lm.load({"a": run}, {f"q{q}": {"d1": 1, "d2": 1, "d9": q % 3} for q in range(40)})
    one, two, other = (lm.sweep(c, rng=seed).curves[0] for seed in (4, 4, 5))
    assert one.area() == two.area() != other.area()
    for estimate in (one.area(), one.query_mean(), one.frontier_area(), one.share()):
        assert estimate.low < estimate.value < estimate.high
    width = one.query_mean().high - one.query_mean().low
    assert width == pytest.approx(2 * 1.96 * one.query_mean().se, rel=0.15)


def test_resamples_draw_as_many_queries_as_count() -> None:
    counts = resampled_counts(np.array([True, False, True, True]), 500, 7)
    assert (counts.sum(axis=1) == 3).all()
    assert (counts[:, 1] == 0).all()
    assert counts.mean(axis=0) == pytest.approx([1, 0, 1, 1], abs=0.15)
    assert interval(np.array([np.nan])) == (None, None)


@given(st.integers(0, 10**6))
def test_rough_areas_are_near_the_envelopes(seed: int) -> None:
    """By the middles of 4,000 cells, for curves that turn back, begin late or end early."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((3, 6)), rng.random((3, 6))
    assert rough_areas(x, y, 4000) == pytest.approx(areas(x, y, envelope=True), abs=5e-3)
