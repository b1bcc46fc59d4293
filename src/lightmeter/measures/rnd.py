"""rND, rKL and rRD: how far prefixes are from the whole list, over the worst there can be (Yang, Stoyanovich 2017).

The share s_k / k of protected documents in the first k is compared with their share in the whole list, P / N, at every
``step``-th rank, discounted by ``1 / log2(k + 1)``; the sum is divided by the largest sum that any order of the same
documents has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.values import Values
from lightmeter.measures.block import Block
from lightmeter.measures.groups import BY, GroupMeasure
from lightmeter.measures.members import BY_DOC, EMPTY, PROTECTED_DOC, VALUE, code_of, member, undefined
from lightmeter.terms.parameters import Number, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

Sum = Callable[[Any], Floats]
_STEP = Number(low=1, integer=True)
_STEP_DOC = "ranks from one prefix looked at to the next"
#: sums below this are nothing but rounding
NOTHING = 1e-12


class _PrefixDifference(GroupMeasure, abstract=True):
    """What the three have in common: the prefixes, the discount and the worst case."""

    better = "lower"
    bounds = (0.0, 1.0)
    invariant_to = frozenset({"query_order", "scores"})  # the whole list is what prefixes are compared with

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        code_of(context, measure, measure.protected)
        return measure

    def terms(self, s: Floats, n: Floats, whole: Floats, size: Floats) -> Floats:
        """The difference of prefixes with ``s`` protected ones of ``n`` from lists with ``whole`` of ``size``."""
        raise NotImplementedError

    def sums(self, block: Block) -> tuple[Floats, Floats, Floats, Floats]:
        """The discounted sum of each ranking, the worst one, and how many are protected out of how many."""
        protected = member(block, self.by, self.protected)  # type: ignore[attr-defined]
        known = block.membership(self.by).known
        first = self.step - 1  # type: ignore[attr-defined]
        rank = np.arange(1, block.shape[1] + 1)[first :: first + 1]
        whole, size = protected.sum(axis=1, keepdims=True), known.sum(axis=1, keepdims=True).astype(np.float64)
        n: Integers = np.cumsum(known, axis=1, dtype=np.int64)[:, first :: first + 1]
        s = np.cumsum(protected, axis=1)[:, first :: first + 1]
        counts = block.valid[:, first :: first + 1] & (n > 0) & (rank <= (self.cutoff or block.shape[1]))
        discount = np.where(counts, 1.0 / np.log2(rank + 1.0), 0.0)

        def total(s: Floats) -> Floats:
            return np.asarray((discount * self.terms(s, np.maximum(n, 1.0), whole, size)).sum(axis=1))

        soft = bool(((protected > 0) & (protected < 1)).any())
        most = _most(protected, known) if soft else lambda n: np.minimum(n, whole)
        worst = self.worst(total, most, n, whole, size, soft)
        return total(s), worst, whole[:, 0], size[:, 0]

    def worst(self, total: Sum, most: Sum, n: Integers, whole: Floats, size: Floats, soft: bool) -> Floats:
        """The largest sum of any order: all protected documents first, or all of them last.

        Each term is convex in s, and of the paths of s from (0, 0) to (N, P) those two bound all others.
        """
        return np.maximum(total(most(n)), total(whole - most(size - n)))

    def value(self, block: Block) -> Values:
        total, worst, whole, size = self.sums(block)
        values = undefined(Values(total / worst), block, self.by, None)
        values.because((whole <= NOTHING) | (whole >= size - NOTHING), EMPTY)
        return values.because(worst <= NOTHING, "short_ranking")


def _most(protected: Floats, known: Booleans) -> Sum:
    """The most that n of a ranking's known documents can have in protected membership, as a function of n."""
    falling = -np.sort(np.where(known, -protected, 0.0), axis=1)
    sums = np.concatenate([np.zeros((len(falling), 1)), np.cumsum(falling, axis=1)], axis=1)
    return lambda n: np.take_along_axis(sums, n.astype(np.int64), axis=1)


