"""Tables in memory: pandas, polars and Arrow frames, through narwhals, as polars frames."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..errors import InputError
from .tables import Source


def is_frame(source: object) -> bool:
    """Whether a source is a frame that narwhals can read."""
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, dict, list, tuple)):
        return False
    import narwhals as nw

    return isinstance(nw.from_native(source, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def to_polars(source: Any, name: str) -> pl.DataFrame:
    """A polars frame with the same columns; the frame given is not changed (numeric NaN becomes null)."""
    if isinstance(source, pl.LazyFrame):
        frame = source.collect()
    elif isinstance(source, pl.DataFrame):
        frame = source
    else:
        frame = _convert(source, name)
    blank = [i for i, column in enumerate(frame.columns) if not column.strip()]
    return frame.drop([frame.columns[i] for i in blank]) if blank else frame


def _convert(source: Any, name: str) -> pl.DataFrame:
    import narwhals as nw

    table = nw.from_native(source, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not isinstance(table, nw.DataFrame):
        raise InputError(
            f"the type {type(source).__name__} cannot be read",
            where=name,
            accepted="a path, a pandas, polars or Arrow frame, or a dictionary",
        )
    names = [str(c) for c in table.columns]
    if len(set(names)) < len(names):
        twice = sorted({n for n in names if names.count(n) > 1})
        raise InputError(
            f"several columns are named {twice[0]!r}",
            where=name,
            accepted="one column for each name",
            hint="Rename one of them",
        )
    try:
        return table.to_polars()
    except (ValueError, TypeError, OverflowError) as error:  # Arrow's errors are among these
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the frame holds a column of mixed types ({first})", where=name, accepted="one type for each column"
        ) from None


def frame_source(name: str | None, what: str) -> Source:
    """The source of something that has no file."""
    return Source(name or what)
