"""The collection: runs, judgments, memberships and targets as immutable, integer-coded columns.

Rows of a run stay in file order with their document ids; what is known about documents (grades, memberships) lives in
tables of unique
documents, and rows point into them. Nothing is ever dense over [rows, values].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.errors import InputError, LightmeterError, suggest
from lightmeter.ids import IdIndex, first_repeat, hash_ids
from lightmeter.io.tables import AttributeTable, IntentTable, JudgmentTable, Kind, RunTable, Source

Array = NDArray[np.float64]
T = TypeVar("T")


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """The array, no longer writable."""
    array.flags.writeable = False
    return array


class Judgments:
    """Judged (query, doc) pairs, grouped by query.

    Attributes
    ----------
    query, doc, grade
        One row a pair; the grade as judged, may be negative.
    offsets
        Rows of query q: ``offsets[q]`` to ``offsets[q + 1]``.
    descending
        Gains max(grade, 0) of the same rows, sorted from high to low within each query.
    """

    def __init__(self, table: JudgmentTable, vocabulary: list[str]) -> None:
        self.source = table.source
        code = _codes(table.frame["query"], vocabulary)
        order = np.argsort(code, kind="stable")
        self.query = freeze(code[order])
        self.doc = table.frame["doc"].gather(order)
        self.grade: Array = freeze(table.frame["grade"].to_numpy()[order].astype(np.float64))
        self.offsets = freeze(np.searchsorted(self.query, np.arange(len(vocabulary) + 1)).astype(np.int64))
        self.gain: Array = freeze(np.maximum(self.grade, 0.0))
        self.descending: Array = freeze(self.gain[np.lexsort((-self.gain, self.query))])
        self.index = IdIndex(self.doc, self.query)

    @cached_property
    def max_grade(self) -> float:
        """The highest grade of all."""
        return float(self.gain.max(initial=0.0))

    @cached_property
    def judged(self) -> NDArray[np.int64]:
        """Number of judged documents a query."""
        return np.diff(self.offsets)

    def relevant(self, rel: float) -> NDArray[np.int64]:
        """Number of documents a query with a grade of at least ``rel``."""
        return np.bincount(self.query[self.grade >= rel], minlength=len(self.offsets) - 1)


@dataclass(frozen=True)
class Attribute:
    """Memberships of one attribute, one entry a unique document (or query and document).

    Entry e of a hard attribute has the value ``codes[e]``; otherwise its values are ``codes[indptr[e]:indptr[e+1]]``
    with the
    ``weights`` there (soft: shares; multi: ones).
    """

    name: str
    values: tuple[str, ...]
    kind: Kind
    ordinal: bool
    index: IdIndex
    codes: NDArray[np.int32]
    indptr: NDArray[np.int64] | None = None
    weights: Array | None = None
    by_query: bool = False

    @classmethod
    def build(cls, table: AttributeTable, vocabulary: list[str]) -> Attribute:
        """Unique entries from the long table of a reader."""
        frame = table.frame
        by_query = "query" in frame.columns
        query: NDArray[np.int32] | None = None
        keys = ["doc"]
        if by_query:
            known = set(vocabulary)
            frame = frame.filter(pl.col("query").is_in(list(known)))
            frame = frame.with_columns(_q=pl.Series(_codes(frame["query"], vocabulary)))
            keys = ["_q", "doc"]
        frame = frame.with_columns(
            _e=pl.struct(keys).rank("dense").cast(pl.Int64) - 1 if len(frame) else pl.lit(0)
        ).sort("_e", "value", maintain_order=True)
        entries = frame.unique("_e", keep="first", maintain_order=True)
        if by_query:
            query = entries["_q"].to_numpy().astype(np.int32)
        index = IdIndex(entries["doc"].rechunk(), query)
        codes = freeze(frame["value"].to_numpy().astype(np.int32))
        if table.kind == "hard":
            return cls(table.name, table.values, "hard", table.ordinal, index, codes, by_query=by_query)
        counts = (
            np.bincount(frame["_e"].to_numpy(), minlength=len(entries)) if len(frame) else np.zeros(0, dtype=np.int64)
        )
        indptr = freeze(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
        weights = freeze(frame["weight"].to_numpy().astype(np.float64))
        return cls(table.name, table.values, table.kind, table.ordinal, index, codes, indptr, weights, by_query)

    def pairs(self, entries: NDArray[np.integer], *, split: bool) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """Memberships of some entries in long form.

        Parameters
        ----------
        entries
            Entry numbers; -1 (unknown) gives nothing.
        split
            Whether a multi-valued entry is split equally over its values; otherwise it counts fully in each.

        Returns
        -------
        position, value, weight
            ``position`` indexes ``entries``.
        """
        known = np.flatnonzero(entries >= 0)
        entry = entries[known]
        if self.indptr is None or self.weights is None:
            return known, self.codes[entry], np.ones(len(known))
        start, count = self.indptr[entry], self.indptr[entry + 1] - self.indptr[entry]
        position = np.repeat(known, count)
        within = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
        at = np.repeat(start, count) + within
        weight = self.weights[at]
        if split and self.kind == "multi":
            weight = weight / np.repeat(count, count)
        return position, self.codes[at], weight


class Run:
    """The rankings of one run; rows grouped by ranking (query, or query and sample), in file order within it.

    Attributes
    ----------
    doc, score
        One row each.
    query
        Code of each ranking's query; rankings of one query are neighbours.
    offsets
        Rows of ranking r: ``offsets[r]`` to ``offsets[r + 1]``.
    sample, weight
        Label and weight of each ranking, None where no query has several.
    extra
        The other columns of a table, row by row, or None.
    """

    def __init__(self, table: RunTable, vocabulary: dict[str, int]) -> None:
        self.name, self.source, self.by_rank = table.name, table.source, table.by_rank
        self.ignored, self.notes = table.ignored, table.notes
        local = np.array([vocabulary[q] for q in table.queries], dtype=np.int32)
        query, sample = table.query, None
        code = query.astype(np.int64)
        if table.sample is not None:
            sample = table.sample.rank("dense").to_numpy().astype(np.int64) - 1
            code = code * (int(sample.max(initial=0)) + 1) + sample
        starts = _changes(code)
        #: file row of each row here, or None where they are the same
        self.file_row: NDArray[np.int64] | None = None
        doc, score = table.doc, table.score
        if len(np.unique(code[starts])) != len(starts) or (
            sample is not None and len(np.unique(query[starts])) != len(_changes(query))
        ):
            order = np.argsort(code, kind="stable")
            self.file_row = freeze(order)
            doc, score, code, query = doc.gather(order), score[order], code[order], query[order]
            starts = _changes(code)
        self.doc, self.score = doc, freeze(score)
        self.offsets = freeze(np.append(starts, len(code)).astype(np.int64))
        self.query = freeze(local[query[starts]])
        self.sample = self.weight = None
        if table.sample is not None:
            self.sample = self._in_order(table.sample).gather(starts)
            self.weight = self._ranking_weights(table)
        self.extra = table.extra
        if table.extra is not None and self.file_row is not None:
            self.extra = table.extra[self.file_row]
        self._cache: dict[Any, Any] = {}
        self._hashes = hash_ids(self.doc)
        self._refuse_repeats()

    def __len__(self) -> int:
        return len(self.doc)

    def _in_order(self, column: pl.Series) -> pl.Series:
        return column if self.file_row is None else column.gather(self.file_row)

    def _ranking_weights(self, table: RunTable) -> Array | None:
        if table.weight is None:
            return None
        weight = table.weight if self.file_row is None else table.weight[self.file_row]
        first = weight[self.offsets[:-1]]
        differs = np.flatnonzero(weight != first[self.ranking_of_row])
        if len(differs):
            row = int(differs[0])
            raise InputError(
                f"weight {weight[row]:g} in a ranking whose first row has {first[self.ranking_of_row[row]]:g}",
                accepted="one weight a ranking (query and sample)",
                **self.place(row),
            )
        if (weight < 0).any():
            row = int(np.flatnonzero(weight < 0)[0])
            raise InputError(f"weight {weight[row]:g}", accepted="weights of 0 or more", **self.place(row))
        return freeze(first)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of documents of each ranking."""
        return np.diff(self.offsets)

    @cached_property
    def ranking_of_row(self) -> NDArray[np.int32]:
        """The ranking of each row."""
        return np.repeat(np.arange(len(self.query), dtype=np.int32), self.lengths)

    @property
    def query_of_row(self) -> NDArray[np.int32]:
        """The query code of each row."""
        return np.repeat(self.query, self.lengths)

    def place(self, row: int) -> Any:
        """Where a row stands in its file, for messages."""
        return self.source.place(row if self.file_row is None else int(self.file_row[row]))

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed at the first call with this key: what later evaluations find "
        "prepared."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def find(self, index: IdIndex) -> NDArray[np.int32]:
        """The entry of an index for each row, -1 where there is none."""
        group = self.query_of_row if index.group is not None else None
        return index.find(self.doc, group, self._hashes)

    def _refuse_repeats(self) -> None:
        pair = first_repeat(self.doc, self.ranking_of_row, self.offsets, self._hashes)
        if pair is not None:
            first, again = pair
            earlier = self.place(first)
            at = f"line {earlier['line']}" if "line" in earlier else f"row {earlier['row']}"
            raise InputError(
                f"document {self.doc[again]!r} stands twice in one ranking (first in {at})",
                accepted="each document once a ranking; several rankings of a query need a sample id each",
                hint="Remove one of the two, or give the rankings sample ids (column 2)",
                **self.place(again),
            )


