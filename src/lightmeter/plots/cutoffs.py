"""A picture of an audit: exposure or share of each group over all cutoffs, with its band."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from lightmeter.auditing.result import AuditResult
from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import exposure_words
from lightmeter.findings.language import LITTLE, counted, group_name, listed
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline, one_of

_MOST = 6
FOUR_FIFTHS = 0.8
#: Stretches of cutoffs that are told one by one; of more, how many cutoffs they have.
_MOST_SPANS = 2
MEASURES = ("exposure_ratio", "share")


def cutoff_frame(audit: AuditResult, measure: str, attribute: str | None, score: str | None) -> pl.DataFrame:
    """A row a group and cutoff: ``group, reference, cutoff, value, low, high, even``.

    ``even`` is what the group would have were all treated alike: 1 for a ratio, its share of the pool for a share.
    """
    rows = audit.curve().filter(pl.col("measure") == measure)
    if rows.is_empty():
        raise LightmeterError(
            f"the audit has no curve of {measure}. Accepted: an audit with two groups above min_cell."
        )
    for name, wanted in (("attribute", attribute), ("score", score)):
        rows = rows.filter(pl.col(name) == one_of(name, wanted, rows[name]))
    if measure == "share":
        whole = rows.filter(pl.col("cutoff") == pl.col("cutoff").max()).select("group", pl.col("value").alias("even"))
        rows = rows.join(whole, on="group", how="left", maintain_order="left")
    else:
        rows = rows.with_columns(even=pl.lit(1.0))
    return rows.select("group", "reference", "cutoff", "value", "low", "high", "even")


def cutoffs(
    audit: AuditResult,
    measure: str = "exposure_ratio",
    *,
    attribute: str | None = None,
    score: str | None = None,
) -> Chart:
    """An audit's exposure ratios, or shares, over all cutoffs, with a band that holds for the whole curve.

    Parameters
    ----------
    audit
        From :func:`lightmeter.audit`.
    measure
        ``'exposure_ratio'`` to the reference group, or ``'share'`` of the first k.
    attribute, score
        Which, where there are several.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a line a group; of many the six that are farthest from equal where
            they have a band, those beyond chance first.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no such curve.
    """
    alt = altair()
    if measure not in MEASURES:
        raise LightmeterError(f"there is no curve of {measure!r}. Accepted: {' or '.join(MEASURES)}.")
    frame = cutoff_frame(audit, measure, attribute, score)
    about = one_of("attribute", attribute, audit.curve()["attribute"])
    frame = frame.with_columns(
        pl.col(c).map_elements(lambda g: group_name(about, g), pl.String) for c in ("group", "reference")
    )
    groups = frame["group"].unique(maintain_order=True).to_list()
    if len(groups) > _MOST:
        far = {g: _distance(frame.filter(pl.col("group") == g)) for g in groups}
        kept = sorted(groups, key=lambda g: far[g], reverse=True)[:_MOST]
        left_out, groups = [g for g in groups if g not in kept], kept
    else:
        left_out = []
    last = dict(frame.group_by("group").agg(pl.col("value").sort_by("cutoff").last()).iter_rows())
    groups = sorted(groups, key=lambda g: -(last[g] or 0.0))
    frame = frame.filter(pl.col("group").is_in(groups))
    ratio = measure == "exposure_ratio"
    reference = frame["reference"][0]
    # the axis follows what has a band: before, chance alone may make a ratio large
    firm = frame.filter(pl.col("cutoff") >= 10, pl.col("low").is_not_null())
    shown = firm if len(firm) and ratio else frame.filter(pl.col("cutoff") >= 10)
    high, most = (float(shown[c].drop_nulls().max() or least) for c, least in (("high", 0.0), ("value", 1.0)))  # type: ignore[arg-type]
    top = theme.nice_ceiling(max(min(high, 2 * most), most, 1.2 if ratio else 0.0))
    top = top if ratio else min(top, 1.0)
    longest = int(frame["cutoff"].max())  # type: ignore[arg-type]
    x = alt.X(
        "cutoff:Q",
        title="k: number of places looked at, from the top of the ranking (to the right: more; logarithmic)",
        scale=alt.Scale(type="log", domain=[1, longest], nice=False),
        axis=alt.Axis(format=",~g", values=_ticks(longest)),
    )
    whose = f"exposure of {groups[0]}" if len(groups) == 1 else "exposure of a group"
    name = f"{whose} as a multiple of {reference}'s" if ratio else "share of the first k places"
    y = alt.Y(
        "value:Q",
        title=theme.axis_title(
            f"{name} ({'1 is equal, below 1: less' if ratio else 'thin line: share of all'})", theme.HEIGHT
        ),
        scale=alt.Scale(domain=[0, top], clamp=False),
        axis=alt.Axis(format=".1f" if ratio else "%"),
    )
    key = None if len(groups) == 1 else theme.strokes()
    color = alt.Color("group:N", scale=theme.colours(groups), legend=key)
    frame = frame.with_columns(firm=pl.when(pl.col("low").is_not_null()).then("value"))
    base = alt.Chart(inline(frame)).encode(x=x)
    band = base.mark_area(opacity=0.18 if len(groups) < 4 else 0.07, clip=True).encode(
        y=alt.Y("low:Q"), y2="high:Q", color=color
    )
    # without a band chance alone may rule: such a part of a line is drawn thin
    thin = base.mark_line(clip=True, strokeWidth=1, opacity=0.7).encode(y=y, color=color)
    line = base.mark_line(clip=True).encode(
        y=alt.Y("firm:Q"),
        color=color,
        strokeDash=alt.StrokeDash("group:N", scale=theme.dashes(groups), legend=key),
        tooltip=[
            "group:N",
            alt.Tooltip("cutoff:Q", title="k"),
            alt.Tooltip("value:Q", format=".3f"),
            alt.Tooltip("low:Q", format=".3f"),
            alt.Tooltip("high:Q", format=".3f"),
        ],
    )
    layers = [band, thin, line, *_references(frame, ratio, groups, longest)]
    chart = alt.layer(*layers).properties(width=theme.WIDTH, height=theme.HEIGHT)
    rules = audit.conventions
    few = "; thin: under ten of a group, no band" if ratio else ""
    interval = rules.get("intervals", "").partition(";")[0].replace("percentile bootstrap intervals", "bootstrap")
    told = [
        "; ".join(part for part in (reversal(frame, ratio, groups), _unseen(frame, top)) if part),
        four_fifths(frame, groups) if ratio else "",
        f"band: for the whole curve at once, {interval}{few}",
        exposure_words(rules) if ratio else "",
        f"six lines at most; not shown: {listed(left_out)}" if left_out else "",
    ]
    return theme.finished(chart, finding(frame, ratio, groups), told, theme.WIDTH + 60)


def _references(frame: pl.DataFrame, ratio: bool, groups: list[str], longest: int) -> list[Chart]:
    """Lines of equality, and of four fifths for a ratio."""
    alt = altair()
    if not ratio:
        even = frame.group_by("group", maintain_order=True).agg(pl.col("even").first())
        color = alt.Color("group:N", scale=theme.colours(groups))
        dash = alt.StrokeDash("group:N", scale=theme.dashes(groups))
        rule = alt.Chart(inline(even)).mark_rule(strokeWidth=1, opacity=0.8)
        return [rule.encode(y="even:Q", color=color, strokeDash=dash)]
    lines = pl.DataFrame({"at": [1.0, FOUR_FIFTHS], "told": ["equal", "four fifths"], "k": [float(longest)] * 2})
    base = alt.Chart(inline(lines))
    rule = base.mark_rule(color=theme.INK, strokeWidth=1, strokeDash=[4, 3]).encode(y="at:Q")
    text = base.mark_text(align="left", dx=5, color=theme.MUTED).encode(x=alt.X("k:Q"), y="at:Q", text="told:N")
    return [rule, text]


def finding(frame: pl.DataFrame, ratio: bool, groups: list[str]) -> str:
    """Where the group that is worst off is below equality with its whole band."""
    parts, worst, mine = _worst(frame, groups)
    if mine.is_empty():
        return f"{worst} is nowhere defined"
    even, reference = mine["even"], mine["reference"][0]
    less, more = f"{worst} has less exposure than {reference}", f"{worst} has more exposure than {reference}"
    if not ratio:
        less, more = f"{worst} is rarer at the top than in all", f"{worst} is commoner at the top than in all"
    below, above = (mine["high"] < even).fill_null(False), (mine["low"] > even).fill_null(False)
    if below.any():
        told = f"Beyond chance, {less} {_where(mine, mine['high'] - even)}"
    elif above.any():
        told = f"Beyond chance, {more} {_where(mine, even - mine['low'])}"
    else:
        under, over = mine["value"] < even, mine["value"] > even
        if not under.any() and not over.any():
            same = f"has the same exposure as {reference}" if ratio else "is as common at the top as in all"
            return f"{worst} {same} at every cutoff"
        gap = mine["value"] - even
        told = f"{less} {_where(mine, gap)}" if under.sum() >= over.sum() else f"{more} {_where(mine, -gap)}"
        told += ", but chance could explain it"
    if not ratio:
        return told
    others = [g for g in groups if g != worst and _beyond(parts[g], low=True)] if below.any() else []
    also = f"; so {'has' if len(others) == 1 else 'have'} {listed(others, 2)} somewhere" if others else ""
    return f"{told}{also}"


def four_fifths(frame: pl.DataFrame, groups: list[str]) -> str:
    """Where the ratio of the group that is worst off is below four fifths, and where its whole band is."""
    _, worst, mine = _worst(frame, groups)
    if mine.is_empty() or not (mine["value"] < FOUR_FIFTHS).any():
        return "" if mine.is_empty() else f"{worst} is never below four fifths"
    told = f"{worst} is below four fifths {_where(mine, mine['value'] - FOUR_FIFTHS)}"
    firm = mine["high"] - FOUR_FIFTHS
    sure, banded = int((firm < 0).fill_null(False).sum()), int(firm.is_not_null().sum())
    if not banded:
        return told
    some = f"{sure} of the" if 0 < sure < banded else "all" if sure else "none of the"
    return f"{told}; its whole band is at {some} {counted(banded, 'cutoff')} with a band"


def _worst(frame: pl.DataFrame, groups: list[str]) -> tuple[dict[str, pl.DataFrame], str, pl.DataFrame]:
    """The rows of each group, the group that is worst off, and its rows with a value."""
    # whoever is below beyond chance comes before who may be so by chance only
    parts = {g: frame.filter(pl.col("group") == g) for g in groups}
    worst = min(groups, key=lambda g: (not _beyond(parts[g], low=True), _mean_gap(parts[g])))
    return parts, worst, parts[worst].filter(pl.col("value").is_not_null()).sort("cutoff")


def reversal(frame: pl.DataFrame, ratio: bool, groups: list[str]) -> str:
    """Where it is the other way round than the title says."""
    _, worst, mine = _worst(frame, groups)
    sign = _direction(mine) if len(mine) else 0
    # a ratio has no most: a hundredth of equal is what counts
    gap = sign * (mine["value"] - mine["even"]) + LITTLE * mine["even"]
    if not sign or not (gap < 0).any():
        return ""
    what = {1: ("has less", "is rarer"), -1: ("has more", "is commoner")}[sign][0 if ratio else 1]
    bare = "" if mine.filter(gap < 0)["low"].is_not_null().any() else ", where there is no band"
    return f"{worst} {what} {_where(mine, gap)}{bare}"


def _direction(mine: pl.DataFrame) -> int:
    """Whether a title says that a group has less than it would (-1) or more: beyond chance, or at most cutoffs."""
    even, value = mine["even"], mine["value"]
    if (mine["high"] < even).fill_null(False).any():
        return -1
    if (mine["low"] > even).fill_null(False).any():
        return 1
    under, over = int((value < even).sum()), int((value > even).sum())
    return 0 if not under and not over else -1 if under >= over else 1


def _unseen(frame: pl.DataFrame, top: float) -> str:
    """At which first places a curve has no value, and up to where it is off the scale."""
    told = []
    gone = max(frame.filter(pl.col("value").is_null())["cutoff"].to_list(), default=None)
    if gone is not None:
        told.append(f"undefined at k\u00a0=\u00a0{gone:,}" + ("" if gone == 1 else " or below"))
    high = max(frame.filter(pl.col("value") > top)["cutoff"].to_list(), default=None)
    if high is not None:
        told.append(f"off the scale up to k\u00a0=\u00a0{high:,}")
    return "; ".join(told)


def _beyond(part: pl.DataFrame, *, low: bool) -> bool:
    """Whether a group is somewhere below equality (or above) with its whole band."""
    outside = part["high"] < part["even"] if low else part["low"] > part["even"]
    return bool(outside.fill_null(False).any())


def _distance(part: pl.DataFrame) -> tuple[bool, float]:
    """How far a group is from equality: beyond chance or not, then by how much."""
    gap = _mean_gap(part)
    return _beyond(part, low=True) or _beyond(part, low=False), abs(gap) if gap < float("inf") else -1.0


def _mean_gap(part: pl.DataFrame) -> float:
    # where there is no band, chance alone makes ratios large
    firm = part.filter(pl.col("low").is_not_null())
    rows = firm if len(firm) else part
    gap = (rows["value"] - rows["even"]).drop_nulls()
    return float(gap.mean()) if len(gap) else float("inf")  # type: ignore[arg-type]


def _where(mine: pl.DataFrame, gap: pl.Series) -> str:
    """At which of the cutoffs drawn a gap is below 0."""
    cutoff, value = mine["cutoff"].to_list(), gap.cast(pl.Float64).fill_null(np.nan).to_numpy()
    holds = (value < 0).tolist()
    if all(holds):
        return "at every cutoff"
    spans = [[i for i, _ in part] for below, part in itertools.groupby(enumerate(holds), lambda at: at[1]) if below]
    if len(spans) <= _MOST_SPANS:
        return " and ".join(_span(cutoff, span[0], span[-1]) for span in spans)
    first, last = spans[0][0], spans[-1][-1]
    whole = "" if (first, last) == (0, len(cutoff) - 1) else f" {_span(cutoff, first, last)}"
    return f"at {sum(holds)} of {last - first + 1} cutoffs drawn{whole}"


def _span(cutoff: list[int], first: int, last: int) -> str:
    """From which cutoff to which."""
    start, end = (f"k\u00a0=\u00a0{cutoff[i]:,}" for i in (first, last))
    if first == last:
        return f"at {start}"
    if first == 0:
        return f"up to {end}"
    return f"from {start} on" if last == len(cutoff) - 1 else f"from {start} to {cutoff[last]:,}"


def _ticks(longest: int) -> list[int]:
    steps = [s * 10**k for k in range(8) for s in (1, 3)]
    return [v for v in steps if v <= longest]
