"""What single rows get in the ranking of all, for frames of metrics that look at one group at a time; nDCG.

A function that is given the rows of one group cannot know where they stand among the others. So exposure and
selection are worked out once for the ranking of all rows, and the frame takes them as its predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.metrics.places import Ties, amounts, column_of, mean, places, user_who_knows_ranks
from lightmeter.models.users import User


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
    from lightmeter.measures.relevance import DCG

    here = places(None, y_score, None, k, None, queries, ties)
    out = np.empty(len(here.weight))
    out[here.ranked.order] = here.exposure(user_who_knows_ranks(user, DCG), k)
    return out


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
    here = places(None, y_score, None, k, None, queries, ties, needs_k="row_selected")
    out = np.empty(len(here.weight))
    out[here.ranked.order] = here.inside(k)
    return out


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
    got, weight = _rows(y_pred, sample_weight)
    return mean("mean_of_rows", _ratio(got * weight, weight), "there is no row of weight")


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
    got, weight = _rows(y_pred, sample_weight)
    merit = amounts("y_true", y_true, len(got))
    return mean("exposure_per_merit", _ratio(got * weight, merit * weight), "there is no merit, no label above 0")


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
    from lightmeter.measures.relevance import DCG

    here = places(y_true, y_score, None, k, None, queries, ties, merit=True)
    gain = here.merit if here.merit is not None else np.zeros(0)
    got = np.bincount(here.query, gain * here.exposure(DCG(), k), minlength=here.queries)
    best = np.lexsort((-gain, here.query))
    view = np.where(here.ranked.rank <= (k or here.ranked.longest), 1.0 / np.log2(here.ranked.rank + 1.0), 0.0)
    most = np.bincount(here.query, gain[best] * view, minlength=here.queries)
    return float((got / np.where(most > 0, most, 1.0)).mean())


def _rows(y_pred: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Floats, Floats]:
    rows = len(column_of("y_pred", y_pred))
    got = amounts("y_pred", y_pred, rows)
    return got, np.ones(rows) if sample_weight is None else amounts("sample_weight", sample_weight, rows)


def _ratio(a: Floats, b: Floats) -> Floats:
    """The sum of a over that of b, ``[1]``; NaN where there is nothing to divide by."""
    return np.array([a.sum() / b.sum() if b.sum() > 0 else np.nan])