@dataclass(frozen=True)
class Collection:
    """Everything that is evaluated together; made by :func:`lightmeter.load`.

    Attributes
    ----------
    queries
        Query ids; all codes index this list.
    runs
        By name, in the order given.
    judgments
        None where there are none.
    attributes
        By name.
    targets
        Given target distributions, a frame ``attribute, value, share, query``, or None.
    segments
        A label of each query, or None.
    query_weight
        How much each query counts in means, or None for all alike.
    """

    queries: list[str]
    runs: dict[str, Run]
    judgments: Judgments | None = None
    attributes: dict[str, Attribute] = field(default_factory=dict)
    targets: pl.DataFrame | None = None
    intents: IntentTable | None = None
    segments: list[str | None] | None = None
    query_weight: Array | None = None
    inputs: tuple[Source, ...] = ()
    ignored: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    columns_of_runs: tuple[RunTable, ...] = ()
    declared: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def evaluated(self) -> NDArray[np.int64]:
        """Codes of the queries that count: those judged, or without judgments those any run answers (and in the
        sequence, if any).
        """
        if self.judgments is not None:
            keep = self.judgments.judged > 0
        else:
            keep = np.zeros(len(self.queries), dtype=bool)
            for run in self.runs.values():
                keep[run.query] = True
        if self.query_weight is not None:
            keep &= self.query_weight > 0
        return np.flatnonzero(keep)

    def attribute(self, name: str) -> Attribute:
        """An attribute by name.

        Raises
        ------
        LightmeterError
            Where there is none of that name.
        """
        if name not in self.attributes and any(
            name in t.extra.columns for t in self.columns_of_runs if t.extra is not None
        ):
            self.attributes[name] = self._from_columns(name)
        if name in self.attributes:
            return self.attributes[name]
        known = list(self.attributes) + [
            c for t in self.columns_of_runs if t.extra is not None for c in t.extra.columns
        ]
        if not known:
            raise LightmeterError(
                f"the attribute {name!r} needs group memberships. Give them with --groups FILE (in Python: groups=)."
            )
        raise LightmeterError(
            f"there is no attribute {name!r}.{suggest(name, known)} Known: {', '.join(dict.fromkeys(known))}."
        )

    def _from_columns(self, name: str) -> Attribute:
        """An attribute that is a column of the runs' own tables, made when it is first asked for."""
        from lightmeter.io.from_columns import attributes_from_columns

        options = {k: {n: v for n, v in self.declared.get(k, {}).items() if n == name} for k in ("ordinal", "bins")}
        bias = [n for n in self.declared.get("bias", ()) if n == name]
        made = [
            attributes_from_columns(t, [name], bins=options["bins"], ordinal=options["ordinal"], bias=bias)[0]
            for t in self.columns_of_runs
            if t.extra is not None and name in t.extra.columns
        ]
        return Attribute.build(merge_attributes(made), self.queries)


