"""Attention that evens out over a sequence of rankings (Biega, Gummadi and Weikum, SIGIR 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from lightmeter.measures.gains import DCG
from lightmeter.params import Number, TermOf, param
from lightmeter.reranking.base import Draw, Index, Makes, Reordered, Reranker, none_of
from lightmeter.reranking.columns import FILE, FILE_DOC
from lightmeter.reranking.merits import (
    MERIT,
    MERIT_DOC,
    NO_MERIT,
    USER_DOC,
    by_rank,
    document_codes,
    merits,
    prepare_merits,
    seen,
)
from lightmeter.terms import Cutoff
from lightmeter.users import User

if TYPE_CHECKING:
    from lightmeter.block import Block
    from lightmeter.context import Context
    from lightmeter.rankings import Ranked

Array = NDArray[np.float64]
#: a ranking that is better by less is the same
SAME = 1e-12


class Amortised(Reranker, Cutoff):
    """Rankings one after the other, each making up for what documents got too much or too little before.

    The queries are answered ``rounds`` times, in the order of the run. Each answer adds to a document its share of the
    answer's merit, and its share of the answer's attention. The next ranking is the one with the least
    ``sum_d |attention got - merit earned|`` over its documents, of those whose relevance (the sum of view times merit)
    is at least ``quality`` times the best there is. Documents are told by their ids, so one that several queries
    rank is made up for in all of them.

    Guarantee: every ranking has the quality asked for, and no ranking of that query with at least as much quality as it
    leaves less unfairness at that step. (Between the rankings for which this holds, quality may be more than asked
    for.) A query in which nothing has merit stays as it is, which is told. The rounds stand as samples 1, 2, .. in this
    order, each of weight 1/rounds. Source: Biega, Gummadi and Weikum, SIGIR 2018.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> rerank(c, "Amortised(rounds=3, user=DCG, merit='score')").run["doc"].to_list()
    ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']
    """

    makes: ClassVar[Makes] = "policy"
    whole_run: ClassVar[bool] = True
    guarantee: ClassVar[str] = "each ranking has the quality asked for, and none of its quality leaves less unfairness"
    rounds: int = param(default=10, accepts=Number(low=1, integer=True), doc="times every query is answered")
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

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        merit, view = merits(block, self.merit, self.file), seen(self.user, block, self.cutoff)
        code = document_codes(block.ranked)[block.rows]
        owed = np.zeros(int(code.max(initial=-1)) + 1)
        rankings, ranks = block.shape
        some = merit.sum(axis=1) > 0
        order = np.full((rankings, self.rounds, ranks), -1, dtype=np.int64)
        for number in range(self.rounds):
            for row in range(rankings):
                n = int(block.length[row])
                docs, worth, seen_at = code[row, :n], merit[row, :n], view[row, :n]
                attention = seen_at / max(float(seen_at.sum()), 1e-300)
                place = np.arange(n)
                if some[row]:
                    owed[docs] += worth / worth.sum()
                    place = next_ranking(owed[docs], worth, seen_at, attention, self.quality)
                owed[docs[place]] -= attention
                order[row, number, :n] = place
        why = none_of(rankings)
        why[~some] = NO_MERIT
        made = rankings * self.rounds
        return Reordered(
            order.reshape(made, ranks),
            np.repeat(np.arange(rankings), self.rounds),
            why,
            np.full(made, 1.0 / self.rounds),
        )


def next_ranking(owed: Array, merit: Array, view: Array, attention: Array, quality: float) -> Index:
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
    # what is owed most goes where most attention is: both sorted is the least sum of distances
    by_attention = np.argsort(-attention, kind="stable")
    evenest = np.empty(len(owed), dtype=np.int64)
    evenest[by_attention] = np.argsort(-owed, kind="stable")
    best = np.empty(len(owed), dtype=np.int64)
    best[by_attention] = np.argsort(-merit, kind="stable")
    most = float(view @ merit[best])

    def of(ranking: Index) -> tuple[float, float]:
        return float(np.abs(owed[ranking] - attention).sum()), float(view @ merit[ranking]) / most

    (unfair_low, low), (unfair_high, high) = of(evenest), of(best)
    if low >= quality - SAME:
        return evenest
    from scipy.optimize import linear_sum_assignment

    distance, gain = np.abs(owed[None, :] - attention[:, None]), np.outer(view, merit) / most
    # two rankings, one of too little quality and one of enough, and the price of quality at which both are worth the
    # same: whatever is worth more at that price takes the place of one of the two
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
