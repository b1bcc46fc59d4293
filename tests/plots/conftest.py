"""Small inputs of every kind that pictures are made of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm

pytest.importorskip("altair")

QUERIES = [f"q{i}" for i in range(6)]
DOCS = [f"d{i}" for i in range(8)]
SIDE = {d: ("f", "m")[i % 2] for i, d in enumerate(DOCS)}
LEVEL = {d: ("low", "mid", "high")[i % 3] for i, d in enumerate(DOCS)}
QRELS = {
    q: {d: int((i + j) % 3 == 0) + int((i + j) % 4 == 0) for j, d in enumerate(DOCS)} for i, q in enumerate(QUERIES)
}


def run(shift: float, seed: int) -> dict[str, dict[str, float]]:
    """Scores with noise; the higher ``shift``, the more they follow the grades."""
    rng = np.random.default_rng(seed)
    return {q: {d: shift * g + float(rng.normal()) for d, g in docs.items()} for q, docs in QRELS.items()}


def collection(**runs: Any) -> lm.Collection:
    """Runs of scores with the judgments and groups of these tests."""
    return lm.load(
        run=runs,
        qrels=QRELS,
        groups={"side": SIDE, "level": LEVEL},
        ordinal={"level": ["low", "mid", "high"]},
    )


def ordered_runs() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """The ideal order with scores far apart, and the worst."""
    return tuple(  # type: ignore[return-value]
        {q: {d: sign * g * 10 - 0.01 * i for i, (d, g) in enumerate(docs.items())} for q, docs in QRELS.items()}
        for sign in (1.0, -1.0)
    )


@pytest.fixture(scope="session")
def small() -> lm.Collection:
    return collection(good=run(3.0, 1), fair=run(1.0, 2), poor=run(-2.0, 3))


MEASURES = [
    "nDCG@5",
    "GF(by='side', user=RBP(p=0.8))",
    "GF(by='level', user=RBP(p=0.8))",
    "DeltaGF(by='side', positive='f', user=RBP(p=0.8))",
    "MeanExposure(by='side', user=DCG)",
    "EED(user=RBP(p=0.5))",
]


@pytest.fixture(scope="session")
def result(small: lm.Collection) -> lm.Result:
    return lm.evaluate(small, MEASURES)


@pytest.fixture(scope="session")
def sweep(small: lm.Collection) -> lm.SweepResult:
    return lm.sweep(small, ["PlackettLuce", "RankTransposition"], "RBP(p=0.5)", resamples=20)


@pytest.fixture(scope="session")
def comparison(small: lm.Collection) -> lm.Comparison:
    return lm.compare(small, ["nDCG@5", "RR", "GF(by='side', user=RBP(p=0.8))"], resamples=200, changed=0)


def people(gap: float, seed: int = 5, n: int = 120) -> pl.DataFrame:
    """A table of scored people: the scores of ``b`` are lower by ``gap``."""
    rng = np.random.default_rng(seed)
    group = np.array(["a", "b"])[(np.arange(n) % 3 == 0).astype(int)]
    return pl.DataFrame({"score": rng.normal(size=n) - gap * (group == "b"), "sex": group})


@pytest.fixture(scope="session")
def audit() -> lm.AuditResult:
    return lm.audit(people(1.5), score="score", group="sex", cutoffs=[20], resamples=200)


def datasets(chart: Any) -> list[list[dict[str, Any]]]:
    """The data of a chart, checked against the schema of Vega-Lite; it holds no number that JSON has not."""
    spec = chart.to_dict(validate=True)
    json.dumps(spec, allow_nan=False)
    return list(spec["datasets"].values())


def rows_with(chart: Any, *columns: str) -> pl.DataFrame:
    """The first data of a chart that has some columns."""
    for rows in datasets(chart):
        if rows and set(columns) <= set(rows[0]):
            return pl.DataFrame(rows, infer_schema_length=None)
    raise AssertionError(f"no data with {columns}")


def title(chart: Any) -> str:
    """The words above a chart."""
    return " ".join(chart.to_dict()["title"]["text"])