def merge_attributes(tables: list[AttributeTable]) -> AttributeTable:
    """One attribute out of the tables of several runs.

    Raises
    ------
    InputError
        Where two runs give a document different values.
    """
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    values = list(first.values) if first.ordinal else sorted({v for t in tables for v in t.values})
    values += [v for t in tables for v in t.values if v not in values]
    keys = ["doc"] + (["query"] if any("query" in t.frame.columns for t in tables) else [])
    if len({tuple(sorted(t.frame.columns)) for t in tables}) > 1:
        raise InputError(
            f"the attribute {first.name!r} depends on the query in one run's table and not in another's",
            where=first.source.name,
            column=first.name,
            accepted="one value a document",
            hint="Give the groups in a file of their own with --groups",
        )
    code = {v: i for i, v in enumerate(values)}
    frames = [
        t.frame.with_columns(
            value=pl.col("value").replace_strict(
                range(len(t.values)), [code[v] for v in t.values], return_dtype=pl.Int32
            )
        )
        for t in tables
    ]
    frame = pl.concat(frames, how="diagonal").unique(maintain_order=True)
    several = frame.group_by([*keys, "value"]).len().filter(pl.col("len") > 1)
    if len(several) or (first.kind == "hard" and frame.select(pl.struct(keys).is_duplicated().any()).item()):
        raise InputError(
            f"two runs' tables give a document different values of {first.name!r}",
            where=first.source.name,
            column=first.name,
            accepted="one value a document",
            hint="Give the groups in a file of their own with --groups",
        )
    kind: Kind = "hard" if all(t.kind == "hard" for t in tables) else "multi"
    return AttributeTable(first.name, first.source, tuple(values), kind, first.ordinal, frame)


def _codes(column: pl.Series, vocabulary: list[str]) -> NDArray[np.int32]:
    """Index of each string in the vocabulary, which must hold it."""
    lookup = pl.DataFrame(
        {"id": vocabulary, "code": np.arange(len(vocabulary), dtype=np.int32)},
        schema={"id": pl.String, "code": pl.Int32},
    )
    return (
        pl.DataFrame({"id": column})
        .join(lookup, on="id", how="left", maintain_order="left")["code"]
        .to_numpy()
        .astype(np.int32)
    )


def _changes(code: NDArray[np.integer]) -> NDArray[np.int64]:
    """Rows at which a new value starts."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1]).astype(np.int64)


def vocabulary_of(runs: Sequence[RunTable], judgments: JudgmentTable | None) -> list[str]:
    """Query ids in order of first appearance, runs before judgments."""
    seen: dict[str, int] = {}
    for run in runs:
        for q in run.queries:
            seen.setdefault(q, len(seen))
    if judgments is not None:
        for q in judgments.frame["query"].unique(maintain_order=True):
            seen.setdefault(q, len(seen))
    return list(seen)
