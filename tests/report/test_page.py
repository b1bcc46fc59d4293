"""What a report holds, whatever opens it: parts, escapes, size, and what an audit keeps to itself."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report.conftest import DOCS, HOSTILE, IMAGE, MEASURES, QUOTES, collection, grade, people, runs

import lightmeter as lm
from lightmeter.errors import LightmeterError
from lightmeter.report.page import in_script
from lightmeter.report.parts import MOST_ROWS, Cell, Head, Row, Table, interval, value
from lightmeter.report.people import codes_of
from lightmeter.report.queries import chosen
from lightmeter.report.rankings import DEPTH


class Parsed(HTMLParser):
    """The elements of a page, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self._script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data
        else:
            self.texts.append(data)

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_parts_and_landmarks(evaluation: Path) -> None:
    page = Parsed(evaluation.read_text("utf-8"))
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.having(landmark)) == 1, landmark
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for part in ("summary", "results", "pictures", "queries", "rankings", "undefined", "conventions", "reproduce"):
        assert part in ids
    for _, attributes in page.tags:  # whatever is named by another element is there
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name) is None or attributes[name] in ids
    links = [a["href"] for a in page.having("a")]
    assert all(str(link).startswith("#") and str(link)[1:] in ids for link in links)
    assert len(page.having("caption")) == len(page.having("table")) > 4
    assert all(a.get("scope") in ("col", "row") for a in page.having("th"))
    assert all(a.get("alt") and str(a["src"]).startswith("data:image/svg+xml;base64,") for a in page.having("img"))


def test_pictures_are_there_without_javascript(evaluation: Path) -> None:
    page = Parsed(evaluation.read_text("utf-8"))
    drawn = [base64.b64decode(str(a["src"]).partition(",")[2]).decode() for a in page.having("img")]
    assert len(drawn) == 3
    assert all(svg.startswith("<svg") and "</svg>" in svg for svg in drawn)
    assert "GF(by=" in drawn[0]


