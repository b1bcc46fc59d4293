"""One curve: its mean points, its areas with intervals over queries, and its frontier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.exposure.frontier import Frontier, mean_frontier
from lightmeter.sweeping.areas import areas, frontier_areas
from lightmeter.sweeping.candidates import NO_RANGE, Scale, unset
from lightmeter.sweeping.points import Points, jackknife

LEVEL = 0.95
NO_FRONTIER = "no_frontier"


@dataclass(frozen=True)
class Estimate:
    """A value with the standard error of sampled rankings, an interval over queries, and how many queries it is of."""

    value: float
    se: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Best:
    """The frontiers of a run's queries in the units of the curve, of those that count and are answered.

    Attributes
    ----------
    parts
        One frontier per query.
    query
        Their positions among the queries evaluated.
    """

    parts: list[Frontier]
    query: Integers


@dataclass(frozen=True, eq=False)
class Curve:
    """The disparity-relevance curve of a run under a family of policies, for a user, by documents or by groups.

    Attributes
    ----------
    run, policy, user, by
        What it is of.
    points
        EED and EER by query and parameter.
    scale
        Units, and which queries count.
    best
        The frontiers; None where they are not known (users who read the documents, groups).
    counts
        ``[resamples, queries]``: how often each query counts in each resample.
    """

    run: str
    policy: str
    user: str
    by: str | None
    points: Points
    scale: Scale
    best: Best | None
    counts: Floats

    @cached_property
    def mean(self) -> tuple[Floats, Floats]:
        """Disparity and relevance of the mean curve, ``[points]``."""
        return self.scale.mean_curve(self.points.eed, self.points.eer)

    @property
    def turns(self) -> bool:
        """Whether its area is that of the largest relevance at each disparity."""
        return self.scale.of_means

    @property
    def reason(self) -> str | None:
        """Why there is no mean curve."""
        if not self.scale.counted.any():
            reasons = [r for r in self.scale.reason.tolist() if r is not None]
            return max(set(reasons), key=reasons.count) if reasons else "no_query"
        if not self.scale.answered.any():
            return "not_in_run"
        return NO_RANGE if np.isnan(self.mean[0]).any() else None

    @property
    def last_step(self) -> float:
        """Length in x of the last straight step, to the static ranking: long where scores are tied."""
        x = self.mean[0]
        return float(x[-1] - x[-2])

    @property
    def longest_step(self) -> float:
        """The longest step in x but the last."""
        return float(np.abs(np.diff(self.mean[0]))[:-1].max(initial=0.0))

    @cached_property
    def resampled(self) -> tuple[Floats, Floats]:
        """Mean curves of resampled queries, ``[resamples, points]`` each."""
        return self.scale.mean_curve(self.points.eed, self.points.eer, self.counts)

    @cached_property
    def query_areas(self) -> Floats:
        """Area of each query's own curve: NaN where undefined, 0 where a query counts that is not answered."""
        x, y = self.scale.disparity(self.points.eed), self.scale.relevance(self.points.eer)
        out = areas(x, y, self.turns)
        out[~self.scale.counted] = np.nan
        out[self.scale.missing] = 0.0
        return out

    def query_reasons(self) -> Objects:
        """Why a query's own area is undefined, or a remark beside it."""
        reason = self.scale.reason.copy()
        reason[unset(reason) & np.isnan(self.query_areas)] = NO_RANGE
        return reason

    def error(self) -> tuple[Floats, Floats] | None:
        """Standard errors of the mean points from sampled rankings; None where they are exact."""
        without = self._without
        return None if without is None else (jackknife(without[0]), jackknife(without[1]))

    @cached_property
    def _without(self) -> tuple[Floats, Floats] | None:
        sampled = self.points.sampled
        if sampled is None:
            return None
        here = self.scale.answered
        weight = self.scale.weight[here]
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = (float(weight @ v[here] / weight.sum()) for v in (self.scale.uniform, self.scale.static))
        return Scale.rescaled(sampled.without_eed, np.array(low), np.array(high)), sampled.without_relevance

    def area(self) -> Estimate:
        """EEAUC of the mean curve."""
        n = int(self.scale.counted.sum())
        if n and not self.scale.answered.any():
            return Estimate(0.0, None, 0.0, 0.0, n, "not_in_run")
        x, y = self.mean
        value = float(areas(x[None], y[None], self.turns)[0])
        if np.isnan(value):
            return Estimate(np.nan, n=n, reason=self.reason)
        se = None if self._without is None else float(jackknife(areas(*self._without, self.turns)))
        return Estimate(value, se, *interval(self.areas_resampled), n)

    @cached_property
    def areas_resampled(self) -> Floats:
        """EEAUC of each resample; 0 where only unanswered queries are resampled."""
        out = areas(*self.resampled, self.turns)
        out[self._unanswered] = 0.0
        return out

    @cached_property
    def _unanswered(self) -> Booleans:
        """Resamples without an answered query."""
        times = self.counts * self.scale.weight
        return (times[:, self.scale.answered].sum(axis=1) == 0) & (times[:, self.scale.counted].sum(axis=1) > 0)

    def query_mean(self) -> Estimate:
        """The mean of the queries' own areas, with its standard error over queries."""
        area, scale = self.query_areas, self.scale
        good = ~np.isnan(area)
        n = int(good.sum())
        if not n or not scale.weight[good].sum() > 0:
            return Estimate(np.nan, n=n, reason=self.reason or NO_RANGE)
        weight = scale.weight[good] / scale.weight[good].sum()
        mean = float(weight @ area[good])
        se = float(np.sqrt((weight**2 @ (area[good] - mean) ** 2) * n / (n - 1))) if n > 1 else None
        times = self.counts[:, good] * scale.weight[good]
        with np.errstate(invalid="ignore"):
            return Estimate(mean, se, *interval(times @ area[good] / times.sum(axis=1)), n)

    @cached_property
    def frontier(self) -> Frontier | None:
        """The frontier of the mean curve over the queries that count and are answered."""
        if self.best is None or not self.best.parts:
            return None
        return mean_frontier(self.best.parts, self.scale.weight[self.best.query])

    @property
    def answered_share(self) -> float:
        """The weight of the answered among the queries that count; the others have relevance 0."""
        weight = self.scale.weight
        return float(weight[self.scale.answered].sum() / weight[self.scale.counted].sum())

    def frontier_area(self) -> Estimate:
        """EEAUC of the frontier."""
        if self.best is not None and self.reason == "not_in_run" and self.scale.counted.any():
            return Estimate(0.0, None, 0.0, 0.0, int(self.scale.counted.sum()), "not_in_run")
        if self.best is None or self.frontier is None:
            return Estimate(np.nan, reason=NO_FRONTIER if self.best is None else self.reason)
        return Estimate(
            self.frontier.area() * self.answered_share,
            None,
            *interval(self._frontier_resampled),
            int(self.scale.counted.sum()),
        )

    def share(self) -> Estimate:
        """EEAUC as a share of the frontier's."""
        best = self.frontier_area()
        if not best.value > 0:
            return Estimate(np.nan, reason=best.reason or "no_relevant_retrieved")
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = interval(self.areas_resampled / self._frontier_resampled)
        return Estimate(self.area().value / best.value, None, low, high, best.n)

    @cached_property
    def _frontier_resampled(self) -> Floats:
        if self.best is None:
            return np.full(len(self.counts), np.nan)
        times = self.counts * self.scale.weight
        mine = times[:, self.best.query]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = mine.sum(axis=1) / times[:, self.scale.counted].sum(axis=1)
            out = frontier_areas(self.best.parts, mine / mine.sum(axis=1, keepdims=True)) * share
        out[self._unanswered] = 0.0
        return out

    def query_frontiers(self) -> Floats:
        """Area of each query's frontier, NaN where there is none."""
        out = np.full(len(self.scale.weight), np.nan)
        if self.best is not None:
            out[self.best.query] = [part.area() for part in self.best.parts]
            out[self.scale.missing] = 0.0
        return out


def interval(values: Floats) -> tuple[float | None, float | None]:
    """The middle share of resampled values, ``LEVEL`` of them; None where there are none."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None, None
    low, high = np.quantile(known, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def intervals(values: Floats) -> tuple[Floats, Floats]:
    """The same for each column of ``[resamples, points]``."""
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known):
        none = np.full(values.shape[1], np.nan)
        return none, none
    low, high = np.quantile(known, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    return low, high
