"""Intersections: the combined values of several attributes as one attribute.

``by=['gender', 'age']`` compares women under 30 with men over 60. A document's membership in a combination is the
product of its memberships. Only combinations that some document has become values, so that an intersection of two
attributes of hundreds of values costs no more than its documents; the empty cells are reported. Whoever is unknown in
one of the attributes is unknown in their intersection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Integers
from lightmeter.data.codes import freeze
from lightmeter.errors import LightmeterError

if TYPE_CHECKING:
    from lightmeter.data.attributes import Attribute
    from lightmeter.io.tables import Kind

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
    from lightmeter.data.attributes import Attribute
    from lightmeter.data.ids import IdIndex

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
    told = f"{len(present)} of {number} combinations have documents"
    if number == len(present):
        return told
    if number > LISTED:
        return f"{told}; the empty ones are no values"
    empty = np.setdiff1d(np.arange(number), present)
    named = ", ".join(_label(int(c), parts) for c in empty[:SHOWN])
    more = f" and {len(empty) - SHOWN} more" if len(empty) > SHOWN else ""
    return f"{told}; empty, and no values: {named}{more}"
