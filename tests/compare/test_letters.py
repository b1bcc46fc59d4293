"""The compact letter display says of every pair what the tests said."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightmeter.comparing.pairs import letter, letters


@st.composite
def graphs(draw):
    runs = draw(st.integers(2, 8))
    different = np.zeros((runs, runs), dtype=bool)
    for i, j in itertools.combinations(range(runs), 2):
        different[i, j] = different[j, i] = draw(st.booleans())
    return draw(st.permutations(range(runs))), different


@given(graphs())
def test_two_runs_share_a_letter_if_they_do_not_differ(graph):
    order, different = graph
    found = letters(order, different)
    for i, j in itertools.combinations(range(len(order)), 2):
        assert bool(set(found[i]) & set(found[j])) != different[i, j]
    assert all(found)
    used = sorted(set("".join(found)))
    assert used == [letter(i) for i in range(len(used))]
    # no letter could be left out
    for gone in used:
        fewer = [set(f) - {gone} for f in found]
        kept = all(
            bool(fewer[i] & fewer[j]) != different[i, j] for i, j in itertools.combinations(range(len(order)), 2)
        )
        assert not (kept and all(fewer))


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12), st.integers(1, 15))
def test_where_far_apart_is_different_letters_are_runs_of_the_order(means, width):
    """As in Tukey's test: every letter stands on neighbours, the best run has the first."""
    means = np.array(means)
    order = np.argsort(-means, kind="stable").tolist()
    found = letters(order, np.abs(means[:, None] - means) >= width)
    assert "a" in found[order[0]]
    for one in set("".join(found)):
        places = [place for place, run in enumerate(order) if one in found[run]]
        assert places == list(range(places[0], places[-1] + 1))


def test_examples():
    none, every = np.zeros((3, 3), dtype=bool), ~np.eye(3, dtype=bool)
    assert letters([2, 0, 1], none) == ["a", "a", "a"]
    assert letters([2, 0, 1], every) == ["b", "c", "a"]
    assert [letter(i) for i in (25, 26, 51, 52)] == ["z", "A", "Z", "(53)"]


def test_no_compact_display():
    """Thirty runs in ten triples that differ within: 3 to the 10th groups."""
    different = np.kron(np.eye(10, dtype=bool), ~np.eye(3, dtype=bool))
    assert letters(range(30), different) is None


@pytest.mark.parametrize("runs", [60])
def test_many_runs(runs):
    means = np.random.default_rng(0).random(runs)
    order = np.argsort(-means).tolist()
    found = letters(order, np.abs(means[:, None] - means) > 0.1)
    assert found is not None
    assert found[order[0]] == "a"
