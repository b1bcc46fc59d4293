"""Properties of sweeps over random collections."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share
from tests.sweep.worlds import USERS, collections

import lightmeter as lm

POLICIES = ["PlackettLuce", "RankTransposition"]
FEW = {"samples": 3, "resamples": 20}


def evaluated(c: lm.Collection, run: str, user: str, by: str | None, policy: lm.Policy) -> dict[str, np.ndarray]:
    """EED and EER by query from the measures; NaN where the run has no ranking."""
    text = f"user={user.partition('@')[0]}" + ("" if by is None else f", by={by!r}")
    cut = f"@{user.partition('@')[2]}" if "@" in user else ""
    r = lm.evaluate(c, [f"EED({text}){cut}", f"EER({text}){cut}"], policy=policy, missing="skip")
    return {m.measure.__class__.__name__: m.values.value for m in r.cells if m.run == run}


@given(collections(), st.sampled_from(USERS), st.sampled_from([None, "g"]), st.data())
@share(0.3)
def test_points_are_those_of_the_measures(c: lm.Collection, user: str, by: str | None, data: st.DataObject) -> None:
    """The ends are Uniform and the static ranking, and what is between is the policy at the parameter."""
    result = lm.sweep(c, "PlackettLuce", user, by, **FEW)
    for curve in result.curves:
        last = len(curve.points.parameter) - 1
        at: dict[int, lm.Policy] = {0: lm.Uniform(), last: lm.Static()}
        if last > 1:
            inner = data.draw(st.integers(1, last - 1))
            at[inner] = lm.PlackettLuce(alpha=curve.points.parameter[inner])
        for place, policy in at.items():
            want = evaluated(c, curve.run, user, by, policy)
            for name, mine in (("EED", curve.points.eed), ("EER", curve.points.eer)):
                known = ~np.isnan(want[name])
                assert mine[known, place] == pytest.approx(want[name][known], abs=1e-9), (place, name)


@given(collections(), st.sampled_from(["RBP(p=0.5)", "DCG", "DCG@3", "TopK(k=2)"]))
@share(0.3)
def test_the_frontier_bounds_every_curve(c: lm.Collection, user: str) -> None:
    for curve in lm.sweep(c, POLICIES, user, **FEW).curves:
        area, best = curve.area().value, curve.frontier_area().value
        if np.isnan(area):
            assert curve.area().reason is not None
            continue
        assert -1e-12 <= area <= best + 1e-9
        own, limits = curve.query_areas, curve.query_frontiers()
        known = ~np.isnan(own)
        assert (own[known] <= limits[known] + 1e-9).all()
        assert (own[known] >= -1e-12).all()
        if curve.frontier is not None:
            x, y = curve.mean
            height = curve.frontier.height(np.maximum(x, 0.0)) * curve.answered_share
            assert (y <= height + 1e-9).all()
            assert best <= 1.0 + 1e-9


@given(collections(ties=False, all_answered=True))
@share(0.2)
def test_steps_are_short_and_the_ends_are_common(c: lm.Collection) -> None:
    result = lm.sweep(c, POLICIES, **FEW)
    for curve in result.curves:
        x, y = curve.mean
        if np.isnan(x).any():
            continue
        assert (x[0], x[-1]) == (pytest.approx(0, abs=1e-12), pytest.approx(1, abs=1e-12))
        assert curve.longest_step < 0.02
        other = result.find(next(p for p in POLICIES if p != curve.policy), curve.run)
        assert (y[0], y[-1]) == pytest.approx((other.mean[1][0], other.mean[1][-1]), abs=1e-12)


@given(collections(ties=False), st.floats(1e-3, 1e6), st.floats(-10, 10), st.randoms(use_true_random=False))
@share(0.2)
def test_neither_units_of_scores_nor_the_order_of_queries_matter(c, scale, shift, random) -> None:
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name, run in c.runs.items():
        docs = run.doc.to_list()
        queries = list(range(len(run.query)))
        random.shuffle(queries)
        runs[name] = {
            c.queries[run.query[i]]: {
                docs[row]: float(run.score[row]) * scale + shift * scale
                for row in range(run.offsets[i], run.offsets[i + 1])
            }
            for i in queries
        }
    qrels: dict[str, dict[str, float]] = {}
    for q, d, g in zip(c.judgments.query, c.judgments.doc.to_list(), c.judgments.grade, strict=True):
        qrels.setdefault(c.queries[q], {})[d] = float(g)
    one, two = (lm.sweep(k, POLICIES, **FEW) for k in (c, lm.load(runs, qrels)))
    for a, b in zip(one.curves, two.curves, strict=True):
        assert a.area().value == pytest.approx(b.area().value, abs=2e-5, nan_ok=True)  # refined alike but for rounding


def test_weights_of_queries_count_in_means() -> None:
    c = lm.load(
        {"a": {"q": {"r": 2.0, "n": 1.0}, "p": {"r": 1.0, "n": 2.0}}},
        {"q": {"r": 1}, "p": {"r": 1}},
        sequence=pl.DataFrame({"query": ["q", "p"], "weight": [3.0, 1.0]}),
    )
    curve = lm.sweep(c, "RankTransposition").curves[0]
    want = (3 * (3 / 4 + 1 / 6) + 3 / 4 - 1 / 6) / 4
    assert curve.area().value == pytest.approx(want, abs=5e-5)
    assert curve.query_mean().value == pytest.approx(want, abs=5e-5)
    assert curve.frontier_area().value == pytest.approx(3 / 4 + 1 / 6)


def test_several_of_everything_in_one_call() -> None:
    c = lm.load(
        {n: {"q": {"a": 3.0, "b": 2.0, "c": 1.0}} for n in "xy"}, {"q": {"a": 1, "c": 2}}, {"g": {"a": "1", "c": "2"}}
    )
    result = lm.sweep(c, POLICIES, ["RBP(p=0.5)", lm.DCG], [None, "g"])
    assert [(k.run, k.policy, k.user, k.by) for k in result.curves] == [
        (run, policy, user, by)
        for run in "xy"
        for policy in POLICIES
        for user in ("RBP(p=0.5)", "DCG(clip=False)")
        for by in (None, "g")
    ]
    alone = lm.sweep(c, "RankTransposition", lm.DCG, "g").curves[0]
    assert result.find("RankTransposition", "y", "DCG(clip=False)", "g").area().value == pytest.approx(
        alone.area().value, abs=1e-4
    )


@pytest.mark.parametrize("scores", ["raw", "minmax"])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e10])
def test_other_scalings_of_scores_fill_the_curve(scores: str, unit: float) -> None:
    rng = np.random.default_rng(1)
    run = {f"q{q}": {f"d{i}": float(s) for i, s in enumerate(rng.normal(size=9) * unit)} for q in range(3)}
    c = lm.load({"a": run}, {f"q{q}": {"d1": 1, "d4": 1} for q in range(3)})
    curve = lm.sweep(c, f"PlackettLuce(scores={scores!r})", **FEW).curves[0]
    assert curve.longest_step < 0.02
    assert curve.last_step < 1e-6
    assert curve.policy == f"PlackettLuce(scores={scores!r})"
