"""Files of fields between blanks: TREC runs and judgments, diversity judgments, NTCIREVAL memberships.

Two readers give the same rows. :func:`exact_fields` reads whole lines and finds the fields with one expression; it
knows every line number. :func:`lightmeter.io.fast.fast_run` lets Arrow read a run whose fields are separated by
exactly one
space or one tab.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from lightmeter.arrays import Codes, Floats
from lightmeter.errors import InputError
from lightmeter.io.id_column import IdColumn, as_series
from lightmeter.io.tables import Source
from lightmeter.io.text import read_lines, row_lines, sysdesc_lines

_BLANK = r"[ \t\r]"
_FIELD = r"[^ \t\r\n]+"


@dataclass(frozen=True)
class Fields:
    """Fields of the data lines: columns ``f0, f1, ..`` (null where a line is shorter than the longest allowed)."""

    frame: pl.DataFrame
    source: Source
    ignored: dict[str, int] = field(default_factory=dict)


def exact_fields(path: str, least: int, most: int, accepted: str, passed: Collection[int] = ()) -> Fields:
    """Read lines of ``least`` to ``most`` fields; the first line with another number of fields is refused.

    Blank lines and first ``<SYSDESC>`` lines are passed over and counted. Fields ``passed`` are not kept.
    """
    lines = read_lines(path)
    total = len(lines)
    skip = sysdesc_lines([line or "" for line in lines.head(1000)])
    rows = row_lines(lines, skip)
    if not len(rows):
        raise InputError(
            "the file has no data lines", where=path, accepted=accepted, hint="Check the program that wrote it"
        )
    if len(rows) < len(lines):
        lines = lines.gather(rows - 1)
    frame = lines.str.extract_groups(_pattern(least, most, passed)).struct.unnest()
    bad = np.flatnonzero(frame["f0"].is_null().to_numpy())
    if bad.size:
        text = str(lines[int(bad[0])])
        n = len(text.split())
        raise InputError(
            f"{n} field{'s' * (n != 1)} in {_short(text)}",
            where=path,
            line=int(rows[bad[0]]),
            accepted=accepted,
            hint=_separator_hint(text),
        )
    ignored = {"SYSDESC lines": skip, "blank lines": total - len(rows) - skip}
    return Fields(
        frame, Source(path, (path,), lambda row: (path, int(rows[row]))), {k: n for k, n in ignored.items() if n}
    )


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _separator_hint(text: str) -> str:
    if "," in text and len(text.split()) < 3:
        return "Fields are separated by spaces or tabs here; a comma-separated table needs a header with column names"
    return "Correct this line"


def _pattern(least: int, most: int, passed: Collection[int]) -> str:
    """A line of ``least`` to ``most`` fields, with a named group for each field that is kept."""
    fields = [_FIELD if i in passed else f"(?<f{i}>{_FIELD})" for i in range(most)]
    must = rf"{_BLANK}+".join(fields[:least])
    may = "".join(rf"(?:{_BLANK}+{one}" for one in fields[least:]) + ")?" * (most - least)
    return rf"^{_BLANK}*{must}{may}{_BLANK}*\n?$"


@dataclass(frozen=True)
class TrecRows:
    """The columns of TREC run lines, queries and column 2 coded; what the fast and the exact reader both give."""

    queries: list[str]
    query: Codes
    seconds: list[str]
    second: Codes
    ids: pl.Series | IdColumn
    score: Floats
    source: Source
    ignored: dict[str, int]

    @property
    def doc(self) -> pl.Series:
        """The ids as a series."""
        return as_series(self.ids)
