"""The table to be audited: scores, groups and labels as arrays, checked row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.errors import InputError, LightmeterError, suggest
from lightmeter.io.attributes import bin_values, names_of
from lightmeter.io.columns import identifiers, known_cells, numbers
from lightmeter.io.forms import table_form
from lightmeter.io.sources import is_path
from lightmeter.io.tables import Source, Table
from lightmeter.io.tabular import read_table

#: the row of those whose group is not known
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Attribute:
    """The groups of one attribute, or of several combined.

    Attributes
    ----------
    name
        The column, or the columns joined by commas.
    values
        The groups, the largest first.
    codes
        For each row an index into ``values``, -1 where the group is not known.
    counts
        Rows of each group.
    parts
        Names of the columns that were combined; one for a plain attribute.
    cells
        For each group its value in every part.
    """

    name: str
    values: tuple[str, ...]
    codes: Codes
    counts: Integers
    parts: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    @property
    def unknown(self) -> int:
        """Rows whose group is not known."""
        return int(len(self.codes) - self.counts.sum())


@dataclass(frozen=True)
class AuditTable:
    """A table to be audited.

    Attributes
    ----------
    scores
        Each score column, higher is better.
    attributes
        The groups.
    label
        The label of each row, or None; ``binary`` where it is 0 or 1 throughout.
    query, queries
        For each row an index into the names of the queries; one query where there is no such column.
    source
        Where the table came from.
    """

    scores: dict[str, Floats]
    attributes: list[Attribute]
    label: Floats | None
    label_name: str | None
    query: Integers
    queries: list[str] | None
    source: Source
    ignored: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.query)

    @property
    def binary(self) -> bool:
        """Whether the label says yes or no."""
        return self.label is not None and bool(((self.label == 0) | (self.label == 1)).all())


def read_audit_table(
    source: Any,
    *,
    score: Sequence[str],
    group: Sequence[str],
    label: str | None = None,
    query: str | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
) -> AuditTable:
    """Read a table and refuse what cannot be audited.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, JSON lines), a pandas, polars or Arrow frame, or a dictionary of columns.
    score, group, label, query
        Names of columns. A group of several columns, ``"sex,race"``, stands for their combinations.
    bins
        Lower ends of the bins of number columns.

    Raises
    ------
    InputError
        A column is missing, a score or label is no number, nothing is known about a group: the message names the
        place and what is accepted.
    """
    table = _table(source, [*score, *group, *filter(None, [label, query])])
    frame, where = table.frame, table.source
    scores = {
        name: numbers(frame[_need(frame, name, "score", where)], "score", where, truth=False).to_numpy()
        for name in score
    }
    declared = dict(bins or {})
    attributes = [_attribute(frame, name, where, declared) for name in group]
    unused = [name for name in declared if not any(name in a.parts for a in attributes)]
    if unused:
        raise LightmeterError(
            f"bins are given for {unused[0]!r}, which is not an audited group.{suggest(unused[0], group)} "
            f"Groups: {', '.join(group)}."
        )
    codes, names = np.zeros(len(frame), dtype=np.int64), None
    if query is not None:
        ids = identifiers(frame[_need(frame, query, "query", where)], "query", where)
        names = ids.unique(maintain_order=True).to_list()
        found = ids.replace_strict(names, list(range(len(names))), return_dtype=pl.Int64)
        codes = found.to_numpy()
    merit = None if label is None else _label(frame[_need(frame, label, "label", where)], where)
    return AuditTable(scores, attributes, merit, label, codes, names, where, dict(table.ignored))


def _table(source: Any, names: Sequence[str]) -> Table:
    if isinstance(source, Mapping):
        source = _of_columns(source)
    return read_table(source, table_form(*names, what="table"), name="table" if not is_path(source) else None)


def _of_columns(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A dictionary of columns as a frame; whole numbers and others may be mixed."""
    series = []
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and values.dtype == object:
            # polars infers the type from the first value only; pandas writes NaN for a missing text
            values = [None if isinstance(v, float) and np.isnan(v) else v for v in values.tolist()]
        try:
            cells = list(values) if not isinstance(values, pl.Series | np.ndarray) else values
            if isinstance(cells, list) and any(isinstance(c, float) for c in cells):
                cells = [float(c) if type(c) is int else c for c in cells]
            series.append(pl.Series(str(name), cells))
        except (pl.exceptions.PolarsError, ValueError, TypeError, OverflowError) as error:
            raise InputError(
                f"this cannot be a column ({str(error).splitlines()[0]})",
                column=str(name),
                accepted="values of one type",
            ) from None
    if len({len(c) for c in series}) > 1:
        sizes = ", ".join(f"{c.name} {len(c)}" for c in series)
        raise InputError(f"columns differ in length ({sizes})", where="table", accepted="columns of the same length")
    return pl.DataFrame(series)


