"""The report of an audit: aggregates only, small groups masked as in the audit itself."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Any

import polars as pl

from lightmeter import plots
from lightmeter.auditing import layout
from lightmeter.auditing.result import AuditResult
from lightmeter.findings.language import counted, group_name, listed
from lightmeter.report.parts import Cell, Head, Page, Row, Section, Table
from lightmeter.report.pictures import MOST, Maker, pictures
from lightmeter.results.sheet import Sheet
from lightmeter.results.text import number, printable

_RATIO = (
    "A line a group, over all cutoffs from the top of the list to all of it; 1 is as much exposure as the reference "
    "group. The band holds for the whole curve."
)
_SHARE = "A line a group: its share of the first k; the thin line is its share of all."
_BARS = "A bar a group: its mean exposure in the whole list; lines are intervals."
#: what a first look needs: a title, and the figures of which the first that there is stands below it
_FIRST = (
    ("persons", ("count",)),
    ("share", ("pool_share", "share")),
    ("mean score", ("mean_score",)),
    ("exposure ratio", ("exposure_ratio",)),
    ("selection rate", ("selection_rate",)),
    ("scoring rate", ("scoring_rate",)),
    ("rate ratio", ("selection_rate_ratio",)),
    ("impact ratio", ("impact_ratio",)),
    ("impact ratio of selection", ("selection_impact_ratio",)),
    ("p (Fisher, Holm)", ("fisher_p_holm",)),
)
_WORDS = {
    "masked": "masked: the group, or one that would give it away, is smaller than --min-cell",
    "few_in_top": "fewer than ten of the group are among the first k: no interval",
    "none_in_top": "nobody of the group is among the first k",
    "undefined": "the figure has no value there",
    "empty_group": "a group without a member",
    "tied": "not told where scores are equal: whole rows would have to count in part",
    "small_category": "the category has less than 2% of the rows and is set apart",
    "zero_merit": "the group has no merit to divide by",
    "zero_exposure": "the reference group has no exposure",
}
FOUR_FIFTHS = 0.8


def audit_page(result: AuditResult, manifest: dict[str, Any], people: Table | None = None) -> Page:
    """The page of an audit. ``people`` is a table of single persons where it was asked for."""
    whole = pooled(result)
    attributes = list(dict.fromkeys(whole.rows["attribute"].to_list()))
    scores = list(dict.fromkeys(whole.rows["score"].to_list()))
    every = ((_model(s, scores), p) for a in attributes for s in scores for p in pictures(_makers(whole, a, s)))
    shown = list(islice(every, MOST))
    cut = next(every, None) is not None
    drawn = [p for _, p in shown]
    sheets = [_sheet(sheet) for sheet in layout.sheets(whole)]
    first = [_first_look(whole, a, s, len(scores) > 1) for a in attributes for s in scores]
    lost = _undefined(whole)
    told = (
        "This report shows groups only, no single person, and no list on its own."
        if people is None
        else "Besides groups, this report shows single persons, as asked; what identifies them is replaced by codes."
    )
    return Page(
        kind="Audit",
        title=f"Who gets exposure: {listed([printable(a.replace(',', ' x ')) for a in attributes], 3)}",
        about=f"{counted(int(manifest.get('rows', 0)), 'person', 'persons')} ranked by {listed(scores, 3)}",
        summary=[
            *_sentences(whole, attributes, scores),
            *(f"{p.title}{model}." for model, p in shown if p.about != _BARS),
            *(
                f"{printable(note)} (fewer than --min-cell rows, or they would give such a group away)."
                for note in result.notes
                if note.endswith(("groups are masked", "group is masked"))
            ),
            told,
        ],
        sections=[
            Section("results", "At a glance", _how(result), [], [t for t in first if t.rows]),
            Section("pictures", "Pictures", [f"Only the first {MOST} pictures are here."] if cut else [], drawn),
            Section("figures", "All figures", [], [], sheets),
            *([Section("people", "Persons", [], [], [people])] if people is not None else []),
            Section("undefined", "Masked and undefined values, and why", [], [], [lost])
            if lost.rows
            else Section("undefined", "Masked and undefined values, and why", ["Every figure has a value."]),
        ],
        conventions=result.conventions,
        notes=list(result.notes),
        manifest=manifest,
    )


def pooled(result: AuditResult) -> AuditResult:
    """The audit without rows of single lists: their names may identify somebody."""
    if "query" not in result.rows.columns:
        return result
    return replace(result, rows=result.rows.filter(pl.col("query").is_null()).drop("query"))


def _how(result: AuditResult) -> list[str]:
    reference = result.conventions.get("reference", "")
    told = [f"Ratios of exposure are to the reference group ({printable(reference)}); 1 is equal."] if reference else []
    if result.preset is None:
        told.append(
            "A ratio below four fifths (0.8) is a common reason to look closer. It is no legal finding, and says "
            "nothing about chance: see the intervals and p."
        )
    return told


def _model(score: str, scores: list[str]) -> str:
    """What a figure was ranked by, where there are several scores."""
    return f" (ranked by {printable(score)})" if len(scores) > 1 else ""


def _makers(result: AuditResult, attribute: str, score: str) -> list[Maker]:
    out: list[Maker] = []
    for measure, about in (("exposure_ratio", _RATIO), ("share", _SHARE)):
        make = lambda m=measure: plots.cutoffs(result, m, attribute=attribute, score=score)  # noqa: E731
        out.append((make, about))
    if _groups_with_exposure(result, attribute, score) > 1:
        out.append((lambda: plots.exposure(result, attribute=attribute, score=score), _BARS))
    return out


def _groups_with_exposure(result: AuditResult, attribute: str, score: str) -> int:
    rows = result.rows.filter(pl.col("measure") == "exposure", pl.col("cutoff").is_null(), pl.col("value").is_finite())
    return len(rows.filter(pl.col("attribute") == attribute, pl.col("score") == score, pl.col("group") != "unknown"))


def _sentences(result: AuditResult, attributes: list[str], scores: list[str]) -> list[str]:
    """For each attribute and score the group with the lowest exposure ratio, with its interval: at the shortest list
    asked for, which the whole list may hide, then in the whole list.
    """
    out = []
    rows = result.rows.filter(pl.col("measure") == "exposure_ratio", pl.col("value").is_finite())
    lists = sorted(k for k in rows["cutoff"].unique() if k is not None)[:1]
    for a in attributes:
        for s in scores:
            mine = rows.filter(pl.col("attribute") == a, pl.col("score") == s).sort("value")
            for k in (*lists, None):
                found = mine.filter(pl.col("cutoff").eq_missing(k)).head(1).to_dicts()
                out += [_sentence(result, row, _model(s, scores)) for row in found]
    return out


def _sentence(result: AuditResult, row: dict[str, Any], model: str) -> str:
    who, other = (group_name(row["attribute"], row[c]) for c in ("group", "reference"))
    where = "in the whole list" if row["cutoff"] is None else f"among the first {row['cutoff']:,}"
    span = "" if row["low"] is None or row["high"] is None else f" ({_span(result, row)})"
    below = ""
    if row["value"] < FOUR_FIFTHS and result.preset is None:
        even = row["high"] is not None and row["low"] is not None and row["low"] <= 1 <= row["high"]
        below = f" That is below four fifths{', but the interval holds 1' if even else ''}."
    return f"{who} gets {row['value']:.3f} times as much exposure as {other}{model} {where}{span}.{below}"


def _span(result: AuditResult, row: dict[str, Any]) -> str:
    level = result.conventions.get("intervals", "95%").partition(" ")[0]
    level = level if re.fullmatch(r"[\d.]+%", level) else "95%"
    return f"{level} interval {row['low']:.3f} to {row['high']:.3f}"


def _first_look(result: AuditResult, attribute: str, score: str, several: bool) -> Table:
    """The figures that a first look needs: a row a group, of the whole list and of each cutoff."""
    rows = result.rows.filter(
        pl.col("attribute") == attribute, pl.col("score") == score, pl.col("group").is_not_null()
    ).to_dicts()
    of = {(r["measure"], r["cutoff"], r["group"]): r for r in rows}
    groups = list(dict.fromkeys(r["group"] for r in rows))
    cutoffs = sorted({r["cutoff"] for r in rows}, key=lambda k: (k is not None, k or 0))
    there = {r["measure"] for r in rows}
    shown = [(title, [m for m in names if m in there][:1]) for title, names in _FIRST]
    shown = [(title, names) for title, names in shown if names]
    head = [Head("group"), *([Head("among")] if len(cutoffs) > 1 else [])]
    head += [Head(title, way="number") for title, _ in shown]
    body = []
    for cutoff in cutoffs:
        for group in groups:
            where = "the whole list" if cutoff is None else f"the first {cutoff:,}"
            cells = [Cell(printable(group)), *([Cell(where, float(cutoff or 10**9))] if len(cutoffs) > 1 else [])]
            for title, (name,) in shown:
                names = ("pool_share", "share") if title == "share" else (name,)
                row = next((of[m, cutoff, group] for m in names if (m, cutoff, group) in of), None)
                base = any(r["reference"] == group for r in rows if r["measure"] == name and r["cutoff"] == cutoff)
                cells.append(Cell("reference" if base else "", way="number") if row is None else _cell(row))
            body.append(Row(cells))
    model = f", ranked by {printable(score)}" if several else ""
    return Table.of(f"{printable(attribute)}{model}", head, body)


def _cell(row: dict[str, Any]) -> Cell:
    """A figure with its interval; without a value why."""
    if row["value"] is None:
        return Cell(str(row["reason"] or "-"), None, way="number")
    if row["measure"] in ("count", "n"):
        return Cell(f"{row['value']:,g}", row["value"], way="number")
    note = ""
    if row["low"] is not None:
        note = f"[{number(row['low'])}, {'..' if row['high'] is None else number(row['high'])}]"
    return Cell(number(row["value"]), row["value"], note, "number")


def _sheet(sheet: Sheet) -> Table:
    """A table of the audit's own layout."""
    head = [*(Head(name) for name in sheet.index), *(Head(title, way="number") for title in sheet.titles)]
    rows = [
        Row([*(_label(label) for label in labels), *(_split("" if entry is None else str(entry)) for entry in entries)])
        for labels, entries in sheet.rows
    ]
    return Table.of(sheet.title, head, rows, "In brackets: intervals. 'all': the whole list; a number: the first k.")


