"""How the rankings of a run make up the policy of each query, under the call's policy."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.data.rankings import Ranked
from lightmeter.data.sums import sum_by
from lightmeter.errors import LightmeterError
from lightmeter.exposure.estimates import Mixture
from lightmeter.measures.context import Context
from lightmeter.models.policies import Samples


def mixture(context: Context, ranked: Ranked) -> Mixture:
    """How a run's rankings make up policies, under the call's policy."""
    return context.once(("mixture", ranked.key), lambda: _mixture(context, ranked))


def _mixture(context: Context, ranked: Ranked) -> Mixture:
    query, queries = ranked.query, len(context.collection.queries)
    drawn = np.ones(len(query), dtype=bool) if ranked.weight is None else ranked.weight > 0
    count = np.bincount(query[drawn], minlength=queries).astype(np.float64)
    meaning = context.policy.weight if isinstance(context.policy, Samples) else "sampling"
    weight = np.ones(len(query)) if ranked.weight is None else ranked.weight
    total = sum_by(query, weight, queries)
    if ranked.weight is not None and ranked.sampled:
        _check_weights(context, ranked, meaning, weight, total)
    exact = count <= 1
    if meaning == "count":
        return Mixture(query, 1.0 / total[query], weight, exact, np.maximum(total, 1.0))
    share = weight / total[query]
    return Mixture(query, share, np.ones(len(query)), exact | (meaning == "probability"), np.maximum(count, 1.0))


def _check_weights(context: Context, ranked: Ranked, meaning: str, weight: Floats, total: Floats) -> None:
    """Refuse weights that cannot mean what the policy says."""
    run, query, names = ranked.run, ranked.query, context.collection.queries
    empty = query[total[query] <= 0]
    if len(empty):
        raise LightmeterError(
            f"run {run.name}: the weights of query {names[empty[0]]!r} sum to 0. Accepted: at least one above 0."
        )
    if meaning == "probability":
        off = query[np.abs(total[query] - 1.0) > 1e-3]
        if len(off):
            raise LightmeterError(
                f"run {run.name}: the probabilities of query {names[off[0]]!r} sum to {total[off[0]]:g}. Accepted: "
                "1, within 0.001. "
                "If the weights are no probabilities, choose Samples(weight='sampling') or Samples(weight='count')."
            )
    if meaning == "count":
        off = np.flatnonzero(weight != np.floor(weight))
        if len(off):
            raise LightmeterError(
                f"run {run.name}: the count {weight[off[0]]:g} of a ranking of query {names[query[off[0]]]!r} is "
                "no whole number. Accepted: 0, 1, 2, .."
            )
