"""Expected exposure of the two policies that need no scores, in closed form for every user.

*Uniform*: all rankings of a query's documents are equally likely, which is one tied block. *Oracle*: rankings by
falling grade, documents of one grade in any order: one tied block a grade.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats
from lightmeter.exposure.ties import blocks_by_score, tied_documents, tied_positions
from lightmeter.models.users import User


def tied_exposure(blocks: ArrayLike, grades: ArrayLike, user: User, cutoff: int | None = None) -> Floats:
    """Expected exposure of rankings with ties, every tied block in uniformly random order.

    Position models: the mean of view over the block's ranks. Others: ``A int_0^1 prod_{j != d} (1 - (1 - C_j) u) du``.

    Parameters
    ----------
    blocks
        ``[n]`` or ``[queries, n]``: lower numbers stand above, equal ones are tied; NaN where there is no document.
    grades
        Of the shape of ``blocks``, 0 or more; not read where there is no document.
    user
        The user model.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    array
        Exposure, of the shape of ``blocks``; 0 where there is no document.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> tied_exposure([0, 1, 1], [0, 0, 0], RBP(p=0.5)).tolist()
    [1.0, 0.375, 0.375]
    """
    given = np.asarray(blocks, dtype=np.float64)
    if user.by_document:
        grade = np.where(np.isnan(given), 0.0, np.asarray(grades, dtype=np.float64))
        return tied_documents(given, user.continuation(grade), cutoff)
    ranks = given.shape[-1] if cutoff is None else min(cutoff, given.shape[-1])
    return tied_positions(given, user.view_at(np.arange(1.0, ranks + 1)))


def uniform_exposure(
    grades: ArrayLike, user: User, cutoff: int | None = None, lengths: ArrayLike | None = None
) -> Floats:
    """Expected exposure when all rankings are equally likely.

    ``eps_d = mean of view`` for position models, ``int_0^1 prod_{j != d} (1 - (1 - C_j) u) du`` for the others.

    Parameters
    ----------
    grades
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    user
        The user model.
    cutoff
        Rank below which nothing is seen, or None.
    lengths
        Number of documents of each query, where those after it are not to be read.

    Returns
    -------
    array
        Exposure, of the shape of ``grades``; 0 where there is no document.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> uniform_exposure([1.0, 0.0], RBP(p=0.5)).tolist()
    [0.75, 0.75]
    """
    grade = _read(grades, lengths)
    return tied_exposure(np.where(np.isnan(grade), np.nan, 0.0), grade, user, cutoff)


def oracle_exposure(
    grades: ArrayLike, user: User, cutoff: int | None = None, lengths: ArrayLike | None = None
) -> Floats:
    """Expected exposure when documents stand by falling grade, those of one grade in any order.

    With m documents of the grade, b above and no cutoff: ``(view_{b+1} + .. + view_{b+m}) / m``, or
    ``prod_above C_j (1 - C^m) / (m (1 - C))``.

    Parameters
    ----------
    grades, user, cutoff, lengths
        As for :func:`uniform_exposure`.

    Returns
    -------
    array
        Exposure, of the shape of ``grades``; 0 where there is no document.

    Examples
    --------
    >>> from lightmeter import RBP
    >>> oracle_exposure([1.0, 0.0, 1.0], RBP(p=0.5)).tolist()
    [0.75, 0.25, 0.75]
    """
    grade = _read(grades, lengths)
    return tied_exposure(blocks_by_score(grade), grade, user, cutoff)


def _read(grades: ArrayLike, lengths: ArrayLike | None) -> Floats:
    grade = np.asarray(grades, dtype=np.float64)
    if lengths is None:
        return grade
    n = np.asarray(lengths)
    return np.where(np.arange(grade.shape[-1]) < (n.reshape(-1, 1) if grade.ndim == 2 else n), grade, np.nan)
