"""Between which numbers a masked count can lie, given the sums that are known: linear programmes, small ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers

if TYPE_CHECKING:
    from lightmeter.auditing.masking import Cells

#: how exact the solver is, well below one person
TOLERANCE = 1e-3
#: narrow ranges that are looked for before more is masked
AT_ONCE = 10


@dataclass(frozen=True)
class Known:
    """The smallest and the largest count of each cell in any solution so far. Masking more only adds solutions."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, cells: Cells) -> Known:
        """The counts themselves are a solution."""
        return cls(cells.counts.astype(np.float64), cells.counts.astype(np.float64))


def narrow_cells(cells: Cells, hidden: Booleans, floor: int, known: Known, lost: Collection[int] = ()) -> list[int]:
    """Hidden counts below the floor whose range is narrower than the floor, a few of each set of sums tied together.

    Parameters
    ----------
    cells
        Counts and sums.
    hidden
        Cells that are not told.
    floor
        Counts below it are to be safe, and how wide their range has to be.
    known
        Solutions so far; what is found is added.
    lost
        Cells that are not looked at.
    """
    some = np.flatnonzero(hidden)
    guarded = (cells.counts[some] < floor) & ~np.isin(some, np.fromiter(lost, dtype=np.int64, count=len(lost)))
    guarded &= ~cells.is_size[some]
    guarded &= known.high[some] - known.low[some] < floor - TOLERANCE
    if not guarded.any():
        return []
    part, system = _tied(cells, some)
    out = []
    most = float(cells.counts.sum())
    for p in np.unique(part[guarded]).tolist():
        mine = np.flatnonzero(part == p)
        sums = system[:, mine]
        sums = sums[np.flatnonzero(np.diff(sums.tocsr().indptr))]
        where = some[mine]
        out += where[_narrow(sums.tocsr(), cells, where, guarded[mine], floor, most, known)].tolist()
    return out


def _tied(cells: Cells, some: Integers) -> tuple[Integers, Any]:
    """To which set each of some cells belongs, sets without a common sum; and the sums of these cells."""
    from scipy.sparse import csc_array
    from scipy.sparse.csgraph import connected_components

    place = np.full(len(cells.counts), -1)
    place[some] = np.arange(len(some))
    at = place[cells.column]
    mine = at >= 0
    system = csc_array((cells.sign[mine], (cells.row[mine], at[mine])), shape=(cells.sums, len(some)))
    _, part = connected_components(abs(system.T @ system) if len(some) else system, directed=False)
    return part.astype(np.int64), system


def _narrow(
    sums: Any, cells: Cells, where: Integers, guarded: Booleans, floor: int, most: float, known: Known
) -> list[int]:
    """The guarded counts of tied sums whose range is too narrow, the smallest first, and the first of them only."""
    count, lower = cells.counts[where], cells.lower[where]
    if sums.shape[0] == 0:
        return []
    if sums.shape[0] == 1:
        alone = len(np.unique(sums.data)) == 1 and (count - lower).sum() < floor
        return [int(np.flatnonzero(guarded)[np.argmin(count[guarded])])] if alone else []
    ranges = _Ranges(
        sums, count.astype(np.float64), lower.astype(np.float64), most, known.low[where], known.high[where]
    )
    found = ranges.narrow(guarded, floor)
    known.low[where], known.high[where] = ranges.low, ranges.high
    return found


class _Ranges:
    """Ranges of counts z with ``sums @ z`` as known and ``lower <= z <= most``; every solution serves all counts."""

    def __init__(self, sums: Any, count: Floats, lower: Floats, most: float, low: Floats, high: Floats) -> None:
        self.sums, self.lower, self.most, self.count = sums, lower, most, count
        self.known = sums @ (count - lower)
        self.low, self.high = low.copy(), high.copy()

    def narrow(self, guarded: Booleans, floor: int) -> list[int]:
        """The first guarded counts, the smallest first, with a range narrower than the floor."""
        before = guarded & True
        while before.any():
            self._raise(before, floor)
            after = self._open(guarded, floor)
            if after.sum() == before.sum():
                break
            before = after
        out: list[int] = []
        for cell in np.flatnonzero(before)[np.argsort(self.count[before], kind="stable")].tolist():
            one = np.zeros(len(self.count))
            for sign in (-1.0, 1.0):  # as large, then as small as can be
                one[cell] = sign
                if self._open(guarded, floor)[cell]:
                    self._seen(self._solve(one, self.sums, self.most))
            if self._open(guarded, floor)[cell]:
                out.append(int(cell))
            if len(out) == AT_ONCE:
                break
        return out

    def _open(self, guarded: Booleans, floor: int) -> Booleans:
        return guarded & (self.high - self.low < floor - TOLERANCE)

    def _raise(self, cells: Booleans, floor: int) -> None:
        """As many of them as possible at once above their lowest by the floor: each in two parts, the first of them
        no larger than that and worth having.
        """
        from scipy.sparse import hstack

        at = np.flatnonzero(cells)
        cap = floor + self.low[at] - self.lower[at]
        worth = np.append(np.zeros(len(self.count)), -np.ones(len(at)))
        limit = np.append(np.full(len(self.count), self.most), cap)
        found = self._solve(worth, hstack([self.sums, self.sums[:, at]]).tocsr(), limit)
        if found is not None:
            whole = found[: len(self.count)]
            whole[at] += found[len(self.count) :]
            self._seen(whole)

    def _solve(self, worth: Floats, sums: Any, most: float | Floats) -> Floats | None:
        from scipy.optimize import linprog

        limit = np.broadcast_to(np.asarray(most, dtype=np.float64), worth.shape)
        bounds = np.stack([np.zeros(len(worth)), limit], axis=1)
        found = linprog(worth, A_eq=sums, b_eq=self.known, bounds=bounds, method="highs")
        return np.asarray(found.x) if found.status == 0 else None

    def _seen(self, found: Floats | None) -> None:
        if found is not None:
            self.low = np.minimum(self.low, found + self.lower)
            self.high = np.maximum(self.high, found + self.lower)
