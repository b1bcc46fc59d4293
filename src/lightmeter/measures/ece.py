"""ECE: which share of the attention each group gets (Sapiezynski et al. 2019)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values
from lightmeter.exposure.policy import is_exact
from lightmeter.measures.block import Block
from lightmeter.measures.gains import DCG
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.groups import _DIV_DOC, _TARGET, _TARGET_DOC, BY, NOTHING_KNOWN, GroupMeasure
from lightmeter.measures.members import BY_DOC, ZERO_TARGET, drawn, drops, mark_drop, target_share, undefined
from lightmeter.models.divergences import JSD, Divergence
from lightmeter.models.policies import Policy
from lightmeter.models.targets import Target
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

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

    by: str = param(accepts=BY, doc=BY_DOC)
    user: User = param(default=DCG(), accepts=TermOf("user"), doc="user model whose view weighs the ranks", always=True)
    part: Part = param(
        default="exposure",
        accepts=Choice(("exposure", "distance", "statistic")),
        doc="the vector, its distance from the target, or how unlikely it is",
    )
    div: Divergence = param(default=JSD(), accepts=TermOf("divergence"), doc=_DIV_DOC)
    target: Target | str | None = param(default=None, accepts=_TARGET, doc=_TARGET_DOC)

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
        return mark_drop(measure, context)

    def exactly_under(self, policy: Policy) -> bool:
        # all attention there is does not depend on the ranking for a user who knows the rank only
        return self.by_group and not self.user.by_document and not drops(self) and is_exact(policy, self.user)

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
