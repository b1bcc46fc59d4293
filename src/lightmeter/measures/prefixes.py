"""rND, rKL and rRD: how far prefixes are from the whole list, over the worst there can be (Yang, Stoyanovich 2017).

The share s_k / k of protected documents in the first k is compared with their share in the whole list, P / N, at every
``step``-th rank, discounted by ``1 / log2(k + 1)``; the sum is divided by the largest sum that any order of the same
documents has.

Skew: how over- or underrepresented a group is among the first documents (Geyik et al. 2019).

FA*IR: are there too few protected documents in any prefix? (Zehlike et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.membership import Distribution
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError
from lightmeter.measures.base import BY
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    EMPTY,
    PROTECTED_DOC,
    TARGET,
    TARGET_DOC,
    VALUE,
    ZERO_TARGET,
    GroupMeasure,
    code_of,
    looked_at,
    member,
    target_share,
    undefined,
)
from lightmeter.measures.group_sums import skews
from lightmeter.measures.group_targets import distribution
from lightmeter.models.targets import Pool, Target
from lightmeter.statistics.fair_tables import fair_table
from lightmeter.terms.parameters import Choice, Either, Flag, Number, param

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


class _OfOneValue(GroupMeasure, abstract=True):
    """The computation of :class:`Skew`, in a class of its own: there ``value`` is the name of a parameter."""

    def value(self, block: Block) -> Values:
        named: str = self.value  # type: ignore[assignment]
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)  # type: ignore[attr-defined]
        top = looked_at(block, self.cutoff)
        known = (block.membership(self.by).known & top).sum(axis=1)
        share = (member(block, self.by, named) * top).sum(axis=1) / known
        wanted = target_share(goal, code_of(block.context, self, named), block.query)
        values = undefined(Values(skews(share, wanted)), block, self.by, self.cutoff, goal)
        return values.because(wanted <= 0, ZERO_TARGET).because(share <= 0, EMPTY)


class Skew(_OfOneValue):
    """Skew of one group: ``ln(D_k(a) / target(a))``, D_k(a) its share of the first k documents.

    Unbounded; 0 is the target share, above 0 more than that, below 0 less. Undefined where the group has no document
    among the first k (``empty_group``: the logarithm of 0) or no target share (``zero_target_share``). A ranking
    shorter than k is taken whole. Source: Geyik et al., KDD 2019.

    Examples
    --------
    >>> from lightmeter import Skew, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [Skew(by="gender", value="m")@3]).mean()["value"].round(6).to_list()
    [0.287682]
    """

    better = "none"
    needs_cutoff = True
    by: str = param(accepts=BY, doc=BY_DOC)
    value: str = param(accepts=VALUE, doc="the value whose share is looked at")  # type: ignore[assignment]
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        code_of(context, measure, self.value)
        return measure


class _Extreme(GroupMeasure, abstract=True):
    """The lowest or highest skew of any value."""

    needs_cutoff = True

    def _skews(self, block: Block) -> tuple[Floats, Floats, Distribution]:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)  # type: ignore[attr-defined]
        columns = block.membership(self.by).columns(goal, block.query)
        share, _ = columns.shares(looked_at(block, self.cutoff).astype(np.float64))
        return skews(share, columns.q), columns.q, goal


class MinSkew(_Extreme):
    """The lowest skew of any group: ``min_a ln(D_k(a) / target(a))`` over the values with a target share.

    At most 0, higher is better. Undefined (``empty_group``) where a value with a target share has no document among
    the first k. Source: Geyik et al., KDD 2019.

    Examples
    --------
    >>> from lightmeter import MinSkew, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [MinSkew(by="gender")@3]).mean()["value"].round(6).to_list()
    [-0.405465]
    """

    bounds = (-math.inf, 0.0)
    by: str = param(accepts=BY, doc=BY_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def value(self, block: Block) -> Values:
        skew, q, goal = self._skews(block)
        lowest = np.where(q > 0, skew, np.inf).min(axis=1, initial=np.inf)
        values = undefined(Values(lowest), block, self.by, self.cutoff, goal)
        return values.because(np.isneginf(lowest), EMPTY)

    def unanswered(self, context: Context, query: Integers) -> Values:
        """There is no lowest skew, so nothing that an unanswered query could be worth."""
        return Values(np.full(len(query), np.nan)).because(np.ones(len(query), dtype=bool), "not_in_run")


class MaxSkew(_Extreme):
    """The highest skew of any group: ``max_a ln(D_k(a) / target(a))``.

    At least 0, lower is better. Undefined (``zero_target_share``) where a value without a target share has a document
    among the first k. Source: Geyik et al., KDD 2019.

    Examples
    --------
    >>> from lightmeter import MaxSkew, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [MaxSkew(by="gender")@3]).mean()["value"].round(6).to_list()
    [0.287682]
    """

    better = "lower"
    bounds = (0.0, math.inf)
    by: str = param(accepts=BY, doc=BY_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def value(self, block: Block) -> Values:
        skew, _, goal = self._skews(block)
        highest = np.where(np.isnan(skew), -np.inf, skew).max(axis=1, initial=-np.inf)
        values = undefined(Values(highest), block, self.by, self.cutoff, goal)
        return values.because(np.isposinf(highest), ZERO_TARGET)


_SHARE = Number(above=0, below=1)
Part = Literal["test", "p_value", "tail"]
#: fewer rankings of one length and share than this are tested without a table
FEW = 40


class FAIR(GroupMeasure):
    """FA*IR's ranked group fairness: 1 where every prefix of the first k documents has the protected documents that
    chance would give it, else 0.

    A prefix of i documents needs as many as the ``alpha`` quantile of Binomial(i, p), corrected for the many prefixes
    (``adjust``; :func:`~lightmeter.fair_table` gives the table). ``part='p_value'``: the exact chance that a ranking
    drawn with one coin flip a rank is somewhere as short of protected documents as this one (its smallest binomial
    tail), which needs no table. ``part='tail'``: the mean over prefixes of ``P(Binomial(i, p) <= protected ones)``
    (Raj and Ekstrand 2022). All in [0, 1], higher is better. ``p`` is by default the group's share of the documents
    that any compared run ranks for the query.

    A multi-valued document counts as protected if one of its values is. Soft memberships are refused: counts are
    tested. Undefined: ``unknown_member`` (a document's membership is unknown and ``unknown='uniform'``; ``'drop'``
    tests the known ones, ``'distinct'`` counts them as not protected), ``empty_group`` (no share between 0 and 1).
    Source: Zehlike et al., CIKM 2017.

    Examples
    --------
    >>> from lightmeter import FAIR, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
    >>> m = FAIR(by="gender", protected="f", p=0.5)
    >>> evaluate(c, [m, m(part="p_value"), m(part="tail")]).mean()["value"].to_list()
    [1.0, 0.25, 0.416667]
    """

    bounds = (0.0, 1.0)
    by: str = param(accepts=BY, doc=BY_DOC)
    protected: str = param(accepts=VALUE, doc=PROTECTED_DOC)
    p: float | Literal["pool"] = param(
        default="pool",
        accepts=Either((Choice(("pool",)), _SHARE)),
        doc="share that the protected group should have; 'pool': its share of what any compared run ranks",
        always=True,
    )
    alpha: float = param(default=0.1, accepts=_SHARE, doc="how often a fair ranking may fail", always=True)
    part: Part = param(
        default="test",
        accepts=Choice(("test", "p_value", "tail")),
        doc="passed or not; exact p-value; mean binomial tail",
    )
    adjust: bool = param(default=True, accepts=Flag(), doc="correct the table for the many prefixes")

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        code_of(context, measure, self.protected)
        if context.collection.attribute(measure.by).kind == "soft":
            raise LightmeterError(
                f"{self}: {measure.by!r} has soft memberships, and FA*IR counts documents. Accepted: hard or "
                "multi-valued attributes. For soft ones there are Skew, NDKL, rND, rKL, rRD and ECE."
            )
        return measure

    def value(self, block: Block) -> Values:
        known = block.membership(self.by).known & looked_at(block, self.cutoff)
        protected = member(block, self.by, self.protected, full=True)
        size = known.sum(axis=1)
        share, values = self._shares(block)
        able = (size > 0) & (share > 0) & (share < 1)
        # places of unknown membership are passed over: the i-th known document is the i-th of the test
        count, n = np.cumsum(known & (protected > 0), axis=1, dtype=np.int64), np.cumsum(known, axis=1, dtype=np.int64)
        rows = np.flatnonzero(able)
        if len(rows):
            packed = np.zeros((len(rows), int(size.max())), dtype=np.int64)  # the known documents only, closed up
            at, place = np.nonzero(known[rows])
            packed[at, n[rows[at], place] - 1] = count[rows[at], place]
            values.value[rows] = self._of(packed, size[rows], share[rows])
        undefined(values, block, self.by, self.cutoff)
        spread = block.membership(self.by).spread
        if spread is not None:
            values.because(((spread > 0) & known).any(axis=1), "unknown_member")
        return values.because((size > 0) & ~able, EMPTY)

    def _shares(self, block: Block) -> tuple[Floats, Values]:
        """The share that each ranking is tested for, and values to be filled in."""
        values = Values(np.full(block.shape[0], np.nan))
        if self.p != "pool":
            return np.full(block.shape[0], self.p), values
        goal = distribution(block.context, Pool(), self.by, block.ranked.run.name)
        code = code_of(block.context, self, self.protected)
        return target_share(goal, code, block.query), values.because(~goal.defined(block.query), goal.reason)

    def _of(self, count: Integers, size: Integers, share: Floats) -> Floats:
        """The values of rankings of ``size`` known documents, each tested for its share."""
        from lightmeter.statistics import fair_tables

        if self.part == "tail":
            inside = np.arange(count.shape[1]) < size[:, None]
            return np.asarray((fair_tables.running_tails(count, share) * inside).sum(axis=1) / size)
        if self.part == "p_value":
            return fair_tables.batch_p_values(count, size, share)
        out = np.zeros(len(count))
        # rankings of one length and share have one table; it is dearer to find than a few answers
        kinds, kind, many = np.unique(np.stack([size, share]), axis=1, return_inverse=True, return_counts=True)
        alone = (many < FEW)[kind] & self.adjust
        for number in np.flatnonzero(np.bincount(kind[~alone], minlength=len(many))):
            mine = kind == number
            length, p = int(kinds[0, number]), float(kinds[1, number])
            table = fair_table(length, p, self.alpha, adjust=self.adjust).minimum
            out[mine] = (count[mine, :length] >= table).all(axis=1)
        if alone.any():
            out[alone] = fair_tables.batch_passes(count[alone], size[alone], share[alone], self.alpha)
        return out
