"""What the command line takes. Each command checks nothing and runs nothing: it hands back a job."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lightmeter.cli import audit_takes, examples, takes, train_takes
from lightmeter.cli.command import PlainCommand

_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="lightmeter",
    help="Measure how rankings share out exposure, together with how relevant they are.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_HELP,
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


@app.command(
    cls=PlainCommand, context_settings=_HELP, epilog=examples.EVALUATE, short_help="Compute measures for runs."
)
def evaluate(
    context: typer.Context,
    runs: takes.Runs,
    measures: takes.Measures = None,
    qrels: takes.Qrels = None,
    groups: takes.Groups = None,
    targets: takes.Targets = None,
    intents: takes.Intents = None,
    intent_probabilities: takes.IntentProbabilities = None,
    sequence: takes.Sequence = None,
    queries: takes.Queries = None,
    segment: takes.Segment = None,
    columns: takes.Columns = None,
    ordinal: takes.Ordinal = None,
    bins: takes.Bins = None,
    bias: takes.Bias = None,
    policy: takes.Policy = None,
    samples: takes.Samples = None,
    rng: takes.Seed = None,
    depth: takes.Depth = None,
    ties: takes.Ties = None,
    unknown: takes.Unknown = "uniform",
    missing: takes.Missing = "zero",
    plugins: takes.Plugin = None,
    fail_if: takes.FailIf = None,
    engine: takes.Engine = "local",
    per_query: takes.PerQuery = False,
    form: takes.Form = None,
    output: takes.Output = None,
    manifest: takes.Manifest = None,
    report: takes.Report = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Compute measures for runs: a table of means, and with --per-query the value of every query.

    The result goes to standard output; the conventions it was made under, and what was ignored, to standard error.
    """
    given = dict(locals())
    from lightmeter.io.arrow import read_ahead

    reading = given.pop("context").obj or read_ahead(runs[0])
    from lightmeter.cli.evaluate import Request

    return Request.of(**given, reading=reading).run


