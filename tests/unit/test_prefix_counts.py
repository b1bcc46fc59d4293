"""KL of prefixes by counts of counts: as from the whole distribution of every prefix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.measures import ndkl

VALUES = 30  # more than are laid out in columns


def plain(groups: list[str | None], target: dict[str, float], eps: float, depth: int, unknown: str) -> float:
    """NDKL in loops."""
    names = [f"v{i}" for i in range(VALUES)]
    total = mass = 0.0
    known = 0
    for k in range(1, min(depth, len(groups)) + 1):
        p = dict.fromkeys(names, 0.0)
        known = 0
        for g in groups[:k]:
            if g is not None:
                p[g] += 1.0
                known += 1
            elif unknown == "uniform":
                known += 1
                for name in names:
                    p[name] += 1.0 / VALUES
        if not known:
            continue
        far = 0.0
        for name in names:
            x, q = p[name] / known + eps, target[name] + eps
            if x > 0:
                far += x * math.log(x / q) if q > 0 else math.inf
        total, mass = total + far / math.log2(k + 1), mass + 1 / math.log2(k + 1)
    return total / mass if mass and math.isfinite(total) else math.nan


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rankings = []
    for _ in range(draw(st.integers(1, 4))):
        n, power = draw(st.integers(1, 40)), draw(st.sampled_from([0.0, 1.0, 3.0]))
        p = np.arange(1.0, VALUES + 1) ** -power
        groups: list[str | None] = [f"v{i}" for i in rng.choice(VALUES, n, p=p / p.sum())]
        share = draw(st.sampled_from([0.0, 0.3]))
        rankings.append([None if rng.random() < share else g for g in groups])
    if not any(g for r in rankings for g in r):
        rankings[0][0] = "v0"
    target = rng.random(VALUES) * (rng.random(VALUES) < draw(st.sampled_from([0.5, 2.0])))
    target[0] += 0.1
    return {
        "rankings": rankings,
        "target": dict(zip([f"v{i}" for i in range(VALUES)], (target / target.sum()).tolist(), strict=True)),
        "eps": draw(st.sampled_from([0.0, 0.001, 0.1])),
        "cutoff": draw(st.none() | st.integers(1, 45)),
        "unknown": draw(st.sampled_from(["uniform", "drop"])),
    }


@settings(max_examples=40, deadline=None)
@given(cases(), st.sampled_from([ndkl.TRIED, (0,), (1, 2)]))
def test_as_in_loops(case: dict[str, Any], tried: tuple[int, ...]) -> None:
    rows = [(f"q{i}", f"q{i}d{j}", g) for i, r in enumerate(case["rankings"]) for j, g in enumerate(r)]
    docs = pl.DataFrame(
        [(d, g) for _, d, g in rows] + [(f"x{i}", f"v{i}") for i in range(VALUES)], schema=["doc", "a"], orient="row"
    )
    run = {q: [d for p, d, _ in rows if p == q] for q in dict.fromkeys(q for q, _, _ in rows)}
    c = lm.load(run=run, groups=docs, targets={"a": case["target"]})
    measure = lm.NDKL(by="a", eps=case["eps"], cutoff=case["cutoff"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ndkl, "TRIED", tried)
        found = lm.evaluate(c, measure, unknown=case["unknown"]).values(measure)
    for value, groups in zip(found, case["rankings"], strict=True):
        wanted = plain(groups, case["target"], case["eps"], case["cutoff"] or len(groups), case["unknown"])
        if not any(groups[: case["cutoff"]]):
            continue  # nothing known: undefined for a reason of its own
        assert value == pytest.approx(wanted, abs=1e-9, nan_ok=True)


def test_frequent_values_and_counts_are_few() -> None:
    ranking = np.zeros(400, dtype=np.int64)
    assert ndkl._together(ranking, np.full(400, 3), 1) == 3  # all alike: by counts alone
    many = np.r_[300, 200, np.full(398, 1)]
    assert ndkl._together(ranking, many, 1) == 1  # two frequent ones, the others by counts


def test_unknown_documents_have_mass_in_values_without_a_share() -> None:
    """One known document, then an unknown one that counts for all values, of which some have no target share."""
    docs = pl.DataFrame({"doc": [f"x{i}" for i in range(VALUES)], "a": [f"v{i}" for i in range(VALUES)]})
    target = {"a": {"v0": 0.5, "v1": 0.5} | {f"v{i}": 0.0 for i in range(2, VALUES)}}
    c = lm.load(run={"q": ["x0", "new"]}, groups=docs, targets=target)
    measures = [lm.NDKL(by="a"), lm.NDKL(by="a") @ 1, lm.NDKL(by="a", eps=0.01)]
    rows = lm.evaluate(c, measures).per_query()
    assert rows["reason"].to_list() == ["zero_target_share", None, None]
    assert rows["value"].to_list()[1] == pytest.approx(math.log(2))
    wanted = plain(["v0", None], {f"v{i}": 0.5 * (i < 2) for i in range(VALUES)}, 0.01, 2, "uniform")
    assert rows["value"].to_list()[2] == pytest.approx(wanted)
