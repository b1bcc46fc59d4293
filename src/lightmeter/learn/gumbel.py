"""The estimate of expected exposure by drawn rankings that gradients pass straight through.

Gumbel noise on the scores draws rankings from Plackett-Luce; exposures are those of the drawn ranks, and the gradient
is that of smooth ranks.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lightmeter.errors import LightmeterError

#: A reader who never goes on (C = 0) is taken as one who hardly does, so that logarithms are finite.
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
    """Mean exposure of documents in drawn rankings, with a straight-through gradient.

    With ``y`` the scores plus Gumbel noise, document i is seen with probability ``prod_j C_j`` over the documents j
    above it. Going back, "j is above i" is taken as ``sigmoid((y_j - y_i) / tau)``; for RBP that is
    ``p^(rank - 1)`` with the smooth rank ``1 + sum_{j != i} sigmoid((y_j - y_i) / tau)``.

    Parameters
    ----------
    scores, continuation, mask
        As for :func:`~lightmeter.learn.exact.luce_exposure_of`.
    samples
        Rankings drawn for each query (``n_train``).
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
    """Logarithm of the view of every document in the drawn rankings."""
    order = torch.where(there[:, None, :], noisy, torch.full_like(noisy, -math.inf)).argsort(dim=2, descending=True)
    steps = log_stay[:, None, :].expand(noisy.shape).gather(2, order)
    return torch.empty_like(noisy).scatter_(2, order, steps.cumsum(dim=2) - steps)
