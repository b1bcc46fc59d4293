"""Memberships of a block's documents, as columns that a divergence can read.

Attributes may have hundreds of values (companies, intents), and with ``unknown='distinct'`` one a document. So a
nominal attribute of many values
is re-indexed within each ranking: only the values that occur there or in its target get a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lightmeter.attributes import Attribute
from lightmeter.distributions import Distribution
from lightmeter.sums import sum_by

if TYPE_CHECKING:
    from lightmeter.block import Block

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
    ranking, rank, value, weight
        One entry a (place, value) pair, sorted by ranking; multi-valued documents are split equally.
    spread
        ``[rankings, ranks]``: 1 where an unknown document counts for all values alike (``unknown='uniform'``), or None.
    known
        ``[rankings, ranks]``: which places count at all.
    multi
        For a multi-valued attribute how many values the document of each pair has; weight x multi is its membership in
        full.
    """

    attribute: Attribute
    size: int
    shape: tuple[int, int]
    ranking: NDArray[np.int64]
    rank: NDArray[np.int64]
    value: NDArray[np.int64]
    weight: Array
    spread: Array | None
    known: NDArray[np.bool_]
    multi: Array | None = None

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
        at = m.ranking * self.width + self.column
        share = m.weight * m.multi if full and m.multi is not None else m.weight
        out = sum_by(at, share * weights[m.ranking, m.rank], m.shape[0] * self.width)
        out = out.reshape(m.shape[0], self.width)
        if m.spread is not None:
            out += (m.spread * weights).sum(axis=1, keepdims=True) / m.size
        return out

    def shares(self, weights: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Weighted mean membership ``[rankings, width]``, and which rankings have any known document of weight."""
        mass = (weights * self.membership.known).sum(axis=1, keepdims=True)
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
        count = np.cumsum(m.known[:, :depth], axis=1)
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
        size = max(size, *(int(c.max(initial=-1)) + 1 for c in context.distinct(attribute).values()))
    width = block.shape[1]
    return Membership(
        attribute,
        size,
        block.shape,
        position // max(width, 1),
        position % max(width, 1),
        value,
        weight,
        spread,
        known,
        multi,
    )


def _nothing() -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
