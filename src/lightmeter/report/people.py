"""Single persons in the report of an audit, where that is asked for: codes instead of what identifies them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans
from lightmeter.auditing.masking import masks
from lightmeter.auditing.options import options
from lightmeter.auditing.preset import combined
from lightmeter.auditing.ranking import RankedTable, Ties
from lightmeter.auditing.table import UNKNOWN, AuditTable, read_audit_table
from lightmeter.errors import InputError, suggest
from lightmeter.io.forms import table_form
from lightmeter.io.sources import is_path
from lightmeter.io.tabular import read_table
from lightmeter.models.users import User
from lightmeter.report.parts import Head, Row, Table, count, text, value
from lightmeter.results.text import printable

#: ranks of a list, and lists, that are shown
DEPTH, LISTS = 20, 25
#: the smallest group that is shown where nothing else is asked for
MIN_CELL = 10


def ids_of(source: Any, column: str) -> list[str]:
    """What identifies the rows of a table.

    Raises
    ------
    InputError
        Where there is no such column.
    """
    table = read_table(source, table_form(column, what="table"), name=None if is_path(source) else "table")
    if column not in table.frame.columns:
        raise InputError(
            f"no column {column!r} for the persons of the report",
            where=table.source.name,
            accepted="--report-people COLUMN, the name of a column that identifies them",
            hint=suggest(column, table.frame.columns).strip() or None,
        )
    return ["" if v is None else str(v) for v in table.frame[column].to_list()]


def people_of(source: Any, column: str, given: Mapping[str, Any]) -> Table:
    """The table for the report of an audit that was made with these options of :func:`lightmeter.audit`."""
    data = read_audit_table(
        source,
        score=given["score"],
        group=combined(given["group"]) if given["preset"] is not None else given["group"],
        label=given["label"],
        query=given["query"],
        bins=given["bins"],
    )
    made = options(
        cutoffs=(),
        primary_cutoff=None,
        users=given["users"],
        ties=given["ties"],
        min_cell=given.get("min_cell", MIN_CELL),
        inferred=(),
        preset=given["preset"],
        resamples=0,
        level=0.95,
        threshold=None,
        per_query=False,
    )
    return people_table(data, ids_of(source, column), made.users[0], made.ties, made.min_cell)


def codes_of(ids: list[str]) -> list[str]:
    """A code for each id: the same for the same id, and of no use without the key, which is forgotten.

    Names and numbers are few enough to try them all; so a hash without a key would give them away.
    """
    key = secrets.token_bytes(32)
    return [hashlib.blake2b(i.encode("utf-8", "surrogatepass"), digest_size=5, key=key).hexdigest() for i in ids]


def people_table(data: AuditTable, ids: list[str], user: User, ties: Ties, min_cell: int) -> Table:
    """The first of each list, with codes, groups (masked where the audit masks them), scores and exposure."""
    codes, hidden = codes_of(ids), masks(data.attributes, min_cell)
    several = data.queries is not None and len(data.queries) > 1
    lists = codes_of(data.queries or [""])
    groups = {a.name: _groups(a, hidden[a.name]) for a in data.attributes}
    rows = []
    for score, values in data.scores.items():
        ranked = RankedTable(values, data.query, ties, name=score, source=data.source)
        seen = ranked.exposure(np.asarray(user.view_at(np.arange(1.0, ranked.longest + 1))))
        for place in np.flatnonzero((ranked.rank <= DEPTH) & (ranked.query < LISTS)).tolist():
            row = int(ranked.order[place])
            cells = [*([text(score)] if len(data.scores) > 1 else [])]
            cells += [*([text(lists[int(ranked.query[place])])] if several else []), count(int(ranked.rank[place]))]
            cells += [text(codes[row]), *(text(g[row]) for g in groups.values())]
            rows.append(Row([*cells, value(float(ranked.score[place])), value(float(seen[place]))]))
    head = [*([Head("ranked by")] if len(data.scores) > 1 else []), *([Head("list")] if several else [])]
    head += [Head("rank", way="number"), Head("person", "code"), *(Head(printable(a)) for a in groups)]
    head += [Head("score", way="number"), Head("exposure", str(user), "number")]
    more = f"; the first {LISTS} of {len(data.queries or [])} lists" if len(data.queries or []) > LISTS else ""
    about = (
        f"The first {DEPTH} of each list{more}. Codes are hashes with a key that was thrown away: they tell persons "
        "apart in this report, and cannot be turned back or matched with another. Groups that the audit masks are "
        "masked here too."
    )
    return Table.of("The first of the list", head, rows, about)


def _groups(attribute: Any, hidden: Booleans) -> list[str]:
    known = [*attribute.values, UNKNOWN]
    shown = ["masked" if gone else printable(name) for name, gone in zip(known, hidden.tolist(), strict=True)]
    return [shown[code] for code in attribute.codes.tolist()]
