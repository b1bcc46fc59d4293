"""FA*IR with several groups at once: the multinomial test, against throws written out one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share
from tests.reranking.worlds import rankings

import lightmeter as lm
from lightmeter.reranking.fair_top_k import in_time, joint_test
from lightmeter.statistics.fair_tables import fair_table

SHARES = st.sampled_from([(0.3,), (0.25, 0.25), (0.2, 0.5), (0.5, 0.4), (0.6, 0.4), (0.2, 0.2, 0.3)])


def chance(counts: Any, size: int, shares: Any) -> float:
    """P(X <= counts), X multinomial, by listing all ways to throw."""
    sides = [*shares, 1 - sum(shares)]
    total = 0.0
    for x in itertools.product(*[range(c + 1) for c in counts]):
        rest = size - sum(x)
        if rest >= 0:
            ways = math.factorial(size)
            for n in (*x, rest):
                ways //= math.factorial(n)
            total += ways * math.prod(p**n for p, n in zip(sides, (*x, rest), strict=True))
    return total


@given(SHARES, st.integers(1, 5))
@share(0.3)
def test_cumulative_by_listing(shares: tuple[float, ...], k: int) -> None:
    found = joint_test(k, shares, 0.1, adjust=False).cumulative
    for i in range(1, k + 1):
        for counts in itertools.product(range(k + 1), repeat=len(shares)):
            assert found[(i - 1, *counts)] == pytest.approx(chance(counts, i, shares), abs=1e-12)


def fails_by_listing(passed: np.ndarray, shares: tuple[float, ...]) -> float:
    """The chance of all sequences of throws that fail somewhere."""
    sides, groups, total = [*shares, 1 - sum(shares)], len(shares), 0.0
    for throws in itertools.product(range(groups + 1), repeat=len(passed)):
        counts, failed = [0] * (groups + 1), False
        for i, side in enumerate(throws):
            counts[side] += 1
            failed |= not passed[(i, *counts[:-1])]
        total += failed * math.prod(sides[s] for s in throws)
    return total


@given(SHARES, st.integers(1, 5), st.sampled_from([0.05, 0.1, 0.3, 0.6]))
@share(0.3)
def test_fail_probability_and_the_nearest_level(shares: tuple[float, ...], k: int, alpha: float) -> None:
    """The fail probability by listing; no other level comes nearer to the one asked for."""
    for adjust in (False, True):
        test = joint_test(k, shares, alpha, adjust=adjust)
        assert test.fail_probability == pytest.approx(fails_by_listing(test.passed, shares), abs=1e-12)
    cumulative = test.cumulative
    others = [fails_by_listing(cumulative >= level * (1 - 1e-12), shares) for level in np.unique(cumulative.round(12))]
    assert abs(test.fail_probability - alpha) <= min(abs(f - alpha) for f in others) + 1e-9


@pytest.mark.parametrize(("k", "p", "alpha"), [(10, 0.2, 0.15), (20, 0.25, 0.1), (40, 0.5, 0.1), (15, 0.7, 0.05)])
def test_one_group_is_the_binomial_table(k: int, p: float, alpha: float) -> None:
    for adjust in (False, True):
        test, table = joint_test(k, (p,), alpha, adjust=adjust), fair_table(k, p, alpha, adjust=adjust)
        assert test.passed.argmax(axis=1).tolist() == table.minimum.tolist()
        assert test.fail_probability == pytest.approx(table.fail_probability, abs=1e-12)


def load(groups: str) -> lm.Collection:
    """A query whose documents are of these groups, best first; '-' is nobody's; every group has a document."""
    docs = [f"d{i}" for i in range(len(groups))]
    known = dict(zip(docs, groups, strict=True)) | {f"no {g}": g for g in "abc-"}
    return lm.load(run={"q": docs}, groups={"g": known})


def method(p: dict[str, float], alpha: float, adjust: bool = True) -> lm.FairTopK:
    return lm.FairTopK(by="g", protected=tuple(p), p=p, alpha=alpha, adjust=adjust, joint=True)


