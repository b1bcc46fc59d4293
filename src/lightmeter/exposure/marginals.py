"""Rank marginals of Plackett-Luce, and exact expected exposure with a cutoff or for any user who knows the rank only.

With the clocks of :mod:`lightmeter.exposure.luce`, ``e_j = exp(-X_j)`` and C_j = 1, the probability that document i is
at rank k is the coefficient of ``z^(k-1)`` in

    ``E_i(z) = int X_i e_i prod_{j != i} [e_j + (1 - e_j) C_j z] dx``;

for a continuation C_j of the document it is the probability that i is seen at rank k. The integral is the trapezoid
rule. Its error is at its worst for equal weights and large n, where the K-th rank (K the depth) is taken at a time of
Gamma(K) distribution: h is chosen so that ``|Gamma(K + 2 pi i / h)| / Gamma(K)`` is 1e-12. Coefficients come from the
values at N points ``rho e^(2 pi i (j + 1/2) / N)`` by an inverse discrete Fourier transform: N = n points and rho = 1
where the polynomial has no more than 4K coefficients, else N = 4K and ``rho = 10^(-13/N)``, which leaves 1e-13 of the
later coefficients. Points come in conjugate pairs, of which one is enough.

The product without document i is the product divided by its factor f. ``|f|^2`` is the sum of two squares' worth,
``(e - g rho)^2 + 2 e g rho (1 + cos)`` with ``g = (1 - e) C``: nothing cancels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lightmeter.arrays import AnyArray, Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.exposure.luce import (
    GONE,
    TINY,
    Lists,
    Windows,
    geometric_mixture,
    last_nodes,
    lists,
    luce_exposure,
    scatter,
    starts,
    tail_sums,
    windows,
)

Complex = NDArray[np.complex128]

CELLS = 8_192  # numbers an array in the cache
SHORT = 30  # up to so many documents the transform is faster than a mixture of geometric views
AT_ONCE = 8_000_000  # numbers of the transform of marginals
START = 1e-4  # sum of X at the first node; what lies before is summed in closed form with an error below START^3


def rank_marginals(log_weights: ArrayLike, depth: int, lengths: ArrayLike | None = None) -> Floats:
    """Probability of each document at each rank.

    ``M[d, k] = [z^(k-1)] int X_d e_d prod_{j != d} [e_j + (1 - e_j) z] dx``.

    Parameters
    ----------
    log_weights
        ``[n]`` or ``[queries, n]``: ln w, finite; NaN where there is no document.
    depth
        Number of ranks from the top.
    lengths
        Number of documents of each query, where those after it are not to be read.

    Returns
    -------
    array
        ``[n, depth]`` or ``[queries, n, depth]``; 0 where there is no document and after the last rank.

    Examples
    --------
    >>> import numpy as np
    >>> rank_marginals(np.log([2.0, 1.0]), 2).round(9).tolist()
    [[0.666666667, 0.333333333], [0.333333333, 0.666666667]]
    """
    if depth < 1:
        raise LightmeterError(f"the depth is {depth}. Accepted: 1 or more ranks.")
    given = np.asarray(log_weights, dtype=np.float64)
    rows, n = np.atleast_2d(given), given.shape[-1]
    count = np.full(len(rows), n) if lengths is None else np.asarray(lengths).reshape(-1)
    out = np.zeros((len(rows), n, depth))
    some = max(1, AT_ONCE // max(4 * n * min(depth, n), 1))
    for begin in range(0, len(rows), some):
        part = slice(begin, begin + some)
        data = lists(rows[part], 1.0, count[part])
        ranks = min(depth, int(data.rank.max(initial=0)) + 1)
        out[part, :, :ranks] = data.restore(_coefficients(data, np.eye(ranks)))
    return out.reshape(*given.shape, depth)


def luce_exposure_view(log_weights: ArrayLike, view: ArrayLike, lengths: ArrayLike | None = None) -> Floats:
    """Exact expected exposure for users who know the rank only: ``M view``, M never formed.

    A smooth view of all ranks (DCG, Inverse, RBP) is a :func:`~lightmeter.exposure.luce.geometric_mixture`, which is
    much faster than the transform.

    Parameters
    ----------
    log_weights, lengths
        As for :func:`rank_marginals`.
    view
        ``[ranks]``: view of each rank; ranks after its end have view 0, so a cutoff is a shorter array.

    Returns
    -------
    array
        Exposure, of the shape of ``log_weights``; 0 where there is no document.

    Examples
    --------
    >>> luce_exposure_view([0.0, 0.0, 0.0], [1.0, 0.5]).round(9).tolist()
    [0.5, 0.5, 0.5]
    """
    seen = np.asarray(view, dtype=np.float64)
    data = lists(log_weights, 1.0, lengths)
    longest = int(data.rank.max(initial=0)) + 1
    if SHORT < longest <= len(seen) and (mixture := geometric_mixture(seen[:longest])):
        return sum((a * luce_exposure(log_weights, p, lengths) for p, a in zip(*mixture, strict=True)), np.zeros(1))
    seen = seen[:longest]
    last = np.flatnonzero(seen)
    if len(last) == 0:
        return np.zeros(data.shape)
    return data.restore(_coefficients(data, seen[: last[-1] + 1, None])[:, 0])


def luce_exposure_cut(
    log_weights: ArrayLike, continuation: ArrayLike, cutoff: int | None, lengths: ArrayLike | None = None
) -> Floats:
    """Exact expected exposure for users whose continuation belongs to the document, with a cutoff.

    ``eps_i``: the sum of the first K coefficients of ``int X_i e_i prod_{j != i} [e_j + (1 - e_j) C_j z] dx``.

    Parameters
    ----------
    log_weights, continuation, lengths
        As for :func:`~lightmeter.exposure.luce.luce_exposure`.
    cutoff
        K, the rank below which nothing is seen, or None.

    Returns
    -------
    array
        Exposure, of the shape of ``log_weights``; 0 where there is no document.

    Examples
    --------
    >>> luce_exposure_cut([0.0, 0.0, 0.0], 0.5, 2).round(9).tolist()
    [0.5, 0.5, 0.5]
    """
    if cutoff is not None and cutoff < 1:
        raise LightmeterError(f"the cutoff is {cutoff}. Accepted: 1 or more ranks, or None.")
    data = lists(log_weights, continuation, lengths)
    if cutoff is None or cutoff > data.rank.max(initial=0):
        return luce_exposure(log_weights, continuation, lengths)
    return data.restore(_coefficients(data, np.ones((cutoff, 1)))[:, 0])


def _coefficients(data: Lists, readout: Floats) -> Floats:
    """Linear functions ``[documents, values]`` of the coefficients of each document.

    ``readout`` is ``[depth, values]``: what the coefficient of each rank counts.
    """
    depth, values = readout.shape
    out = np.zeros((len(data.y), values))
    alone = np.flatnonzero((data.size == 1) & (data.rank[data.first] < depth))
    only = data.first[alone]
    out[only] = data.before[only, None] * readout[data.rank[only]]
    begin = data.before[data.first]
    segments = np.flatnonzero((data.size > 1) & (data.rank[data.first] < depth) & (begin > TINY))
    if len(segments) == 0:
        return out
    step = _step(min(depth, int(data.rank.max()) + 1))
    start = starts(data, START)
    _add_tail(out, data, segments, readout, step, start)
    end = np.minimum(last_nodes(data, segments), _full_nodes(data, segments, depth))
    grid = windows(data, segments, start[segments], end, step, CELLS)
    # points of the upper half circle, and the transform back from their values
    longest = int(data.rank.max()) + 1
    exact = longest <= 4 * depth
    points = 2 * ((longest + 1) // 2 if exact else 2 * depth)
    radius = 1.0 if exact else 10.0 ** (-13.0 / points)
    angle = 2.0 * np.pi * (np.arange(points // 2) + 0.5) / points
    k = np.arange(depth)
    back = (2.0 / points) * (np.exp(-1j * np.outer(angle, k)) * radius**-k) @ readout

    # alone: the steps are so short that threads would wait for the interpreter
    if values == 1:
        one = back[:, 0]
        scatter(out[:, 0], lambda b: _values(data, grid, b, step, radius, angle, one), grid.batches, alone=True)
        return out
    sums = np.zeros((len(data.y), len(angle)), dtype=np.complex128)
    scatter(sums, lambda b: _values(data, grid, b, step, radius, angle, None), grid.batches, alone=True)
    out += sums.real @ back.real
    out -= sums.imag @ back.imag
    return out


def _step(depth: int) -> float:
    """The step h with ``ln |Gamma(K + 2 pi i / h)| - ln Gamma(K) = ln 1e-12`` by Stirling's formula."""
    low, high = 1.0, 30.0 * (1.0 + np.sqrt(depth))
    for _ in range(50):
        w = (low + high) / 2
        fall = w * np.arctan(w / depth) - (depth / 2 - 0.25) * np.log1p((w / depth) ** 2)
        low, high = (w, high) if fall < -np.log(1e-12) else (low, w)
    return float(2.0 * np.pi / high)


