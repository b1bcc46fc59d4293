"""Forms of tables: which columns a reader needs, what may stand in them, and what rows that repeat one another mean.

A reader of runs, judgments, intents, targets or groups is a :class:`Form`; :func:`lightmeter.io.tabular.read` turns a
file or frame into its checked columns. Adding one is writing a form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.columns import NUMBER, drop_repeats, fault, first, identifiers, numbers, plain_text
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import Source, Table

Columns = Mapping[str, str]
_DECIMAL = NUMBER.removeprefix("^").removesuffix("$")
#: what a number looks like that tells lines of fields from a header
_LOOKS: dict[str, re.Pattern[str]] = {
    "score": re.compile(rf"{_DECIMAL}|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE),
    "grade": re.compile(rf"L?(?:{_DECIMAL})"),
}
_NUMBER = re.compile(_DECIMAL)


@dataclass(frozen=True)
class Column:
    """A column that a reader knows.

    Attributes
    ----------
    name
        Our name for it, which ``--columns`` may map to the table's.
    kind
        What its cells are: a key of :data:`KINDS`.
    required
        Whether a table without it is refused.
    least
        The least number it may have.
    hint
        What to do where it is missing.
    """

    name: str
    kind: str = "id"
    required: bool = True
    least: float | None = None
    hint: str = ""

    @property
    def word(self) -> str:
        """What messages call it."""
        return "document" if self.name == "doc" else self.name


@dataclass(frozen=True)
class Form:
    """A description of a table.

    Attributes
    ----------
    accepted
        What messages say is accepted.
    columns
        Its columns.
    lines
        What the fields of lines without a header are: names of columns, None for a field that is not read; one tuple
        for each number of fields that a line may have.
    keys, values
        Rows that repeat the keys are kept once and counted where they agree in each of the values (without values: in
        the keys), and refused where they differ. Without keys nothing is looked for.
    repeated, hint
        How such rows are counted, and what to do about those that differ.
    what
        What is to be read, for messages about paths.
    folder
        Whether a folder or pattern of part files is read as one table.
    """

    accepted: str
    columns: tuple[Column, ...]
    lines: tuple[tuple[str | None, ...], ...] = ()
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    repeated: str = "repeated rows"
    hint: str | None = None
    what: str | None = None
    folder: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns of ids."""
        return tuple(c.name for c in self.columns if c.kind in ("id", "optional id"))

    @property
    def header(self) -> set[str]:
        """Names by which a header is known."""
        fields = {name for line in self.lines for name in line}
        return {c.name for c in self.columns if c.required or c.name in fields}

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether a line looks like one without a header: as many fields, a number where the last of ours stands."""
        line = next((line for line in self.lines if len(line) == len(cells)), None)
        if line is None:
            return False
        at = max(i for i, name in enumerate(line) if name is not None)
        kind = next(c.kind for c in self.columns if c.name == line[at])
        return _LOOKS.get(kind, _NUMBER).fullmatch(cells[at]) is not None

    def only(self, *names: str) -> Form:
        """The form with some of its columns, each required."""
        return replace(self, columns=tuple(replace(c, required=True) for c in self.columns if c.name in names))


def table_form(*names: str, what: str | None = None) -> Form:
    """The form of a table with a header that is checked elsewhere; ``query`` and ``doc`` are ids."""
    others = tuple(Column(name, "any") for name in names if name not in ("query", "doc"))
    return Form("a table", (Column("query", required=False), Column("doc", required=False), *others), what=what)


def find(table: Table, wanted: str, columns: Columns | None = None) -> str | None:
    """The table's name for one of our columns: the mapped name if it is there, else ours, else None."""
    mapped = (columns or {}).get(wanted)
    return next((name for name in (mapped, wanted) if name is not None and name in table.frame.columns), None)


def need(table: Table, wanted: str, columns: Columns | None, accepted: str, also: str = "") -> str:
    """Like :func:`find`, but a missing column is an error that shows the columns there are (``also``: a hint)"""
    name = find(table, wanted, columns)
    if name is not None:
        return name
    have = table.frame.columns
    shown = ", ".join(map(repr, have[:12])) + (", .." if len(have) > 12 else "")
    mapped = (columns or {}).get(wanted)
    sought = f"no column {mapped!r} (for {wanted!r})" if mapped else f"no column {wanted!r}"
    hints = [suggest(mapped or wanted, have).strip(), f"Name the right one with --columns {wanted}=COLUMN", also]
    raise InputError(
        f"{sought}; the columns are {shown}",
        where=table.source.name,
        line=1 if table.source.files and not table.source.files[0].endswith(".parquet") else None,
        accepted=accepted,
        hint=" ".join(h if h[-1] in ".?" else f"{h}." for h in hints if h),
    )


