"""Means over queries that can be combined: results of parts give the mean of the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lightmeter.errors import LightmeterError


@dataclass(frozen=True)
class Mean:
    """A mean over queries.

    Attributes
    ----------
    value
        The mean of the queries that have a value; NaN where none has.
    se
        Its standard error where rankings are sampled, else None.
    n
        How many queries have a value.
    reason
        Why some have none: the most frequent reason, or None.
    weight
        The sum of the queries' weights; ``n`` where all weigh 1. None for a measure that is reduced over queries, which
        is no mean.
    squares
        The weighted sum of squared deviations from the mean: ``sum_q w_q (x_q - value)^2``. None as ``weight``.
    """

    value: float
    se: float | None
    n: int
    reason: str | None
    weight: float | None = None
    squares: float | None = None

    def merge(self, other: Mean) -> Mean:
        """The mean of the queries of both, which share none.

        With weights a and b, means x and y: the mean is ``x + (y - x) b / (a + b)``, and the squared deviations add up
        to ``A + B + (y - x)^2 a b / (a + b)`` (Chan, Golub and LeVeque 1983).

        Raises
        ------
        LightmeterError
            Where one of them is no mean: measures that are reduced over queries need the queries themselves.

        Examples
        --------
        >>> both = Mean(0.5, None, 2, None, 2.0, 0.02).merge(Mean(0.8, None, 1, None, 1.0, 0.0))
        >>> round(both.value, 12), both.n, both.weight, round(both.squares, 12)
        (0.6, 3, 3.0, 0.08)
        """
        a, b = self.weight, other.weight
        if a is None or b is None or self.squares is None or other.squares is None:
            raise LightmeterError(
                "a value of all queries together cannot be merged with another. Evaluate them at once."
            )
        if not a or not b:
            kept = other if not a else self
            reason = kept.reason or self.reason or other.reason
            return Mean(kept.value, kept.se, kept.n, reason, kept.weight, kept.squares)
        share, difference = b / (a + b), other.value - self.value
        se = None
        if self.se is not None or other.se is not None:  # values without a standard error are exact
            se = math.hypot(a * (self.se or 0.0), b * (other.se or 0.0)) / (a + b)
        squares = self.squares + other.squares + difference**2 * a * share
        return Mean(self.value + difference * share, se, self.n + other.n, self.reason or other.reason, a + b, squares)