def _values(
    data: Lists, grid: Windows, batch: Integers, step: float, radius: float, angle: Floats, mix: Complex | None
) -> tuple[Integers, AnyArray]:
    """Documents of a batch ``[pieces, documents]`` and their sums over its nodes: ``[pieces, documents, points]``.

    With ``mix``, the real part of the sum over the points with these weights: ``[pieces, documents]``.
    """
    low, nodes, full = grid.low[batch], grid.nodes[batch], int(grid.full[batch].max())
    document, weight = grid.weights(data, batch)
    go_on = data.go_on[document]
    node = np.arange(int(nodes.max()))
    time = np.exp(step * node)
    inside = node < nodes[:, None]
    x = weight[:, :full, None] * time
    e = np.exp(-np.minimum(x, GONE))
    u = x * e
    g = (1.0 - e) * go_on[:, :full, None]
    apart = np.square(e - radius * g) + 1e-300
    beside = 2.0 * radius * e * g
    e_complex, g_complex = e.astype(np.complex128), g.astype(np.complex128)
    before = np.where(inside, data.before[low][:, None], 0.0)
    passed = data.rank[low]
    f = np.empty(x.shape, dtype=np.complex128)
    v, w = np.empty(x.shape), np.empty(x.shape)
    # documents to second order: ln f = -(1 - C z) X + (1 - C z) C z X^2 / 2, and X e / f = X (1 - C z X)
    rest, go = weight[:, full:], (go_on * weight)[:, full:]
    first = [part.sum(axis=1)[:, None] * np.where(inside, time, 0.0) for part in (rest, go)]
    second = [part.sum(axis=1)[:, None] * np.where(inside, time**2 / 2, 0.0) for part in (go * rest, go * go)]
    one = np.empty(document.shape, dtype=np.complex128)
    out = np.zeros((len(angle) if mix is None else 1, *document.shape), dtype=np.complex128)
    for i, theta in enumerate(angle):
        z = radius * np.exp(1j * theta)
        np.multiply(g_complex, z, out=f)
        f += e_complex
        product = np.multiply.reduce(f, axis=1)
        product *= before * (radius**passed * np.exp(1j * theta * passed))[:, None]
        if rest.size:
            product *= np.exp(z * first[1] - first[0] + z * (second[0] - z * second[1]))
            power = product * time
            one[:, full:] = rest * (power.sum(axis=1)[:, None] - z * go * (power * time).sum(axis=1)[:, None])
        parts = np.stack([product.real, product.imag], axis=-1)
        # 1/f = conj(f) / |f|^2
        np.multiply(beside, 2.0 * np.cos(theta / 2) ** 2, out=v)
        v += apart
        np.divide(u, v, out=v)
        still = np.matmul(np.multiply(v, e, out=w), parts)
        come = np.matmul(np.multiply(v, g, out=w), parts)
        one[:, :full] = still[..., 0] + 1j * still[..., 1] + np.conj(z) * (come[..., 0] + 1j * come[..., 1])
        if mix is None:
            out[i] = one
        else:
            out[0] += one * mix[i]
    out *= step
    return document, np.moveaxis(out, 0, -1) if mix is None else out[0].real


