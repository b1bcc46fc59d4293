"""Measures of how exposure is shared out by a policy, for each query or amortised over queries.

A reader who comes back sees several rankings, and a document that stands low in one may stand high in the next. What is
amortised adds up over the queries, as often as each is asked, before it is compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.data.rankings import Ranked
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values, by_name
from lightmeter.exposure.estimates import FEW_SAMPLES
from lightmeter.measures.base import BY, Measure
from lightmeter.measures.folds import FEWEST, exposure_without
from lightmeter.measures.gains import DCG
from lightmeter.measures.groups import NOTHING_KNOWN
from lightmeter.measures.mixture import mixture
from lightmeter.measures.totals import (
    Totals,
    distinct_members,
    document_codes,
    shared,
    totals_by_query,
    totals_of,
    totals_over,
    totals_without,
)
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, Flag, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

Docs = Literal["ranked", "all", "relevant"]
DOCS = Choice(("ranked", "all", "relevant"))
DOCS_DOC = "whose exposure: 'ranked' documents, 'all' ranked or judged ones, or 'relevant' ones, ranked or not"
USER_DOC = "user model whose view is exposure"
AMORTISED_DOC = "add up over the queries, by their weights, before comparing: one value for all queries"


class OfExposure(Measure, abstract=True):
    """Base of measures that compare what a policy's expected exposure adds up to, by document or by group.

    A subclass has the parameters ``user``, ``docs`` and ``amortised``, and ``by`` where it looks at groups, and says in
    :meth:`reduce` what it makes of the sums. Under a policy the expected exposure is exact wherever the policy's is;
    the measure is then that of the policy, not the mean over rankings. From sampled rankings it is the measure of their
    mean exposure, with a delete-one standard error.
    """

    needs: ClassVar[Any] = frozenset()
    invariant_to = frozenset({"query_order", "scores", "below_cutoff"})
    #: whether grades play a part
    graded: ClassVar[bool] = False

    @property
    def across_queries(self) -> bool:  # type: ignore[override]
        return bool(getattr(self, "amortised", False))

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        if measure.attribute is not None:
            context.collection.attribute(measure.attribute)
        return measure

    def reduce(self, totals: Totals, context: Context) -> Values | dict[str, Values]:
        """One value for each owner of the sums, or several by group."""
        raise NotImplementedError

    def prepare(self, totals: Totals) -> Totals:
        """The sums of queries as they are added up over queries."""
        return totals

    @property
    def _candidates(self) -> tuple[str | None, str]:
        """Their groups and which they are."""
        return self.attribute, self._given.docs

    @property
    def _given(self) -> Any:
        """Itself, for the parameters of subclasses."""
        return self

    def _sums(self, context: Context, ranked: Ranked) -> Totals:
        return totals_by_query(context, ranked, *self._candidates, self._given.user, self.cutoff, self.graded)

    def of_run(self, context: Context, ranked: Ranked) -> Values | dict[str, Values]:
        sums = self._sums(context, ranked)
        found = self.reduce(self.prepare(sums), context)
        values = {name: self._explained(v, context, ranked) for name, v in by_name(found).items()}
        if ranked.sampled:
            self._add_errors(values, sums, context, ranked)
        return _like(found, values)

    def _explained(self, values: Values, context: Context, ranked: Ranked) -> Values:
        """Why a query has no value: nothing relevant and nothing known come before what the sums tell."""
        out = Values(values.value)
        if self._given.docs == "relevant" and context.collection.judgments is not None:
            out.because(context.collection.judgments.relevant(np.nextafter(0, 1)) == 0, "no_relevant")
        if self.attribute is not None:
            out.because(~shared(context, ranked, *self._candidates).known, NOTHING_KNOWN)
        if values.reason is not None:
            for reason in sorted({r for r in values.reason if r is not None}):
                mine = np.equal(values.reason, reason)
                out.because(mine & np.isnan(values.value), reason)
                out.because(mine, reason, None)
        return out

    def _add_errors(self, values: dict[str | None, Values], sums: Totals, context: Context, ranked: Ranked) -> None:
        """Delete-one standard errors over a query's rankings."""
        mix = mixture(context, ranked)
        if mix.exact.all():
            return
        less = totals_without(context, ranked, sums, *self._candidates, self._given.user, self.cutoff)
        for name, without in by_name(self.reduce(self.prepare(less), context)).items():
            mine = values[name]
            q, queries = mix.query, len(mine.value)
            centre = sum_by(q, mix.copies * without.value, queries) / mix.draws
            spread = sum_by(q, mix.copies * (without.value - centre[q]) ** 2, queries)
            few = ~mix.exact & (mix.draws < FEWEST)
            se = np.where(few | np.isnan(mine.value), np.nan, np.sqrt((mix.draws - 1.0) / mix.draws * spread))
            mine.se = np.where(mix.exact, 0.0, se)
            mine.because(few, FEW_SAMPLES, None)

    def across(self, context: Context, ranked: Ranked, weight: Floats) -> Values | dict[str, Values]:
        members = self._members(context, ranked, weight)
        return self._across(context, ranked, weight, self.prepare(self._sums(context, ranked)), members)

    def across_error(self, context: Context, ranked: Ranked, weight: Floats) -> dict[str | None, float]:
        """Standard errors of sampled rankings, by folds: the rankings of every query are dealt out at random, and one
        fold after the other is left out.
        """
        if not ranked.sampled:
            return {}
        parts = context.once(("without folds", self, ranked.key), lambda: self._without_folds(context, ranked))
        if not parts:
            return {}
        members = self._members(context, ranked, weight)
        found = [by_name(self._across(context, ranked, weight, p, members)) for p in parts]
        out = {}
        for name in found[0]:
            value = np.array([float(f[name].value[0]) for f in found])
            out[name] = float(np.sqrt((len(value) - 1.0) * np.var(value)))
        return out

    def _without_folds(self, context: Context, ranked: Ranked) -> list[Totals]:
        """The sums by query without each fold in turn; none where nothing is estimated or rankings are too few."""
        found = shared(context, ranked, *self._candidates).found
        return [
            self.prepare(totals_of(context, ranked, *self._candidates, exposure, self.graded))
            for exposure in exposure_without(context, ranked, found, self._given.user, self.cutoff)
        ]

    def _members(self, context: Context, ranked: Ranked, weight: Floats) -> Floats | None:
        by = self.attribute
        return None if by is None else distinct_members(context, ranked, by, self._given.docs, weight)

    def _across(
        self, context: Context, ranked: Ranked, weight: Floats, prepared: Totals, members: Floats | None
    ) -> Values | dict[str, Values]:
        by = self.attribute
        if by is None:
            prepared = replace(prepared, key=document_codes(context, ranked, self._given.docs)[prepared.key])
        found = self.reduce(totals_over(prepared, self.counted(prepared, weight), members), context)
        if by is not None:
            nothing = not shared(context, ranked, *self._candidates).known[weight > 0].any()
            for values in by_name(found).values():
                values.because(np.full(1, nothing), NOTHING_KNOWN)
        return found

    def counted(self, prepared: Totals, weight: Floats) -> Floats:
        """The weights of the queries that can add something, 0 for the others."""
        return weight


