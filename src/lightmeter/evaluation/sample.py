"""Rankings sampled from a policy, as a table that can be written and read back as a run."""

from __future__ import annotations

import numpy as np
import polars as pl

from lightmeter.arrays import Rng
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import Ranked, Ties
from lightmeter.errors import LightmeterError, TermError, seed, whole_number
from lightmeter.evaluation.evaluate import chosen_policy
from lightmeter.models.policies import Oracle, Policy


def sample(
    collection: Collection,
    policy: Policy | str | type,
    samples: int = 100,
    rng: Rng = 0,
    *,
    depth: int | None = None,
    ties: Ties | None = None,
) -> pl.DataFrame:
    """Sample rankings from a policy for every query of every run.

    They are the rankings that :func:`lightmeter.evaluate` samples for the same policy, number, seed and depth.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`; ``Oracle`` needs judgments.
    policy
        A policy that makes rankings, such as ``PlackettLuce(alpha=1)``, or its notation.
    samples
        Rankings per query.
    rng
        A seed, a generator that gives one, or None for a fresh one. The same seed gives the same rankings, whatever the
        number of threads.
    depth
        The first ``depth`` documents of each ranking are reranked and the others left out (the paper: 100); None: all.
    ties
        Order of documents with equal scores in the ranking that the policy starts from.

    Returns
    -------
    polars.DataFrame
        ``run, query, doc, rank, sample``, samples numbered from 1; :func:`lightmeter.write_run` writes it.

    Raises
    ------
    LightmeterError
        Where the policy makes no rankings, or a run has several rankings per query already.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q": {"a": 2.0, "b": 1.0}})
    >>> lm.sample(c, lm.PlackettLuce(alpha=1e6), samples=2).rows()
    [('run', 'q', 'a', 1, 1), ('run', 'q', 'b', 2, 1), ('run', 'q', 'a', 1, 2), ('run', 'q', 'b', 2, 2)]
    """
    from lightmeter.exposure.sampling import sample_rankings

    if not isinstance(collection, Collection):
        raise LightmeterError(
            f"sample was given a {type(collection).__name__}. Accepted: what lightmeter.load returns."
        )
    policy = chosen_policy(policy, ties, collection)
    if not policy.stochastic:
        raise TermError(
            f"the policy {policy} makes no rankings of its own, so none can be drawn. Accepted: PlackettLuce(alpha=1), "
            "RankTransposition(theta=0.5), Uniform, Oracle, Static(ties='expected')."
        )
    if isinstance(policy, Oracle) and collection.judgments is None:
        raise LightmeterError("Oracle needs judgments. Give them with --qrels FILE (in Python: qrels=).")
    whole_number("samples", samples)
    if depth is not None:
        whole_number("depth", depth)
    rng = seed(rng)
    parts = []
    for run in collection.runs.values():
        ranked, _ = Ranked.of(collection, run, policy.base_ties, depth)
        parts.append(_frame(run.name, sample_rankings(policy, ranked, samples, rng), samples))
    return pl.concat(parts)


def _frame(name: str, sampled: Ranked, samples: int) -> pl.DataFrame:
    lengths = sampled.lengths
    order = np.arange(len(sampled.run)) if sampled.order is None else sampled.order
    queries = pl.Series("query", sampled.collection.queries, dtype=pl.String)
    return pl.DataFrame(
        {
            "run": pl.repeat(name, len(order), dtype=pl.String, eager=True),
            "query": queries.gather(np.repeat(sampled.query, lengths)),
            "doc": sampled.run.doc.gather(order),
            "rank": np.arange(len(order)) - np.repeat(sampled.offsets[:-1], lengths) + 1,
            "sample": np.repeat(np.arange(len(lengths)) % samples + 1, lengths),
        }
    )
