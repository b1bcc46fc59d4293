"""How all pictures look: colours, dashes, shapes, fonts and sizes.

Colours are Okabe and Ito's, which people with any colour vision can tell apart; whatever has a colour also has a dash,
a shape or a place of its own, so that a print in grey can be read.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from lightmeter.errors import LightmeterError
from lightmeter.plots.chart import Chart, altair

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
BLACK = "#000000"
INK, MUTED, FAINT = "#222222", "#666666", "#B8B8B8"
#: Colours of series, in order of use.
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [12, 4], [5, 2, 1, 2, 1, 2], [4, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
#: Width of a single panel, of the panels that stand three in a row, and a height to go with them.
WIDTH, SMALL, HEIGHT = 520, 200, 320
_TITLE, _SUBTITLE, _TEXT = 15, 11, 11
#: Pixels of a line in a legend.
_STROKE = 32
#: Whole numbers that all get a tick.
_FEW = 12
#: Mean width of a letter by its size.
_LETTER = 0.52
#: The look of a white rim below a text, which keeps lines behind it away; the text is drawn over it once more.
RIM = {"stroke": "white", "strokeWidth": 3.5, "strokeJoin": "round", "aria": False}


def config() -> dict[str, Any]:
    """The settings of every chart."""
    return {
        "background": "white",
        "padding": 12,
        "font": FONT,
        "title": {
            "anchor": "start",
            "frame": "group",
            "fontSize": _TITLE,
            "subtitleFontSize": _SUBTITLE,
            "subtitleColor": MUTED,
            "color": INK,
            "offset": 14,
            "subtitlePadding": 5,
        },
        "axis": {
            "labelFontSize": _TEXT,
            "titleFontSize": _TEXT + 1,
            "titleFontWeight": "normal",
            "titleColor": INK,
            "labelColor": INK,
            "gridColor": "#E6E6E6",
            "domainColor": MUTED,
            "tickColor": MUTED,
            "labelLimit": 260,
            # a number stands below its tick, also at the ends
            "labelFlush": False,
            # numbers nearer than this would read as one
            "labelSeparation": 7,
            "titlePadding": 8,
        },
        "legend": {
            "labelFontSize": _TEXT,
            "titleFontSize": _TEXT,
            "titleFontWeight": "normal",
            "titleColor": MUTED,
            "labelColor": INK,
            "labelLimit": 420,
            "symbolStrokeWidth": 2,
            "symbolSize": 90,
            "symbolOpacity": 1,
        },
        "header": {
            "labelFontSize": _TEXT,
            "labelFontWeight": "bold",
            "labelColor": INK,
            "labelAnchor": "start",
            "labelPadding": 4,
            "titleFontSize": _TEXT,
            "labelLimit": 340,
        },
        "view": {"stroke": None},
        "line": {"strokeWidth": 2, "strokeCap": "round"},
        "text": {"fontSize": _TEXT, "font": FONT, "color": INK},
    }


def finished(chart: Chart, title: str, subtitle: Sequence[str], width: float = WIDTH) -> Chart:
    """A chart with its title (what it shows, in words), subtitle (of what, and by which rules) and the common look.

    Parameters
    ----------
    chart
        What is drawn.
    title
        The finding, in one sentence.
    subtitle
        Conventions and numbers; each starts a line.
    width
        Width of the whole picture in pixels, at which lines are broken.
    """
    heading = {
        "text": wrapped(title, width, _TITLE, bold=True),
        "subtitle": [line for part in subtitle if part for line in wrapped(part, width, _SUBTITLE)],
    }
    return chart.properties(title=altair().TitleParams(**heading)).configure(**config())


def beside(*charts: Chart, columns: int = 2) -> Chart:
    """Several pictures as one, side by side and below each other.

    Parameters
    ----------
    charts
        Pictures of this module, changed or not. What was configured on them is replaced by the common look.
    columns
        How many stand side by side.

    Returns
    -------
    alt.Chart
        A Vega-Altair chart; each part keeps its own colours and key.

    Raises
    ------
    MissingExtraError
        Where altair is not installed.
    LightmeterError
        Where there is no chart.
    """
    alt = altair()
    if not charts:
        raise LightmeterError("beside was given no chart. Accepted: charts from lightmeter.plots.")
    plain = [chart.copy(deep=False) for chart in charts]
    for chart in plain:
        chart.config = alt.Undefined
    whole = alt.concat(*plain, columns=columns, center=True)
    return whole.resolve_scale(color="independent", strokeDash="independent", shape="independent").configure(**config())


def wrapped(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Lines of a text that fit a width in pixels.

    Examples
    --------
    >>> wrapped("a b", 500, 11), len(wrapped("word " * 40, 300, 11)) > 3
    (['a b'], True)
    """
    letters = max(int(width / (size * _LETTER * (1.05 if bold else 0.97))), 24)
    # a name with dashes stays whole
    return textwrap.wrap(text, letters, break_on_hyphens=False) or [""]


