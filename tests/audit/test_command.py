"""``lightmeter audit``: the contract of the command line, and what it refuses."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.cli import main

KEYS = ["measure", "cutoff", "attribute", "group", "reference", "score", "value", "low", "high", "n", "reason"]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    n = 300
    sex = rng.choice(["f", "m"], n)
    frame = pl.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "p": rng.random(n) + 0.2 * (sex == "m"),
            "p2": rng.random(n),
            "sex": sex,
            "race": rng.choice(["x", "y", "z"], n),
            "hired": rng.integers(0, 2, n),
            "list": rng.choice(["l1", "l2"], n),
            "age": rng.integers(18, 80, n),
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    frame.write_ndjson(tmp_path / "people.jsonl")
    frame.write_csv(tmp_path / "people.tsv", separator="\t")
    text = frame.write_csv()
    (tmp_path / "odd.csv").write_bytes(b"\xef\xbb\xbf" + "\n".join(
        [("," + text.splitlines()[0] + ",,"), *(f"{i},{line},," for i, line in enumerate(text.splitlines()[1:]))]
    ).encode())  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIGHTMETER_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def run(folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    def command(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        given = ["audit", *arguments]
        monkeypatch.setattr(sys, "argv", ["lightmeter", *given])
        code = main(given)
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return command


BASE = ("people.csv", "--score", "p", "--group", "sex", "--resamples", "20")


def test_json_lines_are_the_contract(run: Command):
    code, out, err = run(*BASE, "--group", "race", "--label", "hired", "-k", "50", "-k", "100", "-f", "jsonl")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert all(list(r) == KEYS for r in rows)
    assert {r["cutoff"] for r in rows} == {None, 50, 100}
    assert [r["attribute"] for r in rows] == sorted((r["attribute"] for r in rows), key=["sex", "race"].index)
    names = {r["measure"] for r in rows}
    for measure in (
        *("count", "share", "pool_share", "mean_score", "exposure", "exposure_ratio", "exposure_gap"),
        *("exposure_per_merit_ratio", "selection_rate", "selection_rate_ratio", "fisher_p", "fisher_p_holm", "skew"),
        *("ndkl", "fa_ir_p", "above_median", "above_median_gap", "selection_rate_gap"),
    ):
        assert measure in names
    assert "NaN" not in out
    assert "Infinity" not in out
    for rule in (
        "ties: file",
        "cutoffs: 50, 100; the whole list",
        "reference: sex",
        "intervals: 95% normal bootstrap intervals, resampled within groups (20 resamples)",
    ):
        assert rule in err
    assert "Fisher tests" in err


@pytest.mark.parametrize("name", ["people.csv", "people.tsv", "people.parquet", "people.jsonl", "odd.csv"])
def test_every_format_of_table_reads_the_same(run: Command, name: str):
    code, out, err = run(name, *BASE[1:], "-k", "30", "-f", "jsonl")
    assert code == 0, err
    assert out == run(*BASE, "-k", "30", "-f", "jsonl")[1]
    assert ("columns without a name: 3" in err) == (name == "odd.csv")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_every_kind_of_frame_reads_the_same(folder: Path, kind: str):
    frame = pl.read_csv("people.csv")
    made: Any = {
        "pandas": lambda: __import__("pandas").read_csv("people.csv"),
        "polars": lambda: frame,
        "arrow": frame.to_arrow,
        "dict": lambda: frame.to_dict(as_series=False),
    }[kind]()
    options: dict[str, Any] = {"score": "p", "group": ["sex", "race"], "label": "hired", "cutoffs": 40, "resamples": 10}
    result = lm.audit(made, **options)
    assert result.rows.equals(lm.audit("people.csv", **options).rows)
    assert result.table() is result.rows
    assert list(result.to_pandas().columns) == KEYS


@pytest.mark.parametrize("form", ["table", "csv", "jsonl", "parquet", "latex", "markdown"])
def test_every_format_of_output(run: Command, folder: Path, form: str):
    file = folder / "out"
    code, _, err = run(*BASE, "-k", "30", "-f", form, "-o", str(file), "--manifest", "m.json")
    assert code == 0, err
    content = file.read_bytes()
    if form == "parquet":
        assert pl.read_parquet(file).columns == KEYS
    elif form == "csv":
        assert pl.read_csv(io.BytesIO(content)).columns == KEYS
    else:
        assert b"exposure" in content
    if form == "latex":
        assert content.count(b"\\begin{tabular}") == content.count(b"\\end{tabular}") == 1
        assert b"\\toprule" in content
        widths = {line.count(b" & ") for line in content.splitlines() if line.endswith(b"\\\\")}
        assert len(widths) == 1
    if form == "markdown":
        widths = {line.count(b"|") for line in content.splitlines() if line.startswith(b"|")}
        assert len(widths) == 1
    made = json.loads((folder / "m.json").read_text())
    assert made["rows"] == 300
    assert made["conventions"]["cutoffs"] == "30; the whole list"
    assert made["files"][0]["path"] == "people.csv"
    assert len(made["files"][0]["sha256"]) == 64
    assert made["command"].startswith("lightmeter audit people.csv")


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_many_groups_are_several_tables(run: Command, folder: Path, form: str):
    pl.DataFrame({"p": range(640), "g": [f"g{i % 16:02d}" for i in range(640)]}).write_csv(folder / "many.csv")
    code, out, err = run("many.csv", "--score", "p", "--group", "g", "--resamples", "0", "-f", form)
    assert code == 0, err
    heads = [line for line in out.splitlines() if "measure" in line and ("top &" in line or "| top" in line)]
    shown = [re.findall(r"g\d\d|all groups", head) for head in heads]
    assert [len(s) for s in shown] == [6, 5, 6]
    assert [g for s in shown for g in s] == [*dict.fromkeys(g for s in shown for g in s)]
    assert {g for s in shown for g in s} == {*(f"g{i:02d}" for i in range(16)), "all groups"}
    assert "g, part 1 of 3" in out


def test_several_scores_side_by_side(run: Command):
    code, out, _ = run(*BASE, "--score", "p2", "-k", "30", "--primary-cutoff", "30")
    assert code == 0
    head = out.splitlines()[1]
    assert "(p)" in head
    assert "(p2)" in head
    assert "primary cutoff: 30, chosen before the data were seen" in out


def test_several_queries(run: Command):
    code, out, _ = run(*BASE, "--query", "list", "-k", "10", "--per-query", "-f", "jsonl", "--min-cell", "1")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert list(rows[0]) == ["query", *KEYS]
    assert {r["query"] for r in rows} == {None, "l1", "l2"}
    top = {(r["query"], r["group"]): r["value"] for r in rows if r["measure"] == "count" and r["cutoff"] == 10}
    for group in "fm":
        assert top[None, group] == top["l1", group] + top["l2", group]
    assert sum(top["l1", g] for g in "fm") == 10


def test_the_curve_is_written(run: Command, folder: Path):
    code, _, err = run(*BASE, "-k", "30", "--curve", "curve.csv")
    assert code == 0, err
    curve = pl.read_csv(folder / "curve.csv")
    assert {"share", "exposure_ratio"} == set(curve["measure"])
    assert curve["cutoff"].max() == 300


def test_bins_and_references(run: Command):
    groups = ["--group", "age", "--bins", "age=18,40,60", "--group", "sex"]
    named = ["--reference", "sex=f", "--reference", "age=40-59"]
    code, out, err = run("people.csv", "--score", "p", *groups, *named, "--resamples", "0", "-f", "jsonl")
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert {r["reference"] for r in rows if r["measure"] == "exposure_ratio"} == {"f", "40-59"}


WRONG = {
    "resamples": ([*BASE[:-2], "--resamples", "1000001"], "a whole number from 0 to 1,000,000"),
    "no score": (["people.csv", "--group", "sex"], "no --score is given"),
    "no group": (["people.csv", "--score", "p"], "no --group is given"),
    "no such score": (["people.csv", "--score", "P", "--group", "sex"], "no column 'P' for the score"),
    "no such group": (["people.csv", "--score", "p", "--group", "gender"], "no column 'gender' for the group"),
    "no such label": ([*BASE, "--label", "hire"], "Did you mean 'hired'?"),
    "no such file": (["peple.csv", "--score", "p", "--group", "sex"], "no such file"),
    "score of text": (["people.csv", "--score", "sex", "--group", "sex"], "is not a finite number"),
    "label of text": ([*BASE, "--label", "race"], "the label"),
    "cutoff too large": ([*BASE, "-k", "301"], "cutoff 301: the table has 300 rows"),
    "cutoff 0": ([*BASE, "-k", "0"], "--cutoff is '0'"),
    "cutoff of text": ([*BASE, "-k", "ten"], "--cutoff is 'ten'"),
    "no such reference": ([*BASE, "--reference", "x"], "reference 'x' is no value of any group"),
    "reference of another": ([*BASE, "--reference", "sex=x"], "is no value of sex"),
    "two bare references": ([*BASE, "--reference", "f", "--reference", "m"], "each names its group"),
    "user by document": ([*BASE, "--user", "Cascade(p=0.5, u=0.5)"], "a table of people has none"),
    "no such user": ([*BASE, "--user", "DGC"], "DGC"),
    "ties": ([*BASE, "--ties", "docno"], "--ties is 'docno'"),
    "preset": ([*BASE, "--preset", "ll14"], "--preset is 'll14'"),
    "preset by query": ([*BASE, "--preset", "ll144", "--per-query"], "has no rows per query"),
    "seed": ([*BASE, "--rng", "-1"], "--rng is '-1'"),
    "inferred": ([*BASE, "--inferred", "race"], "inferred: 'race' is not an audited group"),
    "quantity": (["people.csv", "--score", "p", "--group", "age"], "--bins age="),
    "bins of no group": ([*BASE, "--bins", "age=0,40"], "bins are given for 'age'"),
    "min cell": ([*BASE, "--min-cell", "0"], "--min-cell is '0'"),
    "level": ([*BASE, "--level", "95"], "--level is '95'"),
    "threshold": ([*BASE, "--threshold", "high"], "--threshold is 'high'"),
    "format": ([*BASE, "-f", "html"], "--format is 'html'"),
    "parquet to nowhere": ([*BASE, "-f", "parquet"], "needs a file"),
    "over the input": ([*BASE, "-o", "people.csv"], "this is an input"),
    "curve without a format": ([*BASE, "--curve", "curve"], "the name says no format"),
    "one name for two": ([*BASE, "-o", "x.csv", "--curve", "x.csv"], "are both x.csv"),
    "empty": ([*BASE, "--label", ""], "--label is an empty text"),
    "empty part": (["people.csv", "--score", "p", "--group", "sex,"], "empty or repeated part"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(run: Command, folder: Path, case: str):
    arguments, message = WRONG[case]
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    code, out, err = run(*arguments)
    assert code == 2, err
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


TABLES = {
    "NaN": ("p,g\n1,a\nnan,b\n", [], "bad.csv:3, column 'p'"),
    "missing": ("p,g\n1,a\n,b\n", [], "the score is missing"),
    "infinite": ("p,g\n1,a\ninf,b\n", [], "is not a finite number"),
    "nothing known": ("p,g\n1,\n2,unknown\n", [], "the group of every row is unknown"),
    "header only": ("p,g\n", [], "no rows"),
    "empty file": ("", [], "bad.csv"),
    "a name twice": ("p,g,g\n1,a,b\n", [], "several columns are named 'g'"),
    "negative label": ("p,g,y\n1,a,1\n2,b,-1\n", ["--label", "y"], "below 0"),
    "label of zeros": ("p,g,y\n1,a,0\n2,b,0\n", ["--label", "y"], "no label is above 0"),
    "missing label": ("p,g,y\n1,a,1\n2,b,\n", ["--label", "y"], "the label is missing"),
    "ties refused": ("p,g\n1,a\n2,b\n1,b\n", ["--ties", "error"], "the score 1 occurs twice (line 2 and here)"),
    "missing query": ("p,g,q\n1,a,x\n2,b,\n", ["--query", "q"], "the query id is missing"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_are_refused(run: Command, folder: Path, case: str):
    text, more, message = TABLES[case]
    (folder / "bad.csv").write_text(text)
    code, out, err = run("bad.csv", "--score", "p", "--group", "g", "--min-cell", "1", *more)
    assert code == 2, err
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_single_known_group_is_compared_with_nothing(run: Command, folder: Path):
    (folder / "one.csv").write_text("p,g\n" + "".join(f"{i},a\n" for i in range(20)))
    code, out, _ = run("one.csv", "--score", "p", "--group", "g", "-k", "5", "--resamples", "20")
    assert code == 0
    assert "g has only one known group, so nothing is compared" in out
    assert "exposure_ratio" not in out


def test_one_row(run: Command, folder: Path):
    (folder / "one.csv").write_text("p,g\n1,a\n")
    code, _, err = run("one.csv", "--score", "p", "--group", "g", "-k", "1", "--min-cell", "1", "-f", "jsonl")
    assert code == 0, err


def test_constant_scores(run: Command, folder: Path):
    (folder / "same.csv").write_text("p,g\n" + "".join(f"1,{'ab'[i % 2]}\n" for i in range(60)))
    code, out, err = run("same.csv", "--score", "p", "--group", "g", "-k", "15", "--ties", "expected", "-f", "jsonl")
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    by = {(r["measure"], r["cutoff"], r["group"]): r for r in rows}
    assert by["exposure_ratio", 15, "b"]["value"] == pytest.approx(1.0)
    assert by["count", 15, "b"]["value"] == 7.5
    assert by["ndkl", 15, None]["reason"] == "tied"
    assert by["fa_ir_p", 15, "b"]["reason"] == "tied"
    assert by["fisher_p_holm", 15, "b"]["reason"] == "tied"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("rng", -1, "rng is -1"),
        ("rng", "x", "rng is 'x'"),
        ("resamples", 1.5, "resamples is 1.5"),
        ("cutoffs", [2.5], "a cutoff is 2.5"),
        ("min_cell", 0, "min_cell is 0"),
        ("level", 1, "level is 1"),
        ("ties", "docno", "ties is 'docno'"),
        ("preset", "x", "preset is 'x'"),
        ("group", [], "no group is given"),
        ("score", 3, "score is 3"),
        ("reference", {"h": "a"}, "reference: 'h' is not an audited group"),
        ("users", ["ERR(max_grade=4)"], "a table of people has none"),
    ],
)
def test_options_of_the_function(option: str, value: Any, message: str):
    given: dict[str, Any] = {"score": "p", "group": "g", "min_cell": 1, option: value}
    with pytest.raises(lm.LightmeterError, match=message):
        lm.audit({"p": [2, 1], "g": ["a", "b"]}, **given)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"p": [1, 2], "g": ["a"]}, "columns differ in length"),
        ({"p": [1, "x"], "g": ["a", "b"]}, "p"),
        ({"p": [1, None], "g": ["a", "b"]}, "the score is missing"),
        ({"p": [1, float("nan")], "g": ["a", "b"]}, "not a finite number"),
        ([[1, 2]], "cannot be read"),
        ({}, "rows|column"),
    ],
)
def test_tables_of_the_function(table: Any, message: str):
    with pytest.raises(lm.LightmeterError, match=message):
        lm.audit(table, score="p", group="g", min_cell=1)
