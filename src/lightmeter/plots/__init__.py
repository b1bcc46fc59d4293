"""Pictures of results. Each function returns a Vega-Altair chart, which can be changed before it is saved or shown.

They need the extra ``report``: ``pip install 'lightmeter[report]'``.
"""

from lightmeter.plots.saving import save
from lightmeter.plots.tradeoffs import curve

__all__ = ["curve", "save"]
