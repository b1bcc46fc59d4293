"""Target exposure of documents by their grade: in closed form for every user model.

Documents of one grade share the places of their grade. With m documents of the grade and b of strictly higher grades:

* position models: the mean of view over ranks b+1 .. b+m;
* models whose continuation depends on the grade: ``A (1 - C^m) / (m (1 - C))`` with ``A = prod_h C_h^(m_h)`` over
higher grades.

With a cutoff K the exponent m becomes ``max(0, min(m, K - b))``; the m in the denominator stays.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.models.users import User


def views(user: User, ranks: int, cutoff: int | None) -> Floats:
    """Views of the ranks down to the cutoff, for users who know the rank only."""
    return user.view_at(np.arange(1.0, (ranks if cutoff is None else min(ranks, cutoff)) + 1))


def level_targets(user: User, gain: Floats, count: Integers, cutoff: int | None) -> Floats:
    """Target exposure of a document of each grade.

    Parameters
    ----------
    user
        The user model.
    gain, count
        ``[queries, levels]``: the distinct grades from high to low and how many documents have them (0: padding).
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    array
        ``[queries, levels]``; 0 where ``count`` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from lightmeter import RBP
    >>> level_targets(RBP(p=0.5), np.array([[2.0, 1.0]]), np.array([[1, 2]]), None).tolist()
    [[1.0, 0.375]]
    """
    above = np.cumsum(count, axis=1) - count
    seen = count if cutoff is None else np.clip(cutoff - above, 0, count)
    some = np.maximum(count, 1)
    if not user.by_document:
        ranks = np.arange(1.0, int((above + seen).max(initial=0)) + 1)
        cumulative = np.concatenate([[0.0], np.cumsum(user.view_at(ranks))])
        low, high = np.minimum(above, len(ranks)), np.minimum(above + seen, len(ranks))
        out = (cumulative[high] - cumulative[low]) / some
        return np.where(seen > 0, out, 0.0)
    go_on = user.continuation(gain)
    whole = np.power(go_on, count)
    before = np.ones(gain.shape)
    np.cumprod(whole[:, :-1], axis=1, out=before[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = -np.expm1(seen * np.log(go_on)) / (1.0 - go_on)
    geometric = np.where(go_on == 1.0, seen, geometric)
    return np.where(seen > 0, before * geometric / some, 0.0)
