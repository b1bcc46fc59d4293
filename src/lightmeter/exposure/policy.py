"""Expected exposure under a policy, exactly where it can be."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.models.policies import Oracle, PlackettLuce, Policy, RankTransposition, Static
from lightmeter.models.targets import Uniform
from lightmeter.models.users import RBPUser, User


def log_weights(policy: PlackettLuce, score: Floats) -> Floats:
    """Log-weights of documents ``[queries, n]``; NaN where there is none.

    Standardised scores have mean 0 and deviation 1 within the query; where all are equal they are 0.
    """
    there = ~np.isnan(score)
    if policy.scores == "raw":
        return policy.alpha * score
    top = np.where(there, np.abs(score), 0.0).max(axis=1, initial=0.0, keepdims=True)
    scaled = score / np.where(top > 0, top, 1.0)  # so that no square overflows
    if policy.scores == "minmax":
        low = np.where(there, scaled, np.inf).min(axis=1, initial=np.inf, keepdims=True)
        width = np.where(there, scaled, -np.inf).max(axis=1, initial=-np.inf, keepdims=True) - low
        return policy.alpha * np.where(width > 0, (scaled - low) / np.where(width > 0, width, 1.0), 0.0 * scaled)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    off = scaled - np.where(there, scaled, 0.0).sum(axis=1, keepdims=True) / count
    deviation = np.sqrt(np.where(there, off**2, 0.0).sum(axis=1, keepdims=True) / count)
    flat = deviation <= 1e-14
    return policy.alpha * np.where(flat, 0.0 * scaled, off / np.where(flat, 1.0, deviation))


def is_exact(policy: Policy, user: User) -> bool:
    """Whether no sampling is needed: always, but for rank transposition with a user who reads the documents."""
    return not isinstance(policy, RankTransposition) or not user.by_document


def policy_exposure(policy: Policy, score: Floats, grade: Floats, user: User, cutoff: int | None = None) -> Floats:
    """Expected exposure of documents in the order of a base ranking.

    Parameters
    ----------
    policy
        A stochastic policy for which :func:`is_exact` holds.
    score, grade
        ``[queries, n]`` in rank order; score is NaN where there is no document.
    user, cutoff
        The user model, and the rank below which nothing is seen.

    Returns
    -------
    array
        ``[queries, n]``; 0 where there is no document.
    """
    from lightmeter.exposure.closed import oracle_exposure, tied_exposure, uniform_exposure
    from lightmeter.exposure.luce import luce_exposure
    from lightmeter.exposure.marginals import luce_exposure_cut, luce_exposure_view
    from lightmeter.exposure.ties import blocks_by_score
    from lightmeter.exposure.transposition import transposition_exposure

    there = ~np.isnan(score)
    width = score.shape[1]
    marked = np.where(there, grade, np.nan)
    if isinstance(policy, Static):
        return tied_exposure(blocks_by_score(score), marked, user, cutoff)
    if isinstance(policy, Uniform):
        return uniform_exposure(marked, user, cutoff)
    if isinstance(policy, Oracle):
        return oracle_exposure(marked, user, cutoff)
    seen = width if cutoff is None else min(width, cutoff)
    if isinstance(policy, RankTransposition):
        view = np.zeros(width)
        view[:seen] = user.view_at(np.arange(1.0, seen + 1))
        return transposition_exposure(view, policy.theta, there.sum(axis=1))
    if not isinstance(policy, PlackettLuce):
        raise TypeError(f"no exact exposure under {policy}")
    y = log_weights(policy, score)
    if cutoff is None and (user.by_document or isinstance(user, RBPUser)):
        return luce_exposure(y, user.continuation(grade))
    if user.by_document:
        return luce_exposure_cut(y, user.continuation(grade), seen)
    return luce_exposure_view(y, user.view_at(np.arange(1.0, seen + 1)))
