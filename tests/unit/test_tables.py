"""All results are tables: the same methods, every format is written whole and reads back."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm
from lightmeter.learn.outcome import Outcome
from lightmeter.results import table as tables
from lightmeter.results.table import Table, finite

DOCS = ["a", "b", "c"]
RUNS = {"one": {"q1": DOCS, "q2": ["b", "a"]}, "two": {"q1": DOCS[::-1], "q2": ["a", "b"]}}
QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
GROUPS = {"side": {"a": "x", "b": "y", "c": "y"}}
CLICKS = {
    "query": [f"q{i}" for i in range(40) for _ in range(4)],
    "doc": ["a", "b", "a", "b"] * 40,
    "rank": [1, 2, 2, 1] * 40,
    "clicked": [1, 0, 1, 0, 1, 1, 0, 0] * 20,
}


def collection() -> lm.Collection:
    return lm.load(run=RUNS, qrels=QRELS, groups=GROUPS)


def outcome() -> Outcome:
    summary = pl.DataFrame({"loss": ["ee"], "measure": ["EEAUC"], "value": [0.5], "low": [0.4], "high": [0.6],
                            "frontier": [0.9], "n": [2]})  # fmt: skip
    texts = dict.fromkeys(["loss_a", "loss_b", "measure"], pl.String)
    numbers = dict.fromkeys(["difference", "p", "p_adjusted", "effect", "normality"], pl.Float64)
    pairs = pl.DataFrame(schema={**texts, **numbers, "n": pl.Int64, "reason": pl.String})
    queries = pl.DataFrame({"loss": ["ee"], "measure": ["EEAUC"], "query": ["q1"], "value": [0.5]})
    return Outcome(summary, pairs, queries)


RESULTS = {
    "evaluate": lambda: lm.evaluate(collection(), ["nDCG@10", "Share(by='side')@2"]),
    "compare": lambda: lm.compare(collection(), ["AP", "nDCG@2"], changed=1),
    "sweep": lambda: lm.sweep(collection(), resamples=20),
    "audit": lambda: lm.audit({"p": range(80), "sex": ["f", "m"] * 40}, score="p", group="sex", resamples=0),
    "attention": lambda: lm.estimate_attention(pl.DataFrame(CLICKS), resamples=20),
    "rerank": lambda: lm.rerank(lm.load(run=RUNS["one"], groups=GROUPS), "DetConstSort(by='side')"),
    "train": outcome,
}


@pytest.fixture(scope="module", params=RESULTS)
def result(request: pytest.FixtureRequest) -> Table:
    return RESULTS[request.param]()


def test_every_result_has_the_same_methods(result: Table) -> None:
    assert isinstance(result, Table)
    frame = result.frame()
    assert isinstance(frame, pl.DataFrame)
    assert len(frame)
    assert len(result.to_pandas()) >= len(frame)
    assert set(result.to_pandas().columns) == set(frame.columns)
    assert "<table>" in result._repr_html_()
    assert repr(result)
    json.dumps([result.conventions, result.manifest], default=str)
    lines = result.to_markdown().splitlines()
    assert any(line.startswith("|") for line in lines)
    tex = result.to_latex(caption="50% of x_1", label="tab:one")
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") >= 1
    assert r"\caption{50\% of x\_1}" in tex
    assert r"\label{tab:one}" in tex
    with pytest.raises(lm.LightmeterError, match="no column 'nothing'"):
        result.to_latex(columns=["nothing"])
    with pytest.raises(lm.LightmeterError, match="no column 'nothing'"):
        result.value(nothing=1)


@pytest.mark.parametrize("ending", tables.ENDINGS)
def test_every_format_reads_back(result: Table, ending: str, tmp_path: Path) -> None:
    if isinstance(result, lm.Reranking):
        pytest.skip("rankings are written as runs")
    file = tmp_path / f"r{ending}"
    result.write(file)
    assert [p.name for p in tmp_path.iterdir()] == [file.name]
    form = tables.ENDINGS[ending]
    expected = finite(result.records())
    if form == "parquet":
        assert pl.read_parquet(file).equals(expected)
    elif form == "jsonl":
        assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == expected.to_dicts()
    elif form == "csv":
        assert pl.read_csv(file, schema=expected.schema).equals(expected)
    else:
        assert file.read_bytes() == result.render(form)
        sign = {".tex": r"\toprule", ".md": "| ---", ".html": "<table>", ".txt": "----"}[ending]
        assert sign in file.read_text("utf-8")
    named = tmp_path / "named"
    result.write(named, format=form)
    if form != "parquet":
        assert named.read_bytes() == file.read_bytes()


def test_a_file_is_whole_or_as_it_was(result: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.csv"
    file.write_text("before")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(lm.LightmeterError, match="No space left"):
        result.write(file)
    assert file.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"]


def test_formats_that_are_none(result: Table, tmp_path: Path) -> None:
    if isinstance(result, lm.Reranking):
        pytest.skip("rankings are written as runs")
    with pytest.raises(lm.LightmeterError, match="says no format"):
        result.write(tmp_path / "r.xlsx")
    with pytest.raises(lm.LightmeterError, match="Did you mean 'latex'"):
        result.write(tmp_path / "r.tex", format="latx")
    with pytest.raises(lm.LightmeterError, match="there is no folder"):
        result.write(tmp_path / "none" / "r.csv")
    assert not list(tmp_path.iterdir())
