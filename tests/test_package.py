"""The package as a whole: light to import, described rightly, tidy."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# Each costs a tenth of a second to three, and few calls need it.
HEAVY = (
    "torch",
    "altair",
    "pyspark",
    "pandas",
    "scipy.stats",
    "scipy.optimize",
    "statsmodels",
    "click",
    "pyarrow",
    "narwhals",
)

# An absolute path on somebody's machine, not a part of a longer path or address.
MACHINE_PATH = re.compile(rb"(?<![\w./~-])/(work|root)/")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def repository_files() -> list[Path]:
    """The files under version control and those about to be; what lies in the folders where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = [
            ROOT / n for n in subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        ]
    except (OSError, subprocess.CalledProcessError):
        listed = [
            p for folder in ("src", "tests", "docs", "examples", "benchmarks") for p in (ROOT / folder).rglob("*")
        ]
    return [p for p in listed if p.is_file()]


def test_import_is_light():
    code = "import sys; before = set(sys.modules); import lightmeter; print('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded = set(done.stdout.split())
    assert "lightmeter" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_every_public_name_exists():
    import lightmeter

    assert [name for name in lightmeter.__all__ if not hasattr(lightmeter, name)] == []


def test_the_table_of_names_and_its_types_are_those_of_the_classes():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "names.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"type 'make names' (python tools/names.py): {done.stdout}{done.stderr}"


def test_metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    meta = importlib.metadata.metadata("lightmeter")
    assert meta["Name"] == project["name"] == "lightmeter"
    assert importlib.metadata.version("lightmeter") == project["version"]
    assert meta["Requires-Python"] == ">=3.11"
    assert meta["License-Expression"] == "MIT"
    assert set(meta.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    required = {line.split(">=")[0] for line in importlib.metadata.requires("lightmeter") if "extra ==" not in line}
    assert required == {"numpy", "scipy", "polars", "pyarrow", "narwhals", "click", "rich"}


def test_the_version_has_an_entry_in_the_changelog():
    assert f"## [{importlib.metadata.version('lightmeter')}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_command_is_installed():
    commands = importlib.metadata.entry_points(group="console_scripts", name="lightmeter")
    assert [c.value for c in commands] == ["lightmeter.cli:main"]
    assert callable(next(iter(commands)).load())


def test_a_missing_extra_is_named_as_it_is_declared():
    """Every ``MissingExtraError(package, extra, ..)`` in the sources asks for an extra that there is."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wrong = []
    for path in SOURCES:
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        for call in calls:
            extra = call.args[1] if getattr(call.func, "id", None) == "MissingExtraError" and call.args[1:] else None
            if isinstance(extra, ast.Constant) and extra.value not in extras:
                wrong.append(f"{relative(path)}:{call.lineno}: {extra.value!r}")
    assert wrong == []


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_assert_in_the_sources(path: Path):
    """Users' mistakes raise errors that teach; ``python -O`` would drop an assert."""
    lines = [node.lineno for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Assert)]
    assert lines == []


def test_no_machine_paths():
    """Nothing in the repository depends on where one person keeps it."""
    files = repository_files()
    assert Path(__file__).resolve() in files
    found = [
        f"{relative(path)}:{number}: {line.decode(errors='replace').strip()[:80]}"
        for path in files
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    import lightmeter

    assert lightmeter.__version__ == version("lightmeter")
