"""What the command ``audit`` takes: arguments and options, each written once."""

from __future__ import annotations

from typing import Annotated

import typer

from lightmeter.cli.takes import _option as option

Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A table, a row a person: CSV, TSV, Parquet or JSON lines, plain or compressed.",
        show_default=False,
    ),
]
Scores = Annotated[
    list[str] | None, option("--score", takes="COLUMN", text="The score; repeat it to put models side by side.")
]
Groups = Annotated[
    list[str] | None,
    option("--group", takes="COLUMN", text="The group; may be repeated. 'sex,race' stands for the combinations."),
]
Label = Annotated[
    str | None, option("--label", takes="COLUMN", text="Merit: 0 or 1, such as hired, or a number from 0 up.")
]
Query = Annotated[
    str | None,
    option("--query", takes="COLUMN", text="Which list a row belongs to: lists are ranked apart and pooled."),
]
PerQuery = Annotated[
    bool, typer.Option("--per-query", help="The rows of every list of --query too, before those of all lists pooled.")
]
Cutoffs = Annotated[
    list[str] | None,
    option("--cutoff", "-k", takes="K", text="How many are looked at; may be repeated. The whole list always is."),
]
Primary = Annotated[
    str | None,
    option("--primary-cutoff", takes="K", text="The cutoff that was chosen before the data were seen."),
]
References = Annotated[
    list[str] | None,
    option(
        "--reference",
        takes="[ATTR=]VALUE",
        text="The group to compare with, by default the largest; may be repeated.",
    ),
]
Users = Annotated[
    list[str] | None,
    option(
        "--user",
        takes="USER",
        text="Whose attention exposure is, by default DCG with Inverse and RBP(p=0.99) beside it; may be repeated.",
    ),
]
Ties = Annotated[
    str,
    option(
        "--ties",
        takes="file|expected|error",
        text="Equal scores: in the order of the table, averaged, or refused.",
        default=True,
    ),
]
MinCell = Annotated[
    str | None,
    option("--min-cell", takes="N", text="Mask groups of fewer rows, by default 10; 1 masks nothing."),
]
Inferred = Annotated[
    list[str] | None,
    option("--inferred", takes="COLUMN", text="A group that was guessed and not stated; may be repeated."),
]
Preset = Annotated[
    str | None,
    option("--preset", takes="ll144", text="Lay the table out as New York City's 6 RCNY 5-300 and following ask."),
]
Threshold = Annotated[
    str | None,
    option("--threshold", takes="SCORE", text="A score from which a decision would be positive, beside the median."),
]
Bins = Annotated[
    list[str] | None,
    option("--bins", takes="COLUMN=0,18,65", text="Lower ends of the bins of a number column; may be repeated."),
]
Resamples = Annotated[
    str | None, option("--resamples", takes="N", text="Resamples of the bootstrap, by default 2000; 0 for none.")
]
Curve = Annotated[
    str | None,
    option(
        "--curve",
        takes="FILE",
        text="Write share and exposure ratio over all cutoffs, with a simultaneous band (.csv, .jsonl, .parquet).",
    ),
]

People = Annotated[
    str | None,
    option(
        "--report-people",
        takes="COLUMN",
        text="Show the first 20 of each list in the report, too, with codes in place of what this column holds. By "
        "default it shows groups only.",
    ),
]

FailIf = Annotated[
    list[str] | None,
    option(
        "--fail-if",
        takes="CONDITION",
        text='Exit with 3 where it holds for a row, or a row has no value, such as "exposure_ratio@100 < 0.8" or '
        "\"selection_rate_ratio(attribute='sex', group='f').high < 0.8\"; may be repeated. With --quiet and no "
        "--format the table is left out.",
    ),
]

EXAMPLES = """Examples:

\b
  lightmeter audit people.csv --score p --group sex --group race --label hired -k 100 -k 1000
  lightmeter audit people.csv --score old --score new --group sex,race -k 50 --primary-cutoff 50
  lightmeter audit people.csv --score p --group sex --group race --preset ll144 -f markdown -o audit.md
  lightmeter audit people.csv --score p --group sex -k 100 --fail-if "exposure_ratio@100 < 0.8" --quiet

Exit code: 0 done; 2 the input is wrong; 3 a --fail-if holds; 130 interrupted; 1 a defect.
"""
