"""Exact exposure under Plackett-Luce against enumeration, identities, limits and samples."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.exposure.enumeration import exposure, luce_rankings

from lightmeter.errors import LightmeterError
from lightmeter.exposure.gradient import luce_vjp
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.marginals import rank_marginals

Array = NDArray[np.float64]

continuations = st.sampled_from([0.0, 1e-12, 0.25, 0.5, 0.9, 1 - 1e-12, 1.0]) | st.floats(0, 1)
spreads = st.sampled_from([0.0, 1e-3, 0.1, 1.0, 5.0, 20.0, 45.0, 100.0, 1e3, 1e6])


@st.composite
def lists(draw: st.DrawFn, longest: int = 6) -> tuple[Array, Array]:
    """Log-weights (with ties) and continuations."""
    n = draw(st.integers(1, longest))
    unit = st.sampled_from([-1.0, 0.0, 0.5]) | st.floats(-1, 1)
    y = np.array(draw(st.lists(unit, min_size=n, max_size=n))) * draw(spreads)
    return y, np.array(draw(st.lists(continuations, min_size=n, max_size=n)))


def random_case(rng: np.random.Generator, n: int, spread: float) -> tuple[Array, Array]:
    return rng.normal(size=n) * spread, rng.choice([0.0, 0.3, 0.8, 1 - 1e-12, *rng.random(2)], size=n)


@given(lists())
def test_enumeration(case: tuple[Array, Array]) -> None:
    y, go_on = case
    expected = exposure(luce_rankings(y), len(y), go_on, True, None)
    np.testing.assert_allclose(luce_exposure(y, go_on), expected, atol=1e-11)


@pytest.mark.parametrize("spread", [0, 0.5, 3, 12, 60, 1e6])
def test_enumeration_of_seven(spread: float) -> None:
    y, go_on = random_case(np.random.default_rng(7), 7, spread)
    expected = exposure(luce_rankings(y), 7, go_on, True, None)
    np.testing.assert_allclose(luce_exposure(y, go_on), expected, atol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 500, 2000])
@pytest.mark.parametrize("spread", [0, 0.3, 2, 10, 50, 300, 1e4, 1e9])
def test_what_is_not_passed_is_stopped_at(n: int, spread: float) -> None:
    rng = np.random.default_rng(n)
    for go_on in (
        rng.random(n),
        rng.choice([0.4, 0.8], size=n),
        np.full(n, 0.999),
        1 - rng.random(n) * 1e-3,
        np.zeros(n),
    ):
        found = luce_exposure(rng.normal(size=n) * spread, go_on)
        assert np.isfinite(found).all()
        assert found.min() >= 0
        assert found.max() <= 1 + 1e-12
        assert np.sum((1 - go_on) * found) == pytest.approx(1 - np.prod(go_on), abs=1e-10)


def test_two_documents() -> None:
    for y in (0.0, 1e-9, 1.0, 30.0, 36.0, 38.0, 700.0):
        first = 1 / (1 + np.exp(-y))
        found = luce_exposure([y, 0.0], [0.25, 0.75])
        np.testing.assert_allclose(found, [first + (1 - first) * 0.75, (1 - first) + first * 0.25], atol=1e-12)


@given(lists(longest=12), st.randoms(use_true_random=False), st.floats(-1e3, 1e3))
def test_order_and_level_of_the_input_do_not_matter(case: tuple[Array, Array], random: object, level: float) -> None:
    y, go_on = case
    order = np.array(range(len(y)))
    random.shuffle(order)  # type: ignore[attr-defined]
    one = luce_exposure(y, go_on)
    np.testing.assert_allclose(luce_exposure(y[order], go_on[order]), one[order], atol=1e-12)
    np.testing.assert_allclose(
        luce_exposure(np.round(y, 3) + level, go_on), luce_exposure(np.round(y, 3), go_on), atol=1e-9
    )


@pytest.mark.parametrize("n", [1, 2, 10, 3000])
@pytest.mark.parametrize("p", [1e-9, 0.5, 0.99, 1 - 1e-9, 1.0])
def test_equal_weights_are_the_uniform_policy(n: int, p: float) -> None:
    expected = 1.0 if p == 1 else -np.expm1(n * np.log(p)) / (n * (1 - p))
    np.testing.assert_allclose(luce_exposure(np.zeros(n), p), expected, atol=1e-12, rtol=1e-9)


def test_far_apart_weights_are_the_static_ranking() -> None:
    rng = np.random.default_rng(0)
    scores = rng.permutation(1000).astype(float)
    expected = 0.9 ** (999 - scores)
    for alpha in (100.0, 1e6, 1e300):
        np.testing.assert_allclose(luce_exposure(alpha * scores, 0.9), expected, rtol=1e-12)
    np.testing.assert_allclose(luce_exposure([1e308, -1e308], 0.5), [1.0, 0.5])


def test_pairs_far_apart_multiply() -> None:
    y = np.array([100.0, 99.0, 50.0, 49.5, 0.0, -1.0])
    go_on = np.array([0.5, 0.6, 0.7, 0.2, 0.3, 0.9])
    pairs = [luce_exposure(y[i : i + 2], go_on[i : i + 2]) * np.prod(go_on[:i]) for i in (0, 2, 4)]
    np.testing.assert_allclose(luce_exposure(y, go_on), np.concatenate(pairs), atol=1e-13)


@pytest.mark.parametrize("gap", [3.0, 12.0, 36.9, 37.1])
def test_a_long_chain_of_gaps(gap: float) -> None:
    """One segment far wider than the window, and many segments: both against pairs, where only neighbours swap."""
    n = 400
    go_on = np.full(n, 0.97)
    found = luce_exposure(-gap * np.arange(n), go_on)
    assert np.sum((1 - go_on) * found) == pytest.approx(1 - np.prod(go_on), abs=1e-11)
    if gap > 10:
        swap = 1 / (1 + np.exp(gap))
        view = 0.97 ** np.arange(n)
        expected = view + swap * (np.append(0.0, view[:-1] - view[1:]) - np.append(view[:-1] - view[1:], 0.0))
        np.testing.assert_allclose(found, expected, atol=2 * np.exp(-2 * gap) + 1e-12)


def test_ragged_batches_equal_single_queries() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 60, size=40)
    y = np.full((40, 60), np.nan)
    go_on = np.full((40, 60), np.nan)
    for row, n in enumerate(lengths):
        y[row, :n], go_on[row, :n] = random_case(rng, n, rng.choice([0, 1, 10, 100, 1e5]))
    found = luce_exposure(y, go_on)
    filled = luce_exposure(np.where(np.isnan(y), 1e7, y), np.where(np.isnan(y), 0.5, go_on), lengths=lengths)
    np.testing.assert_array_equal(found, filled)
    cotangent = rng.normal(size=y.shape)
    gradient = luce_vjp(y, go_on, cotangent)
    for row, n in enumerate(lengths):
        assert (found[row, n:] == 0).all()
        assert (gradient[row, n:] == 0).all()
        np.testing.assert_allclose(found[row, :n], luce_exposure(y[row, :n], go_on[row, :n]), atol=1e-12)
        alone = luce_vjp(y[row, :n], go_on[row, :n], cotangent[row, :n])
        np.testing.assert_allclose(gradient[row, :n], alone, atol=1e-11)
    # NaN anywhere in the row
    mixed = np.array([np.nan, 1.0, np.nan, 0.0])
    np.testing.assert_allclose(luce_exposure(mixed, 0.5)[[1, 3]], luce_exposure([1.0, 0.0], 0.5), atol=1e-13)


def test_empty_input() -> None:
    assert luce_exposure(np.zeros(0), 0.5).shape == (0,)
    assert luce_exposure(np.zeros((0, 4)), 0.5).shape == (0, 4)
    assert luce_exposure(np.full((2, 3), np.nan), 0.5).tolist() == [[0.0] * 3] * 2
    assert luce_vjp(np.zeros((3, 0)), 0.5, 1.0).shape == (3, 0)


def test_what_is_refused() -> None:
    for wrong in (np.inf, -np.inf):
        with pytest.raises(LightmeterError, match="infinite"):
            luce_exposure([0.0, wrong], 0.5)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(LightmeterError, match="no probability"):
            luce_exposure([0.0, 1.0], [0.5, wrong])
    with pytest.raises(LightmeterError, match="axes"):
        luce_exposure(np.zeros((2, 2, 2)), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_within_four_standard_errors_of_samples(n: int) -> None:
    """200,000 rankings by the exponential race; the largest deviation of n is judged as one of n."""
    rng = np.random.default_rng(n)
    y, go_on = rng.normal(size=n) * 2, rng.choice([0.4, 0.8], size=n)
    total, square, draws = np.zeros(n), np.zeros(n), 200_000
    for _ in range(draws // 2000):
        order = np.argsort(rng.standard_exponential((2000, n)) * np.exp(-y), axis=1)
        view = np.ones((2000, n))
        np.cumprod(go_on[order][:, :-1], axis=1, out=view[:, 1:])
        one = np.empty((2000, n))
        np.put_along_axis(one, order, view, axis=1)
        total += one.sum(axis=0)
        square += (one**2).sum(axis=0)
    mean = total / draws
    error = np.sqrt((square / draws - mean**2) / draws)
    exact = luce_exposure(y, go_on)
    away = np.abs(mean - exact)
    often = mean > 20 * error  # where few rankings show the document, its standard error is itself an accident
    assert (away < 4 * np.sqrt(exact / draws) + 20 / draws)[~often].all()
    away = away[often] / error[often]
    assert len(away) >= 30
    assert away.max() < 4
    assert np.mean(away > 2) < 0.15


def central(y: Array, go_on: Array, cotangent: Array, h: float = 1e-3) -> Array:
    """Gradient by central differences of fourth order."""
    eye = np.eye(len(y)) * h
    f = {k: luce_exposure(y + k * eye, np.broadcast_to(go_on, eye.shape)) @ cotangent for k in (-2, -1, 1, 2)}
    return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)


@given(lists(longest=8), st.integers(0, 1000))
def test_gradient_against_differences(case: tuple[Array, Array], seed: int) -> None:
    y, go_on = case
    cotangent = np.random.default_rng(seed).normal(size=len(y))
    found = luce_vjp(y, go_on, cotangent)
    assert abs(found.sum()) < 1e-10
    np.testing.assert_allclose(found, central(y, go_on, cotangent), atol=1e-9)


@pytest.mark.parametrize("n", [2, 40, 300])
@pytest.mark.parametrize("spread", [0, 1, 8, 60])
def test_gradient_of_long_lists(n: int, spread: float) -> None:
    rng = np.random.default_rng(n)
    y, go_on = random_case(rng, n, spread)
    cotangent = rng.normal(size=n)
    found = luce_vjp(y, go_on, cotangent)
    assert abs(found.sum()) < 1e-10
    np.testing.assert_allclose(found, central(y, go_on, cotangent), atol=1e-9)
    # sum (1 - C) eps is the same for all weights, and the product is linear in the cotangent
    np.testing.assert_allclose(luce_vjp(y, go_on, 1 - go_on), 0, atol=1e-11)
    np.testing.assert_allclose(luce_vjp(y, go_on, 2 * cotangent + (1 - go_on)), 2 * found, atol=1e-11)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.random.default_rng(0).normal(size=(300, 80)) * 4
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("lightmeter.io.threads.cores", lambda cores=cores: cores)
        found.append((luce_exposure(y, 0.7), luce_vjp(y, 0.7, y), rank_marginals(y[:40], 5)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


LARGE_BLOCK = r"""
import re, numpy as np
from lightmeter.exposure.gradient import luce_vjp
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.marginals import rank_marginals
y = np.random.default_rng(0).normal(size=(1000, 120)) * 3
luce_exposure(y[:2], 0.9), luce_vjp(y[:2], 0.9, y[:2]), rank_marginals(y[:2], 20)  # what is imported counts as before
highest = lambda: int(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
before = highest()
luce_exposure(y, 0.9), luce_vjp(y, 0.9, y), rank_marginals(y, 20)
print(highest() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where Linux tells the highest memory of a process")
def test_memory_of_a_large_block() -> None:
    peak = subprocess.run([sys.executable, "-c", LARGE_BLOCK], capture_output=True, text=True, check=True)
    assert 1e3 < int(peak.stdout) < 300e3
