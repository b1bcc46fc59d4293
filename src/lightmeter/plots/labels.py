"""Where names stand beside their points, so that they can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lightmeter.plots.theme import text_width

#: Left, lower, right and upper end in pixels.
Box: TypeAlias = tuple[float, float, float, float]
_SIZE, _GAP, _DOT, _HALF = 10.5, 8, 5, 6
_SHIFTS = (0, 9, -9, 16, -16)
#: Pixels right of the picture that names may reach into.
_MARGIN = 60


@dataclass(frozen=True)
class Place:
    """A name's place: right or left of its point, ``up`` pixels above its middle."""

    right: bool
    up: float


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
    points = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    used, out = list(taken), []
    for name, own in named:
        x, y = dots[own]
        others = used + points[:own] + points[own + 1 :]
        options: list[tuple[float, int, Place, Box]] = []
        for right in (True, False):
            left = x + _GAP if right else x - _GAP - text_width(name, _SIZE)
            for up in _SHIFTS:
                box = (left, y + up - _HALF, left + text_width(name, _SIZE), y + up + _HALF)
                cost = (
                    sum(_overlap(box, other) for other in others)
                    + 40 * _outside(box, side)
                    + 2 * abs(up)
                    + 3 * (not right)
                )
                options.append((cost, len(options), Place(right, up), box))
        _, _, place, box = min(options)
        used.append(box)
        out.append(place)
    return out


def along(start: tuple[float, float], end: tuple[float, float]) -> list[Box]:
    """Boxes on the way from one point to another."""
    steps = max(int(math.dist(start, end) / 6), 1)
    at = [
        (start[0] + (end[0] - start[0]) * i / steps, start[1] + (end[1] - start[1]) * i / steps)
        for i in range(steps + 1)
    ]
    return [(x - 3, y - 3, x + 3, y + 3) for x, y in at]


def _outside(box: Box, side: float) -> float:
    return max(0.0, -box[0]) + max(0.0, box[2] - side - _MARGIN) + max(0.0, -box[1]) + max(0.0, box[3] - side)


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0.0) * max(high, 0.0)
