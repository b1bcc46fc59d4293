"""Reasons, refusals and policies of the measures of prefixes and pairs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.measures.members import sorted_by, starts_of

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
        (lm.SignedBias(by="two", positive="x"), "no_relevant", {"qrels": {"q": {"a": 0, "d": 1}}}),
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


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_policies(measure):
    """Under a random policy a value is the mean over drawn rankings, with its error; the input has neither."""
    scores = {"q": {"a": 2.0, "b": 1.5, "c": 1.0}}
    more = {"qrels": {"q": {"a": 1, "b": 0, "c": 2}}, "policy": lm.PlackettLuce(alpha=1.0, scores="raw"), "rng": 1}
    found = cell(measure, scores, **more).values
    exact = isinstance(measure, lm.InputBias)
    assert np.isfinite(found.value[0])
    if exact:
        assert found.se is None
        assert found.value[0] == pytest.approx(1 / 3)
    elif "Skew" not in str(measure):  # all three documents are looked at, in any order
        assert found.se is not None
        assert found.se[0] > 0 or measure == EVERY[7]


def test_expected_values_by_listing():
    """The mean over draws is near the mean over all rankings."""
    weight = dict(zip("abc", np.exp([2.0, 1.5, 1.0]), strict=True))
    m = lm.NDKL(by="two")
    total = 0.0
    for order in itertools.permutations("abc"):
        chance, left = 1.0, sum(weight.values())
        for d in order:
            chance *= weight[d] / left
            left -= weight[d]
        total += chance * cell(m, {"q": list(order)}).values.value[0]
    scores = {"q": {"a": 2.0, "b": 1.5, "c": 1.0}}
    found = cell(m, scores, policy=lm.PlackettLuce(alpha=1.0, scores="raw"), rng=3).values
    assert found.value[0] == pytest.approx(total, abs=4 * found.se[0])


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
