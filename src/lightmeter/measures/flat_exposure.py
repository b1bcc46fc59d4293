"""Exposure of every ranked document under a user model, in long form.

Rankings of a block are padded; exposure, its targets and group sums live in long form instead: one entry a place that
is seen at all. Sums by query,
ranking, document or group are then one ``bincount`` each, whatever the lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.models.users import User

#: Views below this change no sum of squares or products that a float can tell.
NEGLIGIBLE = 1e-20


@dataclass(frozen=True)
class Flat:
    """Places seen by a user in the rankings of one run.

    Attributes
    ----------
    ranking, row
        The ranking and the run's row of each entry.
    view
        Exposure of the entry.
    judgment
        Its judgment, -1 for none.
    item
        Code of its (query, document) pair: equal for the same document in several rankings of a query.
    items
        Number of codes.
    """

    ranking: Integers
    row: Integers
    view: Floats
    judgment: Integers
    item: Integers
    items: int


def flat_exposure(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Flat:
    """Exposure of every place of a run with a view above 0."""
    return context.once(("flat", ranked.key, user, cutoff), lambda: _flat(context, ranked, user, cutoff))


def _flat(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Flat:
    parts: list[tuple[AnyArray, ...]] = []
    drawn = context.policy.stochastic and not ranked.sampled
    lengths = ranked.lengths if cutoff is None or drawn else np.minimum(ranked.lengths, cutoff)
    # down a list without relevant documents people look furthest; what they hardly ever reach even there is left out
    seen_at = np.flatnonzero(user.view(np.zeros(int(lengths.max(initial=0)))) > NEGLIGIBLE)
    reached: int | None = int(seen_at[-1]) + 1 if len(seen_at) else 0
    if drawn:
        reached = None  # every candidate is seen sometimes
    else:
        lengths = np.minimum(lengths, reached or 0)
    for rankings in chunks_of_like_length(lengths, CELLS):
        block = Block(context, ranked, rankings, reached)
        view = block.exposure(user, cutoff)
        seen = np.nonzero(view > NEGLIGIBLE)
        parts.append((rankings[seen[0]], block.rows[seen], view[seen], block.judgment[seen]))
    ranking, row, view, judgment = (np.concatenate(p) for p in zip(*parts, strict=True))
    if not ranked.sampled:
        return Flat(ranking, row, view, judgment, np.arange(len(row)), len(row))
    codes = context.once(("items", ranked.key), lambda: item_codes(ranked))
    return Flat(ranking, row, view, judgment, codes[row], len(codes))


def item_codes(ranked: Ranked) -> Integers:
    """For each row of a sampled run the first row with the same query and document."""
    frame = pl.DataFrame({"q": ranked.run.query_of_row, "d": ranked.run.doc}).with_row_index("row")
    return frame.select(pl.col("row").first().over("q", "d"))["row"].to_numpy().astype(np.int64)
