"""Expected exposure under a policy, exactly where it can be.

Expected exposure and rank marginals of arrays, for those who have no collection.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError, TermError, whole_number
from lightmeter.models.policies import Oracle, PlackettLuce, Policy, RankTransposition, Samples, Static
from lightmeter.models.targets import Uniform
from lightmeter.models.users import User


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


@singledispatch
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
    raise TypeError(f"no exact exposure under {policy}")


@policy_exposure.register(Static)
def _under_static(policy: Static, score: Floats, grade: Floats, user: User, cutoff: int | None = None) -> Floats:
    from lightmeter.exposure.ties import blocks_by_score, tied_exposure

    return tied_exposure(blocks_by_score(score), _marked(score, grade), user, cutoff)


@policy_exposure.register(Uniform)
def _under_uniform(policy: Uniform, score: Floats, grade: Floats, user: User, cutoff: int | None = None) -> Floats:
    from lightmeter.exposure.ties import uniform_exposure

    return uniform_exposure(_marked(score, grade), user, cutoff)


@policy_exposure.register(Oracle)
def _under_oracle(policy: Oracle, score: Floats, grade: Floats, user: User, cutoff: int | None = None) -> Floats:
    from lightmeter.exposure.ties import oracle_exposure

    return oracle_exposure(_marked(score, grade), user, cutoff)


@policy_exposure.register(RankTransposition)
def _under_transposition(
    policy: RankTransposition, score: Floats, grade: Floats, user: User, cutoff: int | None = None
) -> Floats:
    from lightmeter.exposure.transposition import transposition_exposure

    width = score.shape[1]
    seen = width if cutoff is None else min(width, cutoff)
    view = np.zeros(width)
    view[:seen] = user.view_at(np.arange(1.0, seen + 1))
    return transposition_exposure(view, policy.theta, (~np.isnan(score)).sum(axis=1))


@policy_exposure.register(PlackettLuce)
def _under_luce(policy: PlackettLuce, score: Floats, grade: Floats, user: User, cutoff: int | None = None) -> Floats:
    from lightmeter.exposure.luce import luce_exposure
    from lightmeter.exposure.marginals import luce_exposure_cut, luce_exposure_view

    seen = score.shape[1] if cutoff is None else min(score.shape[1], cutoff)
    y = log_weights(policy, score)
    if cutoff is None and user.has_continuation:
        return luce_exposure(y, user.continuation(grade))
    if user.by_document:
        return luce_exposure_cut(y, user.continuation(grade), seen)
    return luce_exposure_view(y, user.view_at(np.arange(1.0, seen + 1)))


def _marked(score: Floats, grade: Floats) -> Floats:
    """Grades, NaN where there is no document."""
    return np.where(np.isnan(score), np.nan, grade)


def expected_exposure(
    scores: ArrayLike,
    grades: ArrayLike | None = None,
    policy: Any = None,
    user: Any = None,
    cutoff: int | None = None,
) -> Floats:
    """Expected exposure of documents under a policy, exactly.

    Parameters
    ----------
    scores
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    grades
        Of the same shape, 0 or more; may be left out where neither the user nor the policy reads them.
    policy
        Such as ``PlackettLuce(alpha=1.0, scores='raw')``, or its notation; by default ``Static(ties='expected')``:
        documents of equal scores in random order.
    user
        Such as ``RBP(p=0.5)``, which is the default, or its notation.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    array
        Of the shape of ``scores``; 0 where there is no document.

    Raises
    ------
    LightmeterError
        Where the shapes differ, or the policy has no exact exposure for the user.

    Examples
    --------
    >>> import lightmeter as lm
    >>> policy = lm.PlackettLuce(alpha=1.0, scores="raw")
    >>> lm.expected_exposure([0.0, 0.0], policy=policy, user=lm.RBP(p=0.5)).round(6).tolist()
    [0.75, 0.75]
    """
    chosen = _term("Static(ties='expected')" if policy is None else policy, "policy", Policy)
    reader = _term("RBP(p=0.5)" if user is None else user, "user", User)
    score = _numbers("scores", scores)
    if score.ndim not in (1, 2) or np.isinf(score).any():
        raise LightmeterError(
            f"scores must have shape [n] or [queries, n] and be finite (NaN for no document); got shape {score.shape}."
        )
    if cutoff is not None:
        cutoff = whole_number("cutoff", cutoff)
    grade = np.zeros(score.shape) if grades is None else _numbers("grades", grades)
    if grade.shape != score.shape:
        raise LightmeterError(f"scores have the shape {score.shape} and grades {grade.shape}. Accepted: one shape.")
    if isinstance(chosen, Samples):
        raise TermError(f"{chosen} is made of given rankings. Accepted: a policy that makes rankings of scores.")
    if not is_exact(chosen, reader):
        raise LightmeterError(
            f"{chosen} has no exact exposure for {reader}, who reads the documents. Accepted: a user who knows the "
            "rank only, such as RBP(p=0.5); or lightmeter.evaluate, which draws rankings."
        )
    grade = np.maximum(np.where(np.isnan(score), 0.0, grade), 0.0)
    reader = reader.with_max_grade(float(grade.max(initial=0.0)) if grades is not None else None)
    if isinstance(chosen, Static) and chosen.ties != "expected":
        raise TermError(f"{chosen} orders ties by ids, which arrays have not. Accepted: Static(ties='expected').")
    rows = np.atleast_2d(score)
    # rank transposition starts from the ranking by score
    order = np.argsort(np.where(np.isnan(rows), np.inf, -rows), axis=1, kind="stable")
    ranked = policy_exposure(
        chosen, np.take_along_axis(rows, order, 1), np.take_along_axis(np.atleast_2d(grade), order, 1), reader, cutoff
    )
    out = np.empty_like(ranked)
    np.put_along_axis(out, order, ranked, axis=1)
    return out.reshape(score.shape)


def _numbers(name: str, given: ArrayLike) -> Floats:
    """An array of numbers."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise LightmeterError(
            f"the {name} are no array of numbers. Accepted: [n] or [queries, n], rows of one length (NaN for no "
            "document)."
        ) from None


