"""The frontier of groups: against all rankings for few documents, and against the frontier of single documents."""

from __future__ import annotations

import builtins
import itertools
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lightmeter as lm
from lightmeter.exposure.frontier import frontiers
from lightmeter.models.users import user_of

pytest.importorskip("highspy")
USERS: list[Any] = [lm.RBP(p=0.5), lm.RBP(p=0.95), lm.DCG(), lm.TopK(k=2), lm.Attention(weights=[0.2, 1.0, 0.0, 0.4])]


def target_of(user: Any, grades: list[int], complete: bool) -> np.ndarray:
    """Mean view of the places of a grade, with documents by falling grade."""
    view = user.view_at(np.arange(1.0, len(grades) + 1))
    ranked = sorted(grades, reverse=True)
    mean = {g: float(np.mean([v for v, r in zip(view, ranked, strict=True) if r == g])) for g in set(grades)}
    return np.array([mean[g] if g > 0 or complete else 0.0 for g in grades])


@settings(max_examples=40)
@given(st.data())
def test_no_policy_is_better(data: Any) -> None:
    """First-order proof over all rankings: no mixture with that relevance lowers the disparity, and EER is kept."""
    user = data.draw(st.sampled_from(USERS))
    n = data.draw(st.integers(1, 5))
    grades = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(any))
    labels = data.draw(st.lists(st.sampled_from(["x", "y", "z", None]), min_size=n, max_size=n).filter(any))
    goal = data.draw(st.sampled_from(["parity", "merit", "least"]))
    complete = data.draw(st.booleans())
    shares = data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.8, 0.95, 1.0]), min_size=1, max_size=3))
    line = lm.group_frontier(grades, labels, user, goal=goal, relevance=shares, complete=complete)
    member = np.array([[float(label == name) for name in line.names] for label in labels])
    view, target = user.view_at(np.arange(1.0, n + 1)), target_of(user, grades, complete)
    vertices = np.zeros((0, n))
    for order in itertools.permutations(range(n)):
        one = np.zeros((1, n))
        one[0, list(order)] = view
        vertices = np.vstack([vertices, one])
    highest = (vertices @ target).max()
    for i, share in enumerate(shares):
        x = line.exposure[i]
        assert x @ target >= share * highest - 1e-9
        assert line.relevance[i] == pytest.approx(x @ target)
        assert line.group_exposure[i] == pytest.approx(x @ member)
        assert line.disparity[i] == pytest.approx(((x @ member - line.goal) ** 2).sum(), abs=1e-12)
        slope = 2 * member @ (x @ member - line.goal)
        best = linprog(
            vertices @ slope,
            A_ub=-(vertices @ target)[None],
            b_ub=[-share * highest + 1e-9],
            A_eq=np.ones((1, len(vertices))),
            b_eq=[1.0],
        )
        assert best.status == 0
        assert x @ slope <= best.fun + 1e-7
        # the policy that is handed back has that exposure
        again = np.zeros(n)
        for ranking, p in zip(line.rankings[i], line.probabilities[i], strict=True):
            again[ranking] += p * view
        assert again == pytest.approx(x, abs=1e-12)
        assert line.probabilities[i].sum() == pytest.approx(1.0)
        assert len(line.probabilities[i]) <= member.shape[1] + 2


@pytest.mark.parametrize("user", [lm.RBP(p=0.8), lm.DCG()], ids=str)
@pytest.mark.parametrize("n", [5, 25])
def test_every_document_a_group(user: Any, n: int) -> None:
    """The least group EED is then the least EED at that EER: the frontier of single documents."""
    rng = np.random.default_rng(n)
    grades = rng.integers(0, 3, n).tolist()
    line = lm.group_frontier(grades, list(range(n)), user, goal="least", relevance=[0.0, 0.6, 0.9, 1.0])
    view = user.view_at(np.arange(1.0, n + 1))
    single = frontiers(target_of(user, grades, False), view)[0]
    for disparity, relevance in zip(line.disparity[1:], line.relevance[1:], strict=True):
        assert single.height(disparity + 1e-12) >= relevance - 1e-9  # no policy has less
        assert not single.height(disparity - 1e-9) > relevance  # and no lower one has as much
    assert line.disparity[0] == pytest.approx(view.sum() ** 2 / n)
    assert (np.diff(line.disparity) >= -1e-9).all()


