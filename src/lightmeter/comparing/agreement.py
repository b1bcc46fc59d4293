"""Whether measures order the runs alike, and on which queries they disagree."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.comparing.columns import Column
from lightmeter.models.divergences import JSD
from lightmeter.statistics.correlation import kendalls, rbo, tau_ap, taus_over_queries

CORRELATIONS = {
    "measure_a": pl.String,
    "measure_b": pl.String,
    "tau": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "query_low": pl.Float64,
    "query_high": pl.Float64,
    "tau_ap": pl.Float64,
    "rbo": pl.Float64,
    "reason": pl.String,
}
DISAGREEMENTS = {
    "measure_a": pl.String,
    "measure_b": pl.String,
    "query": pl.String,
    "run_a": pl.String,
    "run_b": pl.String,
    "difference_a": pl.Float64,
    "difference_b": pl.Float64,
    "share": pl.Float64,
    "n": pl.Int64,
    "why": pl.String,
}
OUTLIERS = {"measure": pl.String, "among": pl.String, "cases": pl.Int64, "n": pl.Int64}
#: numbers of one piece of work
_PIECE = 1 << 21


def correlations(columns: list[Column], level: float, rng: int) -> pl.DataFrame:
    """Agreement between the run orders of each two columns that have a direction."""
    some = [c for c in columns if c.directed and c.n]
    if len(some) < 2:
        return pl.DataFrame(schema=CORRELATIONS)
    goodness = [c.sign * c.mean for c in some]
    taus = kendalls(np.stack(goodness), level=level)
    oriented = [np.where(c.defined, c.sign * c.scores, np.nan) for c in some]
    low, high = taus_over_queries(oriented, level=level, rng=rng)
    rows = []
    for i, j in combinations(range(len(some)), 2):
        found = taus[i][j]
        x, y = goodness[i], goodness[j]
        rows.append(
            (
                str(some[i]),
                str(some[j]),
                found.tau,
                found.low,
                found.high,
                found.n,
                low[i, j],
                high[i, j],
                (tau_ap(x, y) + tau_ap(y, x)) / 2,
                rbo(x, y),
                found.reason,
            )
        )
    return pl.DataFrame(rows, schema=CORRELATIONS, orient="row")


@dataclasses.dataclass
class _Found:
    """Disagreements of two columns."""

    discordant: int = 0
    decided: int = 0
    #: strength, query, pair of the strongest of each query
    strongest: list[tuple[float, int, int]] = dataclasses.field(default_factory=list)
    queries: int = 0


def disagreements(
    columns: list[Column], pairs: Integers, queries: list[str], runs: list[str], shown: int
) -> pl.DataFrame:
    """Queries on which one measure puts one run first and the other measure the other.

    For each two columns a row without a query: the share of (query, pair of runs) on which both see a difference and
    disagree, and the number of queries where that happens. Then the ``shown`` queries where they disagree most: by
    the smaller of the two differences, each over the standard deviation of its measure's differences.
    """
    some = [c for c in columns if c.directed and c.n]
    found: dict[tuple[int, int], _Found] = {ij: _Found() for ij in combinations(range(len(some)), 2)}
    if not len(pairs) or not found:
        return pl.DataFrame(schema=DISAGREEMENTS)
    units = [_unit(c, pairs) for c in some]
    for part, standard in _pieces(some, pairs, units):
        for (i, j), noted in found.items():
            both = standard[i] * standard[j]
            noted.decided += int((both != 0).sum())
            against = both < 0
            noted.discordant += int(against.sum())
            where = np.flatnonzero(against.any(axis=0))
            noted.queries += len(where)
            strength = np.where(against, np.minimum(np.abs(standard[i]), np.abs(standard[j])), 0.0)[:, where]
            best = strength.argmax(axis=0)
            noted.strongest += [
                (float(strength[k, n]), int(part[q]), int(k)) for n, (q, k) in enumerate(zip(where, best, strict=True))
            ]
    rows: list[tuple[Any, ...]] = []
    for (i, j), noted in found.items():
        a, b = some[i], some[j]
        share = noted.discordant / noted.decided if noted.decided else None
        rows.append((str(a), str(b), None, None, None, None, None, share, noted.queries, None))
        for _, query, k in sorted(noted.strongest, key=lambda s: (-s[0], s[1]))[:shown]:
            one, two = pairs[k]
            rows.append(
                (
                    str(a),
                    str(b),
                    queries[query],
                    runs[one],
                    runs[two],
                    float(a.scores[one, query] - a.scores[two, query]),
                    float(b.scores[one, query] - b.scores[two, query]),
                    None,
                    None,
                    None,
                )
            )
    return pl.DataFrame(rows, schema=DISAGREEMENTS, orient="row")


def outliers(columns: list[Column], pairs: Integers) -> pl.DataFrame:
    """Which divergence is the odd one out, among measures that differ in their divergence only.

    ``cases``: how often (over queries and pairs of runs) a measure disagrees with all the others while they agree;
    ``n``: how often all of them see a difference.
    """
    families: dict[Any, list[Column]] = {}
    for column in columns:
        div = getattr(column.measure, "div", None)
        if div is not None and column.directed and column.n:
            alike = dataclasses.replace(column.measure, div=JSD())  # type: ignore[call-arg]
            families.setdefault((alike, column.group), []).append(column)
    rows = []
    for family in (f for f in families.values() if len(f) > 2):
        cases, decided = np.zeros(len(family), dtype=np.int64), 0
        for _, standard in _pieces(family, pairs, [1.0] * len(family)):
            signs = np.sign(np.stack(standard))
            all_see = (signs != 0).all(axis=0)
            total = signs.sum(axis=0)
            alone = all_see & (np.abs(total) == len(family) - 2) & (total != 0)
            cases += (alone & (signs == -np.sign(total))).sum(axis=(1, 2))
            decided += int(all_see.sum())
        others = [", ".join(str(o) for o in family if o is not c) for c in family]
        rows += [(str(c), o, int(n), decided) for c, o, n in zip(family, others, cases, strict=True)]
    return pl.DataFrame(rows, schema=OUTLIERS, orient="row")


def _unit(column: Column, pairs: Integers) -> float:
    """Standard deviation of the differences of a column, from no more pairs than are needed for that."""
    some = pairs[:: max(1, len(pairs) * column.n // _PIECE)]
    deviation = float(np.std(column.common[some[:, 0]] - column.common[some[:, 1]]))
    return deviation if deviation > column.tol else 1.0


def _pieces(columns: list[Column], pairs: Integers, units: list[float]) -> Iterator[tuple[Integers, list[Floats]]]:
    """Some queries at a time: their numbers, and the differences of each column ``[pairs, queries]``, better is above
    0, undefined and equal is 0.
    """
    queries = columns[0].scores.shape[1]
    step = max(1, _PIECE // max(len(pairs), 1))
    for start in range(0, queries, step):
        part = np.arange(start, min(start + step, queries))
        out = []
        for column, unit in zip(columns, units, strict=True):
            scores = np.where(column.defined[part], column.scores[:, part], 0.0)
            difference = column.sign * (scores[pairs[:, 0]] - scores[pairs[:, 1]])
            out.append(np.where(np.abs(difference) > column.tol, difference, 0.0) / unit)
        yield part, out
