"""One list of documents per group, from which rankings are filled rank by rank, and the groups that fall short.

A group's list holds its documents in the order of the ranking given, so a higher score means a higher position, and
ties have been settled by the call's rule. Rankings of a block are filled side by side, one step per rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.measures.group_targets import distribution
from lightmeter.reranking.base import none_of

if TYPE_CHECKING:
    from lightmeter.data.membership import Columns
    from lightmeter.measures.block import Block
    from lightmeter.models.targets import Target

#: chooses a group for every ranking, given the rank (from 1), how many of each group are ranked ``[rankings, slots]``,
#: and the position of the next document of each ``[rankings, slots]``, the number of ranks where there is none
Chooser = Callable[[int, Integers, Integers], Integers]
#: a share times a rank that is a whole number but for rounding is one
WHOLE = 1e-9


@dataclass(frozen=True)
class Groups:
    """The groups of a block's documents, and the shares they should have.

    Attributes
    ----------
    group
        ``[rankings, ranks]``: column of each document's group; the last column, ``width``, for documents of no group
        that counts, and one more for padding.
    share
        ``[rankings, width]``: target share of each column.
    columns
        The columns' labels.
    """

    group: Integers
    share: Floats
    columns: Columns

    @classmethod
    def of(cls, block: Block, by: str, target: Target | str | None) -> Groups:
        """Groups of an attribute with one value per document; documents of unknown value belong to none."""
        goal = distribution(block.context, target, by, block.ranked.run.name)
        members = block.membership(by)
        columns = members.columns(goal, block.query)
        group = np.where(block.valid, columns.width, columns.width + 1)
        group.reshape(-1)[members.position] = columns.column
        return cls(group, columns.q, columns)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.share.shape[1]

    def label(self, ranking: int, column: int) -> str:
        """The value that a column stands for."""
        values = self.columns.membership.attribute.values
        labels = self.columns.labels
        return values[column if labels is None else int(labels[ranking, column])]


class Lists:
    """One list per group, each in the order of the ranking given.

    Parameters
    ----------
    group
        ``[rankings, ranks]``, from 0 to ``slots - 1``; ``slots`` for padding.
    slots
        Number of lists.
    """

    def __init__(self, group: Integers, slots: int) -> None:
        rankings, self.ranks = group.shape
        self.row = np.arange(rankings)
        self.slots = slots
        by_group = np.argsort(group, axis=1, kind="stable")
        # one more column: where a list has ended
        self.positions = np.concatenate([by_group, np.full((rankings, 1), self.ranks)], axis=1)
        flat = self.row[:, None] * (slots + 1) + group
        self.size = np.bincount(flat.ravel(), minlength=rankings * (slots + 1)).reshape(rankings, -1)[:, :slots]
        self.start = np.cumsum(self.size, axis=1) - self.size

    def heads(self, taken: Integers) -> Integers:
        """The position of the next document of each list, ``ranks`` where it has ended."""
        at = np.where(taken < self.size, self.start + taken, self.ranks)
        return np.take_along_axis(self.positions, at, axis=1)

    def fill(self, depth: int, choose: Chooser) -> Integers:
        """``[rankings, depth]``: the position of the document chosen for each of the first ranks, -1 where none is
        left.
        """
        taken = np.zeros(self.size.shape, dtype=np.int64)
        out = np.full((len(self.row), depth), -1, dtype=np.int64)
        for rank in range(depth):
            heads = self.heads(taken)
            chosen = choose(rank + 1, taken, heads)
            position = heads[self.row, chosen]
            exists = position < self.ranks
            out[:, rank] = np.where(exists, position, -1)
            taken[self.row, chosen] += exists
        return out


def best(heads: Integers, among: Booleans, ranks: int) -> Integers:
    """The list of the best next document among some lists; where there is none, among all."""
    some = among & (heads < ranks)
    some |= ~some.any(axis=1, keepdims=True)
    return np.argmin(np.where(some, heads, ranks + 1), axis=1)


def followed_by_rest(first: Integers, valid: Booleans) -> Integers:
    """Rankings that begin as given, all other documents behind in their order.

    Parameters
    ----------
    first
        ``[rankings, depth]``: positions, -1 after the last.
    valid
        ``[rankings, ranks]``: which positions have a document.
    """
    ranks = valid.shape[1]
    key = np.where(valid, ranks + np.arange(ranks), 2 * ranks)
    row, rank = np.nonzero(first >= 0)
    key[row, first[row, rank]] = rank
    order = np.argsort(key, axis=1, kind="stable")
    return np.where(np.take_along_axis(valid, order, axis=1), order, -1)


def lowest_counts(share: Floats, rank: int | Integers) -> Integers:
    """``floor(rank share)``: the documents of each group that the first ranks need."""
    return np.floor(share * rank + WHOLE).astype(np.int64)


def highest_counts(share: Floats, rank: int) -> Integers:
    """``ceil(rank share)``."""
    return np.ceil(share * rank - WHOLE).astype(np.int64)


def shortfalls(
    group: Integers,
    order: Integers,
    needed: Iterable[Integers],
    name: str,
    label: Callable[[int, int], str],
    length: Integers,
) -> Objects:
    """For each ranking the first rank above which a group has fewer documents than it needs, in words, or None.

    Parameters
    ----------
    group
        ``[rankings, ranks]``: the column of each document of the rankings given.
    order
        ``[rankings, ranks]``: the new rankings.
    needed
        For each column the counts that the first ranks need, ``[rankings, depth]``.
    name, label
        The attribute, and the value that a column of a ranking stands for.
    length
        ``[rankings]``: number of candidates.
    """
    columns = np.where(order >= 0, np.take_along_axis(group, np.maximum(order, 0), axis=1), -1)
    never = order.shape[1]
    first = np.full(len(order), never)
    found = np.zeros((len(order), 3), dtype=np.int64)
    for column, need in enumerate(needed):
        depth = min(need.shape[1], never)
        count = np.cumsum(columns[:, :depth] == column, axis=1)
        short = (count < need[:, :depth]) & (order[:, :depth] >= 0)
        at = np.where(short.any(axis=1), short.argmax(axis=1), never)
        worse = np.flatnonzero(at < first)
        first[worse] = at[worse]
        found[worse] = np.stack([np.full(len(worse), column), count[worse, at[worse]], need[worse, at[worse]]], axis=1)
    out = none_of(len(order))
    for at_row in np.flatnonzero(first < never):
        row = int(at_row)
        column, has, least = found[row].tolist()
        many = int((group[row] == column).sum())
        out[row] = (
            f"the first {first[row] + 1} have {has} of {name} {label(row, column)!r} and need {least} "
            f"({many} of {length[row]} candidates are)"
        )
    return out
