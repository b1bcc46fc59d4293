"""Points of two measures: their axes, their names, and how far two orders are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.findings.language import better_first, measured
from lightmeter.findings.means import means_over_queries
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.labels import Box, along, around, covered, places, written
from lightmeter.results.result import Result

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


def domain_of(values: Floats, measure: Any) -> tuple[float, float]:
    """Ends of an axis: around the points with some room, within the measure's bounds."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.12 or 0.05
    least, most = (float(b) for b in measure.bounds)
    return max(low - room, least - room * 0.3), min(high + room, most + room * 0.3)


def with_ends(frame: pl.DataFrame, result: Result, x: Any, y: Any) -> pl.DataFrame:
    """Points with the ends of their means' intervals over queries: ``x_low, x_high, y_low, y_high``."""
    means = means_over_queries(result, [x, y])
    for c, m in (("x", x), ("y", y)):
        mine = means.filter(pl.col("measure") == str(m))
        ends = mine.select(name="run", **{f"{c}_{end}": pl.col(end).fill_nan(None) for end in ("low", "high")})
        frame = frame.join(ends, on="name", how="left", maintain_order="left")
    return frame


def reach(frame: pl.DataFrame, side: str) -> Floats:
    """All that an axis has to show: the points, and the ends of their intervals."""
    shown = [frame[c] for c in (side, f"{side}_low", f"{side}_high") if c in frame.columns]
    return np.concatenate([s.drop_nulls().to_numpy() for s in shown])


def crosses(frame: pl.DataFrame, x: Any, y: Any, domain: Any) -> tuple[list[Chart], list[Box]]:
    """Lines over the intervals of the points, and what they cover."""
    alt = altair()
    layers: list[Chart] = []
    boxes: list[Box] = []
    look = {"color": theme.BLUE, "strokeWidth": 1.2, "opacity": 0.5}
    known = frame.filter(pl.col("x_low").is_not_null())
    if len(known):
        across = alt.Chart(inline(known)).mark_rule(**look)
        layers.append(across.encode(x=axis("x_low", x, domain[0]), x2="x_high:Q", y=axis("y", y, domain[1])))
    upright = frame.filter(pl.col("y_low").is_not_null())
    if len(upright):
        up = alt.Chart(inline(upright)).mark_rule(**look)
        layers.append(up.encode(x=axis("x", x, domain[0]), y=axis("y_low", y, domain[1]), y2="y_high:Q"))
    for x0, x1, at in known.select("x_low", "x_high", "y").iter_rows():
        boxes += along(to_pixels(x0, at, domain), to_pixels(x1, at, domain), 1.5)
    for at, y0, y1 in upright.select("x", "y_low", "y_high").iter_rows():
        boxes += along(to_pixels(at, y0, domain), to_pixels(at, y1, domain), 1.5)
    return layers, boxes


def axis(field: str, measure: Any, domain: tuple[float, float]) -> Any:
    alt = altair()
    make = alt.X if field.startswith("x") else alt.Y
    title = theme.axis_title(measured(measure), SIDE)
    return make(f"{field}:Q", title=title, scale=alt.Scale(domain=list(domain), nice=False, zero=False))


def points(
    frame: pl.DataFrame,
    noted: list[str],
    x: Any,
    y: Any,
    domain: Any,
    runs: bool,
    taken: Sequence[Box] = (),
) -> list[Chart]:
    """Dots, and the names of those noted, which keep clear of each other and of what is ``taken``."""
    alt = altair()

    def across(column: str) -> Any:
        return axis(column, x, domain[0])

    def upward(column: str) -> Any:
        return axis(column, y, domain[1])

    dots = alt.Chart(inline(frame)).mark_point(filled=True, size=70, color=theme.BLUE, opacity=1.0 if runs else 0.65)
    layers = [
        dots.encode(
            x=across("x"),
            y=upward("y"),
            tooltip=[
                alt.Tooltip("name:N", title="run" if runs else "query"),
                alt.Tooltip("x:Q", format=".4f", title=str(x)),
                alt.Tooltip("y:Q", format=".4f", title=str(y)),
            ],
        )
    ]
    spots = [to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]
    named = frame.with_columns(spot=pl.Series(range(len(frame)))).filter(pl.col("name").is_in(noted))
    if len(named) < len(frame):
        # which dot of a cluster it is that has a name
        rings = alt.Chart(inline(named)).mark_point(size=80, color=theme.INK, strokeWidth=1.3)
        layers.append(rings.encode(x=across("x"), y=upward("y")))
    found = places([(row["label"], row["spot"]) for row in named.iter_rows(named=True)], spots, SIDE, taken)
    unit = (domain[0][1] - domain[0][0]) / SIDE, (domain[1][1] - domain[1][0]) / SIDE
    return layers + written(named, found, unit, across, upward)


def imbalance(frame: pl.DataFrame, x: Any, y: Any) -> Floats:
    """How far each point's places in the orders by the two measures are apart, as a share of all points."""
    places = [(frame[c] * (better_first(m) or 1.0)).rank("average").to_numpy() for c, m in (("x", x), ("y", y))]
    return np.abs(places[0] - places[1]) / len(frame)
