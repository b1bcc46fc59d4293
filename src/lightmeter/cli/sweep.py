"""The command ``sweep``: runs in, disparity-relevance curves and the areas below them out."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from typing import Any

import numpy as np

from lightmeter.cli.console import Progress, say, terminal_width
from lightmeter.cli.inputs import input_notes, load_inputs, load_plugins
from lightmeter.cli.notes import conventions_line
from lightmeter.cli.outputs import DATA_FORMATS, check_outputs, write_content, write_manifest
from lightmeter.cli.parsing import Request
from lightmeter.cli.writing import NARROW
from lightmeter.measures.exposure import EER
from lightmeter.results.grid import Entry, Grid
from lightmeter.results.text import REASONS
from lightmeter.sweeping.curve import Curve, Estimate
from lightmeter.sweeping.families import families_of
from lightmeter.sweeping.result import KEYS, SweepResult
from lightmeter.sweeping.sweep import sweep
from lightmeter.terms.plugins import foreign_code, parse_term

_LEGEND = (
    "low, high: 95% interval over queries; query mean: the mean of the queries' own areas, ± its standard error over "
    "queries",
    "frontier: EEAUC of the best policies there can be; share: how much of it is reached",
)


def run(request: Request) -> int:
    """Sweep; the exit code."""
    started = time.time()
    form = check_outputs(request)
    plugins = load_plugins(request)
    with foreign_code():
        users = [parse_term(text, "user") for text in request.users]
        families_of(request.policies)
    measures = [_measure(user, by) for user in users for by in [None, *request.by]]
    inputs = load_inputs(request, measures, users, plugins)
    collection = inputs.collection
    with Progress(quiet=request.quiet) as progress, foreign_code():
        result = sweep(
            collection,
            request.policies,
            users,
            [None, *request.by],
            depth=request.depth,
            ties=request.ties or "docno",
            unknown=request.unknown,
            missing=request.missing,
            samples=request.samples,
            resamples=request.resamples,
            rng=request.rng,
            progress=progress.step,
        )
    if not request.quiet:
        say(conventions_line(result))  # type: ignore[arg-type]
        for note in [*collection.notes, *input_notes(request, measures, collection), *_notes(result)]:
            say(f"note: {note}")
        for what, count in collection.ignored.items():
            say(f"ignored: {what}: {count}")
    width = terminal_width() if request.output is None else None
    write_content(request, _render(result, form, request.per_query, width))
    seed = {"seed": result.manifest["seed"]}
    write_manifest(request, result.manifest, inputs.files, started, seed, within=inputs.within, result=result)
    return 0


def _measure(user: Any, by: str | None) -> EER:
    """A measure that looks at what the sweep looks at."""
    cutoff = getattr(user, "cutoff", None)
    return EER(user=user if cutoff is None else dataclasses.replace(user, cutoff=None), by=by, cutoff=cutoff)


def _render(result: SweepResult, form: str, per_query: bool, width: int | None) -> bytes:
    """Everything for programs; for people the areas."""
    from lightmeter.results import records

    if form in DATA_FORMATS:
        frame = records.finite(result.frame(per_query=per_query).select(KEYS))
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](frame)
    from lightmeter.results.grid import text_table
    from lightmeter.results.markup import latex, markdown
    from lightmeter.results.text import printable

    grid = _grid(result, per_query)
    notes = [printable(note) for note in [*_LEGEND, *_notes(result)]]
    if form == "latex":
        return latex(grid, notes).encode()
    if form == "markdown":
        return markdown(grid, notes).encode()
    table = text_table(grid, width or NARROW, wrap=width is not None)
    return (table + "\n" + "".join(f"{note}\n" for note in notes)).encode()


def _grid(result: SweepResult, per_query: bool) -> Grid:
    """The areas: a row for each curve, with ``per_query`` also for each query."""
    grouped = any(c.by is not None for c in result.curves)
    index = ["run", "policy", "user", *(["by"] if grouped else []), *(["query"] if per_query else []), "n"]
    columns = [(name, None) for name in ("EEAUC", "low", "high", "query mean", "frontier", "share")]
    rows: list[tuple[tuple[str, ...], list[Entry | None]]] = []
    for c in result.curves:
        labels = (c.run, c.policy, c.user, *([c.by or "(documents)"] if grouped else []))
        if per_query:
            best = c.query_frontiers()
            for i, query in enumerate(result.queries):
                area = float(c.query_areas[i])
                share = area / best[i] if best[i] > 0 else np.nan
                values = (area, None, None, None, float(best[i]), share)
                rows.append(((*labels, query, ""), [_entry(value) for value in values]))
        area_of, mean, front, share_of = c.area(), c.query_mean(), c.frontier_area(), c.share()
        entries = [
            _entry(area_of.value, area_of.se),
            _entry(area_of.low),
            _entry(area_of.high),
            _entry(mean.value, mean.se),
            _entry(front.value),
            _entry(share_of.value),
        ]
        rows.append(((*labels, *(["(mean)"] if per_query else []), str(area_of.n)), entries))
    return Grid(index, columns, rows)  # type: ignore[arg-type]


def _entry(value: float | None, se: float | None = None) -> Entry | None:
    known = value is not None and np.isfinite(value)
    return Entry(value if known else None, se if known else None, None, None)


def _notes(result: SweepResult) -> list[str]:
    """What is left out of the curves and why, and what is undefined."""
    notes = []
    runs = {c.run for c in result.curves}
    for (user, by, reason), counts in _left_out(result.curves).items():
        numbers = _by_run(counts)
        if len(counts) == len(runs) and len(set(counts.values())) == 1:
            n = next(iter(counts.values()))
            numbers = f"{n} {'query' if n == 1 else 'queries'}{' in each run' if len(counts) > 1 else ''}"
        notes.append(f"{_label(user, by)}: left out, {_words(reason)}: {numbers}")
    unanswered = {c.run: int(c.scale.missing.sum()) for c in result.curves if c.scale.missing.any()}
    if unanswered:
        notes.append(f"not answered, counted with relevance 0 at every disparity: {_by_run(unanswered)}")
    for reason in dict.fromkeys(str(e.reason) for c in result.curves for e in _undefined(c)):
        curves = [c for c in result.curves if any(str(e.reason) == reason for e in _undefined(c))]
        labels = ", ".join(dict.fromkeys(_label(c.user, c.by) for c in curves))
        notes.append(f"{labels}: {'no frontier' if reason == 'no_frontier' else 'undefined'}, {_words(reason)}")
    return notes


def _left_out(curves: list[Curve]) -> dict[tuple[str, str | None, str], dict[str, int]]:
    """How many queries each run's curve leaves out, by user model, attribute and reason."""
    counts: dict[tuple[str, str | None, str], dict[str, int]] = {}
    for c in curves:
        for reason, n in Counter(c.scale.reason[~c.scale.counted].tolist()).items():
            counts.setdefault((c.user, c.by, str(reason)), {})[c.run] = n
    return counts


def _undefined(curve: Curve) -> list[Estimate]:
    return [e for e in (curve.area(), curve.frontier_area(), curve.share()) if np.isnan(e.value)]


def _by_run(counts: dict[str, int]) -> str:
    return "queries " + ", ".join(f"{run} {n}" for run, n in counts.items())


def _label(user: str, by: str | None) -> str:
    return user if by is None else f"{user} by {by}"


def _words(reason: str) -> str:
    return f"{reason} ({REASONS[reason]})" if reason in REASONS else reason
