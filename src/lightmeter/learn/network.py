"""The scoring network: two hidden layers of 256, ReLU, dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError

_AT_A_TIME = 1 << 16


class Network(nn.Module):
    """A score for each document from its features alone.

    Parameters
    ----------
    features
        Number of features.
    hidden
        Sizes of the hidden layers.
    dropout
        Share of units dropped in training.

    Notes
    -----
    Source: Diaz et al., CIKM 2020, section 6: two layers of 256, ReLU, dropout 0.1.

    Examples
    --------
    >>> Network(136)(torch.zeros(3, 136)).shape
    torch.Size([3])
    """

    def __init__(self, features: int, hidden: Sequence[int] = (256, 256), dropout: float = 0.1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = features
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        self.layers = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, features: Tensor) -> Tensor:
        """Scores ``[documents]`` of features ``[documents, features]``."""
        return self.layers(features)[:, 0]


def scores_of(network: Network, features: ArrayLike) -> Floats:
    """Scores without dropout, ``[documents]``."""
    given = np.ascontiguousarray(features, dtype=np.float32)
    training = network.training
    network.eval()
    with torch.no_grad():
        out = [network(torch.from_numpy(given[i : i + _AT_A_TIME])) for i in range(0, len(given), _AT_A_TIME)]
    network.train(training)
    scores = torch.cat(out).numpy().astype(np.float64) if out else np.zeros(0)
    if not np.isfinite(scores).all():
        raise LightmeterError("the network's scores are not finite. Lower the learning rate, or normalise features.")
    return scores


def frozen(state: dict[str, Any]) -> dict[str, Any]:
    """A copy of a state that later steps do not change."""
    return {name: value.detach().clone() for name, value in state.items()}
