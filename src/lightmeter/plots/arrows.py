"""What a change of a ranker does to two measures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from lightmeter.errors import LightmeterError
from lightmeter.findings.glossary import meanings, rules
from lightmeter.findings.language import better_first, brief, counts, listed, margin_of, number, quoted, short_names
from lightmeter.findings.means import NO_TEST
from lightmeter.plots import theme
from lightmeter.plots.chart import Chart, altair, inline, one_of
from lightmeter.plots.labels import along
from lightmeter.plots.points import SIDE, axis, domain_of, points, to_pixels
from lightmeter.plots.tradeoff import (
    best_corner,
    points_frame,
    some,
    told_queries,
    two_measures,
)
from lightmeter.results.result import Result


def arrows(result: Result, pairs: Iterable[tuple[str, str]], x: Any = None, y: Any = None) -> Chart:
    """What a change of a ranker does to two measures: an arrow from each run to the run that it became.

    Parameters
    ----------
    result
        From :func:`lightmeter.evaluate`.
    pairs
        Runs before and after a change.
    x, y
        Measures of the result or their notation; by default the first two.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where a run or measure is not there, both are one measure, or there is no pair or one that is not of two runs.
    """
    alt = altair()
    x, y = two_measures(result, x, y)
    frame = some(points_frame(result, x, y), x, y)
    names = short_names(frame["name"].to_list())
    frame = frame.with_columns(label=pl.col("name").replace_strict(names), both=pl.lit(0.0))
    at = {n: (a, b) for n, a, b in frame.select("name", "x", "y").iter_rows()}
    made = _changes(pairs, at)
    domain = domain_of(frame["x"].to_numpy(), x), domain_of(frame["y"].to_numpy(), y)
    # where a measure has no better side, up and down are all that can be told
    directed = bool(better_first(x) and better_first(y))
    signs = (better_first(x), better_first(y)) if directed else (1.0, 1.0)
    least = margins(frame, x, y)
    rows = []
    for before, after in made:
        (x0, y0), (x1, y1) = at[before], at[after]
        effect = _effect(signs[0] * (x1 - x0), signs[1] * (y1 - y0), directed, least)
        px, py = (x1 - x0) / (domain[0][1] - domain[0][0]), (y1 - y0) / (domain[1][1] - domain[1][0])
        length = math.hypot(px, py) * SIDE
        # the head ends at the rim of the point
        back = min(9 / length, 0.4) if length else 0.0
        rows.append(
            {
                "before": before,
                "after": after,
                "effect": effect,
                "length": length,
                "x": x0,
                "y": y0,
                "x2": x1 - back * (x1 - x0),
                "y2": y1 - back * (y1 - y0),
                "angle": math.degrees(math.atan2(px, py)),
            }
        )
    moved = pl.DataFrame(rows)
    looks = {_told(k, directed): look for k, look in _EFFECTS.items()}
    kinds = [k for k in looks if k in moved["effect"].to_list()]
    key = theme.strokes()
    scale = alt.Scale(domain=kinds, range=[looks[k][0] for k in kinds])
    dash = alt.Scale(domain=kinds, range=[looks[k][1] for k in kinds])
    base = alt.Chart(inline(moved)).encode(
        x=axis("x", x, domain[0]), y=axis("y", y, domain[1]), color=alt.Color("effect:N", scale=scale, legend=key)
    )
    shafts = base.mark_rule(strokeWidth=2.5).encode(
        x2="x2:Q",
        y2="y2:Q",
        strokeDash=alt.StrokeDash("effect:N", scale=dash, legend=key),
        tooltip=["before:N", "after:N"],
    )
    heads = (
        base.transform_filter("datum.length > 0")
        .mark_point(shape="triangle", filled=True, size=110, opacity=1)
        .encode(x=axis("x2", x, domain[0]), y=axis("y2", y, domain[1]), angle=alt.Angle("angle:Q", scale=None))
    )
    taken = [
        box
        for a, b, c, d in moved.select("x", "y", "x2", "y2").iter_rows()
        for box in along(to_pixels(a, b, domain), to_pixels(c, d, domain))
    ]
    dots = points(frame, frame["name"].to_list(), x, y, domain, True, taken)
    chart = alt.layer(shafts, heads, *dots).properties(width=SIDE, height=SIDE)
    corner = best_corner(x, y)
    title = arrow_finding(moved, at, quoted(names), x, y, least) + net_finding(made, at, quoted(names), x, y, least)
    about = [
        f"means over {told_queries(frame, x, y)}" + f"; {NO_TEST}" + (f"; {corner}" if corner else ""),
        "; ".join(part for part in ("arrows: " + _chain(made, names), _small(moved, title)) if part),
        net_told(made, at, x, y),
        "; ".join(part for part in (meanings([x, y]), rules(result.conventions)) if part),
    ]
    return theme.finished(chart, title, about, SIDE + 110)


def _changes(pairs: Any, known: Iterable[str]) -> list[tuple[str, str]]:
    """The pairs of runs, each of two that are there."""
    there = list(known)
    if isinstance(pairs, str | Mapping) or not isinstance(pairs, Iterable):
        raise LightmeterError(f"the pairs are {pairs!r}. {_ACCEPTED}")
    made = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 or None in pair:
            raise LightmeterError(f"{pair!r} is no pair of runs. {_ACCEPTED}")
        before, after = (one_of("run", end, there) for end in pair)
        if before == after:
            raise LightmeterError(f"the pair {tuple(pair)!r} is one run twice, which changes nothing. {_ACCEPTED}")
        made.append((before, after))
    if not made:
        raise LightmeterError(f"there is no pair of runs. {_ACCEPTED}")
    return made


_ACCEPTED = "Accepted: pairs of a run before and another one after a change, such as [('a', 'b')]."
#: Values of the two measures.
Point: TypeAlias = tuple[float, float]
_EFFECTS = {
    (1, 1): (theme.GREEN, [1, 0]),
    (1, 0): (theme.GREEN, [12, 4]),
    (1, -1): (theme.ORANGE, [7, 3]),
    (0, 0): (theme.MUTED, [1, 0]),
    (0, -1): (theme.VERMILLION, [9, 3, 2, 3]),
    (-1, -1): (theme.VERMILLION, [2, 2]),
}
_SAME = "about the same"
_WORDS = {True: {1: "better", -1: "worse", 0: _SAME}, False: {1: "higher", -1: "lower", 0: _SAME}}
_VERBS = {True: {1: "improve", -1: "hurt"}, False: {1: "raise", -1: "lower"}}
#: Changes that a title tells one by one, and runs of a chain that is told.
_MOST_NAMED, _LONGEST = 3, 5


def _linked(made: Sequence[tuple[Any, ...]]) -> bool:
    """Whether each change starts where the one before it ended."""
    return all(a[1] == b[0] for a, b in itertools.pairwise(made))


def margins(frame: pl.DataFrame, x: Any, y: Any) -> Point:
    """The least changes of both measures that count."""
    return margin_of(x, frame["x"].to_list()), margin_of(y, frame["y"].to_list())


def _small(moved: pl.DataFrame, title: str) -> str:
    """What about the same and hardly changed mean, where it is said."""
    said = [_SAME] * any(_SAME in effect for effect in moved["effect"]) + ["hardly"] * (" hardly " in title)
    return f"{listed(said)}: by less than 1% of the range" if said else ""


def net_finding(
    made: Sequence[tuple[Any, ...]],
    at: Mapping[str, Point],
    names: dict[str, str],
    x: Any,
    y: Any,
    least: Point,
) -> str:
    """What several changes in a row do in all: from the first run to the last."""
    if len(made) < 2 or not _linked(made):
        return ""
    first, last = made[0][0], made[-1][1]
    if first == last:
        return "; in all nothing has changed"
    return f"; in all, from {names[first]} to {names[last]}, it {_done(at[first], at[last], x, y, least)}"


def net_told(made: Sequence[tuple[Any, ...]], at: Mapping[str, Point], x: Any, y: Any) -> str:
    """By how much the measures change in all, where several changes are made in a row."""
    if len(made) < 2 or not _linked(made):
        return ""
    ends = zip(brief([x, y]), at[made[0][0]], at[made[-1][1]], strict=True)
    # who subtracts the numbers shown finds the same
    shown = [(n, number(a), number(b)) for n, a, b in ends]
    return "in all: " + ", ".join(f"{n} from {a} to {b} ({float(b) - float(a):+.3f})" for n, a, b in shown)


def _chain(made: list[tuple[Any, ...]], names: dict[str, str]) -> str:
    """The changes in the order given."""
    if _linked(made) and len(made) < _LONGEST:
        return ", then ".join([names[made[0][0]], *(names[after] for _, after in made)])
    return f"in the order given: {listed([f'{names[a]} to {names[b]}' for a, b in made])}"


def _told(effect: tuple[int, int], directed: bool) -> str:
    """An effect on two measures in words, whichever of them it is that changes."""
    one, two = (_WORDS[directed][e] for e in effect)
    return f"both {one}" if one == two else f"one {one}, one {two}"


def _effect(dx: float, dy: float, directed: bool, least: Point) -> str:
    signs = [0 if not counts(d, m) else 1 if d > 0 else -1 for d, m in zip((dx, dy), least, strict=True)]
    return _told((max(signs), min(signs)), directed)


def arrow_finding(
    moved: pl.DataFrame, at: Mapping[str, Point], names: dict[str, str], x: Any, y: Any, least: Point
) -> str:
    """What the changes do."""
    directed = bool(better_first(x) and better_first(y))
    effects = moved["effect"].to_list()
    if len(effects) == 1:
        row = moved.row(0, named=True)
        told = _done(at[row["before"]], at[row["after"]], x, y, least)
        return f"From {names[row['before']]} to {names[row['after']]} the change {told}"
    kinds = {_told(k, directed): k for k in _EFFECTS}
    if len(effects) <= _MOST_NAMED:
        parts = [
            f"from {names[before]} to {names[after]} {'it' if i else 'the change'} {_verb(kinds[effect], 1, directed)}"
            for i, (before, after, effect) in enumerate(moved.select("before", "after", "effect").iter_rows())
        ]
        told = "; ".join(parts)
        return told[:1].upper() + told[1:]
    parts = [f"{effects.count(k)} {_verb(kinds[k], effects.count(k), directed)}" for k in kinds if k in effects]
    return f"Of {len(effects)} changes {listed(parts, len(kinds))}"


def _done(start: Point, end: Point, x: Any, y: Any, least: Point) -> str:
    """What one change does to each measure by name."""
    directed = bool(better_first(x) and better_first(y))
    signs = (better_first(x), better_first(y)) if directed else (1.0, 1.0)
    changes = [sign * (b - a) for sign, a, b in zip(signs, start, end, strict=True)]
    done: dict[str, list[str]] = {}
    for name, change, enough in zip(brief([x, y]), changes, least, strict=True):
        verb = f"{_VERBS[directed][1 if change > 0 else -1]}s" if counts(change, enough) else "hardly changes"
        done.setdefault(verb, []).append(name)
    told = sorted(done.items(), key=lambda part: part[0] == "hardly changes")
    return " and ".join(f"{verb} {' and '.join(what)}" for verb, what in told)


def _verb(effect: tuple[int, int], n: int, directed: bool) -> str:
    """What so many changes do to both measures."""
    s = "s" if n == 1 else ""
    first, second = (
        {1: _VERBS[directed][1] + s, -1: _VERBS[directed][-1] + s, 0: f"hardly change{s}"}[e] for e in effect
    )
    if first == second:
        return f"{first} both measures"
    # what hardly changes is told last
    first, second = (second, first) if effect == (0, -1) else (first, second)
    return f"{first} one and {second} the other"
