"""Measures of prefixes and pairs against the independent reference, and what holds for each of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference_prefixes
from tests.properties.prefix_terms import a_target, prefixes
from tests.properties.test_reference import CLOSE, agree
from tests.properties.worlds import CUTOFF, call, share, users, worlds

import lightmeter as lm

KINDS = [
    *("Skew", "MinSkew", "MaxSkew", "NDKL", "rND", "rKL", "rRD", "FAIR", "Pairwise", "ECE"),
    *("OutputBias", "InputBias", "RankingBias", "SignedBias"),
]


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@share(0.25)
def test_against_the_reference(name: str, data: Any) -> None:
    world = data.draw(worlds())
    agree(world, data.draw(st.lists(prefixes(world, getattr(lm, name)), min_size=1, max_size=4)))


@given(st.data())
@share(0.3)
def test_exposure_of_groups(data: Any) -> None:
    """The rows of ECE, group by group."""
    world = data.draw(worlds(sampled=False))
    by = data.draw(st.sampled_from(["g", "two"]))
    m = lm.ECE(by=by, user=data.draw(users()), target=a_target(data.draw, world, by), cutoff=data.draw(CUTOFF))
    m = m(part=data.draw(st.sampled_from(["exposure", "statistic"])))
    result = call(world, [m])
    assert [c.group for c in result.cells] == world.members[by].values * len(world.runs)
    for cell in result.cells:
        for query, mine in zip(result.queries, cell.values.value, strict=True):
            if query not in world.runs[cell.run]:
                continue
            docs = world.runs[cell.run][query][0].order(world.ties)
            value = reference_prefixes.ece(world, m, cell.run, query, docs, cell.group)
            assert (math.isnan(mine) and math.isnan(value)) or math.isclose(mine, value, **CLOSE), (
                f"{m} {cell.group}: {mine} is not {value}"
            )
