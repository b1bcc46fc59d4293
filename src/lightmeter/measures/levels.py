"""How many candidate documents of each grade a query has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.measures.context import Context


@dataclass(frozen=True)
class Levels:
    """The judged documents of every query by grade.

    Attributes
    ----------
    gain, count
        ``[queries, levels]``: the distinct grades above 0 from high to low, and how many documents have them (0:
        padding).
    column
        The level of each judgment; for grade 0 the number of columns.
    zeros
        ``[queries]``: judged documents of grade 0.
    """

    gain: Floats
    count: Integers
    column: Integers
    zeros: Integers


def levels(context: Context) -> Levels:
    """The judged documents by grade; none without judgments."""
    return context.once("levels", lambda: _levels(context))


def _levels(context: Context) -> Levels:
    judgments, queries = context.collection.judgments, len(context.collection.queries)
    if judgments is None or len(judgments.gain) == 0:
        none = np.zeros((queries, 0))
        return Levels(none, none.astype(np.int64), np.zeros(0, dtype=np.int64), np.zeros(queries, dtype=np.int64))
    rows = np.flatnonzero(judgments.gain > 0)
    order = rows[np.lexsort((-judgments.gain[rows], judgments.query[rows]))]
    query, gain = judgments.query[order], judgments.gain[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (query[1:] != query[:-1]) | (gain[1:] != gain[:-1])
    level = np.cumsum(fresh) - 1
    owner, count = query[fresh], np.bincount(level)
    column = np.arange(len(owner)) - np.searchsorted(owner, np.arange(queries))[owner]
    width = int(column.max(initial=-1)) + 1
    gains, counts = np.zeros((queries, width)), np.zeros((queries, width), dtype=np.int64)
    gains[owner, column], counts[owner, column] = gain[fresh], count
    of_judgment = np.full(len(judgments.gain), width, dtype=np.int64)
    of_judgment[order] = column[level]
    zeros = np.bincount(judgments.query[judgments.gain <= 0], minlength=queries)
    return Levels(gains, counts, of_judgment, zeros)
