"""The bootstrap of a long table: its head row by row, the rest in blocks.

Far down a list one rank is worth as much as the next, so it does not matter which of a block's rows is drawn, only how
many of each group are. What is left of the difference, a constant, is corrected: a resample is moved by what the same
sums of the table itself miss. A resample costs as much for a million rows as for thirty thousand.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranked import RankedTable, view_of
from lightmeter.auditing.resample import Progress, depth_for
from lightmeter.auditing.sums import Asked, Sums

#: rows drawn one by one at least and at most, and blocks below them
LEAST, MOST = 2048, 20_000
#: cells of blocks and groups
CELLS = 2000


class Coarse:
    """A long ranking as head and blocks."""

    def __init__(self, ranked: RankedTable, codes: Integers, groups: int, label: Floats | None, asked: Asked) -> None:
        n, size = len(ranked), groups + 1
        small = [depth_for(ranked, k) for k in asked.cutoffs if k is not None and k <= MOST]
        self.depth = min(n, max([LEAST, *(d for d in small if d <= MOST)]))
        self.n, self.size, self.asked, self.ranked = n, size, asked, ranked
        self.ranks = np.array([n if k is None else min(k, n) for k in asked.cutoffs])
        self.head, self.members = codes[: self.depth], np.bincount(codes, minlength=size)
        self.places = np.argsort(self.head, kind="stable")
        self.inside = np.bincount(self.head, minlength=size)
        self.first = np.cumsum(self.inside) - self.inside
        self.views = [view_of(u, n) for u in asked.users]
        self.totals = [np.append(0.0, np.cumsum(v)) for v in self.views]
        # short blocks where attention still falls, and none that is much of the table
        blocks = int(np.clip(CELLS // size, 40, 200))
        spread = [np.geomspace(self.depth, n, blocks + 1), np.linspace(self.depth, n, blocks + 1)]
        edges = np.unique(np.concatenate(spread).round().astype(np.int64))
        self.edges = edges
        block = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        key = codes[self.depth :] * max(len(edges) - 1, 1) + block
        shape = (size, len(edges) - 1)
        self.counts = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
        rest = np.maximum(self.members - self.inside, 1)
        self.chance = self.counts / rest[:, None]
        some = np.maximum(self.counts, 1)

        def mean(what: Floats) -> Floats:
            return np.bincount(key, what[self.depth :], minlength=shape[0] * shape[1]).reshape(shape) / some

        self.score = mean(ranked.score)
        self.label, self.falling = label, -ranked.score
        if label is not None:
            self.merit = mean(label)
            self.spread = np.maximum(mean(label**2) - self.merit**2, 0.0)
        self.over = None
        if asked.threshold is not None:
            self.over = int(np.searchsorted(self.falling, -asked.threshold, side="right"))

    def resampled(self, now: Sums, resamples: int, rng: np.random.Generator, progress: Progress | None = None) -> Sums:
        """Sums of resamples; ``now`` are those of the table as it is."""
        out = _Room(resamples, len(self.ranks), self.size, len(self.views))
        for r in range(resamples):
            inner = rng.binomial(self.members, self.inside / np.maximum(self.members, 1))
            which = np.repeat(np.arange(self.size), inner)
            drawn = (rng.random(len(which)) * self.inside[which]).astype(np.int64) + self.first[which]
            copies = np.bincount(self.places[drawn], minlength=self.depth)
            outer = np.stack(
                [
                    rng.multinomial(m, p) if m else np.zeros(len(p), dtype=np.int64)
                    for m, p in zip(self.members - inner, self.chance, strict=True)
                ]
            )
            noise = None
            if self.label is not None:
                noise = np.sqrt((outer * self.spread).sum(axis=1)) * rng.standard_normal(self.size)
            self._sums(copies, outer, noise, out, r)
            if progress is not None:
                progress(self.n)
        once = _Room(1, len(self.ranks), self.size, len(self.views))
        self._sums(np.ones(self.depth, dtype=np.int64), self.counts, None, once, 0)
        return self._moved(out, now, once, resamples)

    def _sums(self, copies: Integers, outer: Integers, noise: Floats | None, out: _Room, r: int) -> None:
        group = np.repeat(self.head, copies)
        inner = len(group)
        ends = np.unique(np.minimum(self.ranks, inner))
        segment = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        key = group[: len(segment)] * len(ends) + segment
        at = np.searchsorted(ends, np.minimum(self.ranks, inner))
        block_ends = inner + np.append(0, np.cumsum(outer.sum(axis=0)))
        below = np.clip(np.searchsorted(block_ends, self.ranks, side="right") - 1, 0, max(outer.shape[1] - 1, 0))
        deep = self.ranks > inner
        start, many = block_ends[below], np.maximum(np.diff(block_ends)[below] if outer.shape[1] else 1, 1)
        before = np.concatenate([np.zeros((self.size, 1)), np.cumsum(outer, axis=1)], axis=1)
        share = (outer[:, below] / many) if outer.shape[1] else np.zeros((self.size, len(below)))

        def head(weight: Floats | None) -> Floats:
            by = np.bincount(key, weight, minlength=self.size * len(ends)).reshape(self.size, -1)
            return by.cumsum(axis=1)[:, at].astype(np.float64)

        tail = before[:, below] + share * (self.ranks - start)
        out.top[r] = (head(None) + np.where(deep, tail, 0.0)).T
        each = outer / np.maximum(np.diff(block_ends), 1)
        for j, (view, total) in enumerate(zip(self.views, self.totals, strict=True)):
            worth = np.concatenate(
                [np.zeros((self.size, 1)), np.cumsum(each * np.diff(total[block_ends]), axis=1)], axis=1
            )
            tail = worth[:, below] + share * (total[self.ranks] - total[np.minimum(start, self.n)])
            out.seen[j, r] = (head(view[: len(key)]) + np.where(deep, tail, 0.0)).T
        bare = np.bincount(self.head, copies * self.ranked.score[: self.depth], minlength=self.size)
        out.score[r] = bare + (outer * self.score).sum(axis=1)
        out.above[r] = self._upto(self._median_place(copies, block_ends), copies, before)
        if self.over is not None:
            out.over[r] = self._upto(self.over, copies, before)
        if self.label is not None:
            out.label[r] = np.bincount(self.head, copies * self.label[: self.depth], minlength=self.size)
            out.label[r] += (outer * self.merit).sum(axis=1) + (0.0 if noise is None else noise)

    def _median_place(self, copies: Integers, block_ends: Integers) -> int:
        """How many places of the table lie above the median of a resample: those of equal scores do not."""
        middle = block_ends[-1] // 2
        if middle < block_ends[0]:
            place = int(np.searchsorted(np.cumsum(copies), middle, side="right"))
        else:
            b = int(np.searchsorted(block_ends, middle, side="right")) - 1
            part = (middle - block_ends[b]) / max(block_ends[b + 1] - block_ends[b], 1)
            place = int(self.edges[b] + part * (self.edges[b + 1] - self.edges[b]))
        place = min(place, self.n - 1)
        if self.ranked.block_size[self.ranked.block[place]] == 1:
            return place
        return int(np.searchsorted(self.falling, self.falling[place], side="left"))

    def _upto(self, place: int, copies: Integers, before: Floats) -> Floats:
        """Copies of the first places of the table, by group."""
        if place <= self.depth:
            return np.bincount(self.head[:place], copies[:place], minlength=self.size).astype(np.float64)
        b = min(int(np.searchsorted(self.edges, place, side="right")) - 1, len(self.edges) - 2)
        part = (place - self.edges[b]) / (self.edges[b + 1] - self.edges[b])
        inner = np.bincount(self.head, copies, minlength=self.size)
        return inner + before[:, b] + part * (before[:, b + 1] - before[:, b])

    def _moved(self, out: _Room, now: Sums, once: _Room, resamples: int) -> Sums:
        """The resamples, each moved by what blocks lose of the table itself (``once``)."""
        keys = list(self.asked.cutoffs)
        top = {k: np.maximum(out.top[:, i] + (now.top[k] - once.top[:, i]), 0.0) for i, k in enumerate(keys)}
        exposure = {
            (u, k): np.maximum(out.seen[j, :, i] + (now.exposure[u, k] - once.seen[j, :, i]), 0.0)
            for j, u in enumerate(self.asked.users)
            for i, k in enumerate(keys)
        }

        def moved(name: str) -> Floats | None:
            exact = getattr(now, name)
            return None if exact is None else getattr(out, name) + (exact - getattr(once, name))

        return Sums(
            count=np.broadcast_to(self.members.astype(np.float64), (resamples, self.size)),
            top=top,
            places={k: np.full(resamples, float(self.ranks[i])) for i, k in enumerate(keys)},
            exposure=exposure,
            score=moved("score"),
            above=moved("above"),
            over=moved("over"),
            label=moved("label"),
        )


class _Room:
    """Where sums of resamples are written."""

    def __init__(self, resamples: int, ranks: int, size: int, users: int) -> None:
        self.top = np.empty((resamples, ranks, size))
        self.seen = np.empty((users, resamples, ranks, size))
        self.score, self.above, self.over, self.label = (np.empty((resamples, size)) for _ in range(4))


def resampled(
    ranked: RankedTable,
    codes: Integers,
    groups: int,
    label: Floats | None,
    asked: Asked,
    now: Sums,
    resamples: int,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
) -> Sums:
    """Sums of resamples of one long ranking without averaged ties; ``now`` are those of the table as it is."""
    return Coarse(ranked, codes, groups, label, asked).resampled(now, resamples, rng, progress)
