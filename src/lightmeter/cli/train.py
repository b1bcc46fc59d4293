"""The command ``train``: graded queries in, cross-validated models, runs and a table of EEAUC by loss out."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.util import find_spec
from typing import Any

from lightmeter.cli.console import Progress, say, write_out
from lightmeter.cli.parsing import Request
from lightmeter.errors import LightmeterError, MissingExtraError
from lightmeter.io.files import write_whole
from lightmeter.learn.data import LetorData
from lightmeter.learn.experiment import Done, Experiment, Unit, names_of
from lightmeter.learn.outcome import POLICY, Outcome
from lightmeter.learn.settings import Settings
from lightmeter.results.table import WRITERS


def run(request: Request) -> int:
    """Train; the exit code."""
    started = time.time()
    folder = _folder(request.output)
    lambdas = tuple(dict.fromkeys(request.lambdas))
    settings = _settings(request)
    losses = names_of(request.losses)
    for loss in losses:
        settings.check_loss(loss)
    package = {"mlp": "torch", "lightgbm": "lightgbm"}[request.model]
    if find_spec(package) is None:
        raise MissingExtraError(package, "learn", f"training the model {request.model}")
    data = _data(request)
    experiment = Experiment(data, losses, settings, lambdas, folder)
    experiment.prepare()
    experiment.write_inputs()
    with Progress(quiet=request.quiet, what="training") as progress:
        total = len(losses) * settings.folds * settings.epochs

        def step(loss: str, fold: int, folds: int, epoch: int, mean: float, area: float) -> None:
            progress.step((losses.index(loss) * folds + fold - 1) * settings.epochs + epoch, total)

        log = None if request.quiet else _log("tree" if request.model == "lightgbm" else "epoch")
        scores = experiment.scores(step, log)
    earlier = experiment.earlier()
    outcome = Outcome.of(data, earlier | scores, settings.user)
    write_whole(os.path.join(folder, "table.md"), outcome.render("markdown"))
    write_whole(os.path.join(folder, "table.jsonl"), outcome.render("jsonl"))
    write_whole(os.path.join(folder, "queries.csv"), WRITERS["csv"](outcome.queries))
    if not request.quiet:
        for line in _notes(data, settings, lambdas, losses):
            say(line)
        if earlier:
            say(f"note: the tables keep what {folder} has of before: {', '.join(earlier)}")
        for loss in experiment.unfinished():
            say(f"note: {loss} is not in the tables, as {folder} has not all of its models: --loss {loss} goes on")
    write_out(outcome.render(request.format))
    manifest = {"files": list(data.files), "seconds": round(time.time() - started, 1), "policy": POLICY}
    write_whole(os.path.join(folder, "manifest.json"), (json.dumps(experiment.record() | manifest) + "\n").encode())
    return 0


def _folder(folder: str | None) -> str:
    """The folder to write to, if it can be one."""
    if folder is None:
        raise LightmeterError("no folder is given for the models, runs and tables. Name one: -o FOLDER.")
    above = os.path.dirname(os.path.realpath(folder))
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise LightmeterError(f"--output {folder}: this is a file. Accepted: a new folder, or one of ours.")
    if not os.path.isdir(above):
        raise LightmeterError(f"--output {folder}: there is no folder {above}. Create it first.")
    return folder


def _settings(request: Request) -> Settings:
    by_model: dict[str, Any] = {
        "epochs": request.epochs,
        "patience": request.patience,
        "rate": request.learning_rate,
    }
    return Settings(
        model=request.model,
        lam=request.lambdas[0],
        user=request.user,
        train_user=request.train_user,
        complete=request.complete,
        binary=request.binary,
        samples=request.samples,
        tau=request.tau,
        normalise=request.normalise,
        batch=request.batch,
        dropout=request.dropout,
        folds=request.folds,
        seed=request.rng,
        **{name: value for name, value in by_model.items() if value is not None},
    )


def _data(request: Request) -> LetorData:
    """Read everything, groups included."""
    feature, bins = request.group_feature, request.bins
    if request.groups_file is not None and feature is not None:
        raise LightmeterError("--groups and --group-feature are both given. Accepted: one of the two.")
    if feature is None and bins and request.groups_file is None:
        raise LightmeterError("--bins is given without --group-feature. Name the feature: --group-feature N.")
    if feature is not None and list(bins) != [str(feature)]:
        raise LightmeterError(
            f"--group-feature {feature} needs the ends between its bins. Give them: --bins {feature}=1000,10000."
        )
    data = LetorData.read(request.data, request.sizes)
    if feature is not None:
        data = data.with_binned(feature, bins[str(feature)])
    if request.groups_file is not None:
        data = data.with_groups_of(request.groups_file, request.attribute)
    return data


def _notes(data: LetorData, settings: Settings, lambdas: tuple[float, ...], losses: tuple[str, ...]) -> list[str]:
    """The conventions, and what plays no part or is left out."""
    relevant = sum(int((data.grade[s : s + n] > 0).any()) for s, n in zip(data.start, data.sizes, strict=True))
    weight = f"{lambdas[0]:g}" if len(lambdas) == 1 else f"best of {', '.join(f'{v:g}' for v in lambdas)} by validation"
    train_user = "" if settings.train_user is None else f" train-user={settings.train_user}"
    lines = [
        f"conventions: user={settings.user}{train_user} policy={POLICY} lambda={weight} "
        f"target=Ideal(complete={settings.complete}) folds={settings.folds} seed={settings.seed}"
    ]
    if train_user and not any(loss.startswith(("ee", "parity")) for loss in losses):
        lines.append("note: --train-user plays no part: no loss looks at exposure")
    if relevant < len(data.queries):
        irrelevant = len(data.queries) - relevant
        lines.append(f"note: {irrelevant} of {len(data.queries)} queries have no relevant document and do not count")
    if data.groups is not None:
        share = [(data.groups.code == i).mean() for i in range(len(data.groups.values))]
        names = zip(data.groups.values, share, strict=True)
        lines.append("note: groups: " + ", ".join(f"{name} {part:.0%}" for name, part in names))
        unknown = int((data.groups.code < 0).sum())
        if unknown:
            lines.append(f"note: {unknown} documents belong to no known group")
    return lines


def _log(what: str) -> Done | None:
    """What writes a line a model where nobody sees a progress bar, as in a log; None where somebody does."""
    if sys.stderr is None or sys.stderr.isatty():
        return None
    started = time.monotonic()

    def line(unit: Unit) -> None:
        weight = "" if unit.lam is None else f", lambda {unit.lam:g}"
        took = "trained before" if unit.found else f"{time.monotonic() - started:.0f} s in all"
        say(
            f"{unit.loss}, fold {unit.fold} of {unit.folds}{weight}: validation EEAUC {unit.area:.4f} at {what} "
            f"{unit.best} of {unit.epochs}, {took}"
        )

    return line
