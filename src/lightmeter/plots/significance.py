"""A picture of a comparison: how many runs each measure tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings
from lightmeter.findings.language import LITTLE, brief, counted, counts, listed, number, percent, quoted, short_names
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

#: Where the vertical axis ends: larger p-values tell nothing.
_TOP = 0.2
BEFORE = ", before adjustment"
#: P-values that all get a dot, and below which one is told to be small.
_DOTS, _SMALL = 60, 5e-4


def significance_frame(comparison: Comparison) -> pl.DataFrame:
    """A row a measure and pair of runs: ``name, measure, pair, p, significant, pairs``; first the measures that tell
    most pairs apart.
    """
    names = column_names(comparison)
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
    altair()
    frame = significance_frame(comparison)
    if frame.is_empty():
        raise LightmeterError("the comparison made no test, so there is nothing to draw.")
    alpha = comparison.plan.alpha
    single = len(comparison.runs) == 2
    adjusted = comparison.plan.adjust != "none"
    if single:
        frame = _of_one_pair(comparison, frame)
    before = BEFORE if adjusted and not single else ""
    chart = _one_pair(frame, alpha, "adjusted p" if adjusted else "p") if single else _curves(frame, alpha, before)
    how = comparison.conventions.get("adjusted", "no")
    queries = counted(len(comparison.result.queries), "query", "queries")
    about = [
        f"{comparison.conventions.get('test', '').split('; p (')[0]}; {counted(len(comparison.runs), 'run')}, {queries}"
        + ("" if single else _shown(frame, alpha)),
        f"p before they are adjusted; tables have them adjusted: {how}" if before else f"adjusted: {how}",
        f"a measure that tells {'them' if single else 'more pairs'} apart is not a better one: only more sensitive",
        meanings([c.measure for c in comparison.columns]),
    ]
    names = short_names(comparison.runs)
    title = pair_finding(frame, listed(quoted(names).values())) if single else power_finding(frame) + before
    return theme.finished(chart, title, about, theme.WIDTH + 100)


def _of_one_pair(comparison: Comparison, frame: pl.DataFrame) -> pl.DataFrame:
    """The p of the only pair as it decides in the tables too: adjusted, where it is."""
    adjusted = comparison.pairs.select("measure", "group", pl.col("p_adjusted").alias("p"))
    frame = frame.drop("p").join(adjusted, on=["measure", "group"], how="left", nulls_equal=True, maintain_order="left")
    return frame.with_columns(significant=(pl.col("p") < comparison.plan.alpha).cast(pl.Int64))


def _top(frame: pl.DataFrame, alpha: float) -> float:
    """Where the vertical axis ends: larger p-values tell nothing, but some have to be seen."""
    return max(_TOP, 2 * alpha) if (frame["p"] <= _TOP).any() else 1.0


def _shown(frame: pl.DataFrame, alpha: float) -> str:
    top = _top(frame, alpha)
    return f"; p above {top:g} are not shown" if top < 1 else ""


def _curves(frame: pl.DataFrame, alpha: float, before: str = "") -> Chart:
    """A line a measure: how many pairs have a p of so much or less."""
    alt = altair()
    key = {
        name: f"{name}: {significant} of {pairs}"
        for name, significant, pairs in frame.select("name", "significant", "pairs")
        .unique(maintain_order=True)
        .iter_rows()
    }
    names = list(key.values())
    frame = frame.with_columns(series=pl.col("name").replace_strict(key))
    top = _top(frame, alpha)
    legend = theme.strokes(orient="right", direction="vertical", title=["pairs told apart", f"(p < {alpha:g}{before})"])
    last = int(frame["pair"].max())  # type: ignore[arg-type]
    # the line of a measure ends where its p passes the top of the picture
    shown = frame.filter((pl.col("p") <= top) | (pl.col("p").shift(1, fill_value=0.0).over("series") <= top))
    x = alt.X(
        "pair:Q",
        title="number of pairs of runs with this p or a lower one (further right: more told apart)",
        scale=alt.Scale(domain=[min(1, last - 1), last], nice=False),
        axis=theme.counting(last),
    )
    y = alt.Y("p:Q", title=f"p of the test{before} (lower: told apart more surely)", scale=alt.Scale(domain=[0, top]))
    color = alt.Color("series:N", scale=theme.colours(names), legend=legend)
    tooltip = ["measure:N", "pair:Q", alt.Tooltip("p:Q", format=".4f")]
    line = alt.Chart(inline(shown)).mark_line(clip=True)
    layers = [
        line.encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash("series:N", scale=theme.dashes(names), legend=legend),
            tooltip=tooltip,
        )
    ]
    if len(frame) <= _DOTS:
        # dots at an edge of the picture are whole
        dots = alt.Chart(inline(shown.filter(pl.col("p") <= top))).mark_point(filled=True, size=40, opacity=1)
        layers.append(dots.encode(x=x, y=y, color=alt.Color("series:N", legend=None), tooltip=tooltip))
    level = alt.Chart(inline(pl.DataFrame({"at": [alpha], "told": [f"p = {alpha:g}"]})))
    layers.append(level.mark_rule(color=theme.INK, strokeWidth=1, strokeDash=[4, 3]).encode(y="at:Q"))
    right = theme.WIDTH - 100
    # where lines cross the level at the far right, its name stands at the left
    crossed = frame.filter(pl.col("pair") > 0.8 * last, pl.col("p").is_between(0.5 * alpha, 1.6 * alpha))
    side, place = ("right", right) if crossed.is_empty() else ("left", 0)
    for look in (theme.RIM, {}):
        told = level.mark_text(align=side, dx=5 if side == "left" else -5, dy=-7, **({"color": theme.MUTED} | look))
        layers.append(told.encode(x=alt.value(place), y="at:Q", text="told:N"))
    return alt.layer(*layers).properties(width=right, height=theme.HEIGHT - 20)


def _one_pair(frame: pl.DataFrame, alpha: float, p: str = "p") -> Chart:
    """A row a measure, with the p of the only pair."""
    alt = altair()
    order = frame.sort("p", maintain_order=True)["name"].to_list()
    sides = [f"{p} below {alpha:g}: told apart", f"{p} of {alpha:g} or more: not told apart"]
    frame = frame.with_columns(
        told=pl.when(pl.col("significant") > 0).then(pl.lit(sides[0])).otherwise(pl.lit(sides[1])),
        number=pl.col("p").map_elements(lambda p: "under 0.001" if p < _SMALL else number(p), pl.String),
    )
    base = alt.Chart(inline(frame)).encode(
        x=alt.X(
            "p:Q",
            title=f"{p} of the test (lower: told apart more surely)",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format=".1f"),
        ),
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False, labelPadding=8)),
    )
    fills = alt.Scale(domain=sides, range=[theme.BLUE, "white"])
    dots = base.mark_point(size=80, opacity=1, strokeWidth=1.5, color=theme.BLUE).encode(
        fill=alt.Fill("told:N", scale=fills, legend=theme.legend(symbolStrokeColor=theme.BLUE)),
        tooltip=["measure:N", alt.Tooltip("p:Q", format=".4f")],
    )
    # a column of their own, which no line crosses
    wide = theme.WIDTH - 100
    numbers = base.mark_text(align="left", dx=9).encode(x=alt.value(wide), text="number:N")
    level = alt.Chart(inline(pl.DataFrame({"at": [alpha]})))
    rule = level.mark_rule(color=theme.INK, strokeWidth=1, strokeDash=[4, 3]).encode(x="at:Q")
    return alt.layer(rule, dots, numbers).properties(width=wide, height=max(30 * len(frame), 60))


def pair_finding(frame: pl.DataFrame, whom: str) -> str:
    """Which measures tell the only two runs apart."""
    rows = frame.sort("p", maintain_order=True).select("name", "p", "significant").to_dicts()
    apart = [r["name"] for r in rows if r["significant"]]
    rest = [r["name"] for r in rows if not r["significant"]]
    if not apart:
        return f"{f'{rest[0]} does not tell' if len(rest) == 1 else 'No measure tells'} {whom} apart"
    told = f"{listed(apart, 3)} tell{'s' if len(apart) == 1 else ''} {whom} apart"
    return f"{told}, {listed(rest, 3)} {'does' if len(rest) == 1 else 'do'} not" if rest else told


def power_finding(frame: pl.DataFrame) -> str:
    """Which measure tells most pairs apart, and which the fewest."""
    rows = frame.select("name", "significant", "pairs").unique(maintain_order=True).to_dicts()
    most, least = rows[0], rows[-1]
    share = percent(most["significant"] / most["pairs"])
    if len(rows) == 1:
        return f"{most['name']} tells {most['significant']} of {counted(most['pairs'], 'pair')} of runs apart ({share})"
    if most["significant"] == 0:
        return f"No measure tells any of {counted(most['pairs'], 'pair')} of runs apart"
    least_gap = LITTLE * most["pairs"]
    if not counts(most["significant"] - least["significant"], least_gap):
        return f"All measures tell {_span(rows)} of {counted(most['pairs'], 'pair')} of runs apart ({share})"
    first, last = (
        [r for r in rows if not counts(r["significant"] - end["significant"], least_gap)] for end in (most, least)
    )
    who = listed(r["name"] for r in first) if len(first) < 3 else f"{len(first)} measures"
    tell = "tells" if len(first) == 1 else "tell"
    few = listed(r["name"] for r in last) if len(last) < 3 else f"{len(last)} measures"
    told = f"{who} {tell} the most pairs of runs apart: {_span(first)} of {most['pairs']} ({share})"
    return f"{told}, {few} the fewest: {_span(last)}"


def _span(rows: list[dict[str, Any]]) -> str:
    """Numbers of pairs that are about the same: less than 1% of the pairs apart."""
    return " to ".join(dict.fromkeys(f"{end(r['significant'] for r in rows)}" for end in (min, max)))


def column_names(comparison: Comparison) -> dict[tuple[str, str | None], str]:
    """Names of the columns, as short as keeps them apart."""
    columns = comparison.columns
    short = dict(zip((str(c.measure) for c in columns), brief([c.measure for c in columns]), strict=True))
    return {
        (str(c.measure), c.group): short[str(c.measure)] + (f" {c.group}" if c.group is not None else "")
        for c in columns
    }
