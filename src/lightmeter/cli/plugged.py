"""The option ``--plugin``: modules with terms of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from lightmeter.cli.messages import say
from lightmeter.terms.plugins import foreign_classes, has_terms, load_plugin


def load_plugins(specs: Iterable[str], *, quiet: bool = False) -> list[ModuleType]:
    """Import plugins; one that brings no term is told of, for it may be the wrong module."""
    modules = []
    for spec in specs:
        before = set(foreign_classes())
        module = load_plugin(spec)
        if not quiet and not has_terms(module) and set(foreign_classes()) <= before:
            say(f"note: the plugin {spec} ({module.__name__}) defines no measure or other term")
        modules.append(module)
    return modules
