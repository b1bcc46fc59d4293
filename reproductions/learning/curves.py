"""Why the exact loss does not win with few queries: learning curves of each loss, and what does and does not help.

    python reproductions/learning/curves.py OUT [--quick]

Part of run.py, and to be run alone. Every model is trained once on the first n of the same queries, stopped on the same
validation queries and tested on the same others. Rows are kept in OUT/curves.jsonl, so an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import torch
from torch import Tensor

from lightmeter.exposure.ties import uniform_exposure
from lightmeter.learn.areas import Areas, curve_areas
from lightmeter.learn.baselines import PairwiseLoss, PointwiseLoss
from lightmeter.learn.data import LetorData, Normalisation, generated
from lightmeter.learn.exposures import luce_exposure_of
from lightmeter.learn.losses import ExposureLoss
from lightmeter.learn.network import Network, frozen, scores_of
from lightmeter.statistics.significance import paired_test

#: Weight of disparity and reader of `ee` for a patient reader: the best by validation on the generator's seed 0.
PATIENT = (0.2, "RBP(p=0.95)")
HASTY, USUAL = "RBP(p=0.5)", "RBP(p=0.8)"


class Area:
    """Minus the area of the batch's mean curve: the loss averaged over the temperatures that EEAUC goes through."""

    def __init__(self, user: str) -> None:
        self.plain = ExposureLoss(0.5, user)
        self.alphas = torch.from_numpy(np.geomspace(0.35, 16.0, 8))

    def __call__(self, scores: Tensor, grades: Tensor, mask: Tensor) -> Tensor:
        goal, reader = self.plain.target(grades, mask), self.plain.user
        count = mask.sum(dim=1, keepdim=True)
        off = torch.where(mask, scores - (scores * mask).sum(dim=1, keepdim=True) / count, 0.0)
        unit = (off.square().sum(dim=1) / count[:, 0]).sqrt().mean().detach()
        y = (self.alphas[:, None, None].to(off) * off / unit.clamp(min=1e-6)).flatten(0, 1)
        middle = luce_exposure_of(y, reader.p, mask.repeat(len(self.alphas), 1)).unflatten(0, (len(self.alphas), -1))
        seen = np.where(mask.numpy(), grades.numpy(), np.nan)
        uniform = torch.from_numpy(np.where(mask.numpy(), uniform_exposure(seen, reader), 0.0)).to(off)
        rank = torch.where(mask, -scores.detach(), torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
        static = torch.where(mask, reader.p ** rank.to(off), 0.0)
        eps = torch.cat([uniform[None], middle, static[None]])
        counts = (goal > 0).any(dim=1)
        eed, eer = (v.sum(dim=2)[:, counts].mean(dim=1) for v in (eps.square(), eps * goal))
        x, y = (eed - eed[0]) / (eed[-1] - eed[0]), eer / goal[counts].square().sum(dim=1).mean()
        return -((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()


@dataclass
class Study:
    """One collection, cut into queries to train on, to stop by and to test on."""

    data: LetorData
    out: Path
    name: str
    most: int
    epochs: int
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        order = np.random.default_rng(0).permutation(len(self.data.queries))
        rest = len(order) - self.most
        self.pool, self.valid, self.test = np.split(order, [self.most, self.most + rest * 3 // 10])
        if self.out.exists():
            rows = [json.loads(line) for line in self.out.read_text("utf-8").splitlines()]
            self.made = {row["key"]: row for row in rows}

    def area(self, network: Network, features: Tensor, queries: np.ndarray, user: str) -> Areas:
        """EEAUC of some queries."""
        judged = self.data.padded(self.data.grade, queries)
        found = np.full(judged.shape, np.nan)
        found[~np.isnan(judged)] = scores_of(network, features[torch.from_numpy(self.data.flat(queries))].numpy())
        return curve_areas(found, judged, user=user)

    def run(
        self,
        title: str,
        cost: Any,
        user: str,
        n: int,
        *,
        rate: float = 0.001,
        dropout: float = 0.1,
        decay: float = 0.0,
        hidden: int = 256,
    ) -> dict[str, Any]:
        """Train one network unless it is there; its areas, and those of the test queries."""
        key = f"{self.name}|{title}|{user}|{n}"
        if key in self.made:
            return self.made[key]
        data, train = self.data, self.pool[:n]
        norm = Normalisation.fit("log", data.features[data.flat(train)])
        features, grades = (
            torch.from_numpy(norm.apply(data.features, data.sizes)),
            torch.from_numpy(data.grade).float(),
        )
        torch.manual_seed(0)
        network = Network(features.shape[1], (hidden, hidden), dropout)
        optimiser = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=decay)
        order, best, began = np.random.default_rng(0), (-1.0, 0, frozen(network.state_dict())), time.process_time()
        for epoch in range(1, self.epochs + 1):
            network.train()
            shuffled = order.permutation(train)
            for at in range(0, n, 16):
                rows, there = (torch.from_numpy(v) for v in data.rows(shuffled[at : at + 16]))
                scores = torch.zeros(rows.shape).masked_scatter(there, network(features[rows[there]]))
                optimiser.zero_grad()
                cost(scores, torch.where(there, grades[rows], 0.0), there).backward()
                optimiser.step()
            network.eval()
            area = self.area(network, features, self.valid, user).mean
            if area > best[0]:
                best = area, epoch, frozen(network.state_dict())
            if epoch - best[1] >= 6:
                break
        last = self.area(network, features, train[:300], user).mean
        network.load_state_dict(best[2])
        test = self.area(network, features, self.test, user)
        row = {
            "key": key,
            "test": test.mean,
            "train": self.area(network, features, train[:300], user).mean,
            "last": last,
            "best": best[1],
            "epochs": epoch,
            "queries": [None if np.isnan(v) else v for v in test.query],
            "seconds": time.process_time() - began,
        }
        self.made[key] = row
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return row


def against(a: dict[str, Any], b: dict[str, Any]) -> str:
    """Mean difference of the test queries' own areas with the p-value of the paired t test."""
    x, y = (np.array([np.nan if v is None else v for v in row["queries"]]) for row in (a, b))
    d = (x - y)[~np.isnan(x - y)]
    return f"{d.mean():+.4f} (p = {paired_test(d[None], 't').p[0]:.2g})"


def table(study: Study, user: str, sizes: tuple[int, ...], losses: dict[str, Any]) -> None:
    """Areas by loss and number of training queries."""
    print("| training queries | loss | test EEAUC | training EEAUC | after the last epoch | best epoch | - pointwise |")
    print("|---|---|---|---|---|---|---|")
    for n in sizes:
        made = {title: study.run(title, cost, user, n) for title, cost in losses.items()}
        for title, r in made.items():
            less = "" if title == "pointwise" else against(r, made["pointwise"])
            print(
                f"| {n} | {title} | {r['test']:.4f} | {r['train']:.4f} | {r['last']:.4f} | {r['best']} "
                f"of {r['epochs']} | {less} |",
                flush=True,
            )


def learning_curves(out: Path, quick: bool = False) -> None:
    """Train and print everything."""
    began = time.process_time()
    torch.set_num_threads(1)
    sizes, queries, epochs = ((20, 40), 80, 2) if quick else ((300, 1000, 2000), 3000, 40)
    few, most = sizes[0], sizes[-1]
    shape: Any = (queries, (20, 60))
    data, utility = generated(*shape, rng=2)
    study = Study(data, out, "noise", most, epochs)
    patient = ExposureLoss(*PATIENT)
    name = f"ee for {PATIENT[1]}, lambda {PATIENT[0]:g}"

    def losses(user: str) -> dict[str, Any]:
        return {"ee": ExposureLoss(0.5, user), name: patient, "pointwise": PointwiseLoss(), "pairwise": PairwiseLoss()}

    def oracle(s: Study, known: np.ndarray, user: str) -> float:
        return curve_areas(s.data.padded(known, s.test), s.data.padded(s.data.grade, s.test), user=user).mean

    print(f"\n## Learning curves\n\n{len(study.test)} test and {len(study.valid)} validation queries of {queries}.")
    for user, taken in ((HASTY, sizes), (USUAL, (few, most))):
        print(f"\nEEAUC of {user}; by the known utility {oracle(study, utility, user):.4f}.\n")
        table(study, user, taken, losses(user))
    plain, known = generated(*shape, rng=2, noise=0.0, between=0.0)
    clear = Study(plain, out, "no noise", most, epochs)
    print(f"\nGrades without noise, {HASTY}; by the known utility {oracle(clear, known, HASTY):.4f}.\n")
    table(clear, HASTY, (few, most), {k: v for k, v in losses(HASTY).items() if k in ("ee", "pointwise")})
    ee = losses(HASTY)["ee"]
    variants: list[tuple[str, Any, dict[str, Any]]] = [
        ("lambda 0.2", ExposureLoss(0.2, HASTY), {}),
        ("lambda 0.8", ExposureLoss(0.8, HASTY), {}),
        ("learning rate 0.0002", ee, {"rate": 0.0002}),
        ("dropout 0.5", ee, {"dropout": 0.5}),
        ("weight decay 1", ee, {"decay": 1.0}),
        ("layers of 32", ee, {"hidden": 32}),
        ("the area itself (all temperatures)", Area(HASTY), {}),
    ]
    print(f"\n`ee` for {HASTY} with {few} training queries, one thing changed at a time.\n")
    print("| change | test EEAUC | - ee as it is | training EEAUC | best epoch |\n|---|---|---|---|---|")
    as_it_is = study.run("ee", ee, HASTY, few)
    for title, cost, more in variants:
        r = study.run(title, cost, HASTY, few, **more)
        print(f"| {title} | {r['test']:.4f} | {against(r, as_it_is)} | {r['train']:.4f} | {r['best']} |", flush=True)
    print(f"\nProcessor time of this part: {time.process_time() - began:.0f} s.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true", help="few queries and epochs, to see that it runs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    learning_curves(given.out / "curves.jsonl", given.quick)
