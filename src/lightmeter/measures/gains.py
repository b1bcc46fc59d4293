"""Relevance as a sum of gains: DCG, nDCG and RBP, which are linear in exposure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.data.values import Values
from lightmeter.measures.base import no_relevant
from lightmeter.measures.block import Block
from lightmeter.measures.relevance import ANY, JUDGED_ONLY, REL, REL_DOC, RelevanceMeasure, cut
from lightmeter.models.users import DCGUser, RBPUser, User
from lightmeter.terms.parameters import Choice, Flag, MapOf, Maybe, Number, param

if TYPE_CHECKING:
    from lightmeter.models.policies import Policy


class LinearMeasure(RelevanceMeasure, abstract=True):
    """Base of relevance measures that are linear in exposure: ``sum_d worth_d view_d``.

    Under a policy the expected value follows from expected exposure, without sampling.
    """

    linear = True

    def reader(self) -> User:
        """The user whose view weighs the ranks."""
        raise NotImplementedError

    def worth(self, block: Block) -> Floats:
        """What each document is worth when it is seen, ``[rankings, ranks]``."""
        raise NotImplementedError

    def relevant_from(self) -> float:
        """Lowest grade of a relevant document."""
        return ANY

    def exactly_under(self, policy: Policy) -> bool:
        from lightmeter.exposure.policy import is_exact

        return is_exact(policy, self.reader()) and not getattr(self, "judged_only", False)

    def expected(self, block: Block) -> Values:
        """The expected value under the call's policy."""
        seen = block.exposure(self.reader(), self.cutoff)
        return no_relevant((self.worth(block) * seen).sum(axis=1), block.count_relevant(self.relevant_from()))


Gain = Literal["log2", "exp-log2"]
_GAIN = Choice(("log2", "exp-log2"))
_GAIN_DOC = "'log2': the gain is the grade; 'exp-log2': 2^grade - 1"


def _gain(grade: Floats, form: Gain) -> Floats:
    return np.exp2(grade) - 1.0 if form == "exp-log2" else grade


def _dcg(grade: Floats, form: Gain, discount: Floats) -> Floats:
    return np.asarray(_gain(grade, form) @ discount[: grade.shape[1]])


class DCG(LinearMeasure, DCGUser):
    """Discounted cumulative gain: ``sum_{i<=k} gain_i / log2(i + 1)``.

    At least 0, higher is better. As a user model: ``view_k = 1/log2(k+1)``; ``clip=True`` is ``1/log_base(max(k,
    base))``, the form of the TREC
    Fair Ranking track. Source: Järvelin and Kekäläinen 2002; trec_eval's discount.

    Examples
    --------
    >>> from lightmeter import DCG, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 2, "c": 2}})
    >>> evaluate(c, [DCG]).mean()["value"].to_list()
    [3.0]
    """

    kinds = ("measure", "user")
    bounds = (0.0, np.inf)
    clip: bool = param(default=False, accepts=Flag(), doc="count ranks below the base as the base", always=True)
    base: float = param(default=2.0, accepts=Number(above=1), doc="base of the logarithm of the clip form")
    dcg: Gain = param(default="log2", accepts=_GAIN, doc=_GAIN_DOC)

    def value(self, block: Block) -> Values:
        gain = np.asarray(cut(block.grade, self.cutoff), dtype=np.float64)
        discount = self.view_at(np.arange(1.0, gain.shape[1] + 1))
        return no_relevant(_dcg(gain, self.dcg, discount), block.count_relevant(ANY))

    def reader(self) -> User:
        return DCG(clip=self.clip, base=self.base)

    def worth(self, block: Block) -> Floats:
        return _gain(block.grade, self.dcg)


