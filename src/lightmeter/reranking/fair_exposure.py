"""Exposure shared out between groups as their merit asks for (Singh and Joachims, KDD 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats, Objects
from lightmeter.measures.base import BY
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.relevance import DCG
from lightmeter.models.targets import Uniform
from lightmeter.models.users import User
from lightmeter.reranking.base import Draw, Makes, Reordered, Reranker, none_of
from lightmeter.reranking.columns import FILE, FILE_DOC
from lightmeter.reranking.merits import MERIT, MERIT_DOC, NO_MERIT, USER_DOC, by_rank, merits, prepare_merits, seen
from lightmeter.reranking.mixed import Mixture, best_mixtures
from lightmeter.terms.parameters import Choice, TermOf, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

#: a constraint counts as met when exposures are no further apart than that part of the first rank's view
MET = 1e-6


class FairExposure(Reranker, Cutoff):
    """The most relevant policy whose groups get equal exposure, or exposure in proportion to their merit.

    ``constraint='parity'``: the groups' mean exposures are equal; ``'treatment'``: mean exposure divided by mean merit
    is; ``'impact'``: mean of exposure times merit divided by mean merit is. Relevance is the sum of exposure times
    merit; merits below 0 are refused where they are divided by, and taken for parity. Groups are those of the query's
    documents; a document of several values counts in each, a share counts as such, and one of unknown value in none.

    This is the linear programme over doubly stochastic matrices of documents and ranks. It is solved over rankings
    instead, which are that set's corners: columns are added until none improves it (HiGHS solves the programmes of
    more than two groups), and the solution comes as a mixture of no more rankings than there are groups, so no matrix
    has to be taken apart.

    Guarantee: each query's policy meets the constraint, and none that does is more relevant. Where none can (a group so
    good that even all first ranks are too little, for instance) it comes as near as can be, and the query is told; a
    group without merit has no ratio, takes no part in treatment and impact, and is told. Source: Singh and Joachims,
    KDD 2018.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
    >>> made = rerank(c, "FairExposure(by='gender', constraint='parity', user=DCG)").run
    >>> made.select("doc", "rank", made["weight"].round(3)).rows()
    [('a', 1, 0.785), ('c', 2, 0.785), ('b', 3, 0.785), ('c', 1, 0.215), ('a', 2, 0.215), ('b', 3, 0.215)]
    """

    makes: ClassVar[Makes] = "policy"
    guarantee: ClassVar[str] = "the groups' exposure meets the constraint, with the most relevance that can be"
    by: str = param(accepts=BY, doc="attribute whose groups share exposure; several: their intersections")
    constraint: Literal["parity", "treatment", "impact"] = param(
        accepts=Choice(("parity", "treatment", "impact")), doc="what is equal between the groups"
    )
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    merit: str = param(default="score", accepts=MERIT, doc=MERIT_DOC, always=True)
    file: str | None = param(default=None, accepts=FILE, doc=FILE_DOC)

    def check(self) -> None:
        by_rank(self, self.user)

    def prepare(self, context: Context, ranked: Ranked) -> None:
        context.collection.attribute(self.attribute)
        prepare_merits(self, context, ranked, self.merit, self.file, signed=self.constraint == "parity")

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        merit = merits(block, self.merit, self.file)
        view = seen(self.user, block, self.cutoff)
        rows, why = self._rows(block, merit)
        if self.constraint != "parity":
            some = merit.max(axis=1, initial=0.0) > 0
            why[~some] = NO_MERIT
            rows[~some] = 0.0
        made = best_mixtures(merit, rows, view, block.valid)
        self._tell(made, rows, view, why)
        return Reordered(made.order, made.origin, why, made.weight)

    def _rows(self, block: Block, merit: Floats) -> tuple[Floats, Objects]:
        """``[rankings, constraints, ranks]``: weights of exposures whose sums have to be 0, and groups left out."""
        m = block.membership(self.attribute)
        columns = m.columns(distribution(block.context, Uniform(), self.attribute, block.ranked.run.name), block.query)
        rankings, ranks = block.shape
        share = np.zeros((rankings, columns.width, ranks))
        full = m.weight if m.multi is None else m.weight * m.multi
        share[m.ranking, columns.column, m.rank] = full
        size = share.sum(axis=2)
        worth = (share * merit[:, None, :]).sum(axis=2)
        part = size > 0
        why = none_of(rankings)
        if self.constraint != "parity":
            for row in np.flatnonzero((part & (worth <= 0)).any(axis=1)).tolist():
                column = int(np.flatnonzero(part[row] & (worth[row] <= 0))[0])
                label = column if columns.labels is None else int(columns.labels[row, column])
                why[row] = f"{self.attribute} {m.attribute.values[label]!r} has no merit, so its ratio has no value"
            part &= worth > 0
        each = np.where(part, size if self.constraint == "parity" else worth, 1.0)
        weights = np.where(part[:, :, None], share / each[:, :, None], 0.0)
        if self.constraint != "parity":  # in units of exposure
            mean = np.divide(worth.sum(axis=1), size.sum(axis=1), out=np.ones(rankings), where=size.sum(axis=1) > 0)
            weights *= mean[:, None, None]
        if self.constraint == "impact":
            largest = merit.max(axis=1, initial=0.0)
            weights = weights * (merit / np.where(largest > 0, largest, 1.0)[:, None])[:, None, :]
        return _against_first(weights, part), why

    def _tell(self, made: Mixture, rows: Floats, view: Floats, why: Objects) -> None:
        apart = np.abs(np.einsum("qcn,qn->qc", rows, made.exposure)).max(axis=1, initial=0.0)
        for row in np.flatnonzero(apart > MET * np.maximum(view.max(axis=1, initial=0.0), 1e-300)).tolist():
            told = f"no policy meets the constraint of {self.constraint}: exposures stay {apart[row]:.3g} apart at best"
            why[row] = told if why[row] is None else f"{why[row]}; {told}"


def _against_first(weights: Floats, part: Booleans) -> Floats:
    """Each group's weights less those of the first group that takes part; constraints that ask nothing stand last."""
    order = np.argsort(~part, axis=1, kind="stable")
    weights = np.take_along_axis(weights, order[:, :, None], axis=1)
    part = np.take_along_axis(part, order, axis=1)
    rows = np.where(part[:, 1:, None], weights[:, 1:] - weights[:, :1], 0.0)
    return rows[:, : max(int(part.sum(axis=1).max(initial=0)) - 1, 0)]
