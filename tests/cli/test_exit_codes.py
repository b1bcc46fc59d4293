"""Exit codes and what is said: a wrong input is one readable message, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

OK = ("evaluate", "a.run", "--qrels", "qrels.txt")

#: A command line, and what its message must say.
WRONG = [
    ((), None),
    (("evaluat",), "Did you mean 'evaluate'"),
    (("evaluate",), "RUN"),
    (("evaluate", "a.run"), "no measure is asked for"),
    ((*OK, "--mesure", "AP"), "--mesure"),
    ((*OK, "-m"), "-m"),
    ((*OK, "-m", "nDGC@10"), "Did you mean 'nDCG'"),
    ((*OK, "-m", "nDCG@"), "cannot be read"),
    ((*OK, "-m", "nDCG@0"), "at least 1"),
    ((*OK, "-m", "nDCG@ten"), "ten"),
    ((*OK, "-m", "RBP(0.8)"), "named"),
    ((*OK, "-m", "RBP(q=0.8)"), "no parameter 'q'"),
    ((*OK, "-m", "RBP(p=2)"), "below 1"),
    ((*OK, "-m", "GF(by='gender'"), "brackets"),
    ((*OK, "-m", "__import__('os').system('x')"), "not a term"),
    ((*OK, "-m", ""), "empty"),
    (("evaluate", "", "-m", "AP"), "a run is an empty text"),
    ((*OK, "-m", "AP", "-o", ""), "empty"),
    ((*OK, "-m", "AP", "--groups", ""), "--groups is an empty text"),
    ((*OK, "-m", "AP", "--plugin", ""), "empty"),
    ((*OK, "-m", "AP", "--qrels", "none.qrels"), "--qrels is given twice"),
    ((*OK, "-m", "AP", "-f", "csv", "--format", "jsonl"), "--format is given twice"),
    ((*OK, "-m", "P"), "cutoff"),
    ((*OK, "-m", "GF"), "needs by"),
    ((*OK, "-m", "AP", "RR"), "Repeat -m"),
    ((*OK, "-m", "GF(by='gender')"), "--groups FILE"),
    ((*OK, "-m", "GF(by='gendre')", "--groups", "groups.csv"), "no attribute 'gendre'"),
    ((*OK, "-m", "GF(by='level', div=NMD)", "--groups", "groups.csv"), "--ordinal level="),
    (("evaluate", "a.run", "-m", "AP"), "--qrels FILE"),
    (("evaluate", "gone.run", "--qrels", "qrels.txt", "-m", "AP"), "gone.run"),
    (("evaluate", "a.run", "--qrels", "gone.txt", "-m", "AP"), "gone.txt"),
    ((*OK, "-m", "GF(by='gender')", "--groups", "gone.csv"), "gone.csv"),
    ((*OK, "-m", "AP", "--intents", "gone.txt"), "gone.txt"),
    ((*OK, "-m", "AP", "--sequence", "gone.txt"), "gone.txt"),
    ((*OK, "-m", "AP", "--queries", "gone.csv", "--segment", "kind"), "gone.csv"),
    ((*OK, "-m", "AP", "--segment", "kind"), "no column 'kind'"),
    ((*OK, "-m", "AP", "--queries", "queries.csv", "--segment", "knd"), "knd"),
    ((*OK, "-m", "AP", "--depth", "0"), "--depth"),
    ((*OK, "-m", "AP", "--depth", "many"), "--depth"),
    ((*OK, "-m", "AP", "--ties", "fiel"), "Did you mean 'file'"),
    ((*OK, "-m", "AP", "--ties", "expcted"), "docno, file, error, expected"),
    ((*OK, "-m", "AP", "--ties", "order"), "--ties is 'order'. Accepted: docno, file, error, expected."),
    ((*OK, "-m", "AP", "--ties", "doc"), "Did you mean 'docno'"),
    ((*OK, "-m", "AP", "--ties", "docno", "--policy", "Static(ties='file')"), "disagree"),
    ((*OK, "-m", "nDCG,AP"), "Repeat -m for each: -m nDCG -m AP."),
    ((*OK, "-m", "nDCG AP"), "Repeat -m for each: -m nDCG -m AP."),
    ((*OK, "-m", "nDCG@10, GF(by='a b', div=NMD)"), "-m nDCG@10 -m \"GF(by='a b', div=NMD)\"."),
    ((*OK, "-m", "recip_rank"), "Here it is written RR;"),
    ((*OK, "-m", "ndcg_cut.10"), "Here it is written nDCG@10;"),
    ((*OK, "-m", "GFR(of=[map, ERR])"), "Here it is written AP;"),
    ((*OK, "-m", "bpref"), "lightmeter has no measure 'bpref'. The nearest: AP"),
    ((*OK, "-m", "AP", "--fail-if", "AP = 0.5"), "a sign (<, <=, >, >=, ==, !=) and a number"),
    ((*OK, "-m", "AP", "--fail-if", "AP = 0.5"), "Write == instead of =."),
    ((*OK, "-m", "AP", "--fail-if", "GF(by='gender') => 0.5"), "Write >= instead of =>."),
    ((*OK, "-m", "AP", "--fail-if", "P_10 > 0.5"), "Here it is written P@10;"),
    (("evaluate", "x=", "--qrels", "qrels.txt", "-m", "AP"), "run x=: there is no file"),
    ((*OK, "-m", "AP", "--targets", "gender="), "--targets gender=: there is no file"),
    ((*OK, "-m", "AP", "--groups", "gender="), "--groups gender=: there is no file"),
    ((*OK, "-m", "AP", "-o", "/dev/full", "--quiet"), "/dev/full cannot be written: No space left on device"),
    ((*OK, "-m", "AP", "--manifest", "/dev/full", "-o", os.devnull, "--quiet"), "/dev/full cannot be written"),
    ((*OK, "-m", "AP", "--unknown", "ignore"), "uniform, drop, distinct, error"),
    ((*OK, "-m", "AP", "--missing", "drop"), "zero, skip, error"),
    ((*OK, "-m", "AP", "--engine", "spark"), "--engine is 'spark'. Accepted: local."),
    ((*OK, "-m", "AP", "--report", "r.txt"), "does not end in .html"),
    ((*OK, "-m", "AP", "--report", "no/r.html"), "there is no folder"),
    ((*OK, "-m", "AP", "--report", "r.html", "-o", "r.html"), "are both r.html"),
    ((*OK, "-m", "AP", "--rng", "-1"), "--rng"),
    ((*OK, "-m", "AP", "--samples", "0"), "--samples is '0'"),
    ((*OK, "-m", "AP", "--policy", "PlackettLuce(alhpa=1)"), "PlackettLuce"),
    ((*OK, "-m", "AP", "--policy", "Statik()"), "Did you mean 'Static'"),
    (("sweep", "a.run"), "--qrels FILE"),
    ((*OK, "-m", "AP", "-f", "xlsx"), "table, csv, jsonl, parquet, latex, markdown"),
    ((*OK, "-m", "AP", "-f", "parquet"), "-o FILE.parquet"),
    ((*OK, "-m", "AP", "-o", "gone/out.csv"), "no folder"),
    ((*OK, "-m", "AP", "-o", "."), "folder"),
    ((*OK, "-m", "AP", "-o", "a.run"), "is an input"),
    ((*OK, "-m", "AP", "-o", "./qrels.txt"), "is an input"),
    ((*OK, "-m", "AP", "--manifest", "qrels.txt"), "is an input"),
    ((*OK, "-m", "AP", "--manifest", "x.csv", "-o", "x.csv"), "different names"),
    ((*OK, "-m", "AP", "--columns", "query"), "--columns"),
    ((*OK, "-m", "AP", "--columns", "query=a,query=b"), "twice"),
    ((*OK, "-m", "AP", "--ordinal", "level"), "level=low,mid,high"),
    ((*OK, "-m", "AP", "--ordinal", "level=low,low"), "twice"),
    ((*OK, "-m", "AP", "--bins", "age=0,old"), "numbers"),
    ((*OK, "-m", "AP", "--fail-if", "AP"), "condition"),
    ((*OK, "-m", "AP", "--fail-if", "AP < low"), "low"),
    ((*OK, "-m", "AP", "--fail-if", "A < 1"), "--fail-if"),
    ((*OK, "-m", "AP", "--plugin", "no_such_module"), "no_such_module"),
    ((*OK, "-m", "AP", "--plugin", "gone.py"), "gone.py"),
    (("evaluate", "a.run", "x/../a.run", "--qrels", "qrels.txt", "-m", "AP"), "x/../a.run"),
    (("evaluate", "n=a.run", "n=b.run", "--qrels", "qrels.txt", "-m", "AP"), "NAME=PATH"),
    (("evaluate", "groups.csv", "--qrels", "qrels.txt", "-m", "AP"), "groups.csv"),
    (("evaluate", "qrels.txt", "--qrels", "qrels.txt", "-m", "AP"), "qrels.txt"),
    (("measures", "ndgc"), "Did you mean 'nDCG'"),
    (("measures", "-f", "csv"), "table, markdown, jsonl"),
    (("demo", "more"), "more"),
]


@pytest.mark.parametrize(("arguments", "says"), WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_a_wrong_command_line_is_reported(lightmeter, arguments, says):
    if says is None:
        assert lightmeter(*arguments).code == 0
        return
    done = lightmeter(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert done.err.startswith("lightmeter: error: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert says in done.err


#: Content of a file that is wrong, and how it is given.
BROKEN = {
    "empty run": ("broken.run", b""),
    "binary run": ("broken.run", bytes(range(256)) * 4),
    "half a gzip": ("broken.run.gz", bytes.fromhex("1f8b0800000000000003")),
    "four columns": ("broken.run", b"q1 Q0 d1 1\n"),
    "no number": ("broken.run", b"q1 Q0 d1 1 high a\n"),
    "not a number": ("broken.run", b"q1 Q0 d1 1 nan a\n"),
    "twice": ("broken.run", b"q1 Q0 d1 1 2 a\nq1 Q0 d1 2 1 a\n"),
    "not utf-8": ("broken.run", b"q1 Q0 d\xff 1 2 a\n"),
    "other queries": ("broken.run", b"x1 Q0 d1 1 2 a\n"),
    "no columns": ("broken.csv", b"this,that\n1,2\n"),
    "not parquet": ("broken.parquet", b"PAR1 not really"),
    "not json": ("broken.jsonl", b"{'query': 1}\n"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_run_is_reported_with_its_name(lightmeter, folder, case):
    name, content = BROKEN[case]
    (folder / name).write_bytes(content)
    done = lightmeter("evaluate", name, "--qrels", "qrels.txt", "-m", "AP")
    assert (done.code, done.out) == (2, ""), done.err
    assert done.err.startswith("lightmeter: error: ")
    assert done.err.count("\n") == 1
    assert name in done.err


@pytest.mark.parametrize("content", ["", "q1 0 d1\n", "q1 0 d1 x\n", "q1 0 d1 1\nq1 0 d1 2\n", "x 0 y 1\n"])
def test_broken_judgments_are_reported(lightmeter, folder, content):
    (folder / "broken.qrels").write_text(content, "utf-8")
    done = lightmeter("evaluate", "a.run", "--qrels", "broken.qrels", "-m", "AP")
    assert done.code == 2, done.err
    assert done.err.startswith("lightmeter: error: ")
    assert "broken.qrels" in done.err


def test_an_unreadable_file_is_reported(process, folder):
    """As a process, in case the file system's errors differ."""
    (folder / "loop.run").symlink_to("loop.run")
    done = process("evaluate", "loop.run", "--qrels", "qrels.txt", "-m", "AP")
    assert done.code == 2
    assert done.err.startswith("lightmeter: error: ")
    assert "Traceback" not in done.err


