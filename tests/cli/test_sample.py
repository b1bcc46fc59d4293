"""``lightmeter sample``: what is written reads back with the values of drawing in place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.cli import main

POLICY = "RankTransposition(theta=0.2)"
MEASURES = ["AP", "EED(user=Cascade(p=0.8, u=0.5))", "EEL(user=Cascade(p=0.8, u=0.5))", "ERR@3"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(5)
    run = [f"q{q} Q0 d{d:02} 1 {rng.normal():.6f} tag" for q in range(3) for d in range(12)]
    qrels = [f"q{q} 0 d{d:02} {rng.integers(0, 3)}" for q in range(3) for d in range(12)]
    (tmp_path / "run.txt").write_text("\n".join(run) + "\n")
    (tmp_path / "qrels.txt").write_text("\n".join(qrels) + "\n")
    return str(tmp_path / "run.txt"), str(tmp_path / "qrels.txt")


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[dict[str, Any]], str]:
    measures = [x for m in MEASURES for x in ("-m", m)]
    assert main(["evaluate", *arguments, *measures, "-f", "jsonl", "--per-query"]) == 0
    out = capsys.readouterr()
    return [json.loads(line) for line in out.out.splitlines()], out.err


@pytest.mark.parametrize(
    "name", ["o.txt", "o", "o.run.gz", "o.zst", "o.csv", "o.csv.zst", "o.tsv.gz", "o.jsonl", "o.jsonl.gz", "o.parquet"]
)
def test_reads_back(name: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same values and standard errors as drawing in place with the same seed; it says what it drew."""
    run, qrels = files
    out = str(tmp_path / name)
    drawn = ["--policy", POLICY, "--samples", "40", "--rng", "7", "--depth", "9"]
    assert main(["sample", run, *drawn, "-o", out]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert f"drawn from {POLICY}: 40 rankings of each of 3 queries, seed 7; first 9 documents" in said.err
    there, _ = evaluated(capsys, run, "--qrels", qrels, *drawn)
    back, messages = evaluated(capsys, out, "--qrels", qrels)
    if name in ("o.txt", "o", "o.run.gz", "o.zst"):
        assert "column 2 read as sample ids: 40 samples for 3 queries" in messages
    assert len(back) == len(there)
    for a, b in zip(there, back, strict=True):
        assert (a["query"], a["measure"], a["reason"]) == (b["query"], b["measure"], b["reason"])
        assert b["value"] == pytest.approx(a["value"], abs=1e-12)
        assert b["se"] == pytest.approx(a["se"], abs=1e-12)


def test_six_columns(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sample in the second column, ranks from 1, falling scores; standard output the same as a file."""
    out = tmp_path / "out.txt"
    assert main(["sample", files[0], "--policy", "Uniform", "--samples", "2", "-o", str(out), "-q"]) == 0
    assert capsys.readouterr().err == ""
    rows = [line.split() for line in out.read_text().splitlines()]
    assert len(rows) == 3 * 12 * 2
    assert all(len(row) == 6 for row in rows)
    for q in ("q0", "q1", "q2"):
        for s in ("1", "2"):
            mine = [row for row in rows if row[:2] == [q, s]]
            assert [row[3] for row in mine] == [str(k) for k in range(1, 13)]
            assert [row[4] for row in mine] == [str(k) for k in range(12, 0, -1)]
            assert len({row[2] for row in mine}) == 12
    assert main(["sample", files[0], "--policy", "Uniform", "--samples", "2"]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_reproducible(files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes for the same seed, compressed too, on one core and on four; others for another seed."""
    written = {}
    for cores, seed in ((1, "3"), (4, "3"), (1, "4")):
        monkeypatch.setattr("lightmeter.io.threads.cores", lambda n=cores: n)
        for name in ("a.txt", "a.gz"):
            out = tmp_path / name
            assert main(["sample", files[0], "--policy", "PlackettLuce(alpha=1)", "--rng", seed, "-o", str(out)]) == 0
            written[cores, seed, name] = out.read_bytes()
    for name in ("a.txt", "a.gz"):
        assert written[1, "3", name] == written[4, "3", name] != written[1, "4", name]
    assert gzip.decompress(written[1, "3", "a.gz"]) == written[1, "3", "a.txt"]


def test_generators_and_seeds(files: tuple[str, str]) -> None:
    c = lm.load(files[0])
    one, two = (lm.sample(c, "Uniform", 5, np.random.default_rng(0)) for _ in range(2))
    assert one.equals(two)
    assert one.columns == ["run", "query", "doc", "rank", "sample"]
    assert not one.equals(lm.sample(c, "Uniform", 5, np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no policy is given. Name one, such as --policy 'PlackettLuce(alpha=1)'"),
        (["--policy", "Static"], "makes no rankings of its own"),
        (["--policy", "Oracle"], "Oracle needs judgments. Give them with --qrels FILE"),
        (["--policy", "PlackettLuce(alpha=-1)"], "alpha is -1"),
        (["--policy", "Uniform", "--samples", "0"], "--samples is '0'"),
        (["--policy", "Uniform", "--depth", "x"], "--depth is 'x'"),
        (["--policy", "Uniform", "--rng", "-1"], "--rng is '-1'"),
        (["--policy", "Uniform", "--ties", "expected"], "Accepted: docno, file, error"),
        (["--policy", "Uniform", "-o", "RUN"], "this is an input"),
        (["--policy", "Uniform", "-o", "FOLDER/x.parquet.gz"], "Parquet is compressed within"),
        (["--policy", "Uniform", "-o", "FOLDER/none/x.txt"], "there is no folder"),
        (["--policy", ""], "--policy is an empty text"),
    ],
)
def test_refusals(
    arguments: list[str], message: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One message, exit code 2, and nothing written."""
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    given = [a.replace("RUN", files[0]).replace("FOLDER", str(tmp_path)) for a in arguments]
    assert main(["sample", files[0], *given]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert message in out.err
    assert len(out.err.splitlines()) == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_sampled_and_several_runs_are_refused(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn, two = tmp_path / "drawn.txt", tmp_path / "two.csv"
    assert main(["sample", files[0], "--policy", "Uniform", "--samples", "3", "-o", str(drawn)]) == 0
    assert main(["sample", str(drawn), "--policy", "Uniform"]) == 2
    assert "has several rankings per query" in capsys.readouterr().err
    two.write_text("run,query,doc,rank\na,q,x,1\nb,q,x,1\n")
    assert main(["sample", str(two), "--policy", "Uniform"]) == 2
    assert "has 2 runs (a, b). Accepted: one run" in capsys.readouterr().err


RUN = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 2], "sample": [1, 1]})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (RUN.with_columns(weight=0.5), "no place for weights. Name a table: .csv"),
        (RUN.with_columns(doc=pl.Series(["a b", "c"])), "the doc 'a b' has a blank"),
        (RUN.with_columns(run=pl.Series(["x", "y"])), "have one run, and there are several"),
        (RUN.drop("rank"), "there is no column rank"),
        (RUN.with_columns(rank=pl.Series([1.0, None])), "rank"),
    ],
)
def test_what_six_columns_cannot_hold(frame: pl.DataFrame, message: str, tmp_path: Path) -> None:
    with pytest.raises(lm.LightmeterError, match=message):
        lm.write_run(frame, tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())
    if "rank" not in message:
        lm.write_run(frame, tmp_path / "out.csv")
        assert pl.read_csv(tmp_path / "out.csv").height == 2


def test_ids_survive(tmp_path: Path) -> None:
    """Commas, quotes, blanks, umlauts and ids of digits come back as they were."""
    ids = ["a,b", 'say "x"', "ü ñ", "007", "1e5", " x"]
    frame = pl.DataFrame({"query": ["q"] * 6, "doc": ids, "rank": range(1, 7)})
    for name in ("o.csv", "o.tsv", "o.jsonl", "o.parquet"):
        lm.write_run(frame, tmp_path / name)
        run = next(iter(lm.load(tmp_path / name).runs.values()))
        assert run.doc.to_list() == (ids if name in ("o.jsonl", "o.parquet") else run.doc.to_list())
        assert [d.strip() for d in run.doc] == [d.strip() for d in ids]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", broken)
    with pytest.raises(lm.LightmeterError, match="cannot be written: No space left"):
        lm.write_run(RUN, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("name", ["drawn.csv", "drawn.parquet", "drawn.jsonl", "drawn.txt"])
def test_what_is_drawn_can_be_evaluated_beside_its_run(
    name: str, files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, qrels = files
    out = str(tmp_path / name)
    assert main(["sample", run, "--policy", "Uniform", "--samples", "5", "-o", out, "-q"]) == 0
    assert main(["evaluate", run, out, "--qrels", qrels, "-m", "AP", "-f", "jsonl", "-q"]) == 0
    assert [json.loads(line)["run"] for line in capsys.readouterr().out.splitlines()] == [run, out]
