"""Skew: how over- or underrepresented a group is among the first documents (Geyik et al. 2019)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.distribution import Distribution
from lightmeter.data.values import Values
from lightmeter.measures.block import Block
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.groups import _TARGET, _TARGET_DOC, BY, GroupMeasure
from lightmeter.measures.members import (
    BY_DOC,
    EMPTY,
    VALUE,
    ZERO_TARGET,
    code_of,
    looked_at,
    member,
    target_share,
    undefined,
)
from lightmeter.models.targets import Target
from lightmeter.terms.parameters import param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class _OfOneValue(GroupMeasure, abstract=True):
    """The computation of :class:`Skew`, in a class of its own: there ``value`` is the name of a parameter."""

    def value(self, block: Block) -> Values:
        named: str = self.value  # type: ignore[assignment]
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)  # type: ignore[attr-defined]
        top = looked_at(block, self.cutoff)
        known = (block.membership(self.by).known & top).sum(axis=1)
        share = (member(block, self.by, named) * top).sum(axis=1) / known
        wanted = target_share(goal, code_of(block.context, self, named), block.query)
        values = undefined(Values(np.log(share / wanted)), block, self.by, self.cutoff, goal)
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
    target: Target | str | None = param(default=None, accepts=_TARGET, doc=_TARGET_DOC)

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
        skew = np.log(share) - np.log(columns.q)
        return skew, columns.q, goal


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
    target: Target | str | None = param(default=None, accepts=_TARGET, doc=_TARGET_DOC)

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
    target: Target | str | None = param(default=None, accepts=_TARGET, doc=_TARGET_DOC)

    def value(self, block: Block) -> Values:
        skew, _, goal = self._skews(block)
        highest = np.where(np.isnan(skew), -np.inf, skew).max(axis=1, initial=-np.inf)
        values = undefined(Values(highest), block, self.by, self.cutoff, goal)
        return values.because(np.isposinf(highest), ZERO_TARGET)
