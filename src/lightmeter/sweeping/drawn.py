"""Rank transposition for users who read the documents: rankings drawn, one path of swaps for all values of theta.

A geometric number of steps is a sum of independent parts, so a path that goes on swapping passes, as theta falls,
through a draw for each theta: from theta to theta' it takes 0 further steps with probability ``theta'/theta``, else
``1 + Geometric(theta')``. Each query has paths of its own, so that its error is independent of the others'.

Exposure e_a of path a is corrected by what is known exactly (a control variate): a user who goes on from rank k with
the probability that the reader has there on average, ``L C_k + (1 - L) mean(C)``, has view V of the rank alone, and
``e_a - V at the rank + E V`` has the same expectation as e_a and a fraction of its variance.

EED is estimated without bias, ``(||sum e_a||^2 - sum ||e_a||^2) / (N (N - 1))``. Every estimate comes with those that
leave one path out in turn, from which errors of means, curves and areas follow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lightmeter.exposure.transposition import staying
from lightmeter.sums import sum_by
from lightmeter.sweeping.candidates import Candidates
from lightmeter.users import User

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


class Draws:
    """EED and EER of one block at falling theta, with their estimates that leave a path out.

    Parameters
    ----------
    candidates
        The lists.
    user, cutoff
        The reader, whose continuation belongs to the document.
    paths
        N, at least 3.
    rng
        The source of randomness.
    """

    def __init__(
        self, candidates: Candidates, user: User, cutoff: int | None, paths: int, rng: np.random.Generator
    ) -> None:
        self.candidates, self.paths, self.rng = candidates, paths, rng
        there = candidates.block.valid
        self.there, self.lengths = there, candidates.lengths
        self.go_on = np.where(there, user.continuation(np.where(there, candidates.grade, 0.0)), 1.0)
        self.cutoff = there.shape[1] if cutoff is None else min(cutoff, there.shape[1])
        self.mean = np.where(there, self.go_on, 0.0).sum(axis=1) / np.maximum(self.lengths, 1)

    def at(self, thetas: Array, bys: list[str | None]) -> Iterator[dict[str | None, tuple[Array, Array]]]:
        """For each theta, which must fall, and each way of counting: EED and EER ``[1 + N, rankings]``.

        The first row is the estimate, the others leave a path out.
        """
        queries, width = self.there.shape
        lane_length = np.repeat(self.lengths, self.paths)
        order = np.tile(np.arange(width, dtype=np.int32), (queries * self.paths, 1))
        before, steps = 1.0, np.zeros(len(order), dtype=np.int64)
        enough = (np.maximum(lane_length, 1) * (np.log(np.maximum(lane_length, 1)) + 40.0)).astype(np.int64)
        for theta in thetas.tolist():
            gone = self._further(before, theta, len(order))
            after = steps + gone
            _swap(order, np.abs(_capped(after, enough) - _capped(steps, enough)), lane_length, self.rng)
            before, steps = theta, after
            yield self._estimates(order, theta, bys)

    def _further(self, before: float, theta: float, size: int) -> Codes:
        stays = self.rng.random(size) < theta / before
        # by inversion, which takes any theta; nobody waits for the far end of the tail
        more = 1.0 + np.floor(np.log1p(-self.rng.random(size)) / np.log1p(-theta)) if theta < 1 else np.ones(size)
        return np.where(stays, 0.0, np.minimum(more, 1e15)).astype(np.int64)

    def _estimates(
        self, order: NDArray[np.int32], theta: float, bys: list[str | None]
    ) -> dict[str | None, tuple[Array, Array]]:
        queries, width = self.there.shape
        lane = np.repeat(np.arange(queries), self.paths)
        seen = np.ones(order.shape)
        np.cumprod(self.go_on[lane[:, None], order[:, :-1]], axis=1, out=seen[:, 1:])
        stay = staying(self.lengths, theta)[:, None]
        average = np.ones(self.there.shape)
        np.cumprod((stay * self.go_on + (1.0 - stay) * self.mean[:, None])[:, :-1], axis=1, out=average[:, 1:])
        average = np.where(self.there, average, 0.0)
        average[:, self.cutoff :] = 0.0
        known = stay * average + (1.0 - stay) * (average.sum(axis=1) / np.maximum(self.lengths, 1))[:, None]
        seen[:, self.cutoff :] = 0.0
        seen = (seen.reshape(queries, self.paths, width) - average[:, None, :]).reshape(order.shape)
        exposure = np.empty(order.shape)
        np.put_along_axis(exposure, order, seen, axis=1)
        cube = exposure.reshape(queries, self.paths, width)
        cube += known[:, None, :]
        cube *= self.there[:, None, :]
        return {by: self._squares(cube, by) for by in bys}

    def _squares(self, exposure: Array, by: str | None) -> tuple[Array, Array]:
        if by is None:
            total = exposure.sum(axis=1)
            return _leaving_out(
                np.einsum("qn,qn->q", total, total),
                np.einsum("qan,qn->aq", exposure, total),
                np.einsum("qan,qan->aq", exposure, exposure),
                np.einsum("qan,qn->aq", exposure, self.candidates.target),
            )
        items, queries = self.candidates.items[by], len(exposure)
        xi = items.gather @ np.moveaxis(exposure, 1, 2).reshape(-1, self.paths)  # [items, paths]
        sums = np.asarray(xi.sum(axis=1))

        def by_query(value: Array) -> Array:
            return np.stack([sum_by(items.query, column, queries) for column in value.T])

        return _leaving_out(
            sum_by(items.query, sums**2, queries),
            by_query(xi * sums[:, None]),
            by_query(xi**2),
            by_query(xi * items.target[:, None]),
        )


def _leaving_out(whole: Array, dot: Array, norm: Array, toward: Array) -> tuple[Array, Array]:
    """EED and EER ``[1 + N, queries]`` from ``||S||^2``, ``S.e_a``, ``||e_a||^2``, ``e_a.eps*``; ``S = sum e_a``."""
    n = len(norm)
    top = whole - norm.sum(axis=0)
    eed = np.vstack([top[None] / (n * (n - 1)), (top - 2.0 * (dot - norm)) / ((n - 1) * (n - 2))])
    total = toward.sum(axis=0)
    return eed, np.vstack([total[None] / n, (total - toward) / (n - 1)])


def _capped(steps: Codes, enough: Codes) -> Codes:
    """Steps after which only the parity of a permutation tells where it came from are reduced, by an even number."""
    return np.where(steps < enough, steps, enough + ((steps - enough) & 1))


def _swap(order: NDArray[np.int32], steps: Codes, length: Codes, rng: np.random.Generator) -> None:
    """Swap, in place, as many uniformly chosen pairs of places of each list as it is given steps."""
    steps = np.where(length > 1, steps, 0)
    lanes = np.argsort(-steps, kind="stable")
    falling = steps[lanes]
    active = np.searchsorted(-falling, -np.arange(1, int(falling.max(initial=0)) + 1), side="right")
    for count in active:
        rows = lanes[:count]
        n = length[rows]
        first = (rng.random(count) * n).astype(np.int64)
        second = (first + 1 + (rng.random(count) * (n - 1)).astype(np.int64)) % n
        order[rows, first], order[rows, second] = order[rows, second], order[rows, first]
