"""An audit for people: a table for each attribute, in plain text, Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lightmeter.results.grid import Entry, Grid
from lightmeter.results.text import aligned, cells, number, printable

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult

WIDTH = 120
#: groups side by side on a page
_MOST_COLUMNS = 7
_WHOLE_NUMBERS = ("count", "n")


@dataclass(frozen=True)
class Sheet:
    """A table: rows of labels, cells below column titles."""

    title: str
    index: tuple[str, ...]
    columns: list[str]
    rows: list[tuple[tuple[str, ...], list[str]]]


def text(result: AuditResult, width: int = WIDTH) -> str:
    """Tables in plain text; the conventions and notes below."""
    parts = []
    for sheet in sheets(result):
        parts += [sheet.title, *_blocks(sheet, width), ""]
    return "\n".join([*parts, *remarks(result)]) + "\n"


def markdown(result: AuditResult) -> str:
    """Pipe tables."""
    from lightmeter.results.markup import plain

    parts: list[str] = []
    for sheet in _parts(sheets(result)):
        head = [*sheet.index, *map(plain, sheet.columns)]
        rule = [*("---" for _ in sheet.index), *("---:" for _ in sheet.columns)]
        body = [[*map(plain, labels), *map(plain, entries)] for labels, entries in sheet.rows]
        parts += [f"**{plain(sheet.title)}**", "", *(f"| {' | '.join(r)} |" for r in (head, rule, *body)), ""]
    return "\n".join([*parts, *(f"- {plain(r)}" for r in remarks(result))]) + "\n"


def latex(result: AuditResult) -> str:
    """A ``tabular`` for each table, with booktabs rules."""
    from lightmeter.results.markup import latex as tabular

    parts = []
    for sheet in _parts(sheets(result)):
        rows: list[tuple[tuple[str, ...], list[Entry | None]]] = [
            ((*labels, *entries), []) for labels, entries in sheet.rows
        ]
        # intervals make cells of text, so all columns are text to the writer
        grid = Grid([*sheet.index, *sheet.columns], [], rows)
        parts.append(tabular(grid, [sheet.title]))
    return "\n".join(parts) + "".join(f"% {r}\n" for r in remarks(result))


def remarks(result: AuditResult) -> list[str]:
    """Conventions and notes, a line each."""
    lines = [f"{name}: {rule}" for name, rule in result.conventions.items()]
    return [printable(line) for line in [*lines, *(f"note: {n}" for n in result.notes)]]


def sheets(result: AuditResult) -> list[Sheet]:
    """One table an attribute (and query); groups as columns, or as rows in a preset."""
    frame = result.rows
    queries: list[str | None] = [None]
    if "query" in frame.columns:
        queries = frame["query"].unique(maintain_order=True).to_list()
    out = []
    by: dict[tuple[str | None, str], list[dict[str, object]]] = {}
    for row in frame.iter_rows(named=True):
        by.setdefault((row.get("query"), row["attribute"]), []).append(row)
    scores = frame["score"].n_unique()
    for (query, attribute), every in by.items():
        title, rows = attribute, every
        if all(r["reason"] == "masked" for r in rows):  # one line of it says as much
            rows = [r for r in rows if r["measure"] == "count" and r["cutoff"] is None]
            title += ": all groups are masked"
        if len(queries) > 1 or query is not None:
            title += f", query {query}" if query is not None else ", all queries pooled"
        make = _by_group if result.preset is not None else _by_measure
        out.append(make(printable(title), rows, scores > 1))
    return out


def _cell(row: dict[str, object]) -> str:
    value, low, high, reason = row["value"], row["low"], row["high"], row["reason"]
    if value is None:
        return str(reason or "-")
    if row["measure"] in _WHOLE_NUMBERS:
        return f"{value:g}" if value != int(value) else str(int(value))  # type: ignore[call-overload]
    shown = number(value)  # type: ignore[arg-type]
    if low is not None and high is not None:
        shown += f" [{number(low)}, {number(high)}]"  # type: ignore[arg-type]
    elif low is not None:
        shown += f" [{number(low)}, ..]"  # type: ignore[arg-type]
    return shown


def _by_measure(title: str, rows: list[dict[str, object]], several: bool) -> Sheet:
    groups = list(dict.fromkeys(r["group"] for r in rows if r["group"] is not None))
    scores = list(dict.fromkeys(r["score"] for r in rows))
    columns = {(g, s): i for i, (g, s) in enumerate((g, s) for g in [*groups, None] for s in scores)}
    body: dict[tuple[str, str], list[str]] = {}
    order = sorted({r["cutoff"] for r in rows}, key=lambda k: (k is not None, k or 0))
    for k in order:
        for r in rows:
            if r["cutoff"] != k:
                continue
            name = str(r["measure"]) + (f" to {printable(str(r['reference']))}" if r["reference"] is not None else "")
            line = body.setdefault(("all" if k is None else str(k), name), [""] * len(columns))
            line[columns[r["group"], r["score"]]] = _cell(r)
    used = [i for i in range(len(columns)) if any(line[i] for line in body.values())]
    titles = [
        printable("all groups" if g is None else str(g)) + (f" ({printable(str(s))})" if several else "")
        for g, s in columns
    ]
    made: list[tuple[tuple[str, ...], list[str]]] = [(key, [line[i] for i in used]) for key, line in body.items()]
    return Sheet(title, ("top", "measure"), [titles[i] for i in used], made)


def _by_group(title: str, rows: list[dict[str, object]], several: bool) -> Sheet:
    columns: dict[str, int] = {}
    body: dict[tuple[str, ...], dict[int, str]] = {}
    for r in rows:
        name = str(r["measure"]) + ("" if r["cutoff"] is None else f"@{r['cutoff']}")
        at = columns.setdefault(name, len(columns))
        key = (printable(str(r["group"])), *([printable(str(r["score"]))] if several else []))
        body.setdefault(key, {})[at] = _cell(r)
    made = [(key, [line.get(i, "") for i in range(len(columns))]) for key, line in body.items()]
    return Sheet(title, ("category", *(["score"] if several else [])), list(columns), made)


def _parts(made: list[Sheet]) -> Iterator[Sheet]:
    """The tables, those of many groups cut into several of about as many columns, so that a page holds them."""
    for sheet in made:
        columns = len(sheet.columns)
        if sheet.index[0] == "category" or columns <= _MOST_COLUMNS:
            yield sheet
            continue
        many = math.ceil(columns / _MOST_COLUMNS)
        ends = [round(columns * i / many) for i in range(many + 1)]
        for part, (start, end) in enumerate(pairwise(ends), 1):
            rows = [(labels, entries[start:end]) for labels, entries in sheet.rows if any(entries[start:end])]
            yield Sheet(f"{sheet.title}, part {part} of {many}", sheet.index, sheet.columns[start:end], rows)


def _blocks(sheet: Sheet, width: int) -> Iterable[str]:
    """The table, its columns in as many blocks one below the other as the width asks for."""
    first = sum(
        max(map(cells, [name, *(labels[i] for labels, _ in sheet.rows)])) + 2 for i, name in enumerate(sheet.index)
    )
    start = 0
    while start < len(sheet.columns):
        room, end = width - first, start
        while end < len(sheet.columns):
            room -= max(cells(sheet.columns[end]), *(cells(entries[end]) for _, entries in sheet.rows)) + 2
            if room < -2 and end > start:
                break
            end += 1
        rows = [[*labels, *entries[start:end]] for labels, entries in sheet.rows if any(entries[start:end])]
        if start:
            yield ""
        yield from aligned([*sheet.index, *sheet.columns[start:end]], rows, len(sheet.index))
        start = end
