"""What ``lightmeter train`` takes."""

from __future__ import annotations

from typing import Annotated

import typer

from lightmeter.cli.takes import _option

EXAMPLES = """Examples:

\b
  lightmeter train data.svm --loss ee --loss pointwise --loss pairwise -o out
  lightmeter train data.svm --model lightgbm --loss ee --loss parity \\
      --group-feature 130 --bins 130=1000,10000 -o trees

The folder gets runs/LOSS.txt, qrels.txt and groups.csv for 'lightmeter sweep' and 'evaluate', the models, the tables.
The same command goes on from where an interrupted one stopped.

Exit code: 0 done; 2 the input is wrong; 130 interrupted; 1 a defect.
"""

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Queries in svmlight's or LETOR's form: 'grade qid:QUERY feature:value .. # comment'.",
        show_default=False,
    ),
]
Sizes = Annotated[
    str | None,
    _option("--sizes", takes="FILE", text="Documents of each query, one number a line, where DATA has no qid."),
]
Model = Annotated[str, _option("--model", takes="mlp|lightgbm", text="Network or boosted trees.", default=True)]
Losses = Annotated[
    list[str] | None,
    _option(
        "--loss",
        takes="LOSS",
        text="ee, ee-gumbel, parity, parity-gumbel, pointwise, pairwise, listnet or lambdarank; repeat it for several. "
        "By default ee.",
    ),
]
Lambdas = Annotated[
    list[str] | None,
    _option(
        "--lambda",
        takes="WEIGHT",
        text="Weight of disparity against relevance, from 0 to 1; of several the best by validation. By default 0.5.",
    ),
]
User = Annotated[str, _option("--user", takes="USER", text="The reader: RBP, Cascade or ERR.", default=True)]
TrainUser = Annotated[
    str | None,
    _option(
        "--train-user",
        takes="USER",
        text="Another reader for the losses of exposure, such as a more patient one where there are few queries; EEAUC "
        "keeps --user.",
    ),
]
Complete = Annotated[bool, typer.Option("--complete", help="Grade 0 has a target exposure too.")]
Binary = Annotated[str | None, _option("--binary", takes="GRADE", text="Grades from this on count as 1, others as 0.")]
GroupFeature = Annotated[
    str | None, _option("--group-feature", takes="N", text="Groups by bins of this feature; needs --bins N=...")
]
Bins = Annotated[
    list[str] | None, _option("--bins", takes="N=1000,10000", text="The ends between the bins of the group feature.")
]
By = Annotated[str | None, _option("--by", takes="ATTR", text="The attribute of --groups, where there are several.")]
Groups = Annotated[str | None, _option("--groups", takes="FILE", text="Groups of the documents.")]
Folds = Annotated[str | None, _option("--folds", takes="N", text="Parts of cross-validation, 3 or more; by default 5.")]
Normalise = Annotated[
    str, _option("--normalise", takes="zscore|log|query|none", text="Scale of the features.", default=True)
]
Epochs = Annotated[str | None, _option("--epochs", takes="N", text="At most so many epochs (100), or trees (500).")]
Patience = Annotated[
    str | None, _option("--patience", takes="N", text="Stop after so many without a better validation EEAUC (10, 50).")
]
Batch = Annotated[str | None, _option("--batch", takes="N", text="Queries in a step of the network; by default 16.")]
Rate = Annotated[str | None, _option("--learning-rate", takes="RATE", text="By default 0.001, of trees 0.05.")]
Dropout = Annotated[str | None, _option("--dropout", takes="SHARE", text="By default 0.1.")]
Samples = Annotated[str | None, _option("--samples", takes="N", text="Rankings drawn by the gumbel losses (20).")]
Tau = Annotated[str | None, _option("--tau", takes="T", text="Temperature of the gumbel losses' smooth ranks (0.1).")]
Seed = Annotated[str | None, _option("--rng", "--seed", takes="SEED", text="Seed of all that is random; by default 0.")]
Form = Annotated[
    str | None, _option("--format", "-f", takes="table|csv|jsonl|markdown", text="How to show the tables.")
]
Folder = Annotated[
    str | None, _option("--output", "-o", takes="FOLDER", text="The folder of models, runs and tables: new or ours.")
]
