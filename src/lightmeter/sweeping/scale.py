"""The units of a curve: what of EED is disparity, what of EER is relevance, and which queries count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Booleans, Floats, Objects

NO_RANGE = "no_disparity_range"
#: Differences of EED below this share of it are rounding.
ROUNDING = 1e-12


def unset(reason: Objects) -> Booleans:
    """Where there is no reason."""
    return np.equal(reason, None).astype(np.bool_)  # type: ignore[call-overload]


@dataclass(frozen=True)
class Scale:
    """Units of the queries of one run for one user, all arrays ``[queries]``.

    Attributes
    ----------
    uniform, static
        EED of the uniform policy and of the ranking as given; NaN where the run has no ranking.
    most
        EER of the judged ideal.
    reason
        Why a query is left out of the mean curve; None where it counts. ``not_in_run`` may count, with relevance 0.
    missing
        Queries that the run does not answer and that count.
    weight
        Weight of each query in means.
    of_means
        Whether disparity is taken of the mean EED (Cascade, ERR, groups) instead of averaged (users who know the rank
        only).
    """

    uniform: Floats
    static: Floats
    most: Floats
    reason: Objects
    missing: Booleans
    weight: Floats
    of_means: bool

    @property
    def answered(self) -> Booleans:
        """Queries that count and have a ranking."""
        return unset(self.reason)

    @property
    def counted(self) -> Booleans:
        """Queries that count: the answered, and those missing that count as 0."""
        return self.answered | self.missing

    @property
    def ranged(self) -> Booleans:
        """Queries whose own disparity has a range."""
        with np.errstate(invalid="ignore"):
            return self.static - self.uniform > ROUNDING * np.abs(self.static)

    def disparity(self, eed: Floats) -> Floats:
        """x of each query ``[queries, ..]``: NaN where it has no range."""
        low, wide = np.where(self.ranged, self.uniform, np.nan), self.static - self.uniform
        shape = (-1,) + (1,) * (eed.ndim - 1)
        return (eed - low.reshape(shape)) / np.where(self.ranged, wide, 1.0).reshape(shape)

    def relevance(self, eer: Floats) -> Floats:
        """y of each query ``[queries, ..]``: NaN without relevant documents, 0 where a missing query counts."""
        most = np.where(self.most > 0, self.most, np.nan).reshape((-1,) + (1,) * (eer.ndim - 1))
        out = eer / most
        out[self.missing] = 0.0
        return out

    def mean_curve(self, eed: Floats, eer: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
        """x and y of the mean curve.

        Parameters
        ----------
        eed, eer
            ``[queries, points]``.
        counts
            ``[means, queries]``: how often each query counts; by default once, and one curve.

        Returns
        -------
        x, y
            ``[points]``, or ``[means, points]``.
        """
        here, all_ = self.answered, self.counted
        times = (np.ones((1, len(self.weight))) if counts is None else counts) * self.weight
        mine, whole = times[:, here], times[:, all_]
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = 1.0 / mine.sum(axis=1, keepdims=True)
            if self.of_means:
                low, high = (mine @ v[here] * inner[:, 0] for v in (self.uniform, self.static))
                x = self.rescaled(mine @ eed[here] * inner, low[:, None], high[:, None])
            else:
                x = mine @ self.disparity(eed)[here] * inner
            y = whole @ self.relevance(eer)[all_] / whole.sum(axis=1, keepdims=True)
        return (x[0], y[0]) if counts is None else (x, y)

    def all_curves(self, eed: Floats, eer: Floats) -> tuple[Floats, Floats]:
        """x and y ``[1 + queries, points]`` of the mean curve and of the queries' own, of those that are answered."""
        x, y = self.mean_curve(eed, eer)
        here = self.answered
        return np.vstack([x, self.disparity(eed)[here]]), np.vstack([y, self.relevance(eer)[here]])

    @staticmethod
    def rescaled(eed: Floats, low: Floats, high: Floats) -> Floats:
        """x of mean EED between means of uniform and static; NaN where there is no range."""
        ranged = high - low > ROUNDING * np.abs(high)
        return np.where(ranged, (eed - low) / np.where(ranged, high - low, 1.0), np.nan)
