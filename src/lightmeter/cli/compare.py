"""The command ``compare``: load, evaluate, test, write."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

from lightmeter.cli.console import Progress, leave_pipes, say, terminal_width
from lightmeter.cli.inputs import input_notes, load_inputs, load_plugins, ranking_options, rankings_of, unnamed_runs
from lightmeter.cli.notation import check_measures, read_measure, read_measure_condition, read_policy
from lightmeter.cli.notes import result_lines, weights_like_a_policy
from lightmeter.cli.outputs import DATA_FORMATS, check_outputs, write_content, write_manifest
from lightmeter.cli.parsing import Request
from lightmeter.comparing.compare import check_by_query, compare
from lightmeter.errors import LightmeterError
from lightmeter.results.conditions import condition_lines, failures, read_conditions
from lightmeter.terms.notation import Condition
from lightmeter.terms.plugins import foreign_code


def run(request: Request) -> int:
    """Compare; the exit code."""
    started = time.time()
    _refuse_weights_and_segments(request)
    form = check_outputs(request)
    check_measures(request.measures)
    if request.resamples is not None and request.test in ("t", "wilcoxon"):
        raise LightmeterError(f"--resamples plays no part in --test {request.test}. Leave it out.")
    plugins = load_plugins(request)
    with foreign_code():
        conditions = read_conditions(request.fail_if, read_measure_condition)
        measures = [read_measure(measure) for measure in request.measures]
        policy = None if request.policy is None else read_policy(request.policy, request.ties)
    check_by_query(measures)  # before anything that they need is required
    _check_conditions(conditions, measures)
    inputs = load_inputs(request, measures, [policy], plugins)
    collection = inputs.collection
    with Progress(quiet=request.quiet) as progress, foreign_code():
        comparison = compare(
            collection,
            measures,
            test=request.test,
            alpha=request.alpha,
            adjust=request.adjust,
            baseline=request.baseline,
            resamples=request.resamples,
            changed=request.changed,
            policy=policy,
            progress=progress.step,
            **ranking_options(request),
        )
    if not request.quiet:
        result = dataclasses.replace(comparison.result, conventions=comparison.conventions)
        notes = input_notes(request, measures, collection)
        if form in DATA_FORMATS:
            notes += comparison.notes  # the other formats have them below their tables
        for line in result_lines(collection, result, notes):
            say(line)
    for line in weights_like_a_policy(collection, request.policy):
        say(line)
    failed = list(failures(comparison, conditions))
    width = terminal_width() if request.output is None else None
    content = comparison.render(form, width=width, paths=unnamed_runs(request))
    try:
        write_content(request, content)
    except BrokenPipeError:  # whoever read has read enough; the manifest is written all the same
        leave_pipes()
    outcome = {"fail_if": {"conditions": request.fail_if, "failed": failed}} if conditions else {}
    write_manifest(
        request,
        comparison.manifest,
        inputs.files,
        started,
        {"seed": comparison.plan.rng, **outcome},
        within=inputs.within,
        result=comparison,
        context=rankings_of(request, collection, policy),
    )
    for line in condition_lines(conditions, failed, "run", quiet=request.quiet):
        say(line)
    return 3 if failed else 0


def _refuse_weights_and_segments(request: Request) -> None:
    """What ``evaluate`` does by query and no test here does, with what to do instead."""
    if request.sequence is not None:
        raise LightmeterError(
            "compare takes no --sequence: its tests and intervals count every query once and are not defined for "
            "weights. Leave it out; 'lightmeter evaluate --sequence FILE' shows the weighted means."
        )
    if request.segment is not None or request.queries is not None:
        raise LightmeterError(
            "compare takes no --segment and no --queries: it tests all judged queries together. To compare within a "
            "segment, give --qrels with its queries only; 'lightmeter evaluate --segment COLUMN' shows the means by "
            "segment."
        )


def _check_conditions(conditions: list[Condition], measures: list[Any]) -> None:
    """Conditions are about means that are shown; another measure would be one more test."""
    for condition in conditions:
        if condition.measure not in measures:
            known = ", ".join(map(str, measures))
            raise LightmeterError(
                f"--fail-if: {condition.measure} is not compared. Accepted: {known}. Add -m for it, "
                "or use 'lightmeter evaluate --fail-if'."
            )
