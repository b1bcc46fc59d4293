"""Writing runs of one or several rankings per query: TREC's six columns, or tables with a weight column.

In six columns the second is the sample, and the score is one that gives the ranks. They have no place for weights,
which need a table ``run, query, doc, rank, sample, weight``. The name says which: ``.csv``, ``.tsv``, ``.jsonl``,
``.parquet`` are tables, other names TREC; ``.gz`` and ``.zst`` are compressed.
"""

from __future__ import annotations

import io
import os
from contextlib import ExitStack
from pathlib import PurePath
from typing import Any, BinaryIO

import polars as pl

from lightmeter.errors import InputError, LightmeterError
from lightmeter.io.columns import identifiers, numbers
from lightmeter.io.files import check_writable, whole_file
from lightmeter.io.frames import to_polars
from lightmeter.io.tables import Source

_ROWS = 1 << 18
_TABLES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_CODECS = {".gz": "gzip", ".zst": "zstd"}
_COLUMNS = ("run", "query", "doc", "rank", "sample", "weight")


def write_run(rankings: Any, path: str | os.PathLike[str]) -> None:
    """Write rankings as a run that ``lightmeter evaluate`` and :func:`lightmeter.load` read back.

    Parameters
    ----------
    rankings
        A frame ``query, doc, rank[, sample, weight, run]``, such as from :func:`lightmeter.sample` or
        :func:`lightmeter.decompose`; other columns are left out.
    path
        ``.csv``, ``.tsv``, ``.jsonl`` and ``.parquet`` give tables, other names TREC's six columns with the sample in
        the second; ``.gz`` or ``.zst`` after that compresses. The file is there whole or not at all.

    Raises
    ------
    LightmeterError
        Where six columns cannot hold it (weights, several runs, ids with blanks), or the file cannot be written.

    Examples
    --------
    >>> import lightmeter as lm, pathlib, tempfile
    >>> run = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 2]})
    >>> path = f"{tempfile.mkdtemp()}/run.txt"
    >>> lm.write_run(run, path)
    >>> print(pathlib.Path(path).read_text(), end="")
    q Q0 a 1 2 lightmeter
    q Q0 b 2 1 lightmeter
    """
    if not isinstance(path, str | os.PathLike):
        raise LightmeterError(f"path is {path!r}. Accepted: the name of a file, such as 'sampled.run'.")
    name = os.fspath(path)
    frame = _checked(rankings)
    form, codec = run_format(name)
    if form == "trec":
        check_trec(frame, name)
    check_writable(name, "write_run")
    with whole_file(name) as file:
        write_rankings(frame, file, form, codec)


def run_format(path: str) -> tuple[str, str | None]:
    """Format and compression of a run by its name.

    Examples
    --------
    >>> run_format("run.txt"), run_format("run.csv.gz")
    (('trec', None), ('csv', 'gzip'))
    """
    suffixes = [s.lower() for s in PurePath(path).suffixes]
    codec = _CODECS.get(suffixes[-1]) if suffixes else None
    if codec is not None:
        suffixes.pop()
    form = _TABLES.get(suffixes[-1], "trec") if suffixes else "trec"
    if form == "parquet" and codec is not None:
        raise LightmeterError(f"{path}: Parquet is compressed within. Name it .parquet.")
    return form, codec


def check_trec(frame: pl.DataFrame, path: str) -> None:
    """Refuse what TREC's six columns cannot hold."""
    table = "Name a table: .csv, .tsv, .jsonl or .parquet"
    if "weight" in frame.columns:
        raise LightmeterError(f"{path}: TREC's six columns have no place for weights. {table}.")
    if "run" in frame.columns and frame["run"].n_unique() > 1:
        raise LightmeterError(f"{path}: TREC's six columns have one run, and there are several. {table}, or write one.")
    for column in ("query", "doc", "sample"):
        if column in frame.columns and frame.schema[column] == pl.String:
            blank = frame.filter(pl.col(column).str.contains(r"\s"))
            if len(blank):
                raise LightmeterError(
                    f"{path}: the {column} {blank[column][0]!r} has a blank, which TREC's columns cannot hold. {table}."
                )


def write_rankings(frame: pl.DataFrame, file: BinaryIO, form: str = "trec", codec: str | None = None) -> None:
    """Write checked rankings piece by piece to an open file."""
    if form == "trec":
        frame = _trec(frame)
    if form == "parquet":
        whole = io.BytesIO()
        frame.write_parquet(whole)
        file.write(whole.getbuffer())
        return
    with ExitStack() as stack:
        sink: Any = file
        if codec is not None:
            import pyarrow as pa

            sink = stack.enter_context(pa.CompressedOutputStream(pa.PythonFile(file, "w"), codec))
        for at in range(0, max(len(frame), 1), _ROWS):
            part, piece = frame[at : at + _ROWS], io.BytesIO()
            if form == "jsonl":
                part.write_ndjson(piece)
            else:
                separator = {"trec": " ", "tsv": "\t", "csv": ","}[form]
                quote: Any = "never" if form == "trec" else "necessary"
                part.write_csv(piece, include_header=form != "trec" and at == 0, separator=separator, quote_style=quote)
            sink.write(piece.getvalue())


def _trec(frame: pl.DataFrame) -> pl.DataFrame:
    """The six columns; a score that falls by 1 a rank and ends at 1 gives the same order."""
    within = [c for c in ("query", "sample") if c in frame.columns]
    tag = str(frame["run"][0]) if "run" in frame.columns and len(frame) else "lightmeter"
    return frame.select(
        "query",
        pl.col("sample") if "sample" in within else pl.lit("Q0").alias("sample"),
        "doc",
        "rank",
        (pl.col("rank").max().over(within) - pl.col("rank") + 1).alias("score"),
        pl.lit("_".join(tag.split()) or "lightmeter").alias("tag"),
    )


def _checked(rankings: Any) -> pl.DataFrame:
    """The columns that are written, in their order, with ids that can be read back."""
    frame, source = to_polars(rankings, "rankings"), Source("rankings")
    for column in ("query", "doc", "rank"):
        if column not in frame.columns:
            raise InputError(
                f"there is no column {column}",
                where="rankings",
                accepted="query, doc, rank, and perhaps sample, weight, run",
            )
    for column in ("rank", "weight"):
        if column in frame.columns:
            numbers(frame[column], column, source)
    names = [c for c in _COLUMNS if c in frame.columns]
    ids = {c: identifiers(frame[c], c, source) for c in names if c in ("query", "doc", "sample", "run")}
    return frame.select(names).with_columns(**ids)
