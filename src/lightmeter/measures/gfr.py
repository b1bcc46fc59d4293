"""Group fairness and relevance: several measures in one number."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Self

import numpy as np

from lightmeter.arrays import Integers
from lightmeter.data.values import Values
from lightmeter.errors import TermError
from lightmeter.measures.base import Measure, value_of
from lightmeter.measures.block import Block
from lightmeter.terms.parameters import ListOf, Maybe, Number, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


class GFR(Measure):
    """Group fairness and relevance: the weighted mean of its components.

    ``sum_i w_i M_i`` with weights that sum to 1 (equal by default). Without a relevance measure among them it is the
    intersectional GF of several attributes.
    A component that is undefined for a query makes it undefined. The cutoff is given to the components that have none.
    Source: Sakai et al. 2023.

    Examples
    --------
    >>> from lightmeter import ERR, GF, GFR, evaluate, load
    >>> c = load(run={"q": ["a"]}, qrels={"q": {"a": 1}}, groups={"gender": {"a": "f"}})
    >>> GFR(of=[ERR, GF(by="gender")], weights=[0.25, 0.75])@20
    GFR(of=[ERR, GF(by='gender')], weights=[0.25, 0.75])@20
    """

    of: tuple[Measure, ...] = param(accepts=ListOf(TermOf("measure")), doc="the components")
    weights: tuple[float, ...] | None = param(
        default=None, accepts=Maybe(ListOf(Number(low=0, high=1))), doc="a weight each, summing to 1; equal by default"
    )

    def check(self) -> None:
        super().check()
        for m in self.of:
            if m.by_group:
                raise TermError(f"GFR: {m} has a value for each group. Accepted: measures of one value a query.")
            if m.across_queries:
                raise TermError(f"GFR: {m} is reduced over queries. Accepted: measures of one value a query.")
        ways = {m.better for m in self.of}
        if len(ways) > 1 or "none" in ways:
            told = ", ".join(f"{m} ({'lower' if m.better == 'lower' else m.better} is better)" for m in self.of)
            told = told.replace("none is better", "neither is better")
            raise TermError(f"GFR: {told}. Accepted: components that share one direction.")
        if self.cutoff is not None and all(m.cutoff not in (None, self.cutoff) for m in self.of):
            raise TermError(f"GFR: the cutoff {self.cutoff} is for components without one, and all have their own.")
        if self.weights is None:
            return
        if len(self.weights) != len(self.of):
            raise TermError(f"GFR: {len(self.weights)} weights for {len(self.of)} components. Accepted: a weight each.")
        if abs(math.fsum(self.weights) - 1.0) > 1e-9:
            raise TermError(f"GFR: the weights sum to {math.fsum(self.weights):g}. Accepted: weights that sum to 1.")

    @property
    def better(self) -> str:  # type: ignore[override]
        ways = {m.better for m in self.of}
        return ways.pop() if len(ways) == 1 else "none"

    @property
    def bounds(self) -> tuple[float, float]:
        shares = self.shares()
        ends = [m.bounds for m in self.of]
        low, high = (sum(w * e[i] for w, e in zip(shares, ends, strict=True) if w) for i in (0, 1))
        return float(low), float(high)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(m.needs for m in self.of))

    @property
    def invariant_to(self) -> frozenset[str]:
        shared = frozenset.intersection(*(frozenset(m.invariant_to) for m in self.of))
        own = any(m.cutoff not in (None, self.cutoff) for m in self.of)  # such a component looks deeper, or less deep
        return shared - {"below_cutoff"} if own else shared

    def shares(self) -> tuple[float, ...]:
        """The weights, equal ones written out."""
        return self.weights if self.weights is not None else (1.0 / len(self.of),) * len(self.of)

    def components(self) -> list[Measure]:
        """The components, with the cutoff passed on."""
        return [m if m.cutoff is not None or self.cutoff is None else m @ self.cutoff for m in self.of]

    @property
    def whole(self) -> bool:
        """Whether it is computed ranking by ranking, so that its standard error knows how components vary together."""
        return all(m.whole and not m.whole_run and not getattr(m, "judged_only", False) for m in self.of)

    def resolve(self, context: Context) -> Self:
        return dataclasses.replace(self, of=tuple(m.resolve(context) for m in self.components()))

    def value(self, block: Block) -> Values:
        return self.combine([value_of(m, block) for m in self.of])

    def unanswered(self, context: Context, query: Integers) -> Values:
        return self.combine([m.unanswered(context, query) for m in self.of])

    def combine(self, parts: list[Values]) -> Values:
        """The weighted mean of the components' values; their errors, where they have any, are taken as independent."""
        shares = self.shares()
        value = sum(w * v.value for w, v in zip(shares, parts, strict=True) if w)
        variance = [w * w * v.se**2 for w, v in zip(shares, parts, strict=True) if w and v.se is not None]
        values = Values(np.asarray(value, dtype=np.float64), se=np.sqrt(sum(variance)) if variance else None)
        for weight, part in zip(shares, parts, strict=True):
            for reason in sorted({r for r in part.reasons() if r is not None}):
                if weight:
                    values.because(np.equal(part.reasons(), reason), reason, None)
        return values
