"""``lightmeter attention`` keeps the contract of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm
from lightmeter.cli import main

ROWS = [(f"q{i}", d, k, c, w) for i in range(30) for d, k, c, w in (
    ("a", 1, 1, 8), ("a", 1, 0, 2), ("a", 2, 1, 2), ("a", 2, 0, 3), ("b", 2, 1, 2), ("b", 2, 0, 8), ("b", 1, 1, 2),
    ("b", 1, 0, 3 + i % 3),
)]  # fmt: skip

NUMBERS = ["weight", "se", "low", "high", "n", "shown", "clicks", "documents"]


@pytest.fixture
def lightmeter(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    log = pl.DataFrame(ROWS, schema=["query", "doc", "rank", "clicked", "weight"], orient="row")
    log.write_csv("clicks.csv")
    log.rename({"rank": "position"}).write_csv("other.csv")

    def run(*arguments: str):
        code = main(["attention", *arguments])
        return code, *capfd.readouterr()

    return run


def test_table(lightmeter) -> None:
    code, out, err = lightmeter("clicks.csv", "--method", "pairs")
    r = lm.estimate_attention("clicks.csv", method="pairs")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "shown", "clicks", "documents", "n", "weight", "se", "low", "high"]
    assert lines[3].split()[:6] == ["2", "450", "120", "60", "30", f"{r.weight[1]:.4f}"]
    assert lines[5].startswith("n = 30 queries; se and the 95% interval by bootstrap")
    assert lines[-1] == r.term
    assert lm.parse(lines[-1], kind="user").weights[0] == 1.0


def test_jsonl_has_full_precision_and_the_term_goes_to_standard_error(lightmeter) -> None:
    code, out, err = lightmeter("clicks.csv", "-f", "jsonl", "--rng", "3", "--level", "0.9", "--resamples", "50")
    r = lm.estimate_attention("clicks.csv", rng=3, level=0.9, resamples=50)
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows == r.frame().to_dicts()
    assert list(rows[0]) == ["method", "rank", *NUMBERS, "reason"]
    assert err.splitlines()[-1] == f"lightmeter: {r.term}"
    assert lightmeter("clicks.csv", "-f", "jsonl", "-q")[2] == ""


def test_columns_depth_and_files(lightmeter) -> None:
    plain = lightmeter("clicks.csv", "-f", "csv", "-q")
    assert lightmeter("other.csv", "--columns", "rank=position", "-f", "csv", "-q") == plain
    code, out, err = lightmeter("clicks.csv", "--reference", "2", "-o", "curve.csv")
    assert (code, out) == (0, "")
    assert "Attention(weights=[" in err
    frame = pl.read_csv("curve.csv")
    assert frame["weight"][1] == 1.0
    assert lightmeter("clicks.csv", "-o", "curve.parquet", "-q")[0] == 0
    assert pl.read_parquet("curve.parquet").columns == frame.columns
    for form, start in (("markdown", "| rank | shown |"), ("latex", "% needs")):
        assert lightmeter("clicks.csv", "-f", form)[1].startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.csv",), "no such file"),
        (("other.csv",), "no column 'rank'"),
        (("clicks.csv", "--method", "pair"), "Did you mean 'pairs'"),
        (("clicks.csv", "--depth", "1"), "all rows have rank 1"),
        (("clicks.csv", "--resamples", "1000001"), "a whole number from 1 to 1,000,000"),
        (("clicks.csv", "--depth", "x"), "--depth is 'x'"),
        (("clicks.csv", "--rng", "x"), "--rng is 'x'"),
        (("clicks.csv", "--rng", "1", "--foo"), "no such option"),
        (("clicks.csv", "--level", "95"), "--level is '95'"),
        (("clicks.csv", "-f", "xml"), "--format is 'xml'"),
        (("clicks.csv", "-f", "parquet"), "needs a file"),
        (("clicks.csv", "-o", "clicks.csv"), "this is an input"),
        (("clicks.csv", "-o", "none/x.csv"), "there is no folder"),
        (("clicks.csv", "--columns", "rank"), "is not a pair"),
        (("",), "the click log is an empty text"),
    ],
)
def test_mistakes_end_with_2_and_one_line(lightmeter, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = lightmeter(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("lightmeter: error: ")
    assert err.count("\n") == 1
