"""Column checks shared by all readers: identifiers, numbers, repeated rows. They name the first row at fault."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans
from lightmeter.errors import InputError, suggest
from lightmeter.io.tables import Source

NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
ACCEPTED_NUMBER = "a finite decimal number such as 3, -0.5 or 1e5"
UNKNOWN = "unknown"
"""A membership that is written so is unknown, as an empty cell is."""
UNKNOWN_CELLS = f"cells {UNKNOWN!r} read as unknown"
JSON = pl.Struct({"json": pl.String})
"""The type of a column of JSON lines with objects or nested lists, which nothing but further columns can be."""


def fault(
    found: str,
    source: Source,
    row: int,
    *,
    column: str | None = None,
    accepted: str | None = None,
    hint: str | None = None,
) -> InputError:
    """The error for one row of a source."""
    if source.line_of is None:
        return InputError(found, where=source.name, row=row, column=column, accepted=accepted, hint=hint)
    file, line = source.line_of(row)
    return InputError(found, where=file, line=line, column=column, accepted=accepted, hint=hint)


def unknown_name(kind: str, name: str, known: Sequence[str], where: str, accepted: str | None = None) -> InputError:
    """The error for a column or attribute that is none of those known."""
    shown = ", ".join(map(repr, known[:12])) + (", .." if len(known) > 12 else "")
    found = f"no {kind} {name!r}; the {kind}s are {shown or 'none'}"
    return InputError(found, where=where, accepted=accepted, hint=f"{suggest(name, known)} Correct the name".strip())


def known_cells(column: pl.Series) -> tuple[pl.Series, int]:
    """The column with null for each cell that is literally ``unknown``, and how many there were."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column, 0
    text = column.cast(pl.String)
    unknown = (text == UNKNOWN).fill_null(False)
    count = int(unknown.sum())
    return (text.set(unknown, None), count) if count else (column, 0)


def finite(value: object) -> float | None:
    """A number of Python or numpy as a finite float, or None (whole numbers may be too large for one)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        return None
    try:
        number = float(value)
    except (OverflowError, TypeError):
        return None
    return number if np.isfinite(number) else None


def is_unicode(text: str) -> bool:
    """Whether text has no half of a surrogate pair."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def refuse_type(column: pl.Series, what: str, source: Source, accepted: str, hint: str | None = None) -> InputError:
    """The error for a column of a type that cannot be used, with its first row where the type is one of JSON lines."""
    row = first(column.is_not_null()) if source.line_of is not None and column.dtype.is_nested() else None
    if row is None:
        return InputError(what, where=source.name, column=column.name, accepted=accepted, hint=hint)
    if column.dtype == JSON:
        nested = column.struct.field("json").str.contains(r"^[\[{]").fill_null(False)
        row = row if (at := first(nested)) is None else at
        kind = "object" if str(column[row]["json"]).startswith("{") else "list of more than text and whole numbers"
        return fault(f"{what}: a JSON {kind}", source, row, column=column.name, accepted=accepted, hint=hint)
    return fault(f"{what}: a list", source, row, column=column.name, accepted=accepted, hint=hint)


def first(mask: pl.Series | Booleans) -> int | None:
    """The first true position of a mask (nulls are false), or None."""
    flags = mask.fill_null(False).to_numpy() if isinstance(mask, pl.Series) else mask
    at = int(np.argmax(flags)) if len(flags) else 0
    return at if len(flags) and flags[at] else None


def identifiers(column: pl.Series, what: str, source: Source) -> pl.Series:
    """A column of ids as strings: text as it stands, integers in decimal; null, empty, float and boolean ids are
    refused.

    Numbers with a fraction part cannot be ids because ``1.0`` and ``1`` would be one id or two depending on the tool
    that wrote them (pandas turns integers into floats as soon as one is missing).
    """
    kind = column.dtype
    if kind in (pl.Categorical, pl.Enum) or kind.is_integer():
        column = column.cast(pl.String)
    elif kind == pl.Null and len(column):
        pass
    elif kind != pl.String:
        hint = (
            "Turn the column into text or whole numbers first, e.g. .astype('Int64')"
            if kind.is_float()
            else "Turn the column into text first"
        )
        raise refuse_type(column, f"{what} ids have the type {_type(kind)}", source, "text or whole numbers", hint)
    if (row := first(column.is_null())) is not None:
        raise fault(
            f"the {what} id is missing", source, row, column=column.name, accepted="a non-empty id in every row"
        )
    if (row := first(column.str.len_bytes() == 0)) is not None:
        raise fault(f"the {what} id is empty", source, row, column=column.name, accepted="a non-empty id in every row")
    return column


def plain_text(column: pl.Series, source: Source) -> pl.Series:
    """Values as text, whatever they are."""
    kind = column.dtype
    if kind.is_float():
        values = column.fill_nan(None)
        whole = bool((values == values.round()).all())
        return (values.cast(pl.Int64) if whole else values).cast(pl.String)
    if isinstance(kind, pl.List) and (kind.inner == pl.String or kind.inner.is_integer()):
        # nothing in a list is an unknown value, not a missing list
        cells = column.cast(pl.List(pl.String)).list.eval(pl.element().fill_null(UNKNOWN))
        joined = cells.list.join("|")
        return joined.set(joined == "", None).rename(column.name)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        json = kind == JSON
        raise refuse_type(
            column,
            "this is no value" if json else f"values of type {kind}",
            source,
            "text, whole numbers, true/false, or a list of several values",
            "Shares go into a long table doc, attribute, value, weight" if json else None,
        )
    return column.cast(pl.String)


