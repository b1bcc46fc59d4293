"""Write a clean TREC run and its judgments, the size and the look of MS MARCO's.

    python benchmarks/make_run.py --queries 7000 --sep space

Every query ranks distinct documents of a corpus of 8.8 million, under strictly decreasing scores with six
decimals. About one document is judged per query, and for 85% of the queries it is somewhere in the run,
nearer the top than the bottom. The same arguments always write the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

WORK = Path(__file__).resolve().parent / ".work"
CORPUS = 8_841_823
QUERY_IDS = 1_185_869
SEPARATORS = {"space": " ", "tab": "\t"}
CHUNK = 500  # queries written at a time: keeps this script's own memory small


def distinct_documents(rng: np.random.Generator, queries: int, depth: int) -> np.ndarray:
    docs = rng.integers(0, CORPUS, (queries, depth))
    while True:
        ordered = np.sort(docs, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not again.size:
            return docs
        docs[again] = rng.integers(0, CORPUS, (again.size, depth))


def decreasing_scores(rng: np.random.Generator, queries: int, depth: int) -> np.ndarray:
    """Millionths, so that six decimals never tie."""
    steps = 1 + rng.exponential(9_000_000 / depth, (queries, depth)).astype(np.int64)
    top = rng.integers(18_000_000, 40_000_000, (queries, 1))
    return (top - np.cumsum(steps, axis=1)) / 1e6


def judgments(rng: np.random.Generator, docs: np.ndarray, found: float = 0.85) -> tuple[np.ndarray, np.ndarray]:
    """(row of the query, document), one each and for 6% of the queries two."""
    queries, depth = docs.shape
    rows = np.sort(np.concatenate([np.arange(queries), np.flatnonzero(rng.random(queries) < 0.06)]))
    rank = np.minimum(rng.exponential(0.05 * depth, rows.size).astype(np.int64), depth - 1)
    judged = docs[rows, rank]
    lost = rng.random(rows.size) >= found
    judged[lost] = CORPUS + rng.permutation(rows.size)[lost]  # never ranked
    keep = np.ones(rows.size, bool)
    keep[1:] = (rows[1:] != rows[:-1]) | (judged[1:] != judged[:-1])
    return rows[keep], judged[keep]


def paths(queries: int, depth: int, sep: str) -> tuple[Path, Path]:
    stem = f"{queries}x{depth}"
    return WORK / f"run-{stem}-{sep}.txt", WORK / f"qrels-{stem}.txt"


def make(queries: int, depth: int = 1000, sep: str = "space", seed: int = 20240) -> tuple[Path, Path]:
    """Write the pair unless it is there, and return its paths."""
    run, qrels = paths(queries, depth, sep)
    if run.exists() and qrels.exists():
        return run, qrels
    WORK.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(QUERY_IDS, queries, replace=False))
    ranks = np.arange(1, depth + 1)
    part = run.with_suffix(".part")
    with part.open("wb") as out, qrels.open("wb") as judged_out:
        for start in range(0, queries, CHUNK):
            qids = ids[start : start + CHUNK]
            docs = distinct_documents(rng, qids.size, depth)
            frame = pl.DataFrame(
                {
                    "query": np.repeat(qids, depth),
                    "q0": np.full(docs.size, "Q0"),
                    "doc": docs.ravel(),
                    "rank": np.tile(ranks, qids.size),
                    "score": decreasing_scores(rng, qids.size, depth).ravel(),
                    "tag": np.full(docs.size, "bench"),
                }
            )
            frame.write_csv(out, separator=SEPARATORS[sep], include_header=False, float_precision=6)
            rows, judged = judgments(rng, docs)
            table = pl.DataFrame({"q": qids[rows], "i": np.zeros_like(rows), "d": judged, "g": np.ones_like(rows)})
            table.write_csv(judged_out, separator=" ", include_header=False)
    part.rename(run)
    return run, qrels


def make_groups(queries: int, values: int, depth: int = 1000, seed: int = 7) -> Path:
    """A nominal attribute with many values (company-0 .. ) over every document of the run, unevenly spread."""
    run, _ = make(queries, depth)
    path = WORK / f"groups-{queries}x{depth}-{values}.csv"
    if not path.exists():
        docs = pl.read_csv(run, separator=" ", has_header=False, columns=[2]).to_series().unique().sort()
        rng = np.random.default_rng(seed)
        share = 1 / np.arange(1, values + 1) ** 0.7
        value = rng.choice(values, docs.len(), p=share / share.sum())
        names = np.array([f"company-{v}" for v in range(values)])
        pl.DataFrame({"doc": docs, "company": names[value]}).write_csv(path)
    return path


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--queries", type=int, default=7000)
    cli.add_argument("--depth", type=int, default=1000)
    cli.add_argument("--sep", choices=[*SEPARATORS], default="space")
    cli.add_argument("--groups", type=int, metavar="VALUES", help="also a nominal attribute with that many values")
    args = cli.parse_args()
    for path in make(args.queries, args.depth, args.sep):
        print(path)
    if args.groups:
        print(make_groups(args.queries, args.groups, args.depth))


if __name__ == "__main__":
    main()
