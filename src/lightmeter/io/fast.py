"""Clean TREC runs, read by Arrow: fields separated by exactly one space or one tab.

There is a way for plain files, which Arrow reads by itself while a census of the bytes proves that there was nothing
out of the ordinary; and one for compressed files and those with blank lines, carriage returns or letters beyond ASCII,
whose bytes
are looked at on their way to Arrow. Both return None where the exact reader has to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .tables import Source
from .text import BOM, Odd, Scan, broken, head_lines, line_finder, sysdesc_lines
from .trec import TrecRows

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = TypeVar("Scalar", np.int32, np.float64)
_COLUMNS = ("query", "second", "doc", "rank", "score", "tag")
_PIECE = 1 << 20


def fast_run(path: str) -> TrecRows | None:
    """Read a clean TREC run with Arrow, or return None when it is not clean."""
    first = head_lines(path)
    skip = sysdesc_lines(first)
    start = next((i for i in range(skip, len(first)) if first[i].strip(" \t\r")), None)
    if start is None:
        return None
    delimiter = "\t" if "\t" in first[start] else " "
    n = len(first[start].rstrip("\r").split(delimiter))
    if n not in (5, 6):
        return None
    if any("\ufffd" in line for line in first[:skip]):
        return None
    read = _plain(path, delimiter, n) if start == 0 and _looks_plain(first, delimiter, n) else None
    if read is None:
        read = _watched(path, _skipped_bytes(path, first[:skip]), delimiter, n)
    if read is None:
        return None
    columns, blank = read
    del read
    columns = columns.unify_dictionaries()
    queries, query = _codes(columns.column("query"))
    seconds, second = _codes(columns.column("second"))
    score = _joined(columns.column("score"), np.float64)
    doc = columns.column("doc")
    rows = columns.num_rows
    del columns
    _release()
    docs = _strings(doc)
    del doc
    _release()
    # two separators in a row are refused before, so only the first and the last field can be empty
    if not rows or "" in queries or not np.isfinite([score.min(), score.max()]).all():
        return None
    ignored = {"SYSDESC lines": skip, "blank lines": blank}
    source = Source(path, (path,), line_finder(path, skip))
    return TrecRows(queries, query, seconds, second, docs, score, source, {k: n for k, n in ignored.items() if n})


# Plain files


def _looks_plain(lines: list[str], delimiter: str, n: int) -> bool:
    """Whether the first lines have nothing that the census would object to, so that it is worth trying."""
    for line in lines[:100]:
        fields = line.split(delimiter)
        if len(fields) != n or not line.isascii() or not fields[3].isdigit() or min(line) < " " != delimiter:
            return delimiter == "\t" and len(fields) == n and line.isascii() and fields[3].isdigit()
    return True


def _plain(path: str, delimiter: str, n: int) -> tuple[pa.Table, int] | None:
    """Let Arrow read the file by itself; None unless it consists of ASCII, one separator between fields, and nothing
    else
    below the letters.

    Arrow has seen n - 1 separators and an end in every line. If no more bytes than these are at or below the space (or
    beyond ASCII), there
    are no blank lines, carriage returns, other blanks or control characters. A separator too many in one place could
    make up for
    a missing field elsewhere in the line, but then a field is empty: the rank, which then is no number, or one that
    is looked at.
    """
    if path.endswith((".gz", ".zst")) or not _is_text(path):
        return None
    table = _arrow(path, delimiter, n, {"rank": "int32"})
    if table is None or _census(path) != table.num_rows * n - _open_end(path):
        return None
    if "" in _names(table.column("second")) or _shortest(table.column("doc")) == 0:
        return None
    return table.drop_columns(["rank"]), 0


def _is_text(path: str) -> bool:
    with open(path, "rb") as stream:
        head = stream.read(4)
    return not head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", BOM))


def _census(path: str) -> int:
    """Number of bytes at or below the space, or beyond ASCII."""
    import mmap

    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # beyond ASCII a signed byte is negative
        signed = np.frombuffer(data, np.int8)
        total = 0
        below = np.empty(_PIECE, dtype=bool)
        for at in range(0, len(signed), _PIECE):
            piece = signed[at : at + _PIECE]
            total += int(np.count_nonzero(np.less_equal(piece, 32, out=below[: len(piece)])))
        del signed, piece
    return total


def _open_end(path: str) -> int:
    """1 where the last line has no end, else 0."""
    with open(path, "rb") as stream:
        stream.seek(-1, 2)
        return int(stream.read(1) != b"\n")


def _shortest(column: pa.ChunkedArray) -> int:
    """Bytes of the shortest string."""
    least = 1 << 30
    for chunk in column.chunks:
        if len(chunk):
            ends = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            least = min(least, int((ends[1:] - ends[:-1]).min()))
    return least


# Other files


def _skipped_bytes(path: str, head: list[str]) -> int:
    with_mark = Scan(path)
    try:
        mark = len(BOM) if with_mark.read(3) == BOM else 0
    except Odd:
        mark = 0
    finally:
        with_mark.close()
    return mark + sum(len(line.encode()) + 1 for line in head)


def _watched(path: str, skip: int, delimiter: str, n: int) -> tuple[pa.Table, int] | None:
    """Look at every byte on its way to Arrow; None as soon as one is out of the ordinary."""
    import pyarrow as pa

    other = b" " if delimiter == "\t" else b"\t"
    scan = Scan(path, skip, blanks=other, single=ord(delimiter))
    try:
        table = _arrow(pa.PythonFile(scan, mode="r"), delimiter, n, {})
    except Odd:
        return None
    except OSError as error:
        raise broken(path, error) from None
    finally:
        scan.close()
    return None if table is None else (table, scan.lines - table.num_rows)


# Arrow's columns


def _arrow(source: Any, delimiter: str, n: int, more: dict[str, str]) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.csv as csv

    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"query": coded, "second": coded, "doc": pa.string(), "score": pa.float64()}
    types |= {name: pa.type_for_alias(kind) for name, kind in more.items()}
    try:
        return csv.read_csv(
            source,
            read_options=csv.ReadOptions(column_names=_COLUMNS[:n], block_size=1 << 23),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char=False, double_quote=False, escape_char=False
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None


def _names(column: pa.ChunkedArray) -> set[str]:
    """Every value of a coded column, whose chunks may still have codes of their own."""
    return {name for chunk in column.chunks for name in chunk.dictionary.to_pylist()}


def _codes(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.int32]]:
    names: list[str] = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    if len(names) == 1:
        return names, np.zeros(len(column), np.int32)
    return names, _joined(column, np.int32)


def _joined(column: pa.ChunkedArray, dtype: type[Scalar]) -> NDArray[Scalar]:
    """The numbers (or dictionary codes) of a column without nulls, copied once; Arrow's own conversion would load
    pandas.
    """
    whole = np.empty(len(column), dtype)
    at = 0
    for chunk in column.chunks:
        values = getattr(chunk, "indices", chunk)
        data = np.frombuffer(values.buffers()[1], dtype)
        whole[at : at + len(values)] = data[values.offset : values.offset + len(values)]
        at += len(values)
    return whole


class _Stream:
    """Arrow's column behind the plain stream interface: handed over as it is, polars would load Arrow's functions."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._column.__arrow_c_stream__(requested_schema)


def _strings(column: pa.ChunkedArray) -> pl.Series:
    return pl.Series("doc", _Stream(column))


def _release() -> None:
    """Give memory that Arrow no longer needs back to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
