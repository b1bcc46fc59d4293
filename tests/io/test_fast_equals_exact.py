"""The fast path must give what the exact path gives, bit for bit, or step aside."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightmeter.errors import InputError
from lightmeter.io.arrow import census
from lightmeter.io.runs import TrecRows, fast_run, trec_file

ids = st.text(alphabet="ab01Zé漢_\"',;|#\x0b\u00a0", min_size=1, max_size=14)
plain_scores = st.floats(allow_nan=False, allow_infinity=False).map(repr)
scores = plain_scores | st.sampled_from(
    [
        "1e5",
        "+3",
        "-0",
        "0",
        "1.",
        ".5",
        "+.5",
        "-.5E+3",
        "1e-999",
        "4.9e-324",
        "00012",
        "1E+05",
        "12345678901234567890",
        "0.1000000000000000055511151231257827021181583404541015625",
        "9007199254740993",
        "2.2250738585072011e-308",
    ]
)
bad_scores = st.sampled_from(
    ["nan", "inf", "-inf", "Infinity", "0x10", "1e999", "1_0", "1,5", "1e", "--1", "+-3", "e5", "1d5", "٣"]
)


@st.composite
def run_bytes(draw: st.DrawFn, messy: bool) -> bytes:
    separator = draw(st.sampled_from([" ", "\t"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    width = draw(st.sampled_from([5, 6]))
    queries = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    seconds = draw(st.lists(ids, min_size=1, max_size=3))
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        score = draw(scores | bad_scores if messy and draw(st.integers(0, 5)) == 0 else scores)
        cells = [draw(st.sampled_from(queries)), draw(st.sampled_from(seconds)), draw(ids), draw(ids), score, "tag"][
            :width
        ]
        glue = draw(st.sampled_from([separator] * 4 + ["  ", "\t ", " \t", "\t\t", " ", "\t"])) if messy else separator
        line = glue.join(cells)
        if messy:
            line = (
                draw(st.sampled_from(["", "", "", " ", "\t"]))
                + line
                + draw(st.sampled_from(["", "", "", " ", "\t ", "\r", " more"]))
            )
            if draw(st.integers(0, 15)) == 0:
                line = " ".join(cells[: draw(st.integers(1, 4))])
        lines.append(line + (draw(st.sampled_from(["\n", "\r\n"])) if messy else end))
        if draw(st.integers(0, 6)) == 0:
            lines.append(draw(st.sampled_from(["\n", "  \n", "\r\n", "\t\n"])) if messy else end)
    text = draw(
        st.sampled_from(["", "", "<SYSDESC>what it does é</SYSDESC>\n", "<SYSDESC>a\nb</SYSDESC>\r\n"])
    ) + "".join(lines)
    data = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()
    if messy and draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from([b"\xff", b"\r", b"\0", b"\xc3"])) + data[at:]
    return data[:-1] if draw(st.booleans()) else data


def outcome(path: Path, exact: bool) -> TrecRows | str:
    try:
        return trec_file(str(path), exact=exact)
    except InputError as error:
        return str(error)


def check_same(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.write_bytes(data)
        fast, exact = outcome(path, False), outcome(path, True)
        if isinstance(fast, str) or isinstance(exact, str):
            assert fast == exact
            return
        assert fast.queries == exact.queries
        assert fast.seconds == exact.seconds
        assert fast.query.dtype == exact.query.dtype == np.int32
        assert fast.query.tolist() == exact.query.tolist()
        assert fast.second.tolist() == exact.second.tolist()
        assert fast.doc.to_list() == exact.doc.to_list()
        assert fast.score.view(np.int64).tolist() == exact.score.view(np.int64).tolist()
        assert fast.ignored == exact.ignored
        for row in range(len(fast.score)):
            assert fast.source.place(row) == exact.source.place(row)


@given(run_bytes(messy=False))
def test_clean_files(data: bytes) -> None:
    check_same(data)


@given(run_bytes(messy=True))
def test_messy_files(data: bytes) -> None:
    check_same(data)


@given(st.lists(scores, min_size=1, max_size=30))
def test_scores_are_correctly_rounded(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.write_text("".join(f"q Q0 d{i} 1 {text} t\n" for i, text in enumerate(texts)), encoding="utf-8")
        wanted = np.array([float(text) for text in texts]).view(np.int64).tolist()
        for exact in (False, True):
            assert trec_file(str(path), exact=exact).score.view(np.int64).tolist() == wanted


def clean(rows: int) -> bytes:
    return b"".join(b"q%d Q0 doc-%d %d %.6f t\n" % (i // 100, i, i % 100, -i / 7) for i in range(rows))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_clean_file_takes_the_fast_path_over_many_blocks(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "run"
    path.write_bytes(pack(clean(300_000)))
    fast = fast_run(str(path))
    assert fast is not None
    exact = trec_file(str(path), exact=True)
    assert fast.queries == exact.queries
    assert (fast.query == exact.query).all()
    assert fast.doc.equals(exact.doc)
    assert (fast.score.view(np.int64) == exact.score.view(np.int64)).all()


@pytest.mark.parametrize("spoil", [b"  ", b" \t", b"\r", b"\0", b"\xff", b"\n\n"])
@pytest.mark.parametrize("at", [(1 << 18) - 1, 1 << 18, (1 << 23) - 1, 1 << 23])
def test_odd_bytes_are_seen_at_the_edges_of_pieces_and_blocks(tmp_path: Path, spoil: bytes, at: int) -> None:
    data = clean(300_000)
    path = tmp_path / "run"
    path.write_bytes(data[: at - 1] + spoil + data[at - 1 + len(spoil) :])
    fast, exact = outcome(path, False), outcome(path, True)
    if isinstance(fast, str) or isinstance(exact, str):
        assert fast == exact
    else:
        assert fast.doc.equals(exact.doc)
        assert fast.ignored == exact.ignored


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_crlf_and_blank_lines_stay_on_the_fast_path(tmp_path: Path, end: str) -> None:
    path = tmp_path / "run"
    path.write_bytes(f"<SYSDESC>x</SYSDESC>{end}q 0 a 1 2.5 t{end}{end}q 0 b 2 1.5 t{end}".encode())
    fast = fast_run(str(path))
    assert fast is not None
    assert fast.doc.to_list() == ["a", "b"]
    assert fast.ignored == {"SYSDESC lines": 1, "blank lines": 1}
    assert fast.source.place(1) == {"where": str(path), "line": 4}


@pytest.mark.parametrize(("text", "small"), [("abc  d\n", None), ("abc d\n", 2), ("ab\n\nc\n", None), (" abc\n", None)])
def test_neighbours_are_seen_across_pieces(tmp_path, text, small):
    """Two separators side by side are an empty field, also where one piece ends and the next begins."""
    (tmp_path / "run").write_text(text, "utf-8")
    for piece in (1, 2, 3, 4, 64):
        assert census(str(tmp_path / "run"), piece) == small
