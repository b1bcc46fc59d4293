"""Memberships of a block's documents, as columns that a divergence can read, and the target distributions beside them.

Attributes may have hundreds of values (companies, intents), and with ``unknown='distinct'`` one value per document. So
a nominal attribute of many values is re-indexed within each ranking: only the values that occur there or in its target
get a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Booleans, Codes, Floats, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.values import sum_by

#: position, value and share, each one entry
Triple = tuple[Integers, Integers, Floats]


@dataclass(frozen=True)
class Distribution:
    """Shares of values: row 0 for all queries where ``shared``, else one row per query.

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


#: bits that are used: the sign stays free
BITS = 63


def words(ranks: int, values: int) -> int:
    """How many whole numbers hold the counts of some values in rankings of that many ranks."""
    return -(-values // _a_word(ranks))


def counts_at(value: Integers, values: int, positions: Integers) -> Floats:
    """Counts of each value down to some positions, themselves included.

    Parameters
    ----------
    value
        The value of each position, ``[rankings, ranks]``; -1 for none.
    values
        How many values there are.
    positions
        Which positions, as ``ranking * ranks + rank``.

    Returns
    -------
    array
        ``[values, positions]``.

    Examples
    --------
    >>> import numpy as np
    >>> counts_at(np.array([[0, 1, 1], [1, -1, 1]]), 2, np.array([0, 2, 4])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    ranks = value.shape[1]
    bits, many = ranks.bit_length(), _a_word(ranks)
    out = np.empty((values, len(positions)))
    for first in range(0, values, many):
        batch = range(first, min(first + many, values))
        one = np.zeros(values + 1, dtype=np.int64)  # the last: no value
        one[batch.start : batch.stop] = np.left_shift(1, bits * np.arange(len(batch)))
        counts = np.cumsum(one[value], axis=1).reshape(-1)[positions]
        for i, code in enumerate(batch):
            out[code] = counts >> (bits * i) & ((1 << bits) - 1)
    return out


def _a_word(ranks: int) -> int:
    """How many counts of up to ``ranks`` one whole number holds."""
    return BITS // max(ranks.bit_length(), 1)


#: Attributes with more values than this are re-indexed within each ranking.
FEW = 24
#: Cells of a cube [rankings, ranks, values] worked on at once.
CUBE = 1 << 16
#: Whole numbers per position that hold counts of values; where more would be needed, values are added up one by one.
WORDS = 4


@dataclass(frozen=True)
class Membership:
    """The values of the documents of a block.

    Attributes
    ----------
    attribute
        The attribute.
    size
        Number of values, with those of unknown documents under ``unknown='distinct'``.
    value
        The value of each (position, value) pair, in order of the positions.
    positions, shares
        The position (``ranking * ranks + rank``) and weight of each pair, multi-valued documents split equally; None
        where each position has exactly one pair, of weight 1.
    spread
        ``[rankings, ranks]``: 1 where an unknown document counts for all values alike (``unknown='uniform'``), or None.
    known
        ``[rankings, ranks]``: which positions count at all.
    all_known
        Whether all do that are not padding.
    multi
        For a multi-valued attribute how many values the document of each pair has; weight x multi is its membership in
        full.
    """

    attribute: Attribute
    size: int
    shape: tuple[int, int]
    value: Integers
    positions: Integers | None
    shares: Floats | None
    spread: Floats | None
    known: Booleans
    all_known: bool
    multi: Floats | None = None

    @property
    def every(self) -> bool:
        """Whether each position has exactly one pair: then what holds for the positions holds for the pairs."""
        return self.positions is None

    @cached_property
    def position(self) -> Integers:
        """The position of each pair."""
        return np.arange(len(self.value)) if self.positions is None else self.positions

    @cached_property
    def weight(self) -> Floats:
        """The weight of each pair."""
        return np.ones(len(self.value)) if self.shares is None else self.shares

    @cached_property
    def ranking(self) -> Integers:
        """The ranking of each pair."""
        if self.every:
            return np.repeat(np.arange(self.shape[0]), self.shape[1])
        return self.position // max(self.shape[1], 1)

    @cached_property
    def rank(self) -> Integers:
        """The rank of each pair, from 0."""
        if self.every:
            return np.tile(np.arange(self.shape[1]), self.shape[0])
        return self.position % max(self.shape[1], 1)

    def of_pairs(self, positions: AnyArray) -> AnyArray:
        """What ``[rankings, ranks]`` holds at the position of each pair."""
        flat = positions.reshape(-1)
        return flat if self.every else flat[self.position]

    @cached_property
    def known_above(self) -> Integers:
        """How many of the first k documents count, ``[rankings, ranks]``."""
        return np.cumsum(self.known, axis=1)

    def columns(self, target: Distribution | None, query: Codes) -> Columns:
        """The memberships beside a target, value by value."""
        rankings = self.shape[0]
        t_ranking, t_value, t_share = target.rows(query) if target is not None else _nothing()
        if self.size <= FEW or self.attribute.ordinal or self.spread is not None:
            width, mine, theirs = self.size, self.value, t_value
            labels = None
        else:
            keys = np.concatenate([self.ranking * self.size + self.value, t_ranking * self.size + t_value])
            unique, at = np.unique(keys, return_inverse=True)
            owner = unique // self.size
            first = np.searchsorted(owner, np.arange(rankings))
            column = at - first[keys // self.size]
            width = int(np.bincount(owner, minlength=rankings).max(initial=0))
            mine, theirs = column[: len(self.value)], column[len(self.value) :]
            labels = np.full((rankings, width), -1, dtype=np.int64)
            labels[owner, np.arange(len(unique)) - first[owner]] = unique % self.size
        q = np.zeros((rankings, width))
        q[t_ranking, theirs] = t_share
        alike = labels is None and target is not None and target.shared
        return Columns(self, width, mine, q, labels, alike)


@dataclass(frozen=True)
class Columns:
    """A membership laid out in ``width`` columns per ranking, beside the target ``q`` ``[rankings, width]``.

    ``labels`` ``[rankings, width]`` has each column's value (-1: none) where columns were re-indexed, else it is
    None. ``alike``: all rankings have the same target in the same columns.
    """

    membership: Membership
    width: int
    column: Integers
    q: Floats
    labels: Integers | None
    alike: bool = False

    def target(self, ranking: Integers) -> Floats:
        """The targets of some rankings, ``[rankings, width]``, or ``[1, width]`` where all are alike."""
        return self.q[:1] if self.alike else self.q[ranking]

    def total(self, weights: Floats, *, full: bool = False) -> Floats:
        """Sum of ``weights`` ``[rankings, ranks]`` by value, ``[rankings, width]``; ``full``: multi-valued documents
        count fully in each value.
        """
        m = self.membership
        start = np.arange(m.shape[0])[:, None] * self.width
        if m.every:  # one value each
            at, share = (start + self.column.reshape(m.shape)).reshape(-1), weights.reshape(-1)
        else:
            at = m.of_pairs(np.broadcast_to(start, m.shape)) + self.column
            share = (m.weight * m.multi if full and m.multi is not None else m.weight) * m.of_pairs(weights)
        out = sum_by(at, share, m.shape[0] * self.width)
        out = out.reshape(m.shape[0], self.width)
        if m.spread is not None:
            out += (m.spread * weights).sum(axis=1, keepdims=True) / m.size
        return out

    def shares(self, weights: Floats) -> tuple[Floats, Booleans]:
        """Weighted mean membership ``[rankings, width]``, and which rankings have any known document of weight."""
        m = self.membership
        mass = (weights if m.every else weights * m.known).sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            p = self.total(weights) / mass
        some = mass[:, 0] > 0
        return np.where(some[:, None], p, 0.0), some

    def prefixes(self, depth: int) -> Iterator[tuple[slice, slice, Floats, Booleans]]:
        """Distributions over the first k documents, for k = 1 .. depth, in pieces that fit the cache.

        Yields
        ------
        rankings, ranks, p, some
            A slice of rankings and of ranks, their distributions ``[rankings, ranks, width]`` and whether any of the
            first k documents is known ``[rankings, ranks]``.
        """
        m = self.membership
        rankings = m.shape[0]
        depth = min(depth, m.shape[1])
        across = min(max(CUBE // max(self.width, 1), 16), max(depth, 1))
        step = max(CUBE // max(across * self.width, 1), 1)
        bounds = np.searchsorted(m.ranking, np.arange(0, rankings + step, step))
        count = m.known_above[:, :depth]
        for number, start in enumerate(range(0, rankings, step)):
            part = slice(start, min(start + step, rankings))
            pairs = slice(bounds[number], bounds[number + 1])
            above = np.zeros((self.width, part.stop - start))
            for top in range(0, depth, across):
                ranks = slice(top, min(top + across, depth))
                inside = (m.rank[pairs] >= top) & (m.rank[pairs] < ranks.stop)
                # values first in memory: sums over them are then sums of long rows
                cube = np.zeros((self.width, part.stop - start, ranks.stop - top))
                at = (self.column[pairs][inside], m.ranking[pairs][inside] - start, m.rank[pairs][inside] - top)
                cube[at] = m.weight[pairs][inside]
                if m.spread is not None:
                    cube += m.spread[part, ranks] / m.size
                cube[:, :, 0] += above
                np.cumsum(cube, axis=-1, out=cube)
                above = cube[:, :, -1].copy()
                cube /= np.maximum(count[part, ranks], 1)
                yield part, ranks, np.moveaxis(cube, 0, -1), count[part, ranks] > 0

    def prefixes_at(self, positions: Integers) -> Iterator[tuple[Any, Floats, Booleans]]:
        """Distributions over the first k documents, at some ranks k of each ranking only, in pieces that fit the cache.

        What stands between two of these ranks is summed at once, so the cost follows their number.

        Parameters
        ----------
        positions
            Which ranks, as ``ranking * ranks + rank`` in order.

        Yields
        ------
        part, p, some
            Which of the positions, their distributions ``[positions, width]`` and whether any of the first k documents
            is known ``[positions]``.
        """
        m, ranks = self.membership, self.membership.shape[1]
        if m.attribute.indptr is None and words(ranks, self.width) <= WORDS:
            yield from self._counted_at(positions)
            return
        many = np.bincount(positions // max(ranks, 1), minlength=m.shape[0])
        if int(many.max(initial=0)) * self.width > 16 * CUBE:  # one long list and many values
            wanted = np.full(m.shape[0] * ranks, -1)
            wanted[positions] = np.arange(len(positions))
            for of, across, cells, some in self.prefixes(ranks):
                found = wanted.reshape(m.shape)[of, across]
                yield found[found >= 0], cells[found >= 0], some[found >= 0]
        else:
            yield from self._summed_at(positions, many)

    def _counted_at(self, positions: Integers) -> Iterator[tuple[Any, Floats, Booleans]]:
        """What :meth:`prefixes_at` yields where documents have one value at most, and values are few."""
        m, ranks = self.membership, self.membership.shape[1]
        column = self.column
        if m.positions is not None:
            column = np.full(m.shape[0] * ranks, -1)
            column[m.positions] = self.column
        unknown = None if m.spread is None else np.cumsum(m.spread, axis=1).reshape(-1) / m.size
        counts = counts_at(column.reshape(m.shape), self.width, positions)
        step = max(CUBE // max(self.width, 1), 1)
        for start in range(0, len(positions), step):
            part = slice(start, start + step)
            p = counts[:, part]
            if unknown is not None:
                p += unknown[positions[part]]
            count = self._documents_above(positions[part])
            p /= np.maximum(count, 1)
            yield part, p.T, count > 0

    def _summed_at(self, positions: Integers, many: Integers) -> Iterator[tuple[Any, Floats, Booleans]]:
        """What :meth:`prefixes_at` yields, whatever the memberships; ``many`` positions per ranking."""
        m, (rankings, ranks) = self.membership, self.membership.shape
        wanted = np.zeros(m.shape, dtype=bool)
        wanted.reshape(-1)[positions] = True
        # the documents from one wanted rank to the next share a slot
        slot = np.cumsum(wanted, axis=1, dtype=np.int32) - wanted
        step = max(CUBE // max(int(many.max(initial=0)) * self.width, 1), 1)
        starts = np.arange(0, rankings + step, step)
        pairs_from, positions_from = (
            np.searchsorted(m.position, starts * ranks),
            np.searchsorted(positions, starts * ranks),
        )
        for number, start in enumerate(range(0, rankings, step)):
            part = slice(start, min(start + step, rankings))
            pairs = slice(pairs_from[number], pairs_from[number + 1])
            batch = slice(positions_from[number], positions_from[number + 1])
            rows, slots = part.stop - start, int(many[part].max(initial=0)) + 1  # the last: below every wanted rank
            position = (np.arange(rows)[:, None] * slots + slot[part]).reshape(-1)
            at = position if m.every else position[m.position[pairs] - start * ranks]
            at = at + self.column[pairs] * (rows * slots)
            # values first in memory: sums over them are then sums of long rows
            cube = sum_by(at, m.weight[pairs], self.width * rows * slots).reshape(self.width, rows, slots)
            if m.spread is not None:
                cube += sum_by(position, m.spread[part].reshape(-1), rows * slots).reshape(rows, slots) / m.size
            np.cumsum(cube, axis=-1, out=cube)
            count = self._documents_above(positions[batch])
            p = cube.reshape(self.width, -1)[:, position[positions[batch] - start * ranks]]
            p /= np.maximum(count, 1)
            yield batch, p.T, count > 0

    def _documents_above(self, positions: Integers) -> Integers:
        """How many documents that count there are down to some positions."""
        m = self.membership
        return positions % m.shape[1] + 1 if m.all_known else m.known_above.reshape(-1)[positions]


def _nothing() -> tuple[Integers, Integers, Floats]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
