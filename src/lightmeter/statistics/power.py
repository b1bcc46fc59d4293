"""Discriminative power: how many pairs of runs a measure tells apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.statistics.scores import share


def asl_curve(p: Any) -> Floats:
    """The curve of achieved significance levels: the p-values of all pairs of runs in ascending order.

    The lower the curve, the more pairs the measure tells apart. Tests that could not be made (NaN) come last. Source:
    Sakai, SIGIR 2006 and 2007.

    Examples
    --------
    >>> asl_curve([0.2, 0.01, 0.5]).tolist()
    [0.01, 0.2, 0.5]
    """
    return np.sort(np.asarray(p, dtype=np.float64).ravel())


def discriminative_power(p: Any, alpha: float = 0.05) -> float:
    """The share of pairs whose p-value is below ``alpha``, in [0, 1]; NaN where there is no pair.

    A pair that could not be tested is not told apart.

    Examples
    --------
    >>> discriminative_power([0.2, 0.01, 0.5, 0.04])
    0.5
    """
    values = np.asarray(p, dtype=np.float64).ravel()
    return float((values < share("alpha", alpha)).mean()) if len(values) else float("nan")