def _label(label: str) -> Cell:
    return Cell(label, float(label)) if label.isascii() and label.isdigit() else Cell(label)


def _split(entry: str) -> Cell:
    """A number and its interval apart."""
    shown, _, rest = entry.partition(" [")
    try:
        return Cell(shown, float(shown), f"[{rest}" if rest else "", "number")
    except ValueError:
        return Cell(entry, None, way="number")


def _undefined(result: AuditResult) -> Table:
    """Which figures have no value, or no interval, and why."""
    counts: dict[tuple[str, str, bool], dict[str, None]] = {}
    for row in result.rows.filter(pl.col("reason").is_not_null()).to_dicts():
        key = row["attribute"], row["reason"], row["value"] is None
        counts.setdefault(key, {})[row["measure"] + ("" if row["cutoff"] is None else f"@{row['cutoff']}")] = None
    rows = []
    for (attribute, reason, lost), names in counts.items():
        what = "no value" if lost else "a value, with care"
        measures = listed(list(names), 6)
        rows.append(Row([Cell(printable(t)) for t in (attribute, _WORDS.get(reason, reason), reason, what, measures)]))
    head = [Head(t) for t in ("attribute", "why", "code", "what becomes of it", "figures")]
    return Table.of("Masked and undefined", head, rows)
