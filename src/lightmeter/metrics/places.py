"""The rows of a metric's call, checked and ranked: one list, or one a query."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.auditing.ranking import RankedTable, view_of
from lightmeter.errors import InputError, LightmeterError, TermError, suggest
from lightmeter.io.columns import numbers
from lightmeter.io.tables import Source
from lightmeter.models.users import User, user_of

Ties = Literal["expected", "order", "error"]
TIES: tuple[Ties, ...] = ("expected", "order", "error")
_UNKNOWN = "unknown"


class UndefinedWarning(UserWarning):
    """A metric is undefined, and its value NaN; the text says why."""


@dataclass(frozen=True)
class Places:
    """Rows by query and falling score.

    Attributes
    ----------
    ranked
        Ranks, and what each place shares with those of the same score.
    queries
        Number of lists.
    groups
        The groups' names, those of most rows first.
    code
        Group of each place, ``len(groups)`` where it is unknown.
    weight
        How many members each place counts for.
    merit
        Label of each place, or None.
    """

    ranked: RankedTable
    queries: int
    groups: tuple[Any, ...]
    code: Integers
    weight: Floats
    merit: Floats | None

    @property
    def query(self) -> Integers:
        """The list of each place."""
        return self.ranked.query

    def sums(self, amount: Floats) -> Floats:
        """Weighted sums by query and group, ``[queries, groups]``; the unknown are in none."""
        width = len(self.groups) + 1
        total = np.bincount(self.query * width + self.code, self.weight * amount, minlength=self.queries * width)
        return np.asarray(total, dtype=np.float64).reshape(self.queries, width)[:, :-1]

    def members(self) -> Floats:
        """Members of each group, ``[queries, groups]``."""
        return self.sums(np.ones(len(self.weight)))

    def exposure(self, user: User, k: int | None) -> Floats:
        """Exposure of each place."""
        return self.ranked.exposure(view_of(user, self.ranked.longest), k)

    def inside(self, k: int) -> Floats:
        """How likely each place is among the first k of its list."""
        return self.ranked.inside(k, np.arange(len(self.ranked)))

    def code_of(self, what: str, name: Any) -> int:
        """The position of a group by its name."""
        for at, value in enumerate(self.groups):
            if value == name:
                return at
        shown = ", ".join(map(repr, self.groups[:12])) + (", .." if len(self.groups) > 12 else "")
        hint = suggest(str(name), map(str, self.groups))
        raise LightmeterError(f"{what} is {name!r}, which is no group.{hint} Groups: {shown}.")


def places(
    y_true: Any,
    y_score: Any,
    groups: Any,
    k: Any,
    sample_weight: Any,
    queries: Any,
    ties: str,
    *,
    merit: bool = False,
    needs_k: str | None = None,
) -> Places:
    """Check the arguments that all metrics share, and rank the rows.

    ``merit``: ``y_true`` is read; else it is not looked at. ``needs_k`` names a metric that has no value without k.
    """
    if ties not in TIES:
        raise LightmeterError(
            f"ties is {ties!r}.{suggest(str(ties), TIES)} Accepted: expected (equal scores share what their places "
            "get), order (the order of the rows), error."
        )
    _check_k(k, needs_k)
    score = numbers(column_of("y_score", y_score), "score", Source("y_score"), named=False).to_numpy()
    if not len(score):
        raise LightmeterError("y_score is empty. Accepted: a score for each row, at least one.")
    query, count = _codes_of_queries(queries, len(score))
    ranked = RankedTable(score, query, "expected" if ties == "expected" else "file", name="y_score", source=_HERE)
    if ties == "error" and ranked.tied:
        raise LightmeterError(
            f"{ranked.tied} rows share their score with another of the same list. Accepted with ties='error': "
            "different scores; else ties='expected' or 'order'."
        )
    order = ranked.order
    names, code = ((), np.zeros(len(score), dtype=np.int64)) if groups is None else _groups(groups, len(score))
    weight = np.ones(len(score))
    if sample_weight is not None:
        weight = amounts("sample_weight", sample_weight, len(score))
        if not weight.any():
            raise LightmeterError("sample_weight is 0 throughout. Accepted: weights from 0 up, some above 0.")
    label = None
    if merit:
        if y_true is None:
            raise LightmeterError("y_true is None. Accepted: a label for each row, 0 or 1, or a number from 0 up.")
        label = amounts("y_true", y_true, len(score))[order]
    return Places(ranked, count, names, code[order], weight[order], label)


_HERE = Source("y_score")


def _check_k(k: Any, needs_k: str | None) -> None:
    if k is None and needs_k is not None:
        raise LightmeterError(f"{needs_k} needs k, how many of the list are selected. Accepted: a whole number from 1.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise LightmeterError(f"k is {k!r}. Accepted: a whole number of at least 1, or None for the whole list.")


def column_of(what: str, given: Any) -> pl.Series:
    """One value a row as a series: a list, an array, or a series of pandas, polars or whichever frame."""
    if given is None or isinstance(given, str | bytes | dict) or not hasattr(given, "__len__"):
        raise InputError(f"{what} is {_kind(given)}", accepted="one value a row: a list, an array or a series")
    shape = getattr(given, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        given = given.to_numpy().ravel() if hasattr(given, "to_numpy") else np.asarray(given).ravel()
        shape = given.shape
    if shape is not None and len(shape) != 1:
        raise InputError(
            f"{what} has the shape {tuple(shape)}",
            accepted="one value a row",
            hint="Of a classifier's probabilities give the column of the class that is to be ranked first"
            if what == "y_score"
            else None,
        )
    try:
        if isinstance(given, pl.Series):
            return given.alias(what)
        if hasattr(given, "to_numpy"):
            given = given.to_numpy()
        values = given if isinstance(given, np.ndarray) and given.dtype != object else list(given)
        if isinstance(values, list) and any(isinstance(v, float) for v in values):
            values = [None if isinstance(v, float) and v != v else v for v in values]
        return pl.Series(what, values)
    except (pl.exceptions.PolarsError, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{what} cannot be read ({str(error).splitlines()[0]})", accepted="one value a row, of one type"
        ) from None


def _kind(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _aligned(what: str, column: pl.Series, rows: int) -> pl.Series:
    if len(column) != rows:
        raise LightmeterError(f"{what} has {len(column)} rows and y_score {rows}. Accepted: one value a row in both.")
    return column


def amounts(what: str, given: Any, rows: int) -> Floats:
    column = _aligned(what, column_of(what, given), rows)
    return numbers(column, what, Source(what), least=0.0, named=False).to_numpy()


def _codes_of_queries(queries: Any, rows: int) -> tuple[Integers, int]:
    if queries is None:
        return np.zeros(rows, dtype=np.int64), 1
    column = _aligned("queries", column_of("queries", queries), rows)
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InputError("the query is missing", where="queries", row=row, accepted="the query of every row")
    code = column.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def _groups(given: Any, rows: int) -> tuple[tuple[Any, ...], Integers]:
    """Names of the groups, the largest first, and the code of each row; None, NaN, '' and 'unknown' are unknown."""
    column = _aligned("groups", _group_column(given), rows)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.set(column.is_in(["", _UNKNOWN]).fill_null(False), None)
    if column.dtype.is_float() and column.drop_nulls().len():
        whole = column.drop_nulls()
        if not (whole == whole.round()).all():
            raise LightmeterError(
                "groups are numbers with fractions. Accepted: names or whole numbers; put a measured number into "
                "bins first."
            )
    counted = (
        pl.DataFrame({"value": column.drop_nulls()})
        .group_by("value")
        .len()
        .sort(["len", "value"], descending=[True, False])
    )
    if not len(counted):
        raise LightmeterError("nothing is known about groups. Accepted: the group of each row, some of them known.")
    counted = counted.with_row_index("code")
    code = pl.DataFrame({"value": column}).join(counted, on="value", how="left", maintain_order="left")["code"]
    return tuple(counted["value"].to_list()), code.fill_null(len(counted)).to_numpy().astype(np.int64)


def _group_column(given: Any) -> pl.Series:
    """The groups of each row; the columns of a frame are combined."""
    columns = getattr(given, "columns", None)
    if columns is None or not len(columns):
        return column_of("groups", given)
    parts = [column_of("groups", given[c]).cast(pl.String) for c in columns]
    frame = pl.DataFrame([p.alias(str(i)) for i, p in enumerate(parts)])
    known = [pl.when(pl.col(c).is_in(["", _UNKNOWN])).then(None).otherwise(pl.col(c)) for c in frame.columns]
    return frame.select(pl.concat_str(known, separator=",", ignore_nulls=False).alias("groups")).to_series()


def user_who_knows_ranks(user: Any, default: Callable[[], User]) -> User:
    """The user of a call, who must know the rank only."""
    chosen = default() if user is None else user_of(user)
    if chosen.by_document:
        raise TermError(
            f"{chosen} looks at the documents above. Accepted: users who know the rank only, such as DCG, RBP(p=0.8), "
            "Inverse or TopK(k=10)."
        )
    return chosen


def mean(name: str, values: Floats, reason: str) -> float:
    """The mean over the lists in which the metric is defined; NaN with a warning where there is none."""
    some = values[~np.isnan(values)]
    if len(some):
        return float(some.mean())
    warnings.warn(f"{name} is undefined: {reason}.", UndefinedWarning, stacklevel=3)
    return float("nan")
