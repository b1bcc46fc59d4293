"""Merit from clicks: inverse examination weighting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import lightmeter as lm

LOG = pl.DataFrame(
    {
        "query": ["q"] * 5 + ["p"],
        "doc": ["a", "a", "a", "b", "b", "a"],
        "rank": [1, 2, 2, 1, 2, 1],
        "clicked": [1, 1, 0, 0, 0, 1],
    }
)
HALF = lm.Attention(weights=[1.0, 0.5])


def test_by_hand() -> None:
    """(q, a): (1/1 + 1/.5 + 0)/3 = 1, squares of the distances 0 + 1 + 1, over 3 x 2."""
    frame = lm.click_merit(LOG, HALF)
    assert frame.columns == ["query", "doc", "merit", "se", "shown"]
    assert frame.rows() == [
        ("p", "a", 1.0, None, 1.0),
        ("q", "a", pytest.approx(1.0), pytest.approx((2 / 6) ** 0.5), 3.0),
        ("q", "b", 0.0, None, 2.0),
    ]


def test_unbiased_whatever_the_ranks() -> None:
    """Of 4,000 documents of known relevance, half of them shown low."""
    rng = np.random.default_rng(0)
    curve, shown = np.array([1.0, 0.5, 0.2]), 50
    relevance = rng.random(4000)
    rank = np.where(rng.random((4000, 1)) < 0.5, 0, 2) + np.zeros((1, shown), dtype=int)
    rank[:, :10] = 1
    clicked = rng.random(rank.shape) < relevance[:, None] * curve[rank]
    frame = pl.DataFrame(
        {
            "query": np.repeat(np.arange(4000), shown),
            "doc": np.repeat(np.arange(4000), shown),
            "rank": rank.ravel() + 1,
            "clicked": clicked.ravel(),
        }
    )
    merit = lm.click_merit(frame, lm.Attention(weights=curve.tolist())).sort(pl.col("query").cast(pl.Int64))
    error = merit["merit"].to_numpy() - relevance
    assert abs(error.mean()) < 4 * error.std() / 4000**0.5
    se = merit["se"].to_numpy()
    known = ~np.isnan(se)
    within = np.abs(error[known]) < 1.96 * se[known]
    assert 0.9 < within.mean() < 0.97
    assert np.mean(error[known] ** 2) == pytest.approx(np.mean(se[known] ** 2), rel=0.1)


def test_weights_stand_for_rows() -> None:
    doubled = pl.concat([LOG, LOG])
    once = lm.click_merit(LOG.with_columns(weight=2), HALF)
    assert_frame_equal(once, lm.click_merit(doubled, HALF))
    assert once["se"][1] == pytest.approx((4 / 30) ** 0.5)


def test_clip() -> None:
    steep = lm.Attention(weights=[1.0, 0.01])
    assert lm.click_merit(LOG, steep)["merit"][1] == pytest.approx(101 / 3)
    assert lm.click_merit(LOG, steep, clip=0.25)["merit"][1] == pytest.approx(5 / 3)
    with pytest.raises(lm.LightmeterError, match="clip is 0"):
        lm.click_merit(LOG, steep, clip=0)


def test_ranks_without_attention_are_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="3 of 6 rows are left out"):
        frame = lm.click_merit(LOG, lm.TopK(k=1))
    assert frame["merit"].to_list() == [1.0, 1.0, 0.0]
    with pytest.raises(lm.LightmeterError, match="no attention to any rank"):
        lm.click_merit(LOG.with_columns(rank=3), HALF)


def test_users_that_look_at_documents_are_refused() -> None:
    with pytest.raises(lm.LightmeterError, match="knows the rank only"):
        lm.click_merit(LOG, "Cascade(p=0.5, u=0.5)")


def test_merit_as_judgments() -> None:
    """An audit without judgments: merit stands in for grades."""
    grades = lm.click_merit(LOG, "Attention(weights=[1, 0.5])").rename({"merit": "grade"})
    run = pl.DataFrame({"query": ["q", "q"], "doc": ["b", "a"], "score": [2.0, 1.0]})
    value = lm.evaluate(lm.load(run=run, qrels=grades.filter(pl.col("query") == "q")), ["RR"]).mean()["value"][0]
    assert value == 0.5
