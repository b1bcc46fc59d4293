"""FA*IR arithmetic against lists of all coin flips, tables of the authors' program and exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.statistics.fair_tables import (
    binomial_tail,
    fail_probability,
    least_tail,
    minimum_table,
    p_value,
    passes,
)

SHARE = st.floats(0.05, 0.95)


def written_out(*runs: tuple[int, int]) -> list[int]:
    return [value for times, value in runs for _ in range(times)]


def flips(k: int) -> list[tuple[int, ...]]:
    """Counts of protected documents in every prefix, for every ranking of k coin flips."""
    return [tuple(itertools.accumulate(f)) for f in itertools.product((0, 1), repeat=k)]


def chance(count: tuple[int, ...], p: float) -> float:
    return p ** count[-1] * (1 - p) ** (len(count) - count[-1])


def failing(table: list[int], p: float) -> float:
    return math.fsum(
        chance(c, p) for c in flips(len(table)) if any(have < need for have, need in zip(c, table, strict=True))
    )


def tail(x: int, n: int, p: float) -> float:
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(x + 1))


# the tables of fairsearchcore's tests, and fail probabilities by an exact dynamic programme
@pytest.mark.parametrize(
    ("k", "p", "alpha", "plain", "adjusted", "chance"),
    [
        (10, 0.2, 0.15, [(8, 0), (2, 1)], [(8, 0), (2, 1)], 0.134217728),
        (20, 0.25, 0.1, [(8, 0), (6, 1), (5, 2), (1, 3)], [(8, 0), (7, 1), (5, 2)], 0.10515247355),
        (
            30,
            0.3,
            0.05,
            [(8, 0), (5, 1), (5, 2), (5, 3), (4, 4), (3, 5)],
            [(10, 0), (6, 1), (5, 2), (4, 3), (5, 4)],
            0.04877730797,
        ),
    ],
)
def test_tables_of_the_authors(k, p, alpha, plain, adjusted, chance):
    assert lm.fair_table(k, p, alpha, adjust=False).minimum.tolist() == written_out(*plain)
    table = lm.fair_table(k, p, alpha)
    assert table.minimum.tolist() == written_out(*adjusted)
    assert table.fail_probability == pytest.approx(chance, abs=5e-12)
    assert minimum_table(k, p, table.alpha).tolist() == table.minimum.tolist()


def test_the_last_rank_counts():
    # a known program leaves the last rank out and says .11517506930977
    table = lm.fair_table(20, 0.25, 0.1, adjust=False)
    assert table.fail_probability == pytest.approx(0.146887188699, abs=1e-12)
    assert fail_probability(table.minimum[:-1], 0.25) == pytest.approx(0.11517506930977, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), SHARE, st.integers(0, 9))
def test_fail_probability_of_any_table(parts, p, most):
    table = [min(int(part * (i + 1)), most) for i, part in enumerate(parts, 1)]
    assert fail_probability(table, p) == pytest.approx(failing(table, p), abs=1e-12)
    both = fail_probability([table, [0] * len(table)], p)
    assert both == pytest.approx([failing(table, p), 0], abs=1e-12)


@given(st.integers(1, 8), SHARE, st.floats(0.01, 0.9))
def test_the_adjusted_table_is_the_nearest(k, p, alpha):
    edges = sorted({0.0, 1.0, *(tail(x, i, p) for i in range(1, k + 1) for x in range(i))})
    levels = [(a + b) / 2 for a, b in itertools.pairwise(edges) if b - a > 1e-12]
    tables = [[next(x for x in range(i + 1) if tail(x, i, p) >= a) for i in range(1, k + 1)] for a in levels]
    nearest = min(abs(failing(t, p) - alpha) for t in tables)
    table = lm.fair_table(k, p, alpha)
    assert table.minimum.tolist() in tables
    assert abs(table.fail_probability - alpha) == pytest.approx(nearest, abs=1e-12)
    assert table.fail_probability == pytest.approx(failing(table.minimum.tolist(), p), abs=1e-12)


@given(st.integers(1, 40), SHARE | st.just(0.5), st.sampled_from([0.1, 0.25, 0.5]) | st.floats(0.01, 0.9), st.data())
def test_passing_without_the_table(k, p, alpha, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    count = np.cumsum(rng.random((20, k)) < p * rng.choice([0.3, 0.7, 1.0]), axis=1)
    table = lm.fair_table(k, p, alpha).minimum
    assert passes(count, p, alpha).tolist() == (count >= table).all(axis=1).tolist()
    # the table itself, as a ranking, passes; one fewer anywhere fails
    edge = np.maximum.accumulate(table)
    assert passes(edge, p, alpha)
    for i in np.flatnonzero(np.diff(table, prepend=0))[:3]:
        assert not passes(np.where(np.arange(k) == i, table - 1, table), p, alpha)


def test_protected_documents_alone_always_pass():
    # the nearest table to .875 asks for one of one; nothing asks for more
    assert lm.fair_table(1, 0.5, 0.875).minimum.tolist() == [1]
    assert passes([[1], [0]], 0.5, 0.875).tolist() == [True, False]


@given(st.lists(st.booleans(), min_size=1, max_size=8), SHARE)
def test_p_value_by_enumeration(protected, p):
    count = list(itertools.accumulate(map(int, protected)))
    least = {c: min(tail(x, i, p) for i, x in enumerate(c, 1)) for c in flips(len(count))}
    mine = least[tuple(count)]
    assert least_tail(count, p) == pytest.approx(mine)
    expected = math.fsum(chance(c, p) for c, other in least.items() if other <= mine * (1 + 1e-12))
    assert p_value(count, p) == pytest.approx(expected, abs=1e-12)
    assert p_value([count, count], p) == pytest.approx([expected] * 2, abs=1e-12)


def test_levels_met_exactly():
    # P(X <= 1) of three fair coins is exactly 1/2: an error in the last digit must not ask for one more
    for n in range(1, 60, 2):
        assert sum(Fraction(math.comb(n, i), 2**n) for i in range((n - 1) // 2 + 1)) == Fraction(1, 2)
        assert minimum_table(n, 0.5, 0.5)[-1] == (n - 1) // 2


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_fail_probability_of_a_long_table(p):
    """Every count carried along, none left out for being too high to matter."""
    table = minimum_table(400, p, 0.05)
    alive, failed = np.zeros(402), 0.0
    alive[0] = 1.0
    for need in table:
        alive[1:] = alive[1:] * (1 - p) + alive[:-1] * p
        alive[0] *= 1 - p
        failed += alive[:need].sum()
        alive[:need] = 0.0
    assert fail_probability(table, p) == pytest.approx(failed, abs=1e-13)


def test_more_than_there_are_ranks():
    assert fail_probability([0, 3, 0], 0.5) == 1
    assert fail_probability([[0, 3], [0, 2]], 0.5) == pytest.approx([1, 0.75])


def test_tail():
    assert binomial_tail([0, 1, 2, 3, -1], 3, 0.25) == pytest.approx([27 / 64, 54 / 64, 63 / 64, 1, 0])
    assert binomial_tail(0, 0, 0.25) == 1


def test_long_tables():
    k, p = 3000, 0.3
    table = minimum_table(k, p, 0.1)
    size = np.arange(1, k + 1)
    assert (binomial_tail(table, size, p) >= 0.1).all()
    assert (binomial_tail(table - 1, size, p) < 0.1).all()
    adjusted = lm.fair_table(k, p, 0.1)
    assert adjusted.fail_probability == pytest.approx(0.1, abs=5e-4)
    rng = np.random.default_rng(1)
    drawn = np.cumsum(rng.random((2000, k)) < p, axis=1)
    failed = (drawn < adjusted.minimum).any(axis=1).mean()
    assert failed == pytest.approx(0.1, abs=4 * math.sqrt(0.1 * 0.9 / 2000))


@pytest.mark.parametrize(("k", "p", "alpha"), [(0, 0.5, 0.1), (2.5, 0.5, 0.1), (3, 0, 0.1), (3, 1, 0.1), (3, 0.5, 1.0)])
def test_refusals(k, p, alpha):
    with pytest.raises(lm.LightmeterError, match="Accepted"):
        lm.fair_table(k, p, alpha)
