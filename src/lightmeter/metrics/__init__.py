"""Group metrics as functions of labels, scores and groups, in scikit-learn's manner.

The rows are the candidates of one list, ranked by falling score. All functions are called
``f(y_true, y_score, *, groups, k, sample_weight)``, so they serve scorers and frames of metrics; what one of them does
not look at, such as ``y_true`` where labels play no part, may be None. ``docs/interop.md`` shows both uses.
"""

from lightmeter.metrics.distributions import awrf, max_skew, min_skew, ndkl, skew
from lightmeter.metrics.exposure import (
    abr,
    exposure_gap,
    exposure_per_merit_ratio,
    exposure_ratio,
    mean_exposures,
    selection_rate_ratio,
    selection_rates,
)
from lightmeter.metrics.places import UndefinedWarning
from lightmeter.metrics.rows import exposure_per_merit, mean_of_rows, ndcg, row_exposure, row_selected

__all__ = [
    "UndefinedWarning",
    "abr",
    "awrf",
    "exposure_gap",
    "exposure_per_merit",
    "exposure_per_merit_ratio",
    "exposure_ratio",
    "max_skew",
    "mean_exposures",
    "mean_of_rows",
    "min_skew",
    "ndcg",
    "ndkl",
    "row_exposure",
    "row_selected",
    "selection_rate_ratio",
    "selection_rates",
    "skew",
]
