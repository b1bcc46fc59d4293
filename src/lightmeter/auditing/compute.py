"""The audit of one attribute under one score: figures, intervals, tests, masks, curves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing import coarse, resample
from lightmeter.auditing.curve import Curves, grid
from lightmeter.auditing.figures import Compared, Figure, figures
from lightmeter.auditing.prefix_rows import prefix_rows
from lightmeter.auditing.ranked import RankedTable
from lightmeter.auditing.rates import beside
from lightmeter.auditing.request import Options
from lightmeter.auditing.resample import Progress
from lightmeter.auditing.rows import Drawn, Row, rows_of
from lightmeter.auditing.sums import Asked, Cutoff, Sums, by_query, observed
from lightmeter.auditing.table import Attribute

#: fewer queries than this say nothing about others
FEWEST_QUERIES = 10


@dataclass(frozen=True)
class One:
    """What one attribute under one score comes to.

    Attributes
    ----------
    rows
        Of the whole table, not masked yet.
    curves
        Of the groups that are shown.
    each
        Sums by query, where those are asked for.
    best
        The group of the highest rate, by rate and cutoff.
    resamples, whole
        How many resamples the intervals at cutoffs and those of the whole list rest on; 0: there are none.
    """

    rows: list[Row]
    curves: pl.DataFrame
    each: Sums | None
    best: dict[tuple[str, Cutoff], int]
    resamples: int
    whole: int


@dataclass(frozen=True)
class Replicates:
    """Resampled sums: those of the cutoffs may be more than those of the whole list."""

    top: Sums | None
    whole: Sums | None


def audit_one(
    ranked: RankedTable,
    attribute: Attribute,
    score: str,
    label: Floats | None,
    binary: bool,
    compared: Compared,
    hidden: Booleans,
    given: Options,
    rng: np.random.Generator,
    progress: Progress | None = None,
    apart: int = 1,
) -> One:
    """All rows of one attribute under one score; cutoffs of curves are so many places ``apart``."""
    groups = len(attribute.values)
    codes = np.where(attribute.codes >= 0, attribute.codes, groups).astype(np.int64)[ranked.order]
    asked = Asked(given.users, (None, *given.cutoffs), given.threshold)
    several = len(ranked.sizes) > 1
    resamples = 0 if several and len(ranked.sizes) < FEWEST_QUERIES else given.resamples
    points = grid(ranked.longest, groups, max(resamples, len(ranked.sizes)), list(given.cutoffs), apart)
    both = replace(asked, cutoffs=tuple(dict.fromkeys([*asked.cutoffs, *points])))
    table = observed(ranked, codes, groups, label, both)
    now = table.at(asked.cutoffs)
    drawn = _draw(ranked, codes, groups, label, asked, both, table, resamples, rng, progress)
    rows: list[Row] = []
    best: dict[tuple[str, Cutoff], int] = {}
    of_draws = _by_name(drawn, given, compared, binary, now, best)
    itself = given.preset is not None
    for figure in figures(now, given.users, compared, binary=binary, best=best):
        again = of_draws.get((figure.measure, figure.cutoff))
        how = Drawn(again, given.level, independent=not several)
        if not resamples:
            figure = replace(figure, basis="none") if several else figure
        top = now.top[figure.cutoff][0]
        for row in rows_of(figure, how, attribute, score, now.count[0], top, hidden, itself=itself):
            rows.append(row)
            if not several:
                rows += beside(figure, row, divided=ranked.divided(figure.cutoff))
    rows += prefix_rows(ranked, codes, attribute, hidden, score, given, resamples, rng.spawn(1)[0])
    each = by_query(ranked, codes, groups, label, asked) if several and given.per_query else None
    curves = Curves(
        attribute,
        score,
        compared.reference,
        ~hidden,
        given.users[0],
        points,
        table,
        drawn.whole,
        given.level,
    ).frame()
    many = [0 if d is None else len(d.count) for d in (drawn.top, drawn.whole)]
    return One(rows, curves, each, best, many[0], many[1])


def _draw(
    ranked: RankedTable,
    codes: Integers,
    groups: int,
    label: Floats | None,
    asked: Asked,
    both: Asked,
    table: Sums,
    resamples: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Replicates:
    """Resamples of the table, within what is affordable."""
    if not resamples:
        return Replicates(None, None)
    if len(ranked.sizes) > 1:
        each = by_query(ranked, codes, groups, label, both)
        sums = resample.resampled_queries(each, resamples, rng)
        return Replicates(sums, sums)
    n = len(ranked)
    if n * resamples > resample.BUDGET and n > coarse.LEAST and not ranked.averaged:
        sums = coarse.resampled(ranked, codes, groups, label, both, table, resamples, rng, progress=progress)
        return Replicates(sums, sums)
    fewer = max(min(resamples, resample.BUDGET // n), min(resamples, resample.FEWEST))
    whole = resample.resampled(ranked, codes, groups, label, both, fewer, rng, progress=progress)
    if fewer == resamples or len(asked.cutoffs) < 2:
        return Replicates(whole, whole)
    depth = resample.depth_for(ranked, max(k for k in asked.cutoffs if k is not None))
    many = max(min(resamples, resample.BUDGET // depth), fewer)
    if depth >= n or many == fewer:
        return Replicates(whole, whole)
    inner = replace(asked, cutoffs=tuple(k for k in asked.cutoffs if k is not None))
    top = resample.resampled(ranked, codes, groups, label, inner, many, rng, depth=depth, progress=progress)
    return Replicates(top, whole)


def _by_name(
    drawn: Replicates,
    given: Options,
    compared: Compared,
    binary: bool,
    now: Sums,
    best: dict[tuple[str, Cutoff], int],
) -> dict[tuple[str, Cutoff], Figure]:
    """Resampled figures by measure and cutoff; what the table compares with is settled first."""
    for _ in figures(now, given.users, compared, binary=binary, best=best):
        pass
    out: dict[tuple[str, Cutoff], Figure] = {}
    for sums in (drawn.whole, drawn.top):
        if sums is None:
            continue
        for figure in figures(sums.at((None, *given.cutoffs)), given.users, compared, binary=binary, best=dict(best)):
            out[figure.measure, figure.cutoff] = figure
    return out
