"""Targets, intents and query sequences."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import lightmeter as lm
from lightmeter.io.judgments import read_intents, read_requests, read_sequence, read_targets


def test_targets(tmp_path: Path) -> None:
    table, gold = tmp_path / "t.csv", tmp_path / "x.golddistr"
    table.write_text("attribute,value,share,query\ngender,f,0.5,\ngender,m,0.5,\nage,1,0.2,q\nage,2,0.8,q\n")
    gold.write_text("0.333333\n0.333333\n\n0.333333\n")
    rows = [("gender", "f", 0.5, None), ("gender", "m", 0.5, None), ("age", "1", 0.2, "q"), ("age", "2", 0.8, "q")]
    assert read_targets(table).frame.rows() == rows
    third = [("x", str(i), 0.333333, None) for i in (1, 2, 3)]
    assert read_targets(f"x={gold}").frame.rows() == third
    both = read_targets([str(table), f"x={gold}", {"z": {"u": 1}}])
    assert both.frame.rows() == [*rows, *third, ("z", "u", 1.0, None)]
    assert both.ignored == {"blank lines": 1}
    assert both.frame.schema == pl.Schema(
        {"attribute": pl.String, "value": pl.String, "share": pl.Float64, "query": pl.String}
    )
    assert read_targets(pl.DataFrame({"attribute": ["a", "a"], "value": [1, 2], "share": [0.5, 0.5]})).frame[
        "value"
    ].to_list() == ["1", "2"]


def test_intents(tmp_path: Path) -> None:
    path, probabilities = tmp_path / "i", tmp_path / "p"
    path.write_text("q 1 a 1\nq 2 a 0\nq 2 b 2\nq 1 a 1\np 1 a L1\n")
    probabilities.write_text("q 1 0.7\nq 2 0.3\np 1 1\n")
    table = read_intents(path)
    assert table.frame.rows() == [
        ("q", "1", "a", 1.0),
        ("q", "2", "a", 0.0),
        ("q", "2", "b", 2.0),
        ("p", "1", "a", 1.0),
    ]
    assert table.probabilities.rows() == [("q", "1", 0.5), ("q", "2", 0.5), ("p", "1", 1.0)]
    assert table.ignored == {"repeated judgments": 1}
    assert read_intents(path, probabilities).probabilities.rows() == [("q", "1", 0.7), ("q", "2", 0.3), ("p", "1", 1.0)]
    frame = pl.DataFrame({"query": ["q"], "subtopic": [1], "doc": ["a"], "grade": [1]})
    assert read_intents(frame, columns={"intent": "subtopic"}).frame.rows() == [("q", "1", "a", 1.0)]


def test_sequence(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("0.0,18\n0.1,7\r\n\n1.0, 18\n1.1,18\n")
    sequence = read_sequence(path)
    assert sequence.rows() == [("18", 3.0), ("7", 1.0)]
    assert sequence.schema == pl.Schema({"query": pl.String, "weight": pl.Float64})
    assert read_requests(path).to_list() == ["18", "7", "18", "18"]
    for given in (path, ["18", "7", "18", "18"]):
        c = lm.load(run={"7": ["a"], "5": ["a"], "18": ["a"]}, sequence=given)
        assert (c.query_weight.tolist(), c.requests.tolist()) == ([1, 0, 3], [2, 0, 2, 2])
        assert [c.queries[i] for i in c.evaluated] == ["7", "18"]
    assert lm.load(run={"7": ["a"]}, sequence=sequence).requests is None
