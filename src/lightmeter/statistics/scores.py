"""Scores that tests accept: complete, and equal where they differ by rounding only."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError

#: Differences below this share of the largest score come from rounding, and count as ties.
TOLERANCE = 1e-9


def complete(scores: Any, *, rows: int = 1, what: str = "scores") -> Floats:
    """Scores as an array ``[rows, queries]`` without gaps.

    Raises
    ------
    LightmeterError
        Where the array has another shape, too few rows, no query, or a value that is not finite.
    """
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise LightmeterError(f"the {what} are no numbers. Accepted: an array [rows, queries].") from None
    if array.ndim != 2 or array.shape[0] < rows or not array.shape[1]:
        raise LightmeterError(
            f"the {what} have the shape {array.shape}. Accepted: [rows, queries] with at least {rows} "
            f"{'row' if rows == 1 else 'rows'} and one query."
        )
    if not np.isfinite(array).all():
        raise LightmeterError(
            f"{int((~np.isfinite(array)).sum())} of the {what} are not finite. Accepted: the queries defined for all "
            "rows; leave the others out."
        )
    return array


def tolerance(scores: Floats) -> float:
    """The largest difference that counts as none.

    Relative to the largest score, so that it does not matter in which unit a measure counts: 1e-9 for scores in [0, 1].
    """
    return TOLERANCE * float(np.abs(scores).max(initial=0.0))


def settled(differences: Floats, tol: float) -> Floats:
    """The differences, with 0 for those that come from rounding."""
    return np.where(np.abs(differences) <= tol, 0.0, differences)


def share(name: str, value: Any) -> float:
    """A number between 0 and 1, both excluded."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 < value < 1.0:
        raise LightmeterError(f"{name} is {value!r}. Accepted: a number between 0 and 1, such as 0.05.")
    return float(value)
