"""The collection: runs, judgments, memberships and targets as immutable, integer-coded columns.

Rows of a run stay in file order with their document ids; what is known about documents (grades, memberships) lives in
tables of unique documents, and rows point into them. Nothing is ever dense over [rows, values].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.attributes import JOIN, Attribute, intersection, merge_attributes
from lightmeter.data.ids import freeze
from lightmeter.data.judgments import Judgments
from lightmeter.data.run import Run
from lightmeter.errors import LightmeterError, suggest
from lightmeter.io.tables import IntentTable, JudgmentTable, RunTable, Source


@dataclass(frozen=True)
class Collection:
    """Everything that is evaluated together; built by :func:`lightmeter.load`, and not changed afterwards.

    Attributes
    ----------
    queries
        Query ids; all codes index this list.
    runs
        By name, in the order given.
    judgments
        None where there are none.
    attributes
        By name.
    targets
        Given target distributions, a frame ``attribute, value, share, query``, or None.
    segments
        A label of each query, or None.
    query_weight
        How much each query counts in means, or None for all alike.
    requests
        ``[requests]``: codes of the queries in the order in which a sequence asks them, or None where there is no such
        order.
    """

    queries: list[str]
    runs: Mapping[str, Run]
    judgments: Judgments | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    targets: pl.DataFrame | None = None
    intents: IntentTable | None = None
    segments: list[str | None] | None = None
    query_weight: Floats | None = None
    requests: Integers | None = None
    inputs: tuple[Source, ...] = ()
    ignored: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    columns_of_runs: tuple[RunTable, ...] = ()
    declared: dict[str, Any] = field(default_factory=dict)
    #: attributes that follow from the others and from columns of the runs, computed when they are first needed
    _derived: dict[str, Attribute] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        judged = 0 if self.judgments is None else len(self.judgments.grade)
        return (
            f"Collection({len(self.queries)} queries, runs: {', '.join(self.runs)}; {judged} judgments; "
            f"attributes: {', '.join(self.attributes) or 'none'})"
        )

    @cached_property
    def evaluated(self) -> Integers:
        """Codes of the queries that count."""
        return np.flatnonzero(self.counts)

    @cached_property
    def counts(self) -> Booleans:
        """Which queries count: those judged, without judgments those with intents, without either those any run answers
        (and in the sequence, if any).
        """
        if self.judgments is not None:
            keep = self.judgments.judged > 0
        elif self.intents is not None:
            with_intents = set(self.intents.frame["query"].unique())
            keep = np.array([q in with_intents for q in self.queries], dtype=bool)
        else:
            keep = np.zeros(len(self.queries), dtype=bool)
            for run in self.runs.values():
                keep[run.query] = True
        if self.query_weight is not None:
            keep &= self.query_weight > 0
        return freeze(keep)

    def attribute(self, name: str | tuple[str, ...]) -> Attribute:
        """An attribute by name; ``'gender & age'``, or both names, is their intersection.

        Raises
        ------
        LightmeterError
            Where there is none of that name.
        """
        name = JOIN.join(name) if isinstance(name, tuple) else name
        if name in self.attributes:
            return self.attributes[name]
        if name not in self._derived:
            self._derived[name] = self._derive(name)
        return self._derived[name]

    def _derive(self, name: str) -> Attribute:
        """An attribute that is a column of the runs' own tables, or an intersection."""
        having = [t for t in self.columns_of_runs if t.extra is not None and name in t.extra.columns]
        if having:
            from lightmeter.io.groups import attributes_from_columns

            ordinal, bins = (
                {n: v for n, v in self.declared.get(kind, {}).items() if n == name} for kind in ("ordinal", "bins")
            )
            bias = [n for n in self.declared.get("bias", ()) if n == name]
            tables = [attributes_from_columns(t, [name], bins=bins, ordinal=ordinal, bias=bias)[0] for t in having]
            return Attribute.build(merge_attributes(tables), self.queries)
        if JOIN in name:
            return intersection(name, [self.attribute(part) for part in name.split(JOIN)])
        columns = [c for t in self.columns_of_runs if t.extra is not None for c in t.extra.columns]
        known = list(dict.fromkeys([*self.attributes, *columns]))
        if not known:
            raise LightmeterError(
                f"the attribute {name!r} needs group memberships. Give them with --groups FILE (in Python: groups=)."
            )
        raise LightmeterError(f"there is no attribute {name!r}.{suggest(name, known)} Known: {', '.join(known)}.")


def vocabulary_of(
    runs: Sequence[RunTable], judgments: JudgmentTable | None, intents: IntentTable | None = None
) -> list[str]:
    """Query ids in order of first appearance, runs before judgments, and these before intents."""
    seen: dict[str, int] = {}
    for run in runs:
        for q in run.queries:
            seen.setdefault(q, len(seen))
    for table in (judgments, intents):
        if table is not None:
            for q in table.frame["query"].unique(maintain_order=True):
                seen.setdefault(q, len(seen))
    return list(seen)
