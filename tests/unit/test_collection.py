"""Collections: repeats, queries in pieces, attributes of several tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.data.judgments import Judgments

TREC = """q1 Q0 a 1 3.0 t
q2 Q0 a 1 9.0 t
q1 Q0 b 2 2.0 t
q2 Q0 c 2 8.0 t
q1 Q0 c 3 1.0 t
"""


def test_duplicate_documents_name_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a 1 3 t\n\nq1 Q0 b 2 2 t\nq1 Q0 a 3 1 t\n")
    with pytest.raises(lm.InputError, match=r"run.txt:4: document 'a' stands twice.*first in line 1") as caught:
        lm.load(run=str(path))
    assert caught.value.line == 4
    with pytest.raises(lm.InputError, match=r"row 2: document 'a' stands twice.*first in row 0"):
        lm.load(run=pl.DataFrame({"query": ["q"] * 3, "doc": ["a", "b", "a"], "score": [3, 2, 1]}))


def test_duplicates_in_pieces(tmp_path: Path) -> None:
    """Lines are those of the file, also where queries do not stand together."""
    path = tmp_path / "run.txt"
    path.write_text(TREC + "q2 Q0 d 3 7.0 t\nq1 Q0 b 4 0.5 t\n")
    with pytest.raises(lm.InputError, match=r"run.txt:7: document 'b' stands twice.*first in line 3"):
        lm.load(run=str(path))


def test_same_document_in_several_queries_and_samples() -> None:
    c = lm.load(run={"q1": ["a", "b"], "q2": ["a"]})
    assert len(c.runs["run"]) == 3
    frame = pl.DataFrame(
        {"query": ["q"] * 4, "doc": ["a", "b", "b", "a"], "score": [2, 1, 2, 1], "sample": [1, 1, 2, 2]}
    )
    assert lm.load(run=frame).runs["run"].offsets.tolist() == [0, 2, 4]
    with pytest.raises(lm.InputError, match="stands twice in one ranking"):
        lm.load(run=frame.with_columns(doc=pl.Series(["a", "b", "b", "b"])))


def test_queries_in_pieces(tmp_path: Path) -> None:
    """A run whose queries do not stand together is the run that has them in order."""
    path, ordered = tmp_path / "run.txt", tmp_path / "ordered.txt"
    path.write_text(TREC)
    ordered.write_text("".join(sorted(TREC.splitlines(keepends=True))))
    qrels = {"q1": {"b": 2, "c": 1}, "q2": {"c": 1, "a": 0}}
    groups = {"g": {"a": "x", "b": "y", "c": "y"}}
    measures = [lm.nDCG(), lm.AP(), lm.EED(), lm.EEL(), lm.AWRF(by="g"), lm.MeanScore(by="g")]
    one, two = (lm.evaluate(lm.load(run=str(p), qrels=qrels, groups=groups), measures) for p in (path, ordered))
    for a, b in zip(one.cells, two.cells, strict=True):
        np.testing.assert_array_equal(a.values.value, b.values.value)
    assert one.cells[1].values.value.tolist() == [pytest.approx((1 / 2 + 2 / 3) / 2), 0.5]


def test_samples_in_pieces() -> None:
    """Samples whose rows are mixed, with weights."""
    rows = [
        ("q", "a", 2.0, "s1", 1.0),
        ("q", "b", 2.0, "s2", 3.0),
        ("p", "a", 1.0, "s1", 1.0),
        ("q", "b", 1.0, "s1", 1.0),
        ("q", "a", 1.0, "s2", 3.0),
    ]
    run = pl.DataFrame(rows, schema=["query", "doc", "score", "sample", "weight"], orient="row")
    c = lm.load(run=run, qrels={"q": {"a": 1}, "p": {"a": 1}})
    value = lm.evaluate(c, [lm.RR()]).cells[0].values.value
    assert value.tolist() == [0.25 * 1 + 0.75 * 0.5, 1.0]
    with pytest.raises(lm.InputError, match="weight 5 in a ranking whose first row has 1"):
        lm.load(run=run.with_columns(weight=pl.Series([1.0, 3, 1, 5, 3])))
    with pytest.raises(lm.InputError, match="weight"):
        lm.load(run=run.with_columns(weight=pl.Series([-1.0, 3, 1, -1, 3])))


def test_what_counts() -> None:
    """Judged queries count, answered or not; without judgments those that a run answers."""
    c = lm.load(run={"b": ["x"], "extra": ["x"]}, qrels={"a": {"x": 1}, "b": {"x": 0}})
    assert [c.queries[i] for i in c.evaluated] == ["b", "a"]
    assert c.ignored["run: queries without judgments"] == 1
    c = lm.load(run={"one": {"b": ["x"]}, "two": {"a": ["x"]}})
    assert [c.queries[i] for i in c.evaluated] == ["b", "a"]
    with pytest.raises(lm.InputError, match="no query in common"):
        lm.load(run={"a": ["x"]}, qrels={"b": {"x": 1}})


def test_judgments() -> None:
    c = lm.load(run={"q": ["a"]}, qrels={"q": {"a": -2, "b": 1.5, "c": 3}, "r": {"a": 0}})
    j = c.judgments
    assert isinstance(j, Judgments)
    assert j.grade.tolist() == [-2, 1.5, 3, 0]
    assert j.gain.tolist() == [0, 1.5, 3, 0]
    assert j.descending.tolist() == [3, 1.5, 0, 0]
    assert j.max_grade == 3
    assert j.judged.tolist() == [3, 1]
    assert j.relevant(1).tolist() == [2, 0]
    assert j.relevant(2).tolist() == [1, 0]


def table(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [2.0, 1.0], **columns})


def test_attributes_of_columns() -> None:
    """A column of the runs' own tables is an attribute; the tables of several runs make one."""
    one = table(g=["x", None])
    two = table(g=["y", "z"]).with_columns(doc=pl.Series(["b", "c"]))
    c = lm.load(run={"one": one, "two": two})
    attribute = c.attribute("g")
    assert attribute.values == ("x", "y", "z")
    r = lm.evaluate(c, [lm.Count(by="g")])
    assert [cell.values.value[0] for cell in r.cells if cell.run == "one"] == [1, 1, 0, 0]
    assert [cell.values.value[0] for cell in r.cells if cell.run == "two"] == [0, 1, 1, 0]
    with pytest.raises(lm.LightmeterError, match=r"no attribute 'gg'. Did you mean 'g'"):
        c.attribute("gg")


