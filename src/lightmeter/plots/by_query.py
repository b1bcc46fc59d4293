"""The queries of one run by two measures: which of them are good by one measure only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.contours import SIDE, to_pixels
from lightmeter.plots.dots import imbalance, points
from lightmeter.plots.labels import Box, along, around, covered
from lightmeter.plots.words import better_first, brief, counted, number, percent

SPLIT = "better than the median by one measure, worse by the other"
SPLIT_UNDIRECTED = "above the median by one measure, below by the other"
REST = "other queries"
#: Heaps that have their number told; pixels within which dots cannot be told apart, and how many make a heap.
_MOST_HEAPS, _HEAP, _FEWEST_HEAPED = 6, 6.0, 3
#: Shares of an axis within which a query is nearly at a median.
_NEAR = 0.05


def query_finding(frame: pl.DataFrame, x: Any, y: Any) -> str:
    """On how many queries one measure is good and the other is not, and the query where that is so most."""
    one, two = brief([x, y])
    if len(frame) == 1:
        row = frame.row(0, named=True)
        return f"Query {row['label']} has {one} {number(row['x'])} and {two} {number(row['y'])}"
    split = split_by(frame, x, y)
    n, all_queries = int(split.sum()), counted(len(frame), "query", "queries")
    good, bad = ("better", "worse") if better_first(x) and better_first(y) else ("higher", "lower")
    if not n:
        return f"None of {all_queries} is {good} than the median by one measure and {bad} by the other"
    row = frame.row(int(np.argmax(np.where(split, imbalance(frame, x, y), -1.0))), named=True)
    most = (
        f"most so {row['label']} ({one} {number(row['x'])}, {two} {number(row['y'])})"
        if n > 1
        else (f"{row['label']} ({one} {number(row['x'])}, {two} {number(row['y'])})")
    )
    told = f"{n} of {all_queries} {'is' if n == 1 else 'are'} {good} than the median by one measure"
    return f"{told} and {bad} by the other, {most}"


def split_by(frame: pl.DataFrame, x: Any, y: Any) -> NDArray[np.bool_]:
    """Which queries are better than the median by one measure and worse by the other."""
    sides = [
        np.sign((better_first(m) or 1.0) * (frame[c].to_numpy() - float(frame[c].median())))  # type: ignore[arg-type]
        for c, m in (("x", x), ("y", y))
    ]
    return np.asarray(sides[0] * sides[1] < 0)


def medians(frame: pl.DataFrame, domain: Any) -> tuple[list[Chart], list[Box]]:
    """Lines at the medians of both measures with their names, and what these cover."""
    alt = altair()
    x, y = (float(frame[c].median()) for c in ("x", "y"))  # type: ignore[arg-type]
    px, py = to_pixels(x, y, domain)
    look = {"color": theme.INK, "strokeWidth": 1, "strokeDash": [6, 3]}
    base = alt.Chart(inline(pl.DataFrame({"x": [x], "y": [y], "told": ["median"]})))
    layers = [base.mark_rule(**look).encode(x="x:Q"), base.mark_rule(**look).encode(y="y:Q")]
    # the names stand within the frame, on the side of a line where there is room
    right, above = px < SIDE - 60, py < SIDE - 20
    left = px + 4 if right else px - 46
    lower = py + 2 if above else py - 14
    ends: list[Box] = [(left, low, left + 42, low + 13) for low in (SIDE - 15.0, 2.0)]
    dots = around(np.array([to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]), 6.0)
    end = min(ends, key=lambda box: covered(box, dots))
    boxes: list[Box] = [end, (2.0, lower, 46.0, lower + 12)]
    boxes += along((px, 0.0), (px, SIDE), 1.0) + along((0.0, py), (SIDE, py), 1.0)
    for rim in (theme.RIM, {}):
        upright = base.mark_text(align="left" if right else "right", dx=4 if right else -4, **({"fontSize": 10} | rim))
        flat = base.mark_text(align="left", dx=4, dy=-7 if above else 8, **({"fontSize": 10} | rim))
        layers += [
            upright.encode(x="x:Q", y=alt.value(SIDE - end[1] - 7), text="told:N"),
            flat.encode(x=alt.value(0), y="y:Q", text="told:N"),
        ]
    return layers, boxes


def query_points(
    frame: pl.DataFrame, noted: list[str], x: Any, y: Any, domain: Any, taken: Sequence[Box]
) -> tuple[list[Chart], bool]:
    """A dot a query, by whether the two measures say the opposite; and whether it is told where several lie on each
    other.
    """
    alt = altair()
    told = SPLIT if better_first(x) and better_first(y) else SPLIT_UNDIRECTED
    split = split_by(frame, x, y)
    frame = frame.with_columns(kind=pl.when(pl.Series(split)).then(pl.lit(told)).otherwise(pl.lit(REST)))
    kinds = [told, REST]
    key = theme.legend(direction="vertical")
    color = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[theme.VERMILLION, theme.BLUE]), legend=key)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["square", "circle"]), legend=key)
    frame = frame.sort(pl.col("kind") == told, maintain_order=True)  # drawn last, so that nothing covers them
    squares = (frame["kind"] == told).to_numpy()
    heaps = _heaps([to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()], squares)
    looks = {"color": color, "shape": shape}
    return points(frame, noted, x, y, domain, False, taken, looks, heaps), bool(heaps)


def hair_told(frame: pl.DataFrame, x: Any, y: Any, domain: Any) -> str:
    """How many of the queries that are split are nearly at a median."""
    split = frame.filter(pl.Series(split_by(frame, x, y)))
    near = [
        (split[c] - float(frame[c].median())).abs() < _NEAR * (ends[1] - ends[0])  # type: ignore[arg-type]
        for c, ends in (("x", domain[0]), ("y", domain[1]))
    ]
    some = int((near[0] | near[1]).sum()) if len(split) else 0
    return f"{some} of the {len(split)} squares are nearer to a median than {percent(_NEAR)} of an axis" if some else ""


def _heaps(spots: Sequence[tuple[float, float]], squares: NDArray[np.bool_]) -> list[tuple[str, int]]:
    """Where dots lie on each other: how many in words, squares among them, and the dot in whose place they are; the
    largest heaps.
    """
    at = np.array(spots, dtype=np.float64).reshape(-1, 2)
    free = np.ones(len(at), bool)
    found: list[tuple[int, int, int]] = []
    for i in range(len(at)):
        if free[i]:
            near = free & (np.hypot(at[:, 0] - at[i, 0], at[:, 1] - at[i, 1]) <= _HEAP)
            free &= ~near
            found.append((int(near.sum()), int((near & squares).sum()), i))
    largest = sorted((h for h in found if h[0] >= _FEWEST_HEAPED), key=lambda h: -h[0])[:_MOST_HEAPS]
    return [(f"{n} here" + (f", {s} of them squares" if 0 < s < n else ""), i) for n, s, i in largest]
