"""What every result is: a table that shows itself to people, gives single values, and writes itself to files."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from lightmeter.errors import LightmeterError, suggest
from lightmeter.io.files import check_writable, write_whole
from lightmeter.results.sheet import WIDTH, Entry, Layout, Sheet
from lightmeter.results.text import printable

if TYPE_CHECKING:
    import pandas as pd

#: formats for people and for programs; ``html`` is what notebooks show
FORMATS = ("table", "csv", "jsonl", "parquet", "latex", "markdown", "html")
#: formats by the ending of a file's name
ENDINGS = {
    ".txt": "table",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
    ".html": "html",
}
_MOST_LISTED = 10
#: what a spreadsheet takes for a formula at the beginning of a cell, unless it is a number
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+\-]?[0-9]*\.?[0-9]+([eE][+\-]?[0-9]+)?$"


class Table:
    """The base of all results.

    A result says what its :meth:`frame` is and how people are shown it (:meth:`layout`); all else follows.

    Attributes
    ----------
    conventions
        The rules in force, in words.
    manifest
        How the result was computed.
    """

    conventions: dict[str, str]
    manifest: dict[str, Any]
    #: columns of which a value that is not named stands for all together, which is null in the frame
    totals: ClassVar[tuple[str, ...]] = ()
    #: the picture that :meth:`plot` makes, one of lightmeter.plots
    picture: ClassVar[str]
    #: the result as a long table
    frame: Callable[..., pl.DataFrame]

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """What people are shown: tables, as far as they can be no wider than ``width``, and notes.

        Parameters
        ----------
        width
            That of a terminal, if there is one.
        paths
            Runs that have no name but their path: they are shown without the folder that all have in common.
        options
            Those of :meth:`frame`.
        """
        return Layout([_sheet_of(self.frame(**options))])

    def records(self, **options: Any) -> pl.DataFrame:
        """The table that programs are given, as CSV, JSON lines or Parquet."""
        return self.frame(**options)

    def metadata(self) -> dict[str, Any]:
        """What a Parquet file says besides its table: the conventions and the manifest."""
        return {"conventions": self.conventions, "manifest": self.manifest}

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """The frame for pandas; options are those of :meth:`frame`.

        Raises
        ------
        LightmeterError
            Where pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise LightmeterError(
                "to_pandas needs the package 'pandas', which is not installed. Type: pip install pandas"
            ) from None
        # polars' own conversion would need pyarrow's functions
        return pd.DataFrame(self.frame(**options).to_dict(as_series=False))

    def to_latex(
        self, caption: str | None = None, label: str | None = None, columns: list[str] | None = None, **options: Any
    ) -> str:
        """The table that people are shown, for LaTeX with the packages booktabs and textcomp.

        Parameters
        ----------
        caption, label
            Of a ``table`` around it; without either there is only the ``tabular``.
        columns
            Names of the columns to show, in this order; None: all.
        """
        return self.layout(**options).select(columns).latex(caption, label)

    def to_markdown(self, columns: list[str] | None = None, **options: Any) -> str:
        """The table that people are shown, as a pipe table; ``columns`` picks some of them."""
        return self.layout(**options).select(columns).markdown()

    def render(self, form: str, *, width: int | None = None, paths: Collection[str] = (), **options: Any) -> bytes:
        """The result in one of the :data:`FORMATS`; ``width`` and ``paths`` as in :meth:`layout`."""
        if form == "parquet":
            return parquet(self.records(**options), self.metadata())
        if form in WRITERS:
            return WRITERS[form](self.records(**options))
        if form == "table":
            return self.layout(width or WIDTH, paths, **options).text(width).encode()
        layout = self.layout(None, paths, **options)
        return {"latex": layout.latex, "markdown": layout.markdown, "html": layout.html}[form]().encode()

    def write(self, path: str | os.PathLike[str], format: str | None = None, **options: Any) -> None:
        """Write the result to a file, which is there whole or stays as it was.

        Parameters
        ----------
        path
            Its ending says the format: ``.csv``, ``.jsonl``, ``.parquet``, ``.tex``, ``.md``, ``.html`` or ``.txt``.
        format
            ``csv``, ``jsonl``, ``parquet``, ``latex``, ``markdown``, ``html`` or ``table`` for another ending.
        options
            Those of :meth:`frame`.

        Raises
        ------
        LightmeterError
            Where the format is not known or the file cannot be written.
        """
        name = os.fspath(path)
        form = format if format is not None else ENDINGS.get(os.path.splitext(name)[1].lower())
        if form is None:
            raise LightmeterError(
                f"the name {name} says no format. Accepted: a name that ends in {', '.join(ENDINGS)}; or format=."
            )
        if form not in FORMATS:
            raise LightmeterError(f"format is {form!r}.{suggest(str(form), FORMATS)} Accepted: {', '.join(FORMATS)}.")
        check_writable(name, "path")
        write_whole(name, self.render(form, **options))

    def value(
        self, measure: str | None = None, group: str | None = None, *, column: str = "value", **where: Any
    ) -> float:
        """One number, NaN where it is undefined.

        Parameters
        ----------
        measure, group
            The measure of its row, where rows have one, and the group; None: all groups together.
        column
            The column that has the number.
        where
            Values of other columns that pick the row; None stands for all together.

        Raises
        ------
        LightmeterError
            No row or several rows are such.
        """
        found = one_row(self.frame(), self._keys(measure, group, where))
        if column not in found:
            raise LightmeterError(
                f"rows have no column {column!r}.{suggest(column, found)} There are: {', '.join(found)}."
            )
        return float("nan") if found[column] is None else float(found[column])

    def _keys(self, measure: str | None, group: str | None, where: dict[str, Any]) -> dict[str, Any]:
        keys: dict[str, Any] = {} if measure is None else {"measure": str(measure)}
        columns = self.frame().columns
        if group is not None or "group" in columns:
            keys["group"] = group
        return {**keys, **{name: None for name in self.totals if name in columns}, **where}

    def plot(self, *arguments: Any, **options: Any) -> Any:
        """A picture of the result; arguments are those of the picture. There are others in :mod:`lightmeter.plots`."""
        from lightmeter import plots

        return getattr(plots, self.picture)(self, *arguments, **options)

    def _repr_html_(self) -> str:
        return self.layout().html()

    def __repr__(self) -> str:
        layout = self.layout(WIDTH)
        rules = [f"{name}: {rule}" for name, rule in self.conventions.items()]
        notes = [*layout.notes, *(rule for rule in rules if rule not in layout.notes)]
        return Layout(layout.sheets, notes).text().rstrip("\n")


