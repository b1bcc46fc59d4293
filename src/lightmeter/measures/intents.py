"""Intents in an evaluation: what documents are judged for them, and the ideal ranking by them."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Codes, Floats
from lightmeter.data.intents import Intents
from lightmeter.data.rankings import Ranked
from lightmeter.data.run import Run
from lightmeter.data.sums import sum_by
from lightmeter.errors import LightmeterError
from lightmeter.measures.context import Context

ROUNDING = 1e-12  # gains that differ by less are equal


def intents(context: Context) -> Intents:
    """The intents of a call."""
    table = context.collection.intents
    if table is None:
        raise LightmeterError("this measure needs intents. Give them with --intents FILE (in Python: intents=).")
    return context.once("intents", lambda: Intents(table, context.collection.queries))


def entry_of_row(run: Run, found: Intents) -> Codes:
    """For each row of a run its entry in the intents, -1 for none."""
    return run.once("intents", lambda: run.find(found.index))


def judged_for_intents(context: Context, ranked: Ranked) -> Ranked:
    """The rankings without the documents that were judged for no intent of their query."""
    judged = entry_of_row(ranked.run, intents(context)) >= 0
    return ranked.keep(judged if ranked.order is None else judged[ranked.order])


def greedy_gains(found: Intents, alpha: float, rel: float, depth: int | None) -> Floats:
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
