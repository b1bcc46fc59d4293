"""The command ``attention``: a click log in, attention by rank out."""

from __future__ import annotations

from lightmeter.cli.console import say
from lightmeter.cli.outputs import DATA_FORMATS, check_outputs, write_content
from lightmeter.cli.parsing import Request
from lightmeter.clicks.estimate import estimate_attention
from lightmeter.clicks.log import read_clicks
from lightmeter.clicks.result import AttentionEstimate
from lightmeter.io.files import check_not_input
from lightmeter.results import records
from lightmeter.results.grid import Entry, Grid
from lightmeter.results.markup import latex, markdown
from lightmeter.results.text import aligned, number

_LABELS = ("rank", "shown", "clicks", "documents", "n")
_NUMBERS = ("weight", "se", "low", "high")


def run(request: Request) -> int:
    """Estimate attention; the exit code."""
    form = check_outputs(request)
    log = read_clicks(request.clicks, columns=request.columns or None)
    if request.output is not None:
        check_not_input(request.output, "--output", [request.clicks, *log.source.files])
    estimate = estimate_attention(
        log,
        method=request.method,
        depth=request.depth,
        reference=request.reference,
        level=request.level,
        resamples=request.resamples,
        rng=request.rng,
    )
    write_content(request, _render(estimate, form))
    if not request.quiet and (request.output is not None or form in DATA_FORMATS):
        for line in [*estimate.remarks(), estimate.term]:
            say(line)
    return 0


def _render(estimate: AttentionEstimate, form: str) -> bytes:
    """The curve in one of the formats; those for people have the remarks and the term below it."""
    frame = estimate.frame()
    if form in DATA_FORMATS:
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](frame)
    rows = list(frame.iter_rows(named=True))
    labels = [tuple(f"{row[name]:g}" if row[name] < 1e6 else f"{row[name]:.0f}" for name in _LABELS) for row in rows]
    notes = [*estimate.remarks(), estimate.term]
    if form == "table":
        reasons = any(row["reason"] for row in rows)
        cells = [
            [*label, *(number(row[name]) for name in _NUMBERS), *([row["reason"] or ""] if reasons else [])]
            for label, row in zip(labels, rows, strict=True)
        ]
        header = [*_LABELS, *_NUMBERS, *(["reason"] if reasons else [])]
        return ("\n".join([*aligned(header, cells, 0), "", *notes]) + "\n").encode()
    entries = [[Entry(row[name], None, None, row["reason"]) for name in _NUMBERS] for row in rows]
    grid = Grid(list(_LABELS), [(name, None) for name in _NUMBERS], list(zip(labels, entries, strict=True)))  # type: ignore[arg-type]
    return (latex if form == "latex" else markdown)(grid, notes).encode()
