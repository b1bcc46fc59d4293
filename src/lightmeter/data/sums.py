"""Sums by code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Floats


def sum_by(code: NDArray[np.integer[Any]], weight: NDArray[np.floating[Any]], size: int) -> Floats:
    """``out[c] = sum of the weights whose code is c``, for c from 0 to size - 1.

    Examples
    --------
    >>> import numpy as np
    >>> sum_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4).tolist()
    [1.0, 0.0, 5.0, 0.0]
    """
    out: Floats = np.bincount(code, weight, minlength=size).astype(np.float64, copy=False)
    return out
