"""Rank marginals and exposure with a cutoff against enumeration, identities and the uncut integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.exposure.enumeration import exposure, luce_rankings, marginals
from tests.exposure.test_luce import lists, random_case

from lightmeter.errors import LightmeterError
from lightmeter.exposure.luce import geometric_mixture, luce_exposure
from lightmeter.exposure.marginals import luce_exposure_cut, luce_exposure_view, rank_marginals

Array = NDArray[np.float64]
SPREADS = [0, 0.5, 3, 20, 60, 1e3, 1e6, 1e10]


@given(lists(), st.integers(1, 8))
def test_enumeration(case: tuple[Array, Array], depth: int) -> None:
    y, go_on = case
    n = len(y)
    np.testing.assert_allclose(rank_marginals(y, depth), marginals(luce_rankings(y), n, depth), atol=1e-10)
    cut = exposure(luce_rankings(y), n, go_on, True, depth)
    np.testing.assert_allclose(luce_exposure_cut(y, go_on, depth), cut, atol=1e-10)
    view = 1 / np.log2(np.arange(2, n + 2))
    seen = exposure(luce_rankings(y), n, view, False, depth)
    np.testing.assert_allclose(luce_exposure_view(y, view[:depth]), seen, atol=1e-10)


@pytest.mark.parametrize("spread", SPREADS)
def test_enumeration_of_seven(spread: float) -> None:
    y, go_on = random_case(np.random.default_rng(7), 7, spread)
    full = marginals(luce_rankings(y), 7, 7)
    for depth in (1, 3, 7):
        np.testing.assert_allclose(rank_marginals(y, depth), full[:, :depth], atol=1e-10)
        cut = exposure(luce_rankings(y), 7, go_on, True, depth)
        np.testing.assert_allclose(luce_exposure_cut(y, go_on, depth), cut, atol=1e-10)


@pytest.mark.parametrize("n", [2, 30, 100, 400])
@pytest.mark.parametrize("depth", [1, 2, 5, 16, 20, 50])
@pytest.mark.parametrize("spread", SPREADS)
def test_every_rank_is_taken_once(n: int, depth: int, spread: float) -> None:
    y = np.random.default_rng(n).normal(size=n) * spread
    found = rank_marginals(y, depth)
    assert found.shape == (n, depth)
    np.testing.assert_allclose(found.sum(axis=0), np.arange(depth) < n, atol=1e-10)
    assert found.sum(axis=1).max() <= 1 + 1e-10
    assert found.min() > -1e-10


@pytest.mark.parametrize("spread", SPREADS)
def test_all_ranks_agree_with_the_uncut_integral(spread: float) -> None:
    n = 120
    y = np.random.default_rng(1).normal(size=n) * spread
    found = rank_marginals(y, n)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-10)
    for p in (0.1, 0.5, 0.9, 0.999, 1.0):
        view = p ** np.arange(n)
        np.testing.assert_allclose(found @ view, luce_exposure(y, p), atol=1e-10)
        np.testing.assert_allclose(luce_exposure_view(y, view), luce_exposure(y, p), atol=1e-10)


@pytest.mark.parametrize("n", [31, 100])
@pytest.mark.parametrize("spread", SPREADS)
def test_smooth_views_as_mixtures(n: int, spread: float) -> None:
    y = np.random.default_rng(4).normal(size=n) * spread
    found = rank_marginals(y, n)
    k = np.arange(1.0, n + 1)
    for view in (1 / np.log2(k + 1), 1 / k, 1 / np.log2(np.maximum(k, 2)), 0.8**k, 3 * 0.99**k, np.ones(n), k == 1):
        assert geometric_mixture(view) is not None
        np.testing.assert_allclose(luce_exposure_view(y, view), found @ view, atol=2e-10)
    for view in ((k < 9) * 1.0, np.where(k < 40, 1 / k, 0.0), np.random.default_rng(0).random(n)):
        if n > 40:
            assert geometric_mixture(view) is None
        np.testing.assert_allclose(luce_exposure_view(y, view), found @ view, atol=1e-10)


@pytest.mark.parametrize("spread", SPREADS)
def test_forms_of_one_user_agree(spread: float) -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(5, 150)) * spread
    found = rank_marginals(y, 20)
    for p in (0.5, 0.9, 1.0):
        view = p ** np.arange(20)
        np.testing.assert_allclose(luce_exposure_view(y, view), found @ view, atol=1e-10)
        np.testing.assert_allclose(luce_exposure_cut(y, p, 20), found @ view, atol=1e-10)
    go_on = rng.choice([0.05, 0.1, 0.2], size=y.shape)
    np.testing.assert_allclose(luce_exposure_cut(y, go_on, 40), luce_exposure(y, go_on), atol=1e-10)


def test_a_cutoff_matters() -> None:
    """The example of the specification: the uncut integral is far off with patience .9 and 20 ranks."""
    y = np.random.default_rng(0).normal(size=100) * 2
    cut, whole = luce_exposure_cut(y, 0.9, 20), luce_exposure(y, 0.9)
    assert cut.sum() == pytest.approx((1 - 0.9**20) / 0.1, abs=1e-10)
    assert whole.sum() == pytest.approx((1 - 0.9**100) / 0.1, abs=1e-10)
    assert np.sum(whole**2) / np.sum(cut**2) > 1.05


def test_equal_weights() -> None:
    for n, depth in ((5, 3), (300, 20), (2000, 5)):
        np.testing.assert_allclose(rank_marginals(np.zeros(n), depth), 1 / n, atol=1e-11)


def test_ragged_batches_equal_single_queries() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 40, size=30)
    y = np.full((30, 40), np.nan)
    go_on = np.full((30, 40), np.nan)
    for row, n in enumerate(lengths):
        y[row, :n], go_on[row, :n] = random_case(rng, n, rng.choice([0, 1, 10, 100, 1e5]))
    found, cut = rank_marginals(y, 7), luce_exposure_cut(y, go_on, 7)
    view = luce_exposure_view(np.where(np.isnan(y), 5.0, y), [1.0, 0.5, 0.1], lengths)
    for row, n in enumerate(lengths):
        assert (found[row, n:] == 0).all()
        assert (cut[row, n:] == 0).all()
        np.testing.assert_allclose(found[row, :n], rank_marginals(y[row, :n], 7), atol=1e-11)
        np.testing.assert_allclose(cut[row, :n], luce_exposure_cut(y[row, :n], go_on[row, :n], 7), atol=1e-11)
        np.testing.assert_allclose(view[row], found[row, :, :3] @ [1.0, 0.5, 0.1], atol=1e-11)


def test_edges() -> None:
    assert rank_marginals(np.zeros(0), 3).shape == (0, 3)
    assert luce_exposure_view([0.0, 1.0], [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert luce_exposure_view([0.0, 1.0], []).tolist() == [0.0, 0.0]
    assert rank_marginals([5.0], 3).tolist() == [[1.0, 0.0, 0.0]]
    np.testing.assert_allclose(luce_exposure_cut([0.0, 1.0], 0.5, None), luce_exposure([0.0, 1.0], 0.5))
    for wrong in (0, -1):
        with pytest.raises(LightmeterError, match="Accepted"):
            rank_marginals([0.0], wrong)
        with pytest.raises(LightmeterError, match="Accepted"):
            luce_exposure_cut([0.0], 0.5, wrong)
