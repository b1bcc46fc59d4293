"""Which queries matter most: those on which runs differ most, or on which a single run does worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.findings.language import better_first, brief
from lightmeter.results.result import Cell, Result

#: queries whose rankings are in a page
MOST = 50


@dataclass(frozen=True)
class Chosen:
    """A query, why it was chosen, and the two runs that are shown first (their numbers)."""

    index: int
    why: str
    pair: tuple[int, int]


def brief_number(value: float) -> str:
    """Three decimals, or three digits of a large number.

    Examples
    --------
    >>> brief_number(0.12345), brief_number(1e-9), brief_number(1234.5)
    ('0.123', '0.000', '1.23e+03')
    """
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.3g}"


def single(result: Result) -> dict[str, list[Cell]]:
    """For each measure of one value its cells, run by run; those reduced over queries have none by query."""
    out: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.group is None and cell.across is None:
            out.setdefault(str(cell.measure), []).append(cell)
    return {name: cells for name, cells in out.items() if len(cells) == len(result.runs)}


def chosen(result: Result, most: int = MOST) -> list[Chosen]:
    """The queries that matter most, in that order.

    A query counts by the measure on which it stands out most: the gap between the best and the worst run there, as a
    share of the largest such gap of any query. With one run the gap to its best query takes the place.
    """
    measures = single(result)
    if not measures or not result.queries:
        return []
    names = dict(zip(measures, brief([cells[0].measure for cells in measures.values()]), strict=True))
    values = {name: np.stack([c.values.value for c in cells]) for name, cells in measures.items()}
    ways = {name: better_first(cells[0].measure) for name, cells in measures.items()}
    gaps = np.stack([_gap(values[name], ways[name]) for name in measures])
    largest = gaps.max(axis=1, keepdims=True)
    share = np.divide(gaps, largest, out=np.zeros_like(gaps), where=largest > 0)
    top, order = share.argmax(axis=0), np.lexsort((-share.mean(axis=0), -np.round(share.max(axis=0), 12)))
    texts = list(measures)
    out = []
    for q in order[:most].tolist():
        name = texts[int(top[q])]
        out.append(_told(result, q, names[name], values[name][:, q], ways[name]))
    return out


def _gap(values: Floats, way: float) -> Floats:
    """How far runs are apart on each query; of one run how far it is from its best query (or from its mean)."""
    here = np.isfinite(values)
    if len(values) > 1:
        high = np.where(here, values, -np.inf).max(axis=0)
        low = np.where(here, values, np.inf).min(axis=0)
        return np.where(here.sum(axis=0) > 1, high - low, 0.0)
    row, known = values[0], here[0]
    if not known.any():
        return np.zeros(values.shape[1])
    from_ = row[known].mean() if not way else (way * row[known]).max()
    return np.where(known, np.abs(from_ - (way or 1.0) * np.where(known, row, 0.0)), 0.0)


def _told(result: Result, q: int, name: str, column: Floats, way: float) -> Chosen:
    known = np.flatnonzero(np.isfinite(column))
    if not len(known):
        return Chosen(q, "no measure has a value for it", (0, min(1, len(column) - 1)))
    order = known[np.argsort(-(way or 1.0) * column[known], kind="stable")]
    best, worst = int(order[0]), int(order[-1])
    if len(column) == 1:
        return Chosen(q, f"{name} is {brief_number(column[0])}", (0, 0))
    if best == worst or column[best] == column[worst]:
        other = 1 if best == 0 else 0
        return Chosen(q, f"all runs have {name} {brief_number(column[best])}", (best, other))
    return Chosen(q, f"{name} from {brief_number(column[worst])} to {brief_number(column[best])}", (best, worst))