# Conditions


@pytest.mark.parametrize(
    ("condition", "code"),
    [("AP < 0.6", 3), ("AP < 0.5", 0), ("AP >= 0.5", 3), ("nDCG@10 > 1", 0), ("AP == 2", 0), ("AP != 2", 3)],
)
def test_fail_if(lightmeter, condition, code):
    done = lightmeter(*OK, "-m", "AP", "--fail-if", condition, "-f", "jsonl")
    assert done.code == code
    assert [r["measure"] for r in done.rows()] == ["AP"]
    message = [line for line in done.err.splitlines() if "fail-if" in line]
    assert len(message) == 1
    assert ("holds for run a.run: " in message[0]) == (code == 3)
    if condition == "AP < 0.6":
        assert message[0].endswith(f": {done.rows()[0]['value']:.4f}")


def test_a_condition_is_tested_for_every_run_and_group(lightmeter):
    done = lightmeter(
        *OK,
        "b.run",
        "--groups",
        "groups.csv",
        "--fail-if",
        "Share(by='size')@2 < 0.4",
        "--fail-if",
        "AP < 0.1",
        "--quiet",
    )
    assert done.code == 3
    assert done.out == ""
    assert [line.partition(" holds for ")[2].partition(":")[0] for line in done.err.splitlines()] == [
        "run a.run, group small", "run b.run, group small",
    ]  # fmt: skip
    assert "unknown" not in done.err


