"""Which counts of an audit are sums of others: groups that are parts of groups of another attribute, lists, the table.

Two attributes are compared by which of their groups have rows in common. Groups that hang together so make a block, and
the rows of a block are the same under both attributes: a group of ``sex`` and its cells of ``sex,race``, a region and
its states. Rows that are unknown under one of the two count apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lightmeter.arrays import Booleans, Integers
from lightmeter.auditing.masking import Cells
from lightmeter.auditing.table import Attribute


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
        For each row its list, where the cells of each list are told too: then only these may be masked to hide others.
    queries
        How many lists there are.

    Returns
    -------
    cells
        Counts and sums.
    first
        For each attribute where the cells of its lists begin, ``queries`` times its groups and the unknown.
    """
    made = _Made()
    codes = [np.where(a.codes >= 0, a.codes, len(a.counts)).astype(np.int64) for a in attributes]
    sizes = [len(a.counts) + 1 for a in attributes]
    everyone = np.zeros(len(codes[0]), dtype=np.int64)
    whole = [made.counted(c, everyone, 1, s, open_=query is None) for c, s in zip(codes, sizes, strict=True)]
    for at in whole:
        made.equal(at)
    each: list[Integers] = []
    if query is not None:
        each = [made.counted(c, query, queries, s) for c, s in zip(codes, sizes, strict=True)]
        length = made.add(np.bincount(query, minlength=queries))
        made.equal(length[None, :])
        for at, of_each in zip(whole, each, strict=True):
            made.equal(of_each.T, -at.T)
            made.equal(of_each, -length[:, None])
            made.told_with(of_each, length)
    for i, one in enumerate(attributes):
        for j in range(i):
            blocks = _blocks(one, attributes[j])
            if blocks is None:
                continue
            pair = (codes[i], codes[j])
            pooled = _relate(made, pair, (whole[i], whole[j]), blocks, everyone)
            if query is not None:
                latent = _relate(made, pair, (each[i], each[j]), blocks, query)
                for one_sum, parts in zip(pooled, latent, strict=True):
                    made.equal(parts.T, -one_sum.T)
    return made.cells(), np.array([int(e[0, 0]) - 1 for e in each], dtype=np.int64)


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
    many, block = connected_components(graph, directed=False)
    return None if many < 2 else (block[: len(one.counts)], block[len(one.counts) :], int(many))


def _relate(
    made: _Made,
    codes: tuple[Integers, Integers],
    cells: tuple[Integers, Integers],
    blocks: tuple[Integers, Integers, int],
    stratum: Integers,
) -> list[Integers]:
    """Blocks have the same rows under both attributes, but for those unknown under one; the cells of these."""
    strata, many = cells[0].shape[0], blocks[2]
    group = [np.append(b, many)[c] for b, c in zip(blocks[:2], codes, strict=True)]  # `many`: unknown
    known = [g < many for g in group]
    apart = []
    for mine in (0, 1):
        only = known[mine] & ~known[1 - mine]
        count = np.bincount(stratum[only] * many + group[mine][only], minlength=strata * many)
        apart.append(made.add(count, latent=True).reshape(strata, many))
    neither = made.add(np.bincount(stratum[~known[0] & ~known[1]], minlength=strata), latent=True)[:, None]
    for block in range(many):
        mine_, other = (cells[i][:, np.flatnonzero(blocks[i] == block)] for i in (0, 1))
        made.equal(mine_, -apart[0][:, [block]], -other, apart[1][:, [block]])
    for mine in (0, 1):  # those unknown under one are known under the other, or under neither
        made.equal(cells[mine][:, [-1]], -apart[1 - mine], -neither)
    return [*apart, neither]


class _Made:
    """Cells and sums, as they are collected. In a sum a cell stands as its number + 1, or minus that."""

    def __init__(self) -> None:
        self.counts: list[Integers] = []
        self.latent: list[Booleans] = []
        self.open: list[Booleans] = []
        self.row: list[Integers] = []
        self.entry: list[Integers] = []
        self.with_size: list[tuple[Integers, Integers]] = []
        self.size = self.sums = 0

    def add(self, counts: Integers, *, latent: bool = False, open_: bool = True) -> Integers:
        """More cells; their numbers + 1."""
        self.counts.append(counts)
        self.latent.append(np.full(len(counts), latent))
        self.open.append(np.full(len(counts), open_))
        self.size += len(counts)
        return np.arange(self.size - len(counts), self.size) + 1

    def counted(self, codes: Integers, stratum: Integers, strata: int, groups: int, *, open_: bool = True) -> Integers:
        """The cells of groups, a row a stratum."""
        counts = np.bincount(stratum * groups + codes, minlength=strata * groups)
        return self.add(counts, open_=open_).reshape(strata, groups)

    def equal(self, *parts: Integers) -> None:
        """A sum for each row of the parts: the parts side by side make a known number."""
        wide = np.concatenate(parts, axis=1)
        self.row.append(np.repeat(np.arange(len(wide)) + self.sums, wide.shape[1]))
        self.entry.append(wide.ravel())
        self.sums += len(wide)

    def told_with(self, cells: Integers, size: Integers) -> None:
        """Who is told one of the cells of a row is told its size."""
        self.with_size.append((cells.ravel() - 1, np.repeat(size - 1, cells.shape[1])))

    def cells(self) -> Cells:
        """All of it."""
        counts, entry = np.concatenate(self.counts).astype(np.int64), np.concatenate(self.entry)
        size = np.full(len(counts), -1)
        for cells, of in self.with_size:
            size[cells] = of
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
