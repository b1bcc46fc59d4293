"""Random streams, and the bootstrap over queries: sampled with replacement, sums over them added anew.

A replicate needs no second look at the data. Each estimator states per query the sums that it consists of, a row of a
sparse matrix; a replicate weights the rows by how often it sampled each query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lightmeter.arrays import Floats, Integers, Rng
from lightmeter.errors import seed

_AT_A_TIME = 1 << 21


def draws(queries: int, resamples: int, rng: np.random.Generator, *, wide: int = 1) -> Iterator[Floats]:
    """How often each replicate samples each query, ``[some replicates, queries]`` at a time.

    ``wide``: how many sums a replicate has, which bounds the memory too.
    """
    some = max(1, _AT_A_TIME // max(queries, wide))
    for start in range(0, resamples, some):
        n = min(some, resamples - start)
        sampled = rng.integers(0, queries, size=(n, queries)) + np.arange(n)[:, None] * queries
        yield np.bincount(sampled.ravel(), minlength=n * queries).reshape(n, queries).astype(np.float64)


def by_query(query: Integers, column: Integers, amount: Floats, shape: tuple[int, int]) -> Any:
    """A sparse matrix of sums: ``amount`` added up by query and column."""
    from scipy.sparse import coo_array

    return coo_array((amount, (query, column)), shape=shape).tocsr()


def resampled(sums: Any, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Sums of the replicates, ``[some replicates, columns]`` at a time, from the sums by query."""
    turned = sums.T.tocsr()
    for weight in draws(sums.shape[0], resamples, rng, wide=sums.shape[1]):
        yield (turned @ weight.T).T


def stream(rng: Rng) -> np.random.Generator:
    """A generator of random numbers from a seed; a generator is taken as it is."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(seed(rng))


def streams(rng: Rng, number: int) -> list[np.random.Generator]:
    """Independent generators, one for each piece of work, so that samples do not depend on the number of threads."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed(rng)).spawn(number)]
