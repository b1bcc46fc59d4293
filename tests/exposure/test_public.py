"""The array functions, against the enumeration of all rankings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lightmeter as lm

SCORES = np.array([0.3, 2.0, -1.0, 0.9])
GRADES = np.array([1.0, 0.0, 2.0, 1.0])


def enumerated(user: Any, cutoff: int | None, alpha: float) -> np.ndarray:
    w, out = np.exp(alpha * SCORES), np.zeros(4)
    for order in itertools.permutations(range(4)):
        rest = w[list(order)]
        p = np.prod(rest / rest[::-1].cumsum()[::-1])
        view = np.broadcast_to(user.view(GRADES[list(order)]), 4).copy()
        view[cutoff:] = 0 if cutoff else view[cutoff:]
        out[list(order)] += p * view
    return out


@pytest.mark.parametrize("cutoff", [None, 2])
@pytest.mark.parametrize(
    "user", ["RBP(p=0.7)", "Cascade(p=0.8, u=0.5)", "ERR(max_grade=2)", "DCG", "Inverse", "TopK(k=3)"]
)
def test_plackett_luce(user: str, cutoff: int | None) -> None:
    policy = lm.PlackettLuce(alpha=1.5, scores="raw")
    got = lm.expected_exposure(SCORES, GRADES, policy, user, cutoff)
    expected = enumerated(lm.parse(user, kind="user"), cutoff, 1.5)
    np.testing.assert_allclose(got, expected, atol=1e-9)
    two = lm.expected_exposure(np.stack([SCORES, SCORES[::-1]]), np.stack([GRADES, GRADES[::-1]]), policy, user, cutoff)
    np.testing.assert_allclose(two[1], expected[::-1], atol=1e-9)


def test_marginals() -> None:
    policy = "PlackettLuce(alpha=1.0, scores='raw')"
    m = lm.rank_marginals(SCORES, policy, depth=4)
    np.testing.assert_allclose(m.sum(axis=0), 1, atol=1e-9)
    np.testing.assert_allclose(m[:, 0], np.exp(SCORES) / np.exp(SCORES).sum(), atol=1e-9)
    np.testing.assert_allclose(
        m @ lm.RBP(p=0.6).view(np.zeros(4)), lm.expected_exposure(SCORES, policy=policy, user=lm.RBP(p=0.6)), atol=1e-9
    )
    ragged = np.array([[1.0, 3.0, np.nan], [0.0, 1.0, 2.0]])
    t = lm.rank_marginals(ragged, lm.RankTransposition(theta=1), depth=3)
    assert t[0].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(lm.rank_marginals(ragged, lm.Uniform(), depth=2)[1], 1 / 3, atol=1e-9)


def test_ties_are_random_by_default() -> None:
    assert lm.expected_exposure([1.0, 1.0, 0.0], user="RBP(p=0.5)").tolist() == [0.75, 0.75, 0.25]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: lm.expected_exposure([1.0, np.inf], user="RBP(p=0.5)"), "finite"),
        (lambda: lm.expected_exposure([1.0], [1, 2], user="RBP(p=0.5)"), "one shape"),
        (lambda: lm.expected_exposure([1.0], user="ERR"), "max_grade"),
        (lambda: lm.expected_exposure([1.0], policy="Samples", user="DCG"), "made of given rankings"),
        (lambda: lm.expected_exposure([1.0], policy="Static", user="DCG"), "ids, which arrays have not"),
        (
            lambda: lm.expected_exposure([1.0], [1], "RankTransposition(theta=0.5)", "Cascade(p=0.5, u=0.5)"),
            "no exact exposure",
        ),
        (lambda: lm.rank_marginals([1.0], "Oracle"), "Accepted: PlackettLuce"),
        (lambda: lm.rank_marginals([[[1.0]]]), r"shape \[n\] or \[queries, n\] .* got shape \(1, 1, 1\)"),
    ],
)
def test_refused(call: Any, told: str) -> None:
    with pytest.raises(lm.LightmeterError, match=told):
        call()


def test_none_is_the_default() -> None:
    plain = lm.expected_exposure([2.0, 1.0], policy=None, user=None, cutoff=None)
    assert plain.tolist() == lm.expected_exposure([2.0, 1.0]).tolist() == [1.0, 0.5]
    assert lm.rank_marginals([1.0], policy=None).shape == (1, 20)
    for cutoff in (0, 1.5, True):
        with pytest.raises(lm.LightmeterError, match=f"cutoff is {cutoff!r}. Accepted: a whole number"):
            lm.expected_exposure([2.0, 1.0], cutoff=cutoff)
