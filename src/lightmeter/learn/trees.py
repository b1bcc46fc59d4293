"""Gradient-boosted trees for expected exposure: objectives for LightGBM, and training stopped early on EEAUC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.exposure.gradient import luce_vjp
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.ties import oracle_exposure
from lightmeter.learn.areas import curve_areas
from lightmeter.learn.data import LetorData
from lightmeter.learn.settings import Settings, check_area, differentiable_user, kind_of

#: The Hessian is at least this share of its mean, and at least this.
_SHARE, _LEAST = 1e-3, 1e-12
_PAIRS = 1 << 22


@dataclass(frozen=True)
class BoostedExposure:
    """``lam D - (1 - lam) R`` for LightGBM, with its exact gradient.

    ``lightgbm.train({"objective": BoostedExposure(lam=0.5)}, data)``.

    The loss is that of :class:`~lightmeter.learn.losses.ExposureLoss`, summed over the queries of the data set (its
    ``group``). The Hessian is a positive diagonal: with ``lambda`` the derivative by exposure and
    ``J_l = (eps_l - least)(1 - eps_l)`` in place of ``d eps_l / d y_l`` (which it is for two documents up to a
    factor), ``h_l = J_l (|lambda_l| + mean_J |lambda|) + 2 lam J_l^2``, so that a Newton step is of the size of a
    log-weight, near 1.

    Parameters
    ----------
    lam, user, parity, complete, binary
        As for :class:`~lightmeter.learn.losses.ExposureLoss`.
    groups
        ``[documents]``: codes of the training documents, -1 for none; for parity.

    Notes
    -----
    Source: Diaz et al., CIKM 2020, equations 6 and 9; the gradient is this package's.

    Examples
    --------
    >>> objective = BoostedExposure(lam=0.0)
    >>> gradient, hessian = objective.derivatives([0.0, 0.0], [1, 0], [2])
    >>> gradient.round(6).tolist(), bool((hessian > 0).all())
    ([-0.125, 0.125], True)
    """

    lam: float = 0.5
    user: Any = "RBP(p=0.5)"
    parity: bool = False
    complete: bool = False
    binary: float | None = None
    groups: ArrayLike | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.lam <= 1:
            raise LightmeterError(f"lam is {self.lam}. Accepted: the weight of disparity, from 0 to 1.")
        if self.parity and self.groups is None:
            raise LightmeterError(
                "parity between groups needs groups=: a code for each training document, -1 for none."
            )
        object.__setattr__(self, "user", differentiable_user(self.user))

    def __call__(self, scores: ArrayLike, data: Any) -> tuple[Floats, Floats]:
        """Gradient and Hessian for the scores of a training data set."""
        return self.derivatives(scores, data.get_label(), query_sizes(data))

    def derivatives(self, scores: ArrayLike, grades: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Floats]:
        """Gradient and Hessian, ``[documents]`` each.

        Parameters
        ----------
        scores, grades
            ``[documents]``, those of a query one after the other.
        sizes
            Number of documents of each query.
        """
        there = _valid(sizes)
        y, g = _padded(scores, there), np.maximum(_padded(grades, there), 0.0)
        g = g if self.binary is None else (g >= self.binary).astype(np.float64)
        seen = np.where(there, g, np.nan)
        goal = oracle_exposure(seen, self.user)
        goal = goal if self.complete else np.where(g > 0, goal, 0.0)
        go_on = self.user.continuation(g)
        log_weights = np.where(there, y, np.nan)
        eps = luce_exposure(log_weights, go_on)
        disparity = 2.0 * (self._between(eps, there) if self.parity else eps)
        counts = (there & (g > 0)).any(axis=1, keepdims=True)
        slope = np.where(there & counts, self.lam * disparity - (1.0 - self.lam) * goal, 0.0)
        gradient = luce_vjp(log_weights, go_on, slope)
        least = np.where(there, eps, np.inf).min(axis=1, keepdims=True) / 2.0
        own = np.where(there, np.maximum(eps - least, 0.0) * np.clip(1.0 - eps, 0.0, None), 0.0)
        total = own.sum(axis=1, keepdims=True)
        mean = (own * np.abs(slope)).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
        hessian = own * (np.abs(slope) + mean) + 2.0 * self.lam * own**2
        flat = hessian[there]
        floor = max(_SHARE * float(flat.mean()) if len(flat) else 0.0, _LEAST)
        return gradient[there], np.maximum(flat, floor)

    def _between(self, eps: Floats, there: Booleans) -> Floats:
        """For each document the exposure of its group, 0 where it has none."""
        given = np.asarray(self.groups, dtype=np.int64)
        if given.shape != (int(there.sum()),):
            raise LightmeterError(
                f"{given.shape} groups for {int(there.sum())} documents. Accepted: one code for each training document."
            )
        code = np.full(there.shape, -1)
        code[there] = given
        width = int(code.max(initial=-1)) + 1
        key = np.arange(len(code))[:, None] * max(width, 1) + code
        known = code >= 0
        xi = np.bincount(key[known], eps[known], minlength=len(code) * max(width, 1))
        return np.where(known, xi[np.where(known, key, 0)], 0.0)


@dataclass(frozen=True)
class BoostedPairwise:
    """The cross-entropy of pairs, the mean over each query's, as an objective of LightGBM."""

    def __call__(self, scores: ArrayLike, data: Any) -> tuple[Floats, Floats]:
        """Gradient and Hessian for the scores of a training data set."""
        return self.derivatives(scores, data.get_label(), query_sizes(data))

    def derivatives(self, scores: ArrayLike, grades: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Floats]:
        """Gradient and Hessian, ``[documents]`` each."""
        there = _valid(sizes)
        y, g = _padded(scores, there), np.maximum(_padded(grades, there), 0.0)
        gradient, hessian = np.zeros(y.shape), np.zeros(y.shape)
        size = max(1, _PAIRS // max(y.shape[1], 1) ** 2)
        for at in range(0, len(y), size):
            part = slice(at, at + size)
            pairs = there[part, :, None] & there[part, None, :] & (g[part, :, None] > g[part, None, :])
            weight = pairs / np.maximum(pairs.sum(axis=(1, 2), keepdims=True), 1)
            wrong = 0.5 - 0.5 * np.tanh((y[part, :, None] - y[part, None, :]) / 2.0)
            first, second = weight * wrong, weight * wrong * (1.0 - wrong)
            gradient[part] = first.sum(axis=1) - first.sum(axis=2)
            hessian[part] = second.sum(axis=1) + second.sum(axis=2)
        flat = hessian[there]
        return gradient[there], np.maximum(flat, max(_SHARE * float(flat.mean()), _LEAST))


def boosted_area(groups: ArrayLike | None = None, *, user: Any = "RBP(p=0.5)", kind: str = "documents") -> Any:
    """EEAUC as LightGBM's ``feval``, for early stopping.

    Parameters
    ----------
    groups
        ``[documents]``: codes of the validation documents, for areas of parity.
    user, kind
        As for :func:`~lightmeter.learn.areas.curve_areas`.

    Returns
    -------
    callable
        ``(scores, data) -> ("EEAUC", value, True)``: higher is better.

    Examples
    --------
    >>> boosted_area().__name__
    'area'
    """
    model = differentiable_user(user)

    def area(scores: ArrayLike, data: Any) -> tuple[str, float, bool]:
        there = _valid(query_sizes(data))
        s, g = (np.where(there, _padded(v, there), np.nan) for v in (scores, data.get_label()))
        code = None if groups is None else np.where(there, _padded(groups, there), -1).astype(np.int64)
        return "EEAUC", curve_areas(s, g, code, user=model, kind=kind).mean, True

    return area


def query_sizes(data: Any) -> Integers:
    """Number of documents of each query of a LightGBM data set."""
    sizes = data.get_group()
    if sizes is None:
        raise LightmeterError(
            "the data set has no queries. Give it their numbers of documents: lightgbm.Dataset(.., group=sizes)."
        )
    return np.asarray(sizes, dtype=np.int64)


def _valid(sizes: ArrayLike) -> Booleans:
    n = np.asarray(sizes, dtype=np.int64)
    return np.asarray(np.arange(int(n.max(initial=0))) < n[:, None])


def _padded(values: ArrayLike, there: Booleans) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (int(there.sum()),) or not np.isfinite(given).all():
        raise LightmeterError(
            f"found {given.shape} numbers for {int(there.sum())} documents, or one that is not finite. Accepted: a "
            "finite number for each document of the queries."
        )
    out = np.zeros(there.shape)
    out[there] = given
    return out


@dataclass(frozen=True)
class Trees:
    """Boosted trees as they were at the best round.

    Attributes
    ----------
    booster
        LightGBM's.
    history
        A row per tree: ``epoch``, validation ``area`` (EEAUC).
    best
        The best number of trees.
    """

    booster: Any
    history: list[dict[str, Any]]
    best: int

    def scores(self, data: LetorData, queries: Any) -> Floats:
        """Scores of the documents of some queries, one query after the other."""
        found = self.booster.predict(data.features[data.flat(queries)], num_iteration=self.best, raw_score=True)
        return np.asarray(found, dtype=np.float64)


def train_trees(
    data: LetorData,
    train: Integers,
    valid: Integers,
    loss: str = "ee",
    settings: Settings | None = None,
    step: Any = None,
) -> Trees:
    """Boost trees on some queries, stop by others.

    Losses: ``ee`` and ``parity`` by :class:`~lightmeter.learn.trees.BoostedExposure`, ``pairwise`` by its
    cross-entropy, and LightGBM's own ``regression`` (pointwise), ``lambdarank`` and ``rank_xendcg`` (listnet).

    Raises
    ------
    LightmeterError
        Where no validation query has an area, or groups are missing.
    """
    settings = settings or Settings(model="lightgbm")
    settings.check_loss(loss)
    kind = kind_of(loss)
    if not np.ptp(data.features[data.flat(train)], axis=0).any():
        raise LightmeterError("no feature differs between the training documents, so trees have nothing to split.")
    data.check_groups(loss)
    mine = data.flat(train)
    codes = None if data.groups is None else data.groups.code
    objective: Any = {"pointwise": "regression", "lambdarank": "lambdarank", "listnet": "rank_xendcg"}.get(loss)
    if loss == "pairwise":
        objective = BoostedPairwise()
    elif objective is None:
        groups = None if codes is None else codes[mine]
        objective = BoostedExposure(
            settings.lam, settings.loss_user, kind == "parity", settings.complete, settings.binary, groups
        )
    sets = [_dataset(data, queries) for queries in (train, valid)]
    area = boosted_area(None if codes is None else codes[data.flat(valid)], user=settings.user, kind=kind)
    started = area(np.zeros(int(data.sizes[valid].sum())), sets[1])[1]
    check_area(started, kind)
    history: dict[str, Any] = {}

    def report_tree(environment: Any) -> None:
        if step is not None:
            step(environment.iteration + 1, np.nan, environment.evaluation_result_list[0][2])

    booster = lightgbm.train(
        {
            "objective": objective,
            "learning_rate": settings.rate,
            "metric": "None",
            "seed": settings.seed,
            "deterministic": True,
            "force_col_wise": True,
            "verbose": -1,
        },
        sets[0],
        num_boost_round=settings.epochs,
        valid_sets=[sets[1]],
        feval=area,
        callbacks=[
            lightgbm.early_stopping(settings.patience, verbose=False),
            lightgbm.record_evaluation(history),
            report_tree,
        ],
    )
    found = history["valid_0"]["EEAUC"]
    rows = [{"epoch": i + 1, "loss": None, "area": float(value)} for i, value in enumerate(found)]
    return Trees(booster, rows, int(np.argmax(found)) + 1)


def _dataset(data: LetorData, queries: Integers) -> Any:
    mine = data.flat(queries)
    grades = np.maximum(data.grade[mine], 0.0)
    dataset = lightgbm.Dataset(
        data.features[mine],
        grades,
        group=data.sizes[queries],
        params={"verbose": -1, "feature_pre_filter": False},
        free_raw_data=False,
    )
    return dataset.construct()
