"""A result as a grid for people: a row for each run (query, segment), a column for each measure (and group)."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import polars as pl

from lightmeter.results.text import aligned, cells, error, number, printable

_SHORTEST = 20


@dataclass(frozen=True)
class Entry:
    """One value of a grid."""

    value: float | None
    se: float | None
    n: int | None
    reason: str | None

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        return number(self.value) + (f" ±{error(self.se)}" if self.se is not None else "")


@dataclass(frozen=True)
class Grid:
    """Values by row and column.

    Attributes
    ----------
    index
        Names of the row labels: ``run``, and ``query`` and ``segment`` where there are such.
    columns
        Pairs of measure and group (or None).
    rows
        Row labels, and an entry for each column.
    """

    index: list[str]
    columns: list[tuple[str, str | None]]
    rows: list[tuple[tuple[str, ...], list[Entry | None]]]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Grid:
        """From the table of a result."""
        index = ["run", *(name for name in ("query", "segment") if frame[name].null_count() < len(frame))]
        columns: dict[tuple[str, str | None], int] = {}
        rows: dict[tuple[Any, ...], dict[int, Entry]] = {}
        names = [*index, "measure", "group", "value", "se", "n", "reason"]
        for *key, measure, group, value, se, n, reason in frame.select(names).iter_rows():
            at = columns.setdefault((measure, group), len(columns))
            row = rows.setdefault(tuple(key), {})
            row[at] = Entry(value, se, n, reason)
        made = [(_labels(index, key), [row.get(i) for i in range(len(columns))]) for key, row in rows.items()]
        titles = [(measure, None if group is None else printable(group)) for measure, group in columns]
        return cls(index, titles, made)

    def titles(self) -> list[str]:
        """Titles of the columns: the measure, with the group where there is one."""
        return [measure if group is None else f"{measure} {group}" for measure, group in self.columns]


def _labels(index: list[str], key: tuple[Any, ...]) -> tuple[str, ...]:
    """Texts for the labels; the row of a mean is named."""
    row = dict(zip(index, key, strict=True))
    whole = row.get("query") is None
    blank = {"query": "(mean)", "segment": "(all)" if whole else ""}
    return tuple(blank.get(name, "") if value is None else printable(str(value)) for name, value in row.items())


def text_table(grid: Grid, width: int, *, wrap: bool = False) -> str:
    """The grid with runs as rows; where that is wider than ``width``, with measures as rows.

    Where that is too wide as well: with ``wrap``, the measures' names over several lines; else one line a value, if
    that is narrower.
    """
    wide, tall = _wide(grid), _tall(grid)
    excess = _span(tall) - width
    longest = max(cells(measure) for measure, _ in grid.columns)
    if _span(wide) <= width:
        lines = wide
    elif excess <= 0:
        lines = tall
    elif wrap and longest - excess >= _SHORTEST:
        lines = _tall(grid, longest - excess)
    else:
        long = _long(grid)
        lines = long if _span(long) < _span(tall) else tall
    return "\n".join(lines) + "\n"


def _span(lines: list[str]) -> int:
    return max(map(cells, lines))


def _show(entry: Entry | None) -> str:
    return "" if entry is None else str(entry)


def _wide(grid: Grid) -> list[str]:
    rows = [[*labels, *map(_show, entries)] for labels, entries in grid.rows]
    return aligned([*grid.index, *grid.titles()], rows, len(grid.index))


def _tall(grid: Grid, room: int | None = None) -> list[str]:
    """Measures as rows, their names in lines of at most ``room``; the values stand beside the last."""
    grouped = any(group is not None for _, group in grid.columns)
    header = ["measure", *(["group"] if grouped else []), *(" ".join(filter(None, labels)) for labels, _ in grid.rows)]
    rows = []
    for i, (measure, group) in enumerate(grid.columns):
        *above, name = [measure] if room is None else textwrap.wrap(measure, room, subsequent_indent="  ")
        rows += [[part, *[""] * (len(header) - 1)] for part in above]
        rows.append([name, *([group or ""] if grouped else []), *(_show(entries[i]) for _, entries in grid.rows)])
    return aligned(header, rows, 2 if grouped else 1)


def _long(grid: Grid) -> list[str]:
    grouped = any(group is not None for _, group in grid.columns)
    sampled = any(e is not None and e.se is not None for _, entries in grid.rows for e in entries)
    reasons = any(e is not None and e.reason is not None for _, entries in grid.rows for e in entries)
    counted = any(e is not None and e.n is not None for _, entries in grid.rows for e in entries)
    texts = [*grid.index, "measure", *(["group"] if grouped else [])]
    header = [
        *texts,
        "value",
        *(["se"] if sampled else []),
        *(["n"] if counted else []),
        *(["reason"] if reasons else []),
    ]
    rows = []
    for labels, entries in grid.rows:
        for (measure, group), entry in zip(grid.columns, entries, strict=True):
            if entry is None:
                continue
            row = [*labels, measure, *([group or ""] if grouped else []), number(entry.value)]
            row += [error(entry.se) if entry.se is not None else ""] if sampled else []
            row += ["" if entry.n is None else str(entry.n)] if counted else []
            rows.append([*row, *([entry.reason or ""] if reasons else [])])
    return aligned(header, rows, len(texts))
