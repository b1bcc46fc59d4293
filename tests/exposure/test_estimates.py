"""Estimates from drawn rankings: intervals that cover the truth as often as they say, and the plug-in's bias.

The paper's size: N = 50 rankings of n = 100 documents under Plackett-Luce, here with scores of deviation 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.exposure.ideal import level_targets
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.sampling import Mixture

N, DOCS, SIMULATIONS = 50, 100, 2000
SEEN = 40  # ranks: below, RBP(p=0.5) has views under 1e-12


@pytest.fixture(scope="module")
def simulated() -> dict[str, Any]:
    """2,000 times 50 rankings of one query, the estimates from each 50, and the truth."""
    rng = np.random.default_rng(7)
    y = rng.normal(size=DOCS) * 2
    grades = rng.permutation(np.repeat([2.0, 1.0, 0.0], [4, 8, 88]))
    user = lm.RBP(p=0.5)
    level = level_targets(user, np.array([[2.0, 1.0]]), np.array([[4, 8]]), None)[0]
    target = np.select([grades == 2, grades == 1], level.tolist(), 0.0)
    exposure = luce_exposure(y, 0.5)
    truth = {"EED": exposure @ exposure, "EER": exposure @ target, "EEL": (exposure - target) @ (exposure - target)}
    docs = np.empty((SIMULATIONS * N, SEEN), dtype=np.int64)
    for at in range(0, len(docs), 10_000):
        clock = rng.standard_exponential((10_000, DOCS)) * np.exp(-y)
        top = np.argpartition(clock, SEEN, axis=1)[:, :SEEN]
        order = np.argsort(np.take_along_axis(clock, top, axis=1), axis=1)
        docs[at : at + 10_000] = np.take_along_axis(top, order, axis=1)
    ranking = np.repeat(np.arange(len(docs)), SEEN)
    query = np.repeat(np.arange(SIMULATIONS), N)
    mix = Mixture(
        query.astype(np.int32),
        np.full(len(docs), 1 / N),
        np.ones(len(docs)),
        np.zeros(SIMULATIONS, dtype=bool),
        np.full(SIMULATIONS, float(N)),
    )
    view = np.tile(0.5 ** np.arange(SEEN), len(docs))
    square = np.full(SIMULATIONS, target @ target)
    found = {}
    for estimator in ("unbiased", "plugin"):
        eed, eer, eel = mix.squares(
            ranking,
            query[ranking] * DOCS + docs.ravel(),
            SIMULATIONS * DOCS,
            view,
            target[docs.ravel()],
            square,
            SIMULATIONS,
            estimator == "plugin",
        )
        found[estimator] = {"EED": eed, "EER": eer, "EEL": eel}
    return {"truth": truth, **found}


@pytest.mark.parametrize("measure", ["EED", "EER", "EEL"])
def test_intervals_cover_the_truth(simulated: dict[str, Any], measure: str) -> None:
    """value +- 1.96 se holds the truth in 93 to 97% of 2,000 simulations."""
    values, truth = simulated["unbiased"][measure], simulated["truth"][measure]
    covered = np.abs(values.value - truth) <= 1.96 * values.se
    assert 0.93 <= covered.mean() <= 0.97
    # without bias: the mean is within four of its own standard errors
    assert abs(values.value.mean() - truth) < 4 * values.value.std() / np.sqrt(SIMULATIONS)
    # and the standard error is the spread of the estimate
    assert np.sqrt(np.mean(values.se**2)) == pytest.approx(values.value.std(), rel=0.1)


@pytest.mark.parametrize("measure", ["EED", "EER", "EEL"])
def test_intervals_of_the_mean_over_queries(simulated: dict[str, Any], measure: str) -> None:
    """The mean over Q queries has the standard error sqrt(sum se^2)/Q; 500 means over four queries each."""
    values, truth = simulated["unbiased"][measure], simulated["truth"][measure]
    mean = values.value.reshape(-1, 4).mean(axis=1)
    error = np.sqrt((values.se.reshape(-1, 4) ** 2).sum(axis=1)) / 4
    assert 0.92 <= np.mean(np.abs(mean - truth) <= 1.96 * error) <= 0.98


def test_standard_error_of_the_mean_as_evaluate_gives_it() -> None:
    """sqrt(sum se^2)/Q over the queries of a drawn run."""
    rng = np.random.default_rng(0)
    run = {f"q{q}": {f"d{i}": float(s) for i, s in enumerate(rng.normal(size=8))} for q in range(4)}
    c = lm.load(run=run, qrels={q: {"d0": 1, "d3": 2} for q in run})
    drawn = lm.sample(c, lm.PlackettLuce(alpha=1), samples=20, rng=3)
    result = lm.evaluate(lm.load(run=drawn, qrels={q: {"d0": 1, "d3": 2} for q in run}), [lm.EED, lm.EER, lm.EEL])
    for cell, row in zip(result.cells, result.mean().iter_rows(named=True), strict=True):
        assert cell.values.se is not None
        assert row["se"] == pytest.approx(np.sqrt((cell.values.se**2).sum()) / 4)


def test_the_plugin_is_too_high(simulated: dict[str, Any]) -> None:
    """For position models by (sum view^2 - EED)/N, which no number of queries averages out: intervals of the mean over
    20 queries hardly ever hold the truth.
    """
    truth = simulated["truth"]["EED"]
    plugin = simulated["plugin"]["EED"]
    bias = (4 / 3 - truth) / N
    assert plugin.value.mean() - truth == pytest.approx(bias, rel=0.05)
    mean, error = plugin.value.reshape(-1, 20).mean(axis=1), np.sqrt((plugin.se.reshape(-1, 20) ** 2).sum(axis=1)) / 20
    assert np.mean(np.abs(mean - truth) <= 1.96 * error) < 0.15
    assert simulated["plugin"]["EEL"].value.mean() - simulated["truth"]["EEL"] == pytest.approx(bias, rel=0.1)
    np.testing.assert_allclose(simulated["plugin"]["EER"].value, simulated["unbiased"]["EER"].value)
