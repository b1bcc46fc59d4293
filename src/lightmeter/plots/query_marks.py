"""Queries as marks: those at nearly one place are one mark, whose area tells how many they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.findings.language import better_first, brief, counted, listed, number
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.labels import Box, Place, along, around, covered, written
from lightmeter.plots.points import SIDE, axis, to_pixels

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


SPLIT = "clearly better than the median by one measure, clearly worse by the other"
SPLIT_UNDIRECTED = "clearly above the median by one measure, clearly below by the other"
REST = "other queries"
_LOOKS = (theme.VERMILLION, "square"), (theme.BLUE, "circle")
#: What is clearly off a median is more than this share of the measure's range beyond it.
CLEAR = 0.05
#: What is exactly at the margin is within it, whatever rounding makes of it.
_ROUNDING = 1e-9


def margin_of(measure: Any, values: Floats) -> float:
    """How far beyond the median is clearly: a share of what the measure can be, or else of what it is here."""
    low, high = (float(b) for b in measure.bounds)
    whole = high - low
    return CLEAR * (whole if math.isfinite(whole) else float(np.ptp(values)))


def directed(x: Any, y: Any) -> bool:
    """Whether of both measures one way is better."""
    return bool(better_first(x) and better_first(y))


def split_by(frame: pl.DataFrame, x: Any, y: Any, *, clearly: bool = True) -> Integers:
    """1 where a query is better than the median by y and worse by x, -1 the other way round, else 0.

    With ``clearly`` by more than the margin both times. Where a measure has no better side, higher stands for better.
    """
    sides = []
    for c, m in (("x", x), ("y", y)):
        value = frame[c].to_numpy()
        off = value - float(np.median(value))
        least = margin_of(m, value) if clearly else 0.0
        sides.append(
            np.where(np.abs(off) > least + _ROUNDING, np.sign(off), 0) * (better_first(m) if directed(x, y) else 1)
        )
    return np.where(sides[0] * sides[1] < 0, sides[1], 0).astype(np.int64)


def query_finding(frame: pl.DataFrame, x: Any, y: Any, run: str) -> str:
    """On how many queries of a run one measure is clearly good and the other clearly not, both ways."""
    one, two = brief([x, y])
    if len(frame) == 1:
        row = frame.row(0, named=True)
        return f"In '{run}', query {row['label']} has {one} {number(row['x'])} and {two} {number(row['y'])}"
    split = split_by(frame, x, y)
    good, bad = ("better", "worse") if directed(x, y) else ("higher", "lower")
    ways = sorted(((int((split == s).sum()), s) for s in (1, -1)), key=lambda w: -w[0])
    all_queries = counted(len(frame), "query", "queries")
    if not ways[0][0]:
        whom = f"In '{run}', none of {all_queries} is"
        return f"{whom} clearly {good} than the median by one of {one} and {two} and clearly {bad} by the other"
    told: list[str] = []
    for n, sign in ways:
        if not n:
            continue
        up, down = (two, one) if sign > 0 else (one, two)
        what = "the other way round" if told else f"clearly {good} than the median by {up} and clearly {bad} by {down}"
        count = f"{n}" if told else f"{n} of {all_queries} {'is' if n == 1 else 'are'}"
        told.append(f"{count} {what} ({'' if n == 1 else 'most so '}{_most(frame, x, y, split == sign)})")
    return f"In '{run}', {'; '.join(told)}"


def _most(frame: pl.DataFrame, x: Any, y: Any, which: Booleans) -> str:
    """The query that is farthest beyond both medians, by the measure that it is less far beyond."""
    far = []
    for c, m in (("x", x), ("y", y)):
        value = frame[c].to_numpy()
        far.append(np.abs(value - np.median(value)) / (margin_of(m, value) or 1.0))
    return str(frame["label"][int(np.argmax(np.where(which, np.minimum(far[0], far[1]), -1.0)))])


def margins_told(frame: pl.DataFrame, x: Any, y: Any) -> str:
    """What clearly means, and how many queries are split by less than that."""
    if len(frame) == 1:
        return ""
    (one, two), least = brief([x, y]), [margin_of(m, frame[c].to_numpy()) for c, m in (("x", x), ("y", y))]
    each = (
        f"{least[0]:.3g}"
        if f"{least[0]:.3g}" == f"{least[1]:.3g}"
        else f"{least[0]:.3g} ({one}) and {least[1]:.3g} ({two})"
    )
    hair = int(((split_by(frame, x, y, clearly=False) != 0) & (split_by(frame, x, y) == 0)).sum())
    verb = "is" if hair == 1 else "are"
    more = f"; {hair} {'more ' if split_by(frame, x, y).any() else ''}{verb} so but less clearly" if hair else ""
    return f"clearly: more than {each} beyond each median (grey bands){more}"


def query_layers(
    frame: pl.DataFrame, x: Any, y: Any, domain: Any, taken: Sequence[Box] = ()
) -> tuple[list[Chart], str]:
    """Bands, medians, marks and names; and which have names, in words. Names keep clear of what is ``taken``."""
    told = SPLIT if directed(x, y) else SPLIT_UNDIRECTED
    kind = pl.when(pl.Series(split_by(frame, x, y) != 0)).then(pl.lit(told)).otherwise(pl.lit(REST))
    marks = marks_frame(frame.with_columns(kind=kind if len(frame) > 1 else pl.lit(REST)), domain)
    behind, boxes = medians(frame, x, y, domain) if len(frame) > 1 else ([], [])
    middle = [float(np.median(frame[c].to_numpy())) for c in ("x", "y")]
    at = to_pixels(middle[0], middle[1], domain) if len(frame) > 1 else (-math.inf, -math.inf)
    texts, names = named(marks, told, at, [*boxes, *taken], x, y, domain)
    dots = drawn(marks, dict(zip((told, REST), _LOOKS, strict=True)), x, y, domain)
    why = "named: far ones, where there is room" if names and len(frame) > len(names) else ""
    return [*behind, dots, *texts], why


def medians(frame: pl.DataFrame, x: Any, y: Any, domain: Any) -> tuple[list[Chart], list[Box]]:
    """Lines at the medians of both measures with their names, bands of what is not clearly off them, and what the lines
    and names cover.
    """
    alt = altair()
    middle = [float(np.median(frame[c].to_numpy())) for c in ("x", "y")]
    ends = []
    for at, c, m, (low, high) in zip(middle, ("x", "y"), (x, y), domain, strict=True):
        least = margin_of(m, frame[c].to_numpy())
        ends.append((max(at - least, low), min(at + least, high)))
    px, py = to_pixels(middle[0], middle[1], domain)
    names = {f"median_{c}": f"median {number(at)}" for c, at in zip(("x", "y"), middle, strict=True)}
    data = pl.DataFrame({"x": middle[:1], "y": middle[1:], "told": ["median"]}).with_columns(
        **{c: pl.lit(name) for c, name in names.items()}
    )
    base = alt.Chart(inline(data.with_columns(l=ends[0][0], r=ends[0][1], b=ends[1][0], t=ends[1][1])))
    band = {"color": theme.FAINT, "opacity": 0.28, "aria": False}
    look = {"color": theme.INK, "strokeWidth": 1, "strokeDash": [6, 3]}
    layers = [
        base.mark_rect(**band).encode(x="l:Q", x2="r:Q"),
        base.mark_rect(**band).encode(y="b:Q", y2="t:Q"),
        base.mark_rule(**look).encode(x="x:Q"),
        base.mark_rule(**look).encode(y="y:Q"),
    ]
    # the names stand within the frame, beside the lines, at the end where fewer queries are
    dots = around(np.array([to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]), 8.0)
    left = px + 4 if px < SIDE - 90 else px - 76
    lower = py + 2 if py < SIDE - 20 else py - 14
    uprights: list[Box] = [(left, low, left + 72, low + 13) for low in (SIDE - 15.0, 2.0)]
    flats: list[Box] = [(start, lower, start + 74, lower + 12) for start in (2.0, SIDE - 76.0)]
    boxes = [min(ends_, key=lambda box: covered(box, dots)) for ends_ in (uprights, flats)]
    for rim in (theme.RIM, {}):
        text = base.mark_text(align="left", baseline="middle", **({"fontSize": 10} | rim))
        for box, name in zip(boxes, names, strict=True):
            spot = {"x": alt.value(box[0] + 2), "y": alt.value(SIDE - (box[1] + box[3]) / 2)}
            layers.append(text.encode(text=f"{name}:N", **spot))
    boxes += along((px, 0.0), (px, SIDE), 1.0) + along((0.0, py), (SIDE, py), 1.0)
    return layers, boxes
