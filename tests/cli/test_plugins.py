"""Measures of one's own: modules named on the command line, and installed packages that announce themselves."""

from __future__ import annotations

import pytest

OK = ("evaluate", "a.run", "--qrels", "qrels.txt", "-f", "jsonl", "--quiet")
MODULE = '''
import numpy as np
import lightmeter as lm


class {name}(lm.Measure):
    """Rank of the first relevant document; undefined where none is ranked."""

    better, bounds, needs = "lower", (1, np.inf), {{"judgments"}}
    rel: int = 1

    def value(self, block):
        hit = block.relevant(self.rel)
        return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.nan)
'''


def write(path, name="FirstRelevant", before=""):
    path.parent.mkdir(exist_ok=True)
    path.write_text(before + MODULE.format(name=name), "utf-8")


@pytest.mark.parametrize("spec", ["own_measure_here", "plugins_folder/own_measure_there.py"])
def test_a_module_or_a_file(process, folder, spec):
    write(folder / "own_measure_here.py")
    write(folder / "plugins_folder" / "own_measure_there.py")
    done = process(*OK, "--plugin", spec, "-m", "FirstRelevant", "-m", "FirstRelevant(rel=2)", "--per-query")
    assert done.code == 0, done.err
    assert [(r["value"], r["reason"]) for r in done.rows()] == [
        (2.0, None), (3.0, None), (2.0, None), (None, "undefined"), (2.0, None), (3.0, "undefined"),
    ]  # fmt: skip


def test_a_plugin_is_in_the_list_and_has_a_page(process, folder):
    write(folder / "own_measure.py")
    listed = process("measures", "--plugin", "own_measure")
    row = next(line for line in listed.out.splitlines() if line.startswith("FirstRelevant"))
    cells = row.split(maxsplit=4)
    assert cells[:4] == ["FirstRelevant", "[1,", "inf)", "lower"]
    assert cells[4].startswith("Rank of the first relevant document")
    page = process("measures", "FirstRelevant", "--plugin", "own_measure.py").out
    assert "rel: default 1; accepted: a whole number" in page
    assert "From: the module own_measure" in page


def test_a_file_named_like_a_module_of_python(process, folder):
    write(folder / "own" / "json.py")
    done = process(*OK, "--plugin", "own/json.py", "-m", "FirstRelevant")
    assert done.code == 0, done.err
    assert done.rows()[0]["value"] == 2.0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("import numpy as np\nraise RuntimeError('no luck')\n", "RuntimeError: no luck (line 2 of"),
        ("def f(:\n", "line 1 is not Python"),
        ("import not_there_at_all\n", "not_there_at_all"),
        ("import sys\nsys.exit(3)\n", "SystemExit"),
        ("import lightmeter as lm\nclass AP(lm.Measure):\n    pass\n", "exists already"),
    ],
)
def test_a_broken_plugin_is_reported(process, folder, content, says):
    (folder / "bad_plugin.py").write_text(content, "utf-8")
    for spec in ("bad_plugin", "bad_plugin.py"):
        done = process(*OK, "--plugin", spec, "-m", "AP")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"lightmeter: error: the plugin {spec} cannot be loaded: ")
        assert says in done.err
        assert done.err.count("\n") == 1


def test_a_plugin_that_fails_while_computing_is_a_defect(process, folder):
    text = MODULE.format(name="Odd").replace("hit = ", "raise IndexError('lost')\n        hit = ")
    (folder / "odd_plugin.py").write_text(text, "utf-8")
    done = process(*OK, "--plugin", "odd_plugin", "-m", "Odd")
    assert done.code == 1
    assert "IndexError: lost" in done.err
    assert "defect in the plugin odd_plugin (line 13 of" in done.err
    assert "a fault of the plugin, not of your input" in done.err
    text = MODULE.format(name="Flat").replace("return np", "return np.zeros(77)\n        return np")
    (folder / "flat_plugin.py").write_text(text, "utf-8")
    for measure in ("Flat(rel=2)", "GFR(of=[Flat(rel=2)])"):
        flat = process(*OK, "--plugin", "flat_plugin.py", "-m", measure)
        assert flat.code == 2
        assert "Flat(rel=2) of the module flat_plugin gave values of shape [77] for" in flat.err


def test_what_a_plugin_prints_is_no_part_of_the_result(process, folder):
    text = "print('LOADING')\n" + MODULE.format(name="Loud").replace("hit = ", "print('AT WORK')\n        hit = ")
    (folder / "loud_plugin.py").write_text(text, "utf-8")
    done = process(*OK, "--plugin", "loud_plugin", "-m", "Loud")
    assert done.code == 0, done.err
    assert [r["value"] for r in done.rows()] == [2.0]
    assert done.err.split("\n")[:2] == ["LOADING", "AT WORK"]
    listed = process("measures", "-f", "jsonl", "--plugin", "loud_plugin")
    assert "Loud" in {r["name"] for r in listed.rows()}


