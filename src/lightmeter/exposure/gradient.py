"""Gradient of the exact expected exposure under Plackett-Luce with respect to the log-weights.

With the nodes, P and r of :mod:`lightmeter.exposure.luce`, a cotangent ``lambda`` and ``S = sum_i lambda_i r_i``,

    ``d(lambda . eps) / dy_l = h sum_x P r_l [lambda_l (1 - X_l) - (1 - C_l) (S - lambda_l r_l)]``,

at about the cost of the exposure itself. Adding a constant to all log-weights changes nothing, so the gradient of a
list sums to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Floats, Integers
from lightmeter.exposure.grid import (
    TINY,
    Lists,
    last_nodes,
    lists,
    over_nodes,
    scatter,
    starts,
    tail_sums,
    windows,
)
from lightmeter.exposure.luce import START, cells

STEP = 0.3  # of the trapezoid rule: a derivative's error is 2 pi / h times that of the exposure


def luce_vjp(
    log_weights: ArrayLike, continuation: ArrayLike, cotangent: ArrayLike, lengths: ArrayLike | None = None
) -> Floats:
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
        start = starts(data, START)
        _add_tail(out, data, segments, weight, start)
        grid = windows(data, segments, start[segments], last_nodes(data, segments), STEP)

        def work(batch: Integers) -> tuple[Integers, Floats]:
            here = cells(data, grid, batch, STEP)
            cotangent, time, ratio, spare, full = weight[here.document], here.time, here.ratio, here.spare, here.full
            x, product = here.weight, here.product * here.time
            away, stay = 1.0 - here.go_on, (here.go_on * x)[:, full:]
            toward = cotangent * x
            both = np.einsum("ij,ijk->ik", toward[:, :full], ratio)
            both += toward[:, full:].sum(axis=1)[:, None] - np.outer((toward[:, full:] * stay).sum(axis=1), time)
            both *= product * time  # P S e^x
            np.multiply(ratio, away[:, :full, None], out=spare)
            spare -= 1.0
            spare *= time
            spare *= x[:, :full, None]
            spare += 1.0
            spare *= ratio  # (1 - X + (1 - C) r) e^-X / f
            own, cross = np.empty(x.shape), np.empty(x.shape)
            own[:, :full] = over_nodes(spare, product)
            cross[:, :full] = over_nodes(ratio, both)
            # to second order r = X (1 - C X) and r (1 - X + (1 - C) r) = X (1 - 2 C X)
            own[:, full:] = product.sum(axis=1)[:, None] - 2.0 * stay * over_nodes(product, time)[:, None]
            cross[:, full:] = both.sum(axis=1)[:, None] - stay * over_nodes(both, time)[:, None]
            return here.document, STEP * x * (cotangent * own - away * cross)

        scatter(out, work, grid.batches)
    return data.restore(out)


def _add_tail(out: Floats, data: Lists, segments: Integers, weight: Floats, start: Floats) -> None:
    """Set documents of the segments to the sum over the nodes before the first: the derivative of the exposure's there.

    ``T = sum_i lambda_i X_i [g_1 - g_2 s_i + g_3 (s_i^2 + B - b_i) / 2]`` with ``s_i = sum_j (1 - C_j) X_j + C_i X_i``,
    ``b_i = (1 - C_i) C_i X_i^2`` and B their sum.
    """

    def total(value: Floats) -> Floats:
        return data.spread(np.add.reduceat(value, data.first))

    x = np.exp(data.y + data.spread(start))
    away, stay = (1.0 - data.go_on) * x, data.go_on * x
    other, toward = away * stay, weight * x
    s = total(away) + stay
    one, two, three = tail_sums(STEP)
    slope = three * s - two  # of the bracket by s
    own = one - two * s + three / 2 * (s**2 + total(other) - other) + stay * slope - three * other
    tail = toward * own + away * total(toward * slope) + three * other * total(toward)
    mask = np.repeat(np.isin(np.arange(len(data.first)), segments), data.size)
    out[mask] = (tail * data.before[np.repeat(data.first, data.size)])[mask]
