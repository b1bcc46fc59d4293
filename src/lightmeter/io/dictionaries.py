"""Rankings and grades given as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ..errors import InputError
from .checks import finite, is_unicode
from .tables import Source
from .tabular import Table


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


def _key(value: Any, what: str, name: str, place: str = "") -> str:
    if isinstance(value, str) and value:
        if not is_unicode(value):
            raise InputError(
                f"the {what} id {value!r} has half of a surrogate pair", where=name, accepted="text that is Unicode"
            )
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return _shown(value)
    raise InputError(
        f"the {what} id {value!r}{place} cannot be used", where=name, accepted="non-empty text or whole numbers"
    )


def _shown(value: Any) -> str:
    """A number in full, but Python does not write whole numbers of thousands of digits."""
    try:
        return str(value) if isinstance(value, (int, np.integer)) else repr(value)
    except ValueError:
        return f"of about 2**{int(value).bit_length()}"


def group_frame(groups: Mapping[Any, Any]) -> pl.DataFrame:
    """``{attribute: {doc: value}}`` as a wide table; a value may be a list of values, and None is unknown."""
    accepted = "{attribute: {doc: value}}, with a list of values where there are several"
    if not groups or not all(isinstance(m, Mapping) for m in groups.values()):
        raise InputError("groups that are no dictionaries of documents", where="dictionary", accepted=accepted)
    columns: dict[str, dict[str, str | None]] = {}
    for attribute, members in groups.items():
        name = _key(attribute, "attribute", "dictionary")
        columns[name] = {
            _key(doc, "document", "dictionary", f" of {name!r}"): _value(value, name, doc)
            for doc, value in members.items()
        }
    docs = list(dict.fromkeys(doc for column in columns.values() for doc in column))
    cells = {name: [column.get(doc) for doc in docs] for name, column in columns.items()}
    return pl.DataFrame({"doc": docs, **cells}, schema=dict.fromkeys(["doc", *cells], pl.String))


def _value(value: Any, attribute: str, doc: Any) -> str | None:
    if isinstance(value, (list, tuple, set, frozenset)):
        ordered = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return "|".join(v for v in (_value(x, attribute, doc) for x in ordered) if v is not None) or None
    if value is None or value == "" or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (str, int, float, np.number)) and is_unicode(str(value)):
        return str(value)
    raise InputError(
        f"the value {value!r:.60} of document {doc!r} cannot be used",
        where="dictionary",
        column=attribute,
        accepted="text, numbers, true/false, or a list of these",
        hint="Shares go into a long table doc, attribute, value, weight",
    )