def _add_tail(out: Floats, data: Lists, segments: Integers, readout: Floats, step: float, start: Floats) -> None:
    """Set documents of the segments to the sum over the nodes before the first.

    To second order the summand is ``X_i [1 - sum_j X_j + z sum_{j != i} C_j X_j]``.
    """
    x = np.exp(data.y + data.spread(start))
    sums = data.spread(np.add.reduceat(x, data.first))
    going = data.spread(np.add.reduceat(data.go_on * x, data.first)) - data.go_on * x
    one, two, _ = tail_sums(step)
    scale = x * data.spread(data.before[data.first])
    top = scale * (one - sums * two)
    second = scale * going * two
    rank = np.repeat(data.rank[data.first], data.size)
    count = np.concatenate([readout, np.zeros((1, readout.shape[1]))])
    mask = np.repeat(np.isin(np.arange(len(data.first)), segments), data.size)
    at = rank[mask]
    out[mask] = top[mask, None] * count[at] + second[mask, None] * count[at + 1]


def _full_nodes(data: Lists, segments: Integers, depth: int) -> Floats:
    """The node of some segments from which on all ranks to the depth are taken.

    Of m documents with ``X >= c`` fewer than k are past with a probability of at most ``exp(-m KL((k-1)/m, 1 - e^-c))``
    (Chernoff); the smallest m that makes this ``TINY`` is looked up for some values of c.
    """
    size, first = data.size[segments], data.first[segments]
    seats = depth - data.rank[first]
    end = np.full(len(segments), np.inf)
    m = np.arange(1.0, size.max() + 1)
    for c in (0.3, 0.7, 1.5, 3.0, 6.0, 12.0):
        p = -np.expm1(-c)
        enough = np.empty(depth + 1, dtype=np.int64)
        for k in range(1, depth + 1):
            share = np.minimum((k - 1.0) / m, p)
            with np.errstate(divide="ignore", invalid="ignore"):
                ahead = np.where(share > 0, share * np.log(share / p), 0.0)
            divergence = ahead + (1.0 - share) * (np.log1p(-share) + c)
            enough[k] = np.searchsorted(m * divergence, -np.log(TINY)) + 1
        need = enough[seats]
        node = np.log(c) - data.y[first + np.minimum(need, size) - 1]
        end = np.where(need <= size, np.minimum(end, node), end)
    return end
