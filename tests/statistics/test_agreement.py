"""Kendall's tau with its interval, tau_AP and rank-biased overlap, each against a slow second way to compute it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.statistics.correlation import kendall, kendalls, rbo, tau_ap, taus_over_queries


def two_orders(low: int, high: int):
    return st.integers(low, high).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n)] * 2)
    )


def sign(x: float) -> int:
    return (x > 0) - (x < 0)


def long_cliff(x: list[int], y: list[int], z: float = 1.959963984540054) -> tuple[float, float, float]:
    """Term by term from the formulas."""
    n = len(x)
    t = {(i, j): sign(x[i] - x[j]) * sign(y[i] - y[j]) for i in range(n) for j in range(n) if i != j}
    tau = sum(t.values()) / (n * (n - 1))
    of_one = [sum(t[i, j] for j in range(n) if j != i) / (n - 1) for i in range(n)]
    s_one = sum((v - tau) ** 2 for v in of_one) / (n - 1)
    s_pair = (sum(v * v for v in t.values()) - n * (n - 1) * tau**2) / (n * (n - 1) - 1)
    deviation = math.sqrt((4 * (n - 2) * s_one + 2 * s_pair) / (n * (n - 1)))
    ties = [sum(v[i] == v[j] for i, j in t) / (n * (n - 1)) for v in (x, y)]
    scale = math.sqrt((1 - ties[0]) * (1 - ties[1]))
    return tau / scale, max((tau - z * deviation) / scale, -1), min((tau + z * deviation) / scale, 1)


@given(two_orders(3, 9))
def test_tau_by_the_formulas_and_as_scipy(orders):
    x, y = orders
    found = kendall(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found.reason == "all_tied"
        assert np.isnan(found.tau)
        return
    tau, low, high = long_cliff(x, y)
    assert found.tau == pytest.approx(tau)
    assert found.tau == pytest.approx(scipy.stats.kendalltau(x, y).statistic)
    if abs(tau) > 1 - 1e-9:
        assert (found.reason, abs(found.tau)) == ("perfect_agreement", 1.0)
        assert np.isnan([found.low, found.high]).all()
    else:
        assert (found.low, found.high) == pytest.approx((low, high))
        assert found.reason is None
    turned = kendall(y, x)
    assert turned.tau == pytest.approx(found.tau)
    assert kendall(x, [-v for v in y]).tau == pytest.approx(-found.tau)
    assert kendall([v / 10 for v in x], [v * 3 + 1 for v in y]).tau == pytest.approx(found.tau)


def test_a_large_order_as_published():
    """With 9,329 items and tau about .6 the interval is about +-.008 (Sakai et al. 2023, of ratings and reviews)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1200)
    y = x + rng.normal(size=1200) * 0.68
    found = kendall(x, y)
    assert found.tau == pytest.approx(0.6, abs=0.03)
    assert (found.high - found.low) / 2 * math.sqrt(1200 / 9329) == pytest.approx(0.008, abs=0.003)


def test_the_interval_of_tau_covers():
    """Pairs of a normal distribution with correlation .7: tau is 2/pi arcsin(.7) = .494."""
    rng = np.random.default_rng(0)
    truth = 2 / math.pi * math.asin(0.7)
    hits = 0
    for _ in range(600):
        x = rng.normal(size=20)
        found = kendall(x, 0.7 * x + math.sqrt(0.51) * rng.normal(size=20))
        hits += found.low <= truth <= found.high
    assert 0.92 < hits / 600 < 0.98


def test_rounding_is_a_tie():
    assert kendall([0.1 + 0.2, 0.3, 0.9], [1, 2, 3]).tau == kendall([3, 3, 9], [1, 2, 3]).tau


def test_few():
    assert kendall([1, 2], [2, 1]).reason == "few_runs"
    assert kendall([1], [2]).reason == "few_runs"
    many = kendalls([[1, 2, 3, 4], [1, 3, 2, 4], [4, 3, 2, 1]])
    assert [[t.tau for t in row] for row in many] == pytest.approx(
        np.array([[1, 2 / 3, -1], [2 / 3, 1, -2 / 3], [-1, -2 / 3, 1]])
    )
    for wrong in (([1, 2], [1]), ([[1]], [[2]]), ([1, np.nan], [1, 2])):
        with pytest.raises(lm.LightmeterError):
            kendall(*wrong)


