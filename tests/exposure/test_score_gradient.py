"""The gradient of expected exposure by scores, against finite differences of the exact exposure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm

USERS: list[Any] = [lm.RBP(p=0.5), lm.RBP(p=0.99), lm.Cascade(p=0.9, u=0.5), lm.Cascade(p=1, u=1), lm.ERR(max_grade=3)]


@settings(max_examples=60)
@given(st.data())
def test_finite_differences(data: Any) -> None:
    user, n = data.draw(st.sampled_from(USERS)), data.draw(st.integers(2, 7))
    scaling = data.draw(st.sampled_from(["raw", "zscore", "minmax"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    alpha = data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    policy = lm.PlackettLuce(alpha=alpha, scores=scaling)
    scores = rng.normal(size=(2, n)) * data.draw(st.sampled_from([0.3, 1.0, 5.0]))
    grades, cotangent = rng.integers(0, 4, size=(2, n)).astype(float), rng.normal(size=(2, n))
    scores[1, n - 1] = np.nan
    found = lm.exposure_gradient(scores, cotangent, grades, policy, user)
    assert found[1, n - 1] == 0.0

    def total(s: np.ndarray) -> np.ndarray:
        return (np.nan_to_num(cotangent * lm.expected_exposure(s, grades, policy, user))).sum(axis=1)

    step = 1e-5
    for d in range(n):
        up, down = scores.copy(), scores.copy()
        up[:, d] += step
        down[:, d] -= step
        slope = (total(up) - total(down)) / (2 * step)
        assert found[:, d] == pytest.approx(slope, abs=1e-7, rel=1e-6)


@pytest.mark.parametrize("scaling", ["raw", "zscore", "minmax"])
@pytest.mark.parametrize("user", USERS, ids=str)
def test_what_changes_nothing(scaling: Any, user: Any) -> None:
    """Adding a constant to all scores; where they are rescaled, multiplying them as well."""
    rng = np.random.default_rng(3)
    scores, grades = rng.normal(size=9) * 1e6, rng.integers(0, 3, 9).astype(float)
    policy = lm.PlackettLuce(alpha=1e-6 if scaling == "raw" else 2.0, scores=scaling)
    slope = lm.exposure_gradient(scores, rng.normal(size=9), grades, policy, user)
    assert np.abs(slope).max() > 1e-9
    assert slope.sum() == pytest.approx(0.0, abs=1e-15)
    if scaling != "raw":
        assert slope @ scores == pytest.approx(0.0, abs=1e-9)


def test_losses() -> None:
    """EED and EER under the policy, by their derivatives in exposure."""
    rng = np.random.default_rng(1)
    scores, grades = rng.normal(size=6), np.array([2, 0, 1, 0, 0, 1.0])
    user, policy = lm.Cascade(p=0.8, u=0.5), lm.PlackettLuce(alpha=1.0, scores="raw")
    target = rng.random(6)
    exposure = lm.expected_exposure(scores, grades, policy, user)
    slopes = [lm.exposure_gradient(scores, lam, grades, policy, user) for lam in (2 * exposure, target)]
    for d in range(6):
        up, down = scores.copy(), scores.copy()
        up[d] += 1e-5
        down[d] -= 1e-5
        ends = [lm.expected_exposure(s, grades, policy, user) for s in (up, down)]
        assert slopes[0][d] == pytest.approx((ends[0] @ ends[0] - ends[1] @ ends[1]) / 2e-5, abs=1e-8)
        assert slopes[1][d] == pytest.approx((ends[0] - ends[1]) @ target / 2e-5, abs=1e-8)


def test_flat_and_single() -> None:
    for scaling in ("zscore", "minmax"):
        policy = lm.PlackettLuce(scores=scaling)
        assert lm.exposure_gradient([2.0, 2.0], [1.0, 0.0], policy=policy, user="RBP(p=0.5)").tolist() == [0.0, 0.0]
        assert lm.exposure_gradient([2.0], [1.0], policy=policy, user="RBP(p=0.5)").tolist() == [0.0]
    assert lm.exposure_gradient([2.0], [1.0], user="RBP(p=0.5)").tolist() == [0.0]
    huge = lm.exposure_gradient(
        [1e300, 0.0, -1e300], [1.0, 0.0, 0.0], policy="PlackettLuce(alpha=1)", user="RBP(p=0.5)"
    )
    assert np.isfinite(huge).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": "DCG"}, "no gradient here. Accepted: RBP, Cascade or ERR"),
        ({"policy": "Uniform"}, "no gradient by the scores"),
        ({"user": "ERR(max_grade=2)"}, "grades= is not given"),
        ({"grades": [1.0]}, "one shape"),
        ({"cotangent": [1.0, 2.0, 3.0]}, "cotangent"),
        ({"cotangent": [np.nan, 0.0]}, "not finite"),
        ({"scores": [np.inf, 0.0]}, "finite numbers"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    call = {"scores": [0.0, 1.0], "cotangent": [1.0, 0.0], "user": "RBP(p=0.5)", **options}
    with pytest.raises(lm.LightmeterError, match=message):
        lm.exposure_gradient(**call)
