"""The table of options: each option once, and which commands take it.

A command's part of a :class:`~lightmeter.cli.parsing.Request` is what stands in its row of :data:`COMMANDS`.
"""

from __future__ import annotations

from lightmeter.cli.parsing import (
    MOST_RESAMPLES,
    Choice,
    Command,
    Lists,
    Number,
    NumberLists,
    Option,
    Pairs,
    Text,
    Whole,
)

ABOUT = "Measure how rankings share out exposure, together with how relevant they are."

FORMATS = ("table", "csv", "jsonl", "parquet", "latex", "markdown")

_FILE = Text("FILE")
_COLUMN = Text("COLUMN")
_ATTRIBUTE = Text("ATTR")
_CONDITION = Text("CONDITION")
_LEVEL = "a number between 0 and 1, such as"


def _between_0_and_1(number: float) -> bool:
    return 0.0 < number < 1.0


# What is read

RUNS = Option(
    "RUN...",
    Text(),
    "Runs: TREC files or tables, plain or compressed; NAME=PATH names one. A folder or pattern is one run.",
    several=True,
    name="runs",
    label="a run",
)
RUN = Option("RUN", Text(), "The run to rerank: a TREC file or a table, plain or compressed.", label="the run")
QRELS = Option("--qrels", _FILE, "Judgments.")
GROUPS = Option(
    "--groups", Text("[NAME=]FILE[:KIND]"), "Groups of the documents; may be repeated.", several=True, name="groups"
)
TARGETS = Option("--targets", Text("[NAME=]FILE"), "Target shares of the groups; may be repeated.", several=True)
INTENTS = Option("--intents", _FILE, "Judgments by intent, 'query intent doc grade'.")
INTENT_PROBABILITIES = Option("--intent-probabilities", _FILE, "Probabilities of the intents.")
SEQUENCE = Option("--sequence", _FILE, "A sequence of queries: each weighs as often as it occurs.")
QUERIES = Option("--queries", _FILE, "A table with one row per query, for --segment.")
SEGMENT = Option("--segment", _COLUMN, "Show means by this column of the runs' tables or of --queries, too.")
COLUMNS = Option("--columns", Pairs(), "Names of the tables' columns, such as query=qid,doc=item.", several=True)
ORDINAL = Option(
    "--ordinal", Lists("ATTR=LOW,..,HIGH"), "The order of an attribute's values; may be repeated.", several=True
)
BINS = Option(
    "--bins",
    NumberLists("ATTR=0,1,11"),
    "Lower ends of the bins of a column of numbers; may be repeated.",
    several=True,
)
BIAS = Option("--bias", _ATTRIBUTE, "A column of bias scores in [-1, 1]; may be repeated.", several=True)
PLUGIN = Option(
    "--plugin",
    Text("MODULE"),
    "A module or .py file with measures of your own; may be repeated.",
    several=True,
    name="plugins",
)

# What is computed, and how

MEASURES = Option(
    "--measure -m",
    Text("MEASURE"),
    "What to compute, such as nDCG@10; may be repeated. 'lightmeter measures' lists the measures.",
    several=True,
    name="measures",
)
POLICY = Option(
    "--policy",
    Text("POLICY"),
    "How a run's rankings are understood, Static() or Samples(weight='sampling'), or the policy that makes new ones: "
    "PlackettLuce(alpha=1), RankTransposition(theta=0.5), Uniform, Oracle. Default: Samples() for runs with several "
    "rankings per query, else Static().",
)
SAMPLES = Option(
    "--samples", Whole(), "How many rankings to sample where a policy is not computed exactly.", default=100
)
DEPTH = Option("--depth", Whole(), "Look at the first N ranks only.")
TIES = Option(
    "--ties",
    Choice("docno", "file", "error", "expected"),
    "Order of equal scores: document id descending (default), as in the file, refused, or random.",
)
STATIC_TIES = TIES.but(
    value=Choice("docno", "file", "error"),
    help="Order of equal scores: document id descending (default), as in the file, or refused.",
)
UNKNOWN = Option(
    "--unknown",
    Choice("uniform", "drop", "distinct", "error"),
    "Documents whose group is not known: they count for all groups alike, belong to none, are a group each, or are "
    "refused.",
    default="uniform",
)
MISSING = Option(
    "--missing",
    Choice("zero", "skip", "error"),
    "Judged queries that a run does not answer: they count as 0 (the worst where lower is better), are left out, or "
    "are refused.",
    default="zero",
)
RNG = Option("--rng", Whole(0, None, "SEED"), "Seed of everything that is random.", default=0)
ENGINE = Option("--engine", Choice("local"), "Where to compute.", default="local")
LEVEL = Option("--level", Number("P", f"{_LEVEL} 0.95", _between_0_and_1), "Level of the intervals.", default=0.95)
RESAMPLES = Option("--resamples", Whole(1, MOST_RESAMPLES), "Resamples of the bootstrap over queries.", default=1000)
FAIL_IF = Option(
    "--fail-if",
    _CONDITION,
    "Exit with 3 where it holds for the mean of any run, or that mean is undefined, such as "
    "\"ABR(by='gender') < 0.8\"; may be repeated.",
    several=True,
)

