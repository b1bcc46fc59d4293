"""Ids are found exactly, whatever their hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.data import ids
from lightmeter.data.ids import IdIndex, first_repeat, hash_ids

Hash = Callable[[pl.Series], Any]


def constant(column: pl.Series) -> Any:
    return np.full(len(column), 7, dtype=np.uint64)


def first_letter(column: pl.Series) -> Any:
    return np.array([ord(x[0]) if x else 0 for x in column], dtype=np.uint64)


def extremes(column: pl.Series) -> Any:
    """Hashes at the ends of the range."""
    return np.array([0 if len(x) % 2 else 2**64 - 1 for x in column], dtype=np.uint64)


HASHES = [hash_ids, constant, first_letter, extremes]
words = st.text("abü", max_size=3)


@pytest.fixture(params=HASHES, ids=lambda f: f.__name__)
def hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Hash:
    for module in ("lightmeter.data.ids", "lightmeter.data.run"):
        monkeypatch.setattr(f"{module}.hash_ids", request.param)
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("hashing", HASHES, ids=lambda f: f.__name__)
@given(
    st.lists(st.tuples(st.integers(0, 2), words), unique=True),
    st.lists(st.tuples(st.integers(0, 2), words)),
    st.booleans(),
)
def test_find(hashing: Hash, entries: Any, rows: Any, grouped: bool) -> None:
    """The same as a dictionary."""
    if not grouped:
        entries = list({d: (0, d) for _, d in entries}.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "hash_ids", hashing)
        group = np.array([g for g, _ in entries], dtype=np.int32) if grouped else None
        index = IdIndex(pl.Series([d for _, d in entries], dtype=pl.String), group)
        wanted = np.array([g for g, _ in rows], dtype=np.int32) if grouped else None
        column = pl.Series([d for _, d in rows], dtype=pl.String)
        known = {(g if grouped else 0, d): i for i, (g, d) in enumerate(entries)}
        expected = [known.get((g if grouped else 0, d), -1) for g, d in rows]
        assert index.find(column, wanted).tolist() == expected
        assert index.find(column, wanted, hashing(column)).tolist() == expected


@pytest.mark.parametrize("hashing", HASHES, ids=lambda f: f.__name__)
@given(st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=6))
def test_first_repeat(hashing: Hash, groups: list[list[str]]) -> None:
    """The first row that repeats an earlier one of its group."""
    docs = [d for g in groups for d in g]
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    offsets = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    seen: dict[tuple[int, str], int] = {}
    expected = None
    for row, (g, d) in enumerate(zip(group.tolist(), docs, strict=True)):
        if (g, d) in seen and expected is None:
            expected = (seen[g, d], row)
        seen.setdefault((g, d), row)
    column = pl.Series(docs, dtype=pl.String)
    found = first_repeat(column, group, offsets, hashing(column))
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert docs[found[0]] == docs[found[1]]
        assert found == expected


def test_collections(hashing: Hash) -> None:
    """Grades, groups and repeats of a whole collection are exact with colliding hashes."""
    run = {"q1": ["apple", "avocado", "banana"], "q2": ["avocado", "apple", "blue"]}
    c = lm.load(
        run=run,
        qrels={"q1": {"avocado": 1}, "q2": {"apple": 1, "b": 1}},
        groups={"g": {"apple": "x", "avocado": "y", "banana": "x", "bx": "y"}},
    )
    r = lm.evaluate(c, [lm.RR(), lm.AP(), lm.EED(user=lm.RBP(p=0.5)), lm.DistrSim(by="g", cutoff=3)], unknown="drop")
    assert r.cells[0].values.value.tolist() == [0.5, 0.5]
    assert r.cells[1].values.value.tolist() == [0.5, 0.25]
    assert r.cells[2].values.value.tolist() == [1.3125, 1.3125]
    share = [2 / 3, 1 / 2]
    for value, x in zip(r.cells[3].values.value, share, strict=True):
        assert value == pytest.approx(1 - float(lm.JSD().value(np.array([x, 1 - x]), np.array([0.5, 0.5]))))
    assert lm.evaluate(c, [lm.Count(by="g")]).cells[2].values.value.tolist() == [0, 1]
    with pytest.raises(lm.InputError, match="'apple' stands twice"):
        lm.load(run={"q": ["apple", "avocado", "apple"]})


def test_samples_share_their_documents(hashing: Hash) -> None:
    """The same document in several samples is one document."""
    run = pl.DataFrame(
        {"query": ["q"] * 4, "doc": ["ab", "ac", "ac", "ab"], "score": [2.0, 1, 2, 1], "sample": ["1", "1", "2", "2"]}
    )
    c = lm.load(run=run, qrels={"q": {"ab": 1}})
    r = lm.evaluate(c, [lm.EED(user=lm.RBP(p=0.5), estimator="plugin")])
    assert r.cells[0].values.value[0] == pytest.approx(2 * 0.75**2)


def test_one_hash_for_one_string() -> None:
    a = hash_ids(pl.Series(["x", "y", "x"]))
    assert a[0] == a[2] == hash_ids(pl.Series(["z", "x"]))[1]
    assert a.dtype == np.uint64


def test_values_of_codes() -> None:
    from lightmeter.data.ids import distinct, values_of

    for some in ([], [3], [2, 0, 2, 7, 0], [5, 5, 5]):
        codes = np.array(some, dtype=np.int64)
        assert values_of(codes).tolist() == sorted(set(some))
        assert distinct(codes) == len(set(some))
