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
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(
                f"not JSON ({_reason(error)})", where=path, line=number, accepted="one JSON object a line"
            ) from None
        except _NotJson as error:
            raise InputError(
                f"{error} is not JSON", where=path, line=number, accepted="finite numbers; null for a missing one"
            ) from None
        if not isinstance(value, dict):
            raise InputError(
                f"a JSON {type(value).__name__} instead of an object",
                where=path,
                line=number,
                accepted='an object such as {"query": "q1", "doc": "d1", "score": 1.5}',
            )
        objects.append(value)
    source = Source(path, (path,), lambda row: (path, int(rows[row])))
    blank = len(lines) - len(rows)
    return objects, source, {"blank lines": blank} if blank else {}


def read_jsonl(path: str) -> tuple[pl.DataFrame, Source, dict[str, int]]:
    """A table of JSON lines; a key that some lines lack is null there."""
    objects, source, ignored = read_objects(path)
    names = list(dict.fromkeys(key for one in objects for key in one))
    columns = [_column(name, [one.get(name) for one in objects], source) for name in names if name.strip()]
    if not columns:
        raise InputError(
            "the objects have no keys",
            where=path,
            line=int(row_lines(read_lines(path), 0)[0]),
            accepted="objects with the keys of the table",
        )
    return pl.DataFrame(columns), source, ignored


def _column(name: str, values: list[Any], source: Source) -> pl.Series:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int} or kinds == {bool}:
        try:
            return pl.Series(name, values)
        except OverflowError:
            return pl.Series(name, [None if v is None else str(v) for v in values], dtype=pl.String)
    if kinds <= {int, float}:
        return pl.Series(name, [None if v is None else float(v) for v in values], dtype=pl.Float64)
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
    return error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
