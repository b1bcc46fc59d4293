"""Bounds of EED, EER and EEL against all rankings and many mixtures: attained and never passed."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from lightmeter.errors import LightmeterError
from lightmeter.exposure.bounds import bounds, group_bounds
from lightmeter.exposure.ideal import level_targets
from lightmeter.models.users import Attention, User, user_of

Array = NDArray[np.float64]
BY_RANK = ["RBP(p=0.5)", "RBP(p=0.99)", "DCG", "TopK(k=2)", "Inverse", Attention(weights=[0.2, 1.0, 0.0, 0.4])]
BY_DOCUMENT = [
    "Cascade(p=0.9,u=0.5)",
    "Cascade(p=0.5,u=1)",
    "Cascade(p=1,u=0.3)",
    "Cascade(p=0.8,u=0)",
    "ERR(max_grade=3)",
]
counts = st.lists(st.integers(0, 2), min_size=3, max_size=3).filter(any)


def corners(user: User, grades: Array, cutoff: int | None, seen: int | None = None) -> Array:
    """Exposure of every ranking of ``seen`` of the documents (all by default)."""
    n = len(grades)
    out = []
    for ranking in itertools.permutations(range(n), n if seen is None else seen):
        exposure = np.zeros(n)
        order = np.array(ranking, dtype=np.int64)
        exposure[order[:cutoff]] = user.view(grades[order])[:cutoff]
        out.append(exposure)
    return np.unique(np.array(out), axis=0)


def nearest(points: Array, alike: Array) -> Array:
    """The point nearest to 0 of the convex hull of points, which stays itself when like coordinates change places."""
    _, label, size = np.unique(alike, return_inverse=True, return_counts=True)
    mean = np.stack([points[:, label == i].mean(axis=1) for i in range(len(size))], axis=1) * np.sqrt(size)
    mean = np.unique(mean.round(14), axis=0)
    # min ||P'w||^2 + (sum w - 1)^2 over w >= 0 is a multiple of the solution
    weight, _ = nnls(np.vstack([mean.T, np.ones(len(mean))]), np.append(np.zeros(len(size)), 1.0))
    found = ((weight @ mean / weight.sum()) / np.sqrt(size))[label]
    assert (points @ found).min() >= found @ found - 1e-9  # no point lies nearer in its direction
    return found


def case(count: list[int], zeros: int) -> tuple[Array, Array, Array]:
    gain = np.array([[3.0, 2.0, 1.0]])
    grades = np.repeat([3.0, 2.0, 1.0, 0.0], [*count, zeros])
    return gain, np.array([count]), grades


def target_of(user: User, grades: Array, cutoff: int | None, complete: bool) -> Array:
    levels, inverse, count = np.unique(-grades, return_inverse=True, return_counts=True)
    target = level_targets(user, -levels[None], count[None], cutoff)[0][inverse]
    return target if complete else np.where(grades > 0, target, 0.0)


@pytest.mark.parametrize("user", [*BY_RANK, *BY_DOCUMENT], ids=str)
@settings(max_examples=15)
@given(count=counts, zeros=st.integers(0, 3), cutoff=st.none() | st.integers(1, 6))
def test_complete(user: User | str, count: list[int], zeros: int, cutoff: int | None) -> None:
    model = user_of(user)
    zeros = min(zeros, 6 - sum(count))
    gain, levels, grades = case(count, zeros)
    target = target_of(model, grades, cutoff, complete=True)
    points = corners(model, grades, cutoff)
    squares = (points**2).sum(axis=1)
    found = {m: bounds(m, model, gain, levels, [zeros], cutoff) for m in ("EED", "EER", "EEL")}
    low, high = found["EED"]
    least = nearest(points, grades)
    assert low[0] == pytest.approx(least @ least, abs=1e-9)
    assert high[0] == pytest.approx(squares.max(), abs=1e-12)
    low, high = found["EER"]
    assert low[0] == pytest.approx((points @ target).min(), abs=1e-12)
    assert high[0] == pytest.approx((points @ target).max(), abs=1e-12)
    low, high = found["EEL"]
    assert low[0] == 0.0  # the target is a policy's
    away = nearest(points - target, grades)
    assert away @ away == pytest.approx(0.0, abs=1e-9)
    assert high[0] == pytest.approx(((points - target) ** 2).sum(axis=1).max(), abs=1e-11)
    mixtures = np.random.default_rng(0).dirichlet(np.full(len(points), 0.1), 100) @ points
    values = {
        "EED": (mixtures**2).sum(axis=1),
        "EER": mixtures @ target,
        "EEL": ((mixtures - target) ** 2).sum(axis=1),
    }
    for name, value in values.items():
        assert value.min() >= found[name][0][0] - 1e-9
        assert value.max() <= found[name][1][0] + 1e-9


@pytest.mark.parametrize("user", [*BY_RANK, *BY_DOCUMENT], ids=str)
@settings(max_examples=10)
@given(count=counts.filter(lambda c: sum(c) <= 4), cutoff=st.integers(1, 3))
def test_incomplete(user: User | str, count: list[int], cutoff: int) -> None:
    model = user_of(user)
    # with three more documents than the cutoff shows, all that can be seen of an unbounded corpus
    gain, levels, grades = case(count, 3)
    target = target_of(model, case(count, 0)[2], cutoff, complete=True)
    target = np.append(target, np.zeros(3))
    points = corners(model, grades, None, seen=min(cutoff, len(grades)))
    found = {m: bounds(m, model, gain, levels, None, cutoff) for m in ("EED", "EER", "EEL")}
    if isinstance(model, Attention):  # lists of any length: its largest views may lie far down
        points = corners(model, grades, cutoff)
    assert found["EED"][1][0] == pytest.approx((points**2).sum(axis=1).max(), abs=1e-12)
    assert found["EER"][1][0] == pytest.approx((points @ target).max(), abs=1e-12)
    assert found["EEL"][1][0] == pytest.approx(((points - target) ** 2).sum(axis=1).max(), abs=1e-12)
    assert all(low[0] == 0.0 for low, _ in found.values())


@pytest.mark.parametrize("user", ["RBP(p=0.7)", "Cascade(p=0.7,u=0.4)", "Inverse", "TopK(k=3)"])
def test_incomplete_bounds_are_approached_by_long_lists(user: str) -> None:
    model = user_of(user)
    gain, count = np.array([[2.0, 1.0]]), np.array([[2, 3]])
    far = 200_000
    view = model.view(np.zeros(far))
    target = np.repeat(level_targets(model, gain, count, None)[0], count[0])
    _, high = bounds("EED", model, gain, count)
    assert high[0] == pytest.approx((view**2).sum(), abs=1e-5)
    _, high = bounds("EEL", model, gain, count)
    assert high[0] == pytest.approx((view**2).sum() + target @ target, abs=1e-5)
    # the low ends: non-relevant documents in uniform order
    assert (view.sum() / far) ** 2 * far < 1e-3


@pytest.mark.parametrize("user", BY_RANK, ids=str)
def test_incomplete_relevance_is_the_norm_of_the_target(user: User | str) -> None:
    model = user_of(user)
    gain, count = np.array([[2.0, 1.0]]), np.array([[2, 3]])
    target = level_targets(model, gain, count, None)
    if not isinstance(model, Attention):
        assert bounds("EER", model, gain, count)[1][0] == pytest.approx((count * target**2).sum(), abs=1e-12)


@pytest.mark.parametrize("user", ["DCG", "ERR(max_grade=2)", "Cascade(p=1,u=0.5)"])
def test_what_has_no_bound_is_refused(user: str) -> None:
    model = user_of(user)
    for measure in ("EED", "EEL"):
        with pytest.raises(LightmeterError, match="a cutoff"):
            bounds(measure, model, [[1.0]], [[2]])
        assert np.isfinite(bounds(measure, model, [[1.0]], [[2]], cutoff=5)[1]).all()
    assert np.isfinite(bounds("EER", model, [[1.0]], [[2]])[1]).all()


def test_refusals() -> None:
    with pytest.raises(LightmeterError, match="EESpread has no bounds"):
        bounds("EESpread", user_of("DCG"), [[1.0]], [[2]], [3])
    with pytest.raises(LightmeterError, match="grade 0"):
        bounds("EED", user_of("DCG"), [[1.0, 0.0]], [[2, 3]])
    with pytest.raises(LightmeterError, match="know the rank only"):
        group_bounds(user_of("Cascade(p=0.9,u=0.5)"), [[1, 2]], [0])
    with pytest.raises(LightmeterError, match="13 groups"):
        group_bounds(user_of("DCG"), [[1] * 13], [0])
    with pytest.raises(LightmeterError, match="search of"):
        bounds("EEL", user_of("ERR(max_grade=4)"), [[4.0, 3.0, 2.0, 1.0]], [[90] * 4], [9])


def test_many_queries_at_once() -> None:
    gain = np.array([[2.0, 1.0], [1.0, np.nan], [2.0, 1.0], [3.0, 1.0]])
    count = np.array([[1, 2], [3, 0], [1, 2], [0, 0]])
    zeros = np.array([2, 1, 2, 0])
    for user in ("RBP(p=0.5)", "Cascade(p=0.9,u=0.5)", "ERR(max_grade=3)"):
        for measure in ("EED", "EER", "EEL"):
            for given_zeros in (zeros, None):
                both = np.array(bounds(measure, user_of(user), gain, count, given_zeros, cutoff=3))
                for q in range(4):
                    one = bounds(
                        measure, user_of(user), gain[[q]], count[[q]], None if given_zeros is None else zeros[[q]], 3
                    )
                    np.testing.assert_allclose(both[:, q], np.array(one)[:, 0], atol=1e-15)


def test_least_disparity_of_two_continuations_is_one_variable() -> None:
    user = user_of("Cascade(p=0.9,u=0.6)")
    r, z = 7, 40
    high_first, low_first = [], []
    c = {"r": 0.9 * 0.4, "z": 0.9}
    x_r, x_z = (1 - c["r"] ** r) / (1 - c["r"]) / r, (1 - c["z"] ** z) / (1 - c["z"]) / z
    high_first, low_first = np.array([x_r, x_z * c["r"] ** r]), np.array([x_r * c["z"] ** z, x_z])
    mix = np.linspace(0.0, 1.0, 200_001)[:, None]
    squares = (mix * high_first + (1 - mix) * low_first) ** 2 @ np.array([r, z])
    low, _ = bounds("EED", user, [[1.0]], [[r]], [z])
    assert low[0] == pytest.approx(squares.min(), rel=1e-9)
    assert low[0] <= squares.min() + 1e-15


def test_long_lists_are_quick_and_consistent() -> None:
    began = time.perf_counter()
    gain, count, zeros = np.array([[2.0, 1.0]]), np.array([[50, 150]]), [1800]
    for cutoff in (None, 100):
        for measure in ("EED", "EER", "EEL"):
            low, high = bounds(measure, user_of("Cascade(p=0.99,u=0.1)"), gain, count, zeros, cutoff)
            assert 0 <= low[0] < high[0]
    low, high = bounds("EEL", user_of("ERR(max_grade=2)"), gain, count, zeros)
    assert 0 <= low[0] < high[0]
    assert time.perf_counter() - began < 20


def group_points(view: Array, member: NDArray[np.int64], groups: int) -> Array:
    out = []
    for ranking in itertools.permutations(range(len(member))):
        exposure = np.zeros(len(member))
        exposure[list(ranking)] = view
        out.append([exposure[member == g].sum() for g in range(groups)])
    return np.unique(np.array(out), axis=0)


@pytest.mark.parametrize("user", BY_RANK, ids=str)
@settings(max_examples=20)
@given(
    size=st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(lambda s: 0 < sum(s) <= 6),
    others=st.integers(0, 3),
    cutoff=st.none() | st.integers(1, 6),
)
def test_groups(user: User | str, size: list[int], others: int, cutoff: int | None) -> None:
    model = user_of(user)
    others = min(others, 6 - sum(size))
    n = sum(size) + others
    view = model.view_at(np.arange(1.0, n + 1))
    if cutoff is not None:
        view[cutoff:] = 0.0
    member = np.repeat(np.arange(len(size) + 1), [*size, others])
    points = group_points(view, member, len(size))
    low, high = group_bounds(model, [size], [others], cutoff)
    assert high[0] == pytest.approx((points**2).sum(axis=1).max(), abs=1e-12)
    least = nearest(points, np.arange(len(size))) if points.any(axis=1).all() else np.zeros(len(size))
    assert low[0] == pytest.approx(least @ least, abs=1e-9)
    if not isinstance(model, Attention):
        full = group_bounds(model, [size], None, cutoff)
        assert full[0][0] == 0.0
        assert full[1][0] == pytest.approx(high[0], abs=1e-12)