def parse_numbers(text: pl.Series) -> pl.Series:
    """Strings to Float64, correctly rounded; null for what is not a decimal number (``nan``, ``inf`` and hexadecimal
    are not).
    """
    good = text.str.contains(NUMBER)
    values = text.cast(pl.Float64, strict=False)
    lost = (good & values.is_null()).fill_null(False)
    if lost.any():
        rows = np.flatnonzero(lost.to_numpy())
        values = values.scatter(rows, [float(text[int(r)]) for r in rows])
    keep = pl.DataFrame({"v": values, "g": good})
    return keep.select(pl.when(pl.col("g") & pl.col("v").is_finite()).then(pl.col("v"))).to_series().rename(text.name)


def numbers(
    column: pl.Series,
    what: str,
    source: Source,
    *,
    least: float | None = None,
    named: bool = True,
    truth: bool = True,
) -> pl.Series:
    """A column as finite Float64; all else is refused with its row. ``named``: messages name the column; ``truth``:
    true and false are 1 and 0.
    """
    kind = column.dtype
    if kind == pl.String:
        values = parse_numbers(column)
    elif kind.is_numeric() or (truth and kind == pl.Boolean):
        values = column.cast(pl.Float64)
        values = values.set(~values.is_finite().fill_null(True), None)
    elif kind == pl.Null:
        values = column.cast(pl.Float64)
    else:
        raise refuse_type(column, f"the {what} has the type {_type(kind)}", source, ACCEPTED_NUMBER)
    name = column.name if named else None
    if (row := first(values.is_null())) is not None:
        cell = column[row]
        found = (
            f"the {what} is missing" if cell is None or cell == "" else f"the {what} {cell!r} is not a finite number"
        )
        raise fault(found, source, row, column=name, accepted=ACCEPTED_NUMBER)
    if least is not None and (row := first(values < least)) is not None:
        raise fault(
            f"the {what} {column[row]} is below {least:g}",
            source,
            row,
            column=name,
            accepted=f"numbers from {least:g} up",
        )
    return values


def repeats(frame: pl.DataFrame, keys: list[str]) -> pl.Series | None:
    """A mask of the rows whose keys appear several times, or None if there are none."""
    if frame.select(keys).n_unique() == len(frame):
        return None
    return (
        frame[keys[0]].is_duplicated() if len(keys) == 1 else frame.select(pl.struct(keys).is_duplicated()).to_series()
    )


def repeated_pair(frame: pl.DataFrame, keys: list[str]) -> tuple[int, int] | None:
    """The first two rows that have the same keys, or None."""
    mask = repeats(frame, keys)
    if mask is None:
        return None
    rows = np.flatnonzero(mask.to_numpy()).tolist()
    cells = frame.select(keys)
    return rows[0], next(row for row in rows[1:] if cells.row(row) == cells.row(rows[0]))


def drop_repeats(
    frame: pl.DataFrame,
    keys: list[str],
    value: str,
    source: Source,
    what: str,
    hint: str | None = None,
    *,
    distinct: bool = False,
) -> tuple[pl.DataFrame, int]:
    """Keep the first of rows that repeat ``keys`` with the same ``value``; refuse those that differ, naming both
    places.

    Row ``i`` of the frame must be row ``i`` of the source (a column ``_row`` may say so already). ``distinct``:
    it is known that no keys repeat.
    """
    if distinct:
        return frame, 0
    mask = repeats(frame, keys)
    if mask is None:
        return frame, 0
    rows = (frame if "_row" in frame.columns else frame.with_row_index("_row")).filter(mask)
    firsts = rows.group_by(keys, maintain_order=True).agg(
        pl.first("_row").alias("_first"), pl.first(value).alias("_value")
    )
    pairs = rows.join(firsts, on=keys, how="left", maintain_order="left")
    bad = pairs.filter(pl.col(value).ne_missing(pl.col("_value")))
    if len(bad):
        one = bad.row(0, named=True)
        which = ", ".join(f"{k} {one[k]!r}" for k in keys)
        raise fault(
            f"{which} has {what} {_show(one[value])} here "
            f"and {_show(one['_value'])} at {source.elsewhere(one['_first'], one['_row'])}",
            source,
            one["_row"],
            accepted=f"one {what} for each {' and '.join(keys)}",
            hint=hint or "Remove one of the two",
        )
    extra = pairs.filter(pl.col("_row") != pl.col("_first"))["_row"].to_numpy()
    keep = np.ones(len(frame), dtype=bool)
    keep[extra] = False
    return frame.filter(pl.Series(keep)), len(extra)


def check_sums(
    frame: pl.DataFrame, keys: list[str], weight: str, source: Source, what: str, *, row: str = "_row"
) -> None:
    """Shares must sum to 1 within 1e-3 for each of ``keys``; they are never rescaled."""
    sums = frame.group_by(keys, maintain_order=True).agg(pl.sum(weight).alias("_sum"), pl.last(row).alias("_last"))
    bad = sums.filter((pl.col("_sum") - 1).abs() > 1e-3 + 1e-12)
    if len(bad):
        one = bad.row(0, named=True)
        which = ", ".join(f"{k} {one[k]!r}" for k in keys if one[k] is not None)
        raise fault(
            f"the {what} of {which} sum to {one['_sum']:.6g}" if which else f"the {what} sum to {one['_sum']:.6g}",
            source,
            one["_last"],
            accepted=f"{what} that sum to 1 within 0.001; they are used as given, never rescaled",
            hint="Correct the file",
        )


def _type(kind: pl.DataType) -> str:
    return "JSON" if kind == JSON else str(kind)


def _show(value: object) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:g}" if isinstance(value, float) else repr(value)
