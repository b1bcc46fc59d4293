"""Policies given by the exposure they should have: points of the frontier, and mixtures of rankings that have it.

Users who know the rank only. An exposure is achievable when it lies in the expohedron
(:mod:`lightmeter.exposure.expohedron`); it is then a mixture of at most n rankings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.collection import Collection
from lightmeter.errors import InputError, LightmeterError, TermError
from lightmeter.exposure.expohedron import decompose as decompose_one
from lightmeter.exposure.expohedron import project
from lightmeter.exposure.reach import views
from lightmeter.exposure.targets import target_exposure
from lightmeter.targets import Ideal, Target
from lightmeter.users import User, user_of

Array = NDArray[np.float64]

#: Rankings less likely than that are left out: n of them change no exposure by 1e-10.
THIN = 1e-14


def decompose(exposure: Any, user: User | str, cutoff: int | None = None) -> pl.DataFrame:
    """A policy that has a given exposure: for each query at most n rankings with probabilities.

    Parameters
    ----------
    exposure
        A frame ``query, doc, exposure[, run]``, or ``{query: {doc: exposure}}``: the expected view of every document
        of a query. Which exposures are achievable: those of some policy, such as from
        :func:`lightmeter.frontier_exposure`.
    user
        A user who knows the rank only, such as ``RBP(p=0.5)``, or its notation.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    polars.DataFrame
        ``query, doc, rank, sample, weight``, and ``run`` where it was given: ready for :func:`lightmeter.write_run`
        (a table: TREC's six columns have no place for weights), and to be evaluated under
        ``Samples(weight='probability')``. Many mixtures have the same exposure; this is one of them.

    Raises
    ------
    LightmeterError
        Where no policy has the exposure (within 1e-9), or the user reads the documents.

    Examples
    --------
    >>> import lightmeter as lm
    >>> lm.decompose({"q": {"a": 0.75, "b": 0.75}}, lm.RBP(p=0.5)).rows()
    [('q', 'b', 1, 1, 0.5), ('q', 'a', 2, 1, 0.5), ('q', 'a', 1, 2, 0.5), ('q', 'b', 2, 2, 0.5)]
    """
    reader = _by_rank(user, "decompose")
    frame = _exposures(exposure)
    keys = [c for c in ("run", "query") if c in frame.columns]
    parts = []
    for key, one in frame.group_by(keys, maintain_order=True):
        try:
            rankings, chance = decompose_one(one["exposure"].to_numpy(), views(reader, len(one), cutoff), tol=1e-9)
        except LightmeterError as error:
            raise LightmeterError(f"query {key[-1]!r}: {error}") from None
        keep = chance > THIN
        rankings, chance = rankings[keep], chance[keep] / chance[keep].sum()
        many, n = rankings.shape
        made = pl.DataFrame(
            {
                "doc": one["doc"].gather(rankings.ravel()),
                "rank": np.tile(np.arange(1, n + 1), many),
                "sample": np.repeat(np.arange(1, many + 1), n),
                "weight": np.repeat(chance, n),
            }
        )
        parts.append(made.select(*(pl.lit(k).alias(c) for c, k in zip(keys, key, strict=True)), pl.all()))
    return pl.concat(parts)


def frontier_exposure(
    collection: Collection,
    user: User | str,
    scale: float,
    *,
    target: Target | None = None,
    cutoff: int | None = None,
    depth: int | None = None,
) -> pl.DataFrame:
    """The exposure of a point of each query's frontier: the most relevance at its disparity that any policy has.

    The achievable exposure nearest to ``scale`` times the target exposure of the documents that a run ranks.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`, with judgments.
    user
        A user who knows the rank only, such as ``RBP(p=0.5)``, or its notation.
    scale
        From 0, all documents alike, to infinity, the most relevance there is; 1 has the least loss (EEL).
    target
        ``Ideal()`` by default, or ``Ideal(complete=True)``.
    cutoff
        Rank below which nothing is seen, or None.
    depth
        The first documents of each ranking that take part; None: all.

    Returns
    -------
    polars.DataFrame
        ``run, query, doc, exposure``, for the queries that have a target; :func:`lightmeter.decompose` makes rankings
        of it.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q": ["b", "a"]}, qrels={"q": {"a": 1}})
    >>> [lm.frontier_exposure(c, lm.RBP(p=0.5), s)["exposure"].to_list() for s in (0, 0.25, float("inf"))]
    [[0.75, 0.75], [0.625, 0.875], [0.5, 1.0]]
    """
    from lightmeter.evaluation import ranked_context

    reader = _by_rank(user, "frontier_exposure")
    goal = target if target is not None else Ideal()
    if not isinstance(goal, Ideal):
        raise TermError(f"the frontier is known for the target Ideal, and {goal} is given. Accepted: Ideal().")
    if not scale >= 0:
        raise LightmeterError(f"scale is {scale!r}. Accepted: a number from 0 to infinity.")
    context = ranked_context(collection, depth=depth, every_query=True)
    wanted = target_exposure(context, goal, reader, cutoff)
    parts = []
    for run in context.ranked.values():
        if run.sampled:
            raise LightmeterError(f"run {run.run.name} has several rankings a query. Accepted: one ranking a query.")
        rows = np.arange(len(run.run)) if run.order is None else run.order
        judged = run.judged_row()[rows]
        query = run.query[run.ranking_of_place]
        eps = np.where(judged >= 0, np.append(wanted.judged, 0.0)[judged], wanted.other[query])
        lengths = run.lengths
        at = np.arange(int(lengths.max(initial=0)))
        there = at < lengths[:, None]
        padded = np.full(there.shape, np.nan)
        padded[there] = eps
        view = views(reader, len(at), cutoff)
        nearest = project(_far(padded, float(view.max(initial=0.0))) if np.isinf(scale) else scale * padded, view)
        known = np.array([reason is None for reason in wanted.reason])[query]
        names = pl.Series("query", collection.queries, dtype=pl.String)
        frame = pl.DataFrame(
            {
                "run": pl.repeat(run.run.name, len(rows), dtype=pl.String, eager=True),
                "query": names.gather(query),
                "doc": run.run.doc.gather(rows),
                "exposure": nearest[there],
            }
        )
        parts.append(frame.filter(known))
    return pl.concat(parts)


def _far(target: Array, most: float) -> Array:
    """Targets in the same order and further apart than any two views, whose projection is the oracle's exposure."""
    order = np.argsort(target, axis=1, kind="stable")
    rising = np.take_along_axis(target, order, axis=1)
    steps = np.zeros(target.shape)
    steps[:, 1:] = np.cumsum(rising[:, 1:] > rising[:, :-1], axis=1)
    out = np.empty(target.shape)
    np.put_along_axis(out, order, np.where(np.isnan(rising), np.nan, 2.0 * (most + 1.0) * steps), axis=1)
    return out


def _by_rank(user: User | str, asked: str) -> User:
    reader = user_of(user)
    if reader.by_document:
        raise TermError(
            f"{asked} is for users who know the rank only, and {reader} reads the documents. Accepted: such as "
            "RBP(p=0.5) or DCG."
        )
    return reader


def _exposures(given: Any) -> pl.DataFrame:
    """``[run,] query, doc, exposure``, checked."""
    from lightmeter.io.checks import identifiers, numbers
    from lightmeter.io.frames import frame_source, to_polars

    if isinstance(given, Mapping):
        rows = [(str(q), str(d), x) for q, docs in given.items() for d, x in docs.items()]
        given = pl.DataFrame(rows, schema=["query", "doc", "exposure"], orient="row", strict=False)
    frame, source = to_polars(given, "exposures"), frame_source(None, "exposures")
    for column in ("query", "doc", "exposure"):
        if column not in frame.columns:
            raise InputError(
                f"there is no column {column}", where="exposures", accepted="query, doc, exposure, and perhaps run"
            )
    if not len(frame):
        raise InputError("the frame has no rows", where="exposures", accepted="at least one document")
    names = [c for c in ("run", "query", "doc") if c in frame.columns]
    made = frame.select(
        *(identifiers(frame[c], c, source).alias(c) for c in names),
        numbers(frame["exposure"], "exposure", source, least=0.0).alias("exposure"),
    )
    twice = made.filter(made.select(names).is_duplicated())
    if len(twice):
        raise InputError(f"document {twice['doc'][0]!r} of query {twice['query'][0]!r} stands twice", where="exposures")
    return made
