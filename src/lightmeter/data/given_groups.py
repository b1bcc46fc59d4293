"""Which attributes are read from where: the groups given, and the columns of the runs' own tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from lightmeter.errors import LightmeterError, suggest
from lightmeter.io.tables import AttributeTable, RunTable

Columns = Mapping[str, str]


@dataclass(frozen=True)
class GivenGroups:
    """What came of the groups.

    Attributes
    ----------
    tables
        The attributes that were read.
    names
        All attributes there are, read or not, the columns of runs among them.
    declared
        What was declared of attributes that are columns of the runs: ``ordinal``, ``bins`` and ``bias``.
    notes
        What the user should know.
    """

    tables: list[AttributeTable]
    names: list[str]
    declared: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def read_given_groups(
    groups: Any,
    runs: list[RunTable],
    columns: Columns | None,
    ordinal: Mapping[str, Any] | None,
    bins: Mapping[str, Any] | None,
    bias: Sequence[str],
    wanted: Sequence[str] | None,
) -> GivenGroups:
    """Read the groups given; an attribute there wins over a column of the runs of the same name.

    Parameters
    ----------
    groups
        As :func:`lightmeter.load` takes them.
    runs
        The runs, whose own columns are attributes too.
    columns, ordinal, bins, bias
        As :func:`lightmeter.load` takes them.
    wanted
        The attributes to read, None for all.
    """
    own = list(dict.fromkeys(c for t in runs if t.extra is not None for c in t.extra.columns))
    if groups is None and not (ordinal or bins or bias):
        return GivenGroups([], own, {"ordinal": {}, "bins": {}, "bias": ()})
    from lightmeter.io.dictionaries import group_frames
    from lightmeter.io.groups import attribute_names, read_groups

    for name, option in (("ordinal", ordinal), ("bins", bins)):
        if option is not None and not isinstance(option, Mapping):
            raise LightmeterError(f"{name} is {option!r}. Accepted: a mapping from attributes to lists.")
    given = [] if groups is None else list(groups) if isinstance(groups, list | tuple) else [groups]
    given = [frame for g in given for frame in (group_frames(g) if isinstance(g, Mapping) else [g])]
    theirs = [n for g in given for n in attribute_names(g, columns=columns)]
    for name in [*(ordinal or {}), *(bins or {}), *bias]:
        if name not in theirs and name not in own:
            known = [*theirs, *own]
            raise LightmeterError(
                f"{name!r} is declared (ordinal, bins or bias), but there is no such attribute.{suggest(name, known)} "
                + (f"Known: {', '.join(known)}." if known else "Give its groups with --groups FILE.")
            )

    def split(option: Mapping[str, Any] | None, mine: bool) -> dict[str, Any]:
        return {k: v for k, v in (option or {}).items() if (k in theirs) != mine}

    declared = {
        "ordinal": split(ordinal, True),
        "bins": split(bins, True),
        "bias": tuple(b for b in bias if b not in theirs),
    }
    notes = [f"attribute {n!r}: the groups given are used, not the run's column" for n in theirs if n in own]
    only = None if wanted is None else [a for a in wanted if a in theirs or a not in own]
    tables: list[AttributeTable] = []
    if given and only != []:
        bias_of_theirs = [b for b in bias if b in theirs]
        tables = read_groups(
            given,
            columns=columns,
            bins=split(bins, False),
            ordinal=split(ordinal, False),
            bias=bias_of_theirs,
            only=only,
        )
    return GivenGroups(tables, list(dict.fromkeys([*theirs, *own])), declared, notes)


def check_targets(targets: pl.DataFrame | None, names: list[str]) -> None:
    """Refuse targets of attributes that are nowhere, where it is known which there are."""
    if targets is None or not names:
        return
    for name in targets["attribute"].unique(maintain_order=True):
        if name not in names:
            raise LightmeterError(
                f"the targets are of an attribute {name!r}, which is in no groups.{suggest(name, names)} "
                f"Known: {', '.join(names)}."
            )
