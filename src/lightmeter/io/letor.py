"""Learning-to-rank data in svmlight's form: ``grade qid:QUERY feature:value .. # comment``, one document on every line.

Queries are known by ``qid``, or by a file of sizes (one number of documents per line), as LightGBM takes them. Features
that a line leaves out are 0. A comment ``docid = X`` names the document; without it, it is named by its query and its
position there, ``QUERY.1``, ``QUERY.2``, ..; a name that comes twice in a query is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.errors import InputError
from lightmeter.io.sources import one_file
from lightmeter.io.text import BOM, open_bytes

_PIECE = 1 << 24
#: A table of features larger than this is refused: it is held as dense single precision.
MOST_BYTES = 16 << 30
_FORM = "grade qid:QUERY feature:value .. # comment"


@dataclass(frozen=True)
class LetorTable:
    """What a file holds, documents in file order.

    Attributes
    ----------
    files
        The files read.
    features
        ``[documents, features]``, single precision.
    feature_ids
        Number of each column as the file has it.
    grade
        Grades as the file has them.
    queries, sizes
        Ids of the queries in file order and their numbers of documents.
    docs
        Ids of the documents.
    lines
        Numbers of their lines.
    """

    files: tuple[str, ...]
    features: NDArray[np.float32]
    feature_ids: Integers
    grade: Floats
    queries: list[str]
    sizes: Integers
    docs: pl.Series
    lines: Integers


def read_letor(path: str | os.PathLike[str], sizes: str | os.PathLike[str] | None = None) -> LetorTable:
    """Read a file in the form of svmlight or LETOR, plain or compressed.

    Parameters
    ----------
    path
        The file.
    sizes
        A file with each query's number of documents, one per line, for files without ``qid``. By default the file's
        own name with ``.query`` after it, where there is one.

    Returns
    -------
    LetorTable

    Raises
    ------
    InputError
        With file and line: a grade, feature or value that is no number, a value that is not finite, a feature given
        twice, a query that comes again, a document named twice in a query, sizes that do not add up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "data.svm")
    >>> _ = path.write_text("2 qid:7 1:0.5 3:1 # docid = a\\n0 qid:7 2:4 # docid = b\\n1 qid:9 # docid = c\\n")
    >>> table = read_letor(path)
    >>> table.features.tolist()
    [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
    >>> table.queries, table.sizes.tolist(), table.docs.to_list()
    (['7', '9'], [2, 1], ['a', 'b', 'c'])
    """
    name = one_file(path, "ranking features")
    pieces = [_parsed(name, first, lines) for first, lines in _pieces(name)]
    pieces = [p for p in pieces if len(p.grade)]
    if not pieces:
        raise InputError("the file has no documents", where=name, accepted=f"lines {_FORM}")
    grade, line = (np.concatenate([getattr(p, what) for p in pieces]) for what in ("grade", "line"))
    features, ids = _joined(name, pieces)
    qid = pl.concat([p.qid for p in pieces])
    files: tuple[str, ...] = (name,)
    if qid.null_count() == len(qid):
        file = os.fspath(sizes) if sizes is not None else f"{name}.query"
        if sizes is None and not os.path.isfile(file):
            raise InputError(
                "no line has qid:, so the queries are not known",
                where=name,
                accepted=f"{_FORM}, or a file of sizes (one number of documents per line)",
                hint=f"Give it with --sizes FILE, or name it {os.path.basename(file)}",
            )
        counts = _sizes(one_file(file, "sizes of queries"), len(grade), name)
        files, queries = (name, file), [str(i + 1) for i in range(len(counts))]
    else:
        queries, counts = _queries(name, qid, line)
        if sizes is not None:
            raise InputError(
                "the lines have qid:, and a file of sizes is given too", where=name, accepted="one of the two"
            )
    docs = _docs(name, pl.concat([p.doc for p in pieces]), queries, counts, line)
    return LetorTable(files, features, ids, grade, queries, counts, docs, line)


@dataclass(frozen=True)
class _Piece:
    """Some lines: grades, queries, names, and features in long form."""

    line: Integers
    grade: Floats
    qid: pl.Series
    doc: pl.Series
    row: Integers
    feature: Integers
    value: NDArray[np.float32]


def _pieces(name: str) -> Iterator[tuple[int, list[bytes]]]:
    """Lines of the file in pieces, each with the number of its first line."""
    at, rest, start = 1, b"", True
    with open_bytes(name) as file:
        while True:
            read: bytes = bytes(file.read(_PIECE))
            if start and read.startswith(BOM):
                read = read[len(BOM) :]
            start = False
            lines = (rest + read).split(b"\n")
            rest = lines.pop() if read else b""
            if lines and (read or lines != [b""]):
                yield at, lines
                at += len(lines)
            if not read:
                return


def _parsed(name: str, first: int, lines: list[bytes]) -> _Piece:
    try:
        text = [line.decode() for line in lines]
    except UnicodeDecodeError:
        bad = next(i for i, line in enumerate(lines) if not _utf8(line))
        raise InputError("the line is not valid UTF-8", where=name, line=first + bad, accepted=_FORM) from None
    whole = pl.DataFrame({"text": text}, schema={"text": pl.String}).with_row_index("line", offset=first)
    parts = pl.col("text").str.splitn("#", 2)
    frame = (
        whole.with_columns(
            parts.struct.field("field_0").str.replace_all(r"\s+", " ").str.strip_chars().alias("body"),
            parts.struct.field("field_1").str.extract(r"docid\s*[=:]\s*(\S+)").alias("doc"),
        )
        .filter(pl.col("body") != "")
        .with_columns(pl.col("body").str.split(" ").alias("token"))
        .with_row_index("row")
    )
    line = frame["line"].to_numpy().astype(np.int64)
    grades = frame["token"].list.first()
    grade = grades.cast(pl.Float64, strict=False)
    _refuse(name, line, ~grade.is_finite().fill_null(False), lambda i: f"the grade is {grades[i]!r}", "a number first")
    long = (
        frame.select("row", pl.col("token").list.slice(1)).explode("token", empty_as_null=False)
        if len(frame)
        else frame.select("row", pl.lit("").alias("token"))
    )
    pair = long["token"].str.splitn(":", 2).struct.unnest()
    key, given = pair["field_0"], pair["field_1"]
    row = long["row"].to_numpy().astype(np.int64)
    is_query = (key == "qid") & given.is_not_null() & (given != "")
    qid: AnyArray = np.full(len(frame), None, dtype=object)
    mine = is_query.to_numpy()
    again = np.flatnonzero(mine)[1:][np.diff(row[mine]) == 0]
    if len(again):
        raise InputError("qid: is given twice", where=name, line=int(line[row[again[0]]]), accepted=_FORM)
    qid[row[mine]] = given.filter(is_query).to_numpy()
    row, token = row[~mine], long["token"].filter(~is_query)
    feature = key.filter(~is_query).cast(pl.Int64, strict=False)
    value = given.filter(~is_query).cast(pl.Float64, strict=False)
    where = line[row]
    _refuse(
        name,
        where,
        feature.is_null() | value.is_null() | (feature < 0).fill_null(False),
        lambda i: f"found {token[i]!r}",
        "feature:value with a whole number from 0 up and a number",
    )
    _refuse(
        name,
        where,
        ~value.is_finite() | (value.abs() > 3e38),
        lambda i: f"feature {feature[i]} is {value[i]}",
        "finite numbers; leave a feature out for 0",
    )
    numbers = feature.to_numpy().astype(np.int64)
    _refuse_repeated(name, where, row, numbers)
    return _Piece(
        line,
        grade.to_numpy().astype(np.float64),
        pl.Series("qid", qid.tolist(), dtype=pl.String),
        frame["doc"],
        row,
        numbers,
        value.to_numpy().astype(np.float32),
    )


def _utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse(name: str, line: Integers, bad: pl.Series, found: Any, accepted: str) -> None:
    at = np.flatnonzero(bad.to_numpy())
    if len(at):
        i = int(at[0])
        raise InputError(found(i), where=name, line=int(line[i]), accepted=accepted)


def _refuse_repeated(name: str, line: Integers, row: Integers, feature: Integers) -> None:
    same = row[1:] == row[:-1]
    if not (same & (feature[1:] <= feature[:-1])).any():
        return
    order = np.lexsort((feature, row))
    twice = (np.diff(row[order]) == 0) & (np.diff(feature[order]) == 0)
    if twice.any():
        i = int(order[1:][twice][0])
        raise InputError(
            f"feature {feature[i]} is given twice", where=name, line=int(line[i]), accepted="each feature once"
        )


def _joined(name: str, pieces: list[_Piece]) -> tuple[NDArray[np.float32], Integers]:
    """The features as one dense table, from feature 1 (or 0, where there is one) to the highest."""
    low = min((int(p.feature.min()) for p in pieces if len(p.feature)), default=1)
    high = max((int(p.feature.max()) for p in pieces if len(p.feature)), default=0)
    low = min(low, 1)
    documents, width = sum(len(p.grade) for p in pieces), high - low + 1
    if documents * width * 4 > MOST_BYTES:
        raise InputError(
            f"{documents} documents with features up to {high} would take {documents * width * 4 / 2**30:.0f} GiB",
            where=name,
            accepted=f"dense features of at most {MOST_BYTES >> 30} GiB",
            hint="Number the features from 1 on, or leave rare ones out",
        )
    out = np.zeros((documents, width), dtype=np.float32)
    at = 0
    for piece in pieces:
        out[at + piece.row, piece.feature - low] = piece.value
        at += len(piece.grade)
    return out, np.arange(low, high + 1)


def _queries(name: str, qid: pl.Series, line: Integers) -> tuple[list[str], Integers]:
    missing = np.flatnonzero(qid.is_null().to_numpy())
    if len(missing):
        raise InputError(
            "qid: is missing here, and other lines have it", where=name, line=int(line[missing[0]]), accepted=_FORM
        )
    fresh = np.flatnonzero((qid != qid.shift(1)).fill_null(True).to_numpy())
    names = qid.gather(fresh)
    repeated = np.flatnonzero((~names.is_first_distinct()).to_numpy())
    if len(repeated):
        i = int(repeated[0])
        raise InputError(
            f"query {names[i]!r} comes again after another query",
            where=name,
            line=int(line[fresh[i]]),
            accepted="the documents of a query one after the other",
        )
    return names.to_list(), np.diff(np.append(fresh, len(qid)))


def _sizes(file: str, documents: int, name: str) -> Integers:
    with open_bytes(file) as opened:
        lines = bytes(opened.read()).decode(errors="replace").removeprefix("\ufeff").split("\n")
    out = []
    for i, text in enumerate(lines):
        if not text.strip():
            continue
        if not (text.strip().isascii() and text.strip().isdigit() and int(text) > 0):
            raise InputError(
                f"found {text.strip()!r}",
                where=file,
                line=i + 1,
                accepted="one number of documents per line, 1 or more",
            )
        out.append(int(text))
    if sum(out) != documents:
        raise InputError(
            f"the sizes add up to {sum(out)}, and {name} has {documents} documents", where=file, accepted="one sum"
        )
    return np.array(out, dtype=np.int64)


def _docs(name: str, given: pl.Series, queries: list[str], counts: Integers, line: Integers) -> pl.Series:
    """Ids by comment, where every document has one; else by query and position."""
    owner = np.repeat(np.arange(len(counts)), counts)
    named = pl.DataFrame({"query": owner, "doc": given, "line": line}).drop_nulls("doc")
    again = named.filter(~pl.struct("query", "doc").is_first_distinct())
    if len(again):
        query, doc, at = again.row(0)
        first = named.filter(query=query, doc=doc)["line"][0]
        raise InputError(
            f"the document {doc!r} comes again in query {queries[query]!r}, first in line {first}",
            where=name,
            line=at,
            accepted="each docid once in a query",
            hint="Leave one of the two lines out, or give it another docid",
        )
    if not given.null_count():
        return given
    position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    frame = pl.DataFrame({"query": pl.Series(queries, dtype=pl.String).gather(owner), "position": position})
    return frame.select(pl.format("{}.{}", "query", "position").alias("doc"))["doc"]
