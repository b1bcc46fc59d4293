"""What an auditor is protected from: groups so small that a value tells about persons, and sums that give them away."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lightmeter.auditing.masking import Total, suppressed
from lightmeter.auditing.rows import Row
from lightmeter.auditing.sums import Sums
from lightmeter.auditing.table import Attribute

Mask = NDArray[np.bool_]
#: groups of less than this share of the pool are flagged, and set apart where a rule allows it
SMALL = 0.02


def masks(attributes: list[Attribute], floor: int) -> dict[str, Mask]:
    """For each attribute which of its groups (and, last, the unknown) are masked.

    All attributes together: a group of ``sex`` is the sum of its cells of ``sex,race``.
    """
    counts: list[NDArray[np.int64]] = []
    first: dict[str, int] = {}
    for a in attributes:
        first[a.name] = sum(len(c) for c in counts)
        counts.append(np.append(a.counts, a.unknown))
    totals = [Total(np.arange(len(a.counts) + 1) + first[a.name]) for a in attributes]
    for whole in attributes:
        for part in attributes:
            if whole is not part and set(part.parts) < set(whole.parts):
                totals += _margins(whole, part, first)
    mask = suppressed(np.concatenate(counts), totals, floor)
    return {a.name: mask[first[a.name] : first[a.name] + len(a.counts) + 1] for a in attributes}


def _margins(whole: Attribute, part: Attribute, first: dict[str, int]) -> list[Total]:
    """Each group of an attribute as the sum of its cells in a combination."""
    at = [whole.parts.index(p) for p in part.parts]
    cells = [tuple(cell[i] for i in at) for cell in whole.cells]
    by: dict[tuple[str, ...], list[int]] = {}
    for i, cell in enumerate(cells):
        by.setdefault(cell, []).append(i)
    return [
        Total(np.array(by[cell], dtype=np.int64) + first[whole.name], first[part.name] + i)
        for i, cell in enumerate(part.cells)
        if cell in by
    ]


def masks_by_query(each: Sums, pooled: Mask, floor: int) -> Mask:
    """``[queries, groups + 1]``: which groups of which queries are masked, where those of all queries are shown too."""
    counts = each.count.astype(np.int64)
    queries, groups = counts.shape
    cells = np.arange(counts.size).reshape(counts.shape)
    totals = [Total(cells[:, a]) for a in range(groups) if not pooled[a]]
    totals += [Total(cells[q]) for q in range(queries)]
    mask = suppressed(np.where(pooled, np.minimum(counts, floor - 1), counts).ravel(), totals, floor)
    return mask.reshape(counts.shape) | (pooled & (counts > 0))


def masked(rows: list[Row], hidden: Mask) -> list[Row]:
    """The rows with nothing in those of masked groups, nor in comparisons with one."""
    shown = int((~hidden[:-1]).sum())
    return [
        r.masked()
        if (r.index is not None and hidden[r.index])
        or (r.reference is not None and hidden[r.reference])
        or (r.index is None and shown < 2 and hidden.any())
        else r
        for r in rows
    ]
