"""All sums by group that figures are made of, once for the table as it is or once for each resample of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lightmeter.auditing.ranked import RankedTable, view_of
from lightmeter.users import User

Array = NDArray[np.float64]
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

    count: Array
    top: dict[Cutoff, Array] = field(default_factory=dict)
    places: dict[Cutoff, Array] = field(default_factory=dict)
    exposure: dict[tuple[User, Cutoff], Array] = field(default_factory=dict)
    score: Array | None = None
    above: Array | None = None
    over: Array | None = None
    label: Array | None = None

    def groups(self, which: slice) -> Sums:
        """Some of the groups."""
        parts = {
            name: None if (value := getattr(self, name)) is None else value[:, which]
            for name in ("count", "score", "above", "over", "label")
        }
        top = {k: v[:, which] for k, v in self.top.items()}
        return replace(self, top=top, exposure={k: v[:, which] for k, v in self.exposure.items()}, **parts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Asked:
    """What is to be summed: users, cutoffs (None: the whole list), a threshold."""

    users: tuple[User, ...]
    cutoffs: tuple[Cutoff, ...]
    threshold: float | None = None


def observed(ranked: RankedTable, codes: NDArray[np.int64], groups: int, label: Array | None, asked: Asked) -> Sums:
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


def by_query(ranked: RankedTable, codes: NDArray[np.int64], groups: int, label: Array | None, asked: Asked) -> Sums:
    """The sums of each query, one row a query."""
    return by_key(ranked, codes, groups, ranked.query, len(ranked.sizes), label, asked)


def by_key(
    ranked: RankedTable,
    codes: NDArray[np.int64],
    groups: int,
    row: NDArray[np.int64],
    rows: int,
    label: Array | None,
    asked: Asked,
) -> Sums:
    """Sums by a key and group."""
    key = row * (groups + 1) + codes

    def total(what: Array | None) -> Array:
        return np.bincount(key, what, minlength=rows * (groups + 1)).reshape(rows, groups + 1).astype(np.float64)

    views = {user: view_of(user, ranked.longest) for user in asked.users}
    inside = {k: ranked.inside(k) for k in asked.cutoffs}
    median = float(np.median(ranked.score))
    return Sums(
        count=total(None),
        top={k: total(inside[k]) for k in asked.cutoffs},
        places={k: np.bincount(row, inside[k], minlength=rows) for k in asked.cutoffs},
        exposure={(u, k): total(ranked.exposure(views[u], k)) for u in asked.users for k in asked.cutoffs},
        score=total(ranked.score),
        above=total((ranked.score > median).astype(np.float64)),
        over=None if asked.threshold is None else total((ranked.score >= asked.threshold).astype(np.float64)),
        label=None if label is None else total(label),
    )
