"""The options of an audit, checked by themselves and against the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lightmeter.auditing.ranking import TIES, Ties
from lightmeter.auditing.table import AuditTable
from lightmeter.errors import LightmeterError, TermError, choice, suggest
from lightmeter.models.users import User, user_of
from lightmeter.terms.parameters import Number

PRESETS = ("ll144",)
_AT_LEAST_1 = Number(low=1, integer=True)


@dataclass(frozen=True)
class Options:
    """The options of an audit in their one form; the first of ``users`` is that of ``exposure``."""

    cutoffs: tuple[int, ...]
    primary: int | None
    users: tuple[User, ...]
    ties: Ties
    min_cell: int
    inferred: tuple[str, ...]
    preset: str | None
    resamples: int
    level: float
    threshold: float | None
    per_query: bool


def options(
    *,
    cutoffs: Any,
    primary_cutoff: Any,
    users: Any,
    ties: str,
    min_cell: Any,
    inferred: Any,
    preset: str | None,
    resamples: Any,
    level: Any,
    threshold: Any,
    per_query: bool,
) -> Options:
    """Check what can be checked without the table."""
    if ties not in TIES:
        raise LightmeterError(
            f"ties is {ties!r}.{suggest(str(ties), TIES)} Accepted: file (in the order of the table), error, expected "
            "(averaged)."
        )
    if preset is not None:
        choice("preset", preset, PRESETS)
    if preset is not None and per_query:
        raise LightmeterError(f"the preset {preset} has no rows per query. Give preset or per_query, not both.")
    ranks = [_number("a cutoff", k, _AT_LEAST_1) for k in as_list(cutoffs)]
    primary = None if primary_cutoff is None else int(_number("the primary cutoff", primary_cutoff, _AT_LEAST_1))
    if primary is not None:
        ranks.append(primary)
    return Options(
        cutoffs=tuple(sorted({int(k) for k in ranks})),
        primary=primary,
        users=_users(users),
        ties=ties,
        min_cell=int(_number("min_cell", min_cell, _AT_LEAST_1)),
        inferred=tuple(as_list(inferred)),
        preset=preset,
        resamples=int(_number("resamples", resamples, Number(low=0, integer=True))),
        level=_number("level", level, Number(above=0, below=1)),
        threshold=None if threshold is None else _number("threshold", threshold, Number()),
        per_query=per_query,
    )


def as_list(given: Any) -> list[Any]:
    """One or several as a list."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError:
        return [given]


def column_names(what: str, given: Any) -> list[str]:
    """Names of columns: one or several, each once."""
    out = as_list(given)
    if not out:
        raise LightmeterError(f"no {what} is given. Accepted: the name of a column, or several.")
    for name in out:
        if not isinstance(name, str) or not name.strip():
            raise LightmeterError(f"{what} is {name!r}. Accepted: the name of a column, as text.")
    return list(dict.fromkeys(out))


def _number(what: str, value: Any, accepts: Number) -> float:
    try:
        return accepts.check(value)
    except (ValueError, TypeError):
        raise LightmeterError(f"{what} is {value!r}. Accepted: {accepts.describe()}.") from None


def _users(given: Any) -> tuple[User, ...]:
    if given is None or given == []:
        from lightmeter.measures.relevance import DCG, RBP
        from lightmeter.models.users import Inverse

        return DCG(), Inverse(), RBP(p=0.99)
    users = tuple(dict.fromkeys(user_of(u) for u in as_list(given)))
    for user in users:
        if user.by_document:
            raise TermError(
                f"{user} stops at documents by their grade, and a table of people has none. Accepted: user models that "
                "depend on the rank only, such as DCG, RBP(p=0.9), Inverse, TopK(k=100), Attention(weights=[..])."
            )
    return users


def check_cutoffs(given: Options, table: AuditTable, longest: int) -> None:
    """No cutoff lies below the end of the longest list."""
    for k in given.cutoffs:
        if k > longest:
            rows = f"{longest} rows" if table.queries is None else f"at most {longest} rows per query"
            raise LightmeterError(
                f"cutoff {k}: the table has {rows}. Accepted: whole numbers from 1 to {longest}; the whole list is "
                "always included."
            )


def references(given: str | Mapping[str, str] | None, table: AuditTable) -> dict[str, int]:
    """For each attribute the index of its reference; the largest group where none is named."""
    out = {a.name: 0 for a in table.attributes}
    if given is None:
        return out
    if isinstance(given, Mapping):
        for name, value in given.items():
            found = next((a for a in table.attributes if a.name == name), None)
            if found is None:
                raise LightmeterError(
                    f"reference: {name!r} is not an audited group.{suggest(str(name), out)} Accepted: {', '.join(out)}."
                )
            if str(value) not in found.values:
                raise LightmeterError(
                    f"reference {value!r} is no value of {name}.{suggest(str(value), found.values)} "
                    f"Accepted: {_some(found.values)}."
                )
            out[name] = found.values.index(str(value))
        return out
    having = [a for a in table.attributes if str(given) in a.values]
    if not having:
        every = {a.name: a.values for a in table.attributes}
        known = "; ".join(f"{name}: {_some(values)}" for name, values in every.items())
        flat = [v for values in every.values() for v in values]
        raise LightmeterError(
            f"reference {given!r} is no value of any group.{suggest(str(given), flat)} Accepted: {known}."
        )
    return out | {a.name: a.values.index(str(given)) for a in having}


def check_inferred(given: Options, table: AuditTable) -> None:
    """Attributes that are named as inferred are among those audited."""
    columns = list(
        dict.fromkeys([*(a.name for a in table.attributes), *(p for a in table.attributes for p in a.parts)])
    )
    for name in given.inferred:
        if name not in columns:
            raise LightmeterError(
                f"inferred: {name!r} is not an audited group.{suggest(str(name), columns)} "
                f"Accepted: {', '.join(columns)}."
            )


def _some(values: Sequence[str], most: int = 10) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
