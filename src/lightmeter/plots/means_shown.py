"""A picture of all measures of all runs side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.over_queries import INTERVAL, means_over_queries, why_none
from lightmeter.plots.rules_in_words import meanings, rules
from lightmeter.plots.words import better_first, brief, counted, listed, number, quoted, short_names, way
from lightmeter.result import Result

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

_ROW, _PANEL, _MOST = 18, 150, 9
#: Means nearer than this share of their size are equal; an axis spans more, so that dust does not look like a gap.
_EQUAL, _SPAN = 1e-4, 0.02


def scores_frame(of: Result | Comparison) -> pl.DataFrame:
    """A row a measure and run: ``measure, run, value, low, high, n``; measures by group are left out."""
    if isinstance(of, Result):
        rows = means_over_queries(of, [c.measure for c in of.cells if c.group is None])
    else:
        rows = of.means
    rows = rows.filter(pl.col("group").is_null(), pl.col("value").is_finite())
    return rows.select("measure", "run", "value", "low", "high", "n")


def scores(of: Result | Comparison) -> Chart:
    """All measures of all runs: a panel a measure, a dot a run.

    Parameters
    ----------
    of
        From :func:`lightmeter.evaluate`, or from :func:`lightmeter.compare`: then it is told which leads are
        significant. Lines are intervals over queries.

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
    ["'x' has the best mean nDCG@10 and RR"]
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
        best=pl.struct("measure", "run").map_elements(
            lambda r: len(names) == 1 or r["run"] in best[r["measure"]], pl.Boolean
        ),
    )
    columns = 2 if len(measures) in (2, 4) else 3
    drawn = [
        _panel(frame.filter(pl.col("measure") == m), known[m], [names[r] for r in order], i % columns == 0)
        for i, m in enumerate(measures)
    ]
    n = sorted({int(v) for v in frame["n"]})
    # a comparison's intervals have the level of its tests
    level = INTERVAL if isinstance(of, Result) else INTERVAL.replace("95%", f"{100 * (1 - of.plan.alpha):.6g}%")
    about = [f"means over {counted(n[-1], 'query', 'queries')}" + (f" ({n[0]} at least)" if n[0] < n[-1] else "")]
    about[0] += ("; filled: the best mean" if any(best.values()) and len(names) > 1 else "") + (
        f"; lines: {level}" if frame["low"].is_finite().any() else f"; {why_none(result)}"
    )
    if not isinstance(of, Result):
        about.append(leads(of, best, known))
    elif len(names) > 1:
        about.append("no test: the best may be so by chance; lightmeter.compare tests on the same queries")
    told = (meanings([known[m] for m in measures]), rules(of.conventions))
    about.append("; ".join(part for part in told if part))
    names = quoted(names)
    if len(names) == 1:
        words = zip(brief([known[m] for m in measures]), frame["value"], strict=True)
        title = f"{next(iter(names.values()))} has {listed([f'{m} {number(v)}' for m, v in words])}"
    else:
        title = finding(best, known, names)
    width = min(len(measures), columns) * (_PANEL + 40) + 100
    return theme.finished(alt.concat(*drawn, columns=columns), title, about, width)


def _panel(frame: pl.DataFrame, measure: Any, order: list[str], named: bool) -> Chart:
    alt = altair()
    axis = alt.Axis(ticks=False, domain=False, labelPadding=6, grid=True, labels=named)
    base = alt.Chart(inline(frame)).encode(
        y=alt.Y("label:N", sort=order, scale=alt.Scale(domain=order), title=None, axis=axis)
    )
    told = way(measure) or "neither way is better"
    told = told if better_first(measure) else f"no best: {told}".replace(": 0: ", ", 0: ")
    domain = _domain(frame)
    x = alt.X(
        "value:Q",
        title=theme.axis_title(f"mean ({told})" if ":" in told else f"mean, {told}", _PANEL + 20),
        axis=alt.Axis(tickCount=4),
        scale=alt.Scale(domain=domain, zero=False, padding=8),
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
    if hasattr(measure, "positive") and domain[0] <= 0 <= domain[1]:
        rule = alt.Chart(inline(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=theme.INK, strokeDash=[4, 3])
        layers.insert(0, rule.encode(x=alt.X("zero:Q")))
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
    """Which run has the best mean by how many measures; who shares it is told."""
    directed = [m for m in best if better_first(known[m])]
    if not directed:
        return f"{counted(len(names), 'run')} by {counted(len(best), 'measure')} of which neither way is better"
    short = dict(zip(best, brief([known[m] for m in best]), strict=True))
    by = {run: [m for m in directed if run in best[m]] for run in names}
    most = max(len(mine) for mine in by.values())
    leaders = [run for run in names if len(by[run]) == most]
    if not most:
        return f"All runs are equal by {'the measure' if len(directed) == 1 else f'all {len(directed)} measures'}"
    everything = most == len(directed)
    what = f"by all {most} measures" if len(directed) > 2 else listed(short[m] for m in directed)
    if len(leaders) > 1:
        who = listed([names[r] for r in leaders], 3)
        if everything:
            return f"{who} share the best mean {what}"
        return (
            f"{who} have the best mean by {most} of {len(directed)} measures each{_others(by, leaders, names, short)}"
        )
    leader = leaders[0]
    shared = [m for m in by[leader] if len(best[m]) > 1]
    if everything:
        told = f"{names[leader]} has the best mean {what}"
        return f"{told}, by {listed([short[m] for m in shared], 2)} with others" if shared else told
    told = f"{names[leader]} has the best mean by {most} of {len(directed)} measures"
    return told + _others(by, leaders, names, short)


def _others(by: dict[str, list[str]], leaders: list[str], names: dict[str, str], short: dict[str, str]) -> str:
    """Which runs are the best by fewer measures."""
    rest = [
        f"{names[r]} by {len(by[r])} ({listed([short[m] for m in by[r]], 2)})"
        for r in names
        if r not in leaders and by[r]
    ]
    more = f"; {counted(len(rest) - 3, 'more run')}" if len(rest) > 3 else ""
    return "".join(f"; {told}" for told in rest[:3]) + more


def leads(comparison: Comparison, best: dict[str, list[str]], known: dict[str, Any]) -> str:
    """By how many measures the best run is significantly better than the next one."""
    pairs = comparison.pairs.filter(pl.col("group").is_null())
    told, firm = 0, []
    for name, runs in best.items():
        sign = better_first(known[name])
        means = comparison.means.filter(pl.col("measure") == name, pl.col("group").is_null())
        order = means.filter(pl.col("value").is_finite()).with_columns(pl.col("value") * sign).sort("value")["run"]
        if not sign or len(order) < 2 or not runs:
            continue
        ends = order.to_list()[-2:]
        row = pairs.filter(pl.col("measure") == name, pl.col("run_a").is_in(ends), pl.col("run_b").is_in(ends))
        if row.is_empty() or not math.isfinite(row["p_adjusted"][0]):
            continue
        told += 1
        if row["p_adjusted"][0] < comparison.plan.alpha:
            firm.append(name)
    if not told:
        return ""
    short = dict(zip(known, brief(list(known.values())), strict=True))
    if not firm:
        return "no lead of the best over the next run is significant"
    what = f"all {told} measures tested" if len(firm) == told > 1 else listed([short[m] for m in firm])
    only = " only" if len(firm) < told else ""
    return f"the lead of the best over the next run is significant by {what}{only}"
