"""Relevance measures by arithmetic: one ranking of grades 1, -1, unjudged, 2, with one relevant document not ranked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import lightmeter as lm

RUN, QRELS = {"q": ["a", "b", "c", "d"]}, {"q": {"a": 1, "b": -1, "d": 2, "e": 1}}
LOG = [1 / math.log2(k + 1) for k in range(1, 9)]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (lm.P(cutoff=4), 2 / 4),
        (lm.P(cutoff=10), 2 / 10),
        (lm.P(rel=2, cutoff=4), 1 / 4),
        (lm.R(), 2 / 3),
        (lm.R(cutoff=3), 1 / 3),
        (lm.AP(), (1 + 2 / 4) / 3),
        (lm.AP(cutoff=3), 1 / 3),
        (lm.AP(rel=2), 1 / 4),
        (lm.AP(judged_only=True), (1 + 2 / 3) / 3),
        (lm.RR(), 1),
        (lm.RR(rel=2), 1 / 4),
        (lm.RR(rel=2, cutoff=3), 0),
        (lm.DCG(), 1 + 2 * LOG[3]),
        (lm.DCG(dcg="exp-log2"), 1 + 3 * LOG[3]),
        (lm.DCG(clip=True), 1 + 2 / math.log2(4)),
        (lm.nDCG(), (1 + 2 * LOG[3]) / (2 + LOG[1] + LOG[2])),
        (lm.nDCG(cutoff=2), 1 / (2 + LOG[1])),
        (lm.nDCG(dcg="exp-log2"), (1 + 3 * LOG[3]) / (3 + LOG[1] + LOG[2])),
        (lm.nDCG(judged_only=True), (1 + 2 * LOG[2]) / (2 + LOG[1] + LOG[2])),
        (lm.nDCG(gains={2: 5}), (1 + 5 * LOG[3]) / (5 + LOG[1] + LOG[2])),
        # judged without a grade above 0: b; unjudged documents have no gain
        (lm.nDCG(gains={0: 3}), (1 + 3 * LOG[1] + 2 * LOG[3]) / (3 + 2 * LOG[1] + LOG[2] + LOG[3])),
        (lm.RBP(p=0.5, rel=1), 0.5 * (1 + 1 / 8)),
        (lm.RBP(p=0.5), 0.5 * (1 / 2 + 1 / 8)),
        (lm.RBP(p=0.5, rel=1, cutoff=2), 0.5),
        (lm.ERR(), 1 / 4 + 3 / 4 * 3 / 4 / 4),
        (lm.ERR(max_grade=4), 1 / 16 + 15 / 16 * 3 / 16 / 4),
        (lm.iRBU(p=0.5), 1 / 4 * 0.5 + 3 / 4 * 3 / 4 / 16),
        (lm.gERR(p=0.5, u=0.5), 0.5 + 0.25 * 0.5 * 0.5 * 0.5),
        (lm.Judged(), 3 / 4),
        (lm.Judged(cutoff=2), 1),
        (lm.Judged(cutoff=9), 3 / 4),
        (lm.GFR(of=[lm.RR(), lm.R()], weights=[0.25, 0.75]), 0.25 + 0.75 * 2 / 3),
        (lm.GFR(of=[lm.RR(), lm.P(cutoff=4)]), 0.75),
        # spread within grades 1 (a, e) and 2 (d): range 1 of two documents, 0 of one
        (lm.EESpread(user=lm.RBP(p=0.5), part="range"), 2 / 3),
        # mean exposure 1/2, ratios 2 and 0: ((4 - 1) + (0 - 1)) / 2 / 2
        (lm.EESpread(user=lm.RBP(p=0.5)), 2 / 3 * 0.5),
    ],
    ids=str,
)
def test_arithmetic(measure: Any, expected: float) -> None:
    value = lm.evaluate(lm.load(run=RUN, qrels=QRELS), [measure]).cells[0].values.value[0]
    assert value == pytest.approx(expected)


def test_nothing_relevant() -> None:
    """0 with a reason, trec_eval's convention; a grade of 1/2 is relevant to graded measures, not to those that
    count.
    """
    measures = [lm.P(cutoff=1), lm.AP(), lm.nDCG(), lm.DCG(), lm.RBP(), lm.ERR(), lm.iRBU(), lm.gERR(p=0.5, u=0.5)]
    r = lm.evaluate(lm.load(run={"q": ["a"], "r": ["a"]}, qrels={"q": {"a": 0}, "r": {"a": 0.5}}), measures)
    for cell in r.cells:
        assert cell.values.value[0] == 0
        assert cell.values.reasons()[0] == "no_relevant"
        counts = isinstance(cell.measure, lm.P | lm.AP)
        assert (cell.values.value[1] == 0) == counts
        assert cell.values.reasons()[1] == ("no_relevant" if counts else None)


def test_attention_bias_counts_all_members() -> None:
    """Members below the cutoff have no attention and are members all the same; what else is asked does not matter."""
    c = lm.load(run={"q": ["a", "b", "c", "d"]}, groups={"g": {"a": "x", "b": "y", "c": "x", "d": "x"}})
    m = lm.ABR(by="g", user=lm.RBP(p=0.5), cutoff=2)
    alone = lm.evaluate(c, [m]).cells[0].values.value[0]
    beside = lm.evaluate(c, [lm.ABR(by="g"), m]).cells[1].values.value[0]
    assert alone == beside == pytest.approx((1 / 3) / (1 / 2))


def test_given_exposure(tmp_path: Path) -> None:
    """Targets of exposure from a table: EER and EEL against them; a query without any has none."""
    path = tmp_path / "targets.csv"
    path.write_text("query,doc,exposure\nq,a,0.75\nq,e,0.5\n")
    c = lm.load(run={**RUN, "r": ["a"]}, qrels={**QRELS, "r": {"a": 1}})
    target = lm.Given(file=str(path))
    r = lm.evaluate(c, [m(user=lm.RBP(p=0.5), target=target) for m in (lm.EED, lm.EER, lm.EEL)])
    eed = 1 + 1 / 4 + 1 / 16 + 1 / 64
    assert [x.values.value[0] for x in r.cells] == pytest.approx([eed, 0.75, eed - 1.5 + 0.75**2 + 0.25])
    assert [x.values.reasons()[1] for x in r.cells] == [None, "no_target", "no_target"]
    path.write_text("query,doc,exposure\nq,x,0.75\n")
    with pytest.raises(lm.LightmeterError, match="'x' of query 'q' is not judged"):
        lm.evaluate(c, [lm.EER(target=target)])
    path.write_text("query,doc,exposure\nq,a,0.75\nq,a,0.25\n")
    with pytest.raises(lm.LightmeterError, match="'a'"):
        lm.evaluate(c, [lm.EER(target=target)])
