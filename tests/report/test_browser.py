"""Reports in a real browser: drawn without a complaint, they sort, filter, link and open rankings, and load nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.report.browser import Browser
from tests.report.conftest import HOSTILE, IMAGE, MEASURES, QUOTES, collection, people

import lightmeter as lm
from lightmeter.cli import main

#: the text of each row of a table that is shown
SHOWN = "[...document.querySelectorAll('{} tbody tr')].filter((row) => !row.hidden).map((row) => row.innerText)"
DRAWN = "[...document.querySelectorAll('figure[data-chart]')].map((f) => f.querySelectorAll('.live svg.marks').length)"


def quiet(tab: Browser, path: Path) -> None:
    """The page complained of nothing, and asked for nothing but itself."""
    assert tab.complaints == []
    assert [r for r in tab.requests if not r.startswith(("data:", "blob:"))] == [path.as_uri()]


def drawn(tab: Browser) -> int:
    """How many pictures are alive; all of them are, and stand in the place of the drawings."""
    counts = tab.run(DRAWN)
    assert all(n == 1 for n in counts)
    assert tab.run("[...document.querySelectorAll('img.static')].every((image) => image.hidden)")
    return len(counts)


def rows(tab: Browser, table: str) -> list[str]:
    """The rows that are shown."""
    return list(tab.run(SHOWN.format(table)))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the demo, made by its command."""
    path = tmp_path_factory.mktemp("demo") / "demo.html"
    given = ["demo", "--report", str(path)]
    before, sys.argv = sys.argv, ["lightmeter", *given]
    try:
        assert main(given) == 0
    finally:
        sys.argv = before
    return path


