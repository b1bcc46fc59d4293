"""Attributes: which values of a group attribute documents have; and intersections of several.

``by=['gender', 'age']`` compares women under 30 with men over 60. A document's membership in a combination is the
product of its memberships. Only combinations that some document has become values, so that an intersection of two
attributes of hundreds of values costs no more than its documents; the empty cells are reported. Whoever is unknown in
one of the attributes is unknown in their intersection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.data.ids import IdIndex, codes_of, freeze
from lightmeter.errors import InputError, LightmeterError
from lightmeter.io.tables import AttributeTable, Kind

#: what the row of documents of unknown membership is called
UNKNOWN_GROUP = "unknown"


@dataclass(frozen=True)
class Attribute:
    """Memberships of one attribute, one entry per unique document (or query and document).

    Entry e of a hard attribute has the value ``codes[e]``; otherwise its values are ``codes[indptr[e]:indptr[e+1]]``
    with the ``weights`` there (soft: shares; multi: ones). ``cells`` says of an intersection which combinations of
    values there are.
    """

    name: str
    values: tuple[str, ...]
    kind: Kind
    ordinal: bool
    index: IdIndex
    codes: Codes
    indptr: Integers | None = None
    weights: Floats | None = None
    by_query: bool = False
    cells: str = ""

    @classmethod
    def build(cls, table: AttributeTable, vocabulary: list[str]) -> Attribute:
        """Unique entries from the long table of a reader."""
        frame = table.frame
        by_query = "query" in frame.columns
        query: Codes | None = None
        keys = ["doc"]
        if by_query:
            known = set(vocabulary)
            frame = frame.filter(pl.col("query").is_in(list(known)))
            frame = frame.with_columns(_q=pl.Series(codes_of(frame["query"], vocabulary)))
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

    def pairs(self, entries: NDArray[np.integer], *, split: bool) -> tuple[Integers, Codes, Floats]:
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
        entry = entries if len(known) == len(entries) else entries[known]
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
            accepted="one value per document",
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
            accepted="one value per document",
            hint="Give the groups in a file of their own with --groups",
        )
    kind: Kind = "hard" if all(t.kind == "hard" for t in tables) else "multi"
    return AttributeTable(first.name, first.source, tuple(values), kind, first.ordinal, frame)


#: Between the names of attributes, and between their values.
JOIN = " & "
#: Up to so many cells the empty ones are named.
LISTED = 1 << 20
SHOWN = 5


def intersection(name: str, parts: list[Attribute]) -> Attribute:
    """The intersection of several attributes.

    Parameters
    ----------
    name
        Its name.
    parts
        The attributes: hard ones with soft ones, or hard ones with multi-valued ones.

    Raises
    ------
    LightmeterError
        For soft together with multi-valued memberships, whose product has no one meaning, and for an attribute twice.
    """
    kind = _kind(name, parts)
    first = next((p for p in parts if p.by_query), parts[0])
    ids, group = first.index.ids, first.index.group
    entries = [p.index.find(ids, group if p.by_query else None) for p in parts]
    known = np.flatnonzero(np.all([e >= 0 for e in entries], axis=0))
    position, code, weight = np.arange(len(known)), np.zeros(len(known), dtype=np.int64), np.ones(len(known))
    for part, entry in zip(parts, entries, strict=True):
        at, value, share = part.pairs(entry[known][position], split=False)
        position, weight = position[at], weight[at] * share
        code = code[at] * len(part.values) + value
    keep = weight > 0
    position, code, weight = position[keep], code[keep], weight[keep]
    present, codes = np.unique(code, return_inverse=True)
    index = IdIndex(ids.gather(known), None if group is None else group[known])
    counts = np.bincount(position, minlength=len(known))
    return Attribute(
        name,
        tuple(_label(int(c), parts) for c in present),
        kind,
        False,
        index,
        freeze(codes.astype(np.int32)),
        None if kind == "hard" else freeze(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
        None if kind == "hard" else freeze(weight),
        any(p.by_query for p in parts),
        _cells(present, parts),
    )


def _kind(name: str, parts: list[Attribute]) -> Kind:
    names = [p.name for p in parts]
    if len(set(names)) < len(names):
        raise LightmeterError(f"the intersection {name!r} names an attribute twice. Accepted: different attributes.")
    soft, multi = ([p.name for p in parts if p.kind == kind] for kind in ("soft", "multi"))
    if soft and multi:
        raise LightmeterError(
            f"the intersection {name!r} combines {soft[0]!r}, which has shares, with {multi[0]!r}, of which a document "
            "may have several values. Accepted: hard attributes with soft ones, or with multi-valued ones. Give "
            f"{multi[0]!r} as shares that sum to 1, or use GFR(of=[..]) of one measure each."
        )
    return "soft" if soft else "multi" if multi else "hard"


def _label(code: int, parts: list[Attribute]) -> str:
    """The values of a combination, joined."""
    found = []
    for part in reversed(parts):
        code, value = divmod(code, len(part.values))
        found.append(part.values[value])
    return JOIN.join(reversed(found))


def _cells(present: Integers, parts: list[Attribute]) -> str:
    """How many combinations there are of how many, and which are empty."""
    number = int(np.prod([len(p.values) for p in parts], dtype=np.float64))
    summary = f"{len(present)} of {number} combinations have documents"
    if number == len(present):
        return summary
    if number > LISTED:
        return f"{summary}; the empty ones are no values"
    empty = np.setdiff1d(np.arange(number), present)
    named = ", ".join(_label(int(c), parts) for c in empty[:SHOWN])
    more = f" and {len(empty) - SHOWN} more" if len(empty) > SHOWN else ""
    return f"{summary}; empty, and no values: {named}{more}"
