"""Rankings drawn from a policy: whole blocks at a time, the same for the same seed whatever the number of threads."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.rankings import Ranked, chunks_of_like_length
from lightmeter.exposure.policy import log_weights
from lightmeter.exposure.ties import blocks_by_score
from lightmeter.exposure.transposition import sample_transpositions
from lightmeter.models.policies import PlackettLuce, Policy, RankTransposition, Static
from lightmeter.models.targets import Uniform

#: Places drawn at a time; it decides which random numbers a query gets, so it is part of what a seed means.
CELLS = 1 << 18


def sample_rankings(policy: Policy, ranked: Ranked, samples: int, seed: int) -> Ranked:
    """``samples`` rankings of every query of a run, drawn from a policy.

    Parameters
    ----------
    policy
        A stochastic policy.
    ranked
        The run's rankings, one a query.
    samples
        Rankings a query.
    seed
        The same seed gives the same rankings.
    """
    lengths = ranked.lengths
    offsets = np.concatenate([[0], np.cumsum(np.repeat(lengths, samples))]).astype(np.int64)
    order = np.empty(int(offsets[-1]), dtype=np.int64)
    rows = np.arange(len(ranked.run)) if ranked.order is None else ranked.order
    for number, part in enumerate(chunks_of_like_length(lengths, CELLS // max(samples, 1))):
        rng = np.random.default_rng([seed, number])
        width = int(lengths[part].max(initial=0))
        there = np.arange(width) < lengths[part][:, None]
        base = rows[np.where(there, ranked.offsets[part][:, None] + np.arange(width), 0)]
        drawn = _permutations(policy, ranked, base, there, samples, rng)
        at = offsets[part[:, None] * samples + np.arange(samples)][:, :, None] + np.arange(width)
        inside = np.broadcast_to(there[:, None, :], at.shape)
        order[at[inside]] = np.take_along_axis(np.broadcast_to(base[:, None, :], at.shape), drawn, axis=2)[inside]
    return Ranked(ranked.collection, ranked.run, order, offsets, np.repeat(ranked.query, samples))


def _permutations(
    policy: Policy,
    ranked: Ranked,
    rows: Integers,
    there: Booleans,
    samples: int,
    rng: np.random.Generator,
) -> Integers:
    """``[rankings, samples, places]``: the place in the base ranking of each place drawn; missing ones last."""
    shape = (there.shape[0], samples, there.shape[1])
    if isinstance(policy, RankTransposition):
        out = np.broadcast_to(np.arange(shape[2]), shape).copy()
        lengths = there.sum(axis=1)
        for n in np.unique(lengths):  # queries of one length share their permutations
            out[lengths == n, :, :n] = sample_transpositions(rng, int(n), policy.theta, samples)
        return out
    noise = rng.random(shape)
    if isinstance(policy, PlackettLuce):
        # the greatest of log-weights with Gumbel noise comes first
        key = np.log(-np.log(noise)) - log_weights(policy, np.where(there, ranked.run.score[rows], np.nan))[:, None, :]
    elif isinstance(policy, Uniform):
        key = noise
    else:  # blocks in random order: of tied scores, or of the oracle's grades
        above = ranked.run.score[rows] if isinstance(policy, Static) else _grades(ranked, rows)
        key = 2.0 * blocks_by_score(np.where(there, above, np.nan))[:, None, :] + noise
    return np.argsort(np.where(there[:, None, :], key, np.inf), axis=2, kind="stable")


def _grades(ranked: Ranked, rows: Integers) -> Floats:
    judgments = ranked.collection.judgments
    return np.zeros(rows.shape) if judgments is None else np.append(judgments.gain, 0.0)[ranked.judged_row()[rows]]
