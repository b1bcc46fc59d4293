"""Runs: TREC files, tables, frames and dictionaries as :class:`RunTable`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.errors import InputError
from lightmeter.io.arrow import Reading
from lightmeter.io.checks import fault, first, identifiers, numbers
from lightmeter.io.dictionaries import dict_table
from lightmeter.io.fast import fast_run
from lightmeter.io.sources import add_counts, is_path, merge_sources, parts, split_name
from lightmeter.io.tables import RunTable, Source
from lightmeter.io.tabular import (
    DECIMAL,
    Columns,
    Shape,
    Table,
    find,
    join,
    need,
    read_table,
    read_table_file,
    rest,
    tell_format,
)
from lightmeter.io.trec import TrecRows, exact_fields

RUN_FILE = "TREC lines 'query Q0 doc rank score tag', or a table with query, doc, score or rank"
RUN_SHAPE = Shape(
    ("query", "doc", "score", "rank"),
    (5, 6),
    re.compile(rf"{DECIMAL.pattern}|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE),
    4,
    ("query", "doc", "sample", "run"),
)


def read_run(source: Any, *, name: str | None = None, columns: Columns | None = None) -> RunTable:
    """Read one run.

    Parameters
    ----------
    source
        A path, ``NAME=PATH``, a folder or pattern of part files (one run), a pandas, polars or Arrow frame, or a
        dictionary ``{query: {doc: score}}`` or ``{query: [doc, doc, ..]}`` (best first).
    name
        The run's name; otherwise ``NAME``, the value of a ``run`` column, or the path as given.
    columns
        Our names to the table's: ``{"query": "qid", "doc": "item", "score": "p"}``. Names a table does not have are
        passed over (runs and judgments may share one mapping). TREC files have no column names.

    Returns
    -------
    RunTable
        Rows in file order. In a TREC file the score decides and the rank column is not read.

    Raises
    ------
    InputError
        Something cannot be used: the message names the file and line, or the row and column.
    """
    runs = read_runs(source, name=name, columns=columns)
    if len(runs) > 1:
        names = ", ".join(repr(r.name) for r in runs[:5])
        raise InputError(
            f"{len(runs)} runs in one table ({names}{', ..' if len(runs) > 5 else ''})",
            where=runs[0].source.name,
            column="run",
            accepted="one run",
            hint="Read them with read_runs",
        )
    return runs[0]


def read_runs(
    source: Any, *, name: str | None = None, columns: Columns | None = None, reading: Reading | None = None
) -> list[RunTable]:
    """Read one or several runs: as :func:`read_run`, also a table whose ``run`` column has several values, or
    ``{name: source}``.

    Parameters
    ----------
    source
        What :func:`read_run` takes, or a dictionary from names to such sources.
    name, columns
        As for :func:`read_run`.
    reading
        Where one of its files is being read already.

    Returns
    -------
    list of RunTable
        In order of first appearance.
    """
    if isinstance(source, RunTable):
        return [source]
    if isinstance(source, Mapping):
        if _names_runs(source):
            return [run for key, one in source.items() for run in read_runs(one, name=str(key), columns=columns)]
        return [_run_of_table(dict_table(source, name or "dictionary"), name or "dictionary", columns)]
    if not is_path(source):
        return _runs_of_table(read_table(source, RUN_SHAPE, name=name, columns=columns), name, columns)
    given, path = split_name(source)
    name = name or given
    found = parts(path, "run")
    formats = {tell_format(file, RUN_SHAPE, columns)[0] == "fields" for file in found.files}
    if len(formats) > 1:
        raise InputError("TREC files and tables are mixed", where=path, accepted="part files of one format")
    if formats.pop():
        return [_trec_run(name or path, path, found.files, found.ignored, reading)]
    tables = [read_table_file(file, RUN_SHAPE, columns) for file in found.files]
    return _runs_of_table(join(path, tables, found.ignored), name, columns)


def _names_runs(source: Mapping[Any, Any]) -> bool:
    """Whether a dictionary maps names to runs rather than queries to documents."""
    if not source:
        raise InputError("the dictionary is empty", accepted="{query: {doc: score}} or {query: [doc, ..]}")
    one = next(iter(source.values()))
    if isinstance(one, Mapping):
        return bool(one) and isinstance(next(iter(one.values())), (Mapping, list, tuple))
    return not isinstance(one, (list, tuple))


# TREC files


def _trec_run(
    name: str, path: str, files: tuple[str, ...], ignored: dict[str, int], reading: Reading | None
) -> RunTable:
    pieces = [trec_file(file, reading if reading and reading.path == file else None) for file in files]
    if len(pieces) == 1:
        whole = pieces[0]
    else:
        whole = _concatenate(path, pieces)
    sample, notes = _samples(whole)
    return RunTable(
        name,
        whole.source,
        whole.queries,
        whole.query,
        whole.ids,
        whole.score,
        sample=sample,
        ignored=add_counts(ignored, whole.ignored),
        notes=notes,
    )


def trec_file(path: str, reading: Reading | None = None, *, exact: bool = False) -> TrecRows:
    """Read one TREC run file, by the fast path where the file is clean (``exact``: never)."""
    fast = None if exact else fast_run(path, reading)
    if fast is not None:
        return fast
    rows = exact_fields(path, 5, 6, RUN_FILE, passed=(3, 5))
    queries, query = codes(rows.frame["f0"])
    seconds, second = codes(rows.frame["f1"])
    score = numbers(rows.frame["f4"], "score", rows.source, named=False).to_numpy()
    return TrecRows(queries, query, seconds, second, rows.frame["f2"].rename("doc"), score, rows.source, rows.ignored)


def codes(column: pl.Series) -> tuple[list[str], Codes]:
    """Distinct values in order of first appearance, and the position of each row's value among them."""
    names = column.unique(maintain_order=True)
    table = pl.DataFrame({"name": names, "code": np.arange(len(names), dtype=np.int32)})
    joined = pl.DataFrame({"name": column}).join(table, on="name", how="left", maintain_order="left")
    return names.to_list(), joined["code"].to_numpy()


