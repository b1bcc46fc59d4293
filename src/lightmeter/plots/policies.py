"""A picture of what a policy makes of runs, in the order of a measure of the rankings as given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, rules, user_words
from lightmeter.findings.language import better_first, brief, counted, listed, number, short_names
from lightmeter.findings.policies import LEVEL, gap_finding, gaps_frame
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, measure_of, one_of
from lightmeter.plots.tradeoff import FEWEST_ORDERED
from lightmeter.results.result import Result
from lightmeter.results.text import printable
from lightmeter.terms.notation import parse

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult


from lightmeter.findings.glossary import policy_words
from lightmeter.plots.chart import inline

#: Width of a panel, and height of a row.
PANEL, _ROW, _LOWEST = 330, 26, 80
_NOT_FOUND = "white"


def areas_panel(frame: pl.DataFrame, kinds: list[str], order: list[str], column: str, told: str) -> Chart:
    """Areas with their intervals: a row a run, a colour and a shape a policy."""
    alt = altair()
    base = alt.Chart(inline(_named(frame, "policy", kinds))).encode(y=_rows(order, column), yOffset=_shift(kinds))
    color, shape = _looks(kinds)
    x = alt.X("area:Q", title=theme.axis_title("EEAUC: area below the curve (0 to 1, higher is better)", PANEL))
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("low:Q"), x2="high:Q", color=color)
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=x,
        color=color,
        shape=shape,
        tooltip=["run:N", "policy:N", alt.Tooltip("area:Q", format=".4f"), alt.Tooltip("static:Q", format=".4f")],
    )
    return alt.layer(bars, points).properties(
        width=PANEL, height=_height(order), title=_heading("Area by policy", told)
    )


def gaps_panel(gaps: pl.DataFrame, kinds: list[str], order: list[str]) -> Chart:
    """How much larger the first policy's area is than the others', with intervals and a line at 0."""
    alt = altair()
    others = kinds[1:]
    # of two policies the difference belongs to neither
    color, shape = _looks(kinds) if len(others) > 1 else (alt.value(theme.INK), alt.value("diamond"))
    shift: dict[str, Any] = {"yOffset": _shift(others)} if len(others) > 1 else {}
    data = _named(gaps, "other", others)
    base = alt.Chart(inline(data)).encode(y=_rows(order, ""), **shift)
    ends = [v for c in ("gap", "low", "high") for v in gaps[c].to_list() if v is not None and v == v] + [0.0]
    most = max(abs(v) for v in ends)
    scale = alt.Scale(domain=[min(ends), max(ends)] if most > 0 else [-0.05, 0.05], zero=True, padding=12)
    less = others[0] if len(others) == 1 else "another"
    x = alt.X(
        "gap:Q",
        title=[
            f"{kinds[0]}'s area minus {'the other' if len(others) > 1 else less}'s",
            f"← more with {less} · more with {kinds[0]} →",
        ],
        scale=scale,
        axis=alt.Axis(tickCount=6),
    )
    zero = alt.Chart(inline(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=theme.INK, strokeWidth=1.5)
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", color=color)
    look = {"size": 80, "opacity": 1, "strokeWidth": 1.6}
    tips = [
        "run:N",
        "policy:N",
        "other:N",
        *(alt.Tooltip(f"{c}:Q", format=".4f") for c in ("gap", "low", "high", "p_adjusted")),
    ]
    hollow = base.mark_point(fill=_NOT_FOUND, **look).encode(x=x, color=color, shape=shape, tooltip=tips)
    found = base.transform_filter("datum.found").mark_point(filled=True, **look)
    layers = [zero.encode(x=alt.X("zero:Q", scale=scale)), bars, hollow]
    if gaps["found"].any():
        layers.append(found.encode(x=x, color=color, shape=shape, tooltip=tips))
    tested = gaps["p"].is_finite().any()
    key = "filled: a difference is found; hollow: none is found" if tested else "not tested"
    heading = _heading("Difference for the same queries", key)
    return alt.layer(*layers).properties(width=PANEL, height=_height(order), title=heading)


def _named(frame: pl.DataFrame, column: str, kinds: list[str]) -> pl.DataFrame:
    """With the name of each policy as the key has it."""
    text = {kind: policy_words(kind) for kind in kinds}
    return frame.with_columns(series=pl.col(column).replace_strict(text, return_dtype=pl.String))


def _looks(kinds: list[str]) -> tuple[Any, Any]:
    alt = altair()
    names = [policy_words(kind) for kind in kinds]
    key = theme.legend(direction="vertical")
    return (
        alt.Color("series:N", scale=theme.colours(names), legend=key),
        alt.Shape("series:N", scale=theme.shapes(names), legend=key),
    )


def _rows(order: list[str], column: str) -> Any:
    """A row a run; both panels have them at the same heights."""
    alt = altair()
    axis = alt.Axis(
        grid=True,
        ticks=False,
        domain=False,
        labelPadding=6,
        labels=bool(column),
        # above the names; unseen where there are none, so that the headings of both panels stand at one height
        titleOpacity=1 if column else 0,
        titleAngle=0,
        titleAlign="right",
        titleAnchor="end",
        titleX=-6,
        titleY=-8,
    )
    scale = alt.Scale(domain=order, type="band", paddingInner=0.2, paddingOuter=0.1)
    return alt.Y("row:N", sort=order, scale=scale, title=column or "-", axis=axis)


def _shift(kinds: list[str]) -> Any:
    alt = altair()
    return alt.YOffset("series:N", scale=alt.Scale(domain=[policy_words(k) for k in kinds], paddingOuter=0.6))


def _height(order: list[str]) -> int:
    return max(len(order) * _ROW, _LOWEST)


def _heading(name: str, told: str) -> Any:
    alt = altair()
    return alt.TitleParams([name], subtitle=[told], fontSize=12, subtitleFontSize=11, offset=8, frame="group")


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
    one = measure_of(measure, result.measures)
    frame = policies_frame(sweep, result, one, user)
    user = one_of("user", user, [c.user for c in sweep.curves])
    kinds = _kinds(sweep, frame)
    by = next(c.by for c in sweep.curves if c.user == user)
    gaps = gaps_frame(sweep, frame["run"].unique(maintain_order=True).to_list(), kinds, user, by)
    short = short_names(frame["run"].to_list())
    rows = {r: f"{short[r]} ({number(v)})" for r, v in frame.select("run", "static").iter_rows()}
    frame, gaps = (
        f.with_columns(row=pl.col("run").replace_strict(rows, return_dtype=pl.String)) for f in (frame, gaps)
    )
    order, column = list(rows.values()), f"run ({brief([one])[0]})"
    left, width = areas_panel(frame, kinds, order, column, areas_told(frame)), theme.WIDTH + 40
    chart: Chart = left
    title = f"{kinds[0]}: areas (EEAUC) of {counted(len(rows), 'run')}"
    if len(gaps):
        chart = altair().hconcat(left, gaps_panel(gaps, kinds, order), spacing=24)
        width, title = 2 * PANEL + 180, gap_finding(gaps)
    elif len(kinds) > 1:
        title = f"{listed(kinds)}: no run has an area by more than one"
    about = [
        gaps_told(gaps, max(frame["n"].to_list())) or f"areas: {areas_told(frame)}",
        f"{order_of(one)}{order_told(frame, kinds, better_first(one) or 1.0)}",
        reader_told(sweep, user),
    ]
    return theme.finished(chart, title, about, width)


def _kinds(sweep: SweepResult, frame: pl.DataFrame) -> list[str]:
    """The policies: of two the one with the larger areas first, of more that which the sweep was given first."""
    there = set(frame["policy"])
    given = [p for p in dict.fromkeys(c.policy for c in sweep.curves) if p in there]
    if len(given) != 2:
        return given
    mean = dict(frame.group_by("policy").agg(pl.col("area").mean()).iter_rows())
    return sorted(given, key=lambda p: -mean[p])


def gaps_told(gaps: pl.DataFrame, queries: int) -> str:
    """How the differences were tested."""
    if gaps.is_empty():
        return ""
    if not gaps["p"].is_finite().any():
        return f"differences are not tested: {'one query' if queries == 1 else 'nothing varies over resampled queries'}"
    tests = counted(int(gaps["p"].is_finite().sum()), "test")
    test = f"t over resampled queries, p < {LEVEL:g} by Holm for {tests}"
    return f"differences: paired ({test}), each with its own 95% interval; 0: the same area"


def areas_told(frame: pl.DataFrame) -> str:
    """What the intervals of the areas are."""
    n = sorted(set(frame["n"].to_list()))
    queries = " to ".join(f"{v:,}" for v in dict.fromkeys((n[0], n[-1])))
    over = f"over {queries} {'query' if n[-1] == 1 else 'queries'}"
    if n[-1] == 1 or not frame["low"].is_finite().any():
        return f"{over}; no intervals"
    return f"95% intervals {over}" + ("; overlap tells little" if frame["policy"].n_unique() > 1 else "")


def order_of(measure: Any) -> str:
    """In which order the runs stand."""
    way = {1.0: "best", -1.0: "lowest, which is best,", 0.0: "highest"}[better_first(measure)]
    words = meanings([measure]).split(": ", 1)[1]
    return f"rows: by {measure} of the ranking as given, in brackets, {way} at the top: {words}"


def reader_told(sweep: SweepResult, user: str) -> str:
    """For whom the areas are, and how much of a ranking they look at."""
    words = listed(user_words([parse(user, kind="user")]).values())
    kept = rules(sweep.conventions, ["depth"])
    return (
        f"areas are for the user {printable(user)}"
        + (
            f", of whom {words.split(': ', 1)[1]}"
            if user.startswith("RBP(")
            else f" ({words})"
            if words != user
            else ""
        )
        + (f"; {kept}" if kept else "")
    )


def order_told(frame: pl.DataFrame, kinds: list[str], sign: float = 1.0) -> str:
    """How far the order of the runs by a measure is the order by area, under each policy."""
    from lightmeter.statistics.correlation import kendall

    taus = []
    for kind in kinds:
        part = frame.filter(pl.col("policy") == kind)
        if len(part) >= FEWEST_ORDERED:
            taus.append((kind, sign * kendall(part["static"].to_numpy(), part["area"].to_numpy()).tau))
    told = listed([f"{number(t)} by {k}" for k, t in taus if np.isfinite(t)])
    if not told:
        return ""
    return f"; how alike the order by area is (Kendall's tau, 1: the same, 0: unrelated, -1: opposite): {told}"
