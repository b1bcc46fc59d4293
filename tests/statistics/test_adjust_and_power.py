"""Adjusted p-values as statsmodels gives them; discriminative power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.statistics.significance import adjusted, asl_curve, discriminative_power

ps = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.01, 0.05, 1.0])), min_size=1, max_size=20)


@given(ps)
def test_as_statsmodels(p):
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    for ours, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        assert adjusted(p, ours) == pytest.approx(multipletests(p, method=theirs)[1], abs=1e-12)


@given(ps)
def test_what_holds(p):
    p = np.array(p)
    holm, bh = adjusted(p, "holm"), adjusted(p, "bh")
    assert (adjusted(p, "none") == p).all()
    assert ((p <= bh + 1e-15) & (bh <= holm + 1e-15) & (holm <= np.minimum(p * len(p), 1) + 1e-15)).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(holm[order]) >= 0).all()
    # a test that could not be made does not count
    gap = adjusted([*p, np.nan], "holm")
    assert np.isnan(gap[-1])
    assert (gap[:-1] == holm).all()
    assert adjusted(p.reshape(1, -1), "bh").shape == (1, len(p))


def test_by_hand():
    assert adjusted([0.04, 0.01, 0.03, 0.005], "holm") == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert adjusted([0.04, 0.01, 0.03, 0.005], "bh") == pytest.approx([0.04, 0.02, 0.04, 0.02])
    assert adjusted([], "holm").tolist() == []
    assert np.isnan(adjusted([np.nan], "bh")).all()


def test_holm_keeps_its_promise():
    """Twenty tests of nothing: some finding in about 5% of the experiments; without adjustment in most."""
    p = np.random.default_rng(0).random((2000, 20))
    some = np.mean([(adjusted(row, "holm") < 0.05).any() for row in p])
    assert 0.035 < some < 0.065
    assert np.mean((p < 0.05).any(axis=1)) > 0.5


@pytest.mark.parametrize(("p", "method", "told"), [([0.1], "hom", "Did you mean 'holm'"), ([1.1], "holm", r"\[0, 1\]")])
def test_refused(p, method, told):
    with pytest.raises(lm.LightmeterError, match=told):
        adjusted(p, method)


def test_power():
    p = [0.2, np.nan, 0.01, 0.05]
    assert asl_curve(p)[:3].tolist() == [0.01, 0.05, 0.2]
    assert discriminative_power(p) == 0.25  # below alpha, not at it
    assert discriminative_power(p, 0.3) == 0.75
    assert np.isnan(discriminative_power([]))
    with pytest.raises(lm.LightmeterError, match="alpha is 1"):
        discriminative_power(p, 1)
