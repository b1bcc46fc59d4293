"""``lightmeter compare``: the contract of rows, formats for people, and what is refused."""

from __future__ import annotations

import io
import json
import os

import polars as pl
import pytest

RUNS = ("a.run", "b.run", "tied.run", "--qrels", "qrels.txt")
PAIR = {"run_a", "run_b", "measure", "difference", "low", "high", "p", "p_adjusted", "effect", "test", "n"}
TAU = {"measure_a", "measure_b", "tau", "low", "high", "n"}


def test_rows_for_programs(lightmeter):
    done = lightmeter("compare", *RUNS, "-m", "AP", "-m", "RR", "-m", "nDCG@2", "-f", "jsonl")
    assert done.code == 0
    rows = done.rows()
    assert len({tuple(row) for row in rows}) == 1  # all keys always
    pairs = [row for row in rows if row["kind"] == "pair"]
    assert [(r["run_a"], r["run_b"], r["measure"]) for r in pairs] == [
        (a, b, m)
        for m in ("AP", "RR", "nDCG@2")
        for a, b in (("a.run", "b.run"), ("a.run", "tied.run"), ("b.run", "tied.run"))
    ]
    assert set(pairs[0]) >= PAIR | TAU
    assert {r["test"] for r in pairs} == {"tukey"}
    assert {r["n"] for r in pairs} == {2}
    # AP of a.run: 7/12 and 1/2; of b.run: 5/6, and 0 for the query that it does not answer
    assert pairs[0]["difference"] == pytest.approx((7 / 12 + 1 / 2) / 2 - 5 / 6 / 2)
    means = [row for row in rows if row["kind"] == "mean"]
    assert [m["run"] for m in means] == ["a.run"] * 3 + ["b.run"] * 3 + ["tied.run"] * 3
    taus = [row for row in rows if row["kind"] == "tau"]
    assert [(r["measure_a"], r["measure_b"]) for r in taus] == [("AP", "RR"), ("AP", "nDCG@2"), ("RR", "nDCG@2")]
    assert all(r["n"] == 3 and -1 <= r["tau"] <= 1 for r in taus)
    assert "9 tests made" in done.err


def test_csv_and_parquet_have_the_same_table(lightmeter, folder):
    arguments = ("compare", *RUNS, "-m", "AP", "-m", "RR", "-q")
    jsonl = lightmeter(*arguments, "-f", "jsonl").rows()
    assert lightmeter(*arguments, "-o", "c.parquet").code == 0
    parquet = pl.read_parquet(folder / "c.parquet")
    assert parquet.columns == list(jsonl[0])
    assert parquet.rows(named=True) == jsonl
    csv = pl.read_csv(io.BytesIO(lightmeter(*arguments, "-f", "csv").out.encode()), infer_schema_length=None)
    assert csv["difference"].to_list() == pytest.approx(parquet["difference"].to_list())
    assert csv["kind"].to_list() == parquet["kind"].to_list()


def test_tables_for_people(lightmeter):
    done = lightmeter("compare", *RUNS, "-m", "AP", "-m", "EEL", "--groups", "groups.csv", "-m", "GF(by='gender')")
    assert done.code == 0
    assert "runs that share a letter do not differ significantly" in done.out
    assert "9 tests made (3 pairs of runs x 3 measures)" in done.out
    assert "Kendall's tau between the orders of the runs, with its 95% interval" in done.out
    assert "Queries that change most" in done.out
    assert "lower is better: EEL" in done.out
    assert "test=randomised Tukey HSD, 5000 permutations, seed 0" in done.err
    assert "intervals=95%, bootstrap by query" in done.err


def test_latex_and_markdown(lightmeter):
    arguments = ("compare", *RUNS, "-m", "AP", "-m", "GF(by='gender')", "--groups", "groups.csv", "-q")
    tex = lightmeter(*arguments, "-f", "latex").out
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") >= 5
    assert r"$0.5417^{\mathrm{a}}$" in tex
    for line in tex.splitlines():
        if line.endswith(r"\\"):
            assert line.count("$") % 2 == 0
    page = lightmeter(*arguments, "-f", "markdown").out
    assert "0.5417<sup>a</sup>" in page
    for table in page.split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.replace(r"\|", "").count("|") for line in rows}) <= 1


