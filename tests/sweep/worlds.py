"""Small collections for the sweep's tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import lightmeter as lm


@st.composite
def collections(draw: Any, *, ties: bool = True, all_answered: bool = False) -> lm.Collection:
    """One or two runs over up to four queries, judged documents that nobody ranks, and an attribute."""
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    docs = [f"d{i}" for i in range(7)]
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name in ("a", "b")[: draw(st.integers(1, 2))]:
        answered = queries if all_answered else draw(st.sets(st.sampled_from(queries), min_size=1))
        runs[name] = {}
        for q in sorted(answered):
            some = draw(st.permutations(docs))[: draw(st.integers(2 if all_answered else 1, 6))]
            score = st.integers(0, 3) if ties else st.floats(-5, 5)
            runs[name][q] = {d: float(draw(score)) + (0 if ties else 1e-3 * i) for i, d in enumerate(some)}
    grade = st.integers(0, 2)
    qrels = {q: {d: draw(grade) for d in docs if draw(st.integers(0, 3))} or {"d0": 1} for q in queries}
    groups = {"g": {d: draw(st.sampled_from("xyz")) for d in docs if draw(st.integers(0, 4))} or {"d0": "x"}}
    return lm.load(runs, qrels, groups)


USERS = ("RBP(p=0.5)", "RBP(p=0.9)", "DCG", "DCG@3", "Cascade(p=0.8, u=0.4)", "RBP(p=0.7)@2", "Inverse", "ERR")
