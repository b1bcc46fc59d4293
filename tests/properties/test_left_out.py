"""Nothing depends on queries left out: those without judgments, those that a sequence does not ask for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.properties.test_traits import examples

import lightmeter as lm

SCOPED = [
    f"{name}(by='two', target={target}(scope='collection'))"
    for name in ("GF", "AWRF", "NDKL")
    for target in ("Pool", "Relevant")
]
BY_GROUP = [f"{name}(by='two')" for name in ("EED", "EER", "EEL", "nEED", "nEER")]
UNKNOWN = ["uniform", "drop", "distinct", "error"]


def world(seed: int) -> dict[str, Any]:
    """Three queries; all documents of the first are known, not all of the others."""
    rng = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(9)]
    known = {"q1": docs[:6], "q2": docs[3:], "q3": docs[1:8]}
    run = {q: {str(d): float(9 - i) for i, d in enumerate(rng.permutation(some)[:5])} for q, some in known.items()}
    qrels = {q: {d: int(rng.integers(3)) for d in some} for q, some in known.items()}
    qrels["q1"][docs[0]] = 2
    two = {d: str(rng.choice(["f", "m"])) for d in docs[:6]} | {docs[0]: "f", docs[1]: "m"}
    g = {d: str(rng.choice(["x", "y", "z"])) for d in docs[:6]} | {docs[0]: "x", docs[1]: "y", docs[2]: "z"}
    return {"run": run, "qrels": qrels, "groups": {"two": two, "g": g}}


def values(loaded: lm.Collection, measure: Any, **options: Any) -> Any:
    """Means by group, and what is refused."""
    try:
        result = lm.evaluate(loaded, measure, **options)
    except lm.LightmeterError as error:
        return str(error)
    return {(r["group"], r["n"]): -1.0 if math.isnan(r["value"]) else r["value"] for r in result.mean().to_dicts()}


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_queries_left_out_change_nothing(unknown: str) -> None:
    some = 0
    for seed in range(3):
        w = world(seed)
        alone = lm.load(run={"q1": w["run"]["q1"]}, qrels={"q1": w["qrels"]["q1"]}, groups=w["groups"])
        unjudged = lm.load(run=w["run"], qrels={"q1": w["qrels"]["q1"]}, groups=w["groups"])
        unasked = lm.load(**w, sequence=["q1"])
        for measure in [*examples(None), *SCOPED, *BY_GROUP]:
            want = values(alone, measure, unknown=unknown)
            for other in (unjudged, unasked):
                assert values(other, measure, unknown=unknown) == (
                    want if isinstance(want, str) else pytest.approx(want, abs=1e-12)
                ), measure
            some += not isinstance(want, str)
    assert some > 200


def test_they_are_in_no_sweep() -> None:
    w = world(1)
    alone = lm.load(run={"q1": w["run"]["q1"]}, qrels={"q1": w["qrels"]["q1"]}, groups=w["groups"])
    areas = [
        lm.sweep(c, ["PlackettLuce"], "RBP(p=0.5)", by="two", unknown="error").area("PlackettLuce", by="two")
        for c in (alone, lm.load(run=w["run"], qrels={"q1": w["qrels"]["q1"]}, groups=w["groups"]))
    ]
    assert 0 < areas[0] == pytest.approx(areas[1], abs=1e-12)


def test_a_reranker_reranks_them_too() -> None:
    w = world(2)
    c = lm.load(run=w["run"], qrels={"q1": w["qrels"]["q1"]}, groups=w["groups"])
    assert lm.rerank(c, "DetGreedy(by='two')").run["query"].unique().sort().to_list() == ["q1", "q2", "q3"]


def test_their_ties_do_not_count() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}, "x": {"a": 2.0, "b": 2.0}}
    c = lm.load(run=run, qrels={"q": {"b": 1}})
    r = lm.evaluate(c, "nDCG", ties="error")
    assert r.values("nDCG").tolist() == pytest.approx([1 / math.log2(3)])
    assert "0 documents tied" in lm.evaluate(c, "nDCG").conventions["ties"]
    with pytest.raises(lm.LightmeterError, match="have the same score"):
        lm.evaluate(lm.load(run=run, qrels={"q": {"b": 1}, "x": {"b": 1}}), "nDCG", ties="error")
    areas = [
        lm.sweep(one, "PlackettLuce", "RBP(p=0.5)", ties="error").area()
        for one in (c, lm.load({"q": run["q"]}, {"q": {"b": 1}}))
    ]
    assert areas[0] == areas[1]