class nDCG(LinearMeasure):
    """Normalised DCG: ``DCG@k / ideal DCG@k``, the ideal over all judged documents, ranked or not.

    In [0, 1], higher is better. ``dcg='log2'``: the gain is the grade (trec_eval's); ``'exp-log2'``: 2^grade - 1.
    Source: trec_eval (ndcg, ndcg_cut).

    Examples
    --------
    >>> from lightmeter import evaluate, load, nDCG
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "c": 2}})
    >>> round(evaluate(c, [nDCG@10]).mean()["value"].item(), 6)
    0.760188
    """

    dcg: Gain = param(default="log2", accepts=_GAIN, doc=_GAIN_DOC)
    gains: dict[int, int] | None = param(
        default=None,
        accepts=Maybe(MapOf(Number(integer=True), Number(low=0))),
        doc="gains to use for some grades, such as {1: 1, 2: 3}; others keep theirs",
    )
    judged_only: bool = param(default=False, accepts=Flag(), doc=JUDGED_ONLY)

    def value(self, block: Block) -> Values:
        gain = self._grades(block, self.cutoff)
        best = self._best(block)
        discount = 1.0 / np.log2(np.arange(2.0, gain.shape[1] + 2))
        value = _dcg(gain, self.dcg, discount) / np.where(best > 0, best, 1.0)
        return no_relevant(value, (best > 0).astype(np.int64))

    def reader(self) -> User:
        return DCG()

    def worth(self, block: Block) -> Floats:
        best = self._best(block)[:, None]
        return _gain(self._grades(block, None), self.dcg) / np.where(best > 0, best, 1.0)

    def _grades(self, block: Block, cutoff: int | None) -> Floats:
        grade = np.asarray(cut(block.grade, cutoff), dtype=np.float64)
        return self._remap(np.where(cut(block.judged, cutoff), grade, np.nan)) if self.gains else grade

    def _best(self, block: Block) -> Floats:
        """DCG of the best ranking of the judged documents."""
        ideal = block.ideal(None if self.gains else self.cutoff)
        if self.gains:
            best_first = -np.sort(-self._remap(self._all_judged(block)), axis=1)
            ideal = best_first if self.cutoff is None else best_first[:, : self.cutoff]
        return _dcg(ideal, self.dcg, 1.0 / np.log2(np.arange(2.0, ideal.shape[1] + 2)))

    def _remap(self, grade: Floats) -> Floats:
        """Gains of grades; NaN (not judged) has none."""
        out = np.nan_to_num(np.maximum(grade, 0.0))
        for one, gain in (self.gains or {}).items():
            out[grade == one] = gain
        return out

    @staticmethod
    def _all_judged(block: Block) -> Floats:
        """Grades of all judged documents of each ranking's query, NaN in the padding."""
        judgments = block.judgments
        count = judgments.judged[block.query]
        at = judgments.offsets[block.query][:, None] + np.arange(int(count.max(initial=0)))
        inside = np.arange(at.shape[1]) < count[:, None]
        return np.where(inside, judgments.gain_or_0[np.where(inside, at, -1)], np.nan)


class RBP(LinearMeasure, RBPUser):
    """Rank-biased precision: ``(1-p) sum_{i<=k} gain_i p^(i-1)``.

    In [0, 1], higher is better. The gain is [grade >= rel], or without ``rel`` grade / highest grade in the judgments.
    As a user model: goes on
    with patience p, so ``view_k = p^(k-1)``. Source: Moffat and Zobel 2008.

    Examples
    --------
    >>> from lightmeter import RBP, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "c": 1}})
    >>> evaluate(c, [RBP(p=0.5, rel=1)]).mean()["value"].to_list()
    [0.625]
    """

    kinds = ("measure", "user")
    p: float = param(default=0.8, accepts=Number(low=0, below=1), doc="patience: probability of going on", always=True)
    rel: int | None = param(
        default=None, accepts=Maybe(REL), doc=REL_DOC + "; without it the gain is the grade over the highest grade"
    )

    @property
    def depth(self) -> int | None:
        """Ranks seen with a probability of at least 1e-20: the others add less than a float can tell."""
        seen = 1 if self.p == 0 else int(np.log(1e-20) / np.log(self.p)) + 1
        return seen if self.cutoff is None else min(seen, self.cutoff)

    def value(self, block: Block) -> Values:
        gain = np.asarray(cut(self._gain(block), self.depth))
        discount = (1.0 - self.p) * self.view_at(np.arange(1.0, gain.shape[1] + 1))
        return no_relevant(gain @ discount, block.count_relevant(self.relevant_from()))

    def _gain(self, block: Block) -> Floats:
        if self.rel is None:
            return block.grade / (block.context.max_grade or 1.0)
        return block.relevant(self.rel).astype(np.float64)

    def reader(self) -> User:
        return RBP(p=self.p)

    def worth(self, block: Block) -> Floats:
        return (1.0 - self.p) * self._gain(block)

    def relevant_from(self) -> float:
        return ANY if self.rel is None else self.rel
