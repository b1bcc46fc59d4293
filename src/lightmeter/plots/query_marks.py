"""Queries as marks: those at nearly one place are one mark, whose area tells how many they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.findings.language import listed
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.contours import SIDE, to_pixels
from lightmeter.plots.labels import Box, Place, around, covered, written
from lightmeter.plots.points import axis

#: Pixels within which queries are at one place; square pixels of a mark of one query, of the largest mark, and of all.
_NEAR, _ONE, _LARGEST, _ALL = 9.0, 45.0, 1600.0, 20_000.0
#: Marks that get their name, how far from the crossing of the medians they are at least, and the size of a name.
_MOST_NAMED, _CLEAR, _SIZE = 6, 45.0, 10.5
#: Pixels behind a name that stay free, so that it is not taken for that of the next mark.
_AFTER = 8.0


def marks_frame(frame: pl.DataFrame, domain: Any) -> pl.DataFrame:
    """A row a mark: ``kind, x, y, n, names, label, spot_x, spot_y, radius``; the largest first.

    A mark stands at the mean of its queries, which are all of one kind.
    """
    spots = np.array([to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]).reshape(-1, 2)
    kinds = frame["kind"].to_numpy()
    free = np.ones(len(frame), bool)
    rows = []
    for i in range(len(frame)):
        if not free[i]:
            continue
        near = free & (kinds == kinds[i]) & (np.hypot(*(spots - spots[i]).T) <= _NEAR)
        free &= ~near
        part = frame.filter(pl.Series(near))
        names = part["label"].to_list()
        x, y = (float(part[c].mean()) for c in ("x", "y"))  # type: ignore[arg-type]
        rows.append((kinds[i], x, y, len(part), listed(names, 6), listed(names, 2), *spots[near].mean(axis=0).tolist()))
    made = pl.DataFrame(rows, schema=["kind", "x", "y", "n", "names", "label", "spot_x", "spot_y"], orient="row")
    unit = unit_of(made["n"])
    made = made.with_columns(radius=(pl.col("n") * (unit / math.pi)).sqrt())
    return made.sort("n", descending=True, maintain_order=True)


def unit_of(counts: pl.Series) -> float:
    """Square pixels of a mark for each of its queries."""
    return min(_ONE, _LARGEST / float(counts.max()), _ALL / float(counts.sum()))  # type: ignore[arg-type]


def drawn(marks: pl.DataFrame, kinds: dict[str, tuple[str, str]], x: Any, y: Any, domain: Any) -> Chart:
    """The marks, with a key of kinds where there are several, and of areas where one is of several queries."""
    alt = altair()
    there = [k for k in kinds if k in set(marks["kind"])]
    most, unit = int(marks["n"].max()), unit_of(marks["n"])  # type: ignore[arg-type]
    key = theme.legend(direction="vertical") if len(there) > 1 else None
    color = alt.Color("kind:N", scale=alt.Scale(domain=there, range=[kinds[k][0] for k in there]), legend=key)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=there, range=[kinds[k][1] for k in there]), legend=key)
    told = sorted({1, most, max(round(most / 4), 1)})
    areas = theme.legend(
        title="queries in one mark", values=told, symbolType="circle", symbolFillColor=theme.FAINT, symbolStrokeWidth=0
    )
    size = alt.Size(
        "n:Q",
        scale=alt.Scale(domain=[0, most], range=[0, most * unit]),
        legend=areas if most > 1 else None,
    )
    # a thin line of the mark's own colour keeps the smallest in sight
    base = alt.Chart(inline(marks)).mark_point(filled=True, opacity=0.75, strokeWidth=0.8)
    return base.encode(
        x=axis("x", x, domain[0]),
        y=axis("y", y, domain[1]),
        color=color,
        shape=shape,
        size=size,
        tooltip=[
            alt.Tooltip("names:N", title="queries"),
            alt.Tooltip("n:Q", title="how many"),
            alt.Tooltip("x:Q", format=".4f", title=str(x)),
            alt.Tooltip("y:Q", format=".4f", title=str(y)),
        ],
    )


def named(
    marks: pl.DataFrame, first: str, crossing: tuple[float, float], taken: Sequence[Box], x: Any, y: Any, domain: Any
) -> tuple[list[Chart], list[str]]:
    """Names of the marks farthest from the crossing of the medians, those of the kind ``first`` before the others.

    A name stands beside its mark, within the frame and on nothing else; where there is no such place there is no name.
    """
    far = np.hypot(marks["spot_x"].to_numpy() - crossing[0], marks["spot_y"].to_numpy() - crossing[1])
    order = np.lexsort((-far, marks["kind"].to_numpy() != first))
    dots = np.concatenate([around(marks.select("spot_x", "spot_y").to_numpy(), 0.0), np.zeros((0, 4))])
    dots += marks["radius"].to_numpy()[:, None] * np.array([[-1.0, -1.0, 1.0, 1.0]])
    used = np.array(taken, dtype=np.float64).reshape(-1, 4)
    chosen: list[int] = []
    found: list[Place] = []
    for i in order.tolist():
        if len(chosen) == _MOST_NAMED:
            break
        free = far[i] >= _CLEAR and _beside(
            marks.row(i, named=True), np.concatenate([used, np.delete(dots, i, axis=0)])
        )
        if free:
            place, box = free
            used = np.concatenate([used, [box]])
            chosen.append(i)
            found.append(place)
    if not chosen:
        return [], []
    unit = (domain[0][1] - domain[0][0]) / SIDE, (domain[1][1] - domain[1][0]) / SIDE
    texts = written(marks[chosen], found, unit, lambda c: axis(c, x, domain[0]), lambda c: axis(c, y, domain[1]))
    return texts, marks[chosen]["label"].to_list()


def _beside(mark: dict[str, Any], others: Floats) -> tuple[Place, Box] | None:
    """A place for a mark's name at its side, above or below it; None where there is no room."""
    wide, high = theme.text_width(mark["label"], _SIZE), 6.0
    gap = min(mark["radius"] + 4.0, 16.0) if mark["radius"] < 12 else mark["radius"] + 4.0
    up = mark["radius"] + 9.0
    options = [Place(gap, 0.0, "left"), Place(-gap, 0.0, "right"), Place(0.0, up, "center"), Place(0.0, -up, "center")]
    for place in options:
        left = mark["spot_x"] + place.across - {"left": 0.0, "center": wide / 2, "right": wide}[place.align]
        middle = mark["spot_y"] + place.up
        box = (left, middle - high, left + wide + _AFTER, middle + high)
        inside = box[0] >= 2 and box[1] >= 2 and left + wide <= SIDE - 2 and box[3] <= SIDE - 2
        if inside and covered(box, others) == 0:
            return place, box
    return None
