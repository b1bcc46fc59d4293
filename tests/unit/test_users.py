"""User models: one vector defines a user."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference
from tests.properties.worlds import users

import lightmeter as lm

GRADES = np.array([[0.0, 1, 2, 0, 3], [3, 3, 0, 0, 1]])


@given(users(), st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_view_and_stop_follow_from_the_continuation(user: Any, grades: list[int]) -> None:
    """view_k = prod_{j<k} C_j and stop_k = view_k (1 - C_k)."""
    user = user.with_max_grade(3.0)
    view = np.broadcast_to(user.view(np.array(grades, dtype=float)), len(grades))
    assert view.tolist() == pytest.approx(reference.views(user, grades, None, 3.0))
    growing = isinstance(user, lm.Attention) and any(
        a < b for a, b in zip((*user.weights, 0.0), (*user.weights[1:], 0.0), strict=False)
    )
    if growing:
        # weights that grow below the list do no harm
        seen = (*user.weights, *[0.0] * 12)[: len(grades) + 1]
        if any(a < b for a, b in itertools.pairwise(seen)):
            with pytest.raises(lm.TermError, match="grows with the rank"):
                user.stop(np.array(grades, dtype=float))
        return
    stop = np.broadcast_to(user.stop(np.array(grades, dtype=float)), len(grades))
    assert stop.tolist() == pytest.approx(reference.stops(user, grades, None, 3.0), abs=1e-12)
    assert stop.sum() <= view[0] + 1e-12


def test_formulas() -> None:
    """Arithmetic."""
    assert lm.RBP(p=0.5).view(np.zeros(3)).tolist() == [1, 0.5, 0.25]
    assert lm.RBP(p=0.5).stop(np.zeros(3)).tolist() == [0.5, 0.25, 0.125]
    assert lm.RBP(p=0.0).view(np.zeros(3)).tolist() == [1, 0, 0]
    assert lm.DCG().view(np.zeros(3)).tolist() == pytest.approx([1, 1 / math.log2(3), 0.5])
    assert lm.DCG(clip=True).view(np.zeros(4)).tolist() == pytest.approx([1, 1, 1 / math.log2(3), 0.5])
    assert lm.DCG(clip=True, base=10).view(np.zeros(100))[[0, 9, 99]].tolist() == pytest.approx([1, 1, 0.5])
    assert lm.Inverse().view(np.zeros(3)).tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert lm.Inverse().stop(np.zeros(3)).tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 12])
    assert lm.TopK(k=2).view(np.zeros(3)).tolist() == [1, 1, 0]
    assert lm.TopK(k=2).stop(np.zeros(3)).tolist() == [0, 1, 0]
    assert lm.Attention(weights=[1, 0.5]).view(np.zeros(4)).tolist() == [1, 0.5, 0, 0]
    assert lm.Attention(weights=[1, 0.5]).stop(np.zeros(3)).tolist() == [0.5, 0.5, 0]
    assert lm.Cascade(p=0.8, u=0.5).view(GRADES[:1, :3]).tolist() == [pytest.approx([1, 0.8, 0.8 * 0.4])]
    assert lm.ERR(max_grade=3).stop(GRADES[1:, :2]).tolist() == [pytest.approx([7 / 8, 1 / 8 * 7 / 8])]


def test_shapes() -> None:
    """[ranks] for position models, the shape of the grades for the others."""
    assert lm.RBP().view(GRADES).shape == (5,)
    assert lm.Cascade(p=0.5, u=0.5).view(GRADES).shape == GRADES.shape


def test_err_takes_the_highest_grade_of_the_judgments() -> None:
    assert lm.ERR().with_max_grade(2.0) == lm.ERR(max_grade=2)
    assert lm.ERR(max_grade=4).with_max_grade(2.0) == lm.ERR(max_grade=4)
    assert lm.ERR().with_max_grade(None) == lm.ERR()
    assert lm.RBP().with_max_grade(2.0) == lm.RBP()
    with pytest.raises(lm.TermError, match="the judgments have the grade 3, above max_grade=2"):
        lm.ERR(max_grade=2).with_max_grade(3.0)
    with pytest.raises(lm.TermError, match="no highest grade without judgments"):
        lm.ERR().satisfaction(GRADES)


def test_increasing_attention_has_no_stops() -> None:
    c = lm.load(run={"q": ["a", "b"]}, groups={"g": {"a": "x", "b": "y"}})
    with pytest.raises(lm.TermError, match="weights that never increase"):
        lm.evaluate(c, [lm.GF(by="g", user=lm.Attention(weights=[0.5, 1]))])
    # but it may be looked at
    assert lm.evaluate(c, [lm.AWRF(by="g", user=lm.Attention(weights=[0.5, 1]))]).cells[0].values.value[0] > 0


def test_cutoff_is_applied_last() -> None:
    """Ranks below it get 0, and nothing is renormalised: stops of RBP .5 at 1 sum to .5."""
    c = lm.load(run={"q": ["a", "b"]}, groups={"g": {"a": "x", "b": "x"}}, targets={"g": {"x": 1.0}})
    assert lm.evaluate(c, [lm.GF(by="g", user=lm.RBP(p=0.5)) @ 1]).cells[0].values.value[0] == 0.5


def test_user_of_text() -> None:
    from lightmeter.models.users import user_of

    assert user_of("RBP(p=0.3)") == user_of(lm.RBP(p=0.3)) == lm.RBP(p=0.3)
    assert user_of(lm.Inverse) == lm.Inverse()
    for wrong in (3, lm.nDCG(), lm.JSD):
        with pytest.raises(lm.TermError):
            user_of(wrong)


def test_err_of_grades_whose_powers_are_not_finite() -> None:
    """R = (2^g - 1)/2^M is 1, 1/2 and 0 to the last digit for g = M, M - 1 and 0, M = 2000."""
    user = lm.ERR(max_grade=2000)
    assert user.continuation(np.array([2000.0, 1999.0, 0.0])).tolist() == [0.0, 0.5, 1.0]
    c = lm.load({"a": {"q": {"a": 2.0, "b": 1.0}}}, {"q": {"a": 2000, "b": 1}}, {"g": {"a": "x", "b": "y"}})
    found = lm.evaluate(c, ["ERR", "GF(by='g')"]).mean()["value"].to_list()
    apart = (np.log2(4 / 3) + 0.5 * np.log2(2 / 3) + 0.5 * np.log2(2)) / 2  # (1, 0) from (1/2, 1/2)
    assert found == pytest.approx([1.0, 1 - apart], abs=1e-12)
