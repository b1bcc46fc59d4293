"""What a page is made of: tables, pictures, and sections that hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lightmeter.results.text import number, printable

#: rows of a table; more would make the page slow and large
MOST_ROWS = 1500


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text
        What is shown.
    value
        What it is sorted by; None: by its text.
    note
        Beside it, smaller: an interval, letters of a test.
    way
        ``number`` (to the right) or ``text``.
    best
        Whether it is the best of its column.
    """

    text: str
    value: float | None = None
    note: str = ""
    way: str = "text"
    best: bool = False


@dataclass(frozen=True)
class Head:
    """A column title, with what it means below it."""

    text: str
    note: str = ""
    way: str = "text"


@dataclass(frozen=True)
class Row:
    """A row; ``run`` and ``query`` (their names in the data) tie it to the pictures and to the rankings."""

    cells: list[Cell]
    run: str | None = None
    query: str | None = None


@dataclass(frozen=True)
class Table:
    """A table: ``caption`` says what it shows, ``about`` what to know to read it."""

    caption: str
    head: list[Head]
    rows: list[Row]
    about: str = ""
    left_out: int = 0

    @classmethod
    def of(cls, caption: str, head: list[Head], rows: Sequence[Row], about: str = "") -> Table:
        """A table of at most :data:`MOST_ROWS` rows."""
        return cls(caption, head, list(rows[:MOST_ROWS]), about, max(len(rows) - MOST_ROWS, 0))


@dataclass(frozen=True)
class Picture:
    """A chart: as SVG that needs no JavaScript, and as a Vega-Lite description where it can be interactive."""

    title: str
    about: str
    svg: bytes
    spec: dict[str, Any] | None
    width: int


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    key: str
    title: str
    paragraphs: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.paragraphs or self.pictures or self.tables)


@dataclass(frozen=True)
class Page:
    """A report: what is in it, whatever it looks like.

    Attributes
    ----------
    kind
        ``Evaluation``, ``Comparison``, ``Sweep`` or ``Audit``.
    title, about
        The heading, and a line below it.
    summary
        Sentences in plain words.
    rankings
        What the drill-down shows, or None (:mod:`lightmeter.report.rankings`).
    runs
        Short names by name.
    """

    kind: str
    title: str
    about: str
    summary: list[str]
    sections: list[Section]
    conventions: dict[str, str]
    notes: list[str]
    manifest: dict[str, Any]
    rankings: dict[str, Any] | None = None
    runs: dict[str, str] = field(default_factory=dict)


def text(given: Any) -> Cell:
    """A cell of words."""
    return Cell("" if given is None else printable(str(given)))


def count(given: int | None) -> Cell:
    """A cell with a whole number."""
    return Cell("" if given is None else f"{given:,}", None if given is None else float(given), way="number")


def value(given: float | None, note: str = "", *, best: bool = False, reason: str | None = None) -> Cell:
    """A cell with a number; where there is none, why."""
    if given is None or not math.isfinite(given):
        return Cell("undefined" if reason else "-", None, printable(reason or ""), "number")
    return Cell(number(given), float(given), note, "number", best)


def interval(low: float | None, high: float | None) -> str:
    """An interval beside a number, or nothing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{number(low)}, {number(high)}]"
