"""``estimate_attention``: how likely each rank is to be looked at, from clicks, and which ranks a log identifies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from lightmeter.arrays import AnyArray, Booleans, Floats, Integers, Rng
from lightmeter.clicks.examination import (
    fit_model,
    harvest,
    informative,
    model_replicates,
    pair_replicates,
    pair_weights,
    rate_replicates,
    rates,
)
from lightmeter.clicks.log import Cells, add_up, checked, depth_of, read_clicks
from lightmeter.clicks.result import REASONS, AttentionEstimate, ranges, reason_lines
from lightmeter.data.ids import values_of
from lightmeter.errors import LightmeterError, choice
from lightmeter.statistics.resampling import stream
from lightmeter.terms.parameters import Number

_SHOWN = 6


def reasons_of(cells: Cells, reference: int, least: float, *, connected: bool) -> AnyArray:
    """A reason for each rank that cannot be estimated, None for the others.

    Parameters
    ----------
    cells
        The log.
    reference
        The reference rank, counted from 0.
    least
        How many showings a rank needs.
    connected
        Whether ranks must be tied by documents seen at several of them.
    """
    reasons: AnyArray = np.full(cells.ranks, None, dtype=object)
    shown, clicks = cells.by_rank(cells.shown), cells.by_rank(cells.clicks)
    reasons[clicks == 0] = "no_click"
    reasons[shown < least] = "few_observations"
    reasons[shown == 0] = "not_shown"
    _refuse_reference(reasons, reference, shown, least)
    if connected:
        usable = np.equal(reasons, None)  # type: ignore[call-overload]
        tied = near(cells.some(usable[cells.rank]), reference)
        reasons[usable & ~tied] = "not_connected"
    lost = np.not_equal(reasons, None)  # type: ignore[call-overload]
    if lost.all() or (~lost).sum() == 1:
        raise _nothing(cells, reasons, reference, least)
    return reasons


def near(cells: Cells, reference: int) -> Booleans:
    """The ranks that clicks tie to the reference, in both directions.

    A tie from k to l is a click at k on a document also seen at l. With ties in one direction only, the likelihood
    would rise for ever as the weight of one side falls to 0.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(csr_array(harvest(cells) > 0), directed=True, connection="strong")
    return np.asarray(group == group[reference])


def _refuse_reference(reasons: AnyArray, reference: int, shown: Floats, least: float) -> None:
    at = reference + 1
    if reference < len(reasons) and reasons[reference] is None:
        return
    why = "not_shown" if reference >= len(reasons) else str(reasons[reference])
    good = [k + 1 for k, reason in enumerate(reasons) if reason is None]
    words = REASONS[why] + (
        f" ({shown[reference]:g}, at least {least:g} are needed)" if why == "few_observations" else ""
    )
    hint = f"Relative to another rank: reference={good[0]}." if good else "A longer log is needed."
    raise LightmeterError(f"the reference rank {at} cannot be estimated: {words}. {hint}")


def _nothing(cells: Cells, reasons: AnyArray, reference: int, least: float) -> LightmeterError:
    """The error where no rank but the reference can be estimated."""
    reasons_text = "; ".join(reason_lines(reasons))
    if "not_connected" not in reasons.tolist():
        if cells.ranks == 1:
            return LightmeterError(
                "all rows have rank 1, and one rank alone has no curve. Accepted: at least two ranks."
            )
        return LightmeterError(
            f"no rank but {reference + 1} can be estimated: {reasons_text}. A longer log is needed (at least {least:g} "
            "showings and a click at each rank)."
        )
    return LightmeterError(
        f"not identifiable: attention and relevance cannot be separated. {reasons_text}. Ranks tied by documents: "
        f"{_groups(cells)}. Accepted: a log in which documents change their ranks, or method 'rate' where ranks were "
        "random."
    )


def _groups(cells: Cells) -> str:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(csr_array(harvest(cells) > 0), directed=True, connection="strong")
    sets = [f"{{{ranges(np.flatnonzero(group == g) + 1)}}}" for g in range(count)]
    return ", ".join(sets[:_SHOWN]) + (", .." if count > _SHOWN else "")


Method = Literal["rate", "pbm", "pairs"]
METHODS: tuple[str, ...] = get_args(Method)
_FEW_QUERIES = 20
_LOST = 0.05
#: replicates behind the check of random ranks, and standard errors that are far
_CHECKS, _FAR = 200, 3.5
#: standard errors between the model and the pairs that are worth a remark
_APART = 1.0


