"""Measures that are reduced over queries: results, segments, weights, gates, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lightmeter as lm

RUN = {"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["b", "a"]}
GROUPS = {"g": {"a": "x", "b": "y"}}
GAP = lm.ExposureGap(by="g", value="x", reference="y", user=lm.TopK(k=1), amortised=True)


def load(**options: object) -> lm.Collection:
    return lm.load(run=RUN, groups=GROUPS, **options)  # type: ignore[arg-type]


def test_one_value_for_all_and_none_by_query() -> None:
    r = lm.evaluate(load(), [GAP])
    assert r.mean().select("query", "value", "n", "reason").rows() == [(None, pytest.approx(-1 / 3), 3, None)]
    assert set(r.per_query()["reason"]) == {"across_queries"}
    assert r.per_query()["value"].is_nan().all()


def test_segments_and_sequence() -> None:
    queries = pl.DataFrame({"query": list(RUN), "label": ["east", "east", "west"]})
    asked = pl.DataFrame({"query": ["q1", "q3"], "weight": [3.0, 1.0]})
    r = lm.evaluate(load(queries=queries, segment="label"), [GAP]).mean()
    assert dict(r.select("segment", "value").rows()) == pytest.approx({None: -1 / 3, "east": 0.0, "west": -1.0})
    assert lm.evaluate(load(sequence=asked), [GAP]).mean()["value"].item() == pytest.approx((3 - 1) / 4)


def test_weights_of_one_query_are_that_query() -> None:
    plain = GAP(amortised=False)
    r = lm.evaluate(load(), [plain, GAP])
    alone, together = r.cells
    for i in range(3):
        assert together.across is not None
        assert together.across(np.eye(3)[i]).value == alone.values.value[i]


def test_combined_measures_refuse_it() -> None:
    with pytest.raises(lm.TermError, match="reduced over queries"):
        lm.GFR(of=[lm.ExposureRatio(by="g", amortised=True)])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ExposureRatio(by='g', value='x')", "Accepted: value and reference, or neither"),
        ("ExposureRatio(by='g', value='x', reference='x')", "compared with itself"),
        ("ExposureRatio(by='g', value='x', reference='z')", "has no value 'z'"),
        ("DTR(by='g')", "needs judgments"),
        ("Gini", "needs judgments"),
        ("StRecall", "needs intents"),
        ("JME_GI", "needs judgments"),
    ],
)
def test_refusals(text: str, match: str) -> None:
    with pytest.raises(lm.LightmeterError, match=match):
        lm.evaluate(load(), [text])


def test_memberships_by_query_are_refused_by_jme() -> None:
    groups = pl.DataFrame({"query": ["q1"], "doc": ["a"], "attribute": ["g"], "value": ["x"]})
    c = lm.load(run=RUN, qrels={"q1": {"a": 1}}, groups=groups)
    with pytest.raises(lm.LightmeterError, match="depends on the query"):
        lm.evaluate(c, [lm.JME_IG(by="g")])


def test_a_measure_of_ones_own() -> None:
    """The hook alone is enough: here the share of requests whose first document is in group x, by group."""

    class FirstPlaces(lm.Measure, abstract=True):
        across_queries = True
        by: str = lm.param(default="g")

        def across(self, context, ranked, weight):  # type: ignore[no-untyped-def]
            first = ranked.member_row(self.by)[ranked.offsets[:-1]]
            value = context.collection.attribute(self.by).codes[first]
            share = np.bincount(value, weight[ranked.query], minlength=2) / weight.sum()
            return {name: lm.Values(share[i : i + 1]) for i, name in enumerate(("x", "y"))}

    r = lm.evaluate(load(), [FirstPlaces()]).mean()
    assert dict(r.select("group", "value").rows()) == pytest.approx({"x": 1 / 3, "y": 2 / 3})
