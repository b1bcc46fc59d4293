"""One process's worth of work each: `python jobs.py NAME RUN QRELS`. Prints the means it computed as JSON.

Every import is inside its job, so that a job pays for what it uses and for nothing else.
"""

from __future__ import annotations

import json
import sys
import warnings

warnings.filterwarnings("ignore")

RUN_COLUMNS = ["query", "q0", "doc", "rank", "score", "tag"]
NEEDED = ["query", "doc", "score"]


def separator(run: str) -> str:
    with open(run, "rb") as lines:
        return "\t" if b"\t" in lines.readline() else " "


def pytrec_eval(run: str, qrels: str) -> dict[str, float]:
    import pytrec_eval as pt

    with open(qrels) as lines:
        judged = pt.parse_qrel(lines)
    with open(run) as lines:
        ranked = pt.parse_run(lines)
    found = pt.RelevanceEvaluator(judged, {"ndcg_cut_10"}).evaluate(ranked)
    values = [query["ndcg_cut_10"] for query in found.values()]
    return {"nDCG@10": sum(values) / len(values)}


def _ir_measures(run: str, qrels: str, names: list[str]) -> dict[str, float]:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in names]
    means = ir_measures.calc_aggregate(measures, ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run))
    return {name: float(means[measure]) for name, measure in zip(names, measures, strict=True)}


# ir_measures has no provider for RBP without `rel`; ERR is a Perl script.
def ir_measures(run: str, qrels: str) -> dict[str, float]:
    return _ir_measures(run, qrels, ["nDCG@10", "RBP(p=0.8,rel=1)", "ERR@20"])


def ir_measures_no_perl(run: str, qrels: str) -> dict[str, float]:
    return _ir_measures(run, qrels, ["nDCG@10", "RBP(p=0.8,rel=1)"])


def ranx(run: str, qrels: str) -> dict[str, float]:
    from ranx import Qrels, Run, evaluate

    found = evaluate(
        Qrels.from_file(qrels, kind="trec"), Run.from_file(run, kind="trec"), "ndcg@10", make_comparable=True
    )
    return {"nDCG@10": float(found)}


def pyarrow(run: str, qrels: str) -> dict[str, float]:
    from pyarrow import csv

    table = csv.read_csv(
        run,
        csv.ReadOptions(column_names=RUN_COLUMNS),
        csv.ParseOptions(delimiter=separator(run), quote_char=False),
        csv.ConvertOptions(include_columns=NEEDED),
    )
    return {"rows": table.num_rows}


def pyarrow_text(run: str, qrels: str) -> dict[str, float]:
    import pyarrow as pa
    from pyarrow import csv

    types = {"query": pa.string(), "doc": pa.string(), "score": pa.float64()}
    table = csv.read_csv(
        run,
        csv.ReadOptions(column_names=RUN_COLUMNS),
        csv.ParseOptions(delimiter=separator(run), quote_char=False),
        csv.ConvertOptions(include_columns=NEEDED, column_types=types),
    )
    return {"rows": table.num_rows}


def polars(run: str, qrels: str) -> dict[str, float]:
    import polars as pl

    table = pl.read_csv(run, separator=separator(run), has_header=False, quote_char=None, columns=[0, 2, 4])
    return {"rows": table.height}


def polars_text(run: str, qrels: str) -> dict[str, float]:
    import polars as pl

    types = {"column_1": pl.String, "column_3": pl.String, "column_5": pl.Float64}
    table = pl.read_csv(
        run, separator=separator(run), has_header=False, quote_char=None, columns=[0, 2, 4], schema_overrides=types
    )
    return {"rows": table.height}


JOBS = [pytrec_eval, ir_measures, ir_measures_no_perl, ranx, pyarrow, pyarrow_text, polars, polars_text]

if __name__ == "__main__":
    job = {function.__name__: function for function in JOBS}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
