"""Long tables ``doc, attribute, value[, weight][, query]``."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import polars as pl

from lightmeter.arrays import Integers
from lightmeter.io.attributes import Options, build_attribute, member_rows
from lightmeter.io.binning import plain_text
from lightmeter.io.checks import UNKNOWN, UNKNOWN_CELLS, check_sums, fault, first, identifiers, known_cells, numbers
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import AttributeTable, Source
from lightmeter.io.tabular import Columns, Table, find, need

LONG_FILE = "a table 'doc, attribute, value[, weight][, query]'"


def long_attributes(
    table: Table, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    """The attributes of a long table, in order of first appearance.

    With weights membership is soft: the shares of a document sum to 1 and are used as given. Without, a document with
    several values is a member of each. An empty value is unknown. Numbers are names, unless bins are given.
    """
    source = table.source
    doc = identifiers(table.frame[need(table, "doc", columns, LONG_FILE)], "document", source)
    attribute = identifiers(table.frame[need(table, "attribute", columns, LONG_FILE)], "attribute", source)
    value = table.frame[need(table, "value", columns, LONG_FILE)]
    query_name, weight_name = find(table, "query", columns), find(table, "weight", columns)
    frame = pl.DataFrame({"doc": doc, "value": value, "_attribute": attribute})
    if query_name:
        query = table.frame[query_name]
        frame = frame.with_columns(
            (query if query.null_count() == len(query) else _queries(query, source)).cast(pl.String).alias("query")
        )
    if weight_name:
        frame = frame.with_columns(table.frame[weight_name].alias("weight"))
    if isinstance(value.dtype, pl.List):
        # several values of a document are as many rows
        rows_of_cells = frame.with_row_index("_cell").explode("value")
        source = _rows_of(source, rows_of_cells["_cell"].to_numpy().astype(np.int64))
        frame = rows_of_cells.drop("_cell")
        attribute = frame["_attribute"]
    tables = []
    for name in attribute.unique(maintain_order=True).to_list():
        if only is None or name in only:
            rows = np.flatnonzero((attribute == name).to_numpy())
            tables.append(_one(name, frame[rows].drop("_attribute"), _rows_of(source, rows), options))
    return tables


def _queries(query: pl.Series, source: Source) -> pl.Series:
    if query.null_count():
        identifiers(query.drop_nulls(), "query", source)
        return query.cast(pl.String)
    return identifiers(query, "query", source)


def _rows_of(source: Source, rows: Integers) -> Source:
    whole = source.line_of
    return Source(source.name, source.files, (lambda row: whole(int(rows[row]))) if whole else None)


def _one(name: str, frame: pl.DataFrame, source: Source, options: Options) -> AttributeTable:
    if "query" in frame.columns:
        missing = frame["query"].is_null()
        if missing.all():
            frame = frame.drop("query")
        elif missing.any():
            raise fault(
                f"a row of {name!r} without a query, where others have one",
                source,
                first(missing) or 0,
                column="query",
                accepted="a query in every row of an attribute, or in none",
            )
    keys: list[str] = [c for c in ("query", "doc") if c in frame.columns]
    if "weight" in frame.columns and frame["weight"].null_count() < len(frame):
        made = _soft(name, frame, keys, source, options)
    elif name in options.bins or name in options.bias:
        made = build_attribute(frame["value"].rename(name), frame.select(keys), source, options)
    else:
        made = _hard(name, frame, keys, source, options)
    if made is None:
        raise fault(f"the attribute {name!r} has no value in any row", source, 0, column="value", accepted=LONG_FILE)
    return made


def _hard(name: str, frame: pl.DataFrame, keys: list[str], source: Source, options: Options) -> AttributeTable | None:
    label, unknown = known_cells(plain_text(frame["value"], source))
    rows = frame.select(keys).with_columns(label.alias("_label")).with_row_index("_row").drop_nulls("_label")
    if not len(rows):
        return None
    once = rows.unique([*keys, "_label"], keep="first", maintain_order=True)
    declared = options.ordinal.get(name)
    code, values = member_rows(once["_label"], once["_row"], declared, source, name)
    several = bool(once.select(pl.struct(keys).is_duplicated().any()).item())
    result = once.select("doc", code.alias("value"), pl.lit(1.0).alias("weight"), *(k for k in keys if k == "query"))
    ignored = add_counts({"repeated memberships": len(rows) - len(once), UNKNOWN_CELLS: unknown})
    return AttributeTable(name, source, values, "multi" if several else "hard", declared is not None, result, ignored)


def _soft(name: str, frame: pl.DataFrame, keys: list[str], source: Source, options: Options) -> AttributeTable | None:
    if name in options.bins or name in options.bias:
        raise fault(
            f"{name!r} has weights, and bins or bias were given for it",
            source,
            0,
            accepted="weights, or numbers to be binned",
        )
    weight = numbers(frame["weight"], "weight", source, least=0.0)
    label = plain_text(frame["value"], source)
    if (row := first(label.is_null())) is not None:
        raise fault("a weight without a value", source, row, column="value", accepted=LONG_FILE)
    rows = frame.select(keys).with_columns(label.alias("value"), weight.alias("weight")).with_row_index("_row")
    twice = rows.filter(pl.struct([*keys, "value"]).is_duplicated()).sort(*keys, "value", "_row")
    if len(twice):
        doc, value, here, there = twice["doc"][0], twice["value"][0], twice["_row"][1], twice["_row"][0]
        raise fault(
            f"document {doc!r} has the value {value!r} twice, here and at {source.elsewhere(there, here)}",
            source,
            here,
            accepted="one weight for each value of a document",
        )
    check_sums(rows, keys, "weight", source, "weights")
    rows, unknown = _without_unknown(rows, keys, source)
    if not len(rows):
        return None
    declared = options.ordinal.get(name)
    code, values = member_rows(rows["value"], rows["_row"], declared, source, name)
    positive = rows.with_columns(code.alias("value")).filter(pl.col("weight") > 0)
    hard = bool((positive["weight"] == 1.0).all()) and len(positive) == positive.select(keys).n_unique()
    result = positive.select("doc", "value", "weight", *(k for k in keys if k == "query"))
    ignored = add_counts({UNKNOWN_CELLS: unknown})
    return AttributeTable(name, source, values, "hard" if hard else "soft", declared is not None, result, ignored)


def _without_unknown(rows: pl.DataFrame, keys: list[str], source: Source) -> tuple[pl.DataFrame, int]:
    """The rows of known values and how many others there were; a document may be unknown as a whole, not in part."""
    strange = rows["value"] == UNKNOWN
    if not strange.any():
        return rows, 0
    positive = rows.filter(pl.col("weight") > 0).filter(pl.len().over(keys) > 1, pl.col("value") == UNKNOWN)
    if len(positive):
        one = positive.row(0, named=True)
        raise fault(
            f"document {one['doc']!r} is {UNKNOWN!r} with weight {one['weight']:g} and has known values too",
            source,
            one["_row"],
            column="value",
            accepted=f"{UNKNOWN} with all the weight of a document, or shares of known values that sum to 1",
        )
    return rows.filter(~strange), int(strange.sum())
