"""Terms: users, policies, targets, divergences and measures as plain values.

A term is frozen, comparable, hashable, printable and parseable: ``parse(str(term)) == term``. The class statement
registers it, so a user's own measure is known to the command line as soon as its module is imported.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from lightmeter.errors import TermError, suggest
from lightmeter.terms.parameters import Choice, FrozenMap, Maybe, Number, TermOf, constraint_of, param
from lightmeter.terms.registry import register

_T = TypeVar("_T")


class _TermMeta(type):
    """Lets a class stand for the term with its defaults, ``nDCG@10`` for ``nDCG() @ 10``; checks how it is called."""

    def __matmul__(cls: type[_T], cutoff: int) -> _T:
        return cls() @ cutoff  # type: ignore[operator]

    if not TYPE_CHECKING:  # type checkers read the parameters off the fields

        def __call__(cls, *values: Any, **given: Any) -> Any:
            if values:
                raise TermError(unnamed_parameters(cls, [show(value) for value in values]))
            check_parameters(cls, given)
            return super().__call__(**given)

        @property
        def __signature__(cls) -> inspect.Signature:
            whole = inspect.signature(cls.__init__)
            return whole.replace(parameters=list(whole.parameters.values())[1:])


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(param,))
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
        dataclasses.dataclass(frozen=True, repr=False, kw_only=True)(cls)
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
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return type(self)(**(given | changes))

    if not TYPE_CHECKING:  # only terms with a cutoff have an operator @

        def __matmul__(self, cutoff: int) -> Any:
            raise TermError(f"{self} takes no cutoff. A cutoff belongs to a measure, such as nDCG@10.")

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
    )

    def __matmul__(self, cutoff: int) -> Self:
        return dataclasses.replace(self, cutoff=cutoff)


#: values of parameters in messages, by name
_EXAMPLES = {
    "by": "'gender'",
    "column": "'rating'",
    "epsilon": "0.1",
    "k": "10",
    "of": "[ERR, GF(by='gender')]",
    "p": "0.5",
    "positive": "'f'",
    "protected": "'f'",
    "u": "0.5",
    "value": "'f'",
    "weights": "[1, 0.5]",
}


def show(value: Any) -> str:
    """A parameter's value as the parser reads it."""
    if isinstance(value, type) and issubclass(value, Term):
        return value.__name__
    if isinstance(value, tuple | list):
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
    return f"{cls.__name__} has no parameter {name!r}.{suggest(name, names)} It takes {', '.join(names) or 'none'}."


def unnamed_parameters(cls: type[Term], values: list[str]) -> str:
    """The message for values that are given without the names of the parameters; ``values`` in the notation."""
    names = parameters(cls)
    pairs = ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=False))
    write = f" Write {cls.__name__}({pairs})." if pairs and len(values) <= len(names) else ""
    return f"the parameters of {cls.__name__} are named.{write} It takes {', '.join(names) or 'none'}."


def check_parameters(cls: type[Term], given: Mapping[str, Any]) -> None:
    """Refuse parameters that a term does not have, and the lack of those that it needs.

    Raises
    ------
    TermError
        With what can be typed instead.
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for name in given:
        if name not in fields:
            raise TermError(unknown_parameter(cls, name))
    missing = [f for f in fields.values() if f.default is dataclasses.MISSING and f.name not in given]
    if missing:
        whole = [f"{name}={show(value)}" for name, value in given.items()]
        whole += [f"{f.name}={_example(f.name, f.metadata.get('accepts'))}" for f in missing]
        *most, last = [f.name for f in missing]
        needs = f"{', '.join(most)} and {last}" if most else last
        raise TermError(f"{cls.__name__} needs {needs}, such as {cls.__name__}({', '.join(whole)}).")


def _example(name: str, accepts: Any) -> str:
    return repr(accepts.options[0]) if isinstance(accepts, Choice) else _EXAMPLES.get(name, "..")


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
