"""A result as a grid for people: a row for each run (query, segment), a column for each measure (and group)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from lightmeter.results.plain import printable

#: What a reason says, in words; measures of plugins may have others.
REASONS = {
    "no_relevant": "no relevant document in the judgments",
    "not_in_run": "judged, but not answered by the run",
    "no_known_member": "the group of no ranked document is known",
    "no_target": "there is no target to compare with",
    "empty_group": "a group without a document",
    "zero_merit": "a group without merit",
    "zero_target_share": "a group whose target share is 0",
    "whole_target_share": "a group whose target share is 1",
    "unknown_member": "a document of unknown membership",
    "no_pairs": "no pair of a more and a less relevant document",
    "short_ranking": "the ranking is too short",
    "zero_exposure": "what is compared or divided by has no exposure",
    "small_group": "a group below the size asked for, left out",
    "across_queries": "one value for all queries together, none by query",
    "no_intent": "no document is relevant to any intent",
    "no_segment": "no query has a label",
    "few_samples": "too few sampled rankings",
    "no_query": "no query to average over",
    "infinite": "the value is infinite",
    "undefined": "the measure has no value there",
    "no_disparity_range": "the ranking as given shares exposure out no less evenly than chance",
    "no_relevant_retrieved": "no relevant document among the candidates",
    "no_frontier": "the best is known for documents and users who know the rank only",
}


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


def number(value: float | None) -> str:
    """A number for people: four decimals, or as many digits as it needs where those would say nothing."""
    if value is None:
        return "-"
    if value and abs(value) < 0.00005:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 10_000 else f"{value:.6g}"


def error(se: float) -> str:
    """A standard error for people: a number, and a plain 0 where there is none."""
    return number(se) if se else "0"


def beside(value: float, threshold: float) -> str:
    """A number that is compared with another: as many digits as tell the two apart.

    Examples
    --------
    >>> beside(1 / 3, 0.8), beside(0.79999999, 0.8), beside(50.0, 40.0)
    ('0.3333', '0.79999999', '50')
    """
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    shown = number(value)
    return shown if value == threshold or float(shown) != float(number(threshold)) else repr(value)
