"""How far a user looks: views of the first ranks, and what the views of an endless list sum to."""

from __future__ import annotations

import math

import numpy as np

from lightmeter.arrays import Floats
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
