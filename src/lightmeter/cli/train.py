"""The command ``train``: graded queries in, cross-validated models, runs and a table of EEAUC by loss out."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from lightmeter.cli.messages import choose, say
from lightmeter.cli.options import numbers_by_name, seed, whole_number
from lightmeter.cli.progress import Progress
from lightmeter.cli.streams import write_out
from lightmeter.errors import LightmeterError, MissingExtraError
from lightmeter.io.files import write_whole
from lightmeter.learn.collection import LetorData
from lightmeter.learn.experiment import Done, Experiment, Unit, names_of
from lightmeter.learn.outcome import POLICY, Outcome
from lightmeter.learn.settings import Settings
from lightmeter.results import records
from lightmeter.results.grid import Entry, Grid, text_table
from lightmeter.results.markup import markdown

_FORMATS = ("table", "csv", "jsonl", "markdown")
_WHOLE = ("folds", "epochs", "patience", "batch", "samples")
_WIDE = 10_000
_LEGEND = (
    "low, high: 95% interval over queries; frontier: EEAUC of the best policies there can be",
    "EEAUC: documents; group: groups of relevant documents; parity: groups over all documents against relevance",
    "difference: mean over queries of their own areas; p: paired t test, Holm over all pairs; normality: Shapiro-Wilk",
)


@dataclass
class Request:
    """What the user asked ``train`` for, as typed."""

    data: str
    sizes: str | None = None
    model: str = "mlp"
    losses: list[str] = field(default_factory=lambda: ["ee"])
    lambdas: list[str] = field(default_factory=lambda: ["0.5"])
    user: str = "RBP(p=0.5)"
    train_user: str | None = None
    complete: bool = False
    binary: str | None = None
    group_feature: str | None = None
    bins: list[str] = field(default_factory=list)
    groups: str | None = None
    by: str | None = None
    folds: str | None = None
    normalise: str = "zscore"
    epochs: str | None = None
    patience: str | None = None
    batch: str | None = None
    rate: str | None = None
    dropout: str | None = None
    samples: str | None = None
    tau: str | None = None
    rng: str | None = None
    form: str | None = None
    folder: str | None = None
    quiet: bool = False

    @classmethod
    def of(cls, **given: object) -> Request:
        """From the command line, where None stands for what is not given."""
        return cls(**{name: value for name, value in given.items() if value not in (None, [])})  # type: ignore[arg-type]

    def run(self) -> int:
        """Do it; the exit code."""
        started = time.time()
        form = choose("--format", self.form or "table", _FORMATS)
        folder = self._folder()
        lams = tuple(dict.fromkeys(_decimal("--lambda", text) for text in self.lambdas))
        settings = self._settings(lams)
        losses = names_of(self.losses)
        for loss in losses:
            settings.check_loss(loss)
        self._check_packages()
        data = self._data()
        experiment = Experiment(data, losses, settings, lams, folder)
        experiment.prepare()
        experiment.write_inputs()
        with Progress(quiet=self.quiet, what="training") as progress:
            total = len(losses) * settings.folds * settings.epochs

            def tell(loss: str, fold: int, folds: int, epoch: int, mean: float, area: float) -> None:
                progress.step((losses.index(loss) * folds + fold - 1) * settings.epochs + epoch, total)

            scores = experiment.scores(
                tell, None if self.quiet else _log("tree" if self.model == "lightgbm" else "epoch")
            )
        earlier = experiment.earlier()
        outcome = Outcome.of(data, earlier | scores, settings.user)
        self._write(outcome, folder)
        if not self.quiet:
            for line in self._notes(data, settings, lams):
                say(line)
            if earlier:
                say(f"note: the tables keep what {folder} has of before: {', '.join(earlier)}")
            for loss in experiment.unfinished():
                say(f"note: {loss} is not in the tables, as {folder} has not all of its models: --loss {loss} goes on")
        write_out(_render(outcome, form))
        manifest = {"files": list(data.files), "seconds": round(time.time() - started, 1), "policy": POLICY}
        write_whole(os.path.join(folder, "manifest.json"), (json.dumps(experiment.record() | manifest) + "\n").encode())
        return 0

    def _folder(self) -> str:
        if not self.folder:
            raise LightmeterError("no folder is given for the models, runs and tables. Name one: -o FOLDER.")
        above = os.path.dirname(os.path.realpath(self.folder))
        if os.path.exists(self.folder) and not os.path.isdir(self.folder):
            raise LightmeterError(f"--output {self.folder}: this is a file. Accepted: a new folder, or one of ours.")
        if not os.path.isdir(above):
            raise LightmeterError(f"--output {self.folder}: there is no folder {above}. Create it first.")
        return self.folder

    def _settings(self, lams: tuple[float, ...]) -> Settings:
        given: dict[str, Any] = {
            name: whole_number(f"--{name}", getattr(self, name)) for name in _WHOLE if getattr(self, name) is not None
        }
        for name, option in (("rate", "--learning-rate"), ("dropout", "--dropout"), ("tau", "--tau"), ("binary", "")):
            if getattr(self, name) is not None:
                given[name] = _decimal(option or "--binary", getattr(self, name))
        if given.get("rate") == 0:
            raise LightmeterError("--learning-rate is 0. Accepted: a number above 0.")
        if self.train_user is not None:
            given["train_user"] = self.train_user
        if self.rng is not None:
            given["seed"] = seed(self.rng)
        made = [
            Settings(
                model=self.model, lam=lam, user=self.user, complete=self.complete, normalise=self.normalise, **given
            )
            for lam in lams
        ]
        return made[0]

    def _check_packages(self) -> None:
        from importlib.util import find_spec

        package = {"mlp": "torch", "lightgbm": "lightgbm"}[self.model]
        if find_spec(package) is None:
            raise MissingExtraError(package, "learn", f"training the model {self.model}")

    def _data(self) -> LetorData:
        """Read everything, groups included."""
        bins = numbers_by_name("--bins", self.bins)
        if self.groups is not None and self.group_feature is not None:
            raise LightmeterError("--groups and --group-feature are both given. Accepted: one of the two.")
        if self.group_feature is None and bins and self.groups is None:
            raise LightmeterError("--bins is given without --group-feature. Name the feature: --group-feature N.")
        if self.group_feature is not None:
            number = self.group_feature
            if not (number.isascii() and number.isdigit()):
                raise LightmeterError(f"--group-feature is {number!r}. Accepted: the number of a feature.")
            if list(bins) != [number]:
                raise LightmeterError(
                    f"--group-feature {number} needs the ends between its bins. Give them: --bins {number}=1000,10000."
                )
        data = LetorData.read(self.data, self.sizes)
        if self.group_feature is not None:
            data = data.with_binned(int(self.group_feature), bins[self.group_feature])
        if self.groups is not None:
            data = data.with_groups_of(self.groups, self.by)
        return data

    def _notes(self, data: LetorData, settings: Settings, lams: tuple[float, ...]) -> list[str]:
        relevant = sum(int((data.grade[s : s + n] > 0).any()) for s, n in zip(data.start, data.sizes, strict=True))
        chosen = f"{lams[0]:g}" if len(lams) == 1 else f"best of {', '.join(f'{v:g}' for v in lams)} by validation"
        trained = "" if settings.train_user is None else f" train-user={settings.train_user}"
        lines = [
            f"conventions: user={settings.user}{trained} policy={POLICY} lambda={chosen} "
            f"target=Ideal(complete={settings.complete}) folds={settings.folds} seed={settings.seed}"
        ]
        if trained and not any(loss.startswith(("ee", "parity")) for loss in self.losses):
            lines.append("note: --train-user plays no part: no loss looks at exposure")
        if relevant < len(data.queries):
            gone = len(data.queries) - relevant
            lines.append(f"note: {gone} of {len(data.queries)} queries have no relevant document and do not count")
        if data.groups is not None:
            share = [(data.groups.code == i).mean() for i in range(len(data.groups.values))]
            names = zip(data.groups.values, share, strict=True)
            lines.append("note: groups: " + ", ".join(f"{name} {part:.0%}" for name, part in names))
            unknown = int((data.groups.code < 0).sum())
            if unknown:
                lines.append(f"note: {unknown} documents belong to no known group")
        return lines

    @staticmethod
    def _write(outcome: Outcome, folder: str) -> None:
        write_whole(os.path.join(folder, "table.md"), _render(outcome, "markdown"))
        write_whole(os.path.join(folder, "table.jsonl"), _render(outcome, "jsonl"))
        write_whole(os.path.join(folder, "queries.csv"), records.csv(outcome.queries))


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


def _decimal(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise LightmeterError(f"{option} is {text!r}. Accepted: a number.")
    return value


def _render(outcome: Outcome, form: str) -> bytes:
    """Two tables for people; for programs one, whose ``kind`` tells areas from pairs."""
    if form in ("csv", "jsonl"):
        both = [
            frame.select(pl.lit(kind).alias("kind"), pl.all())
            for kind, frame in (("area", outcome.summary), ("pair", outcome.pairs))
        ]
        frame = pl.concat(both, how="diagonal")
        return (records.jsonl if form == "jsonl" else records.csv)(frame)
    areas = _grid(outcome.summary, ["loss", "measure", "n"], ["value", "low", "high", "frontier"])
    pairs = _grid(
        outcome.pairs, ["loss_a", "loss_b", "measure", "n"], ["difference", "p", "p_adjusted", "effect", "normality"]
    )
    legend = _LEGEND if pairs.rows else _LEGEND[:-1]
    if form == "markdown":
        text = markdown(areas, []) + ("\n" + markdown(pairs, []) if pairs.rows else "")
        return (text + "\n" + "".join(f"{line}.\n" for line in legend)).encode()
    text = text_table(areas, _WIDE) + ("\n" + text_table(pairs, _WIDE) if pairs.rows else "")
    return (text + "\n" + "".join(f"{line}\n" for line in legend)).encode()


def _grid(frame: pl.DataFrame, index: list[str], columns: list[str]) -> Grid:
    rows = [
        (tuple(str(row[name]) for name in index), [Entry(row[name], None, None, None) for name in columns])
        for row in frame.iter_rows(named=True)
    ]
    return Grid(index, [(name, None) for name in columns], rows)  # type: ignore[arg-type]
