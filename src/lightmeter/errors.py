"""Errors that teach: what was found, what is accepted, what to do.

Everything a user can get wrong raises a :class:`LightmeterError`. The command line prints its text and
exits with 2; any other exception is a defect of lightmeter.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from lightmeter.arrays import Rng

_Value = TypeVar("_Value")


class LightmeterError(ValueError):
    """The user's input, request or installation cannot be used as it is."""


class InputError(LightmeterError):
    """A file, table or frame holds something that cannot be used.

    Parameters
    ----------
    found
        What is wrong, in one sentence without a final stop.
    where
        The file's path, or a name for a table that has no path.
    line, row, column
        The place: a 1-based line of a text file, or a 0-based row and a column of a table.
    accepted
        What would have been right.
    hint
        What to do.
    """

    def __init__(
        self,
        found: str,
        *,
        where: str | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
        accepted: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.found, self.where, self.line, self.row, self.column = found, where, line, row, column
        place = where or ""
        if line is not None:
            place += f"{':' if place else 'line '}{line}"
        elif row is not None:
            place += f"{', ' if place else ''}row {row}"
        if column is not None:
            place += f"{', ' if place else ''}column {column!r}"
        text = f"{place}: {found}" if place else found
        if accepted:
            text += f". Accepted: {accepted}"
        if hint:
            text += f". {hint}"
        super().__init__(text if text.endswith("?") else text.rstrip(".") + ".")


class TermError(LightmeterError):
    """A measure, user model, target, divergence or policy is misspelt or has a value it does not take."""


class MissingExtraError(LightmeterError):
    """A feature needs a package that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. Type: pip install 'lightmeter[{extra}]'"
        )


def suggest(word: str, known: Iterable[str]) -> str:
    """``" Did you mean 'x'?"`` for the nearest known word, or an empty string."""
    known = list(known)
    lowered = {k.lower(): k for k in reversed(known)}
    if word.lower() in lowered:
        near = [lowered[word.lower()]]
    else:
        near = [lowered[n] for n in difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.5)]
    return f" Did you mean {near[0]!r}?" if near else ""


def whole_number(name: str, value: Any, low: int = 1) -> int:
    """An argument that must be a whole number of at least ``low``.

    Examples
    --------
    >>> whole_number("samples", 0)
    Traceback (most recent call last):
    lightmeter.errors.LightmeterError: samples is 0. Accepted: a whole number of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise LightmeterError(f"{name} is {value!r}. Accepted: a whole number of at least {low}.")
    return int(value)


def choice(name: str, value: _Value, options: Iterable[str]) -> _Value:
    """An argument that must be one of a few words.

    Examples
    --------
    >>> choice("missing", "zeros", ("zero", "skip"))
    Traceback (most recent call last):
    lightmeter.errors.LightmeterError: missing is 'zeros'. Did you mean 'zero'? Accepted: zero, skip.
    """
    known = tuple(options)
    if value not in known:
        raise LightmeterError(f"{name} is {value!r}.{suggest(str(value), known)} Accepted: {', '.join(known)}.")
    return value


def seed(rng: Rng) -> int:
    """The seed that an argument ``rng`` stands for: itself, one drawn from a generator, or a fresh one for None.

    Examples
    --------
    >>> seed(7)
    7
    """
    if rng is None:
        import secrets

        return secrets.randbits(32)
    if isinstance(rng, Integral) and not isinstance(rng, bool) and int(rng) >= 0:
        return int(rng)
    from numpy.random import Generator

    if isinstance(rng, Generator):
        return int(rng.integers(2**63))
    raise LightmeterError(f"rng is {rng!r}. Accepted: a whole number from 0 up, a NumPy generator, or None.")
