"""Small tables of named columns: target exposures, labels of queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from .checks import drop_repeats, identifiers, numbers
from .tables import Source
from .tabular import Columns, Shape, need, read_table


def read_named(
    source: Any,
    ids: Sequence[str],
    number: str | None = None,
    text: Sequence[str] = (),
    *,
    columns: Columns | None = None,
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

    Returns
    -------
    frame, source
        The columns by our names.
    """
    wanted = [*ids, *([number] if number else []), *text]
    accepted = f"a table with the columns {', '.join(wanted)}"
    table = read_table(source, Shape(tuple(wanted), (), re.compile("(?!)"), 0), columns=columns)
    found = {name: table.frame[need(table, name, columns, accepted)] for name in wanted}
    out = {name: identifiers(found[name], name, table.source).alias(name) for name in ids}
    if number is not None:
        out[number] = numbers(found[number], number, table.source, least=0.0).alias(number)
    for name in text:
        out[name] = found[name].cast(pl.String).alias(name)
    frame = pl.DataFrame(out)
    last = number if number is not None else text[-1]
    kept, _ = drop_repeats(frame, list(ids), last, table.source, last)
    return kept, table.source