def test_the_demo(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    quiet(tab, demo)
    assert drawn(tab) == 3
    assert tab.run("document.querySelectorAll('#queries tbody tr').length") == 50
    assert tab.run("document.querySelector('h1').innerText") == "baseline, relevant and fairer: relevance and exposure"
    assert "$ cd" not in tab.run("document.body.innerText")
    assert "lightmeter demo --report" in tab.run("document.querySelector('.command').innerText")


def test_a_filter_keeps_the_rows_with_all_words(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    before = rows(tab, "#queries-1")
    tab.type("#queries-1 input[type=search]", "gf by gender 0.934")
    after = rows(tab, "#queries-1")
    wanted = [r for r in before if all(word in r.lower() for word in ("gf", "by", "gender", "0.934"))]
    assert 0 < len(after) < len(before)
    assert set(after) <= set(wanted)
    assert tab.run("document.querySelector('#queries-1 [role=status]').innerText") == f"{len(after)} of 50 rows"
    tab.run(
        "(() => { const f = document.querySelector('#queries-1 input'); f.value = ''; "
        "f.dispatchEvent(new Event('input')); })()"
    )
    assert rows(tab, "#queries-1") == before


def test_sorting_by_numbers_says_so(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    column = "[...document.querySelectorAll('#results-1 tbody tr')].map((row) => Number(row.cells[3].dataset.v))"
    head = "document.querySelectorAll('#results-1 thead th')[3]"
    assert tab.run(f"{head}.getAttribute('aria-sort')") is None
    tab.run(f"{head}.querySelector('button').click()")
    assert tab.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    assert tab.run(column) == sorted(tab.run(column))
    tab.run(f"{head}.querySelector('button').click()")
    assert tab.run(f"{head}.getAttribute('aria-sort')") == "descending"
    assert tab.run(column) == sorted(tab.run(column), reverse=True)
    assert tab.run("document.querySelectorAll('[aria-sort]').length") == 1


def test_looking_into_a_query(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    query = "document.querySelectorAll('#queries-1 tbody tr')[4]"
    name = tab.run(f"{query}.dataset.query")
    tab.run(f"{query}.querySelector('button.open').click()")
    assert tab.run("document.querySelector('#drill [role=status]').innerText").startswith(f"Query {name}: ")
    assert tab.run("document.activeElement.selectedOptions[0].text") == name
    heads = "[...document.querySelectorAll('.sides thead')].map((one) => one.innerText.split(/\\s+/).join(' ').trim())"
    assert tab.run(heads) == ["rank document grade gender seniority exposure"] * 2
    assert tab.run("document.querySelectorAll('.sides tbody tr').length") == 40
    first = tab.run("document.querySelector('.sides tbody').innerText")
    tab.run(
        "(() => { const s = document.querySelectorAll('#drill select')[1]; s.value = s.value === '2' ? '0' : '2'; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    assert tab.run("document.querySelector('.sides tbody').innerText") != first


def test_pictures_and_tables_are_linked(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    assert tab.run("document.querySelectorAll('.dim').length") == 0
    tab.run(
        "(() => { const s = document.querySelector('#tools select'); s.value = 'fairer'; "
        "s.dispatchEvent(new Event('change')); })()"
    )
    runs = (
        "[...new Set([...document.querySelectorAll('.live .{}')].map((n) => n.__data__.datum)"
        ".map((about) => about.run || about.name))]"
    )
    assert set(tab.run(runs.format("dim"))) == {"baseline", "relevant"}
    assert tab.run(runs.format("linked:not(.dim)")) == ["fairer"]
    assert tab.run("[...document.querySelectorAll('tr.chosen')].every((row) => row.dataset.run === 'fairer')")
    assert tab.run("document.querySelectorAll('tr.chosen').length") >= 2
    # a click on a point of a picture does the same
    tab.run("document.querySelector('figure[data-chart=\"1\"]').scrollIntoView({behavior: 'instant'})")
    at = tab.run(
        "(() => { const n = [...document.querySelectorAll('figure[data-chart=\"1\"] .live path.linked')]"
        ".find((n) => n.__data__.datum.name === 'relevant'); const b = n.getBoundingClientRect(); "
        "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
    assert tab.run("document.querySelector('#tools select').value") == "relevant"
    assert tab.complaints == []


def test_a_tooltip_tells_values(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    tab.run("document.querySelector('figure[data-chart=\"0\"]').scrollIntoView({behavior: 'instant'})")
    at = tab.run(
        "(() => { const b = document.querySelector('figure[data-chart=\"0\"] .live path.linked')"
        ".getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0] - 1, y=at[1])
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    assert "run" in tab.run("document.querySelector('#vg-tooltip-element')?.innerText ?? ''")


def test_the_keyboard_reaches_everything_and_shows_where_it_is(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    tab.run("document.body.focus()")
    seen = []
    for _ in range(30):
        for kind in ("rawKeyDown", "keyUp"):
            tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.append(tab.run("(document.activeElement.className || document.activeElement.tagName)"))
        assert tab.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert seen[0] == "skip"
    assert {"A", "SELECT", "BUTTON", "scroll"} <= set(seen)


def test_texts_stand_out_enough(tab: Browser, demo: Path) -> None:
    """Contrast of at least 4.5 to 1 for all texts of the page (WCAG AA)."""
    tab.open(demo)
    tab.run("document.querySelector('details').open = true")
    worst = tab.run("""(() => {
      const parse = (c) => c.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (node) => {
        for (let one = node; one; one = one.parentElement) {
          const c = parse(getComputedStyle(one).backgroundColor);
          if (c.length === 3 || c[3] > 0) return c;
        }
        return [255, 255, 255];
      };
      let least = 99;
      for (const node of document.querySelectorAll('body *:not(svg *):not(script)')) {
        if (![...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim())) continue;
        const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
        least = Math.min(least, (a + 0.05) / (b + 0.05));
      }
      return least;
    })()""")
    assert worst >= 4.5


def test_without_javascript_tables_and_pictures_are_there(tab: Browser, demo: Path) -> None:
    tab.open(demo, scripts=False)
    assert tab.run("[...document.images].every((i) => i.complete && i.naturalWidth > 100 && i.offsetHeight > 50)")
    assert tab.run("document.querySelectorAll('#queries tbody tr').length") == 50
    assert tab.run("document.querySelectorAll('button').length") == 0
    assert tab.run("document.querySelector('noscript').innerText").startswith("Looking into rankings needs JavaScript")
    quiet(tab, demo)


def test_it_prints(tab: Browser, demo: Path) -> None:
    tab.open(demo)
    made = tab.pdf()
    assert made.startswith(b"%PDF")
    tab.call("Emulation.setEmulatedMedia", media="print")
    try:
        for gone in ("nav", "#tools", ".controls", "button.open"):
            assert tab.run(f"getComputedStyle(document.querySelector('{gone}')).display") == "none"
        assert tab.run("getComputedStyle(document.querySelector('.scroll.tall')).overflowY") == "visible"
        # or the titles are missing on all pages but the first
        assert tab.run("getComputedStyle(document.querySelector('thead button')).display") == "contents"
    finally:
        tab.call("Emulation.setEmulatedMedia", media="")


def test_a_narrow_window_does_not_overflow(tab: Browser, demo: Path) -> None:
    tab.open(demo, width=400)
    assert tab.run("document.documentElement.scrollWidth") <= 400


def test_hostile_names_stay_texts(tab: Browser, tmp_path: Path) -> None:
    docs = [HOSTILE, IMAGE, QUOTES, "d3", "d4", "d5"]
    c = collection((f"a {HOSTILE}", f"b {IMAGE}"), docs)
    path = lm.write_report(lm.evaluate(c, MEASURES), tmp_path / "r.html", collection=c)
    tab.open(path)
    assert drawn(tab) == 3
    quiet(tab, path)
    assert tab.run("document.title").endswith("relevance and exposure - lightmeter")
    shown = tab.run("[...document.querySelectorAll('.sides th.doc')].map((cell) => cell.textContent)")
    assert {HOSTILE, IMAGE, QUOTES} <= set(shown)
    assert tab.run("document.querySelectorAll('img:not(.static)').length") == 0
    assert tab.run("document.querySelectorAll('script').length") == 3


def test_a_script_from_elsewhere_would_not_run(tab: Browser, demo: Path, tmp_path: Path) -> None:
    """Were an escape forgotten, the page's own policy would still stop what it lets in."""
    path = tmp_path / "taken.html"
    text = demo.read_text("utf-8")
    attack = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
    path.write_text(text.replace("<main", f"{attack}<main", 1), "utf-8")
    tab.open(path)
    assert tab.run("document.title") != "taken"
    assert any("Content Security Policy" in c for c in tab.complaints)


def test_an_audit(tab: Browser, tmp_path: Path) -> None:
    table, path = tmp_path / "people.csv", tmp_path / "audit.html"
    people().write_csv(table)
    given = ["audit", str(table), "--score", "score", "--group", "sex", "-k", "20", "--resamples", "100", "-q"]
    given += ["-o", str(tmp_path / "out.txt"), "--report", str(path)]
    assert main(given) == 0
    tab.open(path)
    quiet(tab, path)
    assert drawn(tab) >= 1
    assert "person number" not in path.read_text("utf-8")
    assert main([*given, "--report-people", "id", "--min-cell", "1"]) == 0
    tab.open(path)
    quiet(tab, path)
    assert "person number" not in path.read_text("utf-8")
    assert tab.run("document.querySelectorAll('#people tbody tr').length") == 20
    code = tab.run("document.querySelector('#people tbody tr').cells[1].innerText")
    assert len(code) == 10


def test_a_sweep(tab: Browser, small: lm.Collection, tmp_path: Path) -> None:
    made = lm.sweep(small, ["PlackettLuce", "RankTransposition"], "RBP(p=0.5)", resamples=20)
    path = lm.write_report(made, tmp_path / "sweep.html")
    tab.open(path)
    quiet(tab, path)
    assert drawn(tab) == 1


def test_a_comparison_of_real_runs(tab: Browser, shared_data: Path, tmp_path: Path) -> None:
    path, folder = tmp_path / "robust03.html", shared_data / "robust03"
    runs = sorted(str(p) for p in (folder / "runs").iterdir())
    given = ["compare", *runs, "--qrels", str(folder / "qrels.txt.gz"), "-q", "-o", str(tmp_path / "out.txt")]
    for measure in ("nDCG@10", "AP", "P@10", "RBP(p=0.8)", "EEL(user=RBP(p=0.8))", "ERR@20"):
        given += ["-m", measure]
    assert main([*given, "--report", str(path)]) == 0
    assert path.stat().st_size < 5_000_000
    tab.open(path)
    quiet(tab, path)
    assert drawn(tab) == 4
    assert tab.run("document.querySelectorAll('#pairs tbody tr').length") == 136 * 6
    assert len(rows(tab, "#results-1")) == 17
    tab.type("#pairs-1 input[type=search]", "pircrba1 rutcor AP")
    assert 0 < len(rows(tab, "#pairs-1")) < 20
    tab.run("document.querySelector('#queries-1 button.open').click()")
    assert tab.run("document.querySelectorAll('.sides tbody tr').length") > 20
    assert tab.complaints == []
