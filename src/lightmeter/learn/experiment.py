"""Cross-validated training of several losses in a folder, which an interrupted training goes on from."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.errors import LightmeterError
from lightmeter.io.files import write_whole
from lightmeter.learn.data import Fold, LetorData, folds_of
from lightmeter.learn.settings import LOSSES, Settings, differentiable_user

#: Called with the loss, the fold from 1 of how many, the epoch, its training loss (NaN for trees) and validation area.
EpochReport = Callable[[str, int, int, int, float, float], None]


@dataclass(frozen=True)
class Unit:
    """One model of a training, as it is reported once it is trained.

    Attributes
    ----------
    loss, fold, folds, lam
        What it is of; ``lam`` None where the loss has no weight of disparity, or there is one for all.
    best, epochs
        The best epoch (tree), and how many there were.
    area
        Validation area at the best.
    found
        Whether it existed already, from an earlier training.
    """

    loss: str
    fold: int
    folds: int
    lam: float | None
    best: int
    epochs: int
    area: float
    found: bool


Done = Callable[[Unit], None]


@dataclass(frozen=True)
class Experiment:
    """Which losses are trained how on what, and where results go.

    Attributes
    ----------
    data
        The queries, with groups where there are any.
    losses
        Names of the losses.
    settings
        How.
    lams
        Weights of disparity; of several the best by validation EEAUC is taken in each fold.
    folder
        Where models, runs and tables go.
    """

    data: LetorData
    losses: tuple[str, ...]
    settings: Settings
    lams: tuple[float, ...]
    folder: str

    def record(self) -> dict[str, Any]:
        """What the folder is of: losses may be added to it later, and data and settings may not change."""
        kept = {k: v for k, v in self.settings.record().items() if k != "lam"} | {"lam": list(self.lams)}
        digest = hashlib.sha256()
        for values in (self.data.features, self.data.grade, self.data.sizes):
            digest.update(values.tobytes())
        groups = self.data.groups
        if groups is not None:
            digest.update(groups.code.tobytes())
        shape = {"queries": len(self.data.queries), "documents": len(self.data.grade), "sha256": digest.hexdigest()}
        return {"settings": kept, "data": shape, "groups": None if groups is None else groups.name}

    def prepare(self) -> None:
        """Make the folder, or make sure that it is of this training.

        Raises
        ------
        LightmeterError
            Where it is of another training, or holds other files.
        """
        for loss in self.losses:
            self.settings.check_loss(loss)
            self.data.check_groups(loss)
        self.data.check(self.settings.binary)
        self.data.check_user("--user", differentiable_user(self.settings.user))
        if self.settings.train_user is not None and any(loss.startswith(("ee", "parity")) for loss in self.losses):
            self.data.check_user("--train-user", differentiable_user(self.settings.train_user), self.settings.binary)
        folds_of(len(self.data.queries), self.settings.folds)  # refused before anything is written
        path, record = os.path.join(self.folder, "settings.json"), self.record()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                try:
                    found = json.load(file)
                except json.JSONDecodeError:
                    found = {}
            if found != record:
                raise LightmeterError(
                    f"{self.folder} holds a training with other data or settings"
                    f"{_difference(found, record)}. Choose another folder, or delete it to start anew."
                )
            return
        if os.path.isdir(self.folder) and os.listdir(self.folder):
            raise LightmeterError(f"{self.folder} is not empty, and no training of ours. Choose another folder.")
        os.makedirs(self.folder, exist_ok=True)
        write_whole(path, (json.dumps(record, indent=1) + "\n").encode())

    def scores(self, report_epoch: EpochReport | None = None, done: Done | None = None) -> dict[str, Floats]:
        """Train what is not trained yet; for each loss the scores of all documents by models that never saw them.

        ``report_epoch`` is called after every epoch, ``done`` after every model.
        """
        folds = folds_of(len(self.data.queries), self.settings.folds, self.settings.seed)
        out = {}
        for loss in self.losses:
            whole = np.full(len(self.data.grade), np.nan)
            for k, fold in enumerate(folds):
                whole[self.data.flat(fold.test)] = self._best(loss, k, fold, report_epoch, done)
            out[loss] = whole
            self._write_run(loss, whole)
        return out

    def earlier(self) -> dict[str, Floats]:
        """Scores by losses that this folder has all models of, and that are not requested now.

        :meth:`prepare` makes sure that they are of the same data and settings. Their runs are written where missing.
        """
        folds = folds_of(len(self.data.queries), self.settings.folds, self.settings.seed)
        out = {}
        for loss in self._others():
            folders = [[self._folder(loss, k, lam) for lam in self._weights(loss)] for k in range(len(folds))]
            if not all(os.path.exists(os.path.join(folder, "done.json")) for of_fold in folders for folder in of_fold):
                continue
            whole = np.full(len(self.data.grade), np.nan)
            for k, fold in enumerate(folds):
                whole[self.data.flat(fold.test)] = self._best(loss, k, fold, None, None)
            out[loss] = whole
            if not os.path.exists(os.path.join(self.folder, "runs", f"{loss}.txt")):
                self._write_run(loss, whole)
        return out

    def unfinished(self) -> list[str]:
        """Losses of this folder that are not requested now, and whose models are not all trained."""
        kept = self.earlier()
        begun = os.path.join(self.folder, "models")
        return [loss for loss in self._others() if loss not in kept and os.path.isdir(os.path.join(begun, loss))]

    def _others(self) -> list[str]:
        return [loss for loss in LOSSES if loss not in self.losses]

    def histories(self) -> pl.DataFrame:
        """Epochs of all models: ``loss_name, fold, lam, epoch, loss, area``."""
        parts = []
        for loss in self.losses:
            for k in range(self.settings.folds):
                for lam in self._weights(loss):
                    rows = self._history(loss, k, lam)
                    labels = [pl.lit(v).alias(n) for n, v in (("loss_name", loss), ("fold", k + 1), ("lam", lam))]
                    parts.append(rows.select(*labels, "epoch", "loss", "area"))
        return pl.concat(parts)

    def _history(self, loss: str, k: int, lam: float) -> pl.DataFrame:
        path = os.path.join(self._folder(loss, k, lam), "history.jsonl")
        return pl.read_ndjson(path, schema={"epoch": pl.Int64, "loss": pl.Float64, "area": pl.Float64})

    def _weights(self, loss: str) -> tuple[float, ...]:
        return self.lams if loss.startswith(("ee", "parity")) else self.lams[:1]

    def _folder(self, loss: str, k: int, lam: float) -> str:
        several = len(self._weights(loss)) > 1
        return os.path.join(self.folder, "models", loss, f"fold{k + 1}", *([f"lambda{lam:g}"] if several else []))

    def _best(self, loss: str, k: int, fold: Fold, report_epoch: EpochReport | None, done: Done | None) -> Floats:
        models, several = [], len(self._weights(loss)) > 1
        for lam in self._weights(loss):
            found = os.path.exists(os.path.join(self._folder(loss, k, lam), "done.json"))
            models.append(self._unit(loss, k, fold, lam, report_epoch))
            if done is not None:
                rows = self._history(loss, k, lam)
                best, epochs = int(rows["area"].arg_max() or 0) + 1, len(rows)
                folds, weight = self.settings.folds, lam if several else None
                done(Unit(loss, k + 1, folds, weight, best, epochs, models[-1][0], found))
        return models[int(np.argmax([area for area, _ in models]))][1]

    def _unit(
        self, loss: str, k: int, fold: Fold, lam: float, report_epoch: EpochReport | None
    ) -> tuple[float, Floats]:
        """Validation area and test scores of one model, trained unless it is there."""
        folder = self._folder(loss, k, lam)
        done = os.path.join(folder, "done.json")
        if os.path.exists(done):
            with open(done, encoding="utf-8") as file:
                return float(json.load(file)["area"]), np.load(os.path.join(folder, "scores.npy"))
        os.makedirs(folder, exist_ok=True)
        settings = replace(self.settings, lam=lam)

        def step(epoch: int, mean: float, area: float) -> None:
            if report_epoch is not None:
                report_epoch(loss, k + 1, settings.folds, epoch, mean, area)

        model: Any
        if settings.model == "lightgbm":
            from lightmeter.learn.trees import train_trees

            model = train_trees(self.data, fold.train, fold.valid, loss, settings, step)
            text = model.booster.model_to_string(num_iteration=model.best)
            write_whole(os.path.join(folder, "model.txt"), text.encode())
        else:
            from lightmeter.learn.network import train_network

            checkpoint = os.path.join(folder, "checkpoint.pt")
            model = train_network(self.data, fold.train, fold.valid, loss, settings, checkpoint=checkpoint, step=step)
            model.save(os.path.join(folder, "model.pt"))
        scores, content = model.scores(self.data, fold.test), io.BytesIO()
        np.save(content, scores)
        area = max(row["area"] for row in model.history)
        write_whole(os.path.join(folder, "scores.npy"), content.getvalue())
        lines = "".join(json.dumps(row) + "\n" for row in model.history)
        write_whole(os.path.join(folder, "history.jsonl"), lines.encode())
        write_whole(done, (json.dumps({"best": model.best, "area": area}) + "\n").encode())
        if os.path.exists(os.path.join(folder, "checkpoint.pt")):
            os.unlink(os.path.join(folder, "checkpoint.pt"))
        return area, scores

    def _write_run(self, loss: str, scores: Floats) -> None:
        """Scores as a TREC run, in full precision."""
        os.makedirs(os.path.join(self.folder, "runs"), exist_ok=True)
        frame = self.data.run(scores).with_columns(pl.Series("place", self.data.owner))
        ordered = frame.sort(["place", "score", "doc"], descending=[False, True, True])
        ranked = ordered.with_columns((pl.int_range(pl.len()).over("place") + 1).alias("rank"))
        lines = ranked.select(
            "query", pl.lit("Q0").alias("zero"), "doc", "rank", "score", pl.lit(loss).alias("tag")
        ).write_csv(separator=" ", include_header=False, quote_style="never")
        write_whole(os.path.join(self.folder, "runs", f"{loss}.txt"), lines.encode())

    def write_inputs(self) -> None:
        """Judgments, and groups where there are any, for ``lightmeter sweep`` and ``evaluate``."""
        frame = self.data.judgments().select("query", pl.lit("0").alias("zero"), "doc", "grade")
        lines = frame.write_csv(separator=" ", include_header=False, quote_style="never")
        write_whole(os.path.join(self.folder, "qrels.txt"), lines.encode())
        if self.data.groups is not None:
            table = self.data.memberships().select("doc", "attribute", "value", "query")
            write_whole(os.path.join(self.folder, "groups.csv"), table.write_csv().encode())


def _difference(found: dict[str, Any], record: dict[str, Any]) -> str:
    """The first setting that differs, in words."""
    old, new = ({**x.get("settings", {}), **x.get("data", {}), "groups": x.get("groups")} for x in (found, record))
    for name, value in new.items():
        if old.get(name) != value:
            return f" ({name}: {old.get(name)!r} there, {value!r} here)"
    return ""


def names_of(losses: Sequence[str]) -> tuple[str, ...]:
    """Losses without those given twice."""
    return tuple(dict.fromkeys(losses))
