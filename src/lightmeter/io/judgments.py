"""Judgments in every form (TREC, tables, frames, dictionaries, TREC Fair queries) as :class:`JudgmentTable`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.checks import drop_repeats, fault, finite, identifiers, numbers
from lightmeter.io.dictionaries import dict_table
from lightmeter.io.jsonl import read_objects
from lightmeter.io.sources import add_counts, is_path, merge_sources, parts
from lightmeter.io.tables import JudgmentTable, Source
from lightmeter.io.tabular import DECIMAL, Columns, Shape, Table, join, need, read_table, read_table_file, tell_format
from lightmeter.io.trec import exact_fields

JUDGMENT_FILE = "lines 'query 0 doc grade' or 'query doc grade' (grade 2 or L2), or a table with query, doc, grade"
_GRADE = re.compile(rf"L?(?:{DECIMAL.pattern.removeprefix('^').removesuffix('$')})")
JUDGMENT_SHAPE = Shape(("query", "doc", "grade"), (3, 4), _GRADE, -1)
REPEATED = "repeated judgments"


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
        return _judgments(_dict_frame(source), Source("dictionary"), {})
    if not is_path(source):
        return _of_table(read_table(source, JUDGMENT_SHAPE, columns=columns, what="judgments"), columns)
    found = parts(source, "judgments")
    formats = {tell_format(file, JUDGMENT_SHAPE, columns)[0] for file in found.files}
    if "fields" in formats:
        if len(formats) > 1:
            raise InputError("TREC files and tables are mixed", where=str(source), accepted="part files of one format")
        return _of_fields(str(source), found.files, found.ignored)
    if formats == {"jsonl"} and len(found.files) == 1:
        objects, where, ignored = read_objects(found.files[0])
        if "documents" in objects[0]:
            return _of_trec_fair(objects, where, ignored)
    tables = [read_table_file(file, JUDGMENT_SHAPE, columns) for file in found.files]
    return _of_table(join(str(source), tables, found.ignored), columns)


def grades(column: pl.Series, source: Source, *, named: bool = True) -> pl.Series:
    """Grades as numbers; text may be ``L2`` for 2."""
    if column.dtype != pl.String or not bool(column.str.starts_with("L").any()):
        return numbers(column, "grade", source, named=named)
    try:
        return numbers(column.str.replace(r"^L([0-9.+-])", "$1"), "grade", source, named=named)
    except InputError:
        # say it with the text as it stands
        numbers(column.str.replace(r"^L([0-9.+-].*)$", "0"), "grade", source, named=named)
        raise


def _judgments(
    frame: pl.DataFrame,
    source: Source,
    ignored: dict[str, int],
    notes: tuple[str, ...] = (),
    candidates: pl.DataFrame | None = None,
) -> JudgmentTable:
    hint = "Remove one of the two; judgments per intent are given with --intents"
    kept, repeated = drop_repeats(frame, ["query", "doc"], "grade", source, "grade", hint)
    return JudgmentTable(source, kept, add_counts(ignored, {REPEATED: repeated}), notes, candidates)


def _of_fields(name: str, files: tuple[str, ...], ignored: dict[str, int]) -> JudgmentTable:
    frames, sources, counts = [], [], []
    for file in files:
        fields = exact_fields(file, 3, 4, JUDGMENT_FILE)
        short = fields.frame["f3"].is_null()
        if short.any() and not short.all():
            row = int(np.flatnonzero(short.to_numpy() != bool(short[0]))[0])
            raise fault(
                f"{3 if short[row] else 4} fields in a file whose first line has {3 if short[0] else 4}",
                fields.source,
                row,
                accepted=JUDGMENT_FILE,
            )
        doc, grade = ("f1", "f2") if short.all() else ("f2", "f3")
        value = grades(fields.frame[grade], fields.source, named=False)
        frames.append(pl.DataFrame({"query": fields.frame["f0"], "doc": fields.frame[doc], "grade": value}))
        sources.append(fields.source)
        counts.append(fields.ignored)
    source = merge_sources(name, sources, [len(f) for f in frames])
    return _judgments(pl.concat(frames), source, add_counts(ignored, *counts))


def _of_table(table: Table, columns: Columns | None) -> JudgmentTable:
    names = [need(table, wanted, columns, JUDGMENT_FILE) for wanted in ("query", "doc", "grade")]
    query, doc, grade = (table.frame[name] for name in names)
    frame = pl.DataFrame(
        {
            "query": identifiers(query, "query", table.source),
            "doc": identifiers(doc, "document", table.source),
            "grade": grades(grade, table.source),
        }
    )
    return _judgments(frame, table.source, table.ignored)


def _dict_frame(source: Mapping[Any, Any]) -> pl.DataFrame:
    if not source:
        raise InputError("the dictionary is empty", accepted="{query: {doc: grade}}")
    if not all(isinstance(value, Mapping) for value in source.values()):
        raise InputError("a query without a dictionary of grades", where="dictionary", accepted="{query: {doc: grade}}")
    return dict_table(source, "dictionary", "grade").frame


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
    line_of = source.line_of
    place = Source(source.name, source.files, (lambda row: line_of(rows[row])) if line_of else None)
    frame = pl.DataFrame(
        {"query": queries, "doc": docs, "grade": values},
        schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64},
    )
    table = _judgments(frame, place, ignored)
    candidates = table.frame.select("query", "doc")
    judged = table.frame.drop_nulls("grade")
    n = table.frame["query"].n_unique()
    notes = (f"candidates: {len(candidates)} documents of {n} queries, {len(judged)} of them judged",)
    empty = sum(not one["documents"] for one in objects)
    return JudgmentTable(
        place, judged, add_counts(table.ignored, {"queries without documents": empty}), notes, candidates
    )


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))
