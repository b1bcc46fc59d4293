"""The command ``rerank``: load, rerank, write the rankings, and say what changed."""

from __future__ import annotations

import time
from typing import Any

from lightmeter.cli.console import say, terminal_width, write_out
from lightmeter.cli.inputs import input_notes, load_inputs, load_plugins, one_run, with_components
from lightmeter.cli.notation import read_measure
from lightmeter.cli.notes import result_lines
from lightmeter.cli.outputs import check_outputs, write_manifest
from lightmeter.cli.parsing import Request
from lightmeter.errors import LightmeterError
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.io.write_runs import run_format
from lightmeter.measures.groups import GF
from lightmeter.models.policies import Policy
from lightmeter.reranking.base import Reranker
from lightmeter.reranking.rerank import rerank, usual_measures
from lightmeter.reranking.result import Reranking
from lightmeter.results.text import printable
from lightmeter.terms.plugins import foreign_code, parse_term

_EXAMPLE = "Name one, such as --method \"DetConstSort(by='gender')\"; 'lightmeter measures' lists them."


def run(request: Request) -> int:
    """Rerank; the exit code."""
    started = time.time()
    if request.method is None:
        raise LightmeterError(f"no method is given. {_EXAMPLE}")
    if request.output == "-":
        raise LightmeterError("--output is '-', and standard output has the table. Name a file for the rankings.")
    if request.output is not None:
        run_format(request.output)
    form = check_outputs(request)
    request.runs = [request.run]
    plugins = load_plugins(request)
    with foreign_code():
        method = parse_term(request.method, "reranker")
        measures = [read_measure(measure) for measure in request.measures]
    _check_weights(request.output, method)
    by = getattr(method, "by", None)
    inputs = load_inputs(request, [*measures, *([GF(by=by)] if by else [])], [method], plugins)
    collection = inputs.collection
    one_run(collection, request.run)
    with foreign_code():
        reranking = rerank(
            collection,
            method,
            strict=request.strict,
            rng=request.rng,
            samples=request.samples,
            depth=request.depth,
            ties=request.ties,
            unknown=request.unknown,
        )
        shown = measures or usual_measures(method, collection)
        both = reranking.side_by_side(shown, unknown=request.unknown, missing=request.missing)
    if request.output is not None:
        reranking.write(request.output)
    outcome = outcome_lines(reranking, request.output)
    if not request.quiet:
        notes = [*input_notes(request, [*shown], collection), *unknown_note(reranking, shown)]
        for line in [*result_lines(collection, both, notes), *(outcome if form != "table" else [])]:
            say(line)
    content = both.render(form, width=terminal_width())
    if form == "table":
        content += "".join(f"{printable(line)}\n" for line in ["", *outcome]).encode()
    more = {"method": str(method), "rankings": request.output, "guarantee": outcome[0], "seed": request.rng}
    write_manifest(request, both.manifest, inputs.files, started, more, within=inputs.within)
    write_out(content)
    return 0


def _check_weights(output: str | None, method: Reranker | Policy) -> None:
    """A policy with probabilities needs a table."""
    weighted = isinstance(method, Reranker) and method.makes == "policy"
    if output is not None and weighted and run_format(output)[0] == "trec":
        raise LightmeterError(
            f"--output {output}: {type(method).__name__} makes a policy with probabilities, and TREC's six columns "
            "have no place for weights. Name a table: .csv, .tsv, .jsonl or .parquet."
        )


def unknown_note(reranking: Reranking, measures: list[Any]) -> list[str]:
    """That ``evaluate`` gives other values by default, where a document is of no known group."""
    attributes = {m.attribute for m in with_components(measures) if m.attribute is not None}
    context = ranked_context(reranking.before, None, reranking.ties, reranking.depth, every_query=True)
    if reranking.unknown != "drop" or not any(
        ranked.unknown_share(by)[0] > 0 for by in attributes for ranked in context.ranked.values()
    ):
        return []
    return [
        "documents of unknown group belong to none here, since a rank cannot be divided between groups; evaluate "
        "counts them for all groups alike by default, and gives these values with --unknown drop"
    ]


def outcome_lines(reranking: Reranking, path: str | None) -> list[str]:
    """Whether the guarantee holds, and where the rankings are."""
    several = "sample" in reranking.run.columns
    many = reranking.run.select("query", "sample").n_unique() if several else reranking.run["query"].n_unique()
    what = f"{many} rankings" if many > 1 else "1 ranking"
    lines = [f"{reranking.method}: {reranking.told}", *([] if reranking.advice is None else [reranking.advice])]
    if path is None:
        lines.append(f"{what} made and not written: name a file with -o")
        return lines
    policy = f', to be read with --policy "{reranking.policy}"' if "weight" in reranking.run.columns else ""
    return [*lines, f"{what} written to {path}{policy}"]
