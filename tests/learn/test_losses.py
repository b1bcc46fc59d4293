"""Losses of expected exposure: values by enumeration, gradients by differences, masks, types and mistakes."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.errors import LightmeterError, TermError

pytest.importorskip("torch", reason="torch is not installed: pip install 'lightmeter[learn]'")

NONE = float("nan")
GRADES = [[2.0, 0.0, 1.0, 0.0, 3.0], [0.0] * 5, [1.0, 0.0, NONE, NONE, NONE]]
GROUPS = [[0, 1, 1, 2, -1], [0, 0, 0, 1, 1], [0, 1, -1, -1, -1]]
USERS = {
    "RBP(p=0.5)": lambda g: np.full(len(g), 0.5),
    "Cascade(p=0.9, u=0.5)": lambda g: np.where(g > 0, 0.45, 0.9),
    "ERR(max_grade=4)": lambda g: 1 - (2**g - 1) / 16,
}


def enumerated(scores, continuation):
    """Exposure under Plackett-Luce by all orders."""
    w, out = np.exp(scores), np.zeros(len(scores))
    for order in itertools.permutations(range(len(w))):
        left, chance, view = w.sum(), 1.0, 1.0
        seen = np.zeros(len(w))
        for d in order:
            chance *= w[d] / left
            left -= w[d]
            seen[d], view = view, view * continuation[d]
        out += chance * seen
    return out


def best(grades, continuation, complete):
    """Target exposure: the mean over all orders by falling grade."""
    orders = [o for o in itertools.permutations(range(len(grades))) if (np.diff(grades[list(o)]) <= 0).all()]
    out = np.zeros(len(grades))
    for order in orders:
        view = 1.0
        for d in order:
            out[d] += view / len(orders)
            view *= continuation[d]
    return out if complete else np.where(grades > 0, out, 0.0)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("complete", [False, True])
def test_value_and_gradient(torch, user, parity, complete):
    """Each query's loss by enumeration of all rankings; the gradient against differences."""
    generator = np.random.default_rng(3)
    scores = generator.normal(size=(3, 5))
    grades, groups = torch.tensor(GRADES, dtype=torch.float64), torch.tensor(GROUPS)
    loss = lm.learn.ExposureLoss(0.3, user, parity, complete=complete)
    found = loss(torch.tensor(scores), grades, groups=groups, reduction="none").tolist()
    expected = []
    for s, g, a in zip(scores, GRADES, GROUPS, strict=True):
        g = np.array(g)[: 2 if np.isnan(g).any() else 5]
        if not (g > 0).any():
            expected.append(NONE)
            continue
        c = USERS[user](g)
        eps, a = enumerated(s[: len(g)], c), np.array(a)[: len(g)]
        d = sum(eps[a == v].sum() ** 2 for v in range(3)) if parity else eps @ eps
        expected.append(0.3 * d - 0.7 * eps @ best(g, c, complete))
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)
    y = torch.tensor(scores, requires_grad=True)
    assert loss(y, grades, groups=groups).item() == pytest.approx(np.nanmean(expected), abs=1e-9)
    assert torch.autograd.gradcheck(lambda s: loss(s, grades, groups=groups), (y,))
    loss(y, grades, groups=groups).backward()
    assert (y.grad[2, 2:] == 0).all()
    assert (y.grad[1] == 0).all()  # a query without a relevant document
    assert y.grad.sum(dim=1).abs().max() < 1e-12


def test_a_third_is_eel(torch):
    """lam = 1/3 is EEL without its constant, over three."""
    scores, grades = torch.randn(7, dtype=torch.float64), torch.tensor([2.0, 1, 0, 0, 1, 0, 3], dtype=torch.float64)
    loss = lm.learn.ExposureLoss(1 / 3)
    eps = lm.expected_exposure(scores.numpy(), grades.numpy(), user="RBP(p=0.5)", policy=lm.PlackettLuce(scores="raw"))
    goal = loss.target(grades).numpy()
    assert float(loss(scores, grades)) * 3 + goal @ goal == pytest.approx(((eps - goal) ** 2).sum(), abs=1e-9)


