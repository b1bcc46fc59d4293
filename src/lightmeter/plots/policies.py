"""A picture of what a policy makes of runs, in the order of a measure of the rankings as given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, rules, user_words
from lightmeter.findings.language import better_first, brief, counted, listed, number, short_names
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, measure_of, one_of
from lightmeter.plots.policy_gaps import LEVEL, gap_finding, gaps_frame
from lightmeter.plots.policy_panels import PANEL, areas_panel, gaps_panel
from lightmeter.plots.tradeoff import FEWEST_ORDERED
from lightmeter.results.result import Result
from lightmeter.results.text import printable
from lightmeter.terms.notation import parse

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
