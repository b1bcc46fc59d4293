"""Reasons, refusals and policies of the measures of prefixes and pairs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.measures.group_measure import sorted_by, starts_of

GROUPS = {"g": {"a": "x", "b": "y", "c": "x", "d": "z"}, "two": {"a": "x", "b": "y", "c": "x"}}
RUN = {"q": ["a", "b", "c"]}


def cell(measure, run=RUN, **more):
    options = {k: more.pop(k) for k in ("unknown", "policy", "rng", "missing") if k in more}
    result = lm.evaluate(lm.load(run=run, **{"groups": GROUPS, **more}), [measure], **options)
    return result.cells[0]


def reason(measure, run=RUN, **more):
    """Why a value is undefined; it has to be."""
    values = cell(measure, run, **more).values
    assert np.isnan(values.value[0])
    return values.reasons()[0]


TARGET = {"g": {"x": 1.0, "y": 0.0, "z": 0.0}}


@pytest.mark.parametrize(
    ("measure", "expected", "more"),
    [
        (lm.Skew(by="g", value="z") @ 3, "empty_group", {}),
        (lm.Skew(by="g", value="y") @ 3, "zero_target_share", {"targets": TARGET}),
        (lm.MinSkew(by="g") @ 3, "empty_group", {}),
        (lm.MaxSkew(by="g") @ 3, "zero_target_share", {"targets": TARGET}),
        (lm.NDKL(by="g"), "zero_target_share", {"targets": TARGET}),
        (lm.rND(by="two", protected="x"), "short_ranking", {}),
        (lm.rKL(by="two", protected="x", step=1), "empty_group", {"run": {"q": ["a", "c"]}}),
        (lm.rRD(by="two", protected="x", step=1), "empty_group", {"run": {"q": ["b"]}}),
        (lm.FAIR(by="two", protected="x"), "empty_group", {"run": {"q": ["a", "c"]}}),
        (lm.FAIR(by="two", protected="x", p=0.5), "unknown_member", {"run": {"q": ["a", "unheard of"]}}),
        (lm.Pairwise(by="two"), "no_pairs", {"qrels": {"q": {"a": 1, "b": 1, "c": 1}}}),
        (lm.Pairwise(by="two", pairs="within"), "no_pairs", {"qrels": {"q": {"a": 0, "b": 1, "c": 0}}}),
        (lm.SignedBias(by="two", positive="x"), "no_relevant", {"qrels": {"q": {"a": 0}}}),
        (lm.SignedBias(by="two", positive="x"), "no_relevant_retrieved", {"qrels": {"q": {"a": 0, "d": 1}}}),
        (
            lm.SignedBias(by="two", positive="x"),
            "no_known_member",
            {"qrels": {"q": {"e": 1}}, "run": {"q": ["a", "e"]}},
        ),
        (lm.ECE(by="g", part="statistic"), "whole_target_share", {"targets": TARGET}),
        (lm.ECE(by="g", part="distance", div=lm.KL()), "zero_target_share", {"targets": TARGET}),
    ],
)
def test_reasons(measure, expected, more):
    assert reason(measure, **more) == expected


EVERY = [
    *(lm.Skew(by="two", value="x") @ 3, lm.MinSkew(by="two") @ 3, lm.MaxSkew(by="two") @ 3, lm.NDKL(by="two")),
    *(cls(by="two", protected="x", step=1) for cls in (lm.rND, lm.rKL, lm.rRD)),
    *(lm.FAIR(by="two", protected="x", p=0.5, part=part) for part in ("test", "p_value", "tail")),
    *(lm.Pairwise(by="two", pairs=pairs) for pairs in ("within", "across")),
    *(lm.ECE(by="two", part=part) for part in ("exposure", "distance", "statistic")),
    *(cls(by="two", positive="x") for cls in (lm.OutputBias, lm.InputBias, lm.RankingBias, lm.SignedBias)),
]


@pytest.mark.parametrize("unknown", ["uniform", "drop"])
@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_nothing_known(measure, unknown):
    run, qrels = {"q": ["s", "t", "u"]}, {"q": {"s": 1, "u": 2}}
    assert reason(measure, run, qrels=qrels, unknown=unknown) == "no_known_member"


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_unanswered(measure):
    """A query that a run leaves out is worth nothing good: 0 or NaN where higher is better, the worst or NaN else."""
    found = cell(measure, qrels={"q": {"a": 1}, "other": {"a": 1}})
    value, why = found.values.value[1], found.values.reasons()[1]
    assert why == "not_in_run"
    if measure.better == "lower" and np.isfinite(measure.bounds[1]):
        assert value == measure.bounds[1]
    elif measure.better == "higher" and measure.bounds[0] == 0:
        assert value == 0
    else:
        assert np.isnan(value)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lm.Skew(by="g", value="w") @ 3, r"no value 'w'.*Accepted: x, y, z"),
        (lm.Skew(by="g", value="x"), "needs a cutoff"),
        (lm.rND(by="g", protected="w"), "no value 'w'"),
        (lm.FAIR(by="g", protected="w"), "no value 'w'"),
        (lm.OutputBias(by="g", positive="x"), "3 values.*exactly two values, or name it with negative="),
        (lm.OutputBias(by="g", positive="x", negative="x"), "two different values"),
        (lm.SignedBias(by="two", positive="x"), "needs judgments"),
        (lm.Pairwise(by="two"), "needs judgments"),
    ],
)
def test_refusals(measure, message):
    with pytest.raises(lm.LightmeterError, match=message):
        cell(measure)


def test_soft_memberships_are_refused_by_counts():
    soft = [("a", "s", "x", 0.3), ("a", "s", "y", 0.7), ("b", "s", "y", 1.0)]
    groups = pl.DataFrame(soft, schema=["doc", "attribute", "value", "weight"], orient="row")
    with pytest.raises(lm.LightmeterError, match=r"soft memberships.*there are Skew, NDKL"):
        cell(lm.FAIR(by="s", protected="x"), groups=groups)
    assert cell(lm.rND(by="s", protected="x", step=1), {"q": ["a", "b"]}, groups=groups).values.value[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "FAIR(by='g', protected='x', p=1)",
        "FAIR(by='g', protected='x', p='share')",
        "rND(by='g', protected='x', step=0)",
    ],
)
def test_parameters_are_checked(text):
    with pytest.raises(lm.TermError, match="Accepted"):
        lm.parse(text)


def test_both_ends_of_a_pair_say_it_all():
    with pytest.raises(lm.LightmeterError, match="no value 'w'"):
        cell(lm.Pairwise(by="g", less="w"), qrels={"q": {"a": 1}})
    with pytest.raises(lm.TermError, match="Accepted beside both: pairs='all'"):
        lm.Pairwise(by="g", pairs="within", more="x", less="y")


def test_multi_valued_documents():
    groups = {"g": {"a": "x|y", "b": "y"}}
    # split equally in shares, in full where documents are counted
    assert cell(lm.Skew(by="g", value="x") @ 1, groups=groups).values.value[0] == pytest.approx(0)
    assert cell(lm.FAIR(by="g", protected="x", p=0.9, part="tail") @ 1, groups=groups).values.value[0] == 1


SCORES = {"a": 2.0, "b": 1.5, "c": 1.0, "d": 1.0}
LINEAR = [
    *(
        lm.ECE(by="two", part=part, user=user)
        for part in ("exposure", "statistic")
        for user in (lm.DCG(), lm.TopK(k=2))
    ),
    *(lm.OutputBias(by="two", positive="x"), lm.RankingBias(by="two", positive="x") @ 3),
    *(lm.SignedBias(by="two", positive="x", user=user) @ 3 for user in (lm.DCG(), lm.RBP(p=0.5))),
]
OTHERS = [
    *(lm.NDKL(by="two"), lm.Skew(by="two", value="x") @ 3, lm.rND(by="two", protected="x", step=1)),
    *(lm.FAIR(by="two", protected="x", p=0.5, part="tail"), lm.Pairwise(by="two", pairs="across")),
    *(lm.ECE(by="two", part="distance"), lm.ECE(by="two", user=lm.Cascade(p=0.9, u=0.5))),
    *(lm.SignedBias(by="two", positive="x", absolute=True), lm.SignedBias(by="two", positive="x", over="relevant")),
]


def mean_over_all(measure, **more):
    """The expected value under Plackett-Luce with raw scores, by listing every ranking."""
    weight = {d: np.exp(s) for d, s in SCORES.items()}
    orders = list(itertools.permutations(SCORES))
    chance = []
    for order in orders:
        left, p = sum(weight.values()), 1.0
        for d in order:
            p *= weight[d] / left
            left -= weight[d]
        chance.append(p)
    run = {f"q{i}": {d: 9.0 - j for j, d in enumerate(order)} for i, order in enumerate(orders)}
    more["qrels"] = {q: {"a": 1, "b": 0, "c": 2, "d": 1} for q in run}
    return float(np.dot(chance, cell(measure, run, **more).values.value))


@pytest.mark.parametrize("measure", LINEAR, ids=str)
@pytest.mark.parametrize("unknown", ["uniform", "distinct"])
def test_linear_measures_are_exact_under_policies(measure, unknown):
    more = {"qrels": {"q": {"a": 1, "b": 0, "c": 2, "d": 1}}, "unknown": unknown}
    found = cell(measure, {"q": SCORES}, policy=lm.PlackettLuce(alpha=1.0, scores="raw"), **more).values
    assert found.se is None
    assert found.value[0] == pytest.approx(mean_over_all(measure, unknown=unknown), abs=1e-9)


@pytest.mark.parametrize("measure", [*OTHERS, *(m(cutoff=3) for m in LINEAR)], ids=str)
def test_others_are_drawn(measure):
    """The mean over drawn rankings, with its standard error; so are linear ones with ``unknown='drop'``."""
    unknown = "uniform" if measure in OTHERS and "FAIR" not in str(measure) else "drop"
    more = {"qrels": {"q": {"a": 1, "b": 0, "c": 2, "d": 1}}, "unknown": unknown, "rng": 4}
    found = cell(measure, {"q": SCORES}, policy=lm.PlackettLuce(alpha=1.0, scores="raw"), **more).values
    if measure.by_group and measure.user == lm.TopK(k=2):  # none of the two may be known: no value
        assert found.se is not None
        return
    assert found.se[0] > 0
    assert found.value[0] == pytest.approx(mean_over_all(measure, unknown=unknown), abs=4 * found.se[0])


def test_the_input_does_not_depend_on_the_policy():
    found = cell(lm.InputBias(by="two", positive="x"), {"q": SCORES}, policy=lm.PlackettLuce(alpha=1.0)).values
    assert found.se is None
    assert found.value[0] == pytest.approx(1 / 3)


def test_sorting_by_several_codes():
    rng = np.random.default_rng(0)
    for spans in ((3, 5), (300, 400), (70_000, 3), (5, 70_000, 2)):
        codes = [rng.integers(0, s, 1000) for s in spans]
        order = sorted_by(*codes)
        assert order.tolist() == np.lexsort(codes[::-1]).tolist()
        sorted_codes = [c[order] for c in codes]
        start = starts_of(*sorted_codes)
        for i in range(1, 1000):
            same = all(c[i] == c[i - 1] for c in sorted_codes)
            assert start[i] == (start[i - 1] if same else i)
    assert len(sorted_by(np.arange(0))) == len(starts_of(np.arange(0))) == 0
