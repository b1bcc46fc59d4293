"""Tables that reports of runs share: measures, means, groups, queries, and what is undefined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from lightmeter.findings.language import better_first, brief, counted
from lightmeter.measures.base import Measure
from lightmeter.report.parts import Cell, Head, Row, Table, count, text, value
from lightmeter.report.queries import Chosen, brief_number, single
from lightmeter.results.result import Cell as Values
from lightmeter.results.result import Result
from lightmeter.results.text import REASONS, error, printable

_WAY = {1.0: "higher is better", -1.0: "lower is better", 0.0: "no better end"}
#: columns of a table by group; more groups become rows
_WIDE = 10


def short(measures: list[Measure]) -> dict[str, str]:
    """Short names of measures by their notation."""
    return dict(zip(map(str, measures), brief(measures), strict=True))


def way(measure: Measure) -> str:
    """Which way is better, in words."""
    return _WAY[better_first(measure)]


def measures_table(measures: list[Measure]) -> Table:
    """What each measure is: short name, notation, meaning, range and direction."""
    rows = []
    for measure, name in zip(measures, brief(measures), strict=True):
        low, high = (float(b) for b in measure.bounds)
        span = f"{_end(low)} to {_end(high)}" if math.isfinite(low) or math.isfinite(high) else "any number"
        meaning = (type(measure).__doc__ or "").strip().split("\n\n")[0]
        cells = [text(name), text(measure), text(_plain(meaning)), text(span), text(way(measure))]
        rows.append(Row(cells))
    head = [Head("measure"), Head("in full"), Head("what it says"), Head("range"), Head("direction")]
    return Table.of("The measures", head, rows)


def _end(bound: float) -> str:
    return f"{bound:.4g}" if math.isfinite(bound) else ("any" if bound < 0 else "no upper end")


def _plain(doc: str) -> str:
    """The first sentence of a docstring without its markup."""
    import re

    line = " ".join(doc.split()).replace("``", "")
    line = re.sub(r":\w+:`~?(?:[\w.]*\.)?([\w]+)`", r"\1", line)
    return re.split(r"(?<=[.])\s", line)[0]


def runs_table(result: Result, names: dict[str, str], manifest: dict[str, Any]) -> Table:
    """The runs: short name, name or path as given, how many queries they answer, how many documents they rank."""
    rows = []
    total = len(result.queries)
    for run in result.runs:
        about = manifest.get("runs", {}).get(run, {})
        answered = int(result.answered[run].sum()) if run in result.answered else None
        cells = [text(names[run]), text(run), Cell(f"{answered} of {total}", float(answered or 0), way="number")]
        rows.append(Row([*cells, count(about.get("documents")), count(about.get("tied_documents"))], run))
    head = [Head("run"), Head("as given")]
    head += [Head(t, way="number") for t in ("queries answered", "documents ranked", "documents tied")]
    return Table.of("The runs", head, rows)


def means_table(result: Result, names: dict[str, str]) -> Table | None:
    """Means by run: a row a run (and segment), a column a measure of one value."""
    cells = _plain_cells(result)
    if not cells:
        return None
    measures = list(dict.fromkeys(c.measure for c in cells))
    short_of = short(measures)
    head = [Head("run"), *([Head("segment")] if result.segments else [])]
    head += [Head(short_of[str(m)], way(m) if better_first(m) else "", "number") for m in measures]
    segments: list[str | None] = [None, *sorted({s for s in result.segments or [] if s is not None})]
    of = {(c.run, str(c.measure)): c for c in cells}
    rows = []
    for segment in segments:
        where = None if segment is None else np.array([s == segment for s in result.segments or []])
        means = {key: result.mean_of(cell, where) for key, cell in of.items()}
        best = {str(m): _best([means[r, str(m)].value for r in result.runs], m) for m in measures}
        for run in result.runs:
            row = [text(names[run]), *([text(segment or "(all queries)")] if result.segments else [])]
            for measure in measures:
                mean = means[run, str(measure)]
                note = f"± {error(mean.se)}" if mean.se is not None else ""
                top = mean.value == best[str(measure)]
                row.append(value(mean.value, note, best=top, reason=mean.reason))
            rows.append(Row(row, run))
    sampled = any(c.values.se is not None for c in cells)
    told = "± is the standard error that drawn rankings leave. " if sampled else ""
    return Table.of("Means by run", head, rows, f"{told}{_counted(result, cells)}")


def _plain_cells(result: Result) -> list[Values]:
    """Cells of the measures that have one value a run."""
    return [c for c in result.cells if c.group is None]


def _best(values: list[float], measure: Measure) -> float | None:
    """The best value of several, if there is a better end and not all are equal."""
    sign = better_first(measure)
    known = [v for v in values if math.isfinite(v)]
    if not sign or len(set(known)) < 2:
        return None
    return max(known, key=lambda v: sign * v)


def _counted(result: Result, cells: list[Values]) -> str:
    """How many queries the means are over."""
    total = len(result.queries)
    n = [int(np.isfinite(c.values.value).sum()) for c in cells if c.across is None]
    if not n or min(n) == total:
        return f"Means over {counted(total, 'query', 'queries')}; bold: the best of the column."
    least = f"at least {min(n)} of " if min(n) < max(n) else f"{min(n)} of "
    return f"Means over {least}{counted(total, 'query', 'queries')}, those with a value; bold: the best of the column."


def group_tables(result: Result, names: dict[str, str]) -> list[Table]:
    """For each measure with a value for each group, a table of runs and groups."""
    measures = list(dict.fromkeys(c.measure for c in result.cells if c.group is not None))
    return [_groups(result, measure, names) for measure in measures]


def _groups(result: Result, measure: Measure, names: dict[str, str]) -> Table:
    of = {(c.run, c.group): result.mean_of(c) for c in result.cells if c.measure == measure}
    groups = list(dict.fromkeys(group for _, group in of))

    def cell(run: str, group: str | None) -> Cell:
        mean = of.get((run, group))
        if mean is None:
            return Cell("")
        return value(mean.value, f"± {error(mean.se)}" if mean.se is not None else "", reason=mean.reason)

    caption = f"{printable(str(measure))} by group of {printable(str(measure.attribute))}"
    if len(groups) <= _WIDE or len(result.runs) > _WIDE:
        if len(groups) <= _WIDE:
            head = [Head("run"), *(Head(printable(str(g)), way="number") for g in groups)]
            return Table.of(caption, head, [Row([text(names[r]), *(cell(r, g) for g in groups)], r) for r in names])
        head = [Head("run"), Head("group"), Head("value", way="number")]
        rows = [Row([text(names[r]), text(g), cell(r, g)], r) for r in names for g in groups]
        return Table.of(caption, head, rows)
    head = [Head("group"), *(Head(names[r], way="number") for r in names)]
    return Table.of(caption, head, [Row([text(g), *(cell(r, g) for r in names)]) for g in groups])


def queries_table(result: Result, chosen: list[Chosen]) -> Table:
    """The queries that matter most: by measure the mean over runs, with the lowest and highest."""
    measures = single(result)
    names = short([cells[0].measure for cells in measures.values()])
    several = len(result.runs) > 1
    head = [Head("query"), Head("why it is here")]
    head += [Head(names[m], way="number") for m in measures]
    stacked = {m: np.stack([c.values.value for c in cells]) for m, cells in measures.items()}
    rows = []
    for one in chosen:
        query = printable(result.queries[one.index])
        cells = [text(query), text(one.why)]
        for m, of_measure in measures.items():
            column = stacked[m][:, one.index]
            known = column[np.isfinite(column)]
            if not len(known):
                cells.append(value(None, reason=str(of_measure[0].values.reasons()[one.index] or "")))
                continue
            note = f"({brief_number(known.min())} to {brief_number(known.max())})" if several else ""
            cells.append(value(float(known.mean()), note))
        rows.append(Row(cells, query=query))
    gone = len(result.queries) - len(chosen)
    about = (
        f"The {len(chosen)} queries that matter most of {len(result.queries)}; {gone} are left out here. "
        if gone
        else f"All {counted(len(chosen), 'query', 'queries')}. "
    )
    how = (
        "First those on which runs differ most, by the measure on which they differ most. Values: the mean over runs, "
        "and the lowest and highest."
        if several
        else "First those on which the run falls furthest behind its best, by the measure where that shows most."
    )
    return Table.of("The queries that matter most" if gone else "All queries", head, rows, about + how)


def undefined_table(result: Result, names: dict[str, str]) -> Table:
    """What has no value, or one by rule, and why: a row a measure, group, reason and set of runs."""
    found: dict[tuple[str, str | None, str, bool], Counter[str]] = {}
    for cell in result.cells:
        if cell.across is not None:
            mean = result.mean_of(cell)
            if mean.reason is not None:
                found.setdefault((str(cell.measure), cell.group, mean.reason, math.isnan(mean.value)), Counter())[
                    cell.run
                ] += 1
            continue
        if cell.values.reason is None:
            continue
        reasons = cell.values.reasons()
        at = np.array([r is not None for r in reasons], dtype=bool)
        lost = np.isnan(cell.values.value[at]).tolist()
        for (reason, gone), n in Counter(zip(reasons[at].tolist(), lost, strict=True)).items():
            found.setdefault((str(cell.measure), cell.group, str(reason), gone), Counter())[cell.run] += n
    rows = []
    for (measure, group, reason, lost), counts in found.items():
        told = "every run" if set(counts) == set(names) else ", ".join(names[r] for r in counts)
        numbers = sorted(set(counts.values()))
        many = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        words = REASONS.get(reason, reason)
        what = "no value, left out of means" if lost else "counted by rule"
        cells = [text(measure if group is None else f"{measure} {group}"), text(words), Cell(reason), text(what)]
        rows.append(Row([*cells, text(told), Cell(many, float(numbers[-1]), way="number")]))
    head = [Head("measure"), Head("why"), Head("code"), Head("what becomes of it"), Head("runs")]
    return Table.of("Undefined values", [*head, Head("queries in each", way="number")], rows)


def undefined_sentence(result: Result) -> str:
    """How many values there are, and how many are undefined."""
    cells = [c for c in result.cells if c.across is None]
    total = sum(len(c.values.value) for c in cells)
    lost = sum(int(np.isnan(c.values.value).sum()) for c in cells)
    if not total:
        return "There is no value by query."
    if not lost:
        return "Every measure has a value for every query of every run."
    return (
        f"{lost:,} of {total:,} values ({lost / total:.1%}) are undefined and left out of means; the section "
        "'Undefined' says why."
    )


def frame_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with None in place of NaN and infinities."""
    return [{k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()} for row in rows]
