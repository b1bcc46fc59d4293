"""A comparison as text, Markdown or LaTeX."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from lightmeter.comparing.sections import MOST_PAIRS, Names, Section, sections
from lightmeter.results.markup import escaped, plain
from lightmeter.results.text import aligned, cells, printable

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison


def text(made: Comparison, width: int, paths: Collection[str] | None = None) -> str:
    """Tables in plain text, as far as they can be no wider than ``width``."""
    names = Names(made, paths)
    parts = [
        "\n".join([section.title, *_lines(section, width)])
        for section in sections(made, names, lambda s: max(map(cells, _lines(s, width))) <= width)
    ]
    return "\n\n".join([*parts, "\n".join([*_legend(made, names, parts), *map(printable, below(made, names))])]) + "\n"


def markdown(made: Comparison, paths: Collection[str] | None = None) -> str:
    """Pipe tables under headings; letters stand raised."""
    names = Names(made, paths)
    parts = []
    for section in sections(made, names, lambda s: True):
        explained = any(section.below)
        header = [*section.header, *(["why"] if explained else [])]
        rule = ["---" if i < section.texts or i >= len(section.header) else "---:" for i in range(len(header))]
        lines = [_pipes(map(plain, header)), _pipes(rule)]
        for i, row in enumerate(section.rows):
            marks = section.marks[i] if section.marks else [""] * len(row)
            shown = [plain(c) + (f"<sup>{plain(m)}</sup>" if m else "") for c, m in zip(row, marks, strict=True)]
            lines.append(_pipes([*shown, *([plain(section.below[i])] if explained else [])]))
        parts.append("\n".join([f"**{plain(section.title)}**", "", *lines]))
    told = [*_legend(made, names, parts), *below(made, names)]
    return "\n\n".join([*parts, "\n".join(f"{plain(printable(n))}  " for n in told)]) + "\n"


def latex(made: Comparison, paths: Collection[str] | None = None) -> str:
    """One ``tabular`` with booktabs rules for each table; needs the packages booktabs and textcomp."""
    names = Names(made, paths)
    made_of = sections(made, names, lambda s: True)
    parts = []
    for section in made_of:
        columns = "l" * section.texts + "r" * (len(section.header) - section.texts)
        lines = [rf"% {printable(section.title)}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        lines += [_ampersands(map(escaped, section.header)), r"\midrule"]
        for i, row in enumerate(section.rows):
            marks = section.marks[i] if section.marks else [""] * len(row)
            shown = [
                escaped(c) if j < section.texts else _mathematical(c, m)
                for j, (c, m) in enumerate(zip(row, marks, strict=True))
            ]
            lines.append(_ampersands(shown))
        parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
    told = [*_legend(made, names, parts), *below(made, names)]
    head = [
        r"% needs \usepackage{booktabs,textcomp} and \usepackage[T1]{fontenc}",
        *(f"% {printable(n)}" for n in told),
    ]
    return "\n".join(head) + "\n" + "\n\n".join(parts) + "\n"


def below(made: Comparison, names: Names) -> list[str]:
    """Notes under the tables."""
    out = list(made.notes)
    if len(made.pairs) > MOST_PAIRS:
        out.append(
            f"the {len(made.pairs)} differences with intervals, p and effects are in the formats csv, jsonl, parquet"
        )
    if names.folder:
        out.append(f"runs are shown without {printable(names.folder)}")
    ways = {}
    for way in ("higher", "lower"):
        ways[way] = list(dict.fromkeys(type(c.measure).__name__ for c in made.columns if c.measure.better == way))
    told = [f"{way} is better: {', '.join(measures)}" for way, measures in ways.items() if measures]
    undirected = list(dict.fromkeys(str(c) for c in made.columns if not c.directed))
    if undirected:
        told.append(f"neither is better, and so left out of tau and disagreements: {', '.join(undirected)}")
    return [*out, *(["; ".join(told)] if told else [])]


def _legend(made: Comparison, names: Names, parts: list[str]) -> list[str]:
    """What the numbers of measures stand for, where tables use them."""
    used = any(n in part for n in names.numbers.values() for part in parts)
    return [f"{n} {printable(title)}" for title, n in names.numbers.items()] if used else []


def _lines(section: Section, width: int) -> list[str]:
    """A table in plain text, with the sentences under its rows."""
    rows = section.rows
    if section.marks:
        wide = [max((len(m[j]) for m in section.marks), default=0) for j in range(len(section.header))]
        rows = [
            [f"{c} {m:{w}}" if w else c for c, m, w in zip(row, marks, wide, strict=True)]
            for row, marks in zip(rows, section.marks, strict=True)
        ]
        header = [f"{h} {'':{w}}" if w else h for h, w in zip(section.header, wide, strict=True)]
    else:
        header = section.header
    first, rule, *lines = aligned(header, rows, section.texts)
    out = [first, rule]
    for i, line in enumerate(lines):
        out.append(line)
        if section.below and section.below[i]:
            out += textwrap.wrap(section.below[i], max(width, 60), initial_indent="    ", subsequent_indent="    ")
    return out


def _pipes(row: Iterable[str]) -> str:
    return f"| {' | '.join(row)} |"


def _ampersands(row: Iterable[str]) -> str:
    return " & ".join(row) + r" \\"


def _mathematical(number: str, mark: str) -> str:
    try:
        float(number)
    except ValueError:
        return escaped(number)
    digits, e, power = number.partition("e")
    shown = rf"{digits}\cdot 10^{{{int(power)}}}" if e else number
    return rf"${shown}^{{\mathrm{{{escaped(mark)}}}}}$" if mark else f"${shown}$"
