"""Attention from simulated clicks, where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clicks.simulation import simulated

from lightmeter.clicks.estimate import estimate
from lightmeter.clicks.examination import (
    fit_model,
    harvest,
    informative,
    model_replicates,
    pair_weights,
    rate_replicates,
    rates,
)
from lightmeter.clicks.log import Cells
from lightmeter.errors import LightmeterError

INVERSE = 1.0 / np.arange(1, 6)
BUMPED = np.array([0.9, 0.5, 0.7, 0.2, 0.4])
SEEDS = 200


def estimated(cells: Cells, method: str, resamples: int = 200, **options):
    return estimate(cells, method, 1, np.random.default_rng(0), resamples, **options)


@pytest.mark.parametrize("curve", [INVERSE, BUMPED], ids=["1/k", "bumped"])
@pytest.mark.parametrize(("method", "order"), [("rate", "random"), ("pbm", "noisy"), ("pairs", "noisy")])
def test_intervals_cover_the_truth(method: str, order: str, curve: np.ndarray) -> None:
    """95% intervals of 200 logs cover each rank's weight in 90 to 99%."""
    truth = curve / curve[0]
    covered, weights = [], []
    for seed in range(SEEDS):
        r = estimated(simulated(np.random.default_rng(seed), curve, order=order, sessions=15), method)
        covered.append((r.low <= truth) & (truth <= r.high))
        weights.append(r.weight)
    rates_ = np.mean(covered, axis=0)[1:]
    assert ((rates_ >= 0.90) & (rates_ <= 0.99)).all(), rates_
    assert np.abs(np.mean(weights, axis=0) / truth - 1.0).max() < 0.03


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_are_quantiles_of_the_replicates(level: float) -> None:
    cells = simulated(np.random.default_rng(1), INVERSE)
    replicates = rate_replicates(cells, 0, 200, np.random.default_rng(0))
    r = estimated(cells, "rate", level=level)
    half = (1.0 - level) / 2.0
    np.testing.assert_allclose([r.low, r.high], np.quantile(replicates, [half, 1.0 - half], axis=0))
    np.testing.assert_allclose(r.se, replicates.std(axis=0, ddof=1))


def test_click_rates_are_biased_where_better_documents_stand_higher() -> None:
    """The others recover the truth there."""
    cells = simulated(np.random.default_rng(5), INVERSE, queries=200, sessions=40)
    rate, pbm, pairs_ = (estimated(cells, m) for m in ("rate", "pbm", "pairs"))
    assert (rate.high[1:] < INVERSE[1:]).all()
    assert (rate.weight[1:] < 0.85 * INVERSE[1:]).all()
    for other in (pbm, pairs_):
        assert (np.abs(other.weight - INVERSE)[1:] < 3 * other.se[1:]).all()
        assert (other.se < 0.02).all()
    assert "does not look so" in rate.notes[0]
    random = simulated(np.random.default_rng(5), INVERSE, queries=200, sessions=40, order="random")
    assert "does not look so" not in estimated(random, "rate").notes[0]


def test_few_showings_bias_the_model_but_not_the_pairs() -> None:
    cells = simulated(np.random.default_rng(2), INVERSE, queries=2000, sessions=3)
    pbm, pairs_ = estimated(cells, "pbm"), estimated(cells, "pairs")
    assert (pbm.weight[1:] > 1.1 * INVERSE[1:]).all()
    assert any("biased" in note for note in pbm.notes)
    assert (np.abs(pairs_.weight - INVERSE)[1:] < 3 * pairs_.se[1:]).all()
    assert (pairs_.se < 0.03).all()
    assert not any("biased" in note for note in pairs_.notes)


def test_two_ranks_are_the_ratio_of_mantel_and_haenszel() -> None:
    """By hand: documents a (8 of 10 at rank 1, 6 of 20 at rank 2) and b (5 of 30, 1 of 10).

    A_12 = 8 x 20/30 + 5 x 10/40, A_21 = 6 x 10/30 + 1 x 30/40; the weight of rank 2 is A_21 / A_12.
    """
    cells = Cells(
        np.array([0, 0, 0, 0]),
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        np.array([10.0, 20.0, 30.0, 10.0]),
        np.array([8.0, 6.0, 5.0, 1.0]),
        1,
        2,
    )
    a12, a21 = 8 * 20 / 30 + 5 * 10 / 40, 6 * 10 / 30 + 1 * 30 / 40
    np.testing.assert_allclose(harvest(cells), [[0, a12], [a21, 0]])
    np.testing.assert_allclose(pair_weights(harvest(cells), 0), [1.0, a21 / a12])
    np.testing.assert_allclose(rates(cells, 0), [1.0, (7 / 30) / (13 / 40)])


def test_pairs_solve_their_equations() -> None:
    """At the maximum, clicks counted at each rank equal what is expected of them."""
    ratios = harvest(simulated(np.random.default_rng(3), BUMPED))
    w = pair_weights(ratios, 2)
    assert w[2] == 1.0
    expected = (ratios + ratios.T) * w[:, None] / (w[:, None] + w[None, :])
    np.testing.assert_allclose(ratios.sum(1), expected.sum(1), rtol=1e-9)


