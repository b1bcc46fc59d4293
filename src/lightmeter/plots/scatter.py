"""Pictures of two measures against each other: group fairness and relevance, two attributes, pairs of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.contours import SIDE, contours, to_pixels
from lightmeter.plots.labels import Box, places
from lightmeter.plots.words import (
    better_first,
    brief,
    conventions,
    counted,
    listed,
    measure_of,
    measured,
    number,
    one_of,
    short_names,
)
from lightmeter.result import Result

Array = NDArray[np.float64]
#: Points that all get their name; of more, the notable ones.
_ALL_NAMED = 24
#: Runs that an order is told of.
FEWEST_ORDERED = 5
RULES = ["policy", "ties", "unknown"]


def points_frame(result: Result, x: Any, y: Any, run: str | None = None) -> pl.DataFrame:
    """A row a run, or with ``run`` a row a query of it: ``name, x, y, n_x, n_y``; what is undefined is left out."""
    table = result.mean().filter(pl.col("segment").is_null()) if run is None else result.per_query()
    if run is not None:
        table = table.filter(pl.col("run") == run)
    name = "run" if run is None else "query"
    if table.filter(pl.col("measure").is_in([str(x), str(y)]), pl.col("group").is_not_null()).height:
        raise LightmeterError(f"{x} or {y} has a value for each group. Accepted: measures of one value.")
    sides = [
        table.filter(pl.col("measure") == str(m)).select(
            pl.col(name).alias("name"), pl.col("value").alias(c), pl.col("n").alias(f"n_{c}")
        )
        for m, c in ((x, "x"), (y, "y"))
    ]
    both = sides[0].join(sides[1], on="name", how="inner", maintain_order="left")
    return both.filter(pl.col("x").is_finite(), pl.col("y").is_finite()).select("name", "x", "y", "n_x", "n_y")


def tradeoff(
    result: Result,
    x: Any = None,
    y: Any = None,
    *,
    weights: tuple[float, float] = (0.5, 0.5),
    run: str | None = None,
) -> Chart:
    """Two measures against each other, such as relevance and group fairness, with contour lines of their weighted mean.

    Parameters
    ----------
    result
        From :func:`lightmeter.evaluate`.
    x, y
        Measures of the result or their notation; by default the first two.
    weights
        Weights of x and y in the combined score, as in ``GFR``; they sum to 1. Its contour lines are drawn where
        higher values of both are better.
    run
        Show the queries of one run instead of the means of all runs.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a point a run, or a query.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where a measure, run or weight is not there or not accepted, or nothing is defined.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> r = lm.evaluate(c, ["RR", "GF(by='side', user=RBP(p=0.5))"])
    >>> lm.plots.tradeoff(r).to_dict()["title"]["text"]
    ['x has the best combined score and RR; all runs have the same', 'GF']
    """
    x, y = two_measures(result, x, y)
    if len(weights) != 2 or any(not w >= 0 for w in weights) or abs(sum(weights) - 1) > 1e-9:
        raise LightmeterError(f"the weights are {weights!r}. Accepted: two numbers from 0 up that sum to 1.")
    if run is not None:
        run = one_of("run", run, result.runs)
    frame = some(points_frame(result, x, y, run), x, y)
    mixed = better_first(x) > 0 and better_first(y) > 0
    frame = frame.with_columns(both=weights[0] * pl.col("x") + weights[1] * pl.col("y"))
    names = short_names(frame["name"].to_list()) if run is None else {n: n for n in frame["name"].to_list()}
    frame = frame.with_columns(label=pl.col("name").replace_strict(names))
    domain = domain_of(frame["x"].to_numpy(), x), domain_of(frame["y"].to_numpy(), y)
    noted = _notable(frame, x, y, run is not None)
    lines, levels = contours(weights, domain) if mixed else ([], [])
    layers = [*lines, *points(frame, noted, x, y, domain, run is None, levels)]
    chart = altair().layer(*layers).properties(width=SIDE, height=SIDE)
    if run is None:
        title, of = run_finding(frame, x, y, mixed), told_queries(frame, x, y)
    else:
        title, of = (
            query_finding(frame, x, y),
            f"run {short_names([run])[run]}, {counted(len(frame), 'query', 'queries')}",
        )
        gone = len(result.queries) - len(frame)
        of += f"; {counted(gone, 'query', 'queries')} undefined and left out" if gone else ""
    meaning = f"; dotted: equal combined score, {weights[0]:g} of {x} and {weights[1]:g} of {y}" if mixed else ""
    meaning += best_corner(x, y)
    return theme.finished(chart, title, [of + meaning, conventions(result.conventions, RULES)], SIDE + 110)


def best_corner(x: Any, y: Any) -> str:
    """Where in the picture what is best by both measures stands."""
    across, up = (
        {1.0: high, -1.0: low, 0.0: ""}[better_first(m)]
        for m, low, high in ((x, "left", "right"), (y, "bottom", "top"))
    )
    corner = " ".join(part for part in (up, across) if part)
    return f"; best at the {corner}" if across and up else ""


def run_finding(frame: pl.DataFrame, x: Any, y: Any, mixed: bool) -> str:
    """Which run is best, and whether both measures agree on the order."""
    from lightmeter.statistics.correlation import kendall

    ways = better_first(x) or 1.0, better_first(y) or 1.0
    a, b = ways[0] * frame["x"].to_numpy(), ways[1] * frame["y"].to_numpy()
    one, two = brief([x, y])
    best: dict[tuple[str, ...], list[str]] = {}
    sides = [("combined score", frame["both"].to_numpy())] if mixed else []
    for what, value in [*sides, (one, a), (two, b)]:
        best.setdefault(_leaders(frame, value), []).append(what)
    told = _told_best(best, len(frame))
    tau = kendall(a, b).tau if len(frame) >= FEWEST_ORDERED else float("nan")
    if not math.isfinite(tau):
        return told
    how = (
        "alike" if tau > 0.7 else "in part alike" if tau > 0.3 else "differently" if tau > -0.3 else "in opposite ways"
    )
    return f"{told}. The two order the runs {how} (tau {number(tau)})"


def _leaders(frame: pl.DataFrame, value: Array) -> tuple[str, ...]:
    """The labels of the points with the largest value: several where they are equal."""
    return tuple(frame["label"].filter(pl.Series(value.max() - value <= 1e-9 * max(abs(value.max()), 1e-300))))


def _told_best(best: dict[tuple[str, ...], list[str]], size: int) -> str:
    parts = []
    for runs, what in best.items():
        if len(runs) == size and size > 1:
            parts.append(f"all runs have the same {listed(what)}")
        elif len(runs) > 1:
            parts.append(f"{listed(runs)} share the best {listed(what)}")
        else:
            verb = "has " if not any(p for p in parts if " has " in p) else ""
            parts.append(f"{runs[0]} {verb}the best {listed(what)}")
    return "; ".join(parts)


def query_finding(frame: pl.DataFrame, x: Any, y: Any) -> str:
    """On how many queries one measure is good and the other is not, and the query where that is so most."""
    row = frame.row(int(np.argmax(_imbalance(frame, x, y))), named=True)
    sides = [
        np.sign((better_first(m) or 1.0) * (frame[c].to_numpy() - float(frame[c].median())))  # type: ignore[arg-type]
        for c, m in (("x", x), ("y", y))
    ]
    split = int((sides[0] * sides[1] < 0).sum())
    names = brief([x, y])
    most = f"most so {row['label']} ({names[0]} {number(row['x'])}, {names[1]} {number(row['y'])})"
    are = "is" if split == 1 else "are"
    told = f"{split} of {counted(len(frame), 'query', 'queries')} {are} better than the median by one measure"
    return f"{told} and worse by the other" + (f", {most}" if split else "")


def _imbalance(frame: pl.DataFrame, x: Any, y: Any) -> Array:
    """How far each point's places in the orders by the two measures are apart, as a share of all points."""
    places = [(frame[c] * (better_first(m) or 1.0)).rank("average").to_numpy() for c, m in (("x", x), ("y", y))]
    return np.abs(places[0] - places[1]) / len(frame)


