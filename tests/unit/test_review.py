"""What a review found, so that it stays found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.errors import InputError
from lightmeter.io.runs import trec_file

PLAIN = [f"q Q0 d{i} {i + 1} {200 - i}.5 t" for i in range(150)]


@pytest.mark.parametrize(
    "odd",
    [
        "q Q0  7 1 2.5",  # five fields; split at every blank it has six, an empty document among them
        "q  d1 7 1 2.5",
        "q Q0 x  2.5 t",
        "q Q0 x\t7 2.5 t",
        "q Q0 x 7 2.5 t\r",
        "q Q0 \u00e9 7 2.5 t",
        "q Q0 x 7  2.5 t",
        "",
        "q Q1 x 7 2.5 t",
        "q Q0 x\x0b 7 2.5 t",
    ],
)
def test_oddity_deep_in_a_plain_file(tmp_path: Path, odd: str) -> None:
    """Far below the lines that decide the way of reading, an odd line gives what the exact reader gives."""
    path = tmp_path / "run"
    path.write_bytes("\n".join([*PLAIN[:130], odd, *PLAIN[130:], ""]).encode())

    def read(exact: bool) -> object:
        try:
            rows = trec_file(str(path), exact=exact)
        except InputError as error:
            return str(error)
        second = [rows.seconds[i] for i in rows.second]
        return rows.queries, rows.query.tolist(), second, rows.doc.to_list(), rows.score.tolist(), rows.ignored

    assert read(False) == read(True)


def test_similarities_below_zero() -> None:
    """A query that is not answered counts the lowest similarity there is."""
    c = lm.load(
        run={"q1": ["d1"]},
        qrels={"q1": {"d1": 1}, "q2": {"d1": 1}},
        groups={"g": {"d1": "lo", "d2": "mid", "d3": "hi"}},
        targets={"g": {"lo": 0.0, "mid": 0.0, "hi": 1.0}},
        ordinal={"g": ["lo", "mid", "hi"]},
    )
    measures = [m(by="g", div=d()) for m in (lm.AWRF, lm.GF) for d in (lm.W1, lm.SqL2, lm.JSD, lm.KL)]
    values = [x.values.value[1] for x in lm.evaluate(c, measures).cells]
    np.testing.assert_allclose(values, [-1, -1, 0, np.nan, -1, -1, 0, np.nan])


def test_rbp_looks_deep() -> None:
    """The 40th rank of 60 with p = .8: .2 * .8^39."""
    docs = [f"d{i:02}" for i in range(60)]
    c = lm.load(run={"q": docs}, qrels={"q": {"d39": 1}})
    value = lm.evaluate(c, ["RBP(p=0.8)"]).cells[0].values.value[0]
    assert value == pytest.approx(0.2 * 0.8**39, rel=1e-12)


def test_groups_given_win_over_columns() -> None:
    import polars as pl

    frame = pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0], "g": ["column"]})
    c = lm.load(run=frame, groups={"g": {"a": "file"}}, attributes=["g"])
    assert c.attribute("g").values == ("file",)
    assert any("the groups given are used" in n for n in c.notes)


def test_targets_of_nothing() -> None:
    with pytest.raises(lm.LightmeterError, match=r"'gendre', which is in no groups\. Did you mean 'gender'"):
        lm.load(run={"q": ["a"]}, groups={"gender": {"a": "f"}}, targets={"gendre": {"f": 1.0}})
