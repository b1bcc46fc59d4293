"""One row of an audit, named by its columns; where there is none or several, what there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError, suggest

_MOST = 10
#: what null stands for, by column
_NONE = {"cutoff": "the whole list", "group": "all groups together", "query": "all queries together"}


def one_row(rows: pl.DataFrame, given: dict[str, Any]) -> dict[str, Any]:
    """The row in which every column has the value given.

    Parameters
    ----------
    rows
        Rows of an audit.
    given
        Values by column, in the order in which they are looked at.

    Raises
    ------
    LightmeterError
        No row or several rows are such; the message names the first value that no row has, and those there are.
    """
    for name in given:
        if name not in rows.columns:
            known = [c for c in rows.columns if c not in ("value", "low", "high", "n", "reason")]
            raise LightmeterError(f"rows have no column {name!r}.{suggest(name, known)} There are: {', '.join(known)}.")
    left, so_far = rows, ""
    # what is asked for by name first: whether a group is there depends on the attribute
    for name in sorted(given, key=lambda c: (c != "measure", c == "group")):
        value = given[name]
        some = left.filter(pl.col(name).is_null()) if value is None else left.filter(_equal(left[name], value))
        if not len(some):
            raise LightmeterError(_missing(left[name], name, value, so_far))
        left = some
        so_far = f"{value} has rows, but none with " if name == "measure" else so_far
    if len(left) > 1:
        unsaid = [c for c in ("attribute", "score", "reference") if left[c].n_unique() > 1]
        there = " and the ".join(f"{c} ({_listed(left[c])})" for c in unsaid)
        raise LightmeterError(f"{len(left)} rows of {given['measure']} are such. Name the {there}.")
    return left.row(0, named=True)


def _equal(column: pl.Series, value: Any) -> pl.Series:
    """Where the value stands; nowhere if it is of another type than the column."""
    wanted = str if column.dtype == pl.String else (int, float, np.integer, np.floating)
    if not isinstance(value, wanted) or isinstance(value, bool):
        return pl.repeat(False, len(column), eager=True)
    return column.eq_missing(pl.Series([value]))


def _missing(column: pl.Series, name: str, value: Any, so_far: str) -> str:
    """That no row has the value, and which there are."""
    shown = f"{name} {value!r}" if value is not None else f"{name}=None ({_NONE.get(name, 'none')})"
    texts = [str(v) for v in column.drop_nulls().unique(maintain_order=True)]
    hint = suggest(str(value), texts) if value is not None and column.dtype == pl.String else ""
    return f"{so_far or 'no rows have '}{shown}.{hint} There are: {_listed(column)}."


def _listed(column: pl.Series) -> str:
    texts = [
        f"None ({_NONE.get(str(column.name), 'none')})" if v is None else str(v)
        for v in column.unique(maintain_order=True).to_list()
    ]
    return ", ".join(texts[:_MOST]) + (f" and {len(texts) - _MOST} more" if len(texts) > _MOST else "")
