"""What is timed inside one process, loading left out: `python inprocess.py NAME ...`. Prints JSON.

rankings    250 rankings of 1,000 documents, lightmeter's group and exposure measures
awrf        the same rankings, FairRankTune's AWRF, one ranking at a time as its API asks
prefixes    the same rankings, lightmeter's measures of prefixes and pairs
ndkl        the same rankings, FairRankTune's NDKL
nominal     1,000 x 1,000 rows, an attribute of 500 values, lightmeter's GF
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

import numpy as np

RANKINGS, DEPTH, GROUPS = 250, 1000, ["a", "b", "c", "d"]
REPEATS = 5


def seconds(work, repeats: int = REPEATS) -> float:
    """Median of `repeats`, after one run that is not counted."""
    work()
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return median(taken)


def world(queries: int = RANKINGS, seed: int = 3):
    """(documents [queries, DEPTH], grades of them, value of every document of the corpus)."""
    rng = np.random.default_rng(seed)
    corpus = 5 * DEPTH
    docs = np.array([rng.choice(corpus, DEPTH, replace=False) for _ in range(queries)])
    grades = rng.choice(4, docs.shape, p=[0.9, 0.05, 0.03, 0.02])
    value = rng.choice(len(GROUPS), corpus, p=[0.5, 0.25, 0.15, 0.1])
    return docs, grades, value


def frames():
    import polars as pl

    docs, grades, value = world()
    names = np.array([f"d{i}" for i in range(value.size)])
    query = np.repeat([f"q{i}" for i in range(len(docs))], DEPTH)
    score = np.tile(np.arange(DEPTH, 0, -1.0), len(docs))
    run = pl.DataFrame({"query": query, "doc": names[docs.ravel()], "score": score})
    qrels = pl.DataFrame({"query": query, "doc": names[docs.ravel()], "grade": grades.ravel()})
    groups = pl.DataFrame({"doc": names, "group": np.array(GROUPS)[value]})
    return run, qrels, groups


def rankings() -> dict[str, float]:
    import lightmeter as lm

    run, qrels, groups = frames()
    collection = lm.load(run=run, qrels=qrels, groups=groups)
    exposure = ["EED", "EER", "EEL"]
    asked = {"GF": ["GF(by='group')"], "AWRF": ["AWRF(by='group')"], "EED, EER, EEL": exposure}
    asked["all five"] = ["GF(by='group')", "AWRF(by='group')", *exposure]
    return {name: seconds(lambda m=measures: lm.evaluate(collection, m)) / RANKINGS for name, measures in asked.items()}


def prefixes() -> dict[str, float]:
    import lightmeter as lm

    run, qrels, groups = frames()
    collection = lm.load(run=run, qrels=qrels, groups=groups)
    asked = ["NDKL(by='group')", "Skew(by='group', value='b')@100", "MinSkew(by='group')@100", "ECE(by='group')"]
    asked += [f"{name}(by='group', protected='b')" for name in ("rND", "rKL", "rRD")]
    asked += ["FAIR(by='group', protected='b', p=0.25)@100", "PairwiseLoss(by='group', pairs='across')"]
    asked += [
        "OutputBias(by='group', positive='a', negative='b')",
        "SignedBias(by='group', positive='a', negative='b')",
    ]
    return {name.split("(")[0]: seconds(lambda m=name: lm.evaluate(collection, [m])) / RANKINGS for name in asked}


def ndkl() -> dict[str, float]:
    import pandas as pd
    from FairRankTune.Metrics import NDKL

    docs, _, value = world(25)  # it is slow
    ranked = [pd.DataFrame({"r": row}) for row in docs]
    groups = [{doc: GROUPS[value[doc]] for doc in row} for row in docs]

    def work():
        for frame, group in zip(ranked, groups, strict=True):
            NDKL(frame, group)

    return {"NDKL": seconds(work, 3) / len(docs)}


def awrf() -> dict[str, float]:
    import pandas as pd
    from FairRankTune.Metrics import AWRF

    docs, _, value = world()
    ranked = [pd.DataFrame({"r": row}) for row in docs]
    groups = [{doc: GROUPS[value[doc]] for doc in row} for row in docs]

    def work():
        for frame, group in zip(ranked, groups, strict=True):
            AWRF(frame, group, 0.1, "MinMaxRatio")

    return {"AWRF": seconds(work, 3) / RANKINGS}


def nominal(run: str, qrels: str, groups: str) -> dict[str, float]:
    import lightmeter as lm

    started = time.perf_counter()
    collection = lm.load(run=run, qrels=qrels, groups=groups)
    loaded = time.perf_counter()
    lm.evaluate(collection, ["GF(by='company')"])
    return {"load": loaded - started, "GF": time.perf_counter() - loaded}


if __name__ == "__main__":
    job = {"rankings": rankings, "awrf": awrf, "prefixes": prefixes, "ndkl": ndkl, "nominal": nominal}[sys.argv[1]]
    print(json.dumps(job(*sys.argv[2:])))
