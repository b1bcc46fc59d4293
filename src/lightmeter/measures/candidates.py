"""Exposure of every ranked document under a user model, in long form.

Rankings of a block are padded; exposure, its targets and group sums live in long form instead: one entry a place that
is seen at all. Sums by query,
ranking, document or group are then one ``bincount`` each, whatever the lengths.

How the rankings of a run make up the policy of each query, under the call's policy.

Expected exposure of every candidate of every query, with its merit, in long form.

The candidates of a query are the documents that the run ranks (in any of its rankings), and where judgments count also
those that are judged and not ranked, whose exposure is 0.

Expected exposure from sampled rankings with a part of them left out: how sure sums over queries are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.ids import values_of
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.data.values import sum_by
from lightmeter.errors import LightmeterError
from lightmeter.exposure.sampling import Mixture
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.models.users import User

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

#: Views below this change no sum of squares or products that a float can tell.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class Flat:
    """Places seen by a user in the rankings of one run.

    Attributes
    ----------
    ranking, row
        The ranking and the run's row of each entry.
    view
        Exposure of the entry.
    judgment
        Its judgment, -1 for none.
    item
        Code of its (query, document) pair: equal for the same document in several rankings of a query.
    items
        Number of codes.
    """

    ranking: Integers
    row: Integers
    view: Floats
    judgment: Integers
    item: Integers
    items: int


def flat_exposure(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Flat:
    """Exposure of every place of a run with a view above 0."""
    return context.once(("flat", ranked.key, user, cutoff), lambda: _flat(context, ranked, user, cutoff))


def _flat(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Flat:
    parts: list[tuple[AnyArray, ...]] = []
    drawn = context.policy.stochastic and not ranked.sampled
    lengths = ranked.lengths if cutoff is None or drawn else np.minimum(ranked.lengths, cutoff)
    # down a list without relevant documents people look furthest; what they hardly ever reach even there is left out
    seen_at = np.flatnonzero(user.view(np.zeros(int(lengths.max(initial=0)))) > NEGLIGIBLE)
    reached: int | None = int(seen_at[-1]) + 1 if len(seen_at) else 0
    if drawn:
        reached = None  # every candidate is seen sometimes
    else:
        lengths = np.minimum(lengths, reached or 0)
    for rankings in chunks_of_like_length(lengths, CELLS):
        block = Block(context, ranked, rankings, reached)
        view = block.exposure(user, cutoff)
        seen = np.nonzero(view > NEGLIGIBLE)
        parts.append((rankings[seen[0]], block.rows[seen], view[seen], block.judgment[seen]))
    ranking, row, view, judgment = (np.concatenate(p) for p in zip(*parts, strict=True))
    if not ranked.sampled:
        return Flat(ranking, row, view, judgment, np.arange(len(row)), len(row))
    codes = context.once(("items", ranked.key), lambda: item_codes(ranked))
    return Flat(ranking, row, view, judgment, codes[row], len(codes))


def item_codes(ranked: Ranked) -> Integers:
    """For each row of a sampled run the first row with the same query and document."""
    frame = pl.DataFrame({"q": ranked.run.query_of_row, "d": ranked.run.doc}).with_row_index("row")
    return frame.select(pl.col("row").first().over("q", "d"))["row"].to_numpy().astype(np.int64)


def mixture(context: Context, ranked: Ranked) -> Mixture:
    """How a run's rankings make up policies, under the call's policy."""
    return context.once(("mixture", ranked.key), lambda: _mixture(context, ranked))


def _mixture(context: Context, ranked: Ranked) -> Mixture:
    query, queries = ranked.query, len(context.collection.queries)
    drawn = np.ones(len(query), dtype=bool) if ranked.weight is None else ranked.weight > 0
    count = np.bincount(query[drawn], minlength=queries).astype(np.float64)
    meaning = getattr(context.policy, "weight", "sampling")
    weight = np.ones(len(query)) if ranked.weight is None else ranked.weight
    total = sum_by(query, weight, queries)
    if ranked.weight is not None and ranked.sampled:
        _check_weights(context, ranked, meaning, weight, total)
    exact = count <= 1
    if meaning == "count":
        return Mixture(query, 1.0 / total[query], weight, exact, np.maximum(total, 1.0))
    share = weight / total[query]
    return Mixture(query, share, np.ones(len(query)), exact | (meaning == "probability"), np.maximum(count, 1.0))


def _check_weights(context: Context, ranked: Ranked, meaning: str, weight: Floats, total: Floats) -> None:
    """Refuse weights that cannot mean what the policy says."""
    run, query, names = ranked.run, ranked.query, context.collection.queries
    empty = query[total[query] <= 0]
    if len(empty):
        raise LightmeterError(
            f"run {run.name}: the weights of query {names[empty[0]]!r} sum to 0. Accepted: at least one above 0."
        )
    if meaning == "probability":
        off = query[np.abs(total[query] - 1.0) > 1e-3]
        if len(off):
            raise LightmeterError(
                f"run {run.name}: the probabilities of query {names[off[0]]!r} sum to {total[off[0]]:g}. Accepted: "
                "1, within 0.001. "
                "If the weights are no probabilities, choose Samples(weight='sampling') or Samples(weight='count')."
            )
    if meaning == "count":
        off = np.flatnonzero(weight != np.floor(weight))
        if len(off):
            raise LightmeterError(
                f"run {run.name}: the count {weight[off[0]]:g} of a ranking of query {names[query[off[0]]]!r} is "
                "no whole number. Accepted: 0, 1, 2, .."
            )


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


#: parts that the rankings of a query are dealt out to at most, and draws of every query that it takes
FOLDS, FEWEST = 20, 3
SEED = (20_191_127, 35)


def exposure_without(
    context: Context, ranked: Ranked, found: Candidates, user: User, cutoff: int | None
) -> Iterator[Floats]:
    """Expected exposure of each candidate without each fold in turn.

    Nothing where every query's rankings are its whole policy, or where some query has too few of them.
    """
    mix = mixture(context, ranked)
    if mix.exact.all() or mix.draws[~mix.exact].min() < FEWEST:
        return
    folds = int(min(mix.draws[~mix.exact].min(), FOLDS))
    flat = flat_exposure(context, ranked, user, cutoff)
    ranking, fold = _dealt(mix, folds)
    for j in range(folds):
        left = mix.copies - np.bincount(ranking[fold == j], minlength=len(mix.query))
        left = np.where(mix.exact[mix.query], mix.copies, left) * mix.unit
        share = left / sum_by(mix.query, left, len(mix.exact))[mix.query]
        by_row = sum_by(flat.item, flat.view * share[flat.ranking], len(ranked.run))
        yield by_row if found.whole else np.append(by_row, 0.0)[found.row]


def _dealt(mix: Mixture, folds: int) -> tuple[Integers, Integers]:
    """The ranking and the fold of each draw: the draws of a query in random order, dealt out like cards.

    In the order of the file equal rankings would be spread evenly, and folds be more alike than chance makes them. The
    seed is one that rankings are hardly drawn with: the same numbers would sort them.
    """
    ranking = np.repeat(np.arange(len(mix.query)), mix.copies.astype(np.int64))
    query = mix.query[ranking].astype(np.int64)
    order = np.lexsort((np.random.default_rng(SEED).random(len(ranking)), query))
    ranking, query = ranking[order], query[order]
    first = np.searchsorted(query, query, side="left")
    return ranking, (np.arange(len(ranking)) - first) % folds
