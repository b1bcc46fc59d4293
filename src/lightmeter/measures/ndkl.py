"""NDKL: the divergence of every prefix from the target, discounted (Geyik et al. 2019).

With S_a the mass of value a in a prefix, S the mass of all and q the target,

    S KL = sum_a S_a ln S_a - sum_a S_a ln q_a - S ln S:

a document changes the sums in its own values only (:func:`divergence_steps`), so the cost does not depend on how many
values there are. With ``eps`` above 0, or with unknown documents that count for all values alike, every value has a
term in every prefix:

    KL_k = sum_a f(p_a) - sum_a p_a ln(q_a + eps),    p_a = (S_a + u/V)/n + eps,    f(x) = x ln x

S_a documents of value a, u unknown ones and n in all among the first k; V values. The second sum is a running one. In
the first, values that have occurred equally often have the same term, so it is a sum over *counts*:
``sum_c N_c f((c + u/V)/n + eps)``, N_c the number of values with c documents so far. A ranking of n documents has few
values of many documents, and few counts below: frequent values are added one by one, the others by their counts.
"""

from __future__ import annotations

import math

import numpy as np

from lightmeter.arrays import Booleans, Codes, Floats, Integers
from lightmeter.data.membership import CUBE, FEW, Distribution, Membership
from lightmeter.data.values import Values, sum_by
from lightmeter.measures.base import BY
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    TARGET,
    TARGET_DOC,
    ZERO_TARGET,
    GroupMeasure,
    looked_at,
    sorted_by,
    starts_of,
    undefined,
)
from lightmeter.measures.group_targets import distribution
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
    target: Target | str | None = param(default=None, accepts=TARGET, doc=TARGET_DOC)
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
    """KL of every prefix from the target, ``[rankings, ranks]``, whatever the number of values."""
    some = np.flatnonzero(members.weight > 0)
    ranking, value, weight = members.ranking[some], members.value[some], members.weight[some]
    log_q = np.log(_target_of(members, goal, query, ranking, value))
    position = members.position[some]
    cells = members.shape[0] * members.shape[1]
    n = members.known_above
    if members.attribute.kind == "hard":  # one value per document
        own = np.zeros(cells)
        own[position] = divergence_steps(ranking, value, log_q)
        return np.asarray(np.cumsum(own.reshape(members.shape), axis=1) / n - np.log(n))
    step = divergence_steps(ranking, value, log_q, weight)
    steps, mass = (sum_by(position, w, cells).reshape(members.shape) for w in (step, weight))
    return np.asarray((np.cumsum(steps, axis=1) - np.cumsum(mass, axis=1) * np.log(n)) / n)


def divergence_steps(ranking: Integers, value: Integers, log_target: Floats, weight: Floats | None = None) -> Floats:
    """What each membership adds to ``sum_a S_a ln S_a - sum_a S_a ln q_a`` of its ranking's prefixes.

    Parameters
    ----------
    ranking, value
        The ranking and the value of each membership, in the order of the ranks within a ranking.
    log_target
        ``ln q`` of its value, -inf without a target share.
    weight
        Its weight; 1 for all by default.

    Examples
    --------
    >>> steps = divergence_steps(np.array([0, 0, 0]), np.array([0, 0, 1]), np.log([0.5, 0.5, 0.5]))
    >>> (steps.cumsum() / [1, 2, 3] - np.log([1, 2, 3])).round(6).tolist()
    [0.693147, 0.693147, 0.056633]
    """
    order = sorted_by(ranking, value)
    start = starts_of(ranking[order], value[order])
    step = np.empty(len(order))
    if weight is None:  # S_a is a whole number, and the differences of neighbours are looked up
        before = np.arange(len(order)) - start
        step[order] = np.diff(_xlogx(np.arange(before.max(initial=0) + 2.0)))[before]
        return step - log_target
    mass = weight[order]
    run = np.cumsum(mass) - mass
    above = run - run[start]
    step[order] = _xlogx(above + mass) - _xlogx(above)
    with np.errstate(invalid="ignore"):
        return np.asarray(step - np.where(weight > 0, weight * log_target, 0.0))


def _xlogx(x: Floats) -> Floats:
    return x * np.log(np.maximum(x, 1e-300))


