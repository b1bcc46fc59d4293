"""Where to put the points of a curve: close enough for its steps in disparity and for its area."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lightmeter.sweeping.areas import areas

Array = NDArray[np.float64]
Curve = tuple[Array, Array]

STEP = 0.0185  # in x: below the 0.02 that is asked for
ROOT_STEP = 0.03  # in the root of x: relevance rises with it at first
AREA = 1e-4  # an area has to be as stable as this
MOST = 600  # points of a curve
CLOSE = 1e-9  # coordinates that are nearer than this are one


def wide(t: Array, x: Array) -> Array:
    """How many times too long each step is (1 or less: short enough).

    Examples
    --------
    >>> wide(np.array([0.0, 1.0]), np.array([0.5, 0.537])).round(2).tolist()
    [2.0]
    """
    root = np.sqrt(np.maximum(x, 0.0))
    return np.where(np.diff(t) > CLOSE, np.maximum(np.abs(np.diff(x)) / STEP, np.abs(np.diff(root)) / ROOT_STEP), 0.0)


def unstable(x: Array, y: Array, envelope: bool) -> Array:
    """Steps to halve because the area hangs on them: none where leaving every other point out changes little."""
    if len(x) < 5:
        return np.zeros(len(x) - 1, dtype=bool)
    middle = np.arange(1, len(x) - 1, 2)
    keep = np.setdiff1d(np.arange(len(x)), middle)
    whole, half = (float(areas(x[None, at], y[None, at], envelope)[0]) for at in (np.arange(len(x)), keep))
    out = np.zeros(len(x) - 1, dtype=bool)
    if not abs(whole - half) > AREA:
        return out
    # twice the area of the triangles that are cut off
    a, b, c = middle - 1, middle, middle + 1
    lost = np.abs((x[c] - x[a]) * (y[b] - y[a]) - (x[b] - x[a]) * (y[c] - y[a]))
    worst = middle[lost >= 0.5 * lost.mean()]
    out[worst - 1] = out[worst] = True
    return out


def refine(
    start: Array,
    last: float,
    curves_at: Callable[[Array], None],
    curves: Callable[[Array], Sequence[Curve]],
    envelope: Sequence[bool],
) -> Array:
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
        The curves at coordinates.
    envelope
        Of each curve, whether its area is that of the largest y.

    Returns
    -------
    array
        Coordinates, rising.
    """
    t = start
    curves_at(t)
    while len(t) < MOST:
        parts = np.zeros(len(t) - 1)
        known = [(c, top) for c, top in zip(curves(t), envelope, strict=True) if not np.isnan(c).any()]
        for (x, _), _ in known:
            parts = np.maximum(parts, wide(t, x))
        if not (parts[t[1:] <= last] > 1.0).any():
            for (x, y), top in known:
                parts = np.maximum(parts, np.where(unstable(x, y, top), 2.0, 0.0))
        number = np.where(t[1:] <= last, np.clip(np.ceil(parts) - 1.0, 0, 8), 0).astype(np.int64)
        number[np.diff(t) <= CLOSE] = 0
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