def test_a_condition_is_tested_for_the_last_group_too(lightmeter):
    """There is no row of unknown documents where all are known."""
    done = lightmeter(*OK, "--groups", "groups.csv", "--fail-if", "MeanScore(by='gender') < 2", "--quiet")
    assert done.code == 3
    assert "run a.run, group m: " in done.err


def test_a_condition_on_an_undefined_mean_fails(lightmeter):
    done = lightmeter("evaluate", "a.run", "--qrels", "none.qrels", "-m", "AP", "--fail-if", "EER < 0")
    assert done.code == 3
    assert "cannot be checked for run a.run: the mean is undefined (no_relevant)" in done.err


def test_the_manifest_tells_of_conditions(lightmeter, folder):
    import json

    lightmeter(*OK, "-m", "AP", "--fail-if", "AP < 1", "--manifest", "m.json")
    conditions = json.loads((folder / "m.json").read_text("utf-8"))["fail_if"]
    assert conditions["conditions"] == ["AP < 1"]
    assert len(conditions["failed"]) == 1


# Writing


def test_nothing_half_written(lightmeter, folder, monkeypatch):
    (folder / "out.csv").write_text("before", "utf-8")
    before = sorted(os.listdir(folder))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lightmeter.io.files.os.replace", full)
    done = lightmeter(*OK, "-m", "AP", "-o", "out.csv")
    assert done.code == 2
    assert "No space left" in done.err
    assert (folder / "out.csv").read_text("utf-8") == "before"
    assert sorted(os.listdir(folder)) == before


