"""The randomised Tukey HSD test: a published example, exact enumeration, and what must not matter."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lightmeter as lm
from lightmeter.statistics.significance import paired_test, randomised_tukey, residual_variance

# Three systems, 20 topics: Sakai, Laboratory Experiments in Information Retrieval, 2018.
X = [7, 3, 2, 6, 4, 4, 0, 7, 1, 3, 5, 4, 0, 6, 5, 3, 1, 5, 2, 1]
Y = [5, 1, 0, 2, 4, 3, 0, 5, 3, 3, 4, 4, 1, 4, 2, 1, 1, 6, 3, 2]
Z = [0, 0, 2, 1, 3, 3, 1, 2, 4, 4, 4, 3, 3, 2, 2, 2, 1, 5, 4, 3]
SCORES = np.array([X, Y, Z]) / 10
PAIRS = ((0, 1), (0, 2), (1, 2))


def by_enumeration(tenths: np.ndarray) -> dict[tuple[int, int], float]:
    """Exact p-values, in whole numbers: the sums of the systems over all ways to permute each topic."""
    sums = Counter({(0,) * len(tenths): 1})
    for topic in tenths.T:
        longer: Counter[tuple[int, ...]] = Counter()
        for before, ways in sums.items():
            for order in itertools.permutations(topic.tolist()):
                longer[tuple(a + b for a, b in zip(before, order, strict=True))] += ways
        sums = longer
    total = sum(sums.values())
    means = tenths.sum(axis=1)
    return {
        (i, j): sum(w for s, w in sums.items() if max(s) - min(s) >= abs(means[i] - means[j])) / total
        for i, j in itertools.combinations(range(len(tenths)), 2)
    }


def test_the_textbook_example():
    exact = by_enumeration(np.array([X, Y, Z]))
    assert [exact[pair] for pair in PAIRS] == pytest.approx([0.303764, 0.106587, 0.891600], abs=1e-6)
    found = randomised_tukey(SCORES, permutations=100_000)
    assert [found.p[pair] for pair in PAIRS] == pytest.approx([exact[pair] for pair in PAIRS], abs=0.005)
    assert [found.effect[pair] for pair in PAIRS] == pytest.approx([0.5070, 0.6760, 0.1690], abs=5e-5)
    assert found.effect[1, 0] == -found.effect[0, 1]


def test_the_residual_by_hand():
    # two systems, differences d: the residual variance is the variance of d over 2
    x = np.array([[0.1, 0.4, 0.9], [0.2, 0.1, 0.3]])
    assert residual_variance(x) == pytest.approx(np.var(x[0] - x[1], ddof=1) / 2)


def test_two_forms_of_p():
    plus, plain = (randomised_tukey(SCORES, permutations=400, form=f) for f in ("plus_one", "proportion"))
    for pair in PAIRS:
        assert plus.p[pair] == pytest.approx((plain.p[pair] * 400 + 1) / 401)
    apart = [[0.1] * 20, [0.9] * 20]
    assert randomised_tukey(apart, permutations=400, form="proportion").p[0, 1] == 0.0
    assert randomised_tukey(apart, permutations=400).p[0, 1] == 1 / 401


def test_two_systems_are_the_sign_flip_test():
    rng = np.random.default_rng(5)
    x = rng.random((2, 10))
    x[0] += 0.2
    exact = paired_test(x[:1] - x[1:], "randomization").p[0]
    assert randomised_tukey(x, permutations=40_000).p[0, 1] == pytest.approx(exact, abs=0.01)


tables = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 5), st.integers(2, 8)), elements=st.integers(0, 10).map(lambda v: v / 10)
)


@given(tables, st.randoms(use_true_random=False))
def test_what_does_not_matter(x, random):
    found = randomised_tukey(x, permutations=200)
    assert ((found.p > 0) & (found.p <= 1)).all()
    assert (found.p == found.p.T).all()
    assert (np.diag(found.p) == 1).all()
    order = list(range(len(x)))
    random.shuffle(order)
    assert (randomised_tukey(x[order], permutations=200).p == found.p[np.ix_(order, order)]).all()
    shift = np.array([random.randrange(-5, 6) for _ in range(x.shape[1])])
    moved = randomised_tukey(x + shift, permutations=200)
    assert (moved.p == found.p).all()
    assert moved.effect == pytest.approx(found.effect, nan_ok=True, abs=1e-6)
    # in another unit: a measure whose values are tiny is tested like any other
    assert (randomised_tukey(x * 2.0**-40, permutations=200).p == found.p).all()
    # farther apart, no less significant
    difference = np.abs(x.mean(axis=1)[:, None] - x.mean(axis=1))
    for i, j in itertools.combinations(range(len(x)), 2):
        assert (found.p[difference > difference[i, j] + 1e-9] <= found.p[i, j]).all()


def test_the_error_rate_of_all_pairs_together():
    """Five systems that are all the same: in about 5% of the experiments some pair looks different."""
    rng = np.random.default_rng(0)
    experiments = 400
    wrong = 0
    for number in range(experiments):
        x = rng.random(20) + rng.exponential(size=(5, 20)) * rng.random(20)
        wrong += bool((randomised_tukey(x, permutations=199, rng=number).p < 0.05).any())
    assert 0.02 < wrong / experiments < 0.085


def test_a_real_difference_is_found():
    rng = np.random.default_rng(0)
    x = rng.random((5, 50))
    x[2] += 0.5
    p = randomised_tukey(x).p
    assert (np.delete(p[2], 2) < 0.001).all()
    assert p[0, 1] > 0.05


def test_reproducible_whatever_the_number_of_threads(monkeypatch):
    x = np.random.default_rng(1).random((12, 400))
    first = randomised_tukey(x, permutations=500, rng=3)
    assert (randomised_tukey(x, permutations=500, rng=3).spread == first.spread).all()
    monkeypatch.setattr("lightmeter.io.threads.cores", lambda: 1)
    assert (randomised_tukey(x, permutations=500, rng=3).spread == first.spread).all()
    assert (randomised_tukey(x, permutations=500, rng=4).spread != first.spread).any()
    drawn = randomised_tukey(x, permutations=500, rng=np.random.default_rng(3)).spread
    assert (drawn == randomised_tukey(x, permutations=500, rng=np.random.default_rng(3)).spread).all()


def test_fast_enough():
    x = np.random.default_rng(0).random((60, 54))
    started = time.process_time()  # of all threads, so that other work on the machine does not count
    randomised_tukey(x, permutations=5000)
    assert time.process_time() - started < 2


def test_no_residual_no_effect():
    found = randomised_tukey([[0.1, 0.2], [0.3, 0.4]], permutations=50)
    assert np.isnan(found.effect).all()
    assert np.isnan(randomised_tukey([[0.1], [0.3]], permutations=50).effect).all()


@pytest.mark.parametrize(
    ("scores", "options", "told"),
    [
        ([[0.1, 0.2]], {}, "at least 2 rows"),
        ([[0.1, np.nan], [0.2, 0.3]], {}, "1 of the scores are not finite"),
        ([0.1, 0.2], {}, r"shape \(2,\)"),
        ([["a"], ["b"]], {}, "no numbers"),
        ([[], []], {}, "one query"),
        ([[0.1], [0.2]], {"permutations": 0}, "permutations is 0"),
        ([[0.1], [0.2]], {"permutations": 1.5}, "permutations is 1.5"),
        ([[0.1], [0.2]], {"form": "share"}, "'plus_one', 'proportion'"),
        ([[0.1], [0.2]], {"rng": -1}, "rng is -1"),
    ],
)
def test_refused(scores, options, told):
    with pytest.raises(lm.LightmeterError, match=told):
        randomised_tukey(scores, **options)
