"""How far a user looks: views of the first ranks, and what the views of an endless list sum to.

Target exposure of documents by their grade: in closed form for every user model.

Documents of one grade share the places of their grade. With m documents of the grade and b of strictly higher grades:

* position models: the mean of view over ranks b+1 .. b+m;
* models whose continuation depends on the grade: ``A (1 - C^m) / (m (1 - C))`` with ``A = prod_h C_h^(m_h)`` over
higher grades.

With a cutoff K the exponent m becomes ``max(0, min(m, K - b))``; the m in the denominator stays.
"""

from __future__ import annotations

import math

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.models.users import Attention, Inverse, RBPUser, TopK, User

LONGEST = 10_000_000  # ranks whose views are summed one by one


def measured_ranks(user: User) -> int:
    """Number of ranks of a measured curve, whose largest views may come late; 0 for other users."""
    return len(user.weights) if isinstance(user, Attention) else 0


def views(user: User, ranks: int, cutoff: int | None) -> Floats:
    """Views of the ranks down to the cutoff, for users who know the rank only."""
    return user.view_at(np.arange(1.0, (ranks if cutoff is None else min(ranks, cutoff)) + 1))


def seen_ranks(user: User, cutoff: int | None) -> float:
    """The last rank that can have a view: the cutoff, or the end of a shortlist; infinite where there is none.

    Examples
    --------
    >>> seen_ranks(TopK(k=3), None), seen_ranks(TopK(k=3), 2), seen_ranks(Inverse(), None)
    (3.0, 2.0, inf)
    """
    last = float(user.k) if isinstance(user, TopK) else float(measured_ranks(user) or math.inf)
    return last if cutoff is None else min(last, float(cutoff))


def endless(user: User, cutoff: int | None, power: int) -> float:
    """``sum_k V_k^power`` down a list of documents of grade 0 that never ends.

    Infinite where it does not converge, or where no more is known than that it has no end.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> endless(RBP(p=0.5), None, 1), endless(RBP(p=0.5), 2, 2), endless(Inverse(), None, 1)
    (2.0, 1.25, inf)
    """
    ranks = seen_ranks(user, cutoff)
    if user.by_document or isinstance(user, RBPUser):
        # no document of the list has a grade, so the highest grade does not matter
        ratio = float(user.with_max_grade(0.0).continuation(np.zeros(1))[0]) ** power
        return (1.0 if math.isinf(ranks) else 1.0 - ratio**ranks) / (1.0 - ratio) if ratio < 1.0 else ranks
    if isinstance(user, Inverse) and math.isinf(ranks):
        return math.pi**2 / 6.0 if power == 2 else math.inf
    if ranks > LONGEST:
        return math.inf
    return float((views(user, int(ranks), None) ** power).sum())


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
