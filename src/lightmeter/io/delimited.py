"""CSV and TSV tables with a header line: every cell as text, every row with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import Source, Table
from lightmeter.io.text import BOM, Odd, Scan, broken, check_text, head_lines, read_bytes

_BLOCK = 1 << 23


def read_delimited(path: str, delimiter: str) -> Table:
    """Read a table with a header. Empty cells are null; blanks around names and cells are removed and counted.

    Columns without a name are left out and counted. Rows shorter or longer than the header are refused.
    """
    import pyarrow as pa

    names = header(path, delimiter)
    kept = [name for name in names if name]
    if not kept:
        raise InputError(
            "the header has no column names", where=path, line=1, accepted="a first line with the names of the columns"
        )
    check_names(kept, path)
    try:
        frame, blank = _fast(path, delimiter, names)
    except OSError as error:
        raise broken(path, error) from None
    except (Odd, pa.ArrowInvalid) as error:
        raise _explain(path, delimiter, len(names), error) from None
    if not len(frame):
        raise InputError(
            f"the table has a header ({', '.join(kept[:8])}) but no rows",
            where=path,
            accepted="at least one row below the header",
        )
    frame, padded = _strip(frame)
    ignored = {"blank lines": blank, "columns without a name": len(names) - len(kept), "blanks around cells": padded}
    return Table(frame, Source(path, (path,), lambda row: (path, _line_of(path, delimiter, row))), add_counts(ignored))


def check_names(names: list[str], path: str) -> None:
    """Refuse a name that several columns have."""
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InputError(
            f"several columns are named {twice!r}",
            where=path,
            line=1,
            accepted="one column for each name",
            hint="Rename one of them",
        )


def header(path: str, delimiter: str) -> list[str]:
    """The names in the first line that is not blank, without blanks around them."""
    lines = head_lines(path, 1 << 20)
    row = next((i for i, line in enumerate(lines) if line.strip(" \t\r")), None)
    if row is None:
        raise InputError("the file has only blank lines", where=path, accepted="a table with a header")
    line = lines[row].rstrip("\r")
    if "\r" in line:
        raise _lone_return(path, row + 1)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]


def _lone_return(path: str, line: int) -> InputError:
    return InputError(
        "a carriage return without a line feed",
        where=path,
        line=line,
        accepted="lines that end in LF or CRLF",
        hint="Convert the line ends",
    )


def _fast(path: str, delimiter: str, names: list[str]) -> tuple[pl.DataFrame, int]:
    """The cells as text, read by Arrow, and how many lines are blank.

    Cells with line feeds make Arrow slow, so they are expected only where the first lines have quotes, or where it
    failed without.
    """
    import pyarrow as pa

    quoted = any('"' in line for line in head_lines(path))
    try:
        frame, scan = _arrow(path, delimiter, len(names), quoted)
        again = scan.quotes > 0 and scan.size > _BLOCK and not quoted
    except pa.ArrowInvalid:  # perhaps a cell with a line feed lay across two blocks
        again = True
    if again:
        frame, scan = _arrow(path, delimiter, len(names), True)
    within = 0
    if scan.quotes:
        if scan.quotes % 2:  # one that is opened and never closed would swallow the rest of the file
            for _ in _records(path, delimiter, strict=True):
                pass
        within = sum(int(column.str.count_matches("\n", literal=True).sum()) for column in frame)
    named = frame.select(pl.col(str(i)).alias(name) for i, name in enumerate(names) if name)
    return named, scan.lines - 1 - len(frame) - within


def _arrow(path: str, delimiter: str, width: int, line_feeds: bool) -> tuple[pl.DataFrame, Scan]:
    import pyarrow as pa
    import pyarrow.csv as csv

    inner = [str(i) for i in range(width)]
    scan = Scan(path)
    try:
        table = csv.read_csv(
            pa.PythonFile(scan, mode="r"),
            read_options=csv.ReadOptions(column_names=inner, block_size=_BLOCK),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=line_feeds),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(inner, pa.string()),
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    finally:
        scan.close()
    return pl.DataFrame(pl.from_arrow(table)).slice(1), scan


def _records(path: str, delimiter: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins on; blank lines come as empty records. ``strict``: refuse loose quotes."""
    text = read_bytes(path).removeprefix(BOM).decode("utf-8", "replace")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    start = 1
    limit = csv.field_size_limit()
    try:
        csv.field_size_limit(max(limit, len(text) + 1))
        for record in reader:
            yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"a double quote is not closed ({error})",
            where=path,
            line=start,
            accepted='cells in pairs of double quotes; a quote inside is written ""',
        ) from None
    finally:
        csv.field_size_limit(limit)


def _line_of(path: str, delimiter: str, row: int) -> int:
    data = (line for line, record in _records(path, delimiter) if record)
    next(data)
    return next(line for i, line in enumerate(data) if i == row)


def _explain(path: str, delimiter: str, width: int, error: Exception) -> InputError:
    """Read line by line to the first fault that Arrow stumbled over."""
    data = read_bytes(path).removeprefix(BOM)
    check_text(path, data)
    kind = {",": "commas", "\t": "tabs", ";": "semicolons"}.get(delimiter, repr(delimiter))
    for line, record in _records(path, delimiter):
        if record and len(record) != width:
            cells = f"{len(record)} cell{'s' * (len(record) != 1)}" if "".join(record).strip() else "only blanks"
            found = f"{cells} in a table of {width} columns"
            return InputError(
                found,
                where=path,
                line=line,
                accepted=f"{width} cells separated by {kind}",
                hint="Put cells that contain the separator between double quotes",
            )
    lone = data.replace(b"\r\n", b"\n\n").find(b"\r")
    if lone >= 0:
        return _lone_return(path, data.count(b"\n", 0, lone) + 1)
    return InputError(
        f"the table cannot be read ({str(error).splitlines()[0] if str(error) else 'damaged'})",
        where=path,
        accepted=f"a table separated by {kind}",
    )


def _strip(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Cells without blanks around them, empty ones null, and how many had blanks."""
    padded = 0
    columns = []
    for column in frame:
        around = column.str.contains(r"^[ \t]|[ \t]$")
        if around.any():
            padded += int(around.sum())
            column = column.str.strip_chars(" \t")
        columns.append(column.set(column == "", None) if bool((column == "").any()) else column)
    return pl.DataFrame(columns), padded
