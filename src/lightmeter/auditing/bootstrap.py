"""The bootstrap of an audit: candidates drawn again within their group and ranked anew, or queries drawn again.

A resample of one ranking is a number of copies for each position. Copies of one row stand together, so the new ranking
is the rows repeated, and a group's exposure is a sum over the ranks that its copies take. Nothing is sorted again.

Where only the first K ranks matter, only the first D positions are drawn: how many of a group's n draws fall among its
i positions of the first D is Binomial(n, i/n), and D lies eight standard deviations below K.

A long table is drawn row by row at its head and in blocks below. Far down a list one rank is worth as much as the next,
so it does not matter which of a block's rows is drawn, only how many of each group are. What is left of the difference,
a constant, is corrected: a resample is moved by what the same sums of the table itself miss. A resample costs as much
for a million rows as for thirty thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranking import GroupRanking, GroupSums, RankedTable, Scope, group_sums, view_of
from lightmeter.statistics.resampling import draws

#: rows drawn for one attribute and score; where it does not suffice the whole list gets fewer resamples
BUDGET = 60_000_000
FEWEST = 100
#: fewer queries than this say nothing about others
FEWEST_QUERIES = 10
#: deviations by which a cutoff stays within what is drawn: it fails once in 1e14 resamples
SAFE = 8.0
#: of a long table: rows drawn one by one at least and at most
LEAST_HEAD, MOST_HEAD = 2048, 20_000
#: of a long table: cells of blocks and groups below its head
BLOCK_CELLS = 2000
#: called after each resample
Progress = Callable[[], None]


@dataclass(frozen=True)
class Replicates:
    """Resampled sums: those at the cutoffs may be more than those of the whole list; None where there are none."""

    top: GroupSums | None
    whole: GroupSums | None


def resample(
    ranking: GroupRanking,
    scope: Scope,
    curve_scope: Scope,
    table: GroupSums,
    resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Replicates:
    """Resamples of the table, within what is affordable.

    Parameters
    ----------
    ranking
        The table with its groups and labels.
    scope, curve_scope
        What is added up, without and with the cutoffs of the curve.
    table
        The sums of the table itself, in the scope of the curve.
    """
    if not resamples:
        return Replicates(None, None)
    ranked = ranking.ranked
    if len(ranked.sizes) > 1:
        each = group_sums(ranking, curve_scope, by_query=True)
        sums = resample_queries(each, resamples, rng)
        return Replicates(sums, sums)
    n = len(ranked)
    if n * resamples > BUDGET and n > LEAST_HEAD and not ranked.averaged:
        sums = resample_blocks(ranking, curve_scope, table, resamples, rng, progress=progress)
        return Replicates(sums, sums)
    fewer = max(min(resamples, BUDGET // n), min(resamples, FEWEST))
    whole = resample_rows(ranking, curve_scope, fewer, rng, progress=progress)
    if fewer == resamples or len(scope.cutoffs) < 2:
        return Replicates(whole, whole)
    depth = depth_for(ranked, max(k for k in scope.cutoffs if k is not None))
    affordable = max(min(resamples, BUDGET // depth), fewer)
    if depth >= n or affordable == fewer:
        return Replicates(whole, whole)
    top_scope = replace(scope, cutoffs=tuple(k for k in scope.cutoffs if k is not None))
    top = resample_rows(ranking, top_scope, affordable, rng, depth=depth, progress=progress)
    return Replicates(top, whole)


def resample_queries(each: GroupSums, resamples: int, rng: np.random.Generator) -> GroupSums:
    """Sums of resamples in which whole queries are drawn; ``each`` has one row per query."""
    names = [n for n in ("count", "score", "above", "over", "label") if getattr(each, n) is not None]
    top, exposure, selected = list(each.top), list(each.exposure), list(each.selected)
    columns = [getattr(each, n) for n in names] + [each.top[k] for k in top] + [each.exposure[e] for e in exposure]
    wide = np.concatenate([*columns, np.stack([each.selected[k] for k in selected], axis=1)], axis=1)
    drawn = np.concatenate([w @ wide for w in draws(len(wide), resamples, rng, wide=wide.shape[1])])
    size = each.count.shape[1]
    parts = [drawn[:, i * size : (i + 1) * size] for i in range(len(columns))]
    rest = drawn[:, len(columns) * size :]
    head, middle = len(names), len(names) + len(top)
    return GroupSums(
        **dict(zip(names, parts[:head], strict=True)),
        top=dict(zip(top, parts[head:middle], strict=True)),
        exposure=dict(zip(exposure, parts[middle:], strict=True)),
        selected={k: rest[:, i] for i, k in enumerate(selected)},
    )


@dataclass(frozen=True)
class Strata:
    """The first ``depth`` positions by group (the unknown are a group too).

    Attributes
    ----------
    positions
        Positions, those of one group together.
    first, inside, size
        By group: where its positions begin, how many they are, and how many members it has in the whole table.
    whole
        Every resample has all members of each group; else as many as chance puts within the depth.
    """

    positions: Integers
    first: Integers
    inside: Integers
    size: Integers
    depth: int
    whole: bool

    @classmethod
    def of(cls, codes: Integers, groups: int, depth: int) -> Strata:
        head = codes[:depth]
        inside = np.bincount(head, minlength=groups + 1)
        size = np.bincount(codes, minlength=groups + 1)
        positions, first = np.argsort(head, kind="stable"), np.cumsum(inside) - inside
        return cls(positions, first, inside, size, depth, depth == len(codes))

    def copies(self, rng: np.random.Generator) -> Integers:
        """How often each position is drawn in one resample; drawn in proportion to what lies within the depth."""
        number = self.size if self.whole else rng.binomial(self.size, self.inside / np.maximum(self.size, 1))
        group = np.repeat(np.arange(len(number)), number)
        drawn = (rng.random(len(group)) * self.inside[group]).astype(np.int64) + self.first[group]
        out: Integers = np.bincount(self.positions[drawn], minlength=self.depth)
        return out


class _Sums:
    """Arrays that resampled sums are written into; the first axis is that of the resamples, of ``seen`` the second."""

    def __init__(self, scope: Scope, ranks: list[int], resamples: int, size: int) -> None:
        self.scope, self.ranks, self.resamples = scope, ranks, resamples
        self.top = np.empty((resamples, len(ranks), size))
        self.seen = np.empty((len(scope.users), resamples, len(ranks), size))
        self.score, self.above, self.over, self.label = (np.empty((resamples, size)) for _ in range(4))

    def correct(self, exact: GroupSums, approximate: _Sums) -> None:
        """Move all resamples by what the table's own sums lose in the approximation."""
        keys, users = self.scope.cutoffs, self.scope.users
        top = np.stack([exact.top[k] for k in keys], axis=1)
        seen = np.stack([np.stack([exact.exposure[u, k] for k in keys], axis=1) for u in users])
        self.top = np.maximum(self.top + (top - approximate.top), 0.0)
        self.seen = np.maximum(self.seen + (seen - approximate.seen), 0.0)
        for name in ("score", "above", "over", "label"):
            if getattr(exact, name) is not None:
                moved = getattr(self, name) + (getattr(exact, name) - getattr(approximate, name))
                setattr(self, name, moved)

    def group_sums(self, count: Integers, *, whole: bool, label: bool) -> GroupSums:
        """The sums; without those of the whole list, where it was not drawn."""
        scope = self.scope
        return GroupSums(
            count=np.broadcast_to(count.astype(np.float64), (self.resamples, len(count))),
            top={k: self.top[:, i] for i, k in enumerate(scope.cutoffs)},
            selected={k: np.full(self.resamples, float(self.ranks[i])) for i, k in enumerate(scope.cutoffs)},
            exposure={
                (u, k): self.seen[j, :, i] for j, u in enumerate(scope.users) for i, k in enumerate(scope.cutoffs)
            },
            score=self.score if whole else None,
            above=self.above if whole else None,
            over=self.over if whole and scope.threshold is not None else None,
            label=self.label if label else None,
        )


