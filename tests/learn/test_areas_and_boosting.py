"""Quick areas are those of the sweep; boosted objectives have the gradient of the losses and learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import lightmeter as lm
from lightmeter.errors import LightmeterError
from lightmeter.learn.areas import curve_areas
from lightmeter.learn.data import LetorData, generated
from lightmeter.learn.trees import BoostedExposure, BoostedPairwise, boosted_area

NONE = float("nan")


@pytest.fixture(scope="module")
def world():
    return generated(30, (5, 30), rng=3)


@pytest.mark.parametrize(
    ("user", "noise"),
    # ERR's readers stop at the relevant, so only rankings of the irrelevant first share out less evenly than chance
    [("RBP(p=0.5)", 0.0), ("RBP(p=0.5)", 1.0), ("Cascade(p=0.5, u=0.5)", 1.0), ("ERR(max_grade=4)", -9.0)],
)
def test_areas_of_the_sweep(world, user, noise):
    """EEAUC of mean and queries within the coarser grid's error of what ``lm.sweep`` says."""
    data, utility = world
    scores = -utility if noise < 0 else utility + noise * np.random.default_rng(0).normal(size=len(utility))
    everything = np.arange(30)
    found = curve_areas(data.padded(scores, everything), data.padded(data.grade, everything), user=user)
    collection = lm.load(run=data.run(scores), qrels=data.judgments())
    swept = lm.sweep(collection, "PlackettLuce(scores='raw')", user, depth=None, resamples=2).curves[0]
    assert found.mean == pytest.approx(swept.area().value, abs=4e-3)
    assert np.nanmean(found.query) == pytest.approx(swept.query_mean().value, abs=6e-3)
    assert int((~np.isnan(found.query)).sum()) == swept.query_mean().n


def test_areas_at_the_ends():
    """All scores alike: a straight line from uniform to the order given. Padding and scale change nothing."""
    s, g = np.array([[3.0, 2.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 0.0, 2.0]])
    level = curve_areas(np.ones((1, 4)), g)
    # the targets are 1/2 and 1, E is 5/4; uniform gives each 15/32, the order given 1/2 and 1/8
    uniform, given = 1.5 * 15 / 32 / 1.25, (0.5 * 0.5 + 1 / 8) / 1.25
    assert level.mean == pytest.approx((uniform + given) / 2, abs=1e-9)
    found = curve_areas(s, g)
    assert curve_areas(1e6 * s + 5, g).mean == pytest.approx(found.mean, abs=1e-9)
    wide = curve_areas(np.append(s, [[NONE]], axis=1), np.append(g, [[NONE]], axis=1))
    assert wide.mean == pytest.approx(found.mean, abs=1e-12)
    assert curve_areas(-s, g).mean > found.mean


def test_queries_that_do_not_count():
    """One document, none relevant; nothing left: NaN."""
    found = curve_areas([[1.0, NONE], [1.0, 2.0], [1.0, 2.0]], [[1.0, NONE], [0.0, 0.0], [0.0, 1.0]])
    assert np.isnan(found.query).tolist() == [True, True, False]
    assert found.mean == pytest.approx(found.query[2])
    assert np.isnan(curve_areas([[1.0, 2.0]], [[0.0, 0.0]]).mean)


def test_areas_of_parity():
    """By hand: two groups of one document; disparity from uniform's 9/8 to 5/4, relevance from 3/4 to 1."""
    s, g, a = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([[0, 1]])
    found = curve_areas(s, g, a, kind="parity")
    # eps = 3/4 +- t, t in [0, 1/4]: x = 16 t^2, y = 3/4 + t, so y = 3/4 + sqrt(x)/4 and the area is 3/4 + 1/6
    assert found.mean == pytest.approx(3 / 4 + 1 / 6, abs=4e-3)
    one = curve_areas(s, g, np.array([[0, 0]]), kind="parity")
    assert np.isnan(one.mean)
    worse = curve_areas(-s, g, a, kind="parity")
    assert worse.mean == pytest.approx(3 / 4)  # nothing beats uniform
    # groups of two and of one: uniform's xi is 7/6 and 7/12, the least 7/8 each, the most 3/2 and 1/4
    least, most = 2 * (7 / 8) ** 2, 1.5**2 + 0.25**2
    start = ((7 / 6) ** 2 + (7 / 12) ** 2 - least) / (most - least)
    level = curve_areas([[0.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]], [[0, 0, 1]], kind="parity")
    assert level.mean == pytest.approx((1 - start) * 7 / 12)  # nothing is reached before uniform
    with pytest.raises(LightmeterError, match="need groups"):
        curve_areas(s, g, kind="parity")
    with pytest.raises(LightmeterError, match="Did you mean 'parity'"):
        curve_areas(s, g, kind="paritty")
    with pytest.raises(LightmeterError, match="not finite"):
        curve_areas([[NONE, 1.0]], g)


