"""The settings of a training, in one value that is written beside its results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from lightmeter.errors import LightmeterError, TermError, choice, suggest
from lightmeter.learn.data import NORMALISATIONS
from lightmeter.models.users import User, user_of


def differentiable_user(given: Any) -> User:
    """A user model for which the exact exposure of a Plackett-Luce policy has a gradient."""
    user = user_of(given)
    if not user.has_continuation:
        raise TermError(f"the exposure for {user} has no gradient here. Accepted: RBP, Cascade or ERR(max_grade=..).")
    if getattr(user, "cutoff", None) is not None:
        raise TermError(f"{user} has a cutoff, with which there is no gradient here. Accepted: no cutoff.")
    user.continuation(np.zeros(1))  # ERR without its highest grade says so
    return user


MODELS = ("mlp", "lightgbm")
LOSSES = ("ee", "ee-gumbel", "parity", "parity-gumbel", "pointwise", "pairwise", "listnet", "lambdarank")


@dataclass(frozen=True)
class Settings:
    """How models are trained.

    Attributes
    ----------
    model
        ``'mlp'``: two hidden layers of ``hidden``, ReLU, ``dropout``, Adam with ``rate``; or ``'lightgbm'``.
    lam, user, complete, binary, samples, tau
        As for :class:`~lightmeter.learn.losses.ExposureLoss`. ``user`` is the user model of EEAUC too, which stops a
        training and is the result in the end.
    train_user
        Another user model for the losses of exposure; None: ``user``. A more patient one gives exposure, and so a say,
        to more documents of each query, and so overfits less where queries are few.
    normalise
        See :class:`~lightmeter.learn.data.Normalisation`; trees take features as they are.
    epochs, patience
        At most so many epochs (of trees: trees), ended where validation EEAUC has not risen for ``patience`` of them.
        0: 100 and 10, of trees 500 and 50.
    batch
        Queries in a step of the network.
    rate
        Learning rate; 0: 0.001, of trees 0.05.
    folds
        Parts of the queries: each is tested once, the next one validates, the others train.
    seed
        Of the parts, the first weights, the order and the noise.
    """

    model: str = "mlp"
    lam: float = 0.5
    user: str = "RBP(p=0.5)"
    complete: bool = False
    binary: float | None = None
    samples: int = 20
    tau: float = 0.1
    normalise: str = "zscore"
    epochs: int = 0
    patience: int = 0
    batch: int = 16
    rate: float = 0.0
    dropout: float = 0.1
    hidden: int = 256
    folds: int = 5
    seed: int = 0
    train_user: str | None = None

    def __post_init__(self) -> None:
        for name, value, options in (("model", self.model, MODELS), ("normalise", self.normalise, NORMALISATIONS)):
            choice(name, value, options)
        for name, network, trees in (("epochs", 100, 500), ("patience", 10, 50), ("rate", 0.001, 0.05)):
            if getattr(self, name) == 0:
                object.__setattr__(self, name, trees if self.model == "lightgbm" else network)
        for name, least in (("epochs", 1), ("patience", 1), ("batch", 1), ("hidden", 1), ("folds", 3), ("samples", 1)):
            if getattr(self, name) < least:
                raise LightmeterError(f"{name} is {getattr(self, name)}. Accepted: {least} or more.")
        for what, number, good, accepted in (
            ("the learning rate", self.rate, self.rate > 0, "above 0"),
            ("dropout", self.dropout, 0 <= self.dropout < 1, "from 0 to below 1"),
            ("lambda", self.lam, 0 <= self.lam <= 1, "from 0 to 1"),
            ("tau", self.tau, self.tau > 0, "above 0"),
        ):
            if not good:
                raise LightmeterError(f"{what} is {number}. Accepted: a number {accepted}.")
        for user in (self.user, self.loss_user):
            differentiable_user(user)

    @property
    def loss_user(self) -> str:
        """The user model whose exposure the losses use."""
        return self.user if self.train_user is None else self.train_user

    def check_loss(self, loss: str) -> None:
        """Refuse a loss that there is not, or not for this model."""
        if loss not in LOSSES:
            raise LightmeterError(f"the loss is {loss!r}.{suggest(loss, LOSSES)} Accepted: {', '.join(LOSSES)}.")
        if self.model == "lightgbm" and loss.endswith("gumbel"):
            raise LightmeterError(
                f"the loss {loss} needs a network, as the estimate has no Hessian. Accepted for lightgbm: "
                f"{', '.join(name for name in LOSSES if not name.endswith('gumbel'))}."
            )

    def record(self) -> dict[str, Any]:
        """As it is written."""
        record = asdict(self)
        if self.train_user is None:  # as folders and checkpoints from before it say it
            del record["train_user"]
        return record

    @classmethod
    def names(cls) -> list[str]:
        """Names of the settings."""
        return [f.name for f in fields(cls)]


def kind_of(loss: str) -> str:
    """Which EEAUC stops a training early."""
    return "parity" if loss.startswith("parity") else "documents"


def check_area(area: float, kind: str) -> None:
    """Refuse validation queries that have no area (NaN)."""
    if area != area:
        raise LightmeterError(
            f"no validation query has an area ({kind}): each needs a relevant document and two documents"
            f"{', of two groups' if kind == 'parity' else ''}. Accepted: more queries, or fewer folds."
        )
