"""Measures that are reduced over queries: one value for many queries together, for any weights of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Booleans, Floats
from lightmeter.data.values import as_values, by_name
from lightmeter.results.mean import Mean

if TYPE_CHECKING:
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.base import Measure
    from lightmeter.measures.context import Context, Missing


@dataclass
class Reduction:
    """A measure of one run, ready for weights of the evaluated queries.

    A query that the run does not answer adds nothing, unless the measure counts such queries itself. With
    ``missing='zero'`` it weighs in with the measure's worst value, as in a mean, where there is one; in any case the
    value says ``not_in_run``.

    Attributes
    ----------
    measure
        The measure, resolved.
    is_answered
        Which evaluated queries the run answers.
    """

    measure: Measure
    context: Context
    ranked: Ranked
    is_answered: Booleans
    missing: Missing
    _last: tuple[bytes, dict[str | None, Mean]] | None = field(default=None, repr=False)
    _errors: tuple[bytes, dict[str | None, float]] | None = field(default=None, repr=False)

    def groups(self) -> list[str | None]:
        """The groups that it has values for, or None alone."""
        weight = self.context.collection.query_weight
        weights = np.ones(len(self.is_answered)) if weight is None else weight[self.context.collection.evaluated]
        return list(self.means(weights))

    def of(self, group: str | None) -> Callable[[Floats], Mean]:
        """The value of a group as a function of the weights."""
        return partial(self._mean, group)

    def error_of(self, group: str | None) -> Callable[[Floats], float | None]:
        """The standard error of a group's value as a function of the weights; None where nothing is estimated."""
        return partial(self._error, group)

    def _error(self, group: str | None, weight: Floats) -> float | None:
        if self.missing == "zero" and (~self.is_answered & (weight > 0)).any():
            return None  # as in a mean: what is not answered has no error to speak of
        key = weight.tobytes()
        if self._errors is None or self._errors[0] != key:
            full = np.zeros(len(self.context.collection.queries))
            full[self.context.collection.evaluated] = np.where(self.is_answered, weight, 0.0)
            with np.errstate(all="ignore"):
                self._errors = (key, self.measure.across_error(self.context, self.ranked, full))
        se = self._errors[1].get(group)
        return None if se is None or np.isnan(se) else se

    def _mean(self, group: str | None, weight: Floats) -> Mean:
        return self.means(weight)[group]

    def means(self, weight: Floats) -> dict[str | None, Mean]:
        """Values by group for weights of the evaluated queries."""
        key = weight.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, self._means(weight))
        return self._last[1]

    def _means(self, weight: Floats) -> dict[str | None, Mean]:
        collection = self.context.collection
        all_count = self.measure.counts_unanswered and self.missing != "skip"
        answered = weight if all_count else np.where(self.is_answered, weight, 0.0)
        full = np.zeros(len(collection.queries))
        full[collection.evaluated] = answered
        with np.errstate(all="ignore"):
            reduced = self.measure.across(self.context, self.ranked, full)
        by_group = by_name(reduced)
        unanswered_at = np.flatnonzero(~self.is_answered & (weight > 0))
        n, mass = int((answered > 0).sum()), float(answered.sum())
        out = {}
        for group, values in by_group.items():
            checked = as_values(values)
            value, reason = float(checked.value[0]), checked.reasons()[0]
            if not n or not full.any():
                value, reason = np.nan, "not_in_run" if len(unanswered_at) else "no_query"
            elif len(unanswered_at):
                worst = self.measure.unanswered(self.context, collection.evaluated[unanswered_at]).value
                if self.missing == "zero" and not all_count and not np.isnan(worst).any():
                    lost = weight[unanswered_at]
                    value = (mass * value + float((lost * worst).sum())) / (mass + float(lost.sum()))
                reason = reason or "not_in_run"
            out[group] = Mean(value, None, 0 if np.isnan(value) else n, reason)
        return out
