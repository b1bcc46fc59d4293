"""The command ``evaluate``: load, evaluate, write."""

from __future__ import annotations

import dataclasses
import time

from lightmeter.cli.console import Progress, leave_pipes, say, terminal_width
from lightmeter.cli.inputs import input_notes, load_inputs, load_plugins, ranking_options, rankings_of, unnamed_runs
from lightmeter.cli.notation import check_measures, read_measure, read_measure_condition, read_policy
from lightmeter.cli.notes import result_lines, weights_like_a_policy
from lightmeter.cli.outputs import check_outputs, write_content, write_manifest
from lightmeter.cli.parsing import Request
from lightmeter.evaluation.evaluate import evaluate
from lightmeter.results.conditions import condition_lines, failures, read_conditions
from lightmeter.results.result import Result
from lightmeter.terms.plugins import foreign_code


def run(request: Request) -> int:
    """Evaluate; the exit code."""
    return evaluate_request(request)[0]


def evaluate_request(request: Request) -> tuple[int, Result]:
    """The exit code, and the result with the measures of ``-m``."""
    started = time.time()
    form = check_outputs(request)
    if not request.fail_if:
        check_measures(request.measures)
    plugins = load_plugins(request)
    with foreign_code():
        conditions = read_conditions(request.fail_if, read_measure_condition)
        measures = [read_measure(text) for text in request.measures]
        policy = None if request.policy is None else read_policy(request.policy, request.ties)
    computed = list(dict.fromkeys([*measures, *(c.measure for c in conditions)]))
    inputs = load_inputs(request, computed, [policy], plugins)
    collection = inputs.collection
    with Progress(quiet=request.quiet) as progress, foreign_code():
        whole = evaluate(collection, computed, policy=policy, progress=progress.step, **ranking_options(request))
    result = (
        dataclasses.replace(whole, cells=[c for c in whole.cells if c.measure in measures]) if conditions else whole
    )
    if not request.quiet:
        for line in result_lines(collection, whole, input_notes(request, computed, collection)):
            say(line)
    for line in weights_like_a_policy(collection, request.policy):
        say(line)
    failed = list(failures(whole, conditions))
    if measures:
        width = terminal_width() if request.output is None else None
        content = result.render(form, per_query=request.per_query, width=width, paths=unnamed_runs(request))
        try:
            write_content(request, content)
        except BrokenPipeError:  # whoever read has read enough; conditions are reported all the same
            leave_pipes()
    write_manifest(
        request,
        whole.manifest,
        inputs.files,
        started,
        {"fail_if": {"conditions": request.fail_if, "failed": failed}},
        within=inputs.within,
        result=whole,
        context=rankings_of(request, collection, policy),
    )
    for line in condition_lines(conditions, failed, "run", quiet=request.quiet):
        say(line)
    return 3 if failed else 0, result
