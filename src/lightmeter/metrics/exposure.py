"""Mean exposure and selection rates of groups, their ratios and gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.metrics.places import Places, Ties, mean, places, user_who_knows_ranks
from lightmeter.models.users import User

_FEW = "fewer than two groups have members"
_NONE = "there is no exposure to divide by"


def mean_exposures(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> dict[Any, float]:
    """Mean exposure of each group, ``E_a = sum_i w_i [i in a] view(rank_i) / sum_i w_i [i in a]``.

    Parameters
    ----------
    y_true
        Not looked at, and may be None.
    y_score
        Scores ``[n]``; the highest is ranked first. Ranks are given with their sign turned: ``-rank``.
    groups
        Group of each row ``[n]``, or a frame whose columns are combined. None, NaN, an empty text and ``unknown`` are
        unknown: such a row keeps its rank and is in no group.
    k
        Exposure ends after the first k; all members count, those below with exposure 0. None: the whole list.
    sample_weight
        How many members a row counts for ``[n]``; it still stands at one rank. All 1 by default.
    queries
        Which list each row belongs to ``[n]``; each is ranked apart, and the value is the mean over the lists in
        which it is defined. None: one list.
    user
        Whose attention exposure is; by default DCG, ``view_k = 1/log2(k + 1)``.
    ties
        Equal scores: ``'expected'`` (each gets the mean of the places they share, whatever the order of the rows),
        ``'order'`` (in the order of the rows) or ``'error'``.

    Returns
    -------
    dict
        Group to mean exposure, the largest group first; NaN never, since each has a member.

    Raises
    ------
    LightmeterError
        An argument cannot be used; it is a ValueError.

    Notes
    -----
    The base of the logarithm is a factor that all exposures share: ratios do not depend on it. With base 2 the first
    rank has exposure 1. Source: Singh and Joachims 2018.

    Examples
    --------
    >>> mean_exposures(None, [3, 2, 1], groups=["m", "f", "m"], user="TopK(k=2)")
    {'m': 0.5, 'f': 1.0}
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    values = _over(here.sums(here.exposure(_user(user), k)), here.members())
    return _by_group(here, values)


