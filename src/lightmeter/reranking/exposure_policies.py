"""Policies that share out exposure: between groups as their merit requires, or at the best trade with relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.errors import TermError
from lightmeter.exposure.expohedron import decompose_exposure, project, ranked_views
from lightmeter.exposure.frontier import Frontier, frontiers
from lightmeter.measures.base import BY
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.ratios import DIR, DTR, ExposureRatio
from lightmeter.measures.relevance import DCG, RBP
from lightmeter.measures.target_exposure import target_exposure
from lightmeter.models.targets import Ideal, Uniform
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
    merits,
    prepare_merits,
    views,
)
from lightmeter.reranking.mixtures import Mixture, best_mixtures
from lightmeter.terms.parameters import Choice, Maybe, Number, TermOf, Text, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context


#: a constraint counts as met when exposures differ by no more than this share of the first rank's view
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
    good that even all first ranks are too little, for instance) it comes as near as can be, and the result names the
    query; a group without merit has no ratio, takes no part in treatment and impact, and is named. Source: Singh and
    Joachims, KDD 2018.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
    >>> new = rerank(c, "FairExposure(by='gender', constraint='parity', user=DCG)").run
    >>> new.select("doc", "rank", new["weight"].round(3)).rows()
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

    def fairness_measures(self, judged: bool) -> list[Any]:
        exposure: list[Any] = [ExposureRatio(by=self.by, user=self.user, cutoff=self.cutoff)]
        if not judged or self.merit != "grade" or self.constraint == "parity":
            return exposure
        ratio = DTR if self.constraint == "treatment" else DIR
        return [*exposure, ratio(by=self.by, user=self.user, docs="ranked", cutoff=self.cutoff)]

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        merit = merits(block, self.merit, self.file)
        view = views(self.user, block, self.cutoff)
        rows, why = self._rows(block, merit)
        if self.constraint != "parity":
            some = merit.max(axis=1, initial=0.0) > 0
            why[~some] = NO_MERIT
            rows[~some] = 0.0
        mixture = best_mixtures(merit, rows, view, block.valid)
        self._add_violations(mixture, rows, view, why)
        return Reordered(mixture.order, mixture.origin, why, mixture.weight)

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

    def _add_violations(self, mixture: Mixture, rows: Floats, view: Floats, why: Objects) -> None:
        distance = np.abs(np.einsum("qcn,qn->qc", rows, mixture.exposure)).max(axis=1, initial=0.0)
        for row in np.flatnonzero(distance > MET * np.maximum(view.max(axis=1, initial=0.0), 1e-300)).tolist():
            text = (
                f"no policy meets the constraint of {self.constraint}: exposures stay {distance[row]:.3g} apart at best"
            )
            why[row] = text if why[row] is None else f"{why[row]}; {text}"


def _against_first(weights: Floats, part: Booleans) -> Floats:
    """Each group's weights less those of the first group that takes part; empty constraints stand last."""
    order = np.argsort(~part, axis=1, kind="stable")
    weights = np.take_along_axis(weights, order[:, :, None], axis=1)
    part = np.take_along_axis(part, order, axis=1)
    rows = np.where(part[:, 1:, None], weights[:, 1:] - weights[:, :1], 0.0)
    return rows[:, : max(int(part.sum(axis=1).max(initial=0)) - 1, 0)]


_PART = Maybe(Number(low=0, high=1))
#: rankings less likely than that are left out: n of them change no exposure by 1e-10
THIN = 1e-14


