"""A reader is a form: one description reads lines of fields, tables and frames, and says where the first fault is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from lightmeter.errors import InputError
from lightmeter.io.forms import Column, Form, check
from lightmeter.io.judgments import read_intents
from lightmeter.io.tables import Source, Table
from lightmeter.io.tabular import read

PRICES = Form(
    "lines 'shop doc price' or 'doc price', or a table with doc, price and perhaps shop",
    (Column("doc"), Column("price", "number", least=0.0), Column("shop", "text", required=False)),
    lines=(("shop", "doc", "price"), ("doc", "price")),
    keys=("doc",),
    values=("price",),
    what="prices",
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.txt", "a 1.5\n\n  b\t2\na 1.5\n"),
        ("p.txt", "s a 1.5\ns b 2\ns a 1.5\n"),
        ("p.csv", "price,doc\n1.5,a\n2,b\n1.5,a\n"),
        ("p.tsv", "item\tprice\na\t1.5\nb\t2\na\t1.5\n"),
        ("p.jsonl", '{"doc": "a", "price": 1.5}\n{"doc": "b", "price": 2}\n{"doc": "a", "price": 1.5}\n'),
    ],
)
def test_one_form_reads_every_format(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    table = read(tmp_path / name, PRICES, columns={"doc": "item"})
    assert table.frame.select("doc", "price").rows() == [("a", 1.5), ("b", 2.0)]
    assert table.ignored["repeated rows"] == 1
    assert read(pl.read_csv(b"doc,price\na,1.5\nb,2\n"), PRICES).frame.rows() == [("a", 1.5), ("b", 2.0)]


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("p.txt", "a 1\nb -2\n", 2, "the price -2 is below 0"),
        ("p.txt", "a 1\nb x\n", 2, "the price 'x' is not a finite number"),
        ("p.txt", "a 1\ns b 2\n", 2, "3 fields in a file whose first line has 2"),
        ("p.txt", "a 1\nb 2\na 3\n", 3, "doc 'a' has price 3 here and 1 at line 1"),
        ("p.csv", "doc,price\na,1\n,2\n", 3, "column 'doc': the document id is missing"),
        ("p.csv", "doc,cost\na,1\n", 1, "no column 'price'"),
        ("none", None, None, "no such file or folder for the prices"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, name: str, text: str | None, line: int | None, words: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name, PRICES)
    assert words in str(caught.value)
    assert caught.value.line == line


def test_rows_stay_rows_of_the_source() -> None:
    """Where repeated rows are dropped, later rows are still known by the lines they stand on."""
    source = Source("f", ("f",), lambda row: ("f", row + 1))
    frame = pl.DataFrame({"doc": ["a", "a", "b"], "price": ["1", "1", "2"]})
    table = check(Table(frame, source), PRICES)
    assert [table.source.place(row)["line"] for row in range(len(table.frame))] == [1, 3]
    assert source.rows([2, 0]).place(0) == {"where": "f", "line": 3}


def test_a_form_of_fewer_columns() -> None:
    assert [(c.name, c.required) for c in PRICES.only("doc", "shop").columns] == [("doc", True), ("shop", True)]


def test_sums_name_a_line_behind_repeated_rows(tmp_path: Path) -> None:
    intents = pl.DataFrame({"query": ["q"], "intent": ["1"], "doc": ["d"], "grade": [1]})
    (tmp_path / "p.txt").write_text("q 1 0.5\nq 1 0.5\nq 2 0.4\n")
    with pytest.raises(InputError, match=r"p.txt:3: the probabilities of query 'q' sum to 0.9"):
        read_intents(intents, tmp_path / "p.txt")
