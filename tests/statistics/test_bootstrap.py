"""Bootstrap intervals by query: as scipy's, covering what they say, and not there where they would be false."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import lightmeter as lm
from lightmeter.statistics.intervals import bootstrap_intervals

SKEWED = np.random.default_rng(0).exponential(size=(3, 40))


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_as_scipy(method):
    found = bootstrap_intervals(SKEWED, resamples=20_000, method=method)
    for i, row in enumerate(SKEWED):
        theirs = scipy.stats.bootstrap((row,), np.mean, n_resamples=20_000, method=method, rng=1).confidence_interval
        assert (found.low[i], found.high[i]) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert found.mean == pytest.approx(SKEWED.mean(axis=1))


def test_bca_follows_the_skew():
    bca, plain = (bootstrap_intervals(SKEWED, method=m, resamples=20_000) for m in ("bca", "percentile"))
    assert (bca.low > plain.low + 0.003).all()
    assert (bca.high > plain.high + 0.003).all()


def test_a_narrower_level_lies_within():
    wide, narrow = (bootstrap_intervals(SKEWED, level=level) for level in (0.95, 0.5))
    assert ((wide.low < narrow.low) & (narrow.low < narrow.mean) & (narrow.mean < narrow.high)).all()
    assert (narrow.high < wide.high).all()


def test_coverage():
    x = np.random.default_rng(1).exponential(size=(600, 50))
    found = bootstrap_intervals(x, resamples=999)
    assert 0.91 < ((found.low <= 1) & (found.high >= 1)).mean() < 0.97


def test_rows_do_not_depend_on_each_other():
    many = np.random.default_rng(2).random((300, 30))
    whole, one = bootstrap_intervals(many), bootstrap_intervals(many[280:281])
    assert (whole.low[280], whole.high[280]) == pytest.approx((one.low[0], one.high[0]), abs=1e-12)
    turned = bootstrap_intervals(-many[280:281])
    assert (-turned.high[0], -turned.low[0]) == pytest.approx((one.low[0], one.high[0]), abs=1e-12)
    moved = bootstrap_intervals(many[280:281] * 3 + 5)
    assert moved.low[0] == pytest.approx(one.low[0] * 3 + 5)


def test_reproducible():
    first = bootstrap_intervals(SKEWED, rng=1)
    assert (bootstrap_intervals(SKEWED, rng=1).low == first.low).all()
    assert (bootstrap_intervals(SKEWED, rng=2).low != first.low).all()


def test_not_there_where_it_would_be_false():
    found = bootstrap_intervals([[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    assert found.reason == ["no_variance", None]
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert found.mean[0] == 0
    assert bootstrap_intervals([[0.3]]).reason == ["few_queries"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"level": 95}, "level is 95"),
        ({"resamples": 0}, "resamples is 0"),
        ({"method": "basic"}, "'bca'"),
    ],
)
def test_refused(options, told):
    with pytest.raises(lm.LightmeterError, match=told):
        bootstrap_intervals(SKEWED, **options)
