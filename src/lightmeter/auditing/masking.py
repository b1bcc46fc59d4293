"""Groups too small to be shown, and those that have to go with them so that no total gives them away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
#: up to so many masked cells it is checked that no combination of totals gives one away
CHECKED = 300


@dataclass(frozen=True)
class Total:
    """A sum that a reader knows: the cells of it, and perhaps the cell that is their sum."""

    cells: NDArray[np.int64]
    sum_cell: int | None = None


def suppressed(counts: NDArray[np.int64], totals: Sequence[Total], floor: int) -> Mask:
    """Which cells are masked.

    All counts from 1 below the floor are. Then, for every total: a single masked cell would be the difference, and
    masked cells of fewer than ``floor`` together would be a group as small, so the smallest of the others goes too,
    until neither is so. In the end no cell below the floor can be computed from what is shown, as far as sums tell;
    cells that are masked only to hide others may be.

    Parameters
    ----------
    counts
        Of each cell.
    totals
        The sums over cells that are known.
    floor
        Smallest count that is shown.

    Examples
    --------
    >>> suppressed(np.array([500, 40, 3]), [Total(np.arange(3))], 10).tolist()
    [False, True, True]
    """
    mask: Mask = (counts > 0) & (counts < floor)
    while mask.any():
        before = int(mask.sum())
        for total in totals:
            _close(mask, counts, total, floor)
        if int(mask.sum()) > before:
            continue
        open_ = _derivable(mask, counts, totals, floor)
        if open_ is None:
            break
        if not _open_up(mask, counts, totals, open_):
            break
    return mask


def _open_up(mask: Mask, counts: NDArray[np.int64], totals: Sequence[Total], cell: int) -> bool:
    """Mask one more cell of the sums that a cell is in; where there is none, a sum; at last any, the smallest."""
    near = [t for t in totals if cell in t.cells or cell == t.sum_cell]
    sums = [[t.sum_cell for t in some if t.sum_cell is not None] for some in (near, totals)]
    tried = [*(t.cells for t in near), *(np.array(s, dtype=np.int64) for s in sums), np.arange(len(counts))]
    return any(_mask_smallest(mask, counts, cells) for cells in tried)


def _close(mask: Mask, counts: NDArray[np.int64], total: Total, floor: int) -> None:
    while True:
        hidden = total.cells[mask[total.cells]]
        sum_hidden = total.sum_cell is not None and bool(mask[total.sum_cell])
        unknowns = len(hidden) + sum_hidden
        small = bool(len(hidden)) and not sum_hidden and int(counts[hidden].sum()) < floor
        if not unknowns or (unknowns > 1 and not small):
            return
        if not _mask_smallest(mask, counts, total.cells):
            return


def _mask_smallest(mask: Mask, counts: NDArray[np.int64], cells: NDArray[np.int64]) -> bool:
    shown = cells[~mask[cells] & (counts[cells] > 0)]
    if not len(shown):
        return False
    mask[shown[np.argmin(counts[shown])]] = True
    return True


def _derivable(mask: Mask, counts: NDArray[np.int64], totals: Sequence[Total], floor: int) -> int | None:
    """A masked cell below the floor that the totals determine together, or None: where every solution of them is 0."""
    hidden = np.flatnonzero(mask)
    if not len(hidden) or len(hidden) > CHECKED:
        return None
    place = {int(cell): i for i, cell in enumerate(hidden)}
    rows = []
    for total in totals:
        row = np.zeros(len(hidden))
        for cell in total.cells[mask[total.cells]]:
            row[place[int(cell)]] += 1.0
        if total.sum_cell is not None and mask[total.sum_cell]:
            row[place[total.sum_cell]] -= 1.0
        if row.any():
            rows.append(row)
    if not rows:
        return None
    _, values, right = np.linalg.svd(np.stack(rows), full_matrices=True)
    rank = int((values > 1e-9).sum())
    free = np.abs(right[rank:]).max(axis=0, initial=0.0)
    fixed = np.flatnonzero((free < 1e-9) & (counts[hidden] < floor))
    return int(hidden[fixed[np.argmin(counts[hidden[fixed]])]]) if len(fixed) else None