# What is written

PER_QUERY = Option("--per-query", None, "Show the value of every query too, before the means.")
FORMAT = Option(
    "--format -f",
    Choice(*FORMATS, metavar="FORMAT"),
    "table, csv, jsonl, parquet, latex or markdown; by default what the ending of -o says, else table.",
)
OUTPUT = Option("--output -o", _FILE, "Write there, whole or not at all, instead of to standard output.")
RANKINGS = OUTPUT.but(
    help="Write the rankings there: .csv, .tsv, .jsonl and .parquet are tables, other names TREC; .gz and .zst "
    "compress."
)
MANIFEST = Option(
    "--manifest",
    _FILE,
    "Write how the result was made (JSON): version, command, inputs with hashes, conventions.",
)
REPORT = Option(
    "--report",
    Text("FILE.html"),
    "Write a report to read and hand over: one page with tables, pictures and how it was made; it needs no network.",
)
QUIET = Option("--quiet -q", None, "Write no conventions, notes and progress bar to standard error.")

_COLLECTION = (QRELS, GROUPS, TARGETS, INTENTS, INTENT_PROBABILITIES)
_COLUMNS = (COLUMNS, ORDINAL, BINS, BIAS)
_WRITTEN = (FORMAT, OUTPUT, MANIFEST, REPORT)

_EXIT_CODES = "Exit code: 0 done; 2 the input is wrong; 130 interrupted; 1 a defect."
_EXIT_CODES_OF_CONDITIONS = "Exit code: 0 done; 2 the input is wrong; 3 a --fail-if holds; 130 interrupted; 1 a defect."


def _examples(lines: str, after: str = _EXIT_CODES) -> str:
    """What stands below a command's help; click leaves the lines after ``\\b`` as they are."""
    return f"Examples:\n\n\b\n{lines}\n{after}\n"


EVALUATE = Command(
    "evaluate",
    """Compute measures for runs: a table of means, and with --per-query the value of every query.

    The result goes to standard output; the conventions it was made under, and what was ignored, to standard error.
    """,
    (
        RUNS,
        MEASURES,
        *_COLLECTION,
        SEQUENCE,
        QUERIES,
        SEGMENT,
        *_COLUMNS,
        POLICY,
        SAMPLES,
        RNG,
        DEPTH,
        TIES,
        UNKNOWN,
        MISSING,
        PLUGIN,
        FAIL_IF,
        ENGINE,
        PER_QUERY,
        *_WRITTEN,
        QUIET,
    ),
    "Compute measures for runs.",
    _examples(
        """\
  lightmeter evaluate run.txt --qrels qrels.txt -m nDCG@10 -m AP
  lightmeter evaluate a.run b.run --qrels qrels.txt --groups groups.csv \\
      -m "GF(by='gender')@20" -f jsonl
  lightmeter evaluate log.csv --columns query=qid,doc=item,score=p \\
      -m "ABR(by='brand')" --fail-if "ABR(by='brand') < 0.8"
""",
        f"{_EXIT_CODES_OF_CONDITIONS} In csv a text that a spreadsheet would compute (it begins with =) gets an "
        "apostrophe before it; jsonl and parquet have it as it stands.",
    ),
)

_REFUSED = {"help": "Refused.", "hidden": True}

