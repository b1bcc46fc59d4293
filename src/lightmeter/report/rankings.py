"""The drill-down: the first documents of the rankings of some queries, with grades, groups and exposure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.rankings import Ranked
from lightmeter.findings.language import brief
from lightmeter.measures.base import Measure
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.relevance import RBP
from lightmeter.models.users import User
from lightmeter.report.queries import Chosen, single
from lightmeter.results.result import Result
from lightmeter.results.text import printable

#: ranks of a ranking that are in a page, and ranks of all rankings together: of many runs fewer queries are shown
DEPTH, MOST = 20, 40_000
#: queries that are shown all the same
FEWEST = 5


def rankings_of(result: Result, context: Context, queries: list[Chosen], names: dict[str, str]) -> dict[str, Any]:
    """What the page's drill-down shows, as JSON.

    ``docs`` of a query are ``[id, grade, [groups by attribute]]``; ``lists`` and ``seen`` are, for each run, numbers of
    these documents in rank order and their exposure; ``sizes`` how long the rankings are; ``values`` for each measure
    those of the runs, a text where undefined: why.
    """
    queries = queries[: max(MOST // (DEPTH * len(result.runs)), FEWEST)]
    measures = single(result)
    attributes = [context.collection.attribute(name) for name in _attributes(result.measures)]
    user = _user(result.measures, context)
    judged = context.collection.judgments is not None
    code = {q: int(c) for q, c in zip(result.queries, context.collection.evaluated.tolist(), strict=True)}
    out: list[dict[str, Any]] = [
        {
            "query": printable(result.queries[c.index]),
            "why": c.why,
            "pair": list(c.pair),
            "docs": [],
            "lists": [],
            "seen": [],
            "sizes": [],
            "values": [[_value(cell, c.index) for cell in cells] for cells in measures.values()],
        }
        for c in queries
    ]
    numbers: list[dict[str, int]] = [{} for _ in queries]
    codes = np.array([code[result.queries[c.index]] for c in queries], dtype=np.int64)
    for run in result.runs:
        for i, shown in enumerate(_first(context, context.ranked[run], codes, user, attributes)):
            if shown is None:
                out[i]["lists"].append(None)
                out[i]["seen"].append(None)
                out[i]["sizes"].append(0)
                continue
            docs, seen, size = shown
            for doc in docs:
                if doc[0] not in numbers[i]:
                    numbers[i][doc[0]] = len(out[i]["docs"])
                    out[i]["docs"].append([printable(doc[0]), doc[1] if judged else None, doc[2]])
            out[i]["lists"].append([numbers[i][doc[0]] for doc in docs])
            out[i]["seen"].append(seen)
            out[i]["sizes"].append(size)
    return {
        "runs": [names[r] for r in result.runs],
        "measures": [printable(m) for m in brief([cells[0].measure for cells in measures.values()])],
        "attributes": [printable(a.name) for a in attributes],
        "judged": judged,
        "user": str(user),
        "depth": DEPTH,
        "several": [r for r in result.runs if context.ranked[r].sampled],
        "queries": out,
    }


def _value(cell: Any, q: int) -> float | str:
    number = float(cell.values.value[q])
    if np.isfinite(number):
        return float(f"{number:.6g}")
    return printable(str(cell.values.reasons()[q] or "undefined"))


def _attributes(measures: Iterable[Measure]) -> list[str]:
    """The attributes that measures, or what they are made of, look at."""
    out: dict[str, None] = {}
    for measure in measures:
        if measure.attribute is not None:
            out[measure.attribute] = None
        out.update(dict.fromkeys(_attributes(measure.components())))
    return list(out)


def _user(measures: Iterable[Measure], context: Context) -> User:
    """The user whose attention exposure is: of the first measure that has one, else RBP(p=0.8)."""
    for measure in measures:
        found = getattr(measure, "user", None) or measure
        if isinstance(found, User) and not (found.by_document and context.collection.judgments is None):
            return context.user(found)
    return RBP(p=0.8)


def _first(
    context: Context, ranked: Ranked, codes: Integers, user: User, attributes: list[Attribute]
) -> list[tuple[list[tuple[str, float | None, list[str]]], list[float], int] | None]:
    """For each query the first documents, their exposure and the length of the ranking; None where there is none."""
    known, first = np.unique(ranked.query, return_index=True)
    at = np.searchsorted(known, codes)
    here = (at < len(known)) & (known[np.minimum(at, len(known) - 1)] == codes) if len(known) else np.zeros(0, bool)
    out: list[Any] = [None] * len(codes)
    places = np.flatnonzero(here)
    if not len(places):
        return out
    block = Block(context, ranked, first[at[places]].astype(np.int64))
    top = slice(None, DEPTH)
    valid, rows, seen = block.valid[:, top], block.rows[:, top], block.exposure(user)[:, top]
    docs = ranked.run.ids.gather(rows[valid]).to_list()
    grades = np.where(block.judged[:, top], _grades(block)[:, top], np.nan)[valid].tolist()
    groups = [_groups(ranked, attribute, rows[valid]) for attribute in attributes]
    start = 0
    for i, place in enumerate(places.tolist()):
        size = int(valid[i].sum())
        mine = range(start, start + size)
        start += size
        told = [(docs[j], None if np.isnan(grades[j]) else float(grades[j]), [g[j] for g in groups]) for j in mine]
        out[place] = (told, [float(f"{v:.3g}") for v in seen[i, :size].tolist()], int(block.length[i]))
    return out


def _grades(block: Block) -> Floats:
    """Grades as judged, negative ones too."""
    judgments = block.context.collection.judgments
    if judgments is None:
        return np.full(block.shape, np.nan)
    return np.append(judgments.grade, np.nan)[block.judgment]


def _groups(ranked: Ranked, attribute: Attribute, rows: Integers) -> list[str]:
    """The values of some documents in an attribute, joined; empty where unknown."""
    position, codes, weight = attribute.pairs(ranked.member_row(attribute.name)[rows], split=False)
    out = [""] * len(rows)
    for i, code, share in zip(position.tolist(), codes.tolist(), weight.tolist(), strict=True):
        if share > 0:
            name = printable(attribute.values[code]) + (f" {share:.2g}" if share != 1.0 else "")
            out[i] = f"{out[i]} | {name}" if out[i] else name
    return out
