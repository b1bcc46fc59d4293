"""What commands read: the collection that the options name, plugins, and the files behind both."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lightmeter.cli.console import say
from lightmeter.cli.outputs import written_files
from lightmeter.cli.parsing import Request
from lightmeter.data.attributes import JOIN
from lightmeter.data.collection import Collection
from lightmeter.data.loading import load
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_not_input
from lightmeter.io.judgments import read_judgments
from lightmeter.io.runs import read_runs
from lightmeter.io.sources import split_kind, split_name
from lightmeter.io.tabular import check_columns
from lightmeter.measures.base import Measure
from lightmeter.terms.parameters import Constraint, Text, constraint_of
from lightmeter.terms.plugins import foreign_classes, foreign_code, has_terms, load_plugin, parse_term
from lightmeter.terms.term import Term

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

_MOST_NAMES = 5


@dataclass(frozen=True)
class Inputs:
    """What a command has read: a collection and all ``files``, of them those named ``within`` measures and policies."""

    collection: Collection
    files: list[str]
    within: list[str]


def load_plugins(request: Request) -> list[ModuleType]:
    """Import the plugins; of one that defines no term a note is printed, for it may be the wrong module."""
    modules = []
    for name in request.plugins:
        before = set(foreign_classes())
        module = load_plugin(name)
        if not request.quiet and not has_terms(module) and set(foreign_classes()) <= before:
            say(f"note: the plugin {name} ({module.__name__}) defines no measure or other term")
        modules.append(module)
    return modules


def load_inputs(request: Request, measures: list[Any], terms: list[Any], plugins: list[ModuleType]) -> Inputs:
    """Read what the options name: of the groups only what the measures look at.

    ``terms`` are policies and user models beside the measures, which may name files too. An output that is one of the
    inputs is refused.
    """
    _check_names(request)
    columns = check_columns(request.columns)
    reading, request.reading = request.reading, None
    # the judgments are read while the first run still is
    qrels = None if request.qrels is None else read_judgments(request.qrels, columns=columns)
    first = read_runs(request.runs[0], columns=columns, reading=reading)
    collection = load(
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
        ordinal=request.ordinal or None,
        bins=request.bins or None,
        bias=request.bias,
        attributes=attributes_of(measures),
    )
    within = files_of([*measures, *terms])
    files = list(dict.fromkeys([*_named_files(request, collection), *within]))
    files += sorted(_real([m.__file__ for m in plugins if m.__file__]) - _real(files))
    for option, path in written_files(request):
        check_not_input(path, option, files)
    return Inputs(collection, files, within)


def ranking_options(request: Request) -> dict[str, Any]:
    """How rankings are understood and what is missing: the options of :func:`lightmeter.evaluate` but the policy."""
    return {name: getattr(request, name) for name in ("ties", "unknown", "missing", "depth", "samples", "rng")}


def rankings_of(request: Request, collection: Collection, policy: Any) -> Callable[[], Context]:
    """A function that makes the rankings that were looked at, for the report."""

    def context() -> Context:
        from lightmeter.evaluation.evaluate import ranked_context

        return ranked_context(collection, policy, request.ties, request.depth, request.unknown)

    return context


def one_run(collection: Collection, path: str) -> None:
    """Refuse a file of several runs."""
    if len(collection.runs) > 1:
        names = ", ".join(list(collection.runs)[:_MOST_NAMES])
        raise LightmeterError(f"{path} has {len(collection.runs)} runs ({names}). Accepted: one run.")


def _check_names(request: Request) -> None:
    """Refuse names without files, and measures that stand where runs are read."""
    for option, texts in (("run", request.runs), ("--groups", request.groups), ("--targets", request.targets)):
        for text in texts:
            name, path = split_name(text)
            if name is not None and not path.strip():
                raise LightmeterError(f"{option} {text}: there is no file after '='. Accepted: NAME=FILE.")
    for run in request.runs:
        _refuse_measure(run)


def _refuse_measure(run: str) -> None:
    """A measure that stands where a run is read: ``-m nDCG@10 AP``."""
    if os.path.exists(run) or "=" in run or "/" in run or "." in run:
        return
    try:
        with foreign_code():
            parse_term(run, "measure")
    except LightmeterError:
        return
    raise LightmeterError(f"there is no run {run!r}, but a measure of that name. Repeat -m for each measure: -m {run}.")


def _named_files(request: Request, collection: Collection) -> list[str]:
    """All files that were named or read."""
    single = [request.qrels, request.intents, request.intent_probabilities, request.sequence, request.queries]
    several = [*request.runs, *request.groups, *request.targets]
    named = [split_kind(split_name(text)[1])[0] for text in [*filter(None, single), *several]]
    plugins = [p for p in request.plugins if p.endswith(".py")]
    return list(dict.fromkeys([*(f for s in collection.inputs for f in s.files), *named, *plugins]))


def _real(paths: list[str]) -> set[str]:
    return {os.path.realpath(p) for p in paths}


def unnamed_runs(request: Request) -> list[str]:
    """The runs that were given as paths, without a name."""
    return [run for run in request.runs if split_name(run)[0] is None]


def input_notes(request: Request, measures: list[Any], collection: Collection) -> list[str]:
    """What was given twice or plays no part, and what weights and segments do to the queries."""
    return [*_same_files(request), *_unused(request, measures), *_query_notes(request, collection)]


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
    notes = []
    if wanted is not None:
        if request.groups and not wanted:
            notes.append("--groups is not read: no measure looks at groups")
        unused = [n for n in dict.fromkeys([*request.ordinal, *request.bins, *request.bias]) if n not in wanted]
        if unused:
            notes.append(f"declared, but no measure looks at it: {', '.join(unused)}")
    if request.queries is not None and request.segment is None:
        notes.append("--queries is not read: it serves --segment")
    if request.intents is not None and not any("intents" in m.needs for m in with_components(measures)):
        notes.append("--intents plays no part: no measure looks at intents")
    return notes


def _query_notes(request: Request, collection: Collection) -> list[str]:
    """What --sequence and --segment do to the queries."""
    notes = []
    if request.sequence is not None and collection.query_weight is not None:
        total = collection.query_weight[collection.evaluated].sum()
        notes.append(
            f"--sequence {request.sequence}: {_count(len(collection.evaluated), 'query', 'queries')}, each weighs as "
            f"often as it occurs ({total:g} in all)"
        )
    if request.segment is not None and collection.segments is not None:
        labels = [collection.segments[q] for q in collection.evaluated]
        known = {label for label in labels if label is not None}
        unknown = labels.count(None)
        notes.append(
            f"--segment {request.segment}: {_count(len(known), 'segment', 'segments')}"
            + (f"; {_count(unknown, 'query has', 'queries have')} none" if unknown else "")
        )
    return notes


def _count(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"


# What terms look at


def attributes_of(measures: Iterable[Any]) -> list[str] | None:
    """Names of the attributes that measures look at; None (all) where one needs groups and does not say which."""
    names: dict[str, None] = {}
    for measure in with_components(measures):
        if measure.attribute is not None:
            names |= dict.fromkeys(measure.attribute.split(JOIN))
        elif "groups" in measure.needs and not any(True for _ in _components(measure)):
            return None
    return list(names)


def with_components(measures: Iterable[Any]) -> Iterator[Measure]:
    """The measures, each followed by the measures it is made of."""
    for measure in measures:
        yield measure
        yield from with_components(_components(measure))


def _components(term: Any) -> Iterator[Measure]:
    for f in dataclasses.fields(term):
        value = getattr(term, f.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Measure) and f.name != "user":
                yield part


def files_of(terms: Iterable[Any]) -> list[str]:
    """Files that are named in terms, at any depth, and those of the modules that define terms from outside."""
    files: dict[str, None] = {}
    for term in _all_terms(terms):
        module = type(term).__module__
        if not module.startswith("lightmeter."):
            files |= dict.fromkeys(filter(None, [getattr(sys.modules.get(module), "__file__", None)]))
        for f in dataclasses.fields(term):  # type: ignore[arg-type]
            value = getattr(term, f.name)
            if _is_path(f.name, constraint_of(type(term), f)):
                paths = value if isinstance(value, tuple) else (value,)
                files |= dict.fromkeys(path for path in paths if isinstance(path, str))
    return list(files)


def _is_path(name: str, constraint: Constraint | None) -> bool:
    inner = getattr(constraint, "inner", None)
    if inner is not None:
        return _is_path(name, inner)
    path = isinstance(constraint, Text) and "path" in constraint.what.lower().split()
    return path or {"file", "files", "path", "paths"}.intersection(name.lower().split("_")) != set()


def _all_terms(values: Iterable[Any]) -> Iterator[Term]:
    for value in values:
        if isinstance(value, Term):
            yield value
            yield from _all_terms(getattr(value, f.name) for f in dataclasses.fields(value))  # type: ignore[arg-type]
        elif isinstance(value, tuple):
            yield from _all_terms(value)
        elif isinstance(value, dict):
            yield from _all_terms([*value, *value.values()])
