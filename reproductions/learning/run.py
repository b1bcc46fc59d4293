"""Does training for expected exposure work? Losses compared by cross-validated EEAUC, exact against Gumbel.

    python reproductions/learning/run.py OUT [--ltr FOLDER] [--quick]

OUT is a new folder (or that of an interrupted run, which goes on). FOLDER holds LightGBM's example rank.train and
rank.test with their .query files. Prints Markdown.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import lightgbm
import numpy as np
import polars as pl
import torch
from curves import PATIENT, learning_curves

from lightmeter.learn.areas import curve_areas
from lightmeter.learn.data import LetorData, Normalisation, folds_of, generated
from lightmeter.learn.experiment import Experiment
from lightmeter.learn.losses import ExposureLoss
from lightmeter.learn.network import Network
from lightmeter.learn.outcome import Outcome
from lightmeter.learn.settings import Settings

#: Weights of disparity, found on another generated collection (seed 0).
LAMBDA = {"ee": 0.5, "parity": 0.05}
#: `ee` trained for a more patient reader than it is evaluated for
LONG = "ee-patient"
#: Learning rates of trees, the best by validation of 0.1, 0.3 and 0.8 on seed 0.
RATE = {LONG: 0.8}


def joined(folder: Path) -> LetorData:
    """Training and test queries of the example as one collection."""
    parts = [LetorData.read(folder / name) for name in ("rank.train", "rank.test")]
    width = max(p.features.shape[1] for p in parts)
    wide = [np.pad(p.features, ((0, 0), (0, width - p.features.shape[1]))) for p in parts]
    grade, sizes = (np.concatenate([getattr(p, name) for p in parts]) for name in ("grade", "sizes"))
    return LetorData.of(np.concatenate(wide), grade, sizes)


def compare(title: str, data: LetorData, losses: tuple[str, ...], settings: Settings, folder: Path) -> None:
    """Train, evaluate and print the two tables."""
    started = time.perf_counter()
    made = []
    for name in losses:
        loss, weight, user = ("ee", *PATIENT) if name == LONG else (name, LAMBDA.get(name, 0.5), None)
        rate = RATE.get(name, 0.1) if settings.model == "lightgbm" else settings.rate
        settings = dataclasses.replace(settings, lam=weight, train_user=user, rate=rate)
        made.append(Experiment(data, (loss,), settings, (weight,), str(folder / name)))
        made[-1].prepare()
    scores = {name: next(iter(e.scores().values())) for name, e in zip(losses, made, strict=True)}
    outcome = Outcome.of(data, scores, settings.user, resamples=500)
    print(f"\n## {title}\n")
    print(
        f"{len(data.queries)} queries, {len(data.grade)} documents, {settings.model}, {settings.user}, 5 folds; "
        f"{time.perf_counter() - started:.0f} s.\n"
    )
    print("| loss | " + " | ".join(m for m in outcome.summary["measure"].unique(maintain_order=True)) + " |")
    measures = outcome.summary["measure"].unique(maintain_order=True).to_list()
    print("|---|" + "---|" * len(measures))
    for loss in losses:
        cells = []
        for measure in measures:
            row = outcome.summary.row(
                by_predicate=(pl.col("loss") == loss) & (pl.col("measure") == measure), named=True
            )
            low = f" [{row['low']:.3f}, {row['high']:.3f}]" if row["low"] is not None else ""
            cells.append(f"{row['value']:.4f}{low}")
        print(f"| {loss} | " + " | ".join(cells) + " |")
    best = outcome.summary.filter(pl.col("measure") == "EEAUC")["frontier"].max()
    print(f"\nEEAUC of the frontier (the best policies there can be): {best:.4f}.\n")
    print("| a | b | measure | a - b | p | p (Holm) | normality | n |\n|---|---|---|---|---|---|---|---|")
    ours = ["ee", LONG, "parity"]
    focus = outcome.pairs.filter(pl.col("loss_a").is_in(ours) | pl.col("loss_b").is_in(ours))
    for r in focus.iter_rows(named=True):
        numbers = " | ".join("-" if r[k] is None else f"{r[k]:.2g}" for k in ("p", "p_adjusted", "normality"))
        print(f"| {r['loss_a']} | {r['loss_b']} | {r['measure']} | {r['difference']:+.4f} | {numbers} | {r['n']} |")
    rows = [e.histories().with_columns(loss_name=pl.lit(name)) for name, e in zip(losses, made, strict=True)]
    curves = pl.concat(rows).filter(pl.col("fold") == 1)
    curves.write_csv(folder / "curves.csv")
    if settings.model == "mlp":
        print("\nValidation EEAUC of fold 1 by epoch (of parity: its own), and the epoch at which each was stopped:\n")
        print("| loss | 1 | 2 | 4 | 8 | best | at | epochs |\n|---|---|---|---|---|---|---|---|")
        for (loss,), rows in curves.group_by(["loss_name"], maintain_order=True):
            area = rows["area"].to_list()
            shown = " | ".join(f"{area[e - 1]:.3f}" if e <= len(area) else "-" for e in (1, 2, 4, 8))
            print(f"| {loss} | {shown} | {max(area):.4f} | {int(np.argmax(area)) + 1} | {len(area)} |")
    sys.stdout.flush()


def oracles(data: LetorData, utility: np.ndarray, user: str) -> None:
    """How well the known utilities, and the grades themselves, rank."""
    everything = np.arange(len(data.queries))
    grades, codes = data.padded(data.grade, everything), data.codes(everything)
    print(
        f"\nOracles, {user}: EEAUC and EEAUC parity of rankings by the known utility (what features can tell at best) "
        "and by the grades:\n"
    )
    for name, scores in (("utility", utility), ("grades", data.grade)):
        found = [
            curve_areas(data.padded(scores, everything), grades, codes, user=user, kind=kind).mean
            for kind in ("documents", "parity")
        ]
        print(f"- {name}: {found[0]:.4f}, {found[1]:.4f}")


def exact_against_gumbel(data: LetorData, user: str, epochs: int) -> None:
    """The same network trained by both: the exact loss on validation queries by epoch, steps and time."""
    fold = folds_of(len(data.queries), 5, 0)[0]
    norm = Normalisation.fit("log", data.features[data.flat(fold.train)])
    features = torch.from_numpy(norm.apply(data.features, data.sizes))
    grades = torch.from_numpy(data.grade).float()
    exact = ExposureLoss(0.3, user)

    def padded(network: Network, queries: np.ndarray) -> tuple[torch.Tensor, ...]:
        rows, there = (torch.from_numpy(v) for v in data.rows(queries))
        flat = network(features[rows[there]])
        return torch.zeros(rows.shape).masked_scatter(there, flat), grades[rows], there

    def train(loss: ExposureLoss) -> list[tuple[int, float, float]]:
        torch.manual_seed(0)
        network = Network(features.shape[1])
        optimiser = torch.optim.Adam(network.parameters(), lr=0.001)
        order = np.random.default_rng(0)
        steps, spent, rows = 0, 0.0, []
        for _ in range(epochs):
            network.train()
            shuffled = order.permutation(fold.train)
            started = time.perf_counter()
            for at in range(0, len(shuffled), 16):
                optimiser.zero_grad()
                loss(*padded(network, shuffled[at : at + 16])).backward()
                optimiser.step()
                steps += 1
            spent += time.perf_counter() - started
            network.eval()
            with torch.no_grad():
                rows.append((steps, spent, float(exact(*padded(network, fold.valid)))))
        return rows

    made = {
        "exact": train(exact),
        "Gumbel, n_train = 20": train(ExposureLoss(0.3, user, estimator="gumbel")),
    }
    goal = max(min(row[2] for row in rows) for rows in made.values())
    print(
        f"\n## Exact against Gumbel straight-through\n\nThe same first weights and order, lambda 0.3, {user}. The loss "
        f"is the exact one on the validation queries of fold 1; both reach {goal:.4f}.\n"
    )
    print("| estimator | steps to it | seconds to it | milliseconds a step | best loss |\n|---|---|---|---|---|")
    for name, rows in made.items():
        steps, spent, _ = next(row for row in rows if row[2] <= goal + 1e-9)
        best = min(row[2] for row in rows)
        print(f"| {name} | {steps} | {spent:.1f} | {1000 * rows[-1][1] / rows[-1][0]:.1f} | {best:.4f} |")
    scores, judged = torch.randn(16, 120, requires_grad=True), torch.randint(0, 5, (16, 120)).float()
    cost = {}
    for estimator in ("exact", "gumbel"):
        loss, taken = ExposureLoss(0.3, user, estimator=estimator), []
        for _ in range(15):
            started = time.process_time()
            loss(scores, judged).backward()
            taken.append(time.process_time() - started)
        cost[estimator] = min(taken)
    print(
        f"\nForward and backward of the loss alone, 16 queries of 120 documents, processor time: exact "
        f"{1000 * cost['exact']:.1f} ms, Gumbel {1000 * cost['gumbel']:.1f} ms, "
        f"{cost['gumbel'] / cost['exact']:.1f} times as much."
    )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ltr", type=Path)
    parser.add_argument("--quick", action="store_true", help="few queries and epochs, to see that it runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    queries, epochs = (40, 3) if given.quick else (500, 40)
    data, utility = generated(queries, (20, 60), rng=1)
    plain = {"epochs": epochs, "patience": 6, "normalise": "log"}
    print(
        f"lightmeter {version('lightmeter')}, torch {torch.__version__}, "
        f"lightgbm {lightgbm.__version__}, {os.environ['OMP_NUM_THREADS']} threads. {LONG}: the loss ee for "
        f"{PATIENT[1]} with lambda {PATIENT[0]:g}, evaluated as the others."
    )
    some = ("ee", LONG, "pointwise", "pairwise")
    patient, hasty = "RBP(p=0.8)", "RBP(p=0.5)"
    network = ("ee", LONG, "pointwise", "pairwise", "parity")
    compare("Generated, network", data, network, Settings(user=patient, **plain), given.out / "network")
    oracles(data, utility, patient)
    exact_against_gumbel(data, patient, 4 if given.quick else 15)
    trees = {"model": "lightgbm", "epochs": epochs if given.quick else 120, "patience": 10}
    compare("Generated, boosted trees", data, some, Settings(user=patient, **trees), given.out / "trees")
    compare("Generated, network, a hasty reader", data, some, Settings(user=hasty, **plain), given.out / "hasty")
    oracles(data, utility, hasty)
    if given.ltr is not None:
        real = joined(given.ltr)
        compare("LightGBM's example, network", real, some, Settings(user=patient, **plain), given.out / "ltr-network")
        compare("LightGBM's example, trees", real, some, Settings(user=patient, **trees), given.out / "ltr-trees")
    learning_curves(given.out / "curves.jsonl", given.quick)
    print(f"\nAll of it: {time.perf_counter() - started:.0f} s, {time.process_time():.0f} s of processor time.")


if __name__ == "__main__":
    main()
