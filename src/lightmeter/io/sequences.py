"""The query sequence of TREC Fair: which query is asked when, and so how often."""

from __future__ import annotations

import os

import polars as pl

from lightmeter.errors import InputError
from lightmeter.io.checks import NUMBER, drop_repeats, fault, first
from lightmeter.io.sources import one_file
from lightmeter.io.tables import Source
from lightmeter.io.text import read_lines, row_lines

SEQUENCE_FILE = "lines 'sequence.number,query' such as '0.17,18439', without a header"


def read_sequence(path: str | os.PathLike[str]) -> pl.DataFrame:
    """How often each query of a sequence is asked: :func:`read_requests`, counted.

    Returns
    -------
    polars.DataFrame
        ``query`` (String, in order of first appearance) and ``weight`` (Float64: how often it was asked).
    """
    return counted(read_requests(path))


def counted(requests: pl.Series) -> pl.DataFrame:
    """``query, weight`` of requests, in order of first appearance.

    Examples
    --------
    >>> counted(pl.Series(["q2", "q1", "q2"])).rows()
    [('q2', 2.0), ('q1', 1.0)]
    """
    frame = pl.DataFrame({"query": requests})
    return frame.group_by("query", maintain_order=True).agg(pl.len().cast(pl.Float64).alias("weight"))


def read_requests(path: str | os.PathLike[str]) -> pl.Series:
    """Read a query sequence, ``sequence.number,qid`` on every line without a header.

    Parameters
    ----------
    path
        The file (plain, gzip or zstd).

    Returns
    -------
    polars.Series
        The query of each request, in the order of the lines; a line that is there twice counts once.

    Raises
    ------
    InputError
        A line that does not have this form, or a place of the sequence that is given to two queries.
    """
    path = one_file(path, "query sequence")
    lines = read_lines(path)
    rows = row_lines(lines, 0)
    if not len(rows):
        raise InputError("the file has no data lines", where=path, accepted=SEQUENCE_FILE)
    source = Source(path, (path,), lambda row: (path, int(rows[row])))
    text = lines.gather(rows - 1).str.strip_chars(" \t\r\n")
    found = text.str.extract_groups(r"^([^,\s]+)[ \t]*,[ \t]*([^,]*[^,\s])$").struct.unnest()
    place, query = found.to_series(0), found.to_series(1)
    bad = place.is_null() | ~place.str.contains(NUMBER)
    if (row := first(bad.fill_null(True))) is not None:
        hint = "Remove the header" if row == 0 and place[0] is not None else "Correct this line"
        raise fault(f"{text[row]!r} is not a place and a query", source, row, accepted=SEQUENCE_FILE, hint=hint)
    frame = pl.DataFrame({"place": place, "query": query})
    kept, _ = drop_repeats(frame, ["place"], "query", source, "query")
    return kept["query"]
