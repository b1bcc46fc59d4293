"""docs/plugins.md shows what is really printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import lightmeter as lm

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "plugins.md"


def test_the_page_on_plugins(process, folder):
    page = PAGE.read_text("utf-8")
    first, more = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (folder / "first.py").write_text(first, "utf-8")
    (folder / "more.py").write_text(more, "utf-8")
    demo = Path(lm.__file__).parent / "demo"
    for name in ("baseline.run.gz", "relevant.run.gz", "fairer.run.gz", "qrels.txt", "groups.csv"):
        shutil.copy(demo / name, folder / name)
    shown = re.findall(r"```console\n\$ lightmeter (.*?)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 3
    for command, output in shown:
        done = process(*shlex.split(command))
        assert done.code == 0, done.err
        assert done.out == output
    gate = process(
        "evaluate",
        "baseline.run.gz",
        "--qrels",
        "qrels.txt",
        "--plugin",
        "first",
        "--fail-if",
        "FirstRelevant(rel=3) > 3",
    )
    assert gate.code == 3
