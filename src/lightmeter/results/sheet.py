"""A result as a grid for people: a row for each run (query, segment), a column for each measure (and group)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from lightmeter.results.text import error, number, printable


@dataclass(frozen=True)
class Entry:
    """One value of a grid."""

    value: float | None
    se: float | None
    n: int | None
    reason: str | None

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        return number(self.value) + (f" ±{error(self.se)}" if self.se is not None else "")


@dataclass(frozen=True)
class Grid:
    """Values by row and column.

    Attributes
    ----------
    index
        Names of the row labels: ``run``, and ``query`` and ``segment`` where there are such.
    columns
        Pairs of measure and group (or None).
    rows
        Row labels, and an entry for each column.
    """

    index: list[str]
    columns: list[tuple[str, str | None]]
    rows: list[tuple[tuple[str, ...], list[Entry | None]]]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Grid:
        """From the table of a result."""
        index = ["run", *(name for name in ("query", "segment") if frame[name].null_count() < len(frame))]
        columns: dict[tuple[str, str | None], int] = {}
        rows: dict[tuple[Any, ...], dict[int, Entry]] = {}
        names = [*index, "measure", "group", "value", "se", "n", "reason"]
        for *key, measure, group, value, se, n, reason in frame.select(names).iter_rows():
            at = columns.setdefault((measure, group), len(columns))
            row = rows.setdefault(tuple(key), {})
            row[at] = Entry(value, se, n, reason)
        made = [(_labels(index, key), [row.get(i) for i in range(len(columns))]) for key, row in rows.items()]
        titles = [(measure, None if group is None else printable(group)) for measure, group in columns]
        return cls(index, titles, made)

    def titles(self) -> list[str]:
        """Titles of the columns: the measure, with the group where there is one."""
        return [measure if group is None else f"{measure} {group}" for measure, group in self.columns]


def _labels(index: list[str], key: tuple[Any, ...]) -> tuple[str, ...]:
    """Texts for the labels; the row of a mean is named."""
    row = dict(zip(index, key, strict=True))
    whole = row.get("query") is None
    blank = {"query": "(mean)", "segment": "(all)" if whole else ""}
    return tuple(blank.get(name, "") if value is None else printable(str(value)) for name, value in row.items())
