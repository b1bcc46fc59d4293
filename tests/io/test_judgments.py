"""Judgments in every form."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lightmeter.io.judgments import judgments_from_columns, read_judgments
from lightmeter.io.runs import read_run

ROWS = [("q1", "a", 2.0), ("q1", "b", 0.0), ("02", "a", -1.5)]
FIELDS = "q1 0 a 2\nq1 0 b 0\n02 0 a -1.5\n"
CSV = "query,doc,grade\nq1,a,2\nq1,b,0\n02,a,-1.5\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels", FIELDS.encode()),
        ("qrels.tsv", FIELDS.replace(" ", "\t").encode()),
        ("qrels.txt", b"\xef\xbb\xbf" + FIELDS.replace(" ", "  ").replace("\n", " \r\n").encode()),
        ("qrels.gz", gzip.compress(FIELDS.encode(), mtime=0)),
        ("qrels.zst", pa.compress(FIELDS.encode(), codec="zstd", asbytes=True)),
        ("qrels", FIELDS.replace(" 0 ", " ", 1).replace("q1 0 b", "q1 b").replace("02 0", "02").encode()),
        ("qrels", b"q1 a L2\nq1 b L0\n02 a L-1.5\n"),
        ("qrels.csv", CSV.encode()),
        ("qrels.csv", CSV.replace(",2", ",L2").encode()),
        ("qrels.txt", CSV.replace(",", "\t").encode()),
        (
            "qrels.jsonl",
            b'{"query":"q1","doc":"a","grade":2}\n{"query":"q1","doc":"b","grade":0}\n{"query":"02","doc":"a","grade":-1.5}',
        ),
    ],
)
def test_files(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    table = read_judgments(path)
    assert table.frame.schema == pl.Schema({"query": pl.String, "doc": pl.String, "grade": pl.Float64})
    assert table.frame.rows() == ROWS
    assert table.ignored == {}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_frames(make: Any) -> None:
    query, doc, grade = (list(column) for column in zip(*ROWS, strict=True))
    table = read_judgments(make({"q": query, "doc": doc, "label": grade}), columns={"query": "q", "grade": "label"})
    assert table.frame.rows() == ROWS
    assert read_judgments({"q1": {"a": 2, "b": 0}, "02": {"a": -1.5}}).frame.rows() == ROWS
    assert read_judgments(table) is table


def test_repeats_with_one_grade_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("q 0 a 1\n\nq 0 b 0\nq 1 a 1.0\nq 2 a 1\n")
    table = read_judgments(path)
    assert table.frame.rows() == [("q", "a", 1.0), ("q", "b", 0.0)]
    assert table.ignored == {"blank lines": 1, "repeated judgments": 2}


def test_trec_fair_queries(tmp_path: Path) -> None:
    path = tmp_path / "queries.json"
    path.write_text(
        '{"qid": 3, "query": "x", "documents": [{"doc_id": "a", "relevance": 1}, {"doc_id": "b", "relevance": 0}]}\n'
        '{"qid": 4, "documents": [{"doc_id": "a"}, {"doc_id": "c", "relevance": 2}]}\n{"qid": 5, "documents": []}\n'
    )
    table = read_judgments(path)
    assert table.frame.rows() == [("3", "a", 1.0), ("3", "b", 0.0), ("4", "c", 2.0)]
    assert table.candidates is not None
    assert table.candidates.rows() == [("3", "a"), ("3", "b"), ("4", "a"), ("4", "c")]
    assert table.notes == ("candidates: 4 documents of 2 queries, 3 of them judged",)
    assert table.ignored == {"queries without documents": 1}


def test_labels_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,sample,doc,score,label\nq,1,a,2,1\nq,1,b,1,\nq,2,a,1,1\nq,2,b,2,\n")
    table = judgments_from_columns(read_run(path), "label")
    assert table.frame.rows() == [("q", "a", 1.0)]
    assert table.ignored == {"repeated judgments": 2, "rows without a grade": 1}
    frame = pd.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [1, 2], "label": [True, False]})
    assert judgments_from_columns(read_run(frame), "label").frame["grade"].to_list() == [1.0, 0.0]
    frame["label"] = [0.5, float("nan")]
    assert judgments_from_columns(read_run(frame), "label").frame.rows() == [("q", "a", 0.5)]
