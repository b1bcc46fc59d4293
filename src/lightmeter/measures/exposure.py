"""Expected exposure: how a policy shares out attention, against a target (Diaz et al. 2020).

A policy is one ranking, or several sampled ones. With exposure eps_d and target eps*_d of every document d:

* ``EED = sum eps_d^2`` (disparity), ``EER = sum eps_d eps*_d`` (relevance),
* ``EEL = sum (eps_d - eps*_d)^2 = EED - 2 EER + ||eps*||^2`` (loss).

With ``by`` the sums run over groups instead: ``xi_a = sum_d G[d,a] eps_d`` over relevant (or all) documents.

Expected exposure between its exact bounds: 0 is the least and 1 the most that any policy can have.

``nX = (X - low)/(high - low)``. Against ``Ideal(complete=True)`` the candidates are everything, and the bounds are
over policies that rank all of them: a ranking that ends above the last rank that is seen has none (``short_ranking``).
Against ``Ideal()`` the corpus is unbounded, and the bounds do not depend on what a run retrieved.

Who bears the loss of exposure: inequality among documents of one grade.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.rankings import Ranked
from lightmeter.data.values import Values, sum_by
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.bounds import GROUPS, bounds, group_bounds
from lightmeter.exposure.sampling import Mixture
from lightmeter.measures.base import BY, Measure
from lightmeter.measures.candidates import Flat, flat_exposure, mixture
from lightmeter.measures.relevance import RBP
from lightmeter.measures.target_exposure import (
    TargetExposure,
    group_square,
    group_targets,
    levels,
    others,
    spread_unknown,
    target_exposure,
)
from lightmeter.models.targets import Ideal, Target
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, Maybe, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

_DOCS = Choice(("relevant", "all"))
_ESTIMATOR = Choice(("unbiased", "plugin"))


@dataclass(frozen=True)
class Sums:
    """EED and EER of every query of a run, with the squared norm of the target."""

    eed: Values
    eer: Values
    eel: Values


class ExposureMeasure(Measure, abstract=True):
    """Base of the expected-exposure measures; they are computed on whole policies, not on single rankings."""

    needs: ClassVar[Any] = frozenset({"judgments"})
    better: ClassVar[Literal["higher", "lower", "none"]] = "lower"
    bounds: ClassVar[Any] = (0.0, math.inf)
    invariant_to = frozenset({"query_order", "scores", "below_cutoff"})

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        """One value for each query of the collection; meaningless for those the run does not answer."""
        raise NotImplementedError


class ExpectedExposure(ExposureMeasure, abstract=True):
    """What EED, EER and EEL have in common: their parameters, and the sums they are made of."""

    user: User = param(default=RBP(p=0.5), accepts=TermOf("user"), doc="user model", always=True)
    target: Target = param(default=Ideal(), accepts=TermOf("target"), doc="target exposure")
    by: str | None = param(default=None, accepts=Maybe(BY), doc="attribute; None: individual documents")
    docs: Literal["relevant", "all"] = param(
        default="relevant", accepts=_DOCS, doc="documents whose exposure groups are given (with by)"
    )
    estimator: Literal["unbiased", "plugin"] = param(
        default="unbiased",
        accepts=_ESTIMATOR,
        doc="for sampled rankings: corrected for the sample's size, or the mean exposure plugged in",
    )

    def check(self) -> None:
        super().check()
        if not self.target.of_exposure:
            raise TermError(
                f"{self}: {self.target} is a target for groups. Accepted: Ideal, Equal, Proportional or "
                "Given(file='..')."
            )

    def sums(self, context: Context, ranked: Ranked) -> Sums:
        """All three sums, shared by the three measures."""
        key = ("sums", ranked.key, self.user, self.target, self.by, self.docs, self.estimator, self.cutoff)
        return context.once(key, lambda: self._sums(context, ranked))

    def _sums(self, context: Context, ranked: Ranked) -> Sums:
        flat = flat_exposure(context, ranked, self.user, self.cutoff)
        goal = self._goal(context)
        queries = len(context.collection.queries)
        mix = mixture(context, ranked)
        query = ranked.query[flat.ranking].astype(np.int64)
        plain = self.estimator == "plugin"
        if self.by is None:
            target = np.where(flat.judgment >= 0, np.append(goal.judged, 0.0)[flat.judgment], goal.other[query])
            eed, eer, eel = mix.squares(
                flat.ranking, flat.item, flat.items, flat.view, target, goal.square, queries, plain
            )
        else:
            ranking, item, exposure, size = self._by_group(context, ranked, flat)
            attribute = context.collection.attribute(self.by)
            q, value, xi = group_targets(context, attribute, goal, self.docs == "relevant")
            size = max(size, int(value.max(initial=0)) + 1)
            keys, at = np.unique(np.concatenate([item[0] * size + item[1], q * size + value]), return_inverse=True)
            mine, theirs = at[: len(exposure)], at[len(exposure) :]
            total = sum_by(theirs, xi, len(keys))
            square = sum_by(keys // size, total**2, queries)
            # one entry a (ranking, group)
            pair, back = np.unique(ranking * np.int64(len(keys)) + mine, return_inverse=True)
            exposure = sum_by(back, exposure, len(pair))
            ranking, mine = np.divmod(pair, np.int64(max(len(keys), 1)))
            eed, eer, eel = mix.squares(ranking, mine, len(keys), exposure, total[mine], square, queries, plain)
        for reason in sorted({r for r in goal.reason if r is not None}):
            for values in (eer, eel):
                values.because(np.equal(goal.reason, reason), reason)
        if self.by is not None and self.docs == "relevant" and context.collection.judgments is not None:
            none = context.collection.judgments.relevant(np.nextafter(0, 1)) == 0
            for values in (eed, eer, eel):
                values.because(none, "no_relevant")
        if self.by is not None and context.unknown != "distinct":
            for values in (eed, eer, eel):
                values.because(~ranked.anything_known(self.by, self.cutoff), "no_known_member")
        return Sums(eed, eer, eel)

    def _goal(self, context: Context) -> TargetExposure:
        """The target; without judgments, which only disparity can do without, an empty one."""
        if context.collection.judgments is not None:
            return target_exposure(context, self.target, self.user, self.cutoff)
        queries = len(context.collection.queries)
        return TargetExposure(np.zeros(0), np.zeros(queries), np.zeros(queries), np.full(queries, None, dtype=object))

    def _by_group(self, context: Context, ranked: Ranked, flat: Flat) -> tuple[Any, Any, Floats, int]:
        """(ranking, (query, value), exposure) of every membership of every seen document."""
        attribute = context.collection.attribute(str(self.by))
        judgments = context.collection.judgments
        keep = np.ones(len(flat.row), dtype=bool)
        if self.docs == "relevant" and judgments is not None:
            keep = judgments.gain_or_0[flat.judgment] > 0
        row = flat.row[keep]
        entry = ranked.member_row(str(self.by))[row]
        ranking, value, exposure = spread_unknown(
            context, attribute, entry, flat.ranking[keep], flat.view[keep], ranked.run.ids.gather(row)
        )
        query = ranked.query[ranking].astype(np.int64)
        return ranking, (query, value), exposure, int(value.max(initial=0)) + 1

    def needs_of_disparity(self) -> frozenset[str]:
        """What disparity needs, which has no target."""
        relevant = self.by is not None and self.docs == "relevant"
        return frozenset({"judgments"} if relevant or self.user.by_document else ()) | (
            {"groups"} if self.by is not None else set()
        )

    def _most(self) -> float:
        """Sum of squared views of an endless list, infinite where it does not converge."""
        return self.user.total(self.cutoff, 2) if self.by is None else self.user.total(self.cutoff) ** 2


class EED(ExpectedExposure):
    """Expected exposure disparity: ``sum_d E[view_d]^2``; with ``by``, ``sum_a xi_a^2`` over groups.

    At least 0, lower is better: attention is spread. From sampled rankings it is estimated without bias (``T / D``
    with a delete-one standard error), or by ``estimator='plugin'`` as the paper does, which is too high. It has no
    target, so it is defined for every ranking and needs no judgments, unless the user stops at relevant documents or
    groups are given the exposure of relevant ones (then ``no_relevant`` without any). Source: Diaz et al. 2020; agrees
    with the authors' evaluator.

    Examples
    --------
    >>> from lightmeter import EED, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [EED(user=RBP(p=0.5))]).mean()["value"].to_list()
    [1.25]
    """

    known_as = ("expected exposure disparity", "EE-disparity")

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self._most() if self.by is None else math.inf

    @property
    def needs(self) -> frozenset[str]:
        return self.needs_of_disparity()

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        return self.sums(context, ranked).eed

    def unanswered(self, context: Context, query: Integers) -> Values:
        """The most that groups can be given, where it is finite: a document of several values counts in each."""
        values = super().unanswered(context, query)
        if self.by is not None and math.isfinite(self._most()):
            attribute = context.collection.attribute(self.by)
            times = len(attribute.values) if attribute.kind == "multi" else 1
            values.value = np.full(len(query), self._most() * times)
        return values


class EER(ExpectedExposure):
    """Expected exposure relevance: ``sum_d E[view_d] eps*_d`` (without a factor 2); with ``by``, ``sum_a xi_a xi*_a``.

    At least 0, higher is better: attention goes where the target wants it. Source: Diaz et al. 2020; agrees with the
    authors' evaluator.

    Examples
    --------
    >>> from lightmeter import EER, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [EER(user=RBP(p=0.5))]).mean()["value"].to_list()
    [1.125]
    """

    known_as = ("expected exposure relevance", "EE-relevance")
    better = "higher"
    linear = True

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        return self.sums(context, ranked).eer


class EEL(ExpectedExposure):
    """Expected exposure loss: ``sum_d (E[view_d] - eps*_d)^2 = EED - 2 EER + ||eps*||^2`` over ranked and target
    documents.

    At least 0 (an unbiased estimate from samples may be negative, and is not clipped), lower is better. Source: Diaz
    et al. 2020; agrees with the authors' evaluator.

    Examples
    --------
    >>> from lightmeter import EEL, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [EEL(user=RBP(p=0.5))]).mean()["value"].to_list()
    [0.125]
    """

    known_as = ("expected exposure loss", "EE-loss")

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0 if self.estimator == "plugin" else -math.inf), math.inf

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        return self.sums(context, ranked).eel

    def unanswered(self, context: Context, query: Integers) -> Values:
        """The bound of the loss, ``sum_k V_k^2 + ||eps*||^2``, where it is finite."""
        values = super().unanswered(context, query)
        if not math.isfinite(self._most()):
            return values
        goal = target_exposure(context, self.target, self.user, self.cutoff)
        if self.by is None:
            values.value = self._most() + goal.square[query]
        else:
            attribute = context.collection.attribute(self.by)
            times = len(attribute.values) if attribute.kind == "multi" else 1
            values.value = self._most() * times + group_square(context, attribute, goal, self.docs == "relevant")[query]
        return values


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
        return shortest < np.minimum(self._candidates(context), self.user.seen_ranks(self.cutoff))

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


class EESpread(ExposureMeasure):
    """Who bears the loss: inequality of exposure *within* each grade, averaged over the grades by their size.

    ``part='entropy'``: generalised entropy with alpha = 2, ``mean((e/m)^2 - 1)/2``, m the mean exposure of the grade;
    ``part='range'``: highest minus lowest exposure.
    The documents are the judged relevant ones, those not ranked having exposure 0. At least 0, lower is better; a
    grade nobody sees is
    equal. From samples it is computed on the mean exposure (plug-in). Undefined (``no_relevant``) without relevant
    documents. Source: the question of
    Diaz et al. 2020, section 4.2; Speicher et al. 2018 for the entropy.

    Examples
    --------
    >>> from lightmeter import EESpread, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [EESpread(user=RBP(p=0.5), part="range")]).mean()["value"].to_list()
    [0.5]
    """

    user: User = param(default=RBP(p=0.5), accepts=TermOf("user"), doc="user model", always=True)
    part: Literal["entropy", "range"] = param(
        default="entropy", accepts=Choice(("entropy", "range")), doc="which spread", always=True
    )

    @property
    def bounds(self) -> tuple[float, float]:
        # nobody sees a document more than surely; a measured curve has a unit of its own
        highest = max(getattr(self.user, "weights", (1.0,)))
        return 0.0, highest if self.part == "range" else math.inf

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        judgments = context.collection.judgments
        if judgments is None:
            raise TermError("EESpread needs judgments.")
        flat = flat_exposure(context, ranked, self.user, self.cutoff)
        mix: Mixture = mixture(context, ranked)
        judged = flat.judgment >= 0
        exposure = sum_by(
            flat.judgment[judged], flat.view[judged] * mix.share[flat.ranking[judged]], len(judgments.gain)
        )
        rows = np.flatnonzero(judgments.gain > 0)
        keys, level = np.unique(np.stack([judgments.query[rows], judgments.gain[rows]]), axis=1, return_inverse=True)
        level = level.ravel()
        count = np.bincount(level, minlength=keys.shape[1])
        e = exposure[rows]
        if self.part == "entropy":
            mean = sum_by(level, e, len(count)) / np.maximum(count, 1)
            ratio = np.divide(e, mean[level], out=np.ones(len(e)), where=mean[level] > 0)
            spread = sum_by(level, ratio**2 - 1.0, len(count)) / (2.0 * np.maximum(count, 1))
        else:
            high, low = np.full(len(count), -np.inf), np.full(len(count), np.inf)
            np.maximum.at(high, level, e)
            np.minimum.at(low, level, e)
            spread = high - low
        queries = len(context.collection.queries)
        owner = keys[0].astype(np.int64)
        size = sum_by(owner, count.astype(np.float64), queries)
        value = sum_by(owner, spread * count, queries) / np.maximum(size, 1)
        return Values(value).because(size == 0, "no_relevant")
