"""The policy of a point on the frontier of relevance and disparity."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import TermError
from lightmeter.exposure.expohedron import decompose_exposure, project, ranked_views
from lightmeter.exposure.frontier import Frontier, frontiers
from lightmeter.measures.relevance import RBP
from lightmeter.measures.target_exposure import target_exposure
from lightmeter.models.targets import Ideal
from lightmeter.models.users import User
from lightmeter.reranking.base import Draw, Makes, Reordered, Reranker, none_of
from lightmeter.reranking.columns import FILE, FILE_DOC
from lightmeter.reranking.merits import NO_MERIT, USER_DOC, by_rank, merits, prepare_merits
from lightmeter.terms.parameters import Maybe, Number, TermOf, Text, param
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

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
    has merit stays as it is, which is told. Source: the projection onto the expohedron, see ``frontier_exposure``.

    Examples
    --------
    >>> from lightmeter import load, rerank
    >>> c = load(run={"q": {"a": 2.0, "b": 1.0}})
    >>> made = rerank(c, "ExposureOptimal(merit='score', floor=0.9, user=RBP(p=0.5))").run
    >>> made.select("doc", "rank", made["weight"].round(3)).rows()
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
        """How far along the frontier: s of the point that is asked for."""
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