COMPARE = Command(
    "compare",
    """Compare runs: which differ significantly, on which queries and why, and where measures disagree.

    Means with letters (runs that share one do not differ significantly), discriminative power, Kendall's tau between
    measures, the queries that change most. Every measure uses the queries that are defined for all runs.
    """,
    (
        RUNS,
        MEASURES,
        *_COLLECTION,
        SEQUENCE.but(**_REFUSED),
        QUERIES.but(**_REFUSED),
        SEGMENT.but(**_REFUSED),
        *_COLUMNS,
        Option(
            "--test",
            Choice("tukey", "t", "wilcoxon", "randomization", "bootstrap"),
            "Randomised Tukey HSD over all pairs of runs, or a paired test for each pair.",
            default="tukey",
        ),
        Option(
            "--alpha",
            Number("P", f"{_LEVEL} 0.05", _between_0_and_1),
            "Level of the tests; intervals have 1 - P.",
            default=0.05,
        ),
        Option(
            "--adjust",
            Choice("holm", "bh", "none"),
            "For many tests, over all that are made: Holm, Benjamini-Hochberg or none. By default none with tukey, "
            "which takes care of its pairs itself, else holm.",
        ),
        Option("--baseline", Text("RUN"), "Compare each run with this one, instead of all pairs."),
        RESAMPLES.but(help="Permutations or resamples of the test; by default 5000, or as needed.", default=None),
        Option("--changed", Whole(0), "How many queries to show for each measure, and each two measures.", default=5),
        POLICY,
        SAMPLES,
        RNG,
        DEPTH,
        TIES,
        UNKNOWN,
        MISSING,
        PLUGIN,
        FAIL_IF.but(
            help="Exit with 3 where it holds for the mean of any run over the queries defined for all runs, or that "
            "mean is undefined, such as \"nDCG@10 < 0.3\"; may be repeated. 'lightmeter evaluate --fail-if' looks at "
            "all queries."
        ),
        *_WRITTEN,
        QUIET,
    ),
    "Compare runs, with tests.",
    _examples(
        """\
  lightmeter compare a.run b.run c.run --qrels qrels.txt -m nDCG@10 -m AP
  lightmeter compare old=a.run new=b.run --qrels qrels.txt --groups groups.csv \\
      -m nDCG@10 -m "GF(by='gender')@20" --test randomization --baseline old
  lightmeter compare old=a.run new=b.run --qrels qrels.txt -m nDCG@10 --fail-if "nDCG@10 < 0.3"
""",
        _EXIT_CODES_OF_CONDITIONS,
    ),
)

SWEEP = Command(
    "sweep",
    """Rerank runs by policies from uniform to static: disparity, relevance, and the area below the curve (EEAUC).

    The table has the areas; the formats csv, jsonl and parquet have the points of the curves too.
    """,
    (
        RUNS,
        QRELS,
        POLICY.but(
            help="What is swept from uniform to static: PlackettLuce, \"PlackettLuce(scores='raw')\" or "
            "RankTransposition; may be repeated.",
            default=["PlackettLuce"],
            several=True,
            name="policies",
        ),
        Option(
            "--user",
            Text("USER"),
            "A user model, such as 'Cascade(p=0.5, u=0.5)' or 'DCG@20'; may be repeated.",
            default=["RBP(p=0.5)"],
            several=True,
            name="users",
        ),
        GROUPS,
        Option("--by", _ATTRIBUTE, "Curves of the groups of an attribute too; may be repeated.", several=True),
        INTENTS,
        INTENT_PROBABILITIES,
        SEQUENCE,
        *_COLUMNS,
        DEPTH.but(help="Candidates: the first N ranks of each ranking.", default=100),
        SAMPLES.but(
            value=Whole(3),
            help="How many rankings to sample for each query and parameter where exposure is not computed exactly; by "
            "default as many as bring the standard error of a mean to 0.002.",
            default=None,
        ),
        RESAMPLES,
        RNG,
        STATIC_TIES,
        UNKNOWN,
        MISSING,
        PLUGIN,
        PER_QUERY,
        *_WRITTEN,
        QUIET,
    ),
    "Draw curves of disparity and relevance.",
    _examples(
        """\
  lightmeter sweep run.txt --qrels qrels.txt
  lightmeter sweep a.run b.run --qrels qrels.txt --groups groups.csv --by gender \\
      --policy PlackettLuce --policy RankTransposition --user "RBP(p=0.8)" --depth 50
  lightmeter sweep run.txt --qrels qrels.txt -f jsonl -o curves.jsonl --report sweep.html
"""
    ),
)

