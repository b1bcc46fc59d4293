"""Expected exposure from sampled rankings: plugged in, or estimated without bias.

Rankings a with weights w_a that sum to 1 and exposures e_a: S = sum w_a e_a. The plug-in ||S||^2 is too high by the
noise of the mean; with
T = ||S||^2 - sum w_a^2 ||e_a||^2 and D = 1 - sum w_a^2, EED = T/D is unbiased. EER = S.eps* needs no correction, and
EEL is T/D of e_a - eps*. Standard
errors leave one ranking out in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Booleans, Codes, Floats, Integers
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values

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
