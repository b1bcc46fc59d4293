"""What a measure is: a frozen term with traits, and one method that returns one number a ranking."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lightmeter.errors import TermError
from lightmeter.terms import Cutoff
from lightmeter.users import User
from lightmeter.values import Values, as_values

if TYPE_CHECKING:
    from lightmeter.block import Block
    from lightmeter.context import Context

Array = NDArray[np.float64]
Need = Literal["judgments", "groups", "scores", "samples"]


class Measure(Cutoff, abstract=True):
    """Base of measures. A subclass states its traits and overrides :meth:`value`; the class statement registers it.

    Attributes
    ----------
    better
        ``higher``, ``lower`` or ``none``: which values are good.
    bounds
        Lowest and highest value.
    needs
        What must be there: ``judgments``, ``groups``, ``scores``, ``samples``.
    linear
        Whether it is linear in exposure, so that its expected value follows from expected exposure.
    across_queries
        Whether it is reduced over queries before it becomes a number.
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
    invariant_to: ClassVar[Any] = frozenset({"query_order", "scores", "below_cutoff"})
    needs_cutoff: ClassVar[bool] = False

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        better = cls.__dict__.get("better", "higher")
        if isinstance(better, str) and better not in ("higher", "lower", "none"):
            raise TermError(f"{cls.__name__}: better is {better!r}. Accepted: 'higher', 'lower' or 'none'.")
        super().__init_subclass__(abstract=abstract, **kwargs)

    @property
    def attribute(self) -> str | None:
        """The attribute whose groups it looks at."""
        by = getattr(self, "by", None)
        return by if isinstance(by, str) else None

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
        measure = dataclasses.replace(self, **changes) if changes else self
        return context.user(measure) if isinstance(measure, User) else measure

    @property
    def depth(self) -> int | None:
        """Ranks that can change the value by as much as a float can tell; None for all."""
        return self.cutoff

    def value(self, block: Block) -> Array | Values:
        """One number for each ranking of a block; NaN where undefined, with a reason in
        :class:`~lightmeter.values.Values`.
        """
        raise NotImplementedError

    def unanswered(self, context: Context, query: NDArray[np.int64]) -> Values:
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
    return block.once(("value", measure), lambda: as_values(measure.value(block)))


def no_relevant(values: Array, count: NDArray[np.int64]) -> Values:
    """Values of a relevance measure: 0, with a reason, where the query has no relevant document (trec_eval's
    convention).
    """
    return Values(values).because(count == 0, "no_relevant", 0.0)
