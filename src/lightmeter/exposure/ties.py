"""Exact expected exposure of rankings with ties, every tied block in uniformly random order.

A block of m documents below b others, A = the view at its top:

* users who know the rank only: the mean of view over ranks b+1 .. b+m;
* users whose continuation C belongs to the document: ``A int_0^1 prod_{j != d} (1 - (1 - C_j) u) du`` over the block,
  by Gauss-Legendre with ceil(m/2) nodes, which is exact, or for long blocks by the trapezoid rule in ln t with
  u = 1 - e^(-t);
* the same with a cutoff K inside the block: ``(A/m) sum_{k < K - b} E_k(C without d)``, where E_k is the mean of the
  products over all subsets of k: d is as likely at each place of the block, and those before it are any k others.

A multiplies: it is the product of C over all blocks above.

Expected exposure of the two policies that need no scores, in closed form for every user.

*Uniform*: all rankings of a query's documents are equally likely, which is one tied block. *Oracle*: rankings by
falling grade, documents of one grade in any order: one tied block a grade.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.models.users import User

LONGEST_GAUSS = 64  # nodes; blocks of more than twice as many documents use the trapezoid rule
STEP = 0.28  # of the trapezoid rule: error below 1e-13
CELLS = 500_000  # numbers an array


def blocks_by_score(scores: ArrayLike, lengths: ArrayLike | None = None) -> Floats:
    """Number the tied blocks of each query by falling score.

    Parameters
    ----------
    scores
        ``[n]`` or ``[queries, n]``; NaN where there is no document.
    lengths
        Number of documents of each query, where those after it are not to be read.

    Returns
    -------
    array
        Of the shape of ``scores``: 0 for the highest score, 1 for the next, ..; NaN where there is no document.

    Examples
    --------
    >>> blocks_by_score([2.0, 5.0, 2.0, -1.0]).tolist()
    [1.0, 0.0, 1.0, 2.0]
    """
    given = np.asarray(scores, dtype=np.float64)
    flat = np.atleast_2d(given)
    if lengths is not None:
        flat = np.where(np.arange(flat.shape[1]) < np.asarray(lengths).reshape(-1, 1), flat, np.nan)
    order = np.argsort(-flat, axis=1, kind="stable")
    ranked = np.take_along_axis(flat, order, axis=1)
    number = np.zeros(flat.shape)
    np.cumsum(ranked[:, 1:] != ranked[:, :-1], axis=1, out=number[:, 1:])
    out = np.empty(flat.shape)
    np.put_along_axis(out, order, np.where(np.isnan(ranked), np.nan, number), axis=1)
    return out.reshape(given.shape)


def tied_positions(blocks: ArrayLike, view: ArrayLike) -> Floats:
    """Expected exposure for users who know the rank only: the mean of view over the ranks of a document's block.

    Parameters
    ----------
    blocks
        ``[n]`` or ``[queries, n]``: lower numbers stand above, equal ones are tied; NaN where there is no document.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.

    Returns
    -------
    array
        Exposure, of the shape of ``blocks``; 0 where there is no document.

    Examples
    --------
    >>> tied_positions([0, 1, 1, 2], [1.0, 0.5, 0.25, 0.125]).tolist()
    [1.0, 0.375, 0.375, 0.125]
    """
    ties = _Ties(blocks, 0.0)
    total = np.append(0.0, np.cumsum(np.asarray(view, dtype=np.float64)))
    last = len(total) - 1
    share = total[np.minimum(ties.above + ties.size, last)] - total[np.minimum(ties.above, last)]
    return ties.restore((share / ties.size)[ties.block_of_level])


def tied_documents(blocks: ArrayLike, continuation: ArrayLike, cutoff: int | None = None) -> Floats:
    """Expected exposure for users whose continuation belongs to the document.

    ``A int_0^1 prod_{j != d} (1 - (1 - C_j) u) du``; where a cutoff cuts a block, means of products over subsets.

    Parameters
    ----------
    blocks
        ``[n]`` or ``[queries, n]``: lower numbers stand above, equal ones are tied; NaN where there is no document.
    continuation
        C of each document in [0, 1]; anything that broadcasts to ``blocks``.
    cutoff
        Rank below which nothing is seen, or None.

    Returns
    -------
    array
        Exposure, of the shape of ``blocks``; 0 where there is no document.

    Examples
    --------
    >>> tied_documents([0, 0], [0.5, 0.25]).round(12).tolist()
    [0.625, 0.75]
    >>> tied_documents([0, 0], [0.5, 0.25], cutoff=1).tolist()
    [0.5, 0.5]
    """
    ties = _Ties(blocks, continuation)
    out = np.zeros(len(ties.go_on))
    room = ties.size if cutoff is None else np.clip(cutoff - ties.above, 0, ties.size)
    whole = room == ties.size
    for picked, u, rest, weight in _rules(ties.size, whole, ties.level_count):
        levels, owner = ties.levels(picked)
        go_on, many = ties.go_on[levels], ties.many[levels]
        log = np.log(go_on[:, None] * u + rest)  # 1 - (1 - C) u
        start = np.searchsorted(owner, np.arange(len(picked)))
        product = np.add.reduceat(many[:, None] * log, start, axis=0)
        out[levels] = ties.top[picked][owner] * (np.exp(product[owner] - log) @ weight)
    cut = np.flatnonzero((room > 0) & ~whole)
    if len(cut):
        levels, owner = ties.levels(cut)
        out[levels] = ties.top[cut][owner] * _cut_means(ties, cut, room[cut], levels, owner)
    return ties.restore(out)


class _Ties:
    """Blocks, and within a block the levels: documents with the same continuation."""

    def __init__(self, blocks: ArrayLike, continuation: ArrayLike) -> None:
        given = np.asarray(blocks, dtype=np.float64)
        if given.ndim not in (1, 2):
            raise LightmeterError(f"blocks have {given.ndim} axes. Accepted: [n] or [queries, n].")
        self.shape = given.shape
        go_on = np.broadcast_to(np.asarray(continuation, dtype=np.float64), given.shape).reshape(-1)
        flat = given.reshape(-1)
        place = np.flatnonzero(~np.isnan(flat))
        query = place // max(given.shape[-1], 1)
        if not ((go_on[place] >= 0) & (go_on[place] <= 1)).all():
            raise LightmeterError("a continuation is no probability. Accepted: numbers from 0 to 1.")
        order = np.lexsort((go_on[place], flat[place], query))
        self.place, query = place[order], query[order]
        number, go_on = flat[self.place], go_on[self.place]
        new_query = np.append(True, query[1:] != query[:-1])[: len(query)]
        new_block = new_query | np.append(True, number[1:] != number[:-1])[: len(query)]
        new_level = new_block | np.append(True, go_on[1:] != go_on[:-1])[: len(query)]
        self.level = np.cumsum(new_level) - 1
        level_start, block_start = np.flatnonzero(new_level), np.flatnonzero(new_block)
        #: C and number of documents of each level
        self.go_on, self.many = go_on[level_start], np.diff(np.append(level_start, len(query)))
        self.block_of_level = (np.cumsum(new_block) - 1)[level_start]
        #: documents, and documents above in the same query, of each block
        self.size = np.diff(np.append(block_start, len(query)))
        query_start = np.flatnonzero(new_query)
        query_of = np.cumsum(new_query) - 1
        self.above = block_start - query_start[query_of[block_start]]
        self.first = np.searchsorted(self.block_of_level, np.arange(len(self.size)))
        self.level_count = np.diff(np.append(self.first, len(self.go_on)))
        self.top = self._tops(query_start, query_of, block_start, go_on)

    def _tops(self, query_start: Integers, query_of: Integers, block_start: Integers, go_on: Floats) -> Floats:
        """View at the top of each block: the product of C over the documents above."""
        width = int(np.diff(np.append(query_start, len(go_on))).max(initial=0))
        padded = np.ones((len(query_start), width + 1))
        padded[query_of, np.arange(len(go_on)) - query_start[query_of] + 1] = go_on
        np.cumprod(padded, axis=1, out=padded)
        top: Floats = padded[query_of[block_start], self.above]
        return top

    def levels(self, blocks: Integers) -> tuple[Integers, Integers]:
        """The levels of some blocks, and to which of these blocks each belongs."""
        count = self.level_count[blocks]
        owner = np.repeat(np.arange(len(blocks)), count)
        return np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + self.first[blocks][owner], owner

    def restore(self, value: Floats) -> Floats:
        """Values of levels in the shape of the input."""
        out = np.zeros(int(np.prod(self.shape)))
        out[self.place] = value[self.level]
        return out.reshape(self.shape)


def _rules(
    size: Integers, wanted: Booleans, level_count: Integers
) -> Iterator[tuple[Integers, Floats, Floats, Floats]]:
    """Quadrature rules on [0, 1] with some blocks they serve: nodes u, 1 - u, weights."""
    todo = wanted.copy()
    nodes = 1
    while todo.any():
        if nodes <= LONGEST_GAUSS:
            picked = np.flatnonzero(todo & (size <= 2 * nodes))
            x, weight = np.polynomial.legendre.leggauss(nodes)
            rule = ((1.0 + x) / 2, (1.0 - x) / 2, weight / 2)
        else:
            picked = np.flatnonzero(todo)
            t = np.exp(np.arange(np.log(1e-16), np.log(40.0), STEP))
            rule = (-np.expm1(-t), np.exp(-t), STEP * t * np.exp(-t))
        group = np.cumsum(level_count[picked] * len(rule[0])) // CELLS
        for part in np.split(picked, np.flatnonzero(np.diff(group)) + 1) if len(picked) else []:
            yield (part, *rule)
        todo[picked] = False
        nodes *= 2


def _cut_means(ties: _Ties, cut: Integers, room: Integers, levels: Integers, owner: Integers) -> Floats:
    """``(1/m) sum_{k < room} E_k`` of each level's block without one of its documents.

    E_k over the first i documents is ``(1 - k/i) E_k + (k/i) C_i E_{k-1}`` over the first i - 1: nothing is subtracted.
    One document is taken out again by the same equation, from k = 0 upwards while ``k C < m - k`` and from k = m - 1
    downwards above, so that errors shrink on the way.
    """
    size = ties.size[cut]
    # all E_k are needed where some level has to come from above
    depth = int(np.where(2 * room > size, size + 1, room).max())
    start = np.cumsum(ties.size) - ties.size
    member = ties.go_on[ties.level]
    falling = np.argsort(-size, kind="stable")
    mean = np.zeros((depth, len(cut)))  # blocks from long to short: those with an i-th document come first
    mean[0] = 1.0
    k = np.arange(1.0, depth)[:, None]
    active = len(cut) - np.searchsorted(np.sort(size), np.arange(int(size.max())), side="right")
    for i, count in enumerate(active):
        top = min(depth - 1, i + 1)
        share = k[:top] / (i + 1.0)
        one_less = mean[:top, :count] * member[start[cut[falling[:count]]] + i]
        one_less *= share
        mean[1 : top + 1, :count] *= 1.0 - share
        mean[1 : top + 1, :count] += one_less
    mean = mean[:, np.argsort(falling)]
    m, seats, go_on = size[owner].astype(np.float64), room[owner], ties.go_on[levels]
    turn = np.floor(m / (1.0 + go_on))
    total = np.zeros(len(levels))
    without = np.ones(len(levels))
    for j in range(int(seats.max())):
        upward = j <= np.minimum(turn, m - 1)
        if j:
            without = (m * mean[j][owner] - j * go_on * without) / np.where(upward, m - j, 1.0)
            without = np.where(upward, without, 0.0)
        total += np.where(j < seats, without, 0.0)
    rest = turn < seats - 1
    if rest.any():
        without = np.zeros(len(levels))
        for j in range(int(m[rest].max()) - 1, int(turn[rest].min()), -1):
            downward = rest & (j > turn) & (j < m)
            without = (m * mean[j + 1][owner] - (m - j - 1.0) * without) / np.where(downward, (j + 1.0) * go_on, 1.0)
            without = np.where(downward, without, 0.0)
            total += np.where(j < seats, without, 0.0)
    return total / m


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
