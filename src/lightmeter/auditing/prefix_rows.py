"""The rows of an audit that look at all prefixes: NDKL of all groups together, and FA*IR's p-value of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing import divergence
from lightmeter.auditing.prefixes import LONGEST, fa_ir, ndkl
from lightmeter.auditing.ranked import RankedTable
from lightmeter.auditing.request import Options
from lightmeter.auditing.rows import Row
from lightmeter.auditing.sums import Cutoff
from lightmeter.auditing.table import Attribute


def prefix_rows(
    ranked: RankedTable,
    codes: Integers,
    attribute: Attribute,
    hidden: Booleans,
    score: str,
    given: Options,
    resamples: int,
    rng: np.random.Generator,
) -> Iterator[Row]:
    """A row of NDKL for each cutoff, and one of FA*IR for each of them and each group.

    Masked groups are one group here: so ``codes`` and ``attribute`` have them.
    """
    groups, queries = len(attribute.values), len(ranked.sizes)
    cutoffs: list[Cutoff] = [None, *given.cutoffs]
    cells = np.bincount(ranked.query * (groups + 1) + codes, minlength=queries * (groups + 1))
    pool = cells.reshape(queries, groups + 1)[:, :-1].astype(np.float64)
    known = int(pool.sum())
    with np.errstate(invalid="ignore"):
        share = pool / pool.sum(axis=1, keepdims=True)
    tied = [_tied(ranked, k) for k in cutoffs]
    each = np.stack([_ndkl(ranked, codes, groups, share, k) for k in cutoffs], axis=1)
    drawn = _drawn(ranked, codes, groups, cutoffs, each, resamples, rng) if known and not all(tied) else None
    for i, k in enumerate(cutoffs):
        value, reason, ends = float("nan"), "tied", (float("nan"), float("nan"))
        if not tied[i]:
            some = each[~np.isnan(each[:, i]), i]
            value, reason = (float(some.mean()), None) if len(some) else (float("nan"), "no_known_member")  # type: ignore[assignment]
            if drawn is not None:
                ends = drawn.interval(value, i, given.level)
        yield Row("ndkl", k, attribute.name, None, None, score, value, *ends, n=known, reason=reason)
        if queries == 1 and k is not None and groups > 1:
            yield from _fa_ir(codes, attribute, hidden, share[0], k, score, tied=tied[i])


def _tied(ranked: RankedTable, cutoff: Cutoff) -> bool:
    """Whether rows that are averaged stand among the first: prefixes have no average."""
    inside = ranked.rank <= (cutoff or ranked.longest)
    return ranked.averaged and bool((ranked.block_size[ranked.block[inside]] > 1).any())


def _ndkl(ranked: RankedTable, codes: Integers, groups: int, share: Floats, cutoff: Cutoff) -> Floats:
    inside = ranked.rank <= (cutoff or ranked.longest)
    return ndkl(codes[inside], groups, ranked.rank[inside], ranked.query[inside], share)


def _drawn(
    ranked: RankedTable,
    codes: Integers,
    groups: int,
    cutoffs: list[Cutoff],
    each: Floats,
    resamples: int,
    rng: np.random.Generator,
) -> divergence.Drawn | None:
    if not resamples:
        return None
    if len(ranked.sizes) > 1:
        return divergence.drawn_queries(each, resamples, rng)
    ends, back = np.unique([k or ranked.longest for k in cutoffs], return_inverse=True)
    return divergence.Drawn(divergence.drawn(codes, groups, ends, resamples, rng).value[:, back])


def _fa_ir(
    codes: Integers,
    attribute: Attribute,
    hidden: Booleans,
    share: Floats,
    cutoff: int,
    score: str,
    *,
    tied: bool,
) -> Iterator[Row]:
    groups = len(attribute.values)
    p, lost = np.full(groups, np.nan), "tied"
    if not tied:
        p = fa_ir(codes, groups, share, cutoff, ~hidden[:-1])
        lost = "too_long" if cutoff > LONGEST else "no_known_member"
    for a in range(groups):
        reason = lost if np.isnan(p[a]) else None
        row = Row(
            "fa_ir_p", cutoff, attribute.name, a, None, score, float(p[a]), n=int(attribute.counts[a]), reason=reason
        )
        yield row.masked() if hidden[a] else row
