"""Figures of whole prefixes: NDKL of all groups, and FA*IR of each."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.statistics.fair_tables import p_value

#: FA*IR looks at no more ranks than this
LONGEST = 10_000


def ndkl(codes: Integers, groups: int, rank: Integers, query: Integers, pool: Floats) -> Floats:
    """NDKL of each ranking: the mean over k of KL(shares of the first k, shares of the pool), weighed by 1/log2(k+1).

    In nats, 0 where every prefix has the pool's shares. Shares are among the rows whose group is known. A row of
    unknown group keeps its rank, and the prefix that ends with it counts; ranks above the first known one are left out.

    ``KL_k = (sum_a c_a ln c_a - sum_a c_a ln q_a)/N_k - ln N_k`` with the counts c of the first k, and a step changes
    the count of one group only: the cost does not depend on how many groups there are.

    Parameters
    ----------
    codes
        Group of each place, ``groups`` where unknown.
    rank, query
        1-based rank of each place, and its ranking; the places of one ranking stand together, by rank.
    pool
        Shares of the groups in the pool, ``[rankings, groups]``.

    Returns
    -------
    array
        One value a ranking, NaN where no group is known.

    Examples
    --------
    >>> ranking = np.array([0, 0, 1, 1, 0, 1])
    >>> ndkl(ranking, 2, np.arange(1, 7), np.zeros(6, dtype=np.int64), np.array([[0.5, 0.5]])).round(12).tolist()
    [0.353010028377]

    An unknown second, fourth and fifth: KL is ln 2 at ranks 1 and 2, and 0 below.

    >>> ndkl(np.array([0, 2, 1, 2, 2]), 2, np.arange(1, 6), np.zeros(5, dtype=np.int64), np.array([[0.5, 0.5]]))
    array([0.383...])
    """
    known = codes < groups
    out = np.full(len(pool), np.nan)
    if not known.any():
        return out
    new = np.append(True, query[1:] != query[:-1])
    first = np.flatnonzero(new)[np.cumsum(new) - 1]
    cell = query * (groups + 1) + codes
    order = np.argsort(cell, kind="stable")
    sorted_cell = cell[order]
    starts = np.append(True, sorted_cell[1:] != sorted_cell[:-1])
    before = np.empty(len(codes))
    before[order] = np.arange(len(codes)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    before = before[known]
    after = before + 1
    step = np.zeros(len(codes))
    step[known] = after * np.log(after) - before * np.log(np.maximum(before, 1.0))
    step[known] -= np.log(pool[query[known], codes[known]])
    total, count = (np.append(0.0, np.cumsum(one)) for one in (step, known))
    many = count[1:] - count[first]
    some = many > 0
    divergence = (total[1:] - total[first])[some] / many[some] - np.log(many[some])
    weight = 1.0 / np.log2(rank[some] + 1.0)
    mass = np.bincount(query[some], weight, minlength=len(pool))
    far = np.bincount(query[some], weight * np.maximum(divergence, 0.0), minlength=len(pool))
    out[mass > 0] = far[mass > 0] / mass[mass > 0]
    return out


def fa_ir(codes: Integers, groups: int, pool: Floats, cutoff: int, wanted: Booleans) -> Floats:
    """The chance, for each group, that a ranking drawn by coin flips has as few of it in some prefix.

    The exact p-value of FA*IR's test: the shares of the pool are those of the coin, all prefixes down to the cutoff are
    looked at, and their number is accounted for. NaN for a list of more than 10,000 and for the only group.

    Parameters
    ----------
    codes
        Group at each rank, ``groups`` where unknown: those are passed over, the others close up.
    wanted
        Which groups are asked for; the others have NaN.
    """
    head = codes[:cutoff]
    head = head[head < groups]
    out = np.full(groups, np.nan)
    if not 0 < len(head) <= LONGEST:
        return out
    for group in np.flatnonzero(wanted).tolist():
        if pool[group] < 1:
            out[group] = float(p_value(np.cumsum(head == group), float(pool[group])))
    return out
