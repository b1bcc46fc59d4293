"""Pictures of results. Each function returns a Vega-Altair chart, which can be changed before it is saved or shown.

A title says what the picture shows in words that are computed from the data; the lines below it say of what, and by
which rules. Pictures need the extra ``report``: ``pip install 'lightmeter[report]'``.
"""

from lightmeter.plots.agreement import agreement
from lightmeter.plots.arrows import arrows
from lightmeter.plots.attention import attention
from lightmeter.plots.chart import save
from lightmeter.plots.curve import curve
from lightmeter.plots.cutoffs import cutoffs
from lightmeter.plots.distribution_at import distribution_at
from lightmeter.plots.exposure import exposure
from lightmeter.plots.leaning import leaning
from lightmeter.plots.policies import policies
from lightmeter.plots.randomisation import randomisation
from lightmeter.plots.scores import scores
from lightmeter.plots.significance import significance
from lightmeter.plots.theme import beside
from lightmeter.plots.tradeoff import tradeoff

__all__ = [
    "agreement",
    "arrows",
    "attention",
    "beside",
    "curve",
    "cutoffs",
    "distribution_at",
    "exposure",
    "leaning",
    "policies",
    "randomisation",
    "save",
    "scores",
    "significance",
    "tradeoff",
]
