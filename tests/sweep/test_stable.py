"""Areas against those of the same curves by thousands of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share
from tests.sweep.test_drawn import exactly

import lightmeter as lm
from lightmeter.context import Context
from lightmeter.exposure.policy import log_weights, policy_exposure
from lightmeter.exposure.transposition import staying
from lightmeter.policies import Static
from lightmeter.rankings import Ranked
from lightmeter.sweeping.areas import areas
from lightmeter.sweeping.curve import Curve
from lightmeter.sweeping.perform import _parts, _Side
from lightmeter.sweeping.points import _rising
from lightmeter.users import user_of

#: Parameters of a dense curve.
DENSE = 2400
BY_RANK = ("RBP(p=0.5)", "RBP(p=0.9)", "DCG")
READERS = ("Cascade(p=0.8, u=0.4)", "Cascade(p=0.5, u=0.5)", "ERR")


@st.composite
def toys(draw: Any) -> lm.Collection:
    """A run over up to five queries, with scores that are alike, tied, or orders of magnitude apart."""
    docs = [f"d{i}" for i in range(8)]
    score = draw(
        st.sampled_from(
            [
                st.floats(-3, 3).map(lambda s: round(s, 3)),
                st.integers(0, 4).map(float),
                st.floats(-4, 4).map(lambda s: round(10.0**s, 6)),
            ]
        )
    )
    run, qrels = {}, {}
    for q in range(draw(st.integers(1, 5))):
        some = draw(st.permutations(docs))[: draw(st.integers(2, 8))]
        run[f"q{q}"] = {d: draw(score) for d in some}
        qrels[f"q{q}"] = {d: draw(st.integers(0, 2)) for d in docs}
    return lm.load({"a": run}, qrels, {"g": {d: draw(st.sampled_from("xyz")) for d in docs}})


def dense(c: lm.Collection, policy: str, user: str, by: str | None) -> tuple[float, np.ndarray]:
    """Area of the mean curve, and of each query's, from exposure at all parameters at once."""
    ranked, _ = Ranked.of(c, c.runs["a"], "docno", 100)
    context = Context(c, {"a": ranked}, Static(ties="docno"), "uniform")
    reader, cutoff = _parts(context, user_of(user))
    side = _Side(context, "a", ranked, user, reader, cutoff, [by], "zero")
    (block,), (place,) = side.lists.blocks, side.lists.place
    there = block.block.valid
    first, last = (lm.PlackettLuce(scores="raw"), np.where(there, -np.arange(there.shape[1]) * 1e3, np.nan))
    top = policy_exposure(first, last, block.grade, reader, cutoff)
    none = policy_exposure(first, 0.0 * last, block.grade, reader, cutoff)
    if policy == "PlackettLuce":
        alpha = np.concatenate([np.linspace(0.0, 1e-2, 50), np.geomspace(1e-2, 1e12, DENSE)[1:]])
        y = alpha[:, None, None] * log_weights(lm.PlackettLuce(), block.score)
        grades = np.broadcast_to(block.grade, y.shape).reshape(-1, y.shape[2])
        inner = policy_exposure(first, y.reshape(grades.shape), grades, reader, cutoff).reshape(y.shape)
    else:  # a mixture of the ranking and of what is uniform
        longest = int(block.lengths.max())
        t = np.linspace(0.0, 1.0, DENSE)[1:-1]
        theta = 2.0 * t / (t * 2.0 + (1.0 - t) * max(longest - 1.0, 1.0))
        stay = np.stack([staying(block.lengths, one) for one in theta.tolist()])[:, :, None]
        inner = stay * top + (1.0 - stay) * none
    eed, eer = (np.full((side.lists.queries, len(inner) + 2), np.nan) for _ in range(2))
    for i, exposure in enumerate([none, *inner, top]):
        eed[place, i], eer[place, i] = block.squares(exposure, by)
    scale = side.scales[by]
    (x, y), (own_x, own_y) = scale.mean_curve(eed, eer), (scale.disparity(eed), scale.relevance(eer))
    return area_of(x, y, scale.of_means), np.array(
        [
            area_of(a, b, scale.of_means) if r is None else np.nan
            for a, b, r in zip(own_x, own_y, scale.reason, strict=True)
        ]
    )


def area_of(x: np.ndarray, y: np.ndarray, envelope: bool) -> float:
    """Without points between which nothing happens, of which rounding makes turns."""
    keep = [0]
    for i in range(1, len(x)):
        if abs(x[i] - x[keep[-1]]) + abs(y[i] - y[keep[-1]]) > 1e-8:
            keep.append(i)
    keep.append(len(x) - 1)
    return float(areas(x[None, keep], y[None, keep], envelope)[0])


def off(curve: Curve, c: lm.Collection) -> tuple[float, float]:
    """How far the mean area, and the worst of the queries' areas, is from that by many points."""
    whole, own = dense(c, curve.policy, curve.user, curve.by)
    mine = curve.query_areas
    assert np.isnan(mine).tolist() == np.isnan(own).tolist()
    known = ~np.isnan(own)
    mean = 0.0 if curve.reason is not None else abs(curve.area().value - whole)
    return mean, float(np.abs(mine - own)[known].max(initial=0.0))


@given(
    toys(),
    st.sampled_from(
        [(p, u) for p in ("PlackettLuce", "RankTransposition") for u in BY_RANK]
        + [("PlackettLuce", u) for u in READERS]
    ),
    st.sampled_from([None, "g"]),
)
@share(0.3)
def test_areas_are_stable(c: lm.Collection, what: tuple[str, str], by: str | None) -> None:
    """Those of mean curves, and each query's."""
    (curve,) = lm.sweep(c, *what, by, resamples=1).curves
    mean, own = off(curve, c)
    assert mean <= 1e-4
    assert own <= 1e-4