def test_nothing_is_loaded_and_only_these_scripts_run(evaluation: Path) -> None:
    page = Parsed(evaluation.read_text("utf-8"))
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert str(attributes.get(name) or "#").startswith(("#", "data:"))
        assert not any(name.startswith("on") for name in attributes)
    policy = next(str(a["content"]) for a in page.having("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    made = [s for s, a in zip(page.scripts, page.having("script"), strict=True) if "type" not in a]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in made}
    assert set(re.findall(r"'sha256-[^']*'", policy)) == hashes
    assert len(made) == 2


def test_the_numbers_are_those_of_the_result(evaluation: Path, small: lm.Collection) -> None:
    result = lm.evaluate(small, MEASURES)
    text = evaluation.read_text("utf-8")
    for row in result.mean().iter_rows(named=True):
        assert f'data-v="{row["value"]}"' in text
    assert "".join(Parsed(text).texts).count("show ranking") == 0  # a button that only scripts can serve


def test_rankings_have_grades_groups_and_exposure(evaluation: Path, small: lm.Collection) -> None:
    told = data_of(evaluation)["rankings"]
    assert told["runs"] == ["good", "fair", "poor"]
    assert told["attributes"] == ["side"]
    assert told["user"] == "RBP(p=0.8)"
    assert len(told["queries"]) == 12
    for about in told["queries"]:
        given = runs("good", "fair", "poor")
        for i, name in enumerate(told["runs"]):
            order = sorted(given[name][about["query"]].items(), key=lambda pair: -pair[1])
            shown = [about["docs"][number] for number in about["lists"][i]]
            assert [doc for doc, _, _ in shown] == [doc for doc, _ in order]
            for doc, judged, groups in shown:
                j = DOCS.index(doc)
                assert judged == grade(int(about["query"][1:]), j)
                assert groups == [("f", "m")[j % 2]]
            assert about["seen"][i] == pytest.approx([0.8**k for k in range(len(order))], rel=5e-3)
            assert about["sizes"][i] == len(order)


def test_a_run_that_does_not_answer_has_no_list(tmp_path: Path) -> None:
    given = runs("a", "b")
    del given["b"]["q3"]
    c = lm.load(run=given, qrels={f"q{q}": {d: grade(q, j) for j, d in enumerate(DOCS)} for q in range(12)})
    path = lm.write_report(lm.evaluate(c, ["nDCG@5"]), tmp_path / "r.html", collection=c)
    about = next(q for q in data_of(path)["rankings"]["queries"] if q["query"] == "q3")
    assert about["lists"][1] is None
    assert about["lists"][0] is not None
    assert "judged, but not answered by the run" in path.read_text("utf-8")
    assert "counted by rule" in path.read_text("utf-8")


def test_which_queries_matter_most() -> None:
    qrels = {f"q{q}": {"x": 1, "y": 0, "z": 0} for q in range(4)}
    top, middle, low = ["x", "y", "z"], ["y", "x", "z"], ["y", "z", "x"]
    a = {"q0": top, "q1": top, "q2": top, "q3": middle}
    b = {"q0": top, "q1": low, "q2": middle, "q3": middle}
    result = lm.evaluate(lm.load(run={"a": a, "b": b}, qrels=qrels), ["RR"])
    found = chosen(result)
    assert [result.queries[c.index] for c in found[:2]] == ["q1", "q2"]
    assert found[0].pair == (0, 1)
    assert found[0].why == "RR from 0.333 to 1.000"
    one = lm.evaluate(lm.load(run={"b": b}, qrels=qrels), ["RR"])
    assert next(one.queries[c.index] for c in chosen(one)) == "q1"
    assert len(chosen(result, 2)) == 2
    # q1 and q2 differ as much by P@1, but q1 by RR too
    both = lm.evaluate(lm.load(run={"a": a, "b": {**b, "q0": middle}}, qrels=qrels), ["P@1", "RR"])
    assert [both.queries[c.index] for c in chosen(both)] == ["q1", "q0", "q2", "q3"]


def test_hostile_names_stay_texts(tmp_path: Path) -> None:
    docs = [HOSTILE, IMAGE, QUOTES, "d3", "d4", "\u2028\u202e"]
    names = (f"a {HOSTILE}", f"b {IMAGE}")
    c = collection(names, docs)
    path = lm.write_report(lm.evaluate(c, MEASURES), tmp_path / "r.html", collection=c)
    page = Parsed(path.read_text("utf-8"))
    assert len(page.having("script")) == 3
    assert all("onerror" not in a for a in page.having("img"))
    told = data_of(path)["rankings"]
    assert {d[0] for q in told["queries"] for d in q["docs"]} >= {HOSTILE, IMAGE, QUOTES}
    assert HOSTILE in "".join(page.texts)


def test_json_in_a_script_cannot_end_it() -> None:
    made = in_script({"a": HOSTILE, "b": "<!--", "c": float("nan"), "d": [np.inf], "e": "\u2028"})
    assert not re.search(r"[<>&\u2028]", made)
    assert json.loads(made) == {"a": HOSTILE, "b": "<!--", "c": None, "d": [None], "e": "\u2028"}


def test_large_results_stay_small(tmp_path: Path) -> None:
    """17 runs, 100 queries and rankings of 1,000 documents; of 50 queries the first 20 are in the page."""
    rng = np.random.default_rng(1)
    docs = [f"document-{i:06d}" for i in range(1000)]
    qrels = {f"q{q}": {d: int(g) for d, g in zip(docs[:100], rng.integers(0, 3, 100), strict=True)} for q in range(100)}
    names, query = pl.Series(docs), pl.Series([f"q{q}" for q in range(100)])[np.repeat(np.arange(100), 1000)]
    score = np.tile(np.arange(1000, 0, -1.0), 100)
    given = {}
    for r in range(17):
        order = rng.permuted(np.tile(np.arange(1000), (100, 1)), axis=1).ravel()
        given[f"run{r}"] = pl.DataFrame({"query": query, "doc": names[order], "score": score})
    c = lm.load(run=given, qrels=qrels)
    result = lm.evaluate(c, ["nDCG@10", "AP", "P@10", "RBP(p=0.8)", "RR", "R@100"])
    path = lm.write_report(result, tmp_path / "r.html", collection=c)
    assert path.stat().st_size < 5_000_000
    told = data_of(path)["rankings"]
    assert len(told["queries"]) == 50
    assert all(len(ranking) == DEPTH for q in told["queries"] for ranking in q["lists"])
    assert all(size == 1000 for q in told["queries"] for size in q["sizes"])
    text = " ".join("".join(Parsed(path.read_text("utf-8")).texts).split())
    assert "The 50 queries that matter most of 100; 50 are left out here." in text
    assert "The first 20 documents of 50 queries, those that matter most." in text


def test_long_tables_are_cut_and_say_so() -> None:
    made = Table.of("t", [Head("a")], [Row([Cell(str(i))]) for i in range(MOST_ROWS + 7)])
    assert len(made.rows) == MOST_ROWS
    assert made.left_out == 7


def test_undefined_is_no_number() -> None:
    assert value(float("nan"), reason="no_relevant") == Cell("undefined", None, "no_relevant", "number")
    assert value(None).value is None
    assert value(0.25, "n", best=True) == Cell("0.2500", 0.25, "n", "number", True)
    assert interval(0.1, float("nan")) == ""
    assert interval(0.1, 0.2) == "[0.1000, 0.2000]"


def test_what_is_undefined_is_told_with_its_reason(tmp_path: Path) -> None:
    c = lm.load(run={"a": {"q1": ["x"], "q2": ["x"]}}, groups={"side": {"y": "f"}})
    path = lm.write_report(lm.evaluate(c, ["GF(by='side', user=RBP(p=0.8))"]), tmp_path / "r.html", collection=c)
    text = path.read_text("utf-8")
    assert "2 of 2 values (100.0%) are undefined" in text
    assert "no value, left out of means" in text
    assert "counted by rule" not in text
    assert "the group of no ranked document is known" in text


def test_comparison(small: lm.Collection, tmp_path: Path) -> None:
    made = lm.compare(small, ["nDCG@5", "RR"], resamples=300)
    path = lm.write_report(made, tmp_path / "r.html", collection=small)
    text = path.read_text("utf-8")
    for row in made.pairs.iter_rows(named=True):
        assert f'data-v="{row["p"]}"' in text
        assert f'data-v="{row["difference"]}"' in text
    assert f"{made.tests} tests" in text
    best = made.means.filter(made.means["measure"] == "nDCG@5").sort("value", descending=True)["run"][0]
    assert f"By nDCG@5, {best} is best" in text
    baseline = lm.compare(small, ["nDCG@5"], baseline="poor", resamples=300)
    assert "a star: differs significantly from poor" in (
        lm.write_report(baseline, tmp_path / "b.html").read_text("utf-8")
    )


def test_sweep(small: lm.Collection, tmp_path: Path) -> None:
    made = lm.sweep(small, ["PlackettLuce"], "RBP(p=0.5)", resamples=20)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    for curve in made.curves:
        assert f'data-v="{curve.area().value}"' in text
        assert f'data-v="{curve.share().value}"' in text


def test_an_audit_shows_groups_only(tmp_path: Path) -> None:
    table = people()
    made = lm.audit(table, score="score", group="sex", cutoffs=[20], resamples=50, min_cell=10)
    path = lm.write_report(made, tmp_path / "r.html")
    text = path.read_text("utf-8")
    assert "person number" not in text
    assert "This report shows groups only" in text
    row = re.search(r"<tr[^>]*><th scope=\"row\"[^>]*>few</th>(.*?)</tr>", text)
    assert row
    assert "masked" in row[1]
    assert "data-v" not in re.sub(r'<td class="name" data-v="[^"]*">the [^<]*</td>', "", row[1])
    assert data_of(path)["rankings"] is None
    assert f'data-v="{made.value("mean_score", "a")}"' in text


def test_an_audit_of_lists_names_none(tmp_path: Path) -> None:
    table = people().with_columns(list=pl.Series([f"the hearing of person {i % 4}" for i in range(160)]))
    made = lm.audit(table, score="score", group="sex", query="list", cutoffs=[10], resamples=20, per_query=True)
    assert "the hearing of person 1" in made.rows["query"].to_list()
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    assert "the hearing of person 1" not in text
    assert f'data-v="{made.value("mean_score", "a")}"' in text  # of all lists pooled


def test_codes_tell_apart_and_no_more() -> None:
    made = codes_of(["a", "b", "a"])
    assert made[0] == made[2] != made[1]
    assert codes_of(["a"]) != codes_of(["a"])  # another key each time


def test_no_half_written_report(tmp_path: Path, small: lm.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.html"
    path.write_text("as before", "utf-8")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lightmeter.io.files.os.replace", fail)
    with pytest.raises(LightmeterError, match="cannot be written"):
        lm.write_report(lm.evaluate(small, ["nDCG@5"]), path)
    assert path.read_text("utf-8") == "as before"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize("name", ["r.txt", "folder/r.html", ""])
def test_names_that_cannot_be(name: str, tmp_path: Path, small: lm.Collection) -> None:
    with pytest.raises(LightmeterError, match=r"\.html|no folder"):
        lm.write_report(lm.evaluate(small, ["nDCG@5"]), tmp_path / name)


def test_other_things_have_no_report(tmp_path: Path) -> None:
    with pytest.raises(LightmeterError, match="Accepted: what evaluate, compare, sweep or audit return"):
        lm.write_report(3, tmp_path / "r.html")  # type: ignore[arg-type]


def test_without_the_extra_it_says_what_to_type(
    tmp_path: Path, small: lm.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lightmeter.report.public as public

    real = public.find_spec
    monkeypatch.setattr(public, "find_spec", lambda name: None if name == "jinja2" else real(name))
    with pytest.raises(lm.MissingExtraError, match=r"pip install 'lightmeter\[report\]'"):
        lm.write_report(lm.evaluate(small, ["nDCG@5"]), tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_conditions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lightmeter.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.run").write_text("q1 Q0 x 1 2 a\nq1 Q0 y 2 1 a\n")
    (tmp_path / "q.txt").write_text("q1 0 y 1\n")
    given = ["evaluate", "a.run", "--qrels", "q.txt", "-m", "RR", "-q", "-o", "out.csv", "--report", "r.html"]
    assert main([*given, "--fail-if", "RR < 0.8", "--manifest", "m.json"]) == 3
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "A condition that should not hold does: RR &lt; 0.8" in text
    told = "".join(Parsed(text).texts)
    manifest = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert all(f["sha256"] in told for f in manifest["files"])
    embedded = re.search(r'<pre id="manifest">(.*?)</pre>', text, re.DOTALL)
    assert embedded
    assert json.loads(Parsed(embedded[1]).texts[0]) == manifest
    assert main([*given, "--fail-if", "RR < 0.1"]) == 0
    assert "No run meets a condition that it should not: RR &lt; 0.1" in (tmp_path / "r.html").read_text("utf-8")


def test_inputs_are_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lightmeter.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.html").write_text("q1 Q0 x 1 2 a\n")
    (tmp_path / "q.txt").write_text("q1 0 x 1\n")
    given = ["evaluate", "a.html", "--qrels", "q.txt", "-m", "RR", "-q", "-o", "out.csv", "--report", "a.html"]
    assert main(given) == 2
    assert (tmp_path / "a.html").read_text() == "q1 Q0 x 1 2 a\n"
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--report-people", "id"], "Name the report: --report FILE.html"),
        (["--report-people", "name", "--report", "r.html"], "no column 'name' for the persons of the report"),
        (["--report", "r.pdf"], "does not end in .html"),
        (["--report", "r.html", "--manifest", "r.html"], "are both r.html"),
    ],
)
def test_wrong_requests_of_an_audit_write_nothing(
    more: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from lightmeter.cli import main

    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")
    given = ["audit", "people.csv", "--score", "score", "--group", "sex", "--resamples", "0", "-q", "-o", "out.txt"]
    assert main([*given, *more]) == 2
    assert told in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv"]


def test_people_where_they_are_asked_for() -> None:
    """The first of the list in order, groups masked as in the audit, and no identifier."""
    from lightmeter.report.people import people_of

    table = people()
    given = {"score": ["score"], "group": ["sex"], "label": None, "query": None, "bins": None, "users": None}
    made = people_of(table, "id", {**given, "ties": "file", "preset": None, "min_cell": 10})
    scores = sorted(table["score"].to_list(), reverse=True)[:DEPTH]
    assert [row.cells[3].value for row in made.rows] == scores
    assert [row.cells[0].text for row in made.rows] == [str(i) for i in range(1, DEPTH + 1)]
    by_score = dict(zip(table["score"].to_list(), table["sex"].to_list(), strict=True))
    counts = table["sex"].value_counts().sort("count")
    hidden = {counts["sex"][0], counts["sex"][1]}  # the small group, and the next so that no total tells
    for row in made.rows:
        group = by_score[row.cells[3].value]
        assert row.cells[2].text == ("masked" if group in hidden else group)
    assert not any("person" in cell.text for row in made.rows for cell in row.cells)
    open_ = people_of(table, "id", {**given, "ties": "file", "preset": None, "min_cell": 1})
    assert [row.cells[2].text for row in open_.rows] == [by_score[s] for s in scores]


def test_the_page_on_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "report.md", "exec"), {})
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_of_many_runs_fewer_rankings_are_shown(tmp_path: Path) -> None:
    c = collection(tuple(f"run{i}" for i in range(120)), queries=40)
    path = lm.write_report(lm.evaluate(c, ["nDCG@5", "RR", "AP"]), tmp_path / "r.html", collection=c)
    assert path.stat().st_size < 5_000_000
    assert len(data_of(path)["rankings"]["queries"]) == 40_000 // (20 * 120)
    assert "The first 20 documents of 16 queries" in " ".join(path.read_text("utf-8").split())


def test_large_pictures_become_dots_where_these_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    from lightmeter.report import pictures

    chart = lm.plots.attention("RBP(p=0.5)", depth=5)
    vectors = pictures.picture(chart, "about")
    assert b"<image" not in vectors.svg
    monkeypatch.setattr(pictures, "LARGEST_SVG", 10)
    monkeypatch.setattr(pictures, "LARGEST", 10)
    dots = pictures.picture(chart, "about")
    assert len(dots.svg) <= len(vectors.svg)
    assert dots.width == vectors.width
    assert dots.spec is None
    assert vectors.spec is not None


def test_measures_without_a_value_by_query(tmp_path: Path, small: lm.Collection) -> None:
    """A measure that is reduced over queries has no table of queries, and no drill-down."""
    result = lm.evaluate(small, ["JME_II"])
    path = lm.write_report(result, tmp_path / "r.html", collection=small)
    assert data_of(path)["rankings"] is None
    assert 'id="queries' not in path.read_text("utf-8")


def test_segments_have_rows_of_their_own(tmp_path: Path) -> None:
    kinds = {"query": ["q1", "q2"], "kind": ["long", "short"]}
    c = lm.load(
        run={"a": {"q1": ["x", "y"], "q2": ["y", "x"]}},
        qrels={"q1": {"x": 1}, "q2": {"x": 1}},
        queries=pl.DataFrame(kinds),
        segment="kind",
    )
    text = lm.write_report(lm.evaluate(c, ["RR"]), tmp_path / "r.html").read_text("utf-8")
    found = re.findall(r'<td class="name">([^<]*)</td><td class="number" data-v="([^"]*)">', text.replace("\n", ""))
    assert found[:3] == [("(all queries)", "0.75"), ("long", "1.0"), ("short", "0.5")]


def test_the_best_of_a_column_is_bold(tmp_path: Path) -> None:
    """Of EEL, where lower is better, the lowest; nothing where all are equal."""
    c = collection(("good", "fair", "poor"))
    result = lm.evaluate(c, ["EEL(user=RBP(p=0.8))", "Judged@5"])
    text = lm.write_report(result, tmp_path / "r.html").read_text("utf-8")
    means = text[text.index('id="results-1"') : text.index('id="pictures"')]
    bold = re.findall(r'<td class="number best" data-v="([^"]*)"', means)
    values = result.mean().filter(pl.col("measure") == "EEL(user=RBP(p=0.8))")["value"].to_list()
    assert bold == [str(min(values))]


def test_a_comparison_tells_letters_and_intervals(small: lm.Collection, tmp_path: Path) -> None:
    made = lm.compare(small, ["nDCG@5", "EEL(user=RBP(p=0.8))"], resamples=300)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    for row in made.means.iter_rows(named=True):
        note = f"[{row['low']:.4f}, {row['high']:.4f}] {row['letters']}"
        assert re.search(rf'data-v="{row["value"]}">[^<]* <span class="note">{re.escape(note)}</span>', text)
    first = re.findall(r'<tr data-run="(\w+)"', text[text.index('id="results-1"') :])[:3]
    means = made.means.filter(pl.col("measure") == "nDCG@5").sort("value", descending=True)["run"].to_list()
    assert first == means


def test_all_conventions_and_notes_are_there(small: lm.Collection, tmp_path: Path) -> None:
    made = lm.compare(small, MEASURES[:2], resamples=300)
    told = "".join(Parsed(lm.write_report(made, tmp_path / "r.html").read_text("utf-8")).texts)
    for name, rule in made.conventions.items():
        assert name in told
        assert rule in told
    assert all(note in told for note in made.notes)


def test_rankings_follow_the_conventions_of_the_result(tmp_path: Path) -> None:
    """Exposure is that of the policy, and rankings end where the evaluation did."""
    c = collection(("good", "poor"))
    uniform = lm.evaluate(c, ["EED(user=RBP(p=0.5))"], policy="Uniform")
    about = data_of(lm.write_report(uniform, tmp_path / "u.html", collection=c))["rankings"]["queries"][0]
    mean = sum(0.5**k for k in range(len(DOCS))) / len(DOCS)
    assert about["seen"][0] == pytest.approx([mean] * len(DOCS), rel=5e-3)
    shallow = lm.evaluate(c, ["nDCG@5"], depth=3)
    about = data_of(lm.write_report(shallow, tmp_path / "d.html", collection=c))["rankings"]["queries"][0]
    assert [len(ranking) for ranking in about["lists"]] == [3, 3]


def test_another_collection_is_refused(small: lm.Collection, tmp_path: Path) -> None:
    other = collection(("good", "fair", "poor"), queries=5)
    with pytest.raises(LightmeterError, match="not the one that the result was computed of"):
        lm.write_report(lm.evaluate(small, ["nDCG@5"]), tmp_path / "r.html", collection=other)
    assert not list(tmp_path.iterdir())


def test_points_of_a_sweep(small: lm.Collection, tmp_path: Path) -> None:
    made = lm.sweep(small, ["PlackettLuce"], "RBP(p=0.5)", resamples=20)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    points = text[text.index('id="points-1"') : text.index('id="queries"')]
    found = re.findall(r'data-v="([^"]*)">[^<]*</td>\s*<td class="number" data-v="([^"]*)">[^<]*</td>\s*</tr>', points)
    x, y = made.curves[0].mean
    pairs = {(str(a), str(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)}
    assert len(found) >= 3 * 10
    assert set(found[: len(found) // 3]) <= pairs


def test_an_audit_of_two_scores_tells_them_apart(tmp_path: Path) -> None:
    table = people().with_columns(other=-pl.col("score"))
    made = lm.audit(table, score=["score", "other"], group="sex", cutoffs=[20], resamples=20, min_cell=1)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    summary = text[text.index('id="summary"') : text.index('id="results"')]
    for score in ("score", "other"):
        assert f"(ranked by {score})." in summary or f"(ranked by {score}) in the whole list" in summary
        assert f"sex, ranked by {score}" in text
        assert f'data-v="{made.value("exposure_ratio", "b", score=score)}"' in text


@pytest.mark.parametrize(("gap", "even"), [(2.0, False), (0.6, True)])
def test_an_audit_begins_with_the_shortest_list(tmp_path: Path, gap: float, even: bool) -> None:
    """The whole list hides what happens at its top; where the interval holds 1 that is said."""
    rng = np.random.default_rng(2)
    group = np.where(np.arange(300) % 3 == 0, "bb", "aaa")
    table = pl.DataFrame({"score": rng.normal(size=300) - gap * (group == "bb"), "team": group})
    made = lm.audit(table, score="score", group="team", cutoffs=[200, 40], resamples=200)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    summary = re.sub(r"<[^>]+>", "", text[text.index('id="summary"') : text.index('id="results"')])
    top, whole = (made.value("exposure_ratio", "bb", cutoff=k) for k in (40, None))
    first = f"bb gets {top:.3f} times as much exposure as aaa among the first 40 ("
    assert first in summary
    assert summary.index(first) < summary.index(
        f"bb gets {whole:.3f} times as much exposure as aaa in the whole list ("
    )
    assert "among the first 200 (" not in summary
    assert ("That is below four fifths, but the interval holds 1." in summary) is even
    assert ("That is below four fifths." in summary) is not even


def test_an_audit_after_a_preset(tmp_path: Path) -> None:
    table = people(2000).with_columns(pl.when(pl.col("sex") == "few").then(pl.lit("a")).otherwise("sex").alias("sex"))
    table = table.with_columns(race=pl.Series(["x", "y", "z", "x", "y"] * 400))
    made = lm.audit(table, score="score", group=["sex", "race"], preset="ll144", resamples=20)
    text = lm.write_report(made, tmp_path / "r.html").read_text("utf-8")
    assert "scoring rate" in text
    value = made.value("impact_ratio", "b", attribute="sex")
    assert f'data-v="{value}"' in text
    assert "sex x race" in text
    assert "This is a layout, not legal advice" in text
