"""Pieces of the grid are worked on in batches: each once, with little room wasted; and by one set of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightmeter.exposure.luce import CALLS, _batches
from lightmeter.io.threads import in_threads

SIDES = st.lists(st.tuples(st.integers(1, 300), st.integers(1, 80)), max_size=60)


@given(SIDES, st.integers(1, 50_000))
def test_every_piece_is_in_one_batch_and_no_batch_is_too_large(sides, cells):
    full, nodes = np.array(sides, dtype=np.int64).reshape(-1, 2).T
    batches = _batches(full, nodes, cells)
    assert sorted(np.concatenate(batches).tolist() if batches else []) == list(range(len(sides)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * full[batch].max() * nodes[batch].max() <= cells


@given(SIDES)
def test_little_room_is_wasted(sides):
    full, nodes = np.array(sides, dtype=np.int64).reshape(-1, 2).T
    batches = _batches(full, nodes, 10**9)
    room = sum(len(b) * full[b].max() * nodes[b].max() for b in batches)
    # sides within a class differ by a factor of e^(1/4) at most, and joining saves a call for each call's worth of room
    classes = len({(int(4 * np.log(f)), int(4 * np.log(n))) for f, n in sides})
    assert room <= np.exp(0.5) * (full * nodes).sum() + CALLS * max(classes - 1, 0)


def test_heavy_tails_are_not_padded():
    rng = np.random.default_rng(0)
    full, nodes = np.floor(300 ** rng.random(5000)).astype(int), np.floor(80 ** rng.random(5000)).astype(int)
    batches = _batches(full, nodes, 400_000)
    room = sum(len(b) * full[b].max() * nodes[b].max() for b in batches)
    assert room < 1.5 * (full * nodes).sum()
    assert len(batches) < 120


def test_threads_start_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lightmeter.io.threads.cores", lambda: 3)
    names = set()

    def inner(_: int) -> int:
        names.add(threading.current_thread().name)
        return 1

    found = [
        sum(one for _, one in values) for _, values in in_threads(lambda _: list(in_threads(inner, range(9))), range(9))
    ]
    assert found == [9] * 9
    assert len(names) <= 3
