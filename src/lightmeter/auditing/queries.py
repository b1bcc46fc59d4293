"""The figures of each query of a table with several, small groups masked in each."""

from __future__ import annotations

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans
from lightmeter.auditing.compute import One
from lightmeter.auditing.figures import Compared, Figure, figures
from lightmeter.auditing.guards import AMONG_KNOWN
from lightmeter.auditing.request import Options
from lightmeter.auditing.rows import SCHEMA
from lightmeter.auditing.table import UNKNOWN, Attribute


def query_rows(
    one: One,
    attribute: Attribute,
    score: str,
    compared: Compared,
    hidden: Booleans,
    in_lists: Booleans,
    given: Options,
    binary: bool,
    queries: list[str] | None,
) -> pl.DataFrame:
    """A row for each query, group and measure; no intervals, since one query is one draw.

    A group that is masked in all queries together (``hidden``) has a masked row in each, whether it is there or not; so
    have all groups of a query that is not shown at all.
    """
    if one.each is None or queries is None:
        return pl.DataFrame(schema={"query": pl.String, **SCHEMA})
    mask = in_lists | hidden
    names = [*attribute.values, UNKNOWN]
    parts = []
    for figure in figures(one.each, given.users, compared, binary=binary, best=dict(one.best)):
        parts.append(_figure(figure, one, mask, hidden, names, attribute.name, score, queries))
    frame = pl.concat(parts)
    # query by query; within one, the order of the figures
    return frame.with_row_index("_row").sort(["_query", "_row"]).drop("_row", "_query")


def _figure(
    figure: Figure,
    one: One,
    mask: Booleans,
    hidden: Booleans,
    names: list[str],
    attribute: str,
    score: str,
    queries: list[str],
) -> pl.DataFrame:
    count = one.each.count  # type: ignore[union-attr]
    size = figure.value.shape[1]
    there = (count > 0) | (mask & (hidden | (count > 0).any(axis=0)))
    if not figure.unknown:
        there = there & (np.arange(size) < size - 1)
    if figure.reference is not None:
        there = there & (np.arange(size) != figure.reference)
    lost = mask.copy()
    if figure.reference is not None:
        lost |= mask[:, [figure.reference]]
    if figure.measure in AMONG_KNOWN:
        lost |= mask[:, [-1]]
    q, a = np.nonzero(there)
    value = np.where(lost, np.nan, figure.value)[q, a]
    reason = np.full(len(q), None, dtype=object)
    reason[np.isnan(value)] = figure.because or "empty_group"
    reason[lost[q, a]] = "masked"
    text = pl.Series(names, dtype=pl.String)
    return pl.DataFrame(
        {
            "_query": q,
            "query": pl.Series(queries, dtype=pl.String).gather(q),
            "measure": pl.repeat(figure.measure, len(q), dtype=pl.String, eager=True),
            "cutoff": pl.repeat(figure.cutoff, len(q), dtype=pl.Int64, eager=True),
            "attribute": pl.repeat(attribute, len(q), dtype=pl.String, eager=True),
            "group": text.gather(a),
            "reference": pl.repeat(
                None if figure.reference is None else names[figure.reference], len(q), dtype=pl.String, eager=True
            ),
            "score": pl.repeat(score, len(q), dtype=pl.String, eager=True),
            "value": pl.Series(np.where(np.isfinite(value), value, np.nan)).fill_nan(None),
            "low": pl.repeat(None, len(q), dtype=pl.Float64, eager=True),
            "high": pl.repeat(None, len(q), dtype=pl.Float64, eager=True),
            "n": pl.DataFrame({"n": count[q, a].astype(np.int64), "lost": lost[q, a]})
            .select(pl.when(~pl.col("lost")).then("n"))
            .to_series(),
            "reason": pl.Series(reason.tolist(), dtype=pl.String),
        }
    )
