"""What may be given, and what is refused with one clear message."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lightmeter as lm
from lightmeter import metrics

Y, S, G = [1, 0, 1, 0], [0.9, 0.8, 0.1, 0.5], ["m", "m", "f", "f"]
WANTED = (1 / math.log2(5) + 0.5) / (1 + 1 / math.log2(3))


def test_forms_of_input() -> None:
    frame = pd.DataFrame({"s": S, "g": G}, index=[7, 7, 1, 3])  # an index that is no count
    forms: list[tuple[Any, Any]] = [
        (S, G),
        (np.array(S), np.array(G)),
        (np.array(S, dtype=object), np.array(G, dtype=object)),
        (frame["s"], frame["g"]),
        (frame["s"].astype("Float64"), frame["g"].astype("category")),
        (pl.Series(S), pl.Series(G).cast(pl.Categorical)),
        (np.array(S).reshape(-1, 1), np.array(G)),
        (tuple(S), frame[["g"]]),
    ]
    for s, g in forms:
        assert metrics.exposure_ratio(None, s, groups=g) == pytest.approx(WANTED)
    assert metrics.exposure_ratio(None, S, groups=[1, 1, 0, 0], group=0, reference=1) == pytest.approx(WANTED)
    whole = pd.Series([1.0, 1.0, 0.0, 0.0])  # as pandas makes of whole numbers beside a gap
    assert metrics.exposure_ratio(None, S, groups=whole) == pytest.approx(WANTED)
    gap = metrics.mean_exposures(None, S, groups=[1.0, float("nan"), 0.0, 0.0])
    assert set(gap) == {1.0, 0.0}


def test_columns_of_a_frame_are_combined() -> None:
    frame = pd.DataFrame({"sex": ["f", "f", "m", None], "race": ["a", "b", "a", "b"]})
    assert metrics.mean_exposures(None, S, groups=frame) == pytest.approx(
        {"f,a": 1.0, "f,b": 1 / math.log2(3), "m,a": 1 / math.log2(5)}
    )
    both = metrics.mean_exposures(None, S, groups=pl.from_pandas(frame))
    assert set(both) == {"f,a", "f,b", "m,a"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"y_score": [1.0, float("nan"), 2, 3]}, "y_score, row 1: the score is missing"),
    ({"y_score": [1.0, float("inf"), 2, 3]}, "row 1: the score inf is not a finite number"),
    ({"y_score": ["a", "b", "c", "d"]}, "the score 'a' is not a finite number"),
    ({"y_score": np.zeros((4, 2))}, "shape .4, 2.*column of the class"),
    ({"y_score": None}, "y_score is None"),
    ({"y_score": []}, "y_score is empty"),
    ({"groups": ["a"]}, "groups has 1 rows and y_score 4"),
    ({"groups": [None] * 4}, "nothing is known about groups"),
    ({"groups": [0.5, 1.5, 0.5, 1.5]}, "groups are numbers with fractions"),
    ({"groups": "m"}, "groups is a str"),
    ({"k": 0}, "k is 0"),
    ({"k": 2.0}, "k is 2.0"),
    ({"k": True}, "k is True"),
    ({"sample_weight": [1, 1, -1, 1]}, "row 2: the sample_weight -1.* is below 0"),
    ({"sample_weight": [0, 0, 0, 0]}, "sample_weight is 0 throughout"),
    ({"sample_weight": [1, 1]}, "sample_weight has 2 rows"),
    ({"queries": ["a", None, "a", "a"]}, "queries, row 1: the query is missing"),
    ({"ties": "expect"}, "Did you mean 'expected'"),
    ({"user": "ERR(max_grade=1)"}, "looks at the documents above"),
    ({"user": "DCGG"}, "Did you mean"),
    ({"group": "f"}, "one group is named"),
    ({"group": "f", "reference": "f"}, "Accepted: two groups"),
    ({"group": "f", "reference": "men"}, "reference is 'men', which is no group.*Groups:"),
    ({"y_true": [1, 0, -1, 0]}, "y_true -1.* is below 0"),
    ({"y_true": None}, "y_true is None"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refused(change: dict[str, Any], message: str) -> None:
    given = {"y_true": Y, "y_score": S, "groups": G} | change
    y, s = given.pop("y_true"), given.pop("y_score")
    with pytest.raises(lm.LightmeterError, match=message) as caught:
        metrics.exposure_per_merit_ratio(y, s, **given)
    assert isinstance(caught.value, ValueError)
    assert any(word in str(caught.value) for word in ("Accepted", "Known", "Groups"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "pol"}, "Did you mean 'pool'"),
        ({"target": {"m": 0.5, "f": 0.6}}, "sum to 1.1"),
        ({"target": {"m": -0.5, "f": 1.5}}, "share of 'm' is -0.5"),
        ({"target": {"w": 1.0}}, "is no group|which is no group"),
        ({"div": "NMD"}, "needs the order of the groups"),
        ({"div": 3}, "div is 3"),
    ],
)
def test_refused_targets_and_divergences(change: dict[str, Any], message: str) -> None:
    with pytest.raises(lm.LightmeterError, match=message):
        metrics.awrf(None, S, groups=G, **change)


def test_k_is_needed() -> None:
    for of in (metrics.selection_rates, metrics.selection_rate_ratio, metrics.min_skew, metrics.max_skew):
        with pytest.raises(lm.LightmeterError, match=f"{of.__name__} needs k"):
            of(None, S, groups=G, k=None)  # type: ignore[operator]


UNDEFINED: list[tuple[str, dict[str, Any], str]] = [
    ("exposure_ratio", {"groups": ["m"] * 4}, "fewer than two groups"),
    ("exposure_gap", {"groups": ["m", None, "m", "m"]}, "fewer than two groups"),
    ("abr", {"groups": ["m"] * 4}, "fewer than two groups"),
    ("exposure_per_merit_ratio", {"y_true": [0, 0, 1, 0]}, "have merit"),
    ("exposure_ratio", {"group": "m", "reference": "f", "k": 2}, "no exposure"),
    ("selection_rate_ratio", {"group": "m", "reference": "f", "k": 2}, "nobody is selected"),
    ("skew", {"group": "f", "k": 2}, "nobody there"),
    ("min_skew", {"k": 2}, "nobody among the first k"),
    ("max_skew", {"k": 2, "target": {"f": 1.0}}, "without a target share"),
    ("ndkl", {"target": {"f": 1.0}}, "without a target share"),
    ("awrf", {"groups": [None, None, "f", "m"], "k": 2}, "nobody of a known group"),
    ("awrf", {"div": "KL", "target": {"f": 1.0}}, "without a target share"),
]


@pytest.mark.parametrize(("name", "change", "reason"), UNDEFINED)
def test_undefined_is_nan_and_says_why(name: str, change: dict[str, Any], reason: str) -> None:
    given = {"y_true": Y, "y_score": S, "groups": G} | change
    y, s = given.pop("y_true"), given.pop("y_score")
    with pytest.warns(metrics.UndefinedWarning, match=reason):
        assert math.isnan(getattr(metrics, name)(y, s, **given))


def test_a_list_in_which_a_metric_is_undefined_is_left_out_of_the_mean() -> None:
    got = metrics.exposure_ratio(None, [2, 1, 2, 1], groups=["m", "f", "m", "m"], queries=["a", "a", "b", "b"])
    assert got == pytest.approx(1 / math.log2(3))
