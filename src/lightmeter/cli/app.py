"""What the command line takes. Each command checks nothing and runs nothing: it hands back a job."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Several = list[str] | None
Text = str | None
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="lightmeter",
    help="Measure how rankings share out exposure, together with how relevant they are.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"lightmeter {version('lightmeter')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def lightmeter(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> Any:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(*name.split("/"), metavar=metavar, help=text, show_default=False)


@app.command(
    epilog="""Examples:

\b
lightmeter evaluate run.txt --qrels qrels.txt -m nDCG@10 -m AP
lightmeter evaluate a.run b.run --qrels qrels.txt --groups groups.csv -m "GF(by='gender')@20" -f jsonl
lightmeter evaluate log.csv --columns query=qid,doc=item,score=p -m "ABR(by='brand')" --fail-if "ABR(by='brand') < 0.8"

Exit code: 0 done; 2 the input is wrong; 3 a --fail-if holds, or its measure is undefined; 130 interrupted; 1 a defect.
"""
)
def evaluate(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Runs: TREC files or tables, plain or compressed; NAME=PATH names one. A folder or pattern is one run.",
            show_default=False,
        ),
    ],
    measure: Annotated[
        Several,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="What to compute, such as nDCG@10; repeat for several. 'lightmeter measures' lists them.",
            show_default=False,
        ),
    ] = None,
    qrels: Annotated[Text, _option("--qrels", "FILE", "Judgments.")] = None,
    groups: Annotated[
        Several, _option("--groups", "[NAME=]FILE[:KIND]", "Groups of the documents; may be repeated.")
    ] = None,
    targets: Annotated[
        Several, _option("--targets", "[NAME=]FILE", "Target shares of the groups; may be repeated.")
    ] = None,
    intents: Annotated[Text, _option("--intents", "FILE", "Judgments by intent (query intent doc grade).")] = None,
    intent_probabilities: Annotated[
        Text, _option("--intent-probabilities", "FILE", "Probabilities of the intents.")
    ] = None,
    sequence: Annotated[
        Text, _option("--sequence", "FILE", "A sequence of queries: each weighs as often as it occurs.")
    ] = None,
    queries: Annotated[Text, _option("--queries", "FILE", "A table by query, for --segment.")] = None,
    segment: Annotated[
        Text, _option("--segment", "COLUMN", "Means by this column of the run's table or of --queries, too.")
    ] = None,
    policy: Annotated[
        Text,
        _option(
            "--policy",
            "POLICY",
            "How rankings are taken: Static() or Samples(weight='sampling'). Default: as the run calls for.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="N", min=1, help="Look at the first N ranks only.", show_default=False),
    ] = None,
    ties: Annotated[
        Text,
        _option(
            "--ties",
            "docno|file|error",
            "Order of equal scores: by document id descending (default), as in the file, or refused.",
        ),
    ] = None,
    unknown: Annotated[
        str,
        typer.Option("--unknown", metavar="uniform|drop|distinct|error", help="Documents whose group is not known."),
    ] = "uniform",
    missing: Annotated[
        str, typer.Option("--missing", metavar="zero|skip|error", help="Judged queries that a run does not answer.")
    ] = "zero",
    columns: Annotated[
        Several, _option("--columns", "OURS=THEIRS,..", "Names of the columns of tables, such as query=qid,doc=item.")
    ] = None,
    ordinal: Annotated[
        Several, _option("--ordinal", "ATTR=LOW,..,HIGH", "The order of an attribute's values; may be repeated.")
    ] = None,
    bins: Annotated[
        Several, _option("--bins", "ATTR=0,1,11", "Lower ends of the bins of a number column; may be repeated.")
    ] = None,
    bias: Annotated[Several, _option("--bias", "ATTR", "A column of bias scores in [-1, 1]; may be repeated.")] = None,
    plugin: Annotated[
        Several, _option("--plugin", "MODULE", "A module or .py file with measures of your own; may be repeated.")
    ] = None,
    fail_if: Annotated[
        Several,
        _option(
            "--fail-if",
            "CONDITION",
            "Exit with 3 if it holds for the mean of any run, or if that is undefined, such as \"ABR(by='gender') < 0.8\"; may be repeated.",
        ),
    ] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="local", help="Where to compute.")] = "local",
    per_query: Annotated[
        bool, typer.Option("--per-query", help="The value of every query too, before the means.")
    ] = False,
    form: Annotated[
        Text,
        _option(
            "--format/-f",
            "FORMAT",
            "table (default), csv, jsonl, parquet, latex or markdown; by the ending of -o where not given.",
        ),
    ] = None,
    output: Annotated[
        Text, _option("--output/-o", "FILE", "Write there instead of to standard output; whole or not at all.")
    ] = None,
    manifest: Annotated[
        Text,
        _option(
            "--manifest",
            "FILE",
            "Write how the result was made (JSON): version, command, inputs with hashes, conventions.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No conventions, notes and progress on standard error.")
    ] = False,
) -> Any:
    """Compute measures for runs."""
    from lightmeter.cli.evaluate import Request

    return Request(
        runs=run,
        measures=measure or [],
        qrels=qrels,
        groups=groups or [],
        targets=targets or [],
        intents=intents,
        intent_probabilities=intent_probabilities,
        sequence=sequence,
        queries=queries,
        segment=segment,
        policy=policy,
        depth=depth,
        ties=ties,
        unknown=unknown,
        missing=missing,
        columns=columns or [],
        ordinal=ordinal or [],
        bins=bins or [],
        bias=bias or [],
        plugins=plugin or [],
        fail_if=fail_if or [],
        engine=engine,
        per_query=per_query,
        form=form,
        output=output,
        manifest=manifest,
        quiet=quiet,
    ).run


@app.command()
def measures(
    name: Annotated[
        Text,
        typer.Argument(
            metavar="[NAME]",
            help="A measure, user model, target, divergence or policy: all about it.",
            show_default=False,
        ),
    ] = None,
    plugin: Annotated[
        Several, _option("--plugin", "MODULE", "A module or .py file with measures of your own; may be repeated.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", "-f", metavar="table|markdown|jsonl", help="How to write it.")
    ] = "table",
) -> Any:
    """List the measures, or show one."""
    from functools import partial

    from lightmeter.cli.measures import show_measures

    return partial(show_measures, name, plugin or [], form)


@app.command()
def demo() -> Any:
    """Evaluate three synthetic runs that come with lightmeter, and say how to read the result."""
    from lightmeter.cli.demo import run_demo

    return run_demo
