"""What is compared: the scores of one measure (and group), run by run and query by query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.measures.base import Measure
from lightmeter.results.result import Result
from lightmeter.statistics.scores import tolerance


@dataclass(frozen=True)
class Column:
    """Scores of one measure (and group).

    Attributes
    ----------
    measure, group
        What is measured.
    scores
        ``[runs, queries]``; NaN where undefined.
    left_out
        Why queries are left out, and how many.
    """

    measure: Measure
    group: str | None
    scores: Floats
    left_out: dict[str, int]

    def __str__(self) -> str:
        return str(self.measure) if self.group is None else f"{self.measure} {self.group}"

    @cached_property
    def defined(self) -> Booleans:
        """Which queries are defined for all runs."""
        return np.asarray(~np.isnan(self.scores).any(axis=0))

    @cached_property
    def common(self) -> Floats:
        """Scores of the queries defined for all runs, ``[runs, n]``."""
        return self.scores[:, self.defined]

    @property
    def n(self) -> int:
        """How many queries are defined for all runs."""
        return int(self.defined.sum())

    @property
    def sign(self) -> float:
        """-1 where lower is better, else 1."""
        return -1.0 if self.measure.better == "lower" else 1.0

    @property
    def directed(self) -> bool:
        """Whether one of two values is better."""
        return self.measure.better != "none"

    @cached_property
    def tol(self) -> float:
        """Differences up to this come from rounding."""
        return tolerance(self.common)

    @cached_property
    def mean(self) -> Floats:
        """Means over the queries defined for all runs, ``[runs]``; NaN where there is none."""
        return self.common.mean(axis=1) if self.n else np.full(len(self.scores), np.nan)

    def order(self) -> list[int]:
        """The runs from best to worst mean; equal ones in the order given."""
        return np.argsort(np.round(-self.sign * self.mean, 12), kind="stable").tolist()


def columns_of(result: Result) -> list[Column]:
    """The columns of a result, in the order of its measures; groups that some run lacks are left out."""
    runs = result.runs
    found: dict[tuple[Any, str | None], dict[str, Any]] = {}
    for cell in result.cells:
        found.setdefault((cell.measure, cell.group), {})[cell.run] = cell.values
    out = []
    for (measure, group), by_run in found.items():
        if len(by_run) < len(runs):
            continue
        scores = np.stack([by_run[run].value for run in runs])
        gone = np.isnan(scores).any(axis=0)
        # one reason a query: that of the first run in which it is undefined
        reasons = np.stack([by_run[run].reasons() for run in runs])
        first = np.isnan(scores).argmax(axis=0)
        why = Counter(str(r or "undefined") for r in reasons[first[gone], np.flatnonzero(gone)])
        out.append(Column(measure, group, scores, dict(why)))
    return out
