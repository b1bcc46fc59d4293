"""Files of fields between blanks: TREC runs and judgments, diversity judgments, NTCIREVAL memberships.

Two readers give the same rows. :func:`exact_fields` reads whole lines and finds the fields with one expression; it
knows every line number. :func:`fast_run` lets Arrow read a run whose fields are separated by exactly one space or one
tab, and returns None as soon as anything is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..errors import InputError
from .tables import Source
from .text import BOM, Odd, Scan, broken, head_lines, line_finder, read_lines, row_lines, sysdesc_lines

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = TypeVar("Scalar", np.int32, np.float64)
_BLANK = r"[ \t\r]"
_FIELD = r"[^ \t\r\n]+"


@dataclass(frozen=True)
class Fields:
    """Fields of the data lines: columns ``f0, f1, ..`` (null where a line is shorter than the longest allowed)."""

    frame: pl.DataFrame
    source: Source
    ignored: dict[str, int] = field(default_factory=dict)


def exact_fields(path: str, least: int, most: int, accepted: str, passed: Collection[int] = ()) -> Fields:
    """Read lines of ``least`` to ``most`` fields; the first line with another number of fields is refused.

    Blank lines and first ``<SYSDESC>`` lines are passed over and counted. Fields ``passed`` are not kept.
    """
    lines = read_lines(path)
    total = len(lines)
    skip = sysdesc_lines([line or "" for line in lines.head(1000)])
    rows = row_lines(lines, skip)
    if not len(rows):
        raise InputError(
            "the file has no data lines", where=path, accepted=accepted, hint="Check the program that wrote it"
        )
    if len(rows) < len(lines):
        lines = lines.gather(rows - 1)
    frame = lines.str.extract_groups(_pattern(least, most, passed)).struct.unnest()
    bad = np.flatnonzero(frame["f0"].is_null().to_numpy())
    if bad.size:
        text = str(lines[int(bad[0])])
        n = len(text.split())
        raise InputError(
            f"{n} field{'s' * (n != 1)} in {_short(text)}",
            where=path,
            line=int(rows[bad[0]]),
            accepted=accepted,
            hint=_separator_hint(text),
        )
    ignored = {"SYSDESC lines": skip, "blank lines": total - len(rows) - skip}
    return Fields(
        frame, Source(path, (path,), lambda row: (path, int(rows[row]))), {k: n for k, n in ignored.items() if n}
    )


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _separator_hint(text: str) -> str:
    if "," in text and len(text.split()) < 3:
        return "Fields are separated by spaces or tabs here; a comma-separated table needs a header with column names"
    return "Correct this line"


def _pattern(least: int, most: int, passed: Collection[int]) -> str:
    """A line of ``least`` to ``most`` fields, with a named group for each field that is kept."""
    fields = [_FIELD if i in passed else f"(?<f{i}>{_FIELD})" for i in range(most)]
    must = rf"{_BLANK}+".join(fields[:least])
    may = "".join(rf"(?:{_BLANK}+{one}" for one in fields[least:]) + ")?" * (most - least)
    return rf"^{_BLANK}*{must}{may}{_BLANK}*\n?$"


@dataclass(frozen=True)
class TrecRows:
    """The columns of TREC run lines, queries and column 2 coded; what the fast and the exact reader both give."""

    queries: list[str]
    query: NDArray[np.int32]
    seconds: list[str]
    second: NDArray[np.int32]
    doc: pl.Series
    score: NDArray[np.float64]
    source: Source
    ignored: dict[str, int]


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
    table = _arrow_run(path, _skipped_bytes(path, first[:skip]), delimiter, n)
    if table is None:
        return None
    columns, lines = table
    rows = columns.num_rows
    columns = columns.unify_dictionaries()
    queries, query = _codes(columns.column("query"))
    seconds, second = _codes(columns.column("second"))
    score = _joined(columns.column("score"), np.float64)
    doc = columns.column("doc")
    del columns, table
    _release()
    docs = pl.Series("doc", pl.from_arrow(doc))
    del doc
    _release()
    # two separators in a row are refused by the scan, so only the first and the last field can be empty
    if not rows or "" in queries or not np.isfinite([score.min(), score.max()]).all():
        return None
    ignored = {"SYSDESC lines": skip, "blank lines": lines - rows}
    return TrecRows(
        queries,
        query,
        seconds,
        second,
        docs,
        score,
        Source(path, (path,), line_finder(path, skip)),
        {k: n for k, n in ignored.items() if n},
    )


def _skipped_bytes(path: str, head: list[str]) -> int:
    with_mark = Scan(path)
    try:
        mark = len(BOM) if with_mark.read(3) == BOM else 0
    except Odd:
        mark = 0
    finally:
        with_mark.close()
    return mark + sum(len(line.encode()) + 1 for line in head)


def _arrow_run(path: str, skip: int, delimiter: str, n: int) -> tuple[pa.Table, int] | None:
    import pyarrow as pa
    import pyarrow.csv as csv

    other = b" " if delimiter == "\t" else b"\t"
    scan = Scan(path, skip, blanks=other, single=ord(delimiter))
    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"query": coded, "second": coded, "doc": pa.string(), "score": pa.float64()}
    try:
        table = csv.read_csv(
            pa.PythonFile(scan, mode="r"),
            read_options=csv.ReadOptions(
                column_names=["query", "second", "doc", "rank", "score", "tag"][:n], block_size=1 << 23
            ),
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
    except (Odd, pa.ArrowInvalid):
        return None
    except OSError as error:
        raise broken(path, error) from None
    finally:
        scan.close()
    return table, scan.lines


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


def _release() -> None:
    """Give memory that Arrow no longer needs back to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
