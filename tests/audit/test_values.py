"""Every figure against plain loops, and the published and hand-made cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit import reference

import lightmeter as lm


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list]:
    n = draw(st.integers(2, 24))
    values = st.integers(0, 4) if draw(st.booleans()) else st.integers(0, 10**6)
    binary = draw(st.booleans())
    groups = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=n, max_size=n))
    groups[0], groups[1] = "a", "b"
    labels = draw(st.lists(st.sampled_from([0, 1] if binary else [0, 0.5, 2.0]), min_size=n, max_size=n))
    labels[0] = 1 if binary else 2.0
    return {
        "p": [float(x) for x in draw(st.lists(values, min_size=n, max_size=n))],
        "g": groups,
        "y": labels,
        "q": draw(st.lists(st.sampled_from(["q1", "q2"]), min_size=n, max_size=n)),
    }


@given(tables(), st.booleans(), st.booleans(), st.data())
def test_all_figures_equal_plain_loops(table: dict[str, list], averaged: bool, queries: bool, data: st.DataObject):
    q = table["q"] if queries else ["q"] * len(table["p"])
    longest = max(q.count(x) for x in q)
    cutoff = data.draw(st.integers(1, longest))
    result = lm.audit(
        table,
        score="p",
        group="g",
        label="y",
        query="q" if queries else None,
        cutoffs=cutoff,
        ties="expected" if averaged else "file",
        min_cell=1,
        reference="b",
        resamples=0,
        users=["DCG", "Inverse"],
    )
    frame = result.rows
    if queries:
        frame = frame.filter(frame["query"].is_null())
    found = {(r["measure"], r["cutoff"], r["group"]): r["value"] for r in frame.iter_rows(named=True)}
    compared = set()
    for k in (None, cutoff):
        expected = reference.audit(table["p"], table["g"], table["y"], q, k, "b", averaged)
        inverse = reference.audit(table["p"], table["g"], table["y"], q, k, "b", averaged, lambda r: 1 / r)
        for (measure, group), value in inverse.items():
            if measure == "exposure_ratio":
                expected["exposure_ratio(user=Inverse)", group] = value
        for (measure, group), value in expected.items():
            got = found[measure, k, group]
            assert (got is None) == math.isnan(value), (measure, k, group)
            if got is not None:
                assert got == pytest.approx(value, abs=1e-9), (measure, k, group)
            compared.add((measure, k, group))
        if not averaged:
            got = found["ndkl", k, None]
            assert (math.nan if got is None else got) == pytest.approx(
                reference.ndkl(table["p"], table["g"], q, k), abs=1e-9, nan_ok=True
            )
    # there is nothing else but what stands beside ratios, and ratios of groups that are as high as the highest
    beside = {"fisher_p", "fisher_p_holm", "selection_rate_ratio_shift_one", "ndkl", "fa_ir_p"}
    for measure, k, group in found.keys() - compared:
        value = found[measure, k, group]
        assert measure in beside or (measure.endswith("_ratio") and (value is None or value == pytest.approx(1)))


def test_a_to_f():
    """The ranking a..f of the definitions' golden values."""
    table = {"p": [6, 5, 4, 3, 2, 1], "g": list("001101"), "y": [1, 0.8, 0.6, 0.4, 0.2, 0.1]}
    result = lm.audit(table, score="p", group="g", label="y", min_cell=1, reference="0", resamples=0)
    assert result.value("exposure", "0") == pytest.approx(0.6725941869, abs=1e-10)
    assert result.value("exposure", "1") == pytest.approx(0.4289612484, abs=1e-10)
    assert result.value("exposure_ratio", "1") == pytest.approx(0.6377712694, abs=1e-10)
    assert result.value("exposure_per_merit", "0") == pytest.approx(1.0088912804, abs=1e-10)
    assert result.value("exposure_per_merit", "1") == pytest.approx(1.1698943138, abs=1e-10)
    assert 1 / result.value("exposure_per_merit_ratio", "1") == pytest.approx(0.8623781384, abs=1e-10)
    assert result.value("ndkl") == pytest.approx(0.353010028377, abs=1e-12)


@pytest.fixture(scope="module")
def recruits() -> dict[str, np.ndarray]:
    """The counts of the recruitment audit: 23,062 candidates, 8,410 women; 2,066 and 3,897 hired."""
    rng = np.random.default_rng(7)
    women = np.zeros(23_062, dtype=bool)
    women[:8410] = True
    hired = np.zeros(len(women), dtype=int)
    hired[:2066] = 1
    hired[8410 : 8410 + 3897] = 1
    score = rng.normal(size=len(women)) - 0.2 * women + 0.5 * hired
    return {"p": score, "gender": np.where(women, "female", "male"), "hired": hired}


def test_the_recruitment_audit(recruits: dict[str, np.ndarray]):
    result = lm.audit(recruits, score="p", group="gender", label="hired", cutoffs=1000, resamples=0)
    assert result.value("selection_rate", "female") == 2066 / 8410
    assert result.value("selection_rate", "male") == 3897 / 14652
    assert result.value("mean_label", "female") == 2066 / 8410
    shown = repr(result)
    assert "0.2457" in shown
    assert "0.2660" in shown
    assert result.value("pool_share", "female") == pytest.approx(0.365, abs=5e-4)
    for k in (None, 1000):
        ratio = result.value("exposure_ratio", "female", cutoff=k)
        per_merit = result.value("exposure_per_merit_ratio", "female", cutoff=k)
        assert per_merit / ratio == pytest.approx((3897 / 14652) / (2066 / 8410), rel=1e-12)
        assert per_merit / ratio == pytest.approx(1.0827, abs=5e-5)
    # the published table: .107 becomes .116, 1.015 becomes 1.099 by the same factor
    assert pytest.approx(0.116, abs=5e-4) == 0.107 * 1.0827
    assert pytest.approx(1.099, abs=5e-4) == 1.015 * 1.0827


