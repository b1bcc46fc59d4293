"""Runs in every form give the same rows."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lightmeter.errors import InputError
from lightmeter.io.runs import read_run, read_runs
from lightmeter.io.sources import split_name
from lightmeter.io.tables import RunTable

TREC = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\n02 Q0 a 1 9 t\n"
COLUMNS: dict[str, list[Any]] = {"query": ["q1", "q1", "02"], "doc": ["a", "b", "a"], "score": [2.5, 1.5, 9.0]}
CSV = "query,doc,score\nq1,a,2.5\nq1,b,1.5\n02,a,9\n"
JSONL = """{"query": "q1", "doc": "a", "score": 2.5}
{"query": "q1", "doc": "b", "score": 1.5}
{"query": "02", "doc": "a", "score": 9}
"""


def check(run: RunTable) -> None:
    assert run.queries == ["q1", "02"]
    assert run.query.dtype == np.int32
    assert run.query.tolist() == [0, 0, 1]
    assert run.doc.dtype == pl.String
    assert run.doc.to_list() == ["a", "b", "a"]
    assert run.score.dtype == np.float64
    assert run.score.tolist() == [2.5, 1.5, 9.0]
    assert (run.by_rank, run.sample, run.weight) == (False, None, None)


def zstd(text: str) -> bytes:
    return bytes(pa.compress(text.encode(), codec="zstd", asbytes=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run", TREC.encode()),
        ("run.txt", TREC.replace(" ", "\t").encode()),
        ("run.tsv", TREC.replace(" ", "\t").encode()),
        ("run.txt", TREC.replace(" ", "  \t").encode()),
        ("run.txt", b"\xef\xbb\xbf" + TREC.replace("\n", "\r\n").encode()),
        ("run.txt", b"<SYSDESC>what it is</SYSDESC>\n\n" + TREC.encode()),
        ("run.txt", TREC.replace(" t\n", "\n").encode()),
        ("run.gz", gzip.compress(TREC.encode(), mtime=0)),
        ("run", gzip.compress(TREC[:20].encode(), mtime=0) + gzip.compress(TREC[20:].encode(), mtime=0)),
        ("run.zst", zstd(TREC)),
        ("run.csv", CSV.encode()),
        ("run.csv", b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode()),
        ("run.txt", CSV.replace(",", ";").encode()),
        ("run.csv", CSV.replace(",", ";").encode()),
        ("run.csv", CSV.replace(",", "\t").encode()),
        ("run.tsv.gz", gzip.compress(CSV.replace(",", "\t").encode(), mtime=0)),
        ("run.csv", CSV.replace(",", " , ").encode()),
        ("run.csv", CSV.replace("q1", '"q1"').encode()),
        ("run.jsonl", JSONL.encode()),
        ("run", JSONL.encode()),
        ("run.ndjson.zst", zstd(JSONL)),
    ],
)
def test_files(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for source in (str(path), path):
        run = read_run(source)
        check(run)
        assert run.name == run.source.name == str(path)
        assert run.source.files == (str(path),)
    assert read_run(f"mine={path}").name == "mine"
    assert read_run(path, name="other").name == "other"


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).lazy(),
        pl.DataFrame(COLUMNS).with_columns(pl.col("query").cast(pl.Categorical), pl.col("score").cast(pl.Float32)),
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype({"query": "category"}),
        pa.table(COLUMNS),
        {"q1": {"a": 2.5, "b": 1.5}, "02": {"a": 9}},
    ],
    ids=range(7),
)
def test_frames_and_dictionaries(frame: Any) -> None:
    check(read_run(frame, name="mine"))
    assert read_run(frame, name="mine").name == "mine"


def test_parquet(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_parquet(tmp_path / "run.parquet")
    check(read_run(tmp_path / "run.parquet"))


def test_ids_of_whole_numbers_become_decimal_text() -> None:
    run = read_run(pd.DataFrame({"query": [7, 7], "doc": [10, 2**62], "score": [1, 2]}))
    assert run.queries == ["7"]
    assert run.doc.to_list() == ["10", str(2**62)]


def test_the_input_is_not_changed() -> None:
    frame = pd.DataFrame({**COLUMNS, "g": ["", "x", None]})
    before = frame.copy(deep=True)
    read_run(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_ranks_and_lists() -> None:
    for source in (pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 2]}), {"q": ["a", "b"]}):
        run = read_run(source)
        assert run.by_rank
        assert run.score.tolist() == [-1.0, -2.0]


def test_score_wins_over_rank_and_other_columns_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("qid,item,rank,score,gender,weight,sample,,\nq,a,1,0.5,f,2,s1,x,\nq,b,2,0.4,,3,s2,,\n")
    run = read_run(path, columns={"query": "qid", "doc": "item", "grade": "absent"})
    assert run.score.tolist() == [0.5, 0.4]
    assert run.extra is not None
    assert run.extra.to_dict(as_series=False) == {"rank": ["1", "2"], "gender": ["f", None]}
    assert run.weight is not None
    assert run.weight.tolist() == [2.0, 3.0]
    assert run.sample is not None
    assert run.sample.to_list() == ["s1", "s2"]
    assert run.ignored == {"columns without a name": 2}


def test_column_two_is_the_sample_only_when_a_query_has_several(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q1 1 a 1 2 t\nq1 2 a 1 2 t\nq2 1 a 1 2 t\n")
    run = read_run(path)
    assert run.sample is not None
    assert run.sample.to_list() == ["1", "2", "1"]
    assert run.notes == ("column 2 read as sample ids: 2 samples for 2 queries",)
    path.write_text("q1 1 a 1 2 t\nq1 1 b 1 2 t\nq2 2 a 1 2 t\n")
    assert read_run(path).sample is None
    assert read_run(path).notes == ()


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("<SYSDESC>one\nsystem</SYSDESC>\n\n" + TREC + "  \n\n")
    assert read_run(path).ignored == {"SYSDESC lines": 2, "blank lines": 3}
    path = tmp_path / "run.csv"
    path.write_text("query,doc,score\n\nq1, a,1\n\n\n")
    assert read_run(path).ignored == {"blank lines": 3, "blanks around cells": 1}
    path.write_text('query,doc,score\n\nq1,"a",1\n\n\n')
    assert read_run(path).ignored == {"blank lines": 3}


@pytest.mark.parametrize("how", ["folder", "pattern"])
@pytest.mark.parametrize("suffix", ["", ".csv"])
def test_part_files_are_one_run(tmp_path: Path, how: str, suffix: str) -> None:
    folder = tmp_path / "out"
    (folder / "inner").mkdir(parents=True)
    (folder / "_SUCCESS").write_text("")
    (folder / f"part-1{suffix}").write_text(TREC if not suffix else CSV)
    (folder / f"part-0{suffix}").write_text("02 0 z 1 1 t\n" if not suffix else "score,doc,query\n1,z,02\n")
    source = str(folder) if how == "folder" else str(folder / "part-*")
    run = read_run(source)
    assert run.name == source
    assert run.queries == ["02", "q1"]
    assert run.query.tolist() == [0, 1, 1, 0]
    assert run.doc.to_list() == ["z", "a", "b", "a"]
    assert [os.path.basename(f) for f in run.source.files] == [f"part-0{suffix}", f"part-1{suffix}"]
    first = 2 if suffix else 1
    assert run.source.place(0) == {"where": run.source.files[0], "line": first}
    assert run.source.place(2) == {"where": run.source.files[1], "line": first + 1}
    assert run.ignored == ({"hidden files": 1, "folders inside": 1} if how == "folder" else {})


def test_several_runs_in_one_table_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("run,query,doc,score\nA,q,a,1\nB,q,a,2\nA,q,b,3\n")
    runs = read_runs(path)
    assert [(r.name, r.doc.to_list(), r.score.tolist()) for r in runs] == [("A", ["a", "b"], [1, 3]), ("B", ["a"], [2])]
    assert runs[0].source.place(1) == {"where": str(path), "line": 4}
    with pytest.raises(InputError, match="read_runs"):
        read_run(path)
    named = read_runs({"x": {"q": {"a": 1.0}}, "y": {"q": ["a", "b"]}, "z": pl.DataFrame(COLUMNS)})
    assert [r.name for r in named] == ["x", "y", "z"]
    path.write_text("run,query,doc,score\nA,q,a,1\n")
    assert [read_run(path).name, read_run(f"B={path}").name] == ["A", "B"]


def test_names_and_paths_with_an_equals_sign(tmp_path: Path) -> None:
    odd = tmp_path / "p=1.txt"
    odd.write_text(TREC)
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        assert split_name("p=1.txt") == (None, "p=1.txt")
        assert split_name("p=*.txt") == (None, "p=*.txt")
        assert split_name("x=p=1.txt") == ("x", "p=1.txt")
    finally:
        os.chdir(here)
    assert split_name(str(odd)) == (None, str(odd))
    assert split_name("a=b") == ("a", "b")
    assert split_name("=b") == (None, "=b")


def test_quoted_cells_with_line_feeds_across_a_block(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    rows = 120_000
    path.write_text(
        "query,doc,score,note\n"
        + "".join(f'q,d{i},{i},"a note\nof ""two"" lines, and a bit to fill the block up {i}"\n' for i in range(rows))
    )
    run = read_run(path)
    assert len(run.doc) == rows
    assert run.extra is not None
    assert run.extra["note"][7] == 'a note\nof "two" lines, and a bit to fill the block up 7'
    assert run.source.place(rows - 1)["line"] == 2 * rows
