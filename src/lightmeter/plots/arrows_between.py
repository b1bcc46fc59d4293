"""What a change of a ranker does to two measures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.contours import SIDE, to_pixels
from lightmeter.plots.labels import along
from lightmeter.plots.scatter import (
    RULES,
    axis,
    best_corner,
    domain_of,
    points,
    points_frame,
    some,
    told_queries,
    two_measures,
)
from lightmeter.plots.words import better_first, brief, conventions, listed, one_of, short_names
from lightmeter.result import Result


def arrows(result: Result, pairs: Iterable[tuple[str, str]], x: Any = None, y: Any = None) -> Chart:
    """What a change of a ranker does to two measures: an arrow from each run to the run that it became.

    Parameters
    ----------
    result
        From :func:`lightmeter.evaluate`.
    pairs
        Runs before and after a change.
    x, y
        Measures of the result or their notation; by default the first two.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where a run or measure is not there, or there is no pair.
    """
    alt = altair()
    x, y = two_measures(result, x, y)
    frame = some(points_frame(result, x, y), x, y)
    names = short_names(frame["name"].to_list())
    frame = frame.with_columns(label=pl.col("name").replace_strict(names), both=pl.lit(0.0))
    at = {n: (a, b) for n, a, b in frame.select("name", "x", "y").iter_rows()}
    made = [tuple(one_of("run", end, at) for end in pair) for pair in pairs]
    if not made:
        raise LightmeterError("there is no pair of runs. Accepted: pairs of before and after, such as [('a', 'b')].")
    domain = domain_of(frame["x"].to_numpy(), x), domain_of(frame["y"].to_numpy(), y)
    signs = better_first(x) or 1.0, better_first(y) or 1.0
    rows = []
    for before, after in made:
        (x0, y0), (x1, y1) = at[before], at[after]
        effect = _effect(signs[0] * (x1 - x0), signs[1] * (y1 - y0))
        px, py = (x1 - x0) / (domain[0][1] - domain[0][0]), (y1 - y0) / (domain[1][1] - domain[1][0])
        length = math.hypot(px, py) * SIDE
        # the head ends at the rim of the point
        back = min(9 / length, 0.4) if length else 0.0
        rows.append(
            {
                "before": before,
                "after": after,
                "effect": effect,
                "x": x0,
                "y": y0,
                "x2": x1 - back * (x1 - x0),
                "y2": y1 - back * (y1 - y0),
                "angle": math.degrees(math.atan2(px, py)),
            }
        )
    moved = pl.DataFrame(rows)
    kinds = [k for k in _EFFECTS if k in moved["effect"].to_list()]
    key = theme.legend(symbolType="stroke")
    scale = alt.Scale(domain=kinds, range=[_EFFECTS[k][0] for k in kinds])
    dash = alt.Scale(domain=kinds, range=[_EFFECTS[k][1] for k in kinds])
    base = alt.Chart(inline(moved)).encode(
        x=axis("x", x, domain[0]), y=axis("y", y, domain[1]), color=alt.Color("effect:N", scale=scale, legend=key)
    )
    shafts = base.mark_rule(strokeWidth=2.5).encode(
        x2="x2:Q",
        y2="y2:Q",
        strokeDash=alt.StrokeDash("effect:N", scale=dash, legend=key),
        tooltip=["before:N", "after:N"],
    )
    heads = (
        base.transform_filter("datum.effect != 'no change'")
        .mark_point(shape="triangle", filled=True, size=110, opacity=1)
        .encode(x=axis("x2", x, domain[0]), y=axis("y2", y, domain[1]), angle=alt.Angle("angle:Q", scale=None))
    )
    taken = [
        box
        for a, b, c, d in moved.select("x", "y", "x2", "y2").iter_rows()
        for box in along(to_pixels(a, b, domain), to_pixels(c, d, domain))
    ]
    dots = points(frame, frame["name"].to_list(), x, y, domain, True, taken)
    chart = alt.layer(shafts, heads, *dots).properties(width=SIDE, height=SIDE)
    about = [f"{told_queries(frame, x, y)}; an arrow goes from a run to what it became{best_corner(x, y)}"]
    title = arrow_finding(moved, names, x, y)
    return theme.finished(chart, title, [*about, conventions(result.conventions, RULES)], SIDE + 110)


_EFFECTS = {
    "both better": (theme.GREEN, [1, 0]),
    "one better, one worse": (theme.ORANGE, [7, 3]),
    "both worse": (theme.VERMILLION, [2, 2]),
    "no change": (theme.MUTED, [1, 0]),
}


def _effect(dx: float, dy: float) -> str:
    if max(abs(dx), abs(dy)) < 1e-12:
        return "no change"
    if min(dx, dy) >= -1e-12:
        return "both better"
    return "both worse" if max(dx, dy) <= 1e-12 else "one better, one worse"


def arrow_finding(moved: pl.DataFrame, names: dict[str, str], x: Any, y: Any) -> str:
    """What the changes do."""
    effects = moved["effect"].to_list()
    one, two = brief([x, y])
    if len(effects) == 1:
        what = {
            "both better": f"improves {one} and {two}",
            "both worse": f"hurts {one} and {two}",
            "no change": f"changes neither {one} nor {two}",
        }
        a, b = names[moved["before"][0]], names[moved["after"][0]]
        row = moved.row(0, named=True)
        gains = (better_first(x) or 1.0) * (row["x2"] - row["x"]) > 0
        mixed = f"improves {one if gains else two} and hurts {two if gains else one}"
        return f"From {a} to {b} the change {what.get(effects[0], mixed)}"
    told = [f"{effects.count(k)} {_verb(k, effects.count(k))}" for k in _EFFECTS if k in effects]
    return f"Of {len(effects)} changes {listed(told)}"


def _verb(effect: str, n: int) -> str:
    s = "s" if n == 1 else ""
    return {
        "both better": f"improve{s} both measures",
        "one better, one worse": f"improve{s} one and hurt{s} the other",
        "both worse": f"hurt{s} both",
        "no change": f"change{s} nothing",
    }[effect]
