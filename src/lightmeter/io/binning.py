"""Attribute values: names, order and bins."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.checks import ACCEPTED_NUMBER, JSON, UNKNOWN, fault, first, parse_numbers, refuse_type
from lightmeter.io.tables import Source

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
    known = column.is_not_null() & ~_is_nan(column)
    bad = known & values.is_null()
    distinct = values.drop_nulls().unique()
    numeric = len(values) - values.null_count()
    quantity = len(distinct) > MOST_CODES or not bool((distinct == distinct.round()).all())
    if column.dtype.is_numeric() and (row := first(bad)) is not None:
        raise fault(f"the value {column[row]} is not a finite number", source, row, column=column.name)
    if not numeric or (bad.any() and (not quantity or int(bad.sum()) > numeric)):
        return plain_text(column, source)
    if quantity:
        odd = first(bad)
        also = f" (and {column[odd]!r})" if odd is not None else ""
        row = odd if odd is not None else int(np.flatnonzero(known.to_numpy())[0])
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


def as_numbers(column: pl.Series) -> pl.Series | None:
    """The column as numbers (null where a cell is none), or None if it is not a number column at all."""
    if column.dtype == pl.Boolean:
        return None
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64)
        return values.set(~values.is_finite().fill_null(True), None)
    return parse_numbers(column) if column.dtype == pl.String else None


def _is_nan(column: pl.Series) -> pl.Series:
    return column.is_nan().fill_null(False) if column.dtype.is_float() else pl.repeat(False, len(column), eager=True)


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
    bad = column.is_not_null() & ~_is_nan(column) & values.is_null()
    if (row := first(bad)) is not None:
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
    strange = [v for v in distinct if v not in set(order)]
    if strange:
        row = first(found.is_in(strange)) or 0
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