def test_tau_over_queries():
    """Two measures of the same scores agree on any queries; unrelated ones hardly depend on which."""
    rng = np.random.default_rng(0)
    x = rng.random((8, 60)) + np.linspace(0, 0.8, 8)[:, None]
    noise = rng.random((8, 60))
    gaps = x.copy()
    gaps[:, ::7] = np.nan
    low, high = taus_over_queries([x, 2 * x + 1, noise, gaps], resamples=200)
    assert low[0, 1] == high[0, 1] == 1
    assert -1 <= low[0, 2] < 0.5 < 1 >= high[0, 2]
    assert low[0, 3] > 0.7
    assert (low == low.T).all()
    again = taus_over_queries([x, 2 * x + 1, noise, gaps], resamples=200)
    assert (again[0] == low).all()


def test_tau_over_queries_by_drawing_them_one_by_one():
    rng = np.random.default_rng(3)
    x, y = rng.random((2, 6, 25)) + np.linspace(0, 0.3, 6)[:, None]
    taus = []
    for _ in range(1500):
        drawn = rng.integers(0, 25, 25)
        taus.append(scipy.stats.kendalltau(x[:, drawn].mean(axis=1), y[:, drawn].mean(axis=1)).statistic)
    low, high = taus_over_queries([x, y], resamples=3000)
    assert (low[0, 1], high[0, 1]) == pytest.approx(np.quantile(taus, [0.025, 0.975]), abs=0.1)


def plain_tau_ap(truth: list[int], order: list[int]) -> float:
    """Of an order without ties: the share of those above each that truth puts above it, as it was published."""
    total = 0.0
    for i in range(1, len(order)):
        agree = sum(sign(truth[j] - truth[order[i]]) for j in order[:i])
        total += agree / i
    return total / (len(order) - 1)


@given(two_orders(2, 6))
def test_tau_ap_is_the_mean_over_all_ways_to_break_ties(orders):
    truth, estimate = orders
    ways = [
        order
        for order in itertools.permutations(range(len(truth)))
        if all(estimate[a] >= estimate[b] for a, b in itertools.pairwise(order))
    ]
    expected = np.mean([plain_tau_ap(truth, list(order)) for order in ways])
    assert tau_ap(truth, estimate) == pytest.approx(expected, abs=1e-12)


def test_tau_ap_minds_the_top():
    truth = [6, 5, 4, 3, 2, 1]
    assert tau_ap(truth, truth) == 1
    assert tau_ap(truth, truth[::-1]) == -1
    top, bottom = tau_ap(truth, [5, 6, 4, 3, 2, 1]), tau_ap(truth, [6, 5, 4, 3, 1, 2])
    assert top == pytest.approx(1 - 2 / 5)  # the second is below one that should be below it
    assert bottom == pytest.approx(1 - 2 / 5 / 5)
    assert np.isnan(tau_ap([1], [1]))


def plain_rbo(x: list[int], y: list[int], p: float) -> float:
    """Depth by depth, from sets."""
    n = len(x)
    rank = [[1 + sum(w > v for w in values) for v in values] for values in (x, y)]
    total = agreement = 0.0
    for depth in range(1, n + 1):
        one, two = ({i for i in range(n) if r[i] <= depth} for r in rank)
        agreement = 2 * len(one & two) / (len(one) + len(two))
        total += agreement * p**depth
    return (1 - p) / p * total + agreement * p**n


@given(two_orders(1, 8), st.floats(0.05, 0.95))
def test_rbo_by_sets(orders, p):
    x, y = orders
    assert rbo(x, y, p) == pytest.approx(plain_rbo(x, y, p))
    assert rbo(x, y, p) == pytest.approx(rbo(y, x, p))
    assert rbo(x, x, p) == pytest.approx(1)
    assert 0 <= rbo(x, y, p) <= 1 + 1e-12


def test_rbo_refuses():
    assert np.isnan(rbo([], []))
    with pytest.raises(lm.LightmeterError, match="p is 1"):
        rbo([1, 2], [1, 2], 1)
    with pytest.raises(lm.LightmeterError, match="same length"):
        rbo([1, 2], [1])
