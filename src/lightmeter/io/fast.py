"""Clean TREC runs, read by Arrow: fields separated by exactly one space or one tab.

There is a way for plain files, which Arrow reads by itself while a census of the bytes proves that there was nothing
out of the ordinary; and one for compressed files and those with blank lines, carriage returns or letters beyond ASCII,
whose bytes
are looked at on their way to Arrow. Both return None where the exact reader has to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Codes
from lightmeter.io.arrow import Reading, read_fields, start_reading
from lightmeter.io.id_column import IdColumn
from lightmeter.io.tables import Source
from lightmeter.io.text import BOM, Odd, Scan, broken, head_lines, line_finder, sysdesc_lines
from lightmeter.io.trec import TrecRows

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = TypeVar("Scalar", np.int32, np.float64)


def fast_run(path: str, reading: Reading | None = None) -> TrecRows | None:
    """Read a clean TREC run with Arrow, or return None when it is not clean.

    Parameters
    ----------
    path
        The file.
    reading
        Where it is being read already.
    """
    reading = reading or start_reading(path)
    if reading is not None:
        plain = reading
        rows = _rows(path, lambda: _table(plain), 0, plain.second)
        if rows is not None and reading.proven(len(rows.score)):
            return rows
    return _rest(path)


def _rest(path: str) -> TrecRows | None:
    """Read a run that is not plain ASCII text without blank lines, but may be clean."""
    first = head_lines(path)
    skip = sysdesc_lines(first)
    start = next((i for i in range(skip, len(first)) if first[i].strip(" \t\r")), None)
    if start is None:
        return None
    delimiter = "\t" if "\t" in first[start] else " "
    n = len(first[start].rstrip("\r").split(delimiter))
    if n not in (5, 6) or any("\ufffd" in line for line in first[:skip]):
        return None
    return _rows(path, lambda: _watched(path, _skipped_bytes(path, first[:skip]), delimiter, n), skip)


def _rows(path: str, read: Callable[[], tuple[pa.Table, int] | None], skip: int, constant: str = "") -> TrecRows | None:
    """The rows of what was read; the table belongs to nobody else, so it can be freed piece by piece."""
    found = read()
    if found is None:
        return None
    columns, blank = found
    del found
    columns = columns.unify_dictionaries()
    rows = columns.num_rows
    queries, query = _codes(columns.column("query"))
    seconds, second = _codes(columns.column("second"), constant)
    score = _joined(columns.column("score"), np.float64)
    docs = IdColumn(columns.column("doc"))
    del columns
    _release()
    # two separators in a row are refused before, so only the first and the last field can be empty
    if not rows or "" in queries or not np.isfinite([score.min(), score.max()]).all():
        return None
    ignored = {"SYSDESC lines": skip, "blank lines": blank}
    source = Source(path, (path,), line_finder(path, skip))
    return TrecRows(queries, query, seconds, second, docs, score, source, {k: n for k, n in ignored.items() if n})


def _table(reading: Reading) -> tuple[pa.Table, int] | None:
    """What Arrow read by itself; :meth:`Reading.proven` tells whether it can be believed."""
    table = reading.take()
    return None if table is None else (table, 0)


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
        table = read_fields(pa.PythonFile(scan, mode="r"), delimiter, n)
    except Odd:
        return None
    except OSError as error:
        raise broken(path, error) from None
    finally:
        scan.close()
    return None if table is None else (table, scan.lines - table.num_rows)


# Arrow's columns


def _codes(column: pa.ChunkedArray, constant: str = "") -> tuple[list[str], Codes]:
    """Distinct values and codes of a coded column; ``constant`` is the value of one that is not coded."""
    if not hasattr(column.type, "value_type"):
        return [constant], np.zeros(len(column), np.int32)
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
