"""Where names stand beside their points, so that they can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.theme import text_width

#: Left, lower, right and upper end in pixels.
Box: TypeAlias = tuple[float, float, float, float]
_SIZE, _GAP, _DOT, _HALF = 10.5, 8.0, 5, 6
_ASIDE = (0, 9, -9, 16, -16)
#: Distances of names that find no place beside their point, and the ways they can go.
_AWAY = (20, 32, 46, 62)
_WAYS = [(math.cos(a), math.sin(a)) for a in (math.radians(d) for d in range(0, 360, 30))]
#: From this distance on, in pixels, a line leads from the point to its name.
_LED = 17.0
#: Pixels right of the picture that names may reach into.
_MARGIN = 60


@dataclass(frozen=True)
class Place:
    """A name's place: where the end or middle that ``align`` tells is, in pixels right of the point and above it."""

    across: float
    up: float
    align: Literal["left", "center", "right"]

    @property
    def led(self) -> bool:
        """Whether the name is so far away that a line has to lead to it."""
        return math.hypot(self.across, self.up) > _LED


def places(
    named: Sequence[tuple[str, int]], dots: Sequence[tuple[float, float]], side: float, taken: Sequence[Box]
) -> list[Place]:
    """A place for each name, one after the other where it covers the least.

    Parameters
    ----------
    named
        Names, and which of the dots they belong to.
    dots
        All points of the picture, in pixels from its lower left corner.
    side
        Width and height of the picture.
    taken
        What else is in the way.
    """
    at = np.array(dots, dtype=np.float64).reshape(-1, 2)
    points = around(at, _DOT)
    used, out = list(taken), []
    for name, own in named:
        x, y = dots[own]
        # points at the same spot share the name's place
        apart = np.hypot(at[:, 0] - x, at[:, 1] - y) > _DOT
        others = np.concatenate([np.array(used, dtype=np.float64).reshape(-1, 4), points[apart]])
        options: list[tuple[float, int, Place, Box]] = []
        for place in _OPTIONS:
            box = _box(x, y, place, text_width(name, _SIZE))
            cost = covered(box, others) + 40 * _outside(box, side) + _effort(place)
            options.append((cost, len(options), place, box))
        _, _, place, box = min(options, key=lambda option: option[:2])
        used.append(box)
        if place.led:
            used += along((x, y), (x + place.across, y + place.up))
        out.append(place)
    return out


def _options() -> list[Place]:
    """Beside the point, then above and below it, then farther away in all directions."""
    sides: list[tuple[float, Literal["left", "right"]]] = [(_GAP, "left"), (-_GAP, "right")]
    found = [Place(across, up, align) for across, align in sides for up in _ASIDE]
    found += [Place(0.0, 13.0, "center"), Place(0.0, -13.0, "center")]
    for far in _AWAY:
        for cos, sin in _WAYS:
            align: Literal["left", "center", "right"] = "center" if abs(cos) < 0.1 else "left" if cos > 0 else "right"
            found.append(Place(round(far * cos, 3), round(far * sin, 3), align))
    return found


_OPTIONS = _options()


def _effort(place: Place) -> float:
    """What it costs the eye to find the name."""
    beside = 2 * abs(place.up) + 3 * (place.align == "right")
    return (
        min(beside, 30 + math.hypot(place.across, place.up))
        if abs(place.across) == _GAP
        else 30 + 0.8 * math.hypot(place.across, place.up)
    )


def _box(x: float, y: float, place: Place, wide: float) -> Box:
    left = x + place.across - {"left": 0.0, "center": wide / 2, "right": wide}[place.align]
    return left, y + place.up - _HALF, left + wide, y + place.up + _HALF


def along(start: tuple[float, float], end: tuple[float, float], half: float = 3.0) -> list[Box]:
    """Boxes on the way from one point to another; the smaller they are, the less it matters to cover them."""
    steps = max(int(math.dist(start, end) / 6), 1)
    at = [
        (start[0] + (end[0] - start[0]) * i / steps, start[1] + (end[1] - start[1]) * i / steps)
        for i in range(steps + 1)
    ]
    return [(x - half, y - half, x + half, y + half) for x, y in at]


def around(dots: Floats, half: float) -> Floats:
    """Boxes ``[dots, 4]`` around dots ``[dots, 2]``."""
    return np.concatenate([dots - half, dots + half], axis=1)


def covered(box: Box, others: Floats) -> float:
    """How much of the boxes ``[boxes, 4]`` that are there a box covers, in square pixels."""
    if not len(others):
        return 0.0
    wide = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    high = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((np.maximum(wide, 0.0) * np.maximum(high, 0.0)).sum())


def _outside(box: Box, side: float) -> float:
    return max(0.0, -box[0]) + max(0.0, box[2] - side - _MARGIN) + max(0.0, -box[1]) + max(0.0, box[3] - side)


def written(frame: pl.DataFrame, found: Sequence[Place], unit: tuple[float, float], x: Any, y: Any) -> list[Chart]:
    """Names beside their points, on a white rim that keeps lines behind them away.

    Parameters
    ----------
    frame
        ``label, x, y`` of each point that has a name.
    found
        Their places.
    unit
        How much of either axis a pixel is.
    x, y
        Make an encoding of a column.
    """
    alt = altair()
    ends = frame.select(
        "label",
        x2="x",
        y2="y",
        x=pl.col("x") + unit[0] * pl.Series([p.across for p in found], dtype=pl.Float64),
        y=pl.col("y") + unit[1] * pl.Series([p.up for p in found], dtype=pl.Float64),
        align=pl.Series([p.align for p in found], dtype=pl.String),
        led=pl.Series([p.led for p in found], dtype=pl.Boolean),
    )
    layers = []
    led = ends.filter("led")
    if len(led):
        rule = alt.Chart(inline(led)).mark_rule(color=theme.INK, strokeWidth=1, opacity=0.7, aria=False)
        layers.append(rule.encode(x=x("x"), y=y("y"), x2="x2:Q", y2="y2:Q"))
    for (align,), part in ends.group_by("align", maintain_order=True):
        shift = {"left": 2.0, "center": 0.0, "right": -2.0}[str(align)]
        look = {"align": align, "dx": shift, "baseline": "middle", "fontSize": _SIZE}
        base = alt.Chart(inline(part)).encode(x=x("x"), y=y("y"), text="label:N")
        layers += [base.mark_text(**look, **theme.RIM), base.mark_text(**look)]
    return layers
