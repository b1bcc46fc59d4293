"""How attention is shared between groups: counts, shares, mean scores and the attention bias ratio."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.attributes import UNKNOWN_GROUP
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values
from lightmeter.measures.block import Block
from lightmeter.measures.gains import RBP
from lightmeter.measures.groups import BY as _BY
from lightmeter.measures.groups import NOTHING_KNOWN, GroupMeasure, anything_known
from lightmeter.models.users import User
from lightmeter.terms.parameters import TermOf, param

_BY_DOC = "attribute whose groups are looked at"


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
    by: str = param(accepts=_BY, doc=_BY_DOC)
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
    by: str = param(accepts=_BY, doc=_BY_DOC)

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
    by: str = param(accepts=_BY, doc=_BY_DOC)

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

    bounds = (0.0, 1.0)
    invariant_to = frozenset({"query_order", "scores"})
    by: str = param(accepts=_BY, doc=_BY_DOC)
    user: User = param(
        default=RBP(p=0.5), accepts=TermOf("user"), doc="user model whose view is attention", always=True
    )

    def value(self, block: Block) -> Values:
        columns = block.membership(self.by).columns(None, block.query)
        members = columns.total(block.valid.astype(np.float64), full=True)
        some = members > 0
        mean = columns.total(block.view(self.user, self.cutoff), full=True) / np.where(some, members, 1.0)
        low = np.where(some, mean, np.inf).min(axis=1, initial=np.inf)
        high = np.where(some, mean, 0.0).max(axis=1, initial=0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = Values(np.where(high > 0, low / high, np.nan))
        values.because(~anything_known(block, self.by, None), NOTHING_KNOWN)
        return values.because(some.sum(axis=1) < 2, "empty_group")
