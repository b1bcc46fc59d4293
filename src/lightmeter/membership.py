"""Memberships of a block's documents, as columns that a divergence can read.

Attributes may have hundreds of values (companies, intents), and with ``unknown='distinct'`` one a document. So a
nominal attribute of many values
is re-indexed within each ranking: only the values that occur there or in its target get a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.attributes import Attribute
from lightmeter.sums import sum_by

if TYPE_CHECKING:
    from lightmeter.block import Block
    from lightmeter.distributions import Distribution

Array = NDArray[np.float64]
#: Attributes with more values than this are re-indexed within each ranking.
FEW = 24
#: Cells of a cube [rankings, ranks, values] worked on at once.
CUBE = 1 << 16


@dataclass(frozen=True)
class Membership:
    """Who belongs where in a block.

    Attributes
    ----------
    attribute
        The attribute.
    size
        Number of values, with those of unknown documents under ``unknown='distinct'``.
    position, value, weight
        One entry a (place, value) pair, in order of the places (``ranking * ranks + rank``); multi-valued documents are
        split equally.
    every
        Whether each place has exactly one pair: then what is asked of the places is that of the pairs.
    spread
        ``[rankings, ranks]``: 1 where an unknown document counts for all values alike (``unknown='uniform'``), or None.
    known
        ``[rankings, ranks]``: which places count at all.
    all_known
        Whether all do that are not padding.
    multi
        For a multi-valued attribute how many values the document of each pair has; weight x multi is its membership in
        full.
    """

    attribute: Attribute
    size: int
    shape: tuple[int, int]
    position: NDArray[np.int64]
    value: NDArray[np.int64]
    weight: Array
    spread: Array | None
    known: NDArray[np.bool_]
    all_known: bool
    multi: Array | None = None
    every: bool = False

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """The ranking of each pair."""
        if self.every:
            return np.repeat(np.arange(self.shape[0]), self.shape[1])
        return self.position // max(self.shape[1], 1)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each pair, from 0."""
        if self.every:
            return np.tile(np.arange(self.shape[1]), self.shape[0])
        return self.position % max(self.shape[1], 1)

    def of_pairs(self, places: NDArray[Any]) -> NDArray[Any]:
        """What ``[rankings, ranks]`` holds at the place of each pair."""
        flat = places.reshape(-1)
        return flat if self.every else flat[self.position]

    @cached_property
    def known_above(self) -> NDArray[np.int64]:
        """How many of the first k documents count, ``[rankings, ranks]``."""
        return np.cumsum(self.known, axis=1)

    def columns(self, target: Distribution | None, query: NDArray[np.int32]) -> Columns:
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
        return Columns(self, width, mine, q, labels)