def two_measures(result: Result, x: Any, y: Any) -> tuple[Any, Any]:
    single = [c.measure for c in result.cells if c.group is None]
    there = list(dict.fromkeys(single))
    if x is None or y is None:
        rest = [m for m in there if str(m) not in (str(x), str(y))]
        if len(rest) < (x is None) + (y is None):
            raise LightmeterError(
                f"the picture needs two measures of one value, and the result has {len(there)}. Evaluate two, such as "
                "nDCG@10 and GF(by=..)."
            )
        x = rest.pop(0) if x is None else x
        y = rest.pop(0) if y is None else y
    return measure_of(x, there), measure_of(y, there)


def some(frame: pl.DataFrame, x: Any, y: Any) -> pl.DataFrame:
    if frame.is_empty():
        raise LightmeterError(f"{x} and {y} are nowhere both defined, so there is nothing to draw.")
    return frame


def told_queries(frame: pl.DataFrame, x: Any, y: Any) -> str:
    """Over how many queries the means are; of both measures, where they are not defined for the same ones."""

    def told(counts: list[int]) -> str:
        low, high = min(counts), max(counts)
        return counted(high, "query", "queries") if low == high else f"{low} to {high} queries"

    nx, ny = (frame[c].to_list() for c in ("n_x", "n_y"))
    if nx == ny:
        return f"means over {told(nx)}"
    one, two = brief([x, y])
    return f"means over the queries that have one: {one} {told(nx)}, {two} {told(ny)}"