def _concatenate(path: str, pieces: list[TrecRows]) -> TrecRows:
    def recode(lists: list[list[str]], arrays: list[Codes]) -> tuple[list[str], Codes]:
        order = {value: i for i, value in enumerate(dict.fromkeys(v for values in lists for v in values))}
        maps = [np.array([order[v] for v in values], dtype=np.int32) for values in lists]
        return list(order), np.concatenate([m[a] for m, a in zip(maps, arrays, strict=True)])

    queries, query = recode([p.queries for p in pieces], [p.query for p in pieces])
    seconds, second = recode([p.seconds for p in pieces], [p.second for p in pieces])
    doc = pl.concat([p.doc for p in pieces], rechunk=False)
    score = np.concatenate([p.score for p in pieces])
    source = merge_sources(path, [p.source for p in pieces], [len(p.score) for p in pieces])
    return TrecRows(queries, query, seconds, second, doc, score, source, add_counts(*(p.ignored for p in pieces)))


def _samples(rows: TrecRows) -> tuple[pl.Series | None, tuple[str, ...]]:
    """Column 2 as sample ids when some query has several of them."""
    if len(rows.seconds) < 2:
        return None, ()
    pair = rows.query.astype(np.int64) * len(rows.seconds) + rows.second
    distinct = pl.Series(pair).n_unique()
    if distinct == len(rows.queries):
        return None, ()
    sample = pl.Series("sample", rows.seconds, dtype=pl.String).gather(rows.second)
    most = len(rows.seconds)
    queries = f"{len(rows.queries)} quer{'y' if len(rows.queries) == 1 else 'ies'}"
    note = f"column 2 read as sample ids: {most} samples for {queries}"
    return sample, (note,)


# tables


