"""The report of a comparison."""

from __future__ import annotations

from typing import Any

import polars as pl

from lightmeter import plots
from lightmeter.comparing.comparison import Comparison
from lightmeter.comparing.remarks import agree_everywhere
from lightmeter.findings.language import better_first, counted, listed, short_names
from lightmeter.measures.context import Context
from lightmeter.report import tables
from lightmeter.report.of_result import of_measures, shared_sections, size_of
from lightmeter.report.parts import Cell, Head, Page, Row, Section, Table, count, interval, text, value
from lightmeter.report.pictures import pictures
from lightmeter.report.queries import chosen
from lightmeter.report.rankings import rankings_of
from lightmeter.results.text import printable

_SCORES = (
    "A panel a measure, a dot a run; each panel has its own scale. A filled dot is the best mean; a line is an "
    "interval over queries."
)
_POWER = (
    "Pairs of runs in the order of their p. The further right a line leaves the bottom, the more pairs the measure "
    "tells apart."
)
_PAIR = "A dot a measure: the p of the difference between the two runs. The lower, the more surely they differ."
_TAU = "A cell two measures: blue where they order the runs alike, orange where they do the opposite."


def comparison_page(made: Comparison, context: Context | None, manifest: dict[str, Any]) -> Page:
    """The page of a comparison; with a context it shows rankings too."""
    result = made.result
    names = short_names(made.runs)
    drawn = pictures(
        [
            (lambda: plots.scores(made), _SCORES),
            (lambda: plots.significance(made), _PAIR if len(names) == 2 else _POWER),
            (lambda: plots.agreement(made), _TAU),
            *of_measures(result),
        ]
    )
    picked = chosen(result)
    compared = [t for t in (_means(made, names), _power(made), _taus(made)) if t is not None]
    return Page(
        kind="Comparison",
        title=f"{' and '.join(names.values())} compared" if len(names) == 2 else f"{len(names)} runs compared",
        about=size_of(result),
        summary=[
            *_best(made, names),
            *(f"{p.title}." for p in drawn),
            _first_up(made.notes[1]) + "." if len(made.notes) > 1 else "",
            tables.undefined_sentence(result),
        ],
        sections=[
            Section("results", "Results", [], [], compared),
            Section("pictures", "Pictures", [], drawn),
            Section("pairs", "Pairs of runs", [], [], [_pairs(made, names)]),
            Section("changes", "What changed, and where measures disagree", [], [], _changes(made, names)),
            *shared_sections(result, names, manifest),
        ],
        conventions=made.conventions,
        notes=[*manifest.get("notes", []), *made.notes],
        manifest=manifest,
        rankings=rankings_of(result, context, picked, names) if context is not None and picked else None,
        runs=names,
    )


