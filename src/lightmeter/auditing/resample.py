"""The bootstrap of an audit: candidates drawn again within their group and ranked anew, or queries drawn again.

A resample of one ranking is a number of copies for each place. Copies of one place stand together, so the new ranking
is the places repeated, and a group's exposure is a sum over the ranks its copies take. Nothing is sorted again.

Where only the first K ranks matter, only the first D places are drawn: how many of a group's n draws fall among its i
places of the first D is Binomial(n, i/n), and D lies eight standard deviations below K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranked import RankedTable, view_of
from lightmeter.auditing.sums import Asked, Cutoff, Sums

#: rows drawn for one attribute and score; where it does not suffice the whole list gets fewer resamples
BUDGET = 60_000_000
FEWEST = 100
#: deviations by which a cutoff stays within what is drawn: it fails once in 1e14 resamples
SAFE = 8.0
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Strata:
    """Places of the first ``depth`` by group (the unknown are a group too).

    Attributes
    ----------
    places
        Places, those of one group together.
    first, inside, size
        By group: where its places begin, how many they are, and how many members it has in the whole table.
    """

    places: Integers
    first: Integers
    inside: Integers
    size: Integers
    depth: int

    @classmethod
    def of(cls, codes: Integers, groups: int, depth: int) -> Strata:
        head = codes[:depth]
        inside = np.bincount(head, minlength=groups + 1)
        size = np.bincount(codes, minlength=groups + 1)
        return cls(np.argsort(head, kind="stable"), np.cumsum(inside) - inside, inside, size, depth)

    def copies(self, rng: np.random.Generator) -> Integers:
        """How often each place is drawn in one resample; drawn in proportion to what lies within the depth."""
        many = self.size if self.depth == int(self.size.sum()) else rng.binomial(self.size, self.inside / self._sizes)
        which = np.repeat(np.arange(len(many)), many)
        drawn = (rng.random(len(which)) * self.inside[which]).astype(np.int64) + self.first[which]
        out: Integers = np.bincount(self.places[drawn], minlength=self.depth)
        return out

    @property
    def _sizes(self) -> Integers:
        return np.maximum(self.size, 1)


def depth_for(ranked: RankedTable, cutoff: int) -> int:
    """How many places have to be drawn so that a resample has its first ``cutoff`` ranks."""
    n = len(ranked)
    depth = min(n, int(np.ceil((SAFE + np.sqrt(SAFE**2 + 4 * cutoff)) ** 2 / 4)) + 1)
    if ranked.averaged and depth < n:
        last = int(ranked.block[depth - 1])
        depth = int(np.searchsorted(ranked.block, last, side="right"))
    return depth


def resampled(
    ranked: RankedTable,
    codes: Integers,
    groups: int,
    label: Floats | None,
    asked: Asked,
    resamples: int,
    rng: np.random.Generator,
    *,
    depth: int | None = None,
    progress: Progress | None = None,
) -> Sums:
    """Sums of resamples of one ranking.

    Parameters
    ----------
    ranked, codes, groups, label, asked
        As in :func:`~lightmeter.auditing.sums.observed`.
    resamples
        How many.
    depth
        Draw the first so many places only; then whatever needs the whole list is None.
    """
    whole = depth is None or depth >= len(ranked)
    strata = Strata.of(codes, groups, len(ranked) if whole or depth is None else depth)
    ranks = [len(ranked) if k is None else min(k, len(ranked)) for k in asked.cutoffs]
    size, n = groups + 1, strata.depth
    head, score = codes[:n], ranked.score[:n]
    falling = -score
    views = [view_of(u, max(ranks)) for u in asked.users]
    walk = _Averaged(ranked, n, views, ranks) if ranked.averaged else _Plain(views, ranks)
    top = np.empty((resamples, len(ranks), size))
    seen = np.empty((len(views), resamples, len(ranks), size))
    total = {name: np.empty((resamples, size)) for name in ("score", "above", "over", "label")}
    outside = None if label is None else _Outside.of(label, codes, size, n)
    for r in range(resamples):
        copies = strata.copies(rng)
        top[r], seen[:, r] = walk.sums(copies, head, size)
        if whole:
            total["score"][r] = np.bincount(head, copies * score, minlength=size)
            rows = np.cumsum(copies)
            middle = np.searchsorted(rows, [(rows[-1] - 1) // 2, rows[-1] // 2], side="right")
            above = int(np.searchsorted(falling, falling[middle].mean(), side="left"))
            total["above"][r] = np.bincount(head[:above], copies[:above], minlength=size)
            if asked.threshold is not None:
                over = int(np.searchsorted(falling, -asked.threshold, side="right"))
                total["over"][r] = np.bincount(head[:over], copies[:over], minlength=size)
        if label is not None and outside is not None:
            total["label"][r] = np.bincount(head, copies * label[:n], minlength=size)
            if not whole:
                total["label"][r] += outside.draw(
                    strata.size - np.bincount(head, copies, minlength=size).astype(np.int64), rng
                )
        if progress is not None:
            progress(n)
    keys: list[Cutoff] = list(asked.cutoffs)
    return Sums(
        count=np.broadcast_to(strata.size.astype(np.float64), (resamples, size)),
        top={k: top[:, i] for i, k in enumerate(keys)},
        places={k: np.full(resamples, float(ranks[i])) for i, k in enumerate(keys)},
        exposure={(u, k): seen[j, :, i] for j, u in enumerate(asked.users) for i, k in enumerate(keys)},
        score=total["score"] if whole else None,
        above=total["above"] if whole else None,
        over=total["over"] if whole and asked.threshold is not None else None,
        label=None if label is None else total["label"],
    )


class _Plain:
    """Ranks in segments that end at the cutoffs: a group's sums are those of the segments so far."""

    def __init__(self, views: list[Floats], ranks: list[int]) -> None:
        self.ends, self.back = np.unique(ranks, return_inverse=True)
        self.segment = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        self.views = views

    def sums(self, copies: Integers, codes: Integers, size: int) -> tuple[Floats, Floats]:
        group = np.repeat(codes, copies)[: len(self.segment)]
        key = group * len(self.ends) + self.segment[: len(group)]
        cells = size * len(self.ends)

        def total(view: Floats | None) -> Floats:
            by = np.bincount(key, None if view is None else view[: len(key)], minlength=cells)
            return by.reshape(size, -1).cumsum(axis=1).T[self.back].astype(np.float64)

        return total(None), np.stack([total(v) for v in self.views])


