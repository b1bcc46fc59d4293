"""docs/compare.md shows what is really printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

import lightmeter as lm
from lightmeter.cli import main
from lightmeter.comparing.comparison import SCHEMA

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "compare.md"


def test_the_page_on_comparing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(Path(lm.__file__).parent / "demo", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text("utf-8")
    ((command, output),) = re.findall(r"```console\n\$ lightmeter (.*?)\n(.*?)```", page, re.DOTALL)
    assert main(shlex.split(command)) == 0
    assert capfd.readouterr().out == output
    ((code, printed),) = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", page, re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {})
    assert capfd.readouterr().out == printed


def test_the_page_names_the_columns() -> None:
    named = set(re.findall(r"\w+", " ".join(re.findall(r"^\| `\w+` \|.*\| (`.*`) \|$", PAGE.read_text("utf-8"), re.M))))
    assert set(SCHEMA) - {"kind"} <= named
