"""What a log cannot tell is refused, or marked, with a reason."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lightmeter as lm


def table(*rows: tuple[str, str, int, int, int]) -> pl.DataFrame:
    """From (query, doc, rank, shown, clicks)."""
    made = []
    for query, doc, rank, shown, clicks in rows:
        made += [(query, doc, rank, 1, clicks), (query, doc, rank, 0, shown - clicks)]
    return pl.DataFrame(made, schema=["query", "doc", "rank", "clicked", "weight"], orient="row")


SWAPPED = [("q", "a", 1, 50, 40), ("q", "a", 2, 50, 20), ("p", "b", 1, 50, 20), ("p", "b", 2, 50, 10)]


@pytest.mark.parametrize("method", ["pbm", "pairs"])
def test_documents_that_never_move_tell_nothing(method: str) -> None:
    log = table(("q", "a", 1, 50, 40), ("q", "b", 2, 50, 20), ("q", "c", 3, 50, 20), ("p", "b", 2, 50, 9))
    with pytest.raises(lm.LightmeterError, match="not identifiable") as error:
        lm.estimate_attention(log, method=method)
    assert "ranks 2-3: not_connected" in str(error.value)
    assert "Ranks tied by documents: {1}, {2}, {3}" in str(error.value)
    assert lm.estimate_attention(log).length == 3  # the click rate is what it is


@pytest.mark.parametrize("method", ["pbm", "pairs"])
def test_the_curve_stops_before_ranks_that_nothing_ties(method: str) -> None:
    """Ranks 3 and 4 are tied to one another only; the same id under another query is another document."""
    log = table(*SWAPPED, ("r", "a", 3, 50, 20), ("r", "a", 4, 50, 10), ("r", "c", 4, 50, 10), ("r", "c", 3, 50, 10))
    r = lm.estimate_attention(log, method=method)
    assert r.reason.tolist() == [None, None, "not_connected", "not_connected"]
    assert np.isnan(r.weight).tolist() == [False, False, True, True]
    assert r.weight[1] == pytest.approx(0.5, rel=1e-6)
    assert len(r.attention.weights) == r.length == 2
    assert any("ranks 3-4: not_connected" in line for line in r.remarks())


@pytest.mark.parametrize("method", ["pbm", "pairs"])
def test_ties_over_other_ranks_are_enough(method: str) -> None:
    log = table(*SWAPPED, ("r", "c", 2, 80, 32), ("r", "c", 3, 80, 16))
    r = lm.estimate_attention(log, method=method)
    np.testing.assert_allclose(r.weight, [1.0, 0.5, 0.25], rtol=1e-6)


@pytest.mark.parametrize("method", ["pbm", "pairs"])
def test_ties_in_one_direction_are_not(method: str) -> None:
    """The one document seen at 2 and 3 was clicked at 2 only: the weight of 3 would be 0 without saying so."""
    log = table(*SWAPPED, ("r", "c", 2, 80, 40), ("r", "c", 3, 80, 0), ("r", "d", 3, 80, 20))
    r = lm.estimate_attention(log, method=method)
    assert r.reason.tolist() == [None, None, "not_connected"]


@pytest.mark.parametrize("method", ["rate", "pbm", "pairs"])
def test_reasons_of_ranks(method: str) -> None:
    log = table(*SWAPPED, ("q", "c", 3, 50, 0), ("q", "a", 5, 3, 2), ("q", "a", 6, 50, 10), ("p", "b", 6, 50, 10))
    r = lm.estimate_attention(log, method=method)
    assert r.reason.tolist() == [None, None, "no_click", "not_shown", "few_observations", None]
    assert np.isnan(r.weight).tolist() == [False, False, True, True, True, False]
    assert r.length == 2
    assert r.frame()["weight"].null_count() == 3


@pytest.mark.parametrize("method", ["rate", "pbm", "pairs"])
def test_an_unknown_reference_is_refused(method: str) -> None:
    log = table(("q", "a", 1, 50, 0), ("q", "a", 2, 50, 10), ("q", "a", 3, 50, 5))
    with pytest.raises(lm.LightmeterError, match=r"reference rank 1 cannot be estimated: no click .*reference=2"):
        lm.estimate_attention(log, method=method)
    with pytest.raises(lm.LightmeterError, match="a curve begins at rank 1"):
        lm.estimate_attention(log, method=method, reference=2)
    with pytest.raises(lm.LightmeterError, match=r"rank 4 cannot be estimated: no document was shown"):
        lm.estimate_attention(log, method=method, reference=4)


def test_one_rank_and_few_rows_are_refused() -> None:
    with pytest.raises(lm.LightmeterError, match="all rows have rank 1"):
        lm.estimate_attention(table(("q", "a", 1, 50, 10)))
    with pytest.raises(lm.LightmeterError, match=r"too few showings \(4, at least 10 are needed\)"):
        lm.estimate_attention(table(("q", "a", 1, 4, 2), ("q", "b", 2, 4, 2)))
    with pytest.raises(lm.LightmeterError, match="no rank but 1 can be estimated: rank 2: no_click"):
        lm.estimate_attention(table(("q", "a", 1, 50, 10), ("q", "b", 2, 50, 0)))


@pytest.mark.parametrize("method", ["rate", "pbm", "pairs"])
def test_one_query_gives_no_interval_and_few_a_warning(method: str) -> None:
    r = lm.estimate_attention(table(*SWAPPED[:2]), method=method)
    assert np.isnan(r.se).all()
    assert np.isnan(r.low).all()
    assert r.reason.tolist() == ["few_queries"] * 2
    assert r.weight[1] == pytest.approx(0.5)
    few = lm.estimate_attention(table(*SWAPPED), method=method)
    assert any("few for a bootstrap" in note for note in few.notes)


def test_a_rank_of_one_query_has_no_interval() -> None:
    """A third of the replicates does not draw the query."""
    many = [(f"q{i}", d, k, 20, 10 // k) for i in range(30) for d, k in (("a", 1), ("a", 2))]
    r = lm.estimate_attention(table(*many, ("q0", "a", 3, 20, 4)), method="pairs")
    assert r.reason.tolist() == [None, None, "few_clicks"]
    assert r.length == 3
    assert np.isnan(r.se).tolist() == [False, False, True]


def test_a_curve_that_grows_is_told() -> None:
    log = table(("q", "a", 1, 50, 20), ("q", "a", 2, 50, 10), ("q", "b", 3, 50, 15), ("p", "b", 1, 50, 20))
    assert any("grows from rank 2 to 3" in note for note in lm.estimate_attention(log).notes)
