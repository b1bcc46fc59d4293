"""Lines of the documents of a file, looked up only to say where something is wrong."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from lightmeter.errors import InputError
from lightmeter.io.letor import LetorTable, _pieces

_DOCID = re.compile(r"docid\s*[=:]\s*(\S+)")


def lines_of(name: str) -> Iterator[tuple[int, str]]:
    """Number of the line of each document, and its comment."""
    for first, lines in _pieces(name):
        for number, line in enumerate(lines, first):
            body, _, comment = line.decode().partition("#")
            if body.strip():
                yield number, comment


def line_of(files: tuple[str, ...], row: int) -> int | None:
    """Number of the line of a document, counted from 0; None where it is of no file."""
    return next(itertools.islice(lines_of(files[0]), row, None))[0] if files else None


def refuse_named_twice(table: LetorTable) -> None:
    """Refuse a docid that comes twice in one query.

    The reader of files names all documents by query and place where that is so; groups and runs would then be of
    other names than the file's. Its lines are looked at again only where documents were named so.

    Raises
    ------
    InputError
        With file, line and id.
    """
    if not len(table.docs) or table.docs[0] != f"{table.queries[0]}.1":
        return
    query, left = -1, 0
    seen: dict[str, int] = {}
    for number, comment in lines_of(table.files[0]):
        if not left:
            query, seen = query + 1, {}
            left = int(table.sizes[query])
        left -= 1
        found = _DOCID.search(comment)
        if found is None:
            continue
        doc = found[1]
        if doc in seen:
            raise InputError(
                f"the document {doc!r} comes again in query {table.queries[query]!r}, first in line {seen[doc]}",
                where=table.files[0],
                line=number,
                accepted="each docid once in a query",
                hint="Leave one of the two lines out, or give it another docid",
            )
        seen[doc] = number
