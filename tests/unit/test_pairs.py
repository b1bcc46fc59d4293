"""Pairs of entries of different levels: both ways of counting against going through all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightmeter.measures import pairwise


@st.composite
def entries(draw):
    size, levels = draw(st.integers(1, 4)), draw(st.integers(1, 20))
    one = st.tuples(st.integers(0, size - 1), st.integers(0, levels - 1), st.integers(0, 3), st.integers(0, 3))
    drawn = sorted(draw(st.lists(one, max_size=25)), key=lambda e: e[0])
    key, level, more, less = np.array(drawn, dtype=np.int64).reshape(-1, 4).T
    return key, level, more / 3, less / 3, levels, size


@pytest.mark.parametrize("count", [pairwise._pairs, pairwise._by_halves, pairwise._level_by_level])
@given(entries())
def test_all_pairs(count, given_entries):
    key, level, more, less, levels, size = given_entries
    right, total = np.zeros(size), np.zeros(size)
    for i in range(len(key)):
        for j in range(len(key)):
            if key[i] == key[j] and level[i] > level[j]:
                total[key[i]] += more[i] * less[j]
                right[key[i]] += more[i] * less[j] * (i < j)
    found = count(key, level, more, less, levels, size)
    assert np.allclose(found, [right, total], rtol=0, atol=1e-12)


def test_few_levels_are_counted_one_by_one_and_many_are_not(monkeypatch):
    used = []
    for name in ("_by_halves", "_level_by_level"):
        monkeypatch.setattr(pairwise, name, lambda *a, name=name: used.append((name, a[4])))
    for levels in (3, 1000):
        pairwise._pairs(np.zeros(5000, int), np.arange(5000) % levels, np.ones(5000), np.ones(5000), levels, 1)
    assert used == [("_level_by_level", 3), ("_by_halves", 1000)]
