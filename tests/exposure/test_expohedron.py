"""Projection and decomposition on the expohedron against quadratic programming and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from lightmeter.errors import LightmeterError
from lightmeter.exposure.expohedron import ROUNDS, decompose_exposure, pool, project

Array = NDArray[np.float64]


@st.composite
def views(draw: st.DrawFn, most: int = 6) -> Array:
    kind = draw(st.sampled_from(["rbp", "dcg", "flat", "measured"]))
    k = draw(st.integers(1, most))
    if kind == "rbp":
        return draw(st.sampled_from([0.0, 0.3, 0.9, 1.0])) ** np.arange(k)
    if kind == "dcg":
        return 1.0 / np.log2(np.arange(2.0, k + 2))
    if kind == "flat":
        return np.ones(k)
    return np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=k, max_size=k)))


def padded(view: Array, n: int) -> Array:
    out = np.zeros(n)
    out[: min(n, len(view))] = view[:n]
    return out


def vertices(view: Array, n: int) -> Array:
    return np.array(list(itertools.permutations(padded(view, n).tolist())))


def mixed(rankings: NDArray[np.int64], probabilities: Array, view: Array) -> Array:
    n = rankings.shape[1]
    out = np.zeros(n)
    for ranking, probability in zip(rankings, probabilities, strict=True):
        out[ranking] += probability * padded(view, n)
    return out


targets = st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]) | st.floats(0.0, 2.0), min_size=1, max_size=5).map(np.array)


@settings(max_examples=40)
@given(targets, views())
def test_projection_is_the_nearest_point(target: Array, view: Array) -> None:
    corners = vertices(view, len(target))
    found = project(target, view)
    # no corner lies beyond the plane through the projection, at right angles to the way there
    assert ((corners - found) @ (target - found)).max() <= 1e-9
    # and it is achievable: the least squares mixture of corners gives it
    system = np.vstack([corners.T, np.full(len(corners), 10.0)])
    _, residual = nnls(system, np.append(found, 10.0))
    assert residual < 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_projection_equals_a_quadratic_programme(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 4
    view, target = 0.6 ** np.arange(n), rng.random(n) * 2
    corners = vertices(view, n)
    start = np.full(len(corners), 1.0 / len(corners))
    solved = minimize(
        lambda w: ((w @ corners - target) ** 2).sum(),
        start,
        jac=lambda w: 2 * corners @ (w @ corners - target),
        bounds=[(0, 1)] * len(corners),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(len(w))},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(project(target, view), solved.x @ corners, atol=1e-5)


def test_achievable_exposures_stay() -> None:
    view = np.array([1.0, 0.5, 0.25, 0.0])
    for x in ([0.25, 1.0, 0.0, 0.5], [0.4375] * 4, [0.75, 0.75, 0.125, 0.125]):
        np.testing.assert_allclose(project(x, view), x, atol=1e-15)


def test_missing_documents_and_many_queries_at_once() -> None:
    rng = np.random.default_rng(1)
    view = 1.0 / np.log2(np.arange(2.0, 9))
    many = rng.random((30, 12))
    many[rng.random(many.shape) < 0.3] = np.nan
    many[3] = np.nan
    found = project(many, view)
    assert (np.isnan(found) == np.isnan(many)).all()
    for row, out in zip(many, found, strict=True):
        there = ~np.isnan(row)
        np.testing.assert_allclose(out[there], project(row[there], view), atol=1e-14)
    with pytest.raises(LightmeterError, match="infinite"):
        project([np.inf, 0.0], view)
    with pytest.raises(LightmeterError, match="at least 0"):
        project([1.0, 0.0], [1.0, -0.5])


def test_pooling_one_by_one_ends_as_pooling_all_at_once() -> None:
    # every round uncovers one violation: a falling list before a last element far above all
    y = np.concatenate([np.linspace(1.0, 0.0, 10 * ROUNDS) ** 3, [500.0], [0.0]])
    size = np.ones(len(y))
    label = pool(y, size, np.zeros(len(y), dtype=np.int64))
    mean = np.bincount(label, weights=y) / np.bincount(label)
    fit = mean[label]
    assert (np.diff(fit) <= 0).all()
    residual = np.cumsum(y - fit)  # optimal: never above 0, and 0 where a block ends
    ends = np.flatnonzero(np.diff(label, append=-1))
    assert residual.max() < 1e-9
    np.testing.assert_allclose(residual[ends], 0.0, atol=1e-9)


@settings(max_examples=60)
@given(targets, views(), st.integers(0, 3))
def test_decomposition(target: Array, view: Array, kind: int) -> None:
    n = len(target)
    full = padded(view, n)
    if kind == 0:
        x = project(target, view)
    elif kind == 1:
        x = full[::-1].copy()
    elif kind == 2:
        x = np.full(n, full.mean())
    else:
        weight = target + 0.1
        x = np.average([np.roll(full, i) for i in range(n)], axis=0, weights=weight)
    rankings, probabilities = decompose_exposure(x, view)
    assert len(rankings) == len(probabilities) <= n
    assert (probabilities > 0).all()
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.sort(rankings, axis=1) == np.arange(n)).all()
    np.testing.assert_allclose(mixed(rankings, probabilities, view), x, atol=1e-9)
    if kind == 1 and len(set(full.tolist())) == n:
        assert len(rankings) == 1


@pytest.mark.parametrize("cut", [None, 20])
@pytest.mark.parametrize("kind", ["grades", "uniform", "random", "mixture"])
def test_decomposition_of_a_thousand(kind: str, cut: int | None) -> None:
    rng = np.random.default_rng(5)
    n = 1000
    view = (1.0 / np.log2(np.arange(2.0, n + 2)))[:cut]
    full = padded(view, n)
    x = {
        "grades": project(rng.integers(0, 3, n) * 0.1, view),
        "uniform": np.full(n, full.mean()),
        "random": project(rng.random(n) * 0.3, view),
        "mixture": np.mean([rng.permutation(full) for _ in range(30)], axis=0),
    }[kind]
    rankings, probabilities = decompose_exposure(x, view)
    assert len(rankings) <= n
    np.testing.assert_allclose(mixed(rankings, probabilities, view), x, atol=1e-9)


def test_decomposition_leaves_missing_documents_out() -> None:
    rankings, probabilities = decompose_exposure([np.nan, 0.75, np.nan, 0.75], [1.0, 0.5, 0.5])
    assert sorted(rankings[0].tolist()) == [1, 3]
    assert probabilities.tolist() == [0.5, 0.5]
    assert decompose_exposure([np.nan], [1.0])[0].shape == (0, 0)


def test_what_no_policy_can_give_is_refused() -> None:
    with pytest.raises(LightmeterError, match=r"the 1 largest sum to 1\.25, the views of 1 ranks to 1, 0\.25 apart"):
        decompose_exposure([0.25, 1.25], [1.0, 0.5])
    with pytest.raises(LightmeterError, match=r"all sum to 1\.25, .* 0\.25 apart"):
        decompose_exposure([0.75, 0.5], [1.0, 0.5])
    with pytest.raises(LightmeterError, match=r"0\.5 apart"):
        decompose_exposure([1.0, 1.0], [1.0, 0.5])
    with pytest.raises(LightmeterError, match="2 dimensions"):
        decompose_exposure([[1.0, 0.5]], [1.0, 0.5])