AUDIT = Command(
    "audit",
    """Audit a table of scored people: who gets exposure, who is selected, and how sure that is.

    For each group, cutoff and the whole list: shares, mean scores, exposure, selection rates, their ratios and gaps
    with intervals, Fisher's test, skew, NDKL and FA*IR. Small groups are masked in everything that is written.
    """,
    (
        Option(
            "TABLE",
            Text(),
            "A table with one row per person: CSV, TSV, Parquet or JSON lines, plain or compressed.",
            label="the table",
        ),
        Option("--score", _COLUMN, "The score; repeat it to put models side by side.", several=True, name="scores"),
        Option(
            "--group",
            _COLUMN,
            "The group; may be repeated. 'sex,race' stands for the combinations.",
            several=True,
            name="attributes",
        ),
        Option("--label", _COLUMN, "Merit: 0 or 1, such as hired, or a number from 0 up."),
        Option("--query", _COLUMN, "The list that a row belongs to: lists are ranked apart and pooled."),
        Option(
            "--cutoff -k",
            Whole(metavar="K"),
            "How many people at the top are looked at; may be repeated. The whole list always is.",
            several=True,
            name="cutoffs",
        ),
        Option("--primary-cutoff", Whole(metavar="K"), "The cutoff that was chosen before the data were seen."),
        Option(
            "--reference",
            Text("[ATTR=]VALUE"),
            "The group to compare with, by default the largest; may be repeated.",
            several=True,
            name="references",
        ),
        Option(
            "--user",
            Text("USER"),
            "The user model that turns ranks into exposure, by default DCG with Inverse and RBP(p=0.99) beside it; may "
            "be repeated.",
            several=True,
            name="users",
        ),
        Option(
            "--ties",
            Choice("file", "expected", "error"),
            "Equal scores: in the order of the table, averaged over all orders, or refused.",
            default="file",
        ),
        Option("--min-cell", Whole(), "Mask groups of fewer rows; 1 masks nothing.", default=10),
        Option("--inferred", _COLUMN, "A group that was guessed and not stated; may be repeated.", several=True),
        Option("--preset", Choice("ll144"), "Lay the table out as New York City's 6 RCNY 5-300 and following ask."),
        Option(
            "--threshold",
            Number("SCORE"),
            "A score from which a decision would be positive, beside the median.",
        ),
        BINS.but(value=NumberLists("COLUMN=0,18,65")),
        RESAMPLES.but(value=Whole(0, MOST_RESAMPLES), help="Resamples of the bootstrap; 0 for none.", default=2000),
        LEVEL,
        RNG,
        PER_QUERY.but(help="Show the rows of every list of --query too, before those of all lists pooled."),
        Option(
            "--curve",
            _FILE,
            "Write share and exposure ratio over all cutoffs, with a simultaneous band (.csv, .jsonl, .parquet).",
        ),
        *_WRITTEN,
        Option(
            "--report-people",
            _COLUMN,
            "Show the first 20 of each list in the report, too, with codes in place of what this column holds. By "
            "default it shows groups only.",
        ),
        FAIL_IF.but(
            help='Exit with 3 where it holds for a row, or a row has no value, such as "exposure_ratio@100 < 0.8" or '
            "\"selection_rate_ratio(attribute='sex', group='f').high < 0.8\"; may be repeated. With --quiet and no "
            "--format the table is left out."
        ),
        QUIET,
    ),
    "Audit a table of scored people.",
    _examples(
        """\
  lightmeter audit people.csv --score p --group sex --group race --label hired -k 100 -k 1000
  lightmeter audit people.csv --score old --score new --group sex,race -k 50 --primary-cutoff 50
  lightmeter audit people.csv --score p --group sex --group race --preset ll144 -f markdown -o audit.md
  lightmeter audit people.csv --score p --group sex -k 100 --fail-if "exposure_ratio@100 < 0.8" --quiet
""",
        _EXIT_CODES_OF_CONDITIONS,
    ),
)

ATTENTION = Command(
    "attention",
    """Estimate from clicks how likely each rank is to be looked at.

    The curve with intervals, and below it the user model, ready for measures: -m "EER(user=Attention(weights=[..]))".
    """,
    (
        Option(
            "CLICKS",
            Text(),
            "A click log: a table with the columns query, doc, rank, clicked (0 or 1) and perhaps weight.",
            label="the click log",
        ),
        Option(
            "--method",
            Choice("rate", "pbm", "pairs"),
            "Click rate by rank, where ranks were random; the position-based model; documents seen at two ranks.",
            default="rate",
        ),
        COLUMNS,
        DEPTH,
        Option("--reference", Whole(metavar="RANK"), "The rank of weight 1.", default=1),
        LEVEL,
        RESAMPLES,
        RNG,
        FORMAT,
        OUTPUT,
        QUIET,
    ),
    "Estimate attention by rank from clicks.",
    _examples(
        """\
  lightmeter attention clicks.csv
  lightmeter attention clicks.csv --method pbm --depth 20 --rng 1 -f csv
  lightmeter attention clicks.csv --columns query=qid,doc=item,rank=position -o attention.csv
"""
    ),
)