def domain_of(values: Array, measure: Any) -> tuple[float, float]:
    """Ends of an axis: around the points with some room, within the measure's bounds."""
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.12 or 0.05
    least, most = (float(b) for b in measure.bounds)
    return max(low - room, least - room * 0.3), min(high + room, most + room * 0.3)


def axis(field: str, measure: Any, domain: tuple[float, float]) -> Any:
    alt = altair()
    make = alt.X if field.startswith("x") else alt.Y
    title = theme.wrapped(measured(measure, mean=False), SIDE, 12)
    return make(f"{field}:Q", title=title, scale=alt.Scale(domain=list(domain), nice=False, zero=False))


def _notable(frame: pl.DataFrame, x: Any, y: Any, queries: bool) -> list[str]:
    """Names of the points that are named in the picture."""
    names = frame["name"].to_list()
    if len(names) <= _ALL_NAMED and not queries:
        return names
    apart = np.argsort(-_imbalance(frame, x, y), kind="stable")[:3].tolist()
    ends = [int(np.argmax(frame[c].to_numpy())) for c in ("both", "x", "y")] + [
        int(np.argmin(frame["both"].to_numpy()))
    ]
    return [names[i] for i in dict.fromkeys(apart + ends)]


def points(
    frame: pl.DataFrame, noted: list[str], x: Any, y: Any, domain: Any, runs: bool, taken: Sequence[Box] = ()
) -> list[Chart]:
    """Dots, and the names of those noted, which keep clear of each other and of what is ``taken``."""
    alt = altair()
    base = alt.Chart(inline(frame)).encode(x=axis("x", x, domain[0]), y=axis("y", y, domain[1]))
    dots = base.mark_point(filled=True, size=70, color=theme.BLUE, opacity=1.0 if runs else 0.65).encode(
        tooltip=[
            alt.Tooltip("name:N", title="run" if runs else "query"),
            alt.Tooltip("x:Q", format=".4f", title=str(x)),
            alt.Tooltip("y:Q", format=".4f", title=str(y)),
        ]
    )
    spots = [to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]
    named = frame.with_columns(spot=pl.Series(range(len(frame)))).filter(pl.col("name").is_in(noted))
    found = places([(row["label"], row["spot"]) for row in named.iter_rows(named=True)], spots, SIDE, taken)
    y0, y1 = domain[1]
    texts = named.select("label", "x", "y").with_columns(
        y=pl.col("y") + pl.Series([p.up for p in found], dtype=pl.Float64) * (y1 - y0) / SIDE,
        right=pl.Series([p.right for p in found], dtype=pl.Boolean),
    )
    layers = [dots]
    for right in (True, False):
        part = texts.filter(pl.col("right") == right)
        if len(part):
            mark = alt.Chart(inline(part)).mark_text(
                align="left" if right else "right", dx=8 if right else -8, baseline="middle", fontSize=10.5
            )
            layers.append(mark.encode(x=axis("x", x, domain[0]), y=axis("y", y, domain[1]), text="label:N"))
    return layers
