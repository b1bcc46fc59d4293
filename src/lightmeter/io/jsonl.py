"""JSON lines: one object a line."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from ..errors import InputError
from .tables import Source
from .text import read_lines, row_lines


def read_objects(path: str) -> tuple[list[dict[str, Any]], Source, dict[str, int]]:
    """The objects of a JSON lines file; NaN and Infinity, which are not JSON, are refused."""
    lines = read_lines(path)
    rows = row_lines(lines, 0)
    if not len(rows):
        raise InputError("the file has only blank lines", where=path, accepted="one JSON object a line")
    objects = []
    decode = json.JSONDecoder(parse_constant=_refuse).decode
    for number, text in zip(rows.tolist(), lines.gather(rows - 1).to_list(), strict=True):
        try:
            value = decode(text)
        except _NotJson as error:
            raise InputError(
                f"{error} is not JSON", where=path, line=number, accepted="finite numbers; null for a missing one"
            ) from None
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not JSON ({_reason(error)})", where=path, line=number, accepted="one JSON object a line"
            ) from None
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON {type(value).__name__} instead of an object",
                where=path,
                line=number,
                accepted='an object such as {"query": "q1", "doc": "d1", "score": 1.5}',
            )
        if "\\u" in text and not _is_text(value):
            raise InputError("half of a surrogate pair", where=path, line=number, accepted="text that is Unicode")
        objects.append(value)
    source = Source(path, (path,), lambda row: (path, int(rows[row])))
    blank = len(lines) - len(rows)
    return objects, source, {"blank lines": blank} if blank else {}


def read_jsonl(path: str) -> tuple[pl.DataFrame, Source, dict[str, int]]:
    """A table of JSON lines; a key that some lines lack is null there."""
    objects, source, ignored = read_objects(path)
    names = list(dict.fromkeys(key for one in objects for key in one if key.strip()))
    if not names:
        raise InputError("the objects have no keys", where=path, accepted="objects with the keys of the table")
    return pl.DataFrame([_column(name, [one.get(name) for one in objects]) for name in names]), source, ignored


def _is_text(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(name: str, values: list[Any]) -> pl.Series:
    """One key as a column: numbers, true/false or text; whatever else is kept as JSON text."""
    kinds = {type(v) for v in values if v is not None}
    try:
        if kinds <= {int} or kinds == {bool}:
            return pl.Series(name, values)
        if kinds <= {int, float}:
            return pl.Series(name, [None if v is None else float(v) for v in values], dtype=pl.Float64)
    except OverflowError:  # a whole number of more than 64 bits
        return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    if kinds <= {str, int}:
        return pl.Series(name, [None if v is None or v == "" else str(v) for v in values], dtype=pl.String)
    if kinds == {list} and all(isinstance(x, (str, int)) for v in values if v for x in v):
        # several values of one document
        return pl.Series(name, [None if not v else "|".join(map(str, v)) for v in values], dtype=pl.String)
    text = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, [None if v == "" else v for v in text], dtype=pl.String)


class _NotJson(ValueError):
    """NaN or Infinity."""


def _refuse(constant: str) -> None:
    raise _NotJson(constant)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
