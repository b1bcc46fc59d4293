"""The code of docs/plots.md runs, and its pictures are those of today."""

from __future__ import annotations

import html
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_page_shows_todays_pictures() -> None:
    names: dict[str, Any] = {}
    shown = 0
    for kind, code, picture in runpy.run_path(str(ROOT / "docs" / "pictures.py"))["blocks"]():
        if kind != "python":
            assert picture is None or (ROOT / "docs" / picture).exists()
            continue
        exec(compile(code, "plots.md", "exec"), names)
        if picture is not None:
            drawn = html.unescape((ROOT / "docs" / picture).read_text("utf-8"))
            for line in names["chart"].to_dict()["title"]["text"]:
                assert line in drawn, f"{picture} is stale: python docs/pictures.py"
            shown += 1
    assert shown > 8
