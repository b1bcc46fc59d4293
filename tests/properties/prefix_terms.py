"""Random measures of prefixes and pairs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.properties.worlds import CUTOFF, divergences, feasible, group_targets, users
from tests.reference import World

import lightmeter as lm

STEP = st.integers(1, 3)


def a_target(draw: Any, world: World, by: str) -> Any:
    """A target that the world has."""
    target = draw(group_targets())
    given = target == "given" or isinstance(target, lm.Given)
    return None if (given and by not in world.targets) or not feasible(world, target, by) else target


@st.composite
def prefixes(draw: Any, world: World, kind: Any = None) -> Any:
    """A measure of prefixes or pairs with random parameters that fit the world; none with a row for each group."""
    leaning = [lm.OutputBias, lm.InputBias, lm.RankingBias, lm.SignedBias]
    differences = [lm.rND, lm.rKL, lm.rRD]
    skews = [lm.Skew, lm.MinSkew, lm.MaxSkew]
    kind = kind or draw(st.sampled_from([*skews, lm.NDKL, *differences, lm.FAIR, lm.Pairwise, lm.ECE, *leaning]))
    by = draw(st.sampled_from(["g", "two"]))
    if kind is lm.FAIR and world.members[by].kind == "soft":
        by = "two"
    if kind in leaning and len(world.members[by].values) < 2:
        by = "two"
    values = world.members[by].values
    options: dict[str, Any] = {"by": by, "cutoff": draw(CUTOFF)}
    if kind in skews:
        options["cutoff"] = draw(st.integers(1, 8))
    if kind is lm.Skew:
        options["value"] = draw(st.sampled_from(values))
    if kind in [*skews, lm.NDKL, lm.ECE]:
        options["target"] = a_target(draw, world, by)
    if kind is lm.NDKL:
        options["eps"] = draw(st.sampled_from([0.0, 0.0, 1e-7, 0.1]))
    if kind in [*differences, lm.FAIR]:
        options["protected"] = draw(st.sampled_from(values))
    if kind in differences:
        options["step"] = draw(STEP)
    if kind is lm.rKL:
        options["edge"] = draw(st.sampled_from([0.0, 0.001]))
    if kind is lm.FAIR:
        options |= {
            "p": draw(st.sampled_from(["pool", 0.2, 0.5, 0.7])),
            "alpha": draw(st.sampled_from([0.07, 0.15, 0.4])),
            "part": draw(st.sampled_from(["test", "p_value", "tail"])),
            "adjust": draw(st.booleans()),
        }
    if kind is lm.Pairwise:
        one = st.none() | st.sampled_from(values)
        options |= {"more": draw(one), "less": draw(one)}
        if options["more"] is None or options["less"] is None:
            options["pairs"] = draw(st.sampled_from(["all", "within", "across"]))
    if kind is lm.ECE:
        members = world.members[by]
        ordinal = (members.ordinal or len(values) <= 2) and world.unknown != "distinct"
        options |= {"part": "distance", "user": draw(users()), "div": draw(divergences(ordinal=ordinal))}
    if kind in leaning:
        options["positive"] = draw(st.sampled_from(values))
        if len(values) != 2 or draw(st.booleans()):
            options["negative"] = draw(st.sampled_from([v for v in values if v != options["positive"]]))
    if kind in (lm.InputBias, lm.RankingBias):
        options["input"] = a_target(draw, world, by) or "pool"
    if kind is lm.SignedBias:
        options |= {
            "user": draw(users()),
            "absolute": draw(st.booleans()),
            "docs": draw(st.sampled_from(["relevant", "all"])),
            "over": draw(st.sampled_from(["ranks", "relevant"])),
        }
    return kind(**options)
