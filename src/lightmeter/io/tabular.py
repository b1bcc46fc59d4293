"""One reader for every table: CSV, TSV, JSON lines, Parquet, lines of fields and frames; and the telling of formats.

The way of a file: :func:`~lightmeter.io.sources.parts` finds the files that a path, folder or pattern names;
:func:`tell_format` tells by their content what they are; each format has one reader, which gives a
:class:`~lightmeter.io.tables.Table` of cells as they stand, each row with its line; :func:`read` then checks the
columns that a :class:`~lightmeter.io.forms.Form` describes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.delimited import check_names, header, read_delimited
from lightmeter.io.forms import Column, Columns, Form, check
from lightmeter.io.frames import is_frame, to_polars
from lightmeter.io.sources import Parts, add_counts, is_path, merge_sources, one_file, parts
from lightmeter.io.tables import Source, Table
from lightmeter.io.text import head_lines, read_bytes, read_fields, sysdesc_lines

Format = Literal["fields", "delimited", "jsonl", "parquet"]
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


FIELDS = (
    "query",
    "doc",
    "score",
    "rank",
    "sample",
    "run",
    "weight",
    "grade",
    "attribute",
    "value",
    "share",
    "exposure",
    "intent",
    "probability",
    "clicked",
)
"""The columns that have a meaning in some table."""


class ColumnMap(dict[str, str]):
    """Our names to the tables', which remembers which of them were there.

    Attributes
    ----------
    found
        Those of our names whose column was in some table.
    """

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.found: set[str] = set()

    def unused(self) -> dict[str, str]:
        """What no table that was read had."""
        return {ours: theirs for ours, theirs in self.items() if ours not in self.found}


def check_columns(columns: Columns | None) -> ColumnMap:
    """The mapping, when each of its keys is one of :data:`FIELDS`; reading with it then fills its ``found``."""
    if not isinstance(columns, Mapping | None):
        raise InputError(f"columns is {columns!r}", accepted="our names to the table's, such as {'query': 'qid'}")
    for ours, theirs in (columns or {}).items():
        if ours not in FIELDS:
            near = next(iter(difflib.get_close_matches(ours, FIELDS, n=1, cutoff=0.5)), None)
            turned = f"{theirs}={ours}" if theirs in FIELDS else None
            meant = f"{near}={theirs}" if near not in (None, theirs) else turned
            raise InputError(
                f"--columns {ours}={theirs}: {ours!r} is none of our columns",
                accepted=f"OURS=THEIRS, ours one of {', '.join(FIELDS)}",
                hint=None if meant is None else f"Did you mean {meant}?",
            )
        if not isinstance(theirs, str) or not theirs.strip():
            raise InputError(f"--columns {ours}= names no column", accepted=f"{ours}=COLUMN")
    return ColumnMap(columns or {})


def _note_columns(columns: Columns | None, frame: pl.DataFrame) -> None:
    if isinstance(columns, ColumnMap):
        columns.found.update(ours for ours, theirs in columns.items() if theirs in frame.columns)


def read(source: Any, form: Form, *, columns: Columns | None = None) -> Table:
    """The checked columns of a form, from a path (file, folder or pattern of part files) or a frame."""
    return check(read_table(source, form, columns=columns), form, columns)


def read_table(source: Any, form: Form, *, name: str | None = None, columns: Columns | None = None) -> Table:
    """All columns of a table as they stand, from a path (file, folder or pattern of part files) or a frame."""
    if is_path(source):
        found = parts(source, form.what) if form.folder else Parts((one_file(source, form.what),))
        return read_parts(name or str(source), found, form, columns)
    if not is_frame(source) and not hasattr(source, "__dataframe__"):
        raise InputError(
            f"the type {type(source).__name__} cannot be read",
            where=name,
            accepted="a path, a pandas or polars frame, an Arrow table, or a dictionary",
        )
    frame = to_polars(source, name or "frame")
    if not len(frame):
        raise InputError("the frame has no rows", where=name or "frame", accepted="at least one row")
    _note_columns(columns, frame)
    return Table(_empty_to_null(frame), Source(name or "frame"))


def headless(name: str, found: Parts, form: Form, columns: Columns | None = None) -> bool:
    """Whether the files are lines of fields without a header; all must be so, or none."""
    kinds = {bool(form.lines) and tell_format(file, form, columns)[0] == "fields" for file in found.files}
    if len(kinds) > 1:
        raise InputError("TREC files and tables are mixed", where=name, accepted="part files of one format")
    return kinds.pop()


def read_parts(name: str, found: Parts, form: Form, columns: Columns | None = None) -> Table:
    """The files of one source as one table."""
    if headless(name, found, form, columns):
        tables = [read_fields(file, form) for file in found.files]
    else:
        tables = [read_table_file(file, form, columns) for file in found.files]
    return join(name, tables, found.ignored)


def tell_format(path: str, form: Form, columns: Columns | None = None) -> tuple[Format, str]:
    """The format of a file and, for delimited ones, the separator: by content where that is certain, else by
    extension.
    """
    if read_bytes(path, 4) == b"PAR1":
        return "parquet", ""
    suffix = _suffix(path)
    if suffix == ".parquet":
        raise InputError(
            "the file is named .parquet but is not Parquet",
            where=path,
            accepted="a complete Parquet file",
            hint="Write it again, or correct its name",
        )
    lines = head_lines(path)
    lines = [line for line in lines[sysdesc_lines(lines) :] if line.strip(" \t\r")]
    if not lines:
        return "fields", ""
    first = lines[0].strip(" \t\r")
    if suffix in (".jsonl", ".ndjson", ".json") or first.startswith("{"):
        return "jsonl", ""
    fields = first.split()
    delimiter = _DELIMITERS.get(suffix, "")
    if not delimiter or delimiter not in first:
        delimiter = max((delimiter or "\t", "\t", ",", ";"), key=first.count)
    names = [cell.strip().strip('"') for cell in first.split(delimiter)]
    known = len({*form.header, *(columns or {}).values()}.intersection(names))
    if form.fits(fields) and known < 2:
        return "fields", ""
    if (
        (delimiter in first and known)
        or suffix in _DELIMITERS
        or (delimiter in first and len(fields) not in map(len, form.lines))
    ):
        return "delimited", delimiter
    return "fields", ""


def read_table_file(path: str, form: Form, columns: Columns | None = None) -> Table:
    """One file that is a table, not lines of fields without a header."""
    kind, delimiter = tell_format(path, form, columns)
    if kind == "parquet":
        table = _read_parquet(path)
    elif kind == "jsonl":
        from lightmeter.io.jsonl import read_jsonl

        table = read_jsonl(path, {name: (columns or {}).get(name, name) for name in form.ids})
    else:
        table = read_delimited(path, delimiter or ",")
    _note_columns(columns, table.frame)
    return table


def column_names(path: str, form: Form, columns: Columns | None = None) -> list[str]:
    """The columns of a file that is a table, without its rows where that is possible."""
    kind, delimiter = tell_format(path, form, columns)
    if kind == "delimited" or kind == "fields":
        names = [name for name in header(path, delimiter or ",") if name]
        check_names(names, path)
        return names
    if kind == "parquet":
        try:
            return [name for name in pl.read_parquet_schema(path) if name.strip()]
        except (pl.exceptions.PolarsError, OSError):
            pass  # the reader says what is wrong
    return read_table_file(path, form, columns).frame.columns


def join(name: str, tables: Sequence[Table], ignored: dict[str, int]) -> Table:
    """Put the tables of part files one after the other; they must have the same columns."""
    head = tables[0]
    for table in tables[1:]:
        if set(table.frame.columns) != set(head.frame.columns):
            column = sorted(set(table.frame.columns) ^ set(head.frame.columns))[0]
            raise InputError(
                f"the column {column!r} is not in all part files (compare {head.source.name})",
                where=table.source.name,
                accepted="the same columns in every part",
            )
    frames = _fit_lists([t.frame.select(head.frame.columns) for t in tables])
    try:
        frame = pl.concat(frames, how="vertical_relaxed", rechunk=False)
    except (pl.exceptions.SchemaError, pl.exceptions.InvalidOperationError) as error:
        raise InputError(
            f"the part files do not fit together ({str(error).splitlines()[0]})",
            where=name,
            accepted="the same types in every part",
        ) from None
    source = merge_sources(name, [t.source for t in tables], [len(t.frame) for t in tables])
    return Table(frame, source, add_counts(ignored, *(t.ignored for t in tables)), head.headless)


def _fit_lists(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Frames in which a column of lists in one has lists of one cell in the others."""
    lists = {c.name for f in frames for c in f if c.dtype == pl.List(pl.String)}
    if not lists or len(frames) == 1:
        return frames
    return [
        f.with_columns(
            pl.when(pl.col(c.name).is_not_null()).then(pl.concat_list(pl.col(c.name).cast(pl.String))).alias(c.name)
            for c in f
            if c.name in lists and (c.dtype == pl.String or c.dtype.is_integer())
        )
        for f in frames
    ]


