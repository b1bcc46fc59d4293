"""Tables for people: one description of a table, and one function for each of text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from lightmeter.errors import LightmeterError, suggest
from lightmeter.results.text import aligned, error, number, printable
from lightmeter.results.text import cells as text_width

WIDTH = 120
#: a measure's name is broken into lines of at least this many characters
_SHORTEST = 20
#: columns of values side by side on a page
_MOST_COLUMNS = 7

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
}
_PACKAGES = r"% needs \usepackage{booktabs,textcomp} and \usepackage[T1]{fontenc}"


@dataclass(frozen=True)
class Entry:
    """One value of a table.

    Attributes
    ----------
    value
        A number, a text to be shown as it stands, or None where it is undefined.
    se, n, reason
        The standard error, how many queries it is a mean of, and why it is undefined; None where they do not apply.
    mark
        A letter of a significance test, shown beside the value.
    """

    value: float | str | None
    se: float | None = None
    n: int | None = None
    reason: str | None = None
    mark: str = ""

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return self.value
        if self.value is None:
            return "-"
        return number(self.value) + (f" ±{error(self.se)}" if self.se is not None else "")


@dataclass(frozen=True)
class Sheet:
    """A table of values, its rows labelled.

    Attributes
    ----------
    index
        Names of the labels of a row.
    columns
        The name of each column of values and its group, or None.
    rows
        Labels of each row, and its values; None leaves a cell empty.
    title
        What the table shows.
    sentences
        A sentence under each row, or nothing.
    fit
        How text is made to fit a width: the table is ``turned`` (columns become rows), ``split`` (its columns stand in
        several blocks, which Markdown and LaTeX do with many columns too), or stays ``whole``.
    notation
        Whether the columns are named by the notation of measures, which Markdown sets as code.
    """

    index: Sequence[str]
    columns: Sequence[tuple[str, str | None]]
    rows: Sequence[tuple[tuple[str, ...], Sequence[Entry | None]]]
    title: str = ""
    sentences: Sequence[str] = ()
    fit: Literal["turned", "split", "whole"] = "whole"
    notation: bool = False

    @property
    def titles(self) -> list[str]:
        """Titles of the columns: the name, with the group where there is one."""
        return [name if group is None else f"{name} {group}" for name, group in self.columns]

    def select(self, names: Sequence[str]) -> Sheet:
        """The columns of these names or titles, in this order."""
        order = [i for name in names for i, (column, title) in enumerate(self._names()) if name in (column, title)]
        rows = [(labels, [entries[i] for i in order]) for labels, entries in self.rows]
        return replace(self, columns=[self.columns[i] for i in order], rows=rows)

    def _names(self) -> Iterator[tuple[str, str]]:
        return zip((name for name, _ in self.columns), self.titles, strict=True)

    def lines(self, width: int = WIDTH, *, wrap: bool = False) -> list[str]:
        """The table in plain text, as far as it can be no wider than ``width``; ``wrap`` may break names."""
        if self.fit == "turned":
            return _turned_to_fit(self, width, wrap)
        if self.fit == "split":
            return list(_blocks(self, width))
        first, rule, *lines = _side_by_side(self)
        out = [first, rule]
        for line, sentence in zip(lines, self.sentences or [""] * len(lines), strict=True):
            out.append(line)
            if sentence:
                out += textwrap.wrap(sentence, max(width, 60), initial_indent="    ", subsequent_indent="    ")
        return out

    def fits(self, width: int | None) -> bool:
        """Whether the table in plain text is no wider than ``width``; None: any width will do."""
        return width is None or _span(self.lines(width)) <= width


@dataclass(frozen=True)
class Layout:
    """What people are shown of a result: tables, and the notes below them."""

    sheets: Sequence[Sheet]
    notes: Sequence[str] = field(default_factory=list)

    def select(self, names: Sequence[str] | None) -> Layout:
        """Only the columns of these names; tables that have none of them are left out.

        Raises
        ------
        LightmeterError
            Where no table has a column of such a name.
        """
        if names is None:
            return self
        known = list(dict.fromkeys(title for s in self.sheets for pair in s._names() for title in pair))
        for name in names:
            if name not in known:
                raise LightmeterError(f"no column {name!r}.{suggest(name, known)} There are: {', '.join(known)}.")
        sheets = [s.select(names) for s in self.sheets]
        return Layout([s for s in sheets if s.columns], self.notes)

    def text(self, width: int | None = None) -> str:
        """Plain text; ``width`` is that of a terminal, if there is one."""
        parts = []
        for sheet in self.sheets:
            title = [sheet.title] if sheet.title else []
            parts.append("\n".join([*title, *sheet.lines(width or WIDTH, wrap=width is not None)]))
        notes = "\n".join(map(printable, self.notes))
        return "\n\n".join([*parts, *([notes] if notes else [])]) + "\n"

    def markdown(self) -> str:
        """Pipe tables, with the notes below them."""
        parts = []
        for sheet in _parts(self.sheets):
            explained = any(sheet.sentences)
            titles = [_code(t) if sheet.notation else plain(t) for t in sheet.titles]
            head = [*map(plain, sheet.index), *titles, *(["why"] if explained else [])]
            rule = [*("---" for _ in sheet.index), *("---:" for _ in sheet.columns), *(["---"] if explained else [])]
            rows = [
                [*map(plain, labels), *map(_markdown_entry, entries)]
                + ([plain(sheet.sentences[i])] if explained else [])
                for i, (labels, entries) in enumerate(sheet.rows)
            ]
            title = [f"**{plain(sheet.title)}**", ""] if sheet.title else []
            parts.append("\n".join([*title, *(f"| {' | '.join(row)} |" for row in (head, rule, *rows))]))
        notes = "\n".join(f"{plain(printable(n))}  " for n in self.notes)
        return "\n\n".join([*parts, *([notes] if notes else [])]) + "\n"

    def latex(self, caption: str | None = None, label: str | None = None) -> str:
        """A ``tabular`` with booktabs rules for each table, the notes as comments before them.

        With a caption or a label they stand in one ``table``. The packages booktabs and textcomp are needed.
        """
        parts = []
        for sheet in _parts(self.sheets):
            kinds = "l" * len(sheet.index) + "r" * len(sheet.columns)
            lines = [*([f"% {printable(sheet.title)}"] if sheet.title else []), rf"\begin{{tabular}}{{{kinds}}}"]
            lines += [r"\toprule", _latex_row(map(escaped, [*sheet.index, *sheet.titles])), r"\midrule"]
            lines += [
                _latex_row([*map(escaped, labels), *map(_latex_entry, entries)]) for labels, entries in sheet.rows
            ]
            parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
        body = "\n\n".join(parts)
        if caption is not None or label is not None:
            about = [rf"\caption{{{escaped(caption)}}}"] if caption is not None else []
            about += [rf"\label{{{label}}}"] if label is not None else []
            body = "\n".join([r"\begin{table}", r"\centering", *about, body, r"\end{table}"])
        return "\n".join([_PACKAGES, *(f"% {printable(n)}" for n in self.notes), body]) + "\n"

    def html(self) -> str:
        """Tables for a page or a notebook."""
        parts = []
        for sheet in _parts(self.sheets):
            rows = [
                [*(f"<th>{html.escape(x)}</th>" for x in labels), *(f"<td>{_html_entry(e)}</td>" for e in entries)]
                for labels, entries in sheet.rows
            ]
            head = "".join(f"<th>{html.escape(t)}</th>" for t in [*sheet.index, *sheet.titles])
            title = f"<caption>{html.escape(sheet.title)}</caption>" if sheet.title else ""
            body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
            parts.append(f"<table>{title}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>")
        notes = "<br>\n".join(html.escape(printable(n)) for n in self.notes)
        return "\n".join([*parts, *([f"<p>{notes}</p>"] if notes else [])]) + "\n"


def _markdown_entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return plain(str(entry)) + (f"<sup>{plain(entry.mark)}</sup>" if entry.mark else "")


def _html_entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return html.escape(str(entry)) + (f"<sup>{html.escape(entry.mark)}</sup>" if entry.mark else "")


def _code(text: str) -> str:
    return plain(text) if "`" in text else f"`{text.replace('|', chr(92) + '|')}`"


def plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    for character, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, instead)
    return "".join("\\" + c if c in "\\`*_[]|" else c for c in text)


def escaped(text: str) -> str:
    """Text that LaTeX leaves alone."""
    return "".join(_LATEX.get(c, c) for c in text)


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.value is None:
        return "--"
    if isinstance(entry.value, str):
        return _latex_number(entry.value, entry.mark)
    shown = _latex_number(number(entry.value), entry.mark)
    return shown + (rf" $\pm$ {_latex_number(error(entry.se))}" if entry.se is not None else "")


def _latex_number(text: str, mark: str = "") -> str:
    """A number in mathematical type, its mark raised; any other text as it is."""
    try:
        float(text)
    except ValueError:
        return escaped(text)
    digits, e, power = text.partition("e")
    shown = rf"{digits}\cdot 10^{{{int(power)}}}" if e else text
    return rf"${shown}^{{\mathrm{{{escaped(mark)}}}}}$" if mark else f"${shown}$"


def _parts(sheets: Iterable[Sheet]) -> Iterator[Sheet]:
    """The tables; those that are split and have many columns are cut into several of about as many, for a page."""
    for sheet in sheets:
        columns = len(sheet.columns)
        if sheet.fit != "split" or columns <= _MOST_COLUMNS:
            yield sheet
            continue
        many = math.ceil(columns / _MOST_COLUMNS)
        ends = [round(columns * i / many) for i in range(many + 1)]
        for part, (start, end) in enumerate(pairwise(ends), 1):
            rows = [(labels, entries[start:end]) for labels, entries in sheet.rows if any(entries[start:end])]
            title = f"{sheet.title}, part {part} of {many}"
            yield replace(sheet, columns=sheet.columns[start:end], rows=rows, title=title)


def _shown(entry: Entry | None) -> str:
    return "" if entry is None else str(entry)


def _span(lines: Iterable[str]) -> int:
    return max(map(text_width, lines))


def _side_by_side(sheet: Sheet) -> list[str]:
    """A row of text for each row; marks stand in a column of their own beside the values."""
    titles = list(sheet.titles)
    rows = [[*labels, *map(_shown, entries)] for labels, entries in sheet.rows]
    first = len(sheet.index)
    for j in range(len(titles)):
        marks = [(entries[j].mark if entries[j] is not None else "") for _, entries in sheet.rows]  # type: ignore[union-attr]
        wide = max(map(len, marks), default=0)
        if wide:
            titles[j] = f"{titles[j]} {'':{wide}}"
            for row, mark in zip(rows, marks, strict=True):
                row[first + j] = f"{row[first + j]} {mark:{wide}}"
    return aligned([*sheet.index, *titles], rows, first)


def _blocks(sheet: Sheet, width: int) -> Iterator[str]:
    """The columns in as many blocks one below the other as the width asks for."""
    columns = [(title, [_shown(entries[j]) for _, entries in sheet.rows]) for j, title in enumerate(sheet.titles)]
    room_for_values = width - sum(
        max(map(text_width, [name, *(labels[i] for labels, _ in sheet.rows)])) + 2 for i, name in enumerate(sheet.index)
    )
    start = 0
    while start < len(columns):
        room, end = room_for_values, start
        while end < len(columns):
            room -= max(map(text_width, [columns[end][0], *columns[end][1]])) + 2
            if room < -2 and end > start:
                break
            end += 1
        rows = [
            [*labels, *map(_shown, entries[start:end])]
            for labels, entries in sheet.rows
            if any(map(_shown, entries[start:end]))
        ]
        if start:
            yield ""
        yield from aligned([*sheet.index, *(title for title, _ in columns[start:end])], rows, len(sheet.index))
        start = end


def _turned_to_fit(sheet: Sheet, width: int, wrap: bool) -> list[str]:
    """The table as it is; where that is wider than ``width``, with the columns as rows.

    Where that is too wide as well: with ``wrap``, the names of the columns over several lines; else one line per
    value, if that is narrower.
    """
    wide = _side_by_side(sheet)
    if _span(wide) <= width:
        return wide
    tall = _columns_as_rows(sheet)
    excess = _span(tall) - width
    if excess <= 0:
        return tall
    longest = max(text_width(name) for name, _ in sheet.columns)
    if wrap and longest - excess >= _SHORTEST:
        return _columns_as_rows(sheet, longest - excess)
    long = _one_line_per_value(sheet)
    return long if _span(long) < _span(tall) else tall


def _columns_as_rows(sheet: Sheet, room: int | None = None) -> list[str]:
    """Measures as rows, their names in lines of at most ``room``; the values stand beside the last."""
    grouped = any(group is not None for _, group in sheet.columns)
    rows_named = [" ".join(filter(None, labels)) for labels, _ in sheet.rows]
    header = ["measure", *(["group"] if grouped else []), *rows_named]
    rows = []
    for i, (measure, group) in enumerate(sheet.columns):
        *above, name = [measure] if room is None else textwrap.wrap(measure, room, subsequent_indent="  ")
        rows += [[part, *[""] * (len(header) - 1)] for part in above]
        values = [_shown(entries[i]) for _, entries in sheet.rows]
        rows.append([name, *([group or ""] if grouped else []), *values])
    return aligned(header, rows, 2 if grouped else 1)


def _one_line_per_value(sheet: Sheet) -> list[str]:
    present = [e for _, entries in sheet.rows for e in entries if e is not None]
    grouped = any(group is not None for _, group in sheet.columns)
    sampled, counted, explained = (any(getattr(e, name) is not None for e in present) for name in ("se", "n", "reason"))
    texts = [*sheet.index, "measure", *(["group"] if grouped else [])]
    optional = [name for name, wanted in (("se", sampled), ("n", counted), ("reason", explained)) if wanted]
    rows = []
    for labels, entries in sheet.rows:
        for (measure, group), entry in zip(sheet.columns, entries, strict=True):
            if entry is None:
                continue
            parts = {
                "se": error(entry.se) if entry.se is not None else "",
                "n": "" if entry.n is None else str(entry.n),
                "reason": entry.reason or "",
            }
            value = _shown(replace(entry, se=None))
            rows.append([*labels, measure, *([group or ""] if grouped else []), value, *(parts[o] for o in optional)])
    return aligned([*texts, "value", *optional], rows, len(texts))
