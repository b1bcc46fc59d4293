"""The counts of an audit, the sums that a reader of it knows, and the ranges that these leave for a masked count.

Many counts are sums of others: of groups that are parts of groups of another attribute, of lists, of the table. Two
attributes are compared by which of their groups have rows in common. Groups that hang together so make a block, and the
rows of a block are the same under both attributes: a group of ``sex`` and its cells of ``sex,race``, a region and its
states. Rows that are unknown under one of the two count apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing.table import Attribute

#: how exact the solver is, well below one person
TOLERANCE = 1e-3
#: narrow ranges that are looked for before more is masked
MOST_NARROW = 10


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
        The number of rows of each cell.
    row, column, sign
        Which cell stands in which sum, +1 or -1: the cells of a sum with their signs make a known number.
    sums
        How many sums there are.
    latent
        Cells that are never published, such as those of a group who are unknown elsewhere.
    size
        For each cell the number of the cell that is published with it, the size of its list; -1 for none.
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
        builder = CellBuilder()
        number = builder.add(np.asarray(counts))
        for total in totals:
            builder.add_sums(number[total.cells][None], -number[total.same][None])
        return builder.build()

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
        """What a reader does not see, where ``mask`` is masked: one published cell of a list publishes its size."""
        out = mask | self.latent | self.is_size
        out[self.size[(self.size >= 0) & ~mask & (self.counts > 0)]] = False
        return out & (self.counts > 0)


class CellBuilder:
    """Collects cells and sums. In a sum a cell stands as its number + 1, or minus that."""

    def __init__(self) -> None:
        self.counts: list[Integers] = []
        self.latent: list[Booleans] = []
        self.open: list[Booleans] = []
        self.row: list[Integers] = [np.zeros(0, dtype=np.int64)]
        self.entry: list[Integers] = [np.zeros(0, dtype=np.int64)]
        self.with_size: list[tuple[Integers, Integers]] = []
        self.length = self.sums = 0

    def add(self, counts: Integers, *, latent: bool = False, open_: bool = True) -> Integers:
        """More cells; their numbers + 1."""
        self.counts.append(counts)
        self.latent.append(np.full(len(counts), latent))
        self.open.append(np.full(len(counts), open_))
        self.length += len(counts)
        return np.arange(self.length - len(counts), self.length) + 1

    def add_groups(
        self, codes: Integers, stratum: Integers, strata: int, groups: int, *, open_: bool = True
    ) -> Integers:
        """The cells of groups, one row per stratum."""
        counts = np.bincount(stratum * groups + codes, minlength=strata * groups)
        return self.add(counts, open_=open_).reshape(strata, groups)

    def add_sums(self, *parts: Integers) -> None:
        """A sum for each row of the parts: the parts side by side make a known number."""
        wide = np.concatenate(parts, axis=1)
        self.row.append(np.repeat(np.arange(len(wide)) + self.sums, wide.shape[1]))
        self.entry.append(wide.ravel())
        self.sums += len(wide)

    def add_sizes(self, cells: Integers, size: Integers) -> None:
        """A published cell of a row publishes the size of its list."""
        self.with_size.append((cells.ravel() - 1, np.repeat(size - 1, cells.shape[1])))

    def build(self) -> Cells:
        """All of it."""
        counts, entry = np.concatenate(self.counts).astype(np.int64), np.concatenate(self.entry)
        size = np.full(len(counts), -1)
        for cells, list_size in self.with_size:
            size[cells] = list_size
        return Cells(
            counts,
            np.concatenate(self.row),
            np.abs(entry) - 1,
            np.sign(entry).astype(np.float64),
            self.sums,
            np.concatenate(self.latent),
            size,
            np.concatenate(self.open),
        )


def cells_of(
    attributes: Sequence[Attribute], query: Integers | None = None, queries: int = 0
) -> tuple[Cells, Integers]:
    """All cells with their sums.

    The groups of the attributes come first, each attribute's with its unknown last.

    Parameters
    ----------
    attributes
        The groups.
    query
        For each row its list, where the cells of each list are published too: then only these may be masked to hide
        others.
    queries
        How many lists there are.

    Returns
    -------
    cells
        Counts and sums.
    first
        For each attribute where the cells of its lists begin, ``queries`` times its groups and the unknown.
    """
    builder = CellBuilder()
    codes = [np.where(a.codes >= 0, a.codes, len(a.counts)).astype(np.int64) for a in attributes]
    sizes = [len(a.counts) + 1 for a in attributes]
    everyone = np.zeros(len(codes[0]), dtype=np.int64)
    pooled = [builder.add_groups(c, everyone, 1, s, open_=query is None) for c, s in zip(codes, sizes, strict=True)]
    for whole in pooled:
        builder.add_sums(whole)
    by_list: list[Integers] = []
    if query is not None:
        by_list = [builder.add_groups(c, query, queries, s) for c, s in zip(codes, sizes, strict=True)]
        length = builder.add(np.bincount(query, minlength=queries))
        builder.add_sums(length[None, :])
        for whole, each in zip(pooled, by_list, strict=True):
            builder.add_sums(each.T, -whole.T)
            builder.add_sums(each, -length[:, None])
            builder.add_sizes(each, length)
    for i, one in enumerate(attributes):
        for j in range(i):
            blocks = _blocks(one, attributes[j])
            if blocks is None:
                continue
            pair = (codes[i], codes[j])
            sums = _relate(builder, pair, (pooled[i], pooled[j]), blocks, everyone)
            if query is not None:
                parts = _relate(builder, pair, (by_list[i], by_list[j]), blocks, query)
                for one_sum, its_parts in zip(sums, parts, strict=True):
                    builder.add_sums(its_parts.T, -one_sum.T)
    return builder.build(), np.array([int(e[0, 0]) - 1 for e in by_list], dtype=np.int64)


def _blocks(one: Attribute, other: Attribute) -> tuple[Integers, Integers, int] | None:
    """The block of each group of two attributes, the unknown left out; None where all are one block."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    both = (one.codes >= 0) & (other.codes >= 0)
    width = max(len(other.counts), 1)
    pairs = np.unique(one.codes[both].astype(np.int64) * width + other.codes[both])
    left, right = np.divmod(pairs, width)
    nodes = len(one.counts) + len(other.counts)
    graph = coo_array((np.ones(len(pairs)), (left, right + len(one.counts))), shape=(nodes, nodes))
    number, block = connected_components(graph, directed=False)
    return None if number < 2 else (block[: len(one.counts)], block[len(one.counts) :], int(number))


