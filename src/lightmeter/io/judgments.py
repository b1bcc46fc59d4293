"""Judgments, intents, targets and query sequences, in every form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.columns import (
    NUMBER,
    UNKNOWN,
    check_sums,
    drop_repeats,
    fault,
    finite,
    first,
    is_unicode,
    numbers,
    repeated_pair,
)
from lightmeter.io.forms import Column, Columns, Form, check, grades
from lightmeter.io.frames import dict_table
from lightmeter.io.sources import add_counts, is_path, one_file, parts, split_name
from lightmeter.io.tables import IntentTable, JudgmentTable, RunTable, Source, Table, TargetTable
from lightmeter.io.tabular import read, tell_format
from lightmeter.io.text import data_lines, head_lines, read_fields

_REPEATED = "repeated judgments"
JUDGMENTS = Form(
    "lines 'query 0 doc grade' or 'query doc grade' (grade 2 or L2), or a table with query, doc, grade",
    (Column("query"), Column("doc"), Column("grade", "grade")),
    lines=(("query", None, "doc", "grade"), ("query", "doc", "grade")),
    keys=("query", "doc"),
    values=("grade",),
    repeated=_REPEATED,
    hint="Remove one of the two; judgments per intent are given with --intents",
    what="judgments",
)
INTENTS = Form(
    "lines 'query intent doc grade', or a table with query, intent, doc, grade",
    (Column("query"), Column("intent"), Column("doc"), Column("grade", "grade")),
    lines=(("query", "intent", "doc", "grade"),),
    keys=("query", "intent", "doc"),
    values=("grade",),
    repeated=_REPEATED,
    what="intents",
    folder=False,
)
PROBABILITIES = Form(
    "lines 'query intent probability', or a table with query, intent, probability",
    (Column("query"), Column("intent"), Column("probability", "number", least=0.0)),
    lines=(("query", "intent", "probability"),),
    keys=("query", "intent"),
    values=("probability",),
    repeated="repeated probabilities",
    what="intent probabilities",
    folder=False,
)
TARGETS = Form(
    "a table 'attribute, value, share[, query]', or NAME=FILE.golddistr with one share on every line",
    (
        Column("attribute"),
        Column("value", "label"),
        Column("share", "number", least=0.0),
        Column("query", "optional id", required=False),
    ),
    what="targets",
)
GOLDDISTR = Form("one share on every line", (Column("share", "number", least=0.0),), lines=(("share",),))
SEQUENCE_FILE = "lines 'sequence.number,query' such as '0.17,18439', without a header"


def read_judgments(source: Any, *, columns: Columns | None = None) -> JudgmentTable:
    """Read judgments.

    Parameters
    ----------
    source
        A path (file, folder or pattern), a pandas, polars or Arrow frame, or a dictionary ``{query: {doc: grade}}``.
        Files: TREC four columns (the second is not read), three columns ``query doc grade`` with grades ``2`` or
        ``L2``, a table with ``query, doc, grade``, or TREC Fair queries (JSON lines with ``qid`` and ``documents``).
    columns
        Our names to the table's, for example ``{"query": "qid", "grade": "label"}``.

    Returns
    -------
    JudgmentTable
        One row for each pair. A pair given twice with one grade is kept once and counted; with two grades it is
        refused.

    Raises
    ------
    InputError
        Something cannot be used: the message names the file and line, or the row and column.
    """
    if isinstance(source, JudgmentTable):
        return source
    if isinstance(source, Mapping):
        return _judgments(check(_dict_table(source), JUDGMENTS))
    if is_path(source):
        files = parts(source, JUDGMENTS.what).files
        if len(files) == 1 and tell_format(files[0], JUDGMENTS, columns)[0] == "jsonl":
            from lightmeter.io.jsonl import read_objects

            objects, where, ignored = read_objects(files[0])
            if "documents" in objects[0]:
                return _of_trec_fair(objects, where, ignored)
    return _judgments(read(source, JUDGMENTS, columns=columns))


def _judgments(table: Table) -> JudgmentTable:
    return JudgmentTable(table.source, table.frame, table.ignored)


def _dict_table(source: Mapping[Any, Any]) -> Table:
    if not source:
        raise InputError("the dictionary is empty", accepted="{query: {doc: grade}}")
    if not all(isinstance(value, Mapping) for value in source.values()):
        raise InputError("a query without a dictionary of grades", where="dictionary", accepted="{query: {doc: grade}}")
    return dict_table(source, "dictionary", "grade")


def _of_trec_fair(objects: list[dict[str, Any]], source: Source, ignored: dict[str, int]) -> JudgmentTable:
    queries: list[str] = []
    docs: list[str] = []
    values: list[float | None] = []
    rows: list[int] = []
    accepted = '{"qid": .., "documents": [{"doc_id": .., "relevance": ..}, ..]} on every line'
    for row, one in enumerate(objects):
        query, documents = one.get("qid"), one.get("documents")
        if not _is_id(query) or not isinstance(documents, list):
            raise fault(f"no usable {'qid' if not _is_id(query) else 'documents'}", source, row, accepted=accepted)
        for document in documents:
            doc = document.get("doc_id") if isinstance(document, dict) else None
            if not _is_id(doc):
                raise fault("a document without a usable doc_id", source, row, accepted=accepted)
            grade = document.get("relevance")
            if grade is not None and finite(grade) is None:
                raise fault(f"the relevance {grade!r:.60} of {doc!r} is not a number", source, row, accepted=accepted)
            queries.append(str(query))
            docs.append(str(doc))
            values.append(None if grade is None else float(grade))
            rows.append(row)
    if not docs:
        raise InputError("no query has a document", where=source.name, accepted=accepted)
    frame = pl.DataFrame(
        {"query": queries, "doc": docs, "grade": values},
        schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64},
    )
    kept, repeated = drop_repeats(frame, ["query", "doc"], "grade", source.rows(rows), "grade", JUDGMENTS.hint)
    candidates = kept.select("query", "doc")
    judged = kept.drop_nulls("grade")
    n = kept["query"].n_unique()
    notes = (f"candidates: {len(candidates)} documents of {n} queries, {len(judged)} of them judged",)
    empty = sum(not one["documents"] for one in objects)
    return JudgmentTable(
        source,
        judged,
        add_counts(ignored, {_REPEATED: repeated}, {"queries without documents": empty}),
        notes,
        candidates,
    )


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def judgments_from_columns(run: RunTable, name: str) -> JudgmentTable:
    """Judgments from a column of grades or labels in the run's own table.

    Rows without a grade are unjudged and counted. A pair that is ranked several times (in several samples) must have
    one grade.
    """
    column = run.column(name)
    if column.dtype.is_nested():
        numbers(column, "grade", run.source)
    known = column.is_not_null()
    if column.dtype.is_float():
        known = known & column.is_not_nan()
    if not known.any():
        raise InputError("the column has no grade in any row", where=run.source.name, column=name, accepted="numbers")
    filled = (
        pl.DataFrame({"g": column, "k": known})
        .select(pl.when("k").then("g").otherwise(pl.lit(0, dtype=pl.Int8).cast(column.dtype)))
        .to_series()
    )
    value = grades(filled.rename(name), run.source)
    frame = pl.DataFrame({"query": run.query_ids, "doc": run.doc, "grade": value, "_known": known})
    frame = frame.with_columns(pl.when("_known").then("grade").alias("grade")).drop("_known")
    kept, repeated = drop_repeats(frame, ["query", "doc"], "grade", run.source, "grade")
    judged = kept.drop_nulls("grade")
    return JudgmentTable(
        run.source,
        judged,
        add_counts({_REPEATED: repeated, "rows without a grade": len(kept) - len(judged)}),
    )


# intents


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
    table = read(source, INTENTS, columns=columns)
    intents = table.frame.select("query", "intent").unique(maintain_order=True)
    if probabilities is None:
        shares = intents.with_columns((1.0 / pl.len().over("query")).alias("probability"))
        return IntentTable(table.source, table.frame, shares, table.ignored)
    given = read(probabilities, PROBABILITIES, columns=columns)
    check_sums(given.frame.with_row_index("_row"), ["query"], "probability", given.source, "probabilities")
    missing = intents.join(given.frame, on=["query", "intent"], how="anti")
    if len(missing):
        query, intent = missing.row(0)
        raise fault(
            f"intent {intent!r} of query {query!r} has no probability in {given.source.name}",
            table.source,
            first((table.frame["query"] == query) & (table.frame["intent"] == intent)) or 0,
            accepted=PROBABILITIES.accepted,
            hint="Add it, with 0 if it does not count",
        )
    return IntentTable(table.source, table.frame, given.frame, add_counts(table.ignored, given.ignored))


# targets


def read_targets(specs: Any, *, columns: Columns | None = None) -> TargetTable:
    """Read target distributions.

    Parameters
    ----------
    specs
        A path to a table ``attribute, value, share[, query]``, ``NAME=FILE.golddistr`` (NTCIREVAL: one share on every
        line, values 1 to c), a frame, a dictionary ``{"gender": {"f": 0.5, "m": 0.5}}``, or a list of these.
    columns
        Our names to the table's.

    Returns
    -------
    TargetTable
        Shares are not negative, sum to 1 within 1e-3 for each attribute (and query), and are never rescaled.

    Raises
    ------
    InputError
        Something cannot be used: the message names the file and line, or the row and column.
    """
    if isinstance(specs, TargetTable):
        return specs
    tables = [_targets_of(spec, columns) for spec in (specs if isinstance(specs, (list, tuple)) else [specs])]
    if not tables:
        raise InputError("no targets are given", accepted=TARGETS.accepted)
    seen: dict[str, str] = {}
    for table in tables:
        for name in table.frame["attribute"].unique(maintain_order=True).to_list():
            if name in seen:
                raise InputError(
                    f"the target of {name!r} is given twice ({seen[name]} and {table.source.name})",
                    where=table.source.name,
                    accepted="one target for each attribute",
                )
            seen[name] = table.source.name
    if len(tables) == 1:
        return tables[0]
    source = Source(", ".join(t.source.name for t in tables), tuple(f for t in tables for f in t.source.files))
    return TargetTable(source, pl.concat([t.frame for t in tables]), add_counts(*(t.ignored for t in tables)))


def _targets_of(spec: Any, columns: Columns | None) -> TargetTable:
    if isinstance(spec, Mapping):
        return _targets_of_dict(spec)
    if is_path(spec):
        name, path = split_name(spec)
        if name is not None or path.endswith((".golddistr", ".golddistr.gz", ".golddistr.zst")):
            return _golddistr(name, path)
        spec = path
    table = read(spec, TARGETS, columns=columns)
    frame = table.frame
    if "query" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.String).alias("query"))
    return _checked(frame, table.source, table.ignored)


def _checked(frame: pl.DataFrame, source: Source, ignored: dict[str, int]) -> TargetTable:
    if (row := first(frame["value"] == UNKNOWN)) is not None:
        raise fault(
            f"the value {UNKNOWN} never enters a target",
            source,
            row,
            column="value",
            accepted="shares of known values; the unknown are treated as --unknown says",
            hint="Remove the value and let the other shares sum to 1",
        )
    if pair := repeated_pair(frame, ["attribute", "query", "value"]):
        first_row, row = pair
        found = f"the value {frame['value'][row]!r} of {frame['attribute'][row]!r} has a share here"
        other = source.elsewhere(first_row, row)
        raise fault(f"{found} and at {other}", source, row, accepted="one share for each value")
    check_sums(frame.with_row_index("_row"), ["attribute", "query"], "share", source, "shares")
    return TargetTable(source, frame, ignored)


def _golddistr(name: str | None, path: str) -> TargetTable:
    path = one_file(path, "targets")
    if name is None:
        raise InputError(
            "a .golddistr file does not say which attribute it is for", where=path, accepted=f"NAME={path}"
        )
    if not any(GOLDDISTR.fits(line.split()) for line in head_lines(path)):
        found = f"no line is a share, and {name}= is for files with one share on every line"
        raise InputError(found, where=path, accepted=TARGETS.accepted, hint=f"Leave out {name}= for a table")
    table = check(read_fields(path, GOLDDISTR), GOLDDISTR)
    n = len(table.frame)
    frame = pl.DataFrame(
        {
            "attribute": pl.Series([name] * n, dtype=pl.String),
            "value": [str(i) for i in range(1, n + 1)],
            "share": table.frame["share"],
            "query": pl.Series([None] * n, dtype=pl.String),
        }
    )
    return _checked(frame, table.source, table.ignored)


def _targets_of_dict(targets: Mapping[Any, Any]) -> TargetTable:
    source = Source("dictionary")
    rows: list[tuple[str, str, float]] = []
    for attribute, shares in targets.items():
        if not isinstance(shares, Mapping) or not shares:
            raise InputError(
                f"the target of {attribute!r} is a {type(shares).__name__}",
                where="dictionary",
                accepted="{attribute: {value: share}}",
            )
        for value, share in shares.items():
            if isinstance(share, bool) or not isinstance(share, (int, float)) or _too_large(share):
                raise InputError(
                    f"the share {share!r:.60} of {value!r} is not a number",
                    where="dictionary",
                    row=len(rows),
                    column=str(attribute),
                    accepted="{attribute: {value: share}}",
                )
            if not is_unicode(f"{attribute}{value}"):
                raise InputError(
                    f"the name {attribute!r} or {value!r} has half of a surrogate pair",
                    where="dictionary",
                    accepted="text that is Unicode",
                )
            rows.append((str(attribute), str(value), float(share)))
    if not rows:
        raise InputError(
            "the dictionary of targets is empty", where="dictionary", accepted="{attribute: {value: share}}"
        )
    frame = pl.DataFrame(
        rows, schema={"attribute": pl.String, "value": pl.String, "share": pl.Float64}, orient="row"
    ).with_columns(pl.lit(None, pl.String).alias("query"))
    numbers(frame["share"], "share", source, least=0.0)
    return _checked(frame, source, {})


def _too_large(share: float) -> bool:
    """Whether a whole number is beyond the floats."""
    return isinstance(share, int) and finite(share) is None


# query sequences


def read_sequence(path: str | os.PathLike[str]) -> pl.DataFrame:
    """How often a sequence requests each query: :func:`read_requests`, counted.

    Returns
    -------
    polars.DataFrame
        ``query`` (String, in order of first appearance) and ``weight`` (Float64: the number of its requests).
    """
    return counted(read_requests(path))


def counted(requests: pl.Series) -> pl.DataFrame:
    """``query, weight`` of requests, in order of first appearance.

    Examples
    --------
    >>> counted(pl.Series(["q2", "q1", "q2"])).rows()
    [('q2', 2.0), ('q1', 1.0)]
    """
    frame = pl.DataFrame({"query": requests})
    return frame.group_by("query", maintain_order=True).agg(pl.len().cast(pl.Float64).alias("weight"))


def read_requests(path: str | os.PathLike[str]) -> pl.Series:
    """Read a query sequence, ``sequence.number,qid`` on every line without a header.

    Parameters
    ----------
    path
        The file (plain, gzip or zstd).

    Returns
    -------
    polars.Series
        The query of each request, in the order of the lines; a repeated line counts once.

    Raises
    ------
    InputError
        A line that does not have this form, or a number of the sequence that two queries have.
    """
    path = one_file(path, "query sequence")
    lines, source, _ = data_lines(path, SEQUENCE_FILE)
    text = lines.str.strip_chars(" \t\r\n")
    cells = text.str.extract_groups(r"^([^,\s]+)[ \t]*,[ \t]*([^,]*[^,\s])$").struct.unnest()
    number, query = cells.to_series(0), cells.to_series(1)
    bad = number.is_null() | ~number.str.contains(NUMBER)
    if (row := first(bad.fill_null(True))) is not None:
        hint = "Remove the header" if row == 0 and number[0] is not None else "Correct this line"
        raise fault(f"{text[row]!r} is not a place and a query", source, row, accepted=SEQUENCE_FILE, hint=hint)
    frame = pl.DataFrame({"place": number, "query": query})
    kept, _ = drop_repeats(frame, ["place"], "query", source, "query")
    return kept["query"]
