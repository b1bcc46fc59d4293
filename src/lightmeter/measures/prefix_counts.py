"""KL of every prefix from a target whose sum runs over all values of an attribute, however many.

With ``eps`` above 0, or with unknown documents that count for all values alike, every value has a term in every prefix:

    KL_k = sum_a f(p_a) - sum_a p_a ln(q_a + eps),    p_a = (S_a + u/V)/n + eps,    f(x) = x ln x

S_a documents of value a, u unknown ones and n in all among the first k; V values. The second sum is a running one. In
the first, values that have occurred equally often have the same term, so it is a sum over *counts*:
``sum_c N_c f((c + u/V)/n + eps)``, N_c the number of values with c documents so far. A ranking of n documents has few
values of many documents, and few counts below: frequent values are added one by one, the others by their counts.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Booleans, Codes, Floats, Integers
from lightmeter.data.distribution import Distribution
from lightmeter.data.membership import CUBE, Membership
from lightmeter.data.sums import sum_by
from lightmeter.measures.members import sorted_by, starts_of

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
