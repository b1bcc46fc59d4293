"""Gradient of the exact expected exposure under Plackett-Luce with respect to the log-weights.

With the nodes, P and r of :mod:`lightmeter.exposure.luce`, a cotangent ``lambda`` and ``S = sum_i lambda_i r_i``,

    ``d(lambda . eps) / dy_l = h sum_x P r_l [lambda_l (1 - X_l) - (1 - C_l) (S - lambda_l r_l)]``,

at about the cost of the exposure itself. Adding a constant to all log-weights changes nothing, so the gradient of a
list sums to 0.

The gradient of exact expected exposure under Plackett-Luce with respect to the scores of documents.

The log-weights are ``y = alpha s`` of raw or rescaled scores s; the gradient by y is that of
:mod:`lightmeter.exposure.gradient`, and the scaling's own derivative follows by the chain rule:

* ``zscore``, with z the standardised scores and d their deviation: ``alpha/d (g - mean g - z mean(g z))``;
* ``minmax``, with m the stretched scores and w the width: ``alpha/w g``, of which the lowest score takes off the sum of
  ``(1 - m) g`` and the highest that of ``m g``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.luce import (
    START,
    TINY,
    Lists,
    cells,
    last_nodes,
    lists,
    over_nodes,
    scatter,
    starts,
    tail_sums,
    windows,
)
from lightmeter.exposure.policy import log_weights
from lightmeter.models.policies import PlackettLuce
from lightmeter.models.users import user_of

STEP = 0.3  # of the trapezoid rule: a derivative's error is 2 pi / h times that of the exposure


def luce_vjp(
    log_weights: ArrayLike, continuation: ArrayLike, cotangent: ArrayLike, lengths: ArrayLike | None = None
) -> Floats:
    """Vector-Jacobian product of :func:`~lightmeter.exposure.luce.luce_exposure`.

    ``d(lambda . eps) / dy_l = h sum_x P r_l [lambda_l (1 - X_l) - (1 - C_l) (S - lambda_l r_l)]``.

    Parameters
    ----------
    log_weights, continuation, lengths
        As for the exposure.
    cotangent
        lambda: the derivative of a loss by the exposure of each document; anything that broadcasts to ``log_weights``.

    Returns
    -------
    array
        Derivative of the loss by each log-weight, of the shape of ``log_weights``; 0 where there is no document.

    Examples
    --------
    Two documents: ``eps_1 = (w_1 + C_2 w_2) / (w_1 + w_2)``.

    >>> luce_vjp([0.0, 0.0], 0.5, [1.0, 0.0]).round(12).tolist()
    [0.125, -0.125]
    """
    data = lists(log_weights, continuation, lengths)
    given = np.broadcast_to(np.asarray(cotangent, dtype=np.float64), data.shape).reshape(-1)
    weight = given[data.place]
    out = np.zeros(len(data.y))
    segments = np.flatnonzero((data.size > 1) & (data.before[data.first] > TINY))
    if len(segments):
        start = starts(data, START)
        _add_tail(out, data, segments, weight, start)
        grid = windows(data, segments, start[segments], last_nodes(data, segments), STEP)

        def work(batch: Integers) -> tuple[Integers, Floats]:
            here = cells(data, grid, batch, STEP)
            cotangent, time, ratio, spare, full = weight[here.document], here.time, here.ratio, here.spare, here.full
            x, product = here.weight, here.product * here.time
            away, stay = 1.0 - here.go_on, (here.go_on * x)[:, full:]
            toward = cotangent * x
            both = np.einsum("ij,ijk->ik", toward[:, :full], ratio)
            both += toward[:, full:].sum(axis=1)[:, None] - np.outer((toward[:, full:] * stay).sum(axis=1), time)
            both *= product * time  # P S e^x
            np.multiply(ratio, away[:, :full, None], out=spare)
            spare -= 1.0
            spare *= time
            spare *= x[:, :full, None]
            spare += 1.0
            spare *= ratio  # (1 - X + (1 - C) r) e^-X / f
            own, cross = np.empty(x.shape), np.empty(x.shape)
            own[:, :full] = over_nodes(spare, product)
            cross[:, :full] = over_nodes(ratio, both)
            # to second order r = X (1 - C X) and r (1 - X + (1 - C) r) = X (1 - 2 C X)
            own[:, full:] = product.sum(axis=1)[:, None] - 2.0 * stay * over_nodes(product, time)[:, None]
            cross[:, full:] = both.sum(axis=1)[:, None] - stay * over_nodes(both, time)[:, None]
            return here.document, STEP * x * (cotangent * own - away * cross)

        scatter(out, work, grid.batches)
    return data.restore(out)


def _add_tail(out: Floats, data: Lists, segments: Integers, weight: Floats, start: Floats) -> None:
    """Set documents of the segments to the sum over the nodes before the first: the derivative of the exposure's there.

    ``T = sum_i lambda_i X_i [g_1 - g_2 s_i + g_3 (s_i^2 + B - b_i) / 2]`` with ``s_i = sum_j (1 - C_j) X_j + C_i X_i``,
    ``b_i = (1 - C_i) C_i X_i^2`` and B their sum.
    """

    def total(value: Floats) -> Floats:
        return data.spread(np.add.reduceat(value, data.first))

    x = np.exp(data.y + data.spread(start))
    away, stay = (1.0 - data.go_on) * x, data.go_on * x
    other, toward = away * stay, weight * x
    s = total(away) + stay
    one, two, three = tail_sums(STEP)
    slope = three * s - two  # of the bracket by s
    own = one - two * s + three / 2 * (s**2 + total(other) - other) + stay * slope - three * other
    tail = toward * own + away * total(toward * slope) + three * other * total(toward)
    mask = np.repeat(np.isin(np.arange(len(data.first)), segments), data.size)
    out[mask] = (tail * data.before[np.repeat(data.first, data.size)])[mask]


def exposure_gradient(
    scores: ArrayLike,
    cotangent: ArrayLike,
    grades: ArrayLike | None = None,
    policy: Any = None,
    user: Any = None,
) -> Floats:
    """How a weighted sum of exposures changes with the scores, exactly: a vector-Jacobian product.

    ``d(sum_d lambda_d eps_d)/d scores`` under Plackett-Luce. With the loss's derivative by exposure for lambda it is
    the loss's derivative by scores: for EED, ``lambda = 2 eps``; for EER, ``lambda = eps*``.

    Parameters
    ----------
    scores
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    cotangent
        lambda, of the same shape (or one that broadcasts to it).
    grades
        Of the same shape, 0 or more; may be left out for RBP.
    policy
        ``PlackettLuce(alpha, scores)`` or its notation; by default ``PlackettLuce(alpha=1, scores='raw')``.
    user
        ``RBP``, ``Cascade`` or ``ERR``, or the notation.

    Returns
    -------
    array
        Of the shape of ``scores``; 0 where there is no document. Where all scores of a query are equal and are
        rescaled, 0; where several are lowest or highest under ``minmax``, they share that part equally.

    Raises
    ------
    LightmeterError
        Where the shapes differ, or the exposure has no gradient here: other policies, and users with another view.

    Examples
    --------
    Raising the score of one of two equal documents by a little gives it a quarter of 1 - p of that.

    >>> import lightmeter as lm
    >>> lm.exposure_gradient([0.0, 0.0], [1.0, 0.0], user=lm.RBP(p=0.5)).round(12).tolist()
    [0.125, -0.125]
    """
    from lightmeter.terms.notation import parse

    chosen = PlackettLuce(alpha=1.0, scores="raw") if policy is None else policy
    chosen = parse(chosen, kind="policy") if isinstance(chosen, str) else chosen
    chosen = chosen() if isinstance(chosen, type) and issubclass(chosen, PlackettLuce) else chosen
    if not isinstance(chosen, PlackettLuce):
        raise TermError(f"the exposure under {chosen} has no gradient by the scores. Accepted: PlackettLuce(alpha=1).")
    reader = user_of(user)
    if not reader.has_continuation:
        raise TermError(f"the exposure for {reader} has no gradient here. Accepted: RBP, Cascade or ERR.")
    score = np.asarray(scores, dtype=np.float64)
    if score.ndim not in (1, 2) or np.isinf(score).any():
        raise LightmeterError(
            "scores must be finite numbers of shape [n] or [queries, n], NaN where there is no document."
        )
    grade = np.zeros(score.shape) if grades is None else np.asarray(grades, dtype=np.float64)
    if grade.shape != score.shape:
        raise LightmeterError(f"scores have the shape {score.shape} and grades {grade.shape}. Accepted: one shape.")
    if grades is None and reader.by_document:
        raise LightmeterError(f"{reader} reads the documents, and grades= is not given. Accepted: a grade a document.")
    try:
        weight = np.broadcast_to(np.asarray(cotangent, dtype=np.float64), score.shape)
    except ValueError:
        raise LightmeterError(
            f"scores have the shape {score.shape} and cotangent {np.shape(cotangent)}. Accepted: one shape."
        ) from None
    rows, there = np.atleast_2d(score), np.atleast_2d(~np.isnan(score))
    if not np.isfinite(np.atleast_2d(weight)[there]).all():
        raise LightmeterError("the cotangent holds a number that is not finite. Accepted: finite numbers.")
    grade = np.maximum(np.where(there, np.atleast_2d(grade), 0.0), 0.0)
    reader = reader.with_max_grade(float(grade.max(initial=0.0)) if grades is not None else None)
    lam = np.where(there, np.atleast_2d(weight), 0.0)
    by_weight = luce_vjp(log_weights(chosen, rows), reader.continuation(grade), lam)
    return _by_score(chosen, rows, there, np.where(there, by_weight, 0.0)).reshape(score.shape)


def _by_score(policy: PlackettLuce, score: Floats, there: Booleans, gradient: Floats) -> Floats:
    """From the gradient by the log-weights to that by the scores, whose scaling depends on all of them."""
    if policy.scores == "raw":
        return policy.alpha * gradient
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    s = np.where(there, score, 0.0)
    top = np.abs(s).max(axis=1, initial=0.0, keepdims=True)
    unit = np.where(top > 0, top, 1.0)  # so that no square overflows
    s = s / unit
    if policy.scores == "minmax":
        low = np.where(there, s, np.inf).min(axis=1, initial=np.inf, keepdims=True)
        high = np.where(there, s, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
        width = high - low
        flat = ~(width > 0)
        wide = np.where(flat, 1.0, width)
        m = np.where(there & ~flat, (s - low) / wide, 0.0)
        out = gradient.copy()
        for end, part in ((low, 1.0 - m), (high, m)):
            mine = there & (s == end)
            out -= mine * (gradient * part).sum(axis=1, keepdims=True) / np.maximum(mine.sum(axis=1, keepdims=True), 1)
        return np.where(there & ~flat, policy.alpha * out / wide / unit, 0.0)
    off = np.where(there, s - s.sum(axis=1, keepdims=True) / count, 0.0)
    deviation = np.sqrt((off**2).sum(axis=1, keepdims=True) / count)
    flat = deviation <= 1e-14
    d = np.where(flat, 1.0, deviation)
    z = off / d
    mean, along = (x.sum(axis=1, keepdims=True) / count for x in (gradient, gradient * z))
    return np.where(there & ~flat, policy.alpha * (gradient - mean - z * along) / d / unit, 0.0)
