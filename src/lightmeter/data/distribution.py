"""Distributions over the values of an attribute, one a query or one for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.sums import sum_by

#: position, value and share, one entry each
Triple = tuple[Integers, Integers, Floats]


@dataclass(frozen=True)
class Distribution:
    """Shares of values; row 0 for all queries where ``shared``, else one row a query.

    A row without entries is undefined, for the reason ``reason``.
    """

    indptr: Integers
    value: Integers
    share: Floats
    shared: bool
    reason: str = "no_target"

    @classmethod
    def one(cls, shares: Floats) -> Distribution:
        """One distribution for all queries."""
        value = np.arange(len(shares))
        return cls(np.array([0, len(shares)]), value, np.asarray(shares, dtype=np.float64), True)

    @classmethod
    def by_query(
        cls, query: NDArray[np.integer], value: NDArray[np.integer], mass: Floats, queries: int, reason: str
    ) -> Distribution:
        """Shares of masses summed by query and value."""
        keys, at = np.unique(query.astype(np.int64) * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
        total = sum_by(at, mass, len(keys))
        keep = total > 0
        keys, total = keys[keep], total[keep]
        owner, code = np.divmod(keys, int(value.max(initial=0)) + 1)
        share = total / sum_by(owner, total, queries)[owner]
        return cls(np.searchsorted(owner, np.arange(queries + 1)), code, share, False, reason)

    def rows(self, query: NDArray[np.integer]) -> Triple:
        """(position in ``query``, value, share) of the distributions of some queries."""
        row = np.zeros(len(query), dtype=np.int64) if self.shared else query.astype(np.int64)
        count = self.indptr[row + 1] - self.indptr[row]
        position = np.repeat(np.arange(len(query)), count)
        within = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
        at = np.repeat(self.indptr[row], count) + within
        return position, self.value[at], self.share[at]

    def defined(self, query: NDArray[np.integer]) -> Booleans:
        """Which of some queries have a distribution."""
        row = np.zeros(len(query), dtype=np.int64) if self.shared else query.astype(np.int64)
        return self.indptr[row + 1] > self.indptr[row]
