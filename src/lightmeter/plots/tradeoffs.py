"""Pictures of a sweep: disparity-relevance curves, and how far they are from the best there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.errors import LightmeterError
from lightmeter.notation import parse
from lightmeter.plots import theme
from lightmeter.plots.backend import Chart, altair, inline
from lightmeter.plots.rules_in_words import policy_words, rules
from lightmeter.plots.users_in_words import user_words
from lightmeter.plots.words import counted, listed, number, percent, quoted, short_names

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult

Array = NDArray[np.float64]
BEST = "best possible"
_FRONTIER = "frontier"
#: Panels side by side, and places on a curve at which two are compared.
_COLUMNS = 3
_PLACES = np.linspace(0.01, 0.99, 99)
_EQUAL = 1e-4
_NOT_SHOWN = "the sweep has no curve that could be drawn"


@dataclass(frozen=True)
class Panel:
    """What distinguishes one panel from the others: a run, a user, and what counts."""

    run: str
    user: str
    by: str | None


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
    series = _by_area(policies, areas) + ([BEST] if BEST in frame["policy"].to_list() else [])
    look = {"fixed": {BEST: theme.INK}}, {"fixed": {BEST: [1, 3]}}
    few = len(panels) == 1
    longest = max(theme.text_width(text) for text in label.values()) + 20
    width = theme.WIDTH if few else min(max(theme.SMALL, longest), 330)
    columns = _COLUMNS if width < 240 and len(panels) != 4 else 2
    key = theme.strokes(columns=1)
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
                title=_Y if few else "relevance (higher is better)",
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
    return theme.finished(chart, finding(told, areas), _told(sweep, told, panels), whole)


_X = "disparity: lower is more even (0: random order, 1: as given)"
_Y = "relevance: as a share of the ideal ranking's (higher is better)"


def _areas_shown(areas: pl.DataFrame, label: dict[Panel, str], text: dict[str, str], unit: float) -> pl.DataFrame:
    """A row for each area that is written into a panel, from below: ``panel, told, series, at``."""
    known = {(r["run"], r["user"], r["by"], r["policy"]): r["area"] for r in areas.iter_rows(named=True)}
    rows: list[tuple[str, str, str | None, float]] = []
    order = [name for name in text if name != BEST]
    for p, panel in label.items():
        mine = [(name, known.get((p.run, p.user, p.by, name))) for name in order]
        lines: list[tuple[str, str | None]] = [
            (f"{name.split('(')[0]} {number(area)}", text[name]) for name, area in mine if area is not None
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


def _by_area(policies: list[str], areas: pl.DataFrame) -> list[str]:
    """Policies from the largest mean area to the smallest: the order of the lines."""
    mean = dict(areas.group_by("policy").agg(pl.col("area").fill_nan(None).mean()).iter_rows())
    return sorted(policies, key=lambda p: -(mean[p] if mean[p] is not None else -1.0))


def _keys(series: list[str], areas: pl.DataFrame) -> dict[str, str]:
    """Entries of the key of a single panel: with their areas."""
    out = {}
    for name in series:
        row = areas.filter(pl.col("policy") == name).to_dicts()
        span = f" [{number(row[0]['low'])}, {number(row[0]['high'])}]" if row and row[0]["low"] is not None else ""
        area = f"; area below it (EEAUC) {number(row[0]['area'])}{span}" if row else ""
        out[name] = _key(name) + area
    return out


def finding(frame: pl.DataFrame, areas: pl.DataFrame) -> str:
    """What the curves show, in words."""
    policies = _by_area([p for p in frame["policy"].unique(maintain_order=True) if p != BEST], areas)
    if len(policies) == 1:
        return _of_one(frame, areas, policies[0])
    first, second = policies[:2]
    above = {}
    for panel, part in frame.group_by("panel", maintain_order=True):
        upper, lower = (_at(part.filter(pl.col("policy") == p)) for p in (first, second))
        if upper is None or lower is None:
            continue
        gap = upper - lower
        above[str(panel[0])] = (float((gap > _EQUAL).mean()), float((gap < -_EQUAL).mean()))
    return _compared(
        first,
        second,
        list(above.values()),
        len(policies),
        "run" if frame["panel"].n_unique() == frame["run"].n_unique() else "panel",
    )


def _compared(first: str, second: str, above: list[tuple[float, float]], policies: int, what: str) -> str:
    among = f"; of {policies} policies these have the largest areas" if policies > 2 else ""
    if not above or all(max(pair) == 0 for pair in above):
        return f"{first} and {second} give the same relevance at every disparity{among}"
    ahead, behind = [a > 0.5 for a, _ in above], [b > 0.5 for _, b in above]
    if all(ahead) or all(behind):
        over, under = (first, second) if all(ahead) else (second, first)
        share = [max(pair) for pair in above]
        least = f"{'at least ' * (len(share) > 1)}{percent(min(share))} of disparities"
        where = "every disparity between the ends" if min(share) == 1 else least
        whom = "" if len(share) == 1 else f" for both {what}s" if len(share) == 2 else f" for all {len(share)} {what}s"
        return f"{over} gives more relevance than {under} at {where}{whom}{among}"
    if not any(ahead) and not any(behind):
        whom = "" if len(above) == 1 else f" for any {what}"
        return f"Neither {first} nor {second} gives more relevance at most disparities{whom}{among}"
    if sum(behind) > sum(ahead):
        first, second, ahead, behind = second, first, behind, ahead
    rest = f", {second} for {sum(behind)}" if any(behind) else ""
    equal = len(above) - sum(ahead) - sum(behind)
    neither = f", neither for {equal}" if equal else ""
    whom = f"{sum(ahead)} of {len(above)} {what}s"
    return f"{first} gives more relevance than {second} at most disparities for {whom}{rest}{neither}{among}"


def _of_one(frame: pl.DataFrame, areas: pl.DataFrame, policy: str) -> str:
    shown = areas.filter(pl.col("area").is_finite()).sort("area", descending=True)
    names = quoted(short_names(areas["run"].unique(maintain_order=True).to_list()))
    best = {panel[0]: _at(part) for panel, part in frame.filter(pl.col("policy") == BEST).group_by("panel")}
    if len(shown) == 1:
        mine = _at(frame.filter(pl.col("policy") == policy))
        top = next(iter(best.values()), None)
        if mine is None or top is None:
            return f"{policy} gives an area of {number(shown['area'][0])}"
        share = percent(float(mine.sum() / top.sum()))
        return f"{policy} gives {share} of the relevance that is possible at equal disparity"
    if shown.is_empty():
        return f"{policy} gives no area that is defined"
    ends = []
    for _, part in shown.group_by("user", "by", maintain_order=True):
        ends.append((part.row(0, named=True), part.row(-1, named=True)))
    (top_row, last), ways = ends[0], len(ends)
    first, least = names[top_row["run"]], names[last["run"]]
    if len(names) == 1:
        return f"{policy} gives {first} areas from {number(shown['area'][-1])} to {number(shown['area'][0])}"
    if ways == 1 and top_row["area"] - last["area"] < _EQUAL:
        return f"All {len(names)} runs give as much relevance over all disparities (EEAUC {number(top_row['area'])})"
    if ways == 1:
        areas_told = f"(EEAUC {number(top_row['area'])}), {least} the least ({number(last['area'])})"
        return f"{first} gives the most relevance over all disparities {areas_told}"
    leading = sum(names[a["run"]] == first for a, _ in ends)
    where = "both" if leading == ways == 2 else f"all {ways}" if leading == ways else f"{leading} of {ways}"
    return f"{first} gives the most relevance over all disparities in {where} ways of counting (by user and exposure)"


def _at(part: pl.DataFrame) -> Array | None:
    """Relevance of a curve at the places of comparison: the largest at each disparity."""
    if part.is_empty():
        return None
    x, y = (part.sort("point")[c].to_numpy() for c in ("disparity", "relevance"))
    out = np.full(len(_PLACES), np.nan)
    for x0, x1, y0, y1 in zip(x[:-1], x[1:], y[:-1], y[1:], strict=True):
        low, high = min(x0, x1), max(x0, x1)
        inside = (low <= _PLACES) & (high >= _PLACES)
        if high > low:
            out[inside] = np.fmax(out[inside], y0 + (_PLACES[inside] - x0) * (y1 - y0) / (x1 - x0))
    return np.asarray(np.nan_to_num(out, nan=float(y[-1])))


def _told(sweep: SweepResult, frame: pl.DataFrame, panels: list[Panel]) -> list[str]:
    users, bys = list(dict.fromkeys(p.user for p in panels)), {p.by for p in panels}
    n = sorted({int(v) for v in frame["n"].unique()})
    queries = counted(n[0], "query", "queries") if len(n) == 1 else f"{n[0]} to {n[-1]} queries"
    one = f"run '{short_names([panels[0].run])[panels[0].run]}'; " if len({p.run for p in panels}) == 1 else ""
    what = f"exposure of {listed([f'groups of {b}' if b else 'documents' for b in sorted(bys, key=str)])}"
    area = "; in brackets a 95% interval over queries" if len(panels) == 1 else ""
    if len({p.run for p in panels}) > 1:
        area = "; runs in the order of their area (EEAUC)"
    who = listed(user_words([parse(u, kind="user") for u in users]).values()) if len(users) == 1 else listed(users)
    return [
        f"{one}mean of {queries}; {what}; user {who}{area}",
        "; ".join(
            part
            for part in (
                "" if len(panels) == 1 else "relevance: as a share of the ideal ranking's",
                rules(sweep.conventions, ["depth", "ties"]),
            )
            if part
        ),
    ]
