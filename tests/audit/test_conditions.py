"""Conditions on the rows of an audit: ``--fail-if``, as ``evaluate`` has it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.auditing.conditions import read_condition
from lightmeter.cli import main
from lightmeter.results.conditions import failures

Command = Callable[..., tuple[int, str, str]]
BASE = ("people.csv", "--score", "p", "--group", "sex", "-k", "50", "--resamples", "120")


@pytest.fixture
def run(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    rng = np.random.default_rng(0)
    n = 300
    sex = np.array(["f", "m", "unknown"])[rng.choice(3, n, p=[0.45, 0.5, 0.05])]
    frame = pl.DataFrame(
        {
            "p": rng.normal(size=n) + 0.7 * (sex == "m"),
            "p2": rng.random(n),
            "sex": sex,
            "race": ["w"] * 200 + ["b"] * 95 + ["o"] * 5,
            "list": rng.choice(["l1", "l2"], n),
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        given = ["audit", *arguments]
        monkeypatch.setattr(sys, "argv", ["lightmeter", *given])
        code = main(given)
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return command


def told(err: str) -> list[str]:
    return [line.partition("fail-if: ")[2] for line in err.splitlines() if line.startswith("lightmeter: fail-if: ")]


@pytest.mark.parametrize(
    ("condition", "code", "rows"),
    [
        ("exposure_ratio@50 < 0.8", 3, 1),
        ("exposure_ratio@50 > 0.8", 0, 0),
        ("exposure_ratio@all < 0.8", 0, 0),
        ("exposure_ratio < 1", 3, 2),
        ("exposure_ratio(group='f') <= 1", 3, 2),
        ("exposure_ratio(attribute='sex', reference='m', score='p')@50 < 1", 3, 1),
        ("exposure_ratio(user=Inverse)@50 < 0.8", 3, 1),
        ("exposure_ratio(user=RBP(p=0.99)).low@50 < 0.8", 3, 1),
        ("exposure_ratio.high@50 < 0", 0, 0),
        ("count.n@all < 100", 0, 0),
        ("count@50 != 50", 3, 2),
        ("count(group='unknown')@all < 40", 3, 1),
        ("count(group='unknown')@all > 40", 0, 0),
        ("ndkl@50 > 0.0", 3, 1),
        ("skew@50 < -1000", 0, 0),
    ],
)
def test_rows_that_meet_a_condition(run: Command, condition: str, code: int, rows: int):
    done, out, err = run(*BASE, "--fail-if", condition, "-f", "jsonl")
    assert done == code, err
    assert len([t for t in told(err) if " holds for " in t and "no row" not in t]) == rows
    assert (f"{condition}: holds for no row".replace("0.0:", "0:") in err) == (code == 0)
    # the output is what it is without
    assert out == run(*BASE, "-f", "jsonl")[1]


def test_a_row_says_which_it_is_and_what_it_has(run: Command):
    _, out, err = run(*BASE, "--fail-if", "selection_rate_ratio@50 < .8", "-f", "jsonl", "--quiet")
    (row,) = (r for r in map(json.loads, out.splitlines()) if r["measure"] == "selection_rate_ratio")
    assert told(err) == [f"selection_rate_ratio@50 < 0.8 holds for sex f to m, the first 50: {row['value']:.4f}"]
    for word in ("pass", "complian", "violat", "unfair"):
        assert word not in err


def test_what_has_no_value_cannot_be_checked(run: Command):
    code, _, err = run(*BASE, "--group", "race", "--fail-if", "exposure_ratio(attribute='race')@50 < 0", "-o", "t.csv")
    assert code == 3
    assert told(err)
    assert all(t.endswith("cannot be checked for race b to w, the first 50: masked") for t in told(err)[:1])
    code, _, err = run(*BASE[:-1], "0", "--fail-if", "exposure_ratio(group='f').low@50 < 0", "-o", "t.csv")
    assert code == 3
    assert "cannot be checked for sex f to m, the first 50: it has no low" in err


def test_several_conditions_scores_and_lists(run: Command):
    more = ("--score", "p2", "--query", "list", "--per-query", "--min-cell", "2")
    code, _, err = run(*BASE, *more, "--fail-if", "count@all > 100", "--fail-if", "count@all > 1e6", "-o", "t.csv")
    assert code == 3
    assert [t.partition(" holds for ")[2].partition(":")[0] for t in told(err)] == [
        f"sex {g}, the whole list, score {s}" for s in ("p", "p2") for g in ("m", "f")
    ]
    code, _, err = run(*BASE, *more, "--fail-if", "count(query='l1', group='f', score='p')@all > 0", "-o", "t.csv")
    assert code == 3
    assert "sex f, the whole list, query l1, score p" in told(err)[0]


def test_the_manifest_tells_of_conditions(run: Command, tmp_path: Path):
    for condition, failed in (("exposure_ratio@50 < 0.8", 1), ("exposure_ratio@50 > 9", 0)):
        run(*BASE, "--fail-if", condition, "--manifest", "m.json", "-o", "t.csv")
        made = json.loads((tmp_path / "m.json").read_text("utf-8"))["fail_if"]
        assert made["conditions"] == [condition]
        assert len(made["failed"]) == failed


def test_many_rows_are_counted(run: Command, tmp_path: Path):
    pl.DataFrame({"p": range(600), "g": [f"g{i % 30}" for i in range(600)]}).write_csv(tmp_path / "many.csv")
    given = ("many.csv", "--score", "p", "--group", "g", "--resamples", "0", "-o", "t.csv")
    code, _, err = run(*given, "--fail-if", "count@all > 0", "--quiet")
    assert code == 3
    assert len(told(err)) == 21
    assert told(err)[-1] == "and 10 more; --manifest FILE has them all"


def test_a_number_near_its_threshold_is_written_out(run: Command):
    _, out, _ = run(*BASE, "-f", "jsonl", "--quiet")
    value = next(r["value"] for r in map(json.loads, out.splitlines()) if r["measure"] == "exposure_ratio")
    _, _, err = run(*BASE, "--fail-if", f"exposure_ratio@all < {value + 1e-6!r}", "-o", "t.csv", "--quiet")
    assert told(err)[0].endswith(f": {value!r}")


def test_quiet_conditions_come_without_the_table(run: Command):
    condition = ("--fail-if", "exposure_ratio@50 < 9", "--quiet")
    assert run(*BASE, *condition)[1] == ""
    assert run(*BASE, *condition, "-f", "table")[1].startswith("sex\n")
    assert run(*BASE, *condition[:2])[1].startswith("sex\n")
    assert run(*BASE, "--quiet")[1].startswith("sex\n")


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("exposure_rati < 1", "Did you mean 'exposure_ratio'?"),
        ("exposure_ratio", "is not a condition. Accepted: a measure of the audit, a sign and a number"),
        ("exposure_ratio = 0.8", "is not a condition"),
        ("exposure_ratio <", "is not a condition"),
        ("(1 + 2) < 3", "is not a condition"),
        ("exposure_ratio(sex='f') < 1", "picks by 'sex'"),
        ("exposure_ratio('f') < 1", "columns are named"),
        ("exposure_ratio(group=f) < 1", "Accepted: a text in quotes"),
        ("exposure_ratio(group='x') < 1", "no row of exposure_ratio has group x. There are: f."),
        ("exposure_ratio@49 < 1", "has cutoff 49. There are: all, 50."),
        ("exposure_ratio@0 < 1", "no whole number of at least 1"),
        ("exposure_ratio@ten < 1", "no whole number of at least 1"),
        ("exposure_ratio.hi < 1", "Did you mean 'high'?"),
        ("exposure_ratio(query='l1') < 1", "the rows have no query"),
        ("exposure_ratio(user=Invers) < 1", "Did you mean 'Inverse'?"),
        ("exposure_ratio(user=RBP(p=0.5)) < 1", "this audit has no 'exposure_ratio(user=RBP(p=0.5))'"),
    ],
)
def test_what_is_refused(run: Command, tmp_path: Path, condition: str, text: str):
    code, out, err = run(*BASE, "--fail-if", condition, "-o", "t.csv")
    assert code == 2
    assert text in err
    assert "--fail-if" in err
    assert not (tmp_path / "t.csv").exists()
    assert out == ""
    assert "Traceback" not in err


def test_from_python():
    table = {"p": range(100, 0, -1), "g": ["a"] * 50 + ["b"] * 50}
    result = lm.audit(table, score="p", group="g", cutoffs=60, resamples=0)
    assert result.frame() is result.rows
    assert list(failures(result, [read_condition("selection_rate_ratio(group='b')@60 < 0.25")])) == [
        "selection_rate_ratio(group='b')@60 < 0.25 holds for g b to a, the first 60: 0.2000"
    ]
    assert list(failures(result, [read_condition("selection_rate_ratio(group='b')@60 < 0.2")])) == []
