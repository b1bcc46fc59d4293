"""The report of a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter import plots
from lightmeter.findings.language import counted, short_names
from lightmeter.report.parts import Cell, Head, Page, Row, Section, Table, count, interval, text, value
from lightmeter.report.pictures import pictures
from lightmeter.report.queries import MOST
from lightmeter.report.tables import frame_rows
from lightmeter.results.text import REASONS
from lightmeter.sweeping.result import SweepResult

_CURVES = (
    "A line a policy, from an order drawn at random (left) to the ranking as given (right). The higher a line, the "
    "more relevance is kept at that disparity; the thin line is the best that any policy could do."
)
_POINTS = 21


def sweep_page(result: SweepResult, manifest: dict[str, Any]) -> Page:
    """The page of a sweep."""
    names = short_names(list(dict.fromkeys(c.run for c in result.curves)))
    drawn = pictures([(lambda: plots.curve(result), _CURVES)])
    policies = len({c.policy for c in result.curves})
    about = (
        f"{counted(len(names), 'run')} on {counted(len(result.queries), 'query', 'queries')}, "
        f"under {counted(policies, 'policy', 'policies')}"
    )
    return Page(
        kind="Sweep",
        title="How relevance falls as exposure is shared out more evenly",
        about=about,
        summary=[*(f"{p.title}." for p in drawn), *_reached(result, names)],
        sections=[
            Section("results", "Results", [], [], [_areas(result, names)]),
            Section("pictures", "Pictures", [], drawn),
            Section("points", "Points of the curves", [], [], [_points(result, names)]),
            Section("queries", "Queries", [], [], [_queries(result, names)]),
            *_undefined(result, names),
        ],
        conventions=result.conventions,
        notes=list(manifest.get("notes", [])),
        manifest=manifest,
        runs=names,
    )


def _reached(result: SweepResult, names: dict[str, str]) -> list[str]:
    """How much of the best area each of the first curves reaches."""
    out = []
    for c in result.curves[:4]:
        share, area = c.share(), c.area()
        of = f"{names[c.run]} under {c.policy}" + (f", groups of {c.by}" if c.by else "")
        if np.isfinite(share.value):
            out.append(f"{of}: the area below the curve (EEAUC) is {area.value:.3f}, {share.value:.0%} of the best.")
    return out


def _areas(result: SweepResult, names: dict[str, str]) -> Table:
    grouped = any(c.by is not None for c in result.curves)
    rows = []
    for c in result.curves:
        area, mean, front, share = c.area(), c.query_mean(), c.frontier_area(), c.share()
        cells = [text(names[c.run]), text(c.policy), text(c.user), *([text(c.by or "documents")] if grouped else [])]
        cells.append(value(area.value, interval(area.low, area.high), reason=area.reason))
        cells += [value(e.value, reason=e.reason) for e in (mean, front, share)]
        rows.append(Row([*cells, count(area.n)], c.run))
    head = [Head("run"), Head("policy"), Head("user"), *([Head("exposure of")] if grouped else [])]
    head += [Head("EEAUC", "95% interval", "number"), Head("mean of the queries' own", way="number")]
    head += [Head(t, way="number") for t in ("best possible", "share of it", "queries")]
    about = "EEAUC: the area below the curve of relevance over disparity, from 0 to 1; higher is better."
    return Table.of("Areas below the curves", head, rows, about)


def _points(result: SweepResult, names: dict[str, str]) -> Table:
    """At most a few points of each curve, evenly chosen."""
    grouped = any(c.by is not None for c in result.curves)
    rows = []
    for c in result.curves:
        x, y = c.mean
        at = np.unique(np.linspace(0, len(x) - 1, min(_POINTS, len(x))).round().astype(int))
        for i in at.tolist():
            parameter = float(c.points.parameter[i])
            shown = Cell(f"{parameter:.4g}" if np.isfinite(parameter) else "no end", parameter, way="number")
            cells = [text(names[c.run]), text(c.policy), text(c.user)]
            cells += [*([text(c.by or "documents")] if grouped else []), shown]
            rows.append(Row([*cells, value(float(x[i])), value(float(y[i]))], c.run))
    head = [Head("run"), Head("policy"), Head("user"), *([Head("exposure of")] if grouped else [])]
    head += [Head(t, way="number") for t in ("parameter", "disparity", "relevance")]
    about = f"Up to {_POINTS} points of each curve; the formats csv, jsonl and parquet have all."
    return Table.of("Disparity and relevance", head, rows, about)


def _queries(result: SweepResult, names: dict[str, str]) -> Table:
    """The queries on which areas differ most between curves, or are lowest."""
    areas = np.stack([c.query_areas for c in result.curves])
    known = np.isfinite(areas)
    high, low = np.where(known, areas, -np.inf).max(axis=0), np.where(known, areas, np.inf).min(axis=0)
    apart = np.where(known.any(axis=0), high - low if len(areas) > 1 else -low, -np.inf)
    order = np.argsort(-apart, kind="stable")[:MOST]
    head = [Head("query")]
    many = len({c.policy for c in result.curves}) > 1
    for c in result.curves[:8]:
        label = " ".join(filter(None, [names[c.run], c.policy if many else "", f"by {c.by}" if c.by else ""]))
        head.append(Head(label, way="number"))
    reasons = [c.query_reasons() for c in result.curves[:8]]
    rows = []
    for q in order.tolist():
        cells = [value(float(areas[i, q]), reason=reasons[i][q]) for i in range(len(head) - 1)]
        rows.append(Row([text(result.queries[q]), *cells]))
    which = "those on which curves differ most" if len(areas) > 1 else "those with the smallest area"
    about = f"{len(rows)} of {len(result.queries)} queries: {which}" + (
        f"; the first {len(head) - 1} of {len(result.curves)} curves" if len(result.curves) > 8 else ""
    )
    return Table.of("Each query's own area (EEAUC)", head, rows, about + ".")


def _undefined(result: SweepResult, names: dict[str, str]) -> list[Section]:
    rows = []
    for r in frame_rows(result.per_query().to_dicts()):
        if r["value"] is None and r["measure"] == "EEAUC":
            words = REASONS.get(r["reason"], r["reason"] or "no value")
            cells = [text(names[r["run"]]), text(r["policy"]), text(r["query"]), text(words), text(r["reason"])]
            rows.append(Row(cells, r["run"]))
    if not rows:
        told = ["Every query has a curve of its own."]
        return [Section("undefined", "Undefined values, and why", told)]
    head = [Head("run"), Head("policy"), Head("query"), Head("why"), Head("code")]
    told = [f"{counted(len(rows), 'curve')} of single queries are undefined and left out of areas."]
    return [Section("undefined", "Undefined values, and why", told, [], [Table.of("Undefined", head, rows)])]
