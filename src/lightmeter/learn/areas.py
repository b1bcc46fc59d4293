"""The area below disparity-relevance curves (EEAUC) of padded scores, quick enough for every epoch of a training.

It is that of :func:`lightmeter.sweep` on a fixed set of parameters, with one more kind for demographic parity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError, choice
from lightmeter.exposure.bounds import group_bounds
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.ties import blocks_by_score, oracle_exposure, tied_exposure, uniform_exposure
from lightmeter.learn.settings import differentiable_user
from lightmeter.models.users import User
from lightmeter.sweeping.areas import areas
from lightmeter.sweeping.candidates import Scale, unset

KINDS = ("documents", "parity")
#: Of the scores in units of their mean deviation within a query.
_ALPHAS = 0.25 * 2.0 ** (np.arange(15) / 2)
_BOUNDED = 12


@dataclass(frozen=True)
class Areas:
    """Areas below curves.

    Attributes
    ----------
    mean
        Of the mean curve; NaN where no query counts.
    query
        ``[queries]``, each query's own; NaN where it does not count.
    """

    mean: float
    query: Floats


def curve_areas(
    scores: ArrayLike,
    grades: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    user: Any = "RBP(p=0.5)",
    kind: str = "documents",
) -> Areas:
    """EEAUC of Plackett-Luce policies of the scores, ``exp(alpha s)``, alpha from 0 to infinity.

    ``'documents'``: disparity is ``x = (EED - uniform's)/(static's - uniform's)``, relevance ``y = EER/E``, E of the
    ideal ranking; grade 0 has no target; equal scores stay in the order given. ``'parity'``: disparity is
    ``||xi||^2``, the exposure of groups over all documents, of which the least there can be counts as 0 and the most
    as 1, so that all scorers share one scale; y at x is the most that is reached with at most that disparity, 0 where
    none is so low.

    Parameters
    ----------
    scores, grades
        ``[queries, documents]``, NaN where there is no document.
    groups
        Codes of groups, -1 for none.
    user
        ``RBP``, ``Cascade`` or ``ERR(max_grade=..)``; for ``'parity'`` ``RBP``.
    kind
        ``'documents'`` or ``'parity'``.

    Returns
    -------
    Areas
        In [0, 1]. Queries without a relevant document, with one document, or (parity) of one group do not count.

    Raises
    ------
    LightmeterError
        Where shapes differ, a score is not finite, or groups are missing.

    Examples
    --------
    >>> round(curve_areas([[2.0, 1.0, 0.0]], [[2, 0, 1]]).mean, 3)
    0.822
    """
    choice("kind", kind, KINDS)
    s, g, who = np.asarray(scores, np.float64), np.asarray(grades, np.float64), differentiable_user(user)
    code = None if groups is None else np.asarray(groups, dtype=np.int64)
    there = ~np.isnan(g)
    if s.ndim != 2 or s.shape != g.shape or (code is not None and code.shape != s.shape):
        raise LightmeterError(
            f"scores have the shape {s.shape} and grades {g.shape}. Accepted: one [queries, documents]."
        )
    if not np.isfinite(s[there]).all():
        raise LightmeterError("a score is not finite. Accepted: finite numbers.")
    if kind == "parity" and (code is None or who.by_document):
        raise LightmeterError("areas of parity need groups and a user who knows the rank only, such as RBP(p=0.5).")
    s, g = np.where(there, s, np.nan), np.where(there, np.maximum(g, 0.0), np.nan)
    goal = np.where(g > 0, oracle_exposure(g, who), 0.0)
    eps = _exposures(s, np.where(there, g, 0.0), there, who)
    eer = np.einsum("pqd,qd->qp", eps, goal)
    most = (_best(g, goal, who) * goal).sum(axis=1)
    relevant = np.asarray((goal > 0).any(axis=1), dtype=np.bool_)
    if kind == "parity" and code is not None:
        return _parity(eps, eer, np.where(there, code, -1), there, relevant, most, who)
    eed = np.einsum("pqd,pqd->qp", eps, eps)
    reason = np.full(len(s), None, dtype=object)
    reason[~relevant | (there.sum(axis=1) < 2)] = "left_out"
    scale = Scale(eed[:, 0], eed[:, -1], most, reason, np.zeros(len(s), bool), np.ones(len(s)), who.by_document)
    if not who.by_document:
        reason[~scale.ranged] = "left_out"
    query = areas(scale.disparity(eed), scale.relevance(eer), scale.of_means)
    query[~unset(reason)] = np.nan
    if not unset(reason).any():
        return Areas(np.nan, query)
    x, y = scale.mean_curve(eed, eer)
    return Areas(float(areas(x[None], y[None], scale.of_means)[0]), query)


def _exposures(s: Floats, g: Floats, there: Booleans, user: User) -> Floats:
    """Exposures at each parameter, uniform first and static last, ``[points, queries, documents]``."""
    go_on = user.continuation(g)
    count = np.maximum(there.sum(axis=1, keepdims=True), 1)
    off = np.where(there, s - np.where(there, s, 0.0).sum(axis=1, keepdims=True) / count, 0.0)
    deviation = np.sqrt((off**2).sum(axis=1) / count[:, 0])
    spread = float(deviation.mean()) if len(s) else 0.0
    # below this the deviation is rounding: the scores are all alike
    unit = spread if spread > 1e-12 * np.abs(s[there]).max(initial=0.0) else 1.0
    order = np.argsort(np.where(there, -s, np.inf), axis=1, kind="stable")
    blocks = np.empty(s.shape)
    np.put_along_axis(blocks, order, np.broadcast_to(np.arange(s.shape[1], dtype=np.float64), s.shape), axis=1)
    middle = [luce_exposure(np.where(there, a / unit * off, np.nan), go_on) for a in _ALPHAS]
    uniform = uniform_exposure(np.where(there, g, np.nan), user)
    return np.stack([uniform, *middle, tied_exposure(np.where(there, blocks, np.nan), g, user)])


def _best(g: Floats, goal: Floats, user: User) -> Floats:
    """Exposures of the ranking of most relevance."""
    if not user.by_document:
        return goal
    with np.errstate(divide="ignore", invalid="ignore"):
        merit = np.where(goal > 0, goal / (1.0 - user.continuation(np.nan_to_num(g))), 0.0)
    return tied_exposure(blocks_by_score(np.where(np.isnan(g), np.nan, merit)), np.nan_to_num(g), user)


def _parity(
    eps: Floats,
    eer: Floats,
    code: Integers,
    there: Booleans,
    relevant: Booleans,
    most: Floats,
    user: User,
) -> Areas:
    """Areas with the disparity between groups, on the scale that all scorers share."""
    queries = eps.shape[1]
    values = int(code.max(initial=-1)) + 1
    if not values:  # no document has a known group, so no query counts
        return Areas(np.nan, np.full(queries, np.nan))
    if values > _BOUNDED:
        raise LightmeterError(f"there are {values} groups. Accepted for areas of parity: at most {_BOUNDED}.")
    xi = np.stack([np.where(code == v, eps, 0.0).sum(axis=2) for v in range(values)], axis=2)
    between = (xi**2).sum(axis=2).T
    sizes = np.stack([(code == v).sum(axis=1) for v in range(values)], axis=1)
    low, high = group_bounds(user, sizes, others=there.sum(axis=1) - sizes.sum(axis=1))
    counts = relevant & (high - low > 1e-9 * np.maximum(high, 1e-300))
    query = np.full(queries, np.nan)
    y = eer / np.where(most > 0, most, 1.0)[:, None]
    wide = np.where(counts, high - low, 1.0)
    query[counts] = _most_within(((between - low[:, None]) / wide[:, None])[counts], y[counts])
    if not counts.any():
        return Areas(np.nan, query)
    mean = (between[counts].mean(axis=0) - low[counts].mean()) / (high - low)[counts].mean()
    return Areas(float(_most_within(mean[None], y[counts].mean(axis=0)[None])[0]), query)


def _most_within(x: Floats, y: Floats) -> Floats:
    """Areas of the largest y at points of at most each x, joined by straight lines; 0 before the first."""
    x = np.clip(x, 0.0, 1.0)
    order = np.lexsort((y, x), axis=1)
    x, y = np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)
    return areas(x, np.maximum.accumulate(y, axis=1)) - x[:, 0] * y[:, 0]
