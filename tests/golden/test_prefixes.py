"""Values of measures of prefixes and pairs worked out by hand, or made by other programs; the origin is beside each."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.evaluation.evaluate import evaluate
from lightmeter.measures.block import Block
from lightmeter.measures.prefixes import _PrefixDifference

SIX = {"g": {"a": "0", "b": "0", "e": "0", "c": "1", "d": "1", "f": "1"}}


def one(measure, run, groups, **more):
    """The value of one ranking, given from the top."""
    result = evaluate(lm.load(run={"q": run}, groups=groups, **more), [measure])
    return (
        {c.group: c.values.value[0] for c in result.cells} if result.cells[0].group else result.cells[0].values.value[0]
    )


# FairRankTune's documentation: target = share in the list, nats; its eps form and the exact one
def test_ndkl():
    run = list("abcdef")
    assert one(lm.NDKL(by="g", target="pool", eps=1e-7), run, SIX) == pytest.approx(0.353009249716, abs=1e-11)
    assert one(lm.NDKL(by="g", target="pool"), run, SIX) == pytest.approx(0.353010028377, abs=1e-11)


def test_ndkl_counts_absent_groups():
    # a known program looks only at the groups that a list has: a list of one group alone would be perfect
    by_hand = math.log(1 / (1 / 3))  # KL of (1, 0, 0) from (1/3, 1/3, 1/3), at every rank
    groups = {"g": {"a": "x", "b": "x", "c": "y", "d": "z"}}
    assert one(lm.NDKL(by="g"), ["a", "b"], groups) == pytest.approx(by_hand, abs=1e-14)
    # D_1 = (1, 0), D_2 = (1/2, 1/2), target (.5, .5): ln 2 at rank 1 of weight 1, 0 at rank 2 of weight 1/log2(3)
    two = {"g": {"a": "x", "b": "y"}}
    assert one(lm.NDKL(by="g"), ["a", "b"], two) == pytest.approx(math.log(2) / (1 + 1 / math.log2(3)), abs=1e-14)
    assert one(lm.NDKL(by="g") @ 1, ["a", "b"], two) == pytest.approx(math.log(2), abs=1e-14)


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


@pytest.mark.parametrize("kind", ["soft", "multi", "hard"])
def test_ndkl_by_membership(kind):
    """Shares written out for every prefix; a leading unknown document is left out of both sums when dropped."""
    shares = {"a": (0.3, 0.7, 0), "b": (0, 0.5, 0.5), "c": (1, 0, 0)}
    if kind == "multi":
        shares |= {"a": (0.5, 0.5, 0), "b": (1 / 3, 1 / 3, 1 / 3)}
    if kind == "hard":
        shares |= {"a": (0, 1, 0), "b": (0, 0, 1)}
    rows = [(d, "g", v, w) for d, of in shares.items() for v, w in zip("xyz", of, strict=True) if w]
    frame = pl.DataFrame(rows, schema=["doc", "attribute", "value", "weight"], orient="row")
    groups = frame if kind == "soft" else frame.drop("weight")
    target = (0.2, 0.5, 0.3)
    targets = {"g": dict(zip("xyz", target, strict=True))}
    run = ["unheard", "a", "b", "c"]
    discount = [1 / math.log2(k + 1) for k in range(1, 5)]

    def expected(first):
        """With the shares that the document of unknown membership has, if any."""
        top, far = ([] if first is None else [first]), []
        for doc in ("", "a", "b", "c"):
            top = [*top, shares[doc]] if doc else top
            far.append(kl([sum(p[i] for p in top) / len(top) for i in range(3)], target) if top else None)
        used = [(d, f) for d, f in zip(discount, far, strict=True) if f is not None]
        return sum(d * f for d, f in used) / sum(d for d, _ in used)

    for unknown, first in (("drop", None), ("uniform", (1 / 3, 1 / 3, 1 / 3))):
        found = evaluate(lm.load(run={"q": run}, groups=groups, targets=targets), [lm.NDKL(by="g")], unknown=unknown)
        assert found.cells[0].values.value[0] == pytest.approx(expected(first), abs=1e-13)


def test_skew():
    groups = {"g": {"a": "x", "b": "y", "c": "y", "d": "z"}}
    targets = {"g": {"x": 0.2, "y": 0.5, "z": 0.3}}
    run = ["a", "b", "c", "d"]
    for value, share in (("x", 1 / 4), ("y", 2 / 4), ("z", 1 / 4)):
        expected = math.log(share / targets["g"][value])
        assert one(lm.Skew(by="g", value=value) @ 4, run, groups, targets=targets) == pytest.approx(expected)
    assert one(lm.MinSkew(by="g") @ 4, run, groups, targets=targets) == pytest.approx(math.log(0.25 / 0.3))
    assert one(lm.MaxSkew(by="g") @ 4, run, groups, targets=targets) == pytest.approx(math.log(0.25 / 0.2))
    assert one(lm.MaxSkew(by="g") @ 2, run, groups, targets=targets) == pytest.approx(math.log(0.5 / 0.2))


# Yang and Stoyanovich's definitions; rKL in base 2 with the shares 0 and 1 moved by .001 is their program's
@pytest.mark.parametrize(
    ("measure", "scale", "expected"),
    [
        (lm.rND(by="g", protected="x"), 1.0, 0.660066334446),
        (lm.rKL(by="g", protected="x", edge=0.001), math.log(2), 1.15901724032),
        (lm.rKL(by="g", protected="x"), math.log(2), 1.17135504982),
        (lm.rRD(by="g", protected="x"), 1.0, 1.08152800722),
    ],
)
def test_prefix_differences_before_normalising(measure, scale, expected, monkeypatch):
    docs = [f"d{i:03}" for i in range(100)]
    seen = []
    plain = _PrefixDifference.sums

    def sums(self, block: Block):
        seen.append(plain(self, block))
        return seen[-1]

    monkeypatch.setattr(_PrefixDifference, "sums", sums)
    value = one(measure, docs, {"g": {d: "x" if i < 50 else "y" for i, d in enumerate(docs)}})
    total, worst, protected, size = (x.item() for x in seen[0])
    assert total / scale == pytest.approx(expected, abs=1e-11)
    assert (protected, size) == (50, 100)
    assert value == pytest.approx(total / worst)
    if not isinstance(measure, lm.rRD):
        assert value == pytest.approx(1.0)


def worst_by_counts(terms, size: int, protected: int, step: int) -> float:
    """The largest sum over all paths of the count of protected documents, by dynamic programming."""
    best = {0: 0.0}
    for k in range(1, size + 1):
        fresh: dict[int, float] = {}
        for s, total in best.items():
            for t in (s, s + 1):
                if t <= protected and k - t <= size - protected:
                    fresh[t] = max(fresh.get(t, -1.0), total)
        best = {s: v + (terms(s, k) / math.log2(k + 1) if k % step == 0 else 0.0) for s, v in fresh.items()}
    return best[protected]


@pytest.mark.parametrize("step", [1, 3, 10])
@pytest.mark.parametrize("protected", [1, 7, 20, 24, 33, 39])
def test_worst_cases_of_long_lists(protected, step):
    size = 40
    ratio = protected / size

    def kl(s, k):
        p = s / k
        return sum(a * math.log(a / b) for a, b in ((p, ratio), (1 - p, 1 - ratio)) if a > 0)

    def rd(s, k):
        top = protected / (size - protected)
        return abs(min(0 if s == k else s / (k - s), top) - top)

    docs = [f"d{i:02}" for i in range(size)]
    rng = np.random.default_rng(protected)
    chosen = set(rng.permutation(docs)[:protected])
    groups = {"g": {d: "x" if d in chosen else "y" for d in docs}}
    count = np.cumsum([d in chosen for d in docs])
    for cls, terms in ((lm.rND, lambda s, k: abs(s / k - ratio)), (lm.rKL, kl), (lm.rRD, rd)):
        total = sum(terms(int(count[k - 1]), k) / math.log2(k + 1) for k in range(step, size + 1, step))
        expected = total / worst_by_counts(terms, size, protected, step)
        assert one(cls(by="g", protected="x", step=step), docs, groups) == pytest.approx(expected, abs=1e-12), cls


# the tables of tests/unit/test_fair_tables.py: m(10, .2, .15) asks for one protected document in the first nine
def test_fair():
    docs = [f"d{i:02}" for i in range(20)]
    m = lm.FAIR(by="g", protected="x", p=0.2, alpha=0.15)

    def groups(*at):
        return {"g": {d: "x" if i in at else "y" for i, d in enumerate(docs, 1)}}

    assert one(m @ 10, docs, groups(9)) == 1
    assert one(m @ 10, docs, groups(10)) == 0
    assert one(m(adjust=False) @ 8, docs, groups(20)) == 1
    # of eight ranks the table that asks for one fails .8^8 = .168 of the time, which is nearer .15 than never
    assert one(m @ 8, docs, groups(20)) == 0
    # (20, .25, .1): plain 8x0 6x1 5x2 1x3, adjusted 8x0 7x1 5x2: the last rank counts
    m = lm.FAIR(by="g", protected="x", p=0.25, alpha=0.1)
    assert one(m, docs, groups(9, 16)) == 1
    assert one(m(adjust=False), docs, groups(9, 15)) == 0
    assert one(m(adjust=False), docs, groups(9, 15, 20)) == 1
    # three documents, none protected, p = 1/2: tails 1/2, 1/4, 1/8; only this ranking is so short of them
    none = {"g": {"a": "y", "b": "y", "c": "y", "z": "x"}}
    m = lm.FAIR(by="g", protected="x", p=0.5)
    assert one(m(part="tail"), ["a", "b", "c"], none) == pytest.approx((1 / 2 + 1 / 4 + 1 / 8) / 3)
    assert one(m(part="p_value"), ["a", "b", "c"], none) == pytest.approx(1 / 8)


def test_fair_p_is_the_share_of_the_pool():
    docs = [f"d{i:02}" for i in range(20)]
    groups = {"g": {d: "x" if i % 4 == 0 else "y" for i, d in enumerate(docs)}}
    m = lm.FAIR(by="g", protected="x", part="tail") @ 5
    assert one(m, docs, groups) == pytest.approx(one(m(p=0.25), docs, groups))


# two left-leaning documents, then a right-leaning one: B = 1, 1, 1/3
def test_output_bias():
    groups = {"side": {"a": "left", "b": "left", "c": "right", "d": "right"}}
    run = ["a", "b", "c"]
    assert one(lm.OutputBias(by="side", positive="left"), run, groups) == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert one(lm.OutputBias(by="side", positive="right"), run, groups) == pytest.approx(-(1 + 1 + 1 / 3) / 3)
    assert one(lm.InputBias(by="side", positive="left"), run, groups) == pytest.approx(1 / 3)
    assert one(lm.InputBias(by="side", positive="left", input=lm.Pool(of="groups")), run, groups) == pytest.approx(0)
    assert one(lm.RankingBias(by="side", positive="left"), run, groups) == pytest.approx(7 / 9 - 1 / 3)


def test_signed_bias():
    # relevant: a (pro), c (con), d (pro); b (con) is not; weights 1, 1/log2(3), 1/2, 1/log2(5)
    groups = {"s": {"a": "pro", "b": "con", "c": "con", "d": "pro"}}
    qrels = {"q": {"a": 1, "b": 0, "c": 2, "d": 1}}
    w = [1, 1 / math.log2(3), 1 / 2, 1 / math.log2(5)]
    run = list("abcd")
    m = lm.SignedBias(by="s", positive="pro")
    assert one(m, run, groups, qrels=qrels) == pytest.approx((w[0] - w[2] + w[3]) / sum(w))
    assert one(m(over="relevant"), run, groups, qrels=qrels) == pytest.approx((w[0] - w[2] + w[3]) / (sum(w) - w[1]))
    assert one(m(docs="all"), run, groups) == pytest.approx((w[0] - w[1] - w[2] + w[3]) / sum(w))
    assert one(m(positive="con", absolute=True) @ 1, run, groups, qrels=qrels) == pytest.approx(1)
    # precision at 3 of each side: 1/3 pro, 1/3 con among the relevant ones
    assert one(m(user=lm.TopK(k=3)), run, groups, qrels=qrels) == pytest.approx(0)


def test_pairwise():
    # grades 2 0 1 0 1 from the top; x: a c d, y: b e
    qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 0, "e": 1}}
    groups = {"g": {"a": "x", "b": "y", "c": "x", "d": "x", "e": "y"}}
    run = list("abcde")
    right = {"ab", "ac", "ad", "ae", "cd"}
    wrong = {"cb", "eb", "ed"}
    m = lm.Pairwise(by="g")
    of = groups["g"]

    def share(which):
        good = sum(which(of[a], of[b]) for a, b in right)
        return good / (good + sum(which(of[a], of[b]) for a, b in wrong))

    for measure, which in [
        (m, lambda a, b: True),
        (m(pairs="within"), lambda a, b: a == b),
        (m(pairs="across"), lambda a, b: a != b),
        (m(more="x"), lambda a, b: a == "x"),
        (m(less="x", pairs="across"), lambda a, b: a == "y" and b == "x"),
        (m(more="x", pairs="within"), lambda a, b: a == b == "x"),
        (m(more="x", less="y"), lambda a, b: (a, b) == ("x", "y")),
        (m(more="y", less="x"), lambda a, b: (a, b) == ("y", "x")),
    ]:
        assert one(measure, run, groups, qrels=qrels) == pytest.approx(share(which)), measure
    assert one(m @ 3, run, groups, qrels=qrels) == pytest.approx(2 / 3)


# Sapiezynski et al.: attention .5, .3, .2 on x, y, x; the target asks for x 1/4: two of its standard deviations etc.
def test_exposure_of_groups():
    groups = {"g": {"a": "x", "b": "y", "c": "x"}}
    targets = {"g": {"x": 0.25, "y": 0.75}}
    user = lm.Attention(weights=[5, 3, 2])
    m = lm.ECE(by="g", user=user)
    assert one(m, list("abc"), groups, targets=targets) == pytest.approx({"x": 0.7, "y": 0.3})
    z = (0.7 - 0.25) / math.sqrt(0.25 * 0.75 * (0.25 + 0.09 + 0.04))
    assert one(m(part="statistic"), list("abc"), groups, targets=targets) == pytest.approx({"x": z, "y": -z})
    far = one(m(part="distance"), list("abc"), groups, targets=targets)
    assert far == pytest.approx(1 - one(lm.AWRF(by="g", user=user), list("abc"), groups, targets=targets))
    assert far == pytest.approx(float(lm.JSD().value(np.array([0.7, 0.3]), np.array([0.25, 0.75]))))


def test_statistic_is_standard_normal_under_independent_draws():
    # 4,000 lists of 60 places drawn from the target: mean 0, deviation 1, beyond 1.96 in 5%
    rng = np.random.default_rng(2)
    docs = [f"d{i:02}" for i in range(60)]
    drawn = rng.random((4000, 60)) < 0.3
    entries = {f"q{q}": {d: "x" if drawn[q, i] else "y" for i, d in enumerate(docs)} for q in range(4000)}
    rows = [(q, d, v) for q, of in entries.items() for d, v in of.items()]
    frame = pl.DataFrame(rows, schema=["query", "doc", "value"], orient="row").with_columns(attribute=pl.lit("g"))
    c = lm.load(run=dict.fromkeys(entries, docs), groups=frame, targets={"g": {"x": 0.3, "y": 0.7}})
    z = lm.evaluate(c, [lm.ECE(by="g", part="statistic")]).cells[0].values.value
    assert z.mean() == pytest.approx(0, abs=4 / math.sqrt(4000))
    assert z.std() == pytest.approx(1, abs=0.05)
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.05, abs=0.015)
