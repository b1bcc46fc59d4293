"""docs/attention.md shows what is really printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lightmeter.cli import main

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "attention.md"


def test_the_page_on_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text("utf-8")
    simulate, use = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(simulate, PAGE.name, "exec"), {})
    shown = re.findall(r"```console\n\$ lightmeter (.*?)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capfd.readouterr().out == output
    exec(compile(use, PAGE.name, "exec"), {})