def test_a_baseline_and_a_paired_test(lightmeter):
    done = lightmeter(
        "compare", "old=a.run", "b.run", "tied.run", "--qrels", "qrels.txt", "-m", "AP", "--test", "randomization",
        "--baseline", "old", "-f", "jsonl",
    )  # fmt: skip
    pairs = [row for row in done.rows() if row["kind"] == "pair"]
    assert [(r["run_a"], r["run_b"]) for r in pairs] == [("b.run", "old"), ("tied.run", "old")]
    # two queries: 2 of 4 ways to flip the signs at the least
    assert {r["p"] for r in pairs} <= {0.5, 1.0}
    assert {r["p_adjusted"] for r in pairs} == {1.0}
    assert "compared=each run with old" in done.err
    assert "the smallest p that can come out is 1. Take more queries" in done.err


def test_why_is_reported_of_documents(lightmeter):
    rows = lightmeter("compare", *RUNS, "-m", "AP", "-f", "jsonl", "--changed", "1").rows()
    (change,) = [row for row in rows if row["kind"] == "change"]
    moved = [row for row in rows if row["kind"] == "moved"]
    assert moved
    assert all(m["query"] == change["query"] and m["run_a"] == change["run_a"] for m in moved)
    assert moved[0]["doc"] in change["why"]
    assert not [
        r
        for r in lightmeter("compare", *RUNS, "-m", "AP", "-m", "RR", "-f", "jsonl", "--changed", "0").rows()
        if r["kind"] in ("change", "moved") or (r["kind"] == "disagreement" and r["query"])
    ]


def test_hostile_names_stay_text(lightmeter, folder):
    (folder / "x.run").write_text("q1 Q0 <script>|&$ 1 2 x\nq1 Q0 d1 2 1 x\n", "utf-8")
    (folder / "y.run").write_text("q1 Q0 d1 1 2 x\nq1 Q0 <script>|&$ 2 1 x\n", "utf-8")
    (folder / "x.qrels").write_text("q1 0 <script>|&$ 1\nq1 0 d1 0\n", "utf-8")
    arguments = ("compare", "x.run", "y.run", "--qrels", "x.qrels", "-m", "RR", "-q")
    assert "<script>|&$ (grade 1) 1/2" in lightmeter(*arguments).out
    page = lightmeter(*arguments, "-f", "markdown").out
    assert "<script>" not in page
    assert r"&lt;script&gt;\|&amp;$ (grade 1) 1/2" in page
    assert lightmeter(*arguments, "-f", "latex").code == 0


