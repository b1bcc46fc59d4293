"""Paired tests: like scipy's, exact where they can be, right about nothing to find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lightmeter as lm
from lightmeter.statistics.significance import PAIRED, paired_test

rng = np.random.default_rng(0)
SMOOTH = rng.normal(0.2, 1.0, size=(6, 30))
ROUGH = np.round(SMOOTH, 1)


def test_t_as_scipy():
    found = paired_test(SMOOTH, "t")
    zero = np.zeros(30)
    assert found.p == pytest.approx([scipy.stats.ttest_rel(d, zero).pvalue for d in SMOOTH], rel=1e-12)
    assert found.normality == pytest.approx([scipy.stats.shapiro(d).pvalue for d in SMOOTH], rel=1e-12)
    assert found.effect == pytest.approx(SMOOTH.mean(axis=1) / SMOOTH.std(axis=1, ddof=1))


def test_normality_is_doubted_where_it_fails():
    skewed = rng.exponential(size=(1, 100))
    assert paired_test(skewed, "t").normality[0] < 1e-6
    assert np.isnan(paired_test(skewed[:, :2], "t").normality[0])
    assert np.isnan(paired_test(rng.normal(size=(1, 5001)), "t").normality[0])
    assert np.isnan(paired_test(SMOOTH, "wilcoxon").normality).all()


@pytest.mark.parametrize("d", [SMOOTH, np.round(rng.normal(0.2, 1, (4, 80)), 1), ROUGH[:, :9], np.round(SMOOTH[:, :9])])
def test_wilcoxon_as_scipy(d):
    expected = [scipy.stats.wilcoxon(row[row != 0]).pvalue for row in d]
    assert paired_test(d, "wilcoxon").p == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_with_ties_by_enumeration():
    """Where scipy approximates: 14 to 50 differences, some of them tied."""
    d = ROUGH[0][ROUGH[0] != 0][:16]
    ranks = scipy.stats.rankdata(np.abs(d))
    signs = 2 * ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1) - 1
    exact = np.mean(np.abs(signs @ ranks) >= abs((np.sign(d) * ranks).sum()) - 1e-9)
    assert paired_test(d[None], "wilcoxon").p[0] == pytest.approx(exact, rel=1e-12)
    approximate = scipy.stats.wilcoxon(ROUGH[1]).pvalue
    assert paired_test(ROUGH[1:2], "wilcoxon").p[0] == pytest.approx(approximate, abs=0.01)


def test_wilcoxon_does_not_take_rounding_for_ranks():
    d = np.array([[0.3 - 0.2, 0.1, 0.8 - 0.7, -0.2, 0.4 - 0.6, 0.5, 0.1 + 0.2 - 0.3, 0.4]])
    exact = np.array([[0.1, 0.1, 0.1, -0.2, -0.2, 0.5, 0.0, 0.4]])
    assert paired_test(d, "wilcoxon").p == paired_test(exact, "wilcoxon").p


def test_sign_flip_by_enumeration():
    d = np.round(rng.normal(0.4, 1.0, size=(5, 8)), 1)
    tenths = np.rint(d * 10).astype(int)
    expected = []
    for row in tenths:
        sums = [
            abs(sum(s * v for s, v in zip(signs, row, strict=True))) for signs in itertools.product((-1, 1), repeat=8)
        ]
        expected.append(np.mean([s >= abs(row.sum()) for s in sums]))
    assert paired_test(d, "randomization").p == pytest.approx(expected, abs=1e-12)
    drawn = paired_test(d, "randomization", resamples=200).p  # 256 ways are more than 200: drawn
    assert drawn == pytest.approx(expected, abs=0.12)
    assert drawn * 201 == pytest.approx(np.rint(drawn * 201))


def test_sign_flip_as_scipy():
    for row in SMOOTH[:, :10]:
        made = scipy.stats.permutation_test(
            (row,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
        )
        assert paired_test(row[None], "randomization").p[0] == pytest.approx(made.pvalue)
    assert paired_test(SMOOTH, "randomization", resamples=40_000).p == pytest.approx(
        paired_test(SMOOTH, "t").p, abs=0.02
    )


def test_the_bootstrap_resample_by_resample():
    d = np.round(np.random.default_rng(3).normal(0.6, 1, size=9), 1)
    generator = np.random.default_rng(0)
    observed = abs(scipy.stats.ttest_1samp(d, 0).statistic)
    extreme = 0
    for _ in range(2000):
        drawn = d[generator.integers(0, 9, size=9)] - d.mean()
        deviation = drawn.std(ddof=1)
        t = abs(drawn.mean()) / deviation * 3 if deviation > 1e-9 else np.inf
        extreme += t >= observed
    assert paired_test(d[None], "bootstrap", resamples=2000).p[0] == (extreme + 1) / 2001


def test_the_bootstrap_agrees_with_t_where_t_is_right():
    d = np.random.default_rng(4).normal(0.15, 1.0, size=(6, 60))
    assert paired_test(d, "bootstrap", resamples=20_000).p == pytest.approx(paired_test(d, "t").p, abs=0.03)


differences = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 9)), elements=st.integers(-9, 9).map(lambda v: v / 10)
)


@given(differences, st.sampled_from(PAIRED))
def test_what_holds_for_all(d, test):
    found = paired_test(d, test, resamples=100, tol=1e-10)
    made = ~np.isnan(found.p)
    assert ((found.p[made] > 0) & (found.p[made] <= 1)).all()
    assert [r is None for r in found.reason] == made.tolist()
    # the other way round, in another unit, and one pair without the others
    assert paired_test(-d, test, resamples=100, tol=1e-10).p == pytest.approx(found.p, nan_ok=True)
    assert paired_test(d * 4, test, resamples=100, tol=4e-10).p == pytest.approx(found.p, nan_ok=True)
    assert paired_test(-d, test, resamples=100, tol=1e-10).effect == pytest.approx(-found.effect, nan_ok=True)
    same = ~d.any(axis=1)
    assert all(
        (r == "no_difference") == (s and test != "randomization") for r, s in zip(found.reason, same, strict=True)
    )


@pytest.mark.parametrize("test", PAIRED)
def test_the_error_rate(test):
    """Nothing to find: about 5% of the pairs look different."""
    d = np.random.default_rng(7).laplace(size=(2000, 25))
    p = paired_test(d, test, resamples=999).p
    assert 0.03 < (p < 0.05).mean() < 0.065


@pytest.mark.parametrize("test", PAIRED)
def test_a_real_difference_is_found(test):
    d = np.random.default_rng(7).normal(0.7, 1, size=(50, 60))
    assert (paired_test(d, test).p < 0.05).mean() > 0.95


def test_reasons():
    d = np.array([[0.1, 0.1, 0.1, 0.1], [0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.1, -0.1]])
    assert paired_test(d, "t").reason == ["no_variance", "no_difference", None]
    assert paired_test(d, "bootstrap").reason == ["no_variance", "no_difference", None]
    assert paired_test(d, "wilcoxon").reason == [None, "no_difference", None]
    # all signs the same: 2 of 16 ways to flip them are as far
    assert paired_test(d, "randomization").p.tolist()[:2] == [2 / 16, 1.0]
    assert paired_test(d[:, :1], "t").reason == ["few_queries"] * 3
    assert np.isnan(paired_test(d, "t").effect[:2]).all()


def test_reproducible():
    d = rng.normal(0.2, 1.0, size=(3, 40))
    for test in ("randomization", "bootstrap"):
        assert (paired_test(d, test, rng=1).p == paired_test(d, test, rng=1).p).all()
        assert (paired_test(d, test, rng=1).p != paired_test(d, test, rng=2).p).any()


@pytest.mark.parametrize(
    ("d", "test", "options", "told"),
    [
        (SMOOTH, "tt", {}, "Accepted: t, wilcoxon, randomization, bootstrap"),
        (SMOOTH, "randomisation", {}, "Did you mean 'randomization'"),
        (SMOOTH, "t", {"resamples": True}, "resamples is True"),
        (np.full((2, 3), np.inf), "t", {}, "6 of the differences are not finite"),
    ],
)
def test_refused(d, test, options, told):
    with pytest.raises(lm.LightmeterError, match=told):
        paired_test(d, test, **options)
