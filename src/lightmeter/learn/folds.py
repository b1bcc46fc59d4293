"""Cross-validation by query: every query is tested once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Integers
from lightmeter.errors import LightmeterError


@dataclass(frozen=True)
class Fold:
    """Numbers of the queries of one fold."""

    train: Integers
    valid: Integers
    test: Integers


def folds_of(queries: int, parts: int = 5, seed: int = 0) -> list[Fold]:
    """Part k tests, the next one validates, the others train: with 5 parts 60, 20 and 20 in a hundred.

    Examples
    --------
    >>> fold = folds_of(10, 5)[0]
    >>> len(fold.train), len(fold.valid), len(fold.test)
    (6, 2, 2)
    """
    if queries < parts:
        make = "query makes" if queries == 1 else "queries make"
        raise LightmeterError(f"{queries} {make} no {parts} folds. Accepted: at least one query a fold.")
    order = np.random.default_rng([seed, 5]).permutation(queries)
    part = [np.sort(order[k::parts]) for k in range(parts)]
    made = []
    for k in range(parts):
        rest = [part[(k + i) % parts] for i in range(2, parts)]
        made.append(Fold(np.sort(np.concatenate(rest)), part[(k + 1) % parts], part[k]))
    return made
