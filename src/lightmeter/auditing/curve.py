"""The curve over all cutoffs, with a band that holds for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.rows import FEW
from lightmeter.auditing.sums import Sums
from lightmeter.auditing.table import Attribute
from lightmeter.models.users import User
from lightmeter.statistics.intervals import clopper_pearson, simultaneous

#: cutoffs of a curve, spread evenly over the logarithm of the rank; a short list has all
POINTS = 100
#: cells that the resamples of a curve may take up
ROOM = 4_000_000
SCHEMA = {
    "measure": pl.String,
    "cutoff": pl.Int64,
    "attribute": pl.String,
    "group": pl.String,
    "reference": pl.String,
    "score": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "reason": pl.String,
}


def grid(longest: int, groups: int, resamples: int, asked: list[int], apart: int = 1) -> tuple[int, ...]:
    """The cutoffs of a curve, those asked for among them; the others at least so many places ``apart``."""
    points = int(min(POINTS, ROOM // max(resamples * (groups + 1), 1)))
    if longest <= points:
        spread = np.arange(1, longest + 1)
    else:
        spread = np.geomspace(1, longest, max(points, 1)).round().astype(np.int64)
    kept = [0, longest, *(k for k in asked if k <= longest)]
    for k in np.unique(spread).tolist():
        if all(abs(k - other) >= apart for other in kept):
            kept.append(k)
    return tuple(sorted(set(kept) - {0}))


@dataclass(frozen=True)
class Curves:
    """The curves of one attribute and score.

    ``value`` holds the table as it is, ``draws`` the resamples (None where there are none), both with the cutoffs of
    ``points``.
    """

    attribute: Attribute
    score: str
    reference: int
    shown: Booleans
    user: User
    points: tuple[int, ...]
    value: Sums
    draws: Sums | None
    level: float

    def frame(self) -> pl.DataFrame:
        """``share`` and ``exposure_ratio`` of each group by cutoff; the unknown and masked groups have none."""
        parts = []
        for a in np.flatnonzero(self.shown[:-1]):
            parts.append(self._share(int(a)))
            if a != self.reference and self.shown[self.reference]:
                parts.append(self._ratio(int(a)))
        return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)

    def _column(self, sums: Sums, what: str, a: int) -> Floats:
        if what == "top":
            return np.stack([sums.top[k][:, a] for k in self.points], axis=1)
        if what == "places":
            return np.stack([sums.places[k] for k in self.points], axis=1)
        return np.stack([sums.exposure[self.user, k][:, a] for k in self.points], axis=1)

    def _share(self, a: int) -> pl.DataFrame:
        top, places = self._column(self.value, "top", a)[0], self._column(self.value, "places", a)[0]
        low, high = np.full(len(top), np.nan), np.full(len(top), np.nan)
        if self.draws is not None:
            enough = (top >= FEW) & (places - top >= FEW)
            # half of what may go wrong for each kind, where there are both
            rest = int((~enough).sum())
            level = self.level if rest in (0, len(top)) else (1 + self.level) / 2
            if rest:
                low[~enough], high[~enough] = clopper_pearson(top[~enough], places[~enough], 1 - (1 - level) / rest)
            if enough.any():
                draws = self._column(self.draws, "top", a) / self._column(self.draws, "places", a)
                low[enough], high[enough], _ = simultaneous(draws[:, enough], level)
        reason = [None if x else "none_in_top" for x in top > 0]
        return self._table("share", a, None, top / places, low, high, reason)

    def _ratio(self, a: int) -> pl.DataFrame:
        ref = self.reference
        mine, other = self._column(self.value, "exposure", a)[0], self._column(self.value, "exposure", ref)[0]
        size = self.value.count[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(other > 0, (mine / size[a]) / (other / size[ref]), np.nan)
        low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
        top, top_ref = self._column(self.value, "top", a)[0], self._column(self.value, "top", ref)[0]
        enough = (top >= FEW) & (top_ref >= FEW)
        if self.draws is not None and enough.any():
            count = self.draws.count
            with np.errstate(divide="ignore", invalid="ignore"):
                draws = (self._column(self.draws, "exposure", a) / count[:, [a]]) / (
                    self._column(self.draws, "exposure", ref) / count[:, [ref]]
                )
            low[enough], high[enough], _ = simultaneous(np.nan_to_num(draws[:, enough], nan=0.0), self.level)
        reason = [
            "zero_exposure" if not y else "none_in_top" if not x else None if e else "few_in_top"
            for x, y, e in zip(top > 0, top_ref > 0, enough, strict=True)
        ]
        return self._table("exposure_ratio", a, ref, value, low, high, reason)

    def _table(
        self, measure: str, a: int, ref: int | None, value: Floats, low: Floats, high: Floats, reason: list[str | None]
    ) -> pl.DataFrame:
        names, size = self.attribute.values, len(self.points)
        clean = {n: np.where(np.isfinite(v), v, np.nan) for n, v in (("value", value), ("low", low), ("high", high))}
        return pl.DataFrame(
            {
                "measure": [measure] * size,
                "cutoff": list(self.points),
                "attribute": [self.attribute.name] * size,
                "group": [names[a]] * size,
                "reference": [None if ref is None else names[ref]] * size,
                "score": [self.score] * size,
                **clean,
                "reason": reason,
            },
            schema=SCHEMA,
            nan_to_null=True,
        )
