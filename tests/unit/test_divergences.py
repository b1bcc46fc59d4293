"""Identities of the divergences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference

import lightmeter as lm
from lightmeter.terms.registry import registered

ALL = [d() for d in registered("divergence").values()]


@st.composite
def distributions(draw: Any, c: int) -> np.ndarray[Any, Any]:
    parts = draw(st.lists(st.integers(0, 9), min_size=c, max_size=c).filter(any))
    return np.array(parts) / sum(parts)


@st.composite
def pairs(draw: Any, low: int = 1, high: int = 6) -> Any:
    c = draw(st.integers(low, high))
    return draw(distributions(c)), draw(distributions(c))


@pytest.mark.parametrize("div", [*ALL, lm.JSD(base="e"), lm.KL(eps=0.01)], ids=str)
@given(pairs())
def test_reference(div: Any, pair: Any) -> None:
    p, q = pair
    want = reference.divergence(div, list(p), list(q))
    assert float(div.value(p, q)) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("div", ALL, ids=str)
@given(pairs())
def test_at_least_zero_and_at_most(div: Any, pair: Any) -> None:
    p, q = pair
    assert -1e-12 <= float(div.value(p, q)) <= div.most + 1e-12
    assert float(div.value(p, p)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("div", ALL, ids=str)
def test_one_value(div: Any) -> None:
    assert div.value(np.array([[1.0], [1.0]]), np.array([1.0])).tolist() == [0, 0]


@pytest.mark.parametrize("div", ALL, ids=str)
def test_broadcasting(div: Any) -> None:
    """One target beside many distributions, [.., values]."""
    p = np.array([[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0], [0.1, 0.1, 0.8]]])
    q = np.array([[[0.5, 0.25, 0.25]], [[0.2, 0.2, 0.6]]])
    before = p.copy(), q.copy()
    many = div.value(p, q)
    assert many.shape == (2, 2)
    assert many.ravel().tolist() == pytest.approx([float(div.value(p[i, j], q[i, 0])) for i in (0, 1) for j in (0, 1)])
    assert (p == before[0]).all()
    assert (q == before[1]).all()


@given(pairs(2, 2))
def test_two_values(pair: Any) -> None:
    """NMD = RNOD = |p_1 - q_1|."""
    p, q = pair
    gap = pytest.approx(abs(p[0] - q[0]), abs=1e-12)
    assert float(lm.NMD().value(p, q)) == gap
    assert float(lm.RNOD().value(p, q)) == gap
    assert float(lm.W1().value(p, q)) == gap
    assert float(lm.TV().value(p, q)) == gap


@given(pairs())
def test_jensen_shannon(pair: Any) -> None:
    p, q = pair
    assert float(lm.JSD(base="e").value(p, q)) == pytest.approx(float(lm.JSD().value(p, q)) * math.log(2))
    assert float(lm.JSD().value(p, q)) == pytest.approx(float(lm.JSD().value(q, p)))


@given(pairs(2))
def test_match_distance_is_transport(pair: Any) -> None:
    """NMD = W1 / (c - 1), and W1 moves mass by whole steps."""
    p, q = pair
    assert float(lm.NMD().value(p, q)) == pytest.approx(float(lm.W1().value(p, q)) / (len(p) - 1))


def test_known_values() -> None:
    """Arithmetic."""
    low, high = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
    assert float(lm.W1().value(low, high)) == 2
    assert float(lm.NMD().value(low, high)) == 1
    assert float(lm.JSD().value(low, high)) == 1
    assert float(lm.RNOD().value(low, high)) == 1
    # not symmetric: target (.5, .5, 0) asks at 1 and 2, target (1, 0, 0) at 1 only
    half = np.array([0.5, 0.5, 0])
    assert float(lm.RNOD().value(low, half)) == pytest.approx(math.sqrt((0.25 + 0.25) / 2 / 2))
    assert float(lm.RNOD().value(half, low)) == pytest.approx(math.sqrt(0.25 / 2))
    assert math.isinf(lm.KL().value(low, high))
    assert float(lm.KL().value(low, np.array([0.5, 0.5, 0]))) == pytest.approx(math.log(2))
    assert float(lm.KL().value(half, low)) == math.inf


def test_rnod_passes_one() -> None:
    """With c = 5 and two values asked for RNOD can pass 1; it is not clipped."""
    p, q = np.array([0, 0, 0, 0, 1.0]), np.array([1.0, 0, 0, 0, 0])
    assert float(lm.RNOD().value(p, q)) == 1
    p, q = np.array([0, 0, 0, 0, 0, 1.0]), np.array([0.5, 0.5, 0, 0, 0, 0])
    # OD_1 = 1/4 + 5, OD_2 = 1/4 + 4, over 2 and over 5
    assert float(lm.RNOD().value(p, q)) == pytest.approx(math.sqrt((5.25 + 4.25) / 2 / 5))


@pytest.mark.parametrize("div", [lm.NMD(), lm.RNOD(), lm.W1()], ids=str)
def test_ordinal(div: Any) -> None:
    """The order of values must be declared, and unknown members must not be values of their own."""
    run, groups = {"q": ["a", "b", "c"]}, {"g": {"a": "x", "b": "y", "c": "z"}, "two": {"a": "x", "b": "y"}}
    c = lm.load(run=run, groups=groups)
    with pytest.raises(lm.LightmeterError, match=r"not declared ordinal.*--ordinal g=x,y,z"):
        lm.evaluate(c, [lm.AWRF(by="g", div=div)])
    lm.evaluate(c, [lm.AWRF(by="two", div=div)])
    ordered = lm.load(run=run, groups=groups, ordinal={"g": ["z", "y", "x"]})
    lm.evaluate(ordered, [lm.AWRF(by="g", div=div)])
    with pytest.raises(lm.LightmeterError, match="needs an order"):
        lm.evaluate(ordered, [lm.AWRF(by="g", div=div)], unknown="distinct")
