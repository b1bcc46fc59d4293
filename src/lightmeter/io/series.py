"""Arrow's columns as polars series, without loading Arrow's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa


class _Stream:
    """Arrow's column behind the plain stream interface: handed over as it is, polars would load Arrow's functions."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._column.__arrow_c_stream__(requested_schema)


def series_of(name: str, column: pa.ChunkedArray) -> pl.Series:
    """The column as a series; the bytes of strings are not copied."""
    return pl.Series(name, _Stream(column))
