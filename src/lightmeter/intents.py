"""Intents of queries: which documents are relevant to which intent, as integer-coded columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.codes import codes_of
from lightmeter.errors import LightmeterError
from lightmeter.ids import IdIndex
from lightmeter.sums import sum_by

if TYPE_CHECKING:
    from lightmeter.context import Context
    from lightmeter.io.tables import IntentTable
    from lightmeter.rankings import Ranked
    from lightmeter.run import Run

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
ROUNDING = 1e-12  # gains that differ by less are equal


class Intents:
    """Judgments by intent.

    Attributes
    ----------
    index
        Finds the entry of a (query, document); entries are sorted by query.
    entry_query
        The query of each entry.
    entry, intent, grade
        One row an (entry, intent) that was judged, sorted by entry; grades below 0 count as 0.
    intent_query, probability
        The query of each intent, and how probable it is there.
    """

    def __init__(self, table: IntentTable, vocabulary: list[str]) -> None:
        known = table.frame.filter(pl.col("query").is_in(vocabulary))
        shares = table.probabilities.filter(pl.col("query").is_in(vocabulary))
        query = codes_of(shares["query"], vocabulary)
        self.intent_query: Codes = query.astype(np.int64)
        self.probability: Array = shares["probability"].to_numpy().astype(np.float64)
        named = shares.select("query", "intent").with_row_index("intent_code")
        rows = known.join(named, on=["query", "intent"], how="left", maintain_order="left")
        code = codes_of(rows["query"], vocabulary)
        rows = rows.with_columns(_q=pl.Series(code)).sort("_q", "doc", maintain_order=True)
        entries = rows.unique(["_q", "doc"], keep="first", maintain_order=True).select("_q", "doc")
        self.entry_query: NDArray[np.int32] = entries["_q"].to_numpy().astype(np.int32)
        self.index = IdIndex(entries["doc"].rechunk(), self.entry_query)
        fresh = rows.select((pl.struct("_q", "doc").rle_id()).alias("e"))["e"]
        self.entry: Codes = fresh.to_numpy().astype(np.int64)
        self.intent: Codes = rows["intent_code"].to_numpy().astype(np.int64)
        self.grade: Array = np.maximum(rows["grade"].to_numpy().astype(np.float64), 0.0)
        self.queries = len(vocabulary)

    @cached_property
    def indptr(self) -> Codes:
        """Rows of each entry."""
        return np.searchsorted(self.entry, np.arange(len(self.entry_query) + 1))

    @cached_property
    def max_grade(self) -> float:
        """The highest grade of all."""
        return float(self.grade.max(initial=0.0))

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """Which queries have intents."""
        return np.bincount(self.intent_query, minlength=self.queries) > 0

    def covered(self, rel: float) -> NDArray[np.bool_]:
        """Which intents have a document of at least grade ``rel``."""
        out = np.zeros(len(self.intent_query), dtype=bool)
        out[self.intent[self.grade >= rel]] = True
        return out

    def weights(self, rel: float) -> Array:
        """Probability of each intent among those of its query that have a document of at least grade ``rel``."""
        mass = np.where(self.covered(rel), self.probability, 0.0)
        total = sum_by(self.intent_query, mass, self.queries)
        return np.divide(mass, total[self.intent_query], out=np.zeros(len(mass)), where=mass > 0)


def intents(context: Context) -> Intents:
    """The intents of a call."""
    table = context.collection.intents
    if table is None:
        raise LightmeterError("this measure needs intents. Give them with --intents FILE (in Python: intents=).")
    return context.once("intents", lambda: Intents(table, context.collection.queries))


def entry_of_row(run: Run, found: Intents) -> NDArray[np.int32]:
    """For each row of a run its entry in the intents, -1 for none."""
    return run.once("intents", lambda: run.find(found.index))


def judged_for_intents(context: Context, ranked: Ranked) -> Ranked:
    """The rankings without the documents that were judged for no intent of their query."""
    judged = entry_of_row(ranked.run, intents(context)) >= 0
    return ranked.keep(judged if ranked.order is None else judged[ranked.order])


def greedy_gains(found: Intents, alpha: float, rel: float, depth: int | None) -> Array:
    """Gains ``[queries, ranks]`` of the greedy ideal ranking: at each rank the document that adds most.

    A document adds ``sum_i (1 - alpha)^(number of documents above for intent i)`` over its intents. Among documents
    that add the same the last by id is taken, as ndeval does: it decides what is left for later ranks.
    """
    keep = found.grade >= rel
    entry, intent = found.entry[keep], found.intent[keep]
    entries, pair_of = np.unique(entry, return_inverse=True)
    query = found.entry_query[entries].astype(np.int64)
    begin = np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1]])) if len(query) else np.zeros(0, np.int64)
    counts = np.diff(np.append(begin, len(query)))
    ranks = int(counts.max(initial=0))
    ranks = ranks if depth is None else min(ranks, depth)
    out = np.zeros((found.queries, ranks))
    worth = np.ones(len(found.intent_query))
    free = np.ones(len(entries), dtype=bool)
    owner = np.repeat(np.arange(len(begin)), counts)
    for rank in range(ranks):
        gain = np.where(free, sum_by(pair_of, worth[intent], len(entries)), -1.0)
        best = np.maximum.reduceat(gain, begin)
        hit = np.flatnonzero((gain >= best[owner] - ROUNDING) & free)
        last = hit[np.concatenate([owner[hit][1:] != owner[hit][:-1], [True]])] if len(hit) else hit
        out[query[last], rank] = gain[last]
        free[last] = False
        taken = np.zeros(len(entries), dtype=bool)
        taken[last] = True
        worth[intent[taken[pair_of]]] *= 1.0 - alpha
    return out
