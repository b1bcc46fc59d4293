"""The command line's contract for ``sweep``: rows, streams, files, and what is reported."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm

OK = ("sweep", "a.run", "b.run", "--qrels", "qrels.txt")
KEYS = ["run", "policy", "user", "by", "measure", "parameter", "query", "value", "se", "low", "high"]


def test_rows_of_the_contract(lightmeter) -> None:
    done = lightmeter(*OK, "--policy", "PlackettLuce", "--policy", "RankTransposition", "-f", "jsonl")
    assert done.code == 0
    rows = done.rows()
    assert all(list(row) == KEYS for row in rows)
    assert list(dict.fromkeys((r["run"], r["policy"]) for r in rows)) == [
        (run, policy) for run in ("a.run", "b.run") for policy in ("PlackettLuce", "RankTransposition", "frontier")
    ]
    for run in ("a.run", "b.run"):
        for policy, last in (("PlackettLuce", None), ("RankTransposition", 1.0)):
            mine = [r for r in rows if (r["run"], r["policy"]) == (run, policy)]
            assert [r["measure"] for r in mine[-4:]] == ["EEAUC", "EEAUC_query_mean", "EEAUC_frontier", "EEAUC_share"]
            assert all(r["parameter"] is None and r["query"] is None for r in mine[-4:])
            points = mine[:-4]
            assert {r["measure"] for r in points} == {"disparity", "relevance"}
            assert [points[0]["parameter"], points[-1]["parameter"]] == [0.0, last]
            assert [points[0]["value"], points[-2]["value"]] == pytest.approx([0.0, 1.0], abs=1e-9)
            assert sum(r["parameter"] is None for r in points) == (2 if last is None else 0)
            assert {(r["user"], r["by"], r["se"]) for r in points} == {("RBP(p=0.5)", None, None)}
    c = lm.load(["a.run", "b.run"], "qrels.txt")
    area = lm.sweep(c, "RankTransposition").area(run="a.run")
    assert [r["value"] for r in rows if r["measure"] == "EEAUC" and r["run"] == "a.run"][1] == area


def test_conventions_and_what_is_undefined_are_reported(lightmeter) -> None:
    done = lightmeter(*OK, "--groups", "groups.csv", "--by", "gender", "--user", "Cascade(p=0.5,u=0.5)",
                      "--policy", "RankTransposition", "--samples", "4", "--rng", "3", "-f", "jsonl")  # fmt: skip
    assert done.code == 0
    assert {r["by"] for r in done.rows()} == {None, "gender"}
    for text in ("conventions: policy=RankTransposition from theta = 0 (uniform) to theta = 1 (static)", "drawn=",
                 "4 rankings per query and parameter, seed 3; standard error".replace(";", ","), "no_frontier",
                 "b.run 1", "Ideal(complete=False)", "bootstrap over queries"):  # fmt: skip
        assert text in done.err
    frontier = [r["value"] for r in done.rows() if r["measure"] in ("EEAUC_frontier", "EEAUC_share")]
    assert frontier == [None] * 8
    assert lightmeter(*OK, "-q").err == ""


def test_per_query_and_files(lightmeter, folder: Path) -> None:
    done = lightmeter(*OK, "--per-query", "-o", "out.parquet", "--manifest", "m.json")
    assert (done.code, done.out) == (0, "")
    frame = pl.read_parquet(folder / "out.parquet")
    assert frame.columns == KEYS
    own = frame.filter(pl.col("query").is_not_null())
    assert set(own["measure"]) == {"disparity", "relevance", "EED", "EER", "EEAUC", "EEAUC_frontier", "EEAUC_share"}
    manifest = json.loads((folder / "m.json").read_text("utf-8"))
    assert manifest["policies"] == ["PlackettLuce"]
    assert manifest["seed"] == 0
    assert len(manifest["files"]) == 3
    assert {"points", "last_step", "left_out"} <= set(manifest["curves"][0])


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_people_are_shown_the_areas(lightmeter, form: str) -> None:
    done = lightmeter(*OK, "-f", form, "--per-query")
    assert done.code == 0
    for text in ("EEAUC", "frontier", "share", "PlackettLuce", "95"):
        assert text in done.out
    assert len(done.out.splitlines()) < 30


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("sweep",), "RUN"),
        (("sweep", "a.run"), "--qrels FILE"),
        ((*OK, "--policy", "PlacketLuce"), "Did you mean 'PlackettLuce'"),
        ((*OK, "--policy", "RankTransposition(theta=0.5)"), "Write RankTransposition"),
        ((*OK, "--policy", ""), "--policy is an empty text"),
        ((*OK, "--user", "RBP(0.8)"), "named"),
        ((*OK, "--user", ""), "--user is an empty text"),
        ((*OK, "--by", "gender"), "--groups FILE"),
        ((*OK, "--by", "gendre", "--groups", "groups.csv"), "gendre"),
        ((*OK, "--depth", "0"), "--depth"),
        ((*OK, "--samples", "2"), "at least 3"),
        ((*OK, "--resamples", "no"), "--resamples"),
        ((*OK, "--resamples", "1000001"), "--resamples is '1000001'. Accepted: a whole number from 1 to 1,000,000."),
        ((*OK, "--rng", "x"), "--rng"),
        ((*OK, "--ties", "expected"), "docno, file, error"),
        ((*OK, "-f", "parquet"), "needs a file"),
        ((*OK, "-o", "a.run"), "input"),
        ((*OK, "--missing", "error"), "does not answer query 'q2'"),
        (("sweep", "sampled.run", "--qrels", "qrels.txt"), "several rankings"),
        (("sweep", "tied.run", "--qrels", "qrels.txt", "--ties", "error"), "same score"),
    ],
)
def test_a_wrong_command_line_is_reported(lightmeter, given: tuple[str, ...], says: str) -> None:
    done = lightmeter(*given)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert done.err.startswith("lightmeter: error: ")
    assert done.err.count("\n") == 1
