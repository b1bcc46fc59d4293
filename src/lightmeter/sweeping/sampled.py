"""Rank transposition for users who read the documents: sampled rankings, one path of swaps for all values of theta.

A geometric number of steps is a sum of independent parts, so a path that goes on swapping passes, as theta falls,
through a sample for each theta: from theta to theta' it takes 0 further steps with probability ``theta'/theta``, else
``1 + Geometric(theta')``. Each query has paths of its own, so that its error is independent of the others'.

Exposure e_a of path a is corrected by what is known exactly (a control variate): a user who goes on from rank k with
the probability that the user model has there on average, ``L C_k + (1 - L) mean(C)``, has view V of the rank alone, and
``e_a - V at the rank + E V`` has the same expectation as e_a and a fraction of its variance.

EED is estimated without bias, ``(||sum e_a||^2 - sum ||e_a||^2) / (N (N - 1))``. Every estimate comes with those that
leave a group of paths out in turn (a path, where there are few), from which errors of means, curves and areas follow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.data.values import sum_by
from lightmeter.exposure.transposition import staying
from lightmeter.models.users import User
from lightmeter.sweeping.candidates import Candidates

#: Groups of paths, and ranks of sampled rankings that are worked on at once.
GROUPS = 48
CELLS = 1 << 20


def groups_of(paths: int) -> int:
    """Number of groups of paths: one each, where they are few."""
    return min(paths, GROUPS)


class Draws:
    """EED and EER of one block at falling theta, with their estimates that leave some paths out.

    Parameters
    ----------
    candidates
        The lists.
    user, cutoff
        The user model, whose continuation belongs to the document.
    paths
        N, at least 3; in G groups of like size.
    rng
        The source of randomness.
    """

    def __init__(
        self, candidates: Candidates, user: User, cutoff: int | None, paths: int, rng: np.random.Generator
    ) -> None:
        self.candidates, self.paths, self.rng = candidates, paths, rng
        groups = groups_of(paths)
        self.starts: Integers = np.arange(groups) * paths // groups
        there = candidates.block.valid
        self.there, self.lengths = there, candidates.lengths
        self.go_on = np.where(there, user.continuation(np.where(there, candidates.grade, 0.0)), 1.0)
        self.cutoff = there.shape[1] if cutoff is None else min(cutoff, there.shape[1])
        self.mean = np.where(there, self.go_on, 0.0).sum(axis=1) / np.maximum(self.lengths, 1)

    def at(self, thetas: Floats, bys: list[str | None]) -> Iterator[dict[str | None, tuple[Floats, Floats]]]:
        """For each theta, which must fall, and each way of counting: EED and EER ``[1 + G, rankings]``.

        The first row is the estimate, the others leave a group of paths out.
        """
        queries, width = self.there.shape
        lane_length = np.repeat(self.lengths, self.paths)
        order = np.tile(np.arange(width, dtype=np.int32), (queries * self.paths, 1))
        before, steps = 1.0, np.zeros(len(order), dtype=np.int64)
        enough = (np.maximum(lane_length, 1) * (np.log(np.maximum(lane_length, 1)) + 40.0)).astype(np.int64)
        for theta in thetas.tolist():
            further = self._further(before, theta, len(order))
            after = steps + further
            _swap(order, np.abs(_capped(after, enough) - _capped(steps, enough)), lane_length, self.rng)
            before, steps = theta, after
            yield self._estimates(order, theta, bys)

    def _further(self, before: float, theta: float, size: int) -> Integers:
        stays = self.rng.random(size) < theta / before
        # by inversion, which works for any theta and does not wait for the far end of the tail
        more = 1.0 + np.floor(np.log1p(-self.rng.random(size)) / np.log1p(-theta)) if theta < 1 else np.ones(size)
        return np.where(stays, 0.0, np.minimum(more, 1e15)).astype(np.int64)

    def _estimates(self, order: Codes, theta: float, bys: list[str | None]) -> dict[str | None, tuple[Floats, Floats]]:
        """EED and EER ``[1 + G, rankings]`` by each way of counting, from what the groups of paths sum up to."""
        average, known = self._known(theta)
        width = self.there.shape[1]
        lanes = order.reshape(len(self.there), self.paths, width)
        step = max(CELLS * len(self.starts) // max(lanes.size, 1), 1)
        sums: dict[str | None, list[list[Floats]]] = {by: [] for by in bys}
        for i in range(0, len(self.starts), step):  # a few groups at a time, to stay in memory
            first = self.starts[i]
            last = self.starts[i + step] if i + step < len(self.starts) else self.paths
            exposure = self._exposure(lanes[:, first:last], average, known)
            for by in bys:
                sums[by].append(self._sums(exposure, self.starts[i : i + step] - first, by))
        joined = {by: [np.concatenate(part) for part in zip(*sums[by], strict=True)] for by in bys}
        return {by: self._leaving_out(by, *parts) for by, parts in joined.items()}

    def _known(self, theta: float) -> tuple[Floats, Floats]:
        """View V by rank of the user model that minds no document, and its expectation by document."""
        stay = staying(self.lengths, theta)[:, None]
        average = np.ones(self.there.shape)
        np.cumprod((stay * self.go_on + (1.0 - stay) * self.mean[:, None])[:, :-1], axis=1, out=average[:, 1:])
        average = np.where(self.there, average, 0.0)
        average[:, self.cutoff :] = 0.0
        whole = (average.sum(axis=1) / np.maximum(self.lengths, 1))[:, None]
        return average, stay * average + (1.0 - stay) * whole

    def _exposure(self, order: Codes, average: Floats, known: Floats) -> Floats:
        """Corrected exposure ``[rankings, paths, n]`` by document."""
        seen = np.ones(order.shape)
        go_on = np.take_along_axis(self.go_on[:, None, :], order[:, :, :-1], axis=2)
        np.cumprod(go_on, axis=2, out=seen[:, :, 1:])
        seen[:, :, self.cutoff :] = 0.0
        seen -= average[:, None, :]
        exposure = np.empty(order.shape)
        np.put_along_axis(exposure, order, seen, axis=2)
        exposure += known[:, None, :]
        exposure *= self.there[:, None, :]
        return exposure

    def _sums(self, exposure: Floats, starts: Integers, by: str | None) -> list[Floats]:
        """Of each group of paths: sums of exposure ``[groups, items]``, and of ``||e_a||^2`` ``[groups, rankings]``."""
        if by is None:
            total = np.moveaxis(np.add.reduceat(exposure, starts, axis=1), 1, 0)
            norm = np.einsum("qan,qan->aq", exposure, exposure)
            return [total.reshape(len(starts), -1), np.add.reduceat(norm, starts, axis=0)]
        items = self.candidates.items[by]
        xi = items.gather @ np.moveaxis(exposure, 1, 2).reshape(-1, exposure.shape[1])  # [items, paths]
        square = np.add.reduceat(xi**2, starts, axis=1)
        return [np.add.reduceat(xi, starts, axis=1).T, self._by_ranking(square.T, by)]

    def _by_ranking(self, value: Floats, by: str | None) -> Floats:
        """Sums ``[.., rankings]`` of values by item ``[.., items]``."""
        if by is None:
            return np.asarray(value.reshape(len(value), *self.there.shape).sum(axis=2))
        query = self.candidates.items[by].query
        return np.stack([sum_by(query, row, len(self.there)) for row in value])

    def _leaving_out(self, by: str | None, sums: Floats, norm: Floats) -> tuple[Floats, Floats]:
        """The estimates from all paths, and those that leave a group out."""
        n, size = self.paths, np.diff(np.append(self.starts, self.paths))[:, None]
        target = self.candidates.target.ravel() if by is None else self.candidates.items[by].target
        total = sums.sum(axis=0)
        rest = total - sums
        whole, square = self._by_ranking(np.stack([total**2, total * target]), by), norm.sum(axis=0)
        eed = (self._by_ranking(rest**2, by) - (square - norm)) / ((n - size) * (n - size - 1.0))
        eer = self._by_ranking(rest * target, by) / (n - size)
        return np.vstack([(whole[0] - square)[None] / (n * (n - 1.0)), eed]), np.vstack([whole[1][None] / n, eer])


def _capped(steps: Integers, enough: Integers) -> Integers:
    """Steps after which only the parity of a permutation matters are reduced, by an even number."""
    return np.where(steps < enough, steps, enough + ((steps - enough) & 1))


def _swap(order: Codes, steps: Integers, length: Integers, rng: np.random.Generator) -> None:
    """Swap, in place, as many uniformly chosen pairs of ranks of each list as it is given steps."""
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
