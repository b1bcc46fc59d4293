"""What was learnt: EEAUC by loss, for documents, groups and parity, with paired tests between losses."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.data.loading import load
from lightmeter.learn.areas import curve_areas
from lightmeter.learn.data import LetorData
from lightmeter.learn.settings import differentiable_user
from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.table import Table
from lightmeter.statistics.significance import adjusted, paired_test
from lightmeter.sweeping.sweep import sweep

POLICY = "PlackettLuce(scores='raw')"
_SUMMARY: dict[str, Any] = {
    "loss": pl.String,
    "measure": pl.String,
    **dict.fromkeys(["value", "low", "high", "frontier"], pl.Float64),
    "n": pl.Int64,
}
_PAIRS: dict[str, Any] = {
    **dict.fromkeys(["loss_a", "loss_b", "measure"], pl.String),
    **dict.fromkeys(["difference", "p", "p_adjusted", "effect", "normality"], pl.Float64),
    "n": pl.Int64,
    "reason": pl.String,
}


_LEGEND = (
    "low, high: 95% interval over queries; frontier: EEAUC of the best policies there can be",
    "EEAUC: documents; group: groups of relevant documents; parity: groups over all documents against relevance",
    "difference: mean over queries of their own areas; p: paired t test, Holm over all pairs; normality: Shapiro-Wilk",
)


@dataclass(frozen=True, repr=False)
class Outcome(Table):
    """EEAUC of losses on queries that their models never saw.

    Attributes
    ----------
    summary
        ``loss, measure, value, low, high, frontier, n``: the area of the mean curve with a 95% interval over queries,
        and that of the best policies there can be. ``EEAUC``: documents. ``EEAUC group``: the groups of relevant
        documents, as ``lightmeter sweep --by``. ``EEAUC parity``: groups over all documents against relevance, on a
        scale that the losses share.
    pairs
        ``loss_a, loss_b, measure, difference, p, p_adjusted, effect, normality, n, reason``: a minus b, the mean over
        queries of their own areas, with Student's paired t test, Holm's adjustment over all pairs, and the p-value of
        Shapiro and Wilk's test that the differences are normal.
    queries
        ``loss, measure, query, value``: each query's own area, null where it has none.
    """

    summary: pl.DataFrame
    pairs: pl.DataFrame
    queries: pl.DataFrame
    conventions: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)

    def frame(self) -> pl.DataFrame:
        """Areas and pairs in one long table, whose ``kind`` tells them apart."""
        both = [
            frame.select(pl.lit(kind).alias("kind"), pl.all())
            for kind, frame in (("area", self.summary), ("pair", self.pairs))
        ]
        return pl.concat(both, how="diagonal")

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """A table of the areas, and one of the tests where there are several losses."""
        areas = _sheet(self.summary, ["loss", "measure", "n"], ["value", "low", "high", "frontier"])
        tests = ["difference", "p", "p_adjusted", "effect", "normality"]
        pairs = _sheet(self.pairs, ["loss_a", "loss_b", "measure", "n"], tests)
        return Layout([areas, pairs], _LEGEND) if pairs.rows else Layout([areas], _LEGEND[:-1])

    @classmethod
    def of(cls, data: LetorData, scores: dict[str, Floats], user: Any = "RBP(p=0.5)", resamples: int = 1000) -> Outcome:
        """Evaluate the scores of all documents by loss."""
        groups = data.groups
        by = None if groups is None else groups.name
        collection = load(
            run={loss: data.run(values) for loss, values in scores.items()},
            qrels=data.judgments(),
            groups=None if groups is None else data.memberships(),
        )
        swept = sweep(collection, POLICY, user, [None] if by is None else [None, by], depth=None, resamples=resamples)
        place = {query: i for i, query in enumerate(swept.queries)}
        at = np.array([place.get(query, -1) for query in data.queries])
        rows: list[tuple[Any, ...]] = []
        own: dict[tuple[str, str], Floats] = {}
        for measure, counted in [("EEAUC", None), *([("EEAUC group", by)] if by is not None else [])]:
            for loss in scores:
                curve = swept.find(run=loss, by=counted)
                area, best = curve.area(), curve.frontier_area()
                rows.append((loss, measure, area.value, area.low, area.high, best.value, area.n))
                own[measure, loss] = np.where(at >= 0, curve.query_areas[at], np.nan)
        if groups is not None and not differentiable_user(user).by_document and len(groups.values) <= 12:
            everything = np.arange(len(data.queries))
            grades = data.padded(data.grade, everything)
            for loss, values in scores.items():
                found = curve_areas(
                    data.padded(values, everything), grades, data.codes(everything), user=user, kind="parity"
                )
                n = int((~np.isnan(found.query)).sum())
                rows.append((loss, "EEAUC parity", found.mean, None, None, None, n))
                own["EEAUC parity", loss] = found.query
        measures = list(dict.fromkeys(measure for measure, _ in own))
        return cls(
            _table(rows, _SUMMARY),
            _pairs(own, list(scores), measures),
            _table(
                [
                    (loss, m, q, v)
                    for (m, loss), a in own.items()
                    for q, v in zip(data.queries, a.tolist(), strict=True)
                ],
                {"loss": pl.String, "measure": pl.String, "query": pl.String, "value": pl.Float64},
            ),
        )


def _sheet(frame: pl.DataFrame, index: list[str], columns: list[str]) -> Sheet:
    rows = [
        (tuple(str(row[name]) for name in index), [Entry(row[name]) for name in columns])
        for row in frame.iter_rows(named=True)
    ]
    return Sheet(index, [(name, None) for name in columns], rows, notation=True)


def _table(rows: list[tuple[Any, ...]], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))


def _pairs(own: dict[tuple[str, str], Floats], losses: list[str], measures: list[str]) -> pl.DataFrame:
    """Tests of all pairs, on the queries that are defined for all losses."""
    rows: list[tuple[Any, ...]] = []
    for measure in measures:
        values = np.stack([own[measure, loss] for loss in losses])
        values = values[:, ~np.isnan(values).any(axis=0)]
        pairs = list(itertools.combinations(range(len(losses)), 2))
        n = values.shape[1]
        if not pairs:
            continue
        if n < 2:
            rows += [(losses[i], losses[j], measure, *[np.nan] * 4, n, "few_queries") for i, j in pairs]
            continue
        difference = np.stack([values[i] - values[j] for i, j in pairs])
        found = paired_test(difference, "t")
        for k, (i, j) in enumerate(pairs):
            numbers = (difference[k].mean(), found.p[k], found.effect[k], found.normality[k])
            rows.append((losses[i], losses[j], measure, *map(float, numbers), n, found.reason[k]))
    p = adjusted(np.array([row[4] for row in rows], dtype=np.float64), "holm") if rows else np.zeros(0)
    return _table([(*row[:5], float(q), *row[5:]) for row, q in zip(rows, p, strict=True)], _PAIRS)
