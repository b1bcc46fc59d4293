"""Reports of all kinds, and a browser to open them in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report.browser import Browser, browser, program

import lightmeter as lm

for _name in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(_name)

#: Names that a page must take for texts: of documents, queries, runs, groups and attributes.
HOSTILE = "</script><script>document.title='taken'</script>"
IMAGE = "<img src=x onerror=\"document.title='taken'\">"
QUOTES = "\"'><b>&amp;{{ 7*7 }}</b>"
DOCS = [f"d{i}" for i in range(6)]


@pytest.fixture(scope="session")
def tab() -> Iterator[Browser]:
    """A browser's tab; where there is no browser the test is skipped, but never in CI, which installs one."""
    pytest.importorskip("websockets")
    if program() is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium for these tests: .ci/run installs it")
        pytest.skip("no Chromium here: apt-get install chromium")
    with browser() as opened:
        yield opened


def runs(*names: str, queries: int = 12, docs: list[str] | None = None) -> dict[str, Any]:
    """Runs of noisy scores, the first the best."""
    rng = np.random.default_rng(3)
    docs = docs or DOCS
    return {
        name: {
            f"q{q}": {d: (3.0 - i) * grade(q, j) + float(rng.normal()) for j, d in enumerate(docs)}
            for q in range(queries)
        }
        for i, name in enumerate(names)
    }


def grade(query: int, doc: int) -> int:
    """Some grades from 0 to 2."""
    return int((query + doc) % 3 == 0) + int((query + doc) % 4 == 0)


def collection(names: tuple[str, ...], docs: list[str] | None = None, queries: int = 12) -> lm.Collection:
    """Runs with judgments and one attribute."""
    docs = docs or DOCS
    return lm.load(
        run=runs(*names, queries=queries, docs=docs),
        qrels={f"q{q}": {d: grade(q, j) for j, d in enumerate(docs)} for q in range(queries)},
        groups={"side": {d: ("f", "m")[j % 2] for j, d in enumerate(docs)}},
    )


MEASURES = ["nDCG@5", "GF(by='side', user=RBP(p=0.8))", "MeanExposure(by='side', user=RBP(p=0.8))"]


@pytest.fixture(scope="session")
def small() -> lm.Collection:
    return collection(("good", "fair", "poor"))


@pytest.fixture(scope="session")
def evaluation(small: lm.Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    return lm.write_report(lm.evaluate(small, MEASURES), folder / "report.html", collection=small)


def people(n: int = 160) -> pl.DataFrame:
    """Scored people in two groups, and a small one."""
    rng = np.random.default_rng(8)
    group = np.where(np.arange(n) < 5, "few", np.where(np.arange(n) % 3 == 0, "b", "a"))
    return pl.DataFrame(
        {
            "id": [f"person number {i}" for i in range(n)],
            "score": rng.normal(size=n) - 1.0 * (group == "b"),
            "sex": group,
        }
    )