def test_an_output_is_replaced_whole_and_keeps_its_permissions(lightmeter, folder):
    (folder / "out.csv").write_text("before", "utf-8")
    (folder / "out.csv").chmod(0o640)
    (folder / "link.csv").symlink_to("out.csv")
    assert lightmeter(*OK, "-m", "AP", "-o", "link.csv").code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "out.csv").read_text("utf-8").startswith("run,")
    assert (folder / "out.csv").stat().st_mode & 0o777 == 0o640


def test_a_device_is_not_replaced_by_a_file(lightmeter):
    assert lightmeter(*OK, "-m", "AP", "-o", os.devnull).code == 0
    assert not os.path.isfile(os.devnull)


def test_an_input_under_another_name_is_not_written(lightmeter, folder):
    os.link(folder / "a.run", folder / "hard.csv")
    (folder / "parts").mkdir()
    os.rename(folder / "b.run", folder / "parts" / "b.run")
    before = (folder / "a.run").read_bytes()
    assert lightmeter(*OK, "-m", "AP", "-o", "hard.csv").code == 2
    assert lightmeter("evaluate", "parts", "--qrels", "qrels.txt", "-m", "AP", "-o", "parts/out.csv").code == 2
    assert lightmeter(*OK, "-m", "AP", "--groups", "gender=groups.csv", "-o", "groups.csv").code == 2
    assert (folder / "a.run").read_bytes() == before