def test_a_top_thousand_with_seven_percent_women(recruits: dict[str, np.ndarray]):
    """70 women among the first 1,000 at every 14th rank: the ratio of the top, not of the whole list, shows it."""
    women = recruits["gender"] == "female"
    score = np.empty(len(women))
    ranks = np.arange(len(women))
    place = np.flatnonzero((ranks < 1000) & (ranks % 14 == 13))[:70]
    rest = np.setdiff1d(ranks, place)
    head = np.setdiff1d(np.arange(1000), place)
    men = np.flatnonzero(~women)
    score[np.flatnonzero(women)[:70]] = -place
    score[men[: len(head)]] = -head
    below = np.setdiff1d(rest, head)
    others = np.concatenate([np.flatnonzero(women)[70:], men[len(head) :]])
    score[np.random.default_rng(1).permutation(others)] = -below
    table = {"p": score, "gender": recruits["gender"]}
    result = lm.audit(table, score="p", group="gender", cutoffs=1000, resamples=0)
    assert result.value("share", "female", cutoff=1000) == 0.07
    assert result.value("selection_rate", "female", cutoff=1000) == 70 / 8410
    assert result.value("selection_rate_ratio", "female", cutoff=1000) == pytest.approx((70 / 8410) / (930 / 14652))
    assert 0.1 < result.value("exposure_ratio", "female", cutoff=1000) < 0.14
    assert result.value("exposure_ratio", "female") > 0.9


def test_fa_ir_p_values_by_enumeration():
    """Those of unknown group are passed over, in the pool and in the ranking."""
    order = ["b", None, *"babaab", None, *"cba"]
    table = {"p": np.arange(12, 0, -1), "g": order}
    result = lm.audit(table, score="p", group="g", cutoffs=8, min_cell=1, resamples=0)
    for g in "abc":
        expected = reference.fa_ir_p([x == g for x in order[:8] if x], order.count(g) / 10)
        assert result.value("fa_ir_p", g, cutoff=8) == pytest.approx(expected, abs=1e-12)


def test_fisher_and_one_person_more():
    """Of 20 a 2 are in, of 20 b 8: the hypergeometric sum, and 3/20 to 7/20."""
    table = {"p": [*range(40, 30, -1), *range(30)], "g": ["a"] * 2 + ["b"] * 8 + ["a"] * 18 + ["b"] * 12}
    result = lm.audit(table, score="p", group="g", cutoffs=10, resamples=0)
    chance = [math.comb(20, j) * math.comb(20, 10 - j) / math.comb(40, 10) for j in range(11)]
    p = sum(c for c in chance if c <= chance[2] * (1 + 1e-9))
    assert result.value("fisher_p", "a", cutoff=10) == pytest.approx(p, rel=1e-9)
    assert result.value("selection_rate_ratio_shift_one", "a", cutoff=10) == pytest.approx((3 / 20) / (7 / 20))
    assert result.value("selection_rate_ratio", "a", cutoff=10) == pytest.approx(2 / 8)


def test_holm_counts_every_test_once():
    rng = np.random.default_rng(0)
    g = rng.choice(list("abc"), 300)
    better = 0.2 * (g == "a")
    table = {"p": rng.random(300) + better, "s": rng.random(300) + better, "g": g, "y": rng.integers(0, 2, 300)}
    result = lm.audit(table, score=["p", "s"], group="g", label="y", cutoffs=[50, 100], resamples=0)
    raw = result.rows.filter(result.rows["measure"] == "fisher_p")
    # two groups beside the highest, at two cutoffs by two scores, and for the labels, which have no score, once
    assert "10 Fisher tests" in result.conventions["tests"]
    smallest = raw["value"].min()
    least = result.rows.filter(result.rows["measure"] == "fisher_p_holm")["value"].min()
    assert smallest * 10 < 1
    assert least == pytest.approx(smallest * 10)
    primary = lm.audit(table, score=["p", "s"], group="g", label="y", cutoffs=[100], primary_cutoff=50, resamples=0)
    assert "at the primary cutoff over its 4" in primary.conventions["tests"]
    rows = primary.rows.filter(primary.rows["cutoff"] == 50)
    p = rows.filter(rows["measure"] == "fisher_p")["value"]
    assert rows.filter(rows["measure"] == "fisher_p_holm")["value"].min() == pytest.approx(p.min() * 4)


def test_threshold_beside_the_top():
    """A gap of a threshold decision is one thing, that of a shortlist another."""
    table = {"p": [0.9, 0.8, 0.7, 0.6, 0.5, 0.2], "g": list("aaabbb")}
    result = lm.audit(table, score="p", group="g", cutoffs=3, threshold=0.5, min_cell=1, resamples=0)
    assert result.value("above_threshold_gap", "b") == pytest.approx(2 / 3 - 1)
    assert result.value("selection_rate_gap", "b", cutoff=3) == -1.0
    assert result.value("above_median_gap", "b") == -1.0


@pytest.mark.parametrize("gone", [None, float("nan")])
def test_arrays_of_objects_may_begin_with_a_missing_group(gone: float | None):
    """As a text column of pandas gives them."""
    group = np.array([gone, "a", "b", "a", gone, "b"], dtype=object)
    result = lm.audit({"p": range(6), "g": group}, score="p", group="g", min_cell=1, resamples=0)
    assert [result.value("count", g) for g in ("a", "b", "unknown")] == [2, 2, 2]
