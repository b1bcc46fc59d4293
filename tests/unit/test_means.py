"""Means of parts combine to the mean of the whole."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.errors import LightmeterError
from lightmeter.results.result import Mean

QUERIES = st.lists(
    st.tuples(st.floats(-5, 5) | st.just(float("nan")), st.floats(0.1, 3), st.floats(0, 1), st.booleans()), min_size=1
)


def mean_of(value: np.ndarray, weight: np.ndarray, error: np.ndarray) -> Mean:
    known = ~np.isnan(value)
    x, w = value[known], weight[known]
    reason = None if known.all() else "no_relevant"
    if not len(x):
        return Mean(float("nan"), None, 0, reason, 0.0, 0.0)
    mean, se = np.average(x, weights=w), np.sqrt((w**2 * error[known] ** 2).sum()) / w.sum()
    return Mean(float(mean), float(se), len(x), reason, float(w.sum()), float((w * (x - mean) ** 2).sum()))


@given(QUERIES)
def test_parts_give_the_whole(queries: list[tuple[float, float, float, bool]]) -> None:
    value, weight, error, left = (np.array(column) for column in zip(*queries, strict=True))
    parts = [mean_of(value[side], weight[side], error[side]) for side in (left, ~left)]
    whole, merged = mean_of(value, weight, error), parts[0].merge(parts[1])
    assert (merged.n, merged.reason) == (whole.n, whole.reason)
    for name in ("value", "se", "weight", "squares"):
        expected = getattr(whole, name)
        assert getattr(merged, name) == (
            expected if expected is None else pytest.approx(expected, abs=1e-9, nan_ok=True)
        )


def test_a_result_says_what_its_means_need_to_be_merged(tmp_path) -> None:
    run = {"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["b"]}
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    measures = ["nDCG", "ERR", "Gini(amortised=True)"]
    whole = lm.evaluate(lm.load(run=run, qrels=qrels), measures)
    parts = [
        lm.evaluate(lm.load(run={q: run[q] for q in some}, qrels={q: qrels[q] for q in some}), measures)
        for some in (("q1", "q2"), ("q3",))
    ]
    expected = whole.mean_of(whole.cells[0])
    merged = parts[0].mean_of(parts[0].cells[0]).merge(parts[1].mean_of(parts[1].cells[0]))
    assert merged.value == pytest.approx(expected.value)
    assert merged.squares == pytest.approx(expected.squares)
    assert expected.squares == pytest.approx(float(np.var(whole.values("nDCG")) * 3))
    with pytest.raises(LightmeterError, match="cannot be merged"):
        parts[0].mean_of(parts[0].cells[2]).merge(parts[1].mean_of(parts[1].cells[2]))
    whole.write(tmp_path / "r.parquet")
    from pyarrow import parquet

    said = json.loads(parquet.read_schema(tmp_path / "r.parquet").metadata[b"lightmeter"])
    assert said["manifest"]["resolved"]["ERR"] == "ERR(max_grade=1)"
    assert said["means"][0] == {
        "run": "run", "segment": None, "measure": "nDCG", "group": None, "value": expected.value, "se": None, "n": 3,
        "reason": None, "weight": 3.0, "squares": expected.squares,
    }  # fmt: skip
