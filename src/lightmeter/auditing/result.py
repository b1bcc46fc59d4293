"""What an audit hands over."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from lightmeter.errors import TermError
from lightmeter.results.conditions import Checked
from lightmeter.results.sheet import Layout
from lightmeter.results.table import Table, one_row
from lightmeter.terms.notation import Condition


@dataclass(frozen=True, repr=False)
class AuditResult(Table):
    """The audit of a table: rows, curves, and how they were made.

    Printing it shows the table for people, with the conventions and notes below. Small groups are masked in everything
    that it holds.

    Attributes
    ----------
    rows
        One row a value, see :meth:`frame`.
    conventions
        The rules in force, in words.
    notes
        What to beware of: small groups, ties at a cutoff, labels, inferred groups, ratios below four fifths.
    manifest
        How the result was made: version, conventions, counts.
    preset
        The layout asked for, or None.
    """

    rows: pl.DataFrame
    curves: pl.DataFrame
    conventions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    manifest: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    #: the picture of :meth:`plot`, whose arguments are a measure, ``attribute=`` and ``score=``
    picture: ClassVar[str] = "cutoffs"

    def frame(self) -> pl.DataFrame:
        """One row a value, as on the command line.

        Returns
        -------
        polars.DataFrame
            ``measure``; ``cutoff``, null for the whole list; ``attribute``, whose groups they are; ``group``, null for
            what concerns all of them; ``reference``, the group that it is compared with, or null; ``score``, the column
            that the rows were ranked by; ``value``; ``low`` and ``high``, its interval, null where it has none; ``n``,
            the rows of the group (of NDKL: of known group); ``reason``, why there is no value or no interval. With
            several queries a column ``query`` stands first; null there: all queries together.
        """
        return self.rows

    def table(self) -> pl.DataFrame:
        """The same as :meth:`frame`."""
        return self.rows

    def curve(self) -> pl.DataFrame:
        """``share`` and ``exposure_ratio`` of each group over the cutoffs from 1 to the whole list.

        ``low`` and ``high`` are a simultaneous band: with the level's probability the whole curve lies within. Where
        fewer than ten of a group are among the first k, the band of ``share`` is an exact one, and there is none of
        ``exposure_ratio`` (``few_in_top``).
        """
        return self.curves

    def value(
        self, measure: str | None = None, group: str | None = None, *, column: str = "value", **where: Any
    ) -> float:
        """One value, NaN where it is undefined or masked.

        Parameters
        ----------
        measure, group
            Name of the measure, also with a cutoff as in ``"exposure_ratio@100"``, and the group (None for what
            concerns all of them).
        where
            Other columns of the row: ``cutoff=100`` (``"all"`` or None: the whole list), ``attribute="sex"``,
            ``score="p"``, ``query="q1"``.

        Raises
        ------
        LightmeterError
            No row or several rows are such.
        """
        given = {"cutoff": None, **where}
        if self.rows.filter(pl.col("measure") == str(measure)).is_empty():
            with suppress(TermError):  # written another way, or with a cutoff
                measure, cutoff = _as_named(str(measure), "cutoff" in where)
                given["cutoff"] = given["cutoff"] if cutoff is None else cutoff
        if given["cutoff"] == "all":
            given["cutoff"] = None
        if "query" in self.rows.columns:
            given = {"query": None, **given}
        only = one_row(self.rows, {"measure": measure, "group": group, **given})[column]
        return float("nan") if only is None else float(only)

    def checked(self, condition: Condition) -> Iterator[Checked]:
        """The numbers that a condition of ``--fail-if`` is about."""
        from lightmeter.auditing.conditions import checked

        return checked(self, condition)

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """One table for each attribute (and query), with the conventions and notes below."""
        from lightmeter.auditing.layout import layout

        return layout(self)


def _as_named(text: str, has_cutoff: bool) -> tuple[str, Any]:
    """A measure's name as rows have it, and its cutoff, from what conditions take before their sign.

    What else they take picks other rows or another number, and nothing that is asked for is passed over.
    """
    from lightmeter.auditing.conditions import read_condition

    picked = read_condition(f"{text} < 0").measure
    if picked.number != "value" or picked.where or (has_cutoff and picked.cutoff is not None):
        raise TermError(f"{text!r} is more than a measure's name and a cutoff.")
    return picked.measure, picked.cutoff