def axis_title(text: str, width: float) -> list[str]:
    """Lines of an axis title that fit a width in pixels; what is within brackets at its end stays together.

    Examples
    --------
    >>> axis_title("ERR (0 to 1)", 400), axis_title("mean exposure of a member (1 = what rank 1 gets)", 200)
    (['ERR (0 to 1)'], ['mean exposure of a member', '(1 = what rank 1 gets)'])
    """
    lines, (name, *told) = wrapped(text, width, _TEXT + 1), text.rsplit(" (", 1)
    if len(lines) == 1 or not told:
        return lines
    return wrapped(name, width, _TEXT + 1) + wrapped(f"({told[0]}", width, _TEXT + 1)


def text_width(text: str, size: float = _TEXT) -> int:
    """Pixels that a text takes up, at most."""
    return math.ceil(len(text) * size * _LETTER)


def colours(names: Sequence[str], fixed: dict[str, str] | None = None) -> Any:
    """A scale of colours for series in the order given."""
    picked = [(fixed or {}).get(n, COLOURS[i % len(COLOURS)]) for i, n in enumerate(names)]
    return altair().Scale(domain=list(names), range=picked)


def dashes(names: Sequence[str], fixed: dict[str, list[int]] | None = None) -> Any:
    """A scale of dashes for series in the order given."""
    picked = [(fixed or {}).get(n, DASHES[_turned(i)]) for i, n in enumerate(names)]
    return altair().Scale(domain=list(names), range=picked)


def shapes(names: Sequence[str]) -> Any:
    """A scale of shapes for series in the order given."""
    return altair().Scale(domain=list(names), range=[SHAPES[_turned(i)] for i in range(len(names))])


def _turned(place: int) -> int:
    """Which dash or shape: where colours begin anew, another one goes with each."""
    return (place + place // len(COLOURS)) % len(COLOURS)


def legend(**changes: Any) -> Any:
    """A legend above the panels, its entries side by side."""
    return altair().Legend(**({"orient": "top", "direction": "horizontal", "title": None} | changes))


def strokes(**changes: Any) -> Any:
    """A legend of lines, with pieces long enough to tell patterns apart."""
    packed = {"rowPadding": -12} if changes.get("direction") == "vertical" or changes.get("columns") == 1 else {}
    return legend(**({"symbolType": "stroke", "symbolSize": _STROKE**2} | packed | changes))


def counting(last: int) -> Any:
    """An axis of whole numbers from 1: of few, each has a tick, and none stands twice."""
    alt = altair()
    return (
        alt.Axis(format="d", values=list(range(1, last + 1))) if last <= _FEW else alt.Axis(format="d", tickMinStep=1)
    )


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Places of labels that are at least ``gap`` apart and as near to those given as can be.

    Examples
    --------
    >>> apart([1.0, 5.0, 1.0], 1.0)
    [0.5, 5.0, 1.5]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    # blocks of labels that touch: (sum of where each would have its block start, how many)
    blocks: list[tuple[float, int]] = []
    for i in order:
        total, size = places[i], 1
        while blocks and blocks[-1][0] / blocks[-1][1] + gap * blocks[-1][1] > total / size:
            before, count = blocks.pop()
            total, size = before + total - gap * count * size, count + size
        blocks.append((total, size))
    spread = [total / size + gap * k for total, size in blocks for k in range(size)]
    out = [0.0] * len(places)
    for i, place in zip(order, spread, strict=True):
        out[i] = place
    return out


def nice_ceiling(value: float) -> float:
    """The next number of few digits.

    Examples
    --------
    >>> nice_ceiling(0.43), nice_ceiling(7.0), nice_ceiling(0.0)
    (0.5, 8.0, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        round(step * power, 12) for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-12)
    )