def ndkl(rank: Integers, ranking: Integers, code: Integers, target: Floats, weight: Floats | None = None) -> Floats:
    """NDKL of each ranking from its rows: the mean over k of KL(shares of the first k, target), weighed by
    ``1/log2(k+1)``, in nats.

    Shares are among the rows whose group is known. A row of unknown group keeps its rank, and the prefix that ends with
    it counts; ranks above the first known row are left out. Ties have no place here: ranks are those of one order.

    Parameters
    ----------
    rank, ranking
        1-based rank of each row, and its ranking; the rows of one ranking stand together, by rank.
    code
        Group of each row, ``target.shape[1]`` where it is unknown.
    target
        Target shares of the groups, ``[rankings, groups]``.
    weight
        How many members each row counts for; 1 for all by default.

    Returns
    -------
    array
        ``[rankings]``: NaN where no group is known, infinite where a group without a target share is ranked.

    Examples
    --------
    >>> one = np.zeros(6, dtype=np.int64)
    >>> ndkl(np.arange(1, 7), one, np.array([0, 0, 1, 1, 0, 1]), np.array([[0.5, 0.5]])).round(12).tolist()
    [0.353010028377]

    With an unknown second, fourth and fifth row, KL is ln 2 at ranks 1 and 2, and 0 below.

    >>> ndkl(np.arange(1, 6), one[:5], np.array([0, 2, 1, 2, 2]), np.array([[0.5, 0.5]])).round(6).tolist()
    [0.383412]
    """
    rankings, groups = target.shape
    known = code < groups if weight is None else (code < groups) & (weight > 0)
    mass = known.astype(np.float64) if weight is None else np.where(known, weight, 0.0)
    step = np.zeros(len(code))
    with np.errstate(divide="ignore"):
        log_target = np.log(target[ranking[known], code[known]])
    step[known] = divergence_steps(ranking[known], code[known], log_target, None if weight is None else weight[known])
    lost = np.isinf(step)
    above = _running(mass, ranking)
    counted = above > 0
    above, rank, ranking_of = above[counted], rank[counted], ranking[counted]
    divergence = np.maximum(_running(np.where(lost, 0.0, step), ranking)[counted] / above - np.log(above), 0.0)
    discount = 1.0 / np.log2(rank + 1.0)
    total, most = (sum_by(ranking_of, w, rankings) for w in (discount * divergence, discount))
    out = np.divide(total, most, out=np.full(rankings, np.nan), where=most > 0)
    out[ranking[lost]] = np.inf
    return out


def _running(amount: Floats, ranking: Integers) -> Floats:
    """The sum of the amounts of each row and those above it in the same ranking."""
    total = np.append(0.0, np.cumsum(amount))
    return np.asarray(total[1:] - total[starts_of(ranking)])


def ndkl_of_counts(counts: Floats, target: Floats, discount: Floats) -> Floats:
    """NDKL down to each of some prefixes, from the counts of the groups in them.

    Parameters
    ----------
    counts
        ``[.., prefixes, groups]``: members of each group in each prefix, from the shortest to the longest.
    target
        Target shares ``[groups]``.
    discount
        ``[prefixes]``: the weight of each prefix (for several ranks whose prefixes are taken as one, their sum).

    Returns
    -------
    array
        ``[.., prefixes]``.

    Examples
    --------
    >>> ndkl_of_counts(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5]), np.array([1.0, 0.5])).round(6).tolist()
    [0.693147, 0.462098]
    """
    known = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.where(counts > 0, counts * np.log(counts / target), 0.0).sum(axis=-1)
        divergence = np.where(known > 0, np.maximum(inner / known - np.log(known), 0.0), 0.0)
        mass = np.cumsum(discount * (known > 0), axis=-1)
        return np.asarray(np.cumsum(discount * divergence, axis=-1) / mass)


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


#: counts up to which values may be taken together
TRIED = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)


def by_counts(members: Membership, goal: Distribution, query: Codes, log_q: Floats, eps: float) -> Floats:
    """KL of every prefix from the target, ``[rankings, ranks]``; infinite where a value without a share has mass.

    Parameters
    ----------
    members
        Hard memberships.
    goal, query
        The targets, and the query of each ranking.
    log_q
        ``ln(q_a + eps)`` of the value of each pair of the membership; -inf for 0.
    eps
        What is added to the shares.
    """
    shape = members.shape
    n = np.maximum(members.known_above, 1).astype(np.float64)
    unknown = None if members.spread is None else np.cumsum(members.spread, axis=1)
    total, zero = _logs(members, goal, query, eps)
    # the running sum: what has mass without a share makes it infinite from there on
    lost = np.isneginf(log_q)
    steps = np.zeros(shape[0] * shape[1])
    steps[members.position] = np.where(lost, 0.0, log_q)
    even: Floats = np.full(shape, eps) if unknown is None else unknown / (members.size * n) + eps
    out = -np.cumsum(steps.reshape(shape), axis=1) / n - even * total[:, None]
    out += _entropies(members, n, unknown, eps)
    infinite = np.zeros(shape, dtype=bool)
    infinite.reshape(-1)[members.position[lost]] = True
    if unknown is not None and zero.any():
        infinite |= (unknown > 0) & zero[:, None]
    out[np.logical_or.accumulate(infinite, axis=1)] = np.inf
    return np.asarray(out)


