"""FA*IR for many rankings at once agrees with the way by one share at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.statistics import fair_tables


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    many, longest = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 5, 30, 120]))
    size = rng.integers(1, longest + 1, many)
    fractions = [a / b for b in range(2, 8) for a in range(1, b)]
    p = rng.choice(fractions, many) if draw(st.booleans()) else rng.uniform(0.001, 0.999, many)
    lean = draw(st.sampled_from([0.4, 0.8, 1.0, 1.2]))  # how far below its share the group is
    count = np.cumsum(rng.random((many, longest)) < np.minimum(lean * p, 1.0)[:, None], axis=1)
    return np.where(np.arange(longest) < size[:, None], count, 0), size, p


@settings(max_examples=60, deadline=None)
@given(batches(), st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9]))
def test_as_one_by_one(batch: tuple[np.ndarray, np.ndarray, np.ndarray], alpha: float) -> None:
    count, size, p = batch
    tails = fair_tables.running_tails(count, p)
    found, passed = fair_tables.batch_p_values(count, size, p), fair_tables.batch_passes(count, size, p, alpha)
    for row, (k, share) in enumerate(zip(size.tolist(), p.tolist(), strict=True)):
        mine = count[row, :k]
        wanted = fair_tables.binomial_tail(mine, np.arange(1, k + 1), share)
        assert tails[row, :k] == pytest.approx(wanted, abs=1e-11)
        assert found[row] == pytest.approx(fair_tables.p_value(mine, share).item(), abs=1e-11)
        assert passed[row] == fair_tables.passes(mine, share, alpha).item()
        assert passed[row] == (mine >= lm.fair_table(k, share, alpha).minimum).all()


def test_long_rankings_with_unlike_shares() -> None:
    rng = np.random.default_rng(5)
    k = 1500
    p = np.array([0.002, 0.02, 0.3, 0.5, 0.7, 0.98, 0.999])
    size = np.array([k, k, k - 1, k, 900, k, k])
    count = np.cumsum(rng.random((7, k)) < p[:, None] * 0.97, axis=1)
    found, passed = fair_tables.batch_p_values(count, size, p), fair_tables.batch_passes(count, size, p, 0.1)
    for row, n in enumerate(size):
        assert found[row] == pytest.approx(fair_tables.p_value(count[row, :n], p[row]).item(), abs=1e-10)
        assert passed[row] == fair_tables.passes(count[row, :n], p[row], 0.1).item()


def test_tables_are_the_smallest_counts() -> None:
    """The guess by the normal distribution is put right wherever it is off."""
    level = np.array([1e-6, 1e-3, 0.01, 0.2, 0.5, 0.8, 0.999])
    for share in (0.003, 0.1, 0.5, 0.97):
        p, size = np.full(len(level), share), np.full(len(level), 300)
        table, laxer = fair_tables.failing_tables(level, size, p, 300)
        for row, one in enumerate(level):
            wanted = fair_tables.minimum_table(300, share, one)
            assert (laxer[row] == wanted).all()
            assert ((table[row] - wanted >= 0) & (table[row] - wanted <= 1)).all()


def test_an_answer_by_bounds_is_the_answer() -> None:
    """So short or so well off that no programme is needed: k tests fail no more than k times as often as one."""
    all_last = np.array([[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]])
    assert fair_tables.batch_passes(all_last, np.array([10]), np.array([0.9]), 0.1).tolist() == [False]
    all_first = np.arange(1, 11)[None]
    assert fair_tables.batch_passes(all_first, np.array([10]), np.array([0.1]), 0.1).tolist() == [True]
