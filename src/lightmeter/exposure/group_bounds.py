"""Exact lowest and highest EED of groups, for users who know the rank only and groups without common documents.

Highest: the groups one after the other in the best order, all other documents below. Lowest: with f(A) the sum of the
first n_A of the last R views (R documents in groups), the groups of the set A with the least ``f(A)/|A|`` get that
exposure each, and so on with the rest and the views after those.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.exposure.expohedron import ranked_views
from lightmeter.exposure.reach import measured_ranks, views
from lightmeter.models.users import User

GROUPS = 12


def group_bounds(
    user: User, size: ArrayLike, others: ArrayLike | None = None, cutoff: int | None = None
) -> tuple[Floats, Floats]:
    """The lowest and the highest EED of groups, ``sum_a (sum_{d in a} eps_d)^2``, for users who know the rank only.

    Highest: the groups one after the other in the best order, all other documents below. Lowest: with f(A) the sum of
    the first n_A of the last R views (R documents in groups), give the groups of the set A with the least ``f(A)/|A|``
    that exposure each, and go on with the rest and the views after those.

    Parameters
    ----------
    user
        The user model.
    size
        ``[queries, groups]``: how many documents each group has; a document belongs to at most one.
    others
        ``[queries]``: number of candidates in no group (of grade 0, where only relevant documents count). None: an
        unbounded corpus of them.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    low, high
        ``[queries]``.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> [v.tolist() for v in group_bounds(RBP(p=0.5), [[1, 1]], others=[0])]
    [[1.125], [1.25]]
    """
    if user.by_document:
        raise LightmeterError(f"group exposure has no bounds for {user}. Accepted: users who know the rank only.")
    sizes = np.atleast_2d(np.asarray(size, dtype=np.int64))
    if sizes.shape[1] > GROUPS:
        raise LightmeterError(f"group exposure has no bounds for {sizes.shape[1]} groups. Accepted: at most {GROUPS}.")
    sizes = np.sort(sizes, axis=1)
    inside = sizes.sum(axis=1)
    rest = np.zeros(len(sizes), dtype=np.int64) if others is None else np.asarray(others, dtype=np.int64)
    lengths = np.maximum(inside, measured_ranks(user)) if others is None else inside + rest
    width = int(lengths.max(initial=0))
    seen = ranked_views(views(user, width, cutoff), lengths, width)
    total = np.concatenate([np.zeros((len(sizes), 1)), np.cumsum(seen, axis=1)], axis=1)
    rows = np.arange(len(sizes))
    best, above = [np.zeros(len(sizes))], [np.zeros(len(sizes), dtype=np.int64)]
    for members in range(1, 1 << sizes.shape[1]):
        inner = [g for g in range(sizes.shape[1]) if members >> g & 1]
        above.append(above[members & (members - 1)] + sizes[:, inner[0]])
        last = [
            (total[rows, above[-1]] - total[rows, above[m]]) ** 2 + best[m] for m in (members ^ 1 << g for g in inner)
        ]
        best.append(np.max(last, axis=0))
    low = np.zeros(len(sizes))
    if others is not None:
        low[:] = [_peeled(s.tolist(), t[r:]) for s, t, r in zip(sizes, total, rest.tolist(), strict=True)]
    return low, best[-1]


def _peeled(sizes: list[int], total: Floats) -> float:
    """Least sum of squares of the exposures of groups by rising size; ``total``: cumulative views."""
    out, at = 0.0, 0
    while sizes:
        up_to = at + np.cumsum(sizes)
        share = (total[up_to] - total[at]) / np.arange(1, len(sizes) + 1)
        many = int(np.argmin(share)) + 1
        out += many * float(share[many - 1]) ** 2
        at, sizes = int(up_to[many - 1]), sizes[many:]
    return out
