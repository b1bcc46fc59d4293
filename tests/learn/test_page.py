"""docs/learn.md shows what is really printed, and names every loss and option there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "learn.md"


def test_the_page_on_learning(torch, capsys: pytest.CaptureFixture[str]) -> None:
    ((code, printed),) = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == printed


def test_the_page_names_the_losses() -> None:
    from lightmeter.learn.settings import LOSSES

    assert set(LOSSES) <= set(re.findall(r"`([\w-]+)`", PAGE.read_text("utf-8")))


def test_the_page_says_what_going_on_keeps() -> None:
    """All but ``model.pt`` and ``manifest.json`` has the same bytes, as ``test_goes_on_after_a_kill`` sees."""
    text = " ".join(PAGE.read_text("utf-8").split())
    assert "`model.pt` may differ in bytes" in text
    assert "ends with the same bytes" not in text
