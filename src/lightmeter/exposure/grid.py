"""The grid on which integrals over Plackett-Luce clocks are summed: sorted lists, segments, nodes, pieces, batches.

Integrals are over ``x = ln t``, where a document of weight w has ``X = w e^x`` (see :mod:`lightmeter.exposure.luce`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.io.threads import in_threads

GAP = 35.0  # neighbours further apart in log-weight never swap
PAST = np.log(35.0)  # ln X from which a document counts as passed
NEAR = np.log(3e-5)  # ln X below which a document is taken to second order
GONE = 200.0  # X from which e^-X is taken to be e^-200: exp takes ten times as long where it underflows
AHEAD = np.log(1e-15)  # ln X below which a document counts as still to come
TINY = 1e-18  # probability that anyone still reads, from which on nothing is added
CALLS = 10_000  # the cost of another batch, in cells
CELLS = 393_216  # numbers an array: threads that work on less wait for the interpreter instead


@dataclass(frozen=True)
class Lists:
    """Ranked lists as flat arrays over their documents, each list by falling log-weight and cut into segments."""

    shape: tuple[int, ...]  # of the input
    place: Integers  # position of each document in the flattened input
    y: Floats  # log-weight, relative to the highest of the segment
    go_on: Floats  # continuation C
    before: Floats  # product of C over the documents above in the same list
    rank: Integers  # number of documents above in the same list
    first: Integers  # first document of each segment
    size: Integers  # number of documents of each segment
    alike: bool  # whether C is the same for all documents

    def spread(self, value: Floats) -> Floats:
        """One value a segment, repeated for its documents."""
        return np.repeat(value, self.size)

    def restore(self, value: Floats) -> Floats:
        """Values of documents in the shape of the input, 0 where there is none; further axes stay last."""
        out = np.zeros((int(np.prod(self.shape)), *value.shape[1:]))
        out[self.place] = value
        return out.reshape(*self.shape, *value.shape[1:])


def lists(log_weights: ArrayLike, continuation: ArrayLike = 1.0, lengths: ArrayLike | None = None) -> Lists:
    """Sort ranked lists and cut them into segments that do not mix; parameters as for the exposure."""
    given = np.asarray(log_weights, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise LightmeterError(f"log-weights have {given.ndim} axes. Accepted: [n] or [queries, n].")
    y = np.atleast_2d(given)
    there = ~np.isnan(y)
    if lengths is not None:
        there &= np.arange(y.shape[1]) < np.asarray(lengths).reshape(-1, 1)
    if np.isinf(y[there]).any():
        raise LightmeterError("a log-weight is infinite. Accepted: finite numbers, and NaN where there is no document.")
    go_on = np.broadcast_to(np.asarray(continuation, dtype=np.float64), given.shape).reshape(y.shape)
    if not ((go_on >= 0) & (go_on <= 1) | ~there).all():
        raise LightmeterError("a continuation is no probability. Accepted: numbers from 0 to 1.")
    everywhere = bool(there.all())
    order = np.argsort(-y if everywhere else np.where(there, -y, np.inf), axis=1)
    order += np.arange(len(y))[:, None] * y.shape[1]
    y, go_on = y.take(order), go_on.take(order)
    if not everywhere:
        there = there.take(order)
        go_on = np.where(there, go_on, 1.0)
    before = np.ones(y.shape)
    np.cumprod(go_on[:, :-1], axis=1, out=before[:, 1:])
    cut = there.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        cut[:, 1:] &= y[:, :-1] - y[:, 1:] > GAP
    rank = np.broadcast_to(np.arange(y.shape[1]), y.shape)

    def kept(value: AnyArray) -> AnyArray:
        return value.reshape(-1) if everywhere else value[there]

    place = kept(order)
    first = np.flatnonzero(kept(cut))
    size = np.diff(np.append(first, len(place)))
    flat, passing = kept(y), kept(go_on)
    flat = flat - np.repeat(flat[first], size)
    alike = bool((passing == passing[:1]).all())
    return Lists(given.shape, place, flat, passing, kept(before), kept(rank), first, size, alike)


@dataclass(frozen=True)
class Windows:
    """Pieces of the grid, each a run of nodes with the documents that are neither passed nor still to come."""

    segment: Integers  # of each piece
    low: Integers  # first document
    width: Integers  # number of documents
    full: Integers  # number of them that are not taken to second order
    base: Floats  # first node x
    nodes: Integers  # number of nodes
    batches: list[Integers]  # pieces that are worked on together: about CELLS cells

    def weights(self, data: Lists, batch: Integers) -> tuple[Integers, Floats]:
        """Documents of a batch ``[pieces, documents]`` and their X at the first node; padded with X = 0."""
        low, width = self.low[batch][:, None], self.width[batch][:, None]
        column = np.arange(int(width.max()))
        document = np.minimum(low + column, len(data.y) - 1)
        log = np.where(column < width, data.y[document] + self.base[batch][:, None], -np.inf)
        return document, np.exp(log)


def windows(data: Lists, segments: Integers, start: Floats, end: Floats, step: float, cells: int = CELLS) -> Windows:
    """Cut the nodes of some segments into pieces, and batch pieces of like size.

    ``start`` and ``end`` are the first and last node of each such segment; a batch has about ``cells`` cells.
    """
    size, first = data.size[segments], data.first[segments]
    total = np.maximum(np.ceil((end - start) / step), 0).astype(np.int64) + 1
    longest = np.where(total <= 80, 80, 32)  # a short piece has fewer documents between near and past
    pieces = -(-total // np.clip(cells // size, 16, longest))
    length = -(-total // pieces)
    owner = np.repeat(np.arange(len(segments)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    base = start[owner] + number * length[owner] * step
    nodes = np.minimum(length[owner], total[owner] - number * length[owner])
    # documents of one segment by falling y, segments one after the other on one rising scale
    reach = float(-data.y.min(initial=0.0)) + 200.0
    scale = np.repeat(np.arange(len(data.first)) * 2 * reach, data.size) - data.y
    zero = segments[owner] * 2 * reach
    beyond = np.clip(base - PAST, -reach / 2, reach)
    low = np.maximum(np.searchsorted(scale, zero + beyond), first[owner])
    beyond = np.clip(base + nodes * step - AHEAD, 0, reach)
    high = np.minimum(np.searchsorted(scale, zero + beyond), (first + size)[owner])
    beyond = np.clip(base + nodes * step - NEAR, -reach / 2, reach)
    near = np.clip(np.searchsorted(scale, zero + beyond), low, high)
    some = np.flatnonzero((high > low) & (nodes > 0))
    width, full, nodes = (high - low)[some], (near - low)[some], nodes[some]
    batches = _batches(np.maximum(full, 1), nodes, cells)
    return Windows(segments[owner][some], low[some], width, full, base[some], nodes, batches)


def _batches(full: Integers, nodes: Integers, cells: int) -> list[Integers]:
    """Pieces of like size together, about ``cells`` cells a batch; every piece takes the room of the largest.

    Pieces are first sorted into classes of sides alike within a quarter. Neighbouring classes are joined where the room
    that is wasted costs less than another batch.
    """
    if not len(full):
        return []
    tall, wide = (np.floor(4 * np.log(side)).astype(np.int64) for side in (full, nodes))
    wide = np.where(tall % 2 == 0, wide, -wide)  # to and fro, so that neighbours are alike
    order = np.lexsort((wide, tall))
    fresh = np.diff(tall[order], prepend=-1) != 0
    fresh[1:] |= np.diff(wide[order]) != 0
    first = np.flatnonzero(fresh)
    sides = np.maximum.reduceat(full[order], first), np.maximum.reduceat(nodes[order], first)
    batches = []
    start, many, high, long = 0, 0, 0, 0
    counts = np.diff(np.append(first, len(order)))
    for at, count, f, n in zip(*(column.tolist() for column in (first, counts, *sides)), strict=True):
        joined = (many + count) * max(high, f) * max(long, n)
        if many and joined > many * high * long + count * f * n + CALLS:
            batches += _cut(order[start:at], cells // (high * long))
            start, many, high, long = at, 0, 0, 0
        many, high, long = many + count, max(high, f), max(long, n)
    return batches + _cut(order[start:], cells // (high * long))


def _cut(pieces: Integers, most: int) -> list[Integers]:
    """In as few parts as it takes for none to have more than ``most``, of like length."""
    return np.array_split(pieces, -(-len(pieces) // max(int(most), 1)))


def starts(data: Lists, start: float) -> Floats:
    """The node of each segment where the sum of its X is ``start``."""
    return np.asarray(np.log(start) - np.log(np.add.reduceat(np.exp(data.y), data.first)))


def last_nodes(data: Lists, segments: Integers) -> Floats:
    """The node of some segments from which on everything is passed or nobody reads."""
    first, size = data.first[segments], data.size[segments]
    end = PAST - data.y[first + size - 1]
    with np.errstate(divide="ignore"):
        begin = data.spread(np.log(data.before[data.first]))
    for passed in (1.5, 5.0):  # prod_j f_j is at most the product over documents with X > passed
        fall = np.cumsum(np.log(data.go_on + (1.0 - data.go_on) * np.exp(-passed)))
        ahead = data.spread(np.append(0.0, fall)[data.first])
        reading = np.add.reduceat(begin + fall - ahead > np.log(TINY), data.first, dtype=np.int64)[segments]
        stop = np.log(passed) - data.y[first + np.minimum(reading, size - 1)]
        end = np.where(reading < size, np.minimum(end, stop), end)
    return end


def tail_sums(step: float) -> tuple[float, float, float]:
    """The sums over the nodes before the first of e^x, e^2x, e^3x, the first being x = 0."""
    first, second, third = (float(step / np.expm1(m * step)) for m in (1, 2, 3))
    return first, second, third


def over_nodes(value: Floats, weight: Floats) -> Floats:
    """Sum over the last axis, weighted. No BLAS: it would start threads of its own beside ours."""
    by_piece = weight.ndim == 2 and value.ndim == 3
    total: Floats = np.einsum("ijk,ik->ij" if by_piece else "ij,j->i", value, weight)
    return total


_mine = threading.local()


def scratch(shape: tuple[int, ...]) -> Floats:
    """Two arrays that are the thread's own: to ask the system for memory anew costs as much as to work on it."""
    size = 2 * int(np.prod(shape))
    if getattr(_mine, "room", np.zeros(0)).size < size:
        _mine.room = np.empty(max(size, 3 * CELLS))
    room: Floats = _mine.room[:size].reshape(2, *shape)
    return room


def scatter(
    out: AnyArray,
    work: Callable[[Integers], tuple[Integers, AnyArray]],
    batches: list[Integers],
    *,
    alone: bool = False,
) -> None:
    """Add what each batch gives its documents, in the order of the batches; ``alone``: by one thread."""
    for document, value in map(work, batches) if alone else (found for _, found in in_threads(work, batches)):
        if out.ndim == 1:
            np.add.at(out, document.ravel(), value.ravel())
            continue
        for low, more in zip(document[:, 0], value, strict=True):  # what goes past a piece's end is 0
            here = out[low : low + len(more)]
            here += more[: len(here)]
