"""Groups: wide and long tables, the forms of evaluation campaigns, and columns of a run, as :class:`AttributeTable`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.attributes import REPEATED, Options, build_attribute, codes_of, member_rows, order_values
from lightmeter.io.columns import (
    UNKNOWN,
    UNKNOWN_CELLS,
    check_sums,
    drop_repeats,
    fault,
    first,
    identifiers,
    known_cells,
    numbers,
    plain_text,
    repeated_pair,
    repeats,
    unknown_name,
)
from lightmeter.io.forms import Column, Columns, Form, check, find, locate
from lightmeter.io.frames import group_frames, is_frame, to_polars
from lightmeter.io.sources import add_counts, is_path, one_file, parts, split_kind, split_name
from lightmeter.io.tables import AttributeTable, RunTable, Source, Table
from lightmeter.io.tabular import column_names, read_table
from lightmeter.io.text import data_lines, read_fields

WIDE = Form(
    "a table 'doc, <attribute>, ..', or 'doc, attribute, value[, weight][, query]'",
    (Column("doc"), Column("query", required=False)),
    what="groups",
)
LONG = Form(
    "a table 'doc, attribute, value[, weight][, query]'",
    (
        Column("doc"),
        Column("attribute"),
        Column("value", "any"),
        Column("query", "sparse id", required=False),
        Column("weight", "any", required=False),
    ),
)
GAINS = Form(
    "lines 'query intent doc gain'",
    (Column("query"), Column("intent"), Column("doc"), Column("gain", "number", least=0.0)),
    lines=(("query", "intent", "doc", "gain"),),
    keys=("query", "doc", "intent"),
    values=("gain",),
    repeated="repeated gains",
)
GMEMB_FILE = "lines 'query doc p1 p2 .. pc', the shares of c values that sum to 1"
ANNOTATIONS_FILE = "lines 'doc,value,value,..' without a header"
#: what no document is called
HEADERS = ("doc", "docid", "doc_id", "docno", "document", "document_id", "id", "item", "item_id")


def read_groups(
    source: Any,
    *,
    columns: Columns | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    bias: Collection[str] = (),
    only: Collection[str] | None = None,
) -> list[AttributeTable]:
    """Read the groups that documents belong to.

    Parameters
    ----------
    source
        A path, ``NAME=PATH[:kind]``, a frame, ``{attribute: {doc: value}}``, or a list of these. Tables are wide
        (``doc`` and one column for each attribute; empty or ``unknown`` is unknown, ``a|b`` several values) or long
        (``doc, attribute, value[, weight][, query]``; soft when weights are given). Kinds: ``bias`` (scores in
        [-1, 1]), ``gains`` (TREC diversity lines), ``annotations`` (TREC Fair, ``doc,v1,v2,..``); a path that ends in
        ``.gmemb`` is NTCIREVAL's. ``NAME=`` picks that column of a wide table, or names its only one.
    columns
        Our names to the table's, for example ``{"doc": "item_id"}``.
    bins
        Lower ends of the bins of number columns: ``{"age": [0, 18, 65]}``.
    ordinal
        The order of values: ``{"level": ["low", "mid", "high"]}``. Values the data do not have are kept.
    bias
        Columns of wide tables that hold bias scores b: memberships (1-b)/2 in ``negative`` and (1+b)/2 in ``positive``.
    only
        The attributes wanted; the other columns of wide tables are not looked at. All when not given.

    Returns
    -------
    list of AttributeTable
        In the order of sources and columns.

    Raises
    ------
    InputError
        Something cannot be used: the message names the file and line, or the row and column.
    """
    options = Options(dict(ordinal or {}), dict(bins or {}), tuple(bias))
    sources = _listed(source)
    tables = [table for one in sources for table in _attributes_of(one, columns, options, only)]
    names = [t.name for t in tables]
    if twice := next((n for n in names if names.count(n) > 1), None):
        where = [t.source.name for t in tables if t.name == twice]
        raise InputError(
            f"the attribute {twice!r} is given twice ({where[0]} and {where[1]})",
            where=where[1],
            accepted="each attribute once",
            hint="Name them apart with NAME=PATH",
        )
    named = ", ".join(map(_label, sources))
    if only is None:
        options.check_used(names, named)
        return tables
    if any(name not in names for name in (*only, *options.ordinal, *options.bins, *options.bias)):
        known = list(dict.fromkeys([*attribute_names(sources, columns=columns), *names]))
        for name in only:
            if name in known and name not in names:
                raise InputError(f"the attribute {name!r} has no value in any row", where=named)
            if name not in names:
                raise unknown_name("attribute", name, known, named)
        options.check_used(known, named)
    return [t for t in tables if t.name in only]


def attribute_names(source: Any, *, columns: Columns | None = None) -> list[str]:
    """The names of the attributes that :func:`read_groups` would find, each once: from the headers of wide tables, the
    attribute column of long ones, and ``NAME=``. Columns without any value are among them.

    Parameters
    ----------
    source, columns
        As for :func:`read_groups`.
    """
    return list(dict.fromkeys(name for one in _listed(source) for name in _names(one, columns)))


def _names(source: Any, columns: Columns | None) -> list[str]:
    if isinstance(source, AttributeTable):
        return [source.name]
    if is_path(source):
        name, path, kind = _spec(source)
        if name is not None:
            return [name]
        if kind is not None:
            raise _nameless(path, kind)
        head = column_names(parts(path, "groups").files[0], WIDE, columns)
        source = path
    else:
        head = to_polars(source, "frame").columns if is_frame(source) else []
    shown = Table(pl.DataFrame(schema=head), Source("header"))
    if head and not (find(shown, "attribute", columns) and find(shown, "value", columns)):
        keys = (find(shown, "doc", columns), find(shown, "query", columns))
        return [name for name in head if name not in keys]
    table = read_table(source, WIDE, columns=columns)
    column = find(table, "attribute", columns)
    return (
        identifiers(table.frame[column], "attribute", table.source).unique(maintain_order=True).to_list()
        if column
        else []
    )


def _listed(source: Any) -> list[Any]:
    listed = list(source) if isinstance(source, (list, tuple)) else [source]
    return [frame for one in listed for frame in (group_frames(one) if isinstance(one, Mapping) else [one])]


def _label(source: Any) -> str:
    return os.fspath(source) if is_path(source) else source.name if isinstance(source, AttributeTable) else "frame"


def _spec(source: Any) -> tuple[str | None, str, str | None]:
    """Name, path and kind."""
    name, path = split_name(source)
    path, kind = split_kind(path)
    return name, path, kind or ("gmemb" if path.endswith((".gmemb", ".gmemb.gz", ".gmemb.zst")) else None)


def _nameless(path: str, kind: str) -> InputError:
    return InputError(
        f"memberships of kind {kind!r} need a name",
        where=path,
        accepted=f"NAME={path}" + (f":{kind}" if kind != "gmemb" else ""),
    )


def _attributes_of(
    source: Any, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    if isinstance(source, AttributeTable):
        return [source]
    if not is_path(source):
        return _of_table(read_table(source, WIDE, columns=columns), None, columns, options, only)
    name, path, kind = _spec(source)
    if kind is not None:
        if name is None:
            raise _nameless(path, kind)
        if only is not None and name not in only:
            return []
        if kind != "bias":
            return [_SPECIAL[kind](name, one_file(path, "groups"), options)]
        options = replace(options, bias=(*options.bias, name))
    return _of_table(read_table(path, WIDE, columns=columns), name, columns, options, only)


def _of_table(
    table: Table, name: str | None, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    """The attributes of a wide or long table."""
    if find(table, "attribute", columns) and find(table, "value", columns):
        tables = _long(table, columns, options, only if name is None else [name])
        if name is not None and not tables:
            known = attribute_names(table.frame, columns=columns)
            accepted = "NAME= one of the attributes of a long table, or the table without NAME="
            raise unknown_name("attribute", name, known, table.source.name, accepted)
    else:
        tables = _wide(table, name, columns, options, only)
    if tables:
        tables[0] = replace(tables[0], ignored=add_counts(table.ignored, tables[0].ignored))
    return tables


def _wide(
    table: Table, name: str | None, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    names = locate(table, WIDE, columns)
    keys = check(table, WIDE, columns).frame
    present = [c for c in table.frame.columns if c not in names.values()]
    if not present:
        raise InputError("the table has no attribute column", where=table.source.name, accepted=WIDE.accepted)
    wanted = {c: c for c in present if only is None or c in only}
    if name is not None:
        if name not in present and len(present) > 1:
            accepted = "NAME= one of the columns, or a table with one attribute"
            raise unknown_name("column", name, present, table.source.name, accepted)
        wanted = {name if name in present else present[0]: name}
    distinct = repeats(keys, keys.columns) is None
    found = [
        build_attribute(table.frame[column].rename(attribute), keys, table.source, options, distinct=distinct)
        for column, attribute in wanted.items()
    ]
    built = [one for one in found if one is not None]
    if wanted and not built:
        raise InputError(
            "no attribute has a value in any row",
            where=table.source.name,
            column=next(iter(wanted)),
            accepted=WIDE.accepted,
        )
    if built:
        empty = {"columns without values": len(found) - len(built)}
        built[0] = replace(built[0], ignored=add_counts(built[0].ignored, empty))
    return built


def _long(
    table: Table, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    """The attributes of a long table, in order of first appearance.

    With weights membership is soft: the shares of a document sum to 1 and are used as given. Without, a document with
    several values is a member of each. An empty value is unknown. Numbers are names, unless bins are given.
    """
    frame, source = check(table, LONG, columns).frame.rename({"attribute": "_attribute"}), table.source
    if isinstance(frame["value"].dtype, pl.List):
        # several values of a document are as many rows
        cells = frame.with_row_index("_cell").explode("value")
        source, frame = source.rows(cells["_cell"]), cells.drop("_cell")
    attribute, tables = frame["_attribute"], []
    for name in attribute.unique(maintain_order=True).to_list():
        if only is None or name in only:
            rows = np.flatnonzero((attribute == name).to_numpy())
            tables.append(_long_attribute(name, frame[rows].drop("_attribute"), source.rows(rows), options))
    return tables


def _long_attribute(name: str, frame: pl.DataFrame, source: Source, options: Options) -> AttributeTable:
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
        table = _soft(name, frame, keys, source, options)
    elif name in options.bins or name in options.bias:
        table = build_attribute(frame["value"].rename(name), frame.select(keys), source, options)
    else:
        table = _hard(name, frame, keys, source, options)
    if table is None:
        raise fault(
            f"the attribute {name!r} has no value in any row", source, 0, column="value", accepted=LONG.accepted
        )
    return table


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
        raise fault("a weight without a value", source, row, column="value", accepted=LONG.accepted)
    rows = frame.select(keys).with_columns(label.alias("value"), weight.alias("weight")).with_row_index("_row")
    if pair := repeated_pair(rows, [*keys, "value"]):
        first_row, row = pair
        found = f"document {rows['doc'][row]!r} has the value {label[row]!r} twice"
        other = source.elsewhere(first_row, row)
        raise fault(f"{found}, here and at {other}", source, row, accepted="one weight for each value of a document")
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
    unnamed = rows["value"] == UNKNOWN
    if not unnamed.any():
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
    return rows.filter(~unnamed), int(unnamed.sum())


# the forms of evaluation campaigns


def _gmemb(name: str, path: str, options: Options) -> AttributeTable:
    """NTCIREVAL soft membership: ``query doc p1 .. pc``; values are named 1 to c and ordinal; shares are used as
    given.
    """
    _refuse_declaration(name, path, "--ordinal", options.ordinal, "values 1 to c are ordinal as they stand")
    _refuse_declaration(name, path, "--bins", options.bins, "memberships are shares, not numbers to be binned")
    lines, source, _ = data_lines(path, GMEMB_FILE)
    width = len(str(lines[0]).split())
    if width < 3:
        raise fault(f"{width} fields", source, 0, accepted=GMEMB_FILE)
    values = tuple(str(i) for i in range(1, width - 1))
    shares = [f"share of value {value}" for value in values]
    form = Form(
        f"{GMEMB_FILE}; the first line has {width - 2}",
        (Column("query"), Column("doc"), *(Column(share, "number", least=0.0) for share in shares)),
        lines=(("query", "doc", *shares),),
    )
    table = check(read_fields(path, form), form)
    total = table.frame.select(pl.sum_horizontal(shares)).to_series()
    if (row := first((total - 1).abs() > 1e-3 + 1e-12)) is not None:
        raise fault(
            f"the shares sum to {total[row]:.6g}",
            table.source,
            row,
            accepted="shares that sum to 1 within 0.001; they are used as given, never rescaled",
        )
    rows = table.frame.with_columns(pl.concat_str(pl.col(shares).cast(pl.String), separator=" ").alias("_shares"))
    kept, repeated = drop_repeats(rows, ["query", "doc"], "_shares", table.source, "shares")
    weights = pl.concat(
        kept.select("doc", pl.lit(i, pl.Int32).alias("value"), pl.col(share).alias("weight"), "query")
        for i, share in enumerate(shares)
    )
    ignored = add_counts(table.ignored, {REPEATED: repeated})
    return AttributeTable(name, table.source, values, "soft", True, weights.filter(pl.col("weight") > 0), ignored)


def _refuse_declaration(name: str, path: str, flag: str, declared: Mapping[str, object], why: str) -> None:
    if name in declared:
        raise InputError(f"{flag} was given for {name!r}", where=path, accepted=why, hint=f"Leave out {flag} {name}=..")


def _gains(name: str, path: str, options: Options) -> AttributeTable:
    """Soft membership from gains per intent: 3, 1, 0 become 3/4, 1/4, 0; all 0 is unknown."""
    _refuse_declaration(name, path, "--bins", options.bins, "memberships are shares, not numbers to be binned")
    table = read_fields(path, GAINS)
    if (row := first(table.frame["intent"] == UNKNOWN)) is not None:
        raise fault(
            f"gains for the intent {UNKNOWN!r}, which is no value",
            table.source,
            row,
            accepted="gains for known intents; a document without any gain is unknown",
        )
    gains = check(table, GAINS)
    declared = options.ordinal.get(name)
    values = order_values(table.frame["intent"], declared, table.source, name)
    share = gains.frame.with_columns(
        (pl.col("gain") / pl.col("gain").sum().over("query", "doc")).alias("weight"),
        codes_of(gains.frame["intent"], values).alias("value"),
    )
    known = share.filter(pl.col("gain") > 0).select("doc", "value", "weight", "query")
    pairs, some = share.select("query", "doc").n_unique(), known.select("query", "doc").n_unique()
    notes = (f"{pairs - some} documents have no gain for any intent: unknown",) if pairs > some else ()
    return AttributeTable(name, gains.source, values, "soft", declared is not None, known, gains.ignored, notes)


def _annotations(name: str, path: str, options: Options) -> AttributeTable:
    """TREC Fair author annotations, ``doc,v1,v2,..`` with a value for each author: the distinct values of each
    document. Empty cells among values are passed over and counted.
    """
    lines, source, blank = data_lines(path, ANNOTATIONS_FILE)
    text = lines.str.strip_chars(" \t\r\n")
    split = text.str.splitn(",", 2).struct.unnest()
    doc = split.to_series(0).str.strip_chars(" \t")
    if (row := first(doc.str.len_bytes() == 0)) is not None:
        raise fault("the document id is missing", source, row, accepted=ANNOTATIONS_FILE)
    if doc[0].lower() in HEADERS:
        raise fault(
            f"the first line ({text[0]!r}) is a header",
            source,
            0,
            accepted=ANNOTATIONS_FILE,
            hint="Remove the first line; a table with a header is read as it is, without ':annotations'",
        )
    if (row := first(text.str.contains('"', literal=True))) is not None:
        raise fault("a double quote", source, row, accepted=ANNOTATIONS_FILE + " and without quotes")
    barred = split.to_series(1).str.strip_chars(" \t").str.replace_all(r"[ \t]*,[ \t]*", "|").rename(name)
    cells = barred.str.replace_all(r"\|{2,}", "|").str.strip_chars("|")
    cells = cells.set((cells == "").fill_null(False), None)
    lost = barred.str.len_bytes() - cells.str.len_bytes()
    if cells.null_count() == len(cells):
        raise fault("no document has a value", source, 0, accepted=ANNOTATIONS_FILE)
    table = build_attribute(cells, pl.DataFrame({"doc": doc}), source, options, text=True)
    if table is None:
        raise InputError("no document has a value", where=path, accepted=ANNOTATIONS_FILE)
    unknown = len(cells) - cells.is_not_null().sum()
    notes = (f"{unknown} documents have no annotation: unknown",) if unknown else ()
    ignored = add_counts(table.ignored, {"blank lines": blank, "empty cells among values": int(lost.sum())})
    return AttributeTable(name, source, table.values, "multi", table.ordinal, table.frame, ignored, notes)


_SPECIAL: dict[str, Callable[[str, str, Options], AttributeTable]] = {
    "gmemb": _gmemb,
    "gains": _gains,
    "annotations": _annotations,
}


# columns of a run


def attributes_from_columns(
    run: RunTable,
    names: Sequence[str],
    *,
    bins: Mapping[str, Sequence[float]] | None = None,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    bias: Collection[str] = (),
) -> list[AttributeTable]:
    """Groups from columns of the run's own table.

    Parameters
    ----------
    run
        A run with ``extra`` columns.
    names
        The columns that are attributes.
    bins, ordinal, bias
        As for :func:`~lightmeter.io.groups.read_groups`.

    Returns
    -------
    list of AttributeTable
        By document where a document has the same value everywhere, else by query and document.
    """
    options = Options(dict(ordinal or {}), dict(bins or {}), tuple(bias))
    options.check_used(list(names), run.source.name)
    built = []
    for name in names:
        column = run.column(name)
        keys = pl.DataFrame({"doc": run.doc})
        shown = plain_text(column, run.source).alias(name) if column.dtype.is_nested() else column
        if keys.with_columns(known_cells(shown)[0].alias("_v")).n_unique() > run.doc.n_unique():
            keys = keys.with_columns(run.query_ids.alias("query"))
        one = build_attribute(column, keys, run.source, options, count=False)
        if one is None:
            raise InputError(
                "the column has no value in any row", where=run.source.name, column=name, accepted="a column of groups"
            )
        built.append(one)
    return built
