"""Who bears the loss of exposure: inequality among documents of one grade."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from lightmeter.data.rankings import Ranked
from lightmeter.data.sums import sum_by
from lightmeter.data.values import Values
from lightmeter.errors import TermError
from lightmeter.exposure.estimates import Mixture
from lightmeter.measures.exposure import ExposureMeasure
from lightmeter.measures.flat_exposure import flat_exposure
from lightmeter.measures.gains import RBP
from lightmeter.measures.mixture import mixture
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class EESpread(ExposureMeasure):
    """Who bears the loss: inequality of exposure *within* each grade, averaged over the grades by their size.

    ``part='entropy'``: generalised entropy with alpha = 2, ``mean((e/m)^2 - 1)/2``, m the mean exposure of the grade;
    ``part='range'``: highest minus lowest exposure.
    The documents are the judged relevant ones, those not ranked having exposure 0. At least 0, lower is better; a
    grade nobody sees is
    equal. From samples it is computed on the mean exposure (plug-in). Undefined (``no_relevant``) without relevant
    documents. Source: the question of
    Diaz et al. 2020, section 4.2; Speicher et al. 2018 for the entropy.

    Examples
    --------
    >>> from lightmeter import EESpread, RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [EESpread(user=RBP(p=0.5), part="range")]).mean()["value"].to_list()
    [0.5]
    """

    user: User = param(default=RBP(p=0.5), accepts=TermOf("user"), doc="user model", always=True)
    part: Literal["entropy", "range"] = param(
        default="entropy", accepts=Choice(("entropy", "range")), doc="which spread", always=True
    )

    @property
    def bounds(self) -> tuple[float, float]:
        # nobody sees a document more than surely; a measured curve has a unit of its own
        highest = max(getattr(self.user, "weights", (1.0,)))
        return 0.0, highest if self.part == "range" else math.inf

    def of_run(self, context: Context, ranked: Ranked) -> Values:
        judgments = context.collection.judgments
        if judgments is None:
            raise TermError("EESpread needs judgments.")
        flat = flat_exposure(context, ranked, self.user, self.cutoff)
        mix: Mixture = mixture(context, ranked)
        judged = flat.judgment >= 0
        exposure = sum_by(
            flat.judgment[judged], flat.view[judged] * mix.share[flat.ranking[judged]], len(judgments.gain)
        )
        rows = np.flatnonzero(judgments.gain > 0)
        keys, level = np.unique(np.stack([judgments.query[rows], judgments.gain[rows]]), axis=1, return_inverse=True)
        level = level.ravel()
        count = np.bincount(level, minlength=keys.shape[1])
        e = exposure[rows]
        if self.part == "entropy":
            mean = sum_by(level, e, len(count)) / np.maximum(count, 1)
            ratio = np.divide(e, mean[level], out=np.ones(len(e)), where=mean[level] > 0)
            spread = sum_by(level, ratio**2 - 1.0, len(count)) / (2.0 * np.maximum(count, 1))
        else:
            high, low = np.full(len(count), -np.inf), np.full(len(count), np.inf)
            np.maximum.at(high, level, e)
            np.minimum.at(low, level, e)
            spread = high - low
        queries = len(context.collection.queries)
        owner = keys[0].astype(np.int64)
        size = sum_by(owner, count.astype(np.float64), queries)
        value = sum_by(owner, spread * count, queries) / np.maximum(size, 1)
        return Values(value).because(size == 0, "no_relevant")
