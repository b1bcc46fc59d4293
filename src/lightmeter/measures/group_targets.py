"""Target distributions over the values of an attribute, one a query or one for all."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Floats
from lightmeter.data.attributes import Attribute
from lightmeter.data.collection import Collection
from lightmeter.data.ids import values_of
from lightmeter.data.membership import Distribution, Triple
from lightmeter.data.values import sum_by
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.models.targets import SHORTHANDS, Given, Pool, Relevant, Scope, Target, Uniform

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.context import Context


def target_term(target: Target | str | None, by: str, collection: Collection) -> Target:
    """The target a measure names; None stands for the given one where there is one, else uniform."""
    if target is None:
        given = collection.targets
        target = "given" if given is not None and by in given["attribute"].unique().to_list() else "uniform"
    if isinstance(target, str):
        if target not in SHORTHANDS:
            raise TermError(
                f"there is no target {target!r}.{suggest(target, SHORTHANDS)} Known: {', '.join(SHORTHANDS)}, or a "
                "term such as Pool(of='run')."
            )
        return SHORTHANDS[target]()
    if not target.of_groups:
        raise TermError(
            f"{target} is a target of exposure; a distribution over groups is needed here: {', '.join(SHORTHANDS)}."
        )
    if getattr(target, "file", None) is not None:
        raise TermError(
            f"{target} names a table of target exposures, and shares of groups are needed here. Give them with "
            "--targets FILE (in Python: targets=), and write target='given'."
        )
    return target


def distribution(context: Context, target: Target | str | None, by: str, run: str) -> Distribution:
    """The target distribution of an attribute for one run; runs share it unless the target says otherwise."""
    term = target_term(target, by, context.collection)
    own = run if getattr(term, "of", None) == "run" else None
    return context.once(("distribution", term, by, own), lambda: _resolve(context, term, by, run))


def _resolve(context: Context, term: Target, by: str, run: str) -> Distribution:
    return _shares(term, context, context.collection.attribute(by), run)


@singledispatch
def _shares(term: Target, context: Context, attribute: Attribute, run: str) -> Distribution:
    """The shares of an attribute's values that a target wants."""
    raise TermError(f"{term} is no target for groups. Accepted: {', '.join(SHORTHANDS)}.")


@_shares.register(Given)
def _given_shares(term: Given, context: Context, attribute: Attribute, run: str) -> Distribution:
    return _given(context.collection, attribute)


@_shares.register(Uniform)
def _uniform_shares(term: Uniform, context: Context, attribute: Attribute, run: str) -> Distribution:
    if term.values == "all":
        return Distribution.one(np.full(len(attribute.values), 1.0 / len(attribute.values)))
    query, value, _ = _pooled(context, attribute, _runs(context, term, run), None)
    width = int(value.max(initial=0)) + 1
    of, which = np.divmod(values_of(query.astype(np.int64) * width + value), width)
    return Distribution.by_query(of, which, np.ones(len(of)), len(context.collection.queries), "no_known_member")


@_shares.register(Relevant)
def _relevant_shares(term: Relevant, context: Context, attribute: Attribute, run: str) -> Distribution:
    return _scoped(term.scope, context, attribute, _relevant(context, attribute), "no_relevant")


@_shares.register(Pool)
def _pool_shares(term: Pool, context: Context, attribute: Attribute, run: str) -> Distribution:
    if term.of != "groups":
        pooled = _pooled(context, attribute, _runs(context, term, run), term.depth)
        return _scoped(term.scope, context, attribute, pooled, "no_known_member")
    position, codes, mass = attribute.pairs(np.arange(len(attribute.index.ids)), split=True)
    value = codes.astype(np.int64)
    query = np.zeros(len(position), dtype=np.int64)
    if attribute.index.group is not None:
        query = attribute.index.group[position].astype(np.int64)
        counts = context.collection.counts[query]
        query, value, mass = query[counts], value[counts], mass[counts]
    if not attribute.by_query or term.scope == "collection":
        return _all_alike(value, mass, len(attribute.values))
    return Distribution.by_query(query, value, mass, len(context.collection.queries), "no_known_member")


def _scoped(
    scope: Scope,
    context: Context,
    attribute: Attribute,
    memberships: Triple,
    reason: str,
) -> Distribution:
    """Shares of (query, value, mass), in each query or in all together."""
    query, value, mass = memberships
    if scope == "collection":
        return _all_alike(value, mass, max(len(attribute.values), int(value.max(initial=0)) + 1))
    return Distribution.by_query(query, value, mass, len(context.collection.queries), reason)


def _all_alike(value: NDArray[np.integer], mass: Floats, size: int) -> Distribution:
    total = sum_by(value, mass, size)
    if not total.sum():
        raise LightmeterError(
            "no document of the pool has a known membership, so there is no target. Give targets, or choose "
            "target='uniform'."
        )
    return Distribution.one(total / total.sum())