def rest(table: Table, used: Sequence[str | None]) -> pl.DataFrame | None:
    """The columns that were not used, or None."""
    others = [c for c in table.frame.columns if c not in used]
    return table.frame.select(others) if others else None


def _read_parquet(path: str) -> Table:
    try:
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else "damaged"
        raise InputError(
            f"the Parquet file cannot be read ({first})",
            where=path,
            accepted="a complete Parquet file",
            hint="Write or copy the file again",
        ) from None
    if not len(frame):
        raise InputError("the table has no rows", where=path, accepted="at least one row")
    return Table(_empty_to_null(frame), Source(path, (path,)))


def _empty_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    """Empty text is a missing cell in frames too."""
    empty = [c.name for c in frame if c.dtype == pl.String and bool((c == "").any())]
    return frame.with_columns(pl.when(pl.col(n) != "").then(pl.col(n)).alias(n) for n in empty) if empty else frame


def _suffix(path: str) -> str:
    name = PurePath(path)
    return (
        PurePath(name.stem).suffix.lower()
        if name.suffix.lower() in (".gz", ".zst", ".zstd", ".gzip")
        else name.suffix.lower()
    )


def read_named(
    source: Any,
    ids: Sequence[str],
    number: str | None = None,
    text: Sequence[str] = (),
    *,
    columns: Columns | None = None,
    ignored: dict[str, int] | None = None,
) -> tuple[pl.DataFrame, Source]:
    """Read some columns of a table whose ids tell each row from all others: target exposures, labels of queries.

    Parameters
    ----------
    source
        A path or a frame.
    ids
        Columns of ids, never empty.
    number
        A column of numbers from 0 up, or None.
    text
        Columns of text that may be empty.
    columns
        Our names to the table's.
    ignored
        Filled with counts of what was passed over, rows that repeat another among them.

    Returns
    -------
    frame, source
        The columns by our names.
    """
    numbers = [] if number is None else [number]
    known = [
        *(Column(name) for name in ids),
        *(Column(name, "number", least=0.0) for name in numbers),
        *(Column(name, "text") for name in text),
    ]
    accepted = f"a table with the columns {', '.join(c.name for c in known)}"
    form = Form(accepted, tuple(known), keys=tuple(ids), values=(*numbers, *text))
    table = read(source, form, columns=columns)
    if ignored is not None:
        ignored.update(add_counts(ignored, table.ignored))
    return table.frame, table.source
