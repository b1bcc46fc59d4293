"""Counts of several values in one whole number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.data import membership
from lightmeter.data.membership import counts_at, words


@given(st.data())
def test_as_counted_one_by_one(data: Any) -> None:
    rankings, ranks, values = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 40)))
    size = rankings * ranks
    value = np.array(data.draw(st.lists(st.integers(-1, values - 1), min_size=size, max_size=size)))
    places = sorted(data.draw(st.sets(st.integers(0, size - 1))))
    found = counts_at(value.reshape(rankings, ranks), values, np.array(places, dtype=np.int64))
    for column, place in enumerate(places):
        above = value[place // ranks * ranks : place + 1]
        assert found[:, column].tolist() == [(above == v).sum() for v in range(values)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8, 1023, 1024])
def test_no_count_runs_into_the_next(ranks: int) -> None:
    """Rankings of one value only, with as many values as fit into a number, and one more."""
    fit = 63 // ranks.bit_length()
    for values in {1, fit, fit + 1}:
        value = np.tile(np.arange(values)[:, None], ranks)
        found = counts_at(value, values, np.arange(values) * ranks + ranks - 1)
        assert (found == ranks * np.eye(values)).all()


def test_how_many_numbers_it_takes() -> None:
    assert [words(1000, v) for v in (1, 6, 7, 12, 13, 24)] == [1, 1, 2, 2, 3, 4]
    assert words(0, 3) == 1


UNKNOWN = ["uniform", "drop", "distinct"]


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("values", [2, 7, 24])
def test_both_ways_of_counting_agree(unknown: str, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankings of different lengths, a third of the documents unknown; pieces of any size."""
    rng = np.random.default_rng(values)
    docs = [f"d{i}" for i in range(60)]
    groups = {d: f"v{rng.integers(values)}" for d in docs if rng.random() < 2 / 3}
    run = {f"q{i}": [str(d) for d in rng.permutation(docs)[: 5 + 9 * i]] for i in range(6)}
    qrels = {q: {d: int(rng.integers(3)) for d in ranking} for q, ranking in run.items()}
    c = lm.load(run=run, qrels=qrels, groups={"g": groups})
    asked = ["GF(by='g')", "GF(by='g', user=RBP(p=0.9))@7"]

    def values_of() -> list[float]:
        return lm.evaluate(c, asked, unknown=unknown).per_query()["value"].to_list()  # type: ignore[arg-type]

    counted = values_of()
    monkeypatch.setattr(membership, "CUBE", 64)
    pieces = values_of()
    monkeypatch.setattr(membership, "WORDS", 0)
    added = values_of()
    assert all(0 < v < 1 for v in counted)
    for one, other in pairwise([counted, pieces, added]):
        assert one == pytest.approx(other, abs=1e-13)


@pytest.mark.parametrize("values", [4, 40])
def test_a_query_has_the_value_it_has_alone_and_at_a_cutoff_beside_whole_rankings(values: int) -> None:
    rng = np.random.default_rng(values)
    docs = [f"d{i}" for i in range(60)]
    groups = {"g": {d: f"v{rng.integers(values):02}" for d in docs}}
    run = {f"q{i}": [str(d) for d in rng.permutation(docs)[:20]] for i in range(5)}
    qrels = {q: {d: int(rng.integers(3)) for d in ranking} for q, ranking in run.items()}
    asked = [f"GF(by='g', user=ERR(max_grade=2){div}){cut}" for div in ("", ", div=TV") for cut in ("", "@4")]
    together = lm.evaluate(lm.load(run=run, qrels=qrels, groups=groups), asked)
    for query in run:
        alone = lm.load(run={query: run[query]}, qrels={query: qrels[query]}, groups=groups)
        for measure in asked:
            mine = together.values(measure)[list(run).index(query)]
            assert mine == pytest.approx(lm.evaluate(alone, [measure]).values(measure)[0], abs=1e-13)
