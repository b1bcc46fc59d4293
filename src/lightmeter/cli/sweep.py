"""The command ``sweep``: runs in, disparity-relevance curves and the areas below them out."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from lightmeter.cli.console import Progress, say, terminal_width
from lightmeter.cli.inputs import input_notes, load_inputs, load_plugins
from lightmeter.cli.notes import conventions_line
from lightmeter.cli.outputs import check_outputs, write_content, write_manifest
from lightmeter.cli.parsing import Request
from lightmeter.measures.exposure import EER
from lightmeter.sweeping.families import families_of
from lightmeter.sweeping.notes import sweep_notes
from lightmeter.sweeping.sweep import sweep
from lightmeter.terms.plugins import foreign_code, parse_term


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
        for note in [*collection.notes, *input_notes(request, measures, collection), *sweep_notes(result)]:
            say(f"note: {note}")
        for what, count in collection.ignored.items():
            say(f"ignored: {what}: {count}")
    width = terminal_width() if request.output is None else None
    write_content(request, result.render(form, width=width, per_query=request.per_query))
    seed = {"seed": result.manifest["seed"]}
    write_manifest(request, result.manifest, inputs.files, started, seed, within=inputs.within, result=result)
    return 0


def _measure(user: Any, by: str | None) -> EER:
    """A measure that looks at what the sweep looks at."""
    cutoff = getattr(user, "cutoff", None)
    return EER(user=user if cutoff is None else dataclasses.replace(user, cutoff=None), by=by, cutoff=cutoff)