def test_memberships_are_codes(torch):
    """Groups as codes or as memberships; of several groups a document counts in each."""
    scores, grades, groups = torch.randn(1, 4), torch.tensor([[1.0, 0, 2, 0]]), torch.tensor([[0, 1, -1, 1]])
    loss = lm.learn.ExposureLoss(1.0, parity=True)
    member = torch.tensor([[1.0, 0], [0, 1], [0, 0], [0, 1]])
    assert float(loss(scores, grades, groups=groups)) == pytest.approx(float(loss(scores, grades, groups=member)))
    eps = lm.learn.luce_exposure_of(scores, 0.5)[0]
    both = torch.tensor([[1.0, 1], [0, 1], [0, 0], [0, 1]])
    expected = eps[0] ** 2 + (eps[0] + eps[1] + eps[3]) ** 2
    assert float(loss(scores, grades, groups=both)) == pytest.approx(float(expected))


def test_binary_targets(torch):
    """Grades from 2 on count as one, also for the reader."""
    scores, grades = torch.randn(5), torch.tensor([3.0, 2, 1, 0, 0])
    some = lm.learn.ExposureLoss(0.4, "Cascade(p=0.9, u=0.5)", binary=2)
    plain = lm.learn.ExposureLoss(0.4, "Cascade(p=0.9, u=0.5)")
    assert float(some(scores, grades)) == float(plain(scores, torch.tensor([1.0, 1, 0, 0, 0])))
    assert float(some(scores, grades)) != float(plain(scores, grades))


def test_padding_changes_nothing(torch):
    """Whatever stands behind the last document, NaN included; float32 is float64 rounded; the same at every call."""
    scores, grades = torch.randn(2, 6, dtype=torch.float64), torch.tensor([[1.0, 0, 2, 0, 0, 0]] * 2).double()
    padded = torch.cat([scores, torch.full((2, 3), NONE)], dim=1).requires_grad_()
    mask = torch.tensor([[True] * 6 + [False] * 3] * 2)
    wide = torch.cat([grades, torch.full((2, 3), 9.0)], dim=1)
    for loss in (
        lm.learn.ExposureLoss(0.5),
        lm.learn.ExposureLoss(0.5, "Cascade(p=0.5, u=0.5)"),
        lm.learn.PointwiseLoss(),
        lm.learn.PairwiseLoss(),
        lm.learn.ListNetLoss(),
        lm.learn.LambdaRankLoss(),
    ):
        plain = loss(scores, grades)
        padded.grad = None
        found = loss(padded, wide, mask)
        found.backward()
        assert found.item() == pytest.approx(plain.item(), abs=1e-12)
        assert torch.isfinite(padded.grad).all()
        assert (padded.grad[:, 6:] == 0).all()
        assert loss(scores.float(), grades.float()).item() == pytest.approx(plain.item(), rel=1e-5)
        assert loss(scores.float(), grades.float()).dtype == torch.float32
        assert loss(scores, grades).item() == plain.item()


@pytest.mark.parametrize("name", ["PointwiseLoss", "PairwiseLoss", "ListNetLoss"])
def test_baselines_have_their_gradient(torch, name):
    grades = torch.tensor(GRADES, dtype=torch.float64)
    loss = getattr(lm.learn, name)()
    y = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: loss(s, grades), (y,))


