"""Rankings drawn from a policy: whole blocks at a time, the same for the same seed whatever the number of threads.

Expected exposure from sampled rankings: plugged in, or estimated without bias.

Rankings a with weights w_a that sum to 1 and exposures e_a: S = sum w_a e_a. The plug-in ||S||^2 is too high by the
noise of the mean; with
T = ||S||^2 - sum w_a^2 ||e_a||^2 and D = 1 - sum w_a^2, EED = T/D is unbiased. EER = S.eps* needs no correction, and
EEL is T/D of e_a - eps*. Standard
errors leave one ranking out in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from lightmeter.arrays import Booleans, Codes, Floats, Integers
from lightmeter.data.rankings import Ranked, chunks_of_like_length
from lightmeter.data.values import Values, sum_by
from lightmeter.exposure.policy import log_weights
from lightmeter.exposure.ties import blocks_by_score
from lightmeter.exposure.transposition import sample_transpositions
from lightmeter.models.policies import Oracle, PlackettLuce, Policy, RankTransposition, Static
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


@singledispatch
def _permutations(
    policy: Policy,
    ranked: Ranked,
    rows: Integers,
    there: Booleans,
    samples: int,
    rng: np.random.Generator,
) -> Integers:
    """``[rankings, samples, places]``: the place in the base ranking of each place drawn; missing ones last."""
    key = _keys(policy, ranked, rows, there, rng.random((there.shape[0], samples, there.shape[1])))
    return np.argsort(np.where(there[:, None, :], key, np.inf), axis=2, kind="stable")


@_permutations.register(RankTransposition)
def _transposed(
    policy: RankTransposition,
    ranked: Ranked,
    rows: Integers,
    there: Booleans,
    samples: int,
    rng: np.random.Generator,
) -> Integers:
    shape = (there.shape[0], samples, there.shape[1])
    out = np.broadcast_to(np.arange(shape[2]), shape).copy()
    lengths = there.sum(axis=1)
    for n in np.unique(lengths):  # queries of one length share their permutations
        out[lengths == n, :, :n] = sample_transpositions(rng, int(n), policy.theta, samples)
    return out


@singledispatch
def _keys(policy: Policy, ranked: Ranked, rows: Integers, there: Booleans, noise: Floats) -> Floats:
    """``[rankings, samples, ranks]``: the order of the documents, by rising keys, from noise in [0, 1)."""
    raise TypeError(f"no rankings are sampled from {policy}")


@_keys.register(PlackettLuce)
def _luce_keys(policy: PlackettLuce, ranked: Ranked, rows: Integers, there: Booleans, noise: Floats) -> Floats:
    # the greatest of log-weights with Gumbel noise comes first
    weights = log_weights(policy, np.where(there, ranked.run.score[rows], np.nan))
    return np.log(-np.log(noise)) - weights[:, None, :]


@_keys.register(Uniform)
def _uniform_keys(policy: Uniform, ranked: Ranked, rows: Integers, there: Booleans, noise: Floats) -> Floats:
    return noise


@_keys.register(Static)
def _tied_keys(policy: Static, ranked: Ranked, rows: Integers, there: Booleans, noise: Floats) -> Floats:
    return _block_keys(ranked.run.score[rows], there, noise)


@_keys.register(Oracle)
def _graded_keys(policy: Oracle, ranked: Ranked, rows: Integers, there: Booleans, noise: Floats) -> Floats:
    return _block_keys(_grades(ranked, rows), there, noise)


def _block_keys(above: Floats, there: Booleans, noise: Floats) -> Floats:
    """Blocks of equal values from high to low, each in random order."""
    return 2.0 * blocks_by_score(np.where(there, above, np.nan))[:, None, :] + noise


def _grades(ranked: Ranked, rows: Integers) -> Floats:
    judgments = ranked.collection.judgments
    return np.zeros(rows.shape) if judgments is None else np.append(judgments.gain, 0.0)[ranked.judged_row()[rows]]


FEW_SAMPLES = "few_samples"


@dataclass(frozen=True)
class Mixture:
    """How the rankings of a run make up the policy of their query.

    Attributes
    ----------
    query
        Query of each ranking.
    unit
        Weight of one draw of the ranking; weights of a query's draws sum to 1.
    copies
        How often the ranking was drawn.
    exact
        Whether the rankings are the whole policy, so that nothing is estimated: by query.
    draws
        Number of draws by query.
    """

    query: Codes
    unit: Floats
    copies: Floats
    exact: Booleans
    draws: Floats

    @property
    def share(self) -> Floats:
        """Weight of each ranking in its query's policy."""
        return self.unit * self.copies

    def mean(self, value: Floats, queries: int) -> tuple[Floats, Floats]:
        """Mean of a value by query, and its standard error (0 where exact, NaN with fewer than 2 draws).

        A NaN in one ranking makes its query NaN.
        """
        mean = sum_by(self.query, self.share * value, queries)
        off = np.where(np.isnan(value), 0.0, value - mean[self.query])
        spread = sum_by(self.query, self.copies * (self.unit * off) ** 2, queries)
        with np.errstate(divide="ignore", invalid="ignore"):
            se = np.sqrt(spread * self.draws / (self.draws - 1.0))
        se = np.where(self.draws < 2, np.nan, se)
        return mean, np.where(self.exact, 0.0, se)

    def squares(
        self,
        ranking: Integers,
        item: Integers,
        items: int,
        exposure: Floats,
        target: Floats,
        square: Floats,
        queries: int,
        plugin: bool,
    ) -> tuple[Values, Values, Values]:
        """EED, EER and EEL by query.

        Parameters
        ----------
        ranking, item, exposure, target
            One entry an (ranking, item): what the ranking gives the item, and the item's target.
        items
            Number of item codes.
        square
            Squared norm of each query's target.
        plugin
            Whether to plug the mean exposure in.
        """
        mean = sum_by(item, exposure * self.share[ranking], items)
        dot = sum_by(ranking, mean[item] * exposure, len(self.query))  # S.e_a
        toward = sum_by(ranking, exposure * target, len(self.query))  # e_a.eps*
        norm = sum_by(ranking, exposure**2, len(self.query))  # ||e_a||^2
        eer, eer_se = self.mean(toward, queries)
        whole = sum_by(self.query, self.share * dot, queries)  # ||S||^2
        as_is = self.exact | plugin
        loss_norm = norm - 2 * toward + square[self.query]
        loss_dot = dot - toward - eer[self.query] + square[self.query]
        eed, eed_se = self._corrected(whole, dot, norm, as_is, queries)
        eel, eel_se = self._corrected(whole - 2 * eer + square, loss_dot, loss_norm, as_is, queries)
        out = [Values(v, se=np.where(self.exact, 0.0, se)) for v, se in ((eed, eed_se), (eer, eer_se), (eel, eel_se))]
        few = ~self.exact & (self.draws < 2) & ~np.asarray(as_is)
        out[0].because(few, FEW_SAMPLES)
        out[2].because(few, FEW_SAMPLES)
        for values in out:  # a value, but no standard error
            values.because(~self.exact & (self.draws < 3), FEW_SAMPLES, None)
        return out[0], out[1], out[2]

    def _corrected(
        self, whole: Floats, dot: Floats, norm: Floats, as_is: Booleans, queries: int
    ) -> tuple[Floats, Floats]:
        """T/D with its delete-one standard error; ``whole`` itself where nothing is to be corrected."""
        own = sum_by(self.query, self.copies * self.unit**2 * norm, queries)
        top = whole - own
        bottom = 1.0 - sum_by(self.query, self.copies * self.unit**2, queries)
        w, q = self.unit, self.query
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(as_is, whole, top / bottom)
            without = (top[q] - 2 * w * (dot - w * norm)) / (bottom[q] - 2 * w * (1.0 - w))
            centre = sum_by(q, self.copies * without, queries) / self.draws
            spread = sum_by(q, self.copies * (without - centre[q]) ** 2, queries)
            se = np.sqrt((self.draws - 1.0) / self.draws * spread)
        return value, np.where(self.draws < 3, np.nan, se)
