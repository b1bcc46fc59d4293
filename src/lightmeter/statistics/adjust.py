"""Many tests at once: p-values adjusted so that chance findings stay rare."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError, choice

Adjust = Literal["holm", "bh", "none"]
ADJUST: tuple[Adjust, ...] = ("holm", "bh", "none")


def adjusted(p: Any, method: str) -> Floats:
    """p-values adjusted over all that are given.

    Parameters
    ----------
    p
        p-values in [0, 1], of any shape. NaN (a test that could not be made) stays NaN and does not count.
    method
        ``'holm'``: Holm's step-down, the chance of any false finding stays below alpha. ``'bh'``: Benjamini and
        Hochberg's step-up, the expected share of false findings stays below alpha (independent or positively
        dependent tests). ``'none'``.

    Returns
    -------
    Array
        Adjusted p-values in [0, 1], of the same shape, never below p. A test is significant where they are below
        alpha.

    Raises
    ------
    LightmeterError
        Where the method is unknown or a p-value lies outside [0, 1].

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted([0.01, 0.04, 0.03], "bh").round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    choice("adjust", method, ADJUST)
    values = np.array(p, dtype=np.float64)
    made = ~np.isnan(values)
    some = values[made]
    if ((some < 0) | (some > 1)).any():
        raise LightmeterError("a p-value lies outside [0, 1]. Accepted: p-values.")
    if method == "holm" and len(some):
        order = np.argsort(some, kind="stable")
        steps = np.maximum.accumulate(some[order] * np.arange(len(some), 0, -1))
        some[order] = np.minimum(steps, 1.0)
    elif method == "bh" and len(some):
        from scipy.stats import false_discovery_control

        some = false_discovery_control(some, method="bh")
    values[made] = some
    return values
