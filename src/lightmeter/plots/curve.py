"""Pictures of a sweep: disparity-relevance curves, and how far they are from the best there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.curves import BEST, MOST_INTERVALS, Panel, by_area, finding, told_of
from lightmeter.findings.glossary import policy_words
from lightmeter.findings.language import listed, number, short_names
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult

_FRONTIER = "frontier"
#: Panels side by side.
_COLUMNS = 3
_NOT_SHOWN = "the sweep has no curve that could be drawn"


def curve_frame(sweep: SweepResult) -> pl.DataFrame:
    """A row a point: ``run, user, by, policy, point, disparity, relevance, n``; the frontier is the policy
    ``best possible``.
    """
    points = sweep.curve().with_columns(
        point=pl.int_range(pl.len()).over("run", "policy", "user", "by", "measure"),
        policy=pl.when(pl.col("policy") == _FRONTIER).then(pl.lit(BEST)).otherwise("policy"),
    )
    keys = ["run", "user", "by", "policy", "point", "parameter", "n"]
    sides = [
        points.filter(pl.col("measure") == m).select(*keys, pl.col("value").alias(m))
        for m in ("disparity", "relevance")
    ]
    joined = sides[0].with_columns(sides[1]["relevance"])
    defined = joined.filter(pl.col("disparity").is_finite(), pl.col("relevance").is_finite())
    # the frontier ends at the oracle: from there on more disparity buys nothing
    ends = defined.filter(pl.col("policy") == BEST).group_by("run", "user", "by", maintain_order=True).last()
    flat = ends.filter(pl.col("disparity") < 1).with_columns(disparity=1.0, point=pl.col("point") + 1)
    return pl.concat([defined, flat.select(defined.columns)])


def area_frame(sweep: SweepResult) -> pl.DataFrame:
    """A row a curve: ``run, policy, user, by, area, low, high, n``."""
    rows = sweep.summary().filter(pl.col("measure") == "EEAUC")
    return rows.select("run", "policy", "user", "by", pl.col("value").alias("area"), "low", "high", "n")


def curve(sweep: SweepResult) -> Chart:
    """Disparity-relevance curves: how much relevance a run gives at each amount of randomness.

    A panel a run, user and way of counting; a line a policy, and the best that any policy could do. The higher a curve,
    the better; ``EEAUC`` is the area below it.

    Parameters
    ----------
    sweep
        From :func:`lightmeter.sweep`.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where no curve is defined.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> sweep = lm.sweep(c, "PlackettLuce", "RBP(p=0.5)")
    >>> lm.plots.curve(sweep).to_dict()["title"]["text"]
    ["'x' gives the most relevance over all disparities (EEAUC", "0.917), 'y' the least (0.583)"]
    """
    alt = altair()
    frame, areas = curve_frame(sweep), area_frame(sweep)
    if frame.is_empty():
        raise LightmeterError(f"{_NOT_SHOWN}: {listed(areas['run'].unique(maintain_order=True))} have none.")
    panels = [Panel(*row) for row in frame.select("run", "user", "by").unique(maintain_order=True).iter_rows()]
    size = dict(areas.group_by("run").agg(pl.col("area").fill_nan(None).max().fill_null(-1.0)).iter_rows())
    panels.sort(key=lambda p: -size[p.run])
    policies = [p for p in frame["policy"].unique(maintain_order=True) if p != BEST]
    label = _labels(panels)
    frame = frame.with_columns(
        panel=pl.Series([label[Panel(*row)] for row in frame.select("run", "user", "by").iter_rows()], dtype=pl.String)
    )
    series = by_area(policies, areas) + ([BEST] if BEST in frame["policy"].to_list() else [])
    look = {"fixed": {BEST: theme.INK}}, {"fixed": {BEST: [1, 3]}}
    few = len(panels) == 1
    written = _areas_shown(areas, label, {s: _key(s) for s in series}, 1.0)["told"].to_list()
    longest = max(theme.text_width(text, 10 if text in written else 11) for text in (*label.values(), *written)) + 20
    width = theme.WIDTH if few else min(max(theme.SMALL, longest), 330)
    columns = _COLUMNS if width < 240 and len(panels) != 4 else 2
    key = theme.strokes(columns=1, labelLimit=700)
    text = _keys(series, areas) if few else {s: _key(s) for s in series}
    frame = frame.with_columns(series=pl.col("policy").replace_strict(text))
    names = [text[s] for s in series]
    fixed = [{text[k]: v for k, v in part["fixed"].items() if k in text} for part in look]
    most = float(frame["relevance"].max())  # type: ignore[arg-type]
    # a line on the frame would be taken for a part of it
    top = max(theme.nice_ceiling(most), 1.04 * most)
    lines = (
        alt.Chart()
        .mark_line(clip=True)
        .encode(
            x=alt.X(
                "disparity:Q",
                title=_X if few else theme.axis_title(_X, width),
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(values=[i / 10 for i in range(11)] if few else [0, 0.5, 1], format="~g"),
            ),
            y=alt.Y(
                "relevance:Q",
                title=_Y if few else theme.axis_title("relevance (1: ideal, higher is better)", 170),
                scale=alt.Scale(domain=[0, top], nice=False),
            ),
            order="point:Q",
            color=alt.Color("series:N", scale=theme.colours(names, fixed[0]), legend=key),  # type: ignore[arg-type]
            strokeDash=alt.StrokeDash("series:N", scale=theme.dashes(names, fixed[1]), legend=key),  # type: ignore[arg-type]
            tooltip=[
                alt.Tooltip("policy:N"),
                alt.Tooltip("run:N"),
                alt.Tooltip("disparity:Q", format=".3f"),
                alt.Tooltip("relevance:Q", format=".3f"),
                alt.Tooltip("parameter:Q", format=".4g"),
            ],
        )
        .properties(width=width, height=theme.HEIGHT if few else min(int(width * 0.75), 170))
    )
    if few:
        chart, whole = lines.properties(data=inline(frame)), width + 60
    else:
        order = [str(label[p]) for p in panels]
        unit = top / lines.height
        frame = pl.concat([frame, _areas_shown(areas, label, text, unit)], how="diagonal")
        lines = alt.layer(lines.transform_filter("isValid(datum.policy)"), *_area_text(names, fixed[0]))
        chart = lines.facet(facet=alt.Facet("panel:N", sort=order, title=None), columns=columns, data=inline(frame))
        # where the last row is not full, shared axes would stand below nothing
        chart = chart.resolve_axis(x="shared" if len(panels) % columns == 0 else "independent")
        whole = min(len(panels), columns) * (width + 45)
    told = frame.filter(pl.col("policy").is_not_null())
    return theme.finished(chart, finding(told, areas), told_of(sweep, told, areas, panels), whole)


_X = "disparity: lower is better (0: even, at random; 1: as given)"
_Y = "relevance: as a share of the ideal ranking's (higher is better)"


def _areas_shown(areas: pl.DataFrame, label: dict[Panel, str], text: dict[str, str], unit: float) -> pl.DataFrame:
    """A row for each area that is written into a panel, from below: ``panel, told, series, at``."""
    known = {(r["run"], r["user"], r["by"], r["policy"]): r for r in areas.iter_rows(named=True)}
    several = len(label) > MOST_INTERVALS
    rows: list[tuple[str, str, str | None, float]] = []
    order = [name for name in text if name != BEST]
    for p, panel in label.items():
        mine = [(name, known.get((p.run, p.user, p.by, name))) for name in order]
        lines: list[tuple[str, str | None]] = [
            (f"{name.split('(')[0]} {_area(row, bare=several)}", text[name])
            for name, row in mine
            if row is not None and row["area"] is not None
        ]
        lines = [("area below (EEAUC)", None), *lines]
        rows += [(panel, told, series, unit * (8 + 13 * i)) for i, (told, series) in enumerate(reversed(lines))]
    schema = {"panel": pl.String, "told": pl.String, "series": pl.String, "at": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _area_text(names: list[str], fixed: dict[str, Any]) -> list[Chart]:
    """The areas at the lower right of a panel, in the colours of the lines."""
    alt = altair()
    base = alt.Chart().transform_filter("isValid(datum.told)")
    color = alt.condition(
        "isValid(datum.series)", alt.Color("series:N", scale=theme.colours(names, fixed)), alt.value(theme.INK)
    )
    return [
        base.mark_text(align="right", dx=-4, fontSize=10, **rim).encode(
            x=alt.datum(1.0), y="at:Q", text="told:N", **({} if rim else {"color": color})
        )
        for rim in (theme.RIM, {})
    ]


def _area(row: Mapping[str, Any], *, bare: bool = False) -> str:
    """An area with its interval, where it has one."""
    spanned = not bare and row["low"] is not None and np.isfinite(row["low"])
    return number(row["area"]) + (f" [{number(row['low'])}, {number(row['high'])}]" if spanned else "")


def _key(name: str) -> str:
    """A line's entry in the key."""
    return f"{BEST}: the most relevance that any policy has at this disparity" if name == BEST else policy_words(name)


def _labels(panels: list[Panel]) -> dict[Panel, str]:
    """Headers of the panels: the run, and the user and attribute where there are several."""
    names = short_names([p.run for p in panels])
    users, bys = {p.user for p in panels}, {p.by for p in panels}
    label = {}
    for p in panels:
        parts = [f"run {names[p.run]}"] if len(names) > 1 or (len(users) == 1 and len(bys) == 1) else []
        parts += [f"user {p.user}"] if len(users) > 1 else []
        parts += [f"groups of {p.by}" if p.by else "documents"] if len(bys) > 1 else []
        label[p] = ", ".join(parts)
    return label


def _keys(series: list[str], areas: pl.DataFrame) -> dict[str, str]:
    """Entries of the key of a single panel: with their areas."""
    out = {}
    for name in series:
        row = areas.filter(pl.col("policy") == name).to_dicts()
        area = f"; area below it (EEAUC) {_area(row[0])}" if row else ""
        out[name] = _key(name) + area
    return out
