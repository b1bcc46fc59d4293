"""One log table is enough: groups and labels that are columns of the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from lightmeter.errors import InputError, suggest
from lightmeter.io.attributes import Options, build_attribute
from lightmeter.io.binning import plain_text
from lightmeter.io.checks import drop_repeats, known_cells, numbers
from lightmeter.io.judgments import grades
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import AttributeTable, JudgmentTable, RunTable


def attributes_from_columns(
    run: RunTable,
    names: Sequence[str],
    *,
    bins: Mapping[str, Sequence[float]] | None = None,
    ordinal: Mapping[str, Sequence[str]] | None = None,
    bias: Collection[str] = (),
) -> list[AttributeTable]:
    """Groups from columns of the run's own table.

    Parameters
    ----------
    run
        A run with ``extra`` columns.
    names
        The columns that are attributes.
    bins, ordinal, bias
        As for :func:`~lightmeter.io.groups.read_groups`.

    Returns
    -------
    list of AttributeTable
        By document where a document has the same value everywhere, else by query and document.
    """
    options = Options(dict(ordinal or {}), dict(bins or {}), tuple(bias))
    options.check_used(list(names), run.source.name)
    made = []
    for name in names:
        column = extra_column(run, name)
        keys = pl.DataFrame({"doc": run.doc})
        shown = plain_text(column, run.source).alias(name) if column.dtype.is_nested() else column
        if keys.with_columns(known_cells(shown)[0].alias("_v")).n_unique() > run.doc.n_unique():
            keys = keys.with_columns(_query_ids(run).alias("query"))
        one = build_attribute(column, keys, run.source, options, count=False)
        if one is None:
            raise InputError(
                "the column has no value in any row", where=run.source.name, column=name, accepted="a column of groups"
            )
        made.append(one)
    return made


def judgments_from_columns(run: RunTable, name: str) -> JudgmentTable:
    """Judgments from a column of grades or labels in the run's own table.

    Rows without a grade are unjudged and counted. A pair that is ranked several times (in several samples) must have
    one grade.
    """
    column = extra_column(run, name)
    if column.dtype.is_nested():
        numbers(column, "grade", run.source)
    known = column.is_not_null()
    if column.dtype.is_float():
        known = known & column.is_not_nan()
    if not known.any():
        raise InputError("the column has no grade in any row", where=run.source.name, column=name, accepted="numbers")
    filled = (
        pl.DataFrame({"g": column, "k": known})
        .select(pl.when("k").then("g").otherwise(pl.lit(0, dtype=pl.Int8).cast(column.dtype)))
        .to_series()
    )
    value = grades(filled.rename(name), run.source)
    frame = pl.DataFrame({"query": _query_ids(run), "doc": run.doc, "grade": value, "_known": known})
    frame = frame.with_columns(pl.when("_known").then("grade").alias("grade")).drop("_known")
    kept, repeated = drop_repeats(frame, ["query", "doc"], "grade", run.source, "grade")
    judged = kept.drop_nulls("grade")
    return JudgmentTable(
        run.source,
        judged,
        add_counts({"repeated judgments": repeated, "rows without a grade": len(kept) - len(judged)}),
    )


def extra_column(run: RunTable, name: str) -> pl.Series:
    """A column of the run's table that is none of the run's own."""
    have = run.extra.columns if run.extra is not None else []
    if run.extra is None or name not in have:
        shown = ", ".join(map(repr, have)) or "none"
        raise InputError(
            f"no further column {name!r}; there are {shown}",
            where=run.source.name,
            accepted="a column of the run's table",
            hint=f"{suggest(name, have)} Correct the name".strip(),
        )
    return run.extra[name]


def _query_ids(run: RunTable) -> pl.Series:
    return pl.Series("query", run.queries, dtype=pl.String).gather(run.query)
