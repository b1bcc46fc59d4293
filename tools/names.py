"""Keep the public names of lightmeter: ``make names``; ``--check`` only says whether they are as they should be.

The table in ``src/lightmeter/__init__.py`` gets the terms that the classes of lightmeter register, and
``src/lightmeter/__init__.pyi`` is written from it for type checkers and editors.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "lightmeter"
TABLE, STUBS = PACKAGE / "__init__.py", PACKAGE / "__init__.pyi"
#: the class that a kind of term has in Python
CLASSES = {
    "measure": "Measure",
    "user": "User",
    "target": "Target",
    "divergence": "Divergence",
    "policy": "Policy",
    "reranker": "Reranker | Policy",
}


def table() -> dict[str, list[str]]:
    """The public names by module: those of the table, and all terms of ours."""
    import lightmeter
    from lightmeter.terms.registry import KINDS, registered

    ours = {cls for kind in KINDS for cls in registered(kind).values() if cls.__module__.startswith("lightmeter.")}
    terms = {cls.__name__: cls.__module__ for cls in ours}
    homes = {name: terms.get(name, module) for name, module in {**terms, **lightmeter.MODULES}.items()}
    out: dict[str, list[str]] = {}
    for name, module in sorted(homes.items(), key=lambda item: (item[1], item[0].lower(), item[0])):
        out.setdefault(module.removeprefix("lightmeter."), []).append(name)
    return out


def tabled(text: str, names: dict[str, list[str]]) -> str:
    """The module's text with the table as it should be."""
    rows = [f'    "{module}": "{" ".join(of_module)}",\n' for module, of_module in names.items()]
    return re.sub(r"(?<=^_NAMES = \{\n).*?(?=^\}$)", lambda _: "".join(rows), text, flags=re.DOTALL | re.MULTILINE)


def stubs(names: dict[str, list[str]]) -> str:
    """The text of ``__init__.pyi``."""
    lines = [
        "# Written by tools/names.py: type 'make names'.",
        "from typing import Literal, overload",
        "",
        "from lightmeter import learn as learn",
        "from lightmeter import metrics as metrics",
        "from lightmeter import plots as plots",
    ]
    for module, of_module in names.items():
        lines += [f"from lightmeter.{module} import {name} as {name}" for name in of_module if name != "parse"]
    lines += ["", "MODULES: dict[str, str]", "__version__: str", "__all__: list[str]", ""]
    for kind, cls in CLASSES.items():
        lines += ["@overload", f'def parse(text: str, kind: Literal["{kind}"]) -> {cls}: ...']
    lines += ["@overload", "def parse(text: str, kind: str | None = None) -> Term: ..."]
    return "\n".join(lines) + "\n"


def expected() -> dict[Path, str]:
    """The two files as they should read."""
    names = table()
    return {TABLE: tabled(TABLE.read_text("utf-8"), names), STUBS: stubs(names)}


def stale() -> list[Path]:
    """The files that do not read as they should."""
    return [p for p, text in expected().items() if not p.exists() or p.read_text("utf-8") != text]


if __name__ == "__main__":
    wrong = stale()
    if "--check" not in sys.argv:
        for path, text in expected().items():
            path.write_text(text, "utf-8")
    for path in wrong:
        print(("stale: " if "--check" in sys.argv else "refreshed: ") + path.name)
    sys.exit(bool(wrong) and "--check" in sys.argv)
