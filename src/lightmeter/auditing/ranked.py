"""The table ranked by one score: places, ties, and what each place is worth to a user."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import InputError
from lightmeter.io.tables import Source
from lightmeter.models.users import User

Ties = Literal["file", "error", "expected"]
TIES: tuple[Ties, ...] = ("file", "error", "expected")


class RankedTable:
    """Rows by falling score within each query, equal scores in the order of the table.

    Attributes
    ----------
    order
        Row of the table at each place.
    score
        Scores at each place.
    query, rank, length
        Query, 1-based rank within it, and rows of that query, at each place.
    start, end
        Ranks before and up to the end of the block a place shares its exposure with: equal scores where ties are
        averaged, else only itself.
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
        place = np.arange(len(score))
        self.rank = place - first[self.query] + 1
        self.length = self.sizes[self.query]
        new = np.append(True, (self.score[1:] != self.score[:-1]) | (self.query[1:] != self.query[:-1]))[: len(score)]
        self.block = np.cumsum(new) - 1
        begin = np.flatnonzero(new)
        size = np.diff(np.append(begin, len(score)))
        self.tied = int(size[size > 1].sum())
        self.block_size = size
        if ties == "error" and self.tied:
            at = int(begin[size > 1][0])
            rows = self.order[at : at + 2]
            raise InputError(
                f"the score {self.score[at]:g} occurs twice ({source.elsewhere(int(rows[0]), int(rows[1]))} and here)",
                column=name,
                accepted="different scores, where ties are refused; else --ties file or expected",
                **source.place(int(rows[1])),  # type: ignore[arg-type]
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

    def exposure(self, view: Floats, cutoff: int | None = None, places: Integers | None = None) -> Floats:
        """Exposure of each place (of some): the view of its rank, or its mean over the block; 0 below the cutoff.

        ``view`` is that of ranks 1 .. :attr:`longest`.
        """
        seen = view if cutoff is None else np.where(np.arange(len(view)) < cutoff, view, 0.0)
        some = slice(None) if places is None else places
        out = seen[self.rank[some] - 1]
        if self.averaged:
            total = np.append(0.0, np.cumsum(seen))
            start, end = self.start[some], self.end[some]
            shared = end - start > 1
            start, end = start[shared], end[shared]
            out[shared] = (total[end] - total[start]) / (end - start)
        return out

    def inside(self, cutoff: int, places: Integers) -> Floats:
        """How likely some places are among the first ``cutoff``: 0 or 1 but for a block that the cutoff divides."""
        start, end = self.start[places], self.end[places]
        return np.clip(cutoff - start, 0, end - start) / (end - start)

    def divided(self, cutoff: int | None) -> bool:
        """Whether the cutoff divides rows that are averaged."""
        if cutoff is None or not self.averaged:
            return False
        return bool(((self.start < cutoff) & (cutoff < self.end)).any())


def view_of(user: User, ranks: int) -> Floats:
    """What ranks 1 .. ``ranks`` are worth to a user who knows the rank only."""
    return np.asarray(user.view_at(np.arange(1.0, ranks + 1)), dtype=np.float64)
