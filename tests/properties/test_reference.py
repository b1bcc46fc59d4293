"""lightmeter against the independent reference, on random small collections."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests import reference, reference_exposure_groups, reference_multisided
from tests.properties.worlds import (
    CUTOFF,
    call,
    expected,
    fair,
    intent_aware,
    load,
    multisided,
    normalised,
    relevances,
    share,
    shares_of_exposure,
    users,
    worlds,
)
from tests.reference import World

import lightmeter as lm

CLOSE = {"rel_tol": 1e-9, "abs_tol": 1e-9}


def agree(world: World, measures: list[Any]) -> None:
    """Every value, whether it is defined, and its standard error."""
    result = call(world, measures)
    for cell in result.cells:
        found = dict(
            zip(
                result.queries,
                zip(
                    cell.values.value,
                    cell.values.se if cell.values.se is not None else [None] * len(result.queries),
                    strict=True,
                ),
                strict=True,
            )
        )
        for query, value, error in reference.evaluate(world, cell.measure, cell.run):
            mine, se = found[query]
            value = math.nan if math.isinf(value) else value
            where = f"{cell.measure} {cell.run} {query} unknown={world.unknown} weight={world.weight}"
            if math.isnan(value):
                assert math.isnan(mine), where
                continue
            assert math.isclose(mine, value, **CLOSE), f"{where}: {mine} is not {value}"
            if se is not None and error is not None:
                same = math.isnan(se) if math.isnan(error) else math.isclose(se, error, rel_tol=1e-7, abs_tol=1e-7)
                assert same, f"{where}: standard error {se} is not {error}"


@given(st.data())
@share(0.6)
def test_relevance(data: Any) -> None:
    agree(data.draw(worlds()), data.draw(st.lists(relevances(), min_size=1, max_size=6)))


@given(st.data())
@share(1.2)
def test_expected_exposure(data: Any) -> None:
    agree(data.draw(worlds()), data.draw(st.lists(expected(), min_size=1, max_size=4)))


@given(st.data())
@share(1.2)
def test_normalised_exposure(data: Any) -> None:
    agree(data.draw(worlds()), data.draw(st.lists(normalised(), min_size=1, max_size=4)))


@given(st.data())
@share(0.6)
def test_normalised_exposure_of_whole_rankings(data: Any) -> None:
    """Rankings of all candidates, where the complete forms are defined."""
    world = data.draw(worlds(most=2))
    for run in world.runs.values():
        for q, rankings in run.items():
            below = [(d, -1.0 - i) for i, d in enumerate(reference.candidates(world, q))]
            run[q] = [
                dataclasses.replace(r, docs=r.docs + [row for row in below if row[0] not in dict(r.docs)])
                for r in rankings
            ]
    agree(world, data.draw(st.lists(normalised(), min_size=1, max_size=4)))


@given(st.data())
@share(1.5)
def test_group_fairness(data: Any) -> None:
    world = data.draw(worlds())
    agree(world, data.draw(st.lists(fair(world), min_size=1, max_size=4)))


@given(worlds(), st.sampled_from(["entropy", "range"]), st.data())
@share(0.4)
def test_spread(world: World, part: Any, data: Any) -> None:

    agree(world, [lm.EESpread(user=data.draw(users()), part=part, cutoff=data.draw(CUTOFF))])


@given(st.data())
@share(0.8)
def test_shares_of_exposure(data: Any) -> None:
    world = data.draw(worlds())
    agree(world, data.draw(st.lists(shares_of_exposure(world), min_size=1, max_size=4)))


@given(st.data())
@share(0.6)
def test_intent_aware(data: Any) -> None:
    agree(data.draw(worlds()), data.draw(st.lists(intent_aware(), min_size=1, max_size=6)))


@given(st.data())
@share(0.5)
def test_amortised_exposure(data: Any) -> None:
    """Sums over queries, weighted, against the reference."""
    world = data.draw(worlds())
    weight = {q: float(data.draw(st.integers(1, 3))) for q in world.queries}
    asked = [m(amortised=True) for m in data.draw(st.lists(shares_of_exposure(world), min_size=1, max_size=4))]
    frame = pl.DataFrame({"query": list(weight), "weight": list(weight.values())})
    result = call(world, asked, load(world, sequence=frame))
    for cell in result.cells:
        value = reference_exposure_groups.amortised(world, cell.measure, cell.run, weight)
        mine = result.mean_of(cell).value
        assert np.isnan(cell.values.value).all()
        if math.isnan(value):
            assert math.isnan(mine), f"{cell.measure}: {mine} is not undefined"
        else:
            assert math.isclose(mine, value, **CLOSE), f"{cell.measure}: {mine} is not {value}"


@given(st.data())
@share(0.4)
def test_multisided(data: Any) -> None:
    """The six JME measures and their parts against matrices written out."""
    world = data.draw(worlds(unanswered=True))
    asked = data.draw(st.lists(multisided(world), min_size=1, max_size=4))
    weight = {q: float(data.draw(st.integers(1, 3))) for q in world.queries}
    result = call(
        world, asked, load(world, sequence=pl.DataFrame(list(weight.items()), ["query", "weight"], orient="row"))
    )
    for cell in result.cells:
        value = reference_multisided.value(world, cell.measure, cell.run, weight)
        mine = result.mean_of(cell).value
        if math.isnan(value):
            assert math.isnan(mine), f"{cell.measure}: {mine} is not undefined"
        else:
            assert math.isclose(mine, value, **CLOSE), f"{cell.measure}: {mine} is not {value}"


@given(st.data())
@share(0.5)
def test_combinations(data: Any) -> None:
    world = data.draw(worlds(sampled=False))
    parts = data.draw(st.lists(relevances() | fair(world) | expected(), min_size=1, max_size=4))
    way = data.draw(st.sampled_from(["higher", "higher", "lower"]))
    parts = [p for p in parts if p.better == way] or [lm.AP() if way == "higher" else lm.EED()]
    shares = [data.draw(st.integers(0, 3)) for _ in parts]
    shares = shares if sum(shares) else [1] * len(parts)
    weights = None if data.draw(st.booleans()) else [s / sum(shares) for s in shares]
    # Equal and Proportional have no form for documents' users with a cutoff
    whole = any(
        not isinstance(getattr(p, "target", None), lm.Ideal) for p in parts if isinstance(p, lm.EED | lm.EER | lm.EEL)
    )
    cutoff = None if whole or all(p.cutoff for p in parts) else data.draw(st.none() | st.integers(1, 5))
    agree(world, [lm.GFR(of=parts, weights=weights, cutoff=cutoff)])
