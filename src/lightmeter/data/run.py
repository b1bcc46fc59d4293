"""Runs: rankings as columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.data.ids import IdIndex, changes_of, distinct, first_repeat, freeze, hash_ids
from lightmeter.errors import InputError
from lightmeter.io.id_column import as_series
from lightmeter.io.tables import RunTable

T = TypeVar("T")


class Run:
    """The rankings of one run; rows grouped by ranking (query, or query and sample), in file order within it.

    Attributes
    ----------
    ids, score
        One row each; ``doc`` gives the ids as a series.
    query
        Code of each ranking's query; rankings of one query are neighbours.
    offsets
        Rows of ranking r: ``offsets[r]`` to ``offsets[r + 1]``.
    sample, weight
        Label and weight of each ranking, None where no query has several.
    extra
        The other columns of a table, row by row, or None.
    """

    def __init__(self, table: RunTable, vocabulary: dict[str, int]) -> None:
        self.name, self.source, self.by_rank = table.name, table.source, table.by_rank
        self.ignored, self.notes = table.ignored, table.notes
        local = np.array([vocabulary[q] for q in table.queries], dtype=np.int32)
        query, sample = table.query, None
        code: NDArray[np.integer] = query
        if table.sample is not None:
            sample = table.sample.rank("dense").to_numpy().astype(np.int64) - 1
            code = query.astype(np.int64) * (int(sample.max(initial=0)) + 1) + sample
        starts = changes_of(code)
        #: file row of each row here, or None where they are the same
        self.file_row: Integers | None = None
        ids, score = table.ids, table.score
        if distinct(code[starts]) != len(starts) or (
            sample is not None and distinct(query[starts]) != len(changes_of(query))
        ):
            order = np.argsort(code, kind="stable")
            self.file_row = freeze(order)
            ids, score, code, query = ids.gather(order), score[order], code[order], query[order]
            starts = changes_of(code)
        self.ids, self.score = ids, freeze(score)
        self.offsets = freeze(np.append(starts, len(code)).astype(np.int64))
        self.query = freeze(local[query[starts]])
        self.sample = self.weight = None
        if table.sample is not None:
            self.sample = self._in_order(table.sample).gather(starts)
            self.weight = self._ranking_weights(table)
        self.extra = table.extra
        if table.extra is not None and self.file_row is not None:
            self.extra = table.extra[self.file_row]
        self._cache: dict[Any, Any] = {}
        self._hashes = hash_ids(ids)
        self._refuse_repeats()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def doc(self) -> pl.Series:
        """The ids as a series; ``ids.gather`` gives some of them without it."""
        return as_series(self.ids)

    def _in_order(self, column: pl.Series) -> pl.Series:
        return column if self.file_row is None else column.gather(self.file_row)

    def _ranking_weights(self, table: RunTable) -> Floats | None:
        if table.weight is None:
            return None
        weight = table.weight if self.file_row is None else table.weight[self.file_row]
        first = weight[self.offsets[:-1]]
        differs = np.flatnonzero(weight != first[self.ranking_of_row])
        if len(differs):
            row = int(differs[0])
            raise InputError(
                f"weight {weight[row]:g} in a ranking whose first row has {first[self.ranking_of_row[row]]:g}",
                accepted="one weight per ranking (query and sample)",
                **self.place(row),
            )
        if (weight < 0).any():
            row = int(np.flatnonzero(weight < 0)[0])
            raise InputError(f"weight {weight[row]:g}", accepted="weights of 0 or more", **self.place(row))
        return freeze(first)

    @cached_property
    def lengths(self) -> Integers:
        """Number of documents of each ranking."""
        return freeze(np.diff(self.offsets))

    @cached_property
    def ranking_of_row(self) -> Codes:
        """The ranking of each row."""
        return freeze(np.repeat(np.arange(len(self.query), dtype=np.int32), self.lengths))

    @property
    def query_of_row(self) -> Codes:
        """The query code of each row."""
        return np.repeat(self.query, self.lengths)

    def place(self, row: int) -> Any:
        """Where a row stands in its file, for messages."""
        return self.source.place(row if self.file_row is None else int(self.file_row[row]))

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed at the first call with this key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def find(self, index: IdIndex) -> Codes:
        """The entry of an index for each row, -1 where there is none."""
        return index.find(self.ids, self.query_at if index.group is not None else None, self._hashes)

    def query_at(self, rows: Integers) -> Codes:
        """The query code of some rows."""
        return self.query[np.searchsorted(self.offsets, rows, side="right") - 1]

    def ranking_at(self, rows: Integers) -> Integers:
        """The ranking of some rows."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def _refuse_repeats(self) -> None:
        pair = first_repeat(self.ids, self.ranking_at, self.offsets, self._hashes)
        if pair is not None:
            first, again = pair
            rows = [first, again] if self.file_row is None else [int(self.file_row[r]) for r in (first, again)]
            at, many = self.source.elsewhere(*rows), len(self.source.files) > 1
            raise InputError(
                f"document {self.ids[again]!r} stands twice in one ranking (first in {at})",
                accepted="each document once per ranking; several rankings of a query need a sample id each",
                hint="Remove one of the two, or give the rankings sample ids (column 2)"
                + (". A folder or pattern is one run: name the files to have one run each" if many else ""),
                **self.place(again),
            )