def _sheet_of(frame: pl.DataFrame) -> Sheet:
    """Any frame for people: its texts and whole numbers as labels, its other numbers as values."""
    values = [name for name, kind in frame.schema.items() if kind.is_float()]
    index = [name for name in frame.columns if name not in values]
    frame = finite(frame)
    rows = [
        (
            tuple("" if row[name] is None else printable(str(row[name])) for name in index),
            [Entry(row[name]) for name in values],
        )
        for row in frame.iter_rows(named=True)
    ]
    return Sheet(index, [(name, None) for name in values], rows)


def one_row(rows: pl.DataFrame, given: dict[str, Any]) -> dict[str, Any]:
    """The row in which every column has the value given.

    Parameters
    ----------
    rows
        A long table.
    given
        Values by column; None stands for null, all together.

    Raises
    ------
    LightmeterError
        No row or several rows are such; the message names the first value that no row has, and those there are.
    """
    numbers = ("value", "low", "high", "n", "reason", "se")
    for name in given:
        if name not in rows.columns:
            known = [c for c in rows.columns if c not in numbers]
            raise LightmeterError(f"rows have no column {name!r}.{suggest(name, known)} There are: {', '.join(known)}.")
    left, so_far = rows, ""
    # what is named first: whether a group is there depends on the attribute
    for name in sorted(given, key=lambda c: (c != "measure", c == "group")):
        value = given[name]
        some = left.filter(pl.col(name).is_null()) if value is None else left.filter(_equal(left[name], value))
        if not len(some):
            raise LightmeterError(_missing(left[name], name, value, so_far))
        left = some
        so_far = f"{value} has rows, but none with " if name == "measure" else so_far
    if len(left) > 1:
        labels = [c for c in left.columns if left.schema[c] == pl.String and c != "reason"]
        open_columns = [c for c in labels if left[c].n_unique() > 1] or [
            c for c in left.columns if c not in numbers and left[c].n_unique() > 1
        ]
        there = " and the ".join(f"{c} ({_listed(left[c])})" for c in open_columns)
        which = f"rows of {given['measure']}" if "measure" in given else "rows"
        raise LightmeterError(f"{len(left)} {which} are such. Name the {there}.")
    if not len(left):
        raise LightmeterError("the result has no rows.")
    return left.row(0, named=True)


