"""Runs: TREC files, tables, frames and dictionaries as :class:`RunTable`.

A TREC file whose fields are separated by exactly one space or one tab is read by Arrow (:func:`fast_run`): plain files
by themselves, while a census of the bytes proves that nothing was out of the ordinary; compressed files and those with
blank lines, carriage returns or letters beyond ASCII through a scan of their bytes. In any doubt the file is read line
by line (:func:`lightmeter.io.text.read_fields`), which gives the same rows or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Codes, Floats
from lightmeter.errors import InputError
from lightmeter.io.arrow import Reading, read_columns, start_reading
from lightmeter.io.columns import first, identifiers
from lightmeter.io.forms import Column, Columns, Form, check, find
from lightmeter.io.frames import dict_table
from lightmeter.io.id_column import IdColumn, as_series
from lightmeter.io.sources import add_counts, is_path, merge_sources, parts, split_name
from lightmeter.io.tables import RunTable, Source, Table
from lightmeter.io.tabular import headless, read_parts, read_table, rest
from lightmeter.io.text import (
    BOM,
    Odd,
    Scan,
    broken,
    head_lines,
    read_bytes,
    read_fields,
    read_lines,
    row_lines,
    sysdesc_lines,
)

if TYPE_CHECKING:
    import pyarrow as pa

RUN = Form(
    "TREC lines 'query Q0 doc rank score tag', or a table with query, doc, score or rank",
    (
        Column("query", hint="For a single list add a column query with one value"),
        Column("doc"),
        Column("score", "score", required=False),
        Column("rank", "rank", required=False),
        Column("sample", required=False),
        Column("weight", "number", required=False, least=0.0),
        Column("run", required=False),
    ),
    lines=(("query", "sample", "doc", None, "score", None), ("query", "sample", "doc", None, "score")),
    what="run",
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
        return _runs_of_table(read_table(source, RUN, name=name, columns=columns), name, columns)
    given, path = split_name(source)
    name = name or given
    found = parts(path, RUN.what)
    if headless(path, found, RUN, columns):
        return [_trec_run(name or path, path, found.files, found.ignored, reading)]
    return _runs_of_table(read_parts(path, found, RUN, columns), name, columns)


def _names_runs(source: Mapping[Any, Any]) -> bool:
    """Whether a dictionary maps names to runs rather than queries to documents."""
    if not source:
        raise InputError("the dictionary is empty", accepted="{query: {doc: score}} or {query: [doc, ..]}")
    one = next(iter(source.values()))
    if isinstance(one, Mapping):
        return bool(one) and isinstance(next(iter(one.values())), (Mapping, list, tuple))
    return not isinstance(one, (list, tuple))


# TREC files


@dataclass(frozen=True)
class TrecRows:
    """The columns of TREC run lines, queries and column 2 coded; what the fast and the exact reader both give."""

    queries: list[str]
    query: Codes
    seconds: list[str]
    second: Codes
    ids: pl.Series | IdColumn
    score: Floats
    source: Source
    ignored: dict[str, int]

    @property
    def doc(self) -> pl.Series:
        """The ids as a series."""
        return as_series(self.ids)


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
    table = check(read_fields(path, RUN), RUN.only("query", "sample", "doc", "score"))
    queries, query = codes(table.frame["query"])
    seconds, second = codes(table.frame["sample"])
    score = table.frame["score"].to_numpy()
    return TrecRows(queries, query, seconds, second, table.frame["doc"], score, table.source, table.ignored)


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


def fast_run(path: str, reading: Reading | None = None) -> TrecRows | None:
    """Read a clean TREC run with Arrow, or return None when it is not clean.

    Parameters
    ----------
    path
        The file.
    reading
        Where it is being read already.
    """
    reading = reading or start_reading(path)
    if reading is not None:
        rows = _rows(path, [reading.take()], constant=reading.second)
        if rows is not None and reading.proven(len(rows.score)):
            return rows
    head = head_lines(path)
    skip = sysdesc_lines(head)
    line = next((line.rstrip("\r") for line in head[skip:] if line.strip(" \t\r")), "")
    delimiter, other = (b"\t", b" ") if "\t" in line else (b" ", b"\t")
    fields = len(line.split(delimiter.decode()))
    if fields not in (5, 6) or any("\ufffd" in line for line in head[:skip]):
        return None
    mark = len(BOM) if read_bytes(path, 3).startswith(BOM) else 0
    scan = Scan(path, mark + sum(len(line.encode()) + 1 for line in head[:skip]), (other, 2 * delimiter))
    return _rows(path, [_scanned(path, scan, delimiter.decode(), fields)], skip, scan)


def _scanned(path: str, scan: Scan, delimiter: str, fields: int) -> pa.Table | None:
    """What Arrow reads through a scan; None as soon as a byte is out of the ordinary."""
    import pyarrow as pa

    try:
        return read_columns(pa.PythonFile(scan, mode="r"), delimiter, fields)
    except Odd:
        return None
    except OSError as error:
        raise broken(path, error) from None
    finally:
        scan.close()


def _rows(
    path: str, read: list[pa.Table | None], skip: int = 0, scan: Scan | None = None, constant: str = ""
) -> TrecRows | None:
    """The rows of a table, which is taken out of the list, so that it can be freed piece by piece."""
    table = read.pop()
    if table is None:
        return None
    table = table.unify_dictionaries()
    rows = table.num_rows
    queries, query = _codes(table.column("query"))
    seconds, second = _codes(table.column("second"), constant)
    score = _joined(table.column("score"), np.float64)
    docs = IdColumn(table.column("doc"))
    del table
    _release()
    # two separators in a row are refused before, so only the first and the last field can be empty
    if not rows or "" in queries or not np.isfinite([score.min(), score.max()]).all():
        return None
    ignored = {"SYSDESC lines": skip, "blank lines": 0 if scan is None else scan.lines - rows}
    source = Source(path, (path,), lambda row: (path, int(row_lines(read_lines(path), skip)[row])))
    return TrecRows(queries, query, seconds, second, docs, score, source, add_counts(ignored))


Scalar = TypeVar("Scalar", np.int32, np.float64)


def _codes(column: pa.ChunkedArray, constant: str = "") -> tuple[list[str], Codes]:
    """Distinct values and codes of a coded column; ``constant`` is the value of one that is not coded."""
    if not hasattr(column.type, "value_type"):
        return [constant], np.zeros(len(column), np.int32)
    names: list[str] = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    if len(names) == 1:
        return names, np.zeros(len(column), np.int32)
    return names, _joined(column, np.int32)


def _joined(column: pa.ChunkedArray, dtype: type[Scalar]) -> NDArray[Scalar]:
    """The numbers (or dictionary codes) of a column without nulls, copied once; Arrow's own conversion would load
    pandas.
    """
    whole = np.empty(len(column), dtype)
    at = 0
    for chunk in column.chunks:
        values = getattr(chunk, "indices", chunk)
        data = np.frombuffer(values.buffers()[1], dtype)
        whole[at : at + len(values)] = data[values.offset : values.offset + len(values)]
        at += len(values)
    return whole


def _release() -> None:
    """Give memory that Arrow no longer needs back to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


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
        runs.append(
            _run_of_table(
                Table(table.frame[rows], table.source.rows(rows), table.ignored if i == 0 else {}),
                label,
                columns,
                column,
            )
        )
    return runs


