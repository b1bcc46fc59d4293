"""Policies in evaluate: exact values against the enumeration of all rankings, drawn ones within their errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm

SCORES = {"a": 3.0, "b": 2.0, "c": 1.5, "d": 1.5, "e": 0.0}
QRELS = {"q": {"a": 0, "b": 2, "c": 1, "e": 1, "f": 2}}
GROUPS = {"g": {"a": "x", "b": "y", "c": "x", "d": "y"}}
EXACT: list[Any] = [
    "EED", "EER", "EEL", "EED(user=Cascade(p=0.7, u=0.6))", "EEL(user=ERR)@2", "EEL(user=DCG)@3", "EEL(by='g')",
    "EED(by='g', docs='all')", "nDCG@2", "nDCG", "nDCG(dcg='exp-log2')@4", "DCG",
    "RBP(p=0.6)", "RBP(p=0.6, rel=2)@2", "gERR(p=0.9, u=0.4)@3",
    "gERR(p=1, u=0.4)", "EESpread", "nEED", "nEER", "nEEL(user=Cascade(p=0.7, u=0.6))", "nEEL(user=ERR)@2",
    "nEED(user=DCG, target=Ideal(complete=True))@3", "nEER(user=ERR, target=Ideal(complete=True))@4",
]  # fmt: skip
DRAWN: list[Any] = ["ERR", "AP", "RR", "GF(by='g')", "AWRF(by='g')", "nDCG(judged_only=True)"]


def enumerated(weights: dict[tuple[str, ...], float], measures: list[Any]) -> dict[str, float]:
    """Values of the policy given by every ranking and its probability."""
    rows = [
        ("q", doc, -float(rank), str(k), p)
        for k, (ranking, p) in enumerate(weights.items())
        for rank, doc in enumerate(ranking)
    ]
    frame = pl.DataFrame(rows, schema=["query", "doc", "score", "sample", "weight"], orient="row")
    c = lm.load(run=frame, qrels=QRELS, groups=GROUPS)
    r = lm.evaluate(c, measures, policy=lm.Samples(weight="probability"))
    return {str(x.measure): float(x.values.value[0]) for x in r.cells}


def plackett_luce(y: np.ndarray) -> dict[tuple[str, ...], float]:
    out = {}
    w = np.exp(y)
    for order in itertools.permutations(range(len(y))):
        rest = w[list(order)]
        out[tuple("abcde"[d] for d in order)] = float(np.prod(rest / rest[::-1].cumsum()[::-1]))
    return out


def random_blocks(key: dict[str, float]) -> dict[tuple[str, ...], float]:
    """Documents by falling key, those of one key in any order."""
    good = [p for p in itertools.permutations("abcde") if all(key[x] >= key[y] for x, y in itertools.pairwise(p))]
    return dict.fromkeys(good, 1 / len(good))


def z(alpha: float) -> np.ndarray:
    s = np.array(list(SCORES.values()))
    return alpha * (s - s.mean()) / s.std()


POLICIES: list[tuple[Any, dict[tuple[str, ...], float]]] = [
    (lm.PlackettLuce(alpha=1.0), plackett_luce(z(1.0))),
    (lm.PlackettLuce(alpha=0.5, scores="raw"), plackett_luce(0.5 * np.array(list(SCORES.values())))),
    (lm.PlackettLuce(alpha=2, scores="minmax"), plackett_luce(2 * np.array(list(SCORES.values())) / 3)),
    (lm.Uniform(), random_blocks(dict.fromkeys("abcde", 0.0))),
    (lm.Oracle(), random_blocks({d: float(QRELS["q"].get(d, 0)) for d in "abcde"})),
    (lm.Static(ties="expected"), random_blocks(SCORES)),
]


@pytest.mark.parametrize(("policy", "weights"), POLICIES, ids=lambda p: str(p) if isinstance(p, lm.Policy) else "")
def test_enumeration(policy: Any, weights: dict[tuple[str, ...], float]) -> None:
    assert sum(weights.values()) == pytest.approx(1)
    c = lm.load(run={"q": SCORES}, qrels=QRELS, groups=GROUPS)
    truth = enumerated(weights, EXACT + DRAWN)
    r = lm.evaluate(c, EXACT + DRAWN, policy=policy, samples=4000, rng=1)
    for cell in r.cells:
        value, name = float(cell.values.value[0]), str(cell.measure)
        if cell.values.se is None:
            assert name in {str(lm.parse(m)) for m in EXACT}
            assert value == pytest.approx(truth[name], abs=1e-9), name
        else:
            assert abs(value - truth[name]) <= 4.5 * float(cell.values.se[0]) + 1e-12, name
    assert "seed 1" in r.conventions["drawn"]
    assert "EED(user=RBP(p=0.5))" in r.conventions["exact"]


def test_rank_transposition() -> None:
    """A walk over all rankings: theta sum_k (1-theta)^k T^k, T the mean of all swaps."""
    theta, names = 0.3, list(itertools.permutations("abcde"))
    at = {p: i for i, p in enumerate(names)}
    step = np.zeros((len(names), len(names)))
    for p, i in at.items():
        for x, y in itertools.combinations(range(5), 2):
            q = list(p)
            q[x], q[y] = q[y], q[x]
            step[i, at[tuple(q)]] += 0.1
    ranked = tuple(sorted(sorted("abcde", reverse=True), key=lambda d: -SCORES[d]))
    start = np.zeros(len(names))
    start[at[ranked]] = 1.0
    mass = theta * np.linalg.solve((np.eye(len(names)) - (1 - theta) * step).T, start)
    truth = enumerated({p: float(mass[i]) for p, i in at.items()}, EXACT + DRAWN)
    c = lm.load(run={"q": SCORES}, qrels=QRELS, groups=GROUPS)
    r = lm.evaluate(c, EXACT + DRAWN, policy=lm.RankTransposition(theta=theta), samples=4000, rng=3)
    for cell in r.cells:
        value, name = float(cell.values.value[0]), str(cell.measure)
        if cell.values.se is None:
            assert value == pytest.approx(truth[name], abs=1e-9), name
        else:
            assert abs(value - truth[name]) <= 4.5 * float(cell.values.se[0]) + 1e-12, name
    assert "Cascade" in r.conventions["drawn"], "rank transposition of a user who reads documents is drawn"


def test_ends() -> None:
    """alpha = 0 is uniform, a large one the static ranking; theta = 1 is the ranking."""
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0, "b": 5.0}}
    c = lm.load(run=run, qrels={"q": {"a": 1, "b": 2}, "r": {"a": 2}}, groups=GROUPS)

    def values(policy: Any) -> list[float]:
        return [float(v) for x in lm.evaluate(c, EXACT, policy=policy).cells for v in x.values.value]

    assert values(lm.PlackettLuce(alpha=0)) == pytest.approx(values(lm.Uniform()), abs=1e-9, nan_ok=True)
    assert values(lm.PlackettLuce(alpha=1e6)) == pytest.approx(values(lm.Static()), abs=1e-9, nan_ok=True)
    position = [m for m in EXACT if "Cascade" not in m and "ERR" not in m]
    one = lm.evaluate(c, position, policy=lm.RankTransposition(theta=1))
    static = lm.evaluate(c, position)
    for a, b in zip(one.cells, static.cells, strict=True):
        np.testing.assert_allclose(a.values.value, b.values.value, atol=1e-9)


def test_seeds_and_depth() -> None:
    c = lm.load(run={"q": SCORES}, qrels=QRELS, groups=GROUPS)

    def drawn(seed: int, depth: int | None = None) -> float:
        r = lm.evaluate(c, ["AP"], policy=lm.PlackettLuce(alpha=1), samples=50, rng=seed, depth=depth)
        return float(r.cells[0].values.value[0])

    assert drawn(0) == drawn(0) != drawn(1)
    assert drawn(0, depth=1) == 0  # only a is left, which is not relevant


def test_what_cannot_be() -> None:
    sampled = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "a"], "score": [1.0, 2.0], "sample": ["1", "2"]})
    c = lm.load(run=sampled, qrels=QRELS)
    with pytest.raises(lm.LightmeterError, match="several rankings"):
        lm.evaluate(c, ["AP"], policy=lm.PlackettLuce(alpha=1))
    with pytest.raises(lm.TermError, match="theta is 0"):
        lm.RankTransposition(theta=0)
    with pytest.raises(lm.LightmeterError, match="takes no rule for ties"):
        lm.evaluate(lm.load(run={"q": SCORES}, qrels=QRELS), ["AP"], policy=lm.Uniform(), ties="docno")