def _given(collection: Collection, attribute: Attribute) -> Distribution:
    targets = collection.targets
    known = [] if targets is None else targets["attribute"].unique(maintain_order=True).to_list()
    if targets is None or attribute.name not in known:
        raise LightmeterError(
            f"no target distribution is given for {attribute.name!r}.{suggest(attribute.name, known)} Give one with "
            "--targets FILE (in Python: targets=), or choose target='uniform'."
        )
    code = {v: i for i, v in enumerate(attribute.values)}
    mine = targets.filter(pl.col("attribute") == attribute.name)
    strange = [v for v in mine["value"].unique(maintain_order=True) if v not in code]
    if strange:
        raise LightmeterError(
            f"the target of {attribute.name!r} names the value {strange[0]!r}, which no document "
            f"has.{suggest(strange[0], code)} "
            f"Values of the groups: {', '.join(attribute.values[:20])}."
        )
    every = np.zeros(len(attribute.values))
    general = mine.filter(pl.col("query").is_null())
    for value, share in zip(general["value"], general["share"], strict=True):
        every[code[value]] = share
    special = mine.filter(pl.col("query").is_not_null())
    if special.is_empty():
        return Distribution.one(every)
    position = {q: i for i, q in enumerate(collection.queries)}
    dense = np.tile(every, (len(collection.queries), 1))
    fresh = np.zeros(len(collection.queries), dtype=bool)
    for query, value, share in special.select("query", "value", "share").iter_rows():
        if query in position:
            if not fresh[position[query]]:
                dense[position[query]], fresh[position[query]] = 0.0, True
            dense[position[query], code[value]] = share
    keep = dense.sum(axis=1) > 0
    count = np.where(keep, len(attribute.values), 0)
    indptr = np.concatenate([[0], np.cumsum(count)])
    value = np.tile(np.arange(len(attribute.values)), int(keep.sum()))
    return Distribution(indptr, value, dense[keep].ravel(), False)


def _relevant(context: Context, attribute: Attribute) -> Triple:
    judgments = context.collection.judgments
    if judgments is None:
        raise LightmeterError(
            "target='relevant' needs judgments. Give them with --qrels FILE (in Python: qrels=), or choose another "
            "target."
        )
    rows = np.flatnonzero((judgments.grade > 0) & context.collection.counts[judgments.query])
    group = judgments.query[rows] if attribute.by_query else None
    entry = attribute.index.find(judgments.doc.gather(rows), group)
    position, codes, mass = attribute.pairs(entry, split=True)
    query, value = judgments.query[rows], codes.astype(np.int64)
    if context.unknown == "distinct":  # as in a pool, unknown documents have values of their own
        own = np.flatnonzero(entry < 0)
        position = np.concatenate([position, own])
        value = np.concatenate([value, context.own_value(attribute, judgments.doc.gather(rows[own]))])
        mass = np.concatenate([mass, np.ones(len(own))])
    return query[position].astype(np.int64), value, mass


def _runs(context: Context, term: Target, run: str) -> list[Ranked]:
    of = getattr(term, "of", "union")
    if of == "union":
        return list(context.ranked.values())
    name = run if of == "run" else of
    if name not in context.ranked:
        known = [*context.ranked, "union", "run", "groups"]
        raise LightmeterError(f"{term} names no run of this call.{suggest(name, known)} Accepted: {', '.join(known)}.")
    return [context.ranked[name]]


def _pooled(context: Context, attribute: Attribute, runs: list[Ranked], depth: int | None) -> Triple:
    """Memberships of the distinct (query, document) pairs that some runs rank."""
    pairs = []
    span = np.int64(len(attribute.index.ids))
    distinct = context.distinct(attribute) if context.unknown == "distinct" else None
    for ranked in runs:
        order = np.arange(len(ranked.run)) if ranked.order is None else ranked.order
        query = ranked.query[ranked.ranking_of_position].astype(np.int64)
        if depth is not None:
            rank = np.arange(len(query)) - np.repeat(ranked.offsets[:-1], ranked.lengths)
            order, query = order[rank < depth], query[rank < depth]
        entry = ranked.member_row(attribute.name)[order].astype(np.int64)
        if distinct is not None:  # values of unknown documents stand behind the entries
            entry = np.where(entry < 0, distinct[ranked.run.name][order] - len(attribute.values) + span, entry)
        known = entry >= 0
        pairs.append(query[known] << 32 | entry[known])
    keys = np.sort(np.concatenate(pairs))  # NumPy's unique hashes, which is many times slower than to sort
    keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
    query, entry = keys >> 32, keys & 0xFFFFFFFF
    position, value, mass = attribute.pairs(np.where(entry < span, entry, -1), split=True)
    own = np.flatnonzero(entry >= span)
    return (
        np.concatenate([query[position], query[own]]),
        np.concatenate([value.astype(np.int64), entry[own] - span + len(attribute.values)]),
        np.concatenate([mass, np.ones(len(own))]),
    )
