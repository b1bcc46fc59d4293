"""The command ``audit``: a table of scored people in, who gets exposure and who is selected out."""

from __future__ import annotations

import time
from typing import Any

from lightmeter.auditing.conditions import FORM, read_condition
from lightmeter.auditing.layout import remarks
from lightmeter.auditing.public import audit
from lightmeter.cli.console import Progress, leave_pipes, say, terminal_width
from lightmeter.cli.outputs import (
    DATA_FORMATS,
    check_outputs,
    ending_format,
    write_content,
    write_manifest,
    written_files,
)
from lightmeter.cli.parsing import Request
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_not_input, write_whole
from lightmeter.results.conditions import condition_lines, failures, read_conditions
from lightmeter.results.table import WRITERS

#: rows that meet a condition and are listed one by one
_LISTED = 20


def run(request: Request) -> int:
    """Audit; the exit code."""
    started = time.time()
    curve_form = _check(request)
    form = check_outputs(request)
    conditions = read_conditions(request.fail_if, read_condition, FORM)
    options = _options(request)
    with Progress(quiet=request.quiet, what="auditing") as progress:
        result = audit(request.table, **options, progress=progress.step)
    failed = list(failures(result, conditions))
    people = _people(request, options)
    files = [f for i in result.manifest["inputs"] for f in i["files"]]
    for option, path in written_files(request):
        check_not_input(path, option, [request.table, *files])
    content = result.render(form, width=terminal_width() if request.output is None else None)
    if request.output is not None:
        write_content(request, content)
    if request.curve is not None:
        write_whole(request.curve, WRITERS[curve_form](result.curves))
    outcome = {"fail_if": {"conditions": request.fail_if, "failed": failed}} if conditions else {}
    write_manifest(
        request, result.manifest, files, started, {"seed": request.rng, **outcome}, result=result, people=people
    )
    if not request.quiet:
        for line in remarks(result) if request.output is not None or form in DATA_FORMATS else []:
            say(line)
        for what, count in result.manifest["ignored"].items():
            say(f"ignored: {what}: {count}")
    conditions_only = request.quiet and request.fail_if and request.format is None
    if request.output is None and not conditions_only:
        try:
            write_content(request, content)
        except BrokenPipeError:  # whoever read has read enough; conditions are reported all the same
            leave_pipes()
    for line in condition_lines(conditions, failed, "row", most=_LISTED, quiet=request.quiet):
        say(line)
    return 3 if failed else 0


def _check(request: Request) -> str:
    """Refuse what cannot be, before anything is read; the format of the curve."""
    for option, values in (("--score", request.scores), ("--group", request.attributes)):
        if not values:
            raise LightmeterError(f"no {option} is given. Accepted: {option} COLUMN, one of the table's.")
    if request.report_people is not None and request.report is None:
        raise LightmeterError("--report-people says what the report shows. Name the report: --report FILE.html.")
    form = ending_format(request.curve)
    if request.curve is not None and form not in DATA_FORMATS:
        raise LightmeterError(f"--curve {request.curve}: the name says no format. Accepted: .csv, .jsonl, .parquet.")
    return form or ""


def _options(request: Request) -> dict[str, Any]:
    """The options of :func:`lightmeter.audit`."""
    return {
        "score": request.scores,
        "group": request.attributes,
        "label": request.label,
        "query": request.query,
        "cutoffs": request.cutoffs,
        "primary_cutoff": request.primary_cutoff,
        "reference": _references(request),
        "users": request.users or None,
        "ties": request.ties,
        "min_cell": request.min_cell,
        "inferred": request.inferred,
        "preset": request.preset,
        "threshold": request.threshold,
        "bins": request.bins or None,
        "resamples": request.resamples,
        "level": request.level,
        "per_query": request.per_query,
        "rng": request.rng,
    }


def _references(request: Request) -> str | dict[str, str] | None:
    """One value, or values by attribute."""
    attributes = [",".join(part.strip() for part in group.split(",")) for group in request.attributes]
    if request.preset:
        attributes.append(",".join(attributes))
    references: dict[str, str] = {}
    for text in request.references:
        name, equals, value = (part.strip() for part in text.partition("="))
        if equals and name in attributes:
            if name in references:
                raise LightmeterError(f"--reference: {name!r} is given twice. Accepted: once each.")
            references[name] = value
        elif len(request.references) > 1:
            raise LightmeterError(
                f"--reference {text}: of several, each names its group. Accepted: ATTR=VALUE, ATTR one of "
                f"{', '.join(attributes)}."
            )
        else:
            return str(text)
    return references or None


def _people(request: Request, options: dict[str, Any]) -> Any:
    """A table of individual people for the report, where that is asked for."""
    if request.report_people is None:
        return None
    from lightmeter.report.people import people_of

    return people_of(request.table, request.report_people, options)
