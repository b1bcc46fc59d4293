"""Gradient of the exact expected exposure under Plackett-Luce with respect to the log-weights.

With the nodes, P and r of :mod:`lightmeter.exposure.luce`, a cotangent ``lambda`` and ``S = sum_i lambda_i r_i``,

    ``d(lambda . eps) / dy_l = h sum_x P r_l [lambda_l (1 - X_l) - (1 - C_l) (S - lambda_l r_l)]``,

at about the cost of the exposure itself. Adding a constant to all log-weights changes nothing, so the gradient of a
list sums to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightmeter.exposure.luce import STEP, TINY, Index, Lists, cells, last_nodes, lists, scatter, starts, windows

Array = NDArray[np.float64]


def luce_vjp(
    log_weights: ArrayLike, continuation: ArrayLike, cotangent: ArrayLike, lengths: ArrayLike | None = None
) -> Array:
    """Vector-Jacobian product of :func:`~lightmeter.exposure.luce.luce_exposure`.

    ``d(lambda . eps) / dy_l = h sum_x P r_l [lambda_l (1 - X_l) - (1 - C_l) (S - lambda_l r_l)]``.

    Parameters
    ----------
    log_weights, continuation, lengths
        As for the exposure.
    cotangent
        lambda: the derivative of a loss by the exposure of each document; anything that broadcasts to ``log_weights``.

    Returns
    -------
    array
        Derivative of the loss by each log-weight, of the shape of ``log_weights``; 0 where there is no document.

    Examples
    --------
    Two documents: ``eps_1 = (w_1 + C_2 w_2) / (w_1 + w_2)``.

    >>> luce_vjp([0.0, 0.0], 0.5, [1.0, 0.0]).round(12).tolist()
    [0.125, -0.125]
    """
    data = lists(log_weights, continuation, lengths)
    given = np.broadcast_to(np.asarray(cotangent, dtype=np.float64), data.shape).reshape(-1)
    weight = given[data.place]
    out = np.zeros(len(data.y))
    segments = np.flatnonzero((data.size > 1) & (data.before[data.first] > TINY))
    if len(segments):
        _add_tail(out, data, segments, weight)
        grid = windows(data, segments, last_nodes(data, segments), np.full(len(segments), STEP))

        def work(batch: Index) -> tuple[Index, Array]:
            here = cells(data, grid, batch)
            cotangent = weight[here.document]
            minus_r, product = here.ratio, here.product
            both = np.matmul(-cotangent[:, None, :], minus_r)[:, 0, :]
            both *= product  # P S
            cross = np.matmul(minus_r, both[:, :, None])[:, :, 0]  # - sum P S r
            square = minus_r * (here.go_on - 1.0)[:, :, None]
            square += here.minus_x
            square += 1.0
            square *= minus_r  # - r (1 - X + (1 - C) r)
            own = np.matmul(square, product[:, :, None])[:, :, 0]
            return here.document, STEP * ((1.0 - here.go_on) * cross - cotangent * own)

        scatter(out, work, grid.batches)
    return data.restore(out)


def _add_tail(out: Array, data: Lists, segments: Index, weight: Array) -> None:
    """Set documents of the segments to the sum over the nodes before the first, to second order.

    There the summand is ``X_l`` times
    ``lambda_l - lambda_l sum_j (1 - C_j) X_j - 2 C_l lambda_l X_l - (1 - C_l) sum_j lambda_j X_j``.
    """
    mine = np.zeros(len(data.first), dtype=np.bool_)
    mine[segments] = True
    x = np.exp(data.y + data.spread(starts(data)))
    away = data.spread(np.add.reduceat((1.0 - data.go_on) * x, data.first))
    toward = data.spread(np.add.reduceat(weight * x, data.first))
    second = weight * (away + 2.0 * data.go_on * x) + (1.0 - data.go_on) * toward
    q = np.exp(-STEP)
    tail = STEP * x * (weight * q / (1 - q) - second * q**2 / (1 - q**2))
    mask = np.repeat(mine, data.size)
    out[mask] = (tail * data.before[np.repeat(data.first, data.size)])[mask]
