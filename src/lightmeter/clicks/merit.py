"""Merit from clicks weighted by examination: grades without judgments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from lightmeter.clicks.log import checked, read_clicks
from lightmeter.clicks.result import AttentionEstimate
from lightmeter.errors import LightmeterError
from lightmeter.models.users import user_of
from lightmeter.terms.parameters import Number


def click_merit(
    clicks: Any, attention: Any, *, columns: Mapping[str, str] | None = None, clip: float | None = None
) -> pl.DataFrame:
    """Estimate the relevance of documents from clicks, each weighted by the inverse of how likely it was looked at.

    ``merit = sum over showings of weight x clicked / attention(rank) / sum of weights``: the mean has the expectation
    ``relevance x examination(reference)`` where attention is right, whatever the ranks a document was shown at [1]_. It
    may exceed 1 where showings are few. The standard error takes showings as independent.

    Parameters
    ----------
    clicks
        A click log, as for :func:`~lightmeter.clicks.estimate.estimate_attention`.
    attention
        What that function returned, or a user model that knows the rank only, such as ``Attention(weights=[1, 0.5])``
        or ``"RBP(p=0.8)"``.
    columns
        Our names to the table's.
    clip
        Attention below this counts as this: less variance, and less merit for what was shown low. By default nothing
        is clipped, and showings at ranks without attention (below the end of the curve) are left out, with a warning.

    Returns
    -------
    polars.DataFrame
        ``query, doc, merit, se, shown``, sorted. ``se`` is null where it cannot be estimated: fewer than two showings,
        or no two that differ. As judgments: ``frame.rename({"merit": "grade"})``.

    References
    ----------
    .. [1] Joachims, Swaminathan and Schnabel. Unbiased learning-to-rank with biased feedback. WSDM 2017.

    Examples
    --------
    >>> import polars as pl
    >>> log = pl.DataFrame({"query": ["q"] * 4, "doc": list("abab"), "rank": [1, 2, 1, 2], "clicked": [1, 1, 1, 0]})
    >>> click_merit(log, "Attention(weights=[1, 0.5])").select("doc", "merit").rows()
    [('a', 1.0), ('b', 1.0)]
    """
    user = user_of(attention.attention if isinstance(attention, AttentionEstimate) else attention)
    if user.by_document:
        raise LightmeterError(
            f"{user} looks at documents. Accepted: a user model that knows the rank only, or an estimate."
        )
    if clip is not None:
        clip = checked("clip", clip, Number(above=0))
    log = read_clicks(clicks, columns=columns)
    view = user.view_at(log.frame["rank"].to_numpy())
    if clip is not None:
        view = np.maximum(view, clip)
    frame = log.frame.with_columns(view=pl.Series(view)).filter(pl.col("view") > 0)
    if len(frame) < len(log.frame):
        lost = len(log.frame) - len(frame)
        if frame.is_empty():
            raise LightmeterError(
                f"{user} gives no attention to any rank of the log. Accepted: a curve that covers some."
            )
        warnings.warn(
            f"click_merit: {lost} of {len(log.frame)} rows are left out: {user} gives their ranks no attention",
            stacklevel=2,
        )
    worth, weight = pl.col("clicked") / pl.col("view"), pl.col("weight")
    shown = weight.sum()
    mean = (weight * worth).sum() / shown
    spread = (weight * (worth - mean) ** 2).sum() / (shown * (shown - 1))
    return (
        frame.lazy()
        .group_by("query", "doc")
        .agg(
            merit=mean,
            se=pl.when((shown > 1) & (worth.n_unique() > 1)).then(spread.sqrt()),
            shown=shown,
        )
        .sort("query", "doc")
        .collect()
    )