def _shared_ranks(query: Codes, queries: list[str], sample: pl.Series | None, score: Floats) -> tuple[str, ...]:
    """A note where documents of one ranking have one rank; the scores are the ranks with the sign turned."""
    begins = query[1:] != query[:-1]
    if begins.sum() == len(queries) - 1 and (begins | (score[1:] < score[:-1])).all():
        return ()  # one ranking after the other, each in order: nothing to look for
    rows = pl.DataFrame({"query": query, "rank": score}).with_columns(*([] if sample is None else [sample]))
    if rows.n_unique() == len(rows):
        return ()
    shared = rows.is_duplicated()
    row = first(shared) or 0
    return (
        f"{shared.sum()} documents have the rank of another, such as rank {-score[row]:g} of query "
        f"{queries[query[row]]!r}: taken as equal scores",
    )


def _run_of_table(table: Table, name: str, columns: Columns | None, run_column: str | None = None) -> RunTable:
    names = {c.name: find(table, c.name, columns) for c in RUN.columns}
    if names["query"] == names["doc"] is not None:
        raise InputError(
            "one column is named for both query and doc",
            where=table.source.name,
            column=names["doc"],
            accepted=RUN.accepted,
        )
    by_rank = names["score"] is None and names["rank"] is not None
    wanted = ["query", "doc", "rank" if by_rank else "score"]
    notes: tuple[str, ...] = ()
    if names["sample"] is not None:
        wanted += ["sample"] if names["weight"] is None else ["sample", "weight"]
    elif names["weight"] is not None:
        why = "weights are of samples, and there is no column sample"
        notes = (f"column {names['weight']!r} is not used: {why}",)
    frame = check(table, RUN.only(*wanted), columns).frame
    queries, query = codes(frame["query"])
    score = -frame["rank"].to_numpy() + 0.0 if by_rank else frame["score"].to_numpy()
    sample = frame["sample"] if "sample" in wanted else None
    weight = frame["weight"].to_numpy() if "weight" in wanted else None
    if by_rank:
        notes += _shared_ranks(query, queries, sample, score)
    extra = rest(table, [*(names[n] for n in wanted), run_column])
    return RunTable(
        name, table.source, queries, query, frame["doc"], score, by_rank, sample, weight, extra, table.ignored, notes
    )
