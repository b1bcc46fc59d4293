"""Exposure of groups compared: ratios and gaps, alone and per unit of merit (Singh and Joachims 2018).

All compare two groups that are named, or the worst pair there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.measures.base import BY
from lightmeter.measures.exposure_sums import AMORTISED_DOC, DOCS, DOCS_DOC, USER_DOC, Docs, OfExposure, Totals
from lightmeter.measures.group_sums import quotient
from lightmeter.measures.relevance import DCG
from lightmeter.models.users import User
from lightmeter.terms.parameters import Flag, Maybe, Number, TermOf, Text, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

ROUNDING = 1e-9  # of a sum of memberships
_VALUE = Maybe(Text("one of the attribute's values in quotes"))


class _Pair(OfExposure, abstract=True):
    """Base of comparisons of two groups: those named, or the lowest with the highest."""

    by: str = param(accepts=BY, doc="attribute whose groups are compared; several: their intersections")
    value: str | None = param(default=None, accepts=_VALUE, doc="a group; without one the worst pair is compared")  # type: ignore[assignment]
    reference: str | None = param(default=None, accepts=_VALUE, doc="the group that it is compared with")
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    docs: Docs = param(default="ranked", accepts=DOCS, doc=DOCS_DOC)
    min_size: float = param(
        default=0.0, accepts=Number(low=0), doc="groups of fewer members are left out (of a named pair: undefined)"
    )
    amortised: bool = param(default=False, accepts=Flag(), doc=AMORTISED_DOC)

    def check(self) -> None:
        super().check()
        if (self.value is None) != (self.reference is None):
            raise TermError(f"{self}: one group is named. Accepted: value and reference, or neither (the worst pair).")
        if self.value is not None and self.value == self.reference:
            raise TermError(f"{self}: {self.value!r} is compared with itself. Accepted: two groups.")

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"groups", "judgments"} if self.graded or self.docs != "ranked" else {"groups"})

    @property
    def better(self) -> str:  # type: ignore[override]
        return "higher" if self.value is None else "none"

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 if self.value is None else np.inf

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        values = context.collection.attribute(measure.by).values
        for one in (self.value, self.reference):
            if one is not None and one not in values:
                raise LightmeterError(
                    f"{self}: {self.attribute!r} has no value {one!r}.{suggest(one, values)} Known: "
                    f"{', '.join(values[:20])}."
                )
        return measure

    def amount(self, totals: Totals) -> tuple[Floats, Booleans, str]:
        """What is compared, one a row of the sums; where it is defined, and why it is not elsewhere."""
        return quotient(totals.exposure, totals.members), np.ones(len(totals.key), dtype=bool), ""

    def compare(self, low: Floats, high: Floats) -> Values:
        """The ratio; without exposure to divide by it is undefined."""
        return Values(quotient(low, high)).because(high <= 0, "zero_exposure")

    def reduce(self, totals: Totals, context: Context) -> Values:
        if self.value is None:
            return self.of_groups(totals)
        values = context.collection.attribute(self.by).values
        return self.of_groups(totals, (values.index(self.value), values.index(str(self.reference))))

    def of_groups(self, totals: Totals, pair: tuple[int, int] | None = None) -> Values:
        """One value for each owner of sums by group: of the pair of keys (group, reference), or of the worst pair."""
        amount, good, why = self.amount(totals)
        large = totals.members >= self.min_size - ROUNDING
        if pair is not None:
            return self._of_pair(totals, amount, good, large, why, pair)
        keep = good & large
        low, high = totals.lowest(amount, keep), -totals.lowest(-amount, keep)
        left = np.bincount(totals.owner[keep], minlength=totals.owners)
        there = np.bincount(totals.owner[large], minlength=totals.owners)
        small = np.bincount(totals.owner[~large], minlength=totals.owners) > 0
        out = self.compare(np.where(left > 1, low, np.nan), np.where(left > 1, high, np.nan))
        out.because((left < 2) & (there >= 2), why or "empty_group")
        out.because((left < 2) & (there + small * 2 >= 2) & (there < 2), "small_group")
        out.because(left < 2, "empty_group")
        out.because(small, "small_group", None)  # left out: a remark
        return out.because(left < there, why, None) if why else out

    def _of_pair(
        self,
        totals: Totals,
        amount: Floats,
        good: Booleans,
        large: Booleans,
        why: str,
        keys: tuple[int, int],
    ) -> Values:
        every = np.ones(len(totals.key), dtype=bool)
        members = [totals.at(totals.members, key, every) for key in keys]
        enough = [totals.at(large.astype(np.float64), key, every) for key in keys]
        fine = [totals.at(good.astype(np.float64), key, every) for key in keys]
        mine, theirs = (totals.at(amount, key, good) for key in keys)
        out = Values(np.zeros(totals.owners))
        out.because(np.isnan(members[0]) | np.isnan(members[1]), "empty_group")
        out.because((enough[0] == 0) | (enough[1] == 0), "small_group")
        if why:
            out.because((fine[0] == 0) | (fine[1] == 0), why)
        compared = self.compare(mine, theirs)
        value = np.where(np.isnan(out.value), np.nan, compared.value)
        found = Values(value, out.reason)
        for reason in sorted({r for r in compared.reasons() if r is not None}):
            found.because(np.equal(compared.reasons(), reason), reason)
        return found


class ExposureRatio(_Pair):
    """Ratio of two groups' mean exposure, ``E_a / E_b`` with ``E_a = sum_d G[d,a] eps_d / sum_d G[d,a]``.

    The group ``value`` over ``reference``; without them the lowest over the highest, in [0, 1], higher is better. It is
    the ratio of expected exposures, not an expected ratio. Groups without a candidate are left out of the worst pair;
    undefined where a named group has none (``empty_group``), where fewer than two are left, or where there is no
    exposure to divide by (``zero_exposure``). Source: Singh and Joachims 2018 (demographic parity).

    Examples
    --------
    >>> from lightmeter import ExposureRatio, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [ExposureRatio(by="gender", user=TopK(k=2))]).mean()["value"].to_list()
    [0.5]
    """

    known_as = ("demographic parity",)


class ExposureGap(_Pair):
    """Difference of two groups' mean exposure, ``E_a - E_b`` with ``E_a = sum_d G[d,a] eps_d / sum_d G[d,a]``.

    The group ``value`` minus ``reference``, in [-1, 1]; without them the highest minus the lowest, in [0, 1], lower is
    better. Amortised: per request. Undefined where a group has no candidate (``empty_group``). Source: Singh and
    Joachims 2018.

    Examples
    --------
    >>> from lightmeter import ExposureGap, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [ExposureGap(by="gender", user=TopK(k=2))]).mean()["value"].to_list()
    [0.5]
    """

    @property
    def better(self) -> str:  # type: ignore[override]
        return "lower" if self.value is None else "none"

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return self.value is not None

    @property
    def bounds(self) -> tuple[float, float]:
        most = float(max(getattr(self.user, "weights", (1.0,))))
        return (0.0 if self.value is None else -most), most

    def compare(self, low: Floats, high: Floats) -> Values:
        return Values(high - low if self.value is None else low - high)


class DTR(_Pair):
    """Disparate treatment ratio: exposure per unit of merit of one group over another's, ``(E_a / u_a) / (E_b / u_b)``,
    E the mean exposure and u the mean grade of a group.

    The group ``value`` over ``reference``; without them the lowest over the highest, in [0, 1], higher is better. Its
    documents are those ranked or judged. A group without merit is left out of the worst pair; undefined where a named
    one has none (``zero_merit``). Source: Singh and Joachims 2018.

    Examples
    --------
    >>> from lightmeter import DTR, TopK, evaluate, load
    >>> c = load(
    ...     run={"q": ["a", "b", "c"]},
    ...     qrels={"q": {"a": 2, "b": 1, "c": 0}},
    ...     groups={"gender": {"a": "f", "b": "m", "c": "m"}},
    ... )
    >>> evaluate(c, [DTR(by="gender", value="f", reference="m", user=TopK(k=2))]).mean()["value"].to_list()
    [0.5]
    """

    docs: Docs = param(default="all", accepts=DOCS, doc=DOCS_DOC)
    graded = True

    def amount(self, totals: Totals) -> tuple[Floats, Booleans, str]:
        some = totals.merit > 0
        return totals.exposure / np.where(some, totals.merit, 1.0), some, "zero_merit"


class DIR(DTR):
    """Disparate impact ratio: expected clicks per unit of merit of one group over another's, ``(C_a / u_a) / (C_b /
    u_b)``, C the mean of exposure times grade and u the mean grade of a group.

    The group ``value`` over ``reference``; without them the lowest over the highest, in [0, 1], higher is better. A
    group without merit is left out of the worst pair; undefined where a named one has none (``zero_merit``). Source:
    Singh and Joachims 2018.

    Examples
    --------
    >>> from lightmeter import DIR, TopK, evaluate, load
    >>> c = load(
    ...     run={"q": ["a", "b", "c"]},
    ...     qrels={"q": {"a": 2, "b": 1, "c": 1}},
    ...     groups={"gender": {"a": "f", "b": "m", "c": "m"}},
    ... )
    >>> evaluate(c, [DIR(by="gender", user=TopK(k=2))]).mean()["value"].to_list()
    [0.5]
    """

    def amount(self, totals: Totals) -> tuple[Floats, Booleans, str]:
        some = totals.merit > 0
        return totals.clicks / np.where(some, totals.merit, 1.0), some, "zero_merit"


class _Log(_Pair, abstract=True):
    """The natural logarithm of a ratio: 0 is parity."""

    @property
    def bounds(self) -> tuple[float, float]:
        return -np.inf, 0.0 if self.value is None else np.inf

    def compare(self, low: Floats, high: Floats) -> Values:
        with np.errstate(all="ignore"):
            return Values(np.log(low / high)).because((high <= 0) | (low <= 0), "zero_exposure")

    def unanswered(self, context: Context, query: Integers) -> Values:
        """0 would be parity: what is not answered has no value."""
        values = super().unanswered(context, query)
        return Values(np.full(len(query), np.nan), values.reason)


class logDP(_Log, _Pair):
    """Natural logarithm of :class:`ExposureRatio`: demographic parity; 0 is parity.

    Of a named pair any number; of the worst pair at most 0, higher is better. Undefined also where a group has no
    exposure (``zero_exposure``). Source: Raj and Ekstrand 2022.

    Examples
    --------
    >>> from lightmeter import TopK, evaluate, load, logDP
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [logDP(by="gender", user=TopK(k=2))]).mean()["value"].round(6).to_list()
    [-0.693147]
    """

    known_as = ("DP",)


class logEUR(_Log, DTR):
    """Natural logarithm of :class:`DTR`: exposure over merit; 0 is parity.

    Of a named pair any number; of the worst pair at most 0, higher is better. Undefined also where a group has no
    exposure (``zero_exposure``) or no merit (``zero_merit``). Source: Raj and Ekstrand 2022.

    Examples
    --------
    >>> from lightmeter import TopK, evaluate, load, logEUR
    >>> c = load(
    ...     run={"q": ["a", "b", "c"]},
    ...     qrels={"q": {"a": 2, "b": 1, "c": 0}},
    ...     groups={"gender": {"a": "f", "b": "m", "c": "m"}},
    ... )
    >>> evaluate(c, [logEUR(by="gender", user=TopK(k=2))]).mean()["value"].round(6).to_list()
    [-0.693147]
    """

    known_as = ("EUR",)


class logRUR(_Log, DIR):
    """Natural logarithm of :class:`DIR`: expected clicks over merit; 0 is parity.

    Of a named pair any number; of the worst pair at most 0, higher is better. Undefined also where a group has no
    exposure (``zero_exposure``) or no merit (``zero_merit``). Source: Raj and Ekstrand 2022.

    Examples
    --------
    >>> from lightmeter import TopK, evaluate, load, logRUR
    >>> c = load(
    ...     run={"q": ["a", "b", "c"]},
    ...     qrels={"q": {"a": 2, "b": 1, "c": 1}},
    ...     groups={"gender": {"a": "f", "b": "m", "c": "m"}},
    ... )
    >>> evaluate(c, [logRUR(by="gender", user=TopK(k=2))]).mean()["value"].round(6).to_list()
    [-0.693147]
    """

    known_as = ("RUR",)
