"""What an estimate of attention holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Floats
from lightmeter.models.users import Attention
from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.table import Table, finite

_DIGITS = 6
#: What a reason says, in words.
REASONS = {
    "not_shown": "no document was shown there",
    "few_observations": "too few showings",
    "no_click": "no click there",
    "not_connected": "no clicked document seen at several ranks ties it to the reference, directly or over others",
    "few_clicks": "estimated, but too few clicks for an interval",
    "few_queries": "estimated, but one query alone gives no interval",
}
_COUNTS = ("shown", "clicks", "documents", "n")
_NUMBERS = ("weight", "se", "low", "high")


@dataclass(frozen=True, repr=False)
class AttentionEstimate(Table):
    """Attention by rank, estimated from clicks.

    Attributes
    ----------
    method
        ``rate``, ``pbm`` or ``pairs``.
    reference
        The rank that all weights are relative to (its weight is 1).
    weight, se, low, high
        The curve from rank 1, its standard errors and the interval; NaN with a reason where a rank cannot be estimated.
    shown, clicks, documents, queries
        Of each rank: showings and clicks (sums of weights), pairs of query and document, queries.
    reason
        A code or None for each rank. A rank with a weight may have one that says why it has no interval.
    n
        Queries in the log: what the bootstrap draws.
    level
        Level of the interval.
    resamples
        Replicates of the bootstrap.
    notes
        What is assumed, what was left out, what to beware of.
    conventions, manifest
        The rules in force in words, and how the estimate was made.
    """

    method: str
    reference: int
    weight: Floats
    se: Floats
    low: Floats
    high: Floats
    shown: Floats
    clicks: Floats
    documents: Floats
    queries: Floats
    reason: AnyArray
    n: int
    level: float
    resamples: int
    notes: tuple[str, ...] = field(default_factory=tuple)
    conventions: dict[str, str] = field(init=False)
    manifest: dict[str, Any] = field(init=False)
    picture: ClassVar[str] = "attention"

    @property
    def attention(self) -> Attention:
        """The curve as a user model: from rank 1 down to the last rank before one that could not be estimated."""
        return Attention(weights=tuple(float(w) for w in self.weight[: self.length]))

    @property
    def length(self) -> int:
        """How many ranks the curve has before it stops."""
        lost = np.isnan(self.weight)
        return int(np.argmax(lost)) if lost.any() else len(lost)

    @property
    def term(self) -> str:
        """The user model in notation, rounded to six digits: ready to paste."""
        return str(Attention(weights=tuple(float(f"{w:.{_DIGITS}g}") for w in self.weight[: self.length])))

    def frame(self) -> pl.DataFrame:
        """One row a rank."""
        return pl.DataFrame(
            {
                "method": pl.Series([self.method] * len(self.weight), dtype=pl.String),
                "rank": np.arange(1, len(self.weight) + 1),
                "weight": self.weight,
                "se": self.se,
                "low": self.low,
                "high": self.high,
                "n": self.queries.astype(np.int64),
                "shown": self.shown,
                "clicks": self.clicks,
                "documents": self.documents.astype(np.int64),
                "reason": pl.Series(self.reason.tolist(), dtype=pl.String),
            },
            nan_to_null=True,
        )

    def __post_init__(self) -> None:
        interval = f"{self.level * 100:g}%, bootstrap over queries ({self.resamples} resamples)"
        reference = f"rank {self.reference}, whose weight is 1"
        conventions = {"method": self.method, "reference": reference, "interval": interval}
        object.__setattr__(self, "conventions", conventions)
        manifest = {"conventions": conventions, "notes": list(self.notes), "queries": self.n}
        object.__setattr__(self, "manifest", manifest)

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """A row for each rank, with the remarks and the user model in notation below."""
        frame = finite(self.frame())
        reasons = frame["reason"].null_count() < len(frame)
        rows = []
        for row in frame.iter_rows(named=True):
            counts = [Entry(f"{row[n]:g}" if row[n] < 1e6 else f"{row[n]:.0f}") for n in _COUNTS]
            numbers = [Entry(row[n], reason=row["reason"]) for n in _NUMBERS]
            reason = [Entry(row["reason"] or "")] if reasons else []
            rows.append(((), [Entry(str(row["rank"])), *counts, *numbers, *reason]))
        titles = ["rank", *_COUNTS, *_NUMBERS, *(["reason"] if reasons else [])]
        return Layout([Sheet([], [(title, None) for title in titles], rows)], [*self.remarks(), self.term])

    def remarks(self) -> list[str]:
        """All there is to say below the table: n, where the curve stops and why, and the notes."""
        whole = len(self.weight)
        lines = [
            f"n = {self.n} {'query' if self.n == 1 else 'queries'}; se and the {self.level * 100:g}% interval by "
            f"bootstrap over queries ({self.resamples} resamples)"
        ]
        if self.length < whole:
            lines.append(f"the curve stops at rank {self.length}, before the first rank without an estimate")
        return lines + reason_lines(self.reason) + list(self.notes)


def reason_lines(reasons: AnyArray) -> list[str]:
    """One line for each reason, with the ranks it holds for."""
    kinds = dict.fromkeys(r for r in reasons.tolist() if r is not None)
    found = [(kind, np.flatnonzero([r == kind for r in reasons]) + 1) for kind in kinds]
    return [f"rank{'s' if len(at) > 1 else ''} {ranges(at)}: {kind} ({REASONS[kind]})" for kind, at in found]


def ranges(numbers: NDArray[np.integer]) -> str:
    """Numbers in ascending order with runs shortened.

    Examples
    --------
    >>> ranges(np.array([1, 2, 3, 7, 9, 10]))
    '1-3, 7, 9-10'
    """
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts if len(p))
