"""What the readers hand over: plain columns, checked line by line, and where they came from.

Readers know files and lines; they do not know measures. They check whatever can be seen in one line or one table and
leave to :mod:`lightmeter.data.collection` what needs several of them (duplicates within a ranking, queries in common).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from lightmeter.arrays import Codes, Floats, Integers
from lightmeter.errors import InputError, suggest
from lightmeter.io.id_column import IdColumn, as_series

Kind = Literal["hard", "soft", "multi"]


@dataclass(frozen=True)
class Source:
    """Where a table came from, for messages and the manifest.

    Attributes
    ----------
    name
        The path as given, or a name for a frame.
    files
        The files read, in order (none for a frame).
    line_of
        Gives ``(file, line)`` of a 0-based data row; it may read the file again, so it is for errors only.
        None for frames: messages then name the row.
    """

    name: str
    files: tuple[str, ...] = ()
    line_of: Callable[[int], tuple[str, int]] | None = None

    def place(self, row: int) -> dict[str, str | int]:
        """Keyword arguments for :class:`~lightmeter.errors.InputError` that name ``row``."""
        if self.line_of is None:
            return {"where": self.name, "row": row}
        file, line = self.line_of(row)
        return {"where": file, "line": line}

    def rows(self, index: Sequence[int] | Integers | pl.Series) -> Source:
        """The source of some rows: row ``i`` is row ``index[i]`` of this one."""
        line_of = self.line_of
        return self if line_of is None else replace(self, line_of=lambda row: line_of(int(index[row])))

    def elsewhere(self, row: int, than: int) -> str:
        """Words for ``row`` in a message about the row ``than``: ``line 4``, ``FILE:4`` in another file, ``row 3``."""
        if self.line_of is None:
            return f"row {row}"
        (file, line), (other, _) = self.line_of(row), self.line_of(than)
        return f"line {line}" if file == other else f"{file}:{line}"


@dataclass(frozen=True)
class Table:
    """A table as read: missing cells are null, text cells are strings, nothing is converted yet.

    Row ``i`` of the frame is row ``i`` of the source. ``headless``: the file has no names of columns (lines of
    fields), so messages name none.
    """

    frame: pl.DataFrame
    source: Source
    ignored: dict[str, int] = field(default_factory=dict)
    headless: bool = False


@dataclass(frozen=True)
class RunTable:
    """One run, rows in file order.

    ``queries`` lists the distinct query ids in order of first appearance and ``query`` codes them. ``score`` is
    finite; a table that gives ranks instead has ``score = -rank`` and ``by_rank`` True. ``sample`` is None unless
    some query has several rankings.
    """

    name: str
    source: Source
    queries: list[str]
    query: Codes
    ids: pl.Series | IdColumn
    score: Floats
    by_rank: bool = False
    sample: pl.Series | None = None
    weight: Floats | None = None
    extra: pl.DataFrame | None = None
    ignored: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def doc(self) -> pl.Series:
        """The ids as a series."""
        return as_series(self.ids)

    @property
    def query_ids(self) -> pl.Series:
        """The query id of each row."""
        return pl.Series("query", self.queries, dtype=pl.String).gather(self.query)

    def column(self, name: str) -> pl.Series:
        """A column of the run's table that is none of the run's own."""
        if self.extra is not None and name in self.extra.columns:
            return self.extra[name]
        have = self.extra.columns if self.extra is not None else []
        raise InputError(
            f"no further column {name!r}; there are {', '.join(map(repr, have)) or 'none'}",
            where=self.source.name,
            accepted="a column of the run's table",
            hint=f"{suggest(name, have)} Correct the name".strip(),
        )


@dataclass(frozen=True)
class JudgmentTable:
    """Judgments: a frame ``query, doc, grade`` (String, String, Float64), one row a pair; negative grades are kept.

    ``candidates`` (``query, doc``) is set when the source lists the documents to be ranked, judged or not.
    """

    source: Source
    frame: pl.DataFrame
    ignored: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    candidates: pl.DataFrame | None = None


@dataclass(frozen=True)
class AttributeTable:
    """Memberships of one attribute in long form.

    ``frame`` has ``doc`` (String), ``value`` (Int32, an index into ``values``), ``weight`` (Float64) and, when
    membership depends on the query, ``query`` (String). A document without a row is unknown. Hard: one row of weight
    1 per document; soft: weights that sum to 1 within 1e-3; multi: several rows of weight 1.
    """

    name: str
    source: Source
    values: tuple[str, ...]
    kind: Kind
    ordinal: bool
    frame: pl.DataFrame
    ignored: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TargetTable:
    """Target distributions: a frame ``attribute, value, share, query`` (query null: for all queries)."""

    source: Source
    frame: pl.DataFrame
    ignored: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class IntentTable:
    """Intent judgments ``query, intent, doc, grade`` and probabilities ``query, intent, probability`` (uniform if not
    given).
    """

    source: Source
    frame: pl.DataFrame
    probabilities: pl.DataFrame
    ignored: dict[str, int] = field(default_factory=dict)
