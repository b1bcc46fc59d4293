"""From one column of values to the memberships of one attribute: names, order, bins and bias scores."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.columns import (
    ACCEPTED_NUMBER,
    UNKNOWN,
    UNKNOWN_CELLS,
    drop_repeats,
    fault,
    first,
    known_cells,
    numbers,
    parse_numbers,
    plain_text,
)
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import AttributeTable, Kind, Source

MOST_CODES = 10
"""A number column with more distinct values than this is a quantity and needs bins; up to this many whole numbers are
codes.
"""


def names_of(column: pl.Series, source: Source) -> pl.Series:
    """The values of an attribute as text; null is unknown (NaN too). Text stays as it stands; whole floats lose their
    fraction part.

    A column of numbers is read as codes (``0/1``, classes 1 to 4) when all are whole and at most :data:`MOST_CODES`
    differ. Otherwise it is a quantity: it needs bins, and is refused with a hint.
    """
    values = as_numbers(column)
    if values is None:
        return plain_text(column, source)
    known = _is_known(column)
    bad = known & values.is_null()
    distinct = values.drop_nulls().unique()
    numeric = len(values) - values.null_count()
    quantity = len(distinct) > MOST_CODES or not bool((distinct == distinct.round()).all())
    if column.dtype.is_numeric() and (row := first(bad)) is not None:
        raise fault(f"the value {column[row]} is not a finite number", source, row, column=column.name)
    if not numeric or (bad.any() and (not quantity or int(bad.sum()) > numeric)):
        return plain_text(column, source)
    if quantity:
        text = first(bad)
        also = f" (and {column[text]!r})" if text is not None else ""
        row = text if text is not None else int(np.flatnonzero(known.to_numpy())[0])
        low, high = float(distinct.min()), float(distinct.max())  # type: ignore[arg-type]
        name, ends = column.name, _example(low, high)
        what = f"{len(distinct)} different numbers{also}, from {show(low)} to {show(high)}"
        if low == high:
            what = f"numbers that are all {show(low)}{also}, which is not whole"
        raise fault(
            f"{what}, cannot be groups as they are",
            source,
            row,
            column=name,
            accepted=f"bins for a quantity, or at most {MOST_CODES} whole numbers used as codes",
            hint=(f"Give the lower ends of the bins with --bins {name}={ends}; numbers" if ends else "Numbers")
            + " that are names go into a long table (doc, attribute, value)",
        )
    return plain_text(column, source)


def show(number: float) -> str:
    """A number as people write it."""
    return str(int(number)) if number == round(number) and abs(number) < 1e15 else f"{number:.12g}"


def _example(low: float, high: float) -> str | None:
    """Three plausible lower ends; None where the numbers are alike, or too large or small to show any."""
    step = high / 3 - low / 3
    if not 1e-9 <= step < 1e15 or max(abs(low), abs(high)) >= 1e15:
        return None
    digits = max(0, 1 - int(np.floor(np.log10(step)))) if step < 3 else 0
    ends = [np.floor(low * 10**digits) / 10**digits, round(low + step, digits), round(low + 2 * step, digits)]
    return ",".join(show(float(e)) for e in ends)


def as_numbers(column: pl.Series) -> pl.Series | None:
    """The column as numbers (null where a cell is none), or None if it is not a number column at all."""
    if column.dtype == pl.Boolean:
        return None
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64)
        return values.set(~values.is_finite().fill_null(True), None)
    return parse_numbers(column) if column.dtype == pl.String else None


def _is_known(column: pl.Series) -> pl.Series:
    """Which cells are neither null nor NaN."""
    return column.is_not_null() & column.is_not_nan() if column.dtype.is_float() else column.is_not_null()


def bin_values(column: pl.Series, edges: Sequence[float], source: Source) -> tuple[pl.Series, tuple[str, ...]]:
    """Bin numbers by the lower ends of the bins; the last bin is open. Gives a code for each row (null: unknown) and
    the labels.

    Labels are ``0``, ``1-10``, ``101+`` when all numbers are whole, otherwise ``[0, 1)`` and ``[101, inf)``.
    """
    name = column.name
    ends = check_edges(name, edges)
    values = as_numbers(column)
    if values is None:
        raise InputError(
            f"bins are for numbers, but the values are {column.dtype}",
            where=source.name,
            column=name,
            accepted=ACCEPTED_NUMBER,
        )
    if (row := first(_is_known(column) & values.is_null())) is not None:
        raise fault(
            f"{column[row]!r} is not a number, and bins were given",
            source,
            row,
            column=name,
            accepted=ACCEPTED_NUMBER + "; empty for unknown",
        )
    if (row := first(values < ends[0])) is not None:
        raise fault(
            f"{column[row]} is below the first bin, which begins at {show(ends[0])}",
            source,
            row,
            column=name,
            accepted="bins that cover every number",
            hint=f"Begin with a lower number: --bins {name}={column[row]},{','.join(map(show, ends))}",
        )
    whole = bool((values.drop_nulls() == values.drop_nulls().round()).all()) and all(e == round(e) for e in ends)
    code = np.searchsorted(np.asarray(ends), values.fill_null(ends[0]).to_numpy(), side="right") - 1
    codes = pl.DataFrame({"code": code.astype(np.int32), "known": values.is_not_null()})
    return codes.select(pl.when("known").then("code")).to_series(), bin_labels(ends, whole=whole)


def check_edges(name: str, edges: Sequence[float]) -> list[float]:
    """Bins must be at least two finite, increasing numbers."""
    try:
        ends = [float(e) for e in edges]
    except (TypeError, ValueError, OverflowError):
        shown = edges if edges is None or isinstance(edges, int | float) else list(edges)
        raise InputError(
            f"the bins {shown!r} of {name!r} are not all numbers", accepted=f"--bins {name}=0,1,11,101"
        ) from None
    if len(ends) < 2 or not np.isfinite(ends).all() or any(b <= a for a, b in itertools.pairwise(ends)):
        raise InputError(
            f"the bins {list(edges)!r} of {name!r} do not increase",
            accepted=f"two or more finite numbers, each above the one before: --bins {name}=0,1,11,101",
        )
    return ends


def bin_labels(ends: Sequence[float], *, whole: bool) -> tuple[str, ...]:
    """The names of the bins."""
    labels = []
    for low, high in itertools.pairwise(ends):
        if not whole:
            labels.append(f"[{show(low)}, {show(high)})")
        else:
            labels.append(f"{int(low)}" if high - low == 1 else f"{int(low)}-{int(high) - 1}")
    labels.append(f"{int(ends[-1])}+" if whole else f"[{show(ends[-1])}, inf)")
    return tuple(labels)


def order_values(found: pl.Series, declared: Sequence[str] | None, source: Source, attribute: str) -> tuple[str, ...]:
    """The values of an attribute in order: declared, or sorted. ``found`` has one row for each row of the source.

    A value that is not in the declared order is refused.
    """
    distinct = sorted_values(found.drop_nulls().unique().to_list())
    if declared is None:
        return tuple(distinct)
    order = check_order(attribute, declared)
    others = [v for v in distinct if v not in set(order)]
    if others:
        row = first(found.is_in(others)) or 0
        value = found[row]
        raise fault(
            f"the value {value!r} is not in the order given",
            source,
            row,
            column=attribute,
            accepted=", ".join(order),
            hint=f"{suggest(value, order)} Correct the value or add it to --ordinal {attribute}=..".strip(),
        )
    return order


def sorted_values(values: list[str]) -> list[str]:
    """Sorted as text, or as numbers when all are whole numbers."""
    return (
        sorted(values, key=lambda v: (int(v), v))
        if all(v.removeprefix("-").isdecimal() for v in values)
        else sorted(values)
    )


def check_order(attribute: str, declared: Sequence[str]) -> tuple[str, ...]:
    """A declared order has at least two different values."""
    order = tuple(str(v) for v in declared)
    if isinstance(declared, str) or len(order) < 2 or len(set(order)) < len(order):
        raise InputError(
            f"the order {declared!r} of {attribute!r} cannot be used",
            accepted=f"two or more different values: --ordinal {attribute}=low,mid,high",
        )
    if UNKNOWN in order:
        raise InputError(
            f"the order of {attribute!r} names {UNKNOWN!r}, which is no value: it says that there is none",
            accepted=f"known values: --ordinal {attribute}=low,mid,high",
            hint="Leave it out",
        )
    return order


BIAS_VALUES = ("negative", "positive")
REPEATED = "repeated documents"


@dataclass(frozen=True)
class Options:
    """What the user declared about attributes, by name."""

    ordinal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bins: Mapping[str, Sequence[float]] = field(default_factory=dict)
    bias: tuple[str, ...] = ()

    def check_used(self, attributes: Sequence[str], where: str) -> None:
        """Refuse a declaration about an attribute that is nowhere, and two declarations about one."""
        for flag, names in (("--ordinal", self.ordinal), ("--bins", self.bins), ("bias", self.bias)):
            for name in names:
                if name not in attributes:
                    shown = ", ".join(map(repr, attributes[:12])) or "none"
                    raise InputError(
                        f"{flag} names {name!r}, but the attributes are {shown}",
                        where=where,
                        hint=f"{suggest(name, attributes)} Correct the name".strip(),
                    )
                if sum(name in declared for declared in (self.ordinal, self.bins, self.bias)) > 1:
                    raise InputError(
                        f"{name!r} is declared twice, by order, bins or bias",
                        accepted="one declaration; bins and bias scores are ordinal as they stand",
                    )


def build_attribute(
    column: pl.Series,
    keys: pl.DataFrame,
    source: Source,
    options: Options,
    *,
    text: bool = False,
    count: bool = True,
    distinct: bool = False,
) -> AttributeTable | None:
    """The memberships of one attribute; row ``i`` of the column is row ``i`` of ``keys`` and of the source.

    Parameters
    ----------
    column
        Values: text (``a|b``: several), codes, numbers to be binned, or bias scores. Null is unknown.
    keys
        ``doc`` and, when membership depends on the query, ``query``.
    text
        Numbers are names (long tables say so by their form).
    count
        Whether a document that is repeated with the same value is counted.
    distinct
        Whether it is known that no row of ``keys`` repeats another.

    Returns
    -------
    AttributeTable or None
        None when every value is unknown.
    """
    known, unknown = known_cells(column)
    table = _build(known, _Rows(keys, source, column.name, count, distinct), options, text)
    if table is None or not unknown:
        return table
    return replace(table, ignored=add_counts(table.ignored, {UNKNOWN_CELLS: unknown}))


@dataclass(frozen=True)
class _Rows:
    """The rows of a column of values: ``keys`` of each, where they stand, and the attribute's name."""

    keys: pl.DataFrame
    source: Source
    name: str
    count: bool
    distinct: bool

    def once(self, frame: pl.DataFrame, value: str) -> tuple[pl.DataFrame, dict[str, int]]:
        """The first row of each key, and how many repeat it; rows that differ in ``value`` are refused."""
        kept, repeated = drop_repeats(frame, self.keys.columns, value, self.source, self.name, distinct=self.distinct)
        return kept, {REPEATED: repeated} if self.count else {}

    def hard(
        self, code: pl.Series, values: tuple[str, ...], ordinal: bool, unknown: int = 0, labels: pl.Series | None = None
    ) -> AttributeTable:
        """One value for each row; messages name the labels, where there are any."""
        shown = code if labels is None else labels
        kept, ignored = self.once(self.keys.with_columns(shown.alias("_label"), code.alias("value")), "_label")
        members = kept.drop_nulls("value").with_columns(pl.lit(1.0).alias("weight"))
        return self.table(values, "hard", ordinal, members, ignored | {UNKNOWN_CELLS: unknown})

    def table(
        self, values: tuple[str, ...], kind: Kind, ordinal: bool, frame: pl.DataFrame, ignored: dict[str, int]
    ) -> AttributeTable:
        columns = ["doc", "value", "weight", *(c for c in ("query",) if c in frame.columns)]
        return AttributeTable(self.name, self.source, values, kind, ordinal, frame.select(columns), add_counts(ignored))