def _ranks(ranked: RankedTable, scope: Scope) -> list[int]:
    """The ranks of the cutoffs, the whole list by its length."""
    return [len(ranked) if k is None else min(k, len(ranked)) for k in scope.cutoffs]


def depth_for(ranked: RankedTable, cutoff: int) -> int:
    """How many positions have to be drawn so that a resample has its first ``cutoff`` ranks."""
    n = len(ranked)
    depth = min(n, int(np.ceil((SAFE + np.sqrt(SAFE**2 + 4 * cutoff)) ** 2 / 4)) + 1)
    if ranked.averaged and depth < n:
        last = int(ranked.block[depth - 1])
        depth = int(np.searchsorted(ranked.block, last, side="right"))
    return depth


def resample_rows(
    ranking: GroupRanking,
    scope: Scope,
    resamples: int,
    rng: np.random.Generator,
    *,
    depth: int | None = None,
    progress: Progress | None = None,
) -> GroupSums:
    """Sums of resamples of one ranking, drawn row by row.

    Parameters
    ----------
    ranking, scope
        The table, and what is added up.
    resamples
        How many.
    depth
        Draw the first so many positions only; then whatever needs the whole list is None.
    """
    ranked, codes, label = ranking.ranked, ranking.codes, ranking.label
    whole = depth is None or depth >= len(ranked)
    strata = Strata.of(codes, ranking.groups, len(ranked) if whole or depth is None else depth)
    ranks, size, n = _ranks(ranked, scope), ranking.groups + 1, strata.depth
    head, score = codes[:n], ranked.score[:n]
    falling = -score
    views = [view_of(u, max(ranks)) for u in scope.users]
    segments = _TiedSegments(ranked, n, views, ranks) if ranked.averaged else _Segments(views, ranks)
    outside = None if label is None else _OutsideLabels.of(label, codes, size, n)
    out = _Sums(scope, ranks, resamples, size)
    for r in range(resamples):
        copies = strata.copies(rng)
        out.top[r], out.seen[:, r] = segments.sums(copies, head, size)
        if whole:
            out.score[r] = np.bincount(head, copies * score, minlength=size)
            rows = np.cumsum(copies)
            middle = np.searchsorted(rows, [(rows[-1] - 1) // 2, rows[-1] // 2], side="right")
            above = int(np.searchsorted(falling, falling[middle].mean(), side="left"))
            out.above[r] = np.bincount(head[:above], copies[:above], minlength=size)
            if scope.threshold is not None:
                over = int(np.searchsorted(falling, -scope.threshold, side="right"))
                out.over[r] = np.bincount(head[:over], copies[:over], minlength=size)
        if label is not None and outside is not None:
            out.label[r] = np.bincount(head, copies * label[:n], minlength=size)
            if not whole:
                inside = np.bincount(head, copies, minlength=size).astype(np.int64)
                out.label[r] += outside.draw(strata.size - inside, rng)
        if progress is not None:
            progress()
    return out.group_sums(strata.size, whole=whole, label=label is not None)


class _Segments:
    """Ranks in segments that end at the cutoffs: a group's sums are those of the segments so far."""

    def __init__(self, views: list[Floats], ranks: list[int]) -> None:
        self.ends, self.back = np.unique(ranks, return_inverse=True)
        self.segment = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        self.views = views

    def sums(self, copies: Integers, codes: Integers, size: int) -> tuple[Floats, Floats]:
        """Rows ``[cutoffs, groups]`` and exposure ``[users, cutoffs, groups]`` of a resample."""
        group = np.repeat(codes, copies)[: len(self.segment)]
        key = group * len(self.ends) + self.segment[: len(group)]
        cells = size * len(self.ends)

        def total(view: Floats | None) -> Floats:
            by_end = np.bincount(key, None if view is None else view[: len(key)], minlength=cells)
            return by_end.reshape(size, -1).cumsum(axis=1).T[self.back].astype(np.float64)

        return total(None), np.stack([total(v) for v in self.views])


class _TiedSegments:
    """As :class:`_Segments`, equal scores averaged: a block that a cutoff divides counts in part."""

    def __init__(self, ranked: RankedTable, depth: int, views: list[Floats], ranks: list[int]) -> None:
        block = ranked.block[:depth]
        self.last = np.flatnonzero(np.append(block[1:] != block[:-1], True))
        self.ranks = np.asarray(ranks)
        self.totals = [np.append(0.0, np.cumsum(v)) for v in views]

    def sums(self, copies: Integers, codes: Integers, size: int) -> tuple[Floats, Floats]:
        """Rows ``[cutoffs, groups]`` and exposure ``[users, cutoffs, groups]`` of a resample."""
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
        rows = ends - begins
        seen = []
        for total in self.totals:
            limit = len(total) - 1
            # blocks that lie wholly within the deepest cutoff; of one that it divides no more than `below` is read
            mean = (total[np.minimum(ends, limit)] - total[np.minimum(begins, limit)]) / np.maximum(rows, 1)
            view = np.repeat(mean, rows)[: len(key)]
            by_cut = np.bincount(key, view, minlength=cells).reshape(size, -1).cumsum(axis=1).T
            seen.append(by_cut[at] + share * (total[self.ranks] - total[below])[:, None])
        return top, np.stack(seen)


@dataclass(frozen=True)
class _OutsideLabels:
    """Labels of the positions that are not drawn one by one, by group."""

    mean: Floats
    variance: Floats
    binary: bool

    @classmethod
    def of(cls, label: Floats, codes: Integers, size: int, depth: int) -> _OutsideLabels:
        rest, group = label[depth:], codes[depth:]
        count = np.maximum(np.bincount(group, minlength=size), 1)
        mean = np.bincount(group, rest, minlength=size) / count
        variance = np.bincount(group, rest**2, minlength=size) / count - mean**2
        return cls(mean, np.maximum(variance, 0.0), bool(((rest == 0) | (rest == 1)).all()))

    def draw(self, number: Integers, rng: np.random.Generator) -> Floats:
        """Sums of that many labels of each group: exact for 0 and 1, else normal, since they are many."""
        if self.binary:
            return rng.binomial(number, np.clip(self.mean, 0.0, 1.0)).astype(np.float64)
        return number * self.mean + np.sqrt(number * self.variance) * rng.standard_normal(len(number))


def resample_blocks(
    ranking: GroupRanking,
    scope: Scope,
    table: GroupSums,
    resamples: int,
    rng: np.random.Generator,
    *,
    progress: Progress | None = None,
) -> GroupSums:
    """Sums of resamples of one long ranking without averaged ties; ``table`` are those of the table as it is."""
    blocks = _Blocks(ranking, scope)
    out = _Sums(scope, blocks.ranks, resamples, blocks.size)
    for r in range(resamples):
        blocks.add(blocks.draw(rng), out, r)
        if progress is not None:
            progress()
    itself = _Sums(scope, blocks.ranks, 1, blocks.size)
    blocks.add(_BlockDraw(np.ones(blocks.depth, dtype=np.int64), blocks.counts, None), itself, 0)
    out.correct(table, itself)
    return out.group_sums(blocks.strata.size, whole=True, label=ranking.label is not None)


@dataclass(frozen=True)
class _BlockDraw:
    """A resample of a long table: copies of each position of the head, rows of each group and block, label noise."""

    copies: Integers
    rows: Integers
    noise: Floats | None


class _Blocks:
    """A long ranking as head and blocks."""

    def __init__(self, ranking: GroupRanking, scope: Scope) -> None:
        ranked, codes, label = ranking.ranked, ranking.codes, ranking.label
        n, size = len(ranked), ranking.groups + 1
        shallow = [depth_for(ranked, k) for k in scope.cutoffs if k is not None and k <= MOST_HEAD]
        self.depth = depth = min(n, max([LEAST_HEAD, *(d for d in shallow if d <= MOST_HEAD)]))
        self.n, self.size, self.ranked = n, size, ranked
        self.ranks = _ranks(ranked, scope)
        self.strata = replace(Strata.of(codes, ranking.groups, depth), whole=False)
        self.head = codes[:depth]
        self.views = [view_of(u, n) for u in scope.users]
        self.totals = [np.append(0.0, np.cumsum(v)) for v in self.views]
        # short blocks where attention still falls, and none that is much of the table
        blocks = int(np.clip(BLOCK_CELLS // size, 40, 200))
        spread = [np.geomspace(depth, n, blocks + 1), np.linspace(depth, n, blocks + 1)]
        self.edges = edges = np.unique(np.concatenate(spread).round().astype(np.int64))
        block = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        key = codes[depth:] * max(len(edges) - 1, 1) + block
        shape = (size, len(edges) - 1)
        self.counts = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
        rest = np.maximum(self.strata.size - self.strata.inside, 1)
        self.chance = self.counts / rest[:, None]

        def mean(amount: Floats) -> Floats:
            total = np.bincount(key, amount[depth:], minlength=shape[0] * shape[1]).reshape(shape)
            return total / np.maximum(self.counts, 1)

        self.score = mean(ranked.score)
        self.label, self.falling = label, -ranked.score
        if label is not None:
            self.merit = mean(label)
            self.variance = np.maximum(mean(label**2) - self.merit**2, 0.0)
        self.over = None
        if scope.threshold is not None:
            self.over = int(np.searchsorted(self.falling, -scope.threshold, side="right"))

    def draw(self, rng: np.random.Generator) -> _BlockDraw:
        """One resample."""
        copies = self.strata.copies(rng)
        below = self.strata.size - np.bincount(self.head, copies, minlength=self.size).astype(np.int64)
        rows = np.stack(
            [
                rng.multinomial(m, p) if m else np.zeros(len(p), dtype=np.int64)
                for m, p in zip(below, self.chance, strict=True)
            ]
        )
        noise = None
        if self.label is not None:
            noise = np.sqrt((rows * self.variance).sum(axis=1)) * rng.standard_normal(self.size)
        return _BlockDraw(copies, rows, noise)

    def add(self, drawn: _BlockDraw, out: _Sums, r: int) -> None:
        """Write the sums of a resample into row ``r``."""
        copies, rows, ranks = drawn.copies, drawn.rows, np.asarray(self.ranks)
        group = np.repeat(self.head, copies)
        inner = len(group)
        ends = np.unique(np.minimum(ranks, inner))
        segment = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        key = group[: len(segment)] * len(ends) + segment
        at = np.searchsorted(ends, np.minimum(ranks, inner))
        block_ends = inner + np.append(0, np.cumsum(rows.sum(axis=0)))
        below = np.clip(np.searchsorted(block_ends, ranks, side="right") - 1, 0, max(rows.shape[1] - 1, 0))
        deep = ranks > inner
        start, width = block_ends[below], np.maximum(np.diff(block_ends)[below] if rows.shape[1] else 1, 1)
        before = np.concatenate([np.zeros((self.size, 1)), np.cumsum(rows, axis=1)], axis=1)
        share = (rows[:, below] / width) if rows.shape[1] else np.zeros((self.size, len(below)))

        def head(weight: Floats | None) -> Floats:
            by_end = np.bincount(key, weight, minlength=self.size * len(ends)).reshape(self.size, -1)
            return by_end.cumsum(axis=1)[:, at].astype(np.float64)

        tail = before[:, below] + share * (ranks - start)
        out.top[r] = (head(None) + np.where(deep, tail, 0.0)).T
        of_block = rows / np.maximum(np.diff(block_ends), 1)
        for j, (view, total) in enumerate(zip(self.views, self.totals, strict=True)):
            worth = np.concatenate(
                [np.zeros((self.size, 1)), np.cumsum(of_block * np.diff(total[block_ends]), axis=1)], axis=1
            )
            tail = worth[:, below] + share * (total[ranks] - total[np.minimum(start, self.n)])
            out.seen[j, r] = (head(view[: len(key)]) + np.where(deep, tail, 0.0)).T
        in_head = np.bincount(self.head, copies * self.ranked.score[: self.depth], minlength=self.size)
        out.score[r] = in_head + (rows * self.score).sum(axis=1)
        out.above[r] = self._rows_above(self._median_position(copies, block_ends), copies, before)
        if self.over is not None:
            out.over[r] = self._rows_above(self.over, copies, before)
        if self.label is not None:
            out.label[r] = np.bincount(self.head, copies * self.label[: self.depth], minlength=self.size)
            out.label[r] += (rows * self.merit).sum(axis=1) + (0.0 if drawn.noise is None else drawn.noise)

    def _median_position(self, copies: Integers, block_ends: Integers) -> int:
        """How many positions of the table lie above the median of a resample: those of equal scores do not."""
        middle = block_ends[-1] // 2
        if middle < block_ends[0]:
            position = int(np.searchsorted(np.cumsum(copies), middle, side="right"))
        else:
            b = int(np.searchsorted(block_ends, middle, side="right")) - 1
            part = (middle - block_ends[b]) / max(block_ends[b + 1] - block_ends[b], 1)
            position = int(self.edges[b] + part * (self.edges[b + 1] - self.edges[b]))
        position = min(position, self.n - 1)
        if self.ranked.block_size[self.ranked.block[position]] == 1:
            return position
        return int(np.searchsorted(self.falling, self.falling[position], side="left"))

    def _rows_above(self, position: int, copies: Integers, before: Floats) -> Floats:
        """Copies of the first positions of the table, by group."""
        if position <= self.depth:
            return np.bincount(self.head[:position], copies[:position], minlength=self.size).astype(np.float64)
        b = min(int(np.searchsorted(self.edges, position, side="right")) - 1, len(self.edges) - 2)
        part = (position - self.edges[b]) / (self.edges[b + 1] - self.edges[b])
        inner = np.bincount(self.head, copies, minlength=self.size)
        return inner + before[:, b] + part * (before[:, b + 1] - before[:, b])
