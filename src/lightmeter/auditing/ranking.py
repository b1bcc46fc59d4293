"""The table ranked by a score: ranks, ties, and what each group gets of the first k.

Tied rows share what their ranks get: exposure is the mean over their block, and a row of a block that a cutoff divides
is among the first k in part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import InputError
from lightmeter.io.tables import Source
from lightmeter.measures.group_sums import shares
from lightmeter.models.users import User

Ties = Literal["file", "error", "expected"]
TIES: tuple[Ties, ...] = ("file", "error", "expected")
#: None is the whole list
Cutoff = int | None


class RankedTable:
    """Rows by falling score within each query, equal scores in the order of the table.

    The positions of all queries stand one after the other, ``0 .. len - 1``.

    Attributes
    ----------
    order
        Row of the table at each position.
    score
        Scores at each position.
    query, rank, length
        Query, 1-based rank within it, and rows of that query, at each position.
    start, end
        Ranks before and up to the end of the block a position shares its exposure with: equal scores where ties are
        averaged, else only itself.
    block, block_size
        The number of the block of equal scores at each position, and the rows of each block.
    tied
        Rows that share their score with another of the same query.
    """

    def __init__(self, score: Floats, query: Integers, ties: Ties, *, name: str, source: Source) -> None:
        self.ties = ties
        self.order = np.argsort(-score, kind="stable")
        if len(query) and query.max() > 0:
            self.order = self.order[np.argsort(query[self.order], kind="stable")]
        self.score, self.query = score[self.order], query[self.order]
        self.sizes = np.bincount(self.query)
        first = np.cumsum(self.sizes) - self.sizes
        self.rank = np.arange(len(score)) - first[self.query] + 1
        self.length = self.sizes[self.query]
        new = np.append(True, (self.score[1:] != self.score[:-1]) | (self.query[1:] != self.query[:-1]))[: len(score)]
        self.block = np.cumsum(new) - 1
        begin = np.flatnonzero(new)
        self.block_size = size = np.diff(np.append(begin, len(score)))
        self.tied = int(size[size > 1].sum())
        if ties == "error" and self.tied:
            first_tie = int(begin[size > 1][0])
            row, again = (int(r) for r in self.order[first_tie : first_tie + 2])
            raise InputError(
                f"the score {self.score[first_tie]:g} occurs twice ({source.elsewhere(row, again)} and here)",
                column=name,
                accepted="different scores, where ties are refused; else --ties file or expected",
                **source.place(again),  # type: ignore[arg-type]
            )
        if ties == "expected":
            self.start = (self.rank[begin] - 1)[self.block]
            self.end = self.start + size[self.block]
        else:
            self.start, self.end = self.rank - 1, self.rank

    def __len__(self) -> int:
        return len(self.order)

    @property
    def longest(self) -> int:
        """Rows of the longest query."""
        return int(self.sizes.max(initial=0))

    @property
    def averaged(self) -> bool:
        """Whether some exposure is shared between rows of equal score."""
        return self.ties == "expected" and self.tied > 0

    def exposure(self, view: Floats, cutoff: int | None = None, positions: Integers | None = None) -> Floats:
        """Exposure at each position (or at some): the view of its rank, or its mean over the block; 0 below the cutoff.

        ``view`` is that of ranks 1 .. :attr:`longest`.
        """
        seen = view if cutoff is None else np.where(np.arange(len(view)) < cutoff, view, 0.0)
        chosen = slice(None) if positions is None else positions
        out = seen[self.rank[chosen] - 1]
        if self.averaged:
            total = np.append(0.0, np.cumsum(seen))
            start, end = self.start[chosen], self.end[chosen]
            shared = end - start > 1
            start, end = start[shared], end[shared]
            out[shared] = (total[end] - total[start]) / (end - start)
        return out

    def inside(self, cutoff: int, positions: Integers) -> Floats:
        """How likely some positions are among the first ``cutoff``: 0 or 1 but for a block that the cutoff divides."""
        start, end = self.start[positions], self.end[positions]
        return np.clip(cutoff - start, 0, end - start) / (end - start)

    def divided(self, cutoff: Cutoff) -> bool:
        """Whether the cutoff divides rows that are averaged."""
        if cutoff is None or not self.averaged:
            return False
        return bool(((self.start < cutoff) & (cutoff < self.end)).any())

    def averaged_above(self, cutoff: Cutoff) -> bool:
        """Whether rows that are averaged stand among the first: measures of whole prefixes have no average."""
        inside = self.rank <= (cutoff or self.longest)
        return self.averaged and bool((self.block_size[self.block[inside]] > 1).any())


def view_of(user: User, ranks: int) -> Floats:
    """What ranks 1 .. ``ranks`` are worth to a user who knows the rank only."""
    return np.asarray(user.view_at(np.arange(1.0, ranks + 1)), dtype=np.float64)


@dataclass(frozen=True)
class GroupRanking:
    """A ranked table with the group and the label at each position.

    Attributes
    ----------
    ranked
        The rows in rank order.
    codes
        Group at each position, ``groups`` where unknown.
    groups
        The number of groups.
    label
        Label at each position, or None.
    """

    ranked: RankedTable
    codes: Integers
    groups: int
    label: Floats | None = None

    def shares_by_query(self) -> Floats:
        """Shares of the groups in each query, among the rows whose group is known, ``[queries, groups]``."""
        queries, size = len(self.ranked.sizes), self.groups + 1
        counts = np.bincount(self.ranked.query * size + self.codes, minlength=queries * size)
        return shares(counts.reshape(queries, size)[:, :-1].astype(np.float64))


@dataclass(frozen=True)
class Scope:
    """What is added up: exposure under these users, at these cutoffs, and the rows from a threshold up."""

    users: tuple[User, ...]
    cutoffs: tuple[Cutoff, ...]
    threshold: float | None = None


@dataclass(frozen=True)
class GroupSums:
    """Sums by group, ``[resamples, groups + 1]``; the last column is for rows whose group is unknown.

    Attributes
    ----------
    count
        Rows.
    top
        By cutoff: rows among the first of their query, None for the whole list.
    selected
        By cutoff: rows among the first in all, ``[resamples]``.
    exposure
        By user and cutoff.
    score, above, over, label
        Sum of scores, rows above the median score, rows at or above the threshold, sum of labels; None where they are
        not known.
    """

    count: Floats
    top: dict[Cutoff, Floats] = field(default_factory=dict)
    selected: dict[Cutoff, Floats] = field(default_factory=dict)
    exposure: dict[tuple[User, Cutoff], Floats] = field(default_factory=dict)
    score: Floats | None = None
    above: Floats | None = None
    over: Floats | None = None
    label: Floats | None = None

    def at(self, cutoffs: Iterable[Cutoff]) -> GroupSums:
        """The sums at some of the cutoffs."""
        known = [k for k in cutoffs if k in self.top]
        return replace(self, top={k: self.top[k] for k in known}, selected={k: self.selected[k] for k in known})


def group_sums(ranking: GroupRanking, scope: Scope, *, by_query: bool = False) -> GroupSums:
    """The sums of the table as it is, one row; or one row per query."""
    ranked, label, size = ranking.ranked, ranking.label, ranking.groups + 1
    rows = len(ranked.sizes) if by_query else 1
    key = ranking.codes + (ranked.query * size if by_query else 0)
    cells = rows * size

    def table(flat: Floats) -> Floats:
        return flat.reshape(rows, size)

    def total(amount: Floats | None) -> Floats:
        return table(np.bincount(key, amount, minlength=cells).astype(np.float64))

    prefixes = _Prefixes(ranked, key, cells, scope.cutoffs)
    top = {k: table(v) for k, v in prefixes.sums(None).items()}
    exposure: dict[tuple[User, Cutoff], Floats] = {}
    for user in scope.users:
        exposure |= {(user, k): table(v) for k, v in prefixes.sums(view_of(user, ranked.longest)).items()}
    return GroupSums(
        count=total(None),
        top=top,
        selected={k: v.sum(axis=1) for k, v in top.items()},
        exposure=exposure,
        score=total(ranked.score),
        above=total((ranked.score > float(np.median(ranked.score))).astype(np.float64)),
        over=None if scope.threshold is None else total((ranked.score >= scope.threshold).astype(np.float64)),
        label=None if label is None else total(label),
    )


class _Prefixes:
    """Sums over the first k ranks for many k in one pass: a position counts from the first cutoff that holds it."""

    def __init__(self, ranked: RankedTable, key: Integers, cells: int, cutoffs: tuple[Cutoff, ...]) -> None:
        self.ranked, self.key, self.cells, self.cutoffs = ranked, key, cells, cutoffs
        ranks = np.array([ranked.longest if k is None else k for k in cutoffs])
        self.ends, self.back = np.unique(ranks, return_inverse=True)
        segment = np.searchsorted(self.ends, ranked.end)
        self.whole = segment < len(self.ends)
        self.cell = (key * len(self.ends) + segment)[self.whole]

    def sums(self, view: Floats | None) -> dict[Cutoff, Floats]:
        """By cutoff, one number per cell: of the view, or of the rows themselves."""
        worth = None if view is None else self.ranked.exposure(view)[self.whole]
        by_end = np.bincount(self.cell, worth, minlength=self.cells * len(self.ends)).reshape(self.cells, -1)
        total = by_end.cumsum(axis=1).astype(np.float64)[:, self.back]
        out = {}
        for i, k in enumerate(self.cutoffs):
            out[k] = total[:, i]
            if k is not None and self.ranked.averaged:
                cut = np.flatnonzero((self.ranked.start < k) & (k < self.ranked.end))
                part = self.ranked.inside(k, cut) if view is None else self.ranked.exposure(view, k, cut)
                out[k] = out[k] + np.bincount(self.key[cut], part, minlength=self.cells)
        return out
