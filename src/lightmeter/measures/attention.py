"""How attention is shared between groups: counts, shares, mean scores and the attention bias ratio.

ECE: which share of the attention each group gets (Sapiezynski et al. 2019).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.attributes import UNKNOWN_GROUP
from lightmeter.data.values import Values, sum_by
from lightmeter.exposure.policy import is_exact
from lightmeter.measures.base import BY
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    DIV_DOC,
    NOTHING_KNOWN,
    TARGET,
    TARGET_DOC,
    ZERO_TARGET,
    GroupMeasure,
    anything_known,
    drawn,
    target_share,
    undefined,
)
from lightmeter.measures.group_sums import lowest_and_highest, quotient
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.relevance import DCG, RBP
from lightmeter.models.divergences import JSD, Divergence
from lightmeter.models.policies import Policy
from lightmeter.models.targets import Target
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class ByGroup(GroupMeasure, abstract=True):
    """Base of measures with a value for each group, and one for the documents of unknown membership.

    They describe memberships as they stand: the call's rule for unknown ones does not touch them.
    """

    better = "none"

    def groups(self, block: Block) -> tuple[list[str], Values]:
        """The groups' names, and a value for each ranking and group ``[rankings, groups]``."""
        attribute = block.context.collection.attribute(self.by)
        entry = block.member_entry(self.by)
        top = block.valid.copy()
        if self.cutoff is not None:
            top[:, self.cutoff :] = False
        position, value, weight = attribute.pairs(entry.ravel(), split=self._split)
        keep = top.ravel()[position]
        position, value, weight = position[keep], value[keep].astype(np.int64), weight[keep]
        unknown = np.flatnonzero((top & (entry < 0)).ravel())
        size = len(attribute.values)
        position = np.concatenate([position, unknown])
        value = np.concatenate([value, np.full(len(unknown), size)])
        weight = np.concatenate([weight, np.ones(len(unknown))])
        ranking = position // max(block.shape[1], 1)
        at, shape = ranking * (size + 1) + value, (block.shape[0], size + 1)

        def total(what: Floats) -> Floats:
            return sum_by(at, what, shape[0] * shape[1]).reshape(shape)

        values = self._of(total, weight, position, top, block)
        names = [*attribute.values, UNKNOWN_GROUP]
        runs = block.context.ranked.values()
        if self._always_unknown or any(r.unknown_share(self.by)[0] > 0 for r in runs):
            return names, values
        return names[:-1], Values(values.value[:, :-1], None if values.reason is None else values.reason[:, :-1])

    _split = True
    _always_unknown = True

    def _of(self, total: Any, weight: Floats, position: Integers, top: Booleans, block: Block) -> Values:
        raise NotImplementedError


class Count(ByGroup):
    """How many of the first k documents belong to each group; a multi-valued document counts in each of its groups.

    Examples
    --------
    >>> from lightmeter import Count, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [Count(by="gender")@1]).mean().select("group", "value").rows()
    [('f', 1.0), ('m', 0.0), ('unknown', 0.0)]
    """

    bounds = (0.0, np.inf)
    by: str = param(accepts=BY, doc=BY_DOC)
    _split = False

    def _of(self, total: Any, weight: Floats, position: Integers, top: Booleans, block: Block) -> Values:
        return Values(total(weight))


class Share(ByGroup):
    """What share of the first k documents each group has; a multi-valued document is split equally, so shares sum to 1.

    Examples
    --------
    >>> from lightmeter import Share, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [Share(by="gender")@2]).mean().select("group", "value").rows()
    [('f', 0.5), ('m', 0.5), ('unknown', 0.0)]
    """

    bounds = (0.0, 1.0)
    by: str = param(accepts=BY, doc=BY_DOC)

    def _of(self, total: Any, weight: Floats, position: Integers, top: Booleans, block: Block) -> Values:
        return Values(total(weight) / np.maximum(top.sum(axis=1, keepdims=True), 1))


class MeanScore(ByGroup):
    """Mean score of each group's documents among the first k, weighted by membership; undefined (``empty_group``) for
    a group without one.

    Examples
    --------
    >>> from lightmeter import MeanScore, evaluate, load
    >>> c = load(run={"q": {"a": 3.0, "b": 1.0}}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [MeanScore(by="gender")]).mean().select("group", "value").rows()[:2]
    [('f', 3.0), ('m', 1.0)]
    """

    needs = frozenset({"groups", "scores"})
    invariant_to = frozenset({"query_order", "below_cutoff"})
    _always_unknown = False
    by: str = param(accepts=BY, doc=BY_DOC)

    def _of(self, total: Any, weight: Floats, position: Integers, top: Booleans, block: Block) -> Values:
        mass = total(weight)
        some = mass > 0
        mean = total(weight * block.score.ravel()[position]) / np.where(some, mass, 1.0)
        return Values(mean).because(~some, "empty_group")