def _runs_of_table(table: Table, name: str | None, columns: Columns | None) -> list[RunTable]:
    column = find(table, "run", columns)
    if column is None:
        return [_run_of_table(table, name or table.source.name, columns)]
    labels = identifiers(table.frame[column], "run", table.source)
    names, code = codes(labels)
    if len(names) == 1:
        return [_run_of_table(table, name or names[0], columns, column)]
    if name is not None:
        shown = ", ".join(map(repr, names[:5])) + (", .." if len(names) > 5 else "")
        raise InputError(
            f"the table has {len(names)} runs ({shown}), and the name {name!r} can only be one run's",
            where=table.source.name,
            column=column,
            accepted="a name for a table of one run; several have the names in their column",
            hint=f"Leave out {name}=",
        )
    runs = []
    for i, label in enumerate(names):
        rows = np.flatnonzero(code == i)
        whole = table.source
        runs.append(
            _run_of_table(
                Table(table.frame[rows], _subset(whole, rows), table.ignored if i == 0 else {}), label, columns, column
            )
        )
    return runs


def _ranks(column: pl.Series, source: Source) -> Floats:
    """Ranks of a table, from 0 or 1 up."""
    ranks = numbers(column, "rank", source, least=0.0, truth=False)
    if (row := first(ranks != ranks.round())) is not None:
        raise fault(
            f"the rank {column[row]} is not a whole number",
            source,
            row,
            column=column.name,
            accepted="whole numbers from 0 or 1 up",
        )
    return ranks.to_numpy()


def _shared_ranks(query: Codes, queries: list[str], sample: pl.Series | None, score: Floats) -> tuple[str, ...]:
    """A note where documents of one ranking have one rank; the scores are the ranks with the sign turned."""
    begins = query[1:] != query[:-1]
    if begins.sum() == len(queries) - 1 and (begins | (score[1:] < score[:-1])).all():
        return ()  # one ranking after the other, each in order: nothing to look for
    rows = pl.DataFrame({"query": query, "rank": score}).with_columns(*([] if sample is None else [sample]))
    if rows.n_unique() == len(rows):
        return ()
    shared = rows.is_duplicated()
    at = first(shared) or 0
    return (
        f"{shared.sum()} documents have the rank of another, such as rank {-score[at]:g} of query "
        f"{queries[query[at]]!r}: taken as equal scores",
    )


def _subset(source: Source, rows: Integers) -> Source:
    whole = source.line_of
    if whole is None:
        return source
    return Source(source.name, source.files, lambda row: whole(int(rows[row])))


def _run_of_table(table: Table, name: str, columns: Columns | None, run_column: str | None = None) -> RunTable:
    frame, source = table.frame, table.source
    single = "For a single list add a column query with one value"
    query_name = need(table, "query", columns, RUN_FILE, single)
    doc_name = need(table, "doc", columns, RUN_FILE)
    if query_name == doc_name:
        raise InputError(
            "one column is named for both query and doc", where=source.name, column=doc_name, accepted=RUN_FILE
        )
    score_name, rank_name = find(table, "score", columns), find(table, "rank", columns)
    sample_name, weight_name = find(table, "sample", columns), find(table, "weight", columns)
    by_rank = score_name is None
    if by_rank:
        if rank_name is None:
            need(table, "score", columns, RUN_FILE)
        score = -_ranks(frame[str(rank_name)], source) + 0.0
    else:
        score = numbers(frame[str(score_name)], "score", source, truth=False).to_numpy()
    queries, query = codes(identifiers(frame[query_name], "query", source))
    doc = identifiers(frame[doc_name], "document", source).rename("doc")
    sample = identifiers(frame[sample_name], "sample", source).rename("sample") if sample_name else None
    weight = None
    notes = _shared_ranks(query, queries, sample, score) if by_rank else ()
    if weight_name and sample is not None:
        weight = numbers(frame[weight_name], "weight", source, least=0.0).to_numpy()
    elif weight_name:
        why = "weights are of samples, and there is no column sample"
        notes = (f"column {weight_name!r} is not used: {why}", *notes)
        weight_name = None
    used = (query_name, doc_name, score_name, rank_name if by_rank else None, sample_name, weight_name, run_column)
    return RunTable(
        name, source, queries, query, doc, score, by_rank, sample, weight, rest(table, used), table.ignored, notes
    )
