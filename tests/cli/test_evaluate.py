"""``lightmeter evaluate``: what it prints is what Python gives, in the form that scripts rely on."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import polars as pl
import pytest

import lightmeter as lm

KEYS = ["run", "query", "segment", "measure", "attribute", "group", "value", "se", "n", "reason"]
AB = ("evaluate", "a.run", "second=b.run", "--qrels", "qrels.txt")


def test_means_as_json_lines(lightmeter):
    done = lightmeter(*AB, "-m", "nDCG@10", "-m", "AP", "-f", "jsonl")
    assert done.code == 0
    rows = done.rows()
    assert [list(row) for row in rows] == [KEYS] * 4
    assert [(r["run"], r["measure"]) for r in rows] == [
        ("a.run", "nDCG@10"), ("a.run", "AP"), ("second", "nDCG@10"), ("second", "AP"),
    ]  # fmt: skip
    result = lm.evaluate(lm.load(["a.run", "second=b.run"], "qrels.txt"), ["nDCG@10", "AP"])
    assert [r["value"] for r in rows] == result.mean()["value"].to_list()
    assert {r["query"] for r in rows} == {None}
    assert {r["n"] for r in rows} == {2}


def test_queries_come_before_the_means_run_by_run(lightmeter):
    rows = lightmeter(*AB, "-m", "AP", "-m", "RR", "-f", "jsonl", "--per-query").rows()
    assert [(r["run"], r["query"], r["measure"]) for r in rows] == [
        (run, query, measure) for run in ("a.run", "second") for query in ("q1", "q2", None) for measure in ("AP", "RR")
    ]
    unanswered = [r for r in rows if r["run"] == "second" and r["query"] == "q2"]
    assert [(r["value"], r["reason"], r["n"]) for r in unanswered] == [(0.0, "not_in_run", None)] * 2


def test_people_see_runs_without_the_folder_they_share(lightmeter, folder):
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ("a.run", "b.run"):
        (folder / "deep" / "er" / name).write_bytes((folder / name).read_bytes())
    paths = ("deep/er/a.run", "deep/er/b.run")
    given = ("--qrels", "qrels.txt", "-m", "AP", "-q")
    for form in ("table", "latex", "markdown"):
        out = lightmeter("evaluate", *paths, *given, "-f", form).out
        assert "deep/er/a.run" not in out
        assert "runs are shown without deep/er/" in out
        assert "queries answered, of 2: a.run 2, b.run 1" in out.replace("\\_", "_")
    # scripts have the path as given, and so have conditions
    assert [r["run"] for r in lightmeter("evaluate", *paths, *given, "-f", "jsonl").rows()] == list(paths)
    assert "run deep/er/a.run: " in lightmeter("evaluate", *paths, *given, "--fail-if", "AP > 0.5").err
    # a name is a name, and where two would be the same the paths stay
    named = lightmeter("evaluate", paths[0], f"x={paths[1]}", *given).out
    assert [line.split()[0] for line in named.splitlines()[2:4]] == ["a.run", "x"]
    same = lightmeter("evaluate", paths[0], f"a.run={paths[1]}", *given).out
    assert [line.split()[0] for line in same.splitlines()[2:4]] == ["deep/er/a.run", "a.run"]
    assert "shown without" not in same


def test_undefined_is_null_with_a_reason(lightmeter):
    done = lightmeter("evaluate", "a.run", "--qrels", "none.qrels", "-m", "EER", "-m", "AP", "-f", "jsonl")
    assert done.code == 0
    assert "NaN" not in done.out
    assert [(r["value"], r["n"], r["reason"]) for r in done.rows()] == [(None, 0, "no_relevant"), (0.0, 2, None)]


def test_csv_has_the_same_columns_and_empty_for_null(lightmeter):
    done = lightmeter(*AB, "-m", "AP", "-f", "csv", "--per-query")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == KEYS
    as_json = lightmeter(*AB, "-m", "AP", "-f", "jsonl", "--per-query").rows()
    assert [r["value"] for r in rows] == [repr(r["value"]) for r in as_json]
    assert [r["query"] for r in rows] == ["q1", "q2", ""] * 2
    assert {r["group"] for r in rows} == {""}


def test_spreadsheets_compute_nothing(lightmeter, folder):
    (folder / "odd.run").write_text("=1+1 Q0 d1 1 1 x\n", "utf-8")
    (folder / "odd.qrels").write_text("=1+1 0 d1 1\n", "utf-8")
    done = lightmeter("evaluate", "odd.run", "--qrels", "odd.qrels", "-m", "AP", "-f", "csv", "--per-query")
    assert done.out.splitlines()[1] == "odd.run,'=1+1,,AP,,,1.0,,,"
    exact = lightmeter("evaluate", "odd.run", "--qrels", "odd.qrels", "-m", "AP", "-f", "jsonl", "--per-query").rows()
    assert exact[0]["query"] == "=1+1"


def test_parquet(lightmeter, folder):
    assert lightmeter(*AB, "-m", "AP", "-o", "out.parquet").out == ""
    frame = pl.read_parquet(folder / "out.parquet")
    assert frame.columns == KEYS
    assert frame["value"].to_list() == [r["value"] for r in lightmeter(*AB, "-m", "AP", "-f", "jsonl").rows()]


@pytest.mark.parametrize(
    ("name", "start"),
    [("o.csv", "run,query"), ("o.jsonl", '{"run":'), ("o.tex", "% needs"), ("o.md", "| run |"), ("o.txt", "run ")],
)
def test_the_ending_of_the_output_says_the_format(lightmeter, folder, name, start):
    assert lightmeter(*AB, "-m", "AP", "-o", name).code == 0
    assert (folder / name).read_text("utf-8").startswith(start)


def test_latex(lightmeter, folder):
    (folder / "50%_of_$a&b#{x}~^\\.run").write_bytes((folder / "a.run").read_bytes())
    arguments = ("--qrels", "qrels.txt", "-m", "RBP(p=0.5, rel=1)", "-f", "latex")
    lines = lightmeter("evaluate", "50%_of_$a&b#{x}~^\\.run", "b.run", *arguments).out.splitlines()
    table = lines[lines.index(r"\begin{tabular}{lr}") :]
    assert table[1:5] == [
        r"\toprule",
        r"run & RBP(p=0.5, rel=1) \\",
        r"\midrule",
        r"50\%\_of\_\$a\&b\#\{x\}\textasciitilde{}\textasciicircum{}\textbackslash{}.run & $0.3125$ \\",
    ]
    assert table[-2:] == [r"\bottomrule", r"\end{tabular}"]


def test_markdown(lightmeter, folder):
    (folder / "a|b.run").write_bytes((folder / "a.run").read_bytes())
    lines = lightmeter("evaluate", "a|b.run", "--qrels", "qrels.txt", "-m", "AP", "-f", "markdown").out.splitlines()
    assert lines[:3] == ["| run | `AP` |", "| --- | ---: |", r"| a\|b.run | 0.5417 |"]


def test_table_has_runs_as_rows_where_that_fits(lightmeter):
    lines = lightmeter(*AB, "-m", "nDCG@10", "-m", "AP").out.splitlines()
    assert lines[0].split() == ["run", "nDCG@10", "AP"]
    assert [line.split()[0] for line in lines[2:4]] == ["a.run", "second"]
    assert "queries answered, of 2: a.run 2, second 1" in lines
    assert "n = 2 queries" in lines


def test_table_has_measures_as_rows_where_that_fits_better(lightmeter):
    measures = [f"GF(by='gender', user=RBP(p=0.{i}))" for i in range(1, 6)]
    given = [text for m in measures for text in ("-m", m)]
    lines = lightmeter(*AB, "--groups", "groups.csv", *given).out.splitlines()
    assert lines[0].split() == ["measure", "a.run", "second"]
    assert [line.rsplit(None, 2)[0] for line in lines[2:7]] == measures


def test_table_breaks_long_names_in_a_narrow_terminal():
    collection = lm.load({"a": {"q": ["d1"]}, "b": {"q": ["d2"]}}, {"q": {"d1": 1}})
    result = lm.evaluate(collection, ["AP", "GFR(of=[ERR, RBP(p=0.5), RBP(p=0.7), RBP(p=0.8), RBP(p=0.9)])"])
    assert result.render("table", width=50).decode().splitlines()[2:6] == [
        "AP                         1.0000  0.0000",
        "GFR(of=[ERR, RBP(p=0.5),",
        "  RBP(p=0.7), RBP(p=0.8),",
        "  RBP(p=0.9)])             0.3200  0.0000",
    ]
    assert max(map(len, result.render("table").decode().splitlines())) > 50


def test_table_is_plain_where_nobody_looks(process):
    done = process(*AB, "-m", "AP", FORCE_COLOR="1", COLUMNS="20", TERM="xterm-256color")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "conventions: " in done.err.splitlines()[0]


def test_table_says_what_is_undefined_and_why(lightmeter):
    out = lightmeter("evaluate", "a.run", "--qrels", "none.qrels", "-m", "EER", "-m", "AP").out
    assert "EER(user=RBP(p=0.5)): undefined, no_relevant (no relevant document in the judgments): 2 queries" in out
    assert "AP: counted nevertheless, no_relevant (no relevant document in the judgments): 2 queries" in out
    assert "  n = 0 for EER(user=RBP(p=0.5))" in out


def test_table_names_the_group_of_what_is_undefined(lightmeter):
    lines = lightmeter(*AB, "--groups", "groups.csv", "-m", "MeanScore(by='size')", "-m", "AP").out.splitlines()
    assert [line for line in lines if line.startswith("  n = ")] == [
        "  n = 1 for MeanScore(by='size') small: a.run",
        "  n = 1 for MeanScore(by='size') unknown: every run",
        "  n = 1 for MeanScore(by='size') big: second",
        "  n = 0 for MeanScore(by='size') small: second",
    ]
    messages = [line for line in lines if line.startswith("MeanScore(by='size') ")]
    assert messages == [
        "MeanScore(by='size') small: undefined, empty_group (a group without a document): 1 query in each run",
        "MeanScore(by='size') unknown: undefined, empty_group (a group without a document): queries a.run 1",
        "MeanScore(by='size') big, small, unknown: undefined, not_in_run (judged, but not answered by the run): "
        "for each, queries second 1",
    ]
    many = lightmeter("evaluate", "a.run", "--groups", "groups.csv", "-m", "MeanScore(by='level')@1").out
    assert "  n = 0 for MeanScore(by='level')@1 high, mid: every run" in many
    assert "@1 high, mid: undefined, empty_group (a group without a document): for each, 2 queries" in many


def test_several_targets_are_reported_by_measure(lightmeter):
    groups = ("--groups", "groups.csv", "-m", "GF(by='gender')")
    one = lightmeter(*AB, *groups, "-m", "EEL(by='gender')").err
    assert "target gender=Uniform" in one
    assert " for " not in one.splitlines()[0].partition("target gender")[2]
    two = lightmeter(*AB, *groups, "-m", "GFR(of=[AP, AWRF(by='gender', target=Relevant)])").err
    assert "target gender=Uniform for GF(by='gender') and Relevant for AWRF(by='gender', div=JSD, " in two


def test_groups_are_expanded(lightmeter):
    arguments = ("evaluate", "a.run", "--groups", "groups.csv", "-m", "Share(by='gender')@2")
    rows = lightmeter(*arguments, "-f", "jsonl").rows()
    assert [(r["attribute"], r["group"], r["value"]) for r in rows] == [
        ("gender", "f", 0.75), ("gender", "m", 0.25), ("gender", "unknown", 0.0),
    ]  # fmt: skip
    title = lightmeter(*arguments, "-f", "markdown").out.splitlines()[0]
    assert title == "| run | `Share(by='gender')@2 f` | `Share(by='gender')@2 m` | `Share(by='gender')@2 unknown` |"


def test_other_columns_of_the_groups_are_not_read(lightmeter):
    """The age would need bins: it does not disturb, also not within a measure made of others."""
    done = lightmeter(*AB, "--groups", "groups.csv", "-m", "GFR(of=[AP, GF(by='gender')])", "-f", "jsonl")
    assert done.code == 0
    refused = lightmeter(*AB, "--groups", "groups.csv", "-m", "GF(by='age')")
    assert refused.code == 2
    assert "--bins" in refused.err
    binned = lightmeter(*AB, "--groups", "groups.csv", "-m", "GF(by='age', div=NMD)", "--bins", "age=0,30,60")
    assert binned.code == 0


def test_ordinal(lightmeter):
    measure = ("--groups", "groups.csv", "-m", "GF(by='level', div=NMD)")
    assert lightmeter(*AB, *measure).code == 2
    assert lightmeter(*AB, *measure, "--ordinal", "level=low,mid,high").code == 0


def test_segments(lightmeter):
    rows = lightmeter(
        "evaluate",
        "a.run",
        "--qrels",
        "qrels.txt",
        "-m",
        "AP",
        "--queries",
        "queries.csv",
        "--segment",
        "kind",
        "-f",
        "jsonl",
    ).rows()
    assert [(r["segment"], r["n"]) for r in rows] == [(None, 2), ("long", 1), ("short", 1)]


def test_one_log_file_is_enough(lightmeter):
    done = lightmeter(
        "evaluate", "log.csv", "--columns", "query=qid,doc=item", "--columns", "score=p", "-m", "ABR(by='brand')",
        "--segment", "kind", "-f", "jsonl",
    )  # fmt: skip
    assert done.code == 0
    assert [r["segment"] for r in done.rows()] == [None, "long", "short"]


def test_a_sequence_weights_queries(lightmeter):
    plain = lightmeter("evaluate", "a.run", "--qrels", "qrels.txt", "-m", "AP", "-f", "jsonl", "--per-query").rows()
    weighed = lightmeter(
        "evaluate", "a.run", "--qrels", "qrels.txt", "-m", "AP", "-f", "jsonl", "--sequence", "sequence.csv"
    ).rows()
    assert weighed[0]["value"] == pytest.approx((2 * plain[0]["value"] + plain[1]["value"]) / 3)


def test_samples_have_a_standard_error(lightmeter):
    arguments = ("evaluate", "sampled.run", "--qrels", "qrels.txt", "-m", "AP")
    done = lightmeter(*arguments, "-f", "jsonl")
    assert done.rows()[0]["se"] > 0
    assert "column 2 read as sample ids" in done.err
    assert "±" in lightmeter(*arguments).out
    exact = lightmeter(*arguments, "--policy", "Samples(weight='probability')", "-f", "jsonl").rows()[0]
    assert exact["value"] == pytest.approx(done.rows()[0]["value"])
    assert exact["se"] is None
    assert "±" not in lightmeter(*arguments, "--policy", "Samples(weight='probability')").out


def test_ties_and_depth(lightmeter):
    def value(*arguments):
        return lightmeter("evaluate", "tied.run", "--qrels", "qrels.txt", "-m", "RR", "-f", "jsonl", *arguments)

    assert value().rows()[0]["value"] == 1.0  # d2 before d1
    assert value("--ties", "file").rows()[0]["value"] == 0.75
    assert value("--ties", "file", "--depth", "1").rows()[0]["value"] == 0.5
    assert value("--ties", "error").code == 2
    assert "2 documents tied" in value().err


def test_missing_queries(lightmeter):
    def mean(*arguments):
        return lightmeter("evaluate", "b.run", "--qrels", "qrels.txt", "-m", "AP", "-f", "jsonl", *arguments)

    assert mean().rows()[0]["n"] == 2
    skipped = mean("--missing", "skip").rows()[0]
    assert (skipped["n"], skipped["reason"]) == (1, "not_in_run")
    assert skipped["value"] == pytest.approx(2 * mean().rows()[0]["value"])
    assert mean("--missing", "error").code == 2


def test_standard_error_says_how(lightmeter):
    done = lightmeter(*AB, "-m", "ERR", "--groups", "groups.csv", "-m", "GF(by='size')@2")
    first = done.err.splitlines()[0]
    for part in (
        "ties=docno (",
        "0 documents tied",
        "missing=zero (",
        "max_grade=2 (",
        "unknown=uniform (",
        "target size=",
    ):
        assert part in first
    assert lightmeter(*AB, "-m", "ERR", "--quiet").err == ""


def test_what_is_not_used_is_reported(lightmeter):
    done = lightmeter(
        *AB, "-m", "AP", "--groups", "groups.csv", "--queries", "queries.csv", "--ordinal", "level=low,mid,high"
    )
    assert done.code == 0
    assert "--groups is not read" in done.err
    assert "--queries is not read" in done.err
    assert "declared, but no measure looks at it: level" in done.err


@pytest.mark.parametrize(
    ("second", "policy", "asks"),
    [
        (0.75, (), True),
        (0.75, ("--quiet",), True),
        (0.75, ("--policy", "Samples(weight='probability')"), False),
        (0.75, ("--policy", "Samples(weight='sampling')"), False),
        (0.7, (), False),
        (None, (), False),
    ],
)
def test_weights_that_sum_to_1_ask_whether_they_are_the_policy(lightmeter, folder, second, policy, asks):
    rows = ["query,sample,doc,rank" + (",weight" if second else "")]
    for query in ("q1", "q2"):
        for sample, weight, docs in ((1, 0.25, ("d1", "d2")), (2, second, ("d2", "d1"))):
            rows += [f"{query},{sample},{d},{k}" + (f",{weight}" if second else "") for k, d in enumerate(docs, 1)]
    (folder / "policy.csv").write_text("\n".join(rows) + "\n", "utf-8")
    done = lightmeter("evaluate", "policy.csv", "--qrels", "qrels.txt", "-m", "AP", *policy)
    assert done.code == 0
    assert ("warning: policy.csv: its weights sum to 1 in every query" in done.err) is asks
    both = lightmeter("compare", "policy.csv", "again=policy.csv", "--qrels", "qrels.txt", "-m", "AP", *policy)
    assert ("warning: again: its weights sum to 1 in every query" in both.err) is asks


def test_one_ranking_of_weight_1_is_the_same_either_way(lightmeter, folder):
    (folder / "one.csv").write_text("query,sample,doc,rank,weight\nq1,1,d1,1,1\nq1,1,d2,2,1\nq2,1,d4,1,1\n", "utf-8")
    done = lightmeter("evaluate", "one.csv", "--qrels", "qrels.txt", "-m", "EEL")
    assert done.code == 0
    assert "weights sum to 1" not in done.err


def test_a_table_of_target_exposures_is_no_target_of_groups(lightmeter):
    arguments = ("evaluate", "a.run", "--groups", "groups.csv", "--targets", "targets.csv", "-m")
    done = lightmeter(*arguments, "AWRF(by='gender', target=Given(file='nowhere.csv'))")
    assert done.code == 2
    assert "Given(file='nowhere.csv') names a table of target exposures" in done.err
    assert "write target='given'" in done.err
    assert lightmeter(*arguments, "AWRF(by='gender', target='given')").code == 0


def test_what_is_given_by_query_leaves_a_trace(lightmeter, folder):
    (folder / "intents.txt").write_text("q1 1 d2 1\nq2 1 d4 1\n", "utf-8")
    done = lightmeter(*AB, "-m", "AP", "--intents", "intents.txt")
    assert done.code == 0
    assert "note: --intents plays no part: no measure looks at intents" in done.err
    done = lightmeter(*AB, "-m", "AP", "--sequence", "sequence.csv", "--queries", "queries.csv", "--segment", "kind")
    assert "--intents" not in done.err
    assert "note: --sequence sequence.csv: 2 queries, each weighs as often as it occurs (3 in all)" in done.err
    assert "note: --segment kind: 2 segments" in done.err
    (folder / "one.csv").write_text("query,kind\nq1,long\n", "utf-8")
    (folder / "short.csv").write_text("0.0,q1\n", "utf-8")
    assert "1 segment; 1 query has none" in lightmeter(*AB, "-m", "AP", "--queries", "one.csv", "--segment", "kind").err
    err = lightmeter(*AB, "-m", "AP", "--sequence", "short.csv").err
    assert "1 query, each weighs as often as it occurs (1 in all)" in err


def test_what_is_ignored_is_counted(lightmeter, folder):
    (folder / "more.run").write_text((folder / "a.run").read_text("utf-8") + "q9 Q0 d1 1 1 a\n", "utf-8")
    err = lightmeter("evaluate", "more.run", "--qrels", "qrels.txt", "-m", "AP").err
    assert "ignored: more.run: queries without judgments: 1" in err


def test_ids_do_not_reach_the_terminal_as_commands(lightmeter, folder):
    (folder / "odd.run").write_bytes(b"q\x1b[31m Q0 d1 1 1 x\n")
    (folder / "odd.qrels").write_bytes(b"q\x1b[31m 0 d1 1\n")
    done = lightmeter("evaluate", "odd.run", "--qrels", "odd.qrels", "-m", "AP", "--per-query")
    assert done.code == 0
    assert "\x1b" not in done.out
    assert r"q\x1b[31m" in done.out


def test_manifest(lightmeter, folder):
    import hashlib

    assert lightmeter(*AB, "-m", "AP", "--manifest", "made.json", "-f", "jsonl").code == 0
    manifest = json.loads((folder / "made.json").read_text("utf-8"))
    assert (
        manifest["command"]
        == "lightmeter evaluate a.run second=b.run --qrels qrels.txt -m AP --manifest made.json -f jsonl"
    )
    assert manifest["measures"] == ["AP"]
    assert {f["path"] for f in manifest["files"]} == {"a.run", "b.run", "qrels.txt"}
    digests = {f["path"]: (f["bytes"], f["sha256"]) for f in manifest["files"]}
    content = (folder / "a.run").read_bytes()
    assert digests["a.run"] == (len(content), hashlib.sha256(content).hexdigest())
    assert manifest["conventions"]["ties"].startswith("docno")
    assert manifest["seconds"] >= 0


def test_the_same_measure_twice_is_printed_once(lightmeter):
    assert (
        len(lightmeter("evaluate", "a.run", "--qrels", "qrels.txt", "-m", "AP", "-m", "AP", "-f", "jsonl").rows()) == 1
    )


def test_help_and_version(lightmeter):
    help_text = lightmeter("evaluate", "--help")
    for command in (("evaluate",), ("evaluate", "a.run"), ("measures",), ("demo",), ()):
        long, short = lightmeter(*command, "--help"), lightmeter(*command, "-h")
        assert (short.code, short.out, short.err) == (0, long.out, "")
        assert short.out.startswith("Usage: ")
    assert help_text.code == 0
    assert "--fail-if CONDITION" in help_text.out
    assert "spark" not in help_text.out
    assert lightmeter("--version").out.startswith("lightmeter 0.")
    assert "evaluate" in lightmeter().out


def test_only_what_is_needed_is_imported(folder):
    """Each of these takes longer than evaluating a small run."""
    code = (
        "import sys\nfrom lightmeter.cli import main\n"
        "code = main(['evaluate', 'a.run', '--qrels', 'qrels.txt', '-m', 'nDCG@10', '--quiet'])\n"
        "print(code, *sorted({name.partition('.')[0] for name in sys.modules} | set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, *loaded = done.stderr.split()
    assert first == "0"
    heavy = {"rich.progress", "pydantic", "pandas", "narwhals", "scipy.stats", "scipy.optimize", "statsmodels"}
    assert heavy.isdisjoint(loaded)