class ExposureOptimal(Reranker, Cutoff):
    """The policy that shares exposure out most evenly at a relevance, or is most relevant at a disparity.

    Disparity is EED, the sum of squared exposures; relevance is the sum of exposure times target exposure (EER), where
    the target is the ideal one of the judgments (``merit='ideal'``), or the merit itself (``'score'``, ``'grade'``, a
    column). One of the two is chosen: ``floor``, a relevance of at least that share of the best there is, or ``cap``, a
    disparity of at most that part of the way from the uniform policy to a fixed ranking. Without either, with
    ``merit='ideal'``, the least expected exposure loss (EEL) there is.

    Guarantee: each query's policy keeps the floor (or cap), and no policy that does has less disparity (or more
    relevance). It is a mixture of at most n rankings of n documents, with their probabilities. A query in which nothing
    has merit stays as it is and is named in the result. Source: the projection onto the expohedron, see
    ``frontier_exposure``.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 2.0, "b": 1.0}})
    >>> new = rerank(c, "ExposureOptimal(merit='score', floor=0.9, user=RBP(p=0.5))").run
    >>> new.select("doc", "rank", new["weight"].round(3)).rows()
    [('b', 1, 0.5), ('a', 2, 0.5), ('a', 1, 0.5), ('b', 2, 0.5)]
    """

    makes: ClassVar[Makes] = "policy"
    guarantee: ClassVar[str] = "the floor or cap is kept, with the least disparity or the most relevance that can be"
    user: User = param(default=RBP(p=0.5), accepts=TermOf("user"), doc=USER_DOC, always=True)
    merit: str = param(
        default="ideal",
        accepts=Text("'ideal', 'score', 'grade', or a column's name"),
        doc="target exposure: ideal by the judgments, or in proportion to a number from 0",
        always=True,
    )
    floor: float | None = param(default=None, accepts=_PART, doc="least share of the best relevance")
    cap: float | None = param(default=None, accepts=_PART, doc="most disparity: 0 uniform, 1 a fixed ranking")
    file: str | None = param(default=None, accepts=FILE, doc=FILE_DOC)

    def check(self) -> None:
        by_rank(self, self.user)
        if self.floor is not None and self.cap is not None:
            raise TermError(f"{self}: both floor and cap are given. Accepted: one of them.")
        if self.merit != "ideal" and self.floor is None and self.cap is None:
            raise TermError(f"{self}: merits of no scale need a floor or a cap. Accepted: such as floor=0.9.")

    def prepare(self, context: Context, ranked: Ranked) -> None:
        prepare_merits(self, context, ranked, self.merit, self.file)

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        target = np.where(block.valid, self._target(block), np.nan)
        ranks = block.shape[1]
        view = self.user.view_at(np.arange(1.0, min(ranks, self.cutoff or ranks) + 1))
        some = np.nanmax(target, axis=1, initial=0.0) > 0
        lines = frontiers(target, view)
        static = (ranked_views(view, block.length, ranks) ** 2).sum(axis=1)
        scale = np.array([self._scale(line, most) for line, most in zip(lines, static.tolist(), strict=True)])
        oracle = scale >= [line.scale[-1] if len(line.scale) else np.inf for line in lines]
        nearby = np.where(oracle, 0.0, scale)[:, None] * target
        exposure = project(np.where(oracle[:, None], _apart(target, 2.0 * (view.max() + 1.0)), nearby), view)
        orders, weights, origin = [], [], []
        for row in range(len(target)):
            n = int(block.length[row])
            if some[row]:
                rankings, weight = decompose_exposure(exposure[row, :n], view, tol=1e-6)
                keep = weight > THIN
                rankings, weight = rankings[keep], weight[keep] / weight[keep].sum()
            else:
                rankings, weight = np.arange(n)[None, :], np.ones(1)
            orders.append(_padded(rankings, ranks))
            weights.append(weight)
            origin.append(np.full(len(weight), row))
        why = none_of(len(target))
        why[~some] = NO_MERIT
        return Reordered(np.concatenate(orders), np.concatenate(origin), why, np.concatenate(weights))

    def _target(self, block: Block) -> Floats:
        if self.merit != "ideal":
            return merits(block, self.merit, self.file)
        context = block.context
        wanted = context.once(
            ("target", Ideal(), self.user, self.cutoff),
            lambda: target_exposure(context, Ideal(), self.user, self.cutoff),
        )
        return np.asarray(np.append(wanted.judged, 0.0)[block.judgment])

    def _scale(self, line: Frontier, static: float) -> float:
        """How far along the frontier: s of the point that floor or cap selects."""
        if self.floor is None and self.cap is None:
            return 1.0
        if not len(line.scale):
            return 0.0  # one point: all targets are alike
        if self.cap is not None:
            return float(line.scale_at(line.x + self.cap * (static - line.x)))
        # relevance is linear in s between splits
        y = line.points(line.scale)[1]
        return float(np.interp((self.floor or 0.0) * line.end[1], np.append(line.y, y), np.append(0.0, line.scale)))


def _apart(target: Floats, step: float) -> Floats:
    """Targets in the same order, different ones so far apart that their projection is the oracle's exposure."""
    order = np.argsort(target, axis=1, kind="stable")
    rising = np.take_along_axis(target, order, axis=1)
    steps = np.zeros(target.shape)
    steps[:, 1:] = np.cumsum(rising[:, 1:] > rising[:, :-1], axis=1)
    out = np.empty(target.shape)
    np.put_along_axis(out, order, np.where(np.isnan(rising), np.nan, step * steps), axis=1)
    return out


def _padded(rankings: Integers, ranks: int) -> Integers:
    out = np.full((len(rankings), ranks), -1, dtype=np.int64)
    out[:, : rankings.shape[1]] = rankings
    return out
