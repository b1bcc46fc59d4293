"""A picture of all measures of all runs side by side."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, rules
from lightmeter.findings.language import (
    NEAR,
    better_first,
    brief,
    counted,
    counts,
    listed,
    margin_of,
    number,
    quoted,
    short_names,
    way,
)
from lightmeter.findings.means import INTERVAL, means_over_queries, why_none
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.results.result import Result

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

_ROW, _PANEL, _MOST = 18, 150, 9
#: An axis spans at least this share of the values' size, so that dust does not look like a gap.
_SPAN = 0.02
#: Runs and shared places that a title tells of, and about how many numbers a short axis has room for.
_MOST_TOLD, _MOST_SHARED, _TICKS = 3, 2, 4


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
    if any(best.values()) and len(names) > 1:
        several = any(len(runs) > 1 for runs in best.values())
        about[0] += "; filled: best mean" + (f", or {NEAR}" if several else "")
    about[0] += f"; lines: {level}" if frame["low"].is_finite().any() else f"; {why_none(result)}"
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
        apart = {m for m in measures if _apart(frame.filter(pl.col("measure") == m), known[m], best[m])}
        title = finding(best, known, names, apart)
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
    balance = hasattr(measure, "positive")
    domain = _domain(frame, [0.0] if balance else [])
    x = alt.X(
        "value:Q",
        title=theme.axis_title(f"mean ({told})" if ":" in told else f"mean, {told}", _PANEL + 20),
        axis=_axis(domain, balance),
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
    if balance:
        rule = alt.Chart(inline(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=theme.INK, strokeDash=[4, 3])
        layers.insert(0, rule.encode(x=alt.X("zero:Q")))
    return alt.layer(*layers).properties(width=_PANEL, height=max(len(order) * _ROW, 60), title=heading)


def _axis(domain: list[float], balance: bool) -> Any:
    """Few numbers below an axis; 0 is one of them where it is the balance."""
    alt = altair()
    if not balance:
        return alt.Axis(tickCount=_TICKS)
    step = theme.nice_ceiling((domain[1] - domain[0]) / _TICKS)
    first, last = math.ceil(domain[0] / step - 1e-9), math.floor(domain[1] / step + 1e-9)
    return alt.Axis(values=[round(i * step, 12) for i in range(first, last + 1)], format=".3~g")


def _domain(frame: pl.DataFrame, shown: Sequence[float] = ()) -> list[float]:
    """Ends of an axis around all values and intervals, and what else has to be shown."""
    values = [v for c in ("value", "low", "high") for v in frame[c].to_list() if v is not None and math.isfinite(v)]
    values += shown
    low, high = min(values), max(values)
    room = max(_SPAN * max(abs(low), abs(high)) - (high - low), 0.0) / 2 or (0.05 if low == high == 0 else 0.0)
    return [low - room, high + room]


def _best(frame: pl.DataFrame, measure: Any) -> list[str]:
    """The run with the best mean and those about the same; none where all are."""
    sign = better_first(measure)
    if not sign:
        return []
    value = (frame["value"] * sign).to_list()
    top, least = max(value), margin_of(measure, value)
    best = [run for run, v in zip(frame["run"], value, strict=True) if not counts(top - v, least)]
    return best if len(best) < max(len(frame), 2) else []


def _apart(frame: pl.DataFrame, measure: Any, best: Sequence[str]) -> bool:
    """Whether the last of the best is so far before the next run that it counts."""
    sign = better_first(measure)
    value = dict(zip(frame["run"], frame["value"] * sign, strict=True))
    rest = [v for run, v in value.items() if run not in best]
    if not best or not rest:
        return False
    return counts(min(value[run] for run in best) - max(rest), margin_of(measure, list(value.values())))


def finding(
    best: dict[str, list[str]], known: dict[str, Any], names: dict[str, str], apart: Collection[str] = ()
) -> str:
    """Which run alone has the best mean by how many measures; by which ones the first are about the same.

    ``apart`` are the measures by which all of the first are clearly better than the next run.
    """
    directed = [m for m in best if better_first(known[m])]
    if not directed:
        return f"{counted(len(names), 'run')} by {counted(len(best), 'measure')} of which neither way is better"
    short = dict(zip(best, brief([known[m] for m in best]), strict=True))
    alone: dict[str, list[str]] = {}
    shared: dict[tuple[tuple[str, ...], bool], list[str]] = {}
    for m in directed:
        if len(best[m]) == 1:
            alone.setdefault(best[m][0], []).append(m)
        else:
            shared.setdefault((tuple(best[m]), m in apart), []).append(m)
    if list(shared) == [((), False)] and not alone:
        return (
            f"All runs are about the same by {'the measure' if len(directed) == 1 else f'all {len(directed)} measures'}"
        )
    told = [_alone(alone, names, short, directed, len(directed) < len(best))] if alone else []
    order = sorted(shared.items(), key=lambda part: (not part[0][0], -len(part[1])))
    for (runs, clear), by in order[:_MOST_SHARED]:
        who = listed([names[r] for r in runs], 3) if runs else "all runs"
        # the next run may be as near to the last of these as they are to each other
        first = "" if not runs else " and better than the rest" if clear else " and have the best means"
        told.append(f"{who} are about the same{first} by {listed([short[m] for m in by], 2)}")
    left = sum(len(by) for _, by in order[_MOST_SHARED:])
    told += [f"others by {counted(left, 'more measure')}"] if left else []
    whole = "; ".join(told)
    return f"A{whole[1:]}" if whole.startswith("all runs") else whole


def _alone(
    alone: dict[str, list[str]], names: dict[str, str], short: dict[str, str], directed: list[str], others: bool
) -> str:
    """Who alone has the best mean, and by how many of the measures; ``others`` have no best."""
    most = max(len(mine) for mine in alone.values())
    leaders = [run for run in names if len(alone.get(run, [])) == most]
    what = f"measures{' that have a best' if others else ''}"
    if most == len(directed):
        by = f"by all {most} {what}" if most > 2 else listed(short[m] for m in directed)
        return f"{names[leaders[0]]} has the best mean {by}"
    have = "has" if len(leaders) == 1 else "each have"
    who = listed([names[r] for r in leaders], 3)
    rest = [r for r in names if r in alone and r not in leaders]
    parts = [f"{who} {have} the best mean by {most} of {len(directed)} {what}"]
    parts += [f"{names[r]} by {len(alone[r])} ({listed([short[m] for m in alone[r]], 2)})" for r in rest[:_MOST_TOLD]]
    parts += [counted(len(rest) - _MOST_TOLD, "more run")] if len(rest) > _MOST_TOLD else []
    return "; ".join(parts)


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
