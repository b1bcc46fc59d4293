"""Rankings and grades given as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ..errors import InputError
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
        if (
            isinstance(number, (bool, np.bool_))
            or not isinstance(number, (int, float, np.number))
            or not np.isfinite(number)
        ):
            found = (
                f"the {value} {number!r} of document {docs[row]!r} for query {queries[row]!r} is not a finite number"
            )
            raise InputError(found, where=name, row=row, column=value, accepted="finite numbers")
    frame = pl.DataFrame(
        {"query": queries, "doc": docs, "rank" if ranked else value: np.asarray(values, dtype=np.float64)}
    )
    return Table(frame, Source(name))


def _key(value: Any, what: str, name: str, place: str = "") -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return str(value)
    raise InputError(
        f"the {what} id {value!r}{place} cannot be used", where=name, accepted="non-empty text or whole numbers"
    )
