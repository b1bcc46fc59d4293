"""The frontier: the most relevance (EER) at each disparity (EED) of any policy, for users who know the rank only.

A policy is on it when its exposure is the projection of s times the target onto the expohedron, for s from 0 (uniform)
to infinity (the oracle); from there it goes on flat. With documents by falling target the projection is the mean view
plus s times the deviation from the mean target, block by block, and as s grows blocks only split. Where a block of a
documents with mean target t and mean view v parts from one of b with t', v' (at s = (v - v')/(t - t')), with
c = a b/(a + b):

    ``EED(s) = EED(0) + sum_{splits below s} c (v - v')^2 + s^2 sum_{splits above s} c (t - t')^2``,
    ``EER(s) = EER(0) + sum_{splits below s} c (v - v') (t - t') + s sum_{splits above s} c (t - t')^2``.

Between splits the frontier is a parabola, so its points, its height at any EED and its area are exact. The mean over
queries of frontiers in units of their own, x = EED/X and y = EER/Y, is swept by one mu with s = mu X/Y: again such
parabolas, with the splits of all queries.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.exposure.expohedron import ranked_views

LARGEST = 1e100  # scale of a split; targets that differ by less than that are equal


@dataclass(frozen=True, eq=False)
class Frontier:
    """A frontier, exactly: where it starts, and its splits by rising scale.

    Parameters
    ----------
    x, y
        EED and EER (or what they were rescaled to) of the uniform policy.
    scale
        ``[splits]``: s of each split, ascending.
    views, cross, targets
        ``[splits]``: ``c (v - v')^2``, ``c (v - v') (t - t')`` and ``c (t - t')^2``.

    Examples
    --------
    >>> line = frontiers([1.0, 0.0], [1.0, 0.5])[0]
    >>> line.points([0.0, 0.25, np.inf])
    (array([1.125  , 1.15625, 1.25   ]), array([0.75 , 0.875, 1.   ]))
    """

    x: float
    y: float
    scale: Floats
    views: Floats
    cross: Floats
    targets: Floats

    def _pieces(self) -> tuple[Floats, Floats, Floats]:
        """Of each piece between splits: x and y of what is split, and the sum of targets of what is not."""
        x = self.x + np.append(0.0, np.cumsum(self.views))
        y = self.y + np.append(0.0, np.cumsum(self.cross))
        return x, y, np.append(np.cumsum(self.targets[::-1])[::-1], 0.0)

    def points(self, scale: ArrayLike) -> tuple[Floats, Floats]:
        """x and y at given s, which may be infinite: the oracle."""
        s = np.asarray(scale, dtype=np.float64)
        if not (s >= 0).all():
            raise LightmeterError("a scale is negative or missing. Accepted: numbers from 0 to infinity.")
        x, y, rest = self._pieces()
        i = np.searchsorted(self.scale, s)
        slope = rest[i] * np.where(rest[i] > 0, s, 0.0)
        return x[i] + slope * np.where(rest[i] > 0, s, 0.0), y[i] + slope

    @property
    def end(self) -> tuple[float, float]:
        """x and y of the oracle."""
        x, y, _ = self._pieces()
        return float(x[-1]), float(y[-1])

    def height(self, x: ArrayLike) -> Floats:
        """The largest y at given x: flat after the oracle, NaN before the uniform policy."""
        at = np.asarray(x, dtype=np.float64)
        base, y, rest = self._pieces()
        i = np.searchsorted(self.points(self.scale)[0], at)
        out = y[i] + np.sqrt(rest[i] * np.maximum(at - base[i], 0.0))
        return np.where(at < self.x - 1e-12 * max(1.0, abs(self.x)), np.nan, out)

    def scale_at(self, x: ArrayLike) -> Floats:
        """The scale at which the frontier passes given x: 0 up to the uniform policy, infinite from the oracle on."""
        at = np.asarray(x, dtype=np.float64)
        base, _, rest = self._pieces()
        i = np.searchsorted(self.points(self.scale)[0], at)
        low = np.append(0.0, self.scale)[i]
        s = np.sqrt(np.maximum(at - base[i], 0.0) / np.where(rest[i] > 0, rest[i], 1.0))
        return np.where(rest[i] > 0, np.clip(s, low, np.append(self.scale, np.inf)[i]), np.inf)

    def area(self) -> float:
        """Exact area over x in [0, 1], flat after the oracle (and before uniform, where that is not at 0)."""
        _, y, rest = self._pieces()
        low, high = np.append(0.0, self.scale[:-1]), self.scale
        y, rest = y[:-1], rest[:-1]
        # the antiderivative of y dx = (y + rest s) 2 rest s ds
        risen = rest * (high - low) * (high + low)
        cubes = rest * (high - low) * rest * (high * high + high * low + low * low)
        end_x, end_y = self.end
        return float(self.x * self.y + (y * risen).sum() + 2.0 / 3.0 * cubes.sum() + (1.0 - end_x) * end_y)

    def curve(self, points: int = 51) -> tuple[Floats, Floats]:
        """Points from the uniform policy to the oracle, denser where the frontier is steep."""
        x = self.x + (self.end[0] - self.x) * np.linspace(0.0, 1.0, points) ** 2
        return np.append(x[:-1], self.end[0]), np.append(self.height(x[:-1]), self.end[1])

    def rescaled(self, x_origin: float, x_scale: float, y_origin: float, y_scale: float) -> Frontier:
        """In other units: ``(x - x_origin)/x_scale``, ``(y - y_origin)/y_scale``, swept by mu = s y_scale/x_scale."""
        if not (x_scale > 0 and y_scale > 0):
            raise LightmeterError(f"a frontier's units are {x_scale:g} and {y_scale:g}. Accepted: numbers above 0.")
        ratio = y_scale / x_scale
        return Frontier(
            (self.x - x_origin) / x_scale,
            (self.y - y_origin) / y_scale,
            self.scale * ratio,
            self.views / x_scale,
            self.cross / y_scale,
            self.targets / (ratio * y_scale),
        )


def mean_frontier(parts: Sequence[Frontier], weight: ArrayLike | None = None) -> Frontier:
    """The frontier of mean curves: of the means of x and y over queries, each query free to choose its policy.

    ``mean_q x_q(mu), mean_q y_q(mu)``: the same mu for all, after each query's frontier was put into its own units.

    Parameters
    ----------
    parts
        Frontiers in the units of the curve (:meth:`Frontier.rescaled`).
    weight
        ``[queries]``: weight of each, alike by default.

    Returns
    -------
    Frontier
        The mean, exactly; its scale is mu.

    Examples
    --------
    >>> one, two = (f.rescaled(1.125, 0.125, 0.0, 1.0) for f in frontiers([[1.0, 0.0], [0.5, 0.0]], [1.0, 0.5]))
    >>> float(mean_frontier([one, two]).height(0.0))
    0.5625
    """
    if not parts:
        raise LightmeterError("there is no frontier to average. Accepted: at least one query with a frontier.")
    scale = np.concatenate([p.scale for p in parts])
    order = np.argsort(scale, kind="stable")
    share = np.ones(len(parts)) if weight is None else np.asarray(weight, dtype=np.float64)
    share = share / share.sum()
    each = np.repeat(share, [len(p.scale) for p in parts])
    columns = (
        (each * np.concatenate([getattr(p, name) for p in parts]))[order] for name in ("views", "cross", "targets")
    )
    x, y = (float(share @ [getattr(p, name) for p in parts]) for name in ("x", "y"))
    return Frontier(x, y, scale[order], *columns)


def frontiers(target: ArrayLike, view: ArrayLike) -> list[Frontier]:
    """The frontier of each query.

    Parameters
    ----------
    target
        ``[n]`` or ``[queries, n]``: target exposure of the candidates; NaN where there is no document.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.

    Returns
    -------
    list of Frontier
        One a query.

    Examples
    --------
    >>> frontiers([1.0, 0.0], [1.0, 0.5])[0].end
    (1.25, 1.0)
    """
    wanted = -np.sort(-np.atleast_2d(np.asarray(target, dtype=np.float64)), axis=1)
    if np.isinf(wanted).any():
        raise LightmeterError("a target is infinite. Accepted: finite numbers, and NaN where there is no document.")
    lengths = (~np.isnan(wanted)).sum(axis=1)
    seen = ranked_views(view, lengths, wanted.shape[1])
    return [_splits(t[:n], v[:n]) for t, v, n in zip(wanted, seen, lengths.tolist(), strict=True)]


def frontier_points(target: ArrayLike, view: ArrayLike, scale: ArrayLike) -> tuple[Floats, Floats]:
    """EED and EER of the projections of ``s target``: points of each query's frontier.

    Parameters
    ----------
    target
        ``[n]`` or ``[queries, n]``: target exposure of the candidates; NaN where there is no document.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.
    scale
        ``[points]``, or ``[queries, points]``: s, from 0 (uniform) to infinity (oracle).

    Returns
    -------
    eed, eer
        ``[queries, points]``.

    Examples
    --------
    >>> eed, eer = frontier_points([[1.0, 0.0]], [1.0, 0.5], [0.0, np.inf])
    >>> eed.tolist(), eer.tolist()
    ([[1.125, 1.25]], [[0.75, 1.0]])
    """
    parts = frontiers(target, view)
    given = np.asarray(scale, dtype=np.float64)
    scales = np.broadcast_to(given, (len(parts), given.shape[-1]))
    out = np.empty((2, *scales.shape))
    for q, part in enumerate(parts):
        out[:, q] = part.points(scales[q])
    return out[0], out[1]


def area(x: ArrayLike, y: ArrayLike, envelope: bool = False) -> float:
    """Area over [0, 1] of a curve given by points, joined by straight lines; flat before its first and after its last.

    Parameters
    ----------
    x, y
        ``[points]``, in the order of the parameter.
    envelope
        Where the curve turns back, take the largest y on it at each x; otherwise, sort by x.

    Returns
    -------
    float
        The area; NaN when a point is NaN.

    Examples
    --------
    >>> area([0.0, 1.0], [0.5, 1.0])
    0.75
    >>> area([0.0, 1.0, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0], envelope=True)
    0.5
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape or not len(xs):
        raise LightmeterError(f"x and y have shapes {xs.shape} and {ys.shape}. Accepted: two lists of equal length.")
    if np.isnan(xs).any() or np.isnan(ys).any():
        return float("nan")
    if not envelope:
        order = np.argsort(xs, kind="stable")
        xs, ys = xs[order], ys[order]
    first, last = np.argmin(xs), len(xs) - 1 - np.argmax(xs[::-1])
    a = np.concatenate([xs[:-1], [min(0.0, xs[first]), xs[last]]])
    c = np.concatenate([xs[1:], [xs[first], max(1.0, xs[last])]])
    b = np.concatenate([ys[:-1], ys[[first, last]]])
    d = np.concatenate([ys[1:], ys[[first, last]]])
    rising = np.where(c != a, (d - b) / np.where(c != a, c - a, 1.0), 0.0)
    if not envelope:
        low, high = np.clip(a, 0.0, 1.0), np.clip(c, 0.0, 1.0)
        return float((high - low) @ (b + rising * ((low + high) / 2.0 - a)))
    apart = np.subtract.outer(rising, rising)
    with np.errstate(over="ignore"):  # slopes that hardly differ cross far outside [0, 1]
        crossing = -np.subtract.outer(b - rising * a, b - rising * a)[apart != 0] / apart[apart != 0]
    knots = np.unique(np.clip(np.concatenate([[0.0, 1.0], a, c, crossing]), 0.0, 1.0))
    total = 0.0
    for i in range(0, len(knots) - 1, 512):
        part = knots[i : i + 513]
        middle = (part[1:] + part[:-1])[:, None] / 2.0
        over = (middle >= np.minimum(a, c)) & (middle <= np.maximum(a, c))
        total += float(np.diff(part) @ np.where(over, b + rising * (middle - a), -np.inf).max(axis=1))
    return total