def _first_up(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _best(made: Comparison, names: dict[str, str]) -> list[str]:
    """For each measure with letters the best run, and which others do not differ from it significantly."""
    if made.baseline is not None or made.means["letters"].null_count():
        return []
    out = []
    for column in made.columns[:3]:
        sign = better_first(column.measure)
        rows = made.means.filter(
            pl.col("measure") == str(column.measure),
            pl.col("group").eq_missing(pl.lit(column.group, pl.String)),
            pl.col("value").is_finite(),
        ).to_dicts()
        if not sign or len(rows) < 2:
            continue
        best = max(rows, key=lambda r: sign * r["value"])
        alike = [names[r["run"]] for r in rows if r is not best and set(r["letters"]) & set(best["letters"])]
        others = (
            "it differs significantly from every other run"
            if not alike
            else f"it does not differ significantly from {listed(alike, 3)}"
        )
        label = printable(str(column.measure) if column.group is None else f"{column.measure} {column.group}")
        out.append(f"By {label}, {names[best['run']]} is best ({best['value']:.3f}); {others}.")
    return out


def _title(measure: str, group: str | None, short: dict[str, str]) -> str:
    return printable(short[measure] if group is None else f"{short[measure]} {group}")


def _short(made: Comparison) -> dict[str, str]:
    return tables.short(list(dict.fromkeys(c.measure for c in made.columns)))


def _means(made: Comparison, names: dict[str, str]) -> Table:
    """Means with intervals and the letters of the tests."""
    short, width = _short(made), len(made.columns)
    head = [Head("run")]
    for column in made.columns:
        note = tables.way(column.measure) if better_first(column.measure) else ""
        head.append(Head(_title(str(column.measure), column.group, short), note, "number"))
    tops = []
    for i, column in enumerate(made.columns):
        known = [v for v in made.means["value"].gather_every(width, i).to_list() if v is not None and v == v]
        sign = better_first(column.measure)
        tops.append(max(known, key=lambda v: sign * v) if sign and len(set(known)) > 1 else None)
    rows = []
    for i, run in enumerate(made.runs):
        cells = [text(names[run])]
        for at, row in enumerate(made.means.slice(i * width, width).to_dicts()):
            note = " ".join(filter(None, [interval(row["low"], row["high"]), row["letters"]]))
            cells.append(value(row["value"], note, best=row["value"] == tops[at], reason=row["reason"]))
        rows.append(Row(cells, run))
    first = better_first(made.columns[0].measure) or 1.0
    rows.sort(key=lambda r: -first * r.cells[1].value if r.cells[1].value is not None else float("inf"))
    level = f"{100 * (1 - made.plan.alpha):.6g}%"
    marks = (
        f"a star: differs significantly from {names[made.baseline]}"
        if made.baseline is not None
        else "runs that share a letter do not differ significantly"
    )
    if made.baseline is None and made.means["letters"].null_count():
        marks = "without letters: not tested, or no compact display exists"
    n = sorted({c.n for c in made.columns})
    queries = counted(n[0], "query", "queries") if len(n) == 1 else f"{n[0]} to {n[-1]} queries"
    about = (
        f"Means over {queries}; in brackets the {level} interval over queries; {marks}; bold: the best. "
        f"Runs stand in the order of {head[1].text}."
    )
    return Table.of("Means by run", head, rows, about)


def _pairs(made: Comparison, names: dict[str, str]) -> Table:
    """All pairs tested, the surest differences first."""
    short, adjusted = _short(made), made.plan.adjust != "none"
    found = tables.frame_rows(made.pairs.to_dicts())
    found.sort(key=lambda r: (r["p_adjusted"] is None, r["p_adjusted"] or 0.0, -abs(r["effect"] or 0.0)))
    rows = []
    for r in found:
        cells = [text(_title(r["measure"], r["group"], short)), text(names[r["run_a"]]), text(names[r["run_b"]])]
        cells.append(value(r["difference"], interval(r["low"], r["high"]), reason=r["reason"]))
        cells += [_p(r["p"], r["reason"]), *([_p(r["p_adjusted"], r["reason"])] if adjusted else [])]
        cells += [value(r["effect"], reason=r["reason"]), *(count(r[c]) for c in ("wins", "losses", "ties", "n"))]
        rows.append(Row(cells))
    head = [Head("measure"), Head("run a"), Head("run b"), Head("a - b", "interval", "number"), _number("p")]
    head += [*([_number("p adjusted")] if adjusted else []), _number("effect")]
    head += [_number(t) for t in ("a better", "b better", "equal", "queries")]
    about = (
        f"{counted(made.tests, 'test')}, of which {len(made.significant())} are significant "
        f"({'adjusted ' if adjusted else ''}p below {made.plan.alpha:g}); test: {made.conventions.get('test', '')}. "
        "A better, b better: on how many queries. The surest differences come first."
    )
    return Table.of("All tests", head, rows, about)


def _number(title: str) -> Head:
    return Head(title, way="number")


def _p(p: float | None, reason: str | None) -> Cell:
    if p is None:
        return value(None, reason=reason)
    return Cell(f"{p:.4f}" if p >= 0.0001 else "< 0.0001", p, way="number")


def _power(made: Comparison) -> Table:
    short = _short(made)
    rows = [
        Row([text(_title(m, g, short)), count(n), count(pairs), Cell(f"{share:.1%}", share, way="number")])
        for m, g, pairs, n, share in made.power.select("measure", "group", "pairs", "significant", "share").iter_rows()
    ]
    head = [Head("measure"), _number("pairs told apart"), _number("pairs tested"), _number("share")]
    before = "" if made.plan.adjust == "none" else ", before it is adjusted for the number of tests"
    about = (
        f"Pairs of runs with p below {made.plan.alpha:g}{before}: the more, the better the measure tells runs apart."
    )
    return Table.of("How well measures tell runs apart", head, rows, about)


def _taus(made: Comparison) -> Table | None:
    if not len(made.correlations) or len(made.runs) < 3:
        return None
    short = _short(made)
    rows = []
    for r in tables.frame_rows(made.correlations.to_dicts()):
        cells = [text(short.get(r["measure_a"], r["measure_a"])), text(short.get(r["measure_b"], r["measure_b"]))]
        cells.append(value(r["tau"], interval(r["low"], r["high"]), reason=r["reason"]))
        rows.append(Row([*cells, value(r["tau_ap"]), value(r["rbo"]), count(r["n"])]))
    head = [Head("measure a"), Head("measure b"), Head("Kendall's tau", "interval", "number"), _number("tau AP")]
    about = "1: the same order of the runs, 0: no relation, -1: the opposite order."
    return Table.of("How alike measures order the runs", [*head, _number("RBO"), _number("runs")], rows, about)


def _changes(made: Comparison, names: dict[str, str]) -> list[Table]:
    short, out = _short(made), []
    if len(made.changes):
        rows = []
        for r in tables.frame_rows(made.changes.to_dicts()):
            cells = [text(_title(r["measure"], r["group"], short)), text(r["query"])]
            cells += [text(names[r["run_a"]]), text(names[r["run_b"]])]
            cells += [value(r[c]) for c in ("value_a", "value_b", "difference")]
            rows.append(Row([*cells, text(r["why"])], query=printable(r["query"])))
        head = [Head("measure"), Head("query"), Head("run a"), Head("run b"), *(map(_number, ("a", "b", "a - b")))]
        which = "from the baseline" if made.baseline is not None else "between the best and the worst run"
        about = "What moved: document (grade, group) and its rank in run a / run b."
        out.append(Table.of(f"Queries that change most {which}", [*head, Head("what moved")], rows, about))
    if not agree_everywhere(made):
        rows = []
        for r in tables.frame_rows(made.disagreements.filter(pl.col("query").is_null()).to_dicts()):
            share = r["share"]
            shown = Cell("-" if share is None else f"{share:.1%}", share, way="number")
            pair = [text(short.get(r[c], r[c])) for c in ("measure_a", "measure_b")]
            rows.append(Row([*pair, shown, count(r["n"])]))
        head = [Head("measure a"), Head("measure b"), _number("share of cases"), _number("queries")]
        about = "A case is a query and a pair of runs that both measures tell apart: how often they do so differently."
        out.append(Table.of("Where measures disagree", head, rows, about))
    if len(made.outliers):
        rows = []
        for r in made.outliers.to_dicts():
            share = r["cases"] / r["n"] if r["n"] else None
            shown = Cell("-" if share is None else f"{share:.1%}", share, way="number")
            rows.append(Row([text(short.get(r["measure"], r["measure"])), count(r["cases"]), shown]))
        head = [Head("measure"), _number("cases"), _number("share")]
        out.append(Table.of("Divergences that disagree with all the others", head, rows))
    return out
