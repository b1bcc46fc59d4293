"""Agreement with pytrec_eval and ir_measures on every query of the 17 TREC 2003 Robust runs.

    python reproductions/robust03_parity.py FOLDER        # qrels.txt.gz and runs/*.gz

The tools break ties each in their own way, so every run is first rewritten: its scores become minus the rank under
lightmeter's rule (score descending, then document id descending by bytes). Nothing is then left to disagree on but
the measures. Three peers are asked: pytrec_eval; ir_measures with its default provider (cwl_eval for RBP, gdeval for
ERR and exponential nDCG); and `plain`, the definitions written as loops below, because gdeval prints five decimals
only. lightmeter is run on the rewritten files and, where its tie rule must give the same, on the originals.

Peers are computed in benchmarks/.venv (benchmarks/requirements.txt) and kept in benchmarks/.work.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / ".venv" / "bin" / "python"
CACHE = ROOT / "benchmarks" / ".work" / "robust03_peers.json"
EXACT, FIVE_DECIMALS = 1e-9, 5.1e-6

# lightmeter's notation -> (pytrec_eval's name and relevance level or None, ir_measures' notation)
MEASURES = {
    "P@5": (("P_5", 1), "P@5"),
    "P@10": (("P_10", 1), "P@10"),
    "P(rel=2)@10": (("P_10", 2), "P(rel=2)@10"),
    "R@100": (("recall_100", 1), "R@100"),
    "AP": (("map", 1), "AP"),
    "AP@100": (("map_cut_100", 1), "AP@100"),
    "RR": (("recip_rank", 1), "RR"),
    "nDCG": (("ndcg", 1), "nDCG"),
    "nDCG@10": (("ndcg_cut_10", 1), "nDCG@10"),
    "nDCG(dcg='exp-log2')@10": (None, "nDCG(dcg='exp-log2')@10"),
    "RBP(p=0.8, rel=1)": (None, "RBP(p=0.8, rel=1)"),
    "RBP(p=0.5, rel=2)": (None, "RBP(p=0.5, rel=2)"),
    "ERR(max_grade=4)@20": (None, "ERR@20"),
    "Judged@10": (None, "Judged@10"),
}
GDEVAL = {"nDCG(dcg='exp-log2')@10", "ERR(max_grade=4)@20"}


def columns(path: Path, wanted: list[int]):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            parts = line.split()
            if parts:
                yield [parts[i] for i in wanted]


def read_qrels(folder: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for query, doc, grade in columns(next(folder.glob("qrels.txt*")), [0, 2, 3]):
        judged[query][doc] = int(grade)
    return dict(judged)


def read_run(path: Path) -> dict[str, dict[str, float]]:
    scored: dict[str, dict[str, float]] = defaultdict(dict)
    for query, doc, score in columns(path, [0, 2, 4]):
        scored[query][doc] = float(score)
    return dict(scored)


def ranked(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)


def rewritten(run: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {query: {doc: -float(i) for i, doc in enumerate(ranked(s), 1)} for query, s in run.items()}


def runs(folder: Path) -> dict[str, Path]:
    return {path.name.removeprefix("input.").removesuffix(".gz"): path for path in sorted((folder / "runs").iterdir())}


def plain(docs: list[str], judged: dict[str, int]) -> dict[str, float]:
    """The definitions, one loop each."""
    grades = [max(judged.get(doc, 0), 0) for doc in docs]
    ideal = sorted((max(grade, 0) for grade in judged.values()), reverse=True)
    relevant = sum(grade > 0 for grade in ideal)

    def precision(k: int, rel: int = 1) -> float:
        return sum(grade >= rel for grade in grades[:k]) / k

    def average_precision(k: int | None = None) -> float:
        found, total = 0, 0.0
        for rank, grade in enumerate(grades[:k], 1):
            if grade > 0:
                found += 1
                total += found / rank
        return total / relevant if relevant else 0.0

    def dcg(listed: list[int], k: int | None, exponential: bool) -> float:
        return sum(((2**g - 1) if exponential else g) / math.log2(r + 1) for r, g in enumerate(listed[:k], 1))

    def ndcg(k: int | None = None, exponential: bool = False) -> float:
        best = dcg(ideal, k, exponential)
        return dcg(grades, k, exponential) / best if best else 0.0

    def rbp(p: float, rel: int) -> float:
        return (1 - p) * sum(p ** (r - 1) for r, g in enumerate(grades, 1) if g >= rel)

    def err(k: int, highest: int) -> float:
        going_on, total = 1.0, 0.0
        for rank, grade in enumerate(grades[:k], 1):
            stop = (2**grade - 1) / 2**highest
            total += going_on * stop / rank
            going_on *= 1 - stop
        return total

    return {
        "P@5": precision(5),
        "P@10": precision(10),
        "P(rel=2)@10": precision(10, 2),
        "R@100": sum(g > 0 for g in grades[:100]) / relevant if relevant else 0.0,
        "AP": average_precision(),
        "AP@100": average_precision(100),
        "RR": next((1 / r for r, g in enumerate(grades, 1) if g > 0), 0.0),
        "nDCG": ndcg(),
        "nDCG@10": ndcg(10),
        "nDCG(dcg='exp-log2')@10": ndcg(10, exponential=True),
        "RBP(p=0.8, rel=1)": rbp(0.8, 1),
        "RBP(p=0.5, rel=2)": rbp(0.5, 2),
        "ERR(max_grade=4)@20": err(20, 4),
        "Judged@10": sum(doc in judged for doc in docs[:10]) / min(10, len(docs)),
    }


Values = dict[str, dict[str, dict[str, float]]]  # peer -> measure -> query -> value


def ask_peers(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]) -> Values:
    import ir_measures
    import pytrec_eval

    run = {query: scores for query, scores in run.items() if query in qrels}
    values: Values = {peer: {name: {} for name in MEASURES} for peer in ("plain", "pytrec_eval", "ir_measures")}
    for query, scores in run.items():
        for name, value in plain(ranked(scores), qrels[query]).items():
            values["plain"][name][query] = value

    for level in (1, 2):
        asked = {name: theirs[0] for name, (theirs, _) in MEASURES.items() if theirs and theirs[1] == level}
        found = pytrec_eval.RelevanceEvaluator(qrels, set(asked.values()), relevance_level=level).evaluate(run)
        for name, theirs in asked.items():
            values["pytrec_eval"][name] = {query: got[theirs] for query, got in found.items()}

    measures = {ir_measures.parse_measure(theirs): name for name, (_, theirs) in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(measures), qrels, run):
        values["ir_measures"][measures[metric.measure]][metric.query_id] = float(metric.value)
    return values


def peers(folder: Path) -> dict[str, Values]:
    if not CACHE.exists():
        if not PEERS.exists():
            sys.exit("The peers are not installed: see benchmarks/requirements.txt")
        subprocess.run([str(PEERS), __file__, str(folder), "--peers-only"], check=True)
    return json.loads(CACHE.read_text())


def write_peers(folder: Path) -> None:
    qrels = read_qrels(folder)
    found = {name: ask_peers(rewritten(read_run(path)), qrels) for name, path in runs(folder).items()}
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_text(json.dumps(found))


def gap(a: dict[str, float], b: dict[str, float]) -> float:
    if a.keys() != b.keys():
        return math.inf
    return max((abs(a[query] - b[query]) if math.isfinite(a[query]) else math.inf for query in a), default=0.0)


def tolerance(measure: str, peer: str) -> float:
    return FIVE_DECIMALS if peer == "ir_measures" and measure in GDEVAL else EXACT


def table(title: str, found: dict[str, dict[str, dict[str, float]]], expected: dict[str, Values]) -> bool:
    """Print the largest difference per measure and peer over all runs; True when all are within tolerance."""
    names = ["plain", "pytrec_eval", "ir_measures"]
    print(f"\n### {title}\n\n| measure | {' | '.join(names)} |\n|---|" + "---|" * len(names))
    fine = True
    for measure in MEASURES:
        cells = []
        for peer in names:
            pairs = [(found[run][measure], expected[run][peer][measure]) for run in found]
            if not any(theirs for _, theirs in pairs):
                cells.append("")
                continue
            worst = max(gap(ours, theirs) for ours, theirs in pairs)
            good = worst <= tolerance(measure, peer)
            fine &= good
            cells.append(f"{worst:.1e}" + ("" if good else " **differs**"))
        print(f"| {measure} | {' | '.join(cells)} |")
    return fine


def frames(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]):
    import polars as pl

    rows = [(query, doc, score) for query, scores in run.items() for doc, score in scores.items()]
    judged = [(query, doc, grade) for query, grades in qrels.items() for doc, grade in grades.items()]
    return (
        pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row"),
        pl.DataFrame(judged, schema=["query", "doc", "grade"], orient="row"),
    )


def ours(run, qrels) -> dict[str, dict[str, float]]:
    """lightmeter's values: measure -> query -> value. `run` and `qrels`: frames or paths."""
    import lightmeter as lm

    result = lm.evaluate(lm.load(run=run, qrels=qrels), list(MEASURES)).per_query()
    printed = {str(lm.parse(name)): name for name in MEASURES}
    values: dict[str, dict[str, float]] = {name: {} for name in MEASURES}
    for query, measure, value in result.select("query", "measure", "value").iter_rows():
        values[printed[measure]][query] = math.nan if value is None else value
    return values


def main() -> int:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("folder", type=Path, help="holds qrels.txt.gz and runs/")
    cli.add_argument("--peers-only", action="store_true", help="compute and keep the peers' values, and compare those")
    options = cli.parse_args()
    if options.peers_only:
        write_peers(options.folder)
    expected = peers(options.folder)
    fine = table("Peers among themselves", {run: values["plain"] for run, values in expected.items()}, expected)
    if options.peers_only:
        return 0 if fine else 1

    qrels = read_qrels(options.folder)
    from_ranks, as_given = {}, {}
    for name, path in runs(options.folder).items():
        from_ranks[name] = ours(*frames(rewritten(read_run(path)), qrels))
        as_given[name] = ours(str(path), str(next(options.folder.glob("qrels.txt*"))))
    fine &= table("lightmeter, scores replaced by minus the rank", from_ranks, expected)
    fine &= table("lightmeter, the files as they are", as_given, expected)
    print(f"\n{len(expected)} runs: " + ("all agree" if fine else "NOT all agree"))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
