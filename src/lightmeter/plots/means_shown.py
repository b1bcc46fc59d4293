"""A picture of all measures of all runs side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.words import better_first, brief, conventions, counted, listed, short_names
from lightmeter.result import Result

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

_ROW, _PANEL, _MOST = 18, 150, 9
#: Means nearer than this share of their size are equal; an axis spans more, so that dust does not look like a gap.
_EQUAL, _SPAN = 1e-4, 0.02
_WAY = {1.0: "higher is better", -1.0: "lower is better", 0.0: ""}


def scores_frame(of: Result | Comparison) -> pl.DataFrame:
    """A row a measure and run: ``measure, run, value, low, high, n``; measures by group are left out."""
    if isinstance(of, Result):
        rows = of.mean().filter(pl.col("segment").is_null())
        rows = rows.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    else:
        rows = of.means
    rows = rows.filter(pl.col("group").is_null(), pl.col("value").is_finite())
    return rows.select("measure", "run", "value", "low", "high", "n")


def scores(of: Result | Comparison) -> Chart:
    """All measures of all runs: a panel a measure, a dot a run.

    Parameters
    ----------
    of
        From :func:`lightmeter.evaluate`, or from :func:`lightmeter.compare`: then with intervals.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart; runs stand in the order of the first measure.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where no measure has one value a run.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> lm.plots.scores(lm.evaluate(c, ["nDCG@10", "RR"])).to_dict()["title"]["text"]
    ['x is best by nDCG@10 and RR']
    """
    alt = altair()
    frame = scores_frame(of)
    result = of if isinstance(of, Result) else of.result
    known = {str(m): m for m in result.measures}
    measures = frame["measure"].unique(maintain_order=True).to_list()[:_MOST]
    if not measures:
        raise LightmeterError(
            "no measure has one value a run, so there is nothing to draw. For groups: plots.exposure."
        )
    frame = frame.filter(pl.col("measure").is_in(measures))
    first = frame.filter(pl.col("measure") == measures[0])
    order = first.sort("value", descending=better_first(known[measures[0]]) >= 0, maintain_order=True)["run"].to_list()
    order += [r for r in result.runs if r not in order]
    names = short_names(order)
    best = {m: _best(frame.filter(pl.col("measure") == m), known[m]) for m in measures}
    frame = frame.with_columns(
        label=pl.col("run").replace_strict(names),
        best=pl.struct("measure", "run").map_elements(lambda r: r["run"] in best[r["measure"]], pl.Boolean),
    )
    columns = 2 if len(measures) in (2, 4) else 3
    drawn = [
        _panel(frame.filter(pl.col("measure") == m), known[m], [names[r] for r in order], i % columns == 0)
        for i, m in enumerate(measures)
    ]
    n = sorted({int(v) for v in frame["n"]})
    about = [f"means over {counted(n[-1], 'query', 'queries')}" + (f" ({n[0]} at least)" if n[0] < n[-1] else "")]
    about[0] += "; filled: the best" + ("; lines: 95% interval over queries" if frame["low"].is_finite().any() else "")
    about.append(conventions(of.conventions, ["policy", "ties", "unknown"]))
    width = min(len(measures), columns) * (_PANEL + 40) + 100
    return theme.finished(alt.concat(*drawn, columns=columns), finding(best, known, names), about, width)


def _panel(frame: pl.DataFrame, measure: Any, order: list[str], named: bool) -> Chart:
    alt = altair()
    axis = alt.Axis(ticks=False, domain=False, labelPadding=6, grid=True, labels=named)
    base = alt.Chart(inline(frame)).encode(
        y=alt.Y("label:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=axis)
    )
    title = "mean" + (f", {_WAY[better_first(measure)]}" if better_first(measure) else "")
    x = alt.X(
        "value:Q",
        title=title,
        axis=alt.Axis(tickCount=4),
        scale=alt.Scale(domain=_domain(frame), zero=False, padding=8),
    )
    dots = base.mark_point(size=60, opacity=1, strokeWidth=1.5, color=theme.BLUE).encode(
        x=x,
        fill=alt.Fill("best:N", scale=alt.Scale(domain=[True, False], range=[theme.BLUE, "white"]), legend=None),
        tooltip=[
            "run:N",
            alt.Tooltip("value:Q", format=".4f"),
            alt.Tooltip("low:Q", format=".4f"),
            alt.Tooltip("high:Q", format=".4f"),
        ],
    )
    lines = base.mark_rule(color=theme.BLUE, opacity=0.6).encode(x=alt.X("low:Q"), x2="high:Q")
    heading = alt.TitleParams(theme.wrapped(str(measure), _PANEL + 20, 11, bold=True), fontSize=11, offset=6)
    layers = [lines, dots] if frame["low"].is_finite().any() else [dots]
    return alt.layer(*layers).properties(width=_PANEL, height=max(len(order) * _ROW, 60), title=heading)


def _domain(frame: pl.DataFrame) -> list[float]:
    """Ends of an axis around all values and intervals."""
    values = [v for c in ("value", "low", "high") for v in frame[c].to_list() if v is not None and math.isfinite(v)]
    low, high = min(values), max(values)
    room = max(_SPAN * max(abs(low), abs(high)) - (high - low), 0.0) / 2 or (0.05 if low == high == 0 else 0.0)
    return [low - room, high + room]


def _best(frame: pl.DataFrame, measure: Any) -> list[str]:
    sign = better_first(measure)
    if not sign:
        return []
    top = max((frame["value"] * sign).to_list())
    best = frame.filter((pl.col("value") * sign - top).abs() <= _EQUAL * abs(top))["run"].to_list()
    return best if len(best) < max(len(frame), 2) else []


def finding(best: dict[str, list[str]], known: dict[str, Any], names: dict[str, str]) -> str:
    """Which run is best by how many measures."""
    directed = [m for m in best if better_first(known[m])]
    if not directed or len(names) < 2:
        return (
            f"{next(iter(names.values()))} by {counted(len(best), 'measure')}" if len(names) == 1 else "Runs by measure"
        )
    short = dict(zip(best, brief([known[m] for m in best]), strict=True))
    by = {run: [m for m in directed if run in best[m]] for run in names}
    leader = max(names, key=lambda r: len(by[r]))
    if not by[leader]:
        return f"All runs are equal by {'the measure' if len(directed) == 1 else f'all {len(directed)} measures'}"
    if len(by[leader]) == len(directed):
        what = f"all {len(directed)} measures" if len(directed) > 2 else listed(short[m] for m in directed)
        return f"{names[leader]} is best by {what}"
    rest = [f"{names[r]} by {listed([short[m] for m in by[r]], 2)}" for r in names if r != leader and by[r]]
    told = f"{names[leader]} is best by {len(by[leader])} of {len(directed)} measures"
    return f"{told}, {listed(rest, 3)}" if rest else told