_SAMPLES_PER_QUERY = SAMPLES.but(help="How many rankings to sample per query.")
_RERANKED_DEPTH = DEPTH.but(help="Rerank the first N documents, leave the others out.")

SAMPLE = Command(
    "sample",
    """Sample rankings from a policy and write them as a run with several rankings per query.

    'lightmeter evaluate' reads the run back: the rankings that 'evaluate RUN --policy POLICY' samples for the same
    seed.
    """,
    (
        RUN.but(help="The run that the policy starts from: a TREC file or a table, plain or compressed."),
        POLICY.but(
            help="What makes the rankings: PlackettLuce(alpha=1), RankTransposition(theta=0.5), Uniform, Oracle."
        ),
        _SAMPLES_PER_QUERY,
        RNG,
        _RERANKED_DEPTH,
        STATIC_TIES,
        QRELS,
        COLUMNS,
        PLUGIN,
        RANKINGS.but(help=f"{RANKINGS.help} By default TREC, to standard output."),
        QUIET,
    ),
    "Sample rankings from a policy.",
    _examples(
        """\
  lightmeter sample run.txt --policy "PlackettLuce(alpha=1)" --samples 20 -o drawn.run
  lightmeter sample run.txt --policy Oracle --qrels qrels.txt --depth 100 --rng 7 -o oracle.csv.gz
"""
    ),
)

RERANK = Command(
    "rerank",
    """Make fairer, more varied or random rankings of a run, write them, and show measures before and after.

    Below the table it says whether the method's guarantee holds, and where it does not.
    """,
    (
        RUN,
        Option(
            "--method",
            Text("METHOD"),
            "A reranker such as \"DetConstSort(by='gender')\" or \"FairTopK(by='gender', protected='f', p=0.4)@10\", "
            "or a policy such as 'PlackettLuce(alpha=1)'; 'lightmeter measures' lists them.",
        ),
        QRELS,
        GROUPS,
        TARGETS,
        SEQUENCE.but(
            help="A sequence of queries: Amortised answers them in order, and measures weigh each as often as it "
            "occurs."
        ),
        *_COLUMNS,
        MEASURES.but(
            help="What to show before and after, such as nDCG@10; may be repeated. By default relevance, disparity of "
            "exposure and what the method aims at."
        ),
        _SAMPLES_PER_QUERY,
        RNG,
        _RERANKED_DEPTH,
        STATIC_TIES,
        UNKNOWN.but(
            value=Choice("drop", "error"),
            help="Documents whose group is not known: they belong to none (a rank cannot be divided between groups, as "
            "evaluate does by default), or are refused.",
            default="drop",
        ),
        MISSING,
        Option("--strict", None, "Write nothing and exit with 2 where the method's guarantee does not hold."),
        PLUGIN,
        FORMAT.but(
            value=Choice("table", "csv", "jsonl", "latex", "markdown", metavar="FORMAT"),
            help="Format of the table: table, csv, jsonl, latex or markdown.",
            default="table",
        ),
        RANKINGS,
        MANIFEST,
        QUIET,
    ),
    "Rerank a run, and show what changes.",
    _examples(
        """\
  lightmeter rerank run.txt --method "DetConstSort(by='gender')@20" --groups groups.csv \\
      --qrels qrels.txt -o fairer.run
  lightmeter rerank run.txt --method "FairTopK(by='gender', protected='f', p=0.4)@10" \\
      --groups groups.csv -m "Share(by='gender')@10" --strict -o fairer.run
  lightmeter rerank run.txt --method ExposureOptimal --qrels qrels.txt -o policy.csv
  lightmeter evaluate policy.csv --policy "Samples(weight='probability')" --qrels qrels.txt -m EEL
"""
    ),
)