def estimate_attention(
    clicks: Any,
    *,
    method: Method = "rate",
    columns: Mapping[str, str] | None = None,
    depth: int | None = None,
    reference: int = 1,
    rng: Rng = 0,
    resamples: int = 1000,
    level: float = 0.95,
    min_shown: float = 10,
) -> AttentionEstimate:
    """Estimate attention by rank from a click log.

    A click needs a look and a relevant document: ``P(click) = examination(rank) x relevance(query, document)``. What is
    estimated is ``w_k = examination(k) / examination(reference)``.

    Parameters
    ----------
    clicks
        A path (CSV, TSV, Parquet, JSON lines) or frame with the columns ``query, doc, rank, clicked[, weight]``: a row
        for each showing, clicked or not. A row of weight w stands for w rows.
    method
        ``"rate"``: click rate by rank, relative to the reference. Right only where documents were put at ranks at
        random; elsewhere better documents stand higher and the curve falls too steeply [1]_.
        ``"pbm"``: the position-based model by expectation-maximisation, with a relevance for each query and document
        [2]_. Needs documents seen at several ranks, and many showings of each.
        ``"pairs"``: ratios of click rates of the same documents at two ranks, for all two ranks at once [3]_. Needs
        documents seen at several ranks; right however few showings each has.
    columns
        Our names to the table's, such as ``{"query": "qid", "rank": "position"}``.
    depth
        Look at the first ranks only; by default at most 100.
    reference
        The rank that has weight 1.
    rng
        A seed or generator for the bootstrap, or None for a fresh seed.
    resamples
        Replicates of the bootstrap over queries.
    level
        Level of the intervals: they reach from quantile (1 - level) / 2 of the replicates to (1 + level) / 2.
    min_shown
        Showings that a rank needs to be estimated.

    Returns
    -------
    AttentionEstimate
        ``.attention`` is the user model, ``.frame()`` the curve with standard errors, intervals and counts, ``.notes``
        what to beware of. A rank that cannot be estimated is NaN with a reason, and the curve stops before it.

    Raises
    ------
    LightmeterError
        The log cannot be read, or no rank but the reference can be estimated: the message says why.

    References
    ----------
    .. [1] Joachims, Swaminathan and Schnabel. Unbiased learning-to-rank with biased feedback. WSDM 2017.
    .. [2] Wang, Golbandi, Bendersky, Metzler and Najork. Position bias estimation for unbiased learning to rank in
       personal search. WSDM 2018.
    .. [3] Agarwal, Zaitsev, Wang, Li, Najork and Joachims. Estimating position bias without intrusive interventions.
       WSDM 2019.

    Examples
    --------
    Two documents of one query, shown 100 times in each order:

    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "query": ["q"] * 8, "doc": list("aaaabbbb"), "rank": [1, 1, 2, 2] * 2, "clicked": [1, 0] * 4,
    ...     "weight": [80, 20, 40, 60, 40, 60, 20, 80],
    ... })
    >>> estimate_attention(log, method="pairs").term
    'Attention(weights=[1, 0.5])'
    """
    choice("method", method, METHODS)
    reference = checked("reference", reference, Number(low=1, integer=True))
    resamples = checked("resamples", resamples, Number(low=2, integer=True))
    level = checked("level", level, Number(above=0, below=1))
    min_shown = checked("min_shown", min_shown, Number(low=1))
    generator = stream(rng)
    log = read_clicks(clicks, columns=columns)
    limit, notes = depth_of(log, depth)
    notes += [f"ignored: {what}: {count}" for what, count in log.ignored.items()]
    if reference > limit:
        raise LightmeterError(f"reference is {reference}, below the depth {limit}. Accepted: a rank within the depth.")
    cells = add_up(log.frame, limit)
    return estimate(cells, method, reference, generator, resamples, level, min_shown, notes)


def estimate(
    cells: Cells,
    method: str,
    reference: int,
    rng: np.random.Generator,
    resamples: int,
    level: float = 0.95,
    min_shown: float = 10,
    notes: list[str] | None = None,
) -> AttentionEstimate:
    """The estimate from a log that is added up already."""
    reasons = reasons_of(cells, reference - 1, min_shown, connected=method != "rate")
    ranks = np.flatnonzero(np.equal(reasons, None))  # type: ignore[call-overload]
    weight, replicates, remarks = _fit(
        _only(cells, ranks), method, int(np.searchsorted(ranks, reference - 1)), resamples, rng
    )
    curve = np.full((4, cells.ranks), np.nan)
    curve[0, ranks] = weight
    curve[1:, ranks] = _spread(replicates, level)
    if cells.queries == 1:
        curve[1:] = np.nan
    unsure = ranks[np.isnan(curve[1, ranks])]
    reasons[unsure] = "few_queries" if cells.queries == 1 else "few_clicks"
    if np.isnan(curve[0, 0]):
        raise LightmeterError(
            f"rank 1 cannot be estimated ({reasons[0]}), and a curve begins at rank 1. A longer log is needed."
        )
    if 1 < cells.queries < _FEW_QUERIES:
        remarks.append(f"{cells.queries} queries are few for a bootstrap: the intervals may be too narrow")
    return AttentionEstimate(
        method,
        reference,
        weight=curve[0],
        se=curve[1],
        low=curve[2],
        high=curve[3],
        shown=cells.by_rank(cells.shown),
        clicks=cells.by_rank(cells.clicks),
        documents=cells.by_rank(),
        queries=_queries(cells),
        reason=reasons,
        n=cells.queries,
        level=level,
        resamples=resamples,
        notes=(*remarks, *_growth(curve[0]), *(notes or ())),
    )


