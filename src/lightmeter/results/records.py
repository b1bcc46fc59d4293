"""Results for programs: JSON lines, CSV and Parquet, one row a value.

Numbers are written in full precision, the shortest digits that read back as the same number. What does not apply or is
not defined is null (empty in CSV); there are no infinities and no NaN. Texts are written as they stand, but for CSV,
which
people open in spreadsheets: there a text that a spreadsheet would compute gets an apostrophe before it.
"""

from __future__ import annotations

import io

import polars as pl

#: what a spreadsheet takes for a formula at the beginning of a cell, unless it is a number
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+\-]?[0-9]*\.?[0-9]+([eE][+\-]?[0-9]+)?$"


def finite(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null in place of NaN and infinities."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    return frame.with_columns(pl.when(pl.col(n).is_finite()).then(pl.col(n)).alias(n) for n in numbers)


def jsonl(frame: pl.DataFrame) -> bytes:
    """One JSON object a row, with all keys in the order of the columns.

    Examples
    --------
    >>> jsonl(pl.DataFrame({"run": ["a"], "value": [float("nan")]}))
    b'{"run":"a","value":null}\\n'
    """
    buffer = io.BytesIO()
    finite(frame).write_ndjson(buffer)
    return buffer.getvalue()


def csv(frame: pl.DataFrame) -> bytes:
    """Comma-separated values with a header; texts are :func:`disarmed`.

    Examples
    --------
    >>> csv(pl.DataFrame({"run": ["a, b"], "value": [None]}))
    b'run,value\\n"a, b",\\n'
    """
    buffer = io.BytesIO()
    disarmed(finite(frame)).write_csv(buffer)
    return buffer.getvalue()


def disarmed(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts that a spreadsheet would compute get an apostrophe before them, as spreadsheets themselves do.

    Examples
    --------
    >>> disarmed(pl.DataFrame({"group": ["=1+1", "f", "-3"]}))["group"].to_list()
    ["'=1+1", 'f', '-3']
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(
        pl.when(pl.col(n).str.contains(_FORMULA) & ~pl.col(n).str.contains(_NUMBER))
        .then(pl.lit("'") + pl.col(n))
        .otherwise(pl.col(n))
        .alias(n)
        for n in texts
    )


def parquet(frame: pl.DataFrame) -> bytes:
    """A Parquet file."""
    buffer = io.BytesIO()
    finite(frame).write_parquet(buffer)
    return buffer.getvalue()