class ABR(GroupMeasure):
    """Attention bias ratio: the lowest mean attention of a group over the highest, ``min_a / max_a`` of mean view per
    ranked member.

    In [0, 1], higher is better. All ranked members count, also those below a cutoff; a multi-valued document counts
    fully in each of its groups. Groups without a ranked member are left out; undefined (``empty_group``) where fewer
    than two have one. Attention 100 p (1-p)^(k-1) of the paper is ``RBP`` with patience 1 - p. Source: Ghosh et al.
    2021.

    Examples
    --------
    >>> from lightmeter import ABR, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [ABR(by="gender")]).mean()["value"].to_list()
    [0.5]
    """

    known_as = ("attention bias ratio",)
    bounds = (0.0, 1.0)
    invariant_to = frozenset({"query_order", "scores"})
    by: str = param(accepts=BY, doc=BY_DOC)
    user: User = param(
        default=RBP(p=0.5), accepts=TermOf("user"), doc="user model whose view is attention", always=True
    )

    def value(self, block: Block) -> Values:
        columns = block.membership(self.by).columns(None, block.query)
        members = columns.total(block.valid.astype(np.float64), full=True)
        some = members > 0
        mean = quotient(columns.total(block.view(self.user, self.cutoff), full=True), members)
        values = Values(quotient(*lowest_and_highest(mean)))
        values.because(~anything_known(block, self.by, None), NOTHING_KNOWN)
        return values.because(some.sum(axis=1) < 2, "empty_group")


Part = Literal["exposure", "distance", "statistic"]


class ECE(GroupMeasure):
    """Exposure of the groups: the attention-weighted mean membership, ``sum_k view_k G_k / sum_k view_k``, one row a
    group.

    ``part='exposure'``: the vector, which sums to 1. ``part='distance'``: its divergence from the target (1 - AWRF),
    one number, lower is better. ``part='statistic'``: for each group how many standard deviations its exposure is
    from its target share p if every place were filled by independent draws from the target: ``(exposure - p) /
    sqrt(p (1-p) sum_k w_k^2)``, w the attention scaled to sum to 1; beyond +-1.96 is unlikely by chance where
    attention is spread over many places. Undefined: ``no_known_member``; the statistic also where the target share
    is 0 or 1 (``zero_target_share``, ``whole_target_share``). Rows of groups are linear in exposure: exact under
    policies for users who know the rank only (but not with ``unknown='drop'``). Source: Sapiezynski et al., WWW
    Companion 2019.

    Examples
    --------
    >>> from lightmeter import ECE, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> m = ECE(by="gender", user=RBP(p=0.5))
    >>> evaluate(c, [m, m(part="statistic")]).mean().select("group", "value").rows()
    [('f', 0.666667), ('m', 0.333333), ('f', 0.447214), ('m', -0.447214)]
    """

    divides_by_known = True
    by: str = param(accepts=BY, doc=BY_DOC)
    user: User = param(default=DCG(), accepts=TermOf("user"), doc="user model whose view weighs the ranks", always=True)
    part: Part = param(
        default="exposure",
        accepts=Choice(("exposure", "distance", "statistic")),
        doc="the vector, its distance from the target, or how unlikely it is",
    )
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=DIV_DOC)
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)

    @property
    def better(self) -> str:  # type: ignore[override]
        return "lower" if self.part == "distance" else "none"

    @property
    def bounds(self) -> tuple[float, float]:
        if self.part == "statistic":
            return -math.inf, math.inf
        return (0.0, 1.0) if self.part == "exposure" else (0.0, self.div.most)

    @property
    def by_group(self) -> bool:
        return self.part != "distance"

    def resolve(self, context: Context) -> Any:
        if self.part == "distance":
            return super().resolve(context)
        measure = super(GroupMeasure, self).resolve(context)  # the divergence is not used: it may not suit
        context.collection.attribute(measure.by)
        return measure

    def exactly_under(self, policy: Policy) -> bool:
        # all attention there is does not depend on the ranking for a user who knows the rank only
        return self.by_group and not self.user.by_document and is_exact(policy, self.user)

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        columns = block.membership(self.by).columns(goal, block.query)
        p, some = columns.shares(block.view(self.user, self.cutoff))
        values = Values(self.div.value(p, columns.q)).because(~some, NOTHING_KNOWN)
        undefined(values, block, self.by, self.cutoff, goal)
        return values.because(np.isinf(values.value), ZERO_TARGET)

    def groups(self, block: Block) -> tuple[list[str], Values]:
        m = block.membership(self.by)
        view = block.exposure(self.user, self.cutoff) * m.known  # expected where the policy is not drawn from
        mass = view.sum(axis=1, keepdims=True)
        names = list(m.attribute.values)
        mine = m.value < len(names)  # values of their own of unknown documents have no row
        at = m.ranking[mine] * len(names) + m.value[mine]
        total = sum_by(at, (m.weight * view[m.ranking, m.rank])[mine], len(mass) * len(names))
        exposure = total.reshape(len(mass), len(names))
        if m.spread is not None:
            exposure += (m.spread * view).sum(axis=1, keepdims=True) / m.size
        exposure = exposure / mass
        cutoff = self.cutoff if drawn(block) else None
        whole = undefined(Values(np.zeros(len(mass))), block, self.by, cutoff).because(mass[:, 0] <= 0, NOTHING_KNOWN)
        if self.part == "exposure":
            return names, _for_each(Values(exposure), whole)
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        whole.because(~goal.defined(block.query), goal.reason)
        p = np.stack([target_share(goal, code, block.query) for code in range(len(names))], axis=1)
        by_rank = block.view(self.user, self.cutoff) * m.known
        spread = (by_rank**2).sum(axis=1, keepdims=True) / mass**2
        values = _for_each(Values((exposure - p) / np.sqrt(p * (1.0 - p) * spread)), whole)
        return names, values.because(p <= 0, ZERO_TARGET).because(p >= 1, "whole_target_share")


def _for_each(values: Values, whole: Values) -> Values:
    """Every group's value marked with what makes a ranking undefined."""
    for reason in sorted({r for r in whole.reasons() if r is not None}):
        values.because(np.broadcast_to(np.equal(whole.reasons(), reason)[:, None], values.value.shape), reason)
    return values
