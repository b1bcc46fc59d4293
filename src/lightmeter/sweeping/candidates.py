"""Candidate lists side by side: the EED and EER of their expected exposure, of documents or of groups, and the units
of a curve in which they count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers, Objects
from lightmeter.data.attributes import Attribute
from lightmeter.data.rankings import Ranked
from lightmeter.data.values import sum_by
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.target_exposure import (
    TargetExposure,
    group_square,
    group_targets,
    levels,
    spread_unknown,
    target_exposure,
)
from lightmeter.models.targets import Ideal
from lightmeter.models.users import User

NO_RANGE = "no_disparity_range"
#: Differences of EED below this share of it are rounding.
ROUNDING = 1e-12


def unset(reason: Objects) -> Booleans:
    """Where there is no reason."""
    return np.equal(reason, None).astype(np.bool_)  # type: ignore[call-overload]


@dataclass(frozen=True)
class Scale:
    """Units of the queries of one run for one user, all arrays ``[queries]``.

    Attributes
    ----------
    uniform, static
        EED of the uniform policy and of the ranking as given; NaN where the run has no ranking.
    most
        EER of the judged ideal.
    reason
        Why a query is left out of the mean curve; None where it counts. ``not_in_run`` may count, with relevance 0.
    missing
        Queries that the run does not answer and that count.
    weight
        Weight of each query in means.
    of_means
        Whether disparity is taken of the mean EED (Cascade, ERR, groups) instead of averaged (users who know the rank
        only).
    """

    uniform: Floats
    static: Floats
    most: Floats
    reason: Objects
    missing: Booleans
    weight: Floats
    of_means: bool

    @property
    def answered(self) -> Booleans:
        """Queries that count and have a ranking."""
        return unset(self.reason)

    @property
    def counted(self) -> Booleans:
        """Queries that count: the answered, and those missing that count as 0."""
        return self.answered | self.missing

    @property
    def ranged(self) -> Booleans:
        """Queries whose own disparity has a range."""
        with np.errstate(invalid="ignore"):
            return self.static - self.uniform > ROUNDING * np.abs(self.static)

    def disparity(self, eed: Floats) -> Floats:
        """x of each query ``[queries, ..]``: NaN where it has no range."""
        low, wide = np.where(self.ranged, self.uniform, np.nan), self.static - self.uniform
        shape = (-1,) + (1,) * (eed.ndim - 1)
        return (eed - low.reshape(shape)) / np.where(self.ranged, wide, 1.0).reshape(shape)

    def relevance(self, eer: Floats) -> Floats:
        """y of each query ``[queries, ..]``: NaN without relevant documents, 0 where a missing query counts."""
        most = np.where(self.most > 0, self.most, np.nan).reshape((-1,) + (1,) * (eer.ndim - 1))
        out = eer / most
        out[self.missing] = 0.0
        return out

    def mean_curve(self, eed: Floats, eer: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
        """x and y of the mean curve.

        Parameters
        ----------
        eed, eer
            ``[queries, points]``.
        counts
            ``[means, queries]``: how often each query counts; by default once, and one curve.

        Returns
        -------
        x, y
            ``[points]``, or ``[means, points]``.
        """
        here, all_ = self.answered, self.counted
        times = (np.ones((1, len(self.weight))) if counts is None else counts) * self.weight
        mine, whole = times[:, here], times[:, all_]
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = 1.0 / mine.sum(axis=1, keepdims=True)
            if self.of_means:
                low, high = (mine @ v[here] * inner[:, 0] for v in (self.uniform, self.static))
                x = self.rescaled(mine @ eed[here] * inner, low[:, None], high[:, None])
            else:
                x = mine @ self.disparity(eed)[here] * inner
            y = whole @ self.relevance(eer)[all_] / whole.sum(axis=1, keepdims=True)
        return (x[0], y[0]) if counts is None else (x, y)

    def all_curves(self, eed: Floats, eer: Floats) -> tuple[Floats, Floats]:
        """x and y ``[1 + queries, points]`` of the mean curve and of the queries' own, of those that are answered."""
        x, y = self.mean_curve(eed, eer)
        here = self.answered
        return np.vstack([x, self.disparity(eed)[here]]), np.vstack([y, self.relevance(eer)[here]])

    @staticmethod
    def rescaled(eed: Floats, low: Floats, high: Floats) -> Floats:
        """x of mean EED between means of uniform and static; NaN where there is no range."""
        ranged = high - low > ROUNDING * np.abs(high)
        return np.where(ranged, (eed - low) / np.where(ranged, high - low, 1.0), np.nan)


@dataclass(frozen=True)
class Items:
    """What exposure is counted for: groups of a block's documents.

    Attributes
    ----------
    query
        ``[items]``: row of the block each belongs to, ascending.
    gather
        Sparse ``[items, positions]``: membership of the documents at the block's positions.
    target
        ``[items]``: target exposure.
    """

    query: Integers
    gather: Any
    target: Floats


