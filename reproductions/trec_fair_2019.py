"""Amortised group exposure over the query sequence of TREC Fair Ranking 2019: ``python .. FOLDER``.

FOLDER holds the track's evaluation queries with their candidates (``*with-rel.json``), the author groups of articles
(``article-level.csv``, ``article-h_index_4.csv``) and the query sequence (``sequence-head.csv``). The candidates are
ranked as they stand in the file; policies then rerank them. The track's reader goes on with probability .5 and stops at
a relevant document with probability .7: ``Cascade(p=0.5, u=0.7)``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl

import lightmeter as lm

USER = lm.Cascade(p=0.5, u=0.7)


def ranking(file: Path) -> pl.DataFrame:
    """The candidates of each query as they stand in the file."""
    rows = []
    with file.open() as lines:
        for line in lines:
            query = json.loads(line)
            documents = query["documents"]
            rows += [(str(query["qid"]), d["doc_id"], float(len(documents) - k)) for k, d in enumerate(documents)]
    return pl.DataFrame(rows, ["query", "doc", "score"], orient="row")


def main(folder: Path) -> None:
    queries = folder / "TREC-Competition-eval-sample-with-rel.json"
    collection = lm.load(
        run=ranking(queries),
        qrels=queries,
        groups=[
            f"level={folder / 'article-level.csv'}:annotations",
            f"h_index={folder / 'article-h_index_4.csv'}:annotations",
        ],
        sequence=folder / "sequence-head.csv",
    )
    print(collection)
    print("articles of unknown level or h-index belong to no group (unknown=drop)")
    shared = {"user": USER, "amortised": True}
    for by in ("level", "h_index", ["level", "h_index"]):
        measures = [
            lm.MeanExposure(by=by, **shared),
            lm.ExposureRatio(by=by, **shared),
            lm.DTR(by=by, **shared),
            lm.IAA(by=by, **shared),
            lm.ExposureRatio(by=by, user=USER),
        ]
        measures += [] if isinstance(by, list) else [lm.IAA(**shared)]
        frames = []
        for policy in (lm.Static(ties="file"), lm.Uniform(), lm.Oracle()):
            result = lm.evaluate(collection, measures, policy=policy, unknown="drop")
            frames.append(result.mean().select("measure", "group", pl.col("value").alias(type(policy).__name__)))
        table = frames[0].with_columns(*(f.get_column(f.columns[-1]) for f in frames[1:]))
        print(f"\n{by}: {result.conventions.get('weights')}; {result.conventions.get('cells level & h_index', '')}")
        with pl.Config(tbl_rows=-1, fmt_str_lengths=90, tbl_hide_dataframe_shape=True, tbl_width_chars=140):
            print(table)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    main(Path(sys.argv[1]))
