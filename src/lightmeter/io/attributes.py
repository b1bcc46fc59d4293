"""From one column of values to the memberships of one attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.binning import as_numbers, bin_values, names_of, order_values, plain_text
from lightmeter.io.checks import UNKNOWN, UNKNOWN_CELLS, drop_repeats, fault, first, known_cells, numbers
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import AttributeTable, Source

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
    made = _build(known, keys, source, options, text, count, distinct)
    if made is None or not unknown:
        return made
    return replace(made, ignored=add_counts(made.ignored, {UNKNOWN_CELLS: unknown}))


def _build(
    column: pl.Series, keys: pl.DataFrame, source: Source, options: Options, text: bool, count: bool, distinct: bool
) -> AttributeTable | None:
    name = column.name
    if name in options.bias:
        return _bias(column, keys, source, count, distinct)
    if name in options.bins:
        code, values = bin_values(column, options.bins[name], source)
        frame, repeated = _unique(keys, code, source, name, distinct)
        return _table(name, source, values, "hard", True, frame, {REPEATED: repeated} if count else {})
    # a list of one value may still be unknown
    labels, unknown = known_cells(plain_text(column, source) if text else names_of(column, source))
    if labels.null_count() == len(labels):
        return None
    declared = options.ordinal.get(name)
    if bool(labels.str.contains("|", literal=True).any()):
        return _multi(labels, keys, source, declared, count, distinct, unknown)
    values = order_values(labels, declared, source, name)
    code = labels.cast(pl.Enum(values)).to_physical().cast(pl.Int32)
    frame, repeated = _unique(keys, code, source, name, distinct, labels)
    ignored = {REPEATED: repeated if count else 0, UNKNOWN_CELLS: unknown}
    return _table(name, source, values, "hard", declared is not None, frame, ignored)


def member_rows(
    labels: pl.Series, row: pl.Series, declared: Sequence[str] | None, source: Source, name: str
) -> tuple[pl.Series, tuple[str, ...]]:
    """Codes and values for exploded labels, whose row of the source is ``row``."""
    line_of = source.line_of
    inner = Source(source.name, source.files, (lambda i: line_of(int(row[i]))) if line_of else None)
    values = order_values(labels, declared, inner, name)
    return labels.cast(pl.Enum(values)).to_physical().cast(pl.Int32), values


def _unique(
    keys: pl.DataFrame, code: pl.Series, source: Source, name: str, distinct: bool, labels: pl.Series | None = None
) -> tuple[pl.DataFrame, int]:
    frame = keys.with_columns((labels if labels is not None else code).alias("_label"), code.alias("value"))
    kept, repeated = drop_repeats(frame, keys.columns, "_label", source, name, distinct=distinct)
    return kept.drop("_label").drop_nulls("value").with_columns(pl.lit(1.0).alias("weight")), repeated


def _multi(
    labels: pl.Series,
    keys: pl.DataFrame,
    source: Source,
    declared: Sequence[str] | None,
    count: bool,
    distinct: bool,
    unknown: int,
) -> AttributeTable | None:
    name = labels.name
    frame = keys.with_columns(labels.alias("_label")).with_row_index("_row")
    kept, repeated = drop_repeats(frame, keys.columns, "_label", source, name, distinct=distinct)
    kept = kept.drop_nulls("_label").rechunk()
    cells = kept["_label"].str.replace_all(r"[ \t]*\|[ \t]*", "|").str.strip_chars(" \t").str.split("|")
    counts = cells.list.len().sum()
    once = kept.with_columns(cells.list.unique(maintain_order=True).alias("_label")).explode("_label")
    if (at := first(once["_label"].str.len_bytes() == 0)) is not None:
        row = once["_row"][at]
        raise fault(
            f"an empty value in {labels[row]!r}",
            source,
            row,
            column=name,
            accepted="values separated by single bars, a|b; an empty cell for unknown",
        )
    ignored = {REPEATED: repeated if count else 0, "repeated values of a document": int(counts) - len(once)}
    strange = once["_label"] == UNKNOWN
    once = once.filter(~strange)
    if not len(once):
        return None
    ignored[UNKNOWN_CELLS] = unknown + int(strange.sum())
    code, values = member_rows(once["_label"], once["_row"], declared, source, name)
    result = once.select(keys.columns).with_columns(code.alias("value"), pl.lit(1.0).alias("weight"))
    return _table(name, source, values, "multi", declared is not None, result, ignored)


def _bias(column: pl.Series, keys: pl.DataFrame, source: Source, count: bool, distinct: bool) -> AttributeTable:
    name = column.name
    values = as_numbers(column)
    if values is None:
        numbers(column, "bias score", source)
        raise InputError("bias scores are numbers", where=source.name, column=name)
    known = column.is_not_null() if not column.dtype.is_float() else column.is_not_null() & column.is_not_nan()
    if (row := first(known & (values.is_null() | (values.abs() > 1)))) is not None:
        raise fault(
            f"the bias score {column[row]!r} is not a number from -1 to 1",
            source,
            row,
            column=name,
            accepted="numbers from -1 to 1; empty for unknown",
        )
    kept, repeated = drop_repeats(
        keys.with_columns(values.alias("_b")), keys.columns, "_b", source, name, distinct=distinct
    )
    kept = kept.drop_nulls("_b")
    sides = [
        kept.select(*keys.columns, pl.lit(i, pl.Int32).alias("value"), ((1 + sign * pl.col("_b")) / 2).alias("weight"))
        for i, sign in enumerate((-1, 1))
    ]
    frame = pl.concat(sides).filter(pl.col("weight") > 0)
    return _table(name, source, BIAS_VALUES, "soft", True, frame, {REPEATED: repeated} if count else {})


def _table(
    name: str,
    source: Source,
    values: tuple[str, ...],
    kind: str,
    ordinal: bool,
    frame: pl.DataFrame,
    ignored: dict[str, int],
) -> AttributeTable:
    columns = ["doc", "value", "weight", *(c for c in ("query",) if c in frame.columns)]
    return AttributeTable(name, source, values, kind, ordinal, frame.select(columns), add_counts(ignored))  # type: ignore[arg-type]
