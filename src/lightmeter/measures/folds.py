"""Expected exposure from sampled rankings with a part of them left out: how sure sums over queries are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.rankings import Ranked
from lightmeter.data.sums import sum_by
from lightmeter.exposure.estimates import Mixture
from lightmeter.measures.candidates import Candidates
from lightmeter.measures.flat_exposure import flat_exposure
from lightmeter.measures.mixture import mixture
from lightmeter.models.users import User

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

#: parts that the rankings of a query are dealt out to at most, and draws of every query that it takes
FOLDS, FEWEST = 20, 3
SEED = (20_191_127, 35)


def exposure_without(
    context: Context, ranked: Ranked, found: Candidates, user: User, cutoff: int | None
) -> Iterator[Floats]:
    """Expected exposure of each candidate without each fold in turn.

    Nothing where every query's rankings are its whole policy, or where some query has too few of them.
    """
    mix = mixture(context, ranked)
    if mix.exact.all() or mix.draws[~mix.exact].min() < FEWEST:
        return
    folds = int(min(mix.draws[~mix.exact].min(), FOLDS))
    flat = flat_exposure(context, ranked, user, cutoff)
    ranking, fold = _dealt(mix, folds)
    for j in range(folds):
        left = mix.copies - np.bincount(ranking[fold == j], minlength=len(mix.query))
        left = np.where(mix.exact[mix.query], mix.copies, left) * mix.unit
        share = left / sum_by(mix.query, left, len(mix.exact))[mix.query]
        by_row = sum_by(flat.item, flat.view * share[flat.ranking], len(ranked.run))
        yield by_row if found.whole else np.append(by_row, 0.0)[found.row]


def _dealt(mix: Mixture, folds: int) -> tuple[Integers, Integers]:
    """The ranking and the fold of each draw: the draws of a query in random order, dealt out like cards.

    In the order of the file equal rankings would be spread evenly, and folds be more alike than chance makes them. The
    seed is one that rankings are hardly drawn with: the same numbers would sort them.
    """
    ranking = np.repeat(np.arange(len(mix.query)), mix.copies.astype(np.int64))
    query = mix.query[ranking].astype(np.int64)
    order = np.lexsort((np.random.default_rng(SEED).random(len(ranking)), query))
    ranking, query = ranking[order], query[order]
    first = np.searchsorted(query, query, side="left")
    return ranking, (np.arange(len(ranking)) - first) % folds
