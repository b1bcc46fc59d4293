"""Small groups are masked, and with them the groups that would give them away by a sum.

Small groups are masked before anything is computed: the masked groups of an attribute become one. So nothing that is
published can depend on which of them a person belongs to.

What a reader knows are sums: groups that are shown, the size of the table, groups that are parts of other groups. The
masked counts may then be any whole numbers from 1 up that fit those sums. A masked small group is safe where its
smallest and its largest such number lie ``floor`` apart. More follows from it: whatever sum with weights of 0 or more,
and of 1 or more for that group, can be computed from what is shown is at least its largest number. So no group of fewer
than ``floor`` can be computed as a sum of masked ones either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lightmeter.arrays import Booleans, Integers
from lightmeter.auditing.cells import Cells, Solutions, cells_of, narrow_cells
from lightmeter.auditing.table import Attribute

#: with more small groups in lists than these, a list is shown with all of its groups or not at all
MOST_SMALL = 150
#: how many of the cells that were masked to hide others are tried, whether they can be shown after all
SHOWN_AGAIN = 30
#: with more hidden cells than these none is shown again; without lists and with them
MOST_HIDDEN = {False: 400, True: 100}


def masks(attributes: list[Attribute], floor: int) -> dict[str, Booleans]:
    """For each attribute which of its groups (and, last, the unknown) are masked.

    All attributes together: a group of ``sex`` is the sum of its cells of ``sex,race``.
    """
    if floor <= 1:
        return {a.name: np.zeros(len(a.counts) + 1, dtype=bool) for a in attributes}
    mask, _ = suppressed(cells_of(attributes)[0], floor)
    ends = np.cumsum([len(a.counts) + 1 for a in attributes])
    return {a.name: mask[end - len(a.counts) - 1 : end] for a, end in zip(attributes, ends, strict=True)}


def masks_by_query(
    attributes: list[Attribute], floor: int, query: Integers, queries: int
) -> tuple[dict[str, Booleans], dict[str, Booleans]]:
    """As :func:`masks`, and for each attribute ``[queries, groups + 1]``, where the groups of each list are shown too.

    What is shown of all lists together comes first: lists are masked, not that.
    """
    pooled = masks(attributes, floor)
    widths = [len(a.counts) + 1 for a in attributes]
    if floor <= 1:
        return pooled, {a.name: np.zeros((queries, w), dtype=bool) for a, w in zip(attributes, widths, strict=True)}
    counts = [_counts_by_list(a, query, queries) for a in attributes]
    if sum(int(((c < floor) & (c > 0)).sum()) for c in counts) <= MOST_SMALL:
        cells, first = cells_of(attributes, query, queries)
        already = np.zeros(len(cells.counts), dtype=bool)
        already[: first[0]] = np.concatenate([pooled[a.name] for a in attributes])
        for a, start, width in zip(attributes, first, widths, strict=True):
            already[start : start + queries * width] = np.tile(pooled[a.name], queries)
        mask, safe = suppressed(cells, floor, already)
        if safe:
            return pooled, {
                a.name: mask[start : start + queries * width].reshape(queries, width)
                for a, start, width in zip(attributes, first, widths, strict=True)
            }
    lists = hidden_lists(counts, [pooled[a.name] for a in attributes], floor)
    return pooled, {a.name: pooled[a.name] | lists[:, None] for a in attributes}


def _counts_by_list(attribute: Attribute, query: Integers, queries: int) -> Integers:
    """Rows by list and group, the unknown last."""
    width = len(attribute.counts) + 1
    codes = np.where(attribute.codes >= 0, attribute.codes, width - 1).astype(np.int64)
    return np.bincount(query * width + codes, minlength=queries * width).reshape(queries, width)


def hidden_lists(counts: list[Integers], pooled: Sequence[Booleans], floor: int) -> Booleans:
    """Which lists are not shown at all: those with a small group, and more until they have enough of each.

    Examples
    --------
    The group of 4 hides its list; a second list goes with it, else the total less what is shown would be 4.

    >>> lists = np.array([[50, 4], [50, 20], [60, 21]])
    >>> hidden_lists([lists], [np.array([False, False])], 10).tolist()
    [True, True, False]
    """
    hidden = np.zeros(len(counts[0]), dtype=bool)
    for c in counts:
        hidden |= ((c < floor) & (c > 0)).any(axis=1)
    while True:
        before = int(hidden.sum())
        for c, masked_groups in zip(counts, pooled, strict=True):
            total = c[hidden].sum(axis=0)
            for group in np.flatnonzero((total > 0) & (total < floor) & ~masked_groups).tolist():
                more = np.flatnonzero(~hidden & (c[:, group] > 0))
                if len(more):
                    hidden[more[np.argmin(c[more, group])]] = True
        if int(hidden.sum()) == before:
            return hidden


def display_order(attribute: Attribute, hidden: Booleans) -> Integers:
    """The groups in the order in which they are shown: the masked ones last, by name, since theirs by size would tell.

    Groups that are shown keep their order, the largest first.
    """
    masked = hidden[:-1]
    by_name = sorted(np.flatnonzero(masked).tolist(), key=lambda i: attribute.values[i])
    return np.array([*np.flatnonzero(~masked).tolist(), *by_name], dtype=np.int64)


def merge_masked(attribute: Attribute, hidden: Booleans) -> tuple[Attribute, Booleans]:
    """The attribute with its masked groups as one, in their :func:`display_order`, and their mask.

    The rows of the masked groups are counted under the first of their names, or where the unknown are masked too, among
    the unknown.
    """
    if not hidden[:-1].any():
        return attribute, hidden
    masked, order = hidden[:-1], display_order(attribute, hidden)
    shown = int((~masked).sum())
    new_code = np.empty(len(order), dtype=np.int32)
    new_code[order] = np.arange(len(order))
    new_code[masked] = -1 if hidden[-1] else shown
    codes = np.append(new_code, np.int32(-1))[attribute.codes]
    counts = np.bincount(codes[codes >= 0], minlength=len(order)).astype(np.int64)
    merged = replace(
        attribute,
        values=tuple(attribute.values[i] for i in order),
        codes=codes,
        counts=counts,
        cells=tuple(attribute.cells[i] for i in order),
    )
    return merged, np.append(masked[order], hidden[-1])


def suppressed(cells: Cells, floor: int, already: Booleans | None = None) -> tuple[Booleans, bool]:
    """Which cells are masked.

    All counts from 1 below the floor are, and as many others as it takes, the smallest first, until every small one is
    safe (see above), or nothing is left that could be masked. Cells that are masked only to hide others may be known.

    Parameters
    ----------
    cells
        Counts, and the sums that are known.
    floor
        Smallest count that is shown.
    already
        Cells that are masked already.

    Returns
    -------
    mask, safe
        And whether every small one is safe in the end.

    Examples
    --------
    >>> from lightmeter.auditing.cells import Total
    >>> mask, safe = suppressed(Cells.of(np.array([500, 40, 3]), [Total(np.arange(3))]), 10)
    >>> mask.tolist()
    [False, True, True]
    """
    mask: Booleans = ~cells.latent & ~cells.is_size & (cells.counts > 0) & (cells.counts < floor)
    if already is not None:
        mask |= already
    if not (mask | cells.latent).any():
        return mask, True
    small = mask.copy()
    exposed: set[int] = set()
    solutions = Solutions.of(cells)
    while True:
        _close_sums(cells, mask, floor)
        narrow = narrow_cells(cells, cells.hidden(mask), floor, solutions, exposed)
        if not narrow:
            break
        changed = np.zeros(cells.sums, dtype=bool)
        for cell in narrow:
            if changed[cells.row[cells.column == cell]].any():
                continue  # what was masked a moment ago may do for this one too
            more = _mask_near(cells, mask, cell)
            if more is None:
                exposed.add(cell)  # nothing is left to hide it behind
            else:
                changed |= more
    if not exposed:
        _show_again(cells, mask, mask & ~small, floor)
    return mask, not exposed


def _close_sums(cells: Cells, mask: Booleans, floor: int) -> None:
    """Mask more in sums that leave too little on their own; what several tell together is looked at afterwards."""
    done = np.zeros(cells.sums, dtype=bool)
    while True:
        hidden = cells.hidden(mask)
        in_sum = hidden[cells.column]
        row, column = cells.row[in_sum], cells.column[in_sum]
        room = np.bincount(row, cells.counts[column] - cells.lower[column], minlength=cells.sums)
        sign = np.bincount(row, cells.sign[in_sum], minlength=cells.sums)
        guarded = (cells.counts[column] < floor) & ~cells.is_size[column]
        guards = np.bincount(row, guarded, minlength=cells.sums) > 0
        number = np.bincount(row, minlength=cells.sums)
        # of those that hide others one that stands alone hides nothing
        alone = (number == 1) & (np.bincount(row, mask[column], minlength=cells.sums) > 0)
        open_ = np.flatnonzero(((np.abs(sign) == number) & guards & (room < floor) | alone) & ~done)
        if not len(open_):
            return
        for one in open_.tolist():
            candidates = np.zeros(len(mask), dtype=bool)
            candidates[cells.column[cells.row == one]] = True
            done[one] = not _mask_smallest(cells, mask, candidates)


def _show_again(cells: Cells, mask: Booleans, more: Booleans, floor: int) -> None:
    """Show what was masked more than it takes, the largest first: the first of them may have been in vain."""
    hidden = cells.hidden(mask)
    if int(hidden.sum()) > MOST_HIDDEN[bool(cells.is_size.any())]:
        return
    candidates = np.flatnonzero(more & ((cells.size < 0) | ~hidden[cells.size]))
    for cell in candidates[np.argsort(-cells.counts[candidates], kind="stable")][:SHOWN_AGAIN].tolist():
        mask[cell] = False
        mask[cell] = bool(narrow_cells(cells, cells.hidden(mask), floor, Solutions.of(cells)))


def _mask_near(cells: Cells, mask: Booleans, cell: int) -> Booleans | None:
    """Mask one more cell of the sums a cell stands in, else of the sums that those are tied to: which sums; or None."""
    near = np.zeros(len(mask), dtype=bool)
    near[cell] = True
    while True:
        sums = np.zeros(cells.sums, dtype=bool)
        sums[cells.row[near[cells.column]]] = True
        wider = near.copy()
        wider[cells.column[sums[cells.row]]] = True
        if _mask_smallest(cells, mask, wider):
            return sums
        if (wider == near).all():
            return None
        near = wider


def _mask_smallest(cells: Cells, mask: Booleans, candidates: Booleans) -> bool:
    """Mask the smallest cell still shown, and every cell that states the same size; False where none is left."""
    shown = np.flatnonzero(candidates & cells.open & ~cells.hidden(mask) & ~cells.latent & (cells.counts > 0))
    if not len(shown):
        return False
    best = int(shown[np.lexsort((cells.counts[shown], cells.is_size[shown]))[0]])
    members = cells.size == best
    if members.any():
        mask[members & (cells.counts > 0)] = True
    else:
        mask[best] = True
    return True
