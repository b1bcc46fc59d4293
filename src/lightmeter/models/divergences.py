"""Divergences of an achieved distribution p from a target q over the values 1..c of an attribute.

All take arrays whose last axis runs over the values, broadcast over the others and are 0 for c = 1. Ordinal ones read
the
order of the values and refuse an attribute that has none.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.terms.parameters import Choice, Number, param
from lightmeter.terms.term import Term


class Divergence(Term, abstract=True):
    """Base of divergences: override :meth:`value`."""

    kinds: ClassVar[tuple[str, ...]] = ("divergence",)
    ordinal: ClassVar[bool] = False
    highest: ClassVar[float] = 1.0

    @property
    def most(self) -> float:
        """The largest value it can take, whatever c; may be infinite."""
        return self.highest

    def most_of(self, c: int) -> float:
        """The largest value it can take for c values."""
        return self.most

    def value(self, p: Floats, q: Floats) -> Floats:
        """Divergence of ``p`` from ``q`` along the last axis; infinite values mean undefined."""
        raise NotImplementedError


def _plogp(p: Floats) -> Floats:
    out = np.maximum(p, 1e-300)  # 0 log 0 = 0
    np.log(out, out=out)
    out *= p
    return np.asarray(out.sum(axis=-1))


class JSD(Divergence):
    """Jensen-Shannon divergence: mean KL of p and q from their midpoint, 0 log 0 = 0, in [0, 1] for base 2.

    ``base='e'`` gives nats (at most ln 2), as TREC Fair Ranking's AWRF has it.

    Examples
    --------
    >>> import numpy as np
    >>> float(JSD().value(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    1.0
    """

    base: int | Literal["e"] = param(default=2, accepts=Choice((2, "e")), doc="base of the logarithm")

    @property
    def most(self) -> float:
        return 1.0 if self.base == 2 else math.log(2)

    def value(self, p: Floats, q: Floats) -> Floats:
        middle = p + q
        middle *= 0.5
        nats = 0.5 * (_plogp(p) + _plogp(np.asarray(q))) - _plogp(middle)
        return np.maximum(nats if self.base == "e" else nats / math.log(2), 0.0)


class NMD(Divergence):
    """Normalised match distance: ``sum_{i<c} |P_i - Q_i| / (c - 1)`` over cumulative shares; ordinal (Sakai 2021).

    Examples
    --------
    >>> import numpy as np
    >>> float(NMD().value(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])))
    0.5
    """

    ordinal = True

    def value(self, p: Floats, q: Floats) -> Floats:
        return W1().value(p, q) / max(p.shape[-1] - 1, 1)


class RNOD(Divergence):
    """Root normalised order-aware divergence: ``sqrt(OD / (c-1))``, ordinal (Sakai 2021).

    OD is the mean over the values i with q_i > 0 of ``sum_j |i-j| (p_j - q_j)^2``. Not symmetric. In [0, 1] when every
    q_i > 0 or c <= 4;
    otherwise it can pass 1 and is not clipped.

    Examples
    --------
    >>> import numpy as np
    >>> float(RNOD().value(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    0.5
    """

    ordinal = True
    highest = math.sqrt(2)  # no mean distance weighs more than c - 1, and squared differences sum to 2 at most

    def most_of(self, c: int) -> float:
        return 1.0 if c <= 4 else self.most

    def value(self, p: Floats, q: Floats) -> Floats:
        c = p.shape[-1]
        if c == 1:
            return np.zeros(np.broadcast_shapes(p.shape, q.shape)[:-1])
        distance = np.abs(np.subtract.outer(np.arange(c), np.arange(c))).astype(np.float64)
        asked = (q > 0).astype(np.float64)
        # a query without a target asks for nothing; its value is marked as undefined elsewhere
        weight = (asked @ distance) / np.maximum(asked.sum(axis=-1, keepdims=True), 1.0)
        return np.sqrt((weight * (p - q) ** 2).sum(axis=-1) / (c - 1))


class KL(Divergence):
    """Kullback-Leibler divergence in nats: ``sum (p + eps) ln((p + eps) / (q + eps))``; undefined where q = 0 < p and
    eps = 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(KL().value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))), 6)
    0.693147
    """

    highest = math.inf
    eps: float = param(default=0.0, accepts=Number(low=0, high=1), doc="added to every share")

    def value(self, p: Floats, q: Floats) -> Floats:
        p, q = np.broadcast_arrays(p + self.eps, q + self.eps)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * np.log(p / q), 0.0)
        return np.asarray(terms.sum(axis=-1))


class TV(Divergence):
    """Total variation: half the sum of absolute differences, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> float(TV().value(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    0.5
    """

    def value(self, p: Floats, q: Floats) -> Floats:
        return 0.5 * np.abs(p - q).sum(axis=-1)


class SqL2(Divergence):
    """Squared Euclidean distance, in [0, 2].

    Examples
    --------
    >>> import numpy as np
    >>> float(SqL2().value(np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    0.5
    """

    highest = 2.0

    def value(self, p: Floats, q: Floats) -> Floats:
        return np.asarray(((p - q) ** 2).sum(axis=-1))


class W1(Divergence):
    """Wasserstein-1 distance with unit steps between neighbours: ``sum_{i<c} |P_i - Q_i|``, in [0, c-1]; ordinal.

    Examples
    --------
    >>> import numpy as np
    >>> float(W1().value(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])))
    2.0
    """

    ordinal = True
    highest = math.inf

    def most_of(self, c: int) -> float:
        return float(max(c - 1, 0))

    def value(self, p: Floats, q: Floats) -> Floats:
        return np.abs(np.cumsum(p - q, axis=-1)[..., :-1]).sum(axis=-1)
