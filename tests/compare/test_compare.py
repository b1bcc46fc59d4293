"""lm.compare: from a collection to tests, agreement, and what moved."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.statistics.correlation import kendall
from lightmeter.statistics.intervals import bootstrap_intervals
from lightmeter.statistics.significance import adjusted, paired_test, randomised_tukey

QUERIES = [f"q{i}" for i in range(12)]
DOCS = [f"d{i}" for i in range(8)]
EEL = "EEL(user=RBP(p=0.5))"


def world(*, drop: str | None = None) -> lm.Collection:
    """Four runs: ``good`` puts the two relevant documents first, ``same`` too, ``bad`` last, ``mixed`` either."""
    rng = np.random.default_rng(2)
    qrels, runs = {}, {name: {} for name in ("good", "same", "mixed", "bad")}
    for number, query in enumerate(QUERIES):
        docs = rng.permutation(DOCS).tolist()
        qrels[query] = {docs[0]: 2, docs[1]: 1, docs[2]: 0}
        runs["good"][query] = docs
        runs["same"][query] = [docs[0], docs[1], *docs[:1:-1]]
        runs["mixed"][query] = docs if number % 3 else docs[::-1]
        runs["bad"][query] = docs[::-1]
    if drop is not None:
        del runs[drop]["q3"]
    groups = {"side": {d: ("l", "m", "r")[i % 3] for i, d in enumerate(DOCS)}}
    return lm.load(run=runs, qrels=qrels, groups=groups, ordinal={"side": ["l", "m", "r"]})


MEASURES = ["nDCG@5", "AP", EEL, "GF(by='side')", "GF(by='side', div=NMD)", "GF(by='side', div=RNOD)"]


@pytest.fixture(scope="module")
def made() -> lm.Comparison:
    return lm.compare(world(), MEASURES)


def scores_of(made: lm.Comparison, measure: str) -> np.ndarray:
    return np.stack([made.result.values(measure, run) for run in made.runs])


def test_pairs_are_those_of_the_test_on_the_scores(made):
    tukey = {m: randomised_tukey(scores_of(made, m)) for m in MEASURES}
    assert len(made.pairs) == 6 * 6 == made.tests
    for row in made.pairs.iter_rows(named=True):
        i, j = made.runs.index(row["run_a"]), made.runs.index(row["run_b"])
        x = scores_of(made, row["measure"])
        assert row["difference"] == pytest.approx(x[i].mean() - x[j].mean())
        assert row["p"] == row["p_adjusted"] == tukey[row["measure"]].p[i, j]
        assert row["effect"] == pytest.approx(tukey[row["measure"]].effect[i, j])
        assert row["test"] == "tukey"
        assert row["n"] == 12
        sign = -1 if row["measure"] == EEL else 1
        assert row["wins"] == (sign * (x[i] - x[j]) > 1e-9).sum()
        assert row["losses"] == (sign * (x[j] - x[i]) > 1e-9).sum()
        assert row["wins"] + row["losses"] + row["ties"] == 12


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomization", "bootstrap"])
@pytest.mark.parametrize("adjust", ["holm", "bh", "none"])
def test_paired_tests_are_adjusted_over_all(test, adjust):
    made = lm.compare(world(), ["AP", EEL], test=test, adjust=adjust, resamples=500)
    p = []
    for measure in ("AP", EEL):
        x = scores_of(made, measure)
        d = np.array([x[i] - x[j] for i in range(4) for j in range(i + 1, 4)])
        p += paired_test(d, test, resamples=500).p.tolist()
    assert made.pairs["p"].to_list() == pytest.approx(p, nan_ok=True)
    assert made.pairs["p_adjusted"].to_list() == pytest.approx(adjusted(p, adjust).tolist(), nan_ok=True)
    # good and same do not differ in AP on any query
    first = made.pairs.row(0, named=True)
    assert (first["run_a"], first["run_b"], first["ties"]) == ("good", "same", 12)
    assert first["reason"] == (None if test == "randomization" else "no_difference")


def test_the_best_run_has_the_first_letter_whichever_way_is_better(made):
    for measure in ("AP", EEL):
        letters = dict(made.means.filter(pl.col("measure") == measure).select("run", "letters").iter_rows())
        assert "a" in letters["good"]
        assert not set(letters["good"]) & set(letters["bad"])
    assert made.significant().filter(pl.col("run_a") == "good", pl.col("run_b") == "bad").height >= 2


def test_means_have_intervals(made):
    ap = made.means.filter(pl.col("measure") == "AP", pl.col("run") == "mixed").row(0, named=True)
    assert ap["low"] < ap["value"] < ap["high"]
    assert ap["value"] == pytest.approx(made.result.values("AP", "mixed").mean())
    good = made.means.filter(pl.col("measure") == "AP", pl.col("run") == "good").row(0, named=True)
    assert (good["value"], good["reason"]) == (1.0, "no_variance")
    assert np.isnan(good["low"])


def test_correlations_follow_the_direction_of_measures(made):
    row = made.correlations.filter(pl.col("measure_a") == "AP", pl.col("measure_b") == EEL).row(0, named=True)
    x, y = (scores_of(made, m).mean(axis=1) for m in ("AP", EEL))
    expected = kendall(x, -y)
    assert row["tau"] == pytest.approx(expected.tau)
    assert row["tau"] > 0
    assert row["n"] == 4
    assert len(made.correlations) == 15


def test_discriminative_power(made):
    for row in made.power.iter_rows(named=True):
        p = made.pairs.filter(pl.col("measure") == row["measure"])["p"]
        assert row["significant"] == (p < 0.05).sum()
        assert row["share"] == row["significant"] / 6
        curve = made.asl().filter(pl.col("measure") == row["measure"])
        assert curve["p"].to_list() == sorted(p.to_list())
        assert curve["pair"].to_list() == [1, 2, 3, 4, 5, 6]


def test_discriminative_power_at_a_level():
    p = sorted(lm.compare(world(), ["GF(by='side')"]).pairs["p"].to_list())
    alpha = (p[2] + p[3]) / 2
    assert p[3] < min(2 * alpha, 1)
    power = lm.compare(world(), ["GF(by='side')"], alpha=alpha).power.row(0, named=True)
    assert (power["pairs"], power["significant"], power["share"]) == (6, 3, 0.5)


def test_intervals_of_differences_are_those_of_each_by_itself(made):
    for measure in ("AP", EEL, "GF(by='side')"):
        x = scores_of(made, measure)
        rows = made.pairs.filter(pl.col("measure") == measure)
        alone = bootstrap_intervals([x[i] - x[j] for i in range(4) for j in range(i + 1, 4)])
        assert rows["low"].to_list() == pytest.approx(alone.low.tolist(), nan_ok=True)
        assert rows["high"].to_list() == pytest.approx(alone.high.tolist(), nan_ok=True)
        runs = made.means.filter(pl.col("measure") == measure)
        assert runs["low"].to_list() == pytest.approx(bootstrap_intervals(x).low.tolist(), nan_ok=True)
    wide = lm.compare(world(), ["GF(by='side')"], alpha=0.01).pairs.row(1, named=True)
    narrow = made.pairs.filter(pl.col("measure") == "GF(by='side')").row(1, named=True)
    assert wide["low"] < narrow["low"] < narrow["difference"] < narrow["high"] < wide["high"]


def test_the_matrix_of_a_measure(made):
    p, d = made.matrix("AP"), made.matrix("AP", "difference")
    assert (p[0, 3], d[0, 3]) == (p[3, 0], -d[3, 0])
    assert d[0, 3] > 0
    assert np.isnan(np.diag(p)).all()


def test_what_changed_and_why():
    runs = {"a": {"q1": ["x", "y", "z"], "q2": ["x", "y", "z"]}, "b": {"q1": ["z", "y", "x"], "q2": ["x", "z"]}}
    qrels = {"q1": {"x": 2, "z": 0}, "q2": {"x": 1}}
    c = lm.load(run=runs, qrels=qrels, groups={"side": {"x": "l", "y": "r", "z": "r"}})
    made = lm.compare(c, ["AP", "GF(by='side', user=RBP(p=0.5))@2"], changed=1)
    ap, gf = made.changes.iter_rows(named=True)
    assert (ap["query"], ap["run_a"], ap["run_b"]) == ("q1", "a", "b")
    assert (ap["value_a"], ap["value_b"]) == pytest.approx((1, 1 / 3))
    assert ap["why"] == "relevant in the first 10: 1/1; moved (rank in each run): x (grade 2) 1/3"
    assert gf["query"] == "q1"
    assert gf["why"] == (
        "known documents in the first 2: l 50%/0% (target 50%), r 50%/100% (target 50%); "
        "moved (rank in each run): x (grade 2, l) 1/3, z (grade 0, r) 3/1"
    )
    moved = made.moved.filter(pl.col("measure") == "AP").row(0, named=True)
    assert (moved["doc"], moved["grade"], moved["rank_a"], moved["rank_b"]) == ("x", 2.0, 1, 3)
    # a document that one run does not rank
    made = lm.compare(c, ["P@2", "GF(by='side', user=RBP(p=0.5))"], changed=2)
    q2 = made.moved.filter(pl.col("query") == "q2", pl.col("measure") != "P@2")
    assert q2.select("doc", "rank_a", "rank_b").rows() == [("y", 2, None), ("z", 3, 2)]


def test_shares_are_told_where_they_differ():
    """Both runs have the same ten documents on top, in another order."""
    docs = [f"d{i}" for i in range(10)]
    groups = {"side": {d: "l" if i < 5 else "r" for i, d in enumerate(docs)}}
    runs = {"a": {"q": docs, "p": docs}, "b": {"q": docs[::-1], "p": docs}}
    c = lm.load(run=runs, groups=groups, targets={"side": {"l": 0.9, "r": 0.1}})
    (change,) = lm.compare(c, ["GF(by='side', user=RBP(p=0.9))"]).changes.rows(named=True)
    assert change["query"] == "q"
    told = "known documents in the first 5: l 100%/0% (target 90%), r 0%/100% (target 10%); moved"
    assert change["why"].startswith(told)


def test_changes_from_a_baseline():
    made = lm.compare(world(), ["AP"], baseline="mixed", changed=3)
    assert set(made.pairs["run_b"]) == {"mixed"}
    assert made.pairs["run_a"].to_list() == ["good", "same", "bad"]
    assert set(made.changes["run_b"]) == {"mixed"}
    assert made.baseline == "mixed"
    marks = dict(made.means.select("run", "letters").iter_rows())
    assert marks["mixed"] == ""
    assert set(marks.values()) <= {"", "*"}
    assert marks["bad"] == "*"
    # the p-value is that of the test over all pairs of runs
    every = lm.compare(world(), ["AP"]).matrix("AP")
    assert made.pairs["p"].to_list() == [every[0, 2], every[1, 2], every[3, 2]]


def test_disagreements_by_counting(made):
    a, b = "AP", "GF(by='side')"
    x, y = scores_of(made, a), scores_of(made, b)
    decided = against = 0
    queries = set()
    for i in range(4):
        for j in range(i + 1, 4):
            dx, dy = x[i] - x[j], y[i] - y[j]
            both = (np.abs(dx) > 1e-9) & (np.abs(dy) > 1e-9)
            decided += both.sum()
            against += (both & (dx * dy < 0)).sum()
            queries |= set(np.flatnonzero(both & (dx * dy < 0)).tolist())
    rows = made.disagreements.filter(pl.col("measure_a") == a, pl.col("measure_b") == b)
    total, *listed = rows.iter_rows(named=True)
    assert total["share"] == pytest.approx(against / decided)
    assert total["n"] == len(queries)
    assert 0 < len(listed) <= 5
    for row in listed:
        q = made.result.queries.index(row["query"])
        i, j = made.runs.index(row["run_a"]), made.runs.index(row["run_b"])
        assert row["difference_a"] == pytest.approx(x[i, q] - x[j, q])
        assert row["difference_b"] == pytest.approx(y[i, q] - y[j, q])
        assert row["difference_a"] * row["difference_b"] < 0
        assert "known documents" in row["why"]


def test_a_lower_value_that_is_better_is_no_disagreement():
    """AP and EEL see the same: relevant documents first."""
    made = lm.compare(world(), ["AP", EEL])
    assert made.disagreements.row(0, named=True)["share"] == 0


def test_the_odd_one_out_by_counting():
    rng = np.random.default_rng(0)
    docs = [f"d{i}" for i in range(12)]
    runs = {name: {f"q{i}": rng.permutation(docs).tolist() for i in range(30)} for name in "abc"}
    groups = {"level": {d: str(i % 4) for i, d in enumerate(docs)}}
    c = lm.load(run=runs, groups=groups, ordinal={"level": ["0", "1", "2", "3"]})
    family = [f"GF(by='level', {div}user=RBP(p=0.9))@5" for div in ("", "div=NMD, ", "div=RNOD, ")]
    made = lm.compare(c, [*family, "GF(by='level', user=RBP(p=0.5))@5"])
    x = [scores_of(made, m) for m in family]
    cases, decided = [0, 0, 0], 0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for q in range(30):
            signs = [0 if abs(s[i, q] - s[j, q]) < 1e-9 else np.sign(s[i, q] - s[j, q]) for s in x]
            if 0 in signs:
                continue
            decided += 1
            for k in range(3):
                others = {signs[m] for m in range(3) if m != k}
                cases[k] += len(others) == 1 and signs[k] not in others
    assert made.outliers["measure"].to_list() == family
    assert made.outliers["cases"].to_list() == cases
    assert cases[0] > 0 < cases[1]  # RNOD lies between the other two
    assert set(made.outliers["n"]) == {decided}


def test_only_queries_that_all_runs_have():
    made = lm.compare(world(drop="bad"), ["AP", EEL], missing="skip")
    assert set(made.means["n"]) == {11}
    assert made.manifest["comparison"]["left_out"]["AP"] == {"not_in_run": 1}
    assert "AP, EEL(user=RBP(p=0.5)): 1 query left out (not_in_run 1)" in made.notes
    values = made.result.values("AP", "mixed")
    kept = np.arange(12) != made.result.queries.index("q3")
    mixed = made.means.filter(pl.col("measure") == "AP", pl.col("run") == "mixed")["value"][0]
    assert mixed == pytest.approx(values[kept].mean())
    # an unanswered query counts as 0 unless it is skipped
    assert set(lm.compare(world(drop="bad"), ["AP"]).means["n"]) == {12}


def test_the_order_of_runs_does_not_matter():
    c = world()
    one = lm.compare(c, ["AP", "GF(by='side')"])
    two = lm.compare(lm.load(run={n: _run(n) for n in ("bad", "mixed", "same", "good")}, qrels=_qrels()), ["AP"])
    for a, b in (("good", "bad"), ("good", "mixed"), ("mixed", "bad")):
        i, j = one.runs.index(a), one.runs.index(b)
        k, m = two.runs.index(a), two.runs.index(b)
        assert one.matrix("AP")[i, j] == two.matrix("AP")[k, m]
    assert dict(one.means.filter(pl.col("measure") == "AP").select("run", "letters").iter_rows()) == dict(
        two.means.select("run", "letters").iter_rows()
    )


def _run(name: str) -> dict[str, list[str]]:
    rng = np.random.default_rng(2)
    out = {}
    for number, query in enumerate(QUERIES):
        docs = rng.permutation(DOCS).tolist()
        ways = {"good": docs, "same": [docs[0], docs[1], *docs[:1:-1]], "bad": docs[::-1]}
        out[query] = ways.get(name, docs if number % 3 else docs[::-1])
    return out


def _qrels() -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(2)
    out = {}
    for query in QUERIES:
        docs = rng.permutation(DOCS).tolist()
        out[query] = {docs[0]: 2, docs[1]: 1, docs[2]: 0}
    return out


def test_one_long_table(made):
    frame = made.frame()
    kinds = frame["kind"].unique(maintain_order=True).to_list()
    assert kinds == ["mean", "pair", "power", "tau", "change", "moved", "disagreement", "outlier"]
    assert len(frame) == sum(
        len(t)
        for t in (
            made.means,
            made.pairs,
            made.power,
            made.correlations,
            made.changes,
            made.moved,
            made.disagreements,
            made.outliers,
        )
    )
    assert {"run_a", "run_b", "measure", "difference", "low", "high", "p", "p_adjusted", "effect", "test", "n"} <= set(
        frame.columns
    )
    assert {"measure_a", "measure_b", "tau"} <= set(frame.columns)


def test_it_prints(made):
    text = repr(made)
    assert "runs that share a letter do not differ significantly" in text
    assert "n = 12 of 12 queries, those defined for all runs" in text
    assert "36 tests made (6 pairs of runs x 6 measures)" in text
    assert "Kendall's tau" in text
    assert "lower is better: EEL" in text


def test_says_what_cannot_be_significant():
    c = world()
    told = lm.compare(c, ["AP", EEL], test="bootstrap", resamples=99).notes
    assert any("nothing can be significant" in n and "more resamples" in n for n in told)
    assert not any("nothing can be" in n for n in lm.compare(c, ["AP", EEL], test="bootstrap").notes)
    few = lm.load(run={n: {"q0": _run(n)["q0"], "q1": _run(n)["q1"]} for n in ("good", "bad")}, qrels=_qrels())
    told = lm.compare(few, ["AP"], test="randomization", missing="skip").notes
    assert any("the smallest p that can come out is 0.5. Take more queries" in n for n in told)


def test_normality_is_told():
    told = lm.compare(world(), ["AP", EEL], test="t").notes
    assert any("Shapiro-Wilk" in n for n in told)


def test_measures_without_a_direction_are_compared_but_not_ordered():
    made = lm.compare(world(), ["Count(by='side')@3", "AP"])
    assert made.pairs["group"].unique().drop_nulls().sort().to_list()[:3] == ["l", "m", "r"]
    assert len(made.correlations) == 0
    assert len(made.disagreements) == 0
    assert "neither is better" in repr(made)


def test_of_a_result():
    c = world()
    result = lm.evaluate(c, ["AP", EEL])
    made = result.compare(test="t")
    assert made.pairs.equals(lm.compare(c, ["AP", EEL], test="t").pairs)
    assert made.changes["why"].null_count() == len(made.changes)
    intervals = result.intervals(level=0.9)
    row = intervals.filter(pl.col("measure") == "AP", pl.col("run") == "mixed").row(0, named=True)
    assert row["low"] < row["value"] < row["high"]
    assert row["n"] == 12
    narrow = result.intervals(level=0.5).filter(pl.col("measure") == "AP", pl.col("run") == "mixed").row(0, named=True)
    assert row["low"] < narrow["low"] < narrow["high"] < row["high"]


def test_intervals_of_what_is_undefined():
    result = lm.evaluate(world(drop="bad"), ["AP"], missing="skip")
    rows = result.intervals()
    assert dict(rows.select("run", "n").iter_rows()) == {"good": 12, "same": 12, "mixed": 12, "bad": 11}
    nothing = lm.load(run={"a": {"q": ["x"]}}, groups={"side": {"y": "l"}})
    row = lm.evaluate(nothing, ["GF(by='side', user=RBP(p=0.5))"]).intervals().row(0, named=True)
    assert (row["n"], row["reason"]) == (0, "no_known_member")
    assert np.isnan([row["value"], row["low"]]).all()


def test_a_measure_of_all_queries_together():
    """No value by query: refused by tests, but its interval draws the queries anew."""
    measure = "IAA(amortised=True)"
    rng = np.random.default_rng(1)
    docs = [f"d{i}" for i in range(6)]
    runs = {name: {f"q{i}": rng.permutation(docs).tolist() for i in range(15)} for name in "ab"}
    qrels = {f"q{i}": {d: int(rng.integers(0, 3)) for d in docs} for i in range(15)}
    c = lm.load(run=runs, qrels=qrels)
    with pytest.raises(lm.LightmeterError, match="reduced over queries"):
        lm.compare(c, [measure])
    result = lm.evaluate(c, [measure])
    for row in result.intervals(resamples=200).iter_rows(named=True):
        assert row["low"] < row["high"]
        assert row["value"] == result.mean().filter(pl.col("run") == row["run"])["value"][0]


def test_drawn_rankings_are_compared():
    made = lm.compare(world(), ["AP"], policy="Uniform", samples=20, rng=1)
    assert made.tests == 6
    assert "drawn" in made.conventions


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"test": "anova"}, "Accepted: tukey, t, wilcoxon"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"adjust": "bonferroni"}, "Accepted: holm, bh, none"),
        ({"baseline": "goo"}, "Did you mean 'good'"),
        ({"resamples": 0}, "resamples is 0"),
        ({"changed": -1}, "changed is -1"),
        ({"rng": 0.5}, "rng is 0.5"),
        ({"form": "x"}, "'plus_one', 'proportion'"),
    ],
)
def test_refused(options, told):
    with pytest.raises(lm.LightmeterError, match=told):
        lm.compare(world(), ["AP"], **options)


def test_refused_inputs():
    with pytest.raises(lm.LightmeterError, match="at least two runs"):
        lm.compare(lm.load(run={"q": ["a"]}, qrels={"q": {"a": 1}}), ["AP"])
    with pytest.raises(lm.LightmeterError, match="what lightmeter"):
        lm.compare("a.run", ["AP"])
