"""Sorting places of many rankings at once."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers


def by_falling(key: Floats, valid: Booleans, then: Floats | None = None) -> Integers:
    """Places by falling key, then by falling second key, equals as they stood; padding last."""
    first = np.where(valid, -key, np.inf)
    if then is None:
        return np.argsort(first, axis=1, kind="stable")
    return np.lexsort((np.where(valid, -then, np.inf), first), axis=1)


def exposures(order: Integers, view: Floats) -> Floats:
    """``[.., ranks]``: the view of each place in rankings."""
    out = np.empty(order.shape)
    np.put_along_axis(out, order, view, axis=-1)
    return out
