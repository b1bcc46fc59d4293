"""NDKL: the divergence from the target in every prefix, discounted (Geyik et al. 2019)."""

from __future__ import annotations

import math

import numpy as np

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.data.distribution import Distribution
from lightmeter.data.membership import FEW, Membership
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values
from lightmeter.measures.block import Block
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.groups import _TARGET, _TARGET_DOC, BY, GroupMeasure
from lightmeter.measures.members import BY_DOC, ZERO_TARGET, looked_at, sorted_by, starts_of, undefined
from lightmeter.measures.prefix_counts import by_counts
from lightmeter.models.divergences import KL
from lightmeter.models.targets import Target
from lightmeter.terms.parameters import Number, param


class NDKL(GroupMeasure):
    """Normalised discounted KL: ``sum_k KL(D_k, target) / log2(k+1)`` over ``sum_k 1/log2(k+1)``, in nats.

    At least 0, lower is better. All values of the attribute count in every prefix, also those without a document. A
    rank above which nothing is known (``unknown='drop'``) is left out of both sums. Undefined (``zero_target_share``)
    where a value without a target share is ranked, unless ``eps`` is above 0: then KL is ``sum_a (p+eps)
    ln((p+eps)/(q+eps))``. Source: Geyik et al., KDD 2019.

    Examples
    --------
    >>> from lightmeter import NDKL, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"gender": {"a": "f", "b": "m"}})
    >>> evaluate(c, [NDKL(by="gender")]).mean()["value"].round(6).to_list()
    [0.425]
    """

    better = "lower"
    bounds = (0.0, math.inf)
    by: str = param(accepts=BY, doc=BY_DOC)
    target: Target | str | None = param(default=None, accepts=_TARGET, doc=_TARGET_DOC)
    eps: float = param(default=0.0, accepts=Number(low=0), doc="added to the shares, against logarithms of 0")

    def value(self, block: Block) -> Values:
        goal = distribution(block.context, self.target, self.by, block.ranked.run.name)
        members = block.membership(self.by)
        top = looked_at(block, self.cutoff)
        depth = min(self.cutoff or block.shape[1], block.shape[1])
        counted = top & (members.known_above > 0)
        weight = np.where(counted, 1.0 / np.log2(np.arange(block.shape[1]) + 2.0), 0.0)
        every_value = self.eps > 0 or members.spread is not None  # has a term in every prefix
        if every_value and (members.size <= FEW or members.attribute.kind != "hard"):
            total = _by_prefixes(members, goal, block, weight, depth, KL(eps=self.eps))
        else:
            far = _by_counts(members, goal, block, self.eps) if every_value else _by_steps(members, goal, block.query)
            total = np.where(counted, far, 0.0)
            total = np.where(np.isinf(total).any(axis=1), np.inf, (weight * total).sum(axis=1))
        mass = weight.sum(axis=1)
        values = undefined(Values(np.maximum(total / mass, 0.0)), block, self.by, self.cutoff, goal)
        return values.because(np.isinf(values.value), ZERO_TARGET)


def _by_prefixes(
    members: Membership, goal: Distribution, block: Block, weight: Floats, depth: int, divergence: KL
) -> Floats:
    """The weighted sum of the divergences, from the distribution of every prefix."""
    columns = members.columns(goal, block.query)
    total = np.zeros(block.shape[0])
    for part, ranks, p, _ in columns.prefixes(depth):
        at = np.nonzero(weight[part, ranks])
        far = divergence.value(p[at], columns.q[part][at[0]])
        total[part] += sum_by(at[0], weight[part, ranks][at] * far, part.stop - part.start)
    return total


def _by_counts(members: Membership, goal: Distribution, block: Block, eps: float) -> Floats:
    """KL of every prefix from the target, ``[rankings, ranks]``, where every value has a term in it."""
    q = _target_of(members, goal, block.query, members.ranking, members.value)
    return by_counts(members, goal, block.query, np.log(q + eps), eps)


def _by_steps(members: Membership, goal: Distribution, query: Codes) -> Floats:
    """KL of every prefix from the target, ``[rankings, ranks]``, whatever the number of values.

    With S_a the mass of value a in a prefix and n its documents, ``n KL = sum_a S_a ln S_a - sum_a S_a ln q_a - (sum_a
    S_a) ln n``: a document changes the sums in its own values only.
    """
    some = np.flatnonzero(members.weight > 0)
    order = some[sorted_by(members.ranking[some], members.value[some])]
    ranking, value, weight = members.ranking[order], members.value[order], members.weight[order]
    start = starts_of(ranking, value)
    log_q = np.log(_target_of(members, goal, query, ranking, value))
    at = members.position[order]
    cells = members.shape[0] * members.shape[1]
    n = members.known_above
    if members.attribute.kind == "hard":  # one value a place
        counts = _xlogx(np.arange(members.shape[1] + 2.0))
        own = np.zeros(cells)
        own[at] = np.diff(counts)[np.arange(len(order)) - start] - log_q
        return np.asarray(np.cumsum(own.reshape(members.shape), axis=1) / n - np.log(n))
    run = np.cumsum(weight) - weight
    before = run - run[start]
    step = _xlogx(before + weight) - _xlogx(before) - weight * log_q
    steps, mass = (sum_by(at, w, cells).reshape(members.shape) for w in (step, weight))
    return np.asarray((np.cumsum(steps, axis=1) - np.cumsum(mass, axis=1) * np.log(n)) / n)


def _xlogx(x: Floats) -> Floats:
    return x * np.log(np.maximum(x, 1e-300))


def _target_of(
    members: Membership,
    goal: Distribution,
    query: Codes,
    ranking: Integers,
    value: Integers,
) -> Floats:
    """The target share of some (ranking, value) pairs."""
    if goal.shared:
        shares = np.zeros(max(members.size, int(goal.value.max(initial=0)) + 1))
        shares[goal.value] = goal.share
        return shares[value]
    t_ranking, t_value, t_share = goal.rows(query)
    size = max(members.size, int(t_value.max(initial=0)) + 1)
    keys = t_ranking * size + t_value  # in order: a distribution lists its values in order
    wanted = ranking * size + value
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    return np.where(keys[at] == wanted, t_share[at], 0.0) if len(keys) else np.zeros(len(wanted))
