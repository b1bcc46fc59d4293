"""Ties, rank transposition, uniform and oracle policies against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.exposure.enumeration import exposure, tied_rankings
from tests.exposure.test_luce import continuations

from lightmeter.errors import LightmeterError
from lightmeter.exposure.ideal import level_targets
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.ties import (
    blocks_by_score,
    oracle_exposure,
    tied_documents,
    tied_exposure,
    tied_positions,
    uniform_exposure,
)
from lightmeter.exposure.transposition import sample_transpositions, transposition_exposure, transposition_marginals
from lightmeter.models.users import Attention, User, user_of

Array = NDArray[np.float64]
USERS = [
    "RBP(p=0.5)",
    "Cascade(p=0.9,u=0.5)",
    "Cascade(p=1,u=1)",
    "ERR(max_grade=3)",
    "DCG",
    "TopK(k=3)",
    "Inverse",
    Attention(weights=[1.0, 0.3, 0.2]),
]


@st.composite
def tied(draw: st.DrawFn) -> tuple[Array, Array]:
    n = draw(st.integers(1, 6))
    block = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n))
    return np.array(block), np.array(draw(st.lists(continuations, min_size=n, max_size=n)))


@given(tied(), st.none() | st.integers(1, 7))
def test_ties(case: tuple[Array, Array], cutoff: int | None) -> None:
    block, go_on = case
    expected = exposure(tied_rankings(block), len(block), go_on, True, cutoff)
    np.testing.assert_allclose(tied_documents(block, go_on, cutoff), expected, atol=1e-12)
    view = 1.0 / np.arange(1.0, len(block) + 1)
    expected = exposure(tied_rankings(block), len(block), view, False, cutoff)
    np.testing.assert_allclose(tied_positions(block, view[:cutoff]), expected, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 64, 127, 128, 129, 130, 1000, 5000])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.9, 0.9999, 1.0])
def test_long_blocks_of_equal_documents(m: int, p: float) -> None:
    above = np.array([0.0, 1.0, 1.0])
    block = np.concatenate([above, np.full(m, 2.0)])
    go_on = np.concatenate([[0.5, 0.9, 0.8], np.full(m, p)])
    for cutoff in {None, 1, 4, 3 + m // 3, 3 + (4 * m) // 5, 2 + m, 3 + m}:
        seats = m if cutoff is None else int(np.clip(cutoff - 3, 0, m))
        total = seats if p == 1 else -np.expm1(seats * np.log(p)) / (1 - p) if p > 0 else float(seats > 0)
        found = tied_documents(block, go_on, cutoff)[3:]
        np.testing.assert_allclose(found, 0.36 * total / m, atol=1e-12)


@pytest.mark.parametrize("m", [30, 129, 700])
def test_long_blocks_of_unlike_documents(m: int) -> None:
    rng = np.random.default_rng(m)
    for go_on in (rng.random(m), rng.choice([0.02, 0.5, 0.97, 1.0], size=m), 1 - rng.random(m) * 1e-3):
        found = tied_documents(np.zeros(m), go_on)
        np.testing.assert_allclose(found, luce_exposure(np.zeros(m), go_on), atol=1e-11)
        assert np.sum((1 - go_on) * found) == pytest.approx(1 - np.prod(go_on), abs=1e-11)
        for cutoff in (1, 2, m // 4, m // 2, m // 2 + 1, (3 * m) // 4, m - 1):
            found = tied_documents(np.zeros(m), go_on, cutoff)[:3]
            for d in range(3):
                assert found[d] == pytest.approx(left_out(go_on, d, cutoff), abs=1e-13)


def left_out(go_on: Array, document: int, seats: int) -> float:
    """The sum over the seats of the mean product of those above, the document left out from the start."""
    mean = np.zeros(len(go_on) + 1)
    mean[0] = 1.0
    for i, c in enumerate(np.delete(go_on, document), start=1):
        share = np.minimum(np.arange(len(mean)) / i, 1.0)
        mean[1:] = mean[1:] * (1 - share[1:]) + share[1:] * c * mean[:-1]
        mean[i + 1 :] = 0.0
    return float(mean[:seats].sum() / len(go_on))


def test_many_queries_with_ties_equal_single_ones() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 4, size=(30, 50)).astype(float)
    blocks[rng.random(blocks.shape) < 0.3] = np.nan
    blocks[3] = np.nan
    go_on = rng.choice([0.0, 0.3, 0.9, 1.0, 0.123], size=blocks.shape)
    go_on[np.isnan(blocks)] = np.nan
    view = rng.random(40)
    for cutoff in (None, 1, 5, 20, 33):
        found = tied_documents(blocks, go_on, cutoff)
        for row in range(30):
            there = ~np.isnan(blocks[row])
            alone = tied_documents(blocks[row, there], go_on[row, there], cutoff)
            np.testing.assert_allclose(found[row, there], alone, atol=1e-14)
            assert (found[row, ~there] == 0).all()
    for row in range(30):
        there = ~np.isnan(blocks[row])
        np.testing.assert_allclose(tied_positions(blocks, view)[row, there], tied_positions(blocks[row, there], view))


def test_blocks_by_score() -> None:
    scores = np.array([[1.0, 3.0, np.nan, 1.0], [2.0, 2.0, 9.0, 0.0]])
    np.testing.assert_array_equal(blocks_by_score(scores), [[1, 0, np.nan, 1], [1, 1, 0, 2]])
    np.testing.assert_array_equal(blocks_by_score(scores, [1, 2]), [[0, *[np.nan] * 3], [0, 0, np.nan, np.nan]])
    assert blocks_by_score(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("text", USERS)
@pytest.mark.parametrize("cutoff", [None, 1, 2, 4, 9])
def test_uniform_and_oracle(text: str | User, cutoff: int | None) -> None:
    user = user_of(text)
    grades = np.array([0.0, 2.0, 0.0, 3.0, 2.0, 1.0])
    model = user.continuation(grades) if user.by_document else user.view_at(np.arange(1.0, 7.0))
    uniform = exposure(tied_rankings(np.zeros(6)), 6, model, user.by_document, cutoff)
    np.testing.assert_allclose(uniform_exposure(grades, user, cutoff), uniform, atol=1e-12)
    oracle = exposure(tied_rankings(-grades), 6, model, user.by_document, cutoff)
    np.testing.assert_allclose(oracle_exposure(grades, user, cutoff), oracle, atol=1e-12)
    np.testing.assert_allclose(tied_exposure(-grades, grades, user, cutoff), oracle, atol=1e-12)
    levels = level_targets(user, np.array([[3.0, 2.0, 1.0, 0.0]]), np.array([[1, 2, 1, 2]]), cutoff)[0]
    np.testing.assert_allclose(oracle, levels[(3 - grades).astype(int)], atol=1e-12)
    padded = np.stack([np.append(grades, np.nan), np.append(grades[:3], [np.nan] * 4)])
    for of in (uniform_exposure, oracle_exposure):
        both = of(padded, user, cutoff)
        np.testing.assert_allclose(both[0, :6], of(grades, user, cutoff))
        np.testing.assert_allclose(both[1, :3], of(grades[:3], user, cutoff))
        assert (both[1, 3:] == 0).all()
        np.testing.assert_allclose(of(np.nan_to_num(padded), user, cutoff, lengths=[6, 3]), both)
        np.testing.assert_allclose(of(np.append(grades, 4.0), user, cutoff, lengths=6)[:6], both[0, :6])


def chain(n: int, theta: float) -> Array:
    """Rank marginals from the Markov chain on all permutations."""
    states = list(itertools.permutations(range(n)))
    index = {s: i for i, s in enumerate(states)}
    step = np.zeros((len(states), len(states)))
    for s in states:
        for i, j in itertools.combinations(range(n), 2):
            other = list(s)
            other[i], other[j] = other[j], other[i]
            step[index[s], index[tuple(other)]] += 2 / (n * (n - 1))
    if n == 1:
        step[:] = 1
    now, out, weight = np.eye(len(states))[0], np.zeros(len(states)), theta
    while weight > 1e-13:
        out += weight * now
        now, weight = now @ step, weight * (1 - theta)
    found = np.zeros((n, n))
    for s, probability in zip(states, out, strict=True):
        for rank, document in enumerate(s):
            found[document, rank] += probability
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("theta", [1.0, 0.5, 0.05])
def test_transposition_against_the_chain(n: int, theta: float) -> None:
    expected = chain(n, theta)
    np.testing.assert_allclose(transposition_marginals(n, theta), expected, atol=1e-10)
    np.testing.assert_allclose(transposition_marginals(n, theta, 2)[:, :n], expected[:, :2], atol=1e-10)
    view = 0.5 ** np.arange(n)
    np.testing.assert_allclose(transposition_exposure(view, theta), expected @ view, atol=1e-10)
    draws = 40_000
    orders = sample_transpositions(np.random.default_rng(5), n, theta, draws)
    found = np.stack([(orders == d).mean(axis=0) for d in range(n)])
    assert np.abs(found - expected).max() < 4.5 * np.sqrt(0.25 / draws)


def test_transposition_of_ragged_lists() -> None:
    view = 1.0 / np.arange(1.0, 6.0)
    found = transposition_exposure(np.tile(view, (4, 1)), 0.3, [0, 1, 2, 5])
    assert found[0].tolist() == [0.0] * 5
    assert found[1].tolist() == [1.0, 0, 0, 0, 0]
    for row, n in ((2, 2), (3, 5)):
        np.testing.assert_allclose(found[row, :n], transposition_exposure(view[:n], 0.3))
    np.testing.assert_allclose(transposition_exposure(view, 0.0), view.mean())
    np.testing.assert_array_equal(transposition_exposure(view, 1.0), view)
    with pytest.raises(LightmeterError, match="theta"):
        transposition_exposure(view, 1.5)


@pytest.mark.parametrize("theta", [0.0, 1e-300, 1e-12, 1e-3, 0.4, 1.0])
def test_samples_are_permutations_and_reproducible(theta: float) -> None:
    one = sample_transpositions(np.random.default_rng(1), 9, theta, 500)
    np.testing.assert_array_equal(np.sort(one, axis=1), np.tile(np.arange(9), (500, 1)))
    np.testing.assert_array_equal(one, sample_transpositions(np.random.default_rng(1), 9, theta, 500))
    assert sample_transpositions(np.random.default_rng(1), 0, theta, 3).shape == (3, 0)
    assert sample_transpositions(np.random.default_rng(1), 4, theta, 0).shape == (0, 4)
