"""The grid on which integrals over Plackett-Luce clocks are summed: sorted lists, segments, nodes, pieces, batches.

Integrals are over ``x = ln t``, where a document of weight w has ``X = w e^x`` (see :mod:`lightmeter.exposure.luce`).

Exact expected exposure under Plackett-Luce, for users whose continuation belongs to the document.

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


STEP = 0.33  # of the trapezoid rule
START = 3e-3  # sum of X at the first node; what lies before is summed in closed form with an error below START^4


@dataclass(frozen=True)
class Cells:
    """One batch on its nodes; pieces are padded with documents of weight 0 and C = 1."""

    document: Integers  # [pieces, documents]: index of the document
    weight: Floats  # [pieces, documents]: X at the first node
    go_on: Floats  # [pieces, documents]: C
    time: Floats  # [nodes]: X is weight * time
    full: int  # number of documents not taken to second order
    ratio: Floats  # [pieces, full, nodes]: e^-X / f; r is X times that
    product: Floats  # [pieces, nodes]: P, documents passed included; 0 after the last node
    spare: Floats  # room for an array like ratio; both are overwritten by the thread's next batch


def cells(data: Lists, grid: Windows, batch: Integers, step: float) -> Cells:
    """Evaluate a batch."""
    low, nodes = grid.low[batch], grid.nodes[batch]
    document, weight = grid.weights(data, batch)
    go_on = np.where(weight > 0, data.go_on[document], 1.0)
    time = np.exp(step * np.arange(int(nodes.max())))
    full = int(grid.full[batch].max())
    ratio, f = scratch((len(batch), full, len(time)))
    np.multiply(-weight[:, :full, None], time, out=ratio)
    np.maximum(ratio, -GONE, out=ratio)
    np.exp(ratio, out=ratio)
    # a number where it is the same for all, which is faster; where C = 0, f may not underflow: the ratio is 1 there
    c = data.go_on[:1] if data.alike else go_on[:, :full, None]
    np.multiply(ratio, 1.0 - c, out=f)
    f += np.maximum(c, 1e-300)
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


def luce_exposure(log_weights: ArrayLike, continuation: ArrayLike, lengths: ArrayLike | None = None) -> Floats:
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
        start = starts(data, START)
        _add_tail(out, data, segments, start)
        grid = windows(data, segments, start[segments], last_nodes(data, segments), STEP)

        def work(batch: Integers) -> tuple[Integers, Floats]:
            here = cells(data, grid, batch, STEP)
            product = here.product * here.time
            total = np.empty(here.document.shape)
            total[:, : here.full] = over_nodes(here.ratio, product)
            stay = (here.go_on * here.weight)[:, here.full :]  # r = X (1 - C X)
            total[:, here.full :] = product.sum(axis=1)[:, None] - stay * over_nodes(product, here.time)[:, None]
            return here.document, total * here.weight * STEP

        scatter(out, work, grid.batches)
    return data.restore(out)


def _add_tail(out: Floats, data: Lists, segments: Integers, start: Floats) -> None:
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


def geometric_mixture(view: ArrayLike) -> tuple[Floats, Floats] | None:
    """Write a smooth view as a sum of a few geometric ones, ``view_k = sum_m a_m p_m^(k-1)``.

    ``1/k`` is the integral of ``p^(k-1)`` over p, and ``1/log2(k+1)`` is one as well: about 40 patiences, evenly spaced
    in ``ln(-ln p)``, reproduce such a view to 1e-13, and its exact exposure is that of as many users of RBP.

    Parameters
    ----------
    view
        ``[ranks]``: view of every rank that there is.

    Returns
    -------
    (p, a) or None
        Patiences and weights; None where the view is not smooth enough for 1e-11 (a cutoff, a short list of clicks).

    Examples
    --------
    >>> geometric_mixture(1.0 / np.arange(1, 101))[0].size
    37
    >>> geometric_mixture(np.arange(100) < 20) is None
    True
    """
    seen = np.asarray(view, dtype=np.float64)
    k = np.arange(len(seen))
    scale = np.abs(seen).max(initial=0.0)
    if len(seen) > 1 and seen[0] > 0 and np.abs(seen[0] * (seen[1] / seen[0]) ** k - seen).max() < 1e-14 * scale:
        return np.clip(seen[1:2] / seen[:1], 0.0, 1.0), seen[:1]
    fall = np.exp(np.arange(np.log(0.1 / max(len(seen), 1)), np.log(40.0), 0.3))
    p: Floats = np.append(1.0, np.exp(-fall))
    power = p ** k[:, None]
    weight: Floats = np.linalg.lstsq(power, seen, rcond=1e-15)[0].astype(np.float64)
    good = np.abs(power @ weight - seen).max(initial=0.0) < 1e-11 * scale and np.abs(weight).sum() < 30.0 * scale
    return (p, weight) if good else None
