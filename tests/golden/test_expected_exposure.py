"""Expected exposure: values of the authors' own evaluator (github.com/diazf/expeval, commit 69ab070, raw values: its
-U option).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.exposure.ideal import level_targets

QRELS = {"q1": {"d1": 2, "d2": 1, "d3": 1, "d4": 0, "d5": 0}, "q2": {"e1": 1, "e2": 1, "e3": 0}}
GROUPS = {"g": {"d1": "1", "d2": "1", "d3": "2", "d4": "2", "d5": "1", "e1": "1", "e2": "2", "e3": "1"}}
SAMPLES = {
    "q1": ["d1 d2 d3 d4 d5", "d3 d1 d5 d2 d4"],
    "q2": ["e1 e2 e3", "e2 e1 e3"],
}
RUN = pl.DataFrame(
    [
        (q, d, float(9 - k), str(s))
        for q, rankings in SAMPLES.items()
        for s, r in enumerate(rankings)
        for k, d in enumerate(r.split())
    ],
    schema=["query", "doc", "score", "sample"],
    orient="row",
)
BINARY = {q: {d: int(g > 0) for d, g in grades.items()} for q, grades in QRELS.items()}


def values(qrels: Any, **options: Any) -> list[float]:
    """EED, EER and EEL of q1, then of q2."""
    c = lm.load(run=RUN, qrels=qrels, groups=GROUPS)
    result = lm.evaluate(c, [m(estimator="plugin", **options) for m in (lm.EED, lm.EER, lm.EEL)])
    return np.array([cell.values.value for cell in result.cells]).T.ravel().tolist()


COMPLETE, INCOMPLETE = lm.Ideal(complete=True), lm.Ideal(complete=False)


# These are plug-in values: the mean of two samples, squared.
@pytest.mark.parametrize(
    ("qrels", "options", "expected"),
    [
        pytest.param(
            QRELS,
            {"user": lm.RBP(p=0.5), "target": COMPLETE},
            [1.083984, 1.125000, 0.132812, 1.187500, 1.187500, 0],
            id="RBP .5 complete",
        ),
        pytest.param(
            QRELS,
            {"user": lm.RBP(p=0.5), "target": INCOMPLETE},
            [1.083984, 1.101562, 0.162109, 1.187500, 1.125000, 0.062500],
            id="RBP .5 incomplete",
        ),
        pytest.param(
            QRELS,
            {"user": lm.Cascade(p=0.5, u=0.5), "target": COMPLETE},
            [0.694000, 0.730530, 0.282043, 0.785156, 0.785156, 0],
            id="Cascade .5 .5 complete",
        ),
        pytest.param(
            QRELS,
            {"user": lm.Cascade(p=0.8, u=0.3), "target": COMPLETE},
            [1.280699, 1.304853, 0.102543, 1.315145, 1.315145, 0],
            id="Cascade .8 .3 complete",
        ),
        pytest.param(
            BINARY,
            {"user": lm.RBP(p=0.8), "target": COMPLETE},
            [2.400488, 2.386644, 0.036405, 2.029600, 2.029600, 0],
            id="RBP .8 binarised complete",
        ),
        pytest.param(
            QRELS,
            {"user": lm.RBP(p=0.5), "target": COMPLETE, "by": "g", "docs": "all"},
            [2.001953, 2.126953, 0.125000, 1.562500, 1.562500, 0],
            id="groups, all documents",
        ),
        pytest.param(
            QRELS,
            {"user": lm.RBP(p=0.5), "target": COMPLETE, "by": "g", "docs": "relevant"},
            [1.519531, 1.695312, 0.160156, 1.125, 1.125, 0],
            id="groups, relevant documents",
        ),
    ],
)
def test_evaluator(qrels: Any, options: dict[str, Any], expected: list[float]) -> None:
    assert values(qrels, **options) == pytest.approx(expected, abs=6e-7)


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (lm.RBP(p=0.5), [1, 0.375, 0.09375]),
        (lm.RBP(p=0.8), [1, 0.72, 0.4608]),
        (lm.Cascade(p=0.5, u=0.5), [1, 0.15625, 0.01171875]),
        (lm.Cascade(p=0.8, u=0.3), [1, 0.4368, 0.1580544]),
    ],
)
def test_targets_of_q1(user: Any, expected: list[float]) -> None:
    """The evaluator's complete-judgment targets of grades 2, 1 and 0 of q1: one, two and two documents."""
    found = level_targets(user, np.array([[2.0, 1.0, 0.0]]), np.array([[1, 2, 2]]), None)
    assert found.ravel().tolist() == pytest.approx(expected, abs=1e-15)


