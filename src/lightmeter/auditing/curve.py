"""The curve over all cutoffs, with a band that holds for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.ranking import GroupSums
from lightmeter.auditing.rows import FEW
from lightmeter.auditing.rows import SCHEMA as ROW_SCHEMA
from lightmeter.auditing.table import Attribute
from lightmeter.models.users import User
from lightmeter.statistics.intervals import clopper_pearson, simultaneous

#: cutoffs of a curve, spread evenly over the logarithm of the rank; a short list has all
POINTS = 100
#: cells that the resamples of a curve may take up
MOST_CELLS = 4_000_000
SCHEMA = {name: kind for name, kind in ROW_SCHEMA.items() if name != "n"}


def curve_cutoffs(
    longest: int, groups: int, resamples: int, requested: Sequence[int], spacing: int = 1
) -> tuple[int, ...]:
    """The cutoffs of a curve, the requested ones among them; the others at least ``spacing`` ranks away from any."""
    points = int(min(POINTS, MOST_CELLS // max(resamples * (groups + 1), 1)))
    if longest <= points:
        spread = np.arange(1, longest + 1)
    else:
        spread = np.geomspace(1, longest, max(points, 1)).round().astype(np.int64)
    kept = [0, longest, *(k for k in requested if k <= longest)]
    for k in np.unique(spread).tolist():
        if all(abs(k - other) >= spacing for other in kept):
            kept.append(k)
    return tuple(sorted(set(kept) - {0}))


@dataclass(frozen=True)
class Curves:
    """The curves of one attribute and score.

    ``value`` holds the sums of the table as it is, ``resampled`` those of the resamples (None where there are none),
    both with the cutoffs of ``cutoffs``.
    """

    attribute: Attribute
    score: str
    reference: int
    shown: Booleans
    user: User
    cutoffs: tuple[int, ...]
    value: GroupSums
    resampled: GroupSums | None
    level: float

    def frame(self) -> pl.DataFrame:
        """``share`` and ``exposure_ratio`` of each group by cutoff; the unknown and masked groups have none."""
        parts = []
        for group in np.flatnonzero(self.shown[:-1]).tolist():
            parts.append(self._share(group))
            if group != self.reference and self.shown[self.reference]:
                parts.append(self._ratio(group))
        return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)

    def _top(self, sums: GroupSums, group: int) -> Floats:
        """Rows of a group among the first, ``[resamples, cutoffs]``."""
        return np.stack([sums.top[k][:, group] for k in self.cutoffs], axis=1)

    def _selected(self, sums: GroupSums) -> Floats:
        """Rows among the first in all, ``[resamples, cutoffs]``."""
        return np.stack([sums.selected[k] for k in self.cutoffs], axis=1)

    def _exposure(self, sums: GroupSums, group: int) -> Floats:
        """Mean exposure of a group, ``[resamples, cutoffs]``."""
        total = np.stack([sums.exposure[self.user, k][:, group] for k in self.cutoffs], axis=1)
        return total / sums.count[:, [group]]

    def _share(self, group: int) -> pl.DataFrame:
        top, selected = self._top(self.value, group)[0], self._selected(self.value)[0]
        low, high = np.full(len(top), np.nan), np.full(len(top), np.nan)
        if self.resampled is not None:
            enough = (top >= FEW) & (selected - top >= FEW)
            # half of what may go wrong for each kind, where there are both
            rest = int((~enough).sum())
            level = self.level if rest in (0, len(top)) else (1 + self.level) / 2
            if rest:
                low[~enough], high[~enough] = clopper_pearson(top[~enough], selected[~enough], 1 - (1 - level) / rest)
            if enough.any():
                shares = self._top(self.resampled, group) / self._selected(self.resampled)
                low[enough], high[enough], _ = simultaneous(shares[:, enough], level)
        reason = [None if x else "none_in_top" for x in top > 0]
        return self._table("share", group, None, top / selected, low, high, reason)

    def _ratio(self, group: int) -> pl.DataFrame:
        top, top_reference = self._top(self.value, group)[0], self._top(self.value, self.reference)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self._exposure(self.value, group)[0]
            reference_mean = self._exposure(self.value, self.reference)[0]
            value = np.where(reference_mean > 0, mean / reference_mean, np.nan)
        low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
        enough = (top >= FEW) & (top_reference >= FEW)
        if self.resampled is not None and enough.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = self._exposure(self.resampled, group) / self._exposure(self.resampled, self.reference)
            low[enough], high[enough], _ = simultaneous(np.nan_to_num(ratios[:, enough], nan=0.0), self.level)
        reason = [
            "zero_exposure" if not y else "none_in_top" if not x else None if e else "few_in_top"
            for x, y, e in zip(top > 0, top_reference > 0, enough, strict=True)
        ]
        return self._table("exposure_ratio", group, self.reference, value, low, high, reason)

    def _table(
        self,
        measure: str,
        group: int,
        reference: int | None,
        value: Floats,
        low: Floats,
        high: Floats,
        reason: list[str | None],
    ) -> pl.DataFrame:
        names, size = self.attribute.values, len(self.cutoffs)
        numbers = {n: np.where(np.isfinite(v), v, np.nan) for n, v in (("value", value), ("low", low), ("high", high))}
        return pl.DataFrame(
            {
                "measure": [measure] * size,
                "cutoff": list(self.cutoffs),
                "attribute": [self.attribute.name] * size,
                "group": [names[group]] * size,
                "reference": [None if reference is None else names[reference]] * size,
                "score": [self.score] * size,
                **numbers,
                "reason": reason,
            },
            schema=SCHEMA,
            nan_to_null=True,
        )