@given(
    st.text("abc-", min_size=1, max_size=6),
    st.sampled_from([(0.3, 0.3), (0.2, 0.5), (0.5, 0.5), (0.2, 0.2, 0.2)]),
    st.sampled_from([0.05, 0.2, 0.4, 0.5]),
    st.booleans(),
)
@share(0.6)
def test_best_rank_by_rank(groups: str, shares: tuple[float, ...], alpha: float, adjust: bool) -> None:
    """Of all rankings that pass the test the first in the order of the ranking given; where none passes, it is told."""
    test = joint_test(len(groups), shares, alpha, adjust=adjust)
    made = lm.rerank(load(groups), method(dict(zip("abc", shares, strict=False)), alpha, adjust))

    def passes(order: Any) -> bool:
        counts = [np.cumsum([groups[d] == g for d in order]) for g in "abc"[: len(shares)]]
        return bool((test.cumulative[(np.arange(len(order)), *counts)] >= test.alpha * (1 - 1e-12)).all())

    order = [int(d[1:]) for d in rankings(made)["q"][0]]
    assert sorted(order) == list(range(len(groups)))
    assert made.holds == passes(order)
    fair = [o for o in itertools.permutations(range(len(groups))) if passes(o)]
    assert made.holds == bool(fair)
    if fair:
        assert order == list(min(fair))


@pytest.mark.parametrize(
    ("shares", "alpha", "there"),
    [
        ((0.4, 0.4), 0.3, (3, 3)),
        ((0.4, 0.4), 0.3, (1, 3)),
        ((0.4, 0.4), 0.3, (0, 0)),
        ((0.2, 0.2, 0.2), 0.4, (1, 3, 1)),
        ((0.2, 0.2, 0.2), 0.4, (3, 0, 0)),
    ],
)
def test_from_which_counts_later_prefixes_pass(shares: Any, alpha: float, there: Any) -> None:
    """By looking at all ways on; where none passes, with groups that have run out no longer counted."""
    k, groups = 3, len(shares)
    test = joint_test(k, shares, alpha, adjust=False)
    steps = [tuple(int(g == h) for h in range(groups)) for g in range(groups + 1)]

    def on(i: int, x: Any, lenient: bool) -> bool:
        if any(n > m for n, m in zip(x, there, strict=True)):
            return False
        judged = [k if lenient and n == m else n for n, m in zip(x, there, strict=True)]
        if not test.passed[(i, *judged)]:
            return False
        return i == k - 1 or any(on(i + 1, tuple(np.add(x, step)), lenient) for step in steps)

    lenient = not any(on(0, step, False) for step in steps)
    found = in_time(test, there)
    for i, *x in itertools.product(range(k), *[range(m + 1) for m in there]):
        if sum(x) <= i + 1:
            assert found[(i, *x)] == on(i, tuple(x), lenient)


def test_looking_ahead() -> None:
    """Three groups of .2 at .4: one other document passes, .4, but then no three ranks do, so the best is not first."""
    test = joint_test(3, (0.2, 0.2, 0.2), 0.4, adjust=False)
    assert test.cumulative[0, 0, 0, 0] == pytest.approx(0.4)
    assert test.passed[0, 0, 0, 0]
    docs = {"d0": "-", "d1": "a", "d2": "b", "d3": "c"}
    c = lm.load(run={"q": list(docs)}, groups={"g": docs})
    made = lm.rerank(c, method({"a": 0.2, "b": 0.2, "c": 0.2}, 0.4, adjust=False) @ 3)
    order = rankings(made)["q"][0]

    def passes(order: Any) -> bool:
        counts = [np.cumsum([docs[d] == g for d in order[:3]]) for g in "abc"]
        return bool(test.passed[(np.arange(3), *counts)].all())

    fair = [o for o in itertools.permutations(docs) if passes(o)]
    assert order == list(min(fair))
    assert order[0] != "d0"
    assert made.holds


def test_by_hand() -> None:
    """Two ranks at .2 without correction: both others has the chance .4 * .4 = .16 and fails, one protected .4 passes.

    A binomial table of each group at .1 lets both others pass: .7 * .7 = .49.
    """
    c = load("--ab")
    made = lm.rerank(c, method({"a": 0.3, "b": 0.3}, 0.2, adjust=False) @ 2)
    assert rankings(made)["q"][0] == ["d0", "d2", "d1", "d3"]
    assert made.holds
    assert "multinomial test of all protected groups together" in made.told
    apart = lm.rerank(c, lm.FairTopK(by="g", protected=("a", "b"), p={"a": 0.3, "b": 0.3}, alpha=0.2, adjust=False) @ 2)
    assert rankings(apart)["q"][0] == ["d0", "d1", "d2", "d3"]
    assert "a binomial table for each group" in apart.told
    short = lm.rerank(load("----"), method({"a": 0.3, "b": 0.3}, 0.2, adjust=False) @ 2)
    told = "the first 2 have 0 of 'a', 0 of 'b' of g, and so few have a chance of 0.16, below 0.2"
    assert short.failures["reason"].to_list() == [told]


def test_too_many_counts_are_refused() -> None:
    with pytest.raises(lm.LightmeterError, match="fewer ranks"):
        joint_test(200, (0.2, 0.2), 0.1)
