"""The command ``audit``: a table of scored people in, who gets exposure and who is selected out."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from lightmeter.auditing.conditions import Check, read_checks
from lightmeter.auditing.export import render, render_curve
from lightmeter.auditing.layout import remarks
from lightmeter.auditing.options import PRESETS
from lightmeter.auditing.public import audit
from lightmeter.auditing.ranking import TIES
from lightmeter.auditing.result import AuditResult
from lightmeter.cli.messages import choose, say
from lightmeter.cli.options import numbers_by_name, resample_count, seed, whole_number
from lightmeter.cli.progress import Progress
from lightmeter.cli.streams import leave_pipes, write_out
from lightmeter.cli.writing import FORMATS, terminal_width
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_not_input, check_writable, write_whole

_ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
}
_WRITTEN = {
    "table": "the table",
    "scores": "--score",
    "groups": "--group",
    "cutoffs": "--cutoff",
    "primary": "--primary-cutoff",
    "references": "--reference",
    "users": "--user",
    "form": "--format",
    "people": "--report-people",
}
#: rows that meet a condition and are told one by one
_TOLD = 20
_CURVES = ("csv", "jsonl", "parquet")


@dataclass
class Request:
    """What the user asked ``audit`` for, as typed."""

    table: str
    scores: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    label: str | None = None
    query: str | None = None
    cutoffs: list[str] = field(default_factory=list)
    primary: str | None = None
    references: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    ties: str = "file"
    min_cell: str | None = None
    inferred: list[str] = field(default_factory=list)
    preset: str | None = None
    threshold: str | None = None
    bins: list[str] = field(default_factory=list)
    resamples: str | None = None
    level: str | None = None
    rng: str | None = None
    per_query: bool = False
    curve: str | None = None
    form: str | None = None
    output: str | None = None
    manifest: str | None = None
    report: str | None = None
    people: str | None = None
    fail_if: list[str] = field(default_factory=list)
    quiet: bool = False

    @classmethod
    def of(cls, **given: Any) -> Request:
        """From the command line, where None stands for what is not given."""
        return cls(**{name: value for name, value in given.items() if value not in (None, (), [])})

    def run(self) -> int:
        """Do it; the exit code."""
        started = time.time()
        form = self._check()
        checks = read_checks(self.fail_if)
        with Progress(quiet=self.quiet, what="auditing") as progress:
            result = audit(self.table, **self._options(), progress=progress.step)
        met = [text for check in checks for text in check.met(result)]
        people = self._people()
        files = [f for i in result.manifest["inputs"] for f in i["files"]]
        for option, path in self._written():
            check_not_input(path, option, [self.table, *files])
        content = render(result, form, width=terminal_width() if self.output is None else None)
        if self.output is not None:
            write_whole(self.output, content)
        if self.curve is not None:
            write_whole(self.curve, render_curve(result, self._curve_form()))
        if self.manifest is not None or self.report is not None:
            manifest = self._manifest(result, files, started)
            if checks:
                manifest["fail_if"] = {"conditions": list(self.fail_if), "failed": met}
            if self.manifest is not None:
                write_whole(self.manifest, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())
            if self.report is not None:
                from lightmeter.report.public import content_of

                write_whole(self.report, content_of(result, manifest=manifest, people=people))
        if not self.quiet and (self.output is not None or form in ("csv", "jsonl")):
            for line in remarks(result):
                say(line)
        if not self.quiet:
            for what, count in result.manifest["ignored"].items():
                say(f"ignored: {what}: {count}")
        if self.output is None and not self._conditions_only():
            try:
                write_out(content)
            except BrokenPipeError:  # whoever read has read enough; conditions are told all the same
                leave_pipes()
        self._tell(checks, met)
        return 3 if met else 0

    def _conditions_only(self) -> bool:
        """Whether nothing but conditions is asked for: --quiet --fail-if, and no format for the table."""
        return self.quiet and bool(self.fail_if) and self.form is None

    def _tell(self, checks: list[Check], met: list[str]) -> None:
        """Which rows meet a condition."""
        for text in met[:_TOLD]:
            say(f"fail-if: {text}")
        if len(met) > _TOLD:
            say(f"fail-if: and {len(met) - _TOLD} more; --manifest FILE has them all")
        if checks and not met and not self.quiet:
            say(f"fail-if: {', '.join(str(c) for c in checks)}: holds for no row")

    def _options(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "score": self.scores,
            "group": self.groups,
            "label": self.label,
            "query": self.query,
            "cutoffs": [whole_number("--cutoff", k) for k in self.cutoffs],
            "primary_cutoff": self.primary and whole_number("--primary-cutoff", self.primary),
            "reference": self._references(),
            "users": self.users or None,
            "ties": self.ties,
            "inferred": self.inferred,
            "preset": self.preset,
            "bins": numbers_by_name("--bins", self.bins) or None,
            "per_query": self.per_query,
            "rng": 0 if self.rng is None else seed(self.rng),
        }
        if self.min_cell is not None:
            given["min_cell"] = whole_number("--min-cell", self.min_cell)
        if self.resamples is not None:
            given["resamples"] = resample_count(self.resamples, 0)
        for name in ("threshold", "level"):
            text = getattr(self, name)
            if text is not None:
                given[name] = _number(f"--{name}", text)
        return given

    def _references(self) -> Any:
        """One value, or values by attribute."""
        if not self.references:
            return None
        named = {}
        for text in self.references:
            name, equals, value = text.partition("=")
            if equals and name.strip() in self._attributes():
                if name.strip() in named:
                    raise LightmeterError(f"--reference: {name.strip()!r} is given twice. Accepted: once each.")
                named[name.strip()] = value.strip()
            elif len(self.references) > 1:
                raise LightmeterError(
                    f"--reference {text}: of several, each names its group. Accepted: ATTR=VALUE, ATTR one of "
                    f"{', '.join(self._attributes())}."
                )
            else:
                return text
        return named

    def _attributes(self) -> list[str]:
        whole = [",".join(p.strip() for p in g.split(",")) for g in self.groups]
        return [*whole, *([",".join(whole)] if self.preset else [])]

    def _check(self) -> str:
        """Refuse what cannot be, before anything is read; the format of the output."""
        for name, value in vars(self).items():
            if value == "" or (isinstance(value, list) and "" in value):
                option = _WRITTEN.get(name, f"--{name.replace('_', '-')}")
                raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
        for option, given in (("--score", self.scores), ("--group", self.groups)):
            if not given:
                raise LightmeterError(f"no {option} is given. Accepted: {option} COLUMN, one of the table's.")
        choose("--ties", self.ties, TIES)
        if self.preset is not None:
            choose("--preset", self.preset, PRESETS)
        self._options()
        if self.output == "-":
            self.output = None
        written = self._written()
        for option, path in written:
            check_writable(path, option)
            same = [o for o, p in written if o != option and os.path.realpath(p) == os.path.realpath(path)]
            if same:
                raise LightmeterError(f"{option} and {same[0]} are both {path}. Give them different names.")
        ending = os.path.splitext(self.output or "")[1].lower()
        form = choose("--format", self.form, FORMATS) if self.form is not None else _ENDINGS.get(ending, "table")
        if form == "parquet" and self.output is None:
            raise LightmeterError("the format parquet needs a file. Name it with -o FILE.parquet.")
        if self.curve is not None:
            self._curve_form()
        if self.people is not None and self.report is None:
            raise LightmeterError("--report-people says what the report shows. Name the report: --report FILE.html.")
        if self.report is not None:
            from lightmeter.report.public import check_report

            check_report(self.report)
        return form

    def _written(self) -> list[tuple[str, str]]:
        named = (
            ("--output", self.output),
            ("--manifest", self.manifest),
            ("--curve", self.curve),
            ("--report", self.report),
        )
        return [(option, path) for option, path in named if path is not None]

    def _curve_form(self) -> str:
        form = _ENDINGS.get(os.path.splitext(self.curve or "")[1].lower())
        if form not in _CURVES:
            raise LightmeterError(f"--curve {self.curve}: the name says no format. Accepted: .csv, .jsonl, .parquet.")
        return form

    def _people(self) -> Any:
        """A table of single persons for the report, where that is asked for."""
        if self.people is None:
            return None
        from lightmeter.report.people import people_of

        given = self._options()
        return people_of(self.table, self.people, given)

    def _manifest(self, result: AuditResult, files: list[str], started: float) -> dict[str, Any]:
        from datetime import UTC, datetime

        from lightmeter.evaluation.conventions import file_digests

        return {
            **result.manifest,
            "command": "lightmeter " + shlex.join(sys.argv[1:]),
            "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - started, 3),
            "seed": 0 if self.rng is None else seed(self.rng),
            "files": file_digests(files),
        }


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise LightmeterError(f"{option} is {text!r}. Accepted: a number, such as 0.5.") from None
