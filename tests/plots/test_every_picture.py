"""Every picture is a valid chart of finite numbers that can be drawn, changed and saved."""

from __future__ import annotations

import html.parser
import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.plots.conftest import datasets

import lightmeter as lm
from lightmeter import plots
from lightmeter.plots.chart import altair, inline

PICTURES: dict[str, Callable[..., Any]] = {
    "curve": lambda f: plots.curve(f("sweep")),
    "randomisation": lambda f: plots.randomisation(f("sweep"), policy="PlackettLuce"),
    "policies": lambda f: plots.policies(f("sweep"), f("result"), "nDCG@5"),
    "tradeoff": lambda f: plots.tradeoff(f("result")),
    "tradeoff by query": lambda f: plots.tradeoff(f("result"), run="poor"),
    "arrows": lambda f: plots.arrows(f("result"), [("poor", "good"), ("good", "fair")]),
    "leaning": lambda f: plots.leaning(f("result")),
    "leaning by query": lambda f: plots.leaning(f("result"), run="good"),
    "exposure": lambda f: plots.exposure(f("result")),
    "exposure of an audit": lambda f: plots.exposure(f("audit"), cutoff=20),
    "cutoffs": lambda f: plots.cutoffs(f("audit")),
    "cutoffs of shares": lambda f: plots.cutoffs(f("audit"), "share"),
    "significance": lambda f: plots.significance(f("comparison")),
    "agreement": lambda f: plots.agreement(f("comparison")),
    "scores": lambda f: plots.scores(f("result")),
    "scores with intervals": lambda f: plots.scores(f("comparison")),
    "distribution": lambda f: plots.distribution_at(f("small"), "DistrSim(by='level', div=RNOD)@3", ["q1", "q2"]),
    "beside": lambda f: plots.beside(plots.leaning(f("result")), plots.curve(f("sweep")), plots.scores(f("result"))),
    "attention": lambda f: plots.attention("RBP(p=0.8)", "DCG", lm.Inverse()),
    "attention to three ranks": lambda f: plots.attention("RBP(p=0.8)", "DCG", depth=3),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_valid_and_drawn(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    chart = PICTURES[name](request.getfixturevalue)
    assert any(rows for rows in datasets(chart))
    spec = chart.to_dict()
    spec = spec["concat"][0] | {"whole": spec} if name == "beside" else spec
    assert all(spec["title"]["text"])
    assert 20 < len(" ".join(spec["title"]["text"])) < 260
    drawn = plots.save(chart, tmp_path / "picture.svg").read_text("utf-8")
    assert drawn.startswith("<svg")
    assert spec["title"]["text"][0].replace("'", "&#39;") in drawn.replace("'", "&#39;")
    assert_axes_can_be_read(drawn)
    # what Vega draws where a number is missing
    assert "NaN" not in re.sub(r"<title>.*?</title>", "", drawn)
    assert "undefined" not in re.sub(r"aria-\w+=\"[^\"]*\"", "", drawn)


_LABEL = re.compile(
    r'<text text-anchor="(\w+)" transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*opacity="1">([^<]*)</text>'
)


def assert_axes_can_be_read(drawn: str) -> None:
    """On no axis does a label stand twice, and side by side none touch."""
    axes = re.findall(r'<g class="mark-text role-axis-label"[^>]*>(.*?)</g>', drawn)
    assert axes
    for axis in axes:
        labels = [(a, float(x), y, t) for a, x, y, t in _LABEL.findall(axis) if t]
        texts = [t for *_, t in labels]
        assert len(set(texts)) == len(texts), texts
        if len({y for _, _, y, _ in labels}) > 1:
            continue
        left = {"start": 0.0, "middle": 0.5, "end": 1.0}
        spans = sorted((x - left[a] * 5.6 * len(t), x + (1 - left[a]) * 5.6 * len(t)) for a, x, _, t in labels)
        assert all(after[0] - before[1] > 3 for before, after in itertools.pairwise(spans)), texts


@pytest.mark.parametrize(
    ("ending", "start"),
    [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<svg"), ("pdf", b"%PDF-")],
)
def test_formats(ending: str, start: bytes, result: lm.Result, tmp_path: Path) -> None:
    path = plots.save(plots.tradeoff(result), tmp_path / f"picture.{ending.upper() if ending == 'png' else ending}")
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


class Loads(html.parser.HTMLParser):
    """Whatever a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {value}" for key, value in attrs if key in ("src", "href", "data", "srcset") and value]


def test_page_needs_no_network(result: lm.Result, tmp_path: Path) -> None:
    page = plots.save(plots.tradeoff(result), tmp_path / "picture.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert [p.name for p in tmp_path.iterdir()] == ["picture.html"]
    reader = Loads()
    reader.feed(page)
    assert reader.found == []
    assert "@import" not in page
    assert "vega.github.io/editor" not in page or '"editor": false' in page.replace('"editor":false', '"editor": false')
    # the test can fail: a page that loads from a network is found out
    reader.feed('<script src="https://example.org/vega.js">')
    assert reader.found == ["script https://example.org/vega.js"]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    bad = "</script><script>alert(1)</script>"
    c = lm.load(run={bad: {"q": ["a", "b"]}, "<b>x": {"q": ["b", "a"]}}, qrels={"q": {"a": 1}})
    chart = plots.tradeoff(lm.evaluate(c, ["nDCG@10", "RR"]))
    page = plots.save(chart, tmp_path / "picture.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "\\u003cscript>alert(1)" in page
    drawn = plots.save(chart, tmp_path / "picture.svg").read_text("utf-8")
    assert "<script" not in drawn
    assert "<b>" not in drawn


def test_chart_can_be_changed(result: lm.Result, tmp_path: Path) -> None:
    chart = plots.tradeoff(result).properties(title="Mine").configure_axis(labelFontSize=20)
    spec = chart.to_dict()
    assert spec["title"] == "Mine"
    assert spec["config"]["axis"]["labelFontSize"] == 20
    plots.save(chart, tmp_path / "mine.svg")


@pytest.mark.parametrize("path", ["picture", "picture.gif", "picture.json"])
def test_other_endings_are_refused(path: str, result: lm.Result, tmp_path: Path) -> None:
    with pytest.raises(lm.LightmeterError, match=r"Accepted: \.png, \.svg, \.pdf or \.html"):
        plots.save(plots.tradeoff(result), tmp_path / path)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_place(result: lm.Result, tmp_path: Path) -> None:
    with pytest.raises(lm.LightmeterError, match="cannot be written"):
        plots.save(plots.tradeoff(result), tmp_path / "absent" / "picture.svg")
    with pytest.raises(lm.LightmeterError, match="save was given a str"):
        plots.save("chart", tmp_path / "picture.svg")


def test_missing_extra(monkeypatch: pytest.MonkeyPatch, result: lm.Result, tmp_path: Path) -> None:
    chart = plots.tradeoff(result)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(lm.MissingExtraError, match=r"pip install 'lightmeter\[report\]'"):
        plots.save(chart, tmp_path / "picture.svg")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(lm.MissingExtraError, match=r"pip install 'lightmeter\[report\]'"):
        plots.tradeoff(result)


def test_module_loads_altair_only_when_drawing() -> None:
    code = "import sys, lightmeter as lm; lm.plots.curve; print('altair' in sys.modules, 'vl_convert' in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_many_rows_are_drawn() -> None:
    alt = altair()
    queries = [f"q{i}" for i in range(5100)]
    c = lm.load(
        run={"one": {q: ["a", "b"] for q in queries}}, qrels={q: {"b": 1, "a": i % 2} for i, q in enumerate(queries)}
    )
    chart = plots.tradeoff(lm.evaluate(c, ["nDCG@10", "RR"]), run="one")
    assert sum(row["n"] for rows in datasets(chart) for row in rows if "names" in row) == 5100
    # altair's own limit is 5,000 rows
    many = alt.Chart(inline(pl.DataFrame({"x": range(5100)}))).mark_point()
    assert max(len(rows) for rows in datasets(many)) == 5100


def test_default_pictures(
    sweep: lm.SweepResult, comparison: lm.Comparison, audit: lm.AuditResult, result: lm.Result
) -> None:
    for one in (sweep, comparison, audit, result):
        assert datasets(one.plot())
