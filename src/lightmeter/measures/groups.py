"""Group fairness: how the distribution over groups in a ranking compares with a target (Sakai et al.

2023; seed of GFR).

Group fairness and relevance: several measures in one number.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.membership import Distribution
from lightmeter.data.values import Values, sum_by
from lightmeter.errors import LightmeterError, TermError
from lightmeter.measures.base import BY, Measure, value_of
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    DIV_DOC,
    NOTHING_KNOWN,
    TARGET,
    TARGET_DOC,
    GroupMeasure,
    anything_known,
)
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.relevance import ANY, DCG, ERR
from lightmeter.models.divergences import JSD, Divergence
from lightmeter.models.targets import Target
from lightmeter.models.users import User
from lightmeter.terms.parameters import ListOf, Maybe, Number, TermOf, Text, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

NEGLIGIBLE = 1e-20


def _lowest(div: Divergence) -> float:
    return 1.0 - div.most


def _unanswered(values: Values, measure: Any, context: Context) -> Values:
    """Similarities may be negative: an unanswered query then has the lowest there is, if it is finite."""
    lowest = 1.0 - measure.div.most_of(len(context.collection.attribute(measure.by).values))
    if lowest < 0:
        values.value = np.full(len(values.value), lowest if math.isfinite(lowest) else np.nan)
    return values


class GF(GroupMeasure):
    """Group fairness: ``sum_k stop_k (1 - Div(D_k, target))``, D_k the mean membership of the first k documents,
    relevant or not.

    Higher is better; in [0, 1] for JSD, NMD and TV. The stopping probability is ERR's where there are judgments, or
    RBP's. A multi-valued document
    is split equally. Undefined (``no_known_member``) where no ranked document's membership is known or there is no
    target, and (``no_relevant``) for a user who stops at relevant documents only where the query has none. With
    ``unknown='drop'`` a rank above which nothing is known adds 0. Source: Sakai et al., ACM TOIS 2023; agrees with
    NTCIREVAL.

    Examples
    --------
    >>> from lightmeter import GF, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"b": 1}}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [GF(by="gender", user=RBP(p=0.5))]).mean()["value"].round(6).to_list()
    [0.594361]
    """

    known_as = ("group fairness",)
    by: str = param(accepts=BY, doc=BY_DOC)
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=DIV_DOC)
    user: User = param(
        default=ERR(), accepts=TermOf("user"), doc="user model that stops; ERR needs judgments, RBP does not"
    )
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def unanswered(self, context: Context, query: Integers) -> Values:
        return _unanswered(super().unanswered(context, query), self, context)

    @property
    def bounds(self) -> tuple[float, float]:
        return _lowest(self.div), 1.0

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        return _stopped_similarity(self, block, goal)


def _stopped_similarity(measure: GF | DeltaGF, block: Block, goal: Distribution) -> Values:
    """``sum_k stop_k (1 - Div(D_k, goal))``."""
    # nobody stops at most ranks of a reader who stops at relevant documents: only where someone does is compared
    rankings, ranks = block.shape
    places, stop = block.stops(measure.user, measure.cutoff)
    stopped = np.bincount(places[stop > 0] // max(ranks, 1), minlength=rankings) > 0
    # ranks that matter less than rounding are left out, unless a divergence there could be infinite
    alive = stop > (NEGLIGIBLE if math.isfinite(measure.div.most) else 0.0)
    places, stop = places[alive], stop[alive]
    columns = block.membership(measure.by).columns(goal, block.query)
    value = np.zeros(rankings)
    for part, p, some in columns.prefixes_at(places):
        ranking = places[part] // ranks
        similar = np.where(some, 1.0 - measure.div.value(p, columns.target(ranking)), 0.0)
        value += sum_by(ranking, stop[part] * similar, rankings)
    values = Values(value)
    if measure.user.by_document:  # who stops at relevant documents only never stops where there are none to find
        values.because((block.count_relevant(ANY) == 0) & ~stopped, "no_relevant")
    return _explained(values, block, measure.by, goal, measure.cutoff)


def _explained(values: Values, block: Block, by: str, goal: Distribution | None, cutoff: int | None) -> Values:
    """Reasons: nothing known of the documents looked at, no target, a divergence that is infinite."""
    values.because(~anything_known(block, by, cutoff), NOTHING_KNOWN)
    if goal is not None:
        values.because(~goal.defined(block.query), goal.reason)
    return values.because(np.isinf(values.value), "zero_target_share")


class DeltaGF(GroupMeasure):
    """Which way a ranking leans between two values: GF with target (1, 0) minus GF with target (0, 1), ``positive``
    first.

    In [-1, 1]; 0 is balanced, above 0 leans to ``positive``. Only for attributes of two values. Undefined as ``GF``.
    Source: Sakai et al. 2023, section 4.1.

    Examples
    --------
    >>> from lightmeter import RBP, DeltaGF, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"side": {"a": "pro", "b": "con"}})
    >>> evaluate(c, [DeltaGF(by="side", positive="pro", user=RBP(p=0.5))@1]).mean()["value"].to_list()
    [0.5]
    """

    better = "none"
    by: str = param(accepts=BY, doc=BY_DOC)
    positive: str = param(accepts=Text("one of the two values"), doc="the value that counts as positive")
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=DIV_DOC)
    user: User = param(
        default=ERR(), accepts=TermOf("user"), doc="user model that stops; ERR needs judgments, RBP does not"
    )

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.div.most, self.div.most

    def resolve(self, context: Context) -> Any:
        values = context.collection.attribute(self.by).values
        if len(values) != 2:
            raise LightmeterError(
                f"{self}: {self.by!r} has {len(values)} values ({', '.join(values[:8])}). Accepted: attributes of "
                "exactly two."
            )
        if self.positive not in values:
            raise LightmeterError(
                f"{self}: {self.by!r} has no value {self.positive!r}. Accepted: {values[0]} or {values[1]}."
            )
        return super().resolve(context)

    def value(self, block: Block) -> Values:
        values = block.context.collection.attribute(self.by).values
        sides = [
            Distribution.one(np.array([float(v == wanted) for v in values]))
            for wanted in (self.positive, _other(values, self.positive))
        ]
        toward, away = (_stopped_similarity(self, block, side) for side in sides)
        return Values(toward.value - away.value, toward.reason)


def _other(values: tuple[str, ...], one: str) -> str:
    return values[0] if values[1] == one else values[1]


class DistrSim(GroupMeasure):
    """Similarity at one rank: ``1 - Div(D_k, target)`` for the first k documents.

    Higher is better. A ranking shorter than k is taken whole. Source: Sakai et al. 2023, Table 5.

    Examples
    --------
    >>> from lightmeter import DistrSim, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [DistrSim(by="gender")@2]).mean()["value"].to_list()
    [1.0]
    """

    needs_cutoff = True
    by: str = param(accepts=BY, doc=BY_DOC)
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=DIV_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def unanswered(self, context: Context, query: Integers) -> Values:
        return _unanswered(super().unanswered(context, query), self, context)

    @property
    def bounds(self) -> tuple[float, float]:
        return _lowest(self.div), 1.0

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        p, q = _top_shares(block, self.by, goal, self.cutoff)
        return _explained(Values(1.0 - self.div.value(p, q)), block, self.by, goal, self.cutoff)


class MaxDeviation(GroupMeasure):
    """Largest deviation of a share among the first k documents: ``max_a |D_k(a) - target(a)|``.

    In [0, 1], lower is better. Source: Pitoura et al. 2017.

    Examples
    --------
    >>> from lightmeter import MaxDeviation, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [MaxDeviation(by="gender")@1]).mean()["value"].to_list()
    [0.5]
    """

    better = "lower"
    bounds = (0.0, 1.0)
    needs_cutoff = True
    by: str = param(accepts=BY, doc=BY_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        p, q = _top_shares(block, self.by, goal, self.cutoff)
        return _explained(Values(np.abs(p - q).max(axis=1, initial=0.0)), block, self.by, goal, self.cutoff)


def _top_shares(block: Block, by: str, goal: Distribution | None, cutoff: int | None) -> tuple[Floats, Floats]:
    top = block.valid.astype(np.float64)
    if cutoff is not None:
        top[:, cutoff:] = 0.0
    columns = block.membership(by).columns(goal, block.query)
    return columns.shares(top)[0], columns.q


class AWRF(GroupMeasure):
    """Attention-weighted rank fairness: ``1 - Div(sum_k view_k G_k / sum_k view_k, target)``.

    Higher is better; in [0, 1] for JSD in base 2. Nats (``JSD(base='e')``) are TREC Fair Ranking's form, whose lowest
    value is 1 - ln 2.
    Source: Sapiezynski et al. 2019; TREC Fair Ranking 2021.

    Examples
    --------
    >>> from lightmeter import AWRF, DCG, JSD, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [AWRF(by="gender", user=DCG(clip=True))]).mean()["value"].to_list()
    [1.0]
    """

    known_as = ("attention-weighted rank fairness",)
    linear = False
    by: str = param(accepts=BY, doc=BY_DOC)
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=DIV_DOC, always=True)
    user: User = param(default=DCG(), accepts=TermOf("user"), doc="user model whose view weighs the ranks", always=True)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    def unanswered(self, context: Context, query: Integers) -> Values:
        return _unanswered(super().unanswered(context, query), self, context)

    @property
    def bounds(self) -> tuple[float, float]:
        return _lowest(self.div), 1.0

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        columns = block.membership(self.by).columns(goal, block.query)
        p, some = columns.shares(block.view(self.user, self.cutoff))
        values = Values(1.0 - self.div.value(p, columns.q)).because(~some, NOTHING_KNOWN)
        return _explained(values, block, self.by, goal, self.cutoff)


class GFR(Measure):
    """Group fairness and relevance: the weighted mean of its components.

    ``sum_i w_i M_i`` with weights that sum to 1 (equal by default). Without a relevance measure among them it is the
    intersectional GF of several attributes.
    A component that is undefined for a query makes it undefined. The cutoff is given to the components that have none.
    Source: Sakai et al. 2023.

    Examples
    --------
    >>> from lightmeter import ERR, GF, GFR, evaluate, load
    >>> c = load(run={"q": ["a"]}, qrels={"q": {"a": 1}}, groups={"gender": {"a": "f"}})
    >>> GFR(of=[ERR, GF(by="gender")], weights=[0.25, 0.75])@20
    GFR(of=[ERR, GF(by='gender')], weights=[0.25, 0.75])@20
    """

    of: tuple[Measure, ...] = param(accepts=ListOf(TermOf("measure")), doc="the components")
    weights: tuple[float, ...] | None = param(
        default=None, accepts=Maybe(ListOf(Number(low=0, high=1))), doc="a weight each, summing to 1; equal by default"
    )

    def check(self) -> None:
        super().check()
        for m in self.of:
            if m.by_group:
                raise TermError(f"GFR: {m} has a value for each group. Accepted: measures of one value a query.")
            if m.across_queries:
                raise TermError(f"GFR: {m} is reduced over queries. Accepted: measures of one value a query.")
        ways = {m.better for m in self.of}
        if len(ways) > 1 or "none" in ways:
            told = ", ".join(f"{m} ({'lower' if m.better == 'lower' else m.better} is better)" for m in self.of)
            told = told.replace("none is better", "neither is better")
            raise TermError(f"GFR: {told}. Accepted: components that share one direction.")
        if self.cutoff is not None and all(m.cutoff not in (None, self.cutoff) for m in self.of):
            raise TermError(f"GFR: the cutoff {self.cutoff} is for components without one, and all have their own.")
        if self.weights is None:
            return
        if len(self.weights) != len(self.of):
            raise TermError(f"GFR: {len(self.weights)} weights for {len(self.of)} components. Accepted: a weight each.")
        if abs(math.fsum(self.weights) - 1.0) > 1e-9:
            raise TermError(f"GFR: the weights sum to {math.fsum(self.weights):g}. Accepted: weights that sum to 1.")

    @property
    def better(self) -> str:  # type: ignore[override]
        ways = {m.better for m in self.of}
        return ways.pop() if len(ways) == 1 else "none"

    @property
    def bounds(self) -> tuple[float, float]:
        shares = self.shares()
        ends = [m.bounds for m in self.of]
        low, high = (sum(w * e[i] for w, e in zip(shares, ends, strict=True) if w) for i in (0, 1))
        return float(low), float(high)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(m.needs for m in self.of))

    @property
    def invariant_to(self) -> frozenset[str]:
        shared = frozenset.intersection(*(frozenset(m.invariant_to) for m in self.of))
        own = any(m.cutoff not in (None, self.cutoff) for m in self.of)  # such a component looks deeper, or less deep
        return shared - {"below_cutoff"} if own else shared

    def shares(self) -> tuple[float, ...]:
        """The weights, equal ones written out."""
        return self.weights if self.weights is not None else (1.0 / len(self.of),) * len(self.of)

    def components(self) -> list[Measure]:
        """The components, with the cutoff passed on."""
        return [m if m.cutoff is not None or self.cutoff is None else m @ self.cutoff for m in self.of]

    @property
    def whole(self) -> bool:
        """Whether it is computed ranking by ranking, so that its standard error knows how components vary together."""
        return all(m.whole and not m.whole_run and not getattr(m, "judged_only", False) for m in self.of)

    def resolve(self, context: Context) -> Self:
        return dataclasses.replace(self, of=tuple(m.resolve(context) for m in self.components()))

    def value(self, block: Block) -> Values:
        return self.combine([value_of(m, block) for m in self.of])

    def unanswered(self, context: Context, query: Integers) -> Values:
        return self.combine([m.unanswered(context, query) for m in self.of])

    def combine(self, parts: list[Values]) -> Values:
        """The weighted mean of the components' values; their errors, where they have any, are taken as independent."""
        shares = self.shares()
        value = sum(w * v.value for w, v in zip(shares, parts, strict=True) if w)
        variance = [w * w * v.se**2 for w, v in zip(shares, parts, strict=True) if w and v.se is not None]
        values = Values(np.asarray(value, dtype=np.float64), se=np.sqrt(sum(variance)) if variance else None)
        for weight, part in zip(shares, parts, strict=True):
            for reason in sorted({r for r in part.reasons() if r is not None}):
                if weight:
                    values.because(np.equal(part.reasons(), reason), reason, None)
        return values