def test_the_manifest(lightmeter, folder):
    done = lightmeter("compare", *RUNS, "-m", "AP", "--test", "bootstrap", "--rng", "7", "--manifest", "m.json", "-q")
    assert (done.code, done.err) == (0, "")
    manifest = json.loads((folder / "m.json").read_text("utf-8"))
    assert manifest["comparison"]["test"] == "bootstrap"
    assert manifest["comparison"]["tests"] == 3
    assert manifest["comparison"]["queries"] == {"AP": 2}
    assert manifest["seed"] == 7
    assert "test" in manifest["conventions"]
    assert {f["path"] for f in manifest["files"]} == {"a.run", "b.run", "tied.run", "qrels.txt"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.run", "--qrels", "qrels.txt", "-m", "AP"), "there is 1 run"),
        (("a.run", "b.run", "-m", "AP"), "AP needs judgments"),
        (RUNS, "no measure is asked for"),
        ((*RUNS, "-m", "AP", "--test", "tuke"), "--test is 'tuke'. Did you mean 'tukey'"),
        ((*RUNS, "-m", "AP", "--alpha", "5%"), "--alpha is '5%'. Accepted: a number between 0 and 1"),
        ((*RUNS, "-m", "AP", "--alpha", "nan"), "--alpha is 'nan'"),
        ((*RUNS, "-m", "AP", "--adjust", "sidak"), "Accepted: holm, bh, none"),
        ((*RUNS, "-m", "AP", "--resamples", "0"), "--resamples is '0'"),
        ((*RUNS, "-m", "AP", "--resamples", "1000001"), "a whole number from 1 to 1,000,000"),
        ((*RUNS, "-m", "AP", "--resamples", "9" * 5000), "--resamples is '99999999999999999999..'"),
        ((*RUNS, "-m", "AP", "--test", "t", "--resamples", "9"), "plays no part in --test t"),
        ((*RUNS, "-m", "AP", "--changed", "some"), "--changed is 'some'"),
        ((*RUNS, "-m", "AP", "--baseline", "c.run"), "there is no such run"),
        ((*RUNS, "-m", "AP", "-f", "parquet"), "parquet needs a file"),
        ((*RUNS, "-m", "AP", "-o", "a.run"), "inputs are never written"),
        ((*RUNS, "-m", ""), "--measure is an empty text"),
        ((*RUNS, "-m", "AP", "--sequence", "sequence.csv"), "Leave it out; 'lightmeter evaluate --sequence FILE'"),
        ((*RUNS, "-m", "AP", "--segment", "kind"), "To compare within a segment, give --qrels with its queries only"),
        ((*RUNS, "-m", "AP", "--queries", "queries.csv"), "takes no --segment and no --queries"),
        ((*RUNS, "-m", "AP", "--fail-if", "RR < 1"), "RR is not compared. Accepted: AP. Add -m for it"),
        ((*RUNS, "-m", "JME_GI"), "JME_GI(user=RBP(p=0.8)) is reduced over queries and has no value for one"),
        ((*RUNS, "-m", "AP", "--fail-if", "AP = 1"), "Write == instead of ="),
        ((*RUNS, "-m", "AP", "--test", ""), "--test is an empty text"),
    ],
)
def test_refused(lightmeter, folder, arguments, message):
    before = sorted(p.name for p in folder.iterdir())
    done = lightmeter("compare", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(p.name for p in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("condition", "code", "messages"),
    [
        ("AP < 0.5", 3, ["AP < 0.5 holds for run b.run: 0.4167"]),
        ("AP < 0.1", 0, []),
        ("Share(by='size')@2 < 0.4", 3, ["a.run, group small: ", "b.run, group small: ", "tied.run, group small: "]),
    ],
)
def test_conditions_on_the_means_shown(lightmeter, folder, condition, code, messages):
    given = ("compare", *RUNS, "--groups", "groups.csv", "-m", "AP", "-m", "Share(by='size')@2", "--fail-if", condition)
    done = lightmeter(*given, "-f", "jsonl", "--manifest", "m.json", "-q")
    assert done.code == code
    lines = done.err.splitlines()
    assert len(lines) == len(messages)
    assert all(t in line for t, line in zip(messages, lines, strict=True))
    means = {r["run"]: r["value"] for r in done.rows() if r["kind"] == "mean" and r["measure"] == "AP"}
    assert means["b.run"] == pytest.approx(5 / 12)
    manifest = json.loads((folder / "m.json").read_text("utf-8"))["fail_if"]
    assert (manifest["conditions"], len(manifest["failed"])) == ([condition], len(messages))
    assert ("holds for no run" in lightmeter(*given, "-f", "jsonl").err) == (code == 0)


def test_conditions_are_about_the_queries_of_all_runs(lightmeter):
    """b.run does not answer q2: with --missing skip the mean of a.run is that of q1, as the table shows."""
    given = ("compare", "a.run", "b.run", "--qrels", "qrels.txt", "-m", "AP", "--missing", "skip", "-q", "-f", "jsonl")
    done = lightmeter(*given, "--fail-if", "AP < 0.6")
    assert done.code == 3
    assert done.err.endswith("AP < 0.6 holds for run a.run: 0.5833\n")


def test_where_measures_agree_a_sentence_says_so(lightmeter, folder):
    agree = lightmeter("compare", "a.run", "b.run", "--qrels", "qrels.txt", "-m", "AP", "-m", "AP@5")
    assert "Where measures disagree" not in agree.out
    assert "measures disagree nowhere: on no query does one put one run first and another the other" in agree.out
    # the first has the less relevant document first, the other the more relevant one sooner
    (folder / "less.run").write_text("q1 Q0 d2 1 3 l\nq1 Q0 d1 2 2 l\nq1 Q0 d3 3 1 l\n", "utf-8")
    (folder / "more.run").write_text("q1 Q0 d1 1 3 m\nq1 Q0 d3 2 2 m\nq1 Q0 d2 3 1 m\n", "utf-8")
    differ = lightmeter("compare", "less.run", "more.run", "--qrels", "qrels.txt", "-m", "AP", "-m", "RR(rel=2)")
    assert "Where measures disagree" in differ.out
    assert "measures disagree nowhere" not in differ.out


def test_runs_are_shown_without_their_folder(lightmeter, folder):
    (folder / "some" / "x").mkdir(parents=True)
    for name in ("a.run", "b.run"):
        (folder / "some" / "x" / name).write_bytes((folder / name).read_bytes())
    given = ("compare", "some/x/a.run", "some/x/b.run", "--qrels", "qrels.txt", "-m", "AP", "-q")
    for form in ("table", "latex", "markdown"):
        out = lightmeter(*given, "-f", form).out
        assert "runs are shown without some/x/" in out
        assert "some/x/a.run" not in out
    assert "some/x/a.run" in lightmeter(*given, "-f", "jsonl").out


def test_a_closed_pipe_ends_quietly(folder):
    import subprocess
    import sys

    command = f"{sys.executable} -m lightmeter compare {' '.join(RUNS)} -m AP -q -f jsonl"
    command += " | head -c 1; exit ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_help_names_the_tests(lightmeter):
    done = lightmeter("compare", "--help")
    assert done.code == 0
    assert "tukey|t|wilcoxon|randomization|bootstrap" in done.out.replace("\n", "")


@pytest.mark.slow
def test_seventeen_runs_by_six_measures(process, shared_data):
    runs = sorted(str(p) for p in (shared_data / "robust03" / "runs").iterdir())
    measures = ("nDCG@10", "AP", "RBP(p=0.8)", "ERR", "EED", "EEL")
    arguments = [word for m in measures for word in ("-m", m)]
    before = os.times()
    done = process(
        "compare", *runs, "--qrels", str(shared_data / "robust03" / "qrels.txt.gz"), *arguments, "-f", "jsonl"
    )
    after = os.times()  # of the child, so that other work on the machine does not count
    seconds = sum(after[2:4]) - sum(before[2:4])
    assert done.code == 0, done.err
    rows = done.rows()
    assert len(runs) == 17
    assert sum(r["kind"] == "pair" for r in rows) == 136 * 6
    assert sum(r["kind"] == "tau" for r in rows) == 15
    assert all(r["n"] == 100 for r in rows if r["kind"] == "pair")
    ap = {r["run"].rpartition("/")[2]: r for r in rows if r["kind"] == "mean" and r["measure"] == "AP"}
    assert max(ap.values(), key=lambda r: r["value"])["letters"].startswith("a")
    assert 0 < seconds < 30


def test_a_condition_that_cannot_be_checked_says_why_there_is_no_mean(lightmeter):
    arguments = ("compare", "a.run", "b.run", "-q", "-m")
    done = lightmeter(*arguments, "EER", "--qrels", "none.qrels", "--fail-if", "EER < 1")
    assert done.code == 3
    assert "cannot be checked for run a.run: the mean is undefined (no_relevant)" in done.err
    help_text = lightmeter("compare", "--help").out
    assert "over the queries" in " ".join(help_text.split())
