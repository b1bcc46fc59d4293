"""Typed, constrained parameters of terms: each constraint checks a value and can print itself."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lightmeter.errors import TermError


class Constraint:
    """What a parameter accepts; `check` returns the value in its one canonical form or raises ``ValueError``."""

    def describe(self) -> str:
        """What is accepted, in words."""
        raise NotImplementedError

    def check(self, value: Any) -> Any:
        """The canonical value, or ``ValueError``."""
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Constraint):
    """A finite number within bounds; ``above``/``below`` exclude the end."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    integer: bool = False

    def describe(self) -> str:
        what = "a whole number" if self.integer else "a number"
        limits = []
        if self.above > -math.inf:
            limits.append(f"above {self.above:.12g}")
        if self.low > -math.inf:
            limits.append(f"at least {self.low:.12g}")
        if self.below < math.inf:
            limits.append(f"below {self.below:.12g}")
        if self.high < math.inf:
            limits.append(f"at most {self.high:.12g}")
        return " ".join([what, " and ".join(limits)]).strip()

    def check(self, value: Any) -> int | float:
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise ValueError
        number = float(value)
        if not math.isfinite(number) or not self.low <= number <= self.high:
            raise ValueError
        if not self.above < number < self.below:
            raise ValueError
        if self.integer:
            if number != int(number):
                raise ValueError
            return int(value) if isinstance(value, int) else int(number)
        return number


@dataclass(frozen=True)
class Choice(Constraint):
    """One of a few values."""

    options: tuple[Any, ...]

    def describe(self) -> str:
        return "one of " + ", ".join(repr(o) for o in self.options)

    def check(self, value: Any) -> Any:
        for option in self.options:
            if type(option) is type(value) and option == value:
                return option
            if not isinstance(value, bool) and not isinstance(option, bool | str) and option == value:
                return option
        raise ValueError


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    def describe(self) -> str:
        return "True or False"

    def check(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError


@dataclass(frozen=True)
class Text(Constraint):
    """A string that is not empty."""

    what: str = "a name in quotes"

    def describe(self) -> str:
        return self.what

    def check(self, value: Any) -> str:
        if isinstance(value, str) and value:
            return value
        raise ValueError


@dataclass(frozen=True)
class Maybe(Constraint):
    """None, or what the inner constraint accepts."""

    inner: Constraint

    def describe(self) -> str:
        return f"{self.inner.describe()}, or None"

    def check(self, value: Any) -> Any:
        return None if value is None else self.inner.check(value)


@dataclass(frozen=True)
class Either(Constraint):
    """What any of several constraints accepts."""

    options: tuple[Constraint, ...]

    def describe(self) -> str:
        return ", or ".join(o.describe() for o in self.options)

    def check(self, value: Any) -> Any:
        for option in self.options:
            try:
                return option.check(value)
            except TermError:
                raise
            except ValueError:
                continue
        raise ValueError


@dataclass(frozen=True)
class ListOf(Constraint):
    """A sequence of at least ``least`` values; kept as a tuple."""

    inner: Constraint
    least: int = 1

    def describe(self) -> str:
        return f"a list in which each is {self.inner.describe()}"

    def check(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str) or (not isinstance(value, Sequence) and not hasattr(value, "tolist")):
            raise ValueError
        items = value.tolist() if hasattr(value, "tolist") else value
        if len(items) < self.least:
            raise ValueError
        return tuple(self.inner.check(v) for v in items)


class FrozenMap(dict[Any, Any]):
    """A mapping that can be hashed and is not changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("this mapping cannot be changed")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> Any:
        return FrozenMap, (dict(self),)


@dataclass(frozen=True)
class MapOf(Constraint):
    """A mapping of keys to values, each accepted by its constraint."""

    key: Constraint
    value: Constraint

    def describe(self) -> str:
        return f"a mapping {{..: ..}} from {self.key.describe()} to {self.value.describe()}"

    def check(self, value: Any) -> FrozenMap:
        if not isinstance(value, dict) or not value:
            raise ValueError
        pairs = {self.key.check(k): self.value.check(v) for k, v in value.items()}
        return FrozenMap(sorted(pairs.items()))


@dataclass(frozen=True)
class TermOf(Constraint):
    """A term of one kind (or its class, which stands for the term with its defaults)."""

    kind: str

    def describe(self) -> str:
        return f"a {self.kind}"

    def check(self, value: Any) -> Any:
        if isinstance(value, type) and self.kind in getattr(value, "kinds", ()):
            value = value()
        if self.kind not in getattr(value, "kinds", ()):
            raise ValueError
        if self.kind == "user" and getattr(value, "cutoff", None) is not None:
            raise TermError(f"the user model {value} has a cutoff. A cutoff belongs to the measure, at its end.")
        return value


def param(
    *,
    default: Any = dataclasses.MISSING,
    accepts: Constraint | None = None,
    doc: str = "",
    always: bool = False,
) -> Any:
    """A parameter of a term.

    Parameters
    ----------
    default
        The value when none is given; without one the parameter must be given.
    accepts
        The constraint; taken from the type hint where omitted.
    doc
        What it means, for the generated lists of measures.
    always
        Print it even when it has its default value.
    """
    metadata = {"accepts": accepts, "doc": doc, "always": always}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


_PLAIN: dict[Any, Constraint] = {int: Number(integer=True), float: Number(), bool: Flag(), str: Text()}


def constraint_of(cls: type, field: dataclasses.Field[Any]) -> Constraint | None:
    """The constraint of a field: the one declared, else one read off a plain type hint."""
    declared = field.metadata.get("accepts")
    if declared is not None:
        return typing.cast(Constraint, declared)
    hint = typing.get_type_hints(cls).get(field.name)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, types.UnionType):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(inner) == 1 and inner[0] in _PLAIN:
            return Maybe(_PLAIN[inner[0]])
    return None
