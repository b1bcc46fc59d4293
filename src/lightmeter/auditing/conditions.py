"""Conditions on the rows of an audit, for a check in a pipeline: ``exposure_ratio(group='f')@100 < 0.8``.

Written as conditions on measures are. What stands in brackets picks rows by their columns, ``@k`` those of a cutoff; a
condition that picks no cutoff is about all of them and the whole list. ``.low`` and ``.high`` stand for the ends of the
interval in place of the value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from lightmeter.auditing.result import AuditResult
from lightmeter.auditing.table import UNKNOWN
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.models.users import user_of
from lightmeter.results.conditions import Checked
from lightmeter.terms.notation import Condition, parse_condition

COLUMNS = ("attribute", "group", "reference", "score", "query")
#: what a condition can be about
NUMBERS = ("value", "low", "high", "n")
WHOLE = "all"
#: what a condition is made of, in words
FORM = (
    "a measure of the audit, a sign and a number, such as exposure_ratio < 0.8, or "
    "selection_rate_ratio(attribute='sex', group='f')@100 < 0.8; .low and .high stand for the ends of its interval"
)


@dataclass(frozen=True)
class Picked:
    """Which numbers of an audit a condition is about.

    Attributes
    ----------
    measure
        Its name, as in the column ``measure``.
    number
        ``value``, ``low``, ``high`` or ``n``.
    cutoff
        A cutoff, ``"all"`` for the whole list, or None for every one of them.
    where
        Columns and what stands in them.
    text
        As it was written.
    """

    measure: str
    text: str
    number: str = "value"
    cutoff: int | str | None = None
    where: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def rows(self, result: AuditResult) -> pl.DataFrame:
        """The rows picked: those of all queries together unless a query is named, and not those of unknown group.

        Raises
        ------
        LightmeterError
            There is none: what is asked for is not in this audit.
        """
        rows = result.rows
        here = rows["measure"].unique(maintain_order=True).to_list()
        if self.measure not in here:
            hint = suggest(self.measure, here)
            raise LightmeterError(f"--fail-if: this audit has no {self.measure!r}.{hint} It has: {', '.join(here)}.")
        found = rows.filter(pl.col("measure") == self.measure)
        if "query" in rows.columns and "query" not in self.where:
            found = found.filter(pl.col("query").is_null())
        if self.where.get("group") != UNKNOWN:
            found = found.filter(pl.col("group").ne_missing(UNKNOWN))
        if self.cutoff is not None:
            whole = self.cutoff == WHOLE
            found = self._some(found, "cutoff", None if whole else self.cutoff)
        for column, value in self.where.items():
            if column not in rows.columns:
                raise LightmeterError(
                    f"--fail-if: {self.text}: the rows have no {column}; name its column with --{column}."
                )
            found = self._some(found, column, value)
        return found

    def _some(self, rows: pl.DataFrame, column: str, value: Any) -> pl.DataFrame:
        found = rows.filter(pl.col(column).eq_missing(pl.lit(value, rows.schema[column])))
        if len(found):
            return found
        every = rows[column].unique(maintain_order=True)
        there = [WHOLE if v is None and column == "cutoff" else str(v) for v in every]
        raise LightmeterError(
            f"--fail-if: {self.text}: no row of {self.measure} has {column} {WHOLE if value is None else value}."
            f"{suggest(str(value), there)} There are: {', '.join(there)}."
        )


def checked(result: AuditResult, condition: Condition) -> Iterator[Checked]:
    """The numbers of an audit that a condition is about."""
    picked: Picked = condition.measure
    several = result.rows["score"].n_unique() > 1
    for row in picked.rows(result).iter_rows(named=True):
        yield Checked(_who(row, several), row[picked.number], row["reason"] or f"it has no {picked.number}")


def read_condition(text: str) -> Condition:
    """A condition from its notation.

    Raises
    ------
    TermError
        Where it is none.

    Examples
    --------
    >>> condition = read_condition("exposure_ratio(attribute='sex').high@100 < .8")
    >>> condition.measure.number, condition.measure.cutoff, condition.threshold
    ('high', 100, 0.8)
    """
    return parse_condition(text, _picked)


def _picked(tree: ast.expr, text: str) -> Picked:
    shown = ast.unparse(tree).replace(" @ ", "@")
    cutoff: int | str | None = None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        cutoff = _cutoff(tree.right, text)
        tree = tree.left
    number = "value"
    if isinstance(tree, ast.Attribute):
        number, tree = tree.attr, tree.value
        if number not in NUMBERS:
            raise TermError(f"{text!r} asks for .{number}.{suggest(number, NUMBERS)} Accepted: .{', .'.join(NUMBERS)}.")
    where: dict[str, str] = {}
    user = ""
    if isinstance(tree, ast.Call):
        if tree.args or any(k.arg is None for k in tree.keywords):
            raise TermError(f"columns are named in {text!r}: {', '.join(f'{c}=..' for c in COLUMNS)}.")
        for keyword in tree.keywords:
            name = str(keyword.arg)
            if name == "user":
                user = f"(user={user_of(ast.unparse(keyword.value))})"
            elif name in COLUMNS and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                where[name] = keyword.value.value
            elif name in COLUMNS:
                raise TermError(f"{name} is {ast.unparse(keyword.value)} in {text!r}. Accepted: a text in quotes.")
            else:
                known = (*COLUMNS, "user")
                raise TermError(f"{text!r} picks by {name!r}.{suggest(name, known)} Accepted: {', '.join(known)}; @k.")
        tree = tree.func
    if not isinstance(tree, ast.Name):
        raise TermError(f"{text!r} is not a condition. Accepted: {FORM}.")
    return Picked(tree.id + user, shown, number, cutoff, where)


def _cutoff(tree: ast.expr, text: str) -> int | str:
    if isinstance(tree, ast.Name) and tree.id == WHOLE:
        return WHOLE
    value = tree.value if isinstance(tree, ast.Constant) else None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise TermError(
        f"the cutoff {ast.unparse(tree)} in {text!r} is no whole number of at least 1. Accepted: such as @100, or "
        f"@{WHOLE} for the whole list."
    )


def _who(row: dict[str, Any], several: bool) -> str:
    """Which row it is, in words."""
    parts = [row["attribute"] + (f" {row['group']}" if row["group"] is not None else "")]
    parts.append("the whole list" if row["cutoff"] is None else f"the first {row['cutoff']}")
    if row["reference"] is not None:
        parts[0] += f" to {row['reference']}"
    if row.get("query") is not None:
        parts.append(f"query {row['query']}")
    if several:
        parts.append(f"score {row['score']}")
    return ", ".join(parts)
