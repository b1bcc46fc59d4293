"""``lightmeter measures`` lists what is registered; ``lightmeter demo`` says what its table shows."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from lightmeter.cli.demo import GENDER, LOSS, RELEVANCE, SHARE, reading
from lightmeter.terms.catalogue import catalogue
from lightmeter.terms.registry import KINDS, aliases, registered


def test_every_measure_is_listed_with_a_line(lightmeter):
    out = lightmeter("measures").out
    for name in registered("measure"):
        assert re.search(rf"^{name} +[\[(].*(higher|lower|none)  +\w", out, re.MULTILINE), name
    for kind in KINDS[1:]:
        for name in registered(kind):
            assert re.search(rf"^[a-z ]+: .*\b{name}\b", out, re.MULTILINE), name


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_has_a_page(lightmeter, kind):
    for name in registered(kind):
        done = lightmeter("measures", name)
        assert done.code == 0
        assert done.out.startswith(name)
        assert "``" not in done.out
        assert ">>>" not in done.out


def test_every_entry_is_complete():
    from lightmeter import parse

    for entry in catalogue():
        assert entry.summary, entry.name
        assert str(parse(entry.example, kind=entry.kind)) == entry.example
        for parameter in entry.parameters:
            assert parameter.accepts, (entry.name, parameter.name)
            assert parameter.meaning, (entry.name, parameter.name)


def test_a_page_tells_constraints_and_usage(lightmeter):
    out = lightmeter("measures", "RBP").out
    assert out.startswith("RBP(p=0.8)   (measure and user model)")
    assert "p: patience: probability of going on; default 0.8; accepted: a number at least 0 and below 1" in out
    assert 'Usage: lightmeter evaluate RUN --qrels QRELS -m "RBP(p=0.8)"' in out
    assert "@10" in lightmeter("measures", "DistrSim").out
    assert lightmeter("measures", "nDCG@10").out == lightmeter("measures", "nDCG").out


@pytest.mark.parametrize("alias", aliases())
def test_an_alias_shows_the_page_of_what_it_stands_for(lightmeter, alias):
    name = aliases()[alias]
    for asked in (alias, f"{alias}@10"):
        assert lightmeter("measures", asked).out == f"{alias} is {name}.\n\n" + lightmeter("measures", name).out
    assert f"Also called: {alias}\n" in lightmeter("measures", name).out
    assert f"{alias} ({name})" in lightmeter("measures").out
    assert f"| `{name}` (also `{alias}`) |" in lightmeter("measures", "-f", "markdown").out
    assert {r["name"] for r in lightmeter("measures", alias, "-f", "jsonl").rows()} == {name}


def test_a_page_is_shown_for_a_notation(lightmeter):
    assert lightmeter("measures", "GF(by='x')@20").out == lightmeter("measures", "GF").out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("map", "Here it is written AP;"),
        ("mrr@10", "Here it is written RR@10;"),
        ("recip_rank", "Here it is written RR;"),
        ("ndcg_cut_10", "Here it is written nDCG@10;"),
        ("P_5", "Here it is written P@5;"),
        ("recall_1000", "Here it is written R@1000;"),
        ("Rprec", "lightmeter has no measure 'Rprec'. The nearest: P@k, AP."),
        ("bpref", "The nearest: AP"),
        ("Success@5", "The nearest: RR@k."),
        ("ndkl", "Here it is written NDKL;"),
        ("infAP", "The nearest: AP."),
    ],
)
def test_names_of_other_programs_lead_to_ours(lightmeter, name, says):
    done = lightmeter("measures", name)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_what_other_programs_have_leads_to_what_there_is():
    from lightmeter.cli.notation import ELSEWHERE, plain_name

    for names in ELSEWHERE.values():
        for name in filter(None, re.sub(r"\(.*?\)|@k", "", names).split(",")):
            assert name.strip() in registered("measure"), name
    for name, cls in registered("measure").items():
        for other in (*cls.__dict__.get("aliases", ()), *cls.__dict__.get("known_as", ())):
            assert plain_name(other) not in ELSEWHERE, f"{other} of {name} is said to be missing"


def test_measures_as_json_lines_and_markdown(lightmeter):
    rows = lightmeter("measures", "-f", "jsonl").rows()
    assert {(r["kind"], r["name"]) for r in rows} == {(k, n) for k in KINDS for n in registered(k)}
    assert all(list(r) == list(rows[0]) for r in rows)
    assert "Infinity" not in json.dumps(rows)
    text = lightmeter("measures", "-f", "markdown").out
    bars = [re.sub(r"\\\|", "", line).count("|") for line in text.split("##")[1].splitlines() if line.startswith("|")]
    assert len(set(bars)) == 1


# demo


def test_demo_is_the_command_it_prints(lightmeter, monkeypatch):
    done = lightmeter("demo")
    assert done.code == 0
    assert done.out.startswith("SYNTHETIC")
    shown = done.out.replace("\\\n", " ")
    folder = shlex.split(re.search(r"^\$ cd (.*)$", shown, re.MULTILINE)[1])[0]
    arguments = shlex.split(re.search(r"^\$ lightmeter (.*)$", shown, re.MULTILINE)[1])
    monkeypatch.chdir(folder)
    table = lightmeter(*arguments).out
    assert table
    assert table in done.out
    assert "unknown gender=" in done.err
    assert "column 2 read as sample ids" in done.err


def test_demo_ends_with_two_sentences_true_of_its_numbers(lightmeter):
    from lightmeter.cli.demo import RUNS

    done = lightmeter("demo")
    text = " ".join(done.out.splitlines()[-2:])
    table = {}
    for line in done.out.splitlines():
        found = re.match(r"(\S.*?\S)  +(?:(f|m|unknown) +)?([\d.]+)  +([\d.]+)  +([\d.]+)", line)
        if found:
            table[found[1], found[2]] = dict(zip(RUNS, map(float, found.groups()[2:]), strict=True))
    best = max(RUNS, key=table[RELEVANCE, None].get)
    even = max(RUNS, key=table[GENDER, None].get)
    assert f"'{best}' is the most relevant (nDCG@10 {table[RELEVANCE, None][best]:.2f})" in text
    assert f"women hold {table[SHARE, 'f'][best]:.0%}" in text
    assert f"'{even}' comes closest" in text
    assert f"EEL {table[LOSS, None][even]:.2f} against {table[LOSS, None][best]:.2f}" in text
    assert text.count(". ") == 1


class Table:
    """As much of a result as the sentences read."""

    def __init__(self, **means):
        self.means = means

    def mean(self):
        import polars as pl

        rows = [
            (run, measure, group, value)
            for run, values in self.means.items()
            for (measure, group), value in zip(
                [(RELEVANCE, None), (GENDER, None), (LOSS, None), (SHARE, "f")], values, strict=True
            )
        ]
        return pl.DataFrame(rows, schema=["run", "measure", "group", "value"], orient="row", infer_schema_length=None)


def test_the_sentences_follow_the_numbers():
    agree = reading(Table(baseline=(0.5, 0.5, 2.0, 0.3), relevant=(0.9, 0.9, 1.0, 0.49), fairer=(0.8, 0.8, 1.5, 0.4)))
    assert "and women hold 49%" in agree
    assert "No other run is closer" in agree
    worse = reading(Table(baseline=(0.5, 0.9, 2.0, 0.5), relevant=(0.9, 0.7, 1.0, 0.2), fairer=(0.8, 0.8, 1.5, 0.4)))
    assert "'baseline' comes closest" in worse
    assert "EEL" not in worse
    assert "44.4% of nDCG@10" in worse
