"""Small tables of named columns: target exposures, labels of queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from lightmeter.io.binning import plain_text
from lightmeter.io.checks import drop_repeats, identifiers, numbers
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import Source
from lightmeter.io.tabular import Columns, Shape, need, read_table


def read_named(
    source: Any,
    ids: Sequence[str],
    number: str | None = None,
    text: Sequence[str] = (),
    *,
    columns: Columns | None = None,
    ignored: dict[str, int] | None = None,
) -> tuple[pl.DataFrame, Source]:
    """Read some columns of a table, each row of which its ids tell from all others.

    Parameters
    ----------
    source
        A path or a frame.
    ids
        Columns of ids, never empty.
    number
        A column of numbers from 0 up, or None.
    text
        Columns of text that may be empty.
    columns
        Our names to the table's.
    ignored
        Filled with counts of what was passed over, rows that repeat another among them.

    Returns
    -------
    frame, source
        The columns by our names.
    """
    wanted = [*ids, *([number] if number else []), *text]
    accepted = f"a table with the columns {', '.join(wanted)}"
    table = read_table(source, Shape(tuple(wanted), (), re.compile("(?!)"), 0, tuple(ids)), columns=columns)
    found = {name: table.frame[need(table, name, columns, accepted)] for name in wanted}
    out = {name: identifiers(found[name], name, table.source).alias(name) for name in ids}
    if number is not None:
        out[number] = numbers(found[number], number, table.source, least=0.0).alias(number)
    for name in text:
        cell = found[name]
        out[name] = (plain_text(cell, table.source) if cell.dtype.is_nested() else cell.cast(pl.String)).alias(name)
    frame = pl.DataFrame(out)
    kept, repeated = frame, 0
    for name in [n for n in wanted if n not in ids] or [ids[-1]]:
        kept, repeated = drop_repeats(frame, list(ids), name, table.source, name)
    if ignored is not None:
        ignored.update(add_counts(ignored, table.ignored, {"repeated rows": repeated}))
    return kept, table.source
