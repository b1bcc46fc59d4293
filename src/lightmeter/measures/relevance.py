"""Relevance of a ranking: the standard measures, as trec_eval computes them, under the call's one tie rule.

Unjudged documents are not relevant and negative grades count as 0. A query without relevant documents has the value 0
(so that
means agree with published numbers) and the reason ``no_relevant``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Floats
from lightmeter.data.values import Values
from lightmeter.measures.base import Measure, no_relevant
from lightmeter.measures.block import Block
from lightmeter.terms.parameters import Flag, Number, param

REL = Number(low=1, integer=True)
ANY = float(np.nextafter(0, 1))  # any grade above 0
REL_DOC = "lowest grade that counts as relevant"
JUDGED_ONLY = "leave unjudged documents out of the ranking first"
_PROBABILITY = Number(low=0, high=1)
_TRAITS = frozenset({"query_order", "scores", "below_cutoff", "nonrelevant_tail", "groups"})


class RelevanceMeasure(Measure, abstract=True):
    """Base of the relevance measures: between 0 and 1, higher is better."""

    bounds = (0.0, 1.0)
    needs = frozenset({"judgments"})
    invariant_to = _TRAITS


def cut(array: NDArray[np.generic], cutoff: int | None) -> NDArray[np.generic]:
    return array if cutoff is None else array[:, :cutoff]


class P(RelevanceMeasure):
    """Precision: the share of relevant documents among the first k, ``sum_{i<=k} [g_i >= rel] / k``; shorter rankings
    divide by k too.

    In [0, 1], higher is better. Source: trec_eval.

    Examples
    --------
    >>> from lightmeter import P, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 0}})
    >>> evaluate(c, [P@2]).mean()["value"].to_list()
    [0.5]
    """

    needs_cutoff = True
    rel: int = param(default=1, accepts=REL, doc=REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        hits = cut(block.relevant(self.rel), self.cutoff).sum(axis=1)
        return no_relevant(hits / float(self.cutoff or 1), block.count_relevant(self.rel))


class R(RelevanceMeasure):
    """Recall: the share of the query's relevant documents that stand among the first k, ``sum_{i<=k} [g_i >= rel] /
    R``.

    In [0, 1], higher is better. Source: trec_eval.

    Examples
    --------
    >>> from lightmeter import R, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 0, "c": 1}})
    >>> evaluate(c, [R@2]).mean()["value"].to_list()
    [0.5]
    """

    rel: int = param(default=1, accepts=REL, doc=REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        count = block.count_relevant(self.rel)
        hits = cut(block.relevant(self.rel), self.cutoff).sum(axis=1)
        return no_relevant(hits / np.maximum(count, 1), count)


class AP(RelevanceMeasure):
    """Average precision: ``sum_i [g_i >= rel] P@i / R`` over the first k ranks; R counts all relevant documents,
    ranked or not.

    In [0, 1], higher is better. Source: trec_eval (map, map_cut).

    Examples
    --------
    >>> from lightmeter import AP, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "c": 1}})
    >>> round(evaluate(c, [AP]).mean()["value"].item(), 6)
    0.833333
    """

    rel: int = param(default=1, accepts=REL, doc=REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        count = block.count_relevant(self.rel)
        hits = cut(block.relevant(self.rel), self.cutoff).astype(np.float64)
        precision = np.cumsum(hits, axis=1) / np.arange(1.0, hits.shape[1] + 1)
        return no_relevant((precision * hits).sum(axis=1) / np.maximum(count, 1), count)


class RR(RelevanceMeasure):
    """Reciprocal rank of the first relevant document, ``1 / min{i : g_i >= rel}``; 0 where none is among the first k.

    In [0, 1], higher is better. Source: trec_eval.

    Examples
    --------
    >>> from lightmeter import RR, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"b": 1}})
    >>> evaluate(c, [RR]).mean()["value"].to_list()
    [0.5]
    """

    rel: int = param(default=1, accepts=REL, doc=REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        hits = cut(block.relevant(self.rel), self.cutoff)
        first = hits.argmax(axis=1) if hits.shape[1] else np.zeros(len(hits), dtype=np.int64)
        return no_relevant(np.where(hits.any(axis=1), 1.0 / (first + 1.0), 0.0), block.count_relevant(self.rel))


class Judged(RelevanceMeasure):
    """The share of the first k documents that are judged, of those ranked: ``sum_{i<=k} [judged_i] / min(k, n)``.

    In [0, 1]; says how far the other numbers can be trusted. Source: ir_measures.

    Examples
    --------
    >>> from lightmeter import Judged, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [Judged@10]).mean()["value"].to_list()
    [0.5]
    """

    invariant_to = frozenset({"query_order", "scores", "below_cutoff", "groups", "grades"})

    def value(self, block: Block) -> Floats:
        judged = cut(block.judged, self.cutoff)
        length = block.length if self.cutoff is None else np.minimum(block.length, self.cutoff)
        return judged.sum(axis=1) / np.maximum(length, 1)
