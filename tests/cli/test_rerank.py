"""``lightmeter rerank``: what is written reads back, the table says what changed, and nothing is half done."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm

FAIR = "DetConstSort(by='gender')"
COMMON = ["--qrels", "qrels.txt", "--groups", "groups.csv"]


def test_table_and_run(lightmeter, folder: Path):
    """A TREC run in the new order; means before and after; whether the guarantee holds, and why not."""
    done = lightmeter("rerank", "a.run", "--method", FAIR, *COMMON, "-o", "out.txt")
    assert done.code == 0
    rows = [line.split() for line in (folder / "out.txt").read_text().splitlines()]
    assert [(r[0], r[2], r[3]) for r in rows] == [
        ("q1", "d1", "1"),
        ("q1", "d2", "2"),
        ("q1", "d3", "3"),
        ("q2", "d1", "1"),
        ("q2", "d4", "2"),
    ]
    assert {r[5] for r in rows} == {"DetConstSort"}
    lines = done.out.splitlines()
    assert lines[0].split()[:2] == ["run", "nDCG@10"]
    assert lines[2].startswith("before")
    assert lines[3].startswith("after")
    assert "guarantee holds for 1 of 2 rankings given: the first k have at least floor(k p)" in done.out
    assert "first not in query q2: the first 2 have 0 of gender 'm' and need 1 (0 of 2 candidates are)" in done.out
    assert "2 rankings written to out.txt" in done.out
    assert "Without @k every prefix counts, and the last is all candidates" in done.out
    assert "limit the ranks that count, such as DetConstSort(by='gender')@10; target=Pool(of='run')" in done.out
    kept = lightmeter("rerank", "a.run", "--method", f"{FAIR}@1", *COMMON)
    assert "guarantee holds for 2 of 2" in kept.out
    assert "smaller k" not in kept.out
    assert "Without @k" not in kept.out
    assert "conventions: ties=docno" in done.err
    given = lightmeter("evaluate", "out.txt", *COMMON, "-m", "nDCG@10", "-f", "jsonl").rows()
    shown = lightmeter("rerank", "a.run", "--method", FAIR, *COMMON, "-m", "nDCG@10", "-f", "jsonl").rows()
    assert [r["run"] for r in shown] == ["before", "after"]
    assert shown[1]["value"] == pytest.approx(given[0]["value"])
    assert set(shown[0]) == set(given[0])


def test_a_policy_is_written_as_a_table(lightmeter, folder: Path):
    """Probabilities in a column, and the policy to read them with; TREC's columns are refused before any work."""
    method = "FairExposure(by='gender', constraint='parity', user=RBP(p=0.5))"
    done = lightmeter("rerank", "a.run", "--method", method, *COMMON, "-o", "out.csv")
    assert done.code == 0
    assert "--policy \"Samples(weight='probability')\"" in done.out
    assert pl.read_csv(folder / "out.csv").columns == ["query", "doc", "rank", "sample", "weight"]
    measure = "ExposureRatio(by='gender', user=RBP(p=0.5))"
    back = lightmeter(
        "evaluate", "out.csv", *COMMON, "--policy", "Samples(weight='probability')", "-m", measure, "-f", "jsonl"
    )
    shown = lightmeter("rerank", "a.run", "--method", method, *COMMON, "-m", measure, "-f", "jsonl")
    assert back.rows()[0]["value"] == pytest.approx(shown.rows()[1]["value"])
    beside = lightmeter("compare", "a.run", "out.csv", *COMMON, "-m", "nDCG@10", "-f", "jsonl")
    assert beside.code == 0, beside.err
    assert {(r["run_a"], r["run_b"]) for r in beside.rows() if r["kind"] == "pair"} == {("a.run", "out.csv")}
    refused = lightmeter("rerank", "a.run", "--method", method, *COMMON, "-o", "out.txt")
    assert refused.code == 2
    assert "no place for weights" in refused.err
    assert not (folder / "out.txt").exists()


def test_where_a_group_is_unknown_the_rule_is_reported(lightmeter, folder: Path):
    """Values are those of ``evaluate --unknown drop``, and a note says so; none where every group is known."""
    rows = (folder / "groups.csv").read_text("utf-8").splitlines()
    (folder / "some.csv").write_text("\n".join(rows[:-2]) + "\n", "utf-8")
    measure = ["-m", "GF(by='gender', user=RBP(p=0.8))", "-f", "jsonl"]
    some = ["--qrels", "qrels.txt", "--groups", "some.csv", *measure]
    done = lightmeter("rerank", "a.run", "--method", FAIR, *some)
    assert (
        "evaluate counts them for all groups alike by default, and gives these values with --unknown drop" in done.err
    )
    values = [lightmeter("evaluate", "a.run", *some, *more).rows()[0]["value"] for more in (["--unknown", "drop"], [])]
    assert done.rows()[0]["value"] == values[0]
    assert values[0] != values[1]
    assert "for all groups alike" not in lightmeter("rerank", "a.run", "--method", FAIR, *COMMON, *measure).err


