"""Terms of one's own from outside: modules named by the user, and installed packages that announce themselves.

A module registers its measures by being imported. Installed packages announce modules under the entry-point group
``lightmeter.terms``; these are imported only when a name is not known otherwise, or to list what there is.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from traceback import walk_tb
from types import ModuleType
from typing import Any

from lightmeter.errors import LightmeterError, TermError
from lightmeter.terms.notation import parse
from lightmeter.terms.registry import KINDS, registered
from lightmeter.terms.term import Term

GROUP = "lightmeter.terms"
_HERE = os.path.dirname(os.path.abspath(__file__))
_announced: list[str] | None = None


def load_plugin(spec: str) -> ModuleType:
    """Import a plugin by the name of its module, or by the path of its ``.py`` file.

    Modules are also looked for in the current directory; a file also finds the modules beside it.

    Raises
    ------
    LightmeterError
        Where there is no such module, or it fails.
    """
    by_path = spec.endswith(".py")
    if by_path and not os.path.isfile(spec):
        raise LightmeterError(
            f"the plugin {spec} does not exist. Accepted: the name of a module, or the path of a .py file."
        )
    folder = os.path.dirname(os.path.abspath(spec)) if by_path else os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        with redirect_stdout(sys.stderr):
            return _import_file(spec) if by_path else importlib.import_module(spec)
    except (Exception, SystemExit) as error:  # whatever the plugin raises is the plugin's
        if _debugging():
            raise
        raise LightmeterError(f"the plugin {spec} cannot be loaded: {_explained(error, spec)}") from error


def load_announced() -> list[str]:
    """Import what installed packages announce, once; returns a message for each that fails."""
    global _announced  # noqa: PLW0603 - one process, one set of installed packages
    if _announced is None:
        from importlib.metadata import entry_points

        _announced = []
        for point in entry_points(group=GROUP):
            try:
                with redirect_stdout(sys.stderr):
                    point.load()
            except (Exception, SystemExit) as error:
                package = point.dist.name if point.dist is not None else "a package"
                reason = _explained(error, point.module)
                _announced.append(f"the plugin {point.name} ({point.value}) of {package} cannot be loaded: {reason}")
    return list(_announced)


def parse_term(text: str, kind: str | None = None, *, read: Any = parse) -> Any:
    """Read a term; where it is not known, installed packages are asked for it."""
    args = () if kind is None else (kind,)
    try:
        return read(text, *args)
    except TermError as first:
        failures = load_announced()
        try:
            return read(text, *args)
        except TermError as second:
            if failures:
                raise TermError(f"{second} Also, {'; '.join(failures)}") from None
            raise second from first


def plugin_at_fault(error: BaseException) -> str | None:
    """The plugin in whose code an error was raised, with the line; None where the error is lightmeter's alone."""
    modules = {cls.__module__ for cls in foreign_classes()}
    found = None
    for frame, line in walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__"))
        if name in modules:
            found = f"the plugin {name} (line {line} of {frame.f_code.co_filename})"
    return found


def foreign_classes() -> list[type[Term]]:
    """The terms that are not lightmeter's own."""
    known = {cls: None for kind in KINDS for cls in registered(kind).values()}
    return [cls for cls in known if not cls.__module__.startswith("lightmeter.")]


def has_terms(module: ModuleType) -> bool:
    """Whether terms that are not lightmeter's own were defined in a module or below it, or can be found in it."""
    within = f"{module.__name__}."
    mine = foreign_classes()
    return any(f"{cls.__module__}.".startswith(within) for cls in mine) or any(
        isinstance(value, type) and value in mine for value in vars(module).values()
    )


@contextmanager
def foreign_code() -> Iterator[None]:
    """Around all that may run a plugin's code: what it prints goes to standard error, and it cannot end the program.

    Raises
    ------
    LightmeterError
        Where it tried to.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        raise LightmeterError(
            f"{plugin_at_fault(error) or 'a plugin'} tried to end the program (SystemExit: {error.code}). Accepted: a "
            "measure returns values, or raises an exception."
        ) from (error if _debugging() else None)


def _import_file(path: str) -> ModuleType:
    full = os.path.realpath(path)
    name = os.path.splitext(os.path.basename(full))[0]
    known = sys.modules.get(name)
    if known is not None:
        if os.path.realpath(getattr(known, "__file__", None) or "") == full:
            return known
        name = f"lightmeter_plugin_{name}"
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _explained(error: BaseException, spec: str) -> str:
    """An error in one sentence, with the line of the plugin it comes from."""
    if isinstance(error, ModuleNotFoundError) and error.name and f"{spec}.".startswith(f"{error.name}."):
        return f"there is no module {error.name!r} among the installed packages or in the current directory."
    if isinstance(error, SyntaxError):
        return f"line {error.lineno} is not Python: {error.msg}."
    text = " ".join(str(error).split()) or "no message"
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith(("<", _HERE, os.path.dirname(importlib.__file__))):
            place = f" (line {line} of {file})"
    return f"{type(error).__name__}: {text.rstrip('.')}{place}."


def _debugging() -> bool:
    return bool(os.environ.get("LIGHTMETER_DEBUG"))
