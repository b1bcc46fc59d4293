"""The queries that changed most between runs, with what moved there."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Integers
from lightmeter.comparing.columns import Column
from lightmeter.comparing.why import Moved, Reasons

CHANGES = {
    "measure": pl.String,
    "group": pl.String,
    "query": pl.String,
    "run_a": pl.String,
    "run_b": pl.String,
    "value_a": pl.Float64,
    "value_b": pl.Float64,
    "difference": pl.Float64,
    "why": pl.String,
}
MOVED = {
    "measure": pl.String,
    "group": pl.String,
    "query": pl.String,
    "run_a": pl.String,
    "run_b": pl.String,
    "doc": pl.String,
    "grade": pl.Float64,
    "membership": pl.String,
    "rank_a": pl.Int64,
    "rank_b": pl.Int64,
}


def changes(
    columns: list[Column],
    runs: list[str],
    queries: list[str],
    codes: Integers | None,
    baseline: int | None,
    shown: int,
    reasons: Reasons | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """For each column the queries with the largest difference between two runs.

    Without a baseline these are the best and the worst run of the query; with one, the run that differs from it most
    and the baseline. ``codes`` are the queries' codes in the collection that ``reasons`` looks into.
    """
    rows: list[tuple[Any, ...]] = []
    moved: list[tuple[Any, ...]] = []
    nothing: tuple[str | None, list[Moved]] = (None, [])
    for column in columns:
        a, b = _extremes(column, baseline)
        every = np.arange(len(queries))
        difference = column.scores[a, every] - column.scores[b, every]
        size = np.where(column.defined, np.abs(difference), 0.0)
        order = np.argsort(-np.round(size, 12), kind="stable")[:shown]
        for q in order[size[order] > column.tol].tolist():
            one, two = runs[a[q]], runs[b[q]]
            why, documents = nothing
            if reasons is not None and codes is not None:
                why, documents = reasons.of(column, one, two, int(codes[q]))
            key = (str(column.measure), column.group, queries[q], one, two)
            rows.append((*key, *column.scores[[a[q], b[q]], q].tolist(), float(difference[q]), why))
            moved += [(*key, d.doc, d.grade, d.groups, d.rank_a, d.rank_b) for d in documents]
    return pl.DataFrame(rows, schema=CHANGES, orient="row"), pl.DataFrame(moved, schema=MOVED, orient="row")


def _extremes(column: Column, baseline: int | None) -> tuple[Integers, Integers]:
    """The two runs of each query that are compared."""
    goodness = column.sign * np.where(column.defined, column.scores, 0.0)
    if baseline is None:
        return goodness.argmax(axis=0), goodness.argmin(axis=0)
    return np.abs(goodness - goodness[baseline]).argmax(axis=0), np.full(goodness.shape[1], baseline)