def _splits(target: Floats, view: Floats) -> Frontier:
    """From the oracle's blocks (equal targets) downwards, join the neighbours that split last."""
    n = len(target)
    if n == 0:
        none = np.empty(0)
        return Frontier(0.0, 0.0, none, none, none, none)
    first = np.flatnonzero(np.append(True, target[1:] != target[:-1]))
    size = np.diff(np.append(first, n)).astype(np.float64).tolist()
    t = target[first].tolist()
    v = (np.add.reduceat(view, first) / size).tolist()
    after, before = list(range(1, len(t) + 1)), list(range(-1, len(t) - 1))
    heap = [((v[i] - v[i + 1]) / (t[i + 1] - t[i]), i, i + 1, size[i], size[i + 1]) for i in range(len(t) - 1)]
    heapq.heapify(heap)
    splits = []
    scale = np.inf
    while heap:
        minus, i, j, m, k = heapq.heappop(heap)
        if after[i] != j or size[i] != m or size[j] != k:
            continue  # a block has grown since
        scale = min(scale, -minus)
        share, dv, dt = m * k / (m + k), v[i] - v[j], t[i] - t[j]
        if scale < LARGEST:
            splits.append((scale, share * dv * dv, share * dv * dt, share * dt * dt))
        v[i], t[i], size[i] = (m * v[i] + k * v[j]) / (m + k), (m * t[i] + k * t[j]) / (m + k), m + k
        size[j] = 0.0
        after[i] = after[j]
        neighbours = []
        if after[i] < len(t):
            before[after[i]] = i
            neighbours.append((i, after[i]))
        if before[i] >= 0:
            neighbours.append((before[i], i))
        for a, b in neighbours:
            heapq.heappush(heap, ((v[a] - v[b]) / (t[b] - t[a]), a, b, size[a], size[b]))
    mean = float(view.mean())
    columns = np.array(splits, dtype=np.float64).reshape(-1, 4)[::-1].T
    return Frontier(n * mean * mean, mean * float(target.sum()), *columns)
