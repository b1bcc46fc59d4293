"""Exact expected exposure under Plackett-Luce, for users whose continuation belongs to the document.

Give every document an exponential clock of rate ``w = exp(log_weight)``: the order in which the clocks ring is a
Plackett-Luce ranking. A reader who passes document j with probability ``C_j`` (RBP: the patience; Cascade, ERR: by the
grade) then sees document i with

    ``eps_i = int_0^inf w_i e^(-w_i t) prod_{j != i} [C_j + (1 - C_j) e^(-w_j t)] dt``.

With ``x = ln t``, ``X_j = w_j e^x``, ``f_j = C_j + (1 - C_j) e^(-X_j)``, ``P = prod_j f_j`` and
``r_i = X_i e^(-X_i) / f_i`` the trapezoid rule is ``eps_i = h sum_x P r_i``; its error is below
``(4 pi e / h) e^(-pi^2 / h)``, 1e-11 at h = 0.33, whatever the weights.

Work is saved where it cannot matter: nodes before ``x_0``, where ``sum_j X_j`` is 0.003, form three geometric series
and are summed in closed form; nodes after ``P < 1e-18`` are left out; documents with ``X > 35`` are a factor ``C_j``,
documents with ``X < 3e-5`` are taken to second order, all of them at once, and those with ``X < 1e-15`` are a factor 1;
and where neighbours in the sorted list are more than 35 apart in log-weight (they swap once in 1e15 rankings) the list
falls into independent segments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightmeter.errors import LightmeterError
from lightmeter.threads import in_threads

Array = NDArray[np.float64]
Index = NDArray[np.int64]

STEP = 0.33  # of the trapezoid rule
GAP = 35.0  # neighbours further apart in log-weight never swap
PAST = np.log(35.0)  # ln X from which a document counts as passed
NEAR = np.log(3e-5)  # ln X below which a document is taken to second order
AHEAD = np.log(1e-15)  # ln X below which a document counts as still to come
START = 3e-3  # sum of X at the first node; what lies before is summed in closed form with an error below START^4
TINY = 1e-18  # probability that anyone still reads, from which on nothing is added
CELLS = 49_152  # numbers an array in the cache


@dataclass(frozen=True)
class Lists:
    """Ranked lists as flat arrays over their documents, each list by falling log-weight and cut into segments."""

    shape: tuple[int, ...]  # of the input
    place: Index  # position of each document in the flattened input
    y: Array  # log-weight, relative to the highest of the segment
    go_on: Array  # continuation C
    before: Array  # product of C over the documents above in the same list
    rank: Index  # number of documents above in the same list
    first: Index  # first document of each segment
    size: Index  # number of documents of each segment

    def spread(self, value: NDArray[np.float64]) -> Array:
        """One value a segment, repeated for its documents."""
        return np.repeat(value, self.size)

    def restore(self, value: NDArray[np.float64]) -> Array:
        """Values of documents in the shape of the input, 0 where there is none; further axes of ``value`` stay last."""
        out = np.zeros((int(np.prod(self.shape)), *value.shape[1:]))
        out[self.place] = value
        return out.reshape(*self.shape, *value.shape[1:])


def lists(log_weights: ArrayLike, continuation: ArrayLike = 1.0, lengths: ArrayLike | None = None) -> Lists:
    """Sort ranked lists and cut them into segments that do not mix; parameters as for :func:`luce_exposure`."""
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
    order = np.argsort(np.where(there, -y, np.inf), axis=1)
    keep = np.take_along_axis(there, order, axis=1)
    y = np.take_along_axis(y, order, axis=1)
    go_on = np.where(keep, np.take_along_axis(go_on, order, axis=1), 1.0)
    before = np.ones(y.shape)
    np.cumprod(go_on[:, :-1], axis=1, out=before[:, 1:])
    cut = keep.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        cut[:, 1:] &= y[:, :-1] - y[:, 1:] > GAP
    rank = np.broadcast_to(np.arange(y.shape[1]), y.shape)[keep]
    place = (order + np.arange(len(y))[:, None] * y.shape[1])[keep]
    first = np.flatnonzero(cut[keep])
    size = np.diff(np.append(first, len(place)))
    flat = y[keep]
    return Lists(given.shape, place, flat - np.repeat(flat[first], size), go_on[keep], before[keep], rank, first, size)


@dataclass(frozen=True)
class Windows:
    """Pieces of the grid, each a run of nodes with the documents that are neither passed nor still to come."""

    segment: Index  # of each piece
    low: Index  # first document
    width: Index  # number of documents
    full: Index  # number of them that are not taken to second order
    base: Array  # first node x
    nodes: Index  # number of nodes
    batches: list[Index]  # pieces that are worked on together: about CELLS cells

    def weights(self, data: Lists, batch: Index) -> tuple[Index, Array]:
        """Documents of a batch ``[pieces, documents]`` and their X at the first node; padded with X = 0."""
        low, width = self.low[batch][:, None], self.width[batch][:, None]
        column = np.arange(int(width.max()))
        document = np.minimum(low + column, len(data.y) - 1)
        log = np.where(column < width, data.y[document] + self.base[batch][:, None], -np.inf)
        return document, np.exp(log)


def windows(data: Lists, segments: Index, start: Array, end: Array, step: float = STEP, cells: int = CELLS) -> Windows:
    """Cut the nodes of some segments into pieces, and batch pieces of like size.

    ``start`` and ``end`` are the first and last node of each such segment, ``cells`` is documents times nodes of a batch.
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
    order = np.lexsort((nodes, np.round(np.log(np.maximum(full, 1)) * 8)))
    group = np.cumsum((np.maximum(full, 1) * nodes)[order]) // cells
    batches = np.split(order, np.flatnonzero(np.diff(group)) + 1) if len(some) else []
    return Windows(segments[owner][some], low[some], width, full, base[some], nodes, batches)


