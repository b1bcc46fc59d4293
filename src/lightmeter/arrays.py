"""Types of arrays and of sources of randomness, named once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: counts and positions
Integers = NDArray[np.int64]
#: numbers that stand for the values of a vocabulary; -1 for none
Codes = NDArray[np.int32]
Booleans = NDArray[np.bool_]
#: mostly texts or None, such as reasons
Objects = NDArray[np.object_]
AnyArray = NDArray[Any]
#: a seed, a generator that gives one, or None for a fresh one
Rng = int | np.random.Generator | None