def _build(column: pl.Series, rows: _Rows, options: Options, text: bool) -> AttributeTable | None:
    name, source = rows.name, rows.source
    if name in options.bias:
        return _bias(column, rows)
    if name in options.bins:
        code, values = bin_values(column, options.bins[name], source)
        return rows.hard(code, values, True)
    # a list of one value may still be unknown
    labels, unknown = known_cells(plain_text(column, source) if text else names_of(column, source))
    if labels.null_count() == len(labels):
        return None
    declared = options.ordinal.get(name)
    if bool(labels.str.contains("|", literal=True).any()):
        return _multi(labels, rows, declared, unknown)
    values = order_values(labels, declared, source, name)
    return rows.hard(codes_of(labels, values), values, declared is not None, unknown, labels)


def codes_of(labels: pl.Series, values: tuple[str, ...]) -> pl.Series:
    """The index of each label among the values."""
    return labels.cast(pl.Enum(values)).to_physical().cast(pl.Int32)


def member_rows(
    labels: pl.Series, row: pl.Series, declared: Sequence[str] | None, source: Source, name: str
) -> tuple[pl.Series, tuple[str, ...]]:
    """Codes and values for exploded labels, whose row of the source is ``row``."""
    values = order_values(labels, declared, source.rows(row), name)
    return codes_of(labels, values), values