def locate(table: Table, form: Form, columns: Columns | None = None) -> dict[str, str]:
    """The table's name of each column of the form that it has."""
    found: dict[str, str] = {}
    for column in form.columns:
        name = find(table, column.name, columns)
        if name is None and column.required:
            need(table, column.name, columns, form.accepted, column.hint)
        elif name is not None:
            found[column.name] = name
    return found


def check(table: Table, form: Form, columns: Columns | None = None) -> Table:
    """The columns of the form under our names, checked cell by cell, and rows that repeat others dropped and counted.

    Raises
    ------
    InputError
        At the first fault: a column that is missing, a cell of the wrong kind, rows that contradict each other.
    """
    names = locate(table, form, columns)
    checked = {c.name: KINDS[c.kind](table.frame[names[c.name]], c, table) for c in form.columns if c.name in names}
    frame = pl.DataFrame([column.alias(name) for name, column in checked.items()])
    source, counted = table.source, dict[str, int]()
    if form.keys:
        kept = rows = frame.with_row_index("_row")
        for value in form.values or form.keys[-1:]:
            kept, repeated = drop_repeats(rows, list(form.keys), value, source, value, form.hint)
            counted = {form.repeated: repeated}
        if len(kept) < len(rows):
            frame, source = kept.drop("_row"), source.rows(kept["_row"])
    return Table(frame, source, add_counts(table.ignored, counted), table.headless)


def _id(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return identifiers(column, form.word, table.source)


def _label(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return identifiers(plain_text(column, table.source).rename(column.name), form.word, table.source)


def _optional_id(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return plain_text(column, table.source)


def _sparse_id(column: pl.Series, form: Column, table: Table) -> pl.Series:
    known = column.drop_nulls() if column.null_count() else column
    if len(known):
        identifiers(known, form.word, table.source)
    return column.cast(pl.String)


def _text(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return plain_text(column, table.source) if column.dtype.is_nested() else column.cast(pl.String)


def _number(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return numbers(column, form.word, table.source, least=form.least, named=not table.headless)


def _score(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return numbers(column, form.word, table.source, named=not table.headless, truth=False)


def _rank(column: pl.Series, form: Column, table: Table) -> pl.Series:
    ranks = numbers(column, form.word, table.source, least=0.0, truth=False)
    if (row := first(ranks != ranks.round())) is not None:
        raise fault(
            f"the rank {column[row]} is not a whole number",
            table.source,
            row,
            column=column.name,
            accepted="whole numbers from 0 or 1 up",
        )
    return ranks


def _grade(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return grades(column, table.source, named=not table.headless)


def grades(column: pl.Series, source: Source, *, named: bool = True) -> pl.Series:
    """Grades as numbers; text may be ``L2`` for 2."""
    if column.dtype != pl.String or not bool(column.str.starts_with("L").any()):
        return numbers(column, "grade", source, named=named)
    try:
        return numbers(column.str.replace(r"^L([0-9.+-])", "$1"), "grade", source, named=named)
    except InputError:
        # say it with the text as it stands
        numbers(column.str.replace(r"^L([0-9.+-].*)$", "0"), "grade", source, named=named)
        raise


def _any(column: pl.Series, form: Column, table: Table) -> pl.Series:
    return column


KINDS: dict[str, Callable[[pl.Series, Column, Table], pl.Series]] = {
    "id": _id,
    "optional id": _optional_id,
    "sparse id": _sparse_id,
    "label": _label,
    "text": _text,
    "number": _number,
    "score": _score,
    "rank": _rank,
    "grade": _grade,
    "any": _any,
}
"""What the cells of a column may be.

``id``: text or whole numbers, never empty; ``optional id``: text that may be empty; ``sparse id``: an
id, or nothing; ``label``: the same as text, never
empty, but numbers and truth values too; ``text``: anything as text; ``number``: finite, from ``least`` up; ``score``:
finite, but not true or false; ``rank``: whole, from 0 up; ``grade``: a number or ``L2``; ``any``: not looked at.
"""
