"""``--fail-if``: conditions on the means of runs, for audits in a pipeline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from lightmeter.cli.console import say
from lightmeter.cli.notation import read_signed
from lightmeter.data.attributes import UNKNOWN_GROUP
from lightmeter.errors import LightmeterError
from lightmeter.results.mean import Mean
from lightmeter.results.result import Result
from lightmeter.results.text import beside
from lightmeter.terms.notation import Condition, parse_condition

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison


@dataclass(frozen=True)
class Gate:
    """A condition that must hold for no run.

    A mean that is undefined fails the gate too: a check that could not be made must not pass silently. Measures with a
    value for each group are tested for each group, but not for the documents whose group is not known.
    """

    condition: Condition

    @property
    def measure(self) -> Any:
        """The measure it looks at."""
        return self.condition.measure

    def __str__(self) -> str:
        return str(self.condition)

    def failures(self, result: Result) -> list[str]:
        """A sentence for each run (and group) for which it holds."""
        out = []
        cells = [c for c in result.cells if c.measure == self.measure]
        last = {c.run: c for c in cells}
        for cell in cells:
            if cell.group == UNKNOWN_GROUP and cell is last[cell.run]:
                continue  # the documents whose group is not known
            mean = result.mean_of(cell)
            out += self._failure(cell.run, cell.group, mean.value, mean.reason)
        return out

    def failures_of_means(self, made: Comparison) -> list[str]:
        """The same for the means of a comparison: over the queries that are defined for all runs."""
        groups = list(dict.fromkeys(c.group for c in made.result.cells if c.measure == self.measure))
        rows = made.means.filter(pl.col("measure") == str(self.measure)).select("run", "group", "value")
        here = rows["group"].to_list()
        # the comparison's own reason is why there is no interval; here it is why no query has a value
        why = {(c.run, c.group): made.result.mean_of(c) for c in made.result.cells if c.measure == self.measure}
        if len(groups) > 1 and groups[-1] == UNKNOWN_GROUP:
            groups.pop()
        out = []
        for run, group, value in rows.iter_rows():
            if group in groups:
                out += self._failure(run, group, value, _reason(why[run, group]))
        gone = [g for g in groups if g not in here]
        return out + [f"{self} cannot be checked for group {g}: not every run has a value of it" for g in gone]

    def _failure(self, run: str, group: str | None, value: float, reason: str | None) -> list[str]:
        who = f"run {run}" + (f", group {group}" if group is not None else "")
        if math.isnan(value):
            return [f"{self} cannot be checked for {who}: the mean is undefined ({reason})"]
        if self.condition.holds(value):
            return [f"{self} holds for {who}: {beside(value, self.condition.threshold)}"]
        return []


def _reason(mean: Mean) -> str:
    """Why a comparison has no mean: the run's own reason, or that no query has values in all runs."""
    return str(mean.reason) if math.isnan(mean.value) else "no_common_query"


def tell(gates: list[Gate], failures: list[str], *, quiet: bool) -> None:
    """Say which conditions hold for what, or that they hold for no run."""
    for text in failures:
        say(f"fail-if: {text}")
    if gates and not failures and not quiet:
        say(f"fail-if: {', '.join(str(g) for g in gates)}: holds for no run")


def read_gates(texts: list[str]) -> list[Gate]:
    """Conditions from their notation."""
    return [Gate(_read(text)) for text in dict.fromkeys(texts)]


def _read(text: str) -> Condition:
    try:
        condition: Condition = read_signed(text, parse_condition)
    except LightmeterError as error:
        raise type(error)(f"--fail-if: {error}") from None
    return condition
