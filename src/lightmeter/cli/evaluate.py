"""The command ``evaluate``: load, evaluate, write."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field

from lightmeter.cli import request as request_of
from lightmeter.cli.asked import read_measure, read_policy
from lightmeter.cli.gates import read_gates, tell
from lightmeter.cli.messages import not_yet, say
from lightmeter.cli.notes import told, weights_like_a_policy
from lightmeter.cli.plugged import load_plugins
from lightmeter.cli.progress import Progress
from lightmeter.cli.streams import leave_pipes, write_out
from lightmeter.cli.writing import render, terminal_width
from lightmeter.evaluation.evaluate import evaluate
from lightmeter.io.files import write_whole
from lightmeter.results.result import Result
from lightmeter.terms.plugins import foreign_code


@dataclass
class Request(request_of.Request):
    """What the user asked ``evaluate`` for, as typed."""

    fail_if: list[str] = field(default_factory=list)
    engine: str = "local"
    per_query: bool = False

    def run(self) -> int:
        """Do it; the exit code."""
        return perform(self).code


@dataclass(frozen=True)
class Outcome:
    """What came of a request: the exit code, and the result with the measures asked for."""

    code: int
    result: Result


def perform(request: Request) -> Outcome:
    """Load, evaluate and write."""
    started = time.time()
    form = request_of.check(request, measured=bool(request.fail_if))
    if request.engine != "local":
        raise not_yet(f"--engine {request.engine}", "Accepted: local.")
    modules = load_plugins(request.plugins, quiet=request.quiet)
    with foreign_code():
        gates = read_gates(request.fail_if)
        measures = [read_measure(text) for text in request.measures]
        policy = None if request.policy is None else read_policy(request.policy, request.ties)
    asked = list(dict.fromkeys([*measures, *(g.measure for g in gates)]))
    collection = request_of.load_collection(request, asked)
    inputs = request_of.inputs_of(request, collection, [*asked, policy], modules)
    with Progress(quiet=request.quiet) as progress, foreign_code():
        whole = evaluate(collection, asked, policy=policy, progress=progress.step, **request.options())
    result = dataclasses.replace(whole, cells=[c for c in whole.cells if c.measure in measures]) if gates else whole
    if not request.quiet:
        for line in told(collection, whole, request_of.about_inputs(request, asked, collection)):
            say(line)
    for line in weights_like_a_policy(collection, request.policy):
        say(line)
    failures = [text for gate in gates for text in gate.failures(whole)]
    if measures:
        try:
            _write(request, result, form)
        except BrokenPipeError:  # whoever read has read enough; conditions are told all the same
            leave_pipes()
    gated = {"fail_if": {"conditions": list(request.fail_if), "failed": failures}}
    request_of.write_manifest(
        request, inputs, whole.manifest, started, gated, made=whole, context=request.context_of(collection, policy)
    )
    tell(gates, failures, quiet=request.quiet)
    return Outcome(3 if failures else 0, result)


def _write(request: Request, result: Result, form: str) -> None:
    width = terminal_width() if request.output is None else None
    content = render(result, form, per_query=request.per_query, width=width, paths=request_of.paths_of(request))
    if request.output is not None:
        write_whole(request.output, content)
    else:
        write_out(content)
