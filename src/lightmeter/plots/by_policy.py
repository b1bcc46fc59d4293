"""A picture of what a policy makes of runs, in the order of a measure of the rankings as given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.notation import parse
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.rules_in_words import meanings, policy_words, rules
from lightmeter.plots.scatter import FEWEST_ORDERED
from lightmeter.plots.users_in_words import user_words
from lightmeter.plots.words import (
    better_first,
    brief,
    counted,
    listed,
    measure_of,
    number,
    one_of,
    quoted,
    short_names,
)
from lightmeter.result import Result

#: Areas that differ by less are equal.
_EQUAL = 1e-9
#: Level of the tests between policies.
_LEVEL = 0.05

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
    rows = {r: f"{short[r]} ({number(v)})" for r, v in frame.select("run", "static").iter_rows()}
    areas = frame.group_by("policy").agg(pl.col("area").mean()).sort("area", descending=True)
    kinds = areas["policy"].to_list()
    text = {kind: policy_words(kind) for kind in kinds}
    shown = [text[kind] for kind in kinds]
    frame = frame.with_columns(row=pl.col("run").replace_strict(rows), series=pl.col("policy").replace_strict(text))
    y = alt.Y(
        "row:N",
        sort=list(rows.values()),
        title=None,
        axis=alt.Axis(grid=True, ticks=False, domain=False, labelPadding=6),
    )
    shift = alt.YOffset("series:N", scale=alt.Scale(domain=shown, paddingOuter=0.6))
    key = theme.legend(direction="vertical")
    color = alt.Color("series:N", scale=theme.colours(shown), legend=key)
    base = alt.Chart(inline(frame)).encode(y=y, yOffset=shift)
    x = alt.X("area:Q", title="EEAUC: area below the disparity-relevance curve (0 to 1, higher is better)")
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("low:Q"), x2="high:Q", color=color)
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=x,
        color=color,
        shape=alt.Shape("series:N", scale=theme.shapes(shown), legend=key),
        tooltip=["run:N", "policy:N", alt.Tooltip("area:Q", format=".4f"), alt.Tooltip("static:Q", format=".4f")],
    )
    chart = alt.layer(bars, points).properties(width=theme.WIDTH - 100, height=max(len(rows) * 26, 80))
    user_name = one_of("user", user, [c.user for c in sweep.curves])
    way = {1.0: "best", -1.0: "lowest, which is best,", 0.0: "highest"}[better_first(one)]
    told_user = user_words([parse(user_name, kind="user")])
    n = sorted(set(frame["n"].to_list()))
    kept = rules(sweep.conventions, ["depth"])
    about = [
        order_told(frame, kinds, brief([one])[0], better_first(one) or 1.0),
        f"in brackets {one}, {meanings([one]).split(': ', 1)[1]}; {way} at the top",
        tests_told(sweep, frame, kinds, user_name),
        f"{' to '.join(f'{v:,}' for v in dict.fromkeys((n[0], n[-1])))} queries; lines: 95% interval; "
        f"user {listed(told_user.values())}" + (f"; {kept}" if kept else ""),
    ]
    return theme.finished(chart, order_finding(frame, kinds), about, theme.WIDTH + 40)


def order_told(frame: pl.DataFrame, kinds: list[str], measure: str, sign: float = 1.0) -> str:
    """How far the order of the runs by a measure is the order by area, under each policy."""
    from lightmeter.statistics.correlation import kendall

    taus = []
    for kind in kinds:
        part = frame.filter(pl.col("policy") == kind)
        if len(part) >= FEWEST_ORDERED:
            taus.append((kind, sign * kendall(part["static"].to_numpy(), part["area"].to_numpy()).tau))
    told = listed([f"{number(t)} with {k}" for k, t in taus if np.isfinite(t)])
    return f"Kendall's tau of the orders by {measure} and area (1: same, -1: opposite): {told}" if told else ""


def tests_told(sweep: SweepResult, frame: pl.DataFrame, kinds: list[str], user: str) -> str:
    """For how many runs the areas under two policies differ beyond chance.

    The same queries have both, so intervals that overlap do not tell.
    """
    from lightmeter.statistics.adjust import adjusted
    from lightmeter.statistics.paired import paired_test

    if len(kinds) != 2:
        return ""
    areas = sweep.per_query().filter(pl.col("measure") == "EEAUC", pl.col("user") == user)
    first = areas["by"].unique(maintain_order=True).to_list()[:1]
    areas = areas.filter(pl.col("by").eq_missing(pl.lit(first[0] if first else None, pl.String)))
    p = []
    for run in frame["run"].unique(maintain_order=True):
        both = areas.filter(pl.col("run") == run).pivot(on="policy", index="query", values="value")
        both = both.drop_nulls([k for k in kinds if k in both.columns])
        gap = (both[kinds[0]] - both[kinds[1]]).to_numpy() if set(kinds) <= set(both.columns) else np.zeros(0)
        gap = gap[np.isfinite(gap)]
        p.append(float(paired_test(gap[None, :], "t").p[0]) if len(gap) > 1 else np.nan)
    tested = np.isfinite(p)
    if not tested.any():
        return ""
    few = int((adjusted(np.array(p), "holm") < _LEVEL).sum())
    return (
        f"the same queries have both: their own areas differ for {few} of {counted(int(tested.sum()), 'run')} "
        f"(paired t, Holm, p < {_LEVEL:g})"
    )


def order_finding(frame: pl.DataFrame, kinds: list[str]) -> str:
    """Which policy gives more area, and for which runs it does not."""
    if len(kinds) < 2:
        return f"{kinds[0]}: areas (EEAUC) of {counted(len(frame), 'run')}"
    pair = frame.pivot(on="policy", index="run", values="area").drop_nulls(kinds[:2])
    gap, n = pair[kinds[0]] - pair[kinds[1]], len(pair)
    if not n:
        return "No run has both policies"
    wins, losses = int((gap > _EQUAL).sum()), int((gap < -_EQUAL).sum())
    first, second, most = (kinds[0], kinds[1], wins) if wins >= losses else (kinds[1], kinds[0], losses)
    if not most:
        return f"{first} and {second} give the same area (EEAUC)"
    # as they stand beside their points
    names = quoted(short_names(frame["run"].to_list()))
    if n == 1:
        which = names[pair["run"][0]]
    elif most == n:
        which = "every run"
    else:
        beaten = gap > _EQUAL if first == kinds[0] else gap < -_EQUAL
        rest = [names[r] for r in pair.filter(~beaten)["run"]]
        which = f"{most} of {n} runs, not for {listed(rest, 3)}"
    return f"{first} gives more area (EEAUC) than {second} for {which}"
