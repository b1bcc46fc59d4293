"""What a measure is: a frozen term with traits, and hooks that compute it: of them it overrides what it needs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.attributes import JOIN
from lightmeter.data.values import Values, as_values
from lightmeter.errors import LightmeterError, TermError
from lightmeter.models.users import User
from lightmeter.terms.parameters import Either, ListOf, Text
from lightmeter.terms.term import Cutoff

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context
    from lightmeter.models.policies import Policy

Need = Literal["judgments", "groups", "scores", "samples", "intents", "segments"]
#: One attribute, or several for their intersections.
BY = Either((Text("an attribute's name in quotes"), ListOf(Text("an attribute's name in quotes"), 2)))
#: Why a measure that is reduced over queries has no value for one.
BY_QUERY = "across_queries"


class Measure(Cutoff, abstract=True):
    """Base of measures. A subclass states its traits and overrides a hook; the class statement registers it.

    The hooks, of which most measures override :meth:`value` alone:

    ========================  ======================================================================================
    :meth:`value`             one number for each ranking of a block
    :meth:`groups`            a number for each ranking of a block and each group, instead of one
    :meth:`expected`          the exact expected values of a block under a policy that makes rankings
    :meth:`of_run`            the values of all queries of a run at once, for what is defined on policies
    :meth:`across`            one number (a group) for many queries together, for what adds up before it is reduced
    :meth:`components`        the measures whose values :meth:`combine` makes one of
    ========================  ======================================================================================

    Attributes
    ----------
    better
        ``higher``, ``lower`` or ``none``: which values are good.
    bounds
        Lowest and highest value.
    needs
        What must be there: ``judgments``, ``groups``, ``scores``, ``samples``, ``intents``, ``segments``.
    linear
        Whether it is linear in exposure, so that its expected value follows from expected exposure.
    across_queries
        Whether it is reduced over queries before it becomes a number, by :meth:`across`: it has no value for a query.
    counts_unanswered
        Whether, reduced over queries, it counts those that the run does not answer itself, as without exposure.
    divides_by_known
        Whether it divides by what of a ranking has a known membership, where unknown documents are dropped: its
        expected value then does not follow from expected exposure.
    invariant_to
        Changes of the input that leave it as it is, for the property tests: ``query_order``, ``scores`` (as long as
        the order of documents stays),
        ``below_cutoff`` (a measure without it is shown whole rankings), ``nonrelevant_tail`` (more documents of grade 0
        at the end), ``grades`` and ``groups``.

    Notes
    -----
    A measure of one's own, the rank of the first relevant document::

        class FirstRelevant(lm.Measure):
            '''Rank of the first relevant document; undefined where none is ranked.'''

            better, bounds, needs = "lower", (1, np.inf), {"judgments"}
            rel: int = lm.param(default=1, doc="lowest grade that counts as relevant")

            def value(self, block):
                hit = block.relevant(self.rel)[:, : self.cutoff]
                return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.nan)
    """

    kinds: ClassVar[tuple[str, ...]] = ("measure",)
    better: ClassVar[Literal["higher", "lower", "none"]] = "higher"
    bounds: ClassVar[Any] = (-math.inf, math.inf)
    needs: ClassVar[Any] = frozenset()
    linear: ClassVar[bool] = False
    across_queries: ClassVar[bool] = False
    counts_unanswered: ClassVar[bool] = False
    divides_by_known: ClassVar[bool] = False
    invariant_to: ClassVar[Any] = frozenset({"query_order", "scores", "below_cutoff"})
    needs_cutoff: ClassVar[bool] = False

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        better = cls.__dict__.get("better", "higher")
        if isinstance(better, str) and better not in ("higher", "lower", "none"):
            raise TermError(f"{cls.__name__}: better is {better!r}. Accepted: 'higher', 'lower' or 'none'.")
        super().__init_subclass__(abstract=abstract, **kwargs)

    @property
    def attribute(self) -> str | None:
        """The attribute whose groups it looks at; of intersections the attributes' names, joined."""
        by = getattr(self, "by", None)
        return JOIN.join(by) if isinstance(by, tuple) else by if isinstance(by, str) else None

    def resolve(self, context: Context) -> Self:
        """The measure with all it leaves open filled in from the call."""
        if self.needs_cutoff and self.cutoff is None:
            raise TermError(f"{self} needs a cutoff, such as {self}@10.")
        changes: dict[str, Any] = {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, User):
                user = context.user(value)
                if user is not value:
                    changes[f.name] = user
            elif f.name == "by" and isinstance(value, tuple):
                changes[f.name] = JOIN.join(value)
        measure = dataclasses.replace(self, **changes) if changes else self
        return context.user(measure) if isinstance(measure, User) else measure

    @property
    def depth(self) -> int | None:
        """Ranks that can change the value by as much as a float can tell; None for all."""
        return self.cutoff

    def value(self, block: Block) -> Floats | Values:
        """One number for each ranking of a block; NaN where undefined, with a reason in
        :class:`~lightmeter.data.values.Values`.
        """
        raise NotImplementedError

    def groups(self, block: Block) -> tuple[list[str], Values]:
        """Names of groups, and a value for each ranking and group ``[rankings, groups]``."""
        raise NotImplementedError

    def expected(self, block: Block) -> Values:
        """The expected value of each ranking's policy, where :meth:`exactly_under` says that it is known exactly."""
        raise NotImplementedError

    def of_run(self, context: Context, ranked: Ranked) -> Values | dict[str, Values]:
        """One value for each query of the collection, or several by group; meaningless for queries that the run does
        not answer.
        """
        raise NotImplementedError

    def across(self, context: Context, ranked: Ranked, weight: Floats) -> Values | dict[str, Values]:
        """One value for many queries together (an array of one), or several by group.

        ``weight`` ``[queries]`` says how often each query counts, 0 for those that are left out.
        """
        raise NotImplementedError

    def across_error(self, context: Context, ranked: Ranked, weight: Floats) -> dict[str | None, float]:
        """Standard errors of :meth:`across` by group where rankings are sampled; none where there is none."""
        return {}

    def components(self) -> list[Measure]:
        """The measures that it is made of."""
        return []

    def combine(self, parts: list[Values]) -> Values:
        """Its values from those of its components."""
        raise NotImplementedError

    @property
    def whole(self) -> bool:
        """Whether it is computed by a hook of its own, not from the values of its components."""
        return True

    @property
    def whole_run(self) -> bool:
        """Whether it is computed for all queries of a run at once."""
        return type(self).of_run is not Measure.of_run

    @property
    def by_group(self) -> bool:
        """Whether it has a value for each group of a block."""
        return type(self).groups is not Measure.groups

    def exactly_under(self, policy: Policy) -> bool:
        """Whether its expected values under a policy that makes rankings are computed without drawing any."""
        from lightmeter.exposure.policy import is_exact

        user = getattr(self, "user", None)
        return (self.whole_run or self.across_queries) and (not isinstance(user, User) or is_exact(policy, user))

    def unanswered(self, context: Context, query: Integers) -> Values:
        """The values of queries that a run does not answer, which never improve a mean.

        0 where higher is better; otherwise the worst bound if it is finite, else NaN. Always with the reason
        ``not_in_run``.
        """
        worst = 0.0 if self.better == "higher" else float(self.bounds[1])
        if self.better == "none" or not math.isfinite(worst):
            worst = math.nan
        return Values(np.full(len(query), worst)).because(np.ones(len(query), dtype=bool), "not_in_run", worst)


def value_of(measure: Measure, block: Block) -> Values:
    """The values of a measure for the rankings of a block, computed once."""
    # from the class: a measure may have a parameter named value
    return block.once(("value", measure), lambda: _checked(measure, type(measure).value(measure, block), block))


def _checked(measure: Measure, given: Any, block: Block) -> Values:
    """What a measure gave for a block, if it is one number per ranking: a measure may be a user's own."""
    values = as_values(given)
    if values.value.shape != (len(block.query),):
        raise LightmeterError(
            f"{measure} of the module {type(measure).__module__} gave values of shape {list(values.value.shape)} for "
            f"{len(block.query)} rankings. Accepted: one number per ranking."
        )
    return values


def no_relevant(values: Floats, count: Integers) -> Values:
    """Values of a relevance measure: 0, with a reason, where the query has no relevant document (trec_eval's
    convention).
    """
    return Values(values).because(count == 0, "no_relevant", 0.0)
