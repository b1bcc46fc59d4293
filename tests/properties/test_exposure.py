"""Expected exposure against enumeration: targets by all grade-sorted rankings, estimates by all samples."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference
from tests.properties.worlds import CUTOFF, call, expected, load, share, users, worlds
from tests.reference import Ranking, World

import lightmeter as lm
from lightmeter.exposure.ideal import level_targets


@given(users(), st.lists(st.integers(0, 3), min_size=1, max_size=6), st.none() | st.integers(1, 7))
@share(2)
def test_targets_by_enumeration(user: Any, grades: list[int], cutoff: int | None) -> None:
    """The closed forms are the mean over every grade-sorted ranking."""
    gains = {f"d{i}": float(g) for i, g in enumerate(grades)}
    world = World({"run": {}}, {"q": {**gains, "top": 3.0}})
    listed = reference.ideal_by_enumeration(world, user, gains, cutoff)
    levels = sorted(set(gains.values()), reverse=True)
    count = [grades.count(int(g)) for g in levels]
    found = level_targets(user.with_max_grade(3.0), np.array([levels]), np.array([count]), cutoff)[0]
    for d, g in gains.items():
        assert found[levels.index(g)] == pytest.approx(listed[d], abs=1e-12)


@given(users(), st.integers(1, 8), st.integers(1, 8), st.none() | st.integers(1, 12))
def test_padding_of_levels(user: Any, first: int, second: int, cutoff: int | None) -> None:
    """Levels without documents have the target 0 and change nothing."""
    user = user.with_max_grade(3.0)
    plain = level_targets(user, np.array([[2.0, 0.0]]), np.array([[first, second]]), cutoff)[0]
    padded = level_targets(user, np.array([[2.0, 0.0, 0.0]]), np.array([[first, second, 0]]), cutoff)[0]
    assert padded.tolist() == [*plain.tolist(), 0.0]


def test_many_documents_of_one_grade() -> None:
    """No cancellation where C is close to 1: 1 - C^m is evaluated as -expm1(m ln C)."""
    user = lm.Cascade(p=1 - 1e-12, u=0.0)
    found = level_targets(user, np.array([[1.0]]), np.array([[1000]]), None)[0, 0]
    assert found == pytest.approx(1 - 999 / 2 * 1e-12, abs=1e-12)
    assert level_targets(lm.Cascade(p=1.0, u=0.0), np.array([[1.0]]), np.array([[4]]), 2)[0, 0] == 0.5


DOCS = ("a", "b", "c")
POLICY = {("a", "b", "c"): 0.5, ("b", "a", "c"): 0.3, ("c", "a", "b"): 0.2}
GRADES = {"a": 2, "b": 0, "c": 1}


def sampled(draws: Any, *, unit: float = 1.0) -> lm.Collection:
    """A collection whose queries are the given tuples of rankings."""
    rows = [
        (f"q{n}", d, -float(k), str(i)) for n, rs in enumerate(draws) for i, r in enumerate(rs) for k, d in enumerate(r)
    ]
    run = pl.DataFrame(rows, schema=["query", "doc", "score", "sample"], orient="row")
    return lm.load(run=run, qrels={f"q{n}": GRADES for n in range(len(draws))})


@pytest.mark.parametrize("user", [lm.RBP(p=0.7), lm.Cascade(p=0.9, u=0.6)], ids=str)
@pytest.mark.parametrize("size", [2, 3])
def test_estimates_are_unbiased(user: Any, size: int) -> None:
    """The mean of the estimate over all N-tuples of draws is the true value of the policy, exactly."""
    tuples = list(itertools.product(POLICY, repeat=size))
    chance = np.array([math.prod(POLICY[r] for r in t) for t in tuples])
    measures = [m(user=user, estimator="unbiased") for m in (lm.EED, lm.EER, lm.EEL)]
    found = lm.evaluate(sampled(tuples), measures)
    rows = [("q", d, -float(k), str(i), w) for i, (r, w) in enumerate(POLICY.items()) for k, d in enumerate(r)]
    whole = lm.load(
        run=pl.DataFrame(rows, schema=["query", "doc", "score", "sample", "weight"], orient="row"), qrels={"q": GRADES}
    )
    truth = lm.evaluate(whole, measures, policy=lm.Samples(weight="probability"))
    for cell, true in zip(found.cells, truth.cells, strict=True):
        assert chance @ cell.values.value == pytest.approx(true.values.value[0], abs=1e-12)
    # and the plug-in is too high by the noise of the mean
    plugin = lm.evaluate(sampled(tuples), [lm.EED(user=user, estimator="plugin")]).cells[0]
    assert chance @ plugin.values.value > truth.cells[0].values.value[0] + 0.01


def test_position_models_bias_of_the_plugin() -> None:
    """For position models E[plug-in] = EED + (sum view^2 - EED)/N, here N = 2."""
    user, tuples = lm.RBP(p=0.7), list(itertools.product(POLICY, repeat=2))
    chance = np.array([math.prod(POLICY[r] for r in t) for t in tuples])
    plugin = lm.evaluate(sampled(tuples), [lm.EED(user=user, estimator="plugin")]).cells[0].values.value
    eps = {d: sum(w * 0.7 ** r.index(d) for r, w in POLICY.items()) for d in DOCS}
    eed = sum(x**2 for x in eps.values())
    assert chance @ plugin == pytest.approx(eed + (sum(0.49**k for k in range(3)) - eed) / 2)


def test_standard_error_is_the_spread_of_the_estimate() -> None:
    """Delete-one errors: exact variance of EER's mean over all triples equals the mean of the squared standard
    errors.
    """
    tuples = list(itertools.product(POLICY, repeat=3))
    chance = np.array([math.prod(POLICY[r] for r in t) for t in tuples])
    values = lm.evaluate(sampled(tuples), [lm.EER(user=lm.RBP(p=0.7))]).cells[0].values
    assert values.se is not None
    variance = chance @ values.value**2 - (chance @ values.value) ** 2
    assert chance @ values.se**2 == pytest.approx(variance)


def test_few_samples() -> None:
    """One ranking is exact; two have an estimate without error; three have both."""
    c = sampled([list(POLICY)[:1], list(POLICY)[:2], list(POLICY)])
    values = lm.evaluate(c, [lm.EED(user=lm.RBP(p=0.5))]).cells[0].values
    assert values.se is not None
    assert not np.isnan(values.value).any()
    assert values.se[0] == 0
    assert np.isnan(values.se[1])
    assert values.se[2] > 0


@given(st.data())
def test_loss_is_a_combination(data: Any) -> None:
    """EEL = EED - 2 EER + ||eps*||^2: individual, by group, cut, sampled, unbiased or plugged in.

    Not for an unbiased estimate from draws of unequal weight: T/D of e_a - eps* weighs e_a by w_a (1 - w_a), EER by
    w_a.
    """
    world = data.draw(worlds())
    m = data.draw(expected(lm.EEL))
    options = {
        "user": m.user,
        "target": m.target,
        "by": m.by,
        "docs": m.docs,
        "estimator": m.estimator,
        "cutoff": m.cutoff,
    }
    result = call(world, [lm.EED(**options), lm.EER(**options), m])
    for run in world.runs:
        eed, eer, eel = (c.values.value for c in result.cells if c.run == run)
        for i, query in enumerate(result.queries):
            goal = reference.target_exposure(world, m.target, m.user, query, m.cutoff)
            if goal is None or query not in world.runs[run]:
                continue
            unequal = len({r.weight for r in world.runs[run][query]}) > 1
            if m.estimator == "unbiased" and world.weight == "sampling" and unequal:
                continue
            if m.by is not None:
                goal = {d: x for d, x in goal.items() if m.docs == "all" or world.gain(query, d) > 0}
                goal = reference.in_groups(world, m.by, query, goal)
            norm = sum(x * x for x in goal.values())
            assert eel[i] == pytest.approx(eed[i] - 2 * eer[i] + norm, abs=1e-9, nan_ok=True)


@given(st.data())
@share(0.5)
def test_documents_users_share_out_the_same(data: Any) -> None:
    """sum (1 - C_d) eps_d = 1 - prod C_d in every order: where all documents have one grade, C is one number."""
    docs = [f"d{i}" for i in range(data.draw(st.integers(1, 7)))]
    user = data.draw(st.sampled_from([lm.Cascade(p=0.9, u=0.4), lm.Cascade(p=0.25, u=1.0), lm.ERR(max_grade=4)]))
    grade = data.draw(st.integers(1, 3))
    c = reference.continuation(user, grade, 3.0)
    collection = lm.load(run={"q": data.draw(st.permutations(docs))}, qrels={"q": dict.fromkeys(docs, grade)})
    # against the target that is the same for all, EER is that number times the exposure shared out
    each = (1 - c ** len(docs)) / ((1 - c) * len(docs))
    for target in (lm.Equal(), lm.Proportional(power=2.0), lm.Ideal()):
        value = lm.evaluate(collection, [lm.EER(user=user, target=target)]).cells[0].values.value[0]
        assert value == pytest.approx(each * (1 - c ** len(docs)) / (1 - c))


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_equal_shares_without_patience(order: str) -> None:
    """A user who never goes on (p = 0) gives 1 to one document: shares of 1/2, with or without unjudged candidates."""
    user = lm.Cascade(p=0.0, u=0.5)
    for qrels in ({"a": 1, "b": 0}, {"a": 1}):
        c = lm.load(run={"q": list(order)}, qrels={"q": qrels})
        value = lm.evaluate(c, [lm.EER(user=user, target=lm.Equal())]).cells[0].values.value[0]
        assert value == pytest.approx(0.5)


@given(st.data())
@share(0.3)
def test_identical_samples_are_static(data: Any) -> None:
    """N equal rankings give the static value: linear measures, plug-in and unbiased alike."""
    world = data.draw(worlds(sampled=False))
    n = data.draw(st.integers(2, 4))
    cutoff = data.draw(CUTOFF)
    measures = [
        m(user=data.draw(users()), cutoff=cutoff, **o)
        for m in (lm.EED, lm.EER, lm.EEL)
        for o in ({}, {"estimator": "plugin"})
    ]
    measures += [lm.nDCG(cutoff=cutoff), lm.AP(cutoff=cutoff), lm.GF(by="g", cutoff=cutoff)]
    runs = {
        name: {q: [Ranking(rs[0].docs, str(i)) for i in range(n)] for q, rs in run.items()}
        for name, run in world.runs.items()
    }
    many = World(runs, world.qrels, world.members, world.targets, world.unknown, world.ties)
    static, repeated = call(world, measures), call(many, measures)
    for a, b in zip(static.cells, repeated.cells, strict=True):
        np.testing.assert_allclose(b.values.value, a.values.value, rtol=1e-9, atol=1e-12)


@given(worlds(sampled=True))
@share(0.3)
def test_counts_are_repetitions(world: World) -> None:
    """A ranking counted twice is the same as the ranking written twice."""
    world.weight = "count"
    for run in world.runs.values():
        for q, rs in run.items():
            run[q] = [Ranking(r.docs, r.sample, float(i % 2 + 1)) for i, r in enumerate(rs)]
    written = {
        name: {
            q: [Ranking(r.docs, f"{r.sample}-{i}") for r in rs for i in range(int(r.weight))] for q, rs in run.items()
        }
        for name, run in world.runs.items()
    }
    plain = World(written, world.qrels, world.members, world.targets, world.unknown, world.ties)
    measures = [lm.EED(), lm.EEL(), lm.EER(), lm.EED(by="g"), lm.nDCG(), lm.AWRF(by="g")]
    for a, b in zip(call(world, measures).cells, call(plain, measures).cells, strict=True):
        np.testing.assert_allclose(a.values.value, b.values.value, rtol=1e-9, atol=1e-12)


@given(worlds(sampled=True), st.integers(2, 9))
@share(0.3)
def test_scale_of_sampling_weights(world: World, factor: int) -> None:
    """Only the proportions of sampling weights count."""
    world.weight = "sampling"
    measures = [lm.EED(), lm.EEL(), lm.EER(), lm.nDCG(), lm.AWRF(by="g")]
    before = call(world, measures)
    for run in world.runs.values():
        for q, rs in run.items():
            run[q] = [Ranking(r.docs, r.sample, r.weight * factor) for r in rs]
    for a, b in zip(before.cells, call(world, measures, load(world)).cells, strict=True):
        np.testing.assert_allclose(a.values.value, b.values.value, rtol=1e-9, atol=1e-12)
