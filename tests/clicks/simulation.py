"""Click logs with a known truth, drawn by the position-based model and added up as the library does."""

from __future__ import annotations

import numpy as np

from lightmeter.clicks.log import Cells


def simulated(
    rng: np.random.Generator,
    curve: np.ndarray,
    *,
    queries: int = 60,
    docs: int = 6,
    sessions: int = 40,
    order: str = "noisy",
    noise: float = 1.0,
) -> Cells:
    """A log: every query is answered ``sessions`` times with its documents down to the depth of the curve.

    ``order``: ``random``, or ``noisy``: by relevance plus noise, so that better documents stand higher.
    """
    depth = len(curve)
    relevance = rng.beta(1.0, 2.0, size=(queries, 1, docs))
    key = rng.normal(size=(queries, sessions, docs))
    if order == "noisy":
        key = key * noise - 4.0 * relevance
    shown = np.argsort(key, axis=-1)[..., :depth]
    chance = np.take_along_axis(np.broadcast_to(relevance, key.shape), shown, axis=-1) * curve
    clicked = rng.random(chance.shape) < chance
    query = np.broadcast_to(np.arange(queries)[:, None, None], shown.shape)
    rank = np.broadcast_to(np.arange(depth), shown.shape)
    cell = ((query * docs + shown) * depth + rank).ravel()
    return cells_of(cell, clicked.ravel(), docs, depth, queries)


def cells_of(cell: np.ndarray, clicked: np.ndarray, docs: int, depth: int, queries: int) -> Cells:
    """The log added up; ``cell`` codes query, document and rank."""
    size = queries * docs * depth
    shown = np.bincount(cell, minlength=size).astype(float)
    clicks = np.bincount(cell, clicked, minlength=size)
    at = np.flatnonzero(shown)
    return Cells(at // (docs * depth), at // depth, at % depth, shown[at], clicks[at], queries, depth)