def exposure_ratio(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    group: Any = None,
    reference: Any = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Mean exposure of ``group`` over that of ``reference``; without them the lowest over the highest, in [0, 1].

    Parameters are those of :func:`mean_exposures`, and the names of two groups. It is
    :class:`~lightmeter.ExposureRatio`. NaN where fewer than two groups have members, or there is no exposure.

    Examples
    --------
    >>> exposure_ratio(None, [3, 2, 1], groups=["m", "f", "m"], user="TopK(k=2)")
    0.5
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    values = _over(here.sums(here.exposure(_user(user), k)), here.members())
    low, high = _pair(here, values, group, reference)
    return mean("exposure_ratio", _over(low, high), _NONE if (high == 0).any() else _FEW)


def exposure_gap(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    group: Any = None,
    reference: Any = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Mean exposure of ``group`` minus that of ``reference``; without them the highest minus the lowest, from 0 up.

    Parameters are those of :func:`mean_exposures`, and the names of two groups. It is
    :class:`~lightmeter.ExposureGap`. NaN where fewer than two groups have members.

    Examples
    --------
    >>> exposure_gap(None, [3, 2, 1], groups=["m", "f", "m"], user="TopK(k=2)", group="m", reference="f")
    -0.5
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    values = _over(here.sums(here.exposure(_user(user), k)), here.members())
    low, high = _pair(here, values, group, reference)
    return mean("exposure_gap", high - low if group is None else low - high, _FEW)


def exposure_per_merit_ratio(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    group: Any = None,
    reference: Any = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Exposure per unit of merit of ``group`` over that of ``reference``, ``(E_a / u_a) / (E_b / u_b)``.

    u_a is the mean label of a group. Without names the lowest over the highest, groups without merit left out. It is
    :class:`~lightmeter.DTR`. Parameters are those of :func:`mean_exposures`, and the names of two groups; ``y_true``
    holds the labels, numbers from 0 up. NaN where fewer than two groups have merit, or a named one has none.

    Examples
    --------
    >>> exposure_per_merit_ratio([1, 1, 0], [3, 2, 1], groups=["m", "f", "m"], user="TopK(k=2)")
    1.0
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, merit=True)
    merit = here.sums(here.merit)  # type: ignore[arg-type]
    values = _over(here.sums(here.exposure(_user(user), k)), merit)
    low, high = _pair(here, values, group, reference)
    reason = _NONE if (high == 0).any() else "fewer than two of the groups have merit, a label above 0"
    return mean("exposure_per_merit_ratio", _over(low, high), reason)


def selection_rates(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    ties: Ties = "expected",
) -> dict[Any, float]:
    """The share of each group that is among the first k.

    Parameters are those of :func:`mean_exposures`; k is needed. With ``ties='expected'`` a row of a block of equal
    scores that k divides counts by its chance.

    Examples
    --------
    >>> selection_rates(None, [3, 2, 1], groups=["m", "f", "m"], k=2)
    {'m': 0.5, 'f': 1.0}
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="selection_rates")
    return _by_group(here, _over(here.sums(here.inside(k)), here.members()))


def selection_rate_ratio(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    group: Any = None,
    reference: Any = None,
    ties: Ties = "expected",
) -> float:
    """Selection rate of ``group`` over that of ``reference``; without them the lowest over the highest, in [0, 1].

    Parameters are those of :func:`selection_rates`, and the names of two groups. NaN where fewer than two groups have
    members, or nobody is selected whom to compare with.

    Examples
    --------
    >>> selection_rate_ratio(None, [3, 2, 1], groups=["m", "f", "m"], k=2)
    0.5
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="selection_rate_ratio")
    low, high = _pair(here, _over(here.sums(here.inside(k)), here.members()), group, reference)
    reason = "nobody is selected of the group to compare with" if (high == 0).any() else _FEW
    return mean("selection_rate_ratio", _over(low, high), reason)


def abr(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Attention bias ratio: the lowest mean attention of a group over the highest, in [0, 1].

    It is :class:`~lightmeter.ABR`, and :func:`exposure_ratio` with another user: by default ``RBP(p=0.5)``. Parameters
    are those of :func:`mean_exposures`. With tied scores it is the ratio of expected attention.

    Examples
    --------
    >>> abr(None, [2, 1], groups=["m", "f"])
    0.5
    """
    from lightmeter.measures.relevance import RBP

    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    chosen = user_who_knows_ranks(user, lambda: RBP(p=0.5))
    low, high = _pair(here, _over(here.sums(here.exposure(chosen, k)), here.members()), None, None)
    return mean("abr", _over(low, high), _NONE if (high == 0).any() else _FEW)


def _user(given: User | str | None) -> User:
    from lightmeter.measures.relevance import DCG

    return user_who_knows_ranks(given, DCG)


def _over(a: Floats, b: Floats) -> Floats:
    """a / b, NaN where b is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b > 0, a / b, np.nan)


def _pair(here: Places, values: Floats, group: Any, reference: Any) -> tuple[Floats, Floats]:
    """Values of two groups in each list, those named or the lowest and the highest; NaN where there are not two."""
    if (group is None) != (reference is None):
        raise LightmeterError("one group is named. Accepted: group and reference, or neither (the lowest and highest).")
    if group is not None:
        codes = here.code_of("group", group), here.code_of("reference", reference)
        if codes[0] == codes[1]:
            raise LightmeterError(f"group and reference are both {group!r}. Accepted: two groups.")
        return values[:, codes[0]], values[:, codes[1]]
    known = ~np.isnan(values)
    two = known.sum(axis=1) > 1
    low = np.where(known, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(two, low, np.nan), np.where(two, high, np.nan)


def _by_group(here: Places, values: Floats) -> dict[Any, float]:
    """The mean of each group's values over the lists in which it has members."""
    some = ~np.isnan(values)
    total = np.where(some, values, 0.0).sum(axis=0)
    return dict(zip(here.groups, _over(total, some.sum(axis=0).astype(np.float64)).tolist(), strict=True))
