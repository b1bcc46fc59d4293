"""An audit for people: a table for each attribute, with the conventions and notes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.text import number, printable

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult

_WHOLE_NUMBERS = ("count", "n")


def layout(result: AuditResult) -> Layout:
    """One table for each attribute (and query), with the conventions and notes below."""
    return Layout(sheets(result), remarks(result))


def remarks(result: AuditResult) -> list[str]:
    """Conventions and notes, a line each."""
    lines = [f"{name}: {rule}" for name, rule in result.conventions.items()]
    return [printable(line) for line in [*lines, *(f"note: {n}" for n in result.notes)]]


def sheets(result: AuditResult) -> list[Sheet]:
    """One table an attribute (and query); groups as columns, or as rows in a preset."""
    frame = result.rows
    queries: list[str | None] = [None]
    if "query" in frame.columns:
        queries = frame["query"].unique(maintain_order=True).to_list()
    out = []
    by: dict[tuple[str | None, str], list[dict[str, object]]] = {}
    for row in frame.iter_rows(named=True):
        by.setdefault((row.get("query"), row["attribute"]), []).append(row)
    scores = frame["score"].n_unique()
    for (query, attribute), every in by.items():
        title, rows = attribute, every
        if all(r["reason"] == "masked" for r in rows):  # one line of it says as much
            rows = [r for r in rows if r["measure"] == "count" and r["cutoff"] is None]
            title += ": all groups are masked"
        if len(queries) > 1 or query is not None:
            title += f", query {query}" if query is not None else ", all queries pooled"
        make = _by_group if result.preset is not None else _by_measure
        out.append(make(printable(title), rows, scores > 1))
    return out


def _cell(row: dict[str, object]) -> str:
    value, low, high, reason = row["value"], row["low"], row["high"], row["reason"]
    if value is None:
        return str(reason or "-")
    if row["measure"] in _WHOLE_NUMBERS:
        return f"{value:g}" if value != int(value) else str(int(value))  # type: ignore[call-overload]
    shown = number(value)  # type: ignore[arg-type]
    if low is not None and high is not None:
        shown += f" [{number(low)}, {number(high)}]"  # type: ignore[arg-type]
    elif low is not None:
        shown += f" [{number(low)}, ..]"  # type: ignore[arg-type]
    return shown


def _by_measure(title: str, rows: list[dict[str, object]], several: bool) -> Sheet:
    groups = list(dict.fromkeys(r["group"] for r in rows if r["group"] is not None))
    scores = list(dict.fromkeys(r["score"] for r in rows))
    columns = {(g, s): i for i, (g, s) in enumerate((g, s) for g in [*groups, None] for s in scores)}
    body: dict[tuple[str, str], list[str]] = {}
    order = sorted({r["cutoff"] for r in rows}, key=lambda k: (k is not None, k or 0))
    for k in order:
        for r in rows:
            if r["cutoff"] != k:
                continue
            name = str(r["measure"]) + (f" to {printable(str(r['reference']))}" if r["reference"] is not None else "")
            line = body.setdefault(("all" if k is None else str(k), name), [""] * len(columns))
            line[columns[r["group"], r["score"]]] = _cell(r)
    used = [i for i in range(len(columns)) if any(line[i] for line in body.values())]
    titles = [
        printable("all groups" if g is None else str(g)) + (f" ({printable(str(s))})" if several else "")
        for g, s in columns
    ]
    shown = [(key, [Entry(line[i]) if line[i] else None for i in used]) for key, line in body.items()]
    return Sheet(("top", "measure"), [(titles[i], None) for i in used], shown, title, fit="split")


def _by_group(title: str, rows: list[dict[str, object]], several: bool) -> Sheet:
    columns: dict[str, int] = {}
    body: dict[tuple[str, ...], dict[int, str]] = {}
    for r in rows:
        name = str(r["measure"]) + ("" if r["cutoff"] is None else f"@{r['cutoff']}")
        at = columns.setdefault(name, len(columns))
        key = (printable(str(r["group"])), *([printable(str(r["score"]))] if several else []))
        body.setdefault(key, {})[at] = _cell(r)
    shown = [
        (key, [Entry(line[i]) if line.get(i) else None for i in range(len(columns))]) for key, line in body.items()
    ]
    index = ("category", *(["score"] if several else []))
    return Sheet(index, [(name, None) for name in columns], shown, title, fit="split")