def _relate(
    builder: CellBuilder,
    codes: tuple[Integers, Integers],
    cells: tuple[Integers, Integers],
    blocks: tuple[Integers, Integers, int],
    stratum: Integers,
) -> list[Integers]:
    """Blocks have the same rows under both attributes, but for those unknown under one; the cells of these."""
    strata, number = cells[0].shape[0], blocks[2]
    group = [np.append(b, number)[c] for b, c in zip(blocks[:2], codes, strict=True)]  # `number`: unknown
    known = [g < number for g in group]
    unknown_elsewhere = []
    for side in (0, 1):
        only = known[side] & ~known[1 - side]
        count = np.bincount(stratum[only] * number + group[side][only], minlength=strata * number)
        unknown_elsewhere.append(builder.add(count, latent=True).reshape(strata, number))
    neither = builder.add(np.bincount(stratum[~known[0] & ~known[1]], minlength=strata), latent=True)[:, None]
    for block in range(number):
        left, right = (cells[side][:, np.flatnonzero(blocks[side] == block)] for side in (0, 1))
        builder.add_sums(left, -unknown_elsewhere[0][:, [block]], -right, unknown_elsewhere[1][:, [block]])
    for side in (0, 1):  # those unknown under one are known under the other, or under neither
        builder.add_sums(cells[side][:, [-1]], -unknown_elsewhere[1 - side], -neither)
    return [*unknown_elsewhere, neither]


