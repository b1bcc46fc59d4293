"""The scoring network and its training: epochs, early stopping on EEAUC, a checkpoint after every epoch."""

from __future__ import annotations

import io
import json
import os
import pickle
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import InputError, LightmeterError
from lightmeter.io.files import write_whole
from lightmeter.learn.areas import curve_areas
from lightmeter.learn.baselines import LambdaRankLoss, ListNetLoss, PairwiseLoss, PointwiseLoss
from lightmeter.learn.data import LetorData, Normalisation
from lightmeter.learn.losses import ExposureLoss
from lightmeter.learn.settings import Settings, check_area, kind_of

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


Step = Callable[[int, float, float], None]
#: What torch raises for files that it did not write, or not whole.
_BROKEN = (RuntimeError, KeyError, EOFError, pickle.UnpicklingError, TypeError, ValueError)


@dataclass(frozen=True)
class Trained:
    """A network as it was at the best epoch.

    Attributes
    ----------
    network, normalisation
        What scores documents.
    history
        A row per epoch: ``epoch``, mean training ``loss``, validation ``area`` (EEAUC).
    best
        The best epoch.
    """

    network: Network
    normalisation: Normalisation
    history: list[dict[str, Any]]
    best: int

    def scores(self, data: LetorData, queries: Any) -> Floats:
        """Scores of the documents of some queries, one query after the other."""
        features = data.features[data.flat(queries)]
        return scores_of(self.network, self.normalisation.apply(features, data.sizes[np.asarray(queries)]))

    def save(self, path: str) -> None:
        """Write the model; :meth:`load` reads it back."""
        content = io.BytesIO()
        n = self.normalisation
        scaling = {
            "normalisation": n.name,
            "mean": torch.from_numpy(n.mean),
            "deviation": torch.from_numpy(n.deviation),
        }
        kept = {"network": self.network.state_dict(), "history": self.history, "best": self.best}
        torch.save(scaling | kept, content)
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: str) -> Trained:
        """A model that was written."""
        try:
            saved = torch.load(path, weights_only=True)
            state = saved["network"]
            norm = Normalisation(saved["normalisation"], saved["mean"].numpy(), saved["deviation"].numpy())
        except _BROKEN:
            raise InputError("this is no model that lightmeter wrote", where=path) from None
        weights = [value for name, value in state.items() if name.endswith("weight")]
        network = Network(weights[0].shape[1], [len(w) for w in weights[:-1]])
        network.load_state_dict(state)
        network.eval()
        return cls(network, norm, saved["history"], saved["best"])


def loss_of(name: str, settings: Settings) -> Any:
    """The loss by its name."""
    settings.check_loss(name)
    plain = {"pointwise": PointwiseLoss, "pairwise": PairwiseLoss, "listnet": ListNetLoss, "lambdarank": LambdaRankLoss}
    if name in plain:
        return plain[name]()
    return ExposureLoss(
        settings.lam,
        settings.loss_user,
        name.startswith("parity"),
        "gumbel" if name.endswith("gumbel") else "exact",
        settings.complete,
        settings.binary,
        settings.samples,
        settings.tau,
    )


