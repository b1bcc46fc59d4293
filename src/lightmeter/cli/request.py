"""What commands that measure runs have in common: what they take, read, check, and say of their inputs."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lightmeter.cli.measured import attributes_of, files_of, with_components
from lightmeter.cli.messages import choose
from lightmeter.cli.options import numbers_by_name, pairs, seed, texts_by_name, whole_number
from lightmeter.cli.writing import FORMATS
from lightmeter.data.collection import Collection
from lightmeter.data.loading import load
from lightmeter.errors import LightmeterError
from lightmeter.io.arrow import Reading
from lightmeter.io.files import check_not_input, check_writable, write_whole
from lightmeter.io.groups import KINDS
from lightmeter.io.judgments import read_judgments
from lightmeter.io.runs import read_runs
from lightmeter.io.sources import split_kind, split_name
from lightmeter.io.tabular import check_columns
from lightmeter.terms.plugins import foreign_code, parse_term

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

_ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
}
_WRITTEN = {
    "runs": "a run",
    "measures": "--measure",
    "plugins": "--plugin",
    "form": "--format",
    "policies": "--policy",
    "users": "--user",
}
_TIES = ("docno", "file", "error", "expected")
_UNKNOWN = ("uniform", "drop", "distinct", "error")
_MISSING = ("zero", "skip", "error")


@dataclass
class Request:
    """What the user asked for, as typed: what is read, measured and written."""

    runs: list[str]
    measures: list[str] = field(default_factory=list)
    qrels: str | None = None
    groups: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    intents: str | None = None
    intent_probabilities: str | None = None
    sequence: str | None = None
    queries: str | None = None
    segment: str | None = None
    policy: str | None = None
    depth: str | None = None
    samples: str | None = None
    rng: str | None = None
    ties: str | None = None
    unknown: str = "uniform"
    missing: str = "zero"
    columns: list[str] = field(default_factory=list)
    ordinal: list[str] = field(default_factory=list)
    bins: list[str] = field(default_factory=list)
    bias: list[str] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    form: str | None = None
    output: str | None = None
    manifest: str | None = None
    report: str | None = None
    quiet: bool = False
    #: the first run, where it is being read already
    reading: Reading | None = None

    @classmethod
    def of(cls, **given: Any) -> Self:
        """From the command line, where None stands for what is not given."""
        return cls(**{name: value for name, value in given.items() if value not in (None, (), [])})

    def options(self) -> dict[str, Any]:
        """How rankings are taken and what is missing: the options of :func:`lightmeter.evaluate` but the policy."""
        return {
            "ties": self.ties,
            "unknown": self.unknown,
            "missing": self.missing,
            "depth": None if self.depth is None else whole_number("--depth", self.depth),
            "samples": 100 if self.samples is None else whole_number("--samples", self.samples),
            "rng": 0 if self.rng is None else seed(self.rng),
        }

    def context_of(self, collection: Collection, policy: Any) -> Callable[[], Context]:
        """What makes the rankings that were looked at, for the report."""

        def made() -> Context:
            from lightmeter.evaluation.evaluate import ranked_context

            given = self.options()
            return ranked_context(collection, policy, given["ties"], given["depth"], given["unknown"])

        return made


def check(request: Request, *, measured: bool = False) -> str:
    """Refuse what cannot be, before anything is read; the format of the output.

    ``measured``: whether measures are asked for elsewhere than with ``-m``.
    """
    for name, value in vars(request).items():
        if value == "" or (isinstance(value, list) and "" in value):
            option = _WRITTEN.get(name, f"--{name.replace('_', '-')}")
            raise LightmeterError(f"{option} is an empty text. Give it a value, or leave it out.")
    if request.ties is not None:
        choose("--ties", request.ties, _TIES)
    choose("--unknown", request.unknown, _UNKNOWN)
    choose("--missing", request.missing, _MISSING)
    if not request.measures and not measured:
        raise LightmeterError(
            "no measure is asked for. Name at least one, such as -m nDCG@10; 'lightmeter measures' lists them."
        )
    for option, number in (("--depth", request.depth), ("--samples", request.samples)):
        if number is not None:
            whole_number(option, number)
    if request.rng is not None:
        seed(request.rng)
    if request.output == "-":
        request.output = None
    form = _form(request)
    written = _written(request)
    for option, path in written:
        check_writable(path, option)
        same = [o for o, other in written if o != option and os.path.realpath(other) == os.path.realpath(path)]
        if same:
            raise LightmeterError(f"{option} and {same[0]} are both {path}. Give them different names.")
    if request.report is not None:
        from lightmeter.report.public import check_report

        check_report(request.report)
    for option, texts in (("run", request.runs), ("--groups", request.groups), ("--targets", request.targets)):
        for text in texts:
            named, file = split_name(text)
            if named is not None and not file.strip():
                raise LightmeterError(f"{option} {text}: there is no file after '='. Accepted: NAME=FILE.")
    for run in request.runs:
        _refuse_measure(run)
    return form


def _written(request: Request) -> list[tuple[str, str]]:
    """The files that are asked for."""
    named = (("--output", request.output), ("--manifest", request.manifest), ("--report", request.report))
    return [(option, path) for option, path in named if path is not None]


def _form(request: Request) -> str:
    ending = os.path.splitext(request.output or "")[1].lower()
    form = choose("--format", request.form, FORMATS) if request.form is not None else _ENDINGS.get(ending, "table")
    if form == "parquet" and request.output is None:
        raise LightmeterError("the format parquet needs a file. Name it with -o FILE.parquet.")
    return form


def _refuse_measure(run: str) -> None:
    """A measure where a run stands: ``-m nDCG@10 AP``."""
    if os.path.exists(run) or "=" in run or "/" in run or "." in run:
        return
    try:
        with foreign_code():
            parse_term(run, "measure")
    except LightmeterError:
        return
    raise LightmeterError(f"there is no run {run!r}, but a measure of that name. Repeat -m for each measure: -m {run}.")


def load_collection(request: Request, measures: list[Any]) -> Collection:
    """What was named, read: of the groups only what the measures look at."""
    columns = check_columns(pairs("--columns", request.columns))
    reading, request.reading = request.reading, None
    # the judgments come in while the first run is still being read
    qrels = None if request.qrels is None else read_judgments(request.qrels, columns=columns)
    first = read_runs(request.runs[0], columns=columns, reading=reading)
    return load(
        [*first, *request.runs[1:]],
        qrels,
        request.groups or None,
        request.targets or None,
        intents=request.intents,
        intent_probabilities=request.intent_probabilities,
        sequence=request.sequence,
        segment=request.segment,
        queries=request.queries,
        columns=columns,
        ordinal=texts_by_name("--ordinal", request.ordinal) or None,
        bins=numbers_by_name("--bins", request.bins) or None,
        bias=request.bias,
        attributes=attributes_of(measures),
    )


@dataclass(frozen=True)
class Inputs:
    """All files that were read: ``files``; of them those named ``within`` measures and policies."""

    files: list[str]
    within: list[str]


def inputs_of(request: Request, collection: Collection, terms: list[Any], modules: list[Any]) -> Inputs:
    """The inputs of a request; refuses to write over one of them."""
    within = files_of(terms)
    files = list(dict.fromkeys([*_input_files(request, collection), *within]))
    files += sorted(_real([m.__file__ for m in modules if m.__file__]) - _real(files))
    for option, path in _written(request):
        check_not_input(path, option, files)
    return Inputs(files, within)


def paths_of(request: Request) -> list[str]:
    """The runs that were given as paths, without a name."""
    return [run for run in request.runs if split_name(run)[0] is None]


def about_inputs(request: Request, measures: list[Any], collection: Collection) -> list[str]:
    """What was given twice or plays no part, and what weights and segments do to the queries."""
    return [*_same_files(request), *_unused(request, measures), *_by_query(request, collection)]


def _same_files(request: Request) -> list[str]:
    """Runs of different names that are one file."""
    names: dict[str, list[str]] = {}
    for run in request.runs:
        name, path = split_name(run)
        names.setdefault(os.path.realpath(path), []).append(name or path)
    return [f"{' and '.join(same)} are the same file" for same in names.values() if len(same) > 1]


def _unused(request: Request, measures: list[Any]) -> list[str]:
    """What was given and plays no part."""
    wanted = attributes_of(measures)
    out = []
    if wanted is not None:
        if request.groups and not wanted:
            out.append("--groups is not read: no measure looks at groups")
        declared = [
            *texts_by_name("--ordinal", request.ordinal),
            *numbers_by_name("--bins", request.bins),
            *request.bias,
        ]
        strange = [name for name in dict.fromkeys(declared) if name not in wanted]
        if strange:
            out.append(f"declared, but no measure looks at it: {', '.join(strange)}")
    if request.queries is not None and request.segment is None:
        out.append("--queries is not read: it serves --segment")
    if request.intents is not None and not any("intents" in m.needs for m in with_components(measures)):
        out.append("--intents plays no part: no measure looks at intents")
    return out


def _by_query(request: Request, collection: Collection) -> list[str]:
    """What --sequence and --segment do to the queries."""
    out = []
    queries = len(collection.evaluated)
    if request.sequence is not None and collection.query_weight is not None:
        weight = collection.query_weight
        out.append(
            f"--sequence {request.sequence}: {_number(queries, 'query', 'queries')}, each weighs as often as it occurs "
            f"({weight[collection.evaluated].sum():g} in all)"
        )
    if request.segment is not None and collection.segments is not None:
        labels = [collection.segments[q] for q in collection.evaluated]
        known = sorted({s for s in labels if s is not None})
        gone = labels.count(None)
        out.append(
            f"--segment {request.segment}: {_number(len(known), 'segment', 'segments')}"
            + (f"; {_number(gone, 'query has', 'queries have')} none" if gone else "")
        )
    return out


def _number(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"


def _real(paths: list[str]) -> set[str]:
    return {os.path.realpath(p) for p in paths}


def _input_files(request: Request, collection: Collection) -> list[str]:
    """All files that were named or read."""
    single = [request.qrels, request.intents, request.intent_probabilities, request.sequence, request.queries]
    several = [*request.runs, *request.groups, *request.targets]
    named = [split_kind(split_name(text)[1], KINDS)[0] for text in [*filter(None, single), *several]]
    plugins = [p for p in request.plugins if p.endswith(".py")]
    return list(dict.fromkeys([*(f for s in collection.inputs for f in s.files), *named, *plugins]))


def write_manifest(
    request: Request,
    inputs: Inputs,
    manifest: dict[str, Any],
    started: float,
    more: dict[str, Any] | None = None,
    *,
    made: Any = None,
    context: Callable[[], Context] | None = None,
) -> None:
    """Write how a result was made, with the command, the time it took and hashes of all inputs; and the report of the
    result ``made``, which holds it too, with rankings where there is a ``context``.
    """
    if request.manifest is None and request.report is None:
        return
    known = full_manifest(inputs, manifest, started, more)
    if request.manifest is not None:
        write_whole(request.manifest, (json.dumps(known, indent=2, ensure_ascii=False) + "\n").encode())
    if request.report is not None and made is not None:
        from lightmeter.report.public import content_of

        content = content_of(made, context=None if context is None else context(), manifest=known)
        write_whole(request.report, content)


def full_manifest(
    inputs: Inputs, manifest: dict[str, Any], started: float, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    """How a result was made: besides its own manifest the command, the time it took, and hashes of all inputs."""
    from datetime import UTC, datetime

    from lightmeter.evaluation.conventions import file_digests

    files = [f for f in inputs.files if os.path.isfile(f)]
    return {
        **manifest,
        "inputs": [*manifest["inputs"], *({"name": f, "files": [f]} for f in inputs.within)],
        "command": "lightmeter " + shlex.join(sys.argv[1:]),
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "seed": None,
        **(more or {}),
        "files": file_digests(files),
    }
