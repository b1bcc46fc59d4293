"""Pictures of a comparison: how many runs measures tell apart, and how alike they order them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.words import brief, counted, listed, number, percent

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

#: Where the vertical axis ends: larger p-values tell nothing.
_TOP = 0.2
_CELL = 58


def significance_frame(comparison: Comparison) -> pl.DataFrame:
    """A row a measure and pair of runs: ``name, measure, pair, p, significant, pairs``; first the measures that tell
    most pairs apart.
    """
    names = _names(comparison)
    told = comparison.power.select("measure", "group", "significant", "pairs")
    rows = (
        comparison.asl()
        .filter(pl.col("p").is_finite())
        .join(told, on=["measure", "group"], how="left", nulls_equal=True, maintain_order="left")
    )
    labelled = rows.with_columns(
        name=pl.Series([names[m, g] for m, g in rows.select("measure", "group").iter_rows()], dtype=pl.String)
    )
    return labelled.sort("significant", descending=True, maintain_order=True)


def significance(comparison: Comparison) -> Chart:
    """How well measures tell runs apart: the p-values of all pairs of runs in ascending order, a line a measure.

    The lower a line, the more pairs the measure tells apart (Sakai's curves of achieved significance levels).

    Parameters
    ----------
    comparison
        From :func:`lightmeter.compare`.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where no test was made.
    """
    alt = altair()
    frame = significance_frame(comparison)
    if frame.is_empty():
        raise LightmeterError("the comparison made no test, so there is nothing to draw.")
    key = [
        (name, f"{name}: {significant} of {pairs}")
        for name, significant, pairs in frame.select("name", "significant", "pairs")
        .unique(maintain_order=True)
        .iter_rows()
    ]
    names = [text for _, text in key]
    frame = frame.with_columns(series=pl.col("name").replace_strict(dict(key)))
    alpha = comparison.plan.alpha
    top = max(_TOP, 2 * alpha)
    legend = theme.legend(
        orient="right", direction="vertical", title=["pairs told apart", f"(p < {alpha:g})"], symbolType="stroke"
    )
    last = max(frame["pair"].to_list())
    # the line of a measure ends where its p passes the top of the picture
    shown = frame.filter((pl.col("p") <= top) | (pl.col("p").shift(1, fill_value=0.0).over("series") <= top))
    lines = (
        alt.Chart(inline(shown))
        .mark_line(clip=True, point=len(frame) <= 60)
        .encode(
            x=alt.X(
                "pair:Q",
                title="pairs of runs, sorted by p",
                scale=alt.Scale(domain=[1, last], nice=False),
                axis=theme.counting(last),
            ),
            y=alt.Y("p:Q", title="p of the test (lower: told apart more surely)", scale=alt.Scale(domain=[0, top])),
            color=alt.Color("series:N", scale=theme.colours(names), legend=legend),
            strokeDash=alt.StrokeDash("series:N", scale=theme.dashes(names), legend=legend),
            tooltip=["measure:N", "pair:Q", alt.Tooltip("p:Q", format=".4f")],
        )
    )
    level = alt.Chart(inline(pl.DataFrame({"at": [alpha], "told": [f"p = {alpha:g}"]})))
    rule = level.mark_rule(color=theme.INK, strokeWidth=1, strokeDash=[4, 3]).encode(y="at:Q")
    text = level.mark_text(align="left", dx=5, dy=-6, color=theme.MUTED).encode(x=alt.value(0), y="at:Q", text="told:N")
    chart = alt.layer(lines, rule, text).properties(width=theme.WIDTH - 100, height=theme.HEIGHT - 20)
    about = [
        f"{comparison.conventions.get('test', '')}; {counted(len(comparison.runs), 'run')}",
        f"p above {top:g} are not shown; p as tested, adjusted: {comparison.conventions.get('adjusted', 'no')}",
    ]
    return theme.finished(chart, power_finding(frame), about, theme.WIDTH + 100)


def power_finding(frame: pl.DataFrame) -> str:
    """Which measure tells most pairs apart, and which the fewest."""
    rows = frame.select("name", "significant", "pairs").unique(maintain_order=True).to_dicts()
    most, least = rows[0], rows[-1]
    share = percent(most["significant"] / most["pairs"])
    if len(rows) == 1:
        return f"{most['name']} tells {most['significant']} of {counted(most['pairs'], 'pair')} of runs apart ({share})"
    if most["significant"] == least["significant"]:
        return f"All measures tell {most['significant']} of {counted(most['pairs'], 'pair')} of runs apart ({share})"
    first, last = ([r["name"] for r in rows if r["significant"] == end["significant"]] for end in (most, least))
    who = listed(first) if len(first) < 3 else f"{len(first)} measures"
    tell = "tells" if len(first) == 1 else "tell"
    few = listed(last) if len(last) < 3 else f"{len(last)} measures"
    told = f"{who} {tell} most pairs of runs apart: {most['significant']} of {most['pairs']} ({share})"
    return f"{told}, {few} the fewest: {least['significant']}"


def agreement_frame(comparison: Comparison) -> pl.DataFrame:
    """A row two measures: ``a, b, tau, low, high, n, told``."""
    names = _names(comparison)
    texts = {m: names[m, None] for m, g in names if g is None}
    rows = comparison.correlations.filter(
        pl.col("measure_a").is_in(list(texts)), pl.col("measure_b").is_in(list(texts))
    )
    told = [_told(*row) for row in rows.select("tau", "low", "high").iter_rows()]
    return rows.select(
        pl.col("measure_a").replace_strict(texts).alias("a"),
        pl.col("measure_b").replace_strict(texts).alias("b"),
        "tau",
        "low",
        "high",
        "n",
        pl.Series("told", told, dtype=pl.String),
    )


def agreement(comparison: Comparison) -> Chart:
    """How alike measures order the runs: Kendall's tau of each two, with its interval.

    Parameters
    ----------
    comparison
        From :func:`lightmeter.compare`, with at least two measures.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a cell two measures; blue where they agree, orange where they disagree.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there are fewer than two measures.
    """
    alt = altair()
    frame = agreement_frame(comparison)
    if frame.is_empty():
        raise LightmeterError("the comparison has no two measures of one value. Accepted: at least two measures.")
    order = list(dict.fromkeys([*frame["a"].to_list(), *frame["b"].to_list()]))
    frame = frame.with_columns(
        span=pl.when(pl.col("low").is_finite())
        .then(
            pl.format(
                "{} to {}", pl.col("low").map_elements(_two, pl.String), pl.col("high").map_elements(_two, pl.String)
            )
        )
        .otherwise(pl.lit(""))
    )
    axis = {"ticks": False, "domain": False, "grid": False, "labelPadding": 6}
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("a:N", sort=order, title=None, axis=alt.Axis(orient="bottom", labelAngle=-35, **axis)),
        y=alt.Y("b:N", sort=order, title=None, axis=alt.Axis(**axis)),
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=[theme.ORANGE, "#FFFFFF", theme.BLUE], interpolate="rgb")
    key = alt.Legend(
        title=["tau: 1 same order,", "-1 opposite"],
        orient="right",
        gradientLength=120,
        values=[-1, -0.5, 0, 0.5, 1],
        format=".1f",
    )
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.Color("tau:Q", scale=scale, legend=key),
        tooltip=[
            "a:N",
            "b:N",
            alt.Tooltip("tau:Q", format=".3f"),
            alt.Tooltip("low:Q", format=".2f"),
            alt.Tooltip("high:Q", format=".2f"),
        ],
    )
    ink = alt.condition("abs(datum.tau) > 0.7 && datum.tau > 0", alt.value("white"), alt.value(theme.INK))
    value = base.mark_text(dy=-6, fontSize=12, fontWeight="bold").encode(text="told:N", color=ink)
    span = base.mark_text(dy=9, fontSize=9).encode(text="span:N", color=ink)
    size = max(len(order) - 1, 1) * (_CELL + 14)
    chart = alt.layer(cells, value, span).properties(width=size, height=max(len(order) - 1, 1) * _CELL)
    level = f"{100 * (1 - comparison.plan.alpha):.6g}%"
    about = [
        f"Kendall's tau between the orders of {counted(int(frame['n'][0]), 'run')}; "
        f"below it Long and Cliff's {level} interval"
    ]
    few = int(frame["n"][0]) < 10
    about.append("few runs: the intervals are rough" if few else "")
    return theme.finished(chart, tau_finding(frame), about, size + 170)


def tau_finding(frame: pl.DataFrame) -> str:
    """Which measures order the runs most alike, which least."""
    known = frame.filter(pl.col("tau").is_finite()).sort("tau", descending=True, maintain_order=True)
    if known.is_empty():
        return "No two measures can be compared"
    rows = known.to_dicts()
    most, least = rows[0], rows[-1]
    if len(rows) == 1:
        t = most["tau"]
        how = "alike" if t > 0.7 else "in part alike" if t > 0.3 else "differently" if t > -0.3 else "in opposite ways"
        return f"{most['a']} and {most['b']} order the runs {how} (tau {number(t)})"
    told = f"{most['a']} and {most['b']} order the runs most alike (tau {number(most['tau'])})"
    return f"{told}, {least['a']} and {least['b']} least ({number(least['tau'])})"


def _names(comparison: Comparison) -> dict[tuple[str, str | None], str]:
    """Names of the columns, as short as keeps them apart."""
    columns = comparison.columns
    short = dict(zip((str(c.measure) for c in columns), brief([c.measure for c in columns]), strict=True))
    return {
        (str(c.measure), c.group): short[str(c.measure)] + (f" {c.group}" if c.group is not None else "")
        for c in columns
    }


def _told(tau: float, low: float, high: float) -> str:
    return "-" if tau is None or tau != tau else f"{tau:.2f}"


def _two(value: float) -> str:
    return f"{value:.2f}"
