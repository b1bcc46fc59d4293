"""How many candidate documents of each grade a query has.

Target exposure of every candidate document of every query.

The candidates of a query are its judged documents and those that any compared run ranks. A target is kept as one
number a judged
document and one number a query for all its other candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.data.attributes import Attribute
from lightmeter.data.ids import IdIndex
from lightmeter.data.judgments import Judgments
from lightmeter.data.membership import Triple
from lightmeter.data.values import sum_by
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.ideal import level_targets
from lightmeter.measures.context import Context
from lightmeter.models.targets import Equal, Given, Ideal, Proportional, Target
from lightmeter.models.users import User


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


@dataclass(frozen=True)
class TargetExposure:
    """Targets of a user model.

    Attributes
    ----------
    judged
        Target of each judgment.
    other
        Target of each unjudged candidate, by query.
    square
        Sum of squared targets over all candidates, by query.
    reason
        Why a query has no target, by query; None where it has one.
    """

    judged: Floats
    other: Floats
    square: Floats
    reason: Objects


@dataclass(frozen=True)
class Others:
    """The unjudged candidates: distinct (query, document) pairs that some run ranks."""

    query: Integers
    doc: pl.Series


def others(context: Context) -> Others:
    """Unjudged candidates of all compared runs."""
    return context.once("others", lambda: _others(context))


def _others(context: Context) -> Others:
    frames = []
    for ranked in context.ranked.values():
        order = np.arange(len(ranked.run)) if ranked.order is None else ranked.order
        free = ranked.judged_row()[order] < 0
        query = ranked.query[ranked.ranking_of_position][free].astype(np.int64)
        frames.append(pl.DataFrame({"query": query, "doc": ranked.run.ids.gather(order[free])}))
    once_only = len(frames) == 1 and not next(iter(context.ranked.values())).sampled
    unique = frames[0] if once_only else pl.concat(frames).unique(maintain_order=True)
    return Others(unique["query"].to_numpy(), unique["doc"])


def target_exposure(context: Context, target: Target, user: User, cutoff: int | None) -> TargetExposure:
    """The target exposure of all candidates for a user model and a cutoff."""
    return context.once(("target", target, user, cutoff), lambda: _resolve(context, target, user, cutoff))


def _judgments(context: Context) -> Judgments:
    judgments = context.collection.judgments
    if judgments is None:
        raise LightmeterError("target exposure needs judgments. Give them with --qrels FILE (in Python: qrels=).")
    return judgments


def _resolve(context: Context, target: Target, user: User, cutoff: int | None) -> TargetExposure:
    judgments = _judgments(context)
    queries = len(context.collection.queries)
    judged, other, reason = _exposures(target, context, judgments, user, cutoff)
    square = sum_by(judgments.query, judged**2, queries)
    if other.any():
        square += np.bincount(others(context).query, minlength=queries) * other**2
    return TargetExposure(judged, other, square, reason)


_Exposures = tuple[Floats, Floats, Objects]


@singledispatch
def _exposures(target: Target, context: Context, judgments: Judgments, user: User, cutoff: int | None) -> _Exposures:
    """Target of each judgment, of each unjudged candidate by query, and why a query has none."""
    raise TermError(
        f"{target} is a target for groups. Accepted for exposure: Ideal, Equal, Proportional or Given(file='..')."
    )


def _reasons(missing: Booleans, reason: str) -> Objects:
    """The reason where a query has no target, None elsewhere."""
    out = np.full(len(missing), None, dtype=object)
    out[missing] = reason
    return out


def _no_relevant(judgments: Judgments) -> Objects:
    return _reasons(judgments.relevant(np.nextafter(0, 1)) == 0, "no_relevant")


@_exposures.register(Ideal)
def _ideal(target: Ideal, context: Context, judgments: Judgments, user: User, cutoff: int | None) -> _Exposures:
    level = levels(context)
    zeros = np.zeros(len(level.zeros), dtype=np.int64)
    if target.complete:  # unjudged candidates share the level of grade 0
        zeros = level.zeros + np.bincount(others(context).query, minlength=len(zeros))
    gains, counts = np.column_stack([level.gain, 0.0 * zeros]), np.column_stack([level.count, zeros])
    eps = level_targets(user, gains, counts, cutoff)
    return eps[judgments.query, level.column], eps[:, -1], _no_relevant(judgments)


@_exposures.register(Equal)
def _equal(target: Equal, context: Context, judgments: Judgments, user: User, cutoff: int | None) -> _Exposures:
    merit = np.ones(len(judgments.gain))
    scale = _scale(context, judgments, user, cutoff, merit, 1.0)
    return merit * scale[judgments.query], scale, np.full(len(scale), None, dtype=object)


@_exposures.register(Proportional)
def _proportional(
    target: Proportional, context: Context, judgments: Judgments, user: User, cutoff: int | None
) -> _Exposures:
    merit = np.where(judgments.gain > 0, np.power(judgments.gain, target.power), 0.0)
    scale = _scale(context, judgments, user, cutoff, merit, 0.0)
    return merit * scale[judgments.query], np.zeros(len(scale)), _no_relevant(judgments)


def _scale(
    context: Context, judgments: Judgments, user: User, cutoff: int | None, merit: Floats, rest: float
) -> Floats:
    """Factor by query that makes exposure proportional to merit use up what a full list gives.

    Position models give sum of view over n ranks in all; models that stop at documents give exposures with
    ``sum (1 - C) eps = 1 - prod C`` in every order.
    """
    queries = len(context.collection.queries)
    other = np.bincount(others(context).query, minlength=queries)
    total_merit = sum_by(judgments.query, merit, queries) + rest * other
    if not user.by_document:
        n = np.bincount(judgments.query, minlength=queries) + other
        n = n if cutoff is None else np.minimum(n, cutoff)
        supply = np.concatenate([[0.0], np.cumsum(user.view_at(np.arange(1.0, int(n.max(initial=0)) + 1)))])[n]
    else:
        if cutoff is not None:
            raise TermError(
                f"the targets Equal and Proportional have no form for {user} with a cutoff. Accepted: no cutoff, or "
                "a position model such as RBP(p=0.5)."
            )
        go_on, zero = user.continuation(judgments.gain), user.continuation(np.zeros(1))[0]
        with np.errstate(divide="ignore"):
            log = sum_by(judgments.query, np.log(go_on), queries)
            log += np.multiply(other, np.log(zero), out=np.zeros(queries), where=other > 0)
        supply = -np.expm1(log)
        total_merit = sum_by(judgments.query, merit * (1 - go_on), queries) + rest * other * (1 - zero)
    return np.divide(supply, total_merit, out=np.zeros(queries), where=total_merit > 0)


@_exposures.register(Given)
def _given(target: Given, context: Context, judgments: Judgments, user: User, cutoff: int | None) -> _Exposures:
    from lightmeter.io.tabular import read_named

    if target.file is None:
        raise TermError(
            "Given needs a file of target exposures here: Given(file='targets.csv'), a table query, doc, exposure."
        )
    table, _ = read_named(target.file, ["query", "doc"], "exposure")
    code = {q: i for i, q in enumerate(context.collection.queries)}
    table = table.filter(pl.col("query").is_in(context.collection.queries))
    query = np.array([code[q] for q in table["query"]], dtype=np.int32)
    entry = IdIndex(table["doc"], query).find(judgments.doc, judgments.query)
    missing = np.setdiff1d(np.arange(len(table)), entry)
    if len(missing):
        row = int(missing[0])
        raise LightmeterError(
            f"{target.file}: document {table['doc'][row]!r} of query {table['query'][row]!r} is not judged, so its "
            "target exposure has no place. Add it to the judgments (grade 0 will do)."
        )
    queries = len(context.collection.queries)
    reason = _reasons(np.bincount(query, minlength=queries) == 0, "no_target")
    return np.append(table["exposure"].to_numpy(), 0.0)[entry], np.zeros(queries), reason


def group_targets(context: Context, attribute: Attribute, targets: TargetExposure, only_relevant: bool) -> Triple:
    """Target exposure of groups in long form: (query, value, exposure), one entry a (document, value) pair."""
    judgments = context.collection.judgments
    if judgments is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    rows = np.flatnonzero((targets.judged > 0) & ((judgments.gain > 0) | (not only_relevant)))
    query = judgments.query[rows].astype(np.int64)
    parts = [_memberships(context, attribute, query, judgments.doc.gather(rows), targets.judged[rows])]
    if not only_relevant and targets.other.any():
        free = others(context)
        parts.append(_memberships(context, attribute, free.query, free.doc, targets.other[free.query]))
    query, value, exposure = (np.concatenate(p) for p in zip(*parts, strict=True))
    return query, value, exposure


def group_square(context: Context, attribute: Attribute, targets: TargetExposure, only_relevant: bool) -> Floats:
    """Squared norm of the groups' target exposure, by query."""
    query, value, exposure = group_targets(context, attribute, targets, only_relevant)
    size = np.int64(value.max(initial=0) + 1)
    keys, at = np.unique(query * size + value, return_inverse=True)
    return sum_by(keys // size, sum_by(at, exposure, len(keys)) ** 2, len(context.collection.queries))


def _memberships(context: Context, attribute: Attribute, query: Integers, doc: pl.Series, exposure: Floats) -> Triple:
    entry = attribute.index.find(doc, query.astype(np.int32) if attribute.by_query else None)
    return spread_unknown(context, attribute, entry, query, exposure, doc)


def spread_unknown(
    context: Context,
    attribute: Attribute,
    entry: NDArray[np.integer],
    query: Integers,
    exposure: Floats,
    doc: pl.Series,
) -> Triple:
    """(query, value, exposure) of documents, unknown ones by the call's rule; multi-valued documents count fully in
    each value.
    """
    position, value, weight = attribute.pairs(entry, split=False)
    parts = [(query[position], value.astype(np.int64), weight * exposure[position])]
    unknown = np.flatnonzero(entry < 0)
    size = len(attribute.values)
    if context.unknown == "error":
        asked = unknown[context.collection.counts[query[unknown]]]
        if len(asked):
            context.refuse_unknown(attribute, "(targets)", doc.gather(asked))
    if len(unknown) and context.unknown == "uniform":
        parts.append(
            (
                np.repeat(query[unknown], size),
                np.tile(np.arange(size), len(unknown)),
                np.repeat(exposure[unknown] / size, size),
            )
        )
    if len(unknown) and context.unknown == "distinct":
        parts.append((query[unknown], context.own_value(attribute, doc.gather(unknown)), exposure[unknown]))
    q, v, x = (np.concatenate(p) for p in zip(*parts, strict=True))
    return q, v, x