RERANK = ("rerank", "--method", "EpsilonGreedy(epsilon=0.5)")
SAMPLE = ("sample", "--policy", "PlackettLuce(alpha=1)", "--samples", "2")
QRELS = ("--qrels", "qrels.txt")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        (("evaluate", *QRELS, "-m", "AP"), "parts/*.txt"),
        (("compare", "a.run", *QRELS, "-m", "AP"), "own=parts/p?.txt"),
        (("sweep", *QRELS), "par*/p[0-9].txt"),
        (SAMPLE, "parts/*.txt"),
        (SAMPLE, "parts"),
        (RERANK, "pa*/**/p*.txt"),
        (("evaluate", *QRELS, "-m", "AP"), "parts/**"),
    ],
)
def test_what_the_next_run_would_read_as_a_part_is_not_written(lightmeter, folder, command, pattern):
    (folder / "parts").mkdir()
    os.rename(folder / "b.run", folder / "parts" / "p1.txt")
    (folder / "link").symlink_to("parts")
    what = "a file in the folder" if pattern == "parts" else "this matches the pattern"
    for out in ("parts/p9.txt", "link/p8.txt", str(folder / "parts" / "p7.txt")):
        done = lightmeter(*command, pattern, "-o", out)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
        assert f"--output {out}: {what} {pattern.removeprefix('own=')}" in done.err
        assert "the next time" in done.err
    assert os.listdir(folder / "parts") == ["p1.txt"]


@pytest.mark.parametrize("out", ["parts/p9.csv", "p9.txt", "parts/below/p9.txt", "parts/_p9.txt", "elsewhere/p9.txt"])
def test_what_no_pattern_finds_is_written(lightmeter, folder, out):
    (folder / "parts" / "below").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    os.rename(folder / "b.run", folder / "parts" / "p1.txt")
    assert lightmeter("evaluate", "parts/*.txt", *QRELS, "-m", "AP", "-o", out, "-f", "csv").code == 0
    assert (folder / out).exists()


def test_a_file_named_like_a_pattern_is_none(lightmeter, folder):
    os.rename(folder / "a.run", folder / "p[12].txt")
    assert lightmeter("evaluate", "p[12].txt", *QRELS, "-m", "AP", "-o", "p1.txt", "-f", "csv").code == 0


def test_a_file_named_within_a_measure_is_an_input(lightmeter, folder):
    import hashlib
    import json

    content = "query,doc,exposure\nq1,d2,0.5\nq2,d4,1\n"
    (folder / "ex.csv").write_text(content, "utf-8")
    loss = "EEL(target=Given(file='ex.csv'))"
    for measure in (loss, f"GFR(of=[{loss}, EED])"):
        for option in ("-o", "--manifest"):
            for path in ("ex.csv", str(folder / "ex.csv")):
                done = lightmeter(*OK, "-m", measure, option, path)
                assert (done.code, done.out) == (2, "")
                assert "is an input" in done.err
        assert lightmeter(*OK, "-m", "AP", "--fail-if", f"{measure} > 9", "-o", "ex.csv").code == 2
        assert (folder / "ex.csv").read_text("utf-8") == content
        assert lightmeter(*OK, "-m", measure, "--manifest", "m.json").code == 0
        manifest = json.loads((folder / "m.json").read_text("utf-8"))
        digests = {f["path"]: f["sha256"] for f in manifest["files"]}
        assert digests["ex.csv"] == hashlib.sha256(content.encode()).hexdigest()
        assert {"name": "ex.csv", "files": ["ex.csv"]} in manifest["inputs"]


# Processes


