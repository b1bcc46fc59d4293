"""Arrow's columns: as polars series without loading Arrow's functions, and ids that stay in Arrow's memory until
somebody needs them as a series.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Integers
from lightmeter.io.threads import cores, in_threads

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


#: more rows than this are gathered from the whole series
_FEW = 1 << 17


class IdColumn:
    """A column of ids as Arrow read it, in chunks.

    A series has 16 bytes more per row, and a large run needs only some rows of it: the judged documents, and those with
    tied scores.

    Parameters
    ----------
    column
        Strings without nulls, with 32-bit offsets.
    """

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column
        lengths = [len(chunk) for chunk in column.chunks]
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, row: int) -> str:
        text: str = self._column[row].as_py()
        return text

    @cached_property
    def series(self) -> pl.Series:
        """All of it, the bytes not copied; a part for each core."""
        import pyarrow as pa

        chunks = self._column.chunks
        step = max(-(-len(chunks) // cores()), 1)
        groups = [pa.chunked_array(chunks[at : at + step], self._column.type) for at in range(0, len(chunks), step)]
        parts = [part for _, part in in_threads(lambda group: series_of("doc", group), groups)]
        return pl.concat(parts, rechunk=False) if parts else pl.Series("doc", [], dtype=pl.String)

    def pieces(self) -> list[tuple[int, Callable[[], pl.Series]]]:
        """First row of every chunk, and what gives its series: chunks are small, so one after the other fits the
        cache.
        """
        import pyarrow as pa

        def series(chunk: pa.Array) -> Callable[[], pl.Series]:
            return lambda: series_of("doc", pa.chunked_array([chunk]))

        return [
            (start, series(chunk)) for start, chunk in zip(self._starts.tolist(), self._column.chunks, strict=False)
        ]

    def gather(self, rows: NDArray[np.integer]) -> pl.Series:
        """Some rows as a series."""
        if len(rows) > _FEW:
            return self.series.gather(rows)
        inside = np.searchsorted(self._starts, rows, side="right") - 1
        order = np.argsort(inside, kind="stable")
        ends = np.searchsorted(inside[order], np.arange(len(self._starts)))
        found, lengths = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)]
        for at in np.flatnonzero(np.diff(ends)).tolist():
            local = rows[order[ends[at] : ends[at + 1]]] - self._starts[at]
            text, length = _texts(self._column.chunk(at), local)
            found.append(text)
            lengths.append(length)
        back = np.empty(len(rows), dtype=np.int64)
        back[order] = np.arange(len(rows))
        return _strings(np.concatenate(found), np.cumsum(np.concatenate(lengths))).gather(back)


def _texts(chunk: pa.Array, rows: NDArray[np.integer]) -> tuple[NDArray[np.uint8], Integers]:
    """The bytes of some strings of a chunk, one after the other, and how many each has."""
    offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset :]
    begin = offsets[rows].astype(np.int64)
    length = offsets[rows + 1] - begin
    behind = np.cumsum(length)
    data = chunk.buffers()[2]
    if data is None or not behind.size or behind[-1] == 0:
        return np.zeros(0, np.uint8), length
    return np.frombuffer(data, np.uint8)[np.arange(behind[-1]) + np.repeat(begin - behind + length, length)], length


def _strings(data: NDArray[np.uint8], offsets: Integers) -> pl.Series:
    import pyarrow as pa

    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    array = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    return series_of("doc", pa.chunked_array([array]))


def as_series(ids: pl.Series | IdColumn) -> pl.Series:
    """Ids as a series."""
    return ids if isinstance(ids, pl.Series) else ids.series
