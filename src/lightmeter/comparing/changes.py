"""The queries that changed most between runs, and why: which documents moved, their grades and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.comparing.columns import Column
from lightmeter.data.attributes import Attribute
from lightmeter.data.rankings import Ranked
from lightmeter.measures.base import Measure
from lightmeter.measures.context import Context
from lightmeter.measures.exposure import ExposureMeasure
from lightmeter.measures.group_targets import distribution
from lightmeter.models.targets import Target
from lightmeter.models.users import User

#: documents listed for each query
FEW = 3
#: ranks of which counts and shares are given, at most
_TOP = 10
#: measures that count the first documents all alike
_FLAT = ("P", "R", "Count", "Share", "MeanScore", "DistrSim", "MaxDeviation", "Judged")


@dataclass(frozen=True)
class Moved:
    """A document that two rankings place differently; a rank of None: not ranked.

    ``groups`` are its values of the measure's attribute, None where there is no attribute or nothing is known.
    """

    doc: str
    grade: float | None
    groups: str | None
    rank_a: int | None
    rank_b: int | None

    def __str__(self) -> str:
        about = ([] if self.grade is None else [f"grade {self.grade:g}"]) + ([self.groups] if self.groups else [])
        details = f" ({', '.join(about)})" if about else ""
        return f"{self.doc}{details} {_rank(self.rank_a)}/{_rank(self.rank_b)}"


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


class Reasons:
    """Looks into the rankings of a query.

    Parameters
    ----------
    context
        The collection with its runs in rank order.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def of(self, column: Column, run_a: str, run_b: str, query: int) -> tuple[str | None, list[Moved]]:
        """What moved between two runs on a query (its code): in words, and the documents that matter most.

        There are no reasons for runs with several rankings per query.
        """
        one, two = self.context.ranked[run_a], self.context.ranked[run_b]
        if one.sampled or two.sampled:
            return None, []
        measure = column.measure
        a, b = _rows(one, query), _rows(two, query)
        moved = self._moved(measure, one, a, two, b)
        reasons = [*self._counts(measure, one, a, two, b), *self._shares(measure, one, a, two, b, query)]
        if moved:
            reasons.append("moved (rank in each run): " + ", ".join(map(str, moved)))
        return "; ".join(reasons) or None, moved

    def _moved(self, measure: Measure, one: Ranked, a: Integers, two: Ranked, b: Integers) -> list[Moved]:
        ranks: dict[str, list[int | None]] = {}
        rows: dict[str, tuple[Ranked, int]] = {}
        for side, (ranked, mine) in enumerate(((one, a), (two, b))):
            for rank, (doc, row) in enumerate(
                zip(ranked.run.doc.gather(mine).to_list(), mine.tolist(), strict=True), 1
            ):
                ranks.setdefault(doc, [None, None])[side] = rank
                rows.setdefault(doc, (ranked, row))
        docs = list(ranks)
        both_ranks = np.array([[np.inf if r is None else r for r in ranks[d]] for d in docs]).reshape(-1, 2)
        weight = _weight(measure, both_ranks)
        change = np.abs(weight[:, 0] - weight[:, 1])
        grades = np.array([self._grade(*rows[d]) for d in docs], dtype=np.float64)
        gain = np.maximum(np.nan_to_num(grades), 0.0)
        if measure.attribute is None and "judgments" in measure.needs and (gain * change).any():
            change = change * gain
        order = np.argsort(-np.round(change, 12), kind="stable")[:FEW]
        out = []
        for i in order[change[order] > 0].tolist():
            ranked, row = rows[docs[i]]
            grade = None if np.isnan(grades[i]) else float(grades[i])
            out.append(Moved(docs[i], grade, self._groups(measure, ranked, row), *ranks[docs[i]]))
        return out

    def _grade(self, ranked: Ranked, row: int) -> float:
        judgments = self.context.collection.judgments
        at = -1 if judgments is None else int(ranked.judged_row()[row])
        return float("nan") if judgments is None or at < 0 else float(judgments.grade[at])

    def _groups(self, measure: Measure, ranked: Ranked, row: int) -> str | None:
        if measure.attribute is None:
            return None
        attribute = self.context.collection.attribute(measure.attribute)
        _, codes, weight = attribute.pairs(ranked.member_row(measure.attribute)[[row]], split=False)
        return "|".join(attribute.values[c] for c, w in zip(codes, weight, strict=True) if w > 0) or None

    def _counts(self, measure: Measure, one: Ranked, a: Integers, two: Ranked, b: Integers) -> list[str]:
        judgments = self.context.collection.judgments
        if judgments is None or measure.attribute is not None:
            return []
        k = min(measure.cutoff or _TOP, _TOP)
        counts = []
        for ranked, rows in ((one, a), (two, b)):
            at = ranked.judged_row()[rows[:k]]
            counts.append(int((judgments.grade[at[at >= 0]] > 0).sum()))
        return [f"relevant in the first {k}: {counts[0]}/{counts[1]}"]

    def _shares(self, measure: Measure, one: Ranked, a: Integers, two: Ranked, b: Integers, query: int) -> list[str]:
        """The two values whose shares among the first documents differ most, with their target."""
        if measure.attribute is None:
            return []
        attribute = self.context.collection.attribute(measure.attribute)
        # where the first ten have the same groups, the order among them is what changed: look at fewer
        for k in (min(measure.cutoff or _TOP, _TOP), 5, 3, 1):
            shares = [self._achieved(attribute, ranked, rows[:k]) for ranked, rows in ((one, a), (two, b))]
            if not np.allclose(shares[0], shares[1], rtol=0, atol=1e-9):
                break
        else:
            return []
        target = self._target(measure, one.run.name, query)
        order = np.argsort(-np.round(np.abs(shares[0] - shares[1]), 12), kind="stable")[:2]
        shares_text = [
            f"{attribute.values[v]} {shares[0][v]:.0%}/{shares[1][v]:.0%}"
            + (f" (target {target.get(v, 0.0):.0%})" if target else "")
            for v in order.tolist()
        ]
        return [f"known documents in the first {k}: {', '.join(shares_text)}"]

    def _achieved(self, attribute: Attribute, ranked: Ranked, rows: Integers) -> Floats:
        """Shares of the values among the documents whose membership is known."""
        entries = ranked.member_row(attribute.name)[rows]
        _, codes, weight = attribute.pairs(entries, split=True)
        return np.bincount(codes, weight, minlength=len(attribute.values)) / max(int((entries >= 0).sum()), 1)

    def _target(self, measure: Measure, run: str, query: int) -> dict[int, float]:
        target: Any = getattr(measure, "target", False)
        of_groups = target is None or isinstance(target, str) or (isinstance(target, Target) and target.of_groups)
        if not of_groups or measure.attribute is None or isinstance(measure, ExposureMeasure):
            return {}
        goal = distribution(self.context, target, measure.attribute, run)
        _, values, shares = goal.rows(np.array([query]))
        return dict(zip(values.tolist(), shares.tolist(), strict=True))


def _rows(ranked: Ranked, query: int) -> Integers:
    """Rows of a query's ranking in rank order; none where the run does not answer it."""
    found = np.flatnonzero(ranked.query == query)
    if not len(found):
        return np.zeros(0, dtype=np.int64)
    rows = np.arange(ranked.offsets[found[0]], ranked.offsets[found[0] + 1])
    return rows if ranked.order is None else ranked.order[rows]


def _weight(measure: Measure, rank: Floats) -> Floats:
    """How much a measure looks at a rank, 0 for what is not ranked or below the cutoff."""
    user = measure if isinstance(measure, User) else getattr(measure, "user", None)
    seen = np.isfinite(rank) & (rank <= (measure.cutoff or np.inf))
    safe = np.where(seen, rank, 1.0)
    if type(measure).__name__ in _FLAT:
        weight = np.ones(rank.shape)
    elif isinstance(user, User) and not user.by_document:
        weight = user.view_at(safe)
    else:
        weight = 1.0 / np.log2(safe + 1.0)
    return np.where(seen, weight, 0.0)


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
