"""``--fail-if``: conditions on the means of runs, for audits in a pipeline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lightmeter.attributes import UNKNOWN_GROUP
from lightmeter.cli.asked import read_signed
from lightmeter.errors import LightmeterError
from lightmeter.notation import Condition, parse_condition
from lightmeter.result import Result


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
            who = f"run {cell.run}" + (f", group {cell.group}" if cell.group is not None else "")
            if math.isnan(mean.value):
                out.append(f"{self} cannot be checked for {who}: the mean is undefined ({mean.reason})")
            elif self.condition.holds(mean.value):
                out.append(f"{self} holds for {who}: {mean.value!r}")
        return out


def read_gates(texts: list[str]) -> list[Gate]:
    """Conditions from their notation."""
    return [Gate(_read(text)) for text in dict.fromkeys(texts)]


def _read(text: str) -> Condition:
    try:
        condition: Condition = read_signed(text, parse_condition)
    except LightmeterError as error:
        raise type(error)(f"--fail-if: {error}") from None
    return condition