def test_baselines_by_hand(torch):
    """Plain loops."""
    s, g = np.array([0.3, -0.2, 1.0, 0.1]), np.array([2.0, 0.0, 1.0, 0.0])
    scores, grades = torch.tensor(s), torch.tensor(g)
    pairs = [(i, j) for i in range(4) for j in range(4) if g[i] > g[j]]
    cost = [np.log(1 + np.exp(s[j] - s[i])) for i, j in pairs]
    assert float(lm.learn.PairwiseLoss()(scores, grades)) == pytest.approx(np.mean(cost))
    assert float(lm.learn.PointwiseLoss()(scores, grades)) == pytest.approx(((s - g) ** 2).mean())
    p, q = np.exp(g) / np.exp(g).sum(), np.exp(s) / np.exp(s).sum()
    assert float(lm.learn.ListNetLoss()(scores, grades)) == pytest.approx(-(p * np.log(q)).sum())
    rank = np.argsort(np.argsort(-s)) + 1
    most = 3 / np.log2(2) + 1 / np.log2(3)
    swap = [abs(2 ** g[i] - 2 ** g[j]) * abs(1 / np.log2(1 + rank[i]) - 1 / np.log2(1 + rank[j])) for i, j in pairs]
    assert float(lm.learn.LambdaRankLoss()(scores, grades)) == pytest.approx(np.dot(swap, cost) / most)


def test_gumbel_estimates_the_exposure(torch):
    """The mean of many drawn rankings is the exact exposure; each ranking's exposures are those of ranks 1 to n."""
    scores, go_on = torch.tensor([1.0, 0.0, -1.0, 2.0], dtype=torch.float64), torch.tensor([0.5, 0.9, 0.7, 0.25])
    mask = torch.tensor([True, True, False, True])
    generator = torch.Generator().manual_seed(1)
    found = lm.learn.gumbel_exposure_of(scores, go_on, mask, samples=20_000, generator=generator)
    exact = lm.learn.luce_exposure_of(scores, go_on.double(), mask)
    assert found[2] == 0
    assert (found - exact).abs().max() < 0.01
    one = lm.learn.gumbel_exposure_of(scores, 0.5, samples=1, generator=generator)
    assert sorted(one.tolist()) == pytest.approx([0.125, 0.25, 0.5, 1.0], abs=1e-12)