@dataclass(frozen=True)
class Columns:
    """A membership laid out in ``width`` columns a ranking, beside the target ``q`` ``[rankings, width]``.

    ``labels`` ``[rankings, width]`` tells each column's value (-1: none) where columns were re-indexed, else it is
    None.
    """

    membership: Membership
    width: int
    column: NDArray[np.int64]
    q: Array
    labels: NDArray[np.int64] | None

    def total(self, weights: Array, *, full: bool = False) -> Array:
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

    def shares(self, weights: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Weighted mean membership ``[rankings, width]``, and which rankings have any known document of weight."""
        m = self.membership
        mass = (weights if m.every else weights * m.known).sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            p = self.total(weights) / mass
        some = mass[:, 0] > 0
        return np.where(some[:, None], p, 0.0), some

    def prefixes(self, depth: int) -> Iterator[tuple[slice, slice, Array, NDArray[np.bool_]]]:
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

    def prefixes_at(
        self, wanted: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Array, Any]]:
        """Distributions over the first k documents, at some ranks k of each ranking only, in pieces that fit the cache.

        What stands between two of these ranks is summed at once, so the cost follows their number.

        Parameters
        ----------
        wanted
            Which ranks, ``[rankings, ranks]``.

        Yields
        ------
        ranking, rank, p, some
            The wanted places in order of ranking and rank, their distributions ``[places, width]`` and whether any of
            the first k documents is known ``[places]``.
        """
        m = self.membership
        behind = np.cumsum(wanted, axis=1, dtype=np.int32)
        slot = behind - wanted  # the documents from one wanted rank to the next share a slot
        many = behind[:, -1] if wanted.shape[1] else np.zeros(len(wanted), np.int32)
        if int(many.max(initial=0)) * self.width > 16 * CUBE:  # one long list and many values
            for of, ranks, cells, any_known in self.prefixes(wanted.shape[1]):
                ranking, rank = np.nonzero(wanted[of, ranks])
                yield ranking + of.start, rank + ranks.start, cells[ranking, rank], any_known[ranking, rank]
            return
        step = max(CUBE // max(int(many.max(initial=0)) * self.width, 1), 1)
        ranks = wanted.shape[1]
        bounds = np.searchsorted(m.position, np.arange(0, len(wanted) + step, step) * ranks)
        for number, start in enumerate(range(0, len(wanted), step)):
            part = slice(start, min(start + step, len(wanted)))
            pairs = slice(bounds[number], bounds[number + 1])
            rows, slots = part.stop - start, int(many[part].max(initial=0)) + 1  # the last: below every wanted rank
            row = np.arange(rows)[:, None] * slots + slot[part]
            place = row.reshape(-1)
            at = place if m.every else place[m.position[pairs] - start * ranks]
            at = at + self.column[pairs] * (rows * slots)
            # values first in memory: sums over them are then sums of long rows
            cube = sum_by(at, m.weight[pairs], self.width * rows * slots).reshape(self.width, rows, slots)
            if m.spread is not None:
                cube += sum_by(place, m.spread[part].reshape(-1), rows * slots).reshape(rows, slots) / m.size
            np.cumsum(cube, axis=-1, out=cube)
            found = np.flatnonzero(wanted[part])  # much faster than looking for rows and columns
            ranking, rank = np.divmod(found, ranks)
            place = place[found]
            count = rank + 1 if m.all_known else m.known_above[part][ranking, rank]
            p = cube.reshape(self.width, -1)[:, place]
            p /= np.maximum(count, 1)
            yield ranking + start, rank, p.T, count > 0


def membership(block: Block, by: str) -> Membership:
    """Memberships of a block's documents in an attribute, under the call's rule for unknown ones."""
    context = block.context
    attribute = context.collection.attribute(by)
    entry = block.member_entry(by)
    unknown = block.valid & (entry < 0)
    spread: Array | None = None
    known = block.valid
    size = len(attribute.values)
    position, codes, weight = attribute.pairs(entry.ravel(), split=True)
    multi = None
    if attribute.kind == "multi" and attribute.indptr is not None:
        multi = np.diff(attribute.indptr)[entry.ravel()[position]].astype(np.float64)
    value = codes.astype(np.int64)
    if unknown.any():
        if context.unknown == "error":
            context.refuse_unknown(attribute, block.ranked.run.name, block.doc.filter(unknown[block.valid]))
        elif context.unknown == "uniform":
            spread = unknown.astype(np.float64)
        elif context.unknown == "drop":
            known = block.valid & ~unknown
        else:
            own_value = context.distinct(attribute)[block.ranked.run.name][block.rows]
            own = np.flatnonzero(unknown.ravel())
            position = np.concatenate([position, own])
            order = np.argsort(position, kind="stable")
            position = position[order]
            value = np.concatenate([value, own_value.ravel()[own]])[order]
            weight = np.concatenate([weight, np.ones(len(own))])[order]
            multi = None if multi is None else np.concatenate([multi, np.ones(len(own))])[order]
    if context.unknown == "distinct":
        size += context.count_distinct(attribute)
    every = attribute.indptr is None and len(position) == entry.size
    return Membership(
        attribute, size, block.shape, position, value, weight, spread, known, known is block.valid, multi, every
    )


def _nothing() -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
