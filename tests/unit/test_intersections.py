"""Intersections of attributes: values, memberships, empty cells, refusals and the notation."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import call, load, share, worlds

import lightmeter as lm

GROUPS = {"gender": {"a": "f", "b": "f", "c": "m", "d": "m"}, "age": {"a": "old", "b": "young", "c": "old", "d": "old"}}
RUN = {"q": ["a", "b", "c", "d"]}


def test_cells_and_labels() -> None:
    c = lm.load(run=RUN, groups=GROUPS)
    both = c.attribute(("gender", "age"))
    assert both.values == ("f & old", "f & young", "m & old")
    assert both.cells == "3 of 4 combinations have documents; empty, and no values: m & young"
    assert (both.kind, both.ordinal) == ("hard", False)
    r = lm.evaluate(c, [lm.Count(by=["gender", "age"]), lm.MeanExposure(by=("gender", "age"), user=lm.TopK(k=2))])
    found = r.mean().select("attribute", "group", "value").rows()
    assert found[:4] == [
        ("gender & age", "f & old", 1.0),
        ("gender & age", "f & young", 1.0),
        ("gender & age", "m & old", 2.0),
        ("gender & age", "unknown", 0.0),
    ]
    assert [v for _, _, v in found[4:]] == [1.0, 1.0, 0.0]
    assert r.conventions["cells gender & age"] == both.cells


@pytest.mark.parametrize(
    "text",
    [
        "ExposureRatio(by=['gender', 'age'], user=DCG(clip=False))",
        "GF(by=['gender', 'age'])",
        "Count(by=['gender', 'age'])@10",
        "EED(user=RBP(p=0.5), by=['gender', 'age'])",
    ],
)
def test_notation(text: str) -> None:
    assert str(lm.parse(text)) == text
    assert lm.parse(str(lm.parse(text))) == lm.parse(text)


def test_unknown_in_one_is_unknown_in_both() -> None:
    c = lm.load(run=RUN, groups={"gender": GROUPS["gender"], "age": {"a": "old"}})
    r = lm.evaluate(c, [lm.Count(by=["gender", "age"])]).mean()
    assert dict(r.select("group", "value").rows()) == {"f & old": 1.0, "unknown": 3.0}


def test_soft_is_a_product() -> None:
    rows = [("a", "lean", "left", 0.25), ("a", "lean", "right", 0.75), ("c", "lean", "left", 1.0)]
    soft = pl.DataFrame(rows, ["doc", "attribute", "value", "weight"], orient="row")
    c = lm.load(run=RUN, groups=[pl.DataFrame({"doc": list("abcd"), "gender": list("ffmm")}), soft])
    r = lm.evaluate(c, [lm.Count(by=["gender", "lean"])]).mean()
    assert dict(r.select("group", "value").rows()) == {
        "f & left": 0.25,
        "f & right": 0.75,
        "m & left": 1.0,
        "unknown": 2.0,
    }


def test_refusals() -> None:
    rows = [("a", "lean", "left", 0.25), ("a", "lean", "right", 0.75)]
    soft = pl.DataFrame(rows, ["doc", "attribute", "value", "weight"], orient="row")
    c = lm.load(run=RUN, groups=[soft, pl.DataFrame({"doc": ["a"], "topic": ["x|y"]})])
    with pytest.raises(lm.LightmeterError, match="Accepted: hard attributes with soft ones"):
        lm.evaluate(c, [lm.Count(by=["lean", "topic"])])
    with pytest.raises(lm.LightmeterError, match="names an attribute twice"):
        lm.evaluate(c, [lm.Count(by=["lean", "lean"])])
    with pytest.raises(lm.LightmeterError, match="no attribute 'gendr'"):
        lm.evaluate(lm.load(run=RUN, groups=GROUPS), [lm.Count(by=["gendr", "age"])])
    with pytest.raises(lm.LightmeterError, match="not declared ordinal"):
        lm.evaluate(lm.load(run=RUN, groups=GROUPS), [lm.GF(by=["gender", "age"], div=lm.NMD, user=lm.RBP)])


def test_many_values_cost_what_there_is() -> None:
    """400 by 400 values: 160,000 cells, of which the documents' own are the values."""
    docs = [f"d{i}" for i in range(900)]
    groups = pl.DataFrame(
        {"doc": docs, "a": [f"a{i % 400}" for i in range(900)], "b": [f"b{i % 399}" for i in range(900)]}
    )
    c = lm.load(run={"q": docs}, groups=groups)
    assert len(c.attribute(("a", "b")).values) == 900
    assert c.attribute(("a", "b")).cells.startswith("900 of 159600 combinations have documents; empty")


@given(st.data())
@share(0.5)
def test_equals_the_attribute_written_out(data: object) -> None:
    """An intersection is the attribute that has each combination for a value."""
    world = data.draw(worlds(by_kind="hard"))  # type: ignore[attr-defined]
    g, two = world.members["g"], world.members["two"]
    keys = set()
    for query, doc in itertools.product([*world.queries, "extra"], [f"d{i}" for i in range(7)] + ["u1", "u2"]):
        if g.get(query, doc) and two.get(query, doc):
            keys.add((query, doc))
    if not keys:
        return
    rows = [
        (q, d, "both", f"{next(iter(g.get(q, d)))} & {next(iter(two.get(q, d)))}")
        for q, d in sorted(keys)
        if q in world.queries
    ]
    if not rows:
        return
    frame = pl.DataFrame(rows, ["query", "doc", "attribute", "value"], orient="row")
    c = load(world)
    from lightmeter.data.attributes import Attribute
    from lightmeter.io.groups import read_groups

    written = Attribute.build(read_groups(frame)[0], c.queries)
    c = dataclasses.replace(c, attributes={**c.attributes, "both": written})
    measures = [lm.ExposureRatio, lm.ExposureGap, lm.ABR, lm.IAA]
    made = call(world, [m(by=["g", "two"]) for m in measures], c)
    direct = call(world, [m(by="both") for m in measures], c)
    for a, b in zip(made.cells, direct.cells, strict=True):
        np.testing.assert_allclose(a.values.value, b.values.value, err_msg=str(a.measure))