def _equal(column: pl.Series, value: Any) -> pl.Series:
    """Where the value stands; nowhere if it is of another type than the column."""
    accepted = str if column.dtype == pl.String else (int, float, np.integer, np.floating)
    if not isinstance(value, accepted) or isinstance(value, bool):
        return pl.repeat(False, len(column), eager=True)
    return column.eq_missing(pl.Series([value]))


def _missing(column: pl.Series, name: str, value: Any, so_far: str) -> str:
    """That no row has the value, and which there are."""
    shown = f"{name} {value!r}" if value is not None else f"{name}=None ({_together(name)})"
    texts = [str(v) for v in column.drop_nulls().unique(maintain_order=True)]
    hint = suggest(str(value), texts) if value is not None and column.dtype == pl.String else ""
    return f"{so_far or 'no rows have '}{shown}.{hint} There are: {_listed(column)}."


def _together(name: str) -> str:
    """What null stands for in a column."""
    together = {"cutoff": "the whole list", "group": "all groups together", "query": "all queries together"}
    return together.get(name, "none")


def _listed(column: pl.Series) -> str:
    texts = [
        f"None ({_together(column.name)})" if v is None else str(v)
        for v in column.unique(maintain_order=True).to_list()
    ]
    more = f" and {len(texts) - _MOST_LISTED} more" if len(texts) > _MOST_LISTED else ""
    return ", ".join(texts[:_MOST_LISTED]) + more


def finite(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null in place of NaN and infinities, which no format for programs has."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_float()]
    return frame.with_columns(pl.when(pl.col(n).is_finite()).then(pl.col(n)).alias(n) for n in numbers)


def jsonl(frame: pl.DataFrame) -> bytes:
    """One JSON object per row, with all keys in the order of the columns and numbers in full precision.

    Examples
    --------
    >>> jsonl(pl.DataFrame({"run": ["a"], "value": [float("nan")]}))
    b'{"run":"a","value":null}\\n'
    """
    buffer = io.BytesIO()
    finite(frame).write_ndjson(buffer)
    return buffer.getvalue()


def csv(frame: pl.DataFrame) -> bytes:
    """Comma-separated values with a header.

    People open them in spreadsheets: texts that one would compute get an apostrophe before them, as spreadsheets
    themselves do.

    Examples
    --------
    >>> csv(pl.DataFrame({"run": ["a, b", "=1+1", "-3"], "value": [None, 0.5, 1.0]}))
    b'run,value\\n"a, b",\\n\\'=1+1,0.5\\n-3,1.0\\n'
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    disarmed = finite(frame).with_columns(
        pl.when(pl.col(n).str.contains(_FORMULA) & ~pl.col(n).str.contains(_NUMBER))
        .then(pl.lit("'") + pl.col(n))
        .otherwise(pl.col(n))
        .alias(n)
        for n in texts
    )
    buffer = io.BytesIO()
    disarmed.write_csv(buffer)
    return buffer.getvalue()


def parquet(frame: pl.DataFrame, metadata: dict[str, Any] | None = None) -> bytes:
    """A Parquet file; ``metadata`` stands in its schema as JSON, under the key ``lightmeter``."""
    from pyarrow import parquet as pq

    table = finite(frame).to_arrow()
    if metadata is not None:
        table = table.replace_schema_metadata({"lightmeter": json.dumps(metadata, default=str)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


#: what writes a frame in a format for programs
WRITERS: dict[str, Callable[[pl.DataFrame], bytes]] = {"csv": csv, "jsonl": jsonl, "parquet": parquet}