def rank_marginals(scores: ArrayLike, policy: Any = None, depth: int = 20) -> Floats:
    """Probability of each document at each rank under a policy.

    Parameters
    ----------
    scores
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    policy
        ``PlackettLuce``, ``RankTransposition`` or ``Uniform()``, or its notation.
    depth
        Number of ranks from the top.

    Returns
    -------
    array
        ``[n, depth]`` or ``[queries, n, depth]``; columns sum to 1 as far as there are documents.

    Examples
    --------
    >>> import lightmeter as lm
    >>> policy = lm.PlackettLuce(alpha=1.0, scores="raw")
    >>> lm.rank_marginals([0.0, 0.0], policy=policy, depth=1).round(6).tolist()
    [[0.5], [0.5]]
    """
    chosen = _term(policy if policy is not None else PlackettLuce(), "policy", Policy)
    score = _numbers("scores", scores)
    if score.ndim not in (1, 2) or np.isinf(score).any():
        raise LightmeterError(
            f"scores must have shape [n] or [queries, n] and be finite (NaN for no document); got shape {score.shape}."
        )
    depth = whole_number("depth", depth)
    return _marginals(chosen, np.atleast_2d(score), depth).reshape(*score.shape, -1)


@singledispatch
def _marginals(policy: Policy, rows: Floats, depth: int) -> Floats:
    """``[queries, n, depth]``."""
    raise TermError(f"rank marginals under {policy} are not given. Accepted: PlackettLuce, RankTransposition, Uniform.")


@_marginals.register(PlackettLuce)
def _luce_marginals(policy: PlackettLuce, rows: Floats, depth: int) -> Floats:
    from lightmeter.exposure.marginals import rank_marginals as luce_marginals

    return luce_marginals(log_weights(policy, rows), depth)


@_marginals.register(Uniform)
def _uniform_marginals(policy: Uniform, rows: Floats, depth: int) -> Floats:
    from lightmeter.exposure.marginals import rank_marginals as luce_marginals

    return luce_marginals(np.where(np.isnan(rows), np.nan, 0.0), depth)


@_marginals.register(RankTransposition)
def _transposition_marginals(policy: RankTransposition, rows: Floats, depth: int) -> Floats:
    from lightmeter.exposure.transposition import transposition_marginals

    out = np.zeros((*rows.shape, depth))
    order = np.argsort(np.where(np.isnan(rows), np.inf, -rows), axis=1, kind="stable")
    lengths = (~np.isnan(rows)).sum(axis=1)
    for n in np.unique(lengths[lengths > 0]):  # queries of one length share their marginals
        mine = np.flatnonzero(lengths == n)
        by_rank = transposition_marginals(int(n), policy.theta, depth)
        out[mine[:, None], order[mine, :n], : by_rank.shape[1]] = by_rank
    return out


def _term(given: Any, kind: str, base: type) -> Any:
    """A term from itself, its class or its notation."""
    from lightmeter.terms.notation import parse

    if isinstance(given, type) and issubclass(given, base):
        given = parse(given.__name__, kind=kind)
    if isinstance(given, str):
        given = parse(given, kind=kind)
    if not isinstance(given, base):
        raise TermError(f"the {kind} is {given!r}. Accepted: a {kind} such as RBP(p=0.5) or PlackettLuce(alpha=1).")
    return given
