"""Expected exposure of every candidate of every query, with its merit, in long form.

The candidates of a query are the documents that the run ranks (in any of its rankings), and where judgments count also
those that are judged and not ranked, whose exposure is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.attributes import Attribute
from lightmeter.context import Context
from lightmeter.exposure.estimates import mixture
from lightmeter.exposure.flat import Flat, flat_exposure, item_codes
from lightmeter.rankings import Ranked
from lightmeter.sums import sum_by
from lightmeter.users import User

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """One row a (query, candidate); those that the run ranks come first.

    Attributes
    ----------
    query
        Its query.
    row, judgment
        A row of the run with it, and its judgment; -1 for none.
    gain
        Its grade, 0 where it is not judged.
    """

    query: Codes
    row: Codes
    judgment: Codes
    gain: Array

    def docs(self, ranked: Ranked) -> pl.Series:
        """Document ids."""
        here = self.row >= 0
        ids = ranked.run.doc.gather(self.row[here])
        judgments = ranked.collection.judgments
        return ids if judgments is None or here.all() else pl.concat([ids, judgments.doc.gather(self.judgment[~here])])

    def entries(self, ranked: Ranked, attribute: Attribute) -> NDArray[np.integer]:
        """Entries in an attribute, -1 for unknown membership."""
        here = int((self.row >= 0).sum())
        known: NDArray[np.integer] = ranked.member_row(attribute.name)
        known = known if here == len(known) == len(self.row) else known[self.row[:here]]
        judgments = ranked.collection.judgments
        if judgments is None or here == len(self.row):
            return known
        rest = judgments.doc.gather(self.judgment[here:])
        query = self.query[here:].astype(np.int32)
        return np.concatenate([known, attribute.index.find(rest, query if attribute.by_query else None)])


def candidates(context: Context, ranked: Ranked, docs: str) -> Candidates:
    """The candidates ``'ranked'``, ``'all'`` (ranked or judged) or ``'relevant'`` (judged so, ranked or not)."""
    return context.once(("candidates", ranked.key, docs), lambda: _candidates(context, ranked, docs))


def _candidates(context: Context, ranked: Ranked, docs: str) -> Candidates:
    run, judgments = ranked.run, context.collection.judgments
    if ranked.sampled:
        codes = context.once(("items", ranked.key), lambda: item_codes(ranked))
        row = np.unique(codes if ranked.order is None else codes[ranked.order])
    elif ranked.order is None or len(ranked.order) == len(run):
        row = np.arange(len(run))
    else:
        row = np.sort(ranked.order)
    whole = len(row) == len(run)
    query = run.query_of_row.astype(np.int64) if whole else run.query_at(row).astype(np.int64)
    if judgments is None:
        return Candidates(query, row, np.full(len(row), -1), np.zeros(len(row)))
    judgment = (ranked.judged_row() if whole else ranked.judged_row()[row]).astype(np.int64)
    gain = np.append(judgments.gain, 0.0)[judgment]
    if docs == "ranked":
        return Candidates(query, row, judgment, gain)
    free = np.zeros(len(context.collection.queries), dtype=bool)
    free[ranked.query] = True
    missed = free[judgments.query]
    missed[judgment[judgment >= 0]] = False
    rest = np.flatnonzero(missed)
    out = Candidates(
        np.concatenate([query, judgments.query[rest]]),
        np.concatenate([row, np.full(len(rest), -1)]),
        np.concatenate([judgment, rest]),
        np.concatenate([gain, judgments.gain[rest]]),
    )
    if docs == "all":
        return out
    keep = out.gain > 0
    return Candidates(out.query[keep], out.row[keep], out.judgment[keep], out.gain[keep])


def candidate_exposure(context: Context, ranked: Ranked, found: Candidates, user: User, cutoff: int | None) -> Array:
    """Expected exposure of each candidate; from several rankings the mean over them."""
    flat = flat_exposure(context, ranked, user, cutoff)
    by_row = np.zeros(len(ranked.run) + 1)  # the last one for what is not ranked
    if ranked.sampled:
        share = mixture(context, ranked).share
        by_row[:-1] = sum_by(flat.item, flat.view * share[flat.ranking], len(ranked.run))
    else:
        by_row[flat.row] = flat.view
    return by_row[:-1] if len(found.row) == len(ranked.run) and found.row[-1] >= 0 else by_row[found.row]


def seen_of(found: Candidates, ranked: Ranked, flat: Flat) -> tuple[Codes, Codes, Array]:
    """(ranking, candidate, view) of the seen places of sampled rankings, of those that are candidates."""
    at = np.full(len(ranked.run), -1, dtype=np.int64)
    here = found.row >= 0
    at[found.row[here]] = np.flatnonzero(here)
    candidate = at[flat.item]
    keep = candidate >= 0
    return flat.ranking[keep], candidate[keep], flat.view[keep]
