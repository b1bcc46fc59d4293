"""All documents of a call, and exposure and its target as sparse matrices [queries, documents]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.data.judgments import Judgments
from lightmeter.data.rankings import Ranked
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.ideal import level_targets
from lightmeter.measures.candidates import candidate_exposure, candidates
from lightmeter.measures.context import Context
from lightmeter.measures.target_exposure import target_exposure
from lightmeter.models.targets import Equal, Given, Ideal, Target
from lightmeter.models.users import User


@dataclass(frozen=True)
class Catalogue:
    """Every document that is judged or ranked, for any query evaluated and by any compared run.

    Attributes
    ----------
    docs
        Their ids.
    of_run
        The code of each row of each run, -1 for queries that are not evaluated.
    judged
        The code of each judgment, likewise.
    """

    docs: pl.Series
    of_run: dict[str, Integers]
    judged: Integers

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.docs)


def catalogue(context: Context) -> Catalogue:
    """The documents of a call."""
    return context.once("catalogue", lambda: _catalogue(context))


def _catalogue(context: Context) -> Catalogue:
    runs, judgments = context.ranked, _judgments(context)
    counts = context.collection.counts
    docs = [r.run.doc.gather(np.arange(len(r.run))) for r in runs.values()]
    inside = [counts[r.run.query[r.run.ranking_of_row]] for r in runs.values()]
    docs.append(judgments.doc)
    inside.append(counts[judgments.query])
    here = np.concatenate(inside)
    frame = pl.DataFrame({"doc": pl.concat(docs).filter(pl.Series(here))}).with_row_index("row")
    first = frame.select(pl.col("row").first().over("doc"))["row"].to_numpy()
    unique, found = np.unique(first, return_inverse=True)
    code = np.full(len(here), -1, dtype=np.int64)
    code[here] = found
    ends = np.cumsum([len(d) for d in docs])
    parts = np.split(code, ends[:-1])
    return Catalogue(frame["doc"].gather(unique), dict(zip(runs, parts, strict=False)), parts[-1])


def _judgments(context: Context) -> Judgments:
    judgments = context.collection.judgments
    if judgments is None:
        raise LightmeterError("target exposure needs judgments. Give them with --qrels FILE (in Python: qrels=).")
    return judgments


@dataclass(frozen=True)
class Entries:
    """A matrix [queries, documents]: ``base[query]`` everywhere, plus entries.

    Attributes
    ----------
    base
        One number a query.
    query, item, value
        What some cells have above their query's base.
    """

    base: Floats
    query: Integers
    item: Integers
    value: Floats


def system_entries(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Entries:
    """Expected exposure under a run's policy; 0 for what it does not rank."""
    found = candidates(context, ranked, "ranked")
    exposure = candidate_exposure(context, ranked, found, user, cutoff)
    seen = np.flatnonzero(exposure)
    item = catalogue(context).of_run[ranked.run.name][found.row[seen]]
    return Entries(np.zeros(len(context.collection.queries)), found.query[seen], item, exposure[seen])


def target_entries(context: Context, target: Target, user: User, cutoff: int | None) -> Entries:
    """Target exposure where every document of the catalogue is a candidate for every query."""
    return context.once(("target entries", target, user, cutoff), lambda: _target(context, target, user, cutoff))


def _target(context: Context, target: Target, user: User, cutoff: int | None) -> Entries:
    judgments, cat = _judgments(context), catalogue(context)
    queries = len(context.collection.queries)
    if isinstance(target, Equal) and not user.by_document:
        seen = cat.size if cutoff is None else min(cutoff, cat.size)
        base = np.full(queries, user.view_at(np.arange(1.0, seen + 1)).sum() / cat.size)
        none = np.zeros(0, dtype=np.int64)
        return Entries(base, none, none, np.zeros(0))
    if isinstance(target, Ideal):
        return _ideal(judgments, cat, target, user, cutoff, queries)
    if isinstance(target, Given):
        value = target_exposure(context, target, user, cutoff).judged
        some = np.flatnonzero(value)
        return Entries(np.zeros(queries), judgments.query[some].astype(np.int64), cat.judged[some], value[some])
    raise TermError(
        f"the target {target} has no form for all documents and {user}. Accepted: Ideal, Given(file='..') or, for a "
        "position model such as RBP(p=0.8), Equal."
    )


def _ideal(
    judgments: Judgments, cat: Catalogue, target: Ideal, user: User, cutoff: int | None, queries: int
) -> Entries:
    rows = np.flatnonzero(judgments.gain > 0)
    rows = rows[np.lexsort((-judgments.gain[rows], judgments.query[rows]))]
    query, gain = judgments.query[rows].astype(np.int64), judgments.gain[rows]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (query[1:] != query[:-1]) | (gain[1:] != gain[:-1])
    level = np.cumsum(fresh) - 1
    owner = query[fresh]
    column = np.arange(len(owner)) - np.searchsorted(owner, owner)
    width = int(column.max(initial=-1)) + 2
    gains, counts = np.zeros((queries, width)), np.zeros((queries, width), dtype=np.int64)
    gains[owner, column], counts[owner, column] = gain[fresh], np.bincount(level, minlength=len(owner))
    last = np.bincount(owner, minlength=queries)  # the level of grade 0, after the others
    each = np.arange(queries)
    counts[each, last] = cat.size - counts.sum(axis=1)
    eps = level_targets(user, gains, counts, cutoff)
    base = eps[each, last] if target.complete else np.zeros(queries)
    return Entries(base, query, cat.judged[rows], eps[owner, column][level] - base[query])
