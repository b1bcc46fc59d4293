"""Losses of relevance, to compare with: by document, by pair, by list.

Each is called as an :class:`~lightmeter.learn.losses.ExposureLoss` is; groups are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, softmax, softplus

from lightmeter.errors import LightmeterError
from lightmeter.learn.losses import Batch


@dataclass(frozen=True)
class PointwiseLoss:
    """Squared error ``(s_d - g_d)^2``, the mean over a query's documents.

    Notes
    -----
    Source: Cossock and Zhang, COLT 2006.

    Examples
    --------
    >>> float(PointwiseLoss()(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])))
    2.0
    """

    def __call__(
        self, scores: Tensor, grades: Tensor, mask: Tensor | None = None, *_: Any, reduction: str = "mean", **__: Any
    ) -> Tensor:
        """The loss of a batch; every query with a document counts."""
        batch = Batch.of(scores, grades, mask)
        count = batch.mask.sum(dim=1)
        value = (batch.scores - batch.grades).square().sum(dim=1) / count.clamp(min=1)
        return batch.reduce(value, count > 0, reduction)


@dataclass(frozen=True)
class PairwiseLoss:
    """Cross-entropy ``ln(1 + e^(s_j - s_i))`` of pairs with ``g_i > g_j``, the mean over a query's pairs.

    A query without such a pair does not count.

    Notes
    -----
    Source: Burges et al., ICML 2005 (RankNet).

    Examples
    --------
    >>> round(float(PairwiseLoss()(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]))), 6)
    0.693147
    """

    def __call__(
        self, scores: Tensor, grades: Tensor, mask: Tensor | None = None, *_: Any, reduction: str = "mean", **__: Any
    ) -> Tensor:
        """The loss of a batch."""
        batch = Batch.of(scores, grades, mask)
        pairs = _preferred(batch)
        cost = softplus(batch.scores[:, None, :] - batch.scores[:, :, None])
        count = pairs.sum(dim=(1, 2))
        value = torch.where(pairs, cost, torch.zeros_like(cost)).sum(dim=(1, 2)) / count.clamp(min=1)
        return batch.reduce(value, count > 0, reduction)


@dataclass(frozen=True)
class ListNetLoss:
    """Cross-entropy between the softmax of the grades and that of the scores.

    Notes
    -----
    Source: Cao et al., ICML 2007 (top one).

    Examples
    --------
    >>> round(float(ListNetLoss()(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]))), 6)
    0.693147
    """

    def __call__(
        self, scores: Tensor, grades: Tensor, mask: Tensor | None = None, *_: Any, reduction: str = "mean", **__: Any
    ) -> Tensor:
        """The loss of a batch; queries with a grade above 0 count."""
        batch = Batch.of(scores, grades, mask)
        low = torch.full_like(batch.scores, -1e30)
        wanted = softmax(torch.where(batch.mask, batch.grades, low), dim=1)
        given = log_softmax(torch.where(batch.mask, batch.scores, low), dim=1)
        value = -torch.where(batch.mask, wanted * given, torch.zeros_like(given)).sum(dim=1)
        return batch.reduce(value, batch.has_relevant, reduction)


@dataclass(frozen=True)
class LambdaRankLoss:
    """The pairwise cross-entropy, each pair weighed by what swapping the two changes in nDCG at present.

    ``|2^g_i - 2^g_j| |1/log2(1 + r_i) - 1/log2(1 + r_j)| / maxDCG``, without a gradient of its own; sums over pairs.

    Parameters
    ----------
    sigma
        Slope of the cross-entropy.

    Notes
    -----
    Source: Burges et al., NIPS 2006; as a loss, Wang et al., CIKM 2018.

    Examples
    --------
    The pair in the right order: the weight is (1 - 1/log2(3)) / 1.

    >>> round(float(LambdaRankLoss()(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]))), 6)
    0.115616
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise LightmeterError(f"sigma is {self.sigma}. Accepted: a number above 0.")

    def __call__(
        self, scores: Tensor, grades: Tensor, mask: Tensor | None = None, *_: Any, reduction: str = "mean", **__: Any
    ) -> Tensor:
        """The loss of a batch; queries with documents of different grades count."""
        batch = Batch.of(scores, grades, mask)
        pairs = _preferred(batch)
        with torch.no_grad():
            weight = _swaps(batch)
        cost = weight * softplus(self.sigma * (batch.scores[:, None, :] - batch.scores[:, :, None])) / self.sigma
        value = torch.where(pairs, cost, torch.zeros_like(cost)).sum(dim=(1, 2))
        return batch.reduce(value, pairs.any(dim=2).any(dim=1), reduction)


def _preferred(batch: Batch) -> Tensor:
    """Pairs (i, j) with ``g_i > g_j``, ``[queries, documents, documents]``."""
    both = batch.mask[:, :, None] & batch.mask[:, None, :]
    return both & (batch.grades[:, :, None] > batch.grades[:, None, :])


def _swaps(batch: Batch) -> Tensor:
    """How much nDCG changes when two documents swap ranks."""
    low = torch.full_like(batch.scores, -torch.inf)
    order = torch.where(batch.mask, batch.scores, low).argsort(dim=1, descending=True, stable=True)
    ranks = torch.arange(1, batch.scores.shape[1] + 1, dtype=batch.scores.dtype, device=batch.scores.device)
    discount = 1.0 / torch.log2(1.0 + ranks)
    mine = torch.empty_like(batch.scores).scatter_(1, order, discount.expand(batch.scores.shape))
    gain = torch.exp2(batch.grades) - 1.0
    best = (gain.sort(dim=1, descending=True).values * discount).sum(dim=1)
    change = (gain[:, :, None] - gain[:, None, :]).abs() * (mine[:, :, None] - mine[:, None, :]).abs()
    return change / best.clamp(min=1e-12)[:, None, None]