@app.command(cls=PlainCommand, context_settings=_HELP, epilog=examples.COMPARE)
def compare(
    context: typer.Context,
    runs: takes.Runs,
    measures: takes.Measures = None,
    qrels: takes.Qrels = None,
    groups: takes.Groups = None,
    targets: takes.Targets = None,
    intents: takes.Intents = None,
    intent_probabilities: takes.IntentProbabilities = None,
    sequence: takes.NoSequence = None,
    queries: takes.NoQueries = None,
    segment: takes.NoSegment = None,
    columns: takes.Columns = None,
    ordinal: takes.Ordinal = None,
    bins: takes.Bins = None,
    bias: takes.Bias = None,
    test: takes.Test = "tukey",
    alpha: takes.Alpha = "0.05",
    adjust: takes.Adjust = None,
    baseline: takes.Baseline = None,
    resamples: takes.TestResamples = None,
    changed: takes.Changed = "5",
    policy: takes.Policy = None,
    samples: takes.Samples = None,
    rng: takes.Seed = None,
    depth: takes.Depth = None,
    ties: takes.Ties = None,
    unknown: takes.Unknown = "uniform",
    missing: takes.Missing = "zero",
    plugins: takes.Plugin = None,
    fail_if: takes.FailIfCompared = None,
    form: takes.Form = None,
    output: takes.Output = None,
    manifest: takes.Manifest = None,
    report: takes.Report = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Compare runs: which differ significantly, on which queries and why, and where measures disagree.

    Means with letters (runs that share one do not differ significantly), discriminative power, Kendall's tau between
    measures, the queries that change most. Every measure uses the queries that are defined for all runs.
    """
    given = dict(locals())
    from lightmeter.io.arrow import read_ahead

    reading = given.pop("context").obj or read_ahead(runs[0])
    from lightmeter.cli.compare import Request

    return Request.of(**given, reading=reading).run


@app.command(cls=PlainCommand, context_settings=_HELP, epilog=examples.SWEEP)
def sweep(
    runs: takes.Runs,
    qrels: takes.Qrels = None,
    policies: takes.Policies = None,
    users: takes.Users = None,
    groups: takes.Groups = None,
    by: takes.Bys = None,
    intents: takes.Intents = None,
    intent_probabilities: takes.IntentProbabilities = None,
    sequence: takes.Sequence = None,
    columns: takes.Columns = None,
    ordinal: takes.Ordinal = None,
    bins: takes.Bins = None,
    bias: takes.Bias = None,
    depth: takes.SweptDepth = None,
    samples: takes.SweptSamples = None,
    resamples: takes.Resamples = None,
    rng: takes.Seed = None,
    ties: takes.StaticTies = None,
    unknown: takes.Unknown = "uniform",
    missing: takes.Missing = "zero",
    plugins: takes.Plugin = None,
    per_query: takes.PerQuery = False,
    form: takes.Form = None,
    output: takes.Output = None,
    manifest: takes.Manifest = None,
    report: takes.Report = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Rerank runs by policies from uniform to static: disparity, relevance, and the area below the curve (EEAUC).

    The table has the areas; the formats csv, jsonl and parquet have the points of the curves too.
    """
    given = dict(locals())
    from lightmeter.cli.sweep import Request

    return Request.of(**given).run


@app.command(
    cls=PlainCommand, context_settings=_HELP, epilog=audit_takes.EXAMPLES, short_help="Audit a table of scored people."
)
def audit(
    table: audit_takes.Table,
    scores: audit_takes.Scores = None,
    groups: audit_takes.Groups = None,
    label: audit_takes.Label = None,
    query: audit_takes.Query = None,
    cutoffs: audit_takes.Cutoffs = None,
    primary: audit_takes.Primary = None,
    references: audit_takes.References = None,
    users: audit_takes.Users = None,
    ties: audit_takes.Ties = "file",
    min_cell: audit_takes.MinCell = None,
    inferred: audit_takes.Inferred = None,
    preset: audit_takes.Preset = None,
    threshold: audit_takes.Threshold = None,
    bins: audit_takes.Bins = None,
    resamples: audit_takes.Resamples = None,
    level: takes.Level = None,
    rng: takes.Seed = None,
    per_query: audit_takes.PerQuery = False,
    curve: audit_takes.Curve = None,
    form: takes.Form = None,
    output: takes.Output = None,
    manifest: takes.Manifest = None,
    report: takes.Report = None,
    people: audit_takes.People = None,
    fail_if: audit_takes.FailIf = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Audit a table of scored people: who gets exposure, who is selected, and how sure that is.

    For each group, cutoff and the whole list: shares, mean scores, exposure, selection rates, their ratios and gaps
    with intervals, Fisher's test, skew, NDKL and FA*IR. Small groups are masked in everything that is written.
    """
    given = dict(locals())
    from lightmeter.cli.audit import Request

    return Request.of(**given).run


@app.command(cls=PlainCommand, context_settings=_HELP, epilog=examples.ATTENTION)
def attention(
    clicks: takes.Clicks,
    method: takes.Method = "rate",
    columns: takes.Columns = None,
    depth: takes.Depth = None,
    reference: takes.Reference = None,
    level: takes.Level = None,
    resamples: takes.Resamples = None,
    rng: takes.Seed = None,
    form: takes.Form = None,
    output: takes.Output = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Estimate from clicks how likely each rank is to be looked at.

    The curve with intervals, and below it the user model, ready for measures: -m "EER(user=Attention(weights=[..]))".
    """
    given = dict(locals())
    from lightmeter.cli.attention import Request

    return Request.of(**given).run


@app.command(cls=PlainCommand, context_settings=_HELP, epilog=examples.SAMPLE)
def sample(
    run_file: takes.DrawnRun,
    policy: takes.DrawnPolicy = None,
    samples: takes.DrawnSamples = None,
    rng: takes.Seed = None,
    depth: takes.DrawnDepth = None,
    ties: takes.DrawnTies = None,
    qrels: takes.Qrels = None,
    columns: takes.Columns = None,
    plugins: takes.Plugin = None,
    output: takes.DrawnOutput = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Draw rankings from a policy and write them as a run with several rankings a query.

    'lightmeter evaluate' reads the run back: the rankings that 'evaluate RUN --policy POLICY' draws for the same seed.
    """
    given = dict(locals())
    from lightmeter.cli.sample import Request

    return Request.of(**given).run


@app.command(cls=PlainCommand, context_settings=_HELP, epilog=examples.RERANK)
def rerank(
    run_file: takes.RerankedRun,
    method: takes.RerankMethod = None,
    qrels: takes.Qrels = None,
    groups: takes.Groups = None,
    targets: takes.Targets = None,
    sequence: takes.RerankSequence = None,
    columns: takes.Columns = None,
    ordinal: takes.Ordinal = None,
    bins: takes.Bins = None,
    bias: takes.Bias = None,
    measures: takes.RerankMeasures = None,
    samples: takes.DrawnSamples = None,
    rng: takes.Seed = None,
    depth: takes.DrawnDepth = None,
    ties: takes.DrawnTies = None,
    unknown: takes.RerankUnknown = "drop",
    missing: takes.Missing = "zero",
    strict: takes.Strict = False,
    plugins: takes.Plugin = None,
    form: takes.RerankForm = None,
    made: takes.RerankOutput = None,
    manifest: takes.Manifest = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Make fairer, more varied or random rankings of a run, write them, and show measures before and after.

    Below the table it says whether the method's guarantee holds, and where it does not.
    """
    given = dict(locals())
    from lightmeter.cli.rerank import Request

    return Request.of(runs=[given.pop("run_file")], **given).run


@app.command(
    cls=PlainCommand, context_settings=_HELP, epilog=train_takes.EXAMPLES, short_help="Train rankers for exposure."
)
def train(
    data: train_takes.Data,
    losses: train_takes.Losses = None,
    model: train_takes.Model = "mlp",
    lambdas: train_takes.Lambdas = None,
    user: train_takes.User = "RBP(p=0.5)",
    train_user: train_takes.TrainUser = None,
    complete: train_takes.Complete = False,
    binary: train_takes.Binary = None,
    sizes: train_takes.Sizes = None,
    group_feature: train_takes.GroupFeature = None,
    bins: train_takes.Bins = None,
    groups: train_takes.Groups = None,
    by: train_takes.By = None,
    folds: train_takes.Folds = None,
    normalise: train_takes.Normalise = "zscore",
    epochs: train_takes.Epochs = None,
    patience: train_takes.Patience = None,
    batch: train_takes.Batch = None,
    rate: train_takes.Rate = None,
    dropout: train_takes.Dropout = None,
    samples: train_takes.Samples = None,
    tau: train_takes.Tau = None,
    rng: train_takes.Seed = None,
    form: train_takes.Form = None,
    folder: train_takes.Folder = None,
    quiet: takes.Quiet = False,
) -> Any:
    """Train rankers on graded queries for expected exposure, and compare losses by cross-validated EEAUC.

    Needs the extra 'learn' (torch, lightgbm). The table goes to standard output, all else to the folder.
    """
    given = dict(locals())
    from lightmeter.cli.train import Request

    return Request.of(**given).run


@app.command(cls=PlainCommand, context_settings=_HELP)
def measures(name: takes.Name = None, plugins: takes.Plugin = None, form: takes.MeasuresForm = "table") -> Any:
    """List the measures, or show all about one."""
    from functools import partial

    from lightmeter.cli.measures import show_measures

    return partial(show_measures, name, plugins or [], form)


@app.command(cls=PlainCommand, context_settings=_HELP)
def demo(report: takes.Report = None) -> Any:
    """Evaluate three synthetic runs, and say how to read it."""
    from functools import partial

    from lightmeter.cli.demo import run_demo

    return partial(run_demo, report)
