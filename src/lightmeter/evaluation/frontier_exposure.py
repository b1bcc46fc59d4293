"""The exposure that belongs to a point of the frontier, for the rankings of a collection."""

from __future__ import annotations

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.data.collection import Collection
from lightmeter.errors import LightmeterError, TermError
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.exposure.expohedron import by_rank, project
from lightmeter.exposure.ideal import views
from lightmeter.measures.target_exposure import target_exposure
from lightmeter.models.targets import Ideal, Target
from lightmeter.models.users import User


def frontier_exposure(
    collection: Collection,
    user: User | str,
    scale: float,
    *,
    target: Target | None = None,
    cutoff: int | None = None,
    depth: int | None = None,
) -> pl.DataFrame:
    """The exposure of a point of each query's frontier: no policy has more relevance at the same disparity.

    It is the achievable exposure nearest to ``scale`` times the target exposure of the documents that a run ranks.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`, with judgments.
    user
        A user model that depends on the rank only, such as ``RBP(p=0.5)``, or its notation.
    scale
        From 0, where all documents have equal exposure, to infinity, the most relevance there is; 1 has the least loss
        (EEL).
    target
        ``Ideal()`` by default, or ``Ideal(complete=True)``.
    cutoff
        The last rank that has exposure, or None.
    depth
        How many documents of each ranking take part, from the first; None: all.

    Returns
    -------
    polars.DataFrame
        ``run, query, doc, exposure``, for the queries that have a target; :func:`lightmeter.decompose` turns it into
        rankings.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q": ["b", "a"]}, qrels={"q": {"a": 1}})
    >>> [lm.frontier_exposure(c, lm.RBP(p=0.5), s)["exposure"].to_list() for s in (0, 0.25, float("inf"))]
    [[0.75, 0.75], [0.625, 0.875], [0.5, 1.0]]
    """
    model = by_rank(user, "frontier_exposure")
    target = target if target is not None else Ideal()
    if not isinstance(target, Ideal):
        raise TermError(f"the frontier is known for the target Ideal, and {target} is given. Accepted: Ideal().")
    if not scale >= 0:
        raise LightmeterError(f"scale is {scale!r}. Accepted: a number from 0 to infinity.")
    context = ranked_context(collection, depth=depth, every_query=True)
    target_exposures = target_exposure(context, target, model, cutoff)
    parts = []
    for run in context.ranked.values():
        if run.sampled:
            raise LightmeterError(
                f"run {run.run.name} has several rankings per query. Accepted: one ranking per query."
            )
        rows = np.arange(len(run.run)) if run.order is None else run.order
        judged = run.judged_row()[rows]
        query = run.query[run.ranking_of_position]
        exposure = np.where(judged >= 0, np.append(target_exposures.judged, 0.0)[judged], target_exposures.other[query])
        lengths = run.lengths
        ranks = np.arange(int(lengths.max(initial=0)))
        present = ranks < lengths[:, None]
        padded = np.full(present.shape, np.nan)
        padded[present] = exposure
        view = views(model, len(ranks), cutoff)
        nearest = project(_far(padded, float(view.max(initial=0.0))) if np.isinf(scale) else scale * padded, view)
        known = np.array([reason is None for reason in target_exposures.reason])[query]
        names = pl.Series("query", collection.queries, dtype=pl.String)
        frame = pl.DataFrame(
            {
                "run": pl.repeat(run.run.name, len(rows), dtype=pl.String, eager=True),
                "query": names.gather(query),
                "doc": run.run.doc.gather(rows),
                "exposure": nearest[present],
            }
        )
        parts.append(frame.filter(known))
    return pl.concat(parts)


def _far(target: Floats, most: float) -> Floats:
    """Targets in the same order, but further apart than any two views: they project to the oracle's exposure."""
    order = np.argsort(target, axis=1, kind="stable")
    rising = np.take_along_axis(target, order, axis=1)
    steps = np.zeros(target.shape)
    steps[:, 1:] = np.cumsum(rising[:, 1:] > rising[:, :-1], axis=1)
    out = np.empty(target.shape)
    np.put_along_axis(out, order, np.where(np.isnan(rising), np.nan, 2.0 * (most + 1.0) * steps), axis=1)
    return out
