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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.exposure.grid import (
    GONE,
    TINY,
    Lists,
    Windows,
    last_nodes,
    lists,
    over_nodes,
    scatter,
    scratch,
    starts,
    tail_sums,
    windows,
)

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
