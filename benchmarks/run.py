"""The benchmark: `python benchmarks/run.py [--quick]`, or `make bench`.

Whole processes are timed (wall seconds, peak resident memory), the runs of the different programs alternated, and
every figure is printed beside its target as a ratio to the alternative measured in the same session. Peers live in
benchmarks/.venv (benchmarks/requirements.txt); one that is missing is reported as such. A table goes to standard
output, everything measured to benchmarks/.work/results.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from timing import Job, alternate

HERE = Path(__file__).resolve().parent
WORK = HERE / ".work"
BESIDE = Path(sys.executable).parent  # `make bench` installs lightmeter beside the peers
OURS = next((b for b in (HERE.parent / ".venv" / "bin", BESIDE) if (b / "lightmeter").exists()), BESIDE)
PEERS = HERE / ".venv" / "bin" / "python"
MEASURES = ["nDCG@10", "RBP(p=0.8)", "ERR@20"]
READERS = ["pyarrow", "pyarrow_text", "polars", "polars_text"]


@dataclass
class Row:
    what: str
    measured: str
    ratio: float | None = None
    target: str = ""
    met: bool | None = None

    def line(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        verdict = {True: "yes", False: "NO", None: ""}[self.met]
        return f"| {self.what} | {self.measured} | {ratio} | {self.target} | {verdict} |"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def sized(number: int) -> str:
    return f"{number / 1e6:g}M lines" if number >= 1e6 else f"{number / 1e3:g}k lines"


def make(script: str, *arguments: str) -> list[str]:
    """Run a generator in the peers' environment and return the paths that it prints."""
    command = [str(PEERS if PEERS.exists() else OURS / "python"), str(HERE / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def means(text: str) -> dict:
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {row["measure"]: row["value"] for row in rows if row["query"] is None}


def evaluate(run: str, *arguments: str, name: str = "lightmeter") -> Job:
    return Job(name, [str(OURS / "lightmeter"), "evaluate", run, *arguments, "-f", "jsonl"], means)


def peer(name: str, run: str, qrels: str) -> Job:
    return Job(name, [str(PEERS), str(HERE / "jobs.py"), name, run, qrels])


def shown(job: Job) -> str:
    if job.wall is None:
        return job.problem or "not run"
    return f"{job.wall:.2f} s, {job.peak:.0f} MB" + (f" (n = {len(job.seconds)})" if len(job.seconds) == 1 else "")


def against(what: str, ours: Job, theirs: Job, limit: float, words: str) -> Row:
    if ours.wall is None or theirs.wall is None:
        return Row(what, shown(theirs), None, words)
    ratio = ours.wall / theirs.wall
    return Row(what, shown(theirs), ratio, words, ratio <= limit)


def files(queries: int, sep: str, options: argparse.Namespace) -> tuple[list[Row], list[Job]]:
    """Evaluating a run file of queries x 1,000 lines, against other evaluators and against only reading it."""
    run, qrels = make("make_run.py", "--queries", str(queries), "--sep", sep)
    size = sized(queries * 1000)
    say(f"{size}, {sep} between columns")
    for path in (run, qrels):  # into the page cache: reading from disk is not what is measured
        Path(path).read_bytes()
    ours = evaluate(run, "--qrels", qrels, *[part for measure in MEASURES for part in ("-m", measure)])
    names = [*READERS, "pytrec_eval"]
    names += ["ir_measures_no_perl", "ir_measures"] if queries <= options.ir_measures_up_to else []
    names += ["ranx"] if options.ranx else []
    jobs = [ours, *[peer(name, run, qrels) for name in names]]
    alternate(jobs, options.repeat, options.timeout, say)
    by_name = {job.name: job for job in jobs}

    limit = 900 if queries > 2000 else 500
    small = ours.peak is not None and ours.peak < limit
    rows = [Row(f"lightmeter, {size}, {sep}", shown(ours), None, f"peak < {limit} MB", small if ours.wall else None)]
    rows.append(against("pytrec_eval, nDCG alone", ours, by_name["pytrec_eval"], 1 / 5, "at most 1/5"))
    if "ir_measures" in by_name:
        rows.append(against("ir_measures, the three", ours, by_name["ir_measures"], 1 / 30, "at most 1/30"))
        rows.append(against("ir_measures without ERR (no Perl)", ours, by_name["ir_measures_no_perl"], 1 / 30, ""))
        rows[-1].met = None
    readers = [by_name[name] for name in READERS]
    fastest = min((job for job in readers if job.wall), key=lambda job: job.wall, default=readers[0])
    rows.append(against(f"reading three columns, {fastest.name}", ours, fastest, 3, "at most 3"))
    rows += [against(f"... {job.name}", ours, job, 3, "") for job in readers if job is not fastest]
    for row in rows[-len(readers) + 1 :]:
        row.met = None
    if options.ranx:
        rows.append(against("ranx, nDCG alone", ours, by_name["ranx"], 1, ""))
    if queries < 2000:  # starting Python is most of it: no verdict
        for row in rows:
            row.met = None
    rows += agreement(ours, by_name)
    return rows, jobs


def agreement(ours: Job, jobs: dict[str, Job]) -> list[Row]:
    """Fast and wrong does not count: the means must be the peers' means."""
    rows = []
    pairs = [
        ("pytrec_eval", "nDCG@10", "nDCG@10", 1e-9),
        ("ir_measures_no_perl", "RBP(p=0.8)", "RBP(p=0.8,rel=1)", 1e-9),
    ]
    for peer_name, mine, theirs, tolerance in pairs:
        job = jobs.get(peer_name)
        if job and mine in ours.values and theirs in job.values:
            gap = abs(ours.values[mine] - job.values[theirs])
            rows.append(
                Row(f"{mine}: difference from {peer_name}", f"{gap:.1e}", None, f"< {tolerance:g}", gap < tolerance)
            )
    return rows


def imports(options: argparse.Namespace) -> tuple[list[Row], list[Job]]:
    say("import")
    python = str(OURS / "python")
    ours = Job("import lightmeter", [python, "-c", "import lightmeter"], lambda text: {})
    base = Job("import numpy, polars", [python, "-c", "import numpy, polars"], lambda text: {})
    alternate([ours, base], max(7, options.repeat), options.timeout, say)
    if ours.wall is None or base.wall is None:
        return [Row("import lightmeter", shown(ours), None, "+0.2 s over numpy, polars")], [ours, base]
    extra = ours.wall - base.wall
    measured = f"{ours.wall:.2f} s against {base.wall:.2f} s: {extra:+.2f} s"
    return [Row("import lightmeter", measured, ours.wall / base.wall, "+0.2 s", extra <= 0.2)], [ours, base]


def rankings(options: argparse.Namespace) -> tuple[list[Row], list[Job]]:
    say("250 rankings of 1,000 documents, in process")
    ours = Job("rankings", [str(OURS / "python"), str(HERE / "inprocess.py"), "rankings"])
    theirs = Job("awrf", [str(PEERS), str(HERE / "inprocess.py"), "awrf"])
    alternate([ours, theirs], 1, options.timeout, say)
    base = theirs.values.get("AWRF")
    rows = [Row("FairRankTune AWRF, per ranking", f"{base * 1e6:.0f} us" if base else shown(theirs))]
    for name, taken in ours.values.items():
        speed = base / taken if base else None
        met = None if speed is None else speed >= 100
        rows.append(Row(f"lightmeter {name}, per ranking", f"{taken * 1e6:.1f} us", speed, "100 times faster", met))
    if not ours.values:
        rows.append(Row("lightmeter GF, AWRF, EED, EER, EEL", shown(ours), None, "100 times faster"))
    return rows, [ours, theirs]


def prefixes(options: argparse.Namespace) -> tuple[list[Row], list[Job]]:
    say("250 rankings of 1,000 documents, prefixes and pairs, in process")
    ours = Job("prefixes", [str(OURS / "python"), str(HERE / "inprocess.py"), "prefixes"])
    theirs = Job("ndkl", [str(PEERS), str(HERE / "inprocess.py"), "ndkl"])
    alternate([ours, theirs], 1, options.timeout, say)
    base = theirs.values.get("NDKL")
    rows = [Row("FairRankTune NDKL, per ranking", f"{base * 1e6:.0f} us" if base else shown(theirs))]
    for name, taken in ours.values.items():
        speed = base / taken if base else None
        met = None if speed is None else speed >= 200
        rows.append(Row(f"lightmeter {name}, per ranking", f"{taken * 1e6:.1f} us", speed, "200 times faster", met))
    return rows, [ours, theirs]


def nominal(options: argparse.Namespace) -> tuple[list[Row], list[Job]]:
    say("a nominal attribute of 500 values, 1,000,000 rows")
    run, qrels, groups = make("make_run.py", "--queries", "1000", "--groups", "500")
    whole = evaluate(run, "--qrels", qrels, "--groups", groups, "-m", "GF(by='company')", name="GF, 500 values")
    inside = Job("GF in process", [str(OURS / "python"), str(HERE / "inprocess.py"), "nominal", run, qrels, groups])
    alternate([whole, inside], min(options.repeat, 3), options.timeout, say)
    met = None if whole.wall is None else whole.wall < 10 and whole.peak < 1000
    rows = [Row("GF, 500 values, 1M rows, whole process", shown(whole), None, "< 10 s, < 1 GB", met)]
    if inside.values:
        rows.append(Row("... evaluation alone", f"{inside.values['GF']:.2f} s, process peak {inside.peak:.0f} MB"))
    return rows, [whole, inside]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument(
        "--quick", action="store_true", help="200,000 lines, one run each: a smoke test, not a measurement"
    )
    cli.add_argument("--repeat", type=int, default=3, help="alternated runs of each program; medians are reported")
    cli.add_argument("--queries", type=int, action="append", help="sizes, in thousands of lines [7000 and 2000]")
    cli.add_argument("--sep", choices=["space", "tab"], default="space")
    cli.add_argument(
        "--ir-measures-up-to", type=int, default=7000, metavar="QUERIES", help="leave it out above this size"
    )
    cli.add_argument("--ranx", action="store_true", help="ranx too (it compiles for half a minute)")
    cli.add_argument("--timeout", type=float, default=1800)
    cli.add_argument("--only", choices=["files", "imports", "rankings", "prefixes", "nominal"], action="append")
    options = cli.parse_args()
    if options.quick:
        options.repeat = 1
    sizes = options.queries or ([200] if options.quick else [7000, 2000])
    only = options.only or ["files", "imports", "rankings", "prefixes", "nominal"]

    WORK.mkdir(exist_ok=True)
    # an installation from a wheel is compiled, as the peers' are; one that can be edited need not be
    subprocess.run([str(OURS / "python"), "-m", "compileall", "-q", str(HERE.parent / "src")], check=True)
    parts = []
    if "files" in only:
        parts += [(f"A run of {sized(size * 1000)}", *files(size, options.sep, options)) for size in sizes]
    if "rankings" in only:
        parts.append(("In process, 250 rankings of 1,000", *rankings(options)))
    if "prefixes" in only:
        parts.append(("Prefixes and pairs, 250 rankings of 1,000", *prefixes(options)))
    if "nominal" in only:
        parts.append(("Many values", *nominal(options)))
    if "imports" in only:
        parts.append(("Import", *imports(options)))

    for title, rows, _ in parts:
        print(f"\n### {title}\n\n| | measured | ratio | target | met |\n|---|---|---|---|---|")
        print("\n".join(row.line() for row in rows))
    record = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count(), "load": os.getloadavg()},
        "repeat": options.repeat,
        "parts": [
            {"title": title, "rows": [vars(row) for row in rows], "jobs": [job.record() for job in jobs]}
            for title, rows, jobs in parts
        ],
    }
    (WORK / "results.json").write_text(json.dumps(record, indent=1))
    say(f"\n{WORK / 'results.json'}")


if __name__ == "__main__":
    main()
