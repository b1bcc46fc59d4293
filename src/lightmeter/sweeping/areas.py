"""Areas below many curves at once."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.exposure.frontier import Frontier

#: Pairs of lines over intervals that are compared at once.
CELLS = 1 << 20


def areas(x: Floats, y: Floats, envelope: bool = False) -> Floats:
    """Area over [0, 1] of curves given by points, joined by straight lines; flat before the first and after the last.

    Parameters
    ----------
    x, y
        ``[curves, points]``, in the order of the parameter.
    envelope
        Where a curve turns back, take the largest y on it at each x; otherwise, sort by x.

    Returns
    -------
    array
        ``[curves]``; NaN where a point is NaN.

    Examples
    --------
    >>> areas(np.array([[0.0, 1.0], [0.0, 0.5]]), np.array([[0.5, 1.0], [0.0, 1.0]])).tolist()
    [0.75, 0.75]
    """
    x, y = np.atleast_2d(x), np.atleast_2d(y)
    known = ~(np.isnan(x) | np.isnan(y)).any(axis=1)
    back = (np.diff(x, axis=1) < 0).any(axis=1)
    out = np.full(len(x), np.nan)
    if envelope:
        for i in np.flatnonzero(known & back):
            out[i] = envelope_area(x[i], y[i])
        known &= ~back
    elif back.any():
        order = np.argsort(x, axis=1, kind="stable")
        x, y = np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)
    x, y = x[known], y[known]
    a, c, b, d = x[:, :-1], x[:, 1:], y[:, :-1], y[:, 1:]
    low, high = np.clip(a, 0.0, 1.0), np.clip(c, 0.0, 1.0)
    slope = np.divide(d - b, c - a, out=np.zeros(a.shape), where=c > a)
    inside = ((high - low) * (b + slope * ((low + high) / 2.0 - a))).sum(axis=1)
    ends = np.clip(x[:, 0], 0.0, 1.0) * y[:, 0] + (1.0 - np.clip(x[:, -1], 0.0, 1.0)) * y[:, -1]
    out[known] = inside + ends
    return out


def rough_areas(x: Floats, y: Floats, cells: int = 64) -> Floats:
    """Areas as :func:`areas` gives them with ``envelope``, by the middles of a few cells: for differences between many
    curves that are nearly the same, in which what the cells miss cancels.

    Examples
    --------
    >>> rough_areas(np.array([[0.0, 1.0, 0.5, 1.0]]), np.array([[0.0, 0.0, 1.0, 1.0]])).tolist()
    [0.5]
    """
    middle = (np.arange(cells) + 0.5) / cells
    at = np.arange(len(x))
    first, last = x.argmin(axis=1), x.shape[1] - 1 - x[:, ::-1].argmax(axis=1)
    highest = np.where(middle <= x[at, first][:, None], y[at, first][:, None], -np.inf)
    highest = np.where(middle >= x[at, last][:, None], np.maximum(highest, y[at, last][:, None]), highest)
    for i in range(x.shape[1] - 1):  # points are few, curves many
        a, c, b, d = x[:, i, None], x[:, i + 1, None], y[:, i, None], y[:, i + 1, None]
        over = (np.minimum(a, c) <= middle) & (middle <= np.maximum(a, c)) & (a != c)
        line = b + np.divide(middle - a, c - a, out=np.zeros(over.shape), where=over) * (d - b)
        highest = np.where(over, np.maximum(highest, line), highest)
    found: Floats = highest.mean(axis=1)
    return np.where(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1), np.nan, found)


def envelope_area(x: Floats, y: Floats) -> float:
    """Area over [0, 1] of the largest y that a curve has at each x; it may turn back.

    The curve is cut into runs that go one way; between neighbouring x of its points each run is one straight line, and
    the largest of a few lines is found where they cross.

    Examples
    --------
    >>> envelope_area(np.array([0.0, 1.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.5
    """
    first, last = int(np.argmin(x)), len(x) - 1 - int(np.argmax(x[::-1]))
    pieces = [np.array([[min(0.0, x[first]), y[first]], [x[first], y[first]]])]
    pieces += [np.array([[x[last], y[last]], [max(1.0, x[last]), y[last]]])]
    way = np.sign(np.diff(x))
    turns = np.flatnonzero(way[1:] != way[:-1]) + 1
    for start, stop in zip([0, *turns.tolist()], [*turns.tolist(), len(x) - 1], strict=True):
        run = np.column_stack([x[start : stop + 1], y[start : stop + 1]])
        pieces.append(run if way[start] >= 0 else run[::-1])
    knots = np.unique(np.clip(np.concatenate([[0.0, 1.0], x]), 0.0, 1.0))
    a, c = knots[:-1], knots[1:]
    left, right = np.full((len(pieces), len(a)), -np.inf), np.full((len(pieces), len(a)), -np.inf)
    for i, run in enumerate(pieces):
        if run[0, 0] == run[-1, 0]:
            continue
        at = np.clip(np.searchsorted(run[:, 0], (a + c) / 2.0) - 1, 0, len(run) - 2)
        over = (a >= run[0, 0]) & (c <= run[-1, 0])
        rise = (run[at + 1, 1] - run[at, 1]) / np.where(over, run[at + 1, 0] - run[at, 0], 1.0)
        left[i, over] = (run[at, 1] + rise * (a - run[at, 0]))[over]
        right[i, over] = (run[at, 1] + rise * (c - run[at, 0]))[over]
    # few at a time, to stay in memory: rounding can make as many pieces as there are points, and pairs of them count
    step = max(CELLS // len(pieces) ** 2, 1)
    parts = [
        _under_the_largest(left[:, i : i + step], right[:, i : i + step]) @ (c - a)[i : i + step]
        for i in range(0, len(a), step)
    ]
    return float(sum(parts))


def _under_the_largest(left: Floats, right: Floats) -> Floats:
    """Area below the largest of some lines over intervals of width 1.

    Parameters
    ----------
    left, right
        ``[lines, intervals]``: heights at both ends, -inf where a line is not over an interval.
    """
    here = np.isfinite(left).any(axis=1)
    left, right = left[here], right[here]
    # by the share of the way through an interval: its ends, and wherever two lines cross
    one, two = np.triu_indices(len(left), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        start, end = left[one] - left[two], right[one] - right[two]
        cross = start / (start - end)
    cross = np.where((cross > 0) & (cross < 1), cross, 0.0)
    none = np.zeros((1, left.shape[1]))
    share = np.sort(np.vstack([none, cross, none + 1.0]), axis=0)
    value = np.full(share.shape, -np.inf)
    for low, high in zip(left, right, strict=True):
        there = np.isfinite(low)
        value[:, there] = np.maximum(value[:, there], low[there] + share[:, there] * (high[there] - low[there]))
    return np.asarray((np.diff(share, axis=0) * (value[1:] + value[:-1]) / 2.0).sum(axis=0))


def frontier_areas(parts: list[Frontier], weight: Floats) -> Floats:
    """Areas of mean frontiers, each under weights of its own.

    Parameters
    ----------
    parts
        The frontier of each query in the units of the curve.
    weight
        ``[means, queries]``: weights of the queries, which sum to 1.

    Returns
    -------
    array
        ``[means]``.
    """
    owner = np.repeat(np.arange(len(parts)), [len(p.scale) for p in parts])
    scale = np.concatenate([p.scale for p in parts])
    order = np.argsort(scale, kind="stable")
    scale, owner = scale[order], owner[order]
    views, cross, targets = (
        np.concatenate([getattr(p, name) for p in parts])[order] for name in ("views", "cross", "targets")
    )
    x0, y0 = (np.array([getattr(p, name) for p in parts]) for name in ("x", "y"))
    low = np.append(0.0, scale[:-1])
    out = np.empty(len(weight))
    for i in range(0, len(weight), 64):  # a few at a time, to stay in the cache
        w = weight[i : i + 64]
        share = w[:, owner]
        x, y = w @ x0, w @ y0
        step = share * cross
        before = y[:, None] + np.cumsum(step, axis=1) - step
        rest = np.cumsum((share * targets)[:, ::-1], axis=1)[:, ::-1]
        risen = rest * (scale - low) * (scale + low)
        cubes = rest * (scale - low) * rest * (scale * scale + scale * low + low * low)
        end_x, end_y = x + (share * views).sum(axis=1), y + step.sum(axis=1)
        out[i : i + 64] = x * y + (before * risen).sum(axis=1) + 2.0 / 3.0 * cubes.sum(axis=1) + (1.0 - end_x) * end_y
    return out
