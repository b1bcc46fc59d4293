"""A picture of how far down people look: attention estimated from clicks, and user models beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.attention import ESTIMATED, finding, from_one
from lightmeter.findings.glossary import user_words
from lightmeter.findings.language import counted
from lightmeter.models.users import User
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline
from lightmeter.terms.notation import parse

if TYPE_CHECKING:
    from lightmeter.clicks.result import AttentionEstimate

_DEPTH, _MOST = 20, 6
_GAP = 14.0
_WIDE, _LABEL = theme.WIDTH - 100, 190


def attention_frame(of: Sequence[Any], depth: int) -> pl.DataFrame:
    """A row a curve and rank: ``series, term, rank, weight, low, high``; the series is in words."""
    parts = []
    words = user_words([one for one in of if isinstance(one, User)])
    for one in of:
        if isinstance(one, User):
            if one.by_document:
                raise LightmeterError(
                    f"the attention of {one} depends on the documents. Accepted: users who know the rank only."
                )
            view = one.view_at(np.arange(1.0, depth + 1))
            known = {"series": words[one], "term": str(one)}
            parts.append(pl.DataFrame(known | {"rank": np.arange(1, depth + 1), "weight": view}))
        else:
            rows = one.frame().filter(pl.col("rank") <= depth).select("rank", "weight", "low", "high")
            named = pl.lit(_title(one, of)).alias("series"), pl.lit(f"method {one.method}").alias("term")
            parts.append(rows.select(*named, "rank", "weight", "low", "high"))
    schema = {
        "series": pl.String,
        "term": pl.String,
        "rank": pl.Int64,
        "weight": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    frames = [
        p.with_columns(pl.lit(None, pl.Float64).alias(n) for n in ("low", "high") if n not in p.columns) for p in parts
    ]
    return pl.concat([f.select(list(schema)).cast(schema) for f in frames])  # type: ignore[arg-type]


def attention(*of: AttentionEstimate | User | str, depth: int | None = None) -> Chart:
    """Attention by rank: curves estimated from clicks with their intervals, and user models.

    Parameters
    ----------
    of
        What :func:`lightmeter.estimate_attention` gives, user models, or their notation such as ``'RBP(p=0.8)'``.
    depth
        Ranks shown, at least 2; by default those of the estimate, or 20.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a line a curve.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is nothing to draw, more than six curves, a user who reads the documents, or no such depth.

    Examples
    --------
    >>> from lightmeter import plots
    >>> plots.attention("RBP(p=0.5)", depth=3).to_dict()["title"]["text"]
    ['Of the attention of rank 1, rank 3 gets 25% (RBP: 50% go on at each rank)']
    """
    alt = altair()
    models = [parse(one, kind="user") if isinstance(one, str) else one for one in of]
    if not 1 <= len(models) <= _MOST:
        raise LightmeterError(f"the picture shows {len(models)} curves. Accepted: from 1 to {_MOST}.")
    estimates = [m for m in models if not isinstance(m, User)]
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 2):
        raise LightmeterError(
            f"found depth={depth!r}. Accepted: a whole number from 2, as later ranks are told beside the first."
        )
    ranks = int(depth or (max(m.length for m in estimates) if estimates else _DEPTH))
    frame = attention_frame(models, max(ranks, 2)).filter(pl.col("weight").is_finite())
    last = frame.group_by("series", maintain_order=True).agg(pl.all().sort_by("rank").last())
    names = last.sort("weight", descending=True, maintain_order=True)["series"].to_list()
    top = theme.nice_ceiling(float(frame["weight"].max()))  # type: ignore[arg-type]
    x = alt.X(
        "rank:Q",
        title="rank: place in the ranking (1 is the top)",
        scale=alt.Scale(domain=[1, max(ranks, 2)], nice=False),
        axis=theme.counting(max(ranks, 2)),
    )
    y = alt.Y(
        "weight:Q",
        title="attention: how often the rank is seen" + (" (rank 1 = 1)" if from_one(frame) else ""),
        scale=alt.Scale(domain=[0, top]),
    )
    color = alt.Color("series:N", scale=theme.colours(names), legend=None)
    base = alt.Chart(inline(frame)).encode(x=x)
    layers = []
    if frame["low"].is_finite().any():
        layers.append(base.mark_area(opacity=0.2, clip=True).encode(y="low:Q", y2="high:Q", color=color))
    layers.append(
        base.mark_line(point=alt.OverlayMarkDef(size=28)).encode(
            y=y,
            color=color,
            strokeDash=alt.StrokeDash("series:N", scale=theme.dashes(names), legend=None),
            tooltip=["series:N", "term:N", "rank:Q", alt.Tooltip("weight:Q", format=".3f")],
        )
    )
    chart = alt.layer(*layers, *_named(last, names, top)).properties(width=_WIDE, height=theme.HEIGHT)
    about = [
        f"{_title(e, models)}: method {e.method}, {counted(e.n, 'query', 'queries')}, "
        f"{counted(round(float(np.nansum(e.clicks))), 'click')}; "
        f"band: {100 * e.level:g}% interval of each rank by itself"
        for e in estimates
    ]
    if len(estimates) < len(models):
        about.append("without a band: user models")
    return theme.finished(chart, finding(frame, names), about, theme.WIDTH + 120)


def _named(last: pl.DataFrame, names: list[str], top: float) -> list[Chart]:
    """The name of each curve beside its end, after a piece of its line."""
    alt = altair()
    gap = _GAP * top / theme.HEIGHT
    lines = [len(theme.wrapped(name, _LABEL, 11)) for name in last["series"]]
    places = theme.apart(last["weight"].to_list(), gap * max(lines))
    floor = min(places)
    # names below the picture would lie in the axis
    places = [at - min(floor, 0.0) for at in places]
    labels = last.select(
        "series",
        at=pl.Series(places, dtype=pl.Float64),
        told=pl.Series([theme.wrapped(name, _LABEL, 11) for name in last["series"]]),
    )
    base = alt.Chart(inline(labels)).encode(y=alt.Y("at:Q"))
    dash = alt.StrokeDash("series:N", scale=theme.dashes(names), legend=None)
    piece = base.mark_rule(strokeWidth=2).encode(
        x=alt.value(_WIDE + 8),
        x2=alt.value(_WIDE + 36),
        color=alt.Color("series:N", scale=theme.colours(names), legend=None),
        strokeDash=dash,
    )
    text = base.mark_text(align="left", dx=42, baseline="middle", lineHeight=13).encode(
        x=alt.value(_WIDE), text="told:N"
    )
    return [piece, text]


def _title(one: Any, of: Sequence[Any]) -> str:
    several = sum(not isinstance(m, User) for m in of) > 1
    return f"{ESTIMATED} ({one.method})" if several else ESTIMATED
