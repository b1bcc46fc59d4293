"""Intervals: resamples against naive ones, exact ends, coverage, reproducibility, bands."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.auditing import bootstrap
from lightmeter.auditing.bootstrap import resample_blocks, resample_rows
from lightmeter.auditing.divergence import block_edges, divergence_interval, ndkl_of_blocks, sample_rankings
from lightmeter.auditing.ranking import GroupRanking, GroupSums, RankedTable, Scope, group_sums
from lightmeter.io.tables import Source
from lightmeter.measures.ndkl import ndkl
from lightmeter.statistics.intervals import clopper_pearson, percentile, rate_difference, rate_ratio, simultaneous
from lightmeter.statistics.significance import fisher, shift_one

USERS = (lm.DCG(), lm.RBP(p=0.9))


def ranked(score: np.ndarray, ties: str = "file") -> RankedTable:
    return RankedTable(score, np.zeros(len(score), dtype=np.int64), ties, name="p", source=Source("table"))


def people(n: int, seed: int, levels: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.55, 0.35, 0.1])
    score = rng.normal(size=n) + 0.4 * (group == 0)
    if levels:
        score = np.floor(score * levels)
    return score, group, (rng.random(n) < 0.2 + 0.1 * group).astype(float)


def everything(sums: GroupSums) -> dict[object, np.ndarray]:
    parts: dict[object, np.ndarray] = {("top", k): v for k, v in sums.top.items()}
    parts |= dict(sums.exposure)
    named = {name: getattr(sums, name) for name in ("score", "above", "over", "label")}
    return parts | {name: v for name, v in named.items() if v is not None}


@pytest.mark.parametrize("ties", ["file", "expected"])
def test_a_resample_is_the_ranking_of_the_rows_drawn(ties: str, monkeypatch: pytest.MonkeyPatch):
    """What comes of a draw equals what the table of the drawn rows comes to."""
    score, group, label = people(60, 3, levels=3)
    table = ranked(score, ties)
    codes, merit = group[table.order], label[table.order]
    ranking = GroupRanking(table, codes, 3, merit)
    scope = Scope(USERS, (None, 1, 7, 20, 59), 0.5)
    drawn: list[np.ndarray] = []
    true = bootstrap.Strata.copies

    def copies(self: bootstrap.Strata, rng: np.random.Generator) -> np.ndarray:
        drawn.append(true(self, rng))
        return drawn[-1]

    monkeypatch.setattr(bootstrap.Strata, "copies", copies)
    sums = resample_rows(ranking, scope, 20, np.random.default_rng(0))
    for r, many in enumerate(drawn):
        again = ranked(np.repeat(table.score, many), ties)
        expected = group_sums(GroupRanking(again, np.repeat(codes, many), 3, np.repeat(merit, many)), scope)
        for name, value in everything(expected).items():
            np.testing.assert_allclose(everything(sums)[name][r], value[0], atol=1e-9, err_msg=f"{name}")
        assert np.bincount(codes, many).tolist() == np.bincount(codes).tolist()


@pytest.mark.parametrize("ties", ["file", "expected"])
def test_the_head_alone_is_distributed_as_within_the_whole(ties: str):
    score, group, label = people(2000, 4, levels=40)
    table = ranked(score, ties)
    codes, merit = group[table.order], label[table.order]
    ranking = GroupRanking(table, codes, 3, merit)
    scope = Scope(USERS, (50, 100))
    depth = bootstrap.depth_for(table, 100)
    assert depth < 400
    one = resample_rows(ranking, scope, 1000, np.random.default_rng(1))
    two = resample_rows(ranking, scope, 1000, np.random.default_rng(2), depth=depth)
    close(one, two, 1000)


def test_blocks_are_distributed_as_single_rows():
    score, group, label = people(12_000, 5, levels=30)
    table = ranked(score)
    codes, merit = group[table.order], label[table.order]
    ranking = GroupRanking(table, codes, 3, merit)
    scope = Scope(USERS, (None, 100, 6000, 10_000), 0.3)
    now = group_sums(ranking, scope)
    one = resample_rows(ranking, scope, 300, np.random.default_rng(1))
    two = resample_blocks(ranking, scope, now, 300, np.random.default_rng(2))
    close(one, two, 300)


def close(one: GroupSums, two: GroupSums, many: int) -> None:
    """Means within four standard errors, deviations within a fifth."""
    for name, a in everything(one).items():
        b = everything(two).get(name)
        if b is None:
            continue
        spread = np.maximum(a.std(axis=0), 1e-9)
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) <= 4.5 * spread * math.sqrt(2 / many) + 1e-6).all(), name
        ratio = (b.std(axis=0) + 1e-6) / (a.std(axis=0) + 1e-6)
        assert ((ratio > 0.75) & (ratio < 1.33)).all(), (name, ratio)


@given(st.integers(0, 30), st.integers(1, 30), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_by_its_tails(count: int, more: int, level: float):
    """At its ends, a count as extreme has probability alpha/2 exactly."""
    size = count + more
    low, high = (float(x) for x in clopper_pearson(count, size, level))
    tail = (1 - level) / 2

    def upto(c: int, p: float) -> float:
        return sum(math.comb(size, j) * p**j * (1 - p) ** (size - j) for j in range(c + 1))

    assert upto(count, high) == pytest.approx(tail, rel=1e-6)
    if count:
        assert 1 - upto(count - 1, low) == pytest.approx(tail, rel=1e-6)
    else:
        assert low == 0.0
        assert high == pytest.approx(1 - tail ** (1 / size))
    assert low <= count / size <= high


def test_exact_intervals_cover():
    """Over all outcomes of binomial counts, weighted by their chance."""
    n, m, p, q = 25, 60, 0.05, 0.12
    a, b = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")

    def binomial(size: int, rate: float) -> np.ndarray:
        return np.array([math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(size + 1)])

    chance = np.outer(binomial(n, p), binomial(m, q))
    with np.errstate(invalid="ignore"):
        low, high = rate_ratio(a, n, b, m)
    covers = (low <= p / q) & ((high >= p / q) | np.isnan(high)) | ((a == 0) & (b == 0))
    assert chance[covers].sum() >= 0.95
    low, high = rate_difference(a, n, b, m)
    assert chance[(low <= p - q) & (p - q <= high)].sum() >= 0.95


def test_fisher_by_its_sum():
    for a, n, b, m in [(0, 5, 5, 9), (3, 10, 7, 12), (10, 10, 0, 4)]:
        total = [
            math.comb(n, x) * math.comb(m, a + b - x) / math.comb(n + m, a + b)
            for x in range(max(0, a + b - m), min(n, a + b) + 1)
        ]
        mine = math.comb(n, a) * math.comb(m, b) / math.comb(n + m, a + b)
        assert fisher(a, n, b, m) == pytest.approx(sum(t for t in total if t <= mine * (1 + 1e-7)))
    assert math.isnan(shift_one(10, 10, 4, 10))
    assert math.isinf(shift_one(1, 10, 1, 10))


def test_percentiles_keep_infinities_in_their_place():
    values = np.r_[np.arange(95.0), [np.inf] * 5]
    low, high = percentile(values)
    assert float(low) == 2.0
    assert np.isinf(high)
    assert np.isnan(percentile(np.r_[values, [np.nan] * 5])[0])


def test_nobody_in_the_top_has_no_empty_interval():
    """The bootstrap would say [0, 0]."""
    table = {"p": np.arange(200, 0, -1), "g": ["m"] * 150 + ["f"] * 50}
    rows = lm.audit(table, score="p", group="g", cutoffs=20, resamples=200).rows
    rows = rows.filter((rows["group"] == "f") & (rows["cutoff"] == 20))
    by = {r["measure"]: r for r in rows.iter_rows(named=True)}
    assert by["selection_rate"]["value"] == 0.0
    assert by["selection_rate"]["high"] == pytest.approx(1 - 0.025 ** (1 / 50))
    assert by["share"]["high"] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert by["selection_rate_ratio"]["high"] == pytest.approx((1 - 0.025 ** (1 / 20)) / 0.025 ** (1 / 20) * 3)
    assert by["selection_rate_gap"]["low"] < -20 / 150 < by["selection_rate_gap"]["high"]
    for measure in ("exposure", "exposure_ratio", "exposure_gap"):
        assert by[measure]["low"] is None
        assert by[measure]["high"] is None
        assert by[measure]["reason"] == "none_in_top"
    assert by["skew"]["value"] is None
    both = rows.filter(rows["low"].is_not_null() & rows["high"].is_not_null())
    assert (both["low"] < both["high"]).all()


def test_a_ratio_to_few_is_exact_too():
    """Of 150 f 40 are in, of 12 m, who have the highest rate, 8."""
    g = ["m"] * 8 + ["f"] * 40 + ["m"] * 4 + ["f"] * 110
    rows = lm.audit({"p": range(162, 0, -1), "g": g}, score="p", group="g", cutoffs=48, resamples=200).rows
    at = rows.filter((rows["measure"] == "selection_rate_ratio") & (rows["group"] == "f")).row(0, named=True)
    low, high = rate_ratio(40, 150, 8, 12)
    assert (at["low"], at["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))


def test_reproducible_and_each_attribute_on_its_own():
    rng = np.random.default_rng(0)
    table = {"p": rng.random(500), "g": rng.choice(list("ab"), 500), "h": rng.choice(list("xyz"), 500)}
    both = lm.audit(table, score="p", group=["g", "h"], cutoffs=50, resamples=100, rng=5).rows
    again = lm.audit(table, score="p", group=["g", "h"], cutoffs=50, resamples=100, rng=5).rows
    alone = lm.audit(table, score="p", group="g", cutoffs=50, resamples=100, rng=5).rows
    other = lm.audit(table, score="p", group="g", cutoffs=50, resamples=100, rng=6).rows
    assert both.equals(again)
    # Holm counts other tests there
    apart = alone["measure"] != "fisher_p_holm"
    mine = both.filter((both["attribute"] == "g") & (both["measure"] != "fisher_p_holm"))
    assert mine.equals(alone.filter(apart))
    assert not alone.equals(other)


def coverage(simulations: int, n: int, k: int, resamples: int) -> dict[str, float]:
    """How often intervals hold the truth: figures of the same people without end, k of n seen."""
    rng = np.random.default_rng(11)

    def draw(size: int) -> dict[str, np.ndarray]:
        women = np.arange(size) < size // 3
        return {
            "p": rng.normal(size=size) - 0.3 * women,
            "g": np.where(women, "f", "m"),
        }

    large = draw(1_000_000)
    order = np.argsort(-large["p"])
    women = (large["g"] == "f")[order]
    top = len(order) * k // n
    rate = women[:top].sum() / women.sum(), (~women[:top]).sum() / (~women).sum()
    truth = {"selection_rate": rate[0], "selection_rate_ratio": rate[0] / rate[1], "share": women[:top].mean()}
    rank = np.arange(len(order)) * n // len(order) + 1
    seen = np.where(rank <= k, 1 / np.log2(rank + 1), 0.0)
    truth["exposure_ratio"] = seen[women].mean() / seen[~women].mean()
    inside = dict.fromkeys([*truth, "mean_score"], 0)
    for s in range(simulations):
        rows = lm.audit(draw(n), score="p", group="g", cutoffs=k, resamples=resamples, rng=s, reference="m").rows
        rows = rows.filter(rows["group"] == "f")
        for r in rows.iter_rows(named=True):
            if r["measure"] in truth and r["cutoff"] == k:
                inside[r["measure"]] += r["low"] <= truth[r["measure"]] <= r["high"]
            elif r["measure"] == "mean_score":
                inside["mean_score"] += r["low"] <= -0.3 <= r["high"]
    return {name: hits / simulations for name, hits in inside.items()}


def test_coverage_short():
    for name, share in coverage(40, 300, 60, 150).items():
        assert 0.82 <= share <= 1.0, name


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "thorough", reason="minutes: make fuzz")
def test_coverage():
    for name, share in coverage(1000, 600, 120, 400).items():
        assert 0.925 <= share <= 0.975, name


def test_a_simultaneous_band_holds_whole_curves():
    rng = np.random.default_rng(3)
    walks = rng.standard_normal((4000, 50)).cumsum(axis=1)
    low, high, pointwise = simultaneous(walks[:2000])
    fresh = ((walks[2000:] >= low) & (walks[2000:] <= high)).all(axis=1).mean()
    assert 0.92 <= fresh <= 0.97
    assert pointwise > 0.98
    assert simultaneous(walks[:2000, :1])[2] == pytest.approx(0.95, abs=0.002)
    # percentiles at each point on their own hold far fewer
    narrow = np.quantile(walks[:2000], [0.025, 0.975], axis=0)
    assert ((walks[2000:] >= narrow[0]) & (walks[2000:] <= narrow[1])).all(axis=1).mean() < fresh - 0.05


def test_the_curve():
    rng = np.random.default_rng(0)
    g = np.array(["m"] * 60 + ["f"] * 30 + ["x"] * 14)
    table = {"p": rng.normal(size=104) + (g == "m"), "g": g}
    result = lm.audit(table, score="p", group="g", cutoffs=[10, 40], resamples=300)
    curve = result.curve()
    assert curve["cutoff"].unique().sort()[0] == 1
    assert {10, 40, 104} <= set(curve["cutoff"])
    for measure, group in (("share", "m"), ("share", "f"), ("exposure_ratio", "f"), ("exposure_ratio", "x")):
        for k in (10, 40):
            at = curve.filter((curve["cutoff"] == k) & (curve["measure"] == measure) & (curve["group"] == group))
            assert at["value"].item() == pytest.approx(result.value(measure, group, cutoff=k), nan_ok=True)
    share = curve.filter((curve["measure"] == "share") & (curve["cutoff"] < 104))
    assert (share["low"] < share["high"]).all()
    assert ((share["low"] <= share["value"]) & (share["value"] <= share["high"])).all()
    ratio = curve.filter((curve["measure"] == "exposure_ratio") & curve["reason"].is_null())
    assert len(ratio)
    assert (ratio["low"] < ratio["high"]).all()
    few = curve.filter((curve["measure"] == "exposure_ratio") & (curve["reason"] == "few_in_top"))
    assert few["low"].null_count() == len(few) > 0


def test_where_few_are_seen_the_band_is_exact_and_counts_its_points():
    """Ten of each: every point has fewer than ten of one, so the level is shared out over all 20."""
    table = {"p": range(20, 0, -1), "g": ["a", "b"] * 10}
    curve = lm.audit(table, score="p", group="g", resamples=50).curve()
    share = curve.filter((curve["measure"] == "share") & (curve["group"] == "b")).sort("cutoff")
    few = 19  # the last has ten of each
    for k in (1, 7):
        low, high = clopper_pearson(k // 2, k, 1 - 0.025 / few)
        row = share.row(k - 1, named=True)
        assert (row["low"], row["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))


def test_groups_that_are_masked_have_no_curve():
    table = {"p": range(60), "g": ["a"] * 40 + ["b"] * 16 + ["c"] * 4}
    assert set(lm.audit(table, score="p", group="g", resamples=0).curve()["group"]) == {"a"}


@pytest.mark.parametrize(("groups", "shift", "cutoff"), [(2, 0.0, 400), (2, 0.5, 400), (2, 0.5, 60), (3, 1.0, 400)])
def test_ndkl_is_covered(groups: int, shift: float, cutoff: int):
    """The mean NDKL of rankings of the same people lies within."""
    rng = np.random.default_rng(7)
    people = np.repeat(np.arange(groups), [280, 120, 0][:groups] if groups == 2 else [220, 120, 60])
    pool = np.bincount(people, minlength=groups)[None] / 400
    rank, query = np.arange(1, 401), np.zeros(400, dtype=np.int64)

    def ranking() -> np.ndarray:
        return people[np.argsort(people * shift - rng.normal(size=400))]

    def value(codes: np.ndarray) -> float:
        return float(ndkl(rank[:cutoff], query[:cutoff], codes[:cutoff], pool)[0])

    rankings = [ranking() for _ in range(600)]
    values = [value(r) for r in rankings]
    target = float(np.mean(values))
    held = 0
    for codes, mine in zip(rankings[:80], values[:80], strict=True):
        sample = sample_rankings(codes, groups, np.array([cutoff]), 250, np.random.default_rng(1))
        low, high = divergence_interval(mine, sample[:, 0], 0.95)
        assert 0 <= low <= mine <= high
        held += low <= target <= high
    assert held / 80 >= 0.87


def test_ndkl_of_many_queries_has_the_interval_of_a_mean():
    rng = np.random.default_rng(0)
    n, lists = 40, 50
    table = {"p": rng.random(n * lists), "g": rng.choice(["a", "b"], n * lists), "q": np.repeat(np.arange(lists), n)}
    result = lm.audit(table, score="p", group="g", query="q", cutoffs=10)
    (row,) = (r for r in result.frame().to_dicts() if r["measure"] == "ndkl" and r["cutoff"] == 10)
    each = []
    for q in range(lists):
        mine = {c: np.array(v)[table["q"] == q] for c, v in table.items()}
        each.append(lm.audit(mine, score="p", group="g", cutoffs=10, resamples=0, min_cell=1).value("ndkl", cutoff=10))
    assert row["value"] == pytest.approx(np.mean(each))
    se = np.std(each) / np.sqrt(lists)
    assert row["low"] == pytest.approx(np.mean(each) - 1.96 * se, abs=0.4 * se)
    assert row["high"] == pytest.approx(np.mean(each) + 1.96 * se, abs=0.4 * se)


def test_a_long_ranking_is_drawn_in_blocks():
    """Blocks far down change next to nothing: NDKL of a long ranking, with and without them."""
    rng = np.random.default_rng(0)
    codes = (rng.random(6000) < np.linspace(0.5, 0.2, 6000)).astype(np.int64)
    ends, pool = np.array([100, 6000]), np.bincount(codes) / 6000
    sample = sample_rankings(codes, 2, ends, 400, np.random.default_rng(1))
    single = np.stack([1 - codes, codes], axis=1)[None]
    wide = ndkl_of_blocks(single, pool, np.arange(6001), ends)[0]  # every rank on its own
    rank, query = np.arange(1, 6001), np.zeros(6000, dtype=np.int64)
    exact = [ndkl(rank[:k], query[:k], codes[:k], pool[None])[0] for k in ends]
    np.testing.assert_allclose(wide, exact, rtol=1e-9)
    edges = block_edges(2, ends)
    assert len(edges) < 3200
    blocks = np.stack([np.add.reduceat(codes == g, edges[:-1], dtype=np.int64) for g in (0, 1)], axis=1)[None]
    narrow = ndkl_of_blocks(blocks, pool, edges, ends)[0]
    np.testing.assert_allclose(narrow, wide, rtol=5e-3)
    assert (np.abs(np.median(sample, axis=0) / wide - 1) < 0.4).all()
