"""Loading: files, frames and dictionaries to a :class:`~lightmeter.data.collection.Collection`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.data.attributes import Attribute
from lightmeter.data.collection import Collection, vocabulary_of
from lightmeter.data.judgments import Judgments
from lightmeter.data.run import Run
from lightmeter.errors import InputError, LightmeterError, suggest
from lightmeter.io.columns import plain_text
from lightmeter.io.frames import group_frames
from lightmeter.io.judgments import (
    counted,
    judgments_from_columns,
    read_intents,
    read_judgments,
    read_requests,
    read_targets,
)
from lightmeter.io.runs import read_runs
from lightmeter.io.tables import AttributeTable, JudgmentTable, RunTable, Source
from lightmeter.io.tabular import ColumnMap, check_columns, read_named

Columns = Mapping[str, str]


def load(
    run: Any,
    qrels: Any = None,
    groups: Any = None,
    targets: Any = None,
    *,
    intents: Any = None,
    intent_probabilities: Any = None,
    sequence: Any = None,
    segment: str | None = None,
    queries: Any = None,
    columns: Columns | None = None,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
    bias: Sequence[str] = (),
    attributes: Sequence[str] | None = None,
) -> Collection:
    """Read everything that is evaluated together.

    Parameters
    ----------
    run
        A run: a path (TREC, CSV, TSV, Parquet, JSONL; a folder or pattern is one run), a frame, ``{query: [doc, ..]}``
        or ``{query: {doc: score}}``; or several, as a list of paths or ``{name: run}``. Paths may be named:
        ``NAME=PATH``.
    qrels
        Judgments: TREC, three columns, a table, a frame or ``{query: {doc: grade}}``. Without them a ``grade`` column
        of the run's own table serves.
    groups
        Memberships: a path, ``NAME=PATH[:kind]``, a frame, ``{attribute: {doc: value}}``, or a list of these. Columns
        of the run's own table are attributes too, without being named here.
    targets
        Target distributions: a path, ``NAME=FILE.golddistr``, a frame, ``{attribute: {value: share}}``, or a list.
    intents, intent_probabilities
        Judgments by intent in TREC diversity form, and the probabilities of the intents.
    sequence
        A query sequence: a path (lines ``sequence.number,qid``), a list of query ids, or a frame ``query, weight``. A
        query weighs as often as it occurs, others are left out. Of a path and a list the order is kept too.
    segment
        A column that labels queries; means are given by label too. It is looked for in the run's tables and in
        ``queries``.
    queries
        A table with a ``query`` column and others by query, such as the segment.
    columns
        Our names to the tables' own: ``{"query": "qid", "doc": "item", "score": "p"}``.
    ordinal
        Order of an attribute's values from low to high.
    bins
        Lower ends of the bins of a number column.
    bias
        Columns of bias scores in [-1, 1].
    attributes
        Which attributes to read of the groups; all by default.

    Returns
    -------
    Collection

    Raises
    ------
    InputError
        Where something cannot be used, with the file and line (or row and column).

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q1": ["d1", "d2"]}, qrels={"q1": {"d2": 1}}, groups={"gender": {"d1": "f", "d2": "m"}})
    >>> c.queries, list(c.runs), list(c.attributes)
    (['q1'], ['run'], ['gender'])
    """

    columns = named = columns if isinstance(columns, ColumnMap) else check_columns(columns)
    tables = _runs(run, columns)
    judgments = _judgments(tables, qrels, columns)
    topics = _intents(intents, intent_probabilities, columns)
    vocabulary = vocabulary_of(tables, judgments, topics)
    if judgments is not None:
        _refuse_disjoint(tables, judgments)
    grouped = read_given_groups(groups, tables, columns, ordinal, bins, bias, attributes)
    read = grouped.tables
    given = _targets(targets, columns)
    check_targets(None if given is None else given.frame, grouped.names)
    attributes_read = {t.name: Attribute.build(t, vocabulary) for t in read}
    lookup = {q: i for i, q in enumerate(vocabulary)}
    runs = {t.name: Run(t, lookup) for t in tables}
    ignored: dict[str, int] = {}
    weight, requests, sequence_source = _requests(sequence, vocabulary, ignored)
    inputs = [*(t.source for t in tables), *(t.source for t in read), *sequence_source]
    inputs += [t.source for t in (judgments, given, topics) if t is not None]
    segments = _segments(segment, queries, tables, lookup, columns, ignored)
    if queries is not None:
        inputs.append(_named_source(queries, "queries"))
    if intent_probabilities is not None:
        inputs.append(_named_source(intent_probabilities, "intent probabilities"))
    if given is not None:
        others = given.frame.filter(pl.col("query").is_not_null() & ~pl.col("query").is_in(vocabulary))
        ignored[f"{given.source.name}: target rows of queries that are not evaluated"] = len(others)
    return Collection(
        queries=vocabulary,
        runs=runs,
        judgments=None if judgments is None else Judgments(judgments, vocabulary),
        attributes=attributes_read,
        targets=None if given is None else given.frame,
        intents=topics,
        segments=segments,
        query_weight=weight,
        requests=requests,
        inputs=tuple(dict.fromkeys(inputs)),
        ignored=_ignored(tables, judgments, read) | {k: n for k, n in ignored.items() if n},
        notes=(*_notes(tables, judgments, read), *grouped.notes, *_unused(named, grouped.names)),
        columns_of_runs=tuple(t for t in tables if t.extra is not None),
        declared=grouped.declared,
    )


def _runs(run: Any, columns: Columns | None) -> list[RunTable]:

    given = run if isinstance(run, list | tuple) else [run]
    if not given:
        raise LightmeterError("no run is given. Name at least one.")
    tables = [t for one in given for t in read_runs(one, columns=columns)]
    if len(given) == 1 and not isinstance(run, str | Mapping) and tables[0].name in ("frame", "dictionary"):
        tables[0] = replace(tables[0], name="run")
    if isinstance(run, Mapping) and [t.name for t in tables] == ["dictionary"]:
        tables = [replace(tables[0], name="run")]
    names = [t.name for t in tables]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise LightmeterError(
            f"{names.count(twice[0])} runs are named {twice[0]!r}. Accepted: a name for each. Write NAME=PATH to tell "
            "them apart."
        )
    return tables


def _judgments(tables: list[RunTable], qrels: Any, columns: Columns | None) -> JudgmentTable | None:
    if qrels is not None:
        return read_judgments(qrels, columns=columns)
    name = (columns or {}).get("grade", "grade")
    having = [t for t in tables if t.extra is not None and name in t.extra.columns]
    if not having:
        return None

    built = [judgments_from_columns(t, name) for t in having]
    frame = pl.concat([j.frame for j in built]).unique(maintain_order=True)
    several = frame.filter(pl.struct("query", "doc").is_duplicated())
    if len(several):
        query, doc = several.select("query", "doc").row(0)
        raise InputError(
            f"document {doc!r} of query {query!r} has different grades in the runs' tables",
            column=name,
            accepted="one grade per query and document",
        )
    return replace(built[0], frame=frame, notes=(f"judgments read from column {name!r} of the run",))


def _refuse_disjoint(tables: list[RunTable], judgments: JudgmentTable) -> None:
    judged = set(judgments.frame["query"].unique())
    for table in tables:
        if judged.isdisjoint(table.queries):
            raise InputError(
                f"the run and the judgments have no query in common; the run's first is {table.queries[0]!r}, the "
                f"judgments' first {judgments.frame['query'][0]!r}",
                where=table.source.name,
                accepted="the same query ids in both",
                hint=f"Compare {table.source.name} with {judgments.source.name}",
            )


def _targets(targets: Any, columns: Columns | None) -> Any:
    if targets is None or (isinstance(targets, list | tuple) and not targets):
        return None

    return read_targets(targets, columns=columns)


def _intents(intents: Any, probabilities: Any, columns: Columns | None) -> Any:
    if intents is None:
        if probabilities is not None:
            raise LightmeterError(
                "intent probabilities are given without intents. Give the intents with --intents FILE."
            )
        return None

    return read_intents(intents, probabilities, columns=columns)


def _named_source(given: Any, what: str) -> Source:
    return Source(str(given), (str(given),)) if isinstance(given, str | os.PathLike) else Source(f"frame of {what}")


def _requests(sequence: Any, vocabulary: list[str], ignored: dict[str, int]) -> tuple[Any, Any, list[Source]]:
    """Weight of each query, codes of the requested queries in their order (None where only counts are given), and where
    they are from.
    """
    if sequence is None:
        return None, None, []

    requests: pl.Series | None = None
    if isinstance(sequence, pl.DataFrame):
        frame = sequence
    else:
        several = isinstance(sequence, list | tuple)
        requests = pl.Series("query", [str(q) for q in sequence], pl.String) if several else read_requests(sequence)
        frame = counted(requests)
    source = _named_source(sequence, "a sequence")
    weights = dict(frame.select("query", "weight").iter_rows())
    weight = np.array([float(weights.get(q, 0.0)) for q in vocabulary])
    if not weight.any():
        raise LightmeterError(
            f"{source.name}: the sequence and the runs have no query in common. Accepted: the same query ids in both."
        )
    known = set(vocabulary)
    ignored[f"{source.name}: requests for queries that are neither ranked nor judged"] = int(
        sum(w for q, w in weights.items() if q not in known)
    )
    ignored[f"{source.name}: queries that the sequence does not ask for"] = int((weight == 0).sum())
    if requests is None:
        return weight, None, [source]
    code = requests.replace_strict(vocabulary, np.arange(len(vocabulary)), default=None, return_dtype=pl.Int64)
    return weight, code.drop_nulls().to_numpy(), [source]


def _segments(
    segment: str | None,
    queries: Any,
    tables: list[RunTable],
    lookup: dict[str, int],
    columns: Columns | None,
    ignored: dict[str, int],
) -> list[str | None] | None:
    if segment is None:
        return None
    if not isinstance(segment, str):
        raise LightmeterError(f"segment is {segment!r}. Accepted: the name of a column.")

    frames = [
        pl.DataFrame({"query": pl.Series(t.queries).gather(t.query), "label": plain_text(t.extra[segment], t.source)})
        for t in tables
        if t.extra is not None and segment in t.extra.columns
    ]
    where, known = "the runs' tables", sorted({c for t in tables if t.extra is not None for c in t.extra.columns})
    if queries is not None:
        table, _ = read_named(queries, ["query"], text=[segment], columns=columns)
        frames.append(table.select("query", pl.col(segment).alias("label")))
    if not frames:
        raise LightmeterError(
            f"there is no column {segment!r} to segment by.{suggest(segment, known)} It is looked for in {where} "
            f"({', '.join(known) or 'no columns beside query, doc and score'}) and in the table given with --queries."
        )
    labels = pl.concat(frames).drop_nulls().unique(maintain_order=True)
    several = labels.filter(pl.col("query").is_duplicated())
    if len(several):
        query = several["query"][0]
        both = several.filter(pl.col("query") == query)["label"].to_list()
        raise LightmeterError(
            f"query {query!r} has the segments {both[0]!r} and {both[1]!r}. Accepted: one per query. --segment labels "
            "queries; to compare documents use --groups."
        )
    out: list[str | None] = [None] * len(lookup)
    for query, label in labels.iter_rows():
        if query in lookup:
            out[lookup[query]] = label
        else:
            ignored[f"labels ({segment}) of queries that are neither ranked nor judged"] = (
                ignored.get(f"labels ({segment}) of queries that are neither ranked nor judged", 0) + 1
            )
    ignored[f"queries without a label ({segment}): in no segment"] = out.count(None)
    return out


def _unused(columns: Any, extra: Sequence[str]) -> list[str]:
    """Notes on names of ``columns`` that no table has."""
    return [
        f"columns: no table has a column {theirs!r} (for {ours})"
        for ours, theirs in columns.unused().items()
        if not (ours == "grade" and theirs in extra)
    ]


def _ignored(tables: list[RunTable], judgments: JudgmentTable | None, groups: list[AttributeTable]) -> dict[str, int]:
    out: dict[str, int] = {}
    every: list[RunTable | JudgmentTable | AttributeTable] = [*tables, *([judgments] if judgments else []), *groups]
    for table in every:
        for what, count in table.ignored.items():
            if count:
                key = f"{table.source.name}: {what}"
                out[key] = max(out.get(key, 0), count)
    if judgments is not None:
        judged = set(judgments.frame["query"].unique())
        for run in tables:
            others = np.array([q not in judged for q in run.queries])
            if others.any():
                out[f"{run.name}: queries without judgments"] = int(others.sum())
                out[f"{run.name}: rows of queries without judgments"] = int(others[run.query].sum())
    return out


def _notes(tables: list[RunTable], judgments: JudgmentTable | None, groups: list[AttributeTable]) -> tuple[str, ...]:
    every: list[RunTable | JudgmentTable | AttributeTable] = [*tables, *([judgments] if judgments else []), *groups]
    noted = [f"{t.source.name}: {n}" for t in every for n in t.notes]
    return tuple(dict.fromkeys(noted))


@dataclass(frozen=True)
class GivenGroups:
    """What came of the groups.

    Attributes
    ----------
    tables
        The attributes that were read.
    names
        All attributes there are, read or not, the columns of runs among them.
    declared
        What was declared of attributes that are columns of the runs: ``ordinal``, ``bins`` and ``bias``.
    notes
        What the user should know.
    """

    tables: list[AttributeTable]
    names: list[str]
    declared: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def read_given_groups(
    groups: Any,
    runs: list[RunTable],
    columns: Columns | None,
    ordinal: Mapping[str, Any] | None,
    bins: Mapping[str, Any] | None,
    bias: Sequence[str],
    wanted: Sequence[str] | None,
) -> GivenGroups:
    """Read the groups given; an attribute there wins over a column of the runs of the same name.

    Parameters
    ----------
    groups
        As :func:`lightmeter.load` takes them.
    runs
        The runs, whose own columns are attributes too.
    columns, ordinal, bins, bias
        As :func:`lightmeter.load` takes them.
    wanted
        The attributes to read, None for all.
    """
    own = list(dict.fromkeys(c for t in runs if t.extra is not None for c in t.extra.columns))
    if groups is None and not (ordinal or bins or bias):
        return GivenGroups([], own, {"ordinal": {}, "bins": {}, "bias": ()})
    from lightmeter.io.groups import attribute_names, read_groups

    for name, option in (("ordinal", ordinal), ("bins", bins)):
        if option is not None and not isinstance(option, Mapping):
            raise LightmeterError(f"{name} is {option!r}. Accepted: a mapping from attributes to lists.")
    given = [] if groups is None else list(groups) if isinstance(groups, list | tuple) else [groups]
    given = [frame for g in given for frame in (group_frames(g) if isinstance(g, Mapping) else [g])]
    theirs = [n for g in given for n in attribute_names(g, columns=columns)]
    for name in [*(ordinal or {}), *(bins or {}), *bias]:
        if name not in theirs and name not in own:
            known = [*theirs, *own]
            raise LightmeterError(
                f"{name!r} is declared (ordinal, bins or bias), but there is no such attribute.{suggest(name, known)} "
                + (f"Known: {', '.join(known)}." if known else "Give its groups with --groups FILE.")
            )

    def split(option: Mapping[str, Any] | None, mine: bool) -> dict[str, Any]:
        return {k: v for k, v in (option or {}).items() if (k in theirs) != mine}

    declared = {
        "ordinal": split(ordinal, True),
        "bins": split(bins, True),
        "bias": tuple(b for b in bias if b not in theirs),
    }
    notes = [f"attribute {n!r}: the groups given are used, not the run's column" for n in theirs if n in own]
    only = None if wanted is None else [a for a in wanted if a in theirs or a not in own]
    tables: list[AttributeTable] = []
    if given and only != []:
        bias_of_theirs = [b for b in bias if b in theirs]
        tables = read_groups(
            given,
            columns=columns,
            bins=split(bins, False),
            ordinal=split(ordinal, False),
            bias=bias_of_theirs,
            only=only,
        )
    return GivenGroups(tables, list(dict.fromkeys([*theirs, *own])), declared, notes)


def check_targets(targets: pl.DataFrame | None, names: list[str]) -> None:
    """Refuse targets of attributes that are nowhere, where it is known which there are."""
    if targets is None or not names:
        return
    for name in targets["attribute"].unique(maintain_order=True):
        if name not in names:
            raise LightmeterError(
                f"the targets are of an attribute {name!r}, which is in no groups.{suggest(name, names)} "
                f"Known: {', '.join(names)}."
            )