@pytest.mark.parametrize("user", ["RBP(p=0.5)", "Cascade(p=0.9, u=0.5)"])
@pytest.mark.parametrize("parity", [False, True])
def test_gradient_by_differences(user, parity):
    """The derivative of the loss, written out with ``lm.expected_exposure``; the Hessian is positive."""
    rng = np.random.default_rng(1)
    sizes, grades = [4, 1, 3, 3], np.array([2, 0, 1, 0, 1, 0, 0, 0, 0, 3, 0.0])
    groups = np.array([0, 1, 1, -1, 0, 0, 1, 1, 0, 0, 1])
    scores = rng.normal(size=11)
    objective = BoostedExposure(0.4, user, parity, groups=groups if parity else None)
    gradient, hessian = objective.derivatives(scores, grades, sizes)

    def total(y):
        out, at = 0.0, 0
        for n in sizes:
            part = slice(at, at + n)
            at += n
            if not (grades[part] > 0).any():
                continue
            one = {"grades": grades[part], "user": user}
            eps = lm.expected_exposure(y[part], policy=lm.PlackettLuce(alpha=1.0, scores="raw"), **one)
            goal = lm.expected_exposure(y[part], policy=lm.Oracle(), **one) * (grades[part] > 0)
            d = sum(eps[groups[part] == a].sum() ** 2 for a in (0, 1)) if parity else eps @ eps
            out += 0.4 * d - 0.6 * eps @ goal
        return out

    step = 1e-5 * np.eye(11)
    expected = [(total(scores + e) - total(scores - e)) / 2e-5 for e in step]
    assert gradient == pytest.approx(expected, abs=1e-8)
    assert (gradient[5:8] == 0).all()  # nothing relevant
    assert (hessian > 0).all()
    assert np.isfinite(hessian).all()


def test_newton_steps_go_down():
    """Half steps of the Hessian's size never raise the loss, and reach what L-BFGS reaches."""
    rng = np.random.default_rng(2)
    sizes, grades = np.full(20, 12), rng.integers(0, 5, 240)
    objective = BoostedExposure(0.5)
    y = np.zeros(240)
    values = []
    least = scipy.optimize.minimize(
        _loss, y, (grades, sizes), jac=lambda v, *_: objective.derivatives(v, grades, sizes)[0], method="L-BFGS-B"
    ).fun
    for _ in range(30):
        gradient, hessian = objective.derivatives(y, grades, sizes)
        values.append(_loss(y, grades, sizes))
        y -= 0.5 * gradient / hessian
    assert values[-1] < values[0] + 0.98 * (least - values[0])
    assert max(np.diff(values)) <= 1e-9


def _loss(y, grades, sizes):
    s, g = y.reshape(len(sizes), -1), np.reshape(grades, (len(sizes), -1))
    eps = lm.expected_exposure(s, g, policy=lm.PlackettLuce(alpha=1.0, scores="raw"), user="RBP(p=0.5)")
    goal = lm.expected_exposure(s, g, policy=lm.Oracle(), user="RBP(p=0.5)") * (g > 0)
    return (0.5 * eps**2 - 0.5 * eps * goal).sum()


def test_losses_agree(torch):
    """The objective's gradient is that of the loss of torch; the pairwise one's too, with its second derivative."""
    rng = np.random.default_rng(4)
    grades = rng.integers(0, 4, (5, 6)).astype(float)
    scores = rng.normal(size=(5, 6))
    y = torch.tensor(scores, requires_grad=True)
    sizes = np.full(5, 6)
    for objective, loss in (
        (BoostedExposure(0.3, complete=True, binary=2), lm.learn.ExposureLoss(0.3, complete=True, binary=2)),
        (BoostedPairwise(), lm.learn.PairwiseLoss()),
    ):
        y.grad = None
        value = loss(y, torch.tensor(grades), reduction="none")
        value.nansum().backward()
        gradient, _ = objective.derivatives(scores.ravel(), grades.ravel(), sizes)
        assert gradient == pytest.approx(y.grad.numpy().ravel(), abs=1e-10)
    step, (first, second) = 1e-5, BoostedPairwise().derivatives(scores.ravel(), grades.ravel(), sizes)
    for d in range(0, 30, 7):
        moved = scores.ravel() + step * np.eye(30)[d]
        slope = (BoostedPairwise().derivatives(moved, grades.ravel(), sizes)[0][d] - first[d]) / step
        assert second[d] == pytest.approx(slope, abs=1e-4)