def starts(data: Lists, start: float = START) -> Array:
    """The node of each segment where the sum of its X is ``start``."""
    return np.asarray(np.log(start) - np.log(np.add.reduceat(np.exp(data.y), data.first)))


def last_nodes(data: Lists, segments: Index) -> Array:
    """The node of some segments from which on everything is passed or nobody reads."""
    first, size = data.first[segments], data.size[segments]
    end = PAST - data.y[first + size - 1]
    with np.errstate(divide="ignore"):
        begin = data.spread(np.log(data.before[data.first]))
    for passed in (1.0, 2.5, 6.0):  # prod_j f_j is at most the product over documents with X > passed
        fall = np.cumsum(np.log(data.go_on + (1.0 - data.go_on) * np.exp(-passed)))
        ahead = data.spread(np.append(0.0, fall)[data.first])
        reading = np.add.reduceat(begin + fall - ahead > np.log(TINY), data.first, dtype=np.int64)[segments]
        stop = np.log(passed) - data.y[first + np.minimum(reading, size - 1)]
        end = np.where(reading < size, np.minimum(end, stop), end)
    return end


@dataclass(frozen=True)
class Cells:
    """One batch on its nodes; pieces are padded with documents of weight 0 and C = 1."""

    document: Index  # [pieces, documents]: index of the document
    weight: Array  # [pieces, documents]: X at the first node
    go_on: Array  # [pieces, documents]: C
    time: Array  # [nodes]: X is weight * time
    full: int  # number of documents not taken to second order
    ratio: Array  # [pieces, full, nodes]: e^-X / f; r is X times that
    product: Array  # [pieces, nodes]: P, documents passed included; 0 after the last node
    spare: Array  # room for an array like ratio; both are overwritten by the thread's next batch


def cells(data: Lists, grid: Windows, batch: Index, step: float = STEP) -> Cells:
    """Evaluate a batch."""
    low, nodes = grid.low[batch], grid.nodes[batch]
    document, weight = grid.weights(data, batch)
    go_on = np.where(weight > 0, data.go_on[document], 1.0)
    time = np.exp(step * np.arange(int(nodes.max())))
    full = int(grid.full[batch].max())
    ratio, f = scratch((len(batch), full, len(time)))
    np.multiply(-weight[:, :full, None], time, out=ratio)
    np.exp(ratio, out=ratio)
    np.multiply(ratio, (1.0 - go_on)[:, :full, None], out=f)
    f += np.maximum(go_on, 1e-300)[:, :full, None]  # where C = 0, f may not underflow: the ratio is 1 there
    ratio /= f
    product = np.multiply.reduce(f, axis=1)
    if full < weight.shape[1]:  # ln f = -(1 - C) X + (1 - C) C X^2 / 2
        rest = ((1.0 - go_on) * weight)[:, full:]
        second = np.einsum("ij,ij,ij->i", rest, go_on[:, full:], weight[:, full:]) / 2
        # at the padding after a piece's last node X may be anything, and nothing may overflow there
        product *= np.exp(np.minimum(time * (second[:, None] * time - rest.sum(axis=1)[:, None]), 0.0))
    product *= (data.before[low])[:, None]
    product[np.arange(product.shape[1]) >= nodes[:, None]] = 0.0
    return Cells(document, weight, go_on, time, full, ratio, product, f)


