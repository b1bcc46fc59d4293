"""A picture of exposure by group."""

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
        axis, what = f"mean {one}".replace("mean Mean", "Mean", 1), brief([one])[0]
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
