"""The two panels of a picture of policies: areas below the curves, and how far they are apart."""

from __future__ import annotations

from typing import Any

import polars as pl

from lightmeter.findings.glossary import policy_words
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline

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
