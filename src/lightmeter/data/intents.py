"""Intents of queries: which documents are relevant to which intent, as integer-coded columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Codes, Floats, Integers
from lightmeter.data.ids import IdIndex, codes_of
from lightmeter.data.values import sum_by

if TYPE_CHECKING:
    from lightmeter.io.tables import IntentTable


class Intents:
    """Judgments by intent.

    Attributes
    ----------
    index
        Finds the entry of a (query, document); entries are sorted by query.
    entry_query
        The query of each entry.
    entry, intent, grade
        One row per (entry, intent) that was judged, sorted by entry; grades below 0 count as 0.
    intent_query, probability
        The query of each intent, and how probable it is there.
    """

    def __init__(self, table: IntentTable, vocabulary: list[str]) -> None:
        known = table.frame.filter(pl.col("query").is_in(vocabulary))
        shares = table.probabilities.filter(pl.col("query").is_in(vocabulary))
        query = codes_of(shares["query"], vocabulary)
        self.intent_query: Integers = query.astype(np.int64)
        self.probability: Floats = shares["probability"].to_numpy().astype(np.float64)
        named = shares.select("query", "intent").with_row_index("intent_code")
        rows = known.join(named, on=["query", "intent"], how="left", maintain_order="left")
        code = codes_of(rows["query"], vocabulary)
        rows = rows.with_columns(_q=pl.Series(code)).sort("_q", "doc", maintain_order=True)
        entries = rows.unique(["_q", "doc"], keep="first", maintain_order=True).select("_q", "doc")
        self.entry_query: Codes = entries["_q"].to_numpy().astype(np.int32)
        self.index = IdIndex(entries["doc"].rechunk(), self.entry_query)
        fresh = rows.select((pl.struct("_q", "doc").rle_id()).alias("e"))["e"]
        self.entry: Integers = fresh.to_numpy().astype(np.int64)
        self.intent: Integers = rows["intent_code"].to_numpy().astype(np.int64)
        self.grade: Floats = np.maximum(rows["grade"].to_numpy().astype(np.float64), 0.0)
        self.queries = len(vocabulary)

    @cached_property
    def indptr(self) -> Integers:
        """Where the rows of each entry begin and end."""
        return np.searchsorted(self.entry, np.arange(len(self.entry_query) + 1))

    @cached_property
    def max_grade(self) -> float:
        """The highest grade of all."""
        return float(self.grade.max(initial=0.0))

    @cached_property
    def judged(self) -> Booleans:
        """Which queries have intents."""
        return np.bincount(self.intent_query, minlength=self.queries) > 0

    def covered(self, rel: float) -> Booleans:
        """Which intents have a document of at least grade ``rel``."""
        out = np.zeros(len(self.intent_query), dtype=bool)
        out[self.intent[self.grade >= rel]] = True
        return out

    def weights(self, rel: float) -> Floats:
        """Probability of each intent among those of its query that have a document of at least grade ``rel``."""
        mass = np.where(self.covered(rel), self.probability, 0.0)
        total = sum_by(self.intent_query, mass, self.queries)
        return np.divide(mass, total[self.intent_query], out=np.zeros(len(mass)), where=mass > 0)
