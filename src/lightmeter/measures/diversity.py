"""Intents in an evaluation: what documents are judged for them, and the ideal ranking by them.

Intent-aware measures: how well a ranking serves the several intents that a query may have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.data.intents import Intents
from lightmeter.data.rankings import Ranked
from lightmeter.data.run import Run
from lightmeter.data.values import Values, sum_by
from lightmeter.errors import LightmeterError
from lightmeter.measures.base import Measure, value_of
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.relevance import DCG, RBP
from lightmeter.models.users import GRADE, User, err_satisfaction
from lightmeter.terms.parameters import Choice, Flag, Maybe, Number, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context
    from lightmeter.models.policies import Policy

ROUNDING = 1e-12  # gains that differ by less are equal


def intents(context: Context) -> Intents:
    """The intents of a call."""
    table = context.collection.intents
    if table is None:
        raise LightmeterError("this measure needs intents. Give them with --intents FILE (in Python: intents=).")
    return context.once("intents", lambda: Intents(table, context.collection.queries))


def entry_of_row(run: Run, found: Intents) -> Codes:
    """For each row of a run its entry in the intents, -1 for none."""
    return run.once("intents", lambda: run.find(found.index))


def judged_for_intents(context: Context, ranked: Ranked) -> Ranked:
    """The rankings without the documents that were judged for no intent of their query."""
    judged = entry_of_row(ranked.run, intents(context)) >= 0
    return ranked.keep(judged if ranked.order is None else judged[ranked.order])


def greedy_gains(found: Intents, alpha: float, rel: float, depth: int | None) -> Floats:
    """Gains ``[queries, ranks]`` of the greedy ideal ranking: at each rank the document that adds most.

    A document adds ``sum_i (1 - alpha)^(number of documents above for intent i)`` over its intents. Among documents
    that add the same the last by id is taken, as ndeval does: it decides what is left for later ranks.
    """
    keep = found.grade >= rel
    entry, intent = found.entry[keep], found.intent[keep]
    entries, pair_of = np.unique(entry, return_inverse=True)
    query = found.entry_query[entries].astype(np.int64)
    begin = np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1]])) if len(query) else np.zeros(0, np.int64)
    counts = np.diff(np.append(begin, len(query)))
    ranks = int(counts.max(initial=0))
    ranks = ranks if depth is None else min(ranks, depth)
    out = np.zeros((found.queries, ranks))
    worth = np.ones(len(found.intent_query))
    free = np.ones(len(entries), dtype=bool)
    owner = np.repeat(np.arange(len(begin)), counts)
    for rank in range(ranks):
        gain = np.where(free, sum_by(pair_of, worth[intent], len(entries)), -1.0)
        best = np.maximum.reduceat(gain, begin)
        hit = np.flatnonzero((gain >= best[owner] - ROUNDING) & free)
        last = hit[np.concatenate([owner[hit][1:] != owner[hit][:-1], [True]])] if len(hit) else hit
        out[query[last], rank] = gain[last]
        free[last] = False
        taken = np.zeros(len(entries), dtype=bool)
        taken[last] = True
        worth[intent[taken[pair_of]]] *= 1.0 - alpha
    return out


_REL = Number(low=1, integer=True)
_REL_DOC = "lowest grade that counts as relevant"
_JUDGED_ONLY = "leave documents that are judged for no intent out of the ranking first"
_GAIN = Choice(("log2", "exp-log2"))


class IntentMeasure(Measure, abstract=True):
    """Base of the intent-aware measures: between 0 and 1, higher is better.

    A query without a relevant document has the value 0 and the reason ``no_relevant``; one without intents is undefined
    (``no_intent``). ``judged_only`` is looked at by whoever cuts the blocks: in those it is true for, what was judged
    for no intent is gone and the others have closed up.
    """

    bounds = (0.0, 1.0)
    needs = frozenset({"intents"})
    invariant_to = frozenset({"query_order", "scores", "below_cutoff", "nonrelevant_tail", "groups", "grades"})

    def explained(self, value: Floats, block: Block, rel: float) -> Values:
        """Values with reasons."""
        found = intents(block.context)
        some = np.zeros(found.queries, dtype=bool)
        some[found.intent_query[found.covered(rel)]] = True
        values = Values(value).because(~found.judged[block.query], "no_intent")
        return values.because(~some[block.query], "no_relevant", 0.0)


@dataclass(frozen=True)
class Hits:
    """Documents of a block that are relevant to an intent, sorted by ranking, intent and rank.

    Attributes
    ----------
    ranking, intent, rank, grade
        One entry a (place, intent); ranks are 1-based.
    before
        How many documents above are relevant to the intent.
    """

    ranking: Integers
    intent: Integers
    rank: Floats
    grade: Floats
    before: Integers


def hits(block: Block, rel: float, cutoff: int | None) -> Hits:
    """The (place, intent) pairs of a block with at least grade ``rel``, down to a cutoff."""
    return block.once(("hits", rel, cutoff), lambda: _hits(block, intents(block.context), rel, cutoff))


def _entries(block: Block, found: Intents) -> NDArray[np.integer]:
    entry = entry_of_row(block.ranked.run, found)[block.rows]
    return entry if block.valid.all() else np.where(block.valid, entry, -1)


def _hits(block: Block, found: Intents, rel: float, cutoff: int | None) -> Hits:
    entry = _entries(block, found)[:, :cutoff]
    place = np.flatnonzero(entry.ravel() >= 0)
    mine = entry.ravel()[place]
    count = found.indptr[mine + 1] - found.indptr[mine]
    at = np.repeat(place, count)
    row = np.repeat(found.indptr[mine] - (np.cumsum(count) - count), count) + np.arange(len(at))
    keep = found.grade[row] >= rel
    at, row = at[keep], row[keep]
    ranking, rank = np.divmod(at, max(entry.shape[1], 1))
    intent = found.intent[row]
    order = np.lexsort((rank, intent, ranking))
    ranking, intent = ranking[order], intent[order]
    fresh = np.concatenate([[True], (ranking[1:] != ranking[:-1]) | (intent[1:] != intent[:-1])])[: len(order)]
    number = np.arange(len(order))
    start = np.maximum.accumulate(np.where(fresh, number, 0)) if len(order) else number
    return Hits(ranking, intent, rank[order] + 1.0, found.grade[row[order]], number - start)


class alpha_nDCG(IntentMeasure):
    """alpha-nDCG: gains that fall with repetition, discounted by rank, over those of the ideal ranking.

    ``sum_{k<=K} sum_i [d_k relevant to i] (1 - alpha)^(c_ik) / log2(k + 1)``, c_ik the number of documents above rank k
    that are relevant to intent i. The ideal is greedy: at each rank the judged document that adds most. In [0, 1],
    higher is better; probabilities of intents play no part. Source: Clarke et al. 2008; agrees with ndeval.

    Examples
    --------
    >>> from lightmeter import alpha_nDCG, evaluate, load
    >>> intents = {"query": ["q"] * 3, "intent": ["1", "2", "1"], "doc": ["a", "b", "c"], "grade": [1, 1, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["a", "c", "b"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [alpha_nDCG@2]).mean()["value"].round(6).to_list()
    [0.806574]
    """

    alpha: float = param(default=0.5, accepts=Number(low=0, high=1), doc="how much a repeated intent loses")
    rel: int = param(default=1, accepts=_REL, doc=_REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        found = hits(block, self.rel, self.cutoff)
        gain = np.power(1.0 - self.alpha, found.before) / np.log2(found.rank + 1.0)
        total = sum_by(found.ranking, gain, block.shape[0])
        best = block.context.once(("greedy", self.alpha, self.rel, self.cutoff), lambda: self._best(block.context))
        best = best[block.query]
        return self.explained(total / np.where(best > 0, best, 1.0), block, self.rel)

    def _best(self, context: Context) -> Floats:
        gains = greedy_gains(intents(context), self.alpha, self.rel, self.cutoff)
        return gains @ (1.0 / np.log2(np.arange(2.0, gains.shape[1] + 2)))


class ERR_IA(IntentMeasure):
    """Intent-aware expected reciprocal rank, ``sum_i Pr(i|q) ERR_i``, over the most that any ranking could have.

    With binary relevance a relevant document satisfies with probability 1/2, so ``ERR_i`` is proportional to
    ``sum_{k<=K} [d_k relevant to i] 2^(-c_ik) / k``, c_ik the number of relevant documents above; it is divided by
    ``sum_{k<=K} 2^(1-k) / k``, what documents relevant to everything would have. Intents without a relevant document
    are left out. This is ndeval's form, except that ndeval does not divide at cutoff 1. With ``max_grade`` it is the
    graded form of Chapelle et al., ``R = (2^g - 1) / 2^max_grade``, not normalised. In [0, 1], higher is better.
    Source: Chapelle et al. 2009; agrees with ndeval.

    Examples
    --------
    >>> from lightmeter import ERR_IA, evaluate, load
    >>> intents = {"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [1, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["a", "b"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [ERR_IA@2]).mean()["value"].round(6).to_list()
    [0.6]
    """

    known_as = ("IA-ERR",)
    rel: int = param(default=1, accepts=_REL, doc=_REL_DOC)
    max_grade: float | None = param(
        default=None, accepts=GRADE, doc="highest grade of the scale, for the graded form; None: binary, as in ndeval"
    )
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        index = intents(block.context)
        found = hits(block, self.rel, self.cutoff)
        if self.max_grade is not None:
            satisfied = _satisfied(found, err_satisfaction(found.grade, self.max_grade))
            weight, most = index.probability, 1.0
        else:
            satisfied = np.exp2(-found.before.astype(np.float64))
            weight, most = index.weights(self.rel), _most(self.cutoff)
        total = sum_by(found.ranking, weight[found.intent] * satisfied / found.rank, block.shape[0])
        return self.explained(total / most, block, self.rel)


def _most(cutoff: int | None) -> float:
    """``sum_{k<=K} 2^(1-k) / k``; 2 ln 2 without a cutoff."""
    return 2.0 * math.log(2.0) if cutoff is None else math.fsum(2.0 ** (1 - k) / k for k in range(1, cutoff + 1))


def _satisfied(found: Hits, chance: Floats) -> Floats:
    """``R_k prod_{j<k} (1 - R_j)`` for each document of an intent, those above in order."""
    if not len(chance):
        return chance
    start = found.before == 0
    segment = np.cumsum(start) - 1
    left = np.ones((int(segment[-1]) + 1, int(found.before.max()) + 2))
    left[segment, found.before + 1] = 1.0 - chance
    return np.asarray(np.cumprod(left, axis=1)[segment, found.before] * chance)


class StRecall(IntentMeasure):
    """Subtopic recall (I-rec): the share of a query's intents that the first k documents cover.

    ``|intents with a relevant document among the first k| / |intents with a relevant document|``. In [0, 1], higher is
    better. Source: Zhai et al. 2003; agrees with ndeval and, as I-rec, with NTCIREVAL.

    Examples
    --------
    >>> from lightmeter import StRecall, evaluate, load
    >>> intents = {"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [1, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["a", "b"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [StRecall@1]).mean()["value"].to_list()
    [0.5]
    """

    aliases = ("I_rec",)
    rel: int = param(default=1, accepts=_REL, doc=_REL_DOC)
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        index = intents(block.context)
        found = hits(block, self.rel, self.cutoff)
        covered = np.bincount(found.ranking[found.before == 0], minlength=block.shape[0])
        number = np.bincount(index.intent_query[index.covered(self.rel)], minlength=index.queries)[block.query]
        return self.explained(covered / np.maximum(number, 1), block, self.rel)


class _Linear(IntentMeasure, abstract=True):
    """Base of intent-aware measures that are linear in exposure: ``sum_d worth_d view_d``."""

    linear = True

    def reader(self) -> User:
        """The user whose view weighs the ranks."""
        raise NotImplementedError

    def gain_of(self, grade: Floats, found: Intents) -> Floats:
        """The gain of a grade for one intent."""
        raise NotImplementedError

    def scale(self, block: Block) -> Floats:
        """What the sum of each ranking is divided by."""
        return np.ones(block.shape[0])

    def global_gain(self, context: Context) -> Floats:
        """``sum_i Pr(i|q) g_i(d)`` of each judged (query, document)."""
        found = intents(context)
        gain = self.gain_of(found.grade, found) * found.probability[found.intent]
        return sum_by(found.entry, gain, len(found.entry_query))

    def worth(self, block: Block) -> Floats:
        """The global gain of each place."""
        found = intents(block.context)
        gain = block.context.once(("global gain", self(cutoff=None)), lambda: self.global_gain(block.context))
        return np.append(gain, 0.0)[_entries(block, found)]

    def exactly_under(self, policy: Policy) -> bool:
        from lightmeter.exposure.policy import is_exact

        return is_exact(policy, self.reader()) and not self.judged_only  # type: ignore[attr-defined]

    def value(self, block: Block) -> Values:
        return self._of(block, block.view(self.reader(), self.cutoff))

    def expected(self, block: Block) -> Values:
        return self._of(block, block.exposure(self.reader(), self.cutoff))

    def _of(self, block: Block, view: Floats) -> Values:
        scale = self.scale(block)
        total = (self.worth(block) * view).sum(axis=1)
        return self.explained(total / np.where(scale > 0, scale, 1.0), block, np.nextafter(0, 1))


class RBP_IA(_Linear):
    """Intent-aware rank-biased precision, ``sum_i Pr(i|q) (1-p) sum_{k<=K} g_ik p^(k-1)``.

    In [0, 1], higher is better. The gain is [grade >= rel], or without ``rel`` the grade over the highest one of the
    intents' judgments. Source: RBP of Moffat and Zobel 2008 under the scheme of Agrawal et al. 2009.

    Examples
    --------
    >>> from lightmeter import RBP_IA, evaluate, load
    >>> intents = {"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [1, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["a", "b"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [RBP_IA(p=0.5)]).mean()["value"].to_list()
    [0.375]
    """

    p: float = param(default=0.8, accepts=Number(low=0, below=1), doc="patience", always=True)
    rel: int | None = param(default=None, accepts=Maybe(_REL), doc=_REL_DOC + "; None: the gain is the grade")
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def reader(self) -> User:
        return RBP(p=self.p)

    def gain_of(self, grade: Floats, found: Intents) -> Floats:
        gain = grade / (found.max_grade or 1.0) if self.rel is None else (grade >= self.rel).astype(np.float64)
        return (1.0 - self.p) * gain


class D_nDCG(_Linear):
    """D-nDCG: nDCG of the global gain ``sum_i Pr(i|q) g_i(d)``.

    In [0, 1], higher is better. ``dcg='log2'``: the gain of an intent is the grade; ``'exp-log2'``: 2^grade - 1. The
    ideal ranks all judged documents by their global gain. Source: Sakai and Song 2011 (the Microsoft version of nDCG).

    Examples
    --------
    >>> from lightmeter import D_nDCG, evaluate, load
    >>> intents = {"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [2, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["b", "a"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [D_nDCG@1]).mean()["value"].to_list()
    [0.5]
    """

    dcg: Literal["log2", "exp-log2"] = param(default="log2", accepts=_GAIN, doc="the gain: the grade, or 2^grade - 1")
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def reader(self) -> User:
        return DCG()

    def gain_of(self, grade: Floats, found: Intents) -> Floats:
        return np.exp2(grade) - 1.0 if self.dcg == "exp-log2" else grade

    def scale(self, block: Block) -> Floats:
        return block.context.once(("best global gain", self), lambda: self._best(block.context))[block.query]

    def _best(self, context: Context) -> Floats:
        found, gain = intents(context), self.global_gain(context)
        order = np.lexsort((-gain, found.entry_query))
        query = found.entry_query[order]
        rank = np.arange(len(order)) - np.searchsorted(query, query) + 1.0
        seen = rank <= (np.inf if self.cutoff is None else self.cutoff)
        return sum_by(query, gain[order] * seen / np.log2(rank + 1.0), found.queries)


class Dsharp_nDCG(IntentMeasure):
    """D#-nDCG: ``gamma StRecall + (1 - gamma) D-nDCG``, coverage of intents and overall relevance in one.

    In [0, 1], higher is better. Source: Sakai and Song 2011.

    Examples
    --------
    >>> from lightmeter import Dsharp_nDCG, evaluate, load
    >>> intents = {"query": ["q", "q"], "intent": ["1", "2"], "doc": ["a", "b"], "grade": [2, 1]}
    >>> import polars as pl
    >>> c = load(run={"q": ["b", "a"]}, intents=pl.DataFrame(intents))
    >>> evaluate(c, [Dsharp_nDCG@1]).mean()["value"].to_list()
    [0.5]
    """

    gamma: float = param(default=0.5, accepts=Number(low=0, high=1), doc="weight of the coverage of intents")
    dcg: Literal["log2", "exp-log2"] = param(default="log2", accepts=_GAIN, doc="the gain: the grade, or 2^grade - 1")
    judged_only: bool = param(default=False, accepts=Flag(), doc=_JUDGED_ONLY)

    def parts(self) -> tuple[Measure, Measure]:
        """The two measures that it is made of."""
        return StRecall(cutoff=self.cutoff), D_nDCG(dcg=self.dcg, cutoff=self.cutoff)

    def value(self, block: Block) -> Values:
        recall, gain = (value_of(m, block) for m in self.parts())
        value = self.gamma * recall.value + (1.0 - self.gamma) * gain.value
        return self.explained(value, block, np.nextafter(0, 1))
