"""Pictures of one number a row: which way runs and queries lean, exposure by group, scores of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from lightmeter.errors import LightmeterError, suggest
from lightmeter.findings.glossary import meanings, rules
from lightmeter.findings.language import LITTLE, brief, counted, group_name, listed, margin_of, quoted, short_names
from lightmeter.findings.leaning import EVEN, compared, leaning_finding, reaches
from lightmeter.findings.means import INTERVAL, means_over_queries, why_none
from lightmeter.measures.groups import DeltaGF
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline, measure_of, one_of
from lightmeter.results.result import Result

#: Bars that have their name beside them.
_NAMED = 60
#: Values nearer to 0 than this, of a measure from -1 to 1, are about even; as a share of what it can be.
_ABOUT_EVEN = 0.025
_BAR, _QUERY = 16, 50


def leaning_frame(result: Result, measure: Any = None, run: str | None = None) -> pl.DataFrame:
    """A row a run, or with ``run`` a row a query of it, from the highest value to the lowest: ``name, value, n``;
    of runs also ``low`` and ``high``, the interval over queries.
    """
    one = _signed(result, measure)
    ends = ["low", "high"] if run is None else []
    if run is None:
        table = means_over_queries(result, [one])
    else:
        table = result.per_query().filter(pl.col("run") == one_of("run", run, result.runs))
    mine = table.filter(pl.col("measure") == str(one), pl.col("value").is_finite())
    named = mine.select(pl.col("run" if run is None else "query").alias("name"), "value", "n", *ends)
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
        A name for the side opposite to ``positive``; by default the attribute's other value where the result tells it,
        which is then the only name that is accepted.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a bar a run or query, sorted.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no such measure or run, no value is defined, or ``other`` is not the other value.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> r = lm.evaluate(c, "DeltaGF(by='side', positive='f', user=RBP(p=0.5))@1")
    >>> lm.plots.leaning(r, run="x", other="m").to_dict()["title"]["text"]
    ["'x' leans to side f on 1 of 1 query, to side m on 0"]
    """
    alt = altair()
    one = _signed(result, measure)
    frame = leaning_frame(result, one, run)
    if frame.is_empty():
        raise LightmeterError(f"{one} is nowhere defined, so there is nothing to draw.")
    toward, away = _sides(result, one, other)
    more = "more " if isinstance(one, DeltaGF) else ""
    least = about_even(one, frame["value"].to_list())
    names = short_names(frame["name"].to_list()) if run is None else {n: n for n in frame["name"].to_list()}
    near = margin_of(one, frame["value"].to_list())
    unsure = reaches(frame, near) if run is None else pl.lit(False)
    hardly = f"hardly leans: its interval holds 0 or ends within {near:.2g} of it"
    frame = frame.with_columns(
        label=pl.col("name").replace_strict(names),
        side=pl.when(pl.col("value").abs() < least)
        .then(pl.lit(f"about even: within {least:.2g} of 0"))
        .when(unsure)
        .then(pl.lit(hardly))
        .when(pl.col("value") > 0)
        .then(pl.lit(f"leans to {toward}"))
        .otherwise(pl.lit(f"leans to {away}")),
    )
    looks = {f"leans to {toward}": theme.BLUE, f"leans to {away}": theme.ORANGE}
    looks |= {hardly: theme.MUTED, f"about even: within {least:.2g} of 0": theme.FAINT}
    # a colour that is nowhere is not in the key either
    sides = [side for side in looks if side in set(frame["side"])]
    ends = [c for c in ("value", "low", "high") if c in frame.columns]
    most = max(abs(v) for c in ends for v in frame[c].drop_nulls().drop_nans()) or 1.0
    reach = min(theme.nice_ceiling(most), max(float(one.bounds[1]), most))
    value_axis = {"scale": alt.Scale(domain=[-reach, reach], nice=False)}
    colour = alt.Color("side:N", scale=alt.Scale(domain=sides, range=[looks[s] for s in sides]), legend=theme.legend())
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("value:Q", format=".4f")]
    base = alt.Chart(inline(frame))
    zero = alt.Chart(inline(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=theme.INK)
    order = frame["label"].to_list()
    if run is None:
        bars = base.mark_bar().encode(
            x=alt.X(
                "value:Q",
                title=f"\u2190 {more}{away} \u00b7 mean {brief([one])[0]} ({EVEN}) \u00b7 {more}{toward} \u2192",
                **value_axis,
            ),
            y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6)),
            color=colour,
            tooltip=tooltip,
        )
        size = {"width": theme.WIDTH - 100, "height": max(len(frame) * (_BAR + 6), 70)}
        chart = alt.layer(bars, *_intervals(frame, bars), zero.encode(x="zero:Q"))
    else:
        named = alt.Axis(
            labelAngle=-90, ticks=False, domain=False, labels=len(frame) <= _NAMED, grid=False, labelPadding=5
        )
        wide = min(theme.WIDTH + 60, max(_QUERY * len(frame), 200))
        order_told = f"queries, from the highest value ({toward}) to the lowest ({away})"
        title = theme.wrapped(order_told, wide, 12) if len(frame) > 1 else ["query"]
        bars = base.mark_bar().encode(
            x=alt.X("label:N", sort=order, title=title, axis=named, scale=alt.Scale(paddingInner=0.15)),
            y=alt.Y(
                "value:Q",
                title=f"\u2190 {more}{away} \u00b7 {brief([one])[0]} ({EVEN}) \u00b7 {more}{toward} \u2192",
                **value_axis,
            ),
            color=colour,
            tooltip=tooltip,
        )
        size = {"width": wide, "height": theme.HEIGHT - 60}
        chart = alt.layer(bars, zero.encode(y="zero:Q"))
    if run is None:
        n = sorted(set(frame["n"].to_list()))
        of = f"means over {counted(n[-1], 'query', 'queries')}" + (f" ({n[0]} at least)" if n[0] < n[-1] else "")
        drawn = frame["low"].is_finite().any()
        of += f"; {f'black lines: {INTERVAL}' if drawn else why_none(result)}"
    else:
        gone = len(result.queries) - len(frame)
        of = f"run '{short_names([run])[run]}'" + (f"; {counted(gone, 'query', 'queries')} undefined" if gone else "")
        of += "; no interval: each query as it is"
    about = [
        f"{one}: {of}",
        *compared(one, toward, away),
        "; ".join(part for part in (_meaning(one), rules(result.conventions)) if part),
    ]
    told = quoted(names) if run is None else names
    found = leaning_finding(frame, toward, away, run, told, (least, margin_of(one, frame["value"].to_list())))
    return theme.finished(chart.properties(**size), found, about, theme.WIDTH + 60)