def _fit(
    cells: Cells, method: str, reference: int, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats, list[str]]:
    """The weights, those of the replicates, and remarks."""
    if method == "rate":
        weight, replicates = rates(cells, reference), rate_replicates(cells, reference, resamples, rng)
        return weight, replicates, [_randomised(cells, weight, replicates, reference, rng)]
    seen = informative(cells)
    share = seen.shown.sum() / cells.shown.sum()
    remarks = [f"documents seen at several ranks and clicked have {share:.1%} of the showings; the others say nothing"]
    if method == "pairs":
        return (
            pair_weights(harvest(seen), reference),
            pair_replicates(seen, reference, resamples, rng),
            remarks,
        )
    fitted = fit_model(seen)
    if not fitted.converged:
        remarks.append(
            f"expectation-maximisation had not converged after {fitted.rounds} rounds: beware of the last digits"
        )
    weight = fitted.examination / fitted.examination[reference]
    replicates = model_replicates(seen, fitted, reference, resamples, rng)
    return weight, replicates, [*remarks, *_agreement(seen, weight, reference, rng)]


def _agreement(seen: Cells, weight: Floats, reference: int, rng: np.random.Generator) -> list[str]:
    """Whether the model's curve is that of the pairs, which few showings do not bias."""
    other = pair_weights(harvest(seen), reference)
    error = _spread(pair_replicates(seen, reference, _CHECKS, rng), 0.5)[0]
    far = np.abs(other - weight) > _APART * error
    if seen.queries < 2 or not far.any():
        return []
    k = int(np.argmax(np.where(far, np.abs(np.log(other / weight)), 0.0)))
    each = seen.shown.sum() / (seen.pair.max() + 1)
    return [
        f"each document has {each:.3g} showings on average; when they are few the model is biased, which no interval "
        f"shows: at rank {k + 1} it gives {weight[k]:.3g}, and method 'pairs', which has no such bias, {other[k]:.3g}"
    ]


def _only(cells: Cells, ranks: Integers) -> Cells:
    """The cells at some ranks, numbered anew."""
    kept = cells.some(np.isin(cells.rank, ranks))
    rank = np.searchsorted(ranks, kept.rank)
    return Cells(kept.query, kept.pair, rank, kept.shown, kept.clicks, kept.queries, len(ranks))


def _spread(replicates: Floats, level: float) -> Floats:
    """Standard error and interval by rank; NaN where too many replicates have no value."""
    good = np.isfinite(replicates)
    enough = (good.mean(axis=0) >= 1.0 - _LOST) & (good.sum(axis=0) > 1)
    out = np.full((3, replicates.shape[1]), np.nan)
    for k in np.flatnonzero(enough):
        some = replicates[good[:, k], k]
        out[:, k] = some.std(ddof=1), *np.quantile(some, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return out


def _queries(cells: Cells) -> Floats:
    """Queries seen at each rank."""
    distinct = values_of(cells.rank * cells.queries + cells.query)
    return np.bincount(distinct // cells.queries, minlength=cells.ranks).astype(np.float64)


def _randomised(cells: Cells, weight: Floats, replicates: Floats, reference: int, rng: np.random.Generator) -> str:
    """What method 'rate' assumes, and whether the log looks like it.

    Documents seen at several ranks say what the curve is whatever the order; where ranks were random both agree.
    """
    assumption = "the click rate is attention only where documents were put at ranks at random, which is assumed"
    seen = informative(cells)
    if cells.queries < 2 or not len(seen.pair) or not near(seen, reference).all():
        return f"{assumption}: too few documents changed their rank to check it"
    other = pair_weights(harvest(seen), reference)
    error = np.hypot(_spread(replicates, 0.5)[0], _spread(pair_replicates(seen, reference, _CHECKS, rng), 0.5)[0])
    far = np.abs(other - weight) > _FAR * error
    if not far.any():
        return assumption
    k = int(np.argmax(np.where(far, np.abs(other - weight), 0.0)))
    return (
        f"{assumption}; it does not look so: the same documents at different ranks give {other[k]:.2g} at "
        f"rank {k + 1}, where the click rate is {weight[k]:.2g}; use method 'pairs'"
    )


def _growth(weight: Floats) -> list[str]:
    """Where the curve grows, which stopping probabilities do not allow."""
    whole = weight[: int(np.argmax(np.isnan(weight)))] if np.isnan(weight).any() else weight
    up = np.flatnonzero(np.diff(whole) > 0)
    if not len(up):
        return []
    return [
        f"the curve grows from rank {up[0] + 1} to {up[0] + 2}: measures that need a stopping probability refuse it"
    ]
