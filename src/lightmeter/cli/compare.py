"""The command ``compare``: load, evaluate, test, write."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass

from lightmeter.cli import request as request_of
from lightmeter.cli.asked import read_measure, read_policy
from lightmeter.cli.messages import choose, say
from lightmeter.cli.notes import told
from lightmeter.cli.options import resample_count
from lightmeter.cli.plugged import load_plugins
from lightmeter.cli.progress import Progress
from lightmeter.cli.streams import leave_pipes, write_out
from lightmeter.cli.writing import NARROW, terminal_width
from lightmeter.comparing.comparison import Comparison
from lightmeter.comparing.making import compare
from lightmeter.comparing.testing import TESTS
from lightmeter.comparing.words import latex, markdown, text
from lightmeter.errors import LightmeterError
from lightmeter.output import records
from lightmeter.output.files import write_whole
from lightmeter.plugins import foreign_code
from lightmeter.statistics.adjust import ADJUST


@dataclass
class Request(request_of.Request):
    """What the user asked ``compare`` for, as typed."""

    test: str = "tukey"
    alpha: str = "0.05"
    adjust: str | None = None
    baseline: str | None = None
    resamples: str | None = None
    changed: str = "5"

    def run(self) -> int:
        """Do it; the exit code."""
        started = time.time()
        form = request_of.check(self)
        alpha, changed = self._check()
        modules = load_plugins(self.plugins, quiet=self.quiet)
        with foreign_code():
            measures = [read_measure(measure) for measure in self.measures]
            policy = None if self.policy is None else read_policy(self.policy, self.ties)
        collection = request_of.load_collection(self, measures)
        inputs = request_of.inputs_of(self, collection, [*measures, policy], modules)
        with Progress(quiet=self.quiet) as progress, foreign_code():
            made = compare(
                collection,
                measures,
                test=self.test,
                alpha=alpha,
                adjust=self.adjust,
                baseline=self.baseline,
                resamples=None if self.resamples is None else resample_count(self.resamples),
                changed=changed,
                policy=policy,
                progress=progress.step,
                **self.options(),
            )
        if not self.quiet:
            result = dataclasses.replace(made.result, conventions=made.conventions)
            notes = request_of.about_inputs(self, measures, collection)
            if form in ("csv", "jsonl", "parquet"):
                notes += made.notes  # the other formats have them below their tables
            for line in told(collection, result, notes):
                say(line)
        try:
            self._write(made, form)
        except BrokenPipeError:  # whoever read has read enough; the manifest is written all the same
            leave_pipes()
        request_of.write_manifest(
            self,
            inputs,
            made.manifest,
            started,
            {"seed": made.plan.rng},
            made=made,
            context=self.context_of(collection, policy),
        )
        return 0

    def _check(self) -> tuple[float, int]:
        """Refuse what cannot be, before anything is read; the level, and how many queries to tell of."""
        choose("--test", self.test, TESTS)
        if self.adjust is not None:
            choose("--adjust", self.adjust, ADJUST)
        if self.resamples is not None:
            resample_count(self.resamples)
            if self.test in ("t", "wilcoxon"):
                raise LightmeterError(f"--resamples plays no part in --test {self.test}. Leave it out.")
        if not (self.changed.isascii() and self.changed.isdigit()):
            raise LightmeterError(f"--changed is {self.changed!r}. Accepted: a whole number from 0 up.")
        return _level(self.alpha), int(self.changed)

    def _write(self, made: Comparison, form: str) -> None:
        content = render(made, form, None if self.output is not None else terminal_width())
        if self.output is not None:
            write_whole(self.output, content)
        else:
            write_out(content)


def render(made: Comparison, form: str, width: int | None = None) -> bytes:
    """A comparison in one of the formats; ``width`` is the terminal's, if there is one."""
    if form in ("jsonl", "csv", "parquet"):
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](made.frame())
    if form == "latex":
        return latex(made).encode()
    return (markdown(made) if form == "markdown" else text(made, width or NARROW)).encode()


def _level(given: str) -> float:
    try:
        level = float(given)
    except ValueError:
        level = -1.0
    if not 0.0 < level < 1.0:
        raise LightmeterError(f"--alpha is {given!r}. Accepted: a number between 0 and 1, such as 0.05.")
    return level
