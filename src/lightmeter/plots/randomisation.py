"""Pictures of how much randomness costs: measures along the parameter of a policy, and policies against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, policy_words, rules, user_words
from lightmeter.findings.language import brief, counted, course, listed, margin, number, quoted, short_names, way
from lightmeter.measures.exposure import EED
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline, one_of
from lightmeter.plots.exposure import noun
from lightmeter.results.result import Result
from lightmeter.terms.notation import parse

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult

_MOST_RUNS = 7
_WHAT = {"EED": "disparity", "EER": "relevance"}
#: What the two measures add up, for whom.
_SUMS = "EED: sum of squared exposure of {whom}; EER: sum of exposure times an ideal ranking's; rank 1 gets 1"
_COLUMNS = ("panel", "brief", "group", "run", "parameter", "value", "n", "axis", "low", "high")
#: Measures that the title tells of.
_MOST_TOLD = 3
_SAME_IDEAL = 1e-3
_BY_PARAMETER = "results by the number that the policy's parameter is, such as {0.5: result, 1: another}"


def along_frame(
    of: SweepResult | Mapping[float, Result], policy: str | None = None, user: str | None = None
) -> pl.DataFrame:
    """A row a measure, run and parameter: ``panel, brief, group, run, parameter, value, n, axis, low, high``;
    ``axis`` tells what is measured and which way is better, the last two what the measure can be.

    The last row of a sweep's curve, the ranking as given, has no parameter.
    """
    if isinstance(of, Mapping):
        for key, result in of.items():
            _accepted(key, result)
        parts = [
            result.mean()
            .filter(pl.col("segment").is_null())
            .with_columns(
                parameter=pl.lit(float(parameter)),
                panel=pl.concat_str("measure", pl.lit(", ") + pl.col("group"), ignore_nulls=True),
                brief=pl.col("measure").replace_strict(
                    dict(zip(map(str, result.measures), brief(result.measures), strict=True))
                ),
                axis=pl.col("measure").replace_strict({str(m): _axis(m) for m in result.measures}),
                **_ends({str(m): m.bounds for m in result.measures}),
            )
            for parameter, result in of.items()
        ]
        if not parts:
            raise LightmeterError(f"there is no result to draw. Accepted: {_BY_PARAMETER}.")
        return pl.concat(parts).select(*_COLUMNS)
    if not hasattr(of, "curve"):
        raise LightmeterError(f"found {type(of).__name__!r}. Accepted: a sweep, or {_BY_PARAMETER}.")
    points = of.curve(raw=True).filter(pl.col("measure").is_in(["EED", "EER"]))
    chosen = one_of("policy", policy, points["policy"])
    points = points.filter(pl.col("policy") == chosen)
    points = points.filter(pl.col("user") == one_of("user", user, points["user"]))
    ways = points["by"].unique(maintain_order=True).to_list()
    points = points.filter(pl.col("by").eq_missing(pl.lit(ways[0], pl.String)))
    axes, bounds = _scales(of, chosen, points["user"][0], ways[0])
    return points.with_columns(**_ends(bounds)).select(
        pl.col("measure").replace_strict({m: f"{m}: {what} of exposure" for m, what in _WHAT.items()}).alias("panel"),
        pl.col("measure").replace_strict({m: f"{what} ({m})" for m, what in _WHAT.items()}).alias("brief"),
        pl.lit(None, pl.String).alias("group"),
        "run",
        "parameter",
        "value",
        "n",
        pl.col("measure").replace_strict(axes).alias("axis"),
        "low",
        "high",
    )


def _accepted(parameter: Any, result: Any) -> None:
    """Refuse what is no number from 0 up, and what no result belongs to."""
    if isinstance(parameter, bool) or not isinstance(parameter, Real) or not float(parameter) >= 0:
        raise LightmeterError(f"the parameter {parameter!r} is no number from 0 up. Accepted: {_BY_PARAMETER}.")
    if not isinstance(result, Result):
        kind = type(result).__name__
        raise LightmeterError(f"what belongs to parameter {parameter!r} is of type {kind}. Accepted: {_BY_PARAMETER}.")


def _ends(bounds: Mapping[str, tuple[float, float]]) -> dict[str, pl.Expr]:
    """Columns of the least and the most that each measure can be."""
    return {
        name: pl.col("measure").replace_strict(
            {m: float(ends[i]) for m, ends in bounds.items()}, return_dtype=pl.Float64
        )
        for i, name in enumerate(("low", "high"))
    }


def _scales(
    of: SweepResult, policy: str, user: str, by: str | None
) -> tuple[dict[str, str], dict[str, tuple[float, float]]]:
    """The axes of EED and EER, with which way is better; and the least and the most that they can be."""
    curves = [c for c in of.curves if (c.policy, c.user, c.by) == (policy, user, by)]
    most = float(EED(user=parse(user, kind="user")).bounds[1]) if by is None else math.inf
    eed = f"0 to {most:.3g}, " if math.isfinite(most) else "0 and more, "
    scales = [c.scale for c in curves if c.scale.answered.any()]
    ideal = [float(np.average(s.most[s.answered], weights=s.weight[s.answered])) for s in scales]
    # runs that answer other queries have other ideals
    eer = f"ideal: {number(ideal[0])}, " if ideal and max(ideal) - min(ideal) < _SAME_IDEAL else "0 and more, "
    axes = {"EED": f"mean EED ({eed}lower is better)", "EER": f"mean EER ({eer}higher is better)"}
    return axes, {"EED": (0.0, most), "EER": (0.0, max(ideal, default=math.inf))}


def _axis(measure: Any) -> str:
    """What an axis shows: the mean and which way is better, or for groups what they get and in which unit."""
    told = way(measure)
    return noun(measure)[1] if measure.by_group else f"mean {brief([measure])[0]}" + (f" ({told})" if told else "")


def randomisation(
    of: SweepResult | Mapping[float, Result],
    *,
    parameter: str = "parameter",
    policy: str | None = None,
    user: str | None = None,
) -> Chart:
    """Measures along the parameter of a policy, from random order to the ranking as given.

    Parameters
    ----------
    of
        A sweep, of which EED and EER are shown; or results by parameter, such as
        ``{a: lm.evaluate(c, measures, policy=lm.PlackettLuce(alpha=a)) for a in (0.1, 1, 10)}``.
    parameter
        Its name, for the axis; of a sweep it is known.
    policy, user
        Which of a sweep, where there are several.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart: a panel a measure, a line a run.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where parameters are no numbers from 0 up, there are more than seven runs, or several policies or users and none
        is named.
    """
    alt = altair()
    frame = along_frame(of, policy, user)
    runs = frame["run"].unique(maintain_order=True).to_list()
    if len(runs) > _MOST_RUNS:
        raise LightmeterError(f"the picture shows {len(runs)} runs. Accepted: at most {_MOST_RUNS}; choose some.")
    names = short_names(runs)
    shown = [names[r] for r in runs]
    title, about = finding(frame, quoted(names)), []
    if not isinstance(of, Mapping):
        chosen = one_of("policy", policy, [c.policy for c in of.curves])
        parameter = {"P": "alpha", "R": "theta"}.get(chosen[0], parameter)
        who = one_of("user", user, [c.user for c in of.curves])
        by = next(c.by for c in of.curves if (c.policy, c.user) == (chosen, who))
        about = [
            f"{policy_words(chosen)}; user {listed(user_words([parse(who, kind='user')]).values())}",
            _SUMS.format(whom="documents" if by is None else f"groups of {by}"),
        ]
    else:
        about = [meanings(next(iter(of.values())).measures)]
    n = sorted(set(frame["n"].to_list()))
    about.append(_left_out(frame))
    about.insert(0, f"mean of {counted(n[-1], 'query', 'queries')}" + (f" ({n[0]} at least)" if n[0] != n[-1] else ""))
    about[0] += "; no interval drawn, no test"
    if not isinstance(of, Mapping):
        kept = rules(of.conventions, ["depth", "ties"])
        about[0] += "; thin: ranking as given, and random order" + (f"; {kept}" if kept else "")
    if len(runs) == 1:
        about[0] = f"run '{shown[0]}'; {about[0]}"
    span = _span(frame)
    frame = frame.with_columns(run=pl.col("run").replace_strict(names))
    panels = [_panel(frame, panel, span, shown, parameter) for panel in frame["panel"].unique(maintain_order=True)]
    columns = 2 if len(panels) < 5 else 3
    chart = alt.concat(*panels, columns=columns)
    return theme.finished(chart, title, about, min(len(panels), columns) * 290)


def _panel(frame: pl.DataFrame, panel: str, span: tuple[float, float], runs: list[str], parameter: str) -> Chart:
    alt = altair()
    mine = frame.filter(pl.col("panel") == panel)
    inner = mine.filter(pl.col("parameter").is_between(*span))
    ends = pl.concat(
        [
            mine.filter(pl.col("parameter") == 0).with_columns(end=pl.lit("random order")),
            mine.filter(pl.col("parameter").is_null()).with_columns(end=pl.lit("as given")),
        ]
    )
    x = alt.X(
        "parameter:Q",
        title=f"{parameter} (less randomness to the right)",
        scale=alt.Scale(type="log", domain=list(span), nice=False),
        axis=alt.Axis(format="~g", values=_ticks(*span)),
    )
    values = mine["value"].drop_nulls().drop_nans()
    floor = min(float(values.min() or 0.0), 0.0)  # type: ignore[arg-type]
    y = alt.Y("value:Q", title=theme.axis_title(mine["axis"][0], 215), scale=alt.Scale(domainMin=floor))
    key = None if len(runs) == 1 else theme.strokes()
    color = alt.Color("run:N", scale=theme.colours(runs), legend=key)
    line = (
        alt.Chart(inline(inner))
        .mark_line()
        .encode(
            x=x,
            y=y,
            color=color,
            strokeDash=alt.StrokeDash("run:N", scale=theme.dashes(runs), legend=key),
            tooltip=["run:N", alt.Tooltip("parameter:Q", format=".3g"), alt.Tooltip("value:Q", format=".4f")],
        )
    )
    layers = [line]
    if len(ends):
        for end, where in (("as given", "left"), ("random order", "right")):
            part = ends.filter(pl.col("end") == end)
            if part.is_empty():
                continue
            rule = alt.Chart(inline(part)).mark_rule(strokeWidth=1, opacity=0.7)
            layers.append(rule.encode(y="value:Q", color=color))
            # at the side where curves are away from it, above the highest of the runs
            highest = alt.Chart(inline(part.sort("value").tail(1)))
            for rim in (theme.RIM, {}):
                look = {"align": where, "dx": 4 if where == "left" else -4, "dy": -7, "color": theme.MUTED} | rim
                told = highest.mark_text(**look)
                layers.append(told.encode(x=alt.value(0 if where == "left" else 230), y="value:Q", text="end:N"))
    return alt.layer(*layers).properties(
        width=230, height=190, title=alt.TitleParams(theme.wrapped(panel, 250, 11, bold=True), fontSize=11, offset=8)
    )


def _span(frame: pl.DataFrame) -> tuple[float, float]:
    """The parameters between which something changes: from random order nearly to the ranking as given, nearly."""
    inner = frame.filter(pl.col("parameter").is_finite(), pl.col("parameter") > 0, pl.col("value").is_finite())
    if inner["parameter"].n_unique() < 2:
        raise LightmeterError("the picture needs at least two parameters above 0 with values. Accepted: more results.")
    ordered = frame.sort(pl.col("parameter").fill_null(math.inf), maintain_order=True)
    low, high = math.inf, -math.inf
    for _, part in ordered.filter(pl.col("value").is_finite()).group_by("panel", "run", maintain_order=True):
        value, at = part["value"].to_numpy(), part["parameter"].fill_null(math.inf).to_numpy()
        wide = np.abs(value - value[-1]).max()
        moving = np.flatnonzero((np.abs(value - value[0]) > 0.004 * wide) & (np.abs(value - value[-1]) > 0.004 * wide))
        if len(moving):
            near = at[max(moving[0] - 1, 0) : moving[-1] + 2]
            near = near[(near > 0) & np.isfinite(near)]
            low, high = min(low, near.min()), max(high, near.max())
    if low >= high:
        low, high = (float(v) for v in (inner["parameter"].min(), inner["parameter"].max()))  # type: ignore[arg-type]
    return float(low), float(high)


def _ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if math.log10(high / low) > 2.5 else (1, 3) if math.log10(high / low) > 1.2 else (1, 2, 5)
    found = [float(f"{s}e{k}") for k in powers for s in steps]
    return [v for v in found if low * 0.999 <= v <= high * 1.001]


def _courses(frame: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, str, np.ndarray[Any, Any], float]]:
    """The values of each measure and run in their order, with the least difference that counts: rows of the measure,
    run, values, difference.
    """
    for _, part in frame.group_by("panel", maintain_order=True):
        least = margin((part["low"][0], part["high"][0]), part["value"].to_list())
        for run in part["run"].unique(maintain_order=True):
            ordered = part.filter(pl.col("run") == run).sort("parameter", nulls_last=True)
            value = ordered.filter(pl.col("value").is_finite())["value"].to_numpy()
            if len(value) > 1:
                yield part, run, value, least


def _left_out(frame: pl.DataFrame) -> str:
    """That small turns are left out of the title, where there are some."""
    small = any(course(value)[0] != course(value, least)[0] for _, _, value, least in _courses(frame))
    return "the title leaves out what changes by less than 1% of a measure's range" if small else ""


def finding(frame: pl.DataFrame, names: dict[str, str]) -> str:
    """How each measure goes from one end to the other, in each run, also where it turns on its way."""
    told: dict[str, list[str]] = {}
    ways: dict[str, dict[str, list[tuple[str, str]]]] = {}
    subjects: dict[str, str] = {}
    for part, run, value, least in _courses(frame):
        way, numbers = course(value, least)
        panel = part["panel"][0]
        subjects[panel] = _subject(part)
        ways.setdefault(panel, {}).setdefault(way, []).append((names[run], numbers))
    several: dict[str, str] = {}
    for panel, subject in subjects.items():
        does = _of_runs(ways[panel], len(names))
        told.setdefault(does, []).append(subject)
        # of the verbs only: the names of runs stay as they are
        several[does] = _of_runs({_plural(way): those for way, those in ways[panel].items()}, len(names))
    if not told:
        return "Nothing is defined"
    parts = [f"{listed(who, 3)} {several[does] if len(who) > 1 else does}" for does, who in told.items()]
    left = sum(len(who) for who in list(told.values())[_MOST_TOLD:])
    more = f"; {counted(left, 'more measure')} not told of" if left else ""
    return f"With less randomness {'; '.join(parts[:_MOST_TOLD])}{more}"


def _plural(does: str) -> str:
    for one, many in (("rises", "rise"), ("falls", "fall"), ("stays", "stay"), ("changes", "change")):
        does = does.replace(one, many)
    return does


def _subject(part: pl.DataFrame) -> str:
    """A measure in short, with the group where it has one."""
    group = part["group"][0]
    return part["brief"][0] + (f" of {group}" if group is not None else "")


def _of_runs(ways: dict[str, list[tuple[str, str]]], runs: int) -> str:
    """What a measure does in which runs."""
    if runs == 1:
        ((way, ((_, numbers),)),) = ways.items()
        return f"{way} {numbers}"
    if len(ways) == 1:
        ((way, those),) = ways.items()
        if len(those) == runs:
            return f"{way} in {'both' if runs == 2 else f'all {runs}'} runs"
    return ", ".join(
        f"{way} in {listed([name for name, _ in those], 3)}"
        # of a turn the numbers tell how large it is
        + (f" ({those[0][1]})" if len(those) == 1 and " then " in way else "")
        for way, those in ways.items()
    )