class _Averaged:
    """As :class:`_Plain`, equal scores averaged: a block that a cutoff divides counts in part."""

    def __init__(self, ranked: RankedTable, depth: int, views: list[Floats], ranks: list[int]) -> None:
        block = ranked.block[:depth]
        self.last = np.flatnonzero(np.append(block[1:] != block[:-1], True))
        self.ranks = np.asarray(ranks)
        self.totals = [np.append(0.0, np.cumsum(v)) for v in views]

    def sums(self, copies: Integers, codes: Integers, size: int) -> tuple[Floats, Floats]:
        ends = np.cumsum(copies)[self.last]
        begins = np.append(0, ends[:-1])
        below = np.append(0, ends)[np.searchsorted(ends, self.ranks, side="right")]
        upto = ends[np.minimum(np.searchsorted(ends, self.ranks, side="left"), len(ends) - 1)]
        cuts = np.unique(np.concatenate([below, upto, [0]]))
        group = np.repeat(codes, copies)[: cuts[-1]]
        key = group * len(cuts) + np.repeat(np.arange(1, len(cuts)), np.diff(cuts))
        cells = size * len(cuts)
        at, after = np.searchsorted(cuts, below), np.searchsorted(cuts, upto)
        count = np.bincount(key, minlength=cells).reshape(size, -1).cumsum(axis=1).T.astype(np.float64)
        width = np.maximum(upto - below, 1)
        share = (count[after] - count[at]) / width[:, None]
        top = count[at] + share * (self.ranks - below)[:, None]
        many = ends - begins
        seen = []
        for total in self.totals:
            limit = len(total) - 1
            # blocks that lie wholly within the deepest cutoff; of one that it divides no more than `below` is read
            mean = (total[np.minimum(ends, limit)] - total[np.minimum(begins, limit)]) / np.maximum(many, 1)
            view = np.repeat(mean, many)[: len(key)]
            by = np.bincount(key, view, minlength=cells).reshape(size, -1).cumsum(axis=1).T
            seen.append(by[at] + share * (total[self.ranks] - total[below])[:, None])
        return top, np.stack(seen)


@dataclass(frozen=True)
class _Outside:
    """Labels of the places that are not drawn one by one, by group."""

    mean: Floats
    variance: Floats
    binary: bool

    @classmethod
    def of(cls, label: Floats, codes: Integers, size: int, depth: int) -> _Outside:
        rest, group = label[depth:], codes[depth:]
        count = np.maximum(np.bincount(group, minlength=size), 1)
        mean = np.bincount(group, rest, minlength=size) / count
        variance = np.bincount(group, rest**2, minlength=size) / count - mean**2
        return cls(mean, np.maximum(variance, 0.0), bool(((rest == 0) | (rest == 1)).all()))

    def draw(self, many: Integers, rng: np.random.Generator) -> Floats:
        """Sums of so many labels a group: exact for 0 and 1, else normal, since they are many."""
        if self.binary:
            return rng.binomial(many, np.clip(self.mean, 0.0, 1.0)).astype(np.float64)
        return many * self.mean + np.sqrt(many * self.variance) * rng.standard_normal(len(many))


def resampled_queries(each: Sums, resamples: int, rng: np.random.Generator) -> Sums:
    """Sums of resamples in which whole queries are drawn; ``each`` has one row a query."""
    from lightmeter.statistics.resampling import draws

    names = [n for n in ("count", "score", "above", "over", "label") if getattr(each, n) is not None]
    top, exposure, places = list(each.top), list(each.exposure), list(each.places)
    columns = [getattr(each, n) for n in names] + [each.top[k] for k in top] + [each.exposure[e] for e in exposure]
    wide = np.concatenate([*columns, np.stack([each.places[k] for k in places], axis=1)], axis=1)
    drawn = np.concatenate([w @ wide for w in draws(len(wide), resamples, rng, wide=wide.shape[1])])
    size = each.count.shape[1]
    parts = [drawn[:, i * size : (i + 1) * size] for i in range(len(columns))]
    rest = drawn[:, len(columns) * size :]
    head, middle = len(names), len(names) + len(top)
    return Sums(
        **dict(zip(names, parts[:head], strict=True)),
        top=dict(zip(top, parts[head:middle], strict=True)),
        exposure=dict(zip(exposure, parts[middle:], strict=True)),
        places={k: rest[:, i] for i, k in enumerate(places)},
    )
