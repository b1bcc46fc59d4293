"""Expected exposure between its exact bounds: 0 is the least and 1 the most that any policy can have.

``nX = (X - low)/(high - low)``. Against ``Ideal(complete=True)`` the candidates are everything, and the bounds are
over policies that rank all of them: a ranking that ends above the last rank that is seen has none (``short_ranking``).
Against ``Ideal()`` the corpus is unbounded, and the bounds do not depend on what a run retrieved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.rankings import Ranked
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.bounds import bounds
from lightmeter.exposure.group_bounds import GROUPS, group_bounds
from lightmeter.exposure.reach import seen_ranks
from lightmeter.measures.exposure import ExpectedExposure
from lightmeter.measures.levels import levels
from lightmeter.measures.target_exposure import others, spread_unknown
from lightmeter.models.targets import Ideal

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class Normalised(ExpectedExposure, abstract=True):
    """What the normalised forms have in common."""

    plain: ClassVar[Literal["EED", "EER", "EEL"]]

    def check(self) -> None:
        super().check()
        plain = self.plain
        if not isinstance(self.target, Ideal):
            raise TermError(
                f"{self}: {plain} has no known bounds against the target {self.target}. Accepted: Ideal or "
                f"Ideal(complete=True); or {plain}, which is not normalised."
            )
        if self.by is None:
            return
        if plain != "EED":
            raise TermError(
                f"{self}: the {plain} of groups has no known bounds. Accepted: no 'by'; or {plain}(by=..), which is "
                "not normalised; or nEED(by=..)."
            )
        if self.user.by_document:
            raise TermError(
                f"{self}: group exposure has no known bounds for {self.user}, who reads the documents. Accepted: a "
                "user who knows the rank only, such as RBP(p=0.5); or EED(by=..), which is not normalised."
            )
        if self.docs == "all" and not self.target.complete:
            raise TermError(
                f"{self}: the groups of an unbounded corpus have no sizes, so no bounds. Accepted: docs='relevant', or "
                "target=Ideal(complete=True)."
            )

    @property
    def complete(self) -> bool:
        """Whether the candidates are everything there is."""
        return isinstance(self.target, Ideal) and self.target.complete

    @property
    def bounds(self) -> tuple[float, float]:
        # an unbiased estimate may lie below what any policy has, not above: no two rankings agree more than one does
        # with itself
        return (0.0 if self.estimator == "plugin" or self.linear else -np.inf), 1.0

    def resolve(self, context: Context) -> Self:
        measure = super().resolve(context)
        if self.by is not None:
            attribute = context.collection.attribute(self.by)
            if attribute.kind != "hard":
                raise LightmeterError(
                    f"{self}: documents have several values of {self.by!r} or shares of them, and group exposure has "
                    "known bounds only where each has one. Accepted: an attribute of one value a document; or "
                    "EED(by=..), which is not normalised."
                )
        elif not measure.complete:
            # refuse what has no bound before anything is computed
            bounds(self.plain, measure.user, np.ones((1, 1)), np.ones((1, 1)), None, self.cutoff)
        return measure

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        sums = self.sums(context, ranked)
        plain: Values = getattr(sums, self.plain.lower())
        key = ("bounds", self.plain, self.user, self.target, self.by, self.docs, self.cutoff)
        low, high, unknown = context.once(key, lambda: self._bounds(context))
        none = high - low <= 1e-12 * high
        span = np.where(none, np.nan, high - low)
        reason = None if plain.reason is None else plain.reason.copy()
        values = Values((plain.value - low) / span, reason, None if plain.se is None else plain.se / span)
        values.because(unknown, "unknown_member")
        if self.complete:
            values.because(self._short(context, ranked), "short_ranking")
        return values.because(none, "no_range")

    def unanswered(self, context: Context, query: Integers) -> Values:
        """The worst there is: 0 where higher is better, else 1."""
        worst = 0.0 if self.better == "higher" else 1.0
        return Values(np.full(len(query), worst)).because(np.ones(len(query), dtype=bool), "not_in_run", worst)

    def _candidates(self, context: Context) -> Integers:
        """Number of candidates of each query."""
        level = levels(context)
        return level.count.sum(axis=1) + self._zeros(context)

    def _zeros(self, context: Context) -> Integers:
        """Candidates of grade 0, judged or not."""
        level = levels(context)
        return level.zeros + np.bincount(others(context).query, minlength=len(level.zeros))

    def _short(self, context: Context, ranked: Ranked) -> Booleans:
        """Queries with a ranking that leaves out candidates who could be seen."""
        shortest = np.full(len(context.collection.queries), np.inf)
        drawn = slice(None) if ranked.weight is None else ranked.weight > 0
        np.minimum.at(shortest, ranked.query[drawn], ranked.lengths[drawn].astype(np.float64))
        return shortest < np.minimum(self._candidates(context), seen_ranks(self.user, self.cutoff))

    def _bounds(self, context: Context) -> tuple[Floats, Floats, Booleans]:
        """Lowest and highest value by query, and which queries have none for want of known members."""
        if self.by is not None:
            return self._group_bounds(context)
        level = levels(context)
        zeros = self._zeros(context) if self.complete else None
        low, high = bounds(self.plain, self.user, level.gain, level.count, zeros, self.cutoff)
        return low, high, np.zeros(len(low), dtype=bool)

    def _group_bounds(self, context: Context) -> tuple[Floats, Floats, Booleans]:
        attribute, judgments = context.collection.attribute(str(self.by)), context.collection.judgments
        queries = len(context.collection.queries)
        query, doc = others(context).query[:0], others(context).doc[:0]
        if judgments is not None:
            rows = np.flatnonzero(judgments.gain > 0) if self.docs == "relevant" else np.arange(len(judgments.gain))
            query, doc = judgments.query[rows].astype(np.int64), judgments.doc.gather(rows)
        if self.docs == "all":
            query, doc = np.append(query, others(context).query), doc.append(others(context).doc)
        entry = attribute.index.find(doc, query.astype(np.int32) if attribute.by_query else None)
        unknown = np.zeros(queries, dtype=bool)
        if context.unknown == "uniform":  # counts in part for every group
            known = entry >= 0
            unknown[query[~known]] = True
            query, doc, entry = query[known], doc.filter(known), entry[known]
        owner, value, _ = spread_unknown(context, attribute, entry, query, np.ones(len(query)), doc)
        groups = np.int64(value.max(initial=0) + 1)
        keys, many = np.unique(owner * groups + value, return_counts=True)
        owner = keys // groups
        column = np.arange(len(owner)) - np.searchsorted(owner, np.arange(queries))[owner]
        if (column >= GROUPS).any():
            name = context.collection.queries[int(owner[column >= GROUPS][0])]
            raise LightmeterError(
                f"{self}: query {name!r} has documents of more than {GROUPS} groups. Accepted: at most {GROUPS}; or "
                "EED(by=..), which is not normalised."
            )
        size = np.zeros((queries, int(column.max(initial=0)) + 1), dtype=np.int64)
        size[owner, column] = many
        rest = self._candidates(context) - size.sum(axis=1) if self.complete else None
        low, high = group_bounds(self.user, size, rest, self.cutoff)
        return low, high, unknown


class nEED(Normalised):
    """Normalised disparity: (EED - low)/(high - low), 0 as even as any policy can be, 1 as uneven as one ranking can.

    Position models, ``Ideal(complete=True)``: low is the uniform policy, ``(sum view)^2/n``, and high any single
    ranking, ``sum view^2``. Cascade and ERR: the least and largest over all policies. ``Ideal()``: low 0, high
    ``sum V_k^2`` down an endless list of non-relevant documents (DCG and ERR need a cutoff). With ``by`` (position
    models, one value a document, at most 12 groups a query) the bounds of ``sum_a xi_a^2``. In [0, 1], an unbiased
    estimate from samples may be below; lower is better. Undefined: ``short_ranking`` (complete; a ranking leaves out
    candidates who could be seen), ``no_range`` (all policies are alike), ``unknown_member`` (a document counts in part
    for every group). Source: Diaz et al. 2020 for EED; the bounds are ours.

    Examples
    --------
    >>> from lightmeter import Ideal, RBP, evaluate, load, nEED
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [nEED(user=RBP(p=0.5)), nEED(target=Ideal(complete=True))]).mean()["value"].to_list()
    [0.9375, 1.0]
    """

    plain = "EED"

    @property
    def needs(self) -> frozenset[str]:
        return self.needs_of_disparity()


class nEER(Normalised):
    """Normalised relevance: (EER - low)/(high - low), 1 where no ranking of the candidates has more.

    ``Ideal(complete=True)``: low is the worst order of the candidates and high the best; position models reach
    ``||eps*||^2``. ``Ideal()``: low 0, high the most of any ranking of the corpus. In [0, 1], higher is better.
    Undefined: ``no_relevant``; ``no_range``, such as where all candidates have one grade; ``short_ranking``. Source:
    Diaz et al. 2020 for EER; the bounds are ours.

    Examples
    --------
    >>> from lightmeter import RBP, evaluate, load, nEER
    >>> c = load(run={"q": ["b", "a"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [nEER(user=RBP(p=0.5))]).mean()["value"].to_list()
    [0.5]
    """

    plain = "EER"
    better = "higher"
    linear = True


class nEEL(Normalised):
    """Normalised loss: EEL/high, 0 at the target exposure and 1 where no policy is further from it.

    ``Ideal(complete=True)``: position models are furthest in the order of rising grade. ``Ideal()``: high is
    ``sum V_k^2 + ||eps*||^2``, all attention on non-relevant documents (DCG and ERR need a cutoff). In [0, 1], an
    unbiased estimate from samples may be below; lower is better. Undefined: ``no_relevant``, ``no_range``,
    ``short_ranking``. Source: Diaz et al. 2020 for EEL; the bounds are ours.

    Examples
    --------
    >>> from lightmeter import Ideal, RBP, evaluate, load, nEEL
    >>> c = load(run={"q": ["b", "a"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [nEEL(user=RBP(p=0.5), target=Ideal(complete=True))]).mean()["value"].to_list()
    [1.0]
    """

    plain = "EEL"