@pytest.mark.parametrize("user", [0.5, [0.5, 0.9, 0.25]])
def test_gumbel_gradient_goes_straight_through(torch, user):
    """By hand: the derivative of ln view is that of the smooth ranks, at the drawn ranking's view."""
    tau, draws = 0.7, 3
    scores = torch.tensor([0.3, 0.1, -0.4], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    go_on = torch.tensor(user, dtype=torch.float64)
    seen = lm.learn.gumbel_exposure_of(
        scores, go_on, samples=draws, tau=tau, generator=torch.Generator().manual_seed(5)
    )
    (seen @ weight).backward()
    uniform = torch.rand((1, draws, 3), generator=torch.Generator().manual_seed(5), dtype=torch.float64)[0].numpy()
    noisy = scores.detach().numpy() - np.log(-np.log(uniform))
    c = np.broadcast_to(np.asarray(user), 3)
    expected = np.zeros(3)
    for y in noisy:
        for i in range(3):
            view = np.prod([c[j] for j in range(3) if y[j] > y[i]])
            for j in range(3):
                if i != j:
                    s = 1 / (1 + np.exp(-(y[j] - y[i]) / tau))
                    slope = weight[i].item() * view * np.log(c[j]) * s * (1 - s) / tau / draws
                    expected[j] += slope
                    expected[i] -= slope
    assert scores.grad.numpy() == pytest.approx(expected, abs=1e-12)


def test_a_step_costs_no_more_than_gumbel(torch):
    """One forward and backward pass at 120 documents a query, against 20 drawn rankings (a sixth, alone on a core)."""
    scores, grades = torch.randn(8, 120, requires_grad=True), torch.randint(0, 5, (8, 120)).float()

    def cost(loss):
        taken = []
        for _ in range(5):
            started = time.process_time()
            loss(scores, grades).backward()
            taken.append(time.process_time() - started)
        return min(taken)

    exact, gumbel = lm.learn.ExposureLoss(0.5), lm.learn.ExposureLoss(0.5, estimator="gumbel")
    assert cost(exact) < cost(gumbel)


def test_nothing_counts(torch):
    """No relevant document, one document, all scores alike: defined values and gradients."""
    scores = torch.randn(1, 3, requires_grad=True)
    for loss in (
        lm.learn.ExposureLoss(0.5),
        lm.learn.PairwiseLoss(),
        lm.learn.ListNetLoss(),
        lm.learn.LambdaRankLoss(),
    ):
        scores.grad = None
        value = loss(scores, torch.zeros(1, 3))
        value.backward()
        assert value.item() == 0
        assert (scores.grad == 0).all()
    single = torch.randn(1, 1, requires_grad=True)
    value = lm.learn.ExposureLoss(0.5)(single, torch.ones(1, 1))
    value.backward()
    assert (value.item(), single.grad.item()) == (0.0, 0.0)  # .5 1 - .5 1
    level = torch.zeros(1, 3, requires_grad=True)
    lm.learn.ExposureLoss(0.0)(level, torch.tensor([[1.0, 0.0, 0.0]])).backward()
    # eps_1 = mean of 1, 1/2, 1/4 at equal scores; raising the relevant one lowers the loss
    assert level.grad[0, 0] < 0
    assert level.grad[0, 1] == pytest.approx(level.grad[0, 2].item())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda learn: learn.ExposureLoss(1.5), "lam is 1.5"),
        (lambda learn: learn.ExposureLoss(estimator="exakt"), "Did you mean 'exact'"),
        (lambda learn: learn.ExposureLoss(user="DCG"), "no gradient"),
        (lambda learn: learn.ExposureLoss(user="RBP(p=0.5)@10"), "cutoff"),
        (lambda learn: learn.ExposureLoss(user="ERR"), "highest grade"),
        (lambda learn: learn.ExposureLoss(samples=0), "samples is 0"),
        (lambda learn: learn.ExposureLoss(binary=0), "binary is 0"),
        (lambda learn: learn.LambdaRankLoss(sigma=0), "sigma is 0"),
    ],
)
def test_wrong_settings(torch, make, said):
    with pytest.raises((LightmeterError, TermError), match=said):
        make(lm.learn)


def test_wrong_input(torch):
    loss = lm.learn.ExposureLoss(0.5, parity=True)
    scores, grades = torch.zeros(2, 3), torch.ones(2, 3)
    with pytest.raises(LightmeterError, match="needs the groups"):
        loss(scores, grades)
    with pytest.raises(LightmeterError, match="one code per document"):
        loss(scores, grades, groups=torch.zeros(2, 2, dtype=torch.long))
    with pytest.raises(LightmeterError, match="one more axis"):
        loss(scores, grades, groups=torch.zeros(2, 2, 5))
    with pytest.raises(LightmeterError, match="Accepted: one shape"):
        lm.learn.PairwiseLoss()(scores, torch.ones(2, 4))
    with pytest.raises(LightmeterError, match="document 1 of query 0 is nan"):
        lm.learn.PairwiseLoss()(torch.tensor([[0.0, NONE]]), torch.ones(1, 2))
    with pytest.raises(LightmeterError, match="reduction is 'sum'"):
        lm.learn.PairwiseLoss()(scores, grades, reduction="sum")
    with pytest.raises(LightmeterError, match="not in"):
        lm.learn.luce_exposure_of(torch.zeros(2), 1.5)
    with pytest.raises(LightmeterError, match="not finite"):
        lm.learn.luce_exposure_of(torch.tensor([0.0, NONE]), 0.5)


def test_the_extra_is_named(monkeypatch):
    """Without torch a loss says what to type; reading data needs none of it."""
    import sys

    from lightmeter import learn

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "lightmeter.learn.losses", raising=False)
    monkeypatch.delitem(learn.__dict__, "ExposureLoss", raising=False)
    with pytest.raises(lm.MissingExtraError, match=r"pip install 'lightmeter\[learn\]'"):
        _ = learn.ExposureLoss
