"""Group metrics as functions of labels, scores and groups, in scikit-learn's manner.

The rows are the candidates of one list (or of one per query), ranked by falling score. All functions are called
``f(y_true, y_score, *, groups, k, sample_weight)``, so they serve scorers and frames of metrics; what one of them does
not read, such as ``y_true`` where labels play no part, may be None. ``docs/interop.md`` shows both uses.

Each function ranks the rows, adds up what the groups get, and leaves the rest to the measure of the same name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing.ranking import RankedTable, view_of
from lightmeter.errors import InputError, LightmeterError, TermError, choice, suggest, whole_number
from lightmeter.io.columns import finite, numbers
from lightmeter.io.tables import Source
from lightmeter.measures import ndkl as divergences_of_prefixes
from lightmeter.measures.exposure_sums import Totals
from lightmeter.measures.group_sums import quotient, shares, skews
from lightmeter.measures.ratios import DTR, ExposureGap, ExposureRatio
from lightmeter.measures.relevance import DCG, RBP
from lightmeter.models.divergences import JSD, Divergence
from lightmeter.models.users import User, user_of

__all__ = [
    "UndefinedWarning",
    "abr",
    "awrf",
    "exposure_gap",
    "exposure_per_merit",
    "exposure_per_merit_ratio",
    "exposure_ratio",
    "max_skew",
    "mean_exposures",
    "mean_of_rows",
    "min_skew",
    "ndcg",
    "ndkl",
    "row_exposure",
    "row_selected",
    "selection_rate_ratio",
    "selection_rates",
    "skew",
]

Ties = Literal["expected", "order", "error"]
Target = str | Mapping[Any, float]
#: how far the shares of a target may sum to another number than 1
ROUNDING_OF_SHARES = 1e-3
UNKNOWN = "unknown"
#: why a comparison of two groups is undefined, by the reason that the measure gives
FEW_GROUPS, NO_EXPOSURE = "fewer than two groups have members", "there is no exposure to divide by"
NO_MERIT = "fewer than two of the groups have merit, a label above 0"


class UndefinedWarning(UserWarning):
    """A metric is undefined, and its value NaN; the text says why."""


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
        The user model that turns ranks into exposure; by default DCG, ``view_k = 1/log2(k + 1)``.
    ties
        Equal scores: ``'expected'`` (each gets the mean of the ranks they share, whatever the order of the rows),
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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    return rows.means_by_group(quotient(rows.sums(rows.exposure(user, k)), rows.members()))


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    value, reason = rows.compared(ExposureRatio, rows.exposure(user, k), group, reference)
    return _mean("exposure_ratio", value, reason)


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    value, reason = rows.compared(ExposureGap, rows.exposure(user, k), group, reference)
    return _mean("exposure_gap", value, reason)


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, merit=True)
    value, reason = rows.compared(DTR, rows.exposure(user, k), group, reference)
    return _mean("exposure_per_merit_ratio", value, reason)


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="selection_rates")
    return rows.means_by_group(quotient(rows.sums(rows.selected(k)), rows.members()))


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="selection_rate_ratio")
    value, reason = rows.compared(ExposureRatio, rows.selected(k), group, reference)
    return _mean(
        "selection_rate_ratio",
        value,
        "nobody is selected of the group to compare with" if reason == NO_EXPOSURE else reason,
    )


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
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    value, reason = rows.compared(ExposureRatio, rows.exposure(RBP(p=0.5) if user is None else user, k))
    return _mean("abr", value, reason)


def skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    group: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """Skew of one group: ``ln(share of the first k / target share)``; 0 is parity, below 0 too few.

    Parameters
    ----------
    y_true, y_score, groups, k, sample_weight, queries, ties
        As in :func:`~lightmeter.metrics.mean_exposures`. Shares are among rows of a known group.
    group
        Whose skew.
    target
        ``'pool'`` (its share of all rows), ``'uniform'`` or ``{group: share}``.

    Returns
    -------
    float
        NaN where the group has nobody among the first k or no target share.

    Notes
    -----
    :class:`~lightmeter.Skew` with the same target (its own default is uniform). With tied scores the share is the
    expected one. Source: Geyik et al. 2019.

    Examples
    --------
    >>> skew(None, [4, 3, 2, 1], groups=["m", "m", "m", "f"], group="m", k=2)
    0.287682...
    """
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="skew")
    values = rows.skews(k, target)[:, rows.code_of("group", group)]
    return _mean(
        "skew", np.where(np.isfinite(values), values, np.nan), "the group has nobody there, or no target share"
    )


def min_skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """The lowest skew of the groups that have a target share, at most 0; parameters as in :func:`skew`.

    NaN where one of them has nobody among the first k. It is :class:`~lightmeter.MinSkew`.

    Examples
    --------
    >>> min_skew(None, [4, 3, 2, 1], groups=["m", "f", "m", "f"], k=3)
    -0.405465...
    """
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="min_skew")
    values = rows.skews(k, target)
    lowest = np.where(np.isnan(values), np.inf, values).min(axis=1)
    return _mean("min_skew", np.where(np.isfinite(lowest), lowest, np.nan), "a group has nobody among the first k")


def max_skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """The highest skew of any group, at least 0; parameters as in :func:`skew`.

    NaN where a group without a target share has somebody among the first k. It is :class:`~lightmeter.MaxSkew`.

    Examples
    --------
    >>> max_skew(None, [4, 3, 2, 1], groups=["m", "f", "m", "f"], k=3)
    0.287682...
    """
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="max_skew")
    values = rows.skews(k, target)
    highest = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    reason = "a group without a target share, or nobody of a known group, is among the first k"
    return _mean("max_skew", np.where(np.isfinite(highest), highest, np.nan), reason)


def ndkl(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """NDKL: the mean over ranks of KL(shares of the first ranks, target), weighed by ``1/log2(rank + 1)``, in nats.

    Parameters are those of :func:`skew`; k: ranks looked at, None for all. At least 0, lower is better. NaN where
    nobody's group is known, where a group without a target share is ranked, and where equal scores of different groups
    leave a prefix open: give ``ties='order'``, or scores that differ. It is :class:`~lightmeter.NDKL` with the same
    target (its own default is uniform) and ``unknown='drop'``: a row of unknown group keeps its rank, in no share.
    Source: Geyik et al. 2019.

    Examples
    --------
    >>> ndkl(None, [2, 1], groups=["m", "f"])
    0.425001...
    """
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    share, ranked = rows.target(target), rows.ranked
    top = ranked.rank <= (ranked.longest if k is None else k)
    value = divergences_of_prefixes.ndkl(ranked.rank[top], rows.query[top], rows.code[top], share, rows.weight[top])
    undecided = rows.undecided(k)
    reason = "nobody of a known group is ranked, or a group without a target share is"
    if undecided.any():
        reason = "equal scores of different groups leave prefixes open; give ties='order' or scores that differ"
    return _mean("ndkl", np.where(np.isfinite(value) & ~undecided, value, np.nan), reason)


def awrf(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    div: Divergence | str = "JSD",
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Attention-weighted rank fairness: ``1 - Div(groups' shares of exposure, target)``; higher is better.

    Parameters are those of :func:`skew`, with the divergence and the user (by default DCG). NaN where nobody of a
    known group has exposure. It is :class:`~lightmeter.AWRF` with the same target (its own default is uniform); with
    tied scores the shares are those of expected exposure. Source: Sapiezynski et al. 2019.

    Examples
    --------
    >>> awrf(None, [2, 1], groups=["m", "f"], user="TopK(k=2)")
    1.0
    """
    rows = _rank_rows(y_true, y_score, groups, k, sample_weight, queries, ties)
    share = shares(rows.sums(rows.exposure(user, k)))
    some = ~np.isnan(share[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1.0 - _divergence(div).value(np.where(some[:, None], share, 0.0), rows.target(target))
    reason = "nobody of a known group has exposure, or a group without a target share has"
    return _mean("awrf", np.where(some & np.isfinite(value), value, np.nan), reason)


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    queries: ArrayLike | None = None,
    ties: Ties = "expected",
) -> float:
    """nDCG of the same ranking: ``sum_i y_i / log2(rank_i + 1)`` over that of the ideal order, in [0, 1].

    Parameters
    ----------
    y_true
        Labels ``[n]``, numbers from 0 up: the gains.
    y_score, k, queries, ties
        As in :func:`~lightmeter.metrics.mean_exposures`.

    Returns
    -------
    float
        The mean over the lists. A list without a label above 0 has the value 0, as in :class:`~lightmeter.nDCG` and
        scikit-learn's ``ndcg_score``.

    Examples
    --------
    >>> ndcg([0, 1], [2, 1])
    0.630929...
    """
    rows = _rank_rows(y_true, y_score, None, k, None, queries, ties, merit=True)
    gain = rows.merit
    value = np.bincount(rows.query, gain * rows.exposure(DCG(), k), minlength=rows.queries)
    ideal = np.lexsort((-gain, rows.query))
    discount = np.where(rows.ranked.rank <= (k or rows.ranked.longest), 1.0 / np.log2(rows.ranked.rank + 1.0), 0.0)
    most = np.bincount(rows.query, gain[ideal] * discount, minlength=rows.queries)
    return float((value / np.where(most > 0, most, 1.0)).mean())


def row_exposure(
    y_score: ArrayLike,
    *,
    k: int | None = None,
    queries: ArrayLike | None = None,
    user: User | str | None = None,
    ties: Ties = "expected",
) -> Floats:
    """Exposure of each row in the ranking of all rows, in the order of the rows.

    Parameters
    ----------
    y_score, k, queries, user, ties
        As in :func:`~lightmeter.metrics.mean_exposures`.

    Returns
    -------
    array
        ``[n]``: ``view(rank)``, 0 below the first k.

    Examples
    --------
    >>> row_exposure([1, 3, 2], user="RBP(p=0.5)").tolist()
    [0.25, 1.0, 0.5]
    """
    rows = _rank_rows(None, y_score, None, k, None, queries, ties)
    return rows.in_order_of_rows(rows.exposure(user, k))


def row_selected(y_score: ArrayLike, *, k: int, queries: ArrayLike | None = None, ties: Ties = "expected") -> Floats:
    """1 for each row that is among the first k of the ranking of all rows, else 0, in the order of the rows.

    Parameters
    ----------
    y_score, k, queries, ties
        As in :func:`~lightmeter.metrics.mean_exposures`; rows of equal score that k divides get their chance.

    Examples
    --------
    >>> row_selected([1, 3, 2], k=2).tolist()
    [0.0, 1.0, 1.0]
    """
    rows = _rank_rows(None, y_score, None, k, None, queries, ties, needs_k="row_selected")
    return rows.in_order_of_rows(rows.selected(k))


def mean_of_rows(y_true: Any, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """The weighted mean of what rows get: mean exposure or selection rate of the group whose rows they are.

    Parameters
    ----------
    y_true
        Not looked at, and may be None.
    y_pred
        What :func:`row_exposure` or :func:`row_selected` gave for the ranking of all rows ``[n]``.
    sample_weight
        How many members a row counts for ``[n]``.

    Examples
    --------
    >>> mean_of_rows(None, [0.25, 1.0])
    0.625
    """
    amount, weight = _amounts_of_rows(y_pred, sample_weight)
    return _mean(
        "mean_of_rows",
        quotient((amount * weight).sum(keepdims=True), weight.sum(keepdims=True)),
        "there is no row of weight",
    )


def exposure_per_merit(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean exposure over mean label of the rows of one group; NaN where no label is above 0.

    Parameters
    ----------
    y_true
        Labels ``[n]``, numbers from 0 up.
    y_pred
        What :func:`row_exposure` gave for the ranking of all rows ``[n]``.
    sample_weight
        How many members a row counts for ``[n]``.

    Examples
    --------
    >>> exposure_per_merit([1, 0], [0.25, 1.0])
    1.25
    """
    amount, weight = _amounts_of_rows(y_pred, sample_weight)
    merit = _amounts("y_true", y_true, len(amount)) * weight
    value = quotient((amount * weight).sum(keepdims=True), merit.sum(keepdims=True))
    return _mean("exposure_per_merit", value, "there is no merit, no label above 0")


def _amounts_of_rows(y_pred: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Floats, Floats]:
    rows = len(_column_of("y_pred", y_pred))
    amount = _amounts("y_pred", y_pred, rows)
    return amount, np.ones(rows) if sample_weight is None else _amounts("sample_weight", sample_weight, rows)


def _mean(name: str, values: Floats, reason: str) -> float:
    """The mean over the lists in which the metric is defined; NaN with a warning where there is none."""
    some = values[~np.isnan(values)]
    if len(some):
        return float(some.mean())
    warnings.warn(f"{name} is undefined: {reason}.", UndefinedWarning, stacklevel=3)
    return float("nan")


@dataclass(frozen=True)
class _RankedRows:
    """Rows by query and falling score.

    Attributes
    ----------
    ranked
        Ranks, and the block of equal scores at each position.
    queries
        Number of lists.
    groups
        The groups' names, those of most rows first.
    code
        Group at each position, ``len(groups)`` where it is unknown.
    weight
        How many members the row at each position counts for.
    merit
        Label at each position; 0 where labels are not read.
    """

    ranked: RankedTable
    queries: int
    groups: tuple[Any, ...]
    code: Integers
    weight: Floats
    merit: Floats

    @property
    def query(self) -> Integers:
        """The list of each position."""
        return self.ranked.query

    def sums(self, amount: Floats) -> Floats:
        """Weighted sums by query and group, ``[queries, groups]``; the unknown are in none."""
        width = len(self.groups) + 1
        total = np.bincount(self.query * width + self.code, self.weight * amount, minlength=self.queries * width)
        return np.asarray(total, dtype=np.float64).reshape(self.queries, width)[:, :-1]

    def members(self) -> Floats:
        """Members of each group, ``[queries, groups]``."""
        return self.sums(np.ones(len(self.weight)))

    def exposure(self, user: User | str | None, k: int | None) -> Floats:
        """Exposure at each position; by default of DCG's user model."""
        model = DCG() if user is None else user_of(user)
        if model.by_document:
            raise TermError(
                f"{model} looks at the documents above. Accepted: user models that know the rank only, such as DCG, "
                "RBP(p=0.8), Inverse or TopK(k=10)."
            )
        return self.ranked.exposure(view_of(model, self.ranked.longest), k)

    def selected(self, k: int) -> Floats:
        """How likely each position is among the first k of its list."""
        return self.ranked.inside(k, np.arange(len(self.ranked)))

    def in_order_of_rows(self, amount: Floats) -> Floats:
        """Amounts by position in the order in which the rows were given."""
        out = np.empty(len(amount))
        out[self.ranked.order] = amount
        return out

    def code_of(self, what: str, name: Any) -> int:
        """The position of a group by its name."""
        for code, value in enumerate(self.groups):
            if value == name:
                return code
        shown = ", ".join(map(repr, self.groups[:12])) + (", .." if len(self.groups) > 12 else "")
        hint = suggest(str(name), map(str, self.groups))
        raise LightmeterError(f"{what} is {name!r}, which is no group.{hint} Groups: {shown}.")

    def compared(
        self,
        measure: type[ExposureRatio | ExposureGap | DTR],
        exposure: Floats,
        group: Any = None,
        reference: Any = None,
    ) -> tuple[Floats, str]:
        """A measure of two groups' exposure in each list, those named or the worst pair, and why some have none."""
        pair, compare = None, measure(by="groups")
        if (group is None) != (reference is None):
            raise LightmeterError(
                "one group is named. Accepted: group and reference, or neither (the lowest and highest)."
            )
        if group is not None:
            pair = self.code_of("group", group), self.code_of("reference", reference)
            if pair[0] == pair[1]:
                raise LightmeterError(f"group and reference are both {group!r}. Accepted: two groups.")
            compare = measure(by="groups", value="group", reference="reference")
        sums = self.sums(exposure), self.members(), self.sums(self.merit)
        owner, key = np.nonzero(sums[1] > 0)
        exposures, members, merit = (s[owner, key] for s in sums)
        values = compare.of_groups(
            Totals(owner, key, exposures, members, merit, np.zeros(len(owner)), self.queries), pair
        )
        reasons = {"zero_exposure": NO_EXPOSURE, "zero_merit": NO_MERIT, "empty_group": FEW_GROUPS}
        found = [text for reason, text in reasons.items() if (values.reasons() == reason).any()]
        return values.value, found[0] if found else ""

    def means_by_group(self, value: Floats) -> dict[Any, float]:
        """The mean of each group's values over the lists in which it has members."""
        some = ~np.isnan(value)
        mean_value = quotient(np.where(some, value, 0.0).sum(axis=0), some.sum(axis=0).astype(np.float64))
        return dict(zip(self.groups, mean_value.tolist(), strict=True))

    def skews(self, k: int, target: Target) -> Floats:
        """Skews ``[queries, groups]``: infinite where a group has nobody there or no target share, NaN where neither
        or nobody of a known group is there.
        """
        return skews(shares(self.sums(self.selected(k))), self.target(target))

    def target(self, target: Target) -> Floats:
        """Target shares ``[queries, groups]``; of the pool those of the rows whose group is known."""
        size = len(self.groups)
        if isinstance(target, Mapping):
            share = np.zeros(size)
            for name, given in target.items():
                number = finite(given)
                if number is None or number < 0:
                    raise LightmeterError(f"the target share of {name!r} is {given!r}. Accepted: a number from 0 to 1.")
                share[self.code_of("a group of the target", name)] = number
            if abs(share.sum() - 1.0) > ROUNDING_OF_SHARES:
                raise LightmeterError(f"the target's shares sum to {share.sum():g}. Accepted: shares that sum to 1.")
            return np.broadcast_to(share, (self.queries, size))
        if target == "uniform":
            return np.full((self.queries, size), 1.0 / size)
        if target != "pool":
            raise LightmeterError(
                f"target is {target!r}.{suggest(str(target), ('pool', 'uniform'))} Accepted: 'pool' (shares of the "
                "rows), 'uniform', or {group: share}."
            )
        return np.nan_to_num(shares(self.members()))

    def undecided(self, k: int | None) -> Booleans:
        """The lists with averaged equal scores of different groups (or weights), not all of them below k."""
        out = np.zeros(self.queries, dtype=bool)
        ranked = self.ranked
        if not ranked.averaged:
            return out
        tied = ranked.block[1:] == ranked.block[:-1]
        tied &= (self.code[1:] != self.code[:-1]) | (self.weight[1:] != self.weight[:-1])
        if k is not None:
            tied &= ranked.start[1:] < k
        out[self.query[1:][tied]] = True
        return out


def _rank_rows(
    y_true: Any,
    y_score: Any,
    groups: Any,
    k: Any,
    sample_weight: Any,
    queries: Any,
    ties: str,
    *,
    merit: bool = False,
    needs_k: str | None = None,
) -> _RankedRows:
    """Check the arguments that all metrics share, and rank the rows.

    ``merit``: ``y_true`` is read. ``needs_k`` names a metric that has no value without k.
    """
    choice("ties", ties, ("expected", "order", "error"))
    if k is None and needs_k is not None:
        raise LightmeterError(f"{needs_k} needs k, how many of the list are selected. Accepted: a whole number from 1.")
    if k is not None:
        whole_number("k", k)
    source = Source("y_score")
    score = numbers(_column_of("y_score", y_score), "score", source, named=False).to_numpy()
    if not len(score):
        raise LightmeterError("y_score is empty. Accepted: a score for each row, at least one.")
    query, count = _codes_of_queries(queries, len(score))
    ranked = RankedTable(score, query, "expected" if ties == "expected" else "file", name="y_score", source=source)
    if ties == "error" and ranked.tied:
        raise LightmeterError(
            f"{ranked.tied} rows share their score with another of the same list. Accepted with ties='error': "
            "different scores; else ties='expected' or 'order'."
        )
    names, code = ((), np.zeros(len(score), dtype=np.int64)) if groups is None else _groups(groups, len(score))
    weight = np.ones(len(score))
    if sample_weight is not None:
        weight = _amounts("sample_weight", sample_weight, len(score))
        if not weight.any():
            raise LightmeterError("sample_weight is 0 throughout. Accepted: weights from 0 up, some above 0.")
    label = np.zeros(len(score))
    if merit:
        if y_true is None:
            raise LightmeterError("y_true is None. Accepted: a label for each row, 0 or 1, or a number from 0 up.")
        label = _amounts("y_true", y_true, len(score))
    return _RankedRows(ranked, count, names, code[ranked.order], weight[ranked.order], label[ranked.order])


def _column_of(what: str, given: Any) -> pl.Series:
    """One value per row as a series, from a list, an array or a series of any frame."""
    if given is None or isinstance(given, str | bytes | dict) or not hasattr(given, "__len__"):
        raise InputError(f"{what} is {_kind(given)}", accepted="one value per row: a list, an array or a series")
    shape = getattr(given, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        given = given.to_numpy().ravel() if hasattr(given, "to_numpy") else np.asarray(given).ravel()
        shape = given.shape
    if shape is not None and len(shape) != 1:
        raise InputError(
            f"{what} has the shape {tuple(shape)}",
            accepted="one value per row",
            hint="Of a classifier's probabilities give the column of the class that is to be ranked first"
            if what == "y_score"
            else None,
        )
    try:
        if isinstance(given, pl.Series):
            return given.alias(what)
        if hasattr(given, "to_numpy"):
            given = given.to_numpy()
        values = given if isinstance(given, np.ndarray) and given.dtype != object else list(given)
        if isinstance(values, list) and any(isinstance(v, float) for v in values):
            values = [None if isinstance(v, float) and v != v else v for v in values]
        return pl.Series(what, values)
    except (pl.exceptions.PolarsError, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{what} cannot be read ({str(error).splitlines()[0]})", accepted="one value per row, of one type"
        ) from None


def _kind(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _aligned(what: str, column: pl.Series, rows: int) -> pl.Series:
    if len(column) != rows:
        raise LightmeterError(f"{what} has {len(column)} rows and y_score {rows}. Accepted: one value per row in both.")
    return column


def _amounts(what: str, given: Any, rows: int) -> Floats:
    column = _aligned(what, _column_of(what, given), rows)
    return numbers(column, what, Source(what), least=0.0, named=False).to_numpy()


def _codes_of_queries(queries: Any, rows: int) -> tuple[Integers, int]:
    if queries is None:
        return np.zeros(rows, dtype=np.int64), 1
    column = _aligned("queries", _column_of("queries", queries), rows)
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InputError("the query is missing", where="queries", row=row, accepted="the query of every row")
    code = column.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def _groups(given: Any, rows: int) -> tuple[tuple[Any, ...], Integers]:
    """Names of the groups, the largest first, and the code of each row; None, NaN, '' and 'unknown' are unknown."""
    column = _aligned("groups", _group_column(given), rows)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.set(column.is_in(["", UNKNOWN]).fill_null(False), None)
    if column.dtype.is_float() and column.drop_nulls().len():
        whole = column.drop_nulls()
        if not (whole == whole.round()).all():
            raise LightmeterError(
                "groups are numbers with fractions. Accepted: names or whole numbers; put a measured number into "
                "bins first."
            )
    counted = (
        pl.DataFrame({"value": column.drop_nulls()})
        .group_by("value")
        .len()
        .sort(["len", "value"], descending=[True, False])
    )
    if not len(counted):
        raise LightmeterError("nothing is known about groups. Accepted: the group of each row, some of them known.")
    counted = counted.with_row_index("code")
    code = pl.DataFrame({"value": column}).join(counted, on="value", how="left", maintain_order="left")["code"]
    return tuple(counted["value"].to_list()), code.fill_null(len(counted)).to_numpy().astype(np.int64)


def _group_column(given: Any) -> pl.Series:
    """The groups of each row; the columns of a frame are combined."""
    columns = getattr(given, "columns", None)
    if columns is None or not len(columns):
        return _column_of("groups", given)
    parts = [_column_of("groups", given[c]).cast(pl.String) for c in columns]
    frame = pl.DataFrame([p.alias(str(i)) for i, p in enumerate(parts)])
    known = [pl.when(pl.col(c).is_in(["", UNKNOWN])).then(None).otherwise(pl.col(c)) for c in frame.columns]
    return frame.select(pl.concat_str(known, separator=",", ignore_nulls=False).alias("groups")).to_series()


def _divergence(given: Divergence | str) -> Divergence:
    from lightmeter.terms.notation import parse

    chosen: Any = parse(given, kind="divergence") if isinstance(given, str) else given
    if isinstance(chosen, type) and issubclass(chosen, Divergence):
        chosen = chosen()
    if not isinstance(chosen, Divergence):
        raise TermError(f"div is {given!r}. Accepted: a divergence such as {JSD()}, TV or KL(eps=0.01).")
    if chosen.ordinal:
        raise TermError(
            f"{chosen} needs the order of the groups, and groups have none here. Accepted: JSD, TV, KL, SqL2; with "
            "lightmeter.load(ordinal=..) and lightmeter.evaluate also ordinal ones."
        )
    return chosen
