"""Exact expected exposure under Plackett-Luce as a function of torch, with its exact gradient.

Both are the integrals of :mod:`lightmeter.exposure.luce` and :mod:`lightmeter.exposure.gradient`, in double precision
whatever the type of the scores, and the same at every call.
"""

from __future__ import annotations

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