def test_amortised_along_a_sequence(lightmeter, folder: Path):
    """As many answers to a query as the sequence asks for; their weights sum to 1."""
    done = lightmeter(
        "rerank", "a.run", "--method", "Amortised(merit='score')", "--sequence", "sequence.csv", "-o", "out.csv"
    )
    assert done.code == 0, done.err
    made = pl.read_csv(folder / "out.csv").filter(rank=1).sort("query", "sample")
    assert made.select("query", "sample", "weight").rows() == [("q1", 1, 0.5), ("q1", 2, 0.5), ("q2", 1, 1.0)]
    assert "2 queries, each weighs as often as it occurs (3 in all)" in done.err


def test_draws_columns_and_manifest(lightmeter, folder: Path):
    """The same bytes for a seed; a column of the run's table; the manifest names the method."""
    for name in ("one.txt", "two.txt"):
        done = lightmeter(
            "rerank",
            "a.run",
            "--method",
            "EpsilonGreedy(epsilon=0.5)",
            "--samples",
            "4",
            "--rng",
            "3",
            "-o",
            name,
            "-q",
        )
        assert (done.code, done.err) == (0, "")
    assert (folder / "one.txt").read_bytes() == (folder / "two.txt").read_bytes()
    columns = ["--columns", "query=qid,doc=item,score=p"]
    (folder / "items.csv").write_text("doc,rating\nd1,1\nd2,5\nd3,4\nd4,2\n")
    method = "ByColumn(column='rating', file='items.csv')"
    done = lightmeter("rerank", "log.csv", *columns, "--method", method, "-o", "out.csv", "--manifest", "m.json")
    assert done.code == 0
    assert pl.read_csv(folder / "out.csv").filter(query="q1")["doc"].to_list() == ["d2", "d3", "d1"]
    manifest = json.loads((folder / "m.json").read_text())
    assert manifest["method"] == method
    assert "items.csv" in json.dumps(manifest["files"])
    done = lightmeter("rerank", "log.csv", *columns, "--method", "UniquePerValue(by='brand')", "-o", "u.txt")
    assert done.code == 0
    assert [r.split()[2] for r in (folder / "u.txt").read_text().splitlines()] == ["d1", "d2", "d4", "d1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no method is given. Name one, such as --method"),
        (["--method", "DetGready(by='gender')"], "Did you mean 'DetGreedy'?"),
        (["--method", "Static"], "Static is a policy, but a reranker is needed here"),
        (["--method", "Oracle"], "Oracle needs judgments"),
        (["--method", FAIR], "needs group memberships"),
        (["--method", FAIR, "--groups", "groups.csv", "--unknown", "uniform"], "Accepted: drop, error"),
        (["--method", FAIR, "--groups", "groups.csv", "--strict", "-o", "new.txt"], "guarantee does not hold"),
        (["--method", "DetGreedy(by='sex')", "--groups", "groups.csv"], "no attribute 'sex'"),
        (["--method", "Uniform", "-o", "a.run"], "this is an input"),
        (["--method", "Uniform", "-o", "-"], "--output is '-'"),
        (["--method", "Uniform", "-o", "none/x.txt"], "there is no folder"),
        (["--method", "Uniform", "-o", ""], "--output is an empty text"),
        (["--method", "Uniform", "-f", "parquet"], "--format is 'parquet'"),
        (["--method", "Uniform", "--samples", "0"], "--samples is '0'"),
        (["--method", "Uniform", "--ties", "expected"], "Accepted: docno, file, error"),
        (["--method", "ByColumn(column='x', file='none.csv')"], "none.csv"),
        (["--method", "Amortised(merit='grade')"], "needs judgments"),
        (["--method", "Uniform", "-m", "nDCG"], "nDCG needs judgments"),
    ],
)
def test_refusals(arguments: list[str], message: str, lightmeter, folder: Path):
    """One message, exit code 2, nothing written."""
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    done = lightmeter("rerank", "a.run", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_one_run_of_one_ranking(lightmeter, folder: Path):
    assert "has several rankings per query" in lightmeter("rerank", "sampled.run", "--method", "Uniform").err
    pl.concat([lm.sample(lm.load(run={n: {"q": ["d1"]}}), "Uniform", 1) for n in ("x", "y")]).drop("sample").write_csv(
        "two.csv"
    )
    assert "has 2 runs (x, y)" in lightmeter("rerank", "two.csv", "--method", "Uniform").err