def _logs(members: Membership, goal: Distribution, query: Codes, eps: float) -> tuple[Floats, Booleans]:
    """For each ranking the sum of ln(q_a + eps) over all values with q_a + eps above 0, and whether some have 0."""
    ranking, _, share = goal.rows(query)
    some = share + eps > 0
    total = sum_by(ranking[some], np.log(share[some] + eps), members.shape[0])
    named = np.bincount(ranking[some], minlength=members.shape[0])
    if eps > 0:
        total += (members.size - named) * np.log(eps)
        return total, np.zeros(members.shape[0], dtype=bool)
    return total, named < members.size


def _entropies(members: Membership, n: Floats, unknown: Floats | None, eps: float) -> Floats:
    """``sum_a f(p_a)`` of every prefix."""
    rankings, ranks = members.shape
    order = sorted_by(members.ranking, members.value)
    ranking, rank = members.ranking[order], members.rank[order]
    start = starts_of(ranking, members.value[order])
    before = np.arange(len(order)) - start
    many = np.bincount(start, minlength=len(order))[start]  # documents of the value in its ranking
    first = before == 0
    most = _together(ranking[first], many[first], rankings)
    frequent = many > most
    # a slot for each frequent value of a ranking
    number = np.cumsum(first & frequent)
    begin = np.concatenate([[0], np.bincount(ranking[first & frequent], minlength=rankings).cumsum()])
    slot = number - 1 - begin[ranking]
    slots = np.diff(begin)
    out = np.zeros((rankings, ranks))
    width = most + 1 + int(slots.max(initial=0))
    step = max(CUBE // max(width * ranks, 1), 1)
    bounds = np.searchsorted(ranking, np.arange(0, rankings + step, step))
    plain = members.all_known and unknown is None
    # where every document counts, n is the rank, and rankings share their terms
    table = (
        _terms(np.arange(most + 1.0)[:, None], np.arange(1.0, ranks + 1), None, members.size, eps) if plain else None
    )
    for piece, top in enumerate(range(0, rankings, step)):
        part = slice(top, min(top + step, rankings))
        mine = slice(bounds[piece], bounds[piece + 1])
        rows, often = part.stop - top, frequent[mine]
        place = (ranking[mine] - top) * ranks + rank[mine]
        spread = None if unknown is None else unknown[part]
        counts = _counts(place[~often], before[mine][~often], most + 1, rows, ranks)
        counts[0] += (members.size - slots[part])[:, None]
        if table is not None:
            out[part] = np.einsum("crk,ck->rk", counts, table)
        else:
            c = np.arange(most + 1.0)[:, None, None]
            counts *= _terms(c, n[part], spread, members.size, eps)
            out[part] = counts.sum(axis=0)
        height = int(slots[part].max(initial=0))
        if height:
            at = slot[mine][often] * (rows * ranks) + place[often]
            mass = np.zeros(height * rows * ranks)
            mass[at] = 1.0
            mass = np.cumsum(mass.reshape(height, rows, ranks), axis=2)
            terms = _terms(mass, n[part], spread, members.size, eps)
            out[part] += np.where(np.arange(height)[:, None, None] < slots[part][:, None], terms, 0.0).sum(axis=0)
    return out


def _terms(count: Floats, n: Floats, unknown: Floats | None, size: int, eps: float) -> Floats:
    """``f((count + unknown/size)/n + eps)``."""
    p = np.asarray((count if unknown is None else count + unknown / size) / n + eps)
    log = np.maximum(p, 1e-300)
    np.log(log, out=log)
    log *= p
    return log


def _counts(place: Integers, before: Integers, width: int, rows: int, ranks: int) -> Floats:
    """How many of the values that occurred have c documents so far, ``[c, rankings, ranks]``; the change in c = 0."""
    cells = rows * ranks
    change = np.zeros(width * cells)
    change[before * cells + place] = -1.0
    change[(before + 1) * cells + place] = 1.0
    return np.cumsum(change.reshape(width, rows, ranks), axis=2)


def _together(ranking: Integers, many: Integers, rankings: int) -> int:
    """The count up to which values are taken together, so that counts and frequent values are fewest.

    ``many`` are the documents of each value of each ranking.
    """
    highest = int(many.max(initial=0))
    tried = [*(t for t in TRIED if t < highest), *([highest] if highest <= TRIED[-1] else [])]
    cost = [t + int(np.bincount(ranking[many > t], minlength=max(rankings, 1)).max(initial=0)) for t in tried or [0]]
    return (tried or [0])[int(np.argmin(cost))]
