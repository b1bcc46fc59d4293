"""Integer codes for ids, and arrays that cannot be changed."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Codes, Integers


def freeze(array: AnyArray) -> AnyArray:
    """The array, no longer writable."""
    array.flags.writeable = False
    return array


def codes_of(column: pl.Series, vocabulary: list[str]) -> Codes:
    """Index of each string in the vocabulary, which must hold it."""
    # counted by polars: its series of a NumPy array would load masked arrays first
    lookup = pl.DataFrame({"id": pl.Series(vocabulary, dtype=pl.String)}).with_row_index("code")
    return (
        pl.DataFrame({"id": column})
        .join(lookup, on="id", how="left", maintain_order="left")["code"]
        .to_numpy()
        .astype(np.int32)
    )


def changes_of(code: NDArray[np.integer] | NDArray[np.floating]) -> Integers:
    """Rows at which a new value starts."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1]).astype(np.int64)


def values_of(code: Integers) -> Integers:
    """The different values, rising. NumPy's own ``unique`` hashes them, which costs many times as much where they are
    many, and would load masked arrays first.
    """
    ordered = np.sort(code)
    return ordered[changes_of(ordered)]


def distinct(code: NDArray[np.integer]) -> int:
    """Number of different values."""
    return len(changes_of(np.sort(code)))
