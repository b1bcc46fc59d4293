"""Intents (subtopics) in TREC diversity form as :class:`IntentTable`."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.checks import check_sums, drop_repeats, fault, first, identifiers, numbers
from lightmeter.io.judgments import REPEATED, grades
from lightmeter.io.sources import add_counts, is_path, one_file
from lightmeter.io.tables import IntentTable, Source
from lightmeter.io.tabular import DECIMAL, Columns, Shape, need, read_table, tell_format
from lightmeter.io.trec import exact_fields

INTENT_FILE = "lines 'query intent doc grade', or a table with query, intent, doc, grade"
PROBABILITY_FILE = "lines 'query intent probability', or a table with query, intent, probability"
_NUMBER = DECIMAL.pattern.removeprefix("^").removesuffix("$")
_INTENTS = Shape(
    ("query", "intent", "doc", "grade"), (4,), re.compile(f"L?(?:{_NUMBER})"), -1, ("query", "intent", "doc")
)
_PROBABILITIES = Shape(("query", "intent", "probability"), (3,), DECIMAL, -1, ("query", "intent"))


def read_intents(source: Any, probabilities: Any = None, *, columns: Columns | None = None) -> IntentTable:
    """Read judgments per intent and, if given, the probability of each intent.

    Parameters
    ----------
    source
        A path to lines ``query intent doc grade`` or to a table with these columns, or a frame.
    probabilities
        A path to lines ``query intent probability`` or to such a table, or a frame. Probabilities sum to 1 within
        1e-3 for each query and are used as given. Without it the intents of a query are equally probable.
    columns
        Our names to the table's.

    Returns
    -------
    IntentTable

    Raises
    ------
    InputError
        Something cannot be used, or an intent that was judged has no probability.
    """
    if isinstance(source, IntentTable):
        return source
    frame, where, ignored = _columns(source, _INTENTS, INTENT_FILE, columns)
    frame = frame.with_columns(grades(frame["grade"], where, named=where.line_of is None).alias("grade"))
    kept, repeated = drop_repeats(frame, ["query", "intent", "doc"], "grade", where, "grade")
    intents = kept.select("query", "intent").unique(maintain_order=True)
    if probabilities is None:
        shares = intents.with_columns((1.0 / pl.len().over("query")).alias("probability"))
        return IntentTable(where, kept, shares, add_counts(ignored, {REPEATED: repeated}))
    shares, place, more = _columns(probabilities, _PROBABILITIES, PROBABILITY_FILE, columns)
    shares = shares.with_columns(
        numbers(shares["probability"], "probability", place, least=0.0, named=place.line_of is None).alias(
            "probability"
        )
    )
    shares, again = drop_repeats(shares, ["query", "intent"], "probability", place, "probability")
    if not again:
        check_sums(shares.with_row_index("_row"), ["query"], "probability", place, "probabilities")
    else:
        check_sums(
            shares.with_columns(pl.lit(0).alias("_row")), ["query"], "probability", Source(place.name), "probabilities"
        )
    known = intents.join(shares, on=["query", "intent"], how="anti")
    if len(known):
        query, intent = known.row(0)
        row = first((frame["query"] == query) & (frame["intent"] == intent)) or 0
        raise fault(
            f"intent {intent!r} of query {query!r} has no probability in {place.name}",
            where,
            row,
            accepted=PROBABILITY_FILE,
            hint="Add it, with 0 if it does not count",
        )
    return IntentTable(
        where, kept, shares, add_counts(ignored, more, {REPEATED: repeated, "repeated probabilities": again})
    )


def _columns(
    source: Any, shape: Shape, accepted: str, columns: Columns | None
) -> tuple[pl.DataFrame, Source, dict[str, int]]:
    """The columns of a shape, ids as text and the last one as it stands."""
    if is_path(source):
        path = one_file(source, "intents" if shape is _INTENTS else "intent probabilities")
        if tell_format(path, shape, columns)[0] == "fields":
            n = len(shape.names)
            fields = exact_fields(path, n, n, accepted)
            return (
                fields.frame.rename({f"f{i}": name for i, name in enumerate(shape.names)}),
                fields.source,
                fields.ignored,
            )
    table = read_table(source, shape, columns=columns)
    made = []
    for name in shape.names:
        column = table.frame[need(table, name, columns, accepted)]
        made.append((column if name == shape.names[-1] else identifiers(column, name, table.source)).rename(name))
    if not made:
        raise InputError("the table has no columns", where=table.source.name, accepted=accepted)
    return pl.DataFrame(made), table.source, table.ignored