def test_targets_of_q1_through_measures() -> None:
    """The same targets by the public interface: EER of a ranking seen only at rank 1 is the target of its first
    document.
    """
    for doc, target in zip(("d1", "d2", "d3", "d4", "d5"), (1, 0.375, 0.375, 0.09375, 0.09375), strict=True):
        c = lm.load(run={"q1": [doc, *(d for d in QRELS["q1"] if d != doc)]}, qrels={"q1": QRELS["q1"]})
        value = lm.evaluate(c, [lm.EER(user=lm.RBP(p=0.5), target=COMPLETE)]).values(
            "EER(user=RBP(p=0.5), target=Ideal(complete=True))"
        )
        others = [
            x
            for d, x in zip(("d1", "d2", "d3", "d4", "d5"), (1, 0.375, 0.375, 0.09375, 0.09375), strict=True)
            if d != doc
        ]
        assert value[0] == pytest.approx(target + sum(0.5**k * x for k, x in enumerate(others, 1)))


def test_unbiased_by_hand() -> None:
    """Two samples of q2: the unbiased EED is the product of the two exposures, 1*.5 + .5*1 + .25*.25 (arithmetic)."""
    c = lm.load(run=RUN, qrels=QRELS)
    r = lm.evaluate(c, [lm.EED(user=lm.RBP(p=0.5)), lm.EEL(user=lm.RBP(p=0.5), target=COMPLETE)])
    assert r.cells[0].values.value[1] == pytest.approx(1 * 0.5 + 0.5 * 1 + 0.25 * 0.25)
    # targets .75, .75, .25: (.25)(-.25) + (-.25)(.25) + 0 < 0, never clipped
    assert r.cells[1].values.value[1] == pytest.approx(-0.125)


@pytest.mark.slow
def test_robust03(shared_data: Path) -> None:
    """The evaluator's mean over the 100 topics of the run pircRBa1 of TREC 2003: top 100 renumbered from 1, relevance
    binarised, incomplete.
    """
    import gzip

    path = next((shared_data / "robust03" / "runs").glob("*pircRBa1*"))
    opened = gzip.open if path.suffix == ".gz" else open
    by_query: dict[str, list[tuple[int, str]]] = {}
    with opened(path, "rt") as lines:
        for line in lines:
            query, _, doc, rank, *_ = line.split()
            by_query.setdefault(query, []).append((int(rank), doc))
    run = {q: [d for _, d in sorted(rows, key=lambda r: r[0])[:100]] for q, rows in by_query.items()}
    qrels: dict[str, dict[str, int]] = {}
    with gzip.open(shared_data / "robust03" / "qrels.txt.gz", "rt") as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            qrels.setdefault(query, {})[doc] = int(int(grade) > 0)
    user = lm.Cascade(p=0.5, u=0.5)
    mean = lm.evaluate(lm.load(run=run, qrels=qrels), [lm.EED(user=user), lm.EER(user=user), lm.EEL(user=user)]).mean()
    assert mean["n"].to_list() == [100, 100, 100]
    assert mean["value"].to_list() == pytest.approx([1.16775954, 0.04777784, 1.14681811], abs=5e-9)


def test_an_unanswered_query_has_the_widest_range_of_exposure():
    """View at rank 1 is 1, so no range of exposures is wider; q2 is judged and not answered."""
    c = lm.load(run={"q1": ["a", "b"]}, qrels={"q1": {"a": 1, "b": 1}, "q2": {"a": 1}})
    result = lm.evaluate(c, [lm.EESpread(user=lm.RBP(p=0.5), part="range")])
    assert result.per_query()["value"].to_list() == [0.5, 1.0]
