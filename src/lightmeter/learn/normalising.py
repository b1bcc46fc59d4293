"""Features on one scale, by what the training queries show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Floats
from lightmeter.errors import choice

Features = NDArray[np.float32]
NORMALISATIONS = ("zscore", "log", "query", "none")
#: Standardised features are cut here: a value seen nowhere in training would lead anywhere.
_FURTHEST = 10.0


@dataclass(frozen=True)
class Normalisation:
    """A way to put features on one scale.

    Attributes
    ----------
    name
        ``'zscore'``: mean 0 and deviation 1 over the training documents; ``'log'``: the same of
        ``sign(x) ln(1 + |x|)``; ``'query'``: mean 0 and deviation 1 within each query; ``'none'``.
    mean, deviation
        ``[features]`` of the training documents; a feature that does not vary has deviation 1.
    """

    name: str
    mean: Floats
    deviation: Floats

    @classmethod
    def fit(cls, name: str, features: Features) -> Normalisation:
        """From the training documents.

        Examples
        --------
        >>> n = Normalisation.fit("zscore", np.array([[1.0, 5.0], [3.0, 5.0]], dtype=np.float32))
        >>> n.apply(np.array([[1.0, 6.0]], dtype=np.float32), [1]).tolist()
        [[-1.0, 1.0]]
        """
        choice("normalisation", name, NORMALISATIONS)
        x = _logarithm(features) if name == "log" else features
        mean = x.mean(axis=0, dtype=np.float64)
        deviation = x.std(axis=0, dtype=np.float64)
        level = deviation <= 1e-7 * np.maximum(np.abs(mean), 1e-30)
        return cls(name, mean, np.where(level, 1.0, deviation))

    def apply(self, features: Features, sizes: Any) -> Features:
        """Features ``[documents, features]`` of queries with these numbers of documents."""
        if self.name == "none":
            return features
        if self.name == "query":
            start, n = np.cumsum(sizes) - sizes, np.asarray(sizes)
            own = features.astype(np.float64)
            own -= np.repeat(np.add.reduceat(own, start, axis=0) / n[:, None], n, axis=0)
            d = np.sqrt(np.add.reduceat(own**2, start, axis=0) / n[:, None])
            scaled = own / np.repeat(np.where(d > 1e-7, d, 1.0), n, axis=0)
        else:
            x = _logarithm(features) if self.name == "log" else features
            scaled = (x - self.mean) / self.deviation
        return np.clip(scaled, -_FURTHEST, _FURTHEST).astype(np.float32)


def _logarithm(x: Features) -> Features:
    return np.sign(x) * np.log1p(np.abs(x))
