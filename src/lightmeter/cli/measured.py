"""Which attributes measures look at, so that nothing else of the groups is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from lightmeter.measures.base import Measure


def attributes_of(measures: Iterable[Any]) -> list[str] | None:
    """Names of the attributes; None (all) where a measure needs groups and does not say which."""
    names: dict[str, None] = {}
    for measure in _with_components(measures):
        if measure.attribute is not None:
            names[measure.attribute] = None
        elif "groups" in measure.needs and not any(True for _ in _components(measure)):
            return None
    return list(names)


def _with_components(measures: Iterable[Any]) -> Iterator[Measure]:
    for measure in measures:
        yield measure
        yield from _with_components(_components(measure))


def _components(term: Any) -> Iterator[Measure]:
    for f in dataclasses.fields(term):
        value = getattr(term, f.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Measure) and f.name != "user":
                yield one
