"""A picture of who is among the first documents, beside who should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from lightmeter.data.collection import Collection
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.evaluation.evaluate import evaluate, ranked_context
from lightmeter.findings.glossary import rules, target_words
from lightmeter.findings.language import better_first, brief, counts, listed, margin_of, number, quoted, short_names
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context, Unknown
from lightmeter.measures.group_targets import distribution
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.terms.notation import parse

_RULES = ("ties", "unknown")
#: Shares below this have no bar that could be seen.
_NONE = 5e-4
#: Values and runs of one picture.
_MOST, _MOST_RUNS = 30, 6


def shares_frame(context: Context, measure: Any, queries: list[str], runs: list[str]) -> pl.DataFrame:
    """A row a query, run and value: ``query, series, value, share``; of the target the series is null.

    The shares are those of the measure: of the first documents down to its cutoff, under the call's rule for unknown
    memberships. Of several rankings per query the mean.
    """
    attribute = context.collection.attribute(measure.by)
    rows: list[tuple[str, str | None, str, float]] = []
    for query in queries:
        code = context.collection.queries.index(query)
        for run in runs:
            ranked = context.ranked[run]
            goal = distribution(context, measure.target, measure.by, run)
            if run == runs[0]:
                _, values, shares = goal.rows(np.array([code]))
                rows += [
                    (query, None, attribute.values[v], s) for v, s in zip(values.tolist(), shares.tolist(), strict=True)
                ]
            rankings = np.flatnonzero(ranked.query == code)
            if not len(rankings):
                continue
            block = Block(context, ranked, rankings)
            top = block.valid.astype(np.float64)
            top[:, measure.cutoff :] = 0.0
            columns = block.membership(measure.by).columns(goal, block.query)
            achieved = columns.shares(top)[0]
            labels = (
                columns.labels if columns.labels is not None else np.tile(np.arange(columns.width), (len(rankings), 1))
            )
            total: dict[str, float] = {}
            for label, share in zip(labels.ravel().tolist(), (achieved / len(rankings)).ravel().tolist(), strict=True):
                if label >= 0:
                    name = attribute.values[label] if label < len(attribute.values) else "unknown"
                    total[name] = total.get(name, 0.0) + share
            rows += [(query, run, value, share) for value, share in total.items()]
    schema = {"query": pl.String, "series": pl.String, "value": pl.String, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def distribution_at(
    collection: Collection,
    measure: Any,
    query: str | list[str],
    *,
    runs: list[str] | None = None,
    unknown: Unknown = "uniform",
    ties: Any = None,
) -> Chart:
    """The distribution over groups that rankings achieve down to a rank, beside the target.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`.
    measure
        A measure of one rank with a target, such as ``DistrSim(by='age', div=RNOD)@10``; its value is told beside.
    query
        A query, or several.
    runs
        Which runs, at most six; by default all.
    unknown, ties
        As :func:`lightmeter.evaluate` takes them.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a panel a query, a bar a run for each value, and a line where the target is.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where the query, run or measure is not there, or there are too many values or runs.
    """
    altair()
    if isinstance(measure, str):
        measure = parse(measure, kind="measure")
    if not all(hasattr(measure, a) for a in ("target", "by", "cutoff", "div")) or measure.cutoff is None:
        raise TermError(f"{measure} has no target at one rank. Accepted: a measure such as DistrSim(by='gender')@10.")
    if getattr(measure.target, "of", None) == "run":
        raise TermError(f"the target of {measure} is another one for each run. Accepted: a target that runs share.")
    queries = [query] if isinstance(query, str) else list(dict.fromkeys(query)) if isinstance(query, Iterable) else []
    if not queries or not all(isinstance(q, str) for q in queries):
        raise LightmeterError(f"the queries are {query!r}. Accepted: the name of a query, or several in a list.")
    for q in queries:
        if q not in collection.queries:
            raise LightmeterError(f"there is no query {q!r}.{suggest(q, collection.queries)}")
    shown = list(dict.fromkeys([runs] if isinstance(runs, str) else runs or collection.runs))
    if len(shown) > _MOST_RUNS:
        raise LightmeterError(
            f"the picture shows {len(shown)} runs. Accepted: at most {_MOST_RUNS}; choose some with runs=[..]."
        )
    result = evaluate(collection, [measure], unknown=unknown, ties=ties)
    context = ranked_context(collection, None, ties, None, unknown)
    for run in shown:
        if run not in context.ranked:
            raise LightmeterError(f"there is no run {run!r}.{suggest(run, context.ranked)}")
    score = {
        (q, r): float(result.values(measure, r)[result.queries.index(q)])
        for q in queries
        for r in shown
        if q in result.queries
    }
    # where the measure is undefined nothing is known of the groups, and there is no bar
    known = [(q, r) for (q, r), value in score.items() if not np.isnan(value)]
    frame = shares_frame(context, measure, queries, shown)
    bars = pl.DataFrame(known, schema={"query": pl.String, "series": pl.String}, orient="row")
    frame = pl.concat([frame.filter(pl.col("series").is_null()), frame.join(bars, on=["query", "series"])])
    if not known:
        raise LightmeterError(f"{measure} is undefined for {listed(queries)}, so there is nothing to draw.")
    values = [v for v in [*collection.attribute(measure.by).values, "unknown"] if v in set(frame["value"])]
    if len(values) > _MOST:
        raise LightmeterError(f"{measure.by!r} has {len(values)} values here. Accepted: at most {_MOST}.")
    names = short_names(shown)
    told = {q: ", ".join(f"{names[r]}\u00a0{number(score.get((q, r), np.nan))}" for r in shown) for q in queries}
    chart, width = _panels(frame, measure, values, names, told)
    way = "higher" if better_first(measure) > 0 else "lower"
    target = target_words(result.conventions.get(f"target {measure.by}", ""))
    ordinal = "; groups are ordered: a share several steps away counts more than one next door" * measure.div.ordinal
    about = [
        f"bars in the order of the key; black lines: target{', ' + target if target else ''}",
        f"numbers: {measure} of each run, {way} is nearer{ordinal}; no interval: each query as it is",
        "; ".join(part for part in (_parts(context, queries, shown, names), rules(result.conventions, _RULES)) if part),
    ]
    return theme.finished(chart, finding(score, queries, quoted(names), measure), about, max(width, theme.WIDTH - 60))


def _parts(context: Context, queries: list[str], runs: list[str], names: dict[str, str]) -> str:
    """Which runs have shares that are no whole number of documents, as they are means."""
    codes = [context.collection.queries.index(q) for q in queries]
    several = [r for r in runs if any(int((context.ranked[r].query == code).sum()) > 1 for code in codes)]
    who = listed(names[r] for r in several)
    return f"{who}: several rankings; its bars are their mean shares, its number the mean of theirs" if several else ""


def _panels(
    frame: pl.DataFrame, measure: Any, values: list[str], names: dict[str, str], told: dict[str, str]
) -> tuple[Chart, int]:
    """A panel a query, two side by side, and the width of all."""
    alt = altair()
    series = list(names.values())
    frame = frame.with_columns(wanted=pl.col("series").is_null(), series=pl.col("series").replace(names))
    wide = max(len(values) * max(26 * len(series), 40), 170)
    x = alt.X(
        "value:N",
        sort=values,
        title=str(measure.by),
        axis=alt.Axis(labelAngle=0 if _short(values, wide) else -40, ticks=False),
    )
    top = theme.nice_ceiling(float(frame["share"].max()))  # type: ignore[arg-type]
    y = alt.Y(
        "share:Q",
        title=f"share of the first {measure.cutoff} documents",
        scale=alt.Scale(domain=[0, min(top, 1.0)]),
        axis=alt.Axis(format="%"),
    )
    drawn = []
    for query, numbers in told.items():
        mine = frame.filter(pl.col("query") == query)
        bars = (
            alt.Chart(inline(mine.filter(~pl.col("wanted"))))
            .mark_bar()
            .encode(
                x=x,
                y=y,
                xOffset=alt.XOffset("series:N", sort=series, scale=alt.Scale(domain=series)),
                color=alt.Color("series:N", scale=theme.colours(series), legend=theme.legend()),
                tooltip=["query:N", "series:N", "value:N", alt.Tooltip("share:Q", format=".1%")],
            )
        )
        none = (
            alt.Chart(inline(_filled(mine, values, series).filter(pl.col("share") < _NONE)))
            .mark_text(dy=-5, fontSize=9, color=theme.MUTED)
            .encode(
                x=x,
                y=y,
                xOffset=alt.XOffset("series:N", sort=series, scale=alt.Scale(domain=series)),
                text=alt.value("0%"),
            )
        )
        marks = (
            alt.Chart(inline(mine.filter("wanted")))
            .mark_tick(color=theme.INK, opacity=1, thickness=3, orient="horizontal", bandSize=wide / len(values) * 0.92)
            .encode(x=x, y=y, tooltip=["value:N", alt.Tooltip("share:Q", format=".1%", title="target")])
        )
        heading = alt.TitleParams(
            f"query {query}", subtitle=theme.wrapped(numbers, wide, 11), fontSize=11, subtitleFontSize=11, offset=8
        )
        drawn.append(alt.layer(bars, none, marks).properties(width=wide, height=200, title=heading))
    return alt.concat(*drawn, columns=2), min(len(drawn), 2) * (wide + 50)


def _filled(frame: pl.DataFrame, values: list[str], series: list[str]) -> pl.DataFrame:
    """A row for each run that is there and each value, also where none of its documents has it."""
    bars = frame.filter(~pl.col("wanted"))
    there = [s for s in series if s in set(bars["series"])]
    every = pl.DataFrame({"series": there}, schema={"series": pl.String}).join(
        pl.DataFrame({"value": values}), how="cross", maintain_order="left"
    )
    filled = every.join(bars, on=["series", "value"], how="left", maintain_order="left")
    return filled.select("series", "value", pl.col("share").fill_null(0.0))


def finding(score: dict[tuple[str, str], float], queries: list[str], names: dict[str, str], measure: Any) -> str:
    """Which run is nearest to the target, query by query; of one run how near it is."""
    sign = better_first(measure) or 1.0
    least = margin_of(measure, [v for v in score.values() if not np.isnan(v)])
    nearest: dict[tuple[str, ...], list[str]] = {}
    gone: list[str] = []
    for q in queries:
        mine = {r: sign * score[q, r] for r in names if not np.isnan(score.get((q, r), np.nan))}
        if not mine:
            gone.append(q)
            continue
        who = tuple(names[r] for r, v in mine.items() if not counts(max(mine.values()) - v, least))
        nearest.setdefault(("all runs",) if len(who) == len(names) > 1 else who, []).append(q)
    rest = f"; undefined for {listed(gone)}" if gone else ""
    if len(names) == 1:
        only, short = next(iter(names)), brief([measure])[0]
        told = [f"{number(score[q, only])} for {q}" for q in queries if q not in gone]
        return f"{names[only]} has {short} {listed(told)}{rest}"
    where = f"at rank {measure.cutoff}"
    if len(nearest) == 1:
        ((who, on),) = nearest.items()
        runs = listed(who)
        whom = f"query {on[0]}" if len(on) == 1 else f"all {len(on)} queries"
        if who == ("all runs",):
            return f"All runs are about equally near to the target {where} for {whom}{rest}"
        are = "is nearest" if len(who) == 1 else "are nearest, about equally,"
        return f"{runs} {are} to the target {where} for {whom}{rest}"
    # who alone is nearest comes first
    parts = sorted(nearest.items(), key=lambda part: (part[0] == ("all runs",), len(part[0]) > 1))
    told = [
        f"{listed(who)}{' about equally' if len(who) > 1 or who == ('all runs',) else ''} for {listed(on)}"
        for who, on in parts
    ]
    return f"Nearest to the target {where}: {'; '.join(told)}{rest}"


def _short(values: list[str], wide: float) -> bool:
    return max(theme.text_width(v) for v in values) < wide / len(values)
