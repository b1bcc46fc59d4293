"""How large a difference must be for a title to speak of it: one rule for all pictures.

A difference below 1% of what a measure can be (from its least to its most) is told as "about the same", or left out of
what a title counts. It says nothing of chance: whether a larger difference is sure, only an interval or a test tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

#: The share of a measure's range below which two values are about the same.
LITTLE = 0.01
#: Kendall's tau is from -1 to 1.
TAU = LITTLE * 2
#: Of exposure per member the ratio counts, as there is no most: groups whose values differ by less are about equal.
ALIKE = 0.01
#: How a picture says that a value is about the same as another one.
NEAR = "less than 1% of the range from it"
_ROUNDING = 1e-9


def margin(bounds: Iterable[float], values: Iterable[float] = ()) -> float:
    """The least difference that counts.

    Parameters
    ----------
    bounds
        The least and the most that a measure can be.
    values
        What it is here: where there is no least or no most, the range is the largest size of these.

    Examples
    --------
    >>> margin((-1.0, 1.0)), margin((0.0, float("inf")), [3.0, -5.0])
    (0.02, 0.05)
    """
    low, high = (float(b) for b in bounds)
    if math.isfinite(low) and math.isfinite(high):
        return LITTLE * (high - low)
    return LITTLE * max((abs(v) for v in values if v is not None and math.isfinite(v)), default=0.0)


def margin_of(measure: Any, values: Iterable[float] = ()) -> float:
    """The least difference of a measure that counts."""
    return margin(measure.bounds, values)


def counts(difference: float, least: float) -> bool:
    """Whether a difference is as large as it must be, in either direction; one of rounding never is.

    Examples
    --------
    >>> counts(0.01, 0.01), counts(0.78 - 0.79, 0.01), counts(0.0099, 0.01), counts(0.0, 0.0)
    (True, True, False, False)
    """
    return abs(difference) > 0 and abs(difference) >= least * (1 - _ROUNDING)
