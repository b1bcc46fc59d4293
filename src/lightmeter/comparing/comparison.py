"""A comparison: tables of what differs between runs and between measures, and how they were made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.comparing.columns import Column
from lightmeter.comparing.pairs import Plan
from lightmeter.data.attributes import UNKNOWN_GROUP
from lightmeter.results.conditions import Checked
from lightmeter.results.result import Result, run_and_group
from lightmeter.results.sheet import Layout
from lightmeter.results.table import Table
from lightmeter.statistics.significance import asl_curve
from lightmeter.terms.notation import Condition, parse

#: The columns of the one long table. ``kind`` says what a row is, and so which columns it fills.
SCHEMA: dict[str, Any] = {
    "kind": pl.String,
    "run": pl.String,
    "run_a": pl.String,
    "run_b": pl.String,
    "measure": pl.String,
    "group": pl.String,
    "query": pl.String,
    "value": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "effect": pl.Float64,
    "test": pl.String,
    "n": pl.Int64,
    "wins": pl.Int64,
    "losses": pl.Int64,
    "ties": pl.Int64,
    "normality": pl.Float64,
    "letters": pl.String,
    "pairs": pl.Int64,
    "significant": pl.Int64,
    "share": pl.Float64,
    "measure_a": pl.String,
    "measure_b": pl.String,
    "tau": pl.Float64,
    "query_low": pl.Float64,
    "query_high": pl.Float64,
    "tau_ap": pl.Float64,
    "rbo": pl.Float64,
    "value_a": pl.Float64,
    "value_b": pl.Float64,
    "difference_a": pl.Float64,
    "difference_b": pl.Float64,
    "doc": pl.String,
    "grade": pl.Float64,
    "membership": pl.String,
    "rank_a": pl.Int64,
    "rank_b": pl.Int64,
    "among": pl.String,
    "cases": pl.Int64,
    "why": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, repr=False)
class Comparison(Table):
    """What :func:`lightmeter.compare` found. Tables are polars frames; undefined numbers are NaN or null.

    Attributes
    ----------
    result
        The values by query.
    means
        A row a run and measure: ``value`` over the ``n`` queries defined for all runs, its bootstrap interval ``low``,
        ``high``, and ``letters``: runs that share one do not differ significantly (``*``: differs from the baseline).
    pairs
        A row a pair of runs and measure: ``difference`` (a minus b) with its interval (by query, not adjusted for the
        number of tests), ``p``, ``p_adjusted``, ``effect``, ``wins``, ``losses``, ``ties`` (queries on which a is
        better, worse, neither), ``normality`` (beside the t test), ``reason`` where there is no p.
    power
        A row a measure: of ``pairs`` tested how many are ``significant`` (p below alpha) and their ``share``, the
        discriminative power.
    correlations
        A row two measures: Kendall's ``tau`` between their orders of the ``n`` runs with Long and Cliff's interval
        (``low``, ``high``) and a bootstrap interval over queries (``query_low``, ``query_high``), the mean of both
        ``tau_ap``, and ``rbo``.
    changes, moved
        The queries that changed most by measure, between which runs and ``why``; the documents that moved there.
    disagreements
        For two measures: the ``share`` of decided cases (query and pair of runs) in which one puts one run first
        and the other the other, and on how many queries (``n``); then the queries where they disagree most.
    outliers
        Among measures that differ in their divergence only: in how many ``cases`` one disagrees with all the others.
    conventions, manifest
        The rules in force in words, and how the comparison was made.
    notes
        What a reader of the tables should know.
    """

    result: Result
    columns: list[Column]
    plan: Plan
    means: pl.DataFrame
    pairs: pl.DataFrame
    power: pl.DataFrame
    correlations: pl.DataFrame
    changes: pl.DataFrame
    moved: pl.DataFrame
    disagreements: pl.DataFrame
    outliers: pl.DataFrame
    conventions: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    picture: ClassVar[str] = "significance"

    @property
    def runs(self) -> list[str]:
        """The runs, in order."""
        return self.result.runs

    @property
    def tests(self) -> int:
        """How many tests were made: pairs of runs times measures, without those that could not be made."""
        return int(self.pairs["p"].is_not_nan().sum())

    @property
    def baseline(self) -> str | None:
        """The run that the others are compared with, None where all are compared with all."""
        return self.manifest["comparison"]["baseline"]

    def asl(self) -> pl.DataFrame:
        """The curve of achieved significance levels of each measure: ``p`` of its pairs in ascending order, ``pair``
        their number from 1 on.
        """
        parts = []
        for column, pairs in zip(self.columns, self._by_column(), strict=True):
            p = asl_curve(pairs["p"].to_numpy())
            parts.append(
                pl.DataFrame(
                    {"measure": str(column.measure), "group": column.group, "pair": np.arange(1, len(p) + 1), "p": p},
                    schema={"measure": pl.String, "group": pl.String, "pair": pl.Int64, "p": pl.Float64},
                )
            )
        return pl.concat(parts)

    def significant(self) -> pl.DataFrame:
        """The pairs that differ significantly: ``p_adjusted`` below alpha."""
        return self.pairs.filter(pl.col("p_adjusted") < self.plan.alpha)

    def matrix(self, measure: Any, what: str = "p_adjusted", group: str | None = None) -> Floats:
        """One column of :attr:`pairs` for one measure, ``[runs, runs]``; NaN where a pair was not tested.

        ``difference`` and ``effect`` are row minus column.
        """
        name = str(parse(measure, kind="measure") if isinstance(measure, str) else measure)
        mine = pl.col("group").eq_missing(pl.lit(group, pl.String))
        rows = self.pairs.filter(pl.col("measure") == name, mine)
        a, b = self.plan.pairs.T
        out = np.full((len(self.runs),) * 2, np.nan)
        if len(rows) == len(a):
            out[a, b] = rows[what].cast(pl.Float64).to_numpy()
            out[b, a] = -out[a, b] if what in ("difference", "effect") else out[a, b]
        return out

    def layout(self, width: int | None = None, paths: Collection[str] | None = None, **options: Any) -> Layout:
        """Tables of means, pairs, discriminative power, agreement, changes and disagreements, with notes."""
        from lightmeter.comparing.layout import layout

        return layout(self, width, paths)

    def checked(self, condition: Condition) -> Iterator[Checked]:
        """The means of the condition's measure over the queries that are defined for all runs."""
        cells = [c for c in self.result.cells if c.measure == condition.measure]
        groups = list(dict.fromkeys(c.group for c in cells))
        if len(groups) > 1 and groups[-1] == UNKNOWN_GROUP:
            groups.pop()
        # the comparison's own reason is why there is no interval; this is why no query has a value
        own = {(c.run, c.group): self.result.mean_of(c) for c in cells}
        rows = self.means.filter(pl.col("measure") == str(condition.measure)).select("run", "group", "value")
        for run, group, value in rows.iter_rows():
            if group in groups:
                mean = own[run, group]
                reason = mean.reason if np.isnan(mean.value) else "no_common_query"
                yield Checked(run_and_group(run, group), value, f"the mean is undefined ({reason})")
        for group in groups:
            if group not in rows["group"].to_list():
                yield Checked(f"group {group}", None, "not every run has a value of it")

    def frame(self) -> pl.DataFrame:
        """Everything as one long table, ``kind`` telling the rows apart."""
        parts = {
            "mean": self.means,
            "pair": self.pairs,
            "power": self.power,
            "tau": self.correlations,
            "change": self.changes,
            "moved": self.moved,
            "disagreement": self.disagreements,
            "outlier": self.outliers,
        }
        frames = [frame.with_columns(kind=pl.lit(kind, pl.String)) for kind, frame in parts.items() if len(frame)]
        whole = pl.concat([pl.DataFrame(schema=SCHEMA), *frames], how="diagonal")
        return whole.select(list(SCHEMA))

    def _by_column(self) -> list[pl.DataFrame]:
        """The pairs of each column."""
        size = len(self.plan.pairs)
        return [self.pairs.slice(i * size, size) for i in range(len(self.columns))]
