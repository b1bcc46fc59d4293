"""JSON lines: one object on every line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.columns import JSON, fault
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import Source, Table
from lightmeter.io.text import data_lines

_LINES = "one JSON object on every line"


def read_objects(path: str) -> tuple[list[dict[str, Any]], Source, dict[str, int]]:
    """The objects of a JSON lines file; NaN and Infinity, which are not JSON, are refused."""
    lines, source, blank = data_lines(path, _LINES)
    decode = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_distinct).decode
    objects = []
    for row, text in enumerate(lines.to_list()):
        try:
            value = decode(text)
        except _NotJson as error:
            found, accepted = f"{error} is not JSON", "finite numbers; null for a missing one"
            raise fault(found, source, row, accepted=accepted) from None
        except _Repeated as error:
            found, hint = f"the key {error} is given twice in one object", "Several values of a document go into a list"
            raise fault(found, source, row, accepted="each key once", hint=hint) from None
        except (ValueError, RecursionError) as error:
            raise fault(f"not JSON ({_reason(error)})", source, row, accepted=_LINES) from None
        if not isinstance(value, dict):
            found, accepted = (
                f"a JSON {type(value).__name__}",
                'an object such as {"query": "q1", "doc": "d1", "score": 1.5}',
            )
            raise fault(f"{found} instead of an object", source, row, accepted=accepted)
        if "\\u" in text and not _is_text(value):
            raise fault("half of a surrogate pair", source, row, accepted="text that is Unicode")
        objects.append(value)
    return objects, source, add_counts({"blank lines": blank})


def read_jsonl(path: str, ids: Mapping[str, str] | None = None) -> Table:
    """A table of JSON lines; a key that some lines lack is null there.

    Parameters
    ----------
    path
        The file.
    ids
        Which columns are ids: our names to the table's. An id that is neither text nor a whole number is refused.
    """
    objects, source, ignored = read_objects(path)
    names = list(dict.fromkeys(key for one in objects for key in one if key.strip()))
    if not names:
        raise InputError("the objects have no keys", where=path, accepted="objects with the keys of the table")
    for ours, theirs in (ids or {}).items():
        _check_ids(objects, ours, theirs if theirs in names else ours, source)
    return Table(pl.DataFrame([_column(name, [one.get(name) for one in objects]) for name in names]), source, ignored)


def _check_ids(objects: list[dict[str, Any]], ours: str, name: str, source: Source) -> None:
    for row, one in enumerate(objects):
        value = one.get(name)
        if isinstance(value, (bool, float, list, dict)):
            raise fault(
                f"the {'document' if ours == 'doc' else ours} id is {json.dumps(value):.60}",
                source,
                row,
                column=name,
                accepted="text or whole numbers; 1.0 and 1 would be one id or two",
            )


def _is_text(value: dict[str, Any]) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(name: str, values: list[Any]) -> pl.Series:
    """One key as a column: numbers, true/false, text or lists of text; objects and other lists have the type JSON."""
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
    if list in kinds and kinds <= {list, str, int}:
        lists = [v if v is None or isinstance(v, list) else [v] if v != "" else None for v in values]
        if all(_is_plain(v) for v in lists if v):
            rows = [None if v is None else [None if x is None else str(x) for x in v] for v in lists]
            return _lists(name, rows)
    if list in kinds or dict in kinds:
        cells = [None if v is None else {"json": _shown(v)} for v in values]
        return pl.Series(name, cells, dtype=JSON)
    text = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, [None if v == "" else v for v in text], dtype=pl.String)


def _lists(name: str, rows: list[list[str | None] | None]) -> pl.Series:
    import pyarrow as pa

    # much faster than polars, which makes a series of every list
    return pl.Series(name, pl.from_arrow(pa.array(rows, pa.large_list(pa.large_string()))), dtype=pl.List(pl.String))


def _is_plain(cells: list[Any]) -> bool:
    return {type(x) for x in cells} <= {str, int, type(None)}


def _shown(value: Any) -> str:
    """As JSON what cannot be a value; as text what could."""
    if isinstance(value, list) and _is_plain(value):
        return "|".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


class _NotJson(ValueError):
    """NaN or Infinity."""


class _Repeated(ValueError):
    """A key that is given twice in one object."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Repeated(repr(next(key for key in keys if keys.count(key) > 1)))
    return built


def _refuse(constant: str) -> None:
    raise _NotJson(constant)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
