"""The frontier against projections, enumeration and linear programming."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.exposure.test_expohedron import mixed, padded, targets, vertices, views

from lightmeter.errors import LightmeterError
from lightmeter.exposure.expohedron import decompose_exposure, project
from lightmeter.exposure.frontier import Frontier, area, frontier_points, frontiers, mean_frontier

Array = NDArray[np.float64]
SCALES = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e4, 1e9])


@settings(max_examples=60)
@given(targets, views())
def test_points_are_those_of_projections(target: Array, view: Array) -> None:
    eed, eer = frontier_points(target, view, SCALES)
    found = np.array([project(s * target, view) for s in SCALES])
    np.testing.assert_allclose(eed[0], (found**2).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(eer[0], found @ target, atol=1e-9)
    line = frontiers(target, view)[0]
    np.testing.assert_allclose(line.height(eed[0]), eer[0], atol=1e-6)  # steep at the start: a root of the error
    assert (np.diff(line.scale) >= 0).all()


@settings(max_examples=30)
@given(targets, views(), st.sampled_from([0.0, 0.3, 2.0, 1e3, 1e18]))
def test_points_are_policies(target: Array, view: Array, scale: float) -> None:
    exposure = mixed(*decompose_exposure(project(scale * target, view), view), view)
    eed, eer = frontier_points(target, view, [scale])
    assert exposure @ exposure == pytest.approx(eed[0, 0], abs=1e-9)
    assert exposure @ target == pytest.approx(eer[0, 0], abs=1e-9)


@settings(max_examples=40)
@given(targets, views())
def test_it_ends_at_the_oracle(target: Array, view: Array) -> None:
    line = frontiers(target, view)[0]
    full = padded(view, len(target))
    best = max((corner @ target for corner in vertices(view, len(target))), default=0.0)
    x, y = line.points(np.inf)
    assert y == pytest.approx(best, abs=1e-12)
    assert (float(x), float(y)) == line.end
    assert line.x == pytest.approx(full.sum() ** 2 / len(target), abs=1e-12)
    assert line.height(np.array([line.end[0] + 1.0])) == pytest.approx(best, abs=1e-9)
    assert np.isnan(line.height(line.x - 0.1))


@settings(max_examples=30)
@given(targets, views(), st.integers(0, 2**32 - 1))
def test_no_policy_lies_above(target: Array, view: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = vertices(view, len(target))
    mixtures = rng.dirichlet(np.full(len(corners), 0.05), 200) @ corners
    line = frontiers(target, view)[0]
    assert (mixtures @ target <= line.height((mixtures**2).sum(axis=1)) + 1e-7).all()


def test_queries_of_different_lengths() -> None:
    rng = np.random.default_rng(0)
    many = rng.integers(0, 3, (12, 9)) * 0.2
    many[rng.random(many.shape) < 0.3] = np.nan
    many[5] = np.nan
    view = np.array([1.0, 0.4, 0.2, 0.1, 0.05])
    scales = rng.random((12, 4)) * 4
    eed, eer = frontier_points(many, view, scales)
    assert eed[5].tolist() == eer[5].tolist() == [0.0] * 4
    for q, row in enumerate(many):
        if q != 5:
            one = frontier_points(row[~np.isnan(row)], view, scales[q])
            np.testing.assert_allclose((eed[q], eer[q]), (one[0][0], one[1][0]), atol=1e-14)
    with pytest.raises(LightmeterError, match="negative"):
        frontier_points(many, view, [-1.0])


@settings(max_examples=30)
@given(targets, views())
def test_exact_area_is_that_of_a_fine_curve(target: Array, view: Array) -> None:
    line = frontiers(target, view)[0]
    full = padded(view, len(target))
    room = float((full**2).sum()) - line.x
    if room < 1e-6 or line.end[1] <= 1e-6:
        return
    share = line.rescaled(line.x, room, 0.0, line.end[1])
    assert share.area() == pytest.approx(area(*share.curve(3000)), abs=1e-5)
    assert share.end[1] == pytest.approx(1.0)


def units(lines: list[Frontier], view: Array, n: int) -> list[Frontier]:
    room = float((padded(view, n) ** 2).sum())
    return [line.rescaled(line.x, room - line.x, 0.0, line.end[1]) for line in lines]


def test_the_mean_frontier_is_the_best_mean_curve() -> None:
    view, n = 0.5 ** np.arange(4), 4
    many = np.array([[1.0, 0, 0, 0], [0.5, 0.5, 0.0, 0.0], [0.9, 0.5, 0.1, 0.0]])
    parts = units(frontiers(many, view), view, n)
    mean = mean_frontier(parts)
    mu = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 100.0, np.inf])
    each = np.array([p.points(mu) for p in parts]).mean(axis=0)
    np.testing.assert_allclose(mean.points(mu), each, atol=1e-12)
    # s of each query = mu (x scale)/(y scale)
    lines = frontiers(many, view)
    room = (view**2).sum() - lines[0].x
    eed, _ = frontier_points(many, view, [[m * room / line.end[1] for m in mu] for line in lines])
    np.testing.assert_allclose(((eed - lines[0].x) / room).mean(axis=0), each[0], atol=1e-12)
    # no choice of a point on each query's own frontier does better, and the best of a fine net comes near
    x, y = np.array([p.curve(60) for p in parts]).swapaxes(0, 1)
    picks = np.array(list(itertools.product(range(60), repeat=3)))
    mean_x = x[np.arange(3), picks].mean(axis=1)
    mean_y = y[np.arange(3), picks].mean(axis=1)
    above = mean_y - mean.height(mean_x)
    assert above.max() <= 1e-9
    assert above.max() > -1e-4
    assert mean.area() == pytest.approx(area(*mean.curve(2000)), abs=1e-6)
    # the same s for all is not the frontier of the mean
    same = np.array([line.points(0.7) for line in lines])
    worse = mean.height(((same[:, 0] - lines[0].x) / room).mean()) - np.mean(same[:, 1] / [k.end[1] for k in lines])
    assert worse > 1e-4


def test_area_conventions() -> None:
    assert area([0.0, 0.5], [0.0, 1.0]) == 0.75
    assert area([0.5, 0.0], [1.0, 0.0]) == 0.75
    assert area([-1.0, 2.0], [0.0, 3.0]) == pytest.approx(1.5)
    assert np.isnan(area([0.0, np.nan], [1.0, 1.0]))
    assert area([0.5], [0.3]) == pytest.approx(0.3)
    # there and back: the upper of two crossing lines
    assert area([0.0, 1.0, 0.0], [0.0, 1.0, 1.0], envelope=True) == pytest.approx(1.0)
    assert area([0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], envelope=True) == pytest.approx(0.75)
    rng = np.random.default_rng(0)
    x = np.append(np.append(0.0, np.sort(rng.random(40))), 1.0)
    y = rng.random(42)
    assert area(x, y, envelope=True) == pytest.approx(area(x, y), abs=1e-12)
    x = rng.random(30)
    fine = np.linspace(0.0, 1.0, 20001)
    top = np.full(len(fine), -np.inf)
    ends = [(min(0.0, x.min()), y[x.argmin()], x.min(), y[x.argmin()]), (x.max(), y[x.argmax()], 1.0, y[x.argmax()])]
    for a, b, c, d in [*zip(x[:-1], y[:29], x[1:], y[1:30], strict=True), *ends]:
        low, high = min(a, c), max(a, c)
        inside = (fine >= low) & (fine <= high)
        top[inside] = np.maximum(top[inside], b + (d - b) / (c - a) * (fine[inside] - a))
    assert area(x, y[:30], envelope=True) == pytest.approx(np.trapezoid(top, fine), abs=1e-3)
    with pytest.raises(LightmeterError, match="shapes"):
        area([0.0], [0.0, 1.0])


def test_a_thousand_documents_and_equal_or_tiny_targets() -> None:
    rng = np.random.default_rng(0)
    n = 1000
    view = 1.0 / np.log2(np.arange(2.0, n + 2))
    for target in (rng.random(n), np.full(n, 0.3), np.zeros(n), rng.random(n) * 1e-300, rng.integers(0, 2, n) * 1.0):
        line = frontiers(target, view)[0]
        x, y = line.curve(50)
        assert np.isfinite(x).all()
        assert (np.diff(y) >= -1e-12).all()
        best = np.sort(target)[::-1] @ view
        assert y[-1] == pytest.approx(best, rel=1e-12)
        assert np.isfinite(line.area())
