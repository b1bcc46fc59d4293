"""Expected exposure under Plackett-Luce as functions of torch: exact, with its exact gradient, or from samples.

The exact ones are the integrals of :mod:`lightmeter.exposure.luce` and :mod:`lightmeter.exposure.gradient`, in double
precision whatever the type of the scores, and the same at every call. The estimate adds Gumbel noise to the scores,
which samples rankings from Plackett-Luce; exposures are those of the sampled ranks, and the gradient is that of smooth
ranks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightmeter.errors import LightmeterError
from lightmeter.exposure.gradient import luce_vjp
from lightmeter.exposure.luce import luce_exposure


class _LuceExposure(torch.autograd.Function):
    """From log-weights (NaN: no document) and continuations, NumPy arrays but for the scores."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, continuation: Any, mask: Any) -> Tensor:
        log_weights = np.where(mask, scores.detach().cpu().numpy().astype(np.float64), np.nan)
        ctx.given = log_weights, continuation
        ctx.mask = mask
        return torch.from_numpy(luce_exposure(log_weights, continuation)).to(scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0]
        cotangent = np.where(ctx.mask, gradient.detach().cpu().numpy().astype(np.float64), 0.0)
        return torch.from_numpy(luce_vjp(ctx.given[0], ctx.given[1], cotangent)).to(gradient), None, None


def luce_exposure_of(scores: Tensor, continuation: Any, mask: Tensor | None = None) -> Tensor:
    """Exact expected exposure of documents under the Plackett-Luce policy of their scores.

    ``eps_i = int_0^inf w_i e^(-w_i t) prod_{j != i} [C_j + (1 - C_j) e^(-w_j t)] dt``, ``w = exp(score)``, with its
    exact gradient (the first derivative; there is no second).

    Parameters
    ----------
    scores
        ``[documents]`` or ``[queries, documents]``, float32 or float64.
    continuation
        C of each document in [0, 1], or a number: 0.5 for ``RBP(p=0.5)``.
    mask
        Where there is a document; by default everywhere.

    Returns
    -------
    Tensor
        Exposure in [0, 1], of the shape and type of the scores; 0 where there is no document.

    Raises
    ------
    LightmeterError
        Where a score is not finite or a continuation not in [0, 1].

    Notes
    -----
    Source: the exact integral of this package; the policy is that of Diaz et al., CIKM 2020, section 6.

    Examples
    --------
    >>> y = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    >>> eps = luce_exposure_of(y, 0.5)
    >>> [round(v, 9) for v in eps.tolist()]
    [0.75, 0.75]
    >>> eps[0].backward()
    >>> [round(v, 9) for v in y.grad.tolist()]
    [0.125, -0.125]
    """
    there = np.ones(tuple(scores.shape), dtype=np.bool_) if mask is None else mask.cpu().numpy().astype(np.bool_)
    values = scores.detach().cpu().numpy()
    go_on = continuation.detach().cpu().numpy() if isinstance(continuation, Tensor) else continuation
    go_on = np.asarray(go_on, dtype=np.float64)
    if there.shape != values.shape or not np.isfinite(values[there]).all():
        raise LightmeterError(
            f"the scores, of shape {values.shape} with a mask of shape {there.shape}, are not finite numbers of one "
            "shape with the mask."
        )
    if not ((go_on >= 0) & (go_on <= 1)).all():
        raise LightmeterError("a continuation is not in [0, 1]. Accepted: probabilities of going on.")
    out: Tensor = _LuceExposure.apply(scores, go_on, there)  # type: ignore[no-untyped-call]
    return out


#: A user model that never goes on (C = 0) counts as one that hardly does, so that logarithms are finite.
_LEAST = 1e-30


def gumbel_exposure_of(
    scores: Tensor,
    continuation: Any,
    mask: Tensor | None = None,
    *,
    samples: int = 20,
    tau: float = 0.1,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Mean exposure of documents in sampled rankings, with a straight-through gradient.

    With ``y`` the scores plus Gumbel noise, document i is seen with probability ``prod_j C_j`` over the documents j
    above it. Going back, "j is above i" is taken as ``sigmoid((y_j - y_i) / tau)``; for RBP that is
    ``p^(rank - 1)`` with the smooth rank ``1 + sum_{j != i} sigmoid((y_j - y_i) / tau)``.

    Parameters
    ----------
    scores, continuation, mask
        As for :func:`~lightmeter.learn.exposures.luce_exposure_of`.
    samples
        Sampled rankings per query (``n_train``).
    tau
        Temperature of the smooth ranks, above 0.
    generator
        Where the noise comes from; by default torch's own.

    Returns
    -------
    Tensor
        Unbiased estimate of the exposure, of the shape and type of the scores. Its gradient is biased.

    Raises
    ------
    LightmeterError
        Where ``samples`` or ``tau`` is too small.

    Notes
    -----
    Source: Diaz et al., CIKM 2020, section 6, equations 7 and 8; Bruch et al., WSDM 2020.

    Examples
    --------
    >>> y = torch.tensor([40.0, 0.0], requires_grad=True)
    >>> gumbel_exposure_of(y, 0.5, samples=3).tolist()
    [1.0, 0.5]
    """
    if samples < 1 or not 0 < tau < math.inf:
        raise LightmeterError(f"samples is {samples} and tau {tau}. Accepted: samples of at least 1, tau above 0.")
    one = scores.ndim == 1
    y = scores[None] if one else scores
    there = torch.ones_like(y, dtype=torch.bool) if mask is None else (mask[None] if one else mask)
    log_stay = torch.as_tensor(continuation).to(y).clamp(min=_LEAST).log()
    log_stay = log_stay.expand(y.shape) if log_stay.ndim <= 1 else log_stay
    log_stay = torch.where(there, log_stay, torch.zeros_like(y))  # no document: a factor 1
    uniform = torch.rand((len(y), samples, y.shape[1]), generator=generator, dtype=y.dtype, device=y.device)
    tiny = torch.finfo(y.dtype).tiny
    waiting = (-torch.log(uniform.clamp(min=tiny))).clamp(min=tiny)
    noise = -torch.log(waiting)
    noisy = y[:, None, :] + noise
    above = noisy[..., None, :] - noisy[..., :, None]  # [queries, samples, i, j]: positive where j is above i
    smooth = torch.einsum("qsij,qj->qsi", torch.sigmoid(above / tau), log_stay) - log_stay[:, None, :] / 2
    with torch.no_grad():
        hard = _seen(noisy, log_stay, there)
    log_view = smooth + (hard - smooth).detach()
    view = torch.where(there[:, None, :], log_view.exp(), torch.zeros_like(log_view)).mean(dim=1)
    return view[0] if one else view


def _seen(noisy: Tensor, log_stay: Tensor, there: Tensor) -> Tensor:
    """Logarithm of the view of every document in the sampled rankings."""
    order = torch.where(there[:, None, :], noisy, torch.full_like(noisy, -math.inf)).argsort(dim=2, descending=True)
    steps = log_stay[:, None, :].expand(noisy.shape).gather(2, order)
    return torch.empty_like(noisy).scatter_(2, order, steps.cumsum(dim=2) - steps)