class Candidates:
    """Some rankings of a run in rank order, with the targets of one user.

    Parameters
    ----------
    context, ranked
        The call and the run.
    rankings
        Which of its rankings.
    user, cutoff
        The user model.
    bys
        None for documents, or attributes.
    """

    def __init__(
        self,
        context: Context,
        ranked: Ranked,
        rankings: Integers,
        user: User,
        cutoff: int | None,
        bys: list[str | None],
    ) -> None:
        self.context, self.ranked, self.rankings = context, ranked, rankings
        self.user, self.cutoff, self.bys = user, cutoff, bys
        self.block = Block(context, ranked, rankings)
        self.score, self.grade, self.query = self.block.score, self.block.grade, self.block.query
        self.lengths: Integers = self.block.valid.sum(axis=1)
        goal = target_exposure(context, Ideal(), user, cutoff)
        self.target: Floats = np.append(goal.judged, 0.0)[self.block.judgment]
        self.items = {by: self._groups(context, goal, by) for by in bys if by is not None}

    def part(self, start: int, stop: int) -> Candidates:
        """Some of the lists."""
        some = self.rankings[start:stop]
        return (
            self
            if len(some) == len(self.rankings)
            else Candidates(self.context, self.ranked, some, self.user, self.cutoff, self.bys)
        )

    def squares(self, exposure: Floats, by: str | None) -> tuple[Floats, Floats]:
        """EED and EER of each ranking.

        Parameters
        ----------
        exposure
            ``[rankings, n]``.
        by
            None for documents, or an attribute.
        """
        if by is None:
            return np.einsum("qn,qn->q", exposure, exposure), np.einsum("qn,qn->q", exposure, self.target)
        items = self.items[by]
        xi = items.gather @ exposure.ravel()
        return sum_by(items.query, xi**2, len(exposure)), sum_by(items.query, xi * items.target, len(exposure))

    def _groups(self, context: Context, goal: TargetExposure, by: str) -> Items:
        """The groups of relevant documents."""
        from scipy.sparse import csr_array

        block = self.block
        attribute = context.collection.attribute(by)
        position = np.flatnonzero((block.valid & (block.grade > 0)).ravel())
        row = block.rows.ravel()[position]
        entry = block.ranked.member_row(by)[row]
        at, value, weight = spread_unknown(
            context, attribute, entry, position, np.ones(len(position)), block.ranked.run.doc.gather(row)
        )
        query, group, xi = self._targets(context, attribute, goal)
        size = np.int64(max(value.max(initial=0), group.max(initial=0)) + 1)
        keys, item = np.unique((at // max(block.shape[1], 1)) * size + value, return_inverse=True)
        total = np.zeros(len(keys) + 1)
        wanted = query * size + group
        found = np.searchsorted(keys, wanted)
        hit = np.append(keys, -1)[found] == wanted
        np.add.at(total, found[hit], xi[hit])
        gather = csr_array((weight, (item, at)), shape=(len(keys), block.valid.size))
        return Items(keys // size, gather, total[:-1])

    def _targets(
        self, context: Context, attribute: Attribute, goal: TargetExposure
    ) -> tuple[Integers, Integers, Floats]:
        """(row of the block, value, target exposure) of the groups of the block's queries."""
        query, value, xi = context.once(
            ("group targets of a sweep", attribute.name, id(goal)),
            lambda: group_targets(context, attribute, goal, only_relevant=True),
        )
        row = np.full(len(context.collection.queries), -1)
        row[self.query] = np.arange(len(self.query))
        mine = row[query] >= 0
        return row[query[mine]], value[mine], xi[mine]


@dataclass(frozen=True)
class JudgedIdeal:
    """The relevance of the judged ideal of each query, which no ranking of a run changes.

    Attributes
    ----------
    most
        ``[queries]``: the relevance of the judged ideal, by which relevance is divided.
    reason
        Why a query has none; None where it has.
    """

    most: Floats
    reason: Objects


def judged_ideal(context: Context, user: User, cutoff: int | None, by: str | None) -> JudgedIdeal:
    """The relevance of the judged ideal, for all queries of the collection.

    Documents: the largest EER of any ranking of the corpus, which is ``||eps*||^2`` for users who know the rank only
    and see less further down. Groups: that of the ideal itself, ``||xi*||^2``.
    """
    from lightmeter.exposure.bounds import bounds

    goal = target_exposure(context, Ideal(), user, cutoff)
    if by is not None:
        most = group_square(context, context.collection.attribute(by), goal, only_relevant=True)
    else:
        level = levels(context)
        most = bounds("EER", user, level.gain, level.count, cutoff=cutoff)[1]
    reason = goal.reason.copy()
    if by is not None and context.unknown != "distinct":
        lost = unset(reason) & ~(most > 0)
        reason[lost] = "no_known_member"
    return JudgedIdeal(most, reason)
