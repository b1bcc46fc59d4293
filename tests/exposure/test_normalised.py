"""nEED, nEER and nEEL: values by hand and by enumeration, refusals, and reasons."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.cli import main

COMPLETE = lm.Ideal(complete=True)
QRELS = {"q": {"a": 2, "b": 1, "c": 0}}


def values(run: Any, *measures: Any, qrels: Any = None, **options: Any) -> list[float]:
    c = lm.load(run=run, qrels=QRELS if qrels is None else qrels, groups=options.pop("groups", None))
    return [float(v) for cell in lm.evaluate(c, measures, **options).cells for v in cell.values.value]


def reason(run: Any, measure: Any, qrels: Any = None, **options: Any) -> str | None:
    c = lm.load(run=run, qrels=QRELS if qrels is None else qrels, groups=options.pop("groups", None))
    cell = lm.evaluate(c, [measure], **options).cells[0].values
    assert np.isnan(cell.value[0])
    return cell.reasons()[0]


def test_by_hand() -> None:
    """RBP(p=0.5), grades 2, 1, 0: views and targets 1, 1/2, 1/4; the ranking b a c has exposures 1/2, 1, 1/4.

    Complete: EED 21/16 of [(7/4)^2/3, 21/16]; EER 1/2 + 1/2 + 1/16 of [1/4 + 1/4 + 1/4, 21/16]; EEL 1/4 + 1/4 of
    [0, 2 (21/16) - 2 (3/4)]. Incomplete: EED of [0, 4/3]; EER 1 of [0, 5/4]; EEL 21/16 - 2 + 5/4 of [0, 4/3 + 5/4].
    """
    run = {"q": ["b", "a", "c"]}
    found = values(run, *(m(target=COMPLETE) for m in (lm.nEED, lm.nEER, lm.nEEL)))
    assert found == pytest.approx([1.0, (17 / 16 - 3 / 4) / (21 / 16 - 3 / 4), (1 / 2) / (21 / 8 - 3 / 2)])
    found = values(run, lm.nEED, lm.nEER, lm.nEEL)
    assert found == pytest.approx([(21 / 16) / (4 / 3), 1 / (5 / 4), (21 / 16 - 2 + 5 / 4) / (4 / 3 + 5 / 4)])


def test_cascade_by_hand() -> None:
    """Cascade(p=1/2, u=1): a relevant document ends the list. a, b alike (grade 1), c not relevant.

    Rankings a.. and b.. give 1 to their first document and 0 below; c a b gives 1, 1/2, 0. EED is highest, 5/4, with c
    first. Least: c first with chance t gives c t and a, b (1 - t)/2 + t/4 each: t^2 + (1 - t/2)^2/2, least at t = 2/9.
    """
    user, qrels = lm.Cascade(p=0.5, u=1.0), {"q": {"a": 1, "b": 1, "c": 0}}
    least = (2 / 9) ** 2 + (1 - 1 / 9) ** 2 / 2
    found = values({"q": ["a", "b", "c"]}, lm.nEED(user=user, target=COMPLETE), qrels=qrels)
    assert found == pytest.approx([(1 - least) / (5 / 4 - least)])
    # target 1/2 each for a and b, 0 for c: EER 1/2 or, with c first, 1/4
    assert values({"q": ["c", "a", "b"]}, lm.nEER(user=user, target=COMPLETE), qrels=qrels) == pytest.approx([0.0])
    assert values({"q": ["a", "c", "b"]}, lm.nEER(user=user, target=COMPLETE), qrels=qrels) == pytest.approx([1.0])


USERS = [lm.RBP(p=0.7), lm.DCG(), lm.Cascade(p=0.8, u=0.6), lm.ERR(max_grade=3)]


@pytest.mark.parametrize("user", USERS, ids=str)
@pytest.mark.parametrize("cutoff", [None, 2])
def test_static_rankings_span_the_range(user: Any, cutoff: int | None) -> None:
    """Over all rankings nEER goes from 0 to 1, nEED and nEEL reach 1; the oracle policy has no loss."""
    qrels = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}}
    runs = {"".join(o): {"q": list(o)} for o in itertools.permutations("abcd")}
    measures = [m(user=user, target=COMPLETE, cutoff=cutoff) for m in (lm.nEED, lm.nEER, lm.nEEL)]
    c = lm.load(run=runs, qrels=qrels)
    found = {m: [x.values.value[0] for x in lm.evaluate(c, [m]).cells] for m in measures}
    assert max(found[measures[0]]) == pytest.approx(1.0)
    assert (min(found[measures[1]]), max(found[measures[1]])) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert max(found[measures[2]]) == pytest.approx(1.0)
    one = lm.load(run={"q": list("abcd")}, qrels=qrels)
    oracle = [x.values.value[0] for x in lm.evaluate(one, measures, policy=lm.Oracle()).cells]
    assert oracle[2] == pytest.approx(0.0, abs=1e-12)
    if not user.by_document:  # for others a ranking against the grades may have more
        assert oracle[1] == pytest.approx(1.0)
        uniform = lm.evaluate(one, [measures[0]], policy=lm.Uniform()).cells[0].values.value[0]
        assert uniform == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("docs", ["relevant", "all"])
def test_groups(docs: Any) -> None:
    """Two groups of two documents each: block orders have 1, alternating ones less, and the most even mixture 0."""
    qrels, groups = {"q": dict.fromkeys("abcd", 1)}, {"g": {"a": "x", "b": "x", "c": "y", "d": "y"}}
    m = lm.nEED(by="g", docs=docs, target=COMPLETE)
    assert values({"q": list("abcd")}, m, qrels=qrels, groups=groups) == pytest.approx([1.0])
    xi = np.array([1 + 1 / 4, 1 / 2 + 1 / 8])
    even, most = 2 * (15 / 16) ** 2, (3 / 2) ** 2 + (3 / 8) ** 2
    expected = [(xi @ xi - even) / (most - even)]
    assert values({"q": list("acbd")}, m, qrels=qrels, groups=groups) == pytest.approx(expected)
    assert values({"q": list("acbd")}, m, qrels=qrels, groups=groups, policy=lm.Uniform()) == pytest.approx([0.0])


def test_incomplete_does_not_depend_on_what_was_retrieved() -> None:
    """A longer list of non-relevant documents below changes neither bounds nor, with a cutoff, values."""
    short, long = {"q": ["x", "a"]}, {"q": ["x", "a", *(f"n{i}" for i in range(50))]}
    measures = [m(user=u, cutoff=2) for m in (lm.nEED, lm.nEER, lm.nEEL) for u in USERS]
    assert values(short, *measures) == pytest.approx(values(long, *measures), abs=1e-15)
    # nothing relevant retrieved counts 0, it is not dropped
    assert values({"q": ["x", "y"]}, lm.nEER) == [0.0]


def test_reasons() -> None:
    short = {"q": ["a", "b"]}
    for m in (lm.nEED, lm.nEER, lm.nEEL):
        assert reason(short, m(target=COMPLETE)) == "short_ranking"
        assert not np.isnan(values(short, m(target=COMPLETE, cutoff=2))[0])
        assert not np.isnan(values(short, m(target=COMPLETE, user=lm.TopK(k=2)))[0])
    assert reason({"q": ["a"]}, lm.nEED(target=COMPLETE), {"q": {"a": 1}}) == "no_range"
    assert reason({"q": ["a", "b"]}, lm.nEER(target=COMPLETE), {"q": {"a": 1, "b": 1}}) == "no_range"
    assert reason(short, lm.nEER, {"q": {"a": 0}}) == "no_relevant"
    # candidates of other runs count
    c = lm.load(run={"one": {"q": ["a", "b", "c"]}, "two": {"q": ["a", "b", "c", "d"]}}, qrels=QRELS)
    one, two = (x.values for x in lm.evaluate(c, [lm.nEED(target=COMPLETE)]).cells)
    assert one.reasons()[0] == "short_ranking"
    assert two.value[0] == pytest.approx(1.0)
    groups = {"g": {"a": "x", "c": "y"}}
    assert reason({"q": ["a", "b", "c"]}, lm.nEED(by="g", target=COMPLETE), groups=groups) == "unknown_member"
    for unknown in ("drop", "distinct"):
        whole = values({"q": ["a", "b", "c"]}, lm.nEED(by="g", target=COMPLETE), groups=groups, unknown=unknown)
        assert not np.isnan(whole).any()


def test_short_samples() -> None:
    """One short ranking among the drawn is enough; one of weight 0 is not drawn."""
    rows = [("q", d, -k, s, w) for s, w, docs in (("1", 1.0, "abc"), ("2", 0.0, "ab")) for k, d in enumerate(docs)]
    run = pl.DataFrame(rows, schema=["query", "doc", "score", "sample", "weight"], orient="row")
    assert values(run, lm.nEED(target=COMPLETE)) == pytest.approx([1.0])
    assert reason(run.with_columns(weight=pl.lit(1.0)), lm.nEED(target=COMPLETE)) == "short_ranking"


def test_unanswered_queries_are_worst() -> None:
    c = lm.load(run={"q": ["a"]}, qrels={**QRELS, "r": {"a": 1}})
    for m, worst in ((lm.nEED, 1.0), (lm.nEER, 0.0), (lm.nEEL, 1.0)):
        cell = lm.evaluate(c, [m]).cells[0].values
        assert cell.value[1] == worst
        assert cell.reasons()[1] == "not_in_run"


def test_estimates_are_rescaled() -> None:
    """Value and standard error of the plain measure, in units of the range."""
    rows = [("q", d, -k, s) for s, docs in enumerate(("abc", "bca", "cab", "bac")) for k, d in enumerate(docs)]
    run = pl.DataFrame(rows, schema=["query", "doc", "score", "sample"], orient="row")
    c = lm.load(run=run, qrels=QRELS)
    plain, normal = (lm.evaluate(c, [m(target=COMPLETE)]).cells[0].values for m in (lm.EEL, lm.nEEL))
    high = 21 / 8 - 3 / 2
    assert normal.value[0] == pytest.approx(plain.value[0] / high)
    assert plain.se is not None
    assert normal.se is not None
    assert normal.se[0] == pytest.approx(plain.se[0] / high)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nEED(target=Equal)", "no known bounds against the target Equal"),
        ("nEER(by='g')", "the EER of groups has no known bounds"),
        ("nEEL(by='g')", "or EEL\\(by=..\\), which is not normalised"),
        ("nEED(by='g', user=Cascade(p=0.5, u=0.5))", "who reads the documents"),
        ("nEED(by='g', docs='all')", "unbounded corpus have no sizes"),
    ],
)
def test_what_has_no_bound_is_refused(text: str, message: str) -> None:
    with pytest.raises(lm.TermError, match=message):
        lm.parse(text)


def test_what_has_no_bound_here_is_refused() -> None:
    run = {"q": ["a", "b", "c"]}
    for m in ("nEED(user=DCG)", "nEEL(user=ERR)", "nEEL(user=Cascade(p=1, u=0.5))"):
        with pytest.raises(lm.LightmeterError, match=r"Accepted: a cutoff of at most 10,000,000, such as @20"):
            values(run, m)
        assert not np.isnan(values(run, f"{m}@2")[0])
    assert values(run, "nEER(user=DCG)") == pytest.approx([1.0])
    soft = {"g": {"a": {"x": 0.5, "y": 0.5}, "b": {"x": 1.0}, "c": {"y": 1.0}}}
    with pytest.raises(lm.LightmeterError, match=r"shares of them"):
        values(run, "nEED(by='g')", groups=soft)
    docs = [f"d{i}" for i in range(13)]
    with pytest.raises(lm.LightmeterError, match="more than 12 groups"):
        values({"q": docs}, "nEED(by='g')", qrels={"q": dict.fromkeys(docs, 1)}, groups={"g": {d: d for d in docs}})


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.txt").write_text("q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 c 3 1 t\n")
    (tmp_path / "qrels.txt").write_text("q 0 a 2\nq 0 b 1\nq 0 c 0\n")
    files = [str(tmp_path / "run.txt"), "--qrels", str(tmp_path / "qrels.txt")]
    assert main(["evaluate", *files, "-m", "nEER(target=Ideal(complete=True))", "-f", "csv"]) == 0
    assert "0.5555555555555556" in capsys.readouterr().out
    assert main(["evaluate", *files, "-m", "nEED(user=DCG)"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "such as @20" in out.err


def test_drawn_where_exposure_is_not_exact() -> None:
    """Rank transposition for a user who reads the documents: estimates of drawn rankings, in units of the range."""
    user, policy = lm.Cascade(p=0.8, u=0.6), lm.RankTransposition(theta=0.3)
    qrels, run = {"q": {"a": 2, "b": 1, "c": 0, "d": 0}}, {"q": list("cabd")}
    c = lm.load(run=run, qrels=qrels)
    measures = [m(user=user, target=COMPLETE) for m in (lm.EED, lm.EER, lm.EEL, lm.nEED, lm.nEER, lm.nEEL)]
    result = lm.evaluate(c, measures, policy=policy, samples=300, rng=2)
    found = [x.values for x in result.cells]
    rankings = [list(o) for o in itertools.permutations("abcd")]
    every = lm.load(run={str(i): {"q": o} for i, o in enumerate(rankings)}, qrels=qrels)
    ends = {m: [x.values.value[0] for x in lm.evaluate(every, [m]).cells] for m in measures[:3]}
    # EED is highest, EER lowest and highest, and EEL highest, at single rankings; EEL is lowest at the oracle
    oracle = lm.evaluate(c, measures[:3], policy=lm.Oracle()).cells
    assert oracle[2].values.value[0] == pytest.approx(0.0, abs=1e-12)
    eer, eel = ends[measures[1]], ends[measures[2]]
    assert found[4].value[0] == pytest.approx((found[1].value[0] - min(eer)) / (max(eer) - min(eer)))
    assert found[5].value[0] == pytest.approx(found[2].value[0] / max(eel))
    assert 0 <= found[3].value[0] < 1
    for plain, normal, span in zip(found[1:3], found[4:], (max(eer) - min(eer), max(eel)), strict=True):
        assert plain.se is not None
        assert normal.se is not None
        assert normal.se[0] == pytest.approx(plain.se[0] / span)
        assert plain.se[0] > 0
    assert "nEED" in result.conventions["drawn"]
