"""Tables in memory: pandas, polars and Arrow frames, through narwhals, as polars frames."""

from __future__ import annotations

from typing import Any

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.tables import Source


def is_frame(source: object) -> bool:
    """Whether a source is a frame that narwhals can read."""
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        return True
    if isinstance(source, (str, bytes, dict, list, tuple)):
        return False
    import narwhals as nw

    try:
        return isinstance(nw.from_native(source, pass_through=True), (nw.DataFrame, nw.LazyFrame))
    except nw.exceptions.DuplicateError:
        return True


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

    try:
        table = nw.from_native(source, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"several columns have one name ({' '.join(str(error).split())})",
            where=name,
            accepted="one column for each name",
            hint="Rename one of them",
        ) from None
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not isinstance(table, nw.DataFrame):
        raise InputError(
            f"the type {type(source).__name__} cannot be read",
            where=name,
            accepted="a path, a pandas or polars frame, an Arrow table, or a dictionary",
        )
    try:
        return table.to_polars()
    except (ValueError, TypeError, OverflowError):  # Arrow's errors are among these
        pass
    for column in table.columns:
        try:
            table.select(column).to_polars()
        except UnicodeError:
            raise InputError(
                "half of a surrogate pair", where=name, column=str(column), accepted="text that is Unicode"
            ) from None
        except (ValueError, TypeError, OverflowError):
            raise InputError(
                "values of mixed types, or numbers too large for a column",
                where=name,
                column=str(column),
                accepted="one type for each column; whole numbers of 64 bits",
            ) from None
    raise InputError("the frame cannot be converted", where=name, accepted="columns of text and numbers")


def frame_source(name: str | None, what: str) -> Source:
    """The source of something that has no file."""
    return Source(name or what)
