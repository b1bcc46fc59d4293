"""The result of a sweep: tables of points and areas."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Objects
from lightmeter.errors import LightmeterError
from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.table import Table
from lightmeter.sweeping.candidates import unset
from lightmeter.sweeping.curve import NO_FRONTIER, Curve, Estimate, intervals
from lightmeter.sweeping.notes import sweep_notes

KEYS = ("run", "policy", "user", "by", "measure", "parameter", "query", "value", "se", "low", "high")
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(KEYS[:5], pl.String),
    "parameter": pl.Float64,
    "query": pl.String,
    **dict.fromkeys(KEYS[7:], pl.Float64),
    "n": pl.Int64,
    "reason": pl.String,
}
SUMMARIES = ("EEAUC", "EEAUC_query_mean", "EEAUC_frontier", "EEAUC_share")
FRONTIER = "frontier"


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(Table):
    """Disparity-relevance curves, and the areas below them.

    All tables have the columns ``run, policy, user, by, measure, parameter, query, value, se, low, high, n, reason``.
    ``by`` is null for documents. ``se`` is the standard error that drawn rankings leave, null where all is exact; of
    ``EEAUC_query_mean`` it is the standard error over queries. ``low`` and ``high`` are a 95% interval over queries.

    Attributes
    ----------
    queries
        The queries evaluated.
    curves
        One a run, policy, user and way of counting.
    conventions
        The rules in force, in words.
    manifest
        How the result was made.
    """

    queries: list[str]
    curves: list[Curve]
    conventions: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    picture: ClassVar[str] = "curve"
    totals: ClassVar[tuple[str, ...]] = ("parameter", "query")

    @property
    def answered(self) -> dict[str, Booleans]:
        """For each run which queries it answers."""
        return {c.run: ~np.isnan(c.points.eed[:, 0]) for c in self.curves}

    def curve(self, *, raw: bool = False) -> pl.DataFrame:
        """The points of the mean curves, and of their frontiers.

        The measures are ``disparity`` and ``relevance``, one row each a parameter. The first point is the uniform
        policy, the last the ranking as given, whose parameter is null where it is infinite. Rows of the policy
        ``frontier`` have the common scale mu as their parameter; the frontier goes on flat to disparity 1.

        Parameters
        ----------
        raw
            Whether to add mean ``EED`` and ``EER`` (over the queries that count and are answered).
        """
        return _concat([part for c in self._with_frontiers() for part in c.points_frames(raw)])

    def summary(self) -> pl.DataFrame:
        """The areas: ``EEAUC`` of the mean curve, ``EEAUC_query_mean``, ``EEAUC_frontier`` and ``EEAUC_share``."""
        return _concat([_Shown(c).summary_frame() for c in self.curves])

    def per_query(self, *, points: bool = False) -> pl.DataFrame:
        """Each query's own areas, with those of its frontier.

        Parameters
        ----------
        points
            Whether to add the points of each query's curve: ``disparity``, ``relevance``, ``EED`` and ``EER``.
        """
        return _concat([part for c in self.curves for part in _Shown(c).query_frames(self.queries, points)])

    def frame(self, *, per_query: bool = False) -> pl.DataFrame:
        """Points and areas run by run, with ``per_query`` those of each query before them."""
        parts: list[pl.DataFrame] = []
        for shown in self._with_frontiers():
            if shown.of_frontier:
                parts += shown.points_frames(False)
                continue
            if per_query:
                parts += shown.query_frames(self.queries, True)
            parts += [*shown.points_frames(False), shown.summary_frame()]
        return _concat(parts)

    def records(self, **options: Any) -> pl.DataFrame:
        """What programs are given: :meth:`frame` in the columns of the command line."""
        return self.frame(**options).select(KEYS)

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """The areas: a row for each curve, with ``per_query=True`` also for each query."""
        return Layout([_sheet(self, options.get("per_query", False))], [*_LEGEND, *sweep_notes(self)])

    def find(
        self, policy: str | None = None, run: str | None = None, user: str | None = None, by: str | None = None
    ) -> Curve:
        """The one curve of a policy, run, user and attribute; what there is one of may be left out.

        Raises
        ------
        LightmeterError
            Where none or several fit.
        """
        found = [
            c
            for c in self.curves
            if policy in (None, c.policy) and run in (None, c.run) and user in (None, c.user) and by == c.by
        ]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"{c.run} {c.policy} {c.user} by={c.by!r}" for c in (found or self.curves)[:8])
        raise LightmeterError(
            f"{'several curves fit' if found else 'no curve fits'}. Name policy, run, user and by; there are: {there}."
        )

    def area(
        self, policy: str | None = None, run: str | None = None, user: str | None = None, by: str | None = None
    ) -> float:
        """EEAUC of one curve; what there is one of may be left out."""
        return self.find(policy, run, user, by).area().value

    def _with_frontiers(self) -> Iterator[_Shown]:
        """The curves, and after the last one of a run, user and way of counting its frontier."""
        for i, curve in enumerate(self.curves):
            yield _Shown(curve)
            key = curve.run, curve.user, curve.by
            if curve.frontier is not None and all((c.run, c.user, c.by) != key for c in self.curves[i + 1 :]):
                yield _Shown(curve, of_frontier=True)


_LEGEND = (
    "low, high: 95% interval over queries; query mean: the mean of the queries' own areas, ± its standard error over "
    "queries",
    "frontier: EEAUC of the best policies there can be; share: how much of it is reached",
)


def _sheet(result: SweepResult, per_query: bool) -> Sheet:
    """The areas: a row for each curve, with ``per_query`` also for each query."""
    grouped = any(c.by is not None for c in result.curves)
    index = ["run", "policy", "user", *(["by"] if grouped else []), *(["query"] if per_query else []), "n"]
    titles = ("EEAUC", "low", "high", "query mean", "frontier", "share")
    rows: list[tuple[tuple[str, ...], list[Entry | None]]] = []
    for c in result.curves:
        labels = (c.run, c.policy, c.user, *([c.by or "(documents)"] if grouped else []))
        if per_query:
            best = c.query_frontiers()
            for i, query in enumerate(result.queries):
                area = float(c.query_areas[i])
                share = area / best[i] if best[i] > 0 else np.nan
                values = (area, None, None, None, float(best[i]), share)
                rows.append(((*labels, query, ""), [_entry(value) for value in values]))
        area_of, mean, front, share_of = c.area(), c.query_mean(), c.frontier_area(), c.share()
        entries = [
            _entry(area_of.value, area_of.se),
            _entry(area_of.low),
            _entry(area_of.high),
            _entry(mean.value, mean.se),
            _entry(front.value),
            _entry(share_of.value),
        ]
        rows.append(((*labels, *(["(mean)"] if per_query else []), str(area_of.n)), entries))
    return Sheet(index, [(title, None) for title in titles], rows, fit="turned", notation=True)


def _entry(value: float | None, se: float | None = None) -> Entry | None:
    known = value is not None and np.isfinite(value)
    return Entry(value if known else None, se if known else None)


@dataclass(frozen=True)
class _Shown:
    """A curve, or its frontier, as rows of the tables."""

    curve: Curve
    of_frontier: bool = False

    def _frame(self, rows: int, **columns: Any) -> pl.DataFrame:
        c = self.curve
        policy = FRONTIER if self.of_frontier else c.policy
        fixed = {"run": c.run, "policy": policy, "user": c.user, "by": c.by} | columns
        made = {
            name: pl.Series(name, value, dtype=SCHEMA[name], strict=False)
            if isinstance(value, np.ndarray | list)
            else pl.repeat(value, rows, dtype=SCHEMA[name], eager=True).alias(name)
            for name, value in ((name, fixed.get(name)) for name in SCHEMA)
        }
        frame = pl.DataFrame(made)
        return frame.with_columns(
            pl.when(pl.col(n).is_infinite()).then(None).otherwise(pl.col(n)).alias(n) for n in ("parameter",)
        ).with_columns(pl.col(n).fill_nan(None) for n in ("se", "low", "high"))

    def points_frames(self, raw: bool) -> list[pl.DataFrame]:
        """Mean points: a row each parameter and measure."""
        c = self.curve
        n = int(c.scale.counted.sum())
        if self.of_frontier:
            if c.frontier is None:
                return []
            x, y = c.frontier.curve()
            best: list[tuple[Any, Any, Any, Any]] = [(x, None, None, None), (y * c.answered_share, None, None, None)]
            return [self._interleaved(c.frontier.scale_at(x), ["disparity", "relevance"], best, n)]
        error = c.error()
        columns: list[tuple[Any, Any, Any, Any]] = []
        for i in (0, 1):
            columns.append((c.mean[i], None if error is None else error[i], *intervals(c.resampled[i])))
        names = ["disparity", "relevance"]
        if raw:
            here = c.scale.answered
            weight = c.scale.weight[here]
            with np.errstate(invalid="ignore"):
                columns += [(weight @ v[here] / weight.sum(), None, None, None) for v in (c.points.eed, c.points.eer)]
            names += ["EED", "EER"]
        return [self._interleaved(c.points.parameter, names, columns, n, c.reason)]

    def _interleaved(
        self, parameter: Floats, names: list[str], columns: list[Any], n: int, reason: str | None = None
    ) -> pl.DataFrame:
        points, each = len(parameter), len(names)

        def side(i: int) -> Floats:
            none = np.full(points, np.nan)
            return np.stack([none if column[i] is None else column[i] for column in columns], axis=1).ravel()

        return self._frame(
            points * each,
            measure=names * points,
            parameter=np.repeat(parameter, each),
            value=side(0),
            se=side(1),
            low=side(2),
            high=side(3),
            n=n,
            reason=reason,
        )

    def summary_frame(self) -> pl.DataFrame:
        """The areas of the mean curve."""
        c = self.curve
        found: list[Estimate] = [c.area(), c.query_mean(), c.frontier_area(), c.share()]
        return self._frame(
            len(found),
            measure=list(SUMMARIES),
            **{name: [getattr(e, name) for e in found] for name in ("value", "se", "low", "high", "n", "reason")},
        )

    def query_frames(self, queries: list[str], points: bool) -> list[pl.DataFrame]:
        """Areas, and points, of each query's own curve."""
        c, size = self.curve, len(queries)
        area, best, reasons = c.query_areas, c.query_frontiers(), c.query_reasons()
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(best > 0, area / best, np.nan)
        none = np.full(size, np.nan)
        drawn = none if c.points.sampled is None else np.where(np.isnan(area), np.nan, c.points.sampled.area)
        drawn = np.where(c.scale.missing, np.nan, drawn)
        why = reasons.copy()
        why[unset(why)] = NO_FRONTIER if c.best is None else None
        unshared = why.copy()
        unshared[unset(why) & np.isnan(share)] = "no_relevant_retrieved"
        rows = self._frame(
            3 * size,
            measure=["EEAUC", "EEAUC_frontier", "EEAUC_share"] * size,
            query=np.repeat(np.array(queries, dtype=object), 3).tolist(),
            value=np.stack([area, best, share], axis=1).ravel(),
            se=np.stack([drawn, none, none], axis=1).ravel(),
            reason=np.stack([reasons, why, unshared], axis=1).ravel().tolist(),
        )
        return [*([self._query_points(queries, reasons)] if points else []), rows]

    def _query_points(self, queries: list[str], reasons: Objects) -> pl.DataFrame:
        c = self.curve
        p, names = c.points, ("disparity", "relevance", "EED", "EER")
        cells = len(queries) * len(p.parameter)
        value = np.stack([c.scale.disparity(p.eed), c.scale.relevance(p.eer), p.eed, p.eer], axis=2)
        se = np.full(value.shape, np.nan)
        if p.sampled is not None:
            se[:, :, 2], se[:, :, 3] = p.sampled.eed, p.sampled.eer
            with np.errstate(invalid="ignore", divide="ignore"):
                se[:, :, 0] = (
                    p.sampled.eed / np.where(c.scale.ranged, c.scale.static - c.scale.uniform, np.nan)[:, None]
                )
                se[:, :, 1] = p.sampled.eer / np.where(c.scale.most > 0, c.scale.most, np.nan)[:, None]
        each = len(p.parameter) * len(names)
        return self._frame(
            cells * len(names),
            measure=list(names) * cells,
            parameter=np.tile(np.repeat(p.parameter, len(names)), len(queries)),
            query=np.repeat(np.array(queries, dtype=object), each).tolist(),
            value=value.ravel(),
            se=se.ravel(),
            reason=np.repeat(reasons, each).tolist(),
        )


def _concat(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)
