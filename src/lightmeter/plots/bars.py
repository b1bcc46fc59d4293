"""Pictures of one number a row: which way runs and queries lean, exposure by group, scores of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.words import (
    brief,
    conventions,
    counted,
    group_name,
    listed,
    measure_of,
    number,
    one_of,
    short_names,
)
from lightmeter.result import Result

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult

_RULES = ["policy", "ties", "unknown"]
#: Bars that have their name beside them.
_NAMED = 60
_BAR, _BALANCED = 16, 1e-9


def leaning_frame(result: Result, measure: Any = None, run: str | None = None) -> pl.DataFrame:
    """A row a run, or with ``run`` a row a query of it, from the highest value to the lowest: ``name, value, n``."""
    one = _signed(result, measure)
    if run is None:
        table = result.mean().filter(pl.col("segment").is_null())
    else:
        table = result.per_query().filter(pl.col("run") == one_of("run", run, result.runs))
    mine = table.filter(pl.col("measure") == str(one), pl.col("value").is_finite())
    named = mine.select(pl.col("run" if run is None else "query").alias("name"), "value", "n")
    return named.sort("value", descending=True, maintain_order=True)


def leaning(result: Result, measure: Any = None, *, run: str | None = None, other: str | None = None) -> Chart:
    """Which way runs lean between two sides, or the queries of one run: bars to either side of 0.

    Parameters
    ----------
    result
        From :func:`lightmeter.evaluate`.
    measure
        ``DeltaGF`` or another measure with a sign; may be left out where there is one ``DeltaGF``.
    run
        Show the queries of this run; by default the means of all runs.
    other
        A name for the side opposite to ``positive``; by default the attribute's other value where the result tells it.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a bar a run or query, sorted.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no such measure or run, or no value is defined.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> r = lm.evaluate(c, "DeltaGF(by='side', positive='f', user=RBP(p=0.5))@1")
    >>> lm.plots.leaning(r, run="x", other="m").to_dict()["title"]["text"]
    ['x leans to f on 1 of 1 query, to m on 0']
    """
    alt = altair()
    one = _signed(result, measure)
    frame = leaning_frame(result, one, run)
    if frame.is_empty():
        raise LightmeterError(f"{one} is nowhere defined, so there is nothing to draw.")
    toward, away = _sides(result, one, other)
    names = short_names(frame["name"].to_list()) if run is None else {n: n for n in frame["name"].to_list()}
    frame = frame.with_columns(
        label=pl.col("name").replace_strict(names),
        side=pl.when(pl.col("value") >= 0).then(pl.lit(f"leans to {toward}")).otherwise(pl.lit(f"leans to {away}")),
    )
    sides = [f"leans to {toward}", f"leans to {away}"]
    most = max(abs(float(v)) for v in frame["value"]) or 1.0
    reach = min(theme.nice_ceiling(most), max(float(one.bounds[1]), most))
    value_axis = {"scale": alt.Scale(domain=[-reach, reach], nice=False)}
    colour = alt.Color("side:N", scale=alt.Scale(domain=sides, range=[theme.BLUE, theme.ORANGE]), legend=theme.legend())
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("value:Q", format=".4f")]
    base = alt.Chart(inline(frame))
    zero = alt.Chart(inline(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=theme.INK)
    order = frame["label"].to_list()
    if run is None:
        bars = base.mark_bar().encode(
            x=alt.X(
                "value:Q",
                title=f"\u2190 {away} \u00b7 mean {brief([one])[0]} (0: balanced) \u00b7 {toward} \u2192",
                **value_axis,
            ),
            y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6)),
            color=colour,
            tooltip=tooltip,
        )
        size = {"width": theme.WIDTH - 100, "height": max(len(frame) * (_BAR + 6), 70)}
        chart = alt.layer(bars, zero.encode(x="zero:Q"))
    else:
        named = alt.Axis(
            labelAngle=-90, ticks=False, domain=False, labels=len(frame) <= _NAMED, grid=False, labelPadding=5
        )
        title = f"queries, from the one that leans most to {toward} to the one that leans most to {away}"
        bars = base.mark_bar().encode(
            x=alt.X("label:N", sort=order, title=title, axis=named, scale=alt.Scale(paddingInner=0.15)),
            y=alt.Y(
                "value:Q",
                title=f"\u2190 {away} \u00b7 {brief([one])[0]} (0: balanced) \u00b7 {toward} \u2192",
                **value_axis,
            ),
            color=colour,
            tooltip=tooltip,
        )
        size = {"width": theme.WIDTH + 60, "height": theme.HEIGHT - 60}
        chart = alt.layer(bars, zero.encode(y="zero:Q"))
    if run is None:
        n = sorted(set(frame["n"].to_list()))
        of = f"means over {counted(n[-1], 'query', 'queries')}" + (f" ({n[0]} at least)" if n[0] < n[-1] else "")
    else:
        gone = len(result.queries) - len(frame)
        of = f"run {short_names([run])[run]}" + (f"; {counted(gone, 'query', 'queries')} undefined" if gone else "")
    about = [f"{one}: {of}", conventions(result.conventions, _RULES)]
    return theme.finished(
        chart.properties(**size), leaning_finding(frame, toward, away, run, names), about, theme.WIDTH + 60
    )


def leaning_finding(frame: pl.DataFrame, toward: str, away: str, run: str | None, names: dict[str, str]) -> str:
    """To which side how many lean, and which one most."""
    value = frame["value"]
    plus, minus = int((value > _BALANCED).sum()), int((value < -_BALANCED).sum())
    side, many = (toward, plus) if plus >= minus else (away, minus)
    extreme = frame.row(0 if plus >= minus else -1, named=True)
    if not many:
        return "All are balanced"
    if run is not None:
        rest = len(frame) - plus - minus
        even = f", {rest} balanced" if rest else ""
        other = away if side == toward else toward
        told = f"{short_names([run])[run]} leans to {side} on {many} of {counted(len(frame), 'query', 'queries')}"
        return f"{told}, to {other} on {plus + minus - many}{even}"
    most = f"{names[extreme['name']]} the most ({number(extreme['value'])})"
    if many == len(frame):
        return f"{'Every run leans' if many > 1 else names[extreme['name']] + ' leans'} to {side}" + (
            f", {most}" if many > 1 else f" ({number(extreme['value'])})"
        )
    return f"{many} of {counted(len(frame), 'run')} lean{'s' if many == 1 else ''} to {side}, {most}"


def _signed(result: Result, measure: Any) -> Any:
    single = list(dict.fromkeys(c.measure for c in result.cells if c.group is None))
    if measure is not None:
        return measure_of(measure, single)
    found = [m for m in single if hasattr(m, "positive")]
    if not found:
        raise LightmeterError(
            "the result has no measure that leans to a side. Evaluate one, such as DeltaGF(by='gender', positive='f')."
        )
    return measure_of(None, found)


def _sides(result: Result, measure: Any, other: str | None) -> tuple[str, str]:
    """Names of the positive side and of the other one."""
    positive = getattr(measure, "positive", None)
    if positive is None:
        return "the positive side", other or "the negative side"
    groups = {c.group for c in result.cells if c.group is not None and c.measure.attribute == measure.attribute}
    rest = groups - {positive, "unknown"}
    return str(positive), other or (rest.pop() if len(rest) == 1 else f"not {positive}")


def exposure_frame(
    of: Result | AuditResult, measure: Any = None, cutoff: int | None = None, **where: Any
) -> pl.DataFrame:
    """A row a run and group: ``run, group, value, low, high, name``; the run of an audit is its score."""
    if isinstance(of, Result):
        one = _by_group(of, measure)
        table = of.mean().filter(
            pl.col("measure") == str(one), pl.col("segment").is_null(), pl.col("value").is_finite()
        )
        spread = 1.959964 * pl.col("se")
        ends = {"low": pl.col("value") - spread, "high": pl.col("value") + spread}
        return table.select("run", "group", "value", **ends).with_columns(_named(one.attribute))
    rows = of.rows.filter(pl.col("measure") == str(measure or "exposure"), pl.col("group").is_not_null())
    rows = rows.filter(pl.col("cutoff").eq_missing(pl.lit(cutoff, pl.Int64)))
    if "query" in rows.columns:
        rows = rows.filter(pl.col("query").is_null())
    for name in ("attribute", "score"):
        if len(rows):
            rows = rows.filter(pl.col(name) == one_of(name, where.get(name), rows[name]))
    rows = rows.filter(pl.col("value").is_finite())
    attribute = rows["attribute"][0] if len(rows) else None
    return rows.select(pl.col("score").alias("run"), "group", "value", "low", "high").with_columns(_named(attribute))


def _named(attribute: str | None) -> pl.Expr:
    return pl.col("group").map_elements(lambda g: group_name(attribute, g), pl.String).alias("name")


def exposure(
    of: Result | AuditResult,
    measure: Any = None,
    *,
    cutoff: int | None = None,
    attribute: str | None = None,
    score: str | None = None,
) -> Chart:
    """Exposure by group: a bar a group, from 0.

    Parameters
    ----------
    of
        From :func:`lightmeter.evaluate`, with a measure that has a value for each group, such as
        ``MeanExposure(by='gender')``; or from :func:`lightmeter.audit`.
    measure
        Which measure; may be left out where there is one. Of an audit by default ``exposure``.
    cutoff, attribute, score
        Which rows of an audit; None is the whole list.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a panel a run.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no such measure, or it has no value.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> r = lm.evaluate(c, "MeanExposure(by='side', user=Inverse)")
    >>> lm.plots.exposure(r).to_dict()["title"]["text"]
    ['MeanExposure: f gets 2.00 times as much as m in x and m', 'gets 2.00 times as much as f in y']
    """
    alt = altair()
    frame = exposure_frame(of, measure, cutoff, attribute=attribute, score=score)
    if frame.is_empty():
        raise LightmeterError("there is no value by group to draw. Accepted: a measure and cutoff that the result has.")
    groups = frame["name"].unique(maintain_order=True).to_list()
    groups = [g for g in groups if g != "unknown"] + [g for g in groups if g == "unknown"]
    names = short_names(frame["run"].to_list())
    frame = frame.with_columns(
        run=pl.col("run").replace_strict(names), told=pl.col("value").map_elements(number, pl.String)
    )
    if isinstance(of, Result):
        one = _by_group(of, measure)
        axis, what = f"mean {one}", brief([one])[0]
        n = sorted(set(of.mean().filter(pl.col("measure") == str(one), pl.col("n") > 0)["n"].to_list()))
        about = [f"means over {counted(n[-1], 'query', 'queries')}", conventions(of.conventions, _RULES)]
        lines = "95% interval of the rankings drawn"
    else:
        axis = what = str(measure or "exposure")
        top = "the whole list" if cutoff is None else f"the first {cutoff}"
        about = [top, f"user {of.conventions['user']}" if "user" in of.conventions else ""]
        lines = f"95% interval, {of.conventions.get('intervals', '').removeprefix('95%, ').split(', percentile')[0]}"
    high = frame.select(pl.max_horizontal("value", "high").max()).item()
    width = 300 if len(names) == 1 else 190
    y = alt.Y("name:N", sort=groups, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6))
    x = alt.X(
        "value:Q",
        title=theme.wrapped(axis, width + 30, 12),
        scale=alt.Scale(domain=[0, high * 1.22], nice=False),
        axis=alt.Axis(tickCount=3),
    )
    base = alt.Chart().encode(y=y)
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=x,
        color=alt.Color("name:N", scale=theme.colours(groups, {"unknown": theme.FAINT}), legend=None),
        tooltip=["run:N", "name:N", alt.Tooltip("value:Q", format=".4f")],
    )
    layers = [bars]
    spread = bool(frame["low"].is_finite().any())
    if spread:
        layers.append(base.mark_rule(color=theme.INK).encode(x=alt.X("low:Q"), x2="high:Q"))
    numbers = base.mark_text(align="left", dx=6).encode(x=alt.X("edge:Q"), text="told:N")
    frame = frame.with_columns(edge=pl.max_horizontal("value", pl.col("high").fill_null(0.0).fill_nan(0.0)))
    layers.append(numbers)
    panel = alt.layer(*layers).properties(width=width, height=len(groups) * 30)
    if len(names) == 1:
        chart = panel.properties(data=inline(frame))
        about[0] = f"{'run' if isinstance(of, Result) else 'ranked by'} {next(iter(names.values()))}; {about[0]}"
    else:
        order = list(names.values())
        chart = panel.facet(facet=alt.Facet("run:N", sort=order, title=None), columns=3, data=inline(frame))
    if spread:
        about[0] += f"; lines: {lines}"
    whole = min(len(names), 3) * (width + 50) if len(names) > 1 else theme.WIDTH - 60
    return theme.finished(chart, exposure_finding(frame, what), about, whole)


def exposure_finding(frame: pl.DataFrame, what: str) -> str:
    """How many times as much the group with the most gets as the one with the least, run by run."""
    told = []
    for (run,), part in frame.filter(pl.col("group") != "unknown").group_by("run", maintain_order=True):
        rows = part.sort("value", descending=True).to_dicts()
        if len(rows) < 2:
            continue
        most, least = rows[0], rows[-1]
        if most["value"] - least["value"] < 5e-3 * abs(most["value"]):
            told.append((run, "all groups get about as much"))
        elif least["value"] > 0:
            times = f"{most['value'] / least['value']:.2f} times as much as {least['name']}"
            told.append((run, f"{most['name']} gets {times}"))
        else:
            told.append((run, f"{most['name']} gets {number(most['value'])} and {least['name']} nothing"))
    if len(told) < 2:
        return f"{what}: {told[0][1] if told else 'of one group only'}"
    return f"{what}: {listed([f'{does} in {run}' for run, does in told], 3)}"


def _by_group(result: Result, measure: Any) -> Any:
    found = list(dict.fromkeys(c.measure for c in result.cells if c.group is not None))
    if not found:
        raise LightmeterError(
            "the result has no measure with a value for each group. Evaluate one, such as MeanExposure(by='gender')."
        )
    return measure_of(measure, found)
