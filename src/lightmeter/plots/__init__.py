"""Pictures of results. Each function returns a Vega-Altair chart, which can be changed before it is saved or shown.

A title says what the picture shows in words that are computed from the data; the lines below it say of what, and by
which rules. Pictures need the extra ``report``: ``pip install 'lightmeter[report]'``.
"""

from lightmeter.plots.agreeing import agreement
from lightmeter.plots.arrows_between import arrows
from lightmeter.plots.bars import leaning
from lightmeter.plots.by_policy import policies
from lightmeter.plots.cutoffs_shown import cutoffs
from lightmeter.plots.groups_shown import exposure
from lightmeter.plots.looking import attention
from lightmeter.plots.means_shown import scores
from lightmeter.plots.randomness import randomisation
from lightmeter.plots.saving import save
from lightmeter.plots.scatter import tradeoff
from lightmeter.plots.shares import distribution_at
from lightmeter.plots.telling_apart import significance
from lightmeter.plots.theme import beside
from lightmeter.plots.tradeoffs import curve

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
