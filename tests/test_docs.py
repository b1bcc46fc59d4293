"""The README and the docs show what is really printed today."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_pages_show_todays_output() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "refresh.py"))["pages"]()
    assert pages
    for page, text in pages.items():
        assert page.read_text("utf-8") == text, f"{page.name} is stale: python docs/refresh.py"


def test_links_lead_somewhere() -> None:
    import re

    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_snippets_of_the_page_on_other_libraries_are_all_run() -> None:
    import re

    text = (ROOT / "docs" / "interop.md").read_text("utf-8")
    run = re.findall(r"<!-- python -->\n```python\n.*?```\n```text\n(.*?)```\n<!-- /python -->", text, re.DOTALL)
    assert len(run) == text.count("```python") == 4
    assert all(output.strip() for output in run)