def test_attributes_of_columns_that_disagree() -> None:
    c = lm.load(run={"one": table(g=["x", "y"]), "two": table(g=["x", "z"])})
    with pytest.raises(lm.InputError, match="different values of 'g'"):
        c.attribute("g")
    by_query = pl.DataFrame({"query": ["q", "r"], "doc": ["a", "a"], "score": [1.0, 1.0], "g": ["x", "y"]})
    c = lm.load(run={"one": by_query, "two": table(g=["x", "y"])})
    with pytest.raises(lm.InputError, match="depends on the query"):
        c.attribute("g")


def test_attributes_of_columns_by_query() -> None:
    """A document with different values in two queries has its value by query."""
    run = pl.DataFrame({"query": ["q", "r"], "doc": ["a", "a"], "score": [1.0, 1.0], "g": ["x", "y"]})
    r = lm.evaluate(lm.load(run=run), [lm.Count(by="g")])
    assert [cell.values.value.tolist() for cell in r.cells] == [[1, 0], [0, 1], [0, 0]]


def test_attributes_in_order_of_columns() -> None:
    c = lm.load(run={"one": table(g=["lo", "hi"]), "two": table(g=["lo", "hi"])}, ordinal={"g": ["lo", "mid", "hi"]})
    assert c.attribute("g").values == ("lo", "mid", "hi")
    assert c.attribute("g").ordinal


def test_no_groups_at_all() -> None:
    c = lm.load(run={"q": ["a"]})
    with pytest.raises(lm.LightmeterError, match="needs group memberships"):
        lm.evaluate(c, [lm.Count(by="g")])


def test_grades_of_columns() -> None:
    c = lm.load(run=table(grade=[0, 2]))
    assert lm.evaluate(c, [lm.RR()]).cells[0].values.value.tolist() == [0.5]


def test_asking_for_an_attribute_changes_nothing() -> None:
    run = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [2.0, 1.0], "shop": ["x", "y"]})
    c = lm.load(run=run, groups={"g": {"a": "f", "b": "m"}})
    before = dict(c.attributes)
    both = c.attribute("g & shop")
    assert both.values == ("f & x", "m & y")
    assert c.attribute(("g", "shop")) is both
    assert dict(c.attributes) == before
    assert list(c.attributes) == ["g"]
