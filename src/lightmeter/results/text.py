"""Tables for people, in plain text."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from lightmeter.results.grid import Entry, Grid, error, number

_SHORTEST = 20


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


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> list[str]:
    """Lines of a table: the first ``texts`` columns to the left, the others (numbers) to the right."""
    table = [header, *rows]
    widths = [max(cells(row[i]) for row in table) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [_pad(cell, widths[i], left=i < texts) for i, cell in enumerate(row)]
        return "  ".join(parts).rstrip()

    return [line(header), "  ".join("-" * w for w in widths), *map(line, rows)]


def cells(text: str) -> int:
    """How many places a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - cells(text))
    return text + space if left else space + text


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