def test_boosting_learns(lightgbm):
    """EEAUC on validation rises, and is what ``feval`` says; callables as LightGBM takes them."""
    data, _ = generated(60, (5, 20), rng=1)
    first, last = data.flat(np.arange(40)), data.flat(np.arange(40, 60))
    train = lightgbm.Dataset(data.features[first], data.grade[first], group=data.sizes[:40], params={"verbose": -1})
    valid = lightgbm.Dataset(data.features[last], data.grade[last], group=data.sizes[40:], reference=train)
    history = {}
    booster = lightgbm.train(
        {"objective": BoostedExposure(0.5), "verbose": -1, "metric": "None", "num_threads": 1},
        train,
        15,
        valid_sets=[valid],
        feval=boosted_area(),
        callbacks=[lightgbm.record_evaluation(history)],
    )
    area = history["valid_0"]["EEAUC"]
    scores = np.zeros(len(data.grade))
    scores[last] = booster.predict(data.features[last])
    here = np.arange(40, 60)
    found = curve_areas(data.padded(scores, here), data.padded(data.grade, here)).mean
    assert found == pytest.approx(area[-1])
    level = curve_areas(data.padded(0 * scores, here), data.padded(data.grade, here)).mean
    assert area[-1] > level + 0.1


def test_wrong_objectives(lightgbm):
    with pytest.raises(LightmeterError, match="lam is 2"):
        BoostedExposure(2)
    with pytest.raises(LightmeterError, match="needs groups="):
        BoostedExposure(parity=True)
    with pytest.raises(LightmeterError, match="2 documents"):
        BoostedExposure(parity=True, groups=[0]).derivatives([0.0, 1.0], [1, 0], [2])
    with pytest.raises(LightmeterError, match="finite"):
        BoostedExposure().derivatives([0.0, NONE], [1, 0], [2])
    plain = lightgbm.Dataset(np.zeros((4, 1)), np.zeros(4), params={"verbose": -1}).construct()
    with pytest.raises(LightmeterError, match="group=sizes"):
        BoostedExposure()(np.zeros(4), plain)


def test_data_from_arrays():
    """Lengths, NaN features and unknown groups are told; groups and bins."""
    with pytest.raises(LightmeterError, match="feature 2 of document 0 is nan"):
        LetorData.of([[1.0, NONE]], [1], [1])
    with pytest.raises(LightmeterError, match="add up to 2"):
        LetorData.of([[1.0]], [1], [2])
    with pytest.raises(LightmeterError, match="grade is not finite"):
        LetorData.of([[1.0]], [NONE], [1])
    data = LetorData.of([[1.0], [5.0], [9.0]], [1, 0, 2], [2, 1], ["b", None, "a"])
    assert data.groups.values == ["a", "b"]
    assert data.groups.code.tolist() == [1, -1, 0]
    assert data.codes([1, 0]).tolist() == [[0, -1], [1, -1]]
    assert data.with_binned(1, [5]).groups.code.tolist() == [0, 1, 1]
    with pytest.raises(LightmeterError, match="there is no feature 2"):
        data.with_binned(2, [5])
    with pytest.raises(LightmeterError, match="rising"):
        data.with_binned(1, [5, 5])
    with pytest.raises(LightmeterError, match="no document has a known value"):
        LetorData.of([[1.0]], [1], [1], [None])


def test_groups_of_a_table():
    """By document, or by query and document; what fits nothing is told."""
    data = LetorData.of([[1.0], [5.0], [9.0]], [1, 0, 2], [2, 1])
    assert data.docs.to_list() == ["1.1", "1.2", "2.1"]
    found = data.with_groups_of({"kind": {"1.1": "x", "2.1": "y"}})
    assert (found.groups.name, found.groups.values) == ("kind", ["x", "y"])
    assert found.groups.code.tolist() == [0, -1, 1]
    two = {"kind": {"1.1": "x"}, "other": {"1.1": "z"}}
    with pytest.raises(LightmeterError, match="--by"):
        data.with_groups_of(two)
    assert data.with_groups_of(two, "other").groups.values == ["z"]
    with pytest.raises(LightmeterError, match=r"like '1\.1'"):
        data.with_groups_of({"kind": {"strange": "x"}})


def test_generated():
    """Same for a seed; grades as told; groups of higher values more relevant; utilities rank better than chance."""
    data, utility = generated(40, rng=5)
    again, _ = generated(40, rng=5)
    assert (again.features == data.features).all()
    share = np.bincount(data.grade.astype(int)) / len(data.grade)
    assert share == pytest.approx([0.52, 0.32, 0.11, 0.04, 0.01], abs=0.01)
    means = [data.grade[data.groups.code == a].mean() for a in range(3)]
    assert means == sorted(means)
    column = data.features[:, 129]
    assert (column[data.groups.code == 0] < 1000).all()
    assert (column[data.groups.code == 2] >= 10_000).all()
    assert np.corrcoef(utility, data.grade)[0, 1] > 0.5


def test_parity_where_no_group_is_known():
    """No query counts: there is no area, and no defect."""
    found = curve_areas([[2.0, 1.0], [0.0, 1.0]], [[1, 0], [0, 1]], [[-1, -1], [-1, -1]], kind="parity")
    assert np.isnan(found.mean)
    assert np.isnan(found.query).tolist() == [True, True]
