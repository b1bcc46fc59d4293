"""The tables of a comparison for people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.comparing.remarks import agree_everywhere
from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.text import number, printable, without_folder

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

#: rows of a table of pairs; more are for programs
MOST_PAIRS = 24
#: queries of a measure
MOST_CHANGES = 3


class Names:
    """Short names of runs and measures, where long ones would make tables too wide; ``paths`` are the runs that are
    named by their path, all of them where nothing is said.
    """

    def __init__(self, comparison: Comparison, paths: Collection[str] | None = None) -> None:
        shown, self.folder = without_folder(comparison.runs, paths)
        self._runs = {run: printable(name) for run, name in shown.items()}
        self.numbers = {str(c): f"[{i}]" for i, c in enumerate(comparison.columns, 1)}

    def run(self, name: str) -> str:
        return self._runs[name]

    def measure(self, name: str, group: str | None = None) -> str:
        return printable(name if group is None else f"{name} {group}")

    def short(self, name: str) -> str:
        """The number of a measure."""
        return self.numbers[name]


def layout(comparison: Comparison, width: int | None, paths: Collection[str] | None = None) -> Layout:
    """The tables with notes below them; those that have two forms take the one that fits the width."""
    names = Names(comparison, paths)
    sheets = _sheets(comparison, names, lambda sheet: sheet.fits(width))
    return Layout(sheets, [*_legend(names, sheets), *_below(comparison, names)])


def _sheets(comparison: Comparison, names: Names, fits: Callable[[Sheet], bool]) -> list[Sheet]:
    """The tables in order; ``fits`` says whether one can be shown side by side."""
    out = [_means(comparison, names, fits)]
    if len(comparison.pairs) <= MOST_PAIRS:
        out.append(_pairs(comparison, names))
    out.append(_power(comparison, names))
    if len(comparison.correlations) and len(comparison.runs) > 2:
        out.append(_taus(comparison, names, fits))
    if len(comparison.changes):
        out.append(_changes(comparison, names))
    if not agree_everywhere(comparison):
        out.append(_disagreements(comparison, names))
    if len(comparison.outliers):
        out.append(_outliers(comparison, names))
    return out


def _means(comparison: Comparison, names: Names, fits: Callable[[Sheet], bool]) -> Sheet:
    if comparison.baseline is not None:
        meaning = f"* differs significantly from {names.run(comparison.baseline)}"
    elif comparison.means["letters"].null_count():
        meaning = "without letters: not tested, or no compact display exists"
    else:
        meaning = "runs that share a letter do not differ significantly"
    rows, marks = [], []
    width = len(comparison.columns)
    for i, run in enumerate(comparison.runs):
        mine = comparison.means.slice(i * width, width)
        rows.append([names.run(run), *map(number, _numbers(mine["value"]))])
        marks.append(["", *(m or "" for m in mine["letters"].to_list())])
    titles = [printable(str(c)) for c in comparison.columns]
    wide = _sheet(f"Means ({meaning})", ["run", *titles], rows, 1, marks)
    if fits(wide):
        return wide
    return _sheet(wide.title, ["run", *(names.short(str(c)) for c in comparison.columns)], rows, 1, marks)


def _pairs(comparison: Comparison, names: Names) -> Sheet:
    adjusted = comparison.plan.adjust != "none"
    header = ["run a", "run b", "measure", "a - b", "low", "high", "p", *(["p adjusted"] if adjusted else [])]
    header += [
        "effect",
        "wins",
        "losses",
        "ties",
        "n",
        *(["reason"] if comparison.pairs["reason"].drop_nulls().len() else []),
    ]
    rows = []
    for row in comparison.pairs.iter_rows(named=True):
        numbers = ["difference", "low", "high", "p", *(["p_adjusted"] if adjusted else []), "effect"]
        texts = [names.run(row["run_a"]), names.run(row["run_b"]), names.measure(row["measure"], row["group"])]
        counts = [str(row[c]) for c in ("wins", "losses", "ties", "n")]
        last = [row["reason"] or ""] if header[-1] == "reason" else []
        rows.append([*texts, *(number(_number(row[c])) for c in numbers), *counts, *last])
    return _sheet("Pairs of runs (wins: queries on which a is better)", header, rows, 3)


def _power(comparison: Comparison, names: Names) -> Sheet:
    rows = [
        [names.measure(m, g), f"{n}/{pairs}", f"{share:.1%}"]
        for m, g, pairs, n, share in comparison.power.select(
            "measure", "group", "pairs", "significant", "share"
        ).iter_rows()
    ]
    before = "" if comparison.plan.adjust == "none" else " before adjustment"
    title = f"Discriminative power: pairs of runs with p < {comparison.plan.alpha:g}{before}"
    return _sheet(title, ["measure", "pairs", "share"], rows, 1)


def _taus(comparison: Comparison, names: Names, fits: Callable[[Sheet], bool]) -> Sheet:
    frame = comparison.correlations
    title = f"Kendall's tau between the orders of the runs, with its {percent(1 - comparison.plan.alpha)} interval"
    order = list(dict.fromkeys([*frame["measure_a"].to_list(), *frame["measure_b"].to_list()]))
    cell = {(r["measure_a"], r["measure_b"]): _tau(r) for r in frame.iter_rows(named=True)}
    rows = [
        [f"{names.short(m)} {names.measure(m)}", *(cell.get((other, m), "") for other in order[:-1])] for m in order[1:]
    ]
    matrix = _sheet(title, ["measure", *(names.short(m) for m in order[:-1])], rows, 1)
    if fits(matrix) and len(order) > 2:
        return matrix
    header = ["measure a", "measure b", "tau", "low", "high", "by query: low", "high", "tau_AP", "RBO", "n"]
    numbers = ["tau", "low", "high", "query_low", "query_high", "tau_ap", "rbo"]
    rows = [
        [r["measure_a"], r["measure_b"], *(number(_number(r[c])) for c in numbers), str(r["n"])]
        for r in frame.iter_rows(named=True)
    ]
    return _sheet(title, header, rows, 2)


def _tau(row: dict[str, Any]) -> str:
    if _number(row["tau"]) is None:
        return "-"
    ends = "" if row["reason"] else f" [{row['low']:.2f}, {row['high']:.2f}]"
    return f"{row['tau']:.3f}{ends}"


def _changes(comparison: Comparison, names: Names) -> Sheet:
    which = "from the baseline" if comparison.baseline is not None else "between the best and the worst run there"
    header = ["measure", "query", "run a", "run b", "a", "b", "a - b"]
    shown = comparison.changes.group_by("measure", "group", maintain_order=True).head(MOST_CHANGES)
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
    return _sheet(f"Queries that change most {which}", header, rows, 4, below=below)


def _disagreements(comparison: Comparison, names: Names) -> Sheet:
    header = ["measure a", "measure b", "most on", "run a", "run b", "a: a - b", "b: a - b", "share", "queries"]
    grouped = {str(c) for c in comparison.columns if c.measure.attribute is not None}
    rows, below = [], []
    for (one, two), part in comparison.disagreements.group_by("measure_a", "measure_b", maintain_order=True):
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
    return _sheet(title, header, rows, 5, below=below)


def _outliers(comparison: Comparison, names: Names) -> Sheet:
    rows = [
        [names.measure(m), str(cases), f"{cases / n:.1%}" if n else "-"]
        for m, cases, n in comparison.outliers.select("measure", "cases", "n").iter_rows()
    ]
    title = "The odd one out among divergences: cases in which one disagrees with all the others"
    return _sheet(title, ["measure", "cases", "share"], rows, 1)


def _sheet(
    title: str,
    header: list[str],
    rows: list[list[str]],
    labels: int,
    marks: list[list[str]] | None = None,
    below: Sequence[str] = (),
) -> Sheet:
    """A table of texts, whose first columns are the labels of the rows; ``marks`` stand beside the others."""
    body = [
        (tuple(row[:labels]), [Entry(text, mark=marks[i][j] if marks else "") for j, text in enumerate(row)][labels:])
        for i, row in enumerate(rows)
    ]
    return Sheet(header[:labels], [(name, None) for name in header[labels:]], body, title, below)


def _below(comparison: Comparison, names: Names) -> list[str]:
    """Notes under the tables."""
    out = list(comparison.notes)
    if len(comparison.pairs) > MOST_PAIRS:
        out.append(
            f"the {len(comparison.pairs)} differences with intervals, p and effects are in the formats csv, jsonl, "
            "parquet"
        )
    if names.folder:
        out.append(f"runs are shown without {printable(names.folder)}")
    ways = {}
    for way in ("higher", "lower"):
        ways[way] = list(dict.fromkeys(type(c.measure).__name__ for c in comparison.columns if c.measure.better == way))
    told = [f"{way} is better: {', '.join(measures)}" for way, measures in ways.items() if measures]
    undirected = list(dict.fromkeys(str(c) for c in comparison.columns if not c.directed))
    if undirected:
        told.append(f"neither is better, and so left out of tau and disagreements: {', '.join(undirected)}")
    return [*out, *(["; ".join(told)] if told else [])]


def _legend(names: Names, sheets: list[Sheet]) -> list[str]:
    """What the numbers of measures stand for, where tables use them."""
    used = {
        text for sheet in sheets for text in [*sheet.index, *sheet.titles, *(x for row, _ in sheet.rows for x in row)]
    }
    numbers = [n for n in names.numbers.values() if any(text == n or text.startswith(f"{n} ") for text in used)]
    return [f"{n} {printable(title)}" for title, n in names.numbers.items()] if numbers else []


def percent(level: float) -> str:
    """A level in words, such as 95%."""
    return f"{100 * level:.6g}%"


def _numbers(series: pl.Series) -> list[float | None]:
    return [_number(v) for v in series.to_list()]


def _number(value: float | None) -> float | None:
    """None for NaN."""
    return None if value is None or value != value else value