def about_even(measure: Any, values: Sequence[float]) -> float:
    """How near to 0 a value is that leans to no side."""
    return _ABOUT_EVEN / LITTLE * margin_of(measure, values)


def _intervals(frame: pl.DataFrame, bars: Chart) -> list[Chart]:
    """Lines over the bars with a tick at both ends: the interval of each mean."""
    alt = altair()
    known = frame.filter(pl.col("low").is_finite())
    if known.is_empty():
        return []
    base = alt.Chart(inline(known)).encode(y=bars.encoding.y)
    ends = base.mark_tick(color=theme.INK, thickness=2, size=9, opacity=1, orient="vertical")
    line = base.mark_rule(color=theme.INK, strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    return [line, *(ends.encode(x=alt.X(f"{end}:Q")) for end in ("low", "high"))]


def _meaning(measure: Any) -> str:
    """What other measures stand for; ``DeltaGF`` has more words."""
    return "" if isinstance(measure, DeltaGF) else meanings([measure])


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
    toward = group_name(measure.attribute, str(positive))
    rest = _others(result, measure)
    if other is None and len(rest) == 1:
        other = rest[0]
    elif other is not None and ((rest and other not in rest) or other in (positive, toward)):
        told = listed(rest) or f"a name for the side that is not {toward}"
        raise LightmeterError(
            f"the side opposite to {toward} cannot be called {other!r}.{suggest(other, rest)} Accepted: {told}."
        )
    return toward, group_name(measure.attribute, other) if other else f"not {toward}"


def _others(result: Result, measure: Any) -> list[str]:
    """The attribute's values beside the positive one, where measures of the result tell them."""
    attribute = measure.attribute
    known = [c.group for c in result.cells if c.group is not None and c.measure.attribute == attribute]
    known += [m.positive for m in result.measures if hasattr(m, "positive") and m.attribute == attribute]
    return [str(v) for v in dict.fromkeys(known) if v not in (measure.positive, "unknown")]
