"""Where to put the points of a curve: close enough for its steps in disparity, and for areas, its queries' too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lightmeter.arrays import Booleans, Floats

STEP = 0.0185  # in x: below the 0.02 that is asked for
ROOT_STEP = 0.03  # in the root of x: relevance rises with it at first
AREA = 1e-4  # an area has to be as stable as this
SURE = 0.5  # of which an estimate of its error may take up so much
SLOW = 0.2  # a step along which a curve is slower than this, by its neighbour's pace, tells nothing of the neighbour
LONG = 0.03  # a step that is longer in t may hide anything
MOST = 600  # points of a curve
CLOSE = 1e-9  # coordinates that are nearer than this are one


def wide(t: Floats, x: Floats) -> Floats:
    """How many times too long each step is (1 or less: short enough).

    Examples
    --------
    >>> wide(np.array([0.0, 1.0]), np.array([0.5, 0.537])).round(2).tolist()
    [2.0]
    """
    root = np.sqrt(np.maximum(x, 0.0))
    return np.where(np.diff(t) > CLOSE, np.maximum(np.abs(np.diff(x)) / STEP, np.abs(np.diff(root)) / ROOT_STEP), 0.0)


def lost(t: Floats, x: Floats, y: Floats, envelope: bool) -> Floats:
    """About how much area, over x in [0, 1], the straight line of each step may leave out or add.

    A curve that bends evenly encloses ``c h^3 / 12`` with a step of length h in t, and c follows from the triangle of
    three points, of area ``c h g (h + g) / 4`` for steps h and g. The larger of what the triangles on both sides say
    is taken. A neighbour along which the curve all but stands still says nothing. Where both do, and in long steps, the
    curve may go any way from corner to corner of the step, and half the triangle below it is taken, or more.

    Where the area is that of the largest y, a curve that turns back has also to be known as far as it reaches: a
    parabola goes on for at most an eighth of what it moves, there and back, in two steps. (Both ends of a curve are
    taken for known: x goes from 0 to 1.)

    Parameters
    ----------
    t
        ``[points]``: coordinates, rising.
    x, y
        ``[curves, points]``.
    envelope
        Whether the area is that of the largest y at each x.

    Returns
    -------
    array
        ``[curves, steps]``.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> y = t**2
    >>> float(np.trapezoid(y, t).round(7)), float(lost(t, t[None], y[None], False).sum().round(7))
    (0.33335, 1.67e-05)
    """
    h, dx, dy = np.diff(t), np.diff(x), np.diff(y)
    triangle = np.abs(dx[:, :-1] * dy[:, 1:] - dx[:, 1:] * dy[:, :-1]) / 2.0
    g, k = h[:-1], h[1:]
    pace = np.hypot(dx, dy) / h
    tells_left, tells_right = pace[:, :-1] >= SLOW * pace[:, 1:], pace[:, 1:] >= SLOW * pace[:, :-1]
    none = np.zeros((len(x), 1))
    before = np.hstack([none, np.where(tells_left, triangle * k * k / (3.0 * g * (g + k)), 0.0)])
    after = np.hstack([np.where(tells_right, triangle * g * g / (3.0 * k * (g + k)), 0.0), none])
    told = np.hstack([none > 0, tells_left]) | np.hstack([tells_right, none > 0])
    between = np.maximum(np.maximum(before, after), np.where(told & (h <= LONG), 0.0, np.abs(dx * dy) / 4.0))
    low, high = np.minimum(x[:, :-1], x[:, 1:]), np.maximum(x[:, :-1], x[:, 1:])
    inside = np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0)
    seen = np.divide(inside, high - low, out=((low >= 0.0) & (high <= 1.0)).astype(np.float64), where=high > low)
    return between * seen + (further(dx, x, y) if envelope else 0.0)


def further(dx: Floats, x: Floats, y: Floats) -> Floats:
    """The part of :func:`lost` that comes from how far curves go before they turn back."""
    left, right = dx[:, :-1], dx[:, 1:]
    moved = np.where(left * right < 0, np.abs(left) + np.abs(right), 0.0)
    turn, height = x[:, 1:-1], (y - y.min(axis=1, keepdims=True))[:, 1:-1]
    reach = turn + np.sign(left) * moved / 8.0
    area = np.abs(np.clip(reach, 0.0, 1.0) - np.clip(turn, 0.0, 1.0)) * height
    # the step that moves more is the one to halve
    share = np.divide(np.abs(left), moved, out=np.zeros(moved.shape), where=moved > 0)
    none = np.zeros((len(x), 1))
    return np.asarray(np.hstack([area * share, none]) + np.hstack([none, area * (1.0 - share)]))


def unstable(error: Floats) -> Booleans:
    """Steps to halve: the fewest that bring the error of every curve's area down far enough.

    Halving a step leaves a quarter of its error.

    Parameters
    ----------
    error
        ``[curves, steps]``, as :func:`lost` gives it.

    Examples
    --------
    >>> unstable(np.array([[9e-5, 0.0, 1e-5], [1e-5, 2e-5, 0.0]])).tolist()
    [True, False, False]
    """
    whole = error.sum(axis=1)
    far = whole > SURE * AREA
    error, whole = error[far], whole[far]
    order = np.argsort(-error, axis=1, kind="stable")
    sorted_ = np.take_along_axis(error, order, axis=1)
    gone = np.cumsum(sorted_, axis=1) - sorted_  # before each
    enough = np.minimum((whole - SURE * AREA) / 0.75, 0.9 * whole)
    out = np.zeros(error.shape[1], dtype=bool)
    out[order[gone < enough[:, None]]] = True
    return out


def refine(
    start: Floats,
    last: float,
    curves_at: Callable[[Floats], None],
    curves: Callable[[Floats], Sequence[tuple[Floats, Floats]]],
    envelope: Sequence[bool],
) -> Floats:
    """Coordinates that are close enough for all curves.

    Parameters
    ----------
    start
        First coordinates, rising, 0 and 1 included.
    last
        From here to 1 there is nothing between.
    curves_at
        Computes what is needed at new coordinates.
    curves
        x and y at coordinates, ``[curves, points]``: mean curves first, each with its queries' own. Steps have to be
        short for the mean curve; areas have to be stable for all that have one.
    envelope
        Of each of these, whether areas are those of the largest y.

    Returns
    -------
    array
        Coordinates, rising.
    """
    t = start
    curves_at(t)
    while len(t) < MOST:
        parts = np.zeros(len(t) - 1)
        found = curves(t)
        for x, _ in found:
            if not np.isnan(x[0]).any():
                parts = np.maximum(parts, wide(t, x[0]))
        between = (t[1:] <= last) & (np.diff(t) > CLOSE)
        if not (parts[between] > 1.0).any():
            for (x, y), top in zip(found, envelope, strict=True):
                parts = np.maximum(parts, np.where(unstable(errors(t, x, y, top, last)), 2.0, 0.0))
        number = np.where(between, np.clip(np.ceil(parts) - 1.0, 0, 8), 0).astype(np.int64)
        if not number.any():
            break
        share = (np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + 1.0) / np.repeat(
            number + 1.0, number
        )
        low = np.repeat(t[:-1], number)
        fresh = low + share * np.repeat(np.diff(t), number)
        curves_at(fresh)
        t = np.unique(np.concatenate([t, fresh]))
    return t


def errors(t: Floats, x: Floats, y: Floats, envelope: bool, last: float) -> Floats:
    """:func:`lost` in the steps that can be halved: ``[curves, steps]``, NaN for a curve with an unknown point."""
    between = (t[1:] <= last) & (np.diff(t) > CLOSE)
    unknown = np.isnan(x + y).any(axis=1, keepdims=True)
    return np.where(unknown, np.nan, np.where(between, lost(t, x, y, envelope), 0.0))
