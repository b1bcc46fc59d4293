"""What an auditor is protected from: groups so small that a value tells about persons, and sums that give them away.

Small groups are masked before anything is computed: the masked groups of an attribute become one. So nothing that is
handed over can depend on who of them belongs to which.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lightmeter.arrays import Booleans, Integers
from lightmeter.auditing.masking import suppressed
from lightmeter.auditing.relations import cells_of
from lightmeter.auditing.rows import Row
from lightmeter.auditing.table import Attribute

#: groups of less than this share of the pool are flagged, and set apart where a rule allows it
SMALL = 0.02
#: measures that are taken among the rows whose group is known, and so tell how many those are
AMONG_KNOWN = ("skew", "ndkl", "fa_ir_p")
#: with more small groups in lists than these, a list is shown with all of its groups or not at all
MANY = 150


def masks(attributes: list[Attribute], floor: int) -> dict[str, Booleans]:
    """For each attribute which of its groups (and, last, the unknown) are masked.

    All attributes together: a group of ``sex`` is the sum of its cells of ``sex,race``.
    """
    if floor <= 1:
        return {a.name: np.zeros(len(a.counts) + 1, dtype=bool) for a in attributes}
    cells, _ = cells_of(attributes)
    return _of_whole(attributes, suppressed(cells, floor)[0])


def masks_by_query(
    attributes: list[Attribute], floor: int, query: Integers, queries: int
) -> tuple[dict[str, Booleans], dict[str, Booleans]]:
    """As :func:`masks`, and for each attribute ``[queries, groups + 1]``, where the groups of each list are told too.

    What is told of all lists together comes first: lists are masked, not that.
    """
    pooled = masks(attributes, floor)
    widths = [len(a.counts) + 1 for a in attributes]
    if floor <= 1:
        each = {a.name: np.zeros((queries, w), dtype=bool) for a, w in zip(attributes, widths, strict=True)}
        return pooled, each
    counts = [_by_list(a, query, queries) for a in attributes]
    small = sum(int(((c < floor) & (c > 0)).sum()) for c in counts)
    safe = small <= MANY
    if safe:
        cells, first = cells_of(attributes, query, queries)
        given = np.zeros(len(cells.counts), dtype=bool)
        given[: first[0]] = np.concatenate([pooled[a.name] for a in attributes])
        for a, at, width in zip(attributes, first, widths, strict=True):
            given[at : at + queries * width] = np.tile(pooled[a.name], queries)
        mask, safe = suppressed(cells, floor, given)
        each = {
            a.name: mask[at : at + queries * width].reshape(queries, width)
            for a, at, width in zip(attributes, first, widths, strict=True)
        }
    if not safe:
        lists = _whole_lists(counts, [pooled[a.name] for a in attributes], floor)
        each = {a.name: pooled[a.name] | lists[:, None] for a in attributes}
    return pooled, each


def _of_whole(attributes: list[Attribute], mask: Booleans) -> dict[str, Booleans]:
    ends = np.cumsum([len(a.counts) + 1 for a in attributes])
    return {a.name: mask[end - len(a.counts) - 1 : end] for a, end in zip(attributes, ends, strict=True)}


def _by_list(attribute: Attribute, query: Integers, queries: int) -> Integers:
    """Rows by list and group, the unknown last."""
    width = len(attribute.counts) + 1
    codes = np.where(attribute.codes >= 0, attribute.codes, width - 1).astype(np.int64)
    return np.bincount(query * width + codes, minlength=queries * width).reshape(queries, width)


def _whole_lists(counts: list[Integers], pooled: list[Booleans], floor: int) -> Booleans:
    """Which lists are not shown at all: those with a small group, and more until they have enough of each."""
    lost = np.zeros(len(counts[0]), dtype=bool)
    for c in counts:
        lost |= ((c < floor) & (c > 0)).any(axis=1)
    while True:
        before = int(lost.sum())
        for c, hidden in zip(counts, pooled, strict=True):
            gone = c[lost].sum(axis=0)
            for group in np.flatnonzero((gone > 0) & (gone < floor) & ~hidden).tolist():
                more = np.flatnonzero(~lost & (c[:, group] > 0))
                if len(more):
                    lost[more[np.argmin(c[more, group])]] = True
        if int(lost.sum()) == before:
            return lost


def order_of(attribute: Attribute, hidden: Booleans) -> Integers:
    """The groups in the order in which they are told."""
    gone = hidden[:-1]
    by_name = sorted(np.flatnonzero(gone).tolist(), key=lambda i: attribute.values[i])
    return np.array([*np.flatnonzero(~gone).tolist(), *by_name], dtype=np.int64)


def merged(attribute: Attribute, hidden: Booleans) -> tuple[Attribute, Booleans]:
    """The attribute with its masked groups as one, and their mask.

    The groups that are shown come first, the largest of them first, then the names of the masked ones in their own
    order: theirs by size would tell. The rows of the masked groups are counted under the first of these names, or where
    the unknown are masked too, among the unknown.
    """
    if not hidden[:-1].any():
        return attribute, hidden
    gone, order = hidden[:-1], order_of(attribute, hidden)
    shown = int((~gone).sum())
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    place[gone] = -1 if hidden[-1] else shown
    codes = np.append(place, np.int32(-1))[attribute.codes]
    counts = np.bincount(codes[codes >= 0], minlength=len(order)).astype(np.int64)
    one = replace(
        attribute,
        values=tuple(attribute.values[i] for i in order),
        codes=codes,
        counts=counts,
        cells=tuple(attribute.cells[i] for i in order),
    )
    return one, np.append(gone[order], hidden[-1])


def masked(rows: list[Row], hidden: Booleans) -> list[Row]:
    """The rows with nothing in those of masked groups, nor in comparisons with one."""
    shown = int((~hidden[:-1]).sum())
    return [
        r.masked()
        if (r.index is not None and hidden[r.index])
        or (r.reference is not None and hidden[r.reference])
        or (r.index is None and shown < 2 and hidden.any())
        or (r.measure in AMONG_KNOWN and hidden[-1])
        else r
        for r in rows
    ]
