"""Policies given by the exposure they should have: points of the frontier, and mixtures of rankings that have it.

Users who know the rank only. An exposure is achievable when it lies in the expohedron
(:mod:`lightmeter.exposure.expohedron`); it is then a mixture of at most n rankings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from lightmeter.errors import InputError, LightmeterError, TermError
from lightmeter.exposure.expohedron import decompose as decompose_one
from lightmeter.exposure.reach import views
from lightmeter.models.users import User, user_of

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
    reader = by_rank(user, "decompose")
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


def by_rank(user: User | str, asked: str) -> User:
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
