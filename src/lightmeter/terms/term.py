"""Terms: users, policies, targets, divergences and measures as plain values.

A term is frozen, comparable, hashable, printable and parseable: ``parse(str(term)) == term``. The class statement
registers it, so a user's own measure is known to the command line as soon as its module is imported.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from lightmeter.errors import TermError, suggest
from lightmeter.terms.parameters import FrozenMap, Maybe, Number, TermOf, constraint_of, param
from lightmeter.terms.registry import register

_T = TypeVar("_T")


class _TermMeta(type):
    """Lets a class stand for the term with its defaults: ``nDCG@10`` is ``nDCG() @ 10``."""

    def __matmul__(cls: type[_T], cutoff: int) -> _T:
        return cls() @ cutoff  # type: ignore[operator]


@dataclass_transform(frozen_default=True, field_specifiers=(param,))
class Term(metaclass=_TermMeta):
    """Base of all terms; a subclass becomes a frozen dataclass and is registered under its name.

    Class attribute ``kinds`` says where the term may stand: any of ``measure``, ``user``, ``target``,
    ``divergence``, ``policy`` and ``reranker``. A class statement with ``abstract=True``, and a class without
    ``kinds`` of its own or inherited, is not registered.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    #: other names of the field that are understood; they print as the class's own
    aliases: ClassVar[tuple[str, ...]] = ()
    #: what other programs and papers call it, for the hint where somebody types that
    known_as: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, repr=False)(cls)
        if not abstract:
            register(cls)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            constraint = constraint_of(type(self), f)
            if constraint is None:
                continue
            value = getattr(self, f.name)
            try:
                object.__setattr__(self, f.name, constraint.check(value))
            except TermError:
                raise
            except (ValueError, TypeError, OverflowError):
                shown = value.__name__ if isinstance(value, type) else repr(value)
                raise TermError(
                    f"{type(self).__name__}: {f.name} is {shown}. Accepted: {constraint.describe()}."
                ) from None
        self.check()

    def check(self) -> None:
        """Raise :class:`~lightmeter.errors.TermError` where parameters do not fit together."""

    def __call__(self, **changes: Any) -> Self:
        """A copy with some parameters changed."""
        known = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        for name in changes:
            if name not in known:
                raise TermError(unknown_parameter(type(self), name))
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def __str__(self) -> str:
        shown = []
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.name == "cutoff":
                continue
            if value != f.default or (f.metadata.get("always") and value is not None):
                shown.append(f"{f.name}={show(value)}")
        cutoff = getattr(self, "cutoff", None)
        return type(self).__name__ + (f"({', '.join(shown)})" if shown else "") + (f"@{cutoff}" if cutoff else "")

    def __repr__(self) -> str:
        return str(self)


class Cutoff(Term, abstract=True):
    """A term that takes a cutoff: ``term @ k`` looks at the first k ranks."""

    cutoff: int | None = param(
        default=None,
        accepts=Maybe(Number(low=1, high=2**31 - 1, integer=True)),
        doc="ranks looked at; written @k",
        kw_only=True,
    )

    def __matmul__(self, cutoff: int) -> Self:
        return dataclasses.replace(self, cutoff=cutoff)


def show(value: Any) -> str:
    """A parameter's value as the parser reads it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(show(v) for v in value) + "]"
    if isinstance(value, FrozenMap):
        return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return str(value) if isinstance(value, Term) else repr(value)


def parameters(cls: type[Term]) -> list[str]:
    """Names of the parameters a term is written with (the cutoff is written ``@k``)."""
    return [f.name for f in dataclasses.fields(cls) if f.name != "cutoff"]  # type: ignore[arg-type]


def unknown_parameter(cls: type[Term], name: str) -> str:
    """The message for a parameter that a term does not have."""
    names = parameters(cls)
    takes = f"It takes {', '.join(names)}." if names else "It takes none."
    return f"{cls.__name__} has no parameter {name!r}.{suggest(name, names)} {takes}"


def needed_kind(cls: type[Term], parameter: str) -> str | None:
    """The kind of term a parameter wants, or None where it wants none or one of several."""
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        if f.name == parameter:
            return _term_kind(f.metadata.get("accepts"))
    return None


def _term_kind(constraint: Any) -> str | None:
    if isinstance(constraint, TermOf):
        return constraint.kind
    for inner in (getattr(constraint, "inner", None), *getattr(constraint, "options", ())):
        kind = _term_kind(inner) if inner is not None and not isinstance(inner, str | int | float) else None
        if kind:
            return kind
    return None
