"""Tables for papers and pages: LaTeX (booktabs) and Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from lightmeter.results.grid import Entry, Grid
from lightmeter.results.text import error, number

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


def latex(grid: Grid, notes: list[str]) -> str:
    """A ``tabular`` with booktabs rules; needs the packages booktabs and textcomp."""
    columns = "l" * len(grid.index) + "r" * len(grid.columns)
    lines = [r"% needs \usepackage{booktabs,textcomp} and \usepackage[T1]{fontenc}", *(f"% {n}" for n in notes)]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row([*grid.index, *grid.titles()]), r"\midrule"]
    lines += [_latex_row(labels, map(_latex_entry, entries)) for labels, entries in grid.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(texts: Iterable[str], numbers: Iterable[str] = ()) -> str:
    return " & ".join([*map(escaped, texts), *numbers]) + r" \\"


def escaped(text: str) -> str:
    """Text that LaTeX leaves alone."""
    return "".join(_LATEX.get(c, c) for c in text)


def _latex_entry(entry: Entry | None) -> str:
    if entry is None or entry.value is None:
        return "--"
    return f"${number(entry.value)}$" + (rf" $\pm$ ${error(entry.se)}$" if entry.se is not None else "")


def markdown(grid: Grid, notes: list[str]) -> str:
    """A pipe table, with the notes below it."""
    titles = [*grid.index, *(_code(t) for t in grid.titles())]
    rule = [*("---" for _ in grid.index), *("---:" for _ in grid.columns)]
    rows = [[*map(plain, labels), *(str(e) if e is not None else "" for e in entries)] for labels, entries in grid.rows]
    below = ["", *(f"{plain(n)}  " for n in notes)] if notes else []
    return "\n".join([*(f"| {' | '.join(row)} |" for row in (titles, rule, *rows)), *below]) + "\n"


def _code(text: str) -> str:
    return plain(text) if "`" in text else f"`{text.replace('|', chr(92) + '|')}`"


def plain(text: str) -> str:
    """Text that Markdown leaves alone."""
    for character, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, instead)
    return "".join("\\" + c if c in "\\`*_[]|" else c for c in text)
