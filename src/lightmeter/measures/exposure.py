"""Expected exposure: how a policy shares out attention, against a target (Diaz et al. 2020).

A policy is one ranking, or several sampled ones. With exposure eps_d and target eps*_d of every document d:

* ``EED = sum eps_d^2`` (disparity), ``EER = sum eps_d eps*_d`` (relevance),
* ``EEL = sum (eps_d - eps*_d)^2 = EED - 2 EER + ||eps*||^2`` (loss).

With ``by`` the sums run over groups instead: ``xi_a = sum_d G[d,a] eps_d`` over relevant (or all) documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.rankings import Ranked
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values
from lightmeter.errors import TermError
from lightmeter.exposure.reach import endless
from lightmeter.measures.base import BY, Measure
from lightmeter.measures.flat_exposure import Flat, flat_exposure
from lightmeter.measures.gains import RBP
from lightmeter.measures.mixture import mixture
from lightmeter.measures.target_exposure import (
    TargetExposure,
    group_square,
    group_targets,
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
        return endless(self.user, self.cutoff, 2) if self.by is None else endless(self.user, self.cutoff, 1) ** 2


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