def _need(frame: pl.DataFrame, name: str, what: str, source: Source) -> str:
    if name in frame.columns:
        return name
    have = frame.columns
    shown = ", ".join(map(repr, have[:12])) + (", .." if len(have) > 12 else "")
    hint = suggest(name, have).strip()
    raise InputError(
        f"no column {name!r} for the {what}; the columns are {shown}",
        where=source.name,
        accepted=f"--{what} COLUMN, the name of a column",
        hint=hint or None,
    )


def _label(column: pl.Series, source: Source) -> Floats:
    if column.dtype == pl.String:
        # yes and no by name: a table of True and False is common
        lowered = column.str.to_lowercase()
        if lowered.is_in(["true", "false"]).fill_null(False).all():
            column = (lowered == "true").alias(column.name)
    values = numbers(column, "label", source, least=0.0)
    if not (values > 0).any():
        raise InputError(
            "no label is above 0, so there is no merit to divide by",
            where=source.name,
            column=column.name,
            accepted="1 for those who merit it and 0 for the others, or numbers from 0 up",
            hint="Leave out the label, or name the right column",
        )
    return values.to_numpy()


def _attribute(frame: pl.DataFrame, name: str, source: Source, bins: dict[str, Sequence[float]]) -> Attribute:
    if name in frame.columns or "," not in name:
        parts: tuple[str, ...] = (name,)
    else:
        parts = tuple(p.strip() for p in name.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise LightmeterError(f"group {name!r} has an empty or repeated part. Accepted: columns such as 'sex,race'.")
    columns = [_values(frame[_need(frame, part, "group", source)], source, bins.get(part)) for part in parts]
    if len(columns) == 1:
        text = columns[0]
    else:
        joined = pl.DataFrame([c.alias(str(i)) for i, c in enumerate(columns)])
        text = joined.select(pl.concat_str(pl.all(), separator=",", ignore_nulls=False)).to_series()
    counted = text.drop_nulls().value_counts(name="n").rename({text.name: "value"})
    counted = counted.sort(["n", "value"], descending=[True, False])
    if not len(counted):
        raise InputError(
            "the group of every row is unknown",
            where=source.name,
            column=name,
            accepted="at least one known group; empty cells and 'unknown' are unknown",
        )
    values = tuple(counted["value"].to_list())
    codes = text.replace_strict(list(values), list(range(len(values))), default=None, return_dtype=pl.Int32)
    array = codes.fill_null(-1).to_numpy()
    return Attribute(
        ",".join(parts), values, array, counted["n"].to_numpy().astype(np.int64), parts, _cells(columns, array, values)
    )


def _cells(columns: list[pl.Series], codes: Codes, values: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """For each group its value in every part."""
    if len(columns) == 1:
        return tuple((v,) for v in values)
    first = np.full(len(values), len(codes), dtype=np.int64)
    known = np.flatnonzero(codes >= 0)
    np.minimum.at(first, codes[known], known)
    return tuple(tuple(str(c[int(row)]) for c in columns) for row in first)


def _values(column: pl.Series, source: Source, edges: Sequence[float] | None) -> pl.Series:
    """The groups as text, null where unknown."""
    if edges is not None:
        codes, labels = bin_values(column, list(edges), source)
        return codes.replace_strict(list(range(len(labels))), list(labels), default=None, return_dtype=pl.String)
    known, _ = known_cells(column)
    text = names_of(known, source)
    return text.set(text == "", None).alias(column.name)
