"""The command ``compare``: load, evaluate, test, write."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from lightmeter.cli import request as request_of
from lightmeter.cli.asked import read_measure, read_policy
from lightmeter.cli.gates import Gate, read_gates, tell
from lightmeter.cli.messages import choose, say
from lightmeter.cli.notes import told, weights_like_a_policy
from lightmeter.cli.options import resample_count
from lightmeter.cli.plugged import load_plugins
from lightmeter.cli.progress import Progress
from lightmeter.cli.streams import leave_pipes, write_out
from lightmeter.cli.writing import NARROW, terminal_width
from lightmeter.comparing.comparison import Comparison
from lightmeter.comparing.making import check_by_query, compare
from lightmeter.comparing.testing import TESTS
from lightmeter.comparing.words import latex, markdown, text
from lightmeter.errors import LightmeterError
from lightmeter.io.files import write_whole
from lightmeter.results import records
from lightmeter.statistics.adjust import ADJUST
from lightmeter.terms.plugins import foreign_code


@dataclass
class Request(request_of.Request):
    """What the user asked ``compare`` for, as typed."""

    test: str = "tukey"
    alpha: str = "0.05"
    adjust: str | None = None
    baseline: str | None = None
    resamples: str | None = None
    changed: str = "5"
    fail_if: list[str] = field(default_factory=list)

    def run(self) -> int:
        """Do it; the exit code."""
        started = time.time()
        form = request_of.check(self)
        alpha, changed = self._check()
        modules = load_plugins(self.plugins, quiet=self.quiet)
        with foreign_code():
            gates = read_gates(self.fail_if)
            measures = [read_measure(measure) for measure in self.measures]
            policy = None if self.policy is None else read_policy(self.policy, self.ties)
        check_by_query(measures)  # before anything that they need is asked for
        _check_gates(gates, measures)
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
        for line in weights_like_a_policy(collection, self.policy):
            say(line)
        failures = [text for gate in gates for text in gate.failures_of_means(made)]
        try:
            self._write(made, form)
        except BrokenPipeError:  # whoever read has read enough; the manifest is written all the same
            leave_pipes()
        request_of.write_manifest(
            self,
            inputs,
            made.manifest,
            started,
            {"seed": made.plan.rng, **({"fail_if": {"conditions": self.fail_if, "failed": failures}} if gates else {})},
            made=made,
            context=self.context_of(collection, policy),
        )
        tell(gates, failures, quiet=self.quiet)
        return 3 if failures else 0

    def _check(self) -> tuple[float, int]:
        """Refuse what cannot be, before anything is read; the level, and how many queries to tell of."""
        _refuse_weights_and_segments(self)
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
        content = render(made, form, None if self.output is not None else terminal_width(), request_of.paths_of(self))
        if self.output is not None:
            write_whole(self.output, content)
        else:
            write_out(content)


def render(made: Comparison, form: str, width: int | None = None, paths: Collection[str] | None = None) -> bytes:
    """A comparison in one of the formats; ``width`` is the terminal's, if there is one, ``paths`` the runs that have no
    name but their path.
    """
    if form in ("jsonl", "csv", "parquet"):
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](made.frame())
    if form == "latex":
        return latex(made, paths).encode()
    return (markdown(made, paths) if form == "markdown" else text(made, width or NARROW, paths)).encode()


def _refuse_weights_and_segments(request: Request) -> None:
    """What ``evaluate`` does by query and no test here does, with what to do instead."""
    if request.sequence is not None:
        raise LightmeterError(
            "compare takes no --sequence: its tests and intervals count every query once and are not defined for "
            "weights. Leave it out; 'lightmeter evaluate --sequence FILE' shows the weighted means."
        )
    if request.segment is not None or request.queries is not None:
        raise LightmeterError(
            "compare takes no --segment and no --queries: it tests all judged queries together. To compare within a "
            "segment, give --qrels with its queries only; 'lightmeter evaluate --segment COLUMN' shows the means by "
            "segment."
        )


def _check_gates(gates: list[Gate], measures: list[Any]) -> None:
    """Conditions are about means that are shown; another measure would be one more test."""
    for gate in gates:
        if gate.measure not in measures:
            raise LightmeterError(
                f"--fail-if: {gate.measure} is not compared. Accepted: {', '.join(map(str, measures))}. Add -m for it, "
                "or use 'lightmeter evaluate --fail-if'."
            )


def _level(given: str) -> float:
    try:
        level = float(given)
    except ValueError:
        level = -1.0
    if not 0.0 < level < 1.0:
        raise LightmeterError(f"--alpha is {given!r}. Accepted: a number between 0 and 1, such as 0.05.")
    return level
