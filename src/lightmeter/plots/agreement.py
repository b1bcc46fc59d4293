"""A picture of a comparison: how alike measures order the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings
from lightmeter.findings.language import TAU, counted, counts, listed
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.plots.significance import column_names

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

_CELL = 58
#: Pairs of measures that a title names one by one.
_NAMED = 2


def agreement_frame(comparison: Comparison) -> pl.DataFrame:
    """A row two measures: ``a, b, tau, low, high, n, told``."""
    names = column_names(comparison)
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
        From :func:`lightmeter.compare`, with at least two measures and three runs.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a cell two measures; blue where they agree, orange where they disagree.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there are fewer than two measures, or only two runs.
    """
    alt = altair()
    if len(comparison.runs) < 3:
        raise LightmeterError(
            "the comparison has two runs, whose orders are the same or opposite. Accepted: three or more runs."
        )
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
        .otherwise(pl.lit("")),
    )
    axis = {"ticks": False, "domain": False, "grid": False, "labelPadding": 6}
    base = alt.Chart(inline(frame)).encode(
        x=alt.X("a:N", sort=order, title=None, axis=alt.Axis(orient="bottom", labelAngle=-35, **axis)),
        y=alt.Y("b:N", sort=order, title=None, axis=alt.Axis(**axis)),
    )
    # light enough for dark letters
    scale = alt.Scale(domain=[-1, 0, 1], range=[theme.ORANGE, "#FFFFFF", theme.SKY], interpolate="rgb")
    key = alt.Legend(
        title=["tau: 1 same order,", "-1 opposite"],
        orient="right",
        # squares, so that each number stands beside its colour
        type="symbol",
        symbolType="square",
        symbolSize=260,
        symbolStrokeColor=theme.FAINT,
        symbolStrokeWidth=1,
        values=[1, 0.5, 0, -0.5, -1],
        format=".1f",
    )
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.condition("isValid(datum.tau)", alt.Color("tau:Q", scale=scale, legend=key), alt.value("#EEEEEE")),
        tooltip=[
            "a:N",
            "b:N",
            alt.Tooltip("tau:Q", format=".3f"),
            alt.Tooltip("low:Q", format=".2f"),
            alt.Tooltip("high:Q", format=".2f"),
        ],
    )
    value = base.mark_text(dy=-6, fontSize=12, fontWeight="bold").encode(text="told:N")
    span = base.mark_text(dy=9, fontSize=9).encode(text="span:N")
    size = max(len(order) - 1, 1) * (_CELL + 14)
    chart = alt.layer(cells, value, span).properties(width=size, height=max(len(order) - 1, 1) * _CELL)
    names = column_names(comparison)
    lowest = [
        names[str(c.measure), None] for c in comparison.columns if c.group is None and c.measure.better == "lower"
    ]
    lower = f" (by {listed(lowest)} that is the run with the lowest value)" if lowest else ""
    level = f"{100 * (1 - comparison.plan.alpha):.6g}%"
    queries = counted(len(comparison.result.queries), "query", "queries")
    about = [
        f"Kendall's tau: do two measures put the {counted(int(frame['n'][0]), 'run')} (means over {queries}) in "
        f"the same order, the best run first{lower}? Below it: Long and Cliff's {level} interval",
        meanings([c.measure for c in comparison.columns]),
    ]
    about[0] += "; few runs: the intervals are rough" if int(frame["n"][0]) < 10 else ""
    return theme.finished(chart, tau_finding(frame), about, max(size + 170, theme.WIDTH))


def tau_finding(frame: pl.DataFrame) -> str:
    """Which measures order the runs most alike, which least."""
    known = frame.filter(pl.col("tau").is_finite()).sort("tau", descending=True, maintain_order=True)
    if known.is_empty():
        return "Kendall's tau is undefined for all pairs of measures"
    rows = known.to_dicts()
    most, least = rows[0], rows[-1]
    if len(rows) == 1:
        return f"Kendall's tau of the orders by {most['a']} and {most['b']} is {_two(most['tau'])}"
    if not counts(most["tau"] - least["tau"], TAU):
        return f"All pairs of measures order the runs about as much alike ({_span(rows)})"
    tops = [r for r in rows if not counts(most["tau"] - r["tau"], TAU)]
    lows = [r for r in rows if not counts(r["tau"] - least["tau"], TAU)]
    return f"{_whom(tops)} order the runs most alike ({_span(tops)}), {_whom(lows)} least ({_span(lows)})"


def _span(rows: list[dict[str, Any]]) -> str:
    """The tau of pairs that are about the same: the numbers as they stand in the picture."""
    ends = list(dict.fromkeys(_two(f(r["tau"] for r in rows)) for f in (min, max)))
    return f"tau {' to '.join(ends)}"


def _whom(rows: list[dict[str, Any]]) -> str:
    """Which measures the pairs are of, or how many pairs there are."""
    ends = [{r["a"], r["b"]} for r in rows]
    everyone = list(dict.fromkeys(name for r in rows for name in (r["a"], r["b"])))
    if len(rows) == len(everyone) * (len(everyone) - 1) // 2:
        return listed(everyone)
    if len(rows) <= _NAMED:
        return " and ".join(f"{r['a']} with {r['b']}" for r in rows)
    shared = set.intersection(*ends)
    if len(shared) == 1:
        return f"{shared.pop()} and each of {len(rows)} others"
    return f"{len(rows)} pairs of measures"


def _told(tau: float, low: float, high: float) -> str:
    return "undefined" if tau is None or tau != tau else f"{tau:.2f}"


def _two(value: float) -> str:
    return f"{value:.2f}"
