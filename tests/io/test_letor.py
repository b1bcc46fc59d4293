"""Learning-to-rank files: what is read, and mistakes with their line."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from lightmeter.errors import InputError
from lightmeter.io import letor
from lightmeter.io.letor import read_letor

GOOD = "# a note\n2 qid:7 1:0.5 3:1e1 # docid = a inc = 1\n\n0 qid:7 3:-1 2:4 # docid = b\n1\tqid:9  # docid = a\n"


def written(folder: Path, text: str, name: str = "data.svm") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_form(tmp_path):
    """Blank lines, notes, tabs, features in any order; docids from comments, the same one in two queries."""
    table = read_letor(written(tmp_path, GOOD))
    assert table.features.tolist() == [[0.5, 0, 10], [0, 4, -1], [0, 0, 0]]
    assert table.features.dtype == np.float32
    assert table.feature_ids.tolist() == [1, 2, 3]
    assert table.grade.tolist() == [2, 0, 1]
    assert (table.queries, table.sizes.tolist(), table.docs.to_list()) == (["7", "9"], [2, 1], ["a", "b", "a"])


def test_names_and_feature_zero(tmp_path):
    """Documents are named by query and place where a docid is missing; feature 0 counts."""
    text = "1 qid:q 0:2 # docid = a\n0 qid:q 1:3\n"
    table = read_letor(written(tmp_path, text))
    assert table.docs.to_list() == ["q.1", "q.2"]
    assert table.feature_ids.tolist() == [0, 1]
    assert table.features.tolist() == [[2, 0], [0, 3]]


def test_sizes(tmp_path):
    """Queries by sizes: named, or the file beside it."""
    path = written(tmp_path, "1 1:1\n0 1:2\n2 1:3\n")
    written(tmp_path, "2\n1\n", "data.svm.query")
    other = written(tmp_path, "1\n\n2\n", "other")
    assert read_letor(path).sizes.tolist() == [2, 1]
    table = read_letor(path, other)
    assert table.sizes.tolist() == [1, 2]
    assert table.docs.to_list() == ["1.1", "2.1", "2.2"]


def test_pieces_and_compression(tmp_path, monkeypatch):
    """However the file is cut; CRLF, a byte-order mark, no end of line, gzip."""
    random.seed(1)
    lines = [f"{i % 5} qid:{i // 7} " + " ".join(f"{j}:{random.random():.4f}" for j in range(1, 9)) for i in range(60)]
    whole = read_letor(written(tmp_path, "\n".join(lines)))
    path = tmp_path / "odd.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + "\r\n".join(lines).encode()))
    for size in (64, 500, 1 << 24):
        monkeypatch.setattr(letor, "_PIECE", size)
        found = read_letor(path)
        assert (found.features == whole.features).all()
        assert (found.queries, found.docs.to_list()) == (whole.queries, whole.docs.to_list())
        assert found.grade.tolist() == whole.grade.tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 qid:1 1:1\nx qid:1 1:1\n", "data.svm:2: the grade is 'x'"),
        ("nan qid:1 1:1\n", "data.svm:1: the grade is 'nan'"),
        ("1 qid:1 1:1\n\n1 qid:1 1:1 2\n", "data.svm:3: found '2'"),
        ("1 qid:1 a:1\n", "data.svm:1: found 'a:1'"),
        ("1 qid:1 -1:1\n", "found '-1:1'"),
        ("1 qid:1 1:2:3\n", "found '1:2:3'"),
        ("1 qid:1 1:nan\n", "feature 1 is nan. Accepted: finite"),
        ("1 qid:1 1:inf\n", "feature 1 is inf"),
        ("1 qid:1 1:1 2:1 1:3\n", "data.svm:1: feature 1 is given twice"),
        ("1 qid:1 1:1\n1 1:1\n", "data.svm:2: qid: is missing"),
        ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", "data.svm:3: query '1' comes again"),
        ("1 qid:1 qid:2 1:1\n", "twice"),
        (
            "1 qid:1 1:1 # docid = a\n0 qid:1 1:2\n\n0 qid:1 1:2 # docid = a\n",
            "data.svm:4: the document 'a' comes again in query '1', first in line 1. Accepted: each docid once",
        ),
        ("1 1:1\n", "--sizes"),
        ("# nothing\n", "no documents"),
        ("", "no documents"),
        ("1 qid:1 999999999999:1\n", "GiB"),
    ],
)
def test_mistakes(tmp_path, text, said):
    with pytest.raises(InputError, match=r".") as raised:
        read_letor(written(tmp_path, text))
    assert said in str(raised.value)


def test_mistakes_of_sizes_and_bytes(tmp_path):
    path = written(tmp_path, "1 1:1\n0 1:2\n")
    with pytest.raises(InputError, match=r"add up to 3, and .* has 2 documents"):
        read_letor(path, written(tmp_path, "3\n", "sizes"))
    with pytest.raises(InputError, match="sizes:2: found 'x'"):
        read_letor(path, written(tmp_path, "1\nx\n", "sizes"))
    with pytest.raises(InputError, match="one of the two"):
        read_letor(written(tmp_path, GOOD, "qid.svm"), written(tmp_path, "2\n1\n", "sizes"))
    with pytest.raises(InputError, match="no such file"):
        read_letor(path, tmp_path / "none")
    (tmp_path / "bytes.svm").write_bytes(b"1 qid:1 1:1\n1 qid:\xff 1:1\n")
    with pytest.raises(InputError, match=r"bytes.svm:2: the line is not valid UTF-8"):
        read_letor(tmp_path / "bytes.svm")


def test_real_file(shared_data):
    """LightGBM's example: 201 queries of 3,005 documents, queries by sizes."""
    table = read_letor(shared_data / "ltr" / "rank.train")
    assert (len(table.queries), len(table.grade), table.features.shape[1]) == (201, 3005, 300)
    assert sorted(set(table.grade.tolist())) == [0, 1, 2, 3, 4]
    assert table.sizes[:2].tolist() == [1, 13]
