"""Conditions of ``--fail-if``: a number of a result compared with a threshold, for a check in a pipeline.

All results are checked alike: a condition that holds for a row, or cannot be checked for it since it has no value,
fails. What may stand on the left of the sign is up to the result: a measure, or a figure of an audit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from lightmeter.errors import LightmeterError, TermError
from lightmeter.results.text import beside
from lightmeter.terms.notation import Condition

_SIGNS = ("<", "<=", ">", ">=", "==", "!=")
_SIGN_MEANT = {"=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}
_MEASURE = f"a measure, a sign ({', '.join(_SIGNS)}) and a number, such as nDCG@10 < 0.3"


@dataclass(frozen=True)
class Checked:
    """A number that a condition is about.

    Attributes
    ----------
    who
        What it is the number of, in words; empty where the condition is about no row.
    value
        The number; None or NaN where it is undefined.
    reason
        Why the condition cannot be checked where there is no value, in words.
    """

    who: str
    value: float | None
    reason: str

    def failure(self, condition: Condition) -> str | None:
        """A sentence where the condition holds, or cannot be checked; a check that was not made does not pass."""
        if self.value is None or math.isnan(self.value):
            return f"{condition} cannot be checked for {self.who}: {self.reason}"
        if condition.holds(float(self.value)):
            return f"{condition} holds for {self.who}: {beside(float(self.value), condition.threshold)}"
        return None


class Checkable(Protocol):
    """A result that conditions can be checked on."""

    def checked(self, condition: Condition) -> Iterable[Checked]:
        """The numbers that the condition is about."""


def failures(result: Checkable, conditions: Iterable[Condition]) -> Iterator[str]:
    """A sentence for each condition and row for which it holds or cannot be checked."""
    for condition in conditions:
        for checked in result.checked(condition):
            sentence = checked.failure(condition)
            if sentence is not None:
                yield sentence


def read_conditions(
    texts: Iterable[str], read: Callable[[str], Condition], accepted: str = _MEASURE
) -> list[Condition]:
    """Conditions from their notation, each once.

    Parameters
    ----------
    texts
        As typed, such as ``"nDCG@10 < 0.3"``.
    read
        What reads one.
    accepted
        What a condition is made of, in words.

    Raises
    ------
    TermError
        Where one is no condition; where its sign is none, the message says which is meant.
    """
    return [_read(text, read, accepted) for text in dict.fromkeys(texts)]


def _read(text: str, read: Callable[[str], Condition], accepted: str) -> Condition:
    try:
        return read(text)
    except LightmeterError as error:
        message = str(error)
        if "cannot be read" in message or "not a condition" in message:
            sign = re.search(r"=>|=<|<>|[≤≥≠]|(?<![<>=!])=(?!=)(?=\s*[-+.\d]+\s*$)", text)
            hint = f" Write {_SIGN_MEANT[sign[0]]} instead of {sign[0]}." if sign else ""
            raise TermError(f"--fail-if: {text!r} is not a condition. Accepted: {accepted}.{hint}") from None
        raise type(error)(f"--fail-if: {message}") from None


def condition_lines(
    conditions: list[Condition], failed: list[str], row: str, *, most: int | None = None, quiet: bool = False
) -> list[str]:
    """What came of the conditions: one line for each failure, or that they hold for no ``row``.

    ``most``: as many failures are listed one by one.
    """
    lines: list[Any] = [f"fail-if: {text}" for text in failed[:most]]
    if most is not None and len(failed) > most:
        lines.append(f"fail-if: and {len(failed) - most} more; --manifest FILE has them all")
    if conditions and not failed and not quiet:
        lines.append(f"fail-if: {', '.join(map(str, conditions))}: holds for no {row}")
    return lines
