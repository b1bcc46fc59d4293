"""Exact expected exposure of any policy, against all rankings of few documents and at the ends of what can be asked."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.models.users import user_of

Array = np.ndarray
USERS = [
    "RBP(p=0)", "RBP(p=1e-12)", "RBP(p=0.5)", "RBP(p=0.999999999999)", "Cascade(p=0, u=0.5)", "Cascade(p=0.7, u=0.6)",
    "Cascade(p=1, u=0.5)", "Cascade(p=1, u=1)", "Cascade(p=0.999999999999, u=0)", "Cascade(p=1, u=0)",
    "ERR(max_grade=3)", "DCG", "Inverse", "TopK(k=2)", "Attention(weights=[0.2, 1.0, 0.0, 0.4])",
]  # fmt: skip
SCALINGS = ["raw", "zscore", "minmax"]


def log_weights(policy: Any, scores: Array) -> Array:
    """What PlackettLuce says of itself, once more."""
    if policy.scores == "zscore":
        deviation = scores.std()
        scores = (scores - scores.mean()) / deviation if deviation > 1e-13 * np.abs(scores).max() else 0 * scores
    if policy.scores == "minmax":
        scores = (scores - scores.min()) / np.ptp(scores) if np.ptp(scores) > 0 else 0 * scores
    return policy.alpha * scores


def by_enumeration(policy: Any, scores: Array, grades: Array, user: Any, cutoff: int | None) -> Array:
    """The mean view over all rankings, each with its probability."""
    n = len(scores)
    orders = np.array(list(itertools.permutations(range(n))))
    if isinstance(policy, lm.PlackettLuce):
        y = log_weights(policy, scores)[orders]
        chance = np.ones(len(y))
        for place in range(n):
            rest = y[:, place:] - y[:, place:].max(axis=1, keepdims=True)  # exactly, whatever the size of the scores
            chance *= np.exp(rest[:, 0]) / np.exp(rest).sum(axis=1)
    else:
        key = {lm.Uniform: 0 * scores, lm.Oracle: grades, lm.Static: scores}[type(policy)]
        chance = (np.diff(key[orders], axis=1) <= 0).all(axis=1).astype(float)
        chance /= chance.sum()
    view = np.broadcast_to(user.view(grades[orders]), orders.shape).copy()
    view[:, n if cutoff is None else cutoff :] = 0.0
    out = np.zeros(n)
    np.add.at(out, orders, chance[:, None] * view)
    return out


@settings(max_examples=150)
@given(st.data())
def test_enumeration(data: Any) -> None:
    """Error at most 1e-9 for up to 7 documents over users, policies, cutoffs and spreads."""
    n = data.draw(st.integers(1, 7) if data.draw(st.booleans()) else st.integers(1, 4))
    user = user_of(data.draw(st.sampled_from(USERS)))
    unit = data.draw(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]) | st.floats(-1, 1), min_size=n, max_size=n))
    scores = np.array(unit) * data.draw(st.sampled_from([1e-3, 1.0, 20.0, 1e3, 1e10]))
    grades = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    alpha, scaling = data.draw(st.sampled_from([0.0, 0.1, 1.0, 8.0, 1e6])), data.draw(st.sampled_from(SCALINGS))
    luce = lm.PlackettLuce(alpha=alpha, scores=scaling)
    policy = data.draw(st.sampled_from([luce, luce, luce, lm.Uniform(), lm.Oracle(), lm.Static(ties="expected")]))
    cutoff = data.draw(st.none() | st.integers(1, 8))
    if policy is luce and scaling != "raw" and 0 < np.ptp(scores) < max(1e-10 * np.abs(scores).max(), 1e-150):
        return  # differences that are lost in the scores' own rounding, or whose squares are 0 in the enumeration
    found = lm.expected_exposure(scores, grades, policy, user, cutoff)
    np.testing.assert_allclose(found, by_enumeration(policy, scores, grades, user, cutoff), atol=1e-9)


def ranges(rng: np.random.Generator, n: int) -> Array:
    """Scores of both signs over ten powers of ten."""
    return np.sign(rng.normal(size=n)) * 10.0 ** rng.uniform(0, 10, size=n)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("cutoff", [None, 10])
def test_finite_and_complete(user: str, cutoff: int | None) -> None:
    """One, two and many documents, any spread: finite, and all that a list gives is given.

    Position models give the sum of the views; without a cutoff the others give sum (1 - C) eps = 1 - prod C.
    """
    rng, reader = np.random.default_rng(0), user_of(user)
    for n in (1, 2, 40):
        grades = rng.integers(0, 4, n).astype(float)
        for scores in (ranges(rng, n), np.zeros(n), np.arange(n) // 3 * 1e10):
            for policy in [
                *(lm.PlackettLuce(alpha=a, scores="zscore") for a in (0, 1, 1e6)),
                lm.PlackettLuce(alpha=1, scores="raw"),
                lm.Uniform(),
                lm.Oracle(),
                lm.Static(ties="expected"),
            ]:
                found = lm.expected_exposure(scores, grades, policy, reader, cutoff)
                where = f"{n} {policy} {scores[:3]}"
                assert np.isfinite(found).all(), where
                assert found.min() >= -1e-12, where
                assert found.max() <= 1 + 1e-9, where
                if not reader.by_document:
                    ranks = n if cutoff is None else min(n, cutoff)
                    assert found.sum() == pytest.approx(reader.view_at(np.arange(1.0, ranks + 1)).sum(), rel=1e-9), (
                        where
                    )
                elif cutoff is None:
                    c = reader.continuation(grades)
                    assert ((1 - c) * found).sum() == pytest.approx(1 - np.prod(c), abs=1e-9), where


@pytest.mark.parametrize("user", USERS)
def test_ends_of_alpha(user: str) -> None:
    """alpha = 0 is uniform; a large one is the ranking where no scores are equal, else its ties in random order."""
    rng, reader = np.random.default_rng(4), user_of(user)
    grades = rng.integers(0, 4, 25).astype(float)
    for scores in (rng.permutation(25).astype(float), np.round(rng.normal(size=25), 1)):
        for scaling in SCALINGS:
            ends = [
                lm.expected_exposure(scores, grades, lm.PlackettLuce(alpha=a, scores=scaling), reader) for a in (0, 1e6)
            ]
            for found, policy in zip(ends, (lm.Uniform(), lm.Static(ties="expected")), strict=True):
                np.testing.assert_allclose(found, lm.expected_exposure(scores, grades, policy, reader), atol=1e-9)


@pytest.mark.parametrize("user", ["RBP(p=0.5)", "Cascade(p=1, u=0.5)", "ERR(max_grade=3)", "DCG"])
@pytest.mark.parametrize("cutoff", [None, 20])
def test_thousands_of_equal_scores(user: str, cutoff: int | None) -> None:
    """The uniform policy, whichever way it is asked for, in seconds."""
    n, reader = 3000, user_of(user)
    grades = np.where(np.arange(n) % 7 == 0, 2.0, 0.0)
    began = time.process_time()
    found = [
        lm.expected_exposure(np.zeros(n), grades, policy, reader, cutoff)
        for policy in (lm.Uniform(), lm.Static(ties="expected"), lm.PlackettLuce(alpha=1))
        # every rank of thousands of documents under Plackett-Luce is the one form that takes minutes
        if not (user == "DCG" and cutoff is None and isinstance(policy, lm.PlackettLuce))
    ]
    assert time.process_time() - began < 30
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-9, rtol=1e-6)


def test_scores_of_real_runs(shared_data: Path) -> None:
    """The run whose scores span ten powers of ten, and the one with ties for most: finite, and everything is given."""
    paths = sorted((shared_data / "robust03").glob("*NLPR03vb10*")) or sorted(
        (shared_data / "robust03").rglob("*NLPR03vb10*")
    )
    if not paths:
        pytest.skip("this collection has no run NLPR03vb10")
    run = next(iter(lm.load(str(paths[0])).runs.values()))
    user = lm.RBP(p=0.9)
    for policy in (lm.PlackettLuce(alpha=1), lm.PlackettLuce(alpha=1, scores="raw"), lm.PlackettLuce(alpha=1e6)):
        for start, end in itertools.pairwise(run.offsets[:20].tolist()):
            found = lm.expected_exposure(run.score[start:end], policy=policy, user=user)
            assert np.isfinite(found).all()
            assert found.sum() == pytest.approx((1 - 0.9 ** (end - start)) / 0.1, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "draws"), [(100, 200_000), (1000, 20_000)])
def test_positions_and_cutoffs_within_four_standard_errors(n: int, draws: int) -> None:
    """DCG and ERR cut at 20 against rankings drawn by the exponential race."""
    rng = np.random.default_rng(n)
    scores, grades = rng.normal(size=n) * 2, rng.integers(0, 3, n).astype(float)
    policy = lm.PlackettLuce(alpha=1, scores="raw")
    users = [user_of("DCG"), user_of("ERR(max_grade=2)")]
    total, square = np.zeros((2, n)), np.zeros((2, n))
    for _ in range(draws // 2000):
        clock = rng.standard_exponential((2000, n)) * np.exp(-scores)
        top = np.argpartition(clock, 20, axis=1)[:, :20]
        order = np.take_along_axis(top, np.argsort(np.take_along_axis(clock, top, axis=1), axis=1), axis=1)
        for i, user in enumerate(users):
            view = np.broadcast_to(user.view(grades[order]), order.shape)
            total[i] += np.bincount(order.ravel(), view.ravel(), minlength=n)
            square[i] += np.bincount(order.ravel(), (view**2).ravel(), minlength=n)
    for i, user in enumerate(users):
        exact, mean = lm.expected_exposure(scores, grades, policy, user, 20), total[i] / draws
        error = np.sqrt((square[i] / draws - mean**2) / draws)
        often = mean > 20 * error
        assert often.sum() >= 30
        away = np.abs(mean - exact)[often] / error[often]
        assert away.max() < 4
        assert np.mean(away > 2) < 0.15
