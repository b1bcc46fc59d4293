"""Names of attributes, our names for columns, names of runs, and where rows stand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lightmeter.errors import InputError
from lightmeter.io.groups import attribute_names, read_groups
from lightmeter.io.judgments import read_judgments
from lightmeter.io.runs import read_run, read_runs
from lightmeter.io.sources import one_file
from lightmeter.io.tables import Source
from lightmeter.io.tabular import ColumnMap, check_columns, read_named

WIDE = "doc,gender,age\na,f,17\nb,m,40\n"
LONG = "doc,attribute,value\na,topic,x\na,gender,f\nb,topic,y\n"
COLUMNS: dict[str, list[Any]] = {"query": ["q", "q"], "doc": ["a", "b"], "score": [2.0, 1.0]}


def test_attribute_names(tmp_path: Path) -> None:
    wide, long, item = tmp_path / "w.csv", tmp_path / "l.csv", tmp_path / "i.jsonl"
    wide.write_text(WIDE)
    long.write_text(LONG)
    item.write_text('{"item": "a", "size": 3}\n{"item": "b", "shop": "s"}\n')
    pl.DataFrame({"doc": ["a"], "query": ["q"], "p": ["x"]}).write_parquet(tmp_path / "p.parquet")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.csv").write_text(LONG)
    (tmp_path / "parts" / "1.csv").write_text(LONG.replace("topic", "more"))
    assert attribute_names(wide) == ["gender", "age"]
    assert attribute_names(str(long)) == ["topic", "gender"]
    assert attribute_names(tmp_path / "p.parquet") == ["p"]
    assert attribute_names(tmp_path / "parts") == ["topic", "gender", "more"]
    assert attribute_names([f"x={wide}", f"y={tmp_path / 'none'}:gains", wide]) == ["x", "y", "gender", "age"]
    assert attribute_names(item, columns={"doc": "item"}) == ["size", "shop"]
    assert attribute_names(pd.DataFrame({"doc": ["a"], "g": ["x"]})) == ["g"]
    assert attribute_names(pl.DataFrame({"doc": ["a"], "attribute": ["g"], "value": ["x"]})) == ["g"]
    assert attribute_names({"g": {"a": "x"}, "h": {"b": "y"}}) == ["g", "h"]
    assert attribute_names(read_groups(long)) == ["topic", "gender"]
    with pytest.raises(InputError, match="need a name"):
        attribute_names(str(tmp_path / "x.gmemb"))


def test_names_that_are_nowhere(tmp_path: Path) -> None:
    wide, long = tmp_path / "w.csv", tmp_path / "l.csv"
    wide.write_text(WIDE.replace("age", "age,none").replace("17", "17,").replace("40", "40,"))
    long.write_text(LONG)
    real = "the attributes are 'gender', 'age', 'none'"
    with pytest.raises(InputError, match=rf"no attribute 'gendre'; {real}.*Did you mean 'gender'\?"):
        read_groups(wide, only=["gendre"])
    with pytest.raises(InputError, match=rf"w.csv: --bins names 'aeg', but {real}.*Did you mean 'age'\?"):
        read_groups(wide, only=["gender"], bins={"aeg": [0, 18]})
    with pytest.raises(InputError, match="'topc', but the attributes are 'topic', 'gender'"):
        read_groups(long, only=["gender"], ordinal={"topc": ["x", "y"]})
    with pytest.raises(InputError, match="none"):
        read_groups(wide, only=["none"])
    assert [t.name for t in read_groups(wide, only=["gender"], bins={"age": [0, 18]})] == ["gender"]
    assert [t.name for t in read_groups(long, only=["gender"], ordinal={"topic": ["x", "y"]})] == ["gender"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"quer": "qid"}, "'quer' is none of our columns.*Did you mean query=qid"),
        ({"foo": "bar"}, r"'foo' is none of our columns.*probability, clicked\.$"),
        ({"qid": "query"}, r"Did you mean query=qid\?"),
        ({"doc": ""}, "names no column"),
    ],
)
def test_wrong_columns(columns: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_columns(columns)


def test_columns_that_no_table_has(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("qid,doc,p\nq,a,1\n")
    columns = check_columns({"query": "qid", "score": "p", "grade": "lable", "doc": "item"})
    assert isinstance(columns, ColumnMap)
    read_run(path, columns=columns)
    assert columns.unused() == {"grade": "lable", "doc": "item"}
    read_judgments(pl.DataFrame({"qid": ["q"], "item": ["a"], "grade": [1]}), columns=columns)
    assert columns.unused() == {"grade": "lable"}
    assert check_columns(None) == {}


TREC = "q Q0 a 1 2.5 t\nq Q0 b 2 1.5 t\n"


@pytest.mark.parametrize("name", ["run.gz", "run.zst", "run.bz2", "run.lz4", "run.br", "run.csv.gz"])
def test_the_content_tells_compression_not_the_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for text in (TREC, "query,doc,score\nq,a,2.5\nq,b,1.5\n"):
        for data in (text.encode(), gzip.compress(text.encode()), pa.compress(text.encode(), "zstd", asbytes=True)):
            path.write_bytes(data)
            assert read_run(path).score.tolist() == [2.5, 1.5]


def test_a_row_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(TREC)
    (tmp_path / "b").write_text("\n" + TREC)
    source = read_run(tmp_path).source
    assert [source.elsewhere(r, than=t) for r, t in ((1, 0), (2, 3), (0, 3))] == ["line 2", "line 2", f"{tmp_path}/a:1"]
    assert Source("frame").elsewhere(4, than=5) == "row 4"
    (tmp_path / "a").write_text("query,doc,grade\nq,a,1\n")
    (tmp_path / "b").write_text("query,doc,grade\nq,a,2\n")
    with pytest.raises(InputError, match=rf"b:2: query 'q', doc 'a' has grade 2 here and 1 at {tmp_path}/a:2"):
        read_judgments(tmp_path)


def test_weights_without_samples_are_told() -> None:
    run = read_run(pl.DataFrame({**COLUMNS, "weight": [1, -2]}))
    assert run.weight is None
    assert run.extra is not None
    assert run.extra["weight"].to_list() == [1, -2]
    assert run.notes == ("column 'weight' is not used: weights are of samples, and there is no column sample",)
    run = read_run(pl.DataFrame({**COLUMNS, "w": [1, 1], "sample": ["s", "s"]}), columns={"weight": "w"})
    assert run.weight is not None
    assert (run.weight.tolist(), run.notes) == ([1.0, 1.0], ())


def test_one_name_for_several_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("run,query,doc,score\nA,q,a,1\nB,q,a,2\n")
    for source in (f"x={path}", {"x": path}, {"x": pl.read_csv(path)}):
        with pytest.raises(InputError, match=r"the table has 2 runs \('A', 'B'\), and the name 'x'.*Leave out x="):
            read_runs(source)


def test_named_tables_count_repeats(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("query,topic,kind\nq,x,1\n\nq,x,1\np,y,1\n")
    ignored = {"repeated rows": 1}
    frame, _ = read_named(path, ["query"], text=["topic", "kind"], ignored=ignored)
    assert frame.rows() == [("q", "x", "1"), ("p", "y", "1")]
    assert ignored == {"repeated rows": 2, "blank lines": 1}
    path.write_text("query,topic,kind\nq,x,1\nq,z,1\n")
    with pytest.raises(InputError, match=r"q.csv:3: query 'q' has topic 'z' here and 'x' at line 2"):
        read_named(path, ["query"], text=["topic", "kind"])


def test_suggestions_are_near_names_in_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    with pytest.raises(InputError, match=r"qrel.txt: no such file or folder for the judgments.*Did you mean 'qrels"):
        read_judgments(tmp_path / "qrel.txt")
    for name in ("NOFILE", "rel", "d.txt"):
        with pytest.raises(InputError) as caught:
            one_file(tmp_path / name)
        assert "mean" not in str(caught.value)
    with pytest.raises(InputError, match=r"data: a folder or pattern cannot be read here for the topics|has no files"):
        one_file(tmp_path / "data", "topics")
