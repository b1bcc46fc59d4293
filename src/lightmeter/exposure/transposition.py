"""Rank transposition: a random number of random swaps of a given ranking.

The number of steps m is geometric, ``P(m) = theta (1 - theta)^m`` for m = 0, 1, .., and a step swaps two distinct
positions, each pair as likely as the others. One step leaves a document at its rank with probability ``1 - 2/n`` and is
otherwise indifferent, so for any user who knows the rank only

    ``E[M] = L I + (1 - L) / n``, ``L = theta / (1 - (1 - theta) lam)``, ``lam = 1 - 2/(n - 1)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError


def staying(n: ArrayLike, theta: float) -> Floats:
    """L, the weight of the given ranking in the rank marginals: ``theta / (1 - (1 - theta) lam)``.

    Parameters
    ----------
    n
        Numbers of documents; L is 1 where there is one or none.
    theta
        Probability of stopping before each step, in [0, 1]; 0 is the limit of endless swapping.

    Returns
    -------
    array
        L, of the shape of ``n``.

    Examples
    --------
    >>> staying([1, 2, 11], 0.5).round(6).tolist()
    [1.0, 0.333333, 0.833333]
    """
    if not 0 <= theta <= 1:
        raise LightmeterError(f"theta is {theta:g}. Accepted: a probability from 0 to 1.")
    count = np.asarray(n, dtype=np.float64)
    lam = 1.0 - 2.0 / np.maximum(count - 1.0, 1.0)
    return np.where(count > 1, theta / (1.0 - (1.0 - theta) * lam), 1.0)


def transposition_marginals(n: int, theta: float, depth: int | None = None) -> Floats:
    """Probability that the document given at rank i ends at rank k.

    ``E[M] = L I + (1 - L) / n``.

    Parameters
    ----------
    n
        Number of documents.
    theta
        Probability of stopping before each step.
    depth
        Ranks k to return; all n by default.

    Returns
    -------
    array
        ``[n, depth]``.

    Examples
    --------
    >>> transposition_marginals(2, 0.5).round(6).tolist()
    [[0.666667, 0.333333], [0.333333, 0.666667]]
    """
    depth = n if depth is None else depth
    stay = staying(n, theta)
    out = np.full((n, depth), (1.0 - stay) / max(n, 1))
    np.fill_diagonal(out, out.diagonal() + stay)
    out[:, n:] = 0.0
    return out


def transposition_exposure(view: ArrayLike, theta: float, lengths: ArrayLike | None = None) -> Floats:
    """Expected exposure by the rank a document has in the given ranking, for users who know the rank only.

    ``eps_i = L view_i + (1 - L) mean(view)``, the mean over all n ranks.

    Parameters
    ----------
    view
        ``[n]``, or ``[queries, n]``: view of each rank, 0 below a cutoff.
    theta
        Probability of stopping before each step.
    lengths
        ``[queries]``: number of documents of each query, n by default.

    Returns
    -------
    array
        ``[n]`` or ``[queries, n]``; 0 after the last document.

    Examples
    --------
    >>> transposition_exposure([1.0, 0.5, 0.25], 1.0).tolist()
    [1.0, 0.5, 0.25]
    >>> transposition_exposure([1.0, 0.5, 0.25], 0.0, lengths=[2]).tolist()
    [[0.75, 0.75, 0.0]]
    """
    seen = np.asarray(view, dtype=np.float64)
    n = seen.shape[-1]
    if lengths is None:
        count = np.full(seen.shape[:-1], n)
    else:
        count = np.asarray(lengths, dtype=np.int64)
    there = np.arange(n) < count[..., None]
    seen = np.where(there, seen, 0.0)
    stay = staying(count, theta)[..., None]
    mean = (seen.sum(axis=-1) / np.maximum(count, 1))[..., None]
    return np.where(there, stay * seen + (1.0 - stay) * mean, 0.0)


def sample_transpositions(rng: np.random.Generator, n: int, theta: float, size: int) -> Integers:
    """Draw rankings.

    Swaps beyond ``n (ln n + 40)``, after which only the parity of the permutation is left of the start (up to 1e-16 in
    total variation), are reduced to one or none of the same parity.

    Parameters
    ----------
    rng
        The source of randomness; the draws depend on nothing else.
    n
        Number of documents.
    theta
        Probability of stopping before each step; 0 gives uniform rankings.
    size
        Number of rankings.

    Returns
    -------
    array
        ``[size, n]``: which document of the given ranking stands at each rank.

    Examples
    --------
    >>> sample_transpositions(np.random.default_rng(0), 4, 1.0, 2).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    staying(n, theta)
    order = np.tile(np.arange(n), (size, 1))
    if n < 2 or size == 0 or theta == 1:
        return order
    if theta == 0:
        return rng.permuted(order, axis=1)
    enough = int(n * (np.log(n) + 40.0))
    # by inversion, which takes any theta; what goes on for longer than enough has a geometric number of steps left
    drawn = np.log1p(-rng.random(size)) / np.log1p(-theta)
    odd = rng.random(size) < (1.0 - theta) / (2.0 - theta)
    steps = np.where(drawn < enough, np.floor(np.minimum(drawn, enough)), enough + odd).astype(np.int64)
    falling = np.argsort(-steps, kind="stable")
    order_of_work = order[falling]
    active = size - np.searchsorted(np.sort(steps), np.arange(int(steps.max(initial=0))), side="right")
    for count in active:
        rows = np.arange(count)
        first = rng.integers(n, size=count)
        second = (first + 1 + rng.integers(n - 1, size=count)) % n
        order_of_work[rows, first], order_of_work[rows, second] = (
            order_of_work[rows, second],
            order_of_work[rows, first],
        )
    out = np.empty_like(order)
    out[falling] = order_of_work
    return out