def train_network(
    data: LetorData,
    train: Integers,
    valid: Integers,
    loss: str = "ee",
    settings: Settings | None = None,
    *,
    checkpoint: str | None = None,
    step: Step | None = None,
) -> Trained:
    """Train the network on some queries, stop by others.

    Parameters
    ----------
    data
        All queries.
    train, valid
        Numbers of the queries of training and validation.
    loss
        Name of the loss.
    settings
        How.
    checkpoint
        A file that is written after every epoch, and resumed from if it exists: the result is the same as
        without the interruption.
    step
        Called after each epoch with its number, loss and area.

    Raises
    ------
    LightmeterError
        Where no validation query has an area, or the checkpoint is that of another training.
    """
    settings = settings or Settings()
    cost, kind = loss_of(loss, settings), kind_of(loss)
    data.check_groups(loss)
    norm = Normalisation.fit(settings.normalise, data.features[data.flat(train)])
    features = torch.from_numpy(norm.apply(data.features, data.sizes))
    known = torch.from_numpy(np.maximum(data.grade, 0.0)).float()
    judged, codes = data.padded(np.maximum(data.grade, 0.0), valid), data.codes(valid)
    mine = torch.from_numpy(data.flat(valid))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_seed(settings.seed, 0))
        network = Network(data.features.shape[1], (settings.hidden, settings.hidden), settings.dropout)
        optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
        fingerprint = _fingerprint(data, train, valid, loss, settings)
        history, best = _resumed(checkpoint, fingerprint, network, optimiser)
        top = max((h["area"] for h in history), default=-np.inf)
        best_epoch = next((h["epoch"] for h in history if h["area"] == top), 0)
        for epoch in range(len(history) + 1, settings.epochs + 1):
            if epoch - 1 - best_epoch >= settings.patience:
                break
            torch.manual_seed(_seed(settings.seed, epoch))
            network.train()
            mean = _epoch(network, optimiser, cost, data, train, features, known, settings.batch)
            found = np.full(judged.shape, np.nan)
            found[~np.isnan(judged)] = scores_of(network, features[mine].numpy())
            area = curve_areas(found, judged, codes, user=settings.user, kind=kind).mean
            check_area(area, kind)
            history.append({"epoch": epoch, "loss": mean, "area": area})
            if area > top:
                top, best, best_epoch = area, frozen(network.state_dict()), epoch
            if checkpoint is not None:
                _save(checkpoint, fingerprint, network, optimiser, history, best)
            if step is not None:
                step(epoch, mean, area)
    network.load_state_dict(best)
    network.eval()
    return Trained(network, norm, history, best_epoch)


def _epoch(
    network: Network,
    optimiser: torch.optim.Optimizer,
    cost: Any,
    data: LetorData,
    train: Integers,
    features: Tensor,
    grades: Tensor,
    batch: int,
) -> float:
    """One pass over the training queries; the mean loss of its steps."""
    order = train[torch.randperm(len(train)).numpy()]
    total = 0.0
    for at in range(0, len(order), batch):
        chosen = order[at : at + batch]
        rows, there = (torch.from_numpy(v) for v in data.rows(chosen))
        codes = data.codes(chosen)
        flat = network(features[rows[there]])
        scores = torch.zeros(rows.shape, dtype=flat.dtype).masked_scatter(there, flat)
        loss = cost(scores, grades[rows], there, None if codes is None else torch.from_numpy(codes))
        optimiser.zero_grad()
        if loss.requires_grad:
            loss.backward()
            optimiser.step()
        total += loss.item() * len(chosen)
    return total / len(order)


def _seed(seed: int, epoch: int) -> int:
    """A seed of its own for each epoch, so that an interrupted training goes on as it would have."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1)


def _fingerprint(data: LetorData, train: Integers, valid: Integers, loss: str, settings: Settings) -> str:
    """What a checkpoint has to be of."""
    sums = [zlib.crc32(np.asarray(v).tobytes()) for v in (data.features, data.grade, data.sizes, train, valid)]
    sums += [] if data.groups is None else [zlib.crc32(data.groups.code.tobytes())]
    kept = {name: value for name, value in settings.record().items() if name not in ("epochs", "folds")}
    return json.dumps([loss, kept, sums], sort_keys=True)


def _save(path: str, fingerprint: str, network: Network, optimiser: Any, history: list[Any], best: Any) -> None:
    content = io.BytesIO()
    torch.save(
        {
            "asked": fingerprint,
            "network": network.state_dict(),
            "optimiser": optimiser.state_dict(),
            "history": history,
            "best": best,
        },
        content,
    )
    write_whole(path, content.getvalue())


def _resumed(path: str | None, fingerprint: str, network: Network, optimiser: Any) -> tuple[list[dict[str, Any]], Any]:
    """History and best state of a checkpoint, whose state the network gets."""
    if path is None or not os.path.exists(path):
        return [], frozen(network.state_dict())
    try:
        saved = torch.load(path, weights_only=True)
        known = saved["asked"]
    except _BROKEN:
        raise InputError("this is no checkpoint", where=path, hint="Delete it to train from the start") from None
    if known != fingerprint:
        raise InputError(
            "this checkpoint is that of a training with other data or settings",
            where=path,
            hint="Delete it to train from the start, or choose another folder",
        )
    network.load_state_dict(saved["network"])
    optimiser.load_state_dict(saved["optimiser"])
    return saved["history"], saved["best"]
