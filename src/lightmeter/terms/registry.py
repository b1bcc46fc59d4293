"""The register of terms: the class statement enters a class, and looking a name up loads what is needed to find it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from lightmeter.errors import TermError, suggest

if TYPE_CHECKING:
    from lightmeter.terms.term import Term

KINDS = ("measure", "user", "target", "divergence", "policy", "reranker")
#: the folders of lightmeter whose modules define terms
FOLDERS = ("models", "measures", "reranking")

_registry: dict[str, dict[str, type[Term]]] = {kind: {} for kind in KINDS}
_aliases: dict[str, str] = {}


def register(cls: type[Term]) -> None:
    """Enter a class under its name and its aliases, for each of its kinds.

    Raises
    ------
    TermError
        Where another class has the name already.
    """
    if not cls.__module__.startswith("lightmeter."):
        _load_listed(cls.__name__)  # a name of ours is taken, whether or not it was used before
    for kind in cls.kinds:
        if kind not in KINDS:
            raise TermError(f"{cls.__name__}: kind {kind!r}. Accepted: {', '.join(KINDS)}.")
        known = _registry[kind].get(cls.__name__)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TermError(
                f"a {kind} named {cls.__name__} exists already (in {known.__module__}). Give the one in "
                f"{cls.__module__} another name."
            )
        _registry[kind][cls.__name__] = cls
    _aliases.update(dict.fromkeys(cls.__dict__.get("aliases", ()), cls.__name__))


def registered(kind: str) -> dict[str, type[Term]]:
    """All terms of a kind by name, in the order of their definition."""
    load_terms()
    return dict(_registry.get(kind, {}))


def aliases() -> dict[str, str]:
    """Other names that are understood, and the names that they stand for."""
    load_terms()
    return dict(_aliases)


@cache
def load_terms() -> None:
    """Import every module of lightmeter that defines terms."""
    for folder in FOLDERS:
        package = importlib.import_module(f"lightmeter.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"lightmeter.{folder}.{module.name}")


def lookup(name: str, kind: str | None = None) -> type[Term]:
    """The class of a term by its name or an alias.

    Only the module that defines it is imported where lightmeter's table of names has it: most calls name a few of many.

    Raises
    ------
    TermError
        With a suggestion, where no term of that kind has the name.
    """
    _load_listed(name)
    found = _search(name, kind)
    if found is None:
        load_terms()
        found = _search(name, kind)
    if found is None:
        raise TermError(_unknown(name, kind))
    return found


def own_term(name: str) -> type[Term] | None:
    """The class of a term that lightmeter itself defines, whether or not its table of names has it."""
    load_terms()
    found = _search(name, None)
    return found if found is not None and found.__module__.startswith("lightmeter.") else None


def _search(name: str, kind: str | None) -> type[Term] | None:
    for k in (kind,) if kind else KINDS:
        found = _registry[k].get(name) or _registry[k].get(_aliases.get(name, ""))
        if found is not None:
            return found
    return None


def _load_listed(name: str) -> None:
    """Import the module of a term by lightmeter's table of names, if it is there."""
    import lightmeter

    module = lightmeter.MODULES.get(name, "")
    if module.split(".")[1:2] and module.split(".")[1] in FOLDERS:
        importlib.import_module(module)


def _unknown(name: str, kind: str | None) -> str:
    """The message for a name that no term has."""
    true_name = _aliases.get(name, name)
    other = next((k for k in KINDS if true_name in _registry[k]), None) if kind else None
    if other:
        return f"{true_name} is a {other}, but a {kind} is needed here."
    known = [n for k in ([kind] if kind else KINDS) for n in _registry[k]]
    if kind in (None, "measure"):
        known += _aliases
    listing = " 'lightmeter measures' lists them." if kind in (None, "measure") else f" Known: {', '.join(known)}."
    return f"there is no {kind or 'term'} {name!r}.{suggest(name, known)}{listing}"
