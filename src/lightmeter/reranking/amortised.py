"""Attention that evens out over a sequence of rankings (Biega, Gummadi and Weikum, SIGIR 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.measures.relevance import DCG
from lightmeter.models.users import User
from lightmeter.reranking.base import Draw, Makes, Reordered, Reranker, none_of
from lightmeter.reranking.merits import (
    FILE,
    FILE_DOC,
    MERIT,
    MERIT_DOC,
    NO_MERIT,
    USER_DOC,
    by_rank,
    document_codes,
    merits,
    prepare_merits,
    views,
)
from lightmeter.terms.parameters import Maybe, Number, TermOf, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

#: a ranking that is better by less is the same
SAME = 1e-12
#: how often all queries are answered where there is no sequence
ROUNDS = 10


class Amortised(Reranker, Cutoff):
    """Rankings one after the other, each making up for what documents got too much or too little before.

    The queries are answered in the order of the query sequence, where one is loaded, and queries outside the sequence
    are not answered; without a sequence all are answered in the order of the run. This is done ``rounds`` times. Each
    answer adds to a document its share of the answer's merit, and its share of the answer's attention. The next ranking
    is the one with the least ``sum_d |attention got - merit earned|`` over its documents, of those whose relevance (the
    sum of view times merit) is at least ``quality`` times the best there is. A document is identified by its id, so one
    that several queries rank is compensated in all of them.

    Guarantee: every ranking has at least that quality, and no ranking of that query with at least as much quality as it
    leaves less unfairness at that step. (Between the rankings for which this holds, quality may be more than required.)
    A query in which nothing has merit stays as it is and is named in the result. The answers to a query stand as
    samples 1, 2, .. in the order in which they were given, each of weight 1/(answers to it). Source: Biega, Gummadi and
    Weikum, SIGIR 2018.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> rerank(c, "Amortised(rounds=3, user=DCG, merit='score')").run["doc"].to_list()
    ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']

    A sequence. ``b`` gets less than it earns where it is first ranked, so the next answer puts it first:

    >>> run = {"q": {"a": 1.1, "b": 1.0}, "r": {"c": 1.1, "b": 1.0}}
    >>> for sequence in (["q", "r", "q"], ["r", "q", "q"]):
    ...     new = rerank(load(run=run, sequence=sequence), "Amortised(merit='score')").run
    ...     print(new.filter(rank=1).select("query", "sample", "doc").rows())
    [('q', 1, 'a'), ('q', 2, 'a'), ('r', 1, 'b')]
    [('q', 1, 'b'), ('q', 2, 'a'), ('r', 1, 'c')]
    """

    makes: ClassVar[Makes] = "policy"
    whole_run: ClassVar[bool] = True
    guarantee: ClassVar[str] = "each ranking has the quality asked for, and none of its quality leaves less unfairness"
    rounds: int | None = param(
        default=None,
        accepts=Maybe(Number(low=1, integer=True)),
        doc="how often all queries are answered; None: once through a query sequence, without one 10 times",
    )
    quality: float = param(
        default=0.0, accepts=Number(low=0, high=1), doc="least share of the best relevance of each ranking"
    )
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    merit: str = param(default="score", accepts=MERIT, doc=MERIT_DOC, always=True)
    file: str | None = param(default=None, accepts=FILE, doc=FILE_DOC)

    def check(self) -> None:
        by_rank(self, self.user)

    def prepare(self, context: Context, ranked: Ranked) -> None:
        prepare_merits(self, context, ranked, self.merit, self.file)
        requests = context.collection.requests
        if requests is None and context.collection.query_weight is not None:
            raise LightmeterError(
                f"{self}: the sequence says how often queries are asked, not in which order. Accepted: a file of "
                "requests or a list of query ids, in the order in which they come; or no sequence."
            )
        if requests is not None and not np.isin(requests, ranked.query).any():
            raise LightmeterError(
                f"{self}: the sequence asks for no query of run {ranked.run.name}. Accepted: the same query ids in "
                "both."
            )

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        merit, view = merits(block, self.merit, self.file), views(self.user, block, self.cutoff)
        code = document_codes(block.ranked)[block.rows]
        owed = np.zeros(int(code.max(initial=-1)) + 1)
        some = merit.sum(axis=1) > 0
        answered = self._answered(block)
        order = np.full((len(answered), block.shape[1]), -1, dtype=np.int64)
        for number, row in enumerate(answered):
            n = int(block.length[row])
            docs, worth, by_rank_view = code[row, :n], merit[row, :n], view[row, :n]
            attention = by_rank_view / max(float(by_rank_view.sum()), 1e-300)
            ranking = np.arange(n)
            if some[row]:
                owed[docs] += worth / worth.sum()
                ranking = next_ranking(owed[docs], worth, by_rank_view, attention, self.quality)
            owed[docs[ranking]] -= attention
            order[number, :n] = ranking
        times = np.bincount(answered, minlength=len(some))
        why = none_of(len(some))
        why[~some & (times > 0)] = NO_MERIT
        by_query = np.argsort(answered, kind="stable")
        origin = answered[by_query]
        return Reordered(order[by_query], origin, why, 1.0 / times[origin])

    def _answered(self, block: Block) -> Integers:
        """The number in the block of the ranking that each answer comes from, in the order of the answers."""
        requests, rankings = block.context.collection.requests, np.arange(block.shape[0])
        if requests is None:
            return np.tile(rankings, self.rounds or ROUNDS)
        row = np.full(len(block.context.collection.queries), -1, dtype=np.int64)
        row[block.query] = rankings
        answers = row[requests]
        return np.tile(answers[answers >= 0], self.rounds or 1)


def next_ranking(owed: Floats, merit: Floats, view: Floats, attention: Floats, quality: float) -> Integers:
    """The ranking of at least some quality that leaves the least owed.

    Parameters
    ----------
    owed
        ``[n]``: attention that each document should have by now, less what it got.
    merit, view, attention
        ``[n]``: of the documents, and of the ranks (``attention``: the view's share of all).
    quality
        Least share of the largest ``sum view merit``.

    Returns
    -------
    array
        ``[n]``: the document at each rank.

    Examples
    --------
    >>> view = np.array([1.0, 0.5])
    >>> next_ranking(np.array([0.1, 0.9]), np.array([2.0, 1.0]), view, view / 1.5, quality=0.0).tolist()
    [1, 0]
    >>> next_ranking(np.array([0.1, 0.9]), np.array([2.0, 1.0]), view, view / 1.5, quality=0.9).tolist()
    [0, 1]
    """
    # the document that is owed most gets the rank of most attention: both sorted is the least sum of distances
    by_attention = np.argsort(-attention, kind="stable")
    evenest = np.empty(len(owed), dtype=np.int64)
    evenest[by_attention] = np.argsort(-owed, kind="stable")
    best = np.empty(len(owed), dtype=np.int64)
    best[by_attention] = np.argsort(-merit, kind="stable")
    most = float(view @ merit[best])

    def of(ranking: Integers) -> tuple[float, float]:
        return float(np.abs(owed[ranking] - attention).sum()), float(view @ merit[ranking]) / most

    (unfair_low, low), (unfair_high, high) = of(evenest), of(best)
    if low >= quality - SAME:
        return evenest
    from scipy.optimize import linear_sum_assignment

    distance, gain = np.abs(owed[None, :] - attention[:, None]), np.outer(view, merit) / most
    # two rankings, one of too little quality and one of enough, and the price of quality at which both are worth the
    # same: a ranking worth more at that price replaces one of the two
    while high - low > SAME:
        price = (unfair_high - unfair_low) / (high - low)
        ranking = np.asarray(linear_sum_assignment(distance - price * gain)[1], dtype=np.int64)
        unfair, value = of(ranking)
        if unfair - price * value >= unfair_high - price * high - SAME:
            break
        if value >= quality - SAME:
            best, unfair_high, high = ranking, unfair, value
        else:
            unfair_low, low = unfair, value
    return best