def test_a_closed_pipe_ends_quietly(folder):
    many = "".join(f"q{i} Q0 d1 1 1 a\n" for i in range(20_000))
    (folder / "many.run").write_text(many, "utf-8")
    (folder / "many.qrels").write_text("".join(f"q{i} 0 d1 1\n" for i in range(20_000)), "utf-8")
    command = [
        sys.executable,
        "-m",
        "lightmeter",
        "evaluate",
        "many.run",
        "--qrels",
        "many.qrels",
        "-m",
        "AP",
        "-m",
        "RR",
    ]
    for extra, code in (
        (["--per-query", "-f", "jsonl"], 0),
        (["--per-query", "-f", "jsonl", "--fail-if", "AP > 0"], 3),
    ):
        with subprocess.Popen([*command, *extra, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdout.readline()
            child.stdout.close()
            err = child.stderr.read().decode()
            assert child.wait(60) == code
        assert "Traceback" not in err
        assert ("fail-if" in err) == (code == 3)


def test_a_closed_pipe_on_standard_error_ends_quietly(folder):
    command = f"{sys.executable} -m lightmeter {' '.join(OK)} -m AP 2>&1 >out.txt | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""


def test_standard_streams_that_are_closed_or_full(folder):
    command = f"{sys.executable} -m lightmeter {' '.join(OK)} -m AP"
    for redirection, code in ((">&-", 2), ("2>&-", 0), (">/dev/full", 2), ("2>/dev/full", 0)):
        done = subprocess.run(["bash", "-c", f"{command} {redirection}"], capture_output=True, check=False)
        assert done.returncode == code, (redirection, done)
        assert b"Traceback" not in done.stderr
        if code == 0:
            assert done.stdout.startswith(b"run ")
        else:
            assert b"lightmeter: error: standard output " in done.stderr


def test_help_into_a_closed_pipe_ends_quietly(folder):
    command = f"{sys.executable} -m lightmeter evaluate --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_interrupted_quietly(folder):
    code = (
        "import sys, lightmeter.cli.evaluate as e, time\n"
        "def wait(request):\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "e.run = wait\n"
        "from lightmeter.cli import main\n"
        "sys.argv = ['lightmeter', 'evaluate', 'a.run', '-m', 'AP']\n"
        "main()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert child.stderr.read() == b""


def test_a_defect_is_short_unless_debugging(lightmeter, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("lightmeter.cli.inputs.load", broken)
    done = lightmeter(*OK, "-m", "AP")
    assert done.code == 1
    assert "ZeroDivisionError" in done.err
    assert "LIGHTMETER_DEBUG=1" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("LIGHTMETER_DEBUG", "1")
    assert "Traceback" in lightmeter(*OK, "-m", "AP").err


def test_what_does_not_fit_in_memory_is_no_defect(lightmeter, monkeypatch):
    def large(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 29.1 TiB")

    monkeypatch.setattr("lightmeter.cli.inputs.load", large)
    done = lightmeter(*OK, "-m", "AP")
    assert done.code == 2
    assert "not enough memory (Unable to allocate 29.1 TiB). Ask for fewer --samples" in done.err


@pytest.mark.parametrize("option", ["--depth", "--rng", "--samples"])
def test_a_number_of_thousands_of_digits_is_refused(lightmeter, option):
    done = lightmeter(*OK, "-m", "AP", option, "9" * 5000)
    assert done.code == 2
    assert f"{option} is " in done.err


def test_more_rankings_than_can_be_counted_are_refused(lightmeter):
    done = lightmeter("sample", "a.run", "--policy", "Uniform", "--samples", "9" * 30)
    assert done.code == 2
    assert "--samples is '999" in done.err


def test_warnings_are_one_line(lightmeter, monkeypatch):
    import warnings

    from lightmeter.data.loading import load

    def warn(*args: object, **kwargs: object) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _keep
            warnings.warn("odd", UserWarning, stacklevel=2)
        return load(*args, **kwargs)

    _keep = None

    def outer(*args: object, **kwargs: object) -> object:
        nonlocal _keep
        _keep = warnings.showwarning
        return warn(*args, **kwargs)

    monkeypatch.setattr("lightmeter.cli.inputs.load", outer)
    done = lightmeter(*OK, "-m", "AP")
    assert "lightmeter: warning: odd" in done.err.splitlines()
    assert done.code == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are sent")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_terminated_process_leaves_nothing_half_written(name, folder):
    """The signal comes while a file is being written under its temporary name."""
    program = f"""
import os, signal, sys
import lightmeter.io.files as output
import lightmeter.cli.evaluate as command
from lightmeter.cli import main
def write(path, content):
    with output.whole_file(path) as file:
        file.write(content[:5])
        file.flush()
        assert len(os.listdir(".")) == int(count) + 1
        os.kill(os.getpid(), signal.{name})
command.run = lambda request: write("out.csv", b"0123456789")
count = sys.argv.pop()
sys.argv += ["evaluate", "a.run"]
main()
"""
    before = sorted(os.listdir(folder))
    done = subprocess.run(
        [sys.executable, "-c", program, str(len(before))], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    assert done.stderr == ""
    assert sorted(os.listdir(folder)) == before


def test_a_program_that_calls_main_keeps_its_own_signals(lightmeter):
    before = signal.getsignal(signal.SIGTERM)
    assert lightmeter(*OK, "-m", "AP").code == 0
    assert signal.getsignal(signal.SIGTERM) is before
