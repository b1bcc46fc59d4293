"""The tables of a comparison for people: titles, headers and rows of text, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.comparing.remarks import agree_everywhere
from lightmeter.results.text import number, printable, without_folder

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

#: rows of a table of pairs; more are for programs
MOST_PAIRS = 24
#: queries of a measure
MOST_CHANGES = 3


@dataclass(frozen=True)
class Section:
    """A table.

    Attributes
    ----------
    title
        What it shows.
    header, rows
        Texts; the first ``texts`` columns are words, the others numbers.
    marks
        Beside the numbers of a row: letters of the tests, or nothing.
    below
        A sentence under each row, or nothing.
    """

    title: str
    header: list[str]
    rows: list[list[str]]
    texts: int
    marks: list[list[str]] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


class Names:
    """Short names of runs and measures, where long ones would make tables too wide; ``paths`` are the runs that are
    named by their path, all of them where nothing is said.
    """

    def __init__(self, made: Comparison, paths: Collection[str] | None = None) -> None:
        shown, self.folder = without_folder(made.runs, paths)
        self._runs = {run: printable(name) for run, name in shown.items()}
        self.numbers = {str(c): f"[{i}]" for i, c in enumerate(made.columns, 1)}

    def run(self, name: str) -> str:
        return self._runs[name]

    def measure(self, name: str, group: str | None = None) -> str:
        return printable(name if group is None else f"{name} {group}")

    def short(self, name: str) -> str:
        """The number of a measure."""
        return self.numbers[name]


def sections(made: Comparison, names: Names, fits: Callable[[Section], bool]) -> list[Section]:
    """The tables in order; ``fits`` says whether one can be shown side by side."""
    out = [_means(made, names, fits)]
    if len(made.pairs) <= MOST_PAIRS:
        out.append(_pairs(made, names))
    out.append(_power(made, names))
    if len(made.correlations) and len(made.runs) > 2:
        out.append(_taus(made, names, fits))
    if len(made.changes):
        out.append(_changes(made, names))
    if not agree_everywhere(made):
        out.append(_disagreements(made, names))
    if len(made.outliers):
        out.append(_outliers(made, names))
    return out


def _means(made: Comparison, names: Names, fits: Callable[[Section], bool]) -> Section:
    if made.baseline is not None:
        meaning = f"* differs significantly from {names.run(made.baseline)}"
    elif made.means["letters"].null_count():
        meaning = "without letters: not tested, or no compact display exists"
    else:
        meaning = "runs that share a letter do not differ significantly"
    rows, marks = [], []
    width = len(made.columns)
    for i, run in enumerate(made.runs):
        mine = made.means.slice(i * width, width)
        rows.append([names.run(run), *map(number, _numbers(mine["value"]))])
        marks.append(["", *(m or "" for m in mine["letters"].to_list())])
    titles = [printable(str(c)) for c in made.columns]
    wide = Section(f"Means ({meaning})", ["run", *titles], rows, 1, marks)
    if fits(wide):
        return wide
    return Section(wide.title, ["run", *(names.short(str(c)) for c in made.columns)], rows, 1, marks)


def _pairs(made: Comparison, names: Names) -> Section:
    adjusted = made.plan.adjust != "none"
    header = ["run a", "run b", "measure", "a - b", "low", "high", "p", *(["p adjusted"] if adjusted else [])]
    header += [
        "effect",
        "wins",
        "losses",
        "ties",
        "n",
        *(["reason"] if made.pairs["reason"].drop_nulls().len() else []),
    ]
    rows = []
    for row in made.pairs.iter_rows(named=True):
        numbers = ["difference", "low", "high", "p", *(["p_adjusted"] if adjusted else []), "effect"]
        texts = [names.run(row["run_a"]), names.run(row["run_b"]), names.measure(row["measure"], row["group"])]
        counts = [str(row[c]) for c in ("wins", "losses", "ties", "n")]
        last = [row["reason"] or ""] if header[-1] == "reason" else []
        rows.append([*texts, *(number(_number(row[c])) for c in numbers), *counts, *last])
    return Section("Pairs of runs (wins: queries on which a is better)", header, rows, 3)


def _power(made: Comparison, names: Names) -> Section:
    rows = [
        [names.measure(m, g), f"{n}/{pairs}", f"{share:.1%}"]
        for m, g, pairs, n, share in made.power.select("measure", "group", "pairs", "significant", "share").iter_rows()
    ]
    before = "" if made.plan.adjust == "none" else " before adjustment"
    title = f"Discriminative power: pairs of runs with p < {made.plan.alpha:g}{before}"
    return Section(title, ["measure", "pairs", "share"], rows, 1)


def _taus(made: Comparison, names: Names, fits: Callable[[Section], bool]) -> Section:
    frame = made.correlations
    title = f"Kendall's tau between the orders of the runs, with its {percent(1 - made.plan.alpha)} interval"
    order = list(dict.fromkeys([*frame["measure_a"].to_list(), *frame["measure_b"].to_list()]))
    cell = {(r["measure_a"], r["measure_b"]): _tau(r) for r in frame.iter_rows(named=True)}
    rows = [
        [f"{names.short(m)} {names.measure(m)}", *(cell.get((other, m), "") for other in order[:-1])] for m in order[1:]
    ]
    matrix = Section(title, ["measure", *(names.short(m) for m in order[:-1])], rows, 1)
    if fits(matrix) and len(order) > 2:
        return matrix
    header = ["measure a", "measure b", "tau", "low", "high", "by query: low", "high", "tau_AP", "RBO", "n"]
    numbers = ["tau", "low", "high", "query_low", "query_high", "tau_ap", "rbo"]
    rows = [
        [r["measure_a"], r["measure_b"], *(number(_number(r[c])) for c in numbers), str(r["n"])]
        for r in frame.iter_rows(named=True)
    ]
    return Section(title, header, rows, 2)


def _tau(row: dict[str, Any]) -> str:
    if _number(row["tau"]) is None:
        return "-"
    ends = "" if row["reason"] else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return f"{row['tau']:.3f}{ends}"


def _changes(made: Comparison, names: Names) -> Section:
    which = "from the baseline" if made.baseline is not None else "between the best and the worst run there"
    header = ["measure", "query", "run a", "run b", "a", "b", "a - b"]
    shown = made.changes.group_by("measure", "group", maintain_order=True).head(MOST_CHANGES)
    rows = [
        [
            names.measure(r["measure"], r["group"]),
            printable(r["query"]),
            names.run(r["run_a"]),
            names.run(r["run_b"]),
            *(number(r[c]) for c in ("value_a", "value_b", "difference")),
        ]
        for r in shown.iter_rows(named=True)
    ]
    below = [printable(why or "") for why in shown["why"].to_list()]
    return Section(f"Queries that change most {which}", header, rows, 4, below=below)


def _disagreements(made: Comparison, names: Names) -> Section:
    header = ["measure a", "measure b", "most on", "run a", "run b", "a: a - b", "b: a - b", "share", "queries"]
    grouped = {str(c) for c in made.columns if c.measure.attribute is not None}
    rows, below = [], []
    for (one, two), part in made.disagreements.group_by("measure_a", "measure_b", maintain_order=True):
        total, *listed = part.iter_rows(named=True)
        share = "-" if total["share"] is None else f"{total['share']:.1%}"
        where = [""] * 5
        if listed:
            top = listed[0]
            where = [printable(top["query"]), names.run(top["run_a"]), names.run(top["run_b"])]
            where += [number(top["difference_a"]), number(top["difference_b"])]
        rows.append([names.measure(str(one)), names.measure(str(two)), *where, share, str(total["n"])])
        below.append(printable(listed[0]["why"] or "") if listed and grouped & {one, two} else "")
    title = "Where measures disagree: share of decided cases (query and pair of runs), and the query where it is worst"
    return Section(title, header, rows, 5, below=below)


def _outliers(made: Comparison, names: Names) -> Section:
    rows = [
        [names.measure(m), str(cases), f"{cases / n:.1%}" if n else "-"]
        for m, cases, n in made.outliers.select("measure", "cases", "n").iter_rows()
    ]
    title = "The odd one out among divergences: cases in which one disagrees with all the others"
    return Section(title, ["measure", "cases", "share"], rows, 1)


def percent(level: float) -> str:
    """A level in words, such as 95%."""
    return f"{100 * level:.6g}%"


def _numbers(series: pl.Series) -> list[float | None]:
    return [_number(v) for v in series.to_list()]


def _number(value: float | None) -> float | None:
    """None for NaN."""
    return None if value is None or value != value else value
