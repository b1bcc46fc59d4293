"""The command ``attention``: a click log in, attention by rank out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from lightmeter.cli.messages import choose, say
from lightmeter.cli.options import pairs, resample_count, seed, whole_number
from lightmeter.cli.streams import write_out
from lightmeter.cli.writing import FORMATS
from lightmeter.clicks.estimate import METHODS, estimate_attention
from lightmeter.clicks.log import read_clicks
from lightmeter.clicks.result import AttentionEstimate
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_not_input, check_writable, write_whole
from lightmeter.results import records
from lightmeter.results.grid import Entry, Grid
from lightmeter.results.markup import latex, markdown
from lightmeter.results.text import aligned, number

_ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
}
_LABELS = ("rank", "shown", "clicks", "documents", "n")
_NUMBERS = ("weight", "se", "low", "high")


@dataclass
class Request:
    """What the user asked ``attention`` for, as typed."""

    clicks: str
    method: str = "rate"
    columns: list[str] = field(default_factory=list)
    depth: str | None = None
    reference: str | None = None
    level: str | None = None
    resamples: str | None = None
    rng: str | None = None
    form: str | None = None
    output: str | None = None
    quiet: bool = False

    @classmethod
    def of(cls, **given: object) -> Request:
        """From the command line, where None stands for what is not given."""
        return cls(**{name: value for name, value in given.items() if value not in (None, [])})  # type: ignore[arg-type]

    def run(self) -> int:
        """Do it; the exit code."""
        form = self._check()
        log = read_clicks(self.clicks, columns=pairs("--columns", self.columns) or None)
        if self.output is not None:
            check_not_input(self.output, "--output", [self.clicks, *log.source.files])
        given = {
            "depth": self.depth and whole_number("--depth", self.depth),
            "reference": self.reference and whole_number("--reference", self.reference),
            "resamples": self.resamples and resample_count(self.resamples),
            "level": self.level and _level(self.level),
            "rng": self.rng and seed(self.rng),
        }
        estimate = estimate_attention(
            log,
            method=self.method,  # type: ignore[arg-type]
            **{name: value for name, value in given.items() if value is not None},  # type: ignore[arg-type]
        )
        content = _render(estimate, form)
        if self.output is not None:
            write_whole(self.output, content)
        else:
            write_out(content)
        if not self.quiet and (self.output is not None or form in ("csv", "jsonl")):
            for line in [*estimate.remarks(), estimate.term]:
                say(line)
        return 0

    def _check(self) -> str:
        """Refuse what cannot be, before anything is read; the format of the output."""
        for name, value in vars(self).items():
            if value == "" or (isinstance(value, list) and "" in value):
                option = {"clicks": "the click log", "form": "--format"}.get(name, f"--{name}")
                raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
        choose("--method", self.method, METHODS)
        if self.output == "-":
            self.output = None
        if self.output is not None:
            check_writable(self.output, "--output")
        ending = os.path.splitext(self.output or "")[1].lower()
        form = choose("--format", self.form, FORMATS) if self.form is not None else _ENDINGS.get(ending, "table")
        if form == "parquet" and self.output is None:
            raise LightmeterError("the format parquet needs a file. Name it with -o FILE.parquet.")
        return form


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0.0 < level < 1.0:
        raise LightmeterError(f"--level is {text!r}. Accepted: a number between 0 and 1, such as 0.95.")
    return level


def _render(estimate: AttentionEstimate, form: str) -> bytes:
    """The curve in one of the formats; those for people have the remarks and the term below it."""
    frame = estimate.frame()
    if form in ("jsonl", "csv", "parquet"):
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](frame)
    rows = list(frame.iter_rows(named=True))
    labels = [tuple(f"{row[name]:g}" if row[name] < 1e6 else f"{row[name]:.0f}" for name in _LABELS) for row in rows]
    notes = [*estimate.remarks(), estimate.term]
    if form == "table":
        reasons = any(row["reason"] for row in rows)
        cells = [
            [*label, *(number(row[name]) for name in _NUMBERS), *([row["reason"] or ""] if reasons else [])]
            for label, row in zip(labels, rows, strict=True)
        ]
        header = [*_LABELS, *_NUMBERS, *(["reason"] if reasons else [])]
        return ("\n".join([*aligned(header, cells, 0), "", *notes]) + "\n").encode()
    entries = [[Entry(row[name], None, None, row["reason"]) for name in _NUMBERS] for row in rows]
    grid = Grid(list(_LABELS), [(name, None) for name in _NUMBERS], list(zip(labels, entries, strict=True)))  # type: ignore[arg-type]
    return (latex if form == "latex" else markdown)(grid, notes).encode()
