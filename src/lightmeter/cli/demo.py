"""The command ``demo``: the collection that comes with lightmeter, through the command ``evaluate``."""

from __future__ import annotations

import os
import shlex
import textwrap
from contextlib import ExitStack
from importlib.resources import as_file, files

from lightmeter.cli.console import terminal_width, write_out
from lightmeter.cli.evaluate import evaluate_request
from lightmeter.cli.options import ABOUT, COMMANDS
from lightmeter.cli.parsing import Request, parse
from lightmeter.errors import LightmeterError
from lightmeter.results.result import Result

RUNS = ("baseline", "relevant", "fairer")
RELEVANCE, GENDER, LOSS, SHARE = (
    "nDCG@10",
    "GF(by='gender', user=RBP(p=0.8))",
    "EEL(user=RBP(p=0.5))",
    "Share(by='gender')@10",
)
_MEASURES = (
    RELEVANCE,
    "ERR",
    "EED(user=RBP(p=0.5))",
    LOSS,
    GENDER,
    "GF(by='seniority', div=NMD, user=RBP(p=0.8))",
    "GFR(of=[ERR, GF(by='gender'), GF(by='seniority', div=NMD)])",
    SHARE,
)
_FILES = (*(f"{run}.run.gz" for run in RUNS), "qrels.txt", "groups.csv", "targets.csv")
#: the command, a line each as it is shown; of a measure in quotes its text is in double ones
_LINES = (
    ["lightmeter", "evaluate", *(f"{run}={run}.run.gz" for run in RUNS)],
    ["--qrels", "qrels.txt", "--groups", "groups.csv", "--targets", "targets.csv"],
    ["--ordinal", "seniority=junior,mid,senior"],
    *(["-m", measure] for measure in _MEASURES),
)
_TARGET = 0.5
_NEAR = 0.05


def run(request: Request) -> int:
    """Show the command, run it, and say how to read what it printed; with --report write a report of it too."""
    folder = files("lightmeter") / "demo"
    with ExitStack() as stack:
        try:
            paths = {name: str(stack.enter_context(as_file(folder / name))) for name in _FILES}
        except FileNotFoundError as error:
            raise LightmeterError(
                f"the demo collection is not complete: {error.filename} is missing. Install lightmeter again."
            ) from None
        write_out(f"{_opening(os.path.dirname(paths['qrels.txt']))}\n".encode())
        words = [word for line in _LINES for word in line]
        named = {f"{run}={run}.run.gz": f"{run}={paths[f'{run}.run.gz']}" for run in RUNS}
        evaluation = parse([(named | paths).get(word, word) for word in words[1:]], COMMANDS, ABOUT)
        if evaluation is None:
            return 0
        evaluation.report = request.report
        code, result = evaluate_request(evaluation)
    text = reading(result)
    if width := terminal_width():
        text = "\n".join(textwrap.fill(sentence, width) for sentence in text.splitlines())
    if request.report is not None:
        text += f"\nThe report, to open in a browser: {os.path.abspath(request.report)}"
    write_out(f"\n{text}\n".encode())
    return code


def _opening(folder: str) -> str:
    command = " \\\n    ".join(" ".join(map(_quoted, line)) for line in _LINES)
    return (
        "SYNTHETIC data: job advertisements and candidates drawn by a program; nothing here is about real people.\n\n"
        f"$ cd {shlex.quote(folder)}\n$ {command}\n"
    )


def _quoted(word: str) -> str:
    """A word as it is typed; where it has single quotes of its own, within double ones."""
    return f'"{word}"' if "'" in word else shlex.quote(word)


def reading(result: Result) -> str:
    """Two sentences on how to read the table, true of its numbers."""
    means = {(row["run"], row["measure"], row["group"]): row["value"] for row in result.mean().iter_rows(named=True)}

    def of(run: str, measure: str, group: str | None = None) -> float:
        return float(means[run, measure, group])

    best = max(RUNS, key=lambda run: of(run, RELEVANCE))
    even = max(RUNS, key=lambda run: of(run, GENDER))
    women = {run: of(run, SHARE, "f") for run in RUNS}
    but = "but" if abs(women[best] - _TARGET) > _NEAR else "and"
    first = (
        f"The run '{best}' is the most relevant (nDCG@10 {of(best, RELEVANCE):.2f}), {but} women hold "
        f"{women[best]:.0%} of its top ten, where the target is {_TARGET:.0%}."
    )
    fairness = f"GF {of(even, GENDER):.2f}"
    if even == best:
        return f"{first}\nNo other run is closer to that target ({fairness}), so here relevance and fairness agree."
    loss = ""
    if even == min(RUNS, key=lambda run: of(run, LOSS)):
        loss = f" and to the ideal exposure (EEL {of(even, LOSS):.2f} against {of(best, LOSS):.2f}, lower is better)"
    return (
        f"{first}\nThe run '{even}' comes closest to the target ({fairness} against {of(best, GENDER):.2f}, "
        f"women {women[even]:.0%} of the top ten){loss}, "
        f"at the price of {1.0 - of(even, RELEVANCE) / of(best, RELEVANCE):.1%} of nDCG@10."
    )