_mine = threading.local()


def scratch(shape: tuple[int, ...]) -> Array:
    """Two arrays that are the thread's own: to ask the system for memory anew costs as much as to work on it."""
    size = 2 * int(np.prod(shape))
    if getattr(_mine, "room", np.zeros(0)).size < size:
        _mine.room = np.empty(max(size, 3 * CELLS))
    room: Array = _mine.room[:size].reshape(2, *shape)
    return room


def scatter(out: Array, work: Callable[[Index], tuple[Index, Array]], batches: list[Index]) -> None:
    """Add what each batch gives its documents, in the order of the batches."""
    runs = [batches[i : i + 4] for i in range(0, len(batches), 4)]
    for _, parts in in_threads(lambda run: [work(batch) for batch in run], runs):
        for document, value in parts:
            np.add.at(out, document.ravel(), value.reshape(-1, *out.shape[1:]))


def luce_exposure(log_weights: ArrayLike, continuation: ArrayLike, lengths: ArrayLike | None = None) -> Array:
    """Exact expected exposure under Plackett-Luce, no cutoff.

    ``eps_i = int_0^inf w_i e^(-w_i t) prod_{j != i} [C_j + (1 - C_j) e^(-w_j t)] dt``, to about 1e-11.

    Parameters
    ----------
    log_weights
        ``[n]`` or ``[queries, n]``: ln w, finite; NaN where there is no document.
    continuation
        C of each document in [0, 1], or anything that broadcasts to it: 0.8 for RBP(p=0.8).
    lengths
        Number of documents of each query, where those after it are not to be read.

    Returns
    -------
    array
        Exposure, of the shape of ``log_weights``; 0 where there is no document.

    Examples
    --------
    >>> luce_exposure([0.0, 0.0], 0.5).round(12).tolist()
    [0.75, 0.75]
    >>> luce_exposure([1e6, 0.0, -1e6], [0.5, 0.25, 0.5]).tolist()
    [1.0, 0.5, 0.125]
    """
    data = lists(log_weights, continuation, lengths)
    out = data.before.copy()
    segments = np.flatnonzero((data.size > 1) & (data.before[data.first] > TINY))
    if len(segments):
        start = starts(data)
        _add_tail(out, data, segments, start)
        grid = windows(data, segments, start[segments], last_nodes(data, segments))

        def work(batch: Index) -> tuple[Index, Array]:
            here = cells(data, grid, batch)
            product = here.product * here.time
            total = np.empty(here.document.shape)
            total[:, : here.full] = np.matmul(here.ratio, product[:, :, None])[:, :, 0]
            stay = (here.go_on * here.weight)[:, here.full :]  # r = X (1 - C X)
            total[:, here.full :] = product.sum(axis=1)[:, None] - stay * (product @ here.time)[:, None]
            return here.document, total * here.weight * STEP

        scatter(out, work, grid.batches)
    return data.restore(out)


def tail_sums(step: float) -> tuple[float, float, float]:
    """The sums over the nodes before the first of e^x, e^2x, e^3x, the first being x = 0."""
    first, second, third = (float(step / np.expm1(m * step)) for m in (1, 2, 3))
    return first, second, third


def _add_tail(out: Array, data: Lists, segments: Index, start: Array) -> None:
    """Set documents of the segments to the sum over the nodes before the first.

    To third order ``P r = X [1 - s + s^2 / 2 + sum_{j != i} (1 - C_j) C_j X_j^2 / 2]``,
    ``s = sum_j (1 - C_j) X_j + C X``.
    """
    x = np.exp(data.y + data.spread(start))
    away = (1.0 - data.go_on) * x
    other = away * data.go_on * x
    s = data.spread(np.add.reduceat(away, data.first)) + data.go_on * x
    third = s**2 + data.spread(np.add.reduceat(other, data.first)) - other
    one, two, three = tail_sums(STEP)
    tail = x * (one - two * s + three / 2 * third)
    mask = np.repeat(np.isin(np.arange(len(data.first)), segments), data.size)
    out[mask] = (tail * data.before[np.repeat(data.first, data.size)])[mask]
