"""The figures of an audit, from sums by group: rates, exposure, and their ratios and gaps to a reference.

Every figure is an array ``[resamples, groups]`` (for the table as it is: one row), so that a value and its interval
come from the same lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.sums import Cutoff, Sums
from lightmeter.models.users import User

#: which rate or mean of the groups a figure rests on, for exact intervals
Basis = Literal["rate", "rate_ratio", "rate_gap", "share", "top", "fixed", "none"]


@dataclass(frozen=True)
class Figure:
    """One measure of every group at one cutoff.

    Attributes
    ----------
    measure, cutoff
        Its name and cutoff, None for the whole list.
    value
        ``[resamples, groups + 1]``; the last column is for the unknown, NaN where they have no part in it.
    reference
        Index of the group it is compared with, or None.
    count, size
        Whole numbers behind a rate, ``[groups + 1]``, or None.
    basis
        What the figure is, for its interval.
    because
        The reason where a value is NaN.
    """

    measure: str
    cutoff: Cutoff
    value: Floats
    reference: int | None = None
    count: Floats | None = None
    size: Floats | None = None
    basis: Basis = "none"
    because: str | None = None
    unknown: bool = True


@dataclass(frozen=True)
class Compared:
    """With whom groups are compared.

    Attributes
    ----------
    reference
        The group that ratios and gaps of exposure, and gaps of rates, are taken to.
    eligible
        Which groups can be the one of the highest rate.
    """

    reference: int
    eligible: Booleans


def figures(
    sums: Sums, users: tuple[User, ...], compared: Compared, *, binary: bool, best: dict[tuple[str, Cutoff], int]
) -> Iterator[Figure]:
    """All figures, in the order in which they are told.

    Parameters
    ----------
    sums
        What they are made of; what is None there is left out.
    users
        The user whose attention exposure is, and others beside it.
    binary
        Whether the label says yes or no: then it is a selection of its own, that of the whole list.
    best
        Filled with the group of the highest rate where it is empty, read where it is not: so that resamples compare
        with the group that the table compares with.
    """
    for cutoff in dict.fromkeys([None, *sums.top]):
        if cutoff in sums.top:
            yield from _of_cutoff(sums, cutoff, users, compared, binary, best)


def _of_cutoff(
    sums: Sums,
    cutoff: Cutoff,
    users: tuple[User, ...],
    compared: Compared,
    binary: bool,
    best: dict[tuple[str, Cutoff], int],
) -> Iterator[Figure]:
    n, top, ref = sums.count, sums.top[cutoff], compared.reference
    yield Figure("count", cutoff, top, basis="fixed")
    share = _over(top, sums.places[cutoff][:, None])
    if cutoff is None:
        yield Figure("pool_share", None, share, basis="fixed")
        if sums.score is not None:
            yield Figure("mean_score", None, _over(sums.score, n))
        if sums.label is not None:
            basis: Basis = "rate" if binary else "none"
            yield Figure("mean_label", None, _over(sums.label, n), None, sums.label[0], n[0], basis)
    else:
        yield Figure("share", cutoff, share, count=top[0], size=sums.places[cutoff][:1], basis="share")
    yield from _exposure(sums, cutoff, users, ref)
    if cutoff is not None:
        yield from _rates("selection_rate", cutoff, top, n, compared, best)
        yield Figure("skew", cutoff, _skew(top, n), because="none_in_top", basis="top", unknown=False)
        return
    if binary and sums.label is not None:
        yield from _rates("selection_rate", None, sums.label, n, compared, best)
    if sums.above is not None:
        yield from _rates("above_median", None, sums.above, n, compared, best)
    if sums.over is not None:
        yield from _rates("above_threshold", None, sums.over, n, compared, best)


def _exposure(sums: Sums, cutoff: Cutoff, users: tuple[User, ...], ref: int) -> Iterator[Figure]:
    n = sums.count
    mean = _over(sums.exposure[users[0], cutoff], n)
    yield Figure("exposure", cutoff, mean, basis="top")
    yield Figure("exposure_ratio", cutoff, _ratio(mean, ref), ref, basis="top", because="zero_exposure", unknown=False)
    yield Figure("exposure_gap", cutoff, mean - mean[:, [ref]], ref, basis="top", unknown=False)
    if sums.label is not None:
        merit = _over(sums.label, n)
        # labels whose sum is too large to compute leave no merit: told as such, not as exposure of 0
        per = np.where(np.isinf(merit), np.inf, _over(mean, merit))
        yield Figure("exposure_per_merit", cutoff, per, basis="top", because="zero_merit", unknown=False)
        yield Figure(
            "exposure_per_merit_ratio",
            cutoff,
            np.where(np.isinf(per) | np.isinf(per[:, [ref]]), np.inf, _ratio(per, ref)),
            ref,
            basis="top",
            because="zero_merit",
            unknown=False,
        )
    for user in users[1:]:
        other = _over(sums.exposure[user, cutoff], n)
        yield Figure(
            f"exposure_ratio(user={user})",
            cutoff,
            _ratio(other, ref),
            ref,
            basis="top",
            because="zero_exposure",
            unknown=False,
        )


def _rates(
    name: str, cutoff: Cutoff, count: Floats, n: Floats, compared: Compared, best: dict[tuple[str, Cutoff], int]
) -> Iterator[Figure]:
    """A rate, its ratio to the highest and its gap to the reference."""
    rate = _over(count, n)
    if (name, cutoff) not in best:
        known = np.where(compared.eligible & ~np.isnan(rate[0, :-1]), rate[0, :-1], -1.0)
        # of several that are highest the reference, so that nothing but the table decides
        highest = known == known.max()
        best[name, cutoff] = compared.reference if highest[compared.reference] else int(np.argmax(highest))
    top = best[name, cutoff]
    yield Figure(name, cutoff, rate, count=count[0], size=n[0], basis="rate")
    yield Figure(
        f"{name}_ratio", cutoff, _ratio(rate, top), top, count[0], n[0], "rate_ratio", "zero_rate", unknown=False
    )
    gap = rate - rate[:, [compared.reference]]
    yield Figure(f"{name}_gap", cutoff, gap, compared.reference, count[0], n[0], "rate_gap", unknown=False)


def _skew(top: Floats, n: Floats) -> Floats:
    """ln of the share of the top over the share of the pool, among those whose group is known."""
    here, pool = top[:, :-1], n[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(here / here.sum(axis=1, keepdims=True)) - np.log(pool / pool.sum(axis=1, keepdims=True))
    value[~np.isfinite(value)] = np.nan
    return np.concatenate([value, np.full((len(value), 1), np.nan)], axis=1)


def _over(a: Floats, b: Floats) -> Floats:
    """a / b, NaN where b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b > 0, a / b, np.nan)


def _ratio(value: Floats, to: int) -> Floats:
    return _over(value, value[:, [to]])
