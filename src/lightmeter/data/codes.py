"""Integer codes for ids, and arrays that cannot be changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """The array, no longer writable."""
    array.flags.writeable = False
    return array


def codes_of(column: pl.Series, vocabulary: list[str]) -> NDArray[np.int32]:
    """Index of each string in the vocabulary, which must hold it."""
    # counted by polars: its series of a NumPy array would load masked arrays first
    lookup = pl.DataFrame({"id": pl.Series(vocabulary, dtype=pl.String)}).with_row_index("code")
    return (
        pl.DataFrame({"id": column})
        .join(lookup, on="id", how="left", maintain_order="left")["code"]
        .to_numpy()
        .astype(np.int32)
    )


def changes_of(code: NDArray[np.integer] | NDArray[np.floating]) -> NDArray[np.int64]:
    """Rows at which a new value starts."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1]).astype(np.int64)


def values_of(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different values, rising. NumPy's own ``unique`` hashes them, which costs many times as much where they are
    many, and would load masked arrays first.
    """
    ordered = np.sort(code)
    return ordered[changes_of(ordered)]


def distinct(code: NDArray[np.integer]) -> int:
    """Number of different values."""
    return len(changes_of(np.sort(code)))