def _like(found: Values | dict[str, Values], values: dict[str | None, Values]) -> Values | dict[str, Values]:
    """Values by name in the form in which they were found."""
    return {name: values[name] for name in found} if isinstance(found, dict) else values[None]


class MeanExposure(OfExposure):
    """Mean exposure of each group: ``E_a = sum_d G[d,a] eps_d / sum_d G[d,a]``, a value for each group.

    At least 0. All candidates count, those that are not seen with exposure 0; a multi-valued document counts fully in
    each of its groups. Amortised: exposure is per request, and the members are the distinct documents of the queries.
    Undefined (``empty_group``) for a group without a candidate. Source: Singh and Joachims 2018.

    Examples
    --------
    >>> from lightmeter import MeanExposure, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [MeanExposure(by="gender", user=TopK(k=2))]).mean().select("group", "value").rows()
    [('f', 1.0), ('m', 0.5)]
    """

    better = "none"
    bounds = (0.0, np.inf)
    by: str = param(accepts=BY, doc="attribute whose groups are looked at")
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    docs: Docs = param(default="ranked", accepts=DOCS, doc=DOCS_DOC)
    amortised: bool = param(default=False, accepts=Flag(), doc=AMORTISED_DOC)
    linear = True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"groups"} if self.docs == "ranked" else {"groups", "judgments"})

    def reduce(self, totals: Totals, context: Context) -> dict[str, Values]:
        names = context.collection.attribute(str(self.attribute)).values
        mean = totals.exposure / totals.members
        order = np.argsort(totals.key, kind="stable")
        ends = np.searchsorted(totals.key[order], np.arange(len(names) + 1))
        out = {}
        for code, name in enumerate(names):
            mine = order[ends[code] : ends[code + 1]]
            value = np.full(totals.owners, np.nan)
            value[totals.owner[mine]] = mean[mine]
            out[name] = Values(value).because(np.isnan(value), "empty_group")
        return out