@dataclass(frozen=True)
class Solutions:
    """The smallest and the largest count of each cell in any solution so far. Masking more only adds solutions."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, cells: Cells) -> Solutions:
        """The counts themselves are a solution."""
        return cls(cells.counts.astype(np.float64), cells.counts.astype(np.float64))


def narrow_cells(
    cells: Cells, hidden: Booleans, floor: int, solutions: Solutions, skipped: Collection[int] = ()
) -> list[int]:
    """Hidden counts below the floor whose range is narrower than the floor, a few of each set of sums tied together.

    Parameters
    ----------
    cells
        Counts and sums.
    hidden
        Cells that are not published.
    floor
        Counts below it are to be safe, and how wide their range has to be.
    solutions
        Solutions so far; what is found is added.
    skipped
        Cells that are not looked at.
    """
    candidates = np.flatnonzero(hidden)
    left_out = np.fromiter(skipped, dtype=np.int64, count=len(skipped))
    guarded = (cells.counts[candidates] < floor) & ~np.isin(candidates, left_out)
    guarded &= ~cells.is_size[candidates]
    guarded &= solutions.high[candidates] - solutions.low[candidates] < floor - TOLERANCE
    if not guarded.any():
        return []
    component, system = _components(cells, candidates)
    out = []
    for number in np.unique(component[guarded]).tolist():
        members = np.flatnonzero(component == number)
        sums = system[:, members]
        sums = sums[np.flatnonzero(np.diff(sums.tocsr().indptr))].tocsr()
        column = candidates[members]
        out += column[_narrow(sums, cells, column, guarded[members], floor, solutions)].tolist()
    return out


def _components(cells: Cells, candidates: Integers) -> tuple[Integers, Any]:
    """To which set each of some cells belongs, sets without a common sum; and the sums of these cells."""
    from scipy.sparse import csc_array
    from scipy.sparse.csgraph import connected_components

    number = np.full(len(cells.counts), -1)
    number[candidates] = np.arange(len(candidates))
    column = number[cells.column]
    inside = column >= 0
    entries = (cells.sign[inside], (cells.row[inside], column[inside]))
    system = csc_array(entries, shape=(cells.sums, len(candidates)))
    _, component = connected_components(abs(system.T @ system) if len(candidates) else system, directed=False)
    return component.astype(np.int64), system


def _narrow(
    sums: Any, cells: Cells, column: Integers, guarded: Booleans, floor: int, solutions: Solutions
) -> list[int]:
    """The guarded counts of tied sums whose range is too narrow, the smallest first, and the first of them only."""
    count, lower = cells.counts[column], cells.lower[column]
    if sums.shape[0] == 0:
        return []
    if sums.shape[0] == 1:
        alone = len(np.unique(sums.data)) == 1 and (count - lower).sum() < floor
        return [int(np.flatnonzero(guarded)[np.argmin(count[guarded])])] if alone else []
    most = float(cells.counts.sum())
    low, high = solutions.low[column], solutions.high[column]
    ranges = _Ranges(sums, count.astype(np.float64), lower.astype(np.float64), most, low, high)
    found = ranges.narrow(guarded, floor)
    solutions.low[column], solutions.high[column] = ranges.low, ranges.high
    return found


class _Ranges:
    """Ranges of counts z with ``sums @ z`` as known and ``lower <= z <= most``, by small linear programmes; every
    solution serves all counts.
    """

    def __init__(self, sums: Any, count: Floats, lower: Floats, most: float, low: Floats, high: Floats) -> None:
        self.sums, self.lower, self.most, self.count = sums, lower, most, count
        self.known = sums @ (count - lower)
        self.low, self.high = low, high

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
            worth = np.zeros(len(self.count))
            for sign in (-1.0, 1.0):  # as large, then as small as can be
                worth[cell] = sign
                if self._open(guarded, floor)[cell]:
                    self._add(self._solve(worth, self.sums, self.most))
            if self._open(guarded, floor)[cell]:
                out.append(int(cell))
            if len(out) == MOST_NARROW:
                break
        return out

    def _open(self, guarded: Booleans, floor: int) -> Booleans:
        return guarded & (self.high - self.low < floor - TOLERANCE)

    def _raise(self, cells: Booleans, floor: int) -> None:
        """As many of them as possible at once above their lowest by the floor: each in two parts, the first of them
        no larger than that and worth having.
        """
        from scipy.sparse import hstack

        column = np.flatnonzero(cells)
        cap = floor + self.low[column] - self.lower[column]
        worth = np.append(np.zeros(len(self.count)), -np.ones(len(column)))
        limit = np.append(np.full(len(self.count), self.most), cap)
        solution = self._solve(worth, hstack([self.sums, self.sums[:, column]]).tocsr(), limit)
        if solution is not None:
            whole = solution[: len(self.count)]
            whole[column] += solution[len(self.count) :]
            self._add(whole)

    def _solve(self, worth: Floats, sums: Any, most: float | Floats) -> Floats | None:
        from scipy.optimize import linprog

        limit = np.broadcast_to(np.asarray(most, dtype=np.float64), worth.shape)
        bounds = np.stack([np.zeros(len(worth)), limit], axis=1)
        found = linprog(worth, A_eq=sums, b_eq=self.known, bounds=bounds, method="highs")
        return np.asarray(found.x) if found.status == 0 else None

    def _add(self, solution: Floats | None) -> None:
        if solution is not None:
            self.low = np.minimum(self.low, solution + self.lower)
            self.high = np.maximum(self.high, solution + self.lower)