def test_the_model_is_at_its_maximum() -> None:
    """Nothing near has a higher likelihood, and plain steps of expectation-maximisation stay where they are."""
    cells = informative(simulated(np.random.default_rng(4), INVERSE, queries=30))
    fitted = fit_model(cells)
    assert fitted.converged
    missed = cells.shown - cells.clicks

    def height(e, r):
        both = np.minimum(e[cells.rank] * r[cells.pair], 1 - 1e-12)
        return cells.clicks @ np.log(both) + missed @ np.log1p(-both)

    best = height(fitted.examination, fitted.relevance)
    assert best == pytest.approx(fitted.log_likelihood)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 1e-1):
        for _ in range(50):
            e = np.minimum(fitted.examination * np.exp(scale * rng.normal(size=5)), 1.0)
            r = np.minimum(fitted.relevance * np.exp(scale * rng.normal(size=len(fitted.relevance))), 1.0)
            assert height(e, r) <= best + 1e-6
    with_more = fit_model(cells, near=1e-12)
    np.testing.assert_allclose(with_more.examination, fitted.examination, rtol=1e-5)


def test_newtons_steps_never_cost_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    """On logs so small that they go astray: never below 2,000 plain steps of expectation-maximisation."""
    logs = [informative(simulated(np.random.default_rng(s), INVERSE, queries=6, sessions=4)) for s in range(12)]
    quick = [fit_model(cells).log_likelihood for cells in logs]
    monkeypatch.setattr(
        "lightmeter.clicks.examination._newton", lambda cells, e, r: (np.zeros_like(e), np.zeros_like(r))
    )
    plain = [fit_model(cells, rounds=500, near=0.0).log_likelihood for cells in logs]
    assert (np.array(quick) >= np.array(plain) - 1e-4).all()


@pytest.mark.parametrize("method", ["pbm", "pairs"])
def test_documents_seen_at_one_rank_do_not_matter(method: str) -> None:
    """Not even where they were clicked each time, which relevance alone could not explain."""
    cells = simulated(np.random.default_rng(8), INVERSE, sessions=30)
    new = np.arange(60)
    more = Cells(
        np.concatenate([cells.query, new]),
        np.concatenate([cells.pair, cells.pair.max() + 1 + new]),
        np.concatenate([cells.rank, np.full(60, 4)]),
        np.concatenate([cells.shown, np.full(60, 9.0)]),
        np.concatenate([cells.clicks, np.full(60, 9.0)]),
        60,
        5,
    )
    np.testing.assert_allclose(estimated(more, method).weight, estimated(cells, method).weight, rtol=1e-9)


def test_one_step_replicates_are_near_full_fits() -> None:
    """Of the same draw of queries."""
    cells = informative(simulated(np.random.default_rng(6), INVERSE, queries=80, sessions=40))
    fitted = fit_model(cells)
    made = model_replicates(cells, fitted, 0, 20, np.random.default_rng(1))
    drawn = np.bincount(np.random.default_rng(1).integers(0, 80, size=(20, 80))[0], minlength=80)
    times = drawn[cells.query].astype(float)
    keep = times > 0
    shown, clicks = cells.shown * times, cells.clicks * times
    again = Cells(cells.query, cells.pair, cells.rank, shown, clicks, 80, 5).some(keep)
    full = fit_model(informative(again)).examination
    assert np.abs(np.log(made[0] * full[0] / full)).max() < 0.02
    assert np.abs(made[0] - fitted.examination).max() > 0.005  # it moved


@pytest.mark.parametrize("method", ["rate", "pbm", "pairs"])
def test_another_reference_divides_the_curve(method: str) -> None:
    cells = simulated(np.random.default_rng(7), BUMPED, sessions=30)
    one = estimate(cells, method, 1, np.random.default_rng(0), 50)
    three = estimate(cells, method, 3, np.random.default_rng(0), 50)
    assert three.weight[2] == 1.0
    assert three.se[2] == 0.0
    np.testing.assert_allclose(three.weight, one.weight / one.weight[2], rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    method=st.sampled_from(["rate", "pbm", "pairs"]),
    queries=st.integers(2, 12),
    sessions=st.integers(5, 15),
    tail=st.lists(st.floats(0.3, 1.0), min_size=1, max_size=4),
)
def test_bounds(seed: int, method: str, queries: int, sessions: int, tail: list[float]) -> None:
    """Weights are positive, intervals hold them in order, and what is undefined is NaN with a reason."""
    cells = simulated(np.random.default_rng(seed), np.array([1.0, *tail]), queries=queries, sessions=sessions)
    try:
        r = estimated(cells, method, resamples=40)
    except LightmeterError as error:
        refused = ("cannot be estimated", "can be estimated", "not identifiable")
        if not any(text in str(error) for text in refused):
            raise
        return
    some = ~np.isnan(r.weight)
    assert (r.weight[some] > 0).all()
    assert all(reason is not None for reason in r.reason[~some])
    sure = ~np.isnan(r.se)
    assert (r.se[sure] >= 0).all()
    assert (r.low[sure] <= r.high[sure]).all()
    assert (r.low[sure] >= 0).all()
    assert all(reason is not None for reason in r.reason[~sure])
    assert np.isfinite(r.high[sure]).all()
    assert r.attention.weights == tuple(r.weight[: r.length])