def test_by_hand() -> None:
    """x has both relevant documents. RBP(p=0.5): parity is 15/16 each, the oracle gives x 3/2 and y 3/8."""
    line = lm.group_frontier([1, 1, 0, 0], ["x", "x", "y", "y"], "RBP(p=0.5)", relevance=[0.0, 1.0])
    assert line.names == ("x", "y")
    assert line.goal == pytest.approx([15 / 16, 15 / 16])
    assert line.disparity == pytest.approx([0.0, 2 * (9 / 16) ** 2], abs=1e-9)
    assert line.relevance[1] == pytest.approx(2 * 0.75**2)
    merit = lm.group_frontier([1, 1, 0, 0], ["x", "x", "y", "y"], "RBP(p=0.5)", goal="merit", relevance=[0.0])
    assert merit.goal == pytest.approx([15 / 8, 0.0])
    assert merit.group_exposure[0] == pytest.approx([1.5, 0.375])  # all that x can have
    cut = lm.group_frontier([1, 1, 0, 0], ["x", "x", "y", "y"], "RBP(p=0.5)", relevance=[1.0], cutoff=2)
    assert cut.group_exposure[0] == pytest.approx([1.5, 0.0])


def test_memberships_in_several_groups() -> None:
    """Shares as a matrix; a goal by group."""
    member = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    line = lm.group_frontier([2, 1, 0], member, "DCG", goal=[1.0, 1.0], relevance=[0.0, 1.0])
    assert line.names == (0, 1)
    view = user_of("DCG").view_at(np.array([1.0, 2.0, 3.0]))
    assert line.exposure[1] == pytest.approx(view)
    assert line.disparity[1] == pytest.approx(((view @ member - 1) ** 2).sum())
    assert line.disparity[0] <= line.disparity[1]


def test_a_hundred_documents_take_seconds() -> None:
    rng = np.random.default_rng(0)
    grades, labels = rng.integers(0, 4, 100).tolist(), rng.choice(["a", "b", "c", "d"], 100).tolist()
    began = time.process_time()
    line = lm.group_frontier(grades, labels, "DCG", relevance=np.linspace(0, 1, 11))
    assert time.process_time() - began < 5
    assert (np.diff(line.disparity) >= -1e-9).all()
    assert line.disparity[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": "ERR(max_grade=2)"}, "know the rank only"),
        ({"grades": [1, -1]}, "the grades are no list"),
        ({"grades": [1.0, np.nan]}, "the grades are no list"),
        ({"groups": ["x"]}, "there are 2 grades"),
        ({"groups": [None, None]}, "no document has a group"),
        ({"groups": [[-1.0], [1.0]]}, "the memberships are no"),
        ({"goal": "equal"}, "goal is 'equal'. Accepted: parity, merit, least"),
        ({"goal": [1.0]}, "Accepted: 2 finite numbers"),
        ({"goal": "merit", "grades": [0, 0]}, "needs a document with a grade above 0"),
        ({"relevance": [1.5]}, "no share"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    call = {"grades": [1, 0], "groups": ["x", "y"], "user": "DCG", **options}
    with pytest.raises(lm.LightmeterError, match=message):
        lm.group_frontier(call.pop("grades"), call.pop("groups"), call.pop("user"), **call)


def test_nothing_is_printed() -> None:
    """The solver's banner, which the first one of a process prints from C, does not reach standard output."""
    code = "import lightmeter as lm; lm.group_frontier([1, 0], ['x', 'y'], 'DCG'); print('done')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    assert done.stderr == ""


def test_without_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name == "highspy":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(lm.MissingExtraError, match=r"pip install 'lightmeter\[fair\]'"):
        lm.group_frontier([1, 0], ["x", "y"], "DCG")
