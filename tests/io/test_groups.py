"""Groups in every form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from lightmeter.io.groups import attributes_from_columns, read_groups
from lightmeter.io.runs import read_run
from lightmeter.io.tables import AttributeTable


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def members(table: AttributeTable) -> dict[Any, dict[str, float]]:
    """{doc or (query, doc): {value: weight}}, after a check of the columns."""
    expected = {"doc": pl.String, "value": pl.Int32, "weight": pl.Float64}
    assert table.frame.schema == pl.Schema(expected | ({"query": pl.String} if "query" in table.frame.columns else {}))
    found: dict[Any, dict[str, float]] = {}
    for row in table.frame.iter_rows(named=True):
        key = (row["query"], row["doc"]) if "query" in row else row["doc"]
        found.setdefault(key, {})[table.values[row["value"]]] = row["weight"]
    return found


def test_wide(tmp_path: Path) -> None:
    path = write(
        tmp_path / "g.csv", "\ufeff,doc,gender,topic,code,none,\n0,a,f,x|y,1,,\n1,b,m,x,0,,\n2,c,,,1,,\n3,a,f,x|y,1,,\n"
    )
    gender, topic, code = read_groups(path)
    assert members(gender) == {"a": {"f": 1.0}, "b": {"m": 1.0}}
    assert (gender.name, gender.kind, gender.ordinal, gender.values) == ("gender", "hard", False, ("f", "m"))
    assert members(topic) == {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.0}}
    assert topic.kind == "multi"
    assert members(code) == {"a": {"1": 1.0}, "b": {"0": 1.0}, "c": {"1": 1.0}}
    assert gender.ignored == {"columns without a name": 2, "columns without values": 1, "repeated documents": 1}
    assert topic.ignored == {"repeated documents": 1}


def test_picking_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "g.csv", "doc,gender,age\na,f,17.5\nb,m,40\n")
    assert [t.name for t in read_groups(path, only=["gender"])] == ["gender"]
    assert [t.name for t in read_groups(f"gender={path}")] == ["gender"]
    single = write(tmp_path / "h.csv", "doc,sex\na,f\n")
    assert [t.name for t in read_groups([f"gender={single}", f"sex={single}"])] == ["gender", "sex"]


@pytest.mark.parametrize(
    ("cells", "edges", "values", "found"),
    [
        (["0", "1", "10", "11", "500", ""], [0, 1, 11, 101], ("0", "1-10", "11-100", "101+"), [0, 1, 1, 2, 3]),
        (["0.5", "1", "-0.5", "2", "99"], [-1, 0.5, 2], ("[-1, 0.5)", "[0.5, 2)", "[2, inf)"), [1, 1, 0, 2, 2]),
        (["1500000", "20"], [0, 1000000], ("0-999999", "1000000+"), [1, 0]),
    ],
)
def test_bins(tmp_path: Path, cells: list[str], edges: list[float], values: tuple[str, ...], found: list[int]) -> None:
    path = write(tmp_path / "g.csv", "doc,n\n" + "".join(f"d{i},{cell}\n" for i, cell in enumerate(cells)))
    (table,) = read_groups(path, bins={"n": edges})
    assert (table.kind, table.ordinal, table.values) == ("hard", True, values)
    assert table.frame["value"].to_list() == found
    numbers = [float(c) if c else None for c in cells]
    (again,) = read_groups(pd.DataFrame({"doc": [f"d{i}" for i in range(len(cells))], "n": numbers}), bins={"n": edges})
    assert again.frame.equals(table.frame)
    assert again.values == values


def test_order(tmp_path: Path) -> None:
    path = write(tmp_path / "g.csv", "doc,level,shop\na,high,10\nb,low,9\nc,low|mid,02\n")
    level, shop = read_groups(path, ordinal={"level": ["low", "mid", "high", "top"]})
    assert (level.ordinal, level.values) == (True, ("low", "mid", "high", "top"))
    assert members(level) == {"a": {"high": 1.0}, "b": {"low": 1.0}, "c": {"low": 1.0, "mid": 1.0}}
    assert (shop.ordinal, shop.values) == (False, ("02", "9", "10"))


def test_long(tmp_path: Path) -> None:
    path = write(
        tmp_path / "g.csv",
        "doc,attribute,value,weight\na,gender,f,\nb,gender,m,\nb,gender,m,\na,topic,x,\na,topic,y,\n"
        "a,origin,eu,0.3334\na,origin,us,0.3333\na,origin,as,0.3333\nb,origin,eu,1\nb,origin,us,0\na,hard,u,1\n",
    )
    gender, topic, origin, hard = read_groups(path)
    assert (gender.kind, topic.kind, origin.kind, hard.kind) == ("hard", "multi", "soft", "hard")
    assert gender.ignored == {"repeated memberships": 1}
    assert members(topic) == {"a": {"x": 1.0, "y": 1.0}}
    assert members(origin) == {"a": {"eu": 0.3334, "us": 0.3333, "as": 0.3333}, "b": {"eu": 1.0}}
    assert origin.values == ("as", "eu", "us")


def test_long_by_query_and_numbers_as_names(tmp_path: Path) -> None:
    rows = "".join(f"q,d{i},shop,{i}\n" for i in range(30))
    path = write(tmp_path / "g.csv", "query,doc,attribute,value\n" + rows + "p,d0,shop,7\n")
    (shop,) = read_groups(path)
    assert len(shop.values) == 30
    assert shop.values[:3] == ("0", "1", "2")
    assert members(shop)[("p", "d0")] == {"7": 1.0}
    (binned,) = read_groups(path, bins={"shop": [0, 10]})
    assert binned.values == ("0-9", "10+")


def test_bias_scores(tmp_path: Path) -> None:
    path = write(tmp_path / "g.csv", "doc,left,x\na,-1,u\nb,0.5,v\nc,,u\nd,0,u\n")
    wanted = {
        "a": {"negative": 1.0},
        "b": {"negative": 0.25, "positive": 0.75},
        "d": {"negative": 0.5, "positive": 0.5},
    }
    left, _ = read_groups(path, bias=["left"])
    assert members(left) == wanted
    assert (left.kind, left.values) == ("soft", ("negative", "positive"))
    (again,) = read_groups(f"left={path}:bias")
    assert members(again) == wanted


def test_gmemb(tmp_path: Path) -> None:
    path = write(tmp_path / "x.gmemb", "P1 a 1 0 0\nP1 b 0.333333 0.333333 0.333333\n\nP1 a 1 0 0\n")
    (table,) = read_groups(f"g={path}")
    third = 0.333333
    assert members(table) == {("P1", "a"): {"1": 1.0}, ("P1", "b"): {"1": third, "2": third, "3": third}}
    assert (table.name, table.kind, table.ordinal, table.values) == ("g", "soft", True, ("1", "2", "3"))
    assert table.ignored == {"blank lines": 1, "repeated documents": 1}


def test_annotations(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "d1,Adv,Adv,Dev\r\nd2,Dev\nd3\nd4,\n\n")
    (table,) = read_groups(f"level={path}:annotations", ordinal={"level": ["Dev", "Adv"]})
    assert members(table) == {"d1": {"Adv": 1.0, "Dev": 1.0}, "d2": {"Dev": 1.0}}
    assert (table.kind, table.ordinal, table.values) == ("multi", True, ("Dev", "Adv"))
    assert table.ignored == {"repeated values of a document": 1, "blank lines": 1}
    assert table.notes == ("2 documents have no annotation: unknown",)


def test_gains_become_shares(tmp_path: Path) -> None:
    path = write(tmp_path / "g.txt", "q 1 a 3\nq 2 a 1\nq 3 a 0\nq 1 b 0\nq 2 b 0\n")
    (table,) = read_groups(f"intent={path}:gains")
    assert members(table) == {("q", "a"): {"1": 3 / 4, "2": 1 / 4}}
    assert (table.kind, table.values) == ("soft", ("1", "2", "3"))
    assert table.notes == ("1 documents have no gain for any intent: unknown",)


def test_a_path_with_a_colon_is_a_path(tmp_path: Path) -> None:
    path = write(tmp_path / "g:bias", "doc,x\na,u\n")
    assert [t.values for t in read_groups(f"x={path}")] == [("u",)]


def test_columns_of_a_log(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "query,doc,score,gender,seen,age\nq,a,1,f,y,20\nq,b,2,m,n,31\np,a,3,f,n,20\n")
    gender, seen, age = attributes_from_columns(read_run(path), ["gender", "seen", "age"], bins={"age": [0, 30]})
    assert members(gender) == {"a": {"f": 1.0}, "b": {"m": 1.0}}
    assert gender.ignored == {}
    assert members(seen) == {("q", "a"): {"y": 1.0}, ("q", "b"): {"n": 1.0}, ("p", "a"): {"n": 1.0}}
    assert members(age) == {"a": {"0-29": 1.0}, "b": {"30+": 1.0}}


def test_frames_of_several_types() -> None:
    frame = pl.DataFrame(
        {
            "doc": [1, 2, 3],
            "flag": [True, False, None],
            "many": [[1, 2], [1], []],
            "c": [1.0, None, float("nan")],
        }
    )
    flag, many, code = read_groups(frame)
    assert members(flag) == {"1": {"true": 1.0}, "2": {"false": 1.0}}
    assert members(many) == {"1": {"1": 1.0, "2": 1.0}, "2": {"1": 1.0}}
    assert members(code) == {"1": {"1": 1.0}}
