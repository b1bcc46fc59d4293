"""Terms: users, policies, targets, divergences and measures as plain values.

A term is frozen, comparable, hashable, printable and parseable: ``parse(str(term)) == term``. The class statement
registers it,
so a user's own measure is known to the command line as soon as its module is imported.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self, dataclass_transform

from lightmeter.errors import TermError, suggest
from lightmeter.terms.parameters import FrozenMap, Maybe, Number, TermOf, constraint_of, param

_registry: dict[str, dict[str, type[Term]]] = {}
#: other names of the field that are understood; they print as ours
ALIASES = {
    "NDCG": "nDCG",
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "Recall": "R",
    "IRBU": "iRBU",
    "GERR": "gERR",
    "I_rec": "StRecall",
}
#: modules of lightmeter that define terms
OURS = (
    "models.users",
    "models.policies",
    "models.targets",
    "models.divergences",
    "measures.relevance",
    "measures.exposure",
    "measures.groups",
    "measures.attention",
    "measures.pairwise",
    "measures.bias",
    "measures.prefixes",
    "measures.exposure_sums",
    "measures.ratios",
    "measures.inequality",
    "measures.diversity",
    "measures.multisided",
    "measures.ndkl",
    "reranking.shares",
    "reranking.const_sort",
    "reranking.fair_top_k",
    "reranking.randomised",
    "reranking.columns",
    "reranking.unique",
    "reranking.frontier_point",
    "reranking.fair_exposure",
    "reranking.amortised",
)
#: the module of each public name of lightmeter, which fills it in when it is imported
homes: dict[str, str] = {}
KINDS = ("measure", "user", "target", "divergence", "policy", "reranker")


class _TermMeta(type):
    """Lets a class stand for the term with its defaults: ``nDCG@10`` is ``nDCG() @ 10``."""

    def __matmul__(cls, cutoff: int) -> Any:
        return cls() @ cutoff


@dataclass_transform(frozen_default=True, field_specifiers=(param,))
class Term(metaclass=_TermMeta):
    """Base of all terms; a subclass becomes a frozen dataclass and is registered under its name.

    Class attribute ``kinds`` says where the term may stand: any of ``measure``, ``user``, ``target``,
    ``divergence``, ``policy`` and ``reranker``. A class without ``kinds`` of its own or inherited is abstract and is
    not registered.
    """

    kinds: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, abstract: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, repr=False)(cls)
        if not abstract:
            for kind in cls.kinds:
                _register(kind, cls)

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


def registered(kind: str) -> dict[str, type[Term]]:
    """All terms of a kind by name, in the order of their definition."""
    load_terms()
    return dict(_registry.get(kind, {}))


def load_terms() -> None:
    """Import the modules of lightmeter that define terms."""
    from importlib import import_module

    for module in OURS:
        import_module(f"lightmeter.{module}")


def _load(name: str) -> None:
    """Import the module that defines one of our terms, and no other: most calls name a few of many."""
    from importlib import import_module

    home = homes.get(name)
    if home is not None and home.removeprefix("lightmeter.") in OURS:
        import_module(home)


def lookup(name: str, kind: str | None = None) -> type[Term]:
    """The class of a term by its name.

    Raises
    ------
    TermError
        With a suggestion, where no term of that kind has the name.
    """
    name = ALIASES.get(name, name)
    kinds = [kind] if kind else list(KINDS)
    _load(name)
    for k in kinds:
        if name in _registry.get(k, {}):
            return _registry[k][name]
    load_terms()
    if kind:
        others = [k for k in KINDS if name in _registry.get(k, {})]
        if others:
            raise TermError(f"{name} is a {others[0]}, but a {kind} is needed here.")
    known = [n for k in ([kind] if kind else KINDS) for n in _registry.get(k, {})]
    if kind in (None, "measure"):
        known += ALIASES
    listing = " 'lightmeter measures' lists them." if kind in (None, "measure") else f" Known: {', '.join(known)}."
    raise TermError(f"there is no {kind or 'term'} {name!r}.{suggest(name, known)}{listing}")


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


def _register(kind: str, cls: type[Term]) -> None:
    if kind not in KINDS:
        raise TermError(f"{cls.__name__}: kind {kind!r}. Accepted: {', '.join(KINDS)}.")
    if not cls.__module__.startswith("lightmeter."):
        _load(cls.__name__)  # a name of ours is taken, whether or not it was used before
    known = _registry.setdefault(kind, {}).get(cls.__name__)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TermError(
            f"a {kind} named {cls.__name__} exists already (in {known.__module__}). Give the one in {cls.__module__} "
            "another name."
        )
    _registry[kind][cls.__name__] = cls
