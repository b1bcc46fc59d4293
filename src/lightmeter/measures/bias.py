"""Bias of results that lean to one of two sides (Kulshrestha et al. 2017; Gezici et al. 2021).

The bias of a document is its membership in one value minus that in another, between -1 and 1: bias scores are read as
memberships, so they come back as they were given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.data.membership import Distribution
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError
from lightmeter.exposure.policy import is_exact, policy_exposure
from lightmeter.measures.base import BY
from lightmeter.measures.block import Block
from lightmeter.measures.group_measure import (
    BY_DOC,
    NOTHING_KNOWN,
    VALUE,
    GroupMeasure,
    anything_known,
    code_of,
    drawn,
    looked_at,
    member,
    other_of,
    target_share,
    undefined,
)
from lightmeter.measures.group_targets import distribution
from lightmeter.measures.relevance import DCG
from lightmeter.models.policies import Policy
from lightmeter.models.targets import SHORTHANDS, Pool, Target
from lightmeter.models.users import Attention, User
from lightmeter.terms.parameters import Choice, Either, Flag, Maybe, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

#: The lowest grade that is relevant: anything above 0.
POSITIVE = float(np.nextafter(0, 1))
_POSITIVE_DOC = "the value whose documents have bias +1"
_NEGATIVE_DOC = "the value whose documents have bias -1; by default the other one of two"
_POOL = Either((Choice(tuple(SHORTHANDS)), TermOf("target")))
_POOL_DOC = "the documents that were there to be ranked"


class _Leaning(GroupMeasure, abstract=True):
    """What measures of two sides have in common."""

    better: ClassVar[Any] = "none"
    bounds: ClassVar[Any] = (-1.0, 1.0)
    divides_by_known = True

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        positive, negative = measure.sides(context)
        if positive == negative:
            raise LightmeterError(f"{self}: both sides are {positive!r}. Accepted: two different values.")
        return measure

    def sides(self, context: Context) -> tuple[str, str]:
        """The values of bias +1 and -1."""
        positive: str = self.positive  # type: ignore[attr-defined]
        code_of(context, self, positive)
        negative: str | None = self.negative  # type: ignore[attr-defined]
        if negative is None:
            negative = other_of(context, self, positive)
        code_of(context, self, negative)
        return positive, negative

    def bias(self, block: Block) -> Floats:
        """The bias of every place; 0 where membership is unknown."""
        positive, negative = self.sides(block.context)
        return member(block, self.by, positive) - member(block, self.by, negative)

    def pool(self, block: Block) -> tuple[Floats, Distribution]:
        """Mean bias of the documents that were there, and their distribution."""
        goal = distribution(block.context, self.input, self.by, block.ranked.run.name)  # type: ignore[attr-defined]
        positive, negative = (code_of(block.context, self, v) for v in self.sides(block.context))
        return target_share(goal, positive, block.query) - target_share(goal, negative, block.query), goal

    def output(self, block: Block) -> Values:
        """Mean over the prefixes of the mean bias in each; the expected one where the policy is not drawn from."""
        if not drawn(block):
            return undefined(Values(self._expected_output(block)), block, self.by, None)
        top = looked_at(block, self.cutoff)
        n = np.cumsum(block.membership(self.by).known, axis=1)
        counts = top & (n > 0)
        means = np.where(counts, np.cumsum(self.bias(block), axis=1) / np.maximum(n, 1), 0.0)
        return undefined(Values(means.sum(axis=1) / counts.sum(axis=1)), block, self.by, self.cutoff)

    def _expected_output(self, block: Block) -> Floats:
        """A document at rank j is in the prefixes from j on, so its bias counts ``sum_{k=j..K} 1/k / K`` times."""
        bias = self.bias(block)
        length = np.minimum(block.valid.sum(axis=1), self.cutoff or block.shape[1])
        out = np.full(len(length), np.nan)
        for k in np.unique(length[length > 0]):
            mine = np.flatnonzero(length == k)
            weights = np.cumsum(1.0 / np.arange(k, 0, -1))[::-1] / k
            score, grade = block.score[mine], block.grade[mine]
            seen = policy_exposure(block.context.policy, score, grade, Attention(weights=tuple(weights.tolist())))
            out[mine] = (seen * bias[mine]).sum(axis=1)
        return out


class OutputBias(_Leaning):
    """Bias of a ranking: the mean over k = 1 .. K of the mean bias of the first k documents.

    In [-1, 1]; above 0 it leans to ``positive``. The higher a document stands the more prefixes it is in: linear in
    exposure, so exact under policies (but not with ``unknown='drop'``). K is the
    cutoff or the length. A document of unknown membership has bias 0, or is left out of the means with
    ``unknown='drop'``. Source: Kulshrestha et al., CSCW 2017.

    Examples
    --------
    >>> from lightmeter import OutputBias, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"side": {"a": "left", "b": "right"}})
    >>> evaluate(c, [OutputBias(by="side", positive="left")]).mean()["value"].to_list()
    [0.5]
    """

    by: str = param(accepts=BY, doc=BY_DOC)
    positive: str = param(accepts=VALUE, doc=_POSITIVE_DOC)
    negative: str | None = param(default=None, accepts=Maybe(VALUE), doc=_NEGATIVE_DOC)

    def value(self, block: Block) -> Values:
        return self.output(block)

    def exactly_under(self, policy: Policy) -> bool:
        return True

    def expected(self, block: Block) -> Values:
        return self.value(block)


class InputBias(_Leaning):
    """Bias of what there was to be ranked: the mean bias of the pool's documents, whatever their order.

    In [-1, 1]; above 0 the pool leans to ``positive``. ``input`` is a target distribution: the documents any compared
    run ranks (``Pool()``), the relevant ones, those of the groups file, ..; documents of unknown membership are left
    out. Undefined where nothing of the pool is known. Source: Kulshrestha et al., CSCW 2017.

    Examples
    --------
    >>> from lightmeter import InputBias, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"side": {"a": "left", "b": "right"}})
    >>> evaluate(c, [InputBias(by="side", positive="left")]).mean()["value"].to_list()
    [0.0]
    """

    divides_by_known = False
    by: str = param(accepts=BY, doc=BY_DOC)
    positive: str = param(accepts=VALUE, doc=_POSITIVE_DOC)
    negative: str | None = param(default=None, accepts=Maybe(VALUE), doc=_NEGATIVE_DOC)
    input: Target | str = param(default=Pool(), accepts=_POOL, doc=_POOL_DOC, always=True)

    def value(self, block: Block) -> Values:
        mean, goal = self.pool(block)
        return Values(mean).because(~goal.defined(block.query), goal.reason)

    def exactly_under(self, policy: Policy) -> bool:
        return True  # the order of documents does not matter

    def expected(self, block: Block) -> Values:
        return self.value(block)


class RankingBias(_Leaning):
    """What the ranking adds to the bias of its input: :class:`OutputBias` minus :class:`InputBias`.

    In [-2, 2]; above 0 the ranking leans more to ``positive`` than its pool. Source: Kulshrestha et al., CSCW 2017.

    Examples
    --------
    >>> from lightmeter import RankingBias, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, groups={"side": {"a": "left", "b": "right"}})
    >>> evaluate(c, [RankingBias(by="side", positive="left")]).mean()["value"].to_list()
    [0.5]
    """

    bounds = (-2.0, 2.0)
    by: str = param(accepts=BY, doc=BY_DOC)
    positive: str = param(accepts=VALUE, doc=_POSITIVE_DOC)
    negative: str | None = param(default=None, accepts=Maybe(VALUE), doc=_NEGATIVE_DOC)
    input: Target | str = param(default=Pool(), accepts=_POOL, doc=_POOL_DOC, always=True)

    def value(self, block: Block) -> Values:
        mean, goal = self.pool(block)
        output = self.output(block)
        values = Values(output.value - mean, output.reason)
        return values.because(~goal.defined(block.query), goal.reason)

    def exactly_under(self, policy: Policy) -> bool:
        return True

    def expected(self, block: Block) -> Values:
        return self.value(block)


class SignedBias(_Leaning):
    """Stance bias: the attention-weighted mean of the bias of relevant documents, ``sum_k view_k rel_k b_k / sum_k
    view_k`` over the ranks looked at.

    In [-1, 1]; above 0 the ranking leans to ``positive``. A document that is not relevant (grade above 0), on
    neither side or of unknown membership counts as 0; ``over='relevant'`` divides by the view of relevant documents
    instead. ``absolute=True`` is its size, in [0, 1], lower is better: its mean over queries does not let two sides
    cancel. ``docs='all'`` needs no judgments. With ``unknown='drop'`` unknown documents are left out of both sums.
    Undefined: ``no_relevant``, ``no_relevant_retrieved`` (none is among the documents looked at),
    ``no_known_member``. Users: ``DCG()``, ``RBP(p=..)``,
    and ``TopK(k=..)`` for the paper's precision form. Source: Gezici et al., Information Retrieval Journal 2021.

    Examples
    --------
    >>> from lightmeter import SignedBias, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, qrels={"q": {"a": 1, "c": 1}},
    ...          groups={"stance": {"a": "pro", "b": "con", "c": "pro"}})
    >>> m = SignedBias(by="stance", positive="pro", user=TopK(k=3))
    >>> evaluate(c, [m, m(docs="all")]).mean()["value"].to_list()
    [0.666667, 0.333333]
    """

    by: str = param(accepts=BY, doc=BY_DOC)
    positive: str = param(accepts=VALUE, doc=_POSITIVE_DOC)
    negative: str | None = param(default=None, accepts=Maybe(VALUE), doc=_NEGATIVE_DOC)
    user: User = param(default=DCG(), accepts=TermOf("user"), doc="user model whose view weighs the ranks", always=True)
    absolute: bool = param(default=False, accepts=Flag(), doc="its size, whichever the side")
    docs: Literal["relevant", "all"] = param(
        default="relevant", accepts=Choice(("relevant", "all")), doc="documents whose bias counts"
    )
    over: Literal["ranks", "relevant"] = param(
        default="ranks", accepts=Choice(("ranks", "relevant")), doc="what the mean is taken over"
    )

    @property
    def better(self) -> str:  # type: ignore[override]
        return "lower" if self.absolute else "none"

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0 if self.absolute else -1.0), 1.0

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"groups"} | ({"judgments"} if self.docs == "relevant" else set()))

    def value(self, block: Block) -> Values:
        counts = np.ones(block.shape, dtype=bool)
        if self.docs == "relevant":
            counts = block.grade > 0 if block.judgments is not None else counts
        seen = block.exposure(self.user, self.cutoff)  # expected where the policy is not drawn from
        view = seen * block.membership(self.by).known
        over = view if self.over == "ranks" else view * counts
        mean = (view * np.where(counts, self.bias(block), 0.0)).sum(axis=1) / over.sum(axis=1)
        values = Values(np.abs(mean) if self.absolute else mean)
        looked = seen > 0
        values.because(~anything_known(block, self.by, self.cutoff if drawn(block) else None), NOTHING_KNOWN)
        if self.docs == "relevant":
            values.because(block.count_relevant(POSITIVE) == 0, "no_relevant")
        values.because(~(looked & counts).any(axis=1), "no_relevant_retrieved")
        told = block.membership(self.by).known if block.context.unknown == "distinct" else self._told(block)
        return values.because(~(looked & counts & told).any(axis=1), NOTHING_KNOWN)

    def exactly_under(self, policy: Policy) -> bool:
        linear = not self.absolute and self.over == "ranks" and not self.user.by_document
        return linear and is_exact(policy, self.user)

    def expected(self, block: Block) -> Values:
        return self.value(block)

    def _told(self, block: Block) -> Booleans:
        return np.asarray(block.member_entry(self.by) >= 0)
