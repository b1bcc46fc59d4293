"""Judgments: graded (query, document) pairs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.data.ids import IdIndex, changes_of, codes_of, freeze
from lightmeter.io.tables import JudgmentTable

T = TypeVar("T", bound=np.generic)


class Judgments:
    """Judged (query, doc) pairs, grouped by query.

    Attributes
    ----------
    query, doc, grade
        One row per pair; the grade as judged, may be negative.
    offsets
        Rows of query q: ``offsets[q]`` to ``offsets[q + 1]``.
    descending
        Gains max(grade, 0) of the same rows, sorted from high to low within each query.
    """

    def __init__(self, table: JudgmentTable, vocabulary: list[str]) -> None:
        self.source = table.source
        code = codes_of(table.frame["query"], vocabulary)
        order = np.argsort(code, kind="stable")
        self.query = freeze(code[order])
        self.doc = table.frame["doc"].gather(order)
        self.grade: Floats = freeze(table.frame["grade"].to_numpy()[order].astype(np.float64))
        self.offsets = freeze(np.searchsorted(self.query, np.arange(len(vocabulary) + 1)).astype(np.int64))
        self.gain: Floats = freeze(np.maximum(self.grade, 0.0))
        self.descending: Floats = freeze(self.gain[np.lexsort((-self.gain, self.query))])
        self.index = IdIndex(self.doc, self.query)
        self._relevant: dict[float, Integers] = {}
        self._of_gain: dict[Hashable, AnyArray] = {}

    @cached_property
    def gain_or_0(self) -> Floats:
        """The gains, and a 0 behind them: what the code -1 (not judged) finds."""
        return freeze(np.append(self.gain, 0.0))

    def once(self, key: Hashable, compute: Callable[[Floats], NDArray[T]]) -> NDArray[T]:
        """A value of each of ``gain_or_0``, computed at the first call with this key."""
        if key not in self._of_gain:
            self._of_gain[key] = freeze(compute(self.gain_or_0))
        return self._of_gain[key]

    @cached_property
    def levels(self) -> tuple[Integers, int]:
        """The level of each of ``gain_or_0``, from 0 for the lowest gain, and the number of levels."""
        gains = np.sort(self.gain_or_0)
        different = gains[changes_of(gains)]
        return freeze(np.searchsorted(different, self.gain_or_0)), len(different)

    @cached_property
    def max_grade(self) -> float:
        """The highest grade of all."""
        return float(self.gain.max(initial=0.0))

    @cached_property
    def judged(self) -> Integers:
        """Number of judged documents per query."""
        return freeze(np.diff(self.offsets))

    def relevant(self, rel: float) -> Integers:
        """Number of documents per query with a grade of at least ``rel``."""
        if rel not in self._relevant:
            found = np.bincount(self.query[self.gain >= rel], minlength=len(self.offsets) - 1)
            self._relevant[rel] = freeze(found)
        return self._relevant[rel]
