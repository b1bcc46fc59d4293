"""What the commands take: arguments and options, each written once.

A command's signature names them: ``runs: takes.Runs``.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer


def _option(*names: str, takes: str, text: str, default: bool = False, hidden: bool = False) -> Any:
    return typer.Option(*names, metavar=takes, help=text, show_default=default, hidden=hidden)


# What several commands take
Plugin = Annotated[
    list[str] | None,
    _option("--plugin", takes="MODULE", text="A module or .py file with measures of your own; may be repeated."),
]

# Inputs
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...",
        help="Runs: TREC files or tables, plain or compressed; NAME=PATH names one. A folder or pattern is one run.",
        show_default=False,
    ),
]
Qrels = Annotated[str | None, _option("--qrels", takes="FILE", text="Judgments.")]
Groups = Annotated[
    list[str] | None,
    _option("--groups", takes="[NAME=]FILE[:KIND]", text="Groups of the documents; may be repeated."),
]
Targets = Annotated[
    list[str] | None, _option("--targets", takes="[NAME=]FILE", text="Target shares of the groups; may be repeated.")
]
Intents = Annotated[
    str | None, _option("--intents", takes="FILE", text="Judgments by intent, 'query intent doc grade'.")
]
IntentProbabilities = Annotated[
    str | None, _option("--intent-probabilities", takes="FILE", text="Probabilities of the intents.")
]
Sequence = Annotated[
    str | None, _option("--sequence", takes="FILE", text="A sequence of queries: each weighs as often as it occurs.")
]
Queries = Annotated[str | None, _option("--queries", takes="FILE", text="A table by query, for --segment.")]
Segment = Annotated[
    str | None,
    _option("--segment", takes="COLUMN", text="Means by this column of the runs' tables or of --queries, too."),
]
Columns = Annotated[
    list[str] | None,
    _option("--columns", takes="OURS=THEIRS,..", text="Names of the tables' columns, such as query=qid,doc=item."),
]
Ordinal = Annotated[
    list[str] | None,
    _option("--ordinal", takes="ATTR=LOW,..,HIGH", text="The order of an attribute's values; may be repeated."),
]
Bins = Annotated[
    list[str] | None,
    _option("--bins", takes="ATTR=0,1,11", text="Lower ends of the bins of a number column; may be repeated."),
]
Bias = Annotated[
    list[str] | None, _option("--bias", takes="ATTR", text="A column of bias scores in [-1, 1]; may be repeated.")
]

# What to compute, and how
Measures = Annotated[
    list[str] | None,
    _option(
        "--measure",
        "-m",
        takes="MEASURE",
        text="What to compute, such as nDCG@10; repeat it for several. 'lightmeter measures' lists them.",
    ),
]
Policy = Annotated[
    str | None,
    _option(
        "--policy",
        takes="POLICY",
        text="How rankings are taken, Static() or Samples(weight='sampling'), or made: PlackettLuce(alpha=1), "
        "RankTransposition(theta=0.5), Uniform, Oracle. By default as the runs call for.",
    ),
]
Samples = Annotated[
    str | None,
    _option("--samples", takes="N", text="Rankings drawn where a policy is not computed exactly; by default 100."),
]
Depth = Annotated[str | None, _option("--depth", takes="N", text="Look at the first N ranks only.")]
Ties = Annotated[
    str | None,
    _option(
        "--ties",
        takes="docno|file|error|expected",
        text="Order of equal scores: document id descending (default), as in the file, refused, or random.",
    ),
]
Unknown = Annotated[
    str,
    _option(
        "--unknown",
        takes="uniform|drop|distinct|error",
        text="Documents whose group is not known: count for all alike, belong to none, each a group, or refused.",
        default=True,
    ),
]
Missing = Annotated[
    str,
    _option(
        "--missing",
        takes="zero|skip|error",
        text="Judged queries that a run does not answer: 0 (the worst where lower is better), left out, or refused.",
        default=True,
    ),
]
FailIf = Annotated[
    list[str] | None,
    _option(
        "--fail-if",
        takes="CONDITION",
        text="Exit with 3 where it holds for the mean of any run, or that mean is undefined, such as "
        "\"ABR(by='gender') < 0.8\"; may be repeated.",
    ),
]
FailIfCompared = Annotated[
    list[str] | None,
    _option(
        "--fail-if",
        takes="CONDITION",
        text="Exit with 3 where it holds for the mean of any run over the queries defined for all runs, or that mean "
        "is undefined, such as \"nDCG@10 < 0.3\"; may be repeated. 'lightmeter evaluate --fail-if' looks at all "
        "queries.",
    ),
]
Engine = Annotated[str, _option("--engine", takes="local", text="Where to compute.", default=True)]

# Output
PerQuery = Annotated[bool, typer.Option("--per-query", help="The value of every query too, before the means.")]
Form = Annotated[
    str | None,
    _option(
        "--format",
        "-f",
        takes="FORMAT",
        text="table, csv, jsonl, parquet, latex or markdown; by default what the ending of -o says, else table.",
    ),
]
Output = Annotated[
    str | None,
    _option("--output", "-o", takes="FILE", text="Write there, whole or not at all, instead of to standard output."),
]
Manifest = Annotated[
    str | None,
    _option(
        "--manifest",
        takes="FILE",
        text="Write how the result was made (JSON): version, command, inputs with hashes, conventions.",
    ),
]
Report = Annotated[
    str | None,
    _option(
        "--report",
        takes="FILE.html",
        text="Write a report to read and hand over: one page with tables, pictures and how it was made; no network.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No conventions, notes and progress bar on standard error.")]
MeasuresForm = Annotated[
    str, _option("--format", "-f", takes="table|markdown|jsonl", text="How to write it.", default=True)
]
Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A measure, user model, target, divergence or policy, such as nDCG or MAP@10: all about it.",
        show_default=False,
    ),
]

# Clicks
Clicks = Annotated[
    str,
    typer.Argument(
        metavar="CLICKS",
        help="A click log: a table with the columns query, doc, rank, clicked (0 or 1) and perhaps weight.",
        show_default=False,
    ),
]
Method = Annotated[
    str,
    _option(
        "--method",
        takes="rate|pbm|pairs",
        text="Click rate by rank, for ranks put at random; the position-based model; documents seen at two ranks.",
        default=True,
    ),
]
Reference = Annotated[str | None, _option("--reference", takes="RANK", text="The rank of weight 1; by default 1.")]
Level = Annotated[str | None, _option("--level", takes="P", text="Level of the intervals; by default 0.95.")]
Resamples = Annotated[
    str | None, _option("--resamples", takes="N", text="Resamples of the bootstrap over queries; by default 1000.")
]

# Comparison
Test = Annotated[
    str,
    _option(
        "--test",
        takes="tukey|t|wilcoxon|randomization|bootstrap",
        text="Randomised Tukey HSD over all pairs of runs, or a paired test for each pair.",
        default=True,
    ),
]
Alpha = Annotated[str, _option("--alpha", takes="P", text="Level of the tests; intervals have 1 - P.", default=True)]
Adjust = Annotated[
    str | None,
    _option(
        "--adjust",
        takes="holm|bh|none",
        text="For many tests, over all that are made: Holm, Benjamini-Hochberg or none. By default none with tukey, "
        "which takes care of its pairs itself, else holm.",
    ),
]
Baseline = Annotated[
    str | None, _option("--baseline", takes="RUN", text="Compare each run with this one, instead of all pairs.")
]
TestResamples = Annotated[
    str | None,
    _option("--resamples", takes="N", text="Permutations or resamples of the test; by default 5000, or as needed."),
]
#: options of evaluate that compare answers with what to do instead
NoSequence = Annotated[str | None, _option("--sequence", takes="FILE", text="Refused.", hidden=True)]
NoQueries = Annotated[str | None, _option("--queries", takes="FILE", text="Refused.", hidden=True)]
NoSegment = Annotated[str | None, _option("--segment", takes="COLUMN", text="Refused.", hidden=True)]
Changed = Annotated[
    str,
    _option("--changed", takes="N", text="Queries to tell of for each measure, and each two measures.", default=True),
]

# Sweeps
Policies = Annotated[
    list[str] | None,
    _option(
        "--policy",
        takes="POLICY",
        text="What is swept from uniform to static: PlackettLuce (default), \"PlackettLuce(scores='raw')\" or "
        "RankTransposition; may be repeated.",
    ),
]
Users = Annotated[
    list[str] | None,
    _option(
        "--user",
        takes="USER",
        text="A user model, such as 'Cascade(p=0.5, u=0.5)' or 'DCG@20', by default RBP(p=0.5); may be repeated.",
    ),
]
Bys = Annotated[
    list[str] | None,
    _option("--by", takes="ATTR", text="Curves of the groups of an attribute too; may be repeated."),
]
SweptDepth = Annotated[
    str | None, _option("--depth", takes="N", text="Candidates: the first N ranks of each ranking; by default 100.")
]
SweptSamples = Annotated[
    str | None,
    _option(
        "--samples",
        takes="N",
        text="Rankings drawn for each query and parameter where exposure is not computed exactly; by default as many "
        "as bring the standard error of a mean to 0.002.",
    ),
]
StaticTies = Annotated[
    str | None,
    _option("--ties", takes="docno|file|error", text="Order of equal scores in the ranking as given; default docno."),
]

# Drawn rankings
DrawnRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run that the policy starts from: a TREC file or a table, plain or compressed.",
        show_default=False,
    ),
]
DrawnPolicy = Annotated[
    str | None,
    _option(
        "--policy",
        takes="POLICY",
        text="What makes the rankings: PlackettLuce(alpha=1), RankTransposition(theta=0.5), Uniform, Oracle.",
    ),
]
DrawnSamples = Annotated[str | None, _option("--samples", takes="N", text="Rankings a query; by default 100.")]
DrawnDepth = Annotated[
    str | None, _option("--depth", takes="N", text="Rerank the first N documents, leave the others out.")
]
DrawnTies = Annotated[
    str | None, _option("--ties", takes="docno|file|error", text="Order of equal scores in the run; by default docno.")
]
DrawnOutput = Annotated[
    str | None,
    _option(
        "--output",
        "-o",
        takes="FILE",
        text="Write there instead of to standard output: .csv, .tsv, .jsonl and .parquet are tables, other names "
        "TREC; .gz and .zst compress.",
    ),
]
# Reranking
RerankedRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The run to rerank: a TREC file or a table, plain or compressed.", show_default=False
    ),
]
RerankMethod = Annotated[
    str | None,
    _option(
        "--method",
        takes="METHOD",
        text="A reranker such as \"DetConstSort(by='gender')\" or \"FairTopK(by='gender', protected='f', p=0.4)@10\", "
        "or a policy such as 'PlackettLuce(alpha=1)'; 'lightmeter measures' lists them.",
    ),
]
RerankMeasures = Annotated[
    list[str] | None,
    _option(
        "--measure",
        "-m",
        takes="MEASURE",
        text="What to show before and after, such as nDCG@10; repeat it for several. By default relevance, disparity "
        "of exposure and what the method is after.",
    ),
]
RerankUnknown = Annotated[
    str,
    _option(
        "--unknown",
        takes="drop|error",
        text="Documents whose group is not known: belong to none (a rank cannot be divided between groups, as evaluate "
        "does by default), or refused.",
        default=True,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Write nothing and exit with 2 where the method's guarantee does not hold."),
]
RerankForm = Annotated[
    str | None,
    _option("--format", "-f", takes="FORMAT", text="Of the table: table (default), csv, jsonl, latex or markdown."),
]
RerankSequence = Annotated[
    str | None,
    _option(
        "--sequence",
        takes="FILE",
        text="A sequence of queries: Amortised answers them in order, and measures weigh each as often as it occurs.",
    ),
]
RerankOutput = Annotated[
    str | None,
    _option(
        "--output",
        "-o",
        takes="FILE",
        text="Write the rankings there: .csv, .tsv, .jsonl and .parquet are tables, other names TREC; .gz and .zst "
        "compress.",
    ),
]
Seed = Annotated[str | None, _option("--rng", takes="SEED", text="Seed of what is drawn at random; by default 0.")]
