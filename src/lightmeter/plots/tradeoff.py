"""Pictures of two measures against each other: group fairness and relevance, two attributes, pairs of runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, rules
from lightmeter.findings.language import better_first, brief, counted, counts, listed, margin_of, number, short_names
from lightmeter.findings.means import INTERVAL, NO_TEST, why_none
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, measure_of, one_of
from lightmeter.plots.points import SIDE, contours, crosses, domain_of, imbalance, points, reach, to_pixels, with_ends
from lightmeter.plots.query_marks import margins_told, query_finding, query_layers
from lightmeter.results.result import Result

#: Points that all get their name; of more, the notable ones.
_ALL_NAMED = 24
#: Runs that have their intervals drawn: more crosses would hide each other.
_MOST_CROSSES = 8
#: What is less high is a piece of a line.
_LINE = 4.0
#: Runs that an order is told of.
FEWEST_ORDERED = 5


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
        Show the queries of one run instead of the means of all runs; queries at nearly one place are one mark.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a point a run, or the queries of one.

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
    ["'x' has the best combined score and RR; all runs have the same", 'GF']
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
    if run is not None:
        return _of_queries(result, frame, x, y, run, weights if mixed else None)
    crossed = len(frame) <= _MOST_CROSSES
    if crossed:
        frame = with_ends(frame, result, x, y)
    domain = domain_of(reach(frame, "x"), x), domain_of(reach(frame, "y"), y)
    noted, why = _notable(frame, x, y, mixed)
    spots = [to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]
    lines, levels = contours(weights, domain, spots) if mixed else ([], [])
    bars, covers = crosses(frame, x, y, domain) if crossed else ([], [])
    layers = [*lines, *bars, *points(frame, noted, x, y, domain, True, [*levels, *covers])]
    title = run_finding(frame.with_columns(label=pl.format("'{}'", "label")), x, y, weights if mixed else None)
    unsure = f"blue lines: {INTERVAL}" if bars else why_none(result) if crossed else "intervals are not drawn"
    unsure += f"; {NO_TEST}" if len(frame) > 1 else ""
    chart = altair().layer(*layers).properties(width=SIDE, height=SIDE)
    lines_told = _score_told(x, y, weights) if mixed else ""
    of = f"means over {told_queries(frame, x, y)}"
    about = [
        "; ".join(part for part in (of, lines_told, best_corner(x, y)) if part),
        unsure,
        "; ".join(part for part in (order_told(frame, x, y), why) if part),
        "; ".join(part for part in (meanings([x, y]), rules(result.conventions)) if part),
    ]
    return theme.finished(chart, title, about, SIDE + 110)


def _score_told(x: Any, y: Any, weights: tuple[float, float]) -> str:
    """What the contour lines are of."""
    one, two = brief([x, y])
    return f"dotted: combined score {weights[0]:g} {one} + {weights[1]:g} {two}"


def _of_queries(
    result: Result, frame: pl.DataFrame, x: Any, y: Any, run: str, weights: tuple[float, float] | None
) -> Chart:
    """The picture of the queries of one run, with contour lines where there are weights."""
    domain = domain_of(reach(frame, "x"), x), domain_of(reach(frame, "y"), y)
    spots = [to_pixels(a, b, domain) for a, b in frame.select("x", "y").iter_rows()]
    lines, levels = contours(weights, domain, spots) if weights is not None else ([], [])
    texts = [box for box in levels if box[3] - box[1] > _LINE]  # a name may lie on a line, not on its level
    layers, why = query_layers(frame, x, y, domain, texts)
    chart = altair().layer(*lines, *layers).properties(width=SIDE, height=SIDE)
    gone = len(result.queries) - len(frame)
    left_out = f"{counted(gone, 'query', 'queries')} undefined and left out" if gone else ""
    about = [
        margins_told(frame, x, y),
        "; ".join(
            part for part in (best_corner(x, y), _score_told(x, y, weights) if weights is not None else "") if part
        ),
        "; ".join(part for part in ("each query as it is: no interval", why, left_out) if part),
        "; ".join(part for part in (meanings([x, y]), rules(result.conventions)) if part),
    ]
    title = query_finding(frame, x, y, short_names([run])[run])
    return theme.finished(chart, title, about, SIDE + 130)


def order_told(frame: pl.DataFrame, x: Any, y: Any) -> str:
    """Whether two measures agree on the order of the runs."""
    from lightmeter.statistics.correlation import kendall

    if len(frame) < FEWEST_ORDERED:
        return ""
    tau = kendall(*(_merit(m, frame[c].to_numpy()) for c, m in (("x", x), ("y", y)))).tau
    return f"Kendall's tau of the two orders (1: same, -1: opposite): {number(tau)}" if math.isfinite(tau) else ""


def best_corner(x: Any, y: Any) -> str:
    """Where in the picture what is best by both measures stands."""
    across, up = (
        {1.0: high, -1.0: low, 0.0: ""}[better_first(m)]
        for m, low, high in ((x, "left", "right"), (y, "bottom", "top"))
    )
    corner = " ".join(part for part in (up, across) if part)
    return f"best: {corner}" if across and up else ""


def run_finding(frame: pl.DataFrame, x: Any, y: Any, weights: tuple[float, float] | None) -> str:
    """Which run is best by which measure, and by their combined score where there are weights of it."""
    one, two = brief([x, y])
    if len(frame) == 1:
        row = frame.row(0, named=True)
        both = f", a combined score of {number(row['both'])}" if weights is not None else ""
        return f"{row['label']} has {one} {number(row['x'])} and {two} {number(row['y'])}{both}"
    a, b = (_merit(m, frame[c].to_numpy()) for c, m in (("x", x), ("y", y)))
    least = [margin_of(m, frame[c].to_list()) for c, m in (("x", x), ("y", y))]
    best: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    sides = []
    if weights is not None:
        least_of_both = weights[0] * least[0] + weights[1] * least[1]
        sides = [("best combined score", frame["both"].to_numpy(), least_of_both)]
    for what, value, few in [*sides, (_best(x, one), a, least[0]), (_best(y, two), b, least[1])]:
        best.setdefault(_leaders(frame, value, few), []).append(what)
    return _told_best(best, len(frame))


def _merit(measure: Any, value: Floats) -> Floats:
    """Values that are the higher, the better; of a measure that leans to a side, the nearer to 0."""
    if not better_first(measure) and hasattr(measure, "positive"):
        return -np.abs(value)
    return (better_first(measure) or 1.0) * value


def _best(measure: Any, name: str) -> str:
    """What the run with the first value has: of a measure with no better side only that it is the highest."""
    if not better_first(measure):
        return f"{'most balanced' if hasattr(measure, 'positive') else 'highest'} {name}"
    return f"best {name}"


def _leaders(frame: pl.DataFrame, value: Floats, least: float) -> tuple[bool, tuple[str, ...]]:
    """The labels of the points with the largest value, several where they are about the same; and whether they are
    equal.
    """
    behind = value.max() - value
    near = np.array([not counts(float(d), least) for d in behind])
    equal = behind <= 1e-9 * max(abs(value.max()), 1e-300)
    return bool((equal | ~near).all()), tuple(frame["label"].filter(pl.Series(near | equal)))


#: What runs share that have the same first value.
_SAME = {"best ": "", "highest ": "", "most balanced ": "balance by "}


def _told_best(best: dict[tuple[bool, tuple[str, ...]], list[str]], size: int) -> str:
    parts = []
    for (equal, runs), what in best.items():
        # of "best A" and "best B" the word stands once
        words = [w.removeprefix("best ") if i and what[0].startswith("best ") else w for i, w in enumerate(what)]
        if len(runs) == size and size > 1:
            same = [next(said + w.removeprefix(k) for k, said in _SAME.items() if w.startswith(k)) for w in what]
            parts.append(f"all runs have {'' if equal else 'about '}the same {listed(same)}")
        elif len(runs) > 1:
            parts.append(f"{listed(runs)} {'share the' if equal else 'have about the same'} {listed(words)}")
        else:
            verb = "has " if not any(p for p in parts if " has " in p) else ""
            parts.append(f"{runs[0]} {verb}the {listed(words)}")
    told = "; ".join(parts)
    return told if not told.startswith("all runs") else f"A{told[1:]}"


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
    x, y = measure_of(x, there), measure_of(y, there)
    if str(x) == str(y):
        raise LightmeterError(f"both measures are {x}. Accepted: two that are not the same, such as x=RR, y=nDCG@10.")
    return x, y


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
        return told(nx)
    one, two = brief([x, y])
    return f"the queries that have a value: {one} {told(nx)}, {two} {told(ny)}"


def _notable(frame: pl.DataFrame, x: Any, y: Any, mixed: bool) -> tuple[list[str], str]:
    """Names of the runs that are named in the picture, and which they are in words."""
    names = frame["name"].to_list()
    if len(names) <= _ALL_NAMED:
        return names, ""
    apart = imbalance(frame, x, y)
    ends = [_merit(m, frame[c].to_numpy()) for c, m in (("x", x), ("y", y))]
    ends += [frame["both"].to_numpy()] if mixed else []
    chosen = [*(int(np.argmax(e)) for e in ends), *np.argsort(-apart, kind="stable")[:3].tolist()]
    score = " and by the combined score" if mixed else ""
    told = f"named: a best run by each measure{score}, and 3 whose places by the two differ most"
    return [names[i] for i in dict.fromkeys(chosen)], told
