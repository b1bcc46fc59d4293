"""Docstring examples of modules that need an extra are left out where it is not installed; no other module may fail."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_NEEDS = {"learn": "torch", "report": "jinja2"}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    folder = collection_path.parent
    package = _NEEDS.get(folder.name) if folder.parent.name == "lightmeter" else None
    return True if package is not None and find_spec(package) is None else None
