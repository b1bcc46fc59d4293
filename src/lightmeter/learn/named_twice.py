"""Documents that a query has twice, which a reader for training refuses rather than names anew."""

from __future__ import annotations

import re

from lightmeter.errors import InputError
from lightmeter.io.letor import LetorTable, _pieces

_DOCID = re.compile(r"docid\s*[=:]\s*(\S+)")


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
    name, query, left = table.files[0], -1, 0
    seen: dict[str, int] = {}
    for first, lines in _pieces(name):
        for number, line in enumerate(lines, first):
            body, _, comment = line.decode().partition("#")
            if not body.strip():
                continue
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
                    where=name,
                    line=number,
                    accepted="each docid once in a query",
                    hint="Leave one of the two lines out, or give it another docid",
                )
            seen[doc] = number
