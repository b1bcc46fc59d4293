"""Lines of equal combined score behind two measures, and where points lie in pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.labels import Box, along, around, covered

#: Width and height of a picture of two measures.
SIDE = 400
_CONTOURS = 9
#: Where on a contour line its level may be written, first where it is looked for first.
_ALONG = (0.9, 0.78, 0.66, 0.22, 0.1, 0.54, 0.34)


def contours(
    weights: tuple[float, float], domain: Any, dots: Sequence[tuple[float, float]] = ()
) -> tuple[list[Chart], list[Box]]:
    """Lines of equal combined score within the picture, their level on them where no dot is, and what they cover."""
    alt = altair()
    (x0, x1), (y0, y1) = domain
    low, high = weights[0] * x0 + weights[1] * y0, weights[0] * x1 + weights[1] * y1
    step = _step((high - low) / _CONTOURS)
    digits = _digits(step)
    busy = around(np.array(dots, dtype=np.float64).reshape(-1, 2), 7.0)
    lines: list[dict[str, Any]] = []
    boxes: list[Box] = []
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        ends = _ends(round(i * step, 10), weights, domain)
        if ends is None:
            continue
        spots = [{c: ends[c] + part * (ends[c + "2"] - ends[c]) for c in ("x", "y")} for part in _ALONG]
        best = min(spots, key=lambda spot: covered(_level_box(spot, domain), busy) + _sticks_out(spot, domain))
        lines.append({"level": f"{i * step:.{digits}f}", **ends, "at_x": best["x"], "at_y": best["y"]})
        boxes += [_level_box(best, domain)]
        boxes += along(to_pixels(ends["x"], ends["y"], domain), to_pixels(ends["x2"], ends["y2"], domain), 1.0)
    if not lines:
        return [], []
    base = alt.Chart(inline(pl.DataFrame(lines)))
    rules = base.mark_rule(strokeDash=[2, 3], color=theme.MUTED, opacity=0.7).encode(
        x="x:Q", y="y:Q", x2="x2:Q", y2="y2:Q"
    )
    level = base.encode(x="at_x:Q", y="at_y:Q", text="level:N")
    look = {"fontSize": 10, "color": theme.MUTED, "baseline": "middle"}
    return [rules, level.mark_text(**look, **theme.RIM), level.mark_text(**look)], boxes


def _level_box(spot: dict[str, float], domain: Any) -> Box:
    x, y = to_pixels(spot["x"], spot["y"], domain)
    return x - 13, y - 7, x + 13, y + 7


def _sticks_out(spot: dict[str, float], domain: Any) -> float:
    """What it costs that a level reaches out of the frame."""
    left, lower, right, upper = _level_box(spot, domain)
    return 1000 * (max(0.0, -left) + max(0.0, -lower) + max(0.0, right - SIDE) + max(0.0, upper - SIDE))


def _ends(level: float, weights: tuple[float, float], domain: Any) -> dict[str, float] | None:
    (x0, x1), (y0, y1) = domain
    wx, wy = weights
    if wy == 0:
        return {"x": level / wx, "y": y1, "x2": level / wx, "y2": y0}
    if wx == 0:
        return {"x": x0, "y": level / wy, "x2": x1, "y2": level / wy}
    left, right = max(x0, (level - wy * y1) / wx), min(x1, (level - wy * y0) / wx)
    upper, lower = (level - wx * left) / wy, (level - wx * right) / wy
    # a corner that is cut off tells nothing
    if right <= left or math.hypot((right - left) / (x1 - x0), (upper - lower) / (y1 - y0)) < 0.08:
        return None
    return {"x": left, "y": upper, "x2": right, "y2": lower}


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)


def _digits(step: float) -> int:
    """Decimals that tell levels apart, the same for all of them."""
    return next((n for n in range(12) if abs(step * 10**n - round(step * 10**n)) < 1e-6 * step * 10**n), 12)


def to_pixels(x: float, y: float, domain: Any) -> tuple[float, float]:
    """A point's place in the picture, from its lower left corner."""
    (x0, x1), (y0, y1) = domain
    return (x - x0) / (x1 - x0) * SIDE, (y - y0) / (y1 - y0) * SIDE
