"""A membership written ``unknown`` is none, in every form; lists are several values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from lightmeter.io.groups import attributes_from_columns, read_groups
from lightmeter.io.runs import read_run
from lightmeter.io.tables import AttributeTable

COUNT = "cells 'unknown' read as unknown"


def members(table: AttributeTable) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in table.frame.iter_rows(named=True):
        found.setdefault(row["doc"], {})[table.values[row["value"]]] = row["weight"]
    return found


def test_wide(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("doc,g,n,s,u\na,f,3,0.5,unknown\nb,unknown,unknown,unknown,\nc,Unknown,12,-1,unknown\n")
    g, n, s = read_groups(path, bins={"n": [0, 10]}, bias=["s"])
    assert members(g) == {"a": {"f": 1.0}, "c": {"Unknown": 1.0}}
    assert members(n) == {"a": {"0-9": 1.0}, "c": {"10+": 1.0}}
    assert members(s) == {"a": {"negative": 0.25, "positive": 0.75}, "c": {"negative": 1.0}}
    assert g.ignored == {COUNT: 1, "columns without values": 1}
    assert n.ignored == s.ignored == {COUNT: 1}
    path.write_text("doc,g\na,1\nb,unknown\nc,2\n")
    (g,) = read_groups(path, ordinal={"g": ["1", "2"]})
    assert (g.values, g.ignored) == (("1", "2"), {COUNT: 1})


def test_among_several_values(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("doc,g\na,f|m\nb,unknown\nc,m|unknown\nd,unknown|unknown\n")
    (g,) = read_groups(path)
    assert members(g) == {"a": {"f": 1.0, "m": 1.0}, "c": {"m": 1.0}}
    assert g.ignored == {COUNT: 3, "repeated values of a document": 1}
    path.write_text("a,x,unknown\nb,unknown\nc,,y\nd,y,,x,\ne,,\n")
    (g,) = read_groups(f"g={path}:annotations")
    assert members(g) == {"a": {"x": 1.0}, "c": {"y": 1.0}, "d": {"y": 1.0, "x": 1.0}}
    assert g.ignored == {COUNT: 2, "empty cells among values": 3}
    assert g.notes == ("1 documents have no annotation: unknown",)


def test_long(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("doc,attribute,value\na,g,f\na,g,unknown\nb,g,unknown\nc,n,3\nd,n,unknown\n")
    g, n = read_groups(path, bins={"n": [0, 10]})
    assert (members(g), g.ignored) == ({"a": {"f": 1.0}}, {COUNT: 2})
    assert (members(n), n.ignored) == ({"c": {"0-9": 1.0}}, {COUNT: 1})
    path.write_text("doc,attribute,value,weight\na,g,f,0.5\na,g,m,0.5\nb,g,unknown,1\nc,g,f,1\nc,g,unknown,0\n")
    (g,) = read_groups(path)
    assert members(g) == {"a": {"f": 0.5, "m": 0.5}, "c": {"f": 1.0}}
    assert (g.kind, g.ignored) == ("soft", {COUNT: 2})


def test_columns_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,doc,score,g\nq,a,1,unknown\np,a,1,\nq,b,2,m\n")
    (g,) = attributes_from_columns(read_run(path), ["g"])
    assert (members(g), g.ignored, g.frame.columns) == ({"b": {"m": 1.0}}, {COUNT: 1}, ["doc", "value", "weight"])


CELLS = ["f", "unknown", None]


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame({"doc": ["a", "b", "c"], "g": CELLS}),
        pl.DataFrame({"doc": ["a", "b", "c"], "g": pl.Series(CELLS, dtype=pl.Categorical)}),
        pl.DataFrame({"doc": ["a", "b", "c"], "g": [["f"], ["unknown"], None]}),
        pd.DataFrame({"doc": ["a", "b", "c"], "g": CELLS}).astype({"g": "category"}),
        {"g": {"a": "f", "b": "unknown", "c": None}},
        {"g": {"a": ["f"], "b": ["unknown"], "c": []}},
    ],
    ids=range(6),
)
def test_frames_and_dictionaries(source: Any) -> None:
    (g,) = read_groups(source)
    assert (members(g), g.values, g.ignored) == ({"a": {"f": 1.0}}, ("f",), {COUNT: 1})


def test_lists_of_json_are_several_values(tmp_path: Path) -> None:
    wanted = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.0}, "c": {"2": 1.0}}
    path = tmp_path / "g.jsonl"
    lines = ['{"doc": "a", "g": ["x", "y", null]}', '{"doc": "b", "g": "x"}', '{"doc": "c", "g": [2]}', '{"doc": "d"}']
    path.write_text("\n".join([*lines, '{"doc": "e", "g": []}']))
    (g,) = read_groups(path)
    assert (members(g), g.kind, g.ignored) == (wanted, "multi", {COUNT: 1})
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.jsonl").write_text('{"doc": "b", "g": "x", "more": null}\n')
    (tmp_path / "parts" / "1.jsonl").write_text("\n".join(line[:-1] + ', "more": {"k": 1}}' for line in lines[::2]))
    with pytest.raises(ValueError, match=r"1.jsonl:1, column 'more': this is no value: a JSON object"):
        read_groups(tmp_path / "parts")
    (g,) = read_groups(tmp_path / "parts", only=["g"])
    assert members(g) == wanted
    path.write_text('{"query": "q", "doc": "a", "score": 1, "g": ["x", "y"], "more": {"k": 1}}\n')
    run = read_run(path)
    assert members(attributes_from_columns(run, ["g"])[0]) == {"a": {"x": 1.0, "y": 1.0}}
    with pytest.raises(ValueError, match=r"g.jsonl:1, column 'more': this is no value: a JSON object"):
        attributes_from_columns(run, ["more"])


def test_lists_in_long_tables(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    lines = [
        '{"doc": "a", "attribute": "g", "value": ["x", "y", "unknown"]}',
        '{"doc": "b", "attribute": "h", "value": "z"}',
    ]
    path.write_text("\n".join([*lines, '{"doc": "c", "attribute": "g", "value": ["x"]}']))
    g, h = read_groups(path)
    assert (members(g), g.kind, g.ignored) == ({"a": {"x": 1.0, "y": 1.0}, "c": {"x": 1.0}}, "multi", {COUNT: 1})
    assert members(h) == {"b": {"z": 1.0}}
    with pytest.raises(ValueError, match=r"g.jsonl:3: the value 'x'|g.jsonl:1, column 'g': the value 'x'"):
        read_groups(path, ordinal={"g": ["low", "high"]})


def test_shares_in_dictionaries() -> None:
    (g,) = read_groups({"g": {"a": {"x": 0.25, 1: 0.75}, "b": 1, 3: None, "d": "unknown"}})
    assert (members(g), g.kind, g.ignored) == ({"a": {"x": 0.25, "1": 0.75}, "b": {"1": 1.0}}, "soft", {COUNT: 1})
    g, h = read_groups({"g": {"a": True, "b": float("nan"), "c": False}, "h": {"a": {"x", "y"}, "b": [2.0, None]}})
    assert members(g) == {"a": {"true": 1.0}, "c": {"false": 1.0}}
    assert members(h) == {"a": {"x": 1.0, "y": 1.0}, "b": {"2": 1.0}}
