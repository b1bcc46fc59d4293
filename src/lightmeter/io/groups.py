"""Groups: wide and long tables, and the special forms, as :class:`AttributeTable`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.attributes import Options, build_attribute
from lightmeter.io.checks import identifiers, repeats
from lightmeter.io.dictionaries import group_frames
from lightmeter.io.frames import is_frame, to_polars
from lightmeter.io.long import long_attributes
from lightmeter.io.memberships import read_annotations, read_gains, read_gmemb
from lightmeter.io.sources import add_counts, is_path, parts, split_kind, split_name
from lightmeter.io.tables import AttributeTable, Source
from lightmeter.io.tabular import Columns, Table, column_names, find, need, read_table, table_shape

GROUP_FILE = "a table 'doc, <attribute>, ..', or 'doc, attribute, value[, weight][, query]'"
_TABLE = table_shape("doc")
KINDS = ("bias", "gains", "annotations", "gmemb")


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
    tables = [table for one in sources for table in _read_one(one, columns, options, only)]
    names = [t.name for t in tables]
    if twice := next((n for n in names if names.count(n) > 1), None):
        places = [t.source.name for t in tables if t.name == twice]
        raise InputError(
            f"the attribute {twice!r} is given twice ({places[0]} and {places[1]})",
            where=places[1],
            accepted="each attribute once",
            hint="Name them apart with NAME=PATH",
        )
    where = ", ".join(map(_label, sources))
    if only is None:
        options.check_used(names, where)
        return tables
    if any(name not in names for name in (*only, *options.ordinal, *options.bins, *options.bias)):
        there = list(dict.fromkeys([*attribute_names(sources, columns=columns), *names]))
        for name in only:
            if name not in names:
                shown = ", ".join(map(repr, there[:12])) + (", .." if len(there) > 12 else "")
                raise InputError(
                    f"the attribute {name!r} has no value in any row"
                    if name in there
                    else f"no attribute {name!r}; the attributes are {shown or 'none'}",
                    where=where,
                    hint="" if name in there else f"{suggest(name, there)} Correct the name".strip(),
                )
        options.check_used(there, where)
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
        head = column_names(parts(path, "groups").files[0], _TABLE, columns)
        source = path
    else:
        head = to_polars(source, "frame").columns if is_frame(source) else []
    shown = Table(pl.DataFrame(schema=head), Source("header"))
    if head and not (find(shown, "attribute", columns) and find(shown, "value", columns)):
        keys = (find(shown, "doc", columns), find(shown, "query", columns))
        return [name for name in head if name not in keys]
    table = read_table(source, _TABLE, columns=columns, what="groups")
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
    path, kind = split_kind(path, KINDS)
    return name, path, kind or ("gmemb" if path.endswith((".gmemb", ".gmemb.gz", ".gmemb.zst")) else None)


def _nameless(path: str, kind: str) -> InputError:
    return InputError(
        f"memberships of kind {kind!r} need a name",
        where=path,
        accepted=f"NAME={path}" + (f":{kind}" if kind != "gmemb" else ""),
    )


def _read_one(
    source: Any, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    if isinstance(source, AttributeTable):
        return [source]
    if not is_path(source):
        return table_attributes(
            read_table(source, _TABLE, columns=columns, what="groups"), None, columns, options, only
        )
    name, path, kind = _spec(source)
    if kind is None:
        return table_attributes(read_table(path, _TABLE, columns=columns, what="groups"), name, columns, options, only)
    if name is None:
        raise _nameless(path, kind)
    if only is not None and name not in only:
        return []
    if kind == "gmemb":
        return [read_gmemb(name, path, options)]
    if kind == "gains":
        return [read_gains(name, path, options)]
    if kind == "annotations":
        return [read_annotations(name, path, options)]
    with_bias = Options(options.ordinal, options.bins, (*options.bias, name))
    return table_attributes(read_table(path, _TABLE, columns=columns, what="groups"), name, columns, with_bias, only)


def table_attributes(
    table: Table, name: str | None, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    """The attributes of a wide or long table."""
    if find(table, "attribute", columns) and find(table, "value", columns):
        tables = long_attributes(table, columns, options, only if name is None else [name])
        if name is not None and not tables:
            there = attribute_names(table.frame, columns=columns)
            raise InputError(
                f"no attribute {name!r}; the attributes are {', '.join(map(repr, there[:12]))}",
                where=table.source.name,
                accepted="NAME= one of the attributes of a long table, or the table without NAME=",
                hint=f"{suggest(name, there)} Correct the name".strip(),
            )
    else:
        tables = _wide(table, name, columns, options, only)
    if tables and table.ignored:
        head = tables[0]
        tables[0] = AttributeTable(
            head.name,
            head.source,
            head.values,
            head.kind,
            head.ordinal,
            head.frame,
            add_counts(table.ignored, head.ignored),
            head.notes,
        )
    return tables


def _wide(
    table: Table, name: str | None, columns: Columns | None, options: Options, only: Collection[str] | None
) -> list[AttributeTable]:
    doc_name = need(table, "doc", columns, GROUP_FILE)
    query_name = find(table, "query", columns)
    keys = {"doc": identifiers(table.frame[doc_name], "document", table.source).rename("doc")}
    if query_name:
        keys["query"] = identifiers(table.frame[query_name], "query", table.source).rename("query")
    present = [c for c in table.frame.columns if c not in (doc_name, query_name)]
    if not present:
        raise InputError("the table has no attribute column", where=table.source.name, accepted=GROUP_FILE)
    wanted = {c: c for c in present if only is None or c in only}
    if name is not None:
        if name not in present and len(present) > 1:
            raise InputError(
                f"no column {name!r}; the columns are {', '.join(map(repr, present[:12]))}",
                where=table.source.name,
                accepted="NAME= one of the columns, or a table with one attribute",
                hint=f"{suggest(name, present)} Correct the name".strip(),
            )
        wanted = {name if name in present else present[0]: name}
    made, empty = [], 0
    key_frame = pl.DataFrame(keys)
    distinct = repeats(key_frame, key_frame.columns) is None
    for column, attribute in wanted.items():
        one = build_attribute(
            table.frame[column].rename(attribute), key_frame, table.source, options, distinct=distinct
        )
        if one is None:
            empty += 1
        else:
            made.append(one)
    if wanted and not made:
        raise InputError(
            "no attribute has a value in any row",
            where=table.source.name,
            column=next(iter(wanted)),
            accepted=GROUP_FILE,
        )
    if empty:
        head = made[0]
        made[0] = AttributeTable(
            head.name,
            head.source,
            head.values,
            head.kind,
            head.ordinal,
            head.frame,
            add_counts(head.ignored, {"columns without values": empty}),
            head.notes,
        )
    return made
