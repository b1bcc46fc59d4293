"""Training gradient-boosted trees with LightGBM, stopped early on EEAUC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError
from lightmeter.learn.boosting import BoostedExposure, BoostedPairwise, boosted_area
from lightmeter.learn.collection import LetorData
from lightmeter.learn.settings import Settings, kind_of


@dataclass(frozen=True)
class Trees:
    """Boosted trees as they were at the best round.

    Attributes
    ----------
    booster
        LightGBM's.
    history
        A row a tree: ``epoch``, validation ``area`` (EEAUC).
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

    Losses: ``ee`` and ``parity`` by :class:`~lightmeter.learn.boosting.BoostedExposure`, ``pairwise`` by its
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
    if kind == "parity" and data.groups is None:
        raise LightmeterError(
            f"the loss {loss} needs groups. Give them with --group-feature N --bins N=.. or --groups FILE."
        )
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
    if np.isnan(started):
        raise LightmeterError(
            f"no validation query has an area ({kind}): each needs a relevant document and two documents"
            f"{', of two groups' if kind == 'parity' else ''}. Accepted: more queries, or fewer folds."
        )
    history: dict[str, Any] = {}

    def told(environment: Any) -> None:
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
            told,
        ],
    )
    found = history["valid_0"]["EEAUC"]
    rows = [{"epoch": i + 1, "loss": None, "area": float(value)} for i, value in enumerate(found)]
    return Trees(booster, rows, int(np.argmax(found)) + 1)


def _dataset(data: LetorData, queries: Integers) -> Any:
    mine = data.flat(queries)
    grades = np.maximum(data.grade[mine], 0.0)
    made = lightgbm.Dataset(
        data.features[mine],
        grades,
        group=data.sizes[queries],
        params={"verbose": -1, "feature_pre_filter": False},
        free_raw_data=False,
    )
    return made.construct()
