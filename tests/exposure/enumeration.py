"""Exposure by enumerating all rankings: slow and plain, to check everything else against."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def luce_rankings(log_weights: Array) -> Iterator[tuple[tuple[int, ...], float]]:
    """All rankings with their Plackett-Luce probabilities."""
    n = len(log_weights)
    for ranking in itertools.permutations(range(n)):
        log = 0.0
        for place in range(n):
            rest = log_weights[list(ranking[place:])]
            top = rest.max()
            log += log_weights[ranking[place]] - top - np.log(np.exp(rest - top).sum())
        yield ranking, float(np.exp(log))


def tied_rankings(block: Array) -> Iterator[tuple[tuple[int, ...], float]]:
    """All rankings in the order of the blocks, each as likely as the others."""
    groups = [np.flatnonzero(block == b) for b in np.unique(block[~np.isnan(block)])]
    orders = [list(itertools.permutations(g.tolist())) for g in groups]
    count = int(np.prod([len(o) for o in orders]))
    for parts in itertools.product(*orders):
        yield tuple(itertools.chain(*parts)), 1.0 / count


def exposure(
    rankings: Iterator[tuple[tuple[int, ...], float]], n: int, user: Array, by_document: bool, cutoff: int | None
) -> Array:
    """Expected exposure; ``user`` is C by document, or view by rank."""
    out = np.zeros(n)
    for ranking, probability in rankings:
        view = 1.0
        for place, document in enumerate(ranking[:cutoff]):
            if not by_document:
                view = user[place]
            out[document] += probability * view
            if by_document:
                view *= user[document]
    return out


def marginals(rankings: Iterator[tuple[tuple[int, ...], float]], n: int, depth: int) -> Array:
    """P(document at rank)."""
    out = np.zeros((n, depth))
    for ranking, probability in rankings:
        for place, document in enumerate(ranking[:depth]):
            out[document, place] += probability
    return out