TRAIN = Command(
    "train",
    """Train rankers on graded queries for expected exposure, and compare losses by cross-validated EEAUC.

    Needs the extra 'learn' (torch, lightgbm). The table goes to standard output, all else to the folder.
    """,
    (
        Option(
            "DATA",
            Text(),
            "Queries in svmlight's or LETOR's form: 'grade qid:QUERY feature:value .. # comment'.",
            label="the data",
        ),
        Option(
            "--loss",
            Choice(
                "ee",
                "ee-gumbel",
                "parity",
                "parity-gumbel",
                "pointwise",
                "pairwise",
                "listnet",
                "lambdarank",
                metavar="LOSS",
            ),
            "ee, ee-gumbel, parity, parity-gumbel, pointwise, pairwise, listnet or lambdarank; may be repeated.",
            default=["ee"],
            several=True,
            name="losses",
        ),
        Option("--model", Choice("mlp", "lightgbm"), "Network or boosted trees.", default="mlp"),
        Option(
            "--lambda",
            Number("WEIGHT", "a number from 0 to 1", lambda weight: 0.0 <= weight <= 1.0),
            "Weight of disparity against relevance, from 0 to 1; of several the best by validation.",
            default=[0.5],
            several=True,
            name="lambdas",
        ),
        Option("--user", Text("USER"), "The user model: RBP, Cascade or ERR.", default="RBP(p=0.5)"),
        Option(
            "--train-user",
            Text("USER"),
            "Another user model for the losses of exposure, such as a more patient one where there are few queries; "
            "EEAUC keeps --user.",
        ),
        Option("--complete", None, "Grade 0 has a target exposure too."),
        Option("--binary", Number("GRADE", "a number"), "Grades from this on count as 1, others as 0."),
        Option("--sizes", _FILE, "Documents of each query, one number per line, where DATA has no qid."),
        Option("--group-feature", Whole(0), "Groups by bins of this feature; needs --bins N=..."),
        BINS.but(value=NumberLists("N=1000,10000"), help="The ends between the bins of the group feature."),
        Option("--groups", _FILE, "Groups of the documents.", name="groups_file"),
        Option("--by", _ATTRIBUTE, "The attribute of --groups, where there are several.", name="attribute"),
        Option("--folds", Whole(3), "Parts of cross-validation, 3 or more.", default=5),
        Option("--normalise", Choice("zscore", "log", "query", "none"), "Scale of the features.", default="zscore"),
        Option("--epochs", Whole(), "At most so many epochs (100), or trees (500)."),
        Option("--patience", Whole(), "Stop after so many without a better validation EEAUC (10, of trees 50)."),
        Option("--batch", Whole(), "Queries in a step of the network.", default=16),
        Option(
            "--learning-rate",
            Number("RATE", "a number above 0", lambda rate: rate > 0.0),
            "By default 0.001, of trees 0.05.",
        ),
        Option(
            "--dropout",
            Number("SHARE", "a number from 0 to below 1", lambda share: 0.0 <= share < 1.0),
            "Share of the network's units that are left out in training.",
            default=0.1,
        ),
        SAMPLES.but(help="How many rankings the gumbel losses sample.", default=20),
        Option(
            "--tau",
            Number("T", "a number above 0", lambda tau: tau > 0.0),
            "Temperature of the gumbel losses' smooth ranks.",
            default=0.1,
        ),
        RNG.but(flags="--rng --seed"),
        FORMAT.but(value=Choice("table", "csv", "jsonl", "markdown"), help="How to show the tables.", default="table"),
        OUTPUT.but(
            value=Text("FOLDER"),
            help="The folder of models, runs and tables: a new one, or one that an earlier training made.",
        ),
        QUIET,
    ),
    "Train rankers for exposure.",
    _examples(
        """\
  lightmeter train data.svm --loss ee --loss pointwise --loss pairwise -o out
  lightmeter train data.svm --model lightgbm --loss ee --loss parity \\
      --group-feature 130 --bins 130=1000,10000 -o trees
""",
        "The folder gets runs/LOSS.txt, qrels.txt and groups.csv for 'lightmeter sweep' and 'evaluate', the models and "
        "the tables. The same command goes on from where an interrupted one stopped.\n\n" + _EXIT_CODES,
    ),
)

MEASURES_COMMAND = Command(
    "measures",
    "List the measures, or show all about one.",
    (
        Option(
            "[NAME]",
            Text(),
            "A measure, user model, target, divergence or policy, such as nDCG or MAP@10: all about it.",
            name="term",
            label="the name",
        ),
        PLUGIN,
        FORMAT.but(value=Choice("table", "markdown", "jsonl"), help="How to write it.", default="table"),
    ),
    "List the measures, or show all about one.",
)

DEMO = Command(
    "demo",
    "Evaluate three synthetic runs, and say how to read it.",
    (REPORT,),
    "Evaluate three synthetic runs, and say how to read it.",
)

COMMANDS = (EVALUATE, COMPARE, SWEEP, AUDIT, ATTENTION, SAMPLE, RERANK, TRAIN, MEASURES_COMMAND, DEMO)
