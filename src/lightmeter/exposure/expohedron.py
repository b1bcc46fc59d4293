"""The expohedron: all exposures that policies over n documents can give, for users who know the rank only.

It is the permutahedron of ``view``: its vertices are the rankings, and x belongs to it when ``view`` majorises it:
the k largest x sum to at most the k largest views, for every k, and all x to all views.

* The nearest achievable exposure to a target is the target minus the best non-increasing fit to ``target - view``, the
  target in descending order (isotonic regression by pooling adjacent violators).
* Every achievable exposure is a mixture of at most n rankings. From x, sorted descending, walk away from the ranking
  that reverses every block between tight sums: order is kept on the way, so the walk ends where the first sum becomes
  tight, which splits a block in two; after at most n - 1 walks x is a ranking.

Policies given by the exposure they should have: points of the frontier, and mixtures of rankings that have it.

Users who know the rank only. An exposure is achievable when it lies in the expohedron
(:mod:`lightmeter.exposure.expohedron`); it is then a mixture of at most n rankings.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import InputError, LightmeterError, TermError
from lightmeter.exposure.ideal import views
from lightmeter.models.users import User, user_of

ROUNDS = 24  # of pooling all blocks at once; what is left is pooled one by one


def ranked_views(view: ArrayLike, lengths: Integers, n: int) -> Floats:
    """View of the ranks of lists of given lengths, from the largest to the smallest.

    Parameters
    ----------
    view
        ``[ranks]``, finite and 0 or more; ranks after its end have view 0.
    lengths
        ``[queries]``: number of documents.
    n
        Width of the result.

    Returns
    -------
    array
        ``[queries, n]``; 0 after the last document.

    Examples
    --------
    >>> ranked_views([0.5, 1.0, 0.25], np.array([1, 3]), 3).tolist()
    [[0.5, 0.0, 0.0], [1.0, 0.5, 0.25]]
    """
    seen = np.asarray(view, dtype=np.float64)
    if seen.ndim != 1 or not np.isfinite(seen).all() or (seen < 0).any():
        raise LightmeterError("view is not a list of numbers from 0. Accepted: one finite number of at least 0 a rank.")
    padded = np.zeros(n)
    padded[: min(n, len(seen))] = seen[:n]
    rows = np.where(np.arange(n) < lengths[:, None], padded, 0.0)
    return -np.sort(-rows, axis=1) if (np.diff(padded) > 0).any() else rows


def pool(total: Floats, size: Floats, row: Integers) -> Integers:
    """Pool adjacent violators: the blocks of the best non-increasing fit, for many sequences at once.

    Parameters
    ----------
    total, size
        Sum and weight of each element, the sequences one after the other.
    row
        Number of the sequence that each belongs to.

    Returns
    -------
    array
        The number of each element's block, 0, 1, ..

    Examples
    --------
    >>> pool(np.array([1.0, 3.0, 0.0, 5.0]), np.ones(4), np.array([0, 0, 0, 1])).tolist()
    [0, 0, 1, 2]
    """
    label = np.arange(len(total))
    for _ in range(ROUNDS):
        mean = total / size
        start = np.ones(len(total), dtype=bool)
        start[1:] = (row[1:] != row[:-1]) | (mean[1:] <= mean[:-1])
        if start.all():
            return label
        first = np.flatnonzero(start)
        label = (np.cumsum(start) - 1)[label]
        total, size, row = np.add.reduceat(total, first), np.add.reduceat(size, first), row[first]
    blocks: list[tuple[float, float, int, int]] = []
    for t, m, r in zip(total.tolist(), size.tolist(), row.tolist(), strict=True):
        pooled = 1
        while blocks and blocks[-1][2] == r and blocks[-1][0] * m < t * blocks[-1][1]:
            before = blocks.pop()
            t, m, pooled = t + before[0], m + before[1], pooled + before[3]
        blocks.append((t, m, r, pooled))
    return np.repeat(np.arange(len(blocks)), [b[3] for b in blocks])[label]


def project(target: ArrayLike, view: ArrayLike) -> Floats:
    """The achievable exposure nearest to a target: the one with the least EEL.

    ``argmin_x sum_d (x_d - target_d)^2`` over mixtures of rankings of all documents, for users who know the rank only.

    Parameters
    ----------
    target
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.

    Returns
    -------
    array
        Exposure, of the shape of ``target``; NaN where there is no document.

    Examples
    --------
    >>> project([0.9, 0.5, 0.2], [1.0, 0.5, 0.25]).round(6).tolist()
    [0.95, 0.55, 0.25]
    >>> project([3.0, 3.0, 0.0], [1.0, 0.5]).tolist()
    [0.75, 0.75, 0.0]
    """
    given = np.asarray(target, dtype=np.float64)
    flat = np.atleast_2d(given)
    if np.isinf(flat).any():
        raise LightmeterError("a target is infinite. Accepted: finite numbers, and NaN where there is no document.")
    order = np.argsort(-flat, axis=1, kind="stable")  # NaN last
    there = ~np.isnan(np.take_along_axis(flat, order, axis=1))
    seen = ranked_views(view, there.sum(axis=1), flat.shape[1])[there]
    wanted = np.take_along_axis(flat, order, axis=1)[there]
    row = np.nonzero(there)[0]
    if not len(row):
        return np.full(given.shape, np.nan)
    # equal targets are in one block whatever the view
    tied = np.append(True, (wanted[1:] != wanted[:-1]) | (row[1:] != row[:-1]))
    first = np.flatnonzero(tied)
    many = np.diff(np.append(first, len(row))).astype(np.float64)
    block = pool(many * wanted[first] - np.add.reduceat(seen, first), many, row[first])[np.cumsum(tied) - 1]
    size = np.bincount(block)
    start = np.cumsum(size) - size
    above = wanted - wanted[start][block]
    mean_above, mean_view = (np.bincount(block, weights=w) / size for w in (above, seen))
    ranked = np.full(flat.shape, np.nan)
    ranked[there] = (above - mean_above[block]) + mean_view[block]
    out = np.empty(flat.shape)
    np.put_along_axis(out, order, ranked, axis=1)
    return out.reshape(given.shape)


def excess(exposure: Floats, view: Floats) -> tuple[float, int]:
    """By how much an exposure fails to be achievable, and for which number of documents.

    Parameters
    ----------
    exposure, view
        ``[n]``, both sorted descending.

    Returns
    -------
    tuple
        The largest of ``sum of the k largest exposures - sum of the k largest views`` over k and, for k = n, its
        absolute value; and that k.

    Examples
    --------
    >>> excess(np.array([1.0, 0.0]), np.array([0.75, 0.5]))
    (0.25, 1)
    """
    over = np.cumsum(exposure) - np.cumsum(view)
    over[-1] = abs(over[-1])
    worst = int(np.argmax(over))
    return float(over[worst]), worst + 1


def decompose_exposure(exposure: ArrayLike, view: ArrayLike, tol: float = 1e-10) -> tuple[Integers, Floats]:
    """An achievable exposure as a mixture of at most n rankings.

    ``sum_r p_r view[rank of d in ranking r] = exposure_d``; which of the many mixtures is not unique.

    Parameters
    ----------
    exposure
        ``[n]``; NaN where there is no document.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.
    tol
        By how much sums of exposure may pass those of view.

    Returns
    -------
    rankings
        ``[m, n]``, m <= n: positions of documents in ``exposure``, best first.
    probabilities
        ``[m]``, above 0, summing to 1.

    Examples
    --------
    >>> rankings, probabilities = decompose_exposure([0.75, 0.75], [1.0, 0.5])
    >>> rankings.tolist(), probabilities.tolist()
    ([[1, 0], [0, 1]], [0.5, 0.5])
    """
    given = np.asarray(exposure, dtype=np.float64)
    if given.ndim != 1:
        raise LightmeterError(f"exposure has {given.ndim} dimensions. Accepted: one query's exposures.")
    order = np.argsort(-given, kind="stable")[: int((~np.isnan(given)).sum())]
    n = len(order)
    if n == 0:
        return np.empty((0, 0), dtype=np.int64), np.empty(0)
    seen = ranked_views(view, np.array([n]), n)[0]
    over, k = excess(given[order], seen)
    if not over <= tol:
        some = f"the {k} largest sum" if k < n else "all sum"
        raise LightmeterError(
            f"no policy has this exposure: {some} to {given[order][:k].sum():.6g}, the views of {k} ranks to "
            f"{seen[:k].sum():.6g}, {over:.3g} apart. Accepted: within {tol:g}, such as project(exposure, view)."
        )
    sums = np.append(0.0, np.cumsum(seen))
    slack = np.maximum(sums - np.append(0.0, np.cumsum(given[order])), 0.0)
    reversals, probabilities = _walks(sums, slack)
    rankings = np.empty((len(reversals), n), dtype=np.int64)
    padded = np.append(np.asarray(view, dtype=np.float64), np.zeros(n))[:n]
    at = np.argsort(-padded, kind="stable")
    for ranking, source in zip(rankings, reversals, strict=True):
        ranking[at] = order[source]
    return rankings, probabilities


def _walks(sums: Floats, slack: Floats) -> tuple[list[Integers], Floats]:
    """Rankings, as which of the sorted documents stands at each rank, and their probabilities.

    ``sums`` are the cumulative views, ``slack`` what the cumulative exposures lack: 0 where a block ends.
    """
    n = len(sums) - 1
    tiny = 1e-15 * sums[-1]
    slack[[0, n]] = 0.0
    ends = np.flatnonzero(slack <= tiny)
    start, end = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)  # of the block around k
    for left, right in itertools.pairwise(ends.tolist()):
        start[left + 1 : right + 1], end[left + 1 : right + 1] = left, right
    weight = 1.0
    sources, probabilities = [], []
    inside = np.flatnonzero(slack > tiny)
    while len(inside):
        a, b = start[inside], end[inside]
        lacking = slack[inside]
        away = sums[inside] - sums[a] - sums[b] + sums[a + b - inside] - lacking
        with np.errstate(divide="ignore"):
            step = np.where(away > 0, lacking / away, np.inf)
        length = step.min()
        if not np.isfinite(length):
            break
        sources.append(start[1:] + end[1:] - 1 - np.arange(n))
        probabilities.append(weight * length / (1.0 + length))
        weight /= 1.0 + length
        lacking = lacking - length * away
        tight = (lacking <= tiny) | (step == length)
        slack[inside] = np.where(tight, 0.0, lacking)
        for k in inside[tight].tolist():
            left, right = int(start[k]), int(end[k])
            end[left + 1 : k + 1], start[k + 1 : right + 1] = k, k
        inside = inside[~tight]
    sources.append(np.arange(n))
    probabilities.append(weight)
    return sources, np.asarray(probabilities)


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
            rankings, chance = decompose_exposure(one["exposure"].to_numpy(), views(reader, len(one), cutoff), tol=1e-9)
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
    from lightmeter.io.columns import identifiers, numbers
    from lightmeter.io.frames import to_polars
    from lightmeter.io.tables import Source

    if isinstance(given, Mapping):
        rows = [(str(q), str(d), x) for q, docs in given.items() for d, x in docs.items()]
        given = pl.DataFrame(rows, schema=["query", "doc", "exposure"], orient="row", strict=False)
    frame, source = to_polars(given, "exposures"), Source("exposures")
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
