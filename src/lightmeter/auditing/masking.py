"""Groups too small to be shown, and those that have to go with them so that no sums give them away.

What a reader knows are sums: groups that are shown, the size of the table, groups that are parts of other groups. The
masked counts may then be any whole numbers from 1 up that fit those sums. A masked small group is safe where its
smallest and its largest such number lie ``floor`` apart. More follows from it: whatever sum with weights of 0 or more,
and of 1 or more for that group, can be computed from what is shown is at least its largest number. So no group of fewer
than ``floor`` can be computed as a sum of masked ones either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing.ranges import Known, narrow_cells

#: so many cells that were masked to hide others are tried, whether they can be shown after all
SHOWN_AGAIN = 30
#: where no more cells than these are hidden, without lists and with them
FEW_HIDDEN = {False: 400, True: 100}


@dataclass(frozen=True)
class Total:
    """A sum that a reader knows: the cells of it, and the cells that have the same sum; none: it is a known number."""

    cells: Integers
    same: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Cells:
    """All cells of an audit.

    Attributes
    ----------
    counts
        Of each cell.
    row, column, sign
        Which cell stands in which sum, +1 or -1: the cells of a sum with their signs make a known number.
    sums
        How many sums there are.
    latent
        Cells that are never told, such as those of a group who are unknown elsewhere.
    size
        For each cell the number of the cell that is told with it, the size of its list; -1 for none.
    open
        Cells that may be masked to hide others.
    """

    counts: Integers
    row: Integers
    column: Integers
    sign: Floats
    sums: int
    latent: Booleans
    size: Integers
    open: Booleans

    @classmethod
    def of(cls, counts: Integers, totals: Sequence[Total]) -> Cells:
        """Plain cells with some sums."""
        row = [np.full(len(t.cells) + len(t.same), i) for i, t in enumerate(totals)]
        column = [np.concatenate([t.cells, t.same]) for t in totals]
        sign = [np.repeat([1.0, -1.0], [len(t.cells), len(t.same)]) for t in totals]
        none = np.zeros(len(counts), dtype=bool)
        empty = [np.zeros(0, dtype=np.int64)]
        return cls(
            counts,
            np.concatenate(row + empty).astype(np.int64),
            np.concatenate(column + empty).astype(np.int64),
            np.concatenate([*sign, np.zeros(0)]),
            len(totals),
            none,
            np.full(len(counts), -1),
            ~none,
        )

    @cached_property
    def lower(self) -> Integers:
        """The least that a reader knows of each: a masked cell has a name, and so a member."""
        return np.where(self.latent, 0, 1)

    @cached_property
    def is_size(self) -> Booleans:
        """Which cells are sizes of lists."""
        out = np.zeros(len(self.counts), dtype=bool)
        out[self.size[self.size >= 0]] = True
        return out

    def hidden(self, mask: Booleans) -> Booleans:
        """What a reader is not told, where these are masked: a size is told as soon as one cell of its list is."""
        out = mask | self.latent | self.is_size
        out[self.size[(self.size >= 0) & ~mask & (self.counts > 0)]] = False
        return out & (self.counts > 0)


def suppressed(cells: Cells, floor: int, given: Booleans | None = None) -> tuple[Booleans, bool]:
    """Which cells are masked.

    All counts from 1 below the floor are, and as many others as it takes, the smallest first, until every small one is
    safe (see above), or nothing is left that could be masked. Cells that are masked only to hide others may be known.

    Parameters
    ----------
    cells
        Counts, and the sums that are known.
    floor
        Smallest count that is shown.
    given
        Cells that are masked already.

    Returns
    -------
    mask, safe
        And whether every small one is safe in the end.

    Examples
    --------
    >>> mask, safe = suppressed(Cells.of(np.array([500, 40, 3]), [Total(np.arange(3))]), 10)
    >>> mask.tolist()
    [False, True, True]
    """
    mask: Booleans = ~cells.latent & ~cells.is_size & (cells.counts > 0) & (cells.counts < floor)
    if given is not None:
        mask |= given
    if not (mask | cells.latent).any():
        return mask, True
    small = mask.copy()
    lost: set[int] = set()
    known = Known.of(cells)
    while True:
        _close(cells, mask, floor)
        found = narrow_cells(cells, cells.hidden(mask), floor, known, lost)
        if not found:
            break
        tried = np.zeros(cells.sums, dtype=bool)
        for cell in found:
            if tried[cells.row[cells.column == cell]].any():
                continue  # what was masked a moment ago may do for this one too
            more = _mask_more(cells, mask, cell)
            if more is None:
                lost.add(cell)  # nothing is left to hide it behind
            else:
                tried |= more
    if not lost:
        _show_again(cells, mask, mask & ~small, floor)
    return mask, not lost


def _close(cells: Cells, mask: Booleans, floor: int) -> None:
    """Mask more in sums that leave too little on their own; what several tell together is looked at afterwards."""
    done = np.zeros(cells.sums, dtype=bool)
    while True:
        hidden = cells.hidden(mask)
        there = hidden[cells.column]
        row, column = cells.row[there], cells.column[there]
        room = np.bincount(row, cells.counts[column] - cells.lower[column], minlength=cells.sums)
        sign = np.bincount(row, cells.sign[there], minlength=cells.sums)
        guarded = (cells.counts[column] < floor) & ~cells.is_size[column]
        asks = np.bincount(row, guarded, minlength=cells.sums) > 0
        many = np.bincount(row, minlength=cells.sums)
        # of those that hide others one that stands alone hides nothing
        alone = (many == 1) & (np.bincount(row, mask[column], minlength=cells.sums) > 0)
        open_ = np.flatnonzero(((np.abs(sign) == many) & asks & (room < floor) | alone) & ~done)
        if not len(open_):
            return
        for one in open_.tolist():
            in_sum = np.zeros(len(mask), dtype=bool)
            in_sum[cells.column[cells.row == one]] = True
            done[one] = not _mask_smallest(cells, mask, in_sum)


def _show_again(cells: Cells, mask: Booleans, more: Booleans, floor: int) -> None:
    """Show what was masked more than it takes, the largest first: the first of them may have been in vain."""
    hidden = cells.hidden(mask)
    if int(hidden.sum()) > FEW_HIDDEN[bool(cells.is_size.any())]:
        return
    some = np.flatnonzero(more & ((cells.size < 0) | ~hidden[cells.size]))
    for cell in some[np.argsort(-cells.counts[some], kind="stable")][:SHOWN_AGAIN].tolist():
        mask[cell] = False
        mask[cell] = bool(narrow_cells(cells, cells.hidden(mask), floor, Known.of(cells)))


def _mask_more(cells: Cells, mask: Booleans, cell: int) -> Booleans | None:
    """Mask one more cell of the sums a cell stands in, else of the sums that those are tied to: which sums; or None."""
    near = np.zeros(len(mask), dtype=bool)
    near[cell] = True
    while True:
        rows = np.zeros(cells.sums, dtype=bool)
        rows[cells.row[near[cells.column]]] = True
        wider = near.copy()
        wider[cells.column[rows[cells.row]]] = True
        if _mask_smallest(cells, mask, wider):
            return rows
        if (wider == near).all():
            return None
        near = wider


def _mask_smallest(cells: Cells, mask: Booleans, some: Booleans) -> bool:
    """Mask the smallest of some cells; of sizes all that they are told with."""
    shown = np.flatnonzero(some & cells.open & ~cells.hidden(mask) & ~cells.latent & (cells.counts > 0))
    if not len(shown):
        return False
    best = int(shown[np.lexsort((cells.counts[shown], cells.is_size[shown]))[0]])
    members = cells.size == best
    if members.any():
        mask[members & (cells.counts > 0)] = True
    else:
        mask[best] = True
    return True
