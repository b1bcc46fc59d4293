"""A picture of what a policy makes of runs, in the order of a measure of the rankings as given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.scatter import FEWEST_ORDERED
from lightmeter.plots.words import (
    alike,
    better_first,
    conventions,
    counted,
    listed,
    measure_of,
    number,
    one_of,
    short_names,
)
from lightmeter.result import Result

#: Areas that differ by less are equal.
_EQUAL = 1e-9

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult


def policies_frame(sweep: SweepResult, result: Result, measure: Any = None, user: str | None = None) -> pl.DataFrame:
    """A row a run and policy: ``run, policy, static`` (the measure's mean), ``area, low, high``."""
    one = measure_of(measure, result.measures)
    static = result.mean().filter(pl.col("measure") == str(one), pl.col("segment").is_null())
    areas = sweep.summary().filter(pl.col("measure") == "EEAUC")
    areas = areas.filter(pl.col("user") == one_of("user", user, areas["user"]))
    first = areas["by"].unique(maintain_order=True).to_list()[0]
    areas = areas.filter(pl.col("by").eq_missing(pl.lit(first, pl.String)))
    joined = areas.select("run", "policy", pl.col("value").alias("area"), "low", "high", "n").join(
        static.select("run", pl.col("value").alias("static")), on="run", how="inner", maintain_order="left"
    )
    joined = joined.filter(pl.col("area").is_finite(), pl.col("static").is_finite())
    if joined.is_empty():
        raise LightmeterError("the sweep and the result share no run with an area. Accepted: both of the same runs.")
    return joined.sort("static", descending=better_first(one) >= 0, maintain_order=True)


def policies(sweep: SweepResult, result: Result, measure: Any = None, *, user: str | None = None) -> Chart:
    """Runs in the order of a measure of the ranking as given, with the area below their curves by policy.

    It shows whether a measure that looks at one ranking can tell what a policy makes of the run.

    Parameters
    ----------
    sweep
        From :func:`lightmeter.sweep`.
    result
        Of the same runs, from :func:`lightmeter.evaluate`.
    measure
        Which measure of the result; may be left out where there is one.
    user
        Which user of the sweep; may be left out where there is one.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a row a run, the best by the measure at the top.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where sweep and result share no run, or something has to be named.
    """
    alt = altair()
    one = measure_of(measure, result.measures)
    frame = policies_frame(sweep, result, one, user)
    short = short_names(frame["run"].to_list())
    rows = {r: f"{short[r]}  {number(v)}" for r, v in frame.select("run", "static").iter_rows()}
    areas = frame.group_by("policy").agg(pl.col("area").mean()).sort("area", descending=True)
    kinds = areas["policy"].to_list()
    frame = frame.with_columns(row=pl.col("run").replace_strict(rows))
    y = alt.Y(
        "row:N",
        sort=list(rows.values()),
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False, labelPadding=6),
    )
    shift = alt.YOffset("policy:N", scale=alt.Scale(domain=kinds, paddingOuter=0.6))
    key = theme.legend()
    color = alt.Color("policy:N", scale=theme.colours(kinds), legend=key)
    base = alt.Chart(inline(frame)).encode(y=y, yOffset=shift)
    x = alt.X("area:Q", title="EEAUC: area below the disparity-relevance curve (0 to 1, higher is better)")
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("low:Q"), x2="high:Q", color=color)
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=x,
        color=color,
        shape=alt.Shape("policy:N", scale=theme.shapes(kinds), legend=key),
        tooltip=["run:N", "policy:N", alt.Tooltip("area:Q", format=".4f"), alt.Tooltip("static:Q", format=".4f")],
    )
    chart = alt.layer(bars, points).properties(width=theme.WIDTH - 100, height=max(len(rows) * 26, 80))
    user_name = one_of("user", user, [c.user for c in sweep.curves])
    way = {1.0: "best", -1.0: "lowest, which is best,", 0.0: "highest"}[better_first(one)]
    about = [
        f"runs in the order of {one}, shown beside the name, {way} at the top; lines: 95% interval over queries",
        f"user of the curves {user_name}; {conventions(sweep.conventions, ['depth'])}",
    ]
    return theme.finished(
        chart, order_finding(frame, kinds, str(one), better_first(one) or 1.0), about, theme.WIDTH + 40
    )


def order_finding(frame: pl.DataFrame, kinds: list[str], measure: str, sign: float = 1.0) -> str:
    """Whether the choice of policy or the run's measure decides about the area."""
    from lightmeter.statistics.correlation import kendall

    taus = []
    for kind in kinds:
        part = frame.filter(pl.col("policy") == kind)
        if len(part) >= FEWEST_ORDERED:
            taus.append((kind, sign * kendall(part["static"].to_numpy(), part["area"].to_numpy()).tau))
    known = [(k, t) for k, t in taus if np.isfinite(t)]
    agree = ""
    if known:
        words = list(dict.fromkeys(alike(t) for _, t in known))
        if len(words) == 1:
            told = listed([f"tau {number(t)} with {k}" for k, t in known])
            agree = f"{measure} and the area order the runs {words[0]} ({told})"
        else:
            told = listed([f"{alike(t)} with {k} (tau {number(t)})" for k, t in known])
            agree = f"{measure} and the area order the runs {told}"
    if len(kinds) < 2:
        return agree or f"{kinds[0]}: {counted(len(frame), 'run')}"
    pair = frame.pivot(on="policy", index="run", values="area").drop_nulls(kinds[:2])
    gap, n = pair[kinds[0]] - pair[kinds[1]], len(pair)
    if not n:
        return f"{agree}, but not across policies" if agree else "No run has both policies"
    wins, losses = int((gap > _EQUAL).sum()), int((gap < -_EQUAL).sum())
    first, second, most = (kinds[0], kinds[1], wins) if wins >= losses else (kinds[1], kinds[0], losses)
    if not most:
        better = f"{first} and {second} give the same area (EEAUC)"
    else:
        which = (
            "every run"
            if most == n and n > 1
            else f"{most} of {counted(n, 'run')}"
            if n > 1
            else short_names(pair["run"].to_list())[pair["run"][0]]
        )
        better = f"{first} gives more area (EEAUC) than {second} for {which}"
    return f"{better}. {agree}" if agree else better
