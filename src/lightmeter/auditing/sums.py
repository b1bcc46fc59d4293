"""All sums by group that figures are made of, once for the table as it is or once for each resample of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranked import RankedTable, view_of
from lightmeter.models.users import User

Cutoff = int | None


@dataclass(frozen=True)
class Sums:
    """Sums by group, ``[resamples, groups + 1]``; the last column is for rows whose group is unknown.

    Attributes
    ----------
    count
        Rows.
    top
        By cutoff: rows among the first of their query, None for the whole list.
    places
        By cutoff: how many rows are among the first in all, ``[resamples]``.
    exposure
        By user and cutoff.
    score, above, over, label
        Sum of scores, rows above the median score, rows at or above the threshold, sum of labels; None where they are
        not known.
    """

    count: Floats
    top: dict[Cutoff, Floats] = field(default_factory=dict)
    places: dict[Cutoff, Floats] = field(default_factory=dict)
    exposure: dict[tuple[User, Cutoff], Floats] = field(default_factory=dict)
    score: Floats | None = None
    above: Floats | None = None
    over: Floats | None = None
    label: Floats | None = None

    def at(self, cutoffs: Iterable[Cutoff]) -> Sums:
        """The sums at some of the cutoffs."""
        some = [k for k in cutoffs if k in self.top]
        return replace(self, top={k: self.top[k] for k in some}, places={k: self.places[k] for k in some})


@dataclass(frozen=True)
class Asked:
    """What is to be summed: users, cutoffs (None: the whole list), a threshold."""

    users: tuple[User, ...]
    cutoffs: tuple[Cutoff, ...]
    threshold: float | None = None


def observed(ranked: RankedTable, codes: Integers, groups: int, label: Floats | None, asked: Asked) -> Sums:
    """The sums of the table as it is.

    Parameters
    ----------
    ranked
        The rows in rank order.
    codes
        Group of each place, ``groups`` where unknown.
    label
        Label of each place.
    """
    return by_key(ranked, codes, groups, np.zeros(len(ranked), dtype=np.int64), 1, label, asked)


def by_query(ranked: RankedTable, codes: Integers, groups: int, label: Floats | None, asked: Asked) -> Sums:
    """The sums of each query, one row a query."""
    return by_key(ranked, codes, groups, ranked.query, len(ranked.sizes), label, asked)


def by_key(
    ranked: RankedTable,
    codes: Integers,
    groups: int,
    row: Integers,
    rows: int,
    label: Floats | None,
    asked: Asked,
) -> Sums:
    """Sums by a key and group."""
    key = row * (groups + 1) + codes
    cells = rows * (groups + 1)

    def total(what: Floats | None) -> Floats:
        return np.bincount(key, what, minlength=cells).reshape(rows, groups + 1).astype(np.float64)

    median = float(np.median(ranked.score))
    prefixes = _Prefixes(ranked, key, cells, asked.cutoffs)
    top = prefixes.sums(None)
    exposure: dict[tuple[User, Cutoff], Floats] = {}
    for user in asked.users:
        of_user = prefixes.sums(view_of(user, ranked.longest))
        exposure |= {(user, k): v.reshape(rows, groups + 1) for k, v in of_user.items()}
    return Sums(
        count=total(None),
        top={k: v.reshape(rows, groups + 1) for k, v in top.items()},
        places={k: v.reshape(rows, groups + 1).sum(axis=1) for k, v in top.items()},
        exposure=exposure,
        score=total(ranked.score),
        above=total((ranked.score > median).astype(np.float64)),
        over=None if asked.threshold is None else total((ranked.score >= asked.threshold).astype(np.float64)),
        label=None if label is None else total(label),
    )


class _Prefixes:
    """Sums over the first k places for many k in one pass: each place counts from the first cutoff that holds it."""

    def __init__(self, ranked: RankedTable, key: Integers, cells: int, cutoffs: tuple[Cutoff, ...]) -> None:
        self.ranked, self.key, self.cells, self.cutoffs = ranked, key, cells, cutoffs
        ranks = np.array([ranked.longest if k is None else k for k in cutoffs])
        self.ends, self.back = np.unique(ranks, return_inverse=True)
        segment = np.searchsorted(self.ends, ranked.end)
        self.whole = segment < len(self.ends)
        self.at = (key * len(self.ends) + segment)[self.whole]

    def sums(self, view: Floats | None) -> dict[Cutoff, Floats]:
        """By cutoff, one number a cell: of the view, or of the places themselves."""
        worth = None if view is None else self.ranked.exposure(view)[self.whole]
        by = np.bincount(self.at, worth, minlength=self.cells * len(self.ends)).reshape(self.cells, -1)
        total = by.cumsum(axis=1).astype(np.float64)[:, self.back]
        out = {}
        for i, k in enumerate(self.cutoffs):
            out[k] = total[:, i]
            if k is not None and self.ranked.averaged:
                cut = np.flatnonzero((self.ranked.start < k) & (k < self.ranked.end))
                part = self.ranked.inside(k, cut) if view is None else self.ranked.exposure(view, k, cut)
                out[k] = out[k] + np.bincount(self.key[cut], part, minlength=self.cells)
        return out
