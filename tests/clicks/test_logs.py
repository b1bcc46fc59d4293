"""Reading click logs, what is refused, and what does not matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.clicks.simulation import simulated

import lightmeter as lm

METHODS = ("rate", "pbm", "pairs")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Rows with weights: clicked and unclicked showings of each cell."""
    cells = simulated(np.random.default_rng(11), 1.0 / np.arange(1, 5), queries=25, sessions=20)
    parts = [
        pl.DataFrame(
            {
                "query": [f"q{q}" for q in cells.query],
                "doc": [f"d{p % 6}" for p in cells.pair],
                "rank": cells.rank + 1,
                "clicked": np.full(len(cells.rank), clicked),
                "weight": amount.astype(int),
            }
        )
        for clicked, amount in ((1, cells.clicks), (0, cells.shown - cells.clicks))
    ]
    return pl.concat(parts).filter(pl.col("weight") > 0)


def same(one: lm.AttentionEstimate, other: lm.AttentionEstimate) -> None:
    assert one.frame().equals(other.frame())
    assert one.notes == other.notes


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_stands_for_repeated_rows(log: pl.DataFrame, method: str) -> None:
    repeated = log.select(pl.exclude("weight").repeat_by("weight").explode())
    assert len(repeated) == log["weight"].sum()
    same(lm.estimate_attention(log, method=method), lm.estimate_attention(repeated, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_does_not_matter(log: pl.DataFrame, method: str) -> None:
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=4)
    same(lm.estimate_attention(log, method=method), lm.estimate_attention(shuffled, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_the_scale_of_weights_does_not_matter_to_the_curve(log: pl.DataFrame, method: str) -> None:
    half = lm.estimate_attention(log.with_columns(pl.col("weight") * 0.5), method=method, min_shown=5)
    np.testing.assert_allclose(half.weight, lm.estimate_attention(log, method=method).weight, rtol=1e-7)


def test_every_format_reads_alike(log: pl.DataFrame, tmp_path: Path) -> None:
    whole = lm.estimate_attention(log, method="pairs")
    log.write_csv(tmp_path / "a.csv")
    log.write_csv(tmp_path / "a.tsv", separator="\t")
    log.write_parquet(tmp_path / "a.parquet")
    log.with_columns(pl.col("clicked") == 1).write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.csv", "a.tsv", "a.parquet", "a.jsonl"):
        same(whole, lm.estimate_attention(tmp_path / name, method="pairs"))
    renamed = log.rename({"query": "qid", "rank": "position"})
    same(whole, lm.estimate_attention(renamed, method="pairs", columns={"query": "qid", "rank": "position"}))


def test_the_seed_decides(log: pl.DataFrame) -> None:
    one, two, three = (lm.estimate_attention(log, rng=rng) for rng in (1, np.random.default_rng(1), 2))
    same(one, two)
    assert (one.weight == three.weight).all()
    assert (one.se[1:] != three.se[1:]).all()


def test_depth(log: pl.DataFrame) -> None:
    r = lm.estimate_attention(log, depth=2)
    assert r.length == len(r.weight) == 2
    assert any(note.startswith("rows below rank 2 are left out") for note in r.notes)
    np.testing.assert_array_equal(r.weight, lm.estimate_attention(log).weight[:2])


def test_the_result_is_a_user(log: pl.DataFrame) -> None:
    r = lm.estimate_attention(log)
    frame = r.frame()
    assert frame["rank"].to_list() == [1, 2, 3, 4]
    assert frame["n"].to_list() == [25] * 4
    assert frame["shown"].sum() == log["weight"].sum()
    assert frame["clicks"].sum() == (log["weight"] * log["clicked"]).sum()
    assert frame["documents"][0] == log.filter(pl.col("rank") == 1).select("query", "doc").n_unique()
    assert lm.parse(r.term, kind="user").weights == pytest.approx(r.attention.weights, rel=1e-5)
    assert repr(r).splitlines()[-3] == "method: rate"
    assert r.term in repr(r)
    run = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [2.0, 1.0]})
    groups = pl.DataFrame({"doc": ["a", "b"], "g": ["x", "y"]})
    ratio = lm.evaluate(lm.load(run=run, groups=groups), [lm.ABR(by="g", user=r.attention)]).mean()["value"][0]
    assert ratio == pytest.approx(r.weight[1])


HEAD = "query,doc,rank,clicked\nq,a,1,1\n"
BAD = [
    (HEAD + "q,b,2,2\n", "log.csv:3, column 'clicked': clicked is 2. Accepted: 1 for a click"),
    (HEAD + "q,b,2,yes\n", "log.csv:3, column 'clicked': the clicked 'yes' is not a finite number"),
    (HEAD + "q,b,2,0.5\n", "log.csv:3, column 'clicked': clicked is 0.5"),
    (HEAD + "q,b,2,\n", "log.csv:3, column 'clicked': the clicked is missing"),
    (HEAD + "q,b,0,1\n", "log.csv:3, column 'rank': the rank is 0"),
    (HEAD + "q,b,-1,1\n", "log.csv:3, column 'rank': the rank is -1"),
    (HEAD + "\nq,b,1.5,1\n", "log.csv:4, column 'rank': the rank is 1.5. Accepted: whole numbers"),
    (HEAD + "q,,2,1\n", "log.csv:3, column 'doc': the document id is missing"),
    ("query,doc,rank,clicked,weight\nq,a,1,1,-2\n", "log.csv:2, column 'weight': the weight -2 is below 0"),
    ("query,doc,rank,clicked,weight\nq,a,1,1,0\n", "column 'weight': all weights are 0"),
    ("query,doc,position,clicked\nq,a,1,1\n", "log.csv:1: no column 'rank'; the columns are 'query', 'doc'"),
    ("query,doc,rank,clicked\n", "no rows"),
    ("", "empty"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message[-30:] for _, message in BAD])
def test_what_is_no_click_log_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(lm.InputError) as error:
        lm.estimate_attention(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_frame_names_the_row() -> None:
    frame = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 2], "clicked": [1, 3]})
    with pytest.raises(lm.InputError, match="row 1, column 'clicked': clicked is 3"):
        lm.estimate_attention(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pair"}, "Did you mean 'pairs'"),
        ({"reference": 0}, "reference is 0"),
        ({"reference": 9, "depth": 4}, "below the depth 4"),
        ({"depth": 0}, "depth is 0"),
        ({"depth": 2.5}, "depth is 2.5"),
        ({"depth": "all"}, "depth is 'all'. Accepted: a whole number"),
        ({"rng": -1}, "rng is -1"),
        ({"rng": "x"}, "rng is 'x'"),
        ({"level": 1.0}, "level is 1.0"),
        ({"resamples": 1}, "resamples is 1"),
        ({"min_shown": 0}, "min_shown is 0"),
        ({"columns": {"score": "x"}}, "no 'score'"),
    ],
)
def test_options_are_checked(log: pl.DataFrame, options: dict, message: str) -> None:
    with pytest.raises(lm.LightmeterError, match=message):
        lm.estimate_attention(log, **options)