def _multi(labels: pl.Series, rows: _Rows, declared: Sequence[str] | None, unknown: int) -> AttributeTable | None:
    frame = rows.keys.with_columns(labels.alias("_label")).with_row_index("_row")
    kept, ignored = rows.once(frame, "_label")
    kept = kept.drop_nulls("_label").rechunk()
    cells = kept["_label"].str.replace_all(r"[ \t]*\|[ \t]*", "|").str.strip_chars(" \t").str.split("|")
    count = int(cells.list.len().sum())
    once = kept.with_columns(cells.list.unique(maintain_order=True).alias("_label")).explode("_label")
    if (at := first(once["_label"].str.len_bytes() == 0)) is not None:
        row = once["_row"][at]
        raise fault(
            f"an empty value in {labels[row]!r}",
            rows.source,
            row,
            column=rows.name,
            accepted="values separated by single bars, a|b; an empty cell for unknown",
        )
    named = once.filter(pl.col("_label") != UNKNOWN)
    if not len(named):
        return None
    ignored |= {
        "repeated values of a document": count - len(once),
        UNKNOWN_CELLS: unknown + len(once) - len(named),
    }
    code, values = member_rows(named["_label"], named["_row"], declared, rows.source, rows.name)
    members = named.select(rows.keys.columns).with_columns(code.alias("value"), pl.lit(1.0).alias("weight"))
    return rows.table(values, "multi", declared is not None, members, ignored)


def _bias(column: pl.Series, rows: _Rows) -> AttributeTable:
    values = as_numbers(column)
    if values is None:
        numbers(column, "bias score", rows.source)
        raise InputError("bias scores are numbers", where=rows.source.name, column=rows.name)
    if (row := first(_is_known(column) & (values.is_null() | (values.abs() > 1)))) is not None:
        raise fault(
            f"the bias score {column[row]!r} is not a number from -1 to 1",
            rows.source,
            row,
            column=rows.name,
            accepted="numbers from -1 to 1; empty for unknown",
        )
    kept, ignored = rows.once(rows.keys.with_columns(values.alias("_b")), "_b")
    sides = [
        kept.drop_nulls("_b").select(
            *rows.keys.columns, pl.lit(i, pl.Int32).alias("value"), ((1 + sign * pl.col("_b")) / 2).alias("weight")
        )
        for i, sign in enumerate((-1, 1))
    ]
    members = pl.concat(sides).filter(pl.col("weight") > 0)
    return rows.table(BIAS_VALUES, "soft", True, members, ignored)
