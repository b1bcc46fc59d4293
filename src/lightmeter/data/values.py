"""Values: one number per query, with the reason where it is undefined; and sums by code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Booleans, Floats


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


@dataclass
class Values:
    """Values with reasons.

    Attributes
    ----------
    value
        One number each; NaN where undefined.
    reason
        A short code or None each; None for the whole where nothing needs one. A value may carry a reason without being
        NaN.
    se
        Standard errors where the values are estimated.
    """

    value: Floats
    reason: AnyArray | None = None
    se: Floats | None = None

    def because(self, where: Booleans | np.bool_, reason: str, value: float | None = np.nan) -> Values:
        """Mark some values with a reason, replacing them (by NaN; None keeps them, so that the reason is a remark).

        An earlier reason stays, unless it is only a remark and this one makes the value undefined.
        """
        where = np.asarray(where, dtype=bool)
        if not where.any():
            return self
        if self.reason is None:
            self.reason = np.full(self.value.shape, None, dtype=object)
        fresh = where & np.equal(self.reason, None)  # type: ignore[call-overload]
        if value is not None:  # what makes a value undefined outweighs a remark beside it
            fresh |= where & ~np.isnan(self.value)
        self.reason[fresh] = reason
        if value is not None:
            self.value = np.where(fresh, value, self.value)
            if self.se is not None:
                self.se = np.where(fresh, np.nan, self.se)
        return self

    def reasons(self) -> AnyArray:
        """The reasons, an array in any case."""
        return np.full(self.value.shape, None, dtype=object) if self.reason is None else self.reason


def as_values(result: Any) -> Values:
    """What a measure returned, as Values; infinities become undefined."""
    values = result if isinstance(result, Values) else Values(np.asarray(result, dtype=np.float64))
    infinite = np.isinf(values.value)
    if infinite.any():
        values.because(infinite, "infinite")
    return values.because(np.isnan(values.value), "undefined")


def by_name(found: Values | dict[str, Values]) -> dict[str | None, Values]:
    """Values by group; those of a measure without groups under None."""
    return dict(found.items()) if isinstance(found, dict) else {None: found}
