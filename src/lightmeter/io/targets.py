"""Target distributions as :class:`TargetTable`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.binning import plain_text
from lightmeter.io.checks import UNKNOWN, check_sums, fault, finite, first, identifiers, is_unicode, numbers
from lightmeter.io.sources import add_counts, is_path, one_file, split_name
from lightmeter.io.tables import Source, TargetTable
from lightmeter.io.tabular import DECIMAL, Columns, Shape, find, need, read_table
from lightmeter.io.text import head_lines
from lightmeter.io.trec import exact_fields

_TABLE = Shape(("attribute", "value", "share"), (), re.compile("(?!)"), 0, ("attribute", "query"))
TARGET_FILE = "a table 'attribute, value, share[, query]', or NAME=FILE.golddistr with one share a line"


def read_targets(specs: Any, *, columns: Columns | None = None) -> TargetTable:
    """Read target distributions.

    Parameters
    ----------
    specs
        A path to a table ``attribute, value, share[, query]``, ``NAME=FILE.golddistr`` (NTCIREVAL: one share a line,
        values 1 to c), a frame, a dictionary ``{"gender": {"f": 0.5, "m": 0.5}}``, or a list of these.
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
    tables = [_read_one(spec, columns) for spec in (specs if isinstance(specs, (list, tuple)) else [specs])]
    if not tables:
        raise InputError("no targets are given", accepted=TARGET_FILE)
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


def _read_one(spec: Any, columns: Columns | None) -> TargetTable:
    if isinstance(spec, Mapping):
        return _of_dict(spec)
    if is_path(spec):
        name, path = split_name(spec)
        if name is not None or path.endswith((".golddistr", ".golddistr.gz", ".golddistr.zst")):
            return _golddistr(name, path)
        spec = path
    table = read_table(spec, _TABLE, columns=columns, what="targets")
    source = table.source
    parts = {n: table.frame[need(table, n, columns, TARGET_FILE)] for n in ("attribute", "value", "share")}
    attribute = identifiers(parts["attribute"], "attribute", source)
    value = identifiers(plain_text(parts["value"], source).rename(parts["value"].name), "value", source)
    share = numbers(parts["share"], "share", source, least=0.0)
    query_name = find(table, "query", columns)
    query = (
        plain_text(table.frame[query_name], source)
        if query_name
        else pl.Series("query", [None] * len(table.frame), dtype=pl.String)
    )
    return _checked(
        pl.DataFrame({"attribute": attribute, "value": value, "share": share, "query": query}), source, table.ignored
    )


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
    keys = ["attribute", "query", "value"]
    rows = frame.with_row_index("_row")
    twice = rows.filter(pl.struct(keys).is_duplicated())
    if len(twice):
        one = twice.row(0, named=True)
        again = next(
            r for r in twice.iter_rows(named=True) if r["_row"] != one["_row"] and all(r[k] == one[k] for k in keys)
        )
        raise fault(
            f"the value {one['value']!r} of {one['attribute']!r} has a share here "
            f"and at {source.elsewhere(one['_row'], again['_row'])}",
            source,
            again["_row"],
            accepted="one share for each value",
        )
    check_sums(rows, ["attribute", "query"], "share", source, "shares")
    return TargetTable(source, frame, ignored)


def _golddistr(name: str | None, path: str) -> TargetTable:
    path = one_file(path, "targets")
    if name is None:
        raise InputError(
            "a .golddistr file does not say which attribute it is for", where=path, accepted=f"NAME={path}"
        )
    if not any(DECIMAL.fullmatch(line.strip()) for line in head_lines(path)):
        found = f"no line is a share, and {name}= is for files with one share a line"
        raise InputError(found, where=path, accepted=TARGET_FILE, hint=f"Leave out {name}= for a table")
    fields = exact_fields(path, 1, 1, "one share a line")
    share = numbers(fields.frame["f0"], "share", fields.source, least=0.0, named=False)
    n = len(share)
    frame = pl.DataFrame(
        {
            "attribute": pl.Series([name] * n, dtype=pl.String),
            "value": [str(i) for i in range(1, n + 1)],
            "share": share,
            "query": pl.Series([None] * n, dtype=pl.String),
        }
    )
    return _checked(frame, fields.source, fields.ignored)


def _of_dict(targets: Mapping[Any, Any]) -> TargetTable:
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