@pytest.mark.parametrize("call", ["sys.exit(3)", "exit(3)", "raise SystemExit"])
def test_a_plugin_does_not_end_the_program(process, folder, call):
    text = "import sys\n" + MODULE.format(name="Quits").replace("hit = ", f"{call}\n        hit = ")
    (folder / "quits_plugin.py").write_text(text, "utf-8")
    done = process(*OK, "--plugin", "quits_plugin", "-m", "Quits", "--fail-if", "AP > 2")
    assert (done.code, done.out) == (2, "")
    assert "the plugin quits_plugin (line 14 of" in done.err
    assert "tried to end the program" in done.err


def test_a_plugin_is_not_written_over(process, folder):
    write(folder / "kept_plugin.py")
    before = (folder / "kept_plugin.py").read_text("utf-8")
    for spec in ("kept_plugin", "kept_plugin.py"):
        done = process(*OK, "--plugin", spec, "-m", "FirstRelevant", "-o", "kept_plugin.py")
        assert done.code == 2
        assert "is an input" in done.err
    assert (folder / "kept_plugin.py").read_text("utf-8") == before


# Installed packages


def install(folder, module, *, before=""):
    """A package as pip leaves it: a module, and metadata that announces it."""
    write(folder / "site" / f"{module}.py", before=before)
    metadata = folder / "site" / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(f"[lightmeter.terms]\nfirst = {module}\n", "utf-8")
    return {"PYTHONPATH": str(folder / "site")}


def test_an_installed_package_is_loaded_for_unknown_names_only(process, folder):
    path = install(folder, "announced_measure", before="print('LOADED')\n")
    quiet = process(*OK, "-m", "AP", **path)
    assert "LOADED" not in quiet.out + quiet.err
    loud = process("evaluate", "a.run", "--qrels", "qrels.txt", "-m", "FirstRelevant", **path)
    assert loud.code == 0, loud.err
    assert "LOADED" in loud.err
    assert "LOADED" not in loud.out
    gate = process(*OK, "-m", "AP", "--fail-if", "FirstRelevant > 1", **path)
    assert gate.code == 3
    assert "FirstRelevant" in process("measures", **path).out


def test_a_broken_package_is_reported_with_the_misspelling(process, folder):
    path = install(folder, "broken_measure", before="1 / 0\n")
    done = process(*OK, "-m", "nDGC@10", **path)
    assert done.code == 2
    assert "Did you mean 'nDCG'" in done.err
    assert "the plugin first (broken_measure) of broken_measure cannot be loaded: ZeroDivisionError" in done.err
    assert process(*OK, "-m", "nDCG@10", **path).err == ""
    listed = process("measures", **path)
    assert listed.code == 0
    assert listed.err.startswith("lightmeter: warning: the plugin first")


COMMANDS = (
    ("evaluate", "a.run", "--qrels", "qrels.txt", "-m", "AP"),
    ("compare", "a.run", "b.run", "--qrels", "qrels.txt", "-m", "AP", "--resamples", "9"),
    ("measures",),
    ("sample", "a.run", "--policy", "PlackettLuce(alpha=1)", "--samples", "1"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_module_without_terms_is_reported(lightmeter, command):
    done = lightmeter(*command, "--plugin", "os")
    assert done.code == 0, done.err
    assert "lightmeter: note: the plugin os (os) defines no measure or other term\n" in done.err
    if command != ("measures",):
        assert lightmeter(*command, "--plugin", "os", "--quiet").err == ""


def test_a_module_with_terms_has_no_such_note(process, folder):
    write(folder / "helper_terms.py")
    (folder / "takes_terms.py").write_text("from helper_terms import FirstRelevant\n", "utf-8")
    (folder / "brings_terms.py").write_text("import helper_terms\n", "utf-8")
    (folder / "package_of_terms").mkdir()
    (folder / "package_of_terms" / "__init__.py").write_text("from . import inner\n", "utf-8")
    (folder / "package_of_terms" / "inner.py").write_text(MODULE.format(name="InnerRelevant"), "utf-8")
    plugins = ("helper_terms", "takes_terms.py", "package_of_terms")
    done = process("evaluate", *OK[1:-1], *(x for p in plugins for x in ("--plugin", p)), "-m", "FirstRelevant")
    assert (done.code, "defines no" in done.err) == (0, False), done.err
    alone = process("evaluate", *OK[1:-1], "--plugin", "brings_terms", "-m", "FirstRelevant")
    assert (alone.code, "defines no" in alone.err) == (0, False), alone.err
    twice = process("evaluate", *OK[1:-1], "--plugin", "helper_terms", "--plugin", "helper_terms.py", "-m", "AP")
    assert (twice.code, "defines no" in twice.err) == (0, False), twice.err
