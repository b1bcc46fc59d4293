"""A picture of exposure by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import exposure_words, meanings, rules
from lightmeter.findings.language import ALIKE, brief, counted, counts, group_name, listed, number, short_names
from lightmeter.findings.means import INTERVAL, means_over_queries, why_none
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline, measure_of, one_of
from lightmeter.results.result import Result
from lightmeter.results.text import printable

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult

_ONE = "1 = what rank 1 gets"
_PER_MEMBER = "exposure per member"
_COMPARED = (
    "compared: members, whatever the size of their groups; a small group can get more per member and less in all"
)
#: What a title tells of runs that have no group ahead: who has most, who least, what stands before them, how many.
_ONE_ONLY, _ALL_EQUAL = ("", "", "one", False), ("", "", "all", False)
#: Pixels of the lines that an interval is drawn with.
_THICK = 2
#: Orders of the groups that a title tells one by one.
_MOST_ORDERS = 3


def exposure_frame(
    of: Result | AuditResult, measure: Any = None, cutoff: int | None = None, **where: Any
) -> pl.DataFrame:
    """A row a run and group: ``run, group, value, low, high, name``; the run of an audit is its score."""
    if isinstance(of, Result):
        one = _by_group(of, measure)
        table = means_over_queries(of, [one]).filter(pl.col("value").is_finite())
        return table.select("run", "group", "value", "low", "high").with_columns(_named(one.attribute))
    rows = of.rows.filter(pl.col("measure") == str(measure or "exposure"), pl.col("group").is_not_null())
    rows = rows.filter(pl.col("cutoff").eq_missing(pl.lit(cutoff, pl.Int64)))
    if "query" in rows.columns:
        rows = rows.filter(pl.col("query").is_null())
    for name in ("attribute", "score"):
        if len(rows):
            rows = rows.filter(pl.col(name) == one_of(name, where.get(name), rows[name]))
    rows = rows.filter(pl.col("value").is_finite())
    attribute = rows["attribute"][0] if len(rows) else None
    return rows.select(pl.col("score").alias("run"), "group", "value", "low", "high").with_columns(_named(attribute))


def _named(attribute: str | None) -> pl.Expr:
    return pl.col("group").map_elements(lambda g: group_name(attribute, g), pl.String).alias("name")


def exposure(
    of: Result | AuditResult,
    measure: Any = None,
    *,
    cutoff: int | None = None,
    attribute: str | None = None,
    score: str | None = None,
) -> Chart:
    """Exposure by group: a bar a group, from 0.

    Parameters
    ----------
    of
        From :func:`lightmeter.evaluate`, with a measure that has a value for each group, such as
        ``MeanExposure(by='gender')``; or from :func:`lightmeter.audit`.
    measure
        Which measure; may be left out where there is one. Of an audit by default ``exposure``.
    cutoff, attribute, score
        Which rows of an audit; None is the whole list.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a panel a run.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no such measure, or it has no value.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"x": {"q": ["a", "b"]}, "y": {"q": ["b", "a"]}}
    >>> c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    >>> r = lm.evaluate(c, "MeanExposure(by='side', user=Inverse)")
    >>> print(*lm.plots.exposure(r).to_dict()["title"]["text"], sep=chr(10))
    side f gets more exposure per member than side m in 'x'
    (2.00 times); side m more than side f in 'y' (2.00 times)
    """
    alt = altair()
    frame = exposure_frame(of, measure, cutoff, attribute=attribute, score=score)
    if frame.is_empty():
        raise LightmeterError("there is no value by group to draw. Accepted: a measure and cutoff that the result has.")
    groups = frame["name"].unique(maintain_order=True).to_list()
    groups = [g for g in groups if g != "unknown"] + [g for g in groups if g == "unknown"]
    names = short_names(frame["run"].to_list())
    frame = frame.with_columns(
        run=pl.col("run").replace_strict(names),
        told=pl.col("value").map_elements(_printed, pl.String),
        ends=pl.when(pl.col("low").is_finite() & pl.col("high").is_finite()).then(
            pl.concat_str(*(pl.col(c).map_elements(_printed, pl.String) for c in ("low", "high")), separator=" to ")
        ),
    )
    spread = int(frame["low"].is_finite().sum())
    # beside a bar stands its number, below that the interval, which may be too short to be seen
    room = 0.65 if spread else 0.22
    if isinstance(of, Result):
        one = _by_group(of, measure)
        what, axis = noun(one)
        n = sorted(set(of.mean().filter(pl.col("measure") == str(one), pl.col("n") > 0)["n"].to_list()))
        # what an axis says in words needs no other ones
        meant = str(one) if what != brief([one])[0] else f"{one}: {meanings([one]).split(': ', 1)[1]}"
        about = [f"means over {counted(n[-1], 'query', 'queries')}"]
        about.append("; ".join(part for part in (meant, rules(of.conventions)) if part))
        lines = INTERVAL
    else:
        what, axis = str(measure or "exposure").replace("_", " "), f"mean exposure of a member ({_ONE})"
        what, axis = (_PER_MEMBER, axis) if what == "exposure" else (what, what)
        top = "the whole list" if cutoff is None else f"the first {cutoff}"
        about = [top, exposure_words(of.conventions).partition("; ")[2] if what == _PER_MEMBER else ""]
        how = of.conventions.get("intervals", "").partition(",")[0]
        lines = how if "bootstrap" in how else "exact intervals"
    about.insert(1, _COMPARED if what == _PER_MEMBER else "")
    high = max(0.0, frame.select(pl.max_horizontal("value", pl.col("high").fill_nan(None)).max()).item())
    low = min(0.0, frame.select(pl.min_horizontal("value", pl.col("low").fill_nan(None)).min()).item())
    high, low = (high + room * (high - low) or 1.0), low - (0.22 * (high - low) if low < 0 else 0.0)
    width = 300 if len(names) == 1 else 225 if spread else 190
    y = alt.Y("name:N", sort=groups, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6))
    x = alt.X(
        "value:Q",
        title=theme.axis_title(axis, width - 15),
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(tickCount=3),
    )
    base = alt.Chart().encode(y=y)
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=x,
        color=alt.Color("name:N", scale=_colours(groups), legend=None),
        tooltip=["run:N", "name:N", alt.Tooltip("value:Q", format=".4f")],
    )
    layers = [bars]
    if spread:
        # on a white rim, so that a dark bar does not hide them
        for color, thick, size in (("white", 5, 14), (theme.INK, _THICK, 11)):
            layers.append(base.mark_rule(color=color, strokeWidth=thick).encode(x=alt.X("low:Q"), x2="high:Q"))
            ends = base.mark_tick(color=color, thickness=thick, size=size, opacity=1, orient="vertical")
            layers += [ends.encode(x=alt.X(f"{end}:Q")) for end in ("low", "high")]
    numbers = [base.mark_text(align="left", dx=6, dy=-5 if spread else 0).encode(x=alt.X("edge:Q"), text="told:N")]
    if spread:
        small = {"fontSize": 9, "color": theme.MUTED}
        numbers.append(base.mark_text(align="left", dx=6, dy=7, **small).encode(x=alt.X("edge:Q"), text="ends:N"))
    # the number stands at the end of the bar and of its interval
    frame = frame.with_columns(edge=pl.max_horizontal("value", pl.col("high").fill_nan(None), pl.lit(0.0)))
    layers += numbers
    panel = alt.layer(*layers).properties(width=width, height=len(groups) * 30)
    if len(names) == 1:
        chart = panel.properties(data=inline(frame))
        about[0] = f"{'run' if isinstance(of, Result) else 'ranked by'} '{next(iter(names.values()))}'; {about[0]}"
    else:
        order = list(names.values())
        chart = panel.facet(facet=alt.Facet("run:N", sort=order, title=None), columns=3, data=inline(frame))
        # where the last row is not full, shared axes would stand below nothing
        chart = chart.resolve_axis(x="shared" if len(names) % 3 == 0 or len(names) < 3 else "independent")
    if spread:
        pixels = (frame["high"] - frame["low"]).fill_nan(None).drop_nulls() * width / (high - low)
        hidden = int((pixels < _THICK).sum())
        narrow = f", {'all' if hidden == len(pixels) else 'some'} narrower than drawn" if hidden else ""
        none = "; none where nothing varies" if isinstance(of, Result) and spread < len(frame) else ""
        about[0] += f"; black lines: {lines}{narrow}{none}"
    elif isinstance(of, Result):
        about[0] += f"; {why_none(of)}"
    whole = min(len(names), 3) * (width + 50) if len(names) > 1 else theme.WIDTH - 60
    title = exposure_finding(frame.with_columns(run=pl.format("'{}'", "run")), what)
    return theme.finished(chart, title, about, whole)


def _colours(groups: list[str]) -> Any:
    """A colour a group; one for all where there are more groups than colours: each bar has its name beside it."""
    many = len([g for g in groups if g != "unknown"]) > len(theme.COLOURS)
    fixed = dict.fromkeys(groups, theme.BLUE) if many else {}
    return theme.colours(groups, fixed | {"unknown": theme.FAINT})


def exposure_finding(frame: pl.DataFrame, what: str) -> str:
    """Which group gets most and which least, how many times as much, and in which runs."""
    found: dict[tuple[str, str, str, bool], list[str]] = {}
    several = frame["run"].n_unique() > 1
    for (run,), part in frame.filter(pl.col("name") != "unknown").group_by("run", maintain_order=True):
        rows = part.sort("value", descending=True, maintain_order=True).to_dicts()
        where = f" in {run}" if several else ""
        if len(rows) < 2:
            found.setdefault(_ONE_ONLY, []).append(where)
            continue
        most, least = rows[0], rows[-1]
        told = [_gap(most["value"], least["value"])]
        if not counts(most["value"] - least["value"], ALIKE * max(abs(most["value"]), abs(least["value"]))):
            found.setdefault(_ALL_EQUAL, []).append(where)
            continue
        ends = least["high"], most["low"]
        if all(e is not None and e == e for e in ends) and ends[0] >= ends[1]:
            told.append("intervals overlap")
        tops, lows = ([r for r in rows if r["value"] == end["value"]] for end in (most, least))
        first, last = (listed([r["name"] for r in end], 2) for end in (tops, lows))
        found.setdefault((first, last, _lead(tops), len(tops) > 1), []).append(f"{where} ({', '.join(told)})")
    if len(found) > _MOST_ORDERS:
        return _varied(frame, what)
    many = frame.filter(pl.col("name") != "unknown")["name"].n_unique() > 2
    amount = what.split(" ")[-1] in ("documents", "exposure", "target", "member")
    more, top, low = ("more", "most", "least") if amount else ("a higher", "highest", "lowest")
    parts: list[str] = []
    for kind, runs in found.items():
        most_name, least_name, _, several_most = kind
        where = listed([w.removeprefix(" in ") for w in runs], 3)
        where = f" in {where}" if several else runs[0]
        said = any(p for p in parts if what in p)
        if kind == _ONE_ONLY:
            parts.append(f"there is the {what} of one group only{where}")
        elif kind == _ALL_EQUAL:
            parts.append(f"all groups are about equal in {what}{where}")
        elif many:
            gets = "get" if several_most else "gets"
            parts.append(f"{most_name} {gets} the {top}{'' if said else ' ' + what} and {least_name} the {low}{where}")
        else:
            parts.append(
                f"{most_name} {more.removeprefix('a ') if said else f'gets {more} {what}'} than {least_name}{where}"
            )
    told_all = "; ".join(parts)
    start = next(iter(found))
    if start in (_ONE_ONLY, _ALL_EQUAL):
        return told_all[:1].upper() + told_all[1:]
    return f"{start[2]} {told_all}" if start[2] else told_all


def _lead(rows: list[dict[str, Any]]) -> str:
    """What stands before the names of groups at the start of a title.

    A user's word keeps its case, so that a name without its attribute's word follows a word of ours.
    """
    first = rows[0]
    if first["name"] != printable(first.get("group", first["name"])):
        return ""
    return "Group" if len(rows) == 1 else "Groups"


def _varied(frame: pl.DataFrame, what: str) -> str:
    """Where the order of the groups is another one from run to run: in which run they are farthest apart."""
    known = frame.filter(pl.col("name") != "unknown")
    ends = known.group_by("run", maintain_order=True).agg(
        pl.col("name").sort_by("value").last().alias("most"),
        pl.col("name").sort_by("value").first().alias("least"),
        pl.col("value").max().alias("high"),
        pl.col("value").min().alias("low"),
    )
    row = ends.row(int((ends["high"] - ends["low"]).arg_max() or 0), named=True)
    told = f"{row['most']} and {row['least']}, {_gap(row['high'], row['low'])}"
    return f"Which group gets most {what} differs from run to run; farthest apart they are in {row['run']} ({told})"


def _gap(most: float, least: float) -> str:
    """How far two values are apart: how many times, where both are above 0."""
    if float(_printed(least)) > 0:
        # of the numbers as they stand in the picture, so that who divides them finds the same
        return f"{float(_printed(most)) / float(_printed(least)):.2f} times"
    return f"{number(most)} and none" if least == 0 else f"{number(most)} and {number(least)}"


def _printed(value: float) -> str:
    """A value as it stands beside its bar: four digits."""
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.4g}"


def noun(measure: Any) -> tuple[str, str]:
    """What groups get, and the axis: what is measured and in which unit."""
    import numpy as np

    user = getattr(measure, "user", None)
    top = user is None or user.by_document or float(user.view_at(np.array([1.0]))[0]) == 1.0
    one = _ONE if top else "1 = always seen"
    statistic = getattr(measure, "part", None) == "statistic"
    told = {
        "MeanExposure": (_PER_MEMBER, f"mean exposure of a member ({one})"),
        "ECE": ("exposure", "share of all exposure (0 to 1)"),
        "Count": ("documents", "number of documents"),
        "Share": ("documents", "share of the documents (0 to 1)"),
        "MeanScore": ("mean score", "mean score of a member"),
    }
    if statistic:
        return "exposure above target", "exposure above its target, in standard deviations"
    return told.get(type(measure).__name__, (brief([measure])[0], str(measure)))


def _by_group(result: Result, measure: Any) -> Any:
    found = list(dict.fromkeys(c.measure for c in result.cells if c.group is not None))
    if not found:
        raise LightmeterError(
            "the result has no measure with a value for each group. Evaluate one, such as MeanExposure(by='gender')."
        )
    return measure_of(measure, found)
