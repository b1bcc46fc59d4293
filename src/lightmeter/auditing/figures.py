"""The figures of an audit, from sums by group: shares, exposure, rates, and their ratios and gaps to a reference.

Every figure is an array ``[resamples, groups]`` (for the table as it is: one row), so that a value and its interval
come from the same lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.auditing.ranking import Cutoff, GroupSums
from lightmeter.measures.group_sums import gap_to, per_merit, quotient, ratio_to, shares, skews
from lightmeter.models.users import User

#: which rate or mean of the groups a figure rests on, for exact intervals
Basis = Literal["rate", "rate_ratio", "rate_gap", "share", "top", "fixed", "none"]
#: for each rate and cutoff the group with the highest one
HighestRates = dict[tuple[str, Cutoff], int]


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
    undefined
        The reason where a value is NaN.
    unknown
        Whether those of unknown group have a value.
    """

    measure: str
    cutoff: Cutoff
    value: Floats
    reference: int | None = None
    count: Floats | None = None
    size: Floats | None = None
    basis: Basis = "none"
    undefined: str | None = None
    unknown: bool = True


@dataclass(frozen=True)
class Comparison:
    """Which groups the others are compared with.

    Attributes
    ----------
    reference
        The group that ratios and gaps of exposure, and gaps of rates, are taken to.
    eligible
        Which groups can be the one with the highest rate.
    """

    reference: int
    eligible: Booleans


def figures(
    sums: GroupSums, users: tuple[User, ...], comparison: Comparison, *, binary: bool, highest: HighestRates
) -> Iterator[Figure]:
    """All figures, in the order in which they are shown.

    Parameters
    ----------
    sums
        What they are computed from; what is None there is left out.
    users
        The user model that turns ranks into exposure, and others beside it.
    binary
        Whether the label says yes or no: then it is a selection of its own, that of the whole list.
    highest
        Filled with the group of the highest rate where it is empty, read where it is not: so that resamples compare
        with the group that the table compares with.
    """
    for cutoff in dict.fromkeys([None, *sums.top]):
        if cutoff in sums.top:
            yield from _at_cutoff(sums, cutoff, users, comparison, binary, highest)


def _at_cutoff(
    sums: GroupSums,
    cutoff: Cutoff,
    users: tuple[User, ...],
    comparison: Comparison,
    binary: bool,
    highest: HighestRates,
) -> Iterator[Figure]:
    n, top = sums.count, sums.top[cutoff]
    yield Figure("count", cutoff, top, basis="fixed")
    share = quotient(top, sums.selected[cutoff][:, None])
    if cutoff is None:
        yield Figure("pool_share", None, share, basis="fixed")
        if sums.score is not None:
            yield Figure("mean_score", None, quotient(sums.score, n))
        if sums.label is not None:
            basis: Basis = "rate" if binary else "none"
            yield Figure("mean_label", None, quotient(sums.label, n), None, sums.label[0], n[0], basis)
    else:
        yield Figure("share", cutoff, share, count=top[0], size=sums.selected[cutoff][:1], basis="share")
    yield from _exposure(sums, cutoff, users, comparison.reference)
    if cutoff is not None:
        yield from _rates("selection_rate", cutoff, top, n, comparison, highest)
        yield Figure("skew", cutoff, _skew(top, n), undefined="none_in_top", basis="top", unknown=False)
        return
    selected = sums.label if binary else None
    for name, count in (("selection_rate", selected), ("above_median", sums.above), ("above_threshold", sums.over)):
        if count is not None:
            yield from _rates(name, None, count, n, comparison, highest)


def _exposure(sums: GroupSums, cutoff: Cutoff, users: tuple[User, ...], reference: int) -> Iterator[Figure]:
    n = sums.count

    def compared(measure: str, value: Floats, undefined: str | None) -> Figure:
        return Figure(measure, cutoff, value, reference, basis="top", undefined=undefined, unknown=False)

    mean = quotient(sums.exposure[users[0], cutoff], n)
    yield Figure("exposure", cutoff, mean, basis="top")
    yield compared("exposure_ratio", ratio_to(mean, reference), "zero_exposure")
    yield compared("exposure_gap", gap_to(mean, reference), None)
    if sums.label is not None:
        merit = quotient(sums.label, n)
        treatment = per_merit(mean, merit)
        # infinite where the sum of labels is too large to compute: such a group leaves no ratio of 0
        infinite = np.isinf(treatment) | np.isinf(treatment[:, [reference]])
        ratio = np.where(infinite, np.inf, ratio_to(treatment, reference))
        yield Figure("exposure_per_merit", cutoff, treatment, basis="top", undefined="zero_merit", unknown=False)
        yield compared("exposure_per_merit_ratio", ratio, "zero_merit")
    for user in users[1:]:
        other = quotient(sums.exposure[user, cutoff], n)
        yield compared(f"exposure_ratio(user={user})", ratio_to(other, reference), "zero_exposure")


def _rates(
    name: str, cutoff: Cutoff, count: Floats, n: Floats, comparison: Comparison, highest: HighestRates
) -> Iterator[Figure]:
    """A rate, its ratio to the highest and its gap to the reference."""
    rate, reference = quotient(count, n), comparison.reference
    if (name, cutoff) not in highest:
        known = np.where(comparison.eligible & ~np.isnan(rate[0, :-1]), rate[0, :-1], -1.0)
        # of several that are highest the reference, so that nothing but the table decides
        best = known == known.max()
        highest[name, cutoff] = reference if best[reference] else int(np.argmax(best))
    top = highest[name, cutoff]
    ratio, gap = ratio_to(rate, top), gap_to(rate, reference)
    yield Figure(name, cutoff, rate, count=count[0], size=n[0], basis="rate")
    yield Figure(f"{name}_ratio", cutoff, ratio, top, count[0], n[0], "rate_ratio", "zero_rate", unknown=False)
    yield Figure(f"{name}_gap", cutoff, gap, reference, count[0], n[0], "rate_gap", unknown=False)


def _skew(top: Floats, n: Floats) -> Floats:
    """Skew among those whose group is known; the unknown have none."""
    value = skews(shares(top[:, :-1]), shares(n[:, :-1]))
    value[~np.isfinite(value)] = np.nan
    return np.concatenate([value, np.full((len(value), 1), np.nan)], axis=1)
