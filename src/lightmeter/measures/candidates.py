"""Expected exposure of every candidate of every query, with its merit, in long form.

The candidates of a query are the documents that the run ranks (in any of its rankings), and where judgments count also
those that are judged and not ranked, whose exposure is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Floats, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.codes import values_of
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.data.sums import sum_by
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.flat_exposure import Flat, flat_exposure, item_codes
from lightmeter.measures.mixture import mixture
from lightmeter.models.users import User


@dataclass(frozen=True)
class Candidates:
    """One row a (query, candidate); those that the run ranks come first.

    Attributes
    ----------
    ranked
        The rankings.
    query
        The query of each.
    row
        A row of the run with it, -1 for one that is not ranked.
    missed
        The judgments of those that are not ranked.
    """

    ranked: Ranked
    query: Integers
    row: Integers
    missed: Integers

    @cached_property
    def whole(self) -> bool:
        """Whether they are the rows of the run, each once and in order."""
        return len(self.row) == len(self.ranked.run) and not len(self.missed)

    @cached_property
    def judgment(self) -> NDArray[np.integer]:
        """The judgment of each, -1 for none."""
        here = len(self.row) - len(self.missed)
        mine = self.ranked.judged_row() if self.whole else self.ranked.judged_row()[self.row[:here]]
        return np.concatenate([mine, self.missed]) if len(self.missed) else mine

    @cached_property
    def gain(self) -> Floats:
        """The grade of each, 0 where it is not judged."""
        judgments = self.ranked.collection.judgments
        return np.zeros(len(self.row)) if judgments is None else judgments.gain_or_0[self.judgment]

    def docs(self) -> pl.Series:
        """Document ids."""
        ids = self.ranked.run.doc.gather(self.row[: len(self.row) - len(self.missed)])
        judgments = self.ranked.collection.judgments
        return ids if judgments is None or not len(self.missed) else pl.concat([ids, judgments.doc.gather(self.missed)])

    def entries(self, attribute: Attribute) -> NDArray[np.integer]:
        """Entries in an attribute, -1 for unknown membership."""
        known: NDArray[np.integer] = self.ranked.member_row(attribute.name)
        if self.whole:
            return known
        here = len(self.row) - len(self.missed)
        known = known[self.row[:here]]
        judgments = self.ranked.collection.judgments
        if judgments is None or not len(self.missed):
            return known
        query = self.query[here:].astype(np.int32)
        rest = attribute.index.find(judgments.doc.gather(self.missed), query if attribute.by_query else None)
        return np.concatenate([known, rest])


def candidates(context: Context, ranked: Ranked, docs: str) -> Candidates:
    """The candidates ``'ranked'``, ``'all'`` (ranked or judged) or ``'relevant'`` (judged so, ranked or not)."""
    return context.once(("candidates", ranked.key, docs), lambda: _candidates(context, ranked, docs))


def _candidates(context: Context, ranked: Ranked, docs: str) -> Candidates:
    run, judgments = ranked.run, context.collection.judgments
    none = np.zeros(0, dtype=np.int64)
    if ranked.sampled:
        codes = context.once(("items", ranked.key), lambda: item_codes(ranked))
        row = values_of(codes if ranked.order is None else codes[ranked.order])
    elif ranked.order is None or len(ranked.order) == len(run):
        row = np.arange(len(run))
    else:
        row = np.sort(ranked.order)
    query = (run.query_of_row if len(row) == len(run) else run.query_at(row)).astype(np.int64)
    mine = Candidates(ranked, query, row, none)
    if judgments is None or docs == "ranked":
        return mine
    gone = np.zeros(len(context.collection.queries), dtype=bool)
    gone[ranked.query] = True
    missed = np.append(gone[judgments.query], False)  # the last one takes what is not judged
    missed[mine.judgment] = False
    missed = missed[:-1]
    if docs == "relevant":
        missed &= judgments.gain > 0
        keep = mine.gain > 0
        query, row = query[keep], row[keep]
    rest = np.flatnonzero(missed)
    if docs == "all" and not len(rest):
        return mine
    return Candidates(
        ranked,
        np.concatenate([query, judgments.query[rest]]),
        np.concatenate([row, np.full(len(rest), -1)]),
        rest,
    )


def candidate_exposure(context: Context, ranked: Ranked, found: Candidates, user: User, cutoff: int | None) -> Floats:
    """Expected exposure of each candidate; from several rankings the mean over them."""
    by_row = context.once(("by row", ranked.key, user, cutoff), lambda: _by_row(context, ranked, user, cutoff))
    return by_row[:-1] if found.whole else by_row[found.row]


def _by_row(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Floats:
    """Expected exposure by row of the run, and one 0 for what is not ranked."""
    out = np.zeros(len(ranked.run) + 1)
    if ranked.sampled:
        flat, share = flat_exposure(context, ranked, user, cutoff), mixture(context, ranked).share
        out[:-1] = sum_by(flat.item, flat.view * share[flat.ranking], len(ranked.run))
        return out
    if not user.by_document and not context.policy.stochastic:
        rank = np.arange(int(ranked.offsets[-1])) - np.repeat(ranked.offsets[:-1], ranked.lengths)
        view = user.view_at(np.arange(1.0, int(ranked.lengths.max(initial=0)) + 1))
        if cutoff is not None:
            view[cutoff:] = 0.0
        out[: len(rank)] = view[rank]
        if ranked.order is not None:
            seen = out[: len(rank)].copy()
            out[:] = 0.0
            out[ranked.order] = seen
        return out
    for rankings in chunks_of_like_length(ranked.lengths, CELLS):
        block = Block(context, ranked, rankings)
        out[block.rows[block.valid]] = block.exposure(user, cutoff)[block.valid]
    return out


def seen_of(found: Candidates, flat: Flat) -> tuple[Integers, Integers, Floats]:
    """(ranking, candidate, view) of the seen places of sampled rankings, of those that are candidates."""
    at = np.full(len(found.ranked.run), -1, dtype=np.int64)
    here = len(found.row) - len(found.missed)
    at[found.row[:here]] = np.arange(here)
    candidate = at[flat.item]
    keep = candidate >= 0
    return flat.ranking[keep], candidate[keep], flat.view[keep]
