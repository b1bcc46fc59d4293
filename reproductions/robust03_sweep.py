"""Disparity and relevance of the 17 TREC 2003 Robust runs under Plackett-Luce and rank transposition.

    python reproductions/robust03_sweep.py FOLDER        # qrels.txt.gz and runs/*.gz

Prints, from sweeps for RBP(p=0.5) of the first 100 documents, what Diaz et al. (2020) report of 2004 runs: the common
end at the static ranking, where Plackett-Luce lies above rank transposition, the areas (EEAUC) with their difference
and a 95% interval over queries, the frontier's, and how expected RBP and EER go together. First with the judgments'
grades as they are (0, 1, 2), then with every relevant document alike, as in the paper. At the end: what becomes of the
exceptions when scores are replaced by ranks.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import numpy as np

import lightmeter as lm
from lightmeter.data.rankings import Ranked

POLICIES = ("PlackettLuce", "RankTransposition")
EVERY = 6  # every so many points of a curve are evaluated again for expected RBP


def binary(path: Path) -> dict[str, dict[str, int]]:
    """The judgments, with one grade for all relevant documents."""
    out: dict[str, dict[str, int]] = {}
    with gzip.open(path, "rt") as lines:
        for query, _, doc, grade in map(str.split, lines):
            out.setdefault(query, {})[doc] = min(max(int(grade), 0), 1)
    return out


def table(result: lm.SweepResult, runs: list[str]) -> list[str]:
    """A line a run; the runs where rank transposition is not beaten."""
    print(f"{'run':14s} {'y static':>8s} {'gap':>7s} {'above':>6s} {'PL':>6s} {'RT':>6s} {'PL-RT':>7s}  "
          f"{'95% interval':18s} {'frontier':>8s} {'share':>6s}")  # fmt: skip
    lost = []
    grid = np.linspace(0, 1, 2001)[1:-1]
    for run in runs:
        luce, swap = (result.find(policy, run) for policy in POLICIES)
        gap = max(abs(luce.mean[i][-1] - swap.mean[i][-1]) for i in (0, 1))
        above = np.mean(np.interp(grid, *luce.mean) > np.interp(grid, *swap.mean))
        difference = luce.area().value - swap.area().value
        low, high = np.quantile(luce.areas_resampled - swap.areas_resampled, [0.025, 0.975])
        best = luce.frontier_area().value
        assert max(luce.area().value, swap.area().value) <= best, run
        print(f"{run:14s} {luce.mean[1][-1]:8.4f} {gap:7.0e} {above:6.1%} {luce.area().value:6.4f} "
              f"{swap.area().value:6.4f} {difference:+7.4f}  [{low:+.4f}, {high:+.4f}] {best:8.4f} "
              f"{luce.share().value:6.1%}")  # fmt: skip
        if difference <= 0:
            lost.append(run)
    print(f"PL above RT on {len(runs) - len(lost)} of {len(runs)} runs; not on {', '.join(lost) or 'none'}")
    return lost


def correlation(result: lm.SweepResult, paths: dict[str, Path], qrels: dict[str, dict[str, int]]) -> tuple[float, int]:
    """Pearson correlation of mean expected RBP and mean EER over runs, policies and parameters."""
    rbp, eer = [], []
    for run, path in paths.items():
        collection = lm.load({run: path}, qrels)
        for policy in POLICIES:
            points = result.find(policy, run).points
            inner = range(1, len(points.parameter) - 1, EVERY)
            made = [lm.PlackettLuce(alpha=points.parameter[i]) if policy == "PlackettLuce"
                    else lm.RankTransposition(theta=points.parameter[i]) for i in inner]  # fmt: skip
            for i, one in zip([0, *inner, len(points.parameter) - 1], [lm.Uniform(), *made, lm.Static()], strict=True):
                mean = lm.evaluate(collection, "RBP(p=0.5, rel=1)", policy=one, depth=100).mean()
                rbp.append(mean["value"][0])
                eer.append(points.eer[:, i].mean())
    return float(np.corrcoef(rbp, eer)[0, 1]), len(rbp)


def ranks(path: Path, name: str, qrels: dict[str, dict[str, int]]) -> dict[str, list[str]]:
    """A run without its scores: documents in rank order."""
    collection = lm.load({name: path}, qrels)
    ranked, _ = Ranked.of(collection, collection.runs[name], "docno", 100)
    order = np.arange(len(ranked.run)) if ranked.order is None else ranked.order
    docs = ranked.run.doc.gather(order).to_list()
    return {collection.queries[q]: docs[ranked.offsets[i] : ranked.offsets[i + 1]] for i, q in enumerate(ranked.query)}


def main() -> None:
    """Print the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    paths = {p.name.removeprefix("input.").removesuffix(".gz"): p for p in sorted((folder / "runs").glob("*.gz"))}
    alike = binary(folder / "qrels.txt.gz")
    lost: set[str] = set()
    for title, qrels in (("grades 0, 1, 2", folder / "qrels.txt.gz"), ("all relevant documents alike", alike)):
        started = time.time()
        result = lm.sweep(lm.load(paths, qrels), POLICIES)
        print(f"\n{title}: {result.conventions['exact']} exact; {time.time() - started:.0f} s with reading")
        lost |= set(table(result, list(paths)))
    value, points = correlation(result, paths, alike)
    print(f"Pearson correlation of expected RBP and EER over {points} points: {value:.4f}")
    print("\nscores replaced by ranks, where rank transposition was not beaten")
    for title, qrels in (("grades 0, 1, 2", folder / "qrels.txt.gz"), ("all relevant documents alike", alike)):
        print(title)
        table(lm.sweep(lm.load({n: ranks(paths[n], n, alike) for n in sorted(lost)}, qrels), POLICIES), sorted(lost))


if __name__ == "__main__":
    main()
