"""Click rate by rank: attention where ranks were random."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.clicks.log import Cells
from lightmeter.statistics.resampling import by_query, resampled


def rates(cells: Cells, reference: int) -> Floats:
    """Clicks over showings of each rank, relative to the reference rank (counted from 0).

    ``w_k = (sum of clicks at k / showings at k) / (the same at the reference)``. Where documents were put at ranks at
    random, all ranks have the same relevance on average, and w_k is examination_k / examination_reference (Joachims,
    Swaminathan and Schnabel 2017, section 5.1). Where they were not, relevance is mixed in.
    """
    return _relative(cells.by_rank(cells.clicks), cells.by_rank(cells.shown), reference)


def rate_replicates(cells: Cells, reference: int, resamples: int, rng: np.random.Generator) -> Floats:
    """The rates of bootstrap replicates, ``[replicates, ranks]``; NaN for a rank that a replicate did not draw."""
    ranks = cells.ranks
    sums = by_query(
        np.tile(cells.query, 2),
        np.concatenate([cells.rank, cells.rank + ranks]),
        np.concatenate([cells.clicks, cells.shown]),
        (cells.queries, 2 * ranks),
    )
    return np.concatenate(
        [_relative(some[:, :ranks], some[:, ranks:], reference) for some in resampled(sums, resamples, rng)]
    )


def _relative(clicks: Floats, shown: Floats, reference: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = clicks / shown
        return rate / rate[..., reference, None]
