"""Tables in memory: pandas, polars and Arrow frames, through narwhals, as polars frames; and dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.columns import finite, is_unicode
from lightmeter.io.tables import Source, Table


def is_frame(source: object) -> bool:
    """Whether a source is a frame that narwhals can read."""
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, dict, list, tuple)):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(source, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except nw.exceptions.DuplicateError:
        return True


def to_polars(source: Any, name: str) -> pl.DataFrame:
    """A polars frame with the same columns; the frame given is not changed (numeric NaN becomes null)."""
    if isinstance(source, pl.LazyFrame):
        frame = source.collect()
    elif isinstance(source, pl.DataFrame):
        frame = source
    else:
        frame = _convert(source, name)
    blank = [i for i, column in enumerate(frame.columns) if not column.strip()]
    return frame.drop([frame.columns[i] for i in blank]) if blank else frame


def _convert(source: Any, name: str) -> pl.DataFrame:
    import narwhals as nw

    try:
        table = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"several columns have one name ({' '.join(str(error).split())})",
            where=name,
            accepted="one column for each name",
            hint="Rename one of them",
        ) from None
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not isinstance(table, nw.DataFrame):
        raise InputError(
            f"the type {type(source).__name__} cannot be read",
            where=name,
            accepted="a path, a pandas or polars frame, an Arrow table, or a dictionary",
        )
    try:
        return table.to_polars()
    except (ValueError, TypeError, OverflowError):  # Arrow's errors are among these
        pass
    for column in table.columns:
        try:
            table.select(column).to_polars()
        except UnicodeError:
            raise InputError(
                "half of a surrogate pair", where=name, column=str(column), accepted="text that is Unicode"
            ) from None
        except (ValueError, TypeError, OverflowError):
            raise InputError(
                "values of mixed types, or numbers too large for a column",
                where=name,
                column=str(column),
                accepted="one type for each column; whole numbers of 64 bits",
            ) from None
    raise InputError("the frame cannot be converted", where=name, accepted="columns of text and numbers")


def dict_table(source: Mapping[Any, Any], name: str, value: str = "score") -> Table:
    """A table ``query, doc, score`` (or ``grade``) of ``{query: {doc: score}}``, or ``query, doc, rank`` of ``{query:
    [doc, ..]}``.
    """
    queries: list[str] = []
    docs: list[str] = []
    values: list[Any] = []
    ranked = isinstance(next(iter(source.values())), (list, tuple))
    accepted = f"{{query: {{doc: {value}}}}} for every query" + (
        ", or {query: [doc, ..]} for every query" if value == "score" else ""
    )
    for query, ranking in source.items():
        if isinstance(ranking, (list, tuple)) != ranked or not isinstance(ranking, (list, tuple, Mapping)):
            raise InputError(f"query {query!r} has a {type(ranking).__name__}", where=name, accepted=accepted)
        pairs = (
            enumerate(ranking, 1)
            if isinstance(ranking, (list, tuple))
            else ((number, doc) for doc, number in ranking.items())
        )
        for number, doc in pairs:
            queries.append(_key(query, "query", name))
            docs.append(_key(doc, "document", name, f" of query {query!r}"))
            values.append(number)
    if not queries:
        raise InputError("the dictionary has no documents", where=name, accepted=accepted)
    for row, number in enumerate(values):
        if finite(number) is None:
            which = f"document {docs[row]!r} for query {queries[row]!r}"
            found = f"the {value} {_shown(number):.60} of {which} is not a finite number"
            raise InputError(found, where=name, row=row, column=value, accepted="finite numbers")
    frame = pl.DataFrame(
        {"query": queries, "doc": docs, "rank" if ranked else value: np.asarray(values, dtype=np.float64)}
    )
    return Table(frame, Source(name))


def _key(value: Any, what: str, name: str, owner: str = "") -> str:
    if isinstance(value, str) and value:
        if not is_unicode(value):
            raise InputError(
                f"the {what} id {value!r} has half of a surrogate pair", where=name, accepted="text that is Unicode"
            )
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return _shown(value)
    raise InputError(
        f"the {what} id {value!r}{owner} cannot be used", where=name, accepted="non-empty text or whole numbers"
    )


def _shown(value: Any) -> str:
    """A number in full, but Python does not write whole numbers of thousands of digits."""
    try:
        return str(value) if isinstance(value, (int, np.integer)) else repr(value)
    except ValueError:
        return f"of about 2**{int(value).bit_length()}"


def group_frames(groups: Mapping[Any, Any]) -> list[pl.DataFrame]:
    """``{attribute: {doc: value}}`` as tables: a value may be a list of several, or shares ``{value: share}``; None is
    unknown.
    """
    if not groups or not all(isinstance(m, Mapping) and m for m in groups.values()):
        raise InputError("groups that are no dictionaries of documents", where="dictionary", accepted=_GROUPS)
    return [_group_frame(_key(name, "attribute", "dictionary"), members) for name, members in groups.items()]


_GROUPS = "{attribute: {doc: value}}, a value being text or a number, a list of these, or {value: share}"


def _group_frame(name: str, members: Mapping[Any, Any]) -> pl.DataFrame:
    docs = [_key(doc, "document", "dictionary", f" of {name!r}") for doc in members]
    if any(isinstance(value, Mapping) for value in members.values()):
        rows = [row for doc, value in zip(docs, members.values(), strict=True) for row in _shares(name, doc, value)]
        kinds = {"doc": pl.String, "attribute": pl.String, "value": pl.String, "weight": pl.Float64}
        return pl.DataFrame(rows, schema=kinds, orient="row")
    cells = [_cells(name, doc, value) for doc, value in zip(docs, members.values(), strict=True)]
    if any(isinstance(value, (list, tuple, set, frozenset)) for value in members.values()):
        return pl.DataFrame({"doc": docs, name: pl.Series(cells, dtype=pl.List(pl.String))})
    return pl.DataFrame({"doc": docs, name: pl.Series([c[0] if c else None for c in cells], dtype=pl.String)})


def _shares(attribute: str, doc: str, value: Any) -> list[tuple[str, str, str, float]]:
    if not isinstance(value, Mapping):
        cells = _cells(attribute, doc, value)
        if len(cells) > 1:
            raise _no_value(attribute, doc, value)
        return [(doc, attribute, cell, 1.0) for cell in cells]
    rows = []
    for one, share in value.items():
        number = finite(share)
        if number is None or len(cells := _cells(attribute, doc, one)) != 1:
            raise _no_value(attribute, doc, {one: share})
        rows.append((doc, attribute, cells[0], number))
    return rows


def _cells(attribute: str, doc: str, value: Any) -> list[str]:
    """The values of a document, none where it is unknown."""
    if isinstance(value, (list, tuple, set, frozenset)):
        ordered = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        if any(isinstance(one, (list, tuple, set, frozenset)) for one in ordered):
            raise _no_value(attribute, doc, value)
        return [cell for one in ordered for cell in _cells(attribute, doc, one)]
    if value is None or value == "" or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return []
    if isinstance(value, (bool, np.bool_)):
        return [str(value).lower()]
    if isinstance(value, (str, int, float, np.number)) and is_unicode(shown := _text(value)):
        return [shown]
    raise _no_value(attribute, doc, value)


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if abs(number) < 2**53 and number == round(number) else repr(number)
    return str(value) if isinstance(value, str) else _shown(value)


def _no_value(attribute: str, doc: str, value: Any) -> InputError:
    return InputError(
        f"the value {value!r:.60} of document {doc!r} cannot be used",
        where="dictionary",
        column=attribute,
        accepted=_GROUPS,
    )
