"""The report of an evaluation."""

from __future__ import annotations

from typing import Any

from lightmeter import plots
from lightmeter.findings.language import better_first, counted, listed, short_names
from lightmeter.measures.context import Context
from lightmeter.measures.groups import DeltaGF
from lightmeter.report import tables
from lightmeter.report.parts import Page, Section
from lightmeter.report.pictures import Maker, pictures
from lightmeter.report.queries import chosen
from lightmeter.report.rankings import rankings_of
from lightmeter.results.result import Result
from lightmeter.results.text import printable

_SCORES = "A panel a measure, a dot a run; each panel has its own scale. A filled dot is the best mean."
_TRADEOFF = "A point a run: how good it is by two measures at once."
_EXPOSURE = "A bar a group; a panel a run. Black lines are intervals."
_LEANING = "Bars to the right lean to one side, bars to the left to the other; 0 is balance."


def result_page(result: Result, context: Context | None, manifest: dict[str, Any]) -> Page:
    """The page of an evaluation; with a context it shows rankings too."""
    names = short_names(result.runs)
    drawn = pictures([(lambda: plots.scores(result), _SCORES), *of_measures(result)])
    means = tables.means_table(result, names)
    return Page(
        kind="Evaluation",
        title=f"{listed([names[r] for r in result.runs], 3)}: relevance and exposure"
        if len(names) <= 3
        else f"{len(names)} runs: relevance and exposure",
        about=size_of(result),
        summary=[*_gates(manifest), *(f"{p.title}." for p in drawn), tables.undefined_sentence(result)],
        sections=[
            Section("results", "Results", [], [], [t for t in (means, *tables.group_tables(result, names)) if t]),
            Section("pictures", "Pictures", [], drawn),
            *shared_sections(result, names, manifest),
        ],
        conventions=result.conventions,
        notes=list(manifest.get("notes", [])),
        manifest=manifest,
        rankings=_drill(result, context, names),
        runs=names,
    )


def size_of(result: Result) -> str:
    """How much there is in a result."""
    runs, queries = counted(len(result.runs), "run"), counted(len(result.queries), "query", "queries")
    return f"{runs} on {queries}, by {counted(len(result.measures), 'measure')}"


def of_measures(result: Result) -> list[Maker]:
    """Pictures of relevance against fairness, of groups, and of what leans to a side."""
    one = [m for m in result.measures if all(c.group is None for c in result.cells if c.measure == m)]
    relevance = next((m for m in one if m.attribute is None and better_first(m) > 0), None)
    fairness = next((m for m in one if m.attribute is not None and better_first(m)), None)
    if fairness is None:
        fairness = next((m for m in one if type(m).__name__ in ("EEL", "EED", "nEEL", "nEED")), None)
    made: list[Maker] = []
    if relevance is not None and fairness is not None and len(result.runs) > 1:
        made.append((lambda: plots.tradeoff(result, relevance, fairness), _TRADEOFF))
    for measure in [m for m in result.measures if m not in one][:3]:
        made.append((lambda m=measure: plots.exposure(result, m), _EXPOSURE))  # type: ignore[misc]
    for measure in [m for m in one if isinstance(m, DeltaGF)][:2]:
        made.append((lambda m=measure: plots.leaning(result, m), _LEANING))  # type: ignore[misc]
    return made


def shared_sections(result: Result, names: dict[str, str], manifest: dict[str, Any]) -> list[Section]:
    """Queries, what is undefined, and what was measured of what: the same for evaluations and comparisons."""
    lost, picked = tables.undefined_table(result, names), chosen(result)
    told = (
        [tables.undefined_sentence(result)]
        if not lost.rows
        else [
            tables.undefined_sentence(result),
            "A value that is missing is never taken for a good one. Some have a value by rule all the same, such as 0 "
            "for a query that a run does not answer.",
        ]
    )
    return [
        Section("queries", "Queries", [], [], [tables.queries_table(result, picked)] if picked else []),
        Section("undefined", "Undefined values, and why", told, [], [lost] if lost.rows else []),
        Section(
            "measured",
            "What was measured",
            [],
            [],
            [tables.measures_table(result.measures), tables.runs_table(result, names, manifest)],
        ),
    ]


def _gates(manifest: dict[str, Any]) -> list[str]:
    """What came of the conditions of --fail-if."""
    gates = manifest.get("fail_if") or {}
    failed, asked = gates.get("failed", []), gates.get("conditions", [])
    if failed:
        return [f"A condition that should not hold does: {printable(text)}." for text in failed]
    return [f"No run meets a condition that it should not: {printable(', '.join(asked))}."] if asked else []


def _drill(result: Result, context: Context | None, names: dict[str, str]) -> dict[str, Any] | None:
    picked = chosen(result)
    return rankings_of(result, context, picked, names) if context is not None and picked else None