class rND(_PrefixDifference):
    """Normalised discounted difference: terms ``|s_k/k - P/N|`` at every ``step``-th rank k, discounted by ``1 /
    log2(k+1)`` and divided by the exact worst case.

    s_k of the first k documents and P of all N are protected. In [0, 1], lower is better. With a cutoff the prefixes
    up to it are looked at; the list they are compared with stays whole. Unknown documents are left out of the counts
    with ``unknown='drop'``. Undefined: ``empty_group`` (all documents or none are protected), ``short_ranking`` (no
    prefix to look at but the whole list). Source: Yang and Stoyanovich, SSDBM 2017.

    Examples
    --------
    >>> from lightmeter import evaluate, load, rND
    >>> c = load(run={"q": ["a", "b", "c", "d"]}, groups={"g": {"a": "x", "b": "y", "c": "x", "d": "y"}})
    >>> evaluate(c, [rND(by="g", protected="x", step=2)]).mean()["value"].item()
    0.0
    """

    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUE, doc=PROTECTED_DOC)
    step: int = param(default=10, accepts=_STEP, doc=_STEP_DOC)

    def terms(self, s: Floats, n: Floats, whole: Floats, size: Floats) -> Floats:
        return np.abs(s / n - whole / size)


class rKL(_PrefixDifference):
    """Normalised discounted KL: the divergence of (s_k/k, 1 - s_k/k) from (P/N, 1 - P/N) at every ``step``-th rank k,
    discounted by ``1 / log2(k+1)`` and divided by the exact worst case.

    In [0, 1], lower is better; the base of the logarithm cancels. ``edge=0.001`` moves shares of exactly 0 and 1 by
    so much, as a known program does. Undefined as :class:`rND`. Source: Yang and Stoyanovich, SSDBM 2017.

    Examples
    --------
    >>> from lightmeter import evaluate, load, rKL
    >>> c = load(run={"q": ["a", "c", "b", "d"]}, groups={"g": {"a": "x", "b": "y", "c": "x", "d": "y"}})
    >>> evaluate(c, [rKL(by="g", protected="x", step=2)]).mean()["value"].item()
    1.0
    """

    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUE, doc=PROTECTED_DOC)
    step: int = param(default=10, accepts=_STEP, doc=_STEP_DOC)
    edge: float = param(default=0.0, accepts=Number(low=0, below=0.5), doc="what shares of 0 and 1 are moved by")

    def terms(self, s: Floats, n: Floats, whole: Floats, size: Floats) -> Floats:
        p, q = s / n, whole / size
        if self.edge:
            p = np.where(p <= 0, self.edge, np.where(p >= 1, 1 - self.edge, p))
        return _part(p, q) + _part(1.0 - p, 1.0 - q)


def _part(p: Floats, q: Floats) -> Floats:
    return np.where(p > 0, p * np.log(np.maximum(p, 1e-300) / q), 0.0)


class rRD(_PrefixDifference):
    """Normalised discounted ratio: terms ``|min(r_k, R) - R|`` of the ratios ``r_k = s_k/(k - s_k)`` (0 if all k are
    protected) and ``R = P/(N - P)``, discounted by ``1 / log2(k+1)`` and divided by the exact worst case.

    In [0, 1], lower is better. Only too few protected documents count, and a prefix of nothing else. Undefined as
    :class:`rND`. Source: Yang and Stoyanovich, SSDBM 2017.

    Examples
    --------
    >>> from lightmeter import evaluate, load, rRD
    >>> c = load(run={"q": ["b", "a", "c", "d"]}, groups={"g": {"a": "x", "b": "y", "c": "x", "d": "y"}})
    >>> evaluate(c, [rRD(by="g", protected="x", step=1)]).mean()["value"].round(6).to_list()
    [0.531652]
    """

    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUE, doc=PROTECTED_DOC)
    step: int = param(default=10, accepts=_STEP, doc=_STEP_DOC)

    def terms(self, s: Floats, n: Floats, whole: Floats, size: Floats) -> Floats:
        only = s >= n - NOTHING
        r = np.where(only, 0.0, s / np.where(only, 1.0, n - s))
        top = whole / (size - whole)
        return np.abs(np.minimum(r, top) - top)

    def worst(self, total: Sum, most: Sum, n: Integers, whole: Floats, size: Floats, soft: bool) -> Floats:
        """The largest sum of any order.

        A prefix of protected documents alone counts in full, and below the last such prefix a term is the larger the
        fewer protected documents it has. So the worst order has some number of protected documents first, which ends
        at a prefix looked at, then the others from the least protected one.
        """
        worst = total(whole - most(size - n))
        for j in range(n.shape[1]):
            first = n[:, j : j + 1].astype(np.float64)
            alone = most(first) >= first - NOTHING
            if not soft:  # fewer than the others at the end have it no worse
                alone &= first > size - whole
            if alone.any():
                below = whole + first - most(size - np.maximum(n, first) + first)
                s = np.where(n <= first, n, below)
                worst = np.where(alone[:, 0], np.maximum(worst, total(s)), worst)
        return worst
