"""What measures look at: attributes, so that nothing else of the groups is read, and files that are named in them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from lightmeter.data.intersections import JOIN
from lightmeter.measures.base import Measure
from lightmeter.terms.parameters import Constraint, Text, constraint_of
from lightmeter.terms.term import Term


def attributes_of(measures: Iterable[Any]) -> list[str] | None:
    """Names of the attributes; None (all) where a measure needs groups and does not say which."""
    names: dict[str, None] = {}
    for measure in with_components(measures):
        if measure.attribute is not None:
            names |= dict.fromkeys(measure.attribute.split(JOIN))
        elif "groups" in measure.needs and not any(True for _ in _components(measure)):
            return None
    return list(names)


def files_of(terms: Iterable[Any]) -> list[str]:
    """Files that are named in terms, at any depth, and those of the modules that define terms from outside."""
    out: dict[str, None] = {}
    for term in _all_terms(terms):
        module = type(term).__module__
        if not module.startswith("lightmeter."):
            out |= dict.fromkeys(filter(None, [getattr(sys.modules.get(module), "__file__", None)]))
        for f in dataclasses.fields(term):  # type: ignore[arg-type]
            value = getattr(term, f.name)
            if _is_path(f.name, constraint_of(type(term), f)):
                out |= dict.fromkeys(v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, str))
    return list(out)


def _is_path(name: str, constraint: Constraint | None) -> bool:
    inner = getattr(constraint, "inner", None)
    if inner is not None:
        return _is_path(name, inner)
    path = isinstance(constraint, Text) and "path" in constraint.what.lower().split()
    return path or {"file", "files", "path", "paths"}.intersection(name.lower().split("_")) != set()


def _all_terms(values: Iterable[Any]) -> Iterator[Term]:
    for value in values:
        if isinstance(value, Term):
            yield value
            yield from _all_terms(getattr(value, f.name) for f in dataclasses.fields(value))  # type: ignore[arg-type]
        elif isinstance(value, tuple):
            yield from _all_terms(value)
        elif isinstance(value, dict):
            yield from _all_terms([*value, *value.values()])


def with_components(measures: Iterable[Any]) -> Iterator[Measure]:
    """The measures, each followed by the measures it is made of."""
    for measure in measures:
        yield measure
        yield from with_components(_components(measure))


def _components(term: Any) -> Iterator[Measure]:
    for f in dataclasses.fields(term):
        value = getattr(term, f.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Measure) and f.name != "user":
                yield one
