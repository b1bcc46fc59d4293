"""Inequality of exposure between documents, and unfairness to individuals (IAA)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.data.values import Values, sum_by
from lightmeter.measures.base import BY
from lightmeter.measures.exposure_sums import AMORTISED_DOC, DOCS, DOCS_DOC, USER_DOC, Docs, OfExposure, Totals
from lightmeter.measures.relevance import DCG
from lightmeter.models.users import User
from lightmeter.terms.parameters import Flag, Maybe, Number, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class _Inequality(OfExposure, abstract=True):
    """Base of indices of how unequally a policy's exposure is spread over documents."""

    better: ClassVar[Literal["higher", "lower", "none"]] = "lower"
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    docs: Docs = param(default="relevant", accepts=DOCS, doc=DOCS_DOC)
    amortised: bool = param(default=False, accepts=Flag(), doc=AMORTISED_DOC)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset() if self.docs == "ranked" else frozenset({"judgments"})

    def index(self, totals: Totals, count: Floats, mean: Floats) -> Floats:
        """The index of each owner, from the number of its documents and their mean exposure."""
        raise NotImplementedError

    def reduce(self, totals: Totals, context: Context) -> Values:
        count = np.bincount(totals.owner, minlength=totals.owners).astype(np.float64)
        mean = totals.sum(totals.exposure) / np.maximum(count, 1.0)
        with np.errstate(all="ignore"):
            values = Values(self.index(totals, np.maximum(count, 1.0), np.where(mean > 0, mean, 1.0)))
        values.because(count == 0, "no_relevant" if self.docs == "relevant" else "empty_group")
        values.because(mean <= 0, "zero_exposure")
        return values


class GeneralizedEntropy(_Inequality):
    """Generalised entropy of exposure, ``sum_d ((e_d / m)^alpha - 1) / (n alpha (alpha - 1))``, m the mean exposure.

    At least 0, which is equality; lower is better. alpha = 1 is Theil's index, ``sum_d (e_d / m) ln(e_d / m) / n``, and
    alpha = 0 the mean log deviation, ``-sum_d ln(e_d / m) / n``, undefined (``infinite``) where a document has no
    exposure. The documents are the relevant ones, those that are not ranked with exposure 0. Undefined
    (``zero_exposure``) where none has any. Source: Speicher et al. 2018.

    Examples
    --------
    >>> from lightmeter import GeneralizedEntropy, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [GeneralizedEntropy(user=TopK(k=1))]).mean()["value"].to_list()
    [0.5]
    """

    bounds = (0.0, np.inf)
    alpha: float = param(default=2.0, accepts=Number(low=0), doc="weight of high exposures", always=True)

    def index(self, totals: Totals, count: Floats, mean: Floats) -> Floats:
        ratio = totals.exposure / mean[totals.owner]
        if self.alpha == 0:
            return -totals.sum(np.log(ratio)) / count
        if self.alpha == 1:
            return totals.sum(ratio * np.log(np.where(ratio > 0, ratio, 1.0))) / count
        return totals.sum(ratio**self.alpha - 1.0) / (count * self.alpha * (self.alpha - 1.0))


class Gini(_Inequality):
    """Gini coefficient of exposure, ``sum_d sum_e |e_d - e_e| / (2 n^2 m)``, m the mean exposure.

    In [0, 1), 0 is equality; lower is better. The documents are the relevant ones, those that are not ranked with
    exposure 0. Undefined (``zero_exposure``) where none has any.

    Examples
    --------
    >>> from lightmeter import Gini, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [Gini(user=TopK(k=1))]).mean()["value"].to_list()
    [0.5]
    """

    bounds = (0.0, 1.0)

    def index(self, totals: Totals, count: Floats, mean: Floats) -> Floats:
        order = np.lexsort((totals.exposure, totals.owner))
        owner, exposure = totals.owner[order], totals.exposure[order]
        first = np.searchsorted(owner, np.arange(totals.owners))
        rank = np.arange(len(owner)) - first[owner] + 1.0
        weighted = sum_by(owner, (2.0 * rank - count[owner] - 1.0) * exposure, totals.owners)
        return weighted / (count**2 * mean)


class Entropy(_Inequality):
    """Entropy of the shares of exposure, ``-sum_d s_d ln s_d`` with ``s_d = e_d / sum_e e_e``, in nats.

    In [0, ln n]; higher is better, ln n is equality. The documents are the relevant ones, those that are not ranked
    with exposure 0. Undefined (``zero_exposure``) where none has any.

    Examples
    --------
    >>> from lightmeter import Entropy, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [Entropy(user=TopK(k=2))]).mean()["value"].round(6).to_list()
    [0.693147]
    """

    better = "higher"
    bounds = (0.0, np.inf)

    def index(self, totals: Totals, count: Floats, mean: Floats) -> Floats:
        share = totals.exposure / (mean * count)[totals.owner]
        return -totals.sum(share * np.log(np.where(share > 0, share, 1.0)))


class IAA(OfExposure):
    """Inequity of attention: ``sum_d |share of exposure - share of merit|``, over documents or, with ``by``, groups.

    In [0, 2], 0 where attention goes where merit is; lower is better. The shares are of the query's candidates, ranked
    or judged; merit is the grade. A multi-valued document counts fully in each of its groups. Amortised: the
    differences of a document (or group) add up over queries before their size is taken, so that what one query gives
    too much another may give too little; a query without merit is left out. Undefined (``zero_merit``)
    without a relevant document, and (``zero_exposure``) without exposure. Source: Biega et al. 2018.

    Examples
    --------
    >>> from lightmeter import IAA, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [IAA(user=TopK(k=1))]).mean()["value"].to_list()
    [1.0]
    """

    better = "lower"
    bounds = (0.0, 2.0)
    by: str | None = param(default=None, accepts=Maybe(BY), doc="attribute whose groups share; None: documents")
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    amortised: bool = param(default=False, accepts=Flag(), doc=AMORTISED_DOC)
    docs: ClassVar[Docs] = "all"
    graded = True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"judgments"} if self.by is None else {"judgments", "groups"})

    def prepare(self, totals: Totals) -> Totals:
        """Shares of each query; of one without merit nothing."""
        sums = totals.sum(totals.exposure), totals.sum(totals.merit)
        scale = [np.divide(1.0, s, out=np.zeros(len(s)), where=(s > 0) & (sums[1] > 0))[totals.owner] for s in sums]
        return replace(totals, exposure=totals.exposure * scale[0], merit=totals.merit * scale[1])

    def reduce(self, totals: Totals, context: Context) -> Values:
        values = Values(totals.sum(np.abs(totals.exposure - totals.merit)))
        values.because(totals.sum(totals.merit) <= 0, "zero_merit")
        return values.because(totals.sum(totals.exposure) <= 0, "zero_exposure")

    def counted(self, prepared: Totals, weight: Floats) -> Floats:
        return np.where(prepared.sum(prepared.merit) > 0, weight, 0.0)
