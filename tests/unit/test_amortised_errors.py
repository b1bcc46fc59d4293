"""Standard errors of amortised measures where rankings are sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm

DOCS = [f"d{j}" for j in range(6)]
SIDE = {d: "x" if j < 3 else "y" for j, d in enumerate(DOCS)}
RATIO = lm.ExposureRatio(by="g", value="x", reference="y", amortised=True)


def drawn(seed: int, queries: int = 12, samples: int = 30) -> lm.Collection:
    """Rankings drawn from one Plackett-Luce policy a query; the policies are the same for every seed."""
    rng, given = np.random.default_rng(seed), np.random.default_rng(99)
    worth = given.dirichlet(np.full(6, 2.0), queries)
    grades = given.integers(0, 2, (queries, 6))
    grades[:, 0] = 1
    order = np.argsort(-(np.log(worth)[:, None, :] + rng.gumbel(size=(queries, samples, 6))), axis=2)
    rows = [
        (f"q{q}", s, DOCS[d], 6.0 - r)
        for q in range(queries)
        for s in range(samples)
        for r, d in enumerate(order[q, s].tolist())
    ]
    run = pl.DataFrame(rows, schema=["query", "sample", "doc", "score"], orient="row")
    qrels = {f"q{q}": dict(zip(DOCS, grades[q].tolist(), strict=True)) for q in range(queries)}
    return lm.load(run=run, qrels=qrels, groups={"g": SIDE})


def errors(collection: lm.Collection, *measures: Any, **options: Any) -> pl.DataFrame:
    return lm.evaluate(collection, list(measures), policy=lm.Samples(), **options).mean()


def test_the_error_is_that_of_drawing_again() -> None:
    measures = [RATIO, lm.IAA(amortised=True), lm.Gini(amortised=True), lm.DTR(by="g", amortised=True)]
    found = [errors(drawn(seed), *measures) for seed in range(60)]
    value, se = (np.array([f[c].to_list() for f in found], dtype=float) for c in ("value", "se"))
    spread = value.std(axis=0, ddof=1)
    np.testing.assert_allclose(np.sqrt((se**2).mean(axis=0)), spread, rtol=0.25)
    covered = (np.abs(value - value.mean(axis=0)) < 1.96 * se).mean()
    assert 0.88 < covered < 0.99


def test_of_a_mean_it_is_the_error_of_the_mean() -> None:
    """The same documents in every query: mean exposure is linear, and amortised it is the mean over queries."""
    plain = lm.MeanExposure(by="g")
    found = errors(drawn(1, samples=200), plain, plain(amortised=True))
    one, other = found["value"].to_list()[:2], found["value"].to_list()[2:]
    assert one == pytest.approx(other)
    assert found["se"].to_list()[2:] == pytest.approx(found["se"].to_list()[:2], rel=0.4)


def test_counts_of_rankings_are_draws() -> None:
    """A ranking written once with its count is as many draws: the error is of the same size."""
    rng = np.random.default_rng(0)
    many = 400
    first = rng.random(many) < 0.3
    each = pl.DataFrame(
        [("q", s, d, 2.0 - r) for s in range(many) for r, d in enumerate(("a", "b") if first[s] else ("b", "a"))],
        schema=["query", "sample", "doc", "score"],
        orient="row",
    )
    twice = int(first.sum())
    counted = pl.DataFrame(
        [
            ("q", s, d, 2.0 - r, n)
            for s, n, two in ((0, twice, "ab"), (1, many - twice, "ba"))
            for r, d in enumerate(two)
        ],
        schema=["query", "sample", "doc", "score", "weight"],
        orient="row",
    )
    gap = lm.ExposureGap(by="g", value="x", reference="y", user=lm.TopK(k=1), amortised=True)
    groups = {"g": {"a": "x", "b": "y"}}
    told = []
    for run, policy in ((each, lm.Samples()), (counted, lm.Samples(weight="count"))):
        row = lm.evaluate(lm.load(run=run, groups=groups), [gap], policy=policy).mean().row(0, named=True)
        told.append((row["value"], row["se"]))
    share = twice / many
    assert told[0][0] == pytest.approx(told[1][0]) == pytest.approx(2 * share - 1)
    for _, se in told:
        assert se == pytest.approx(2 * np.sqrt(share * (1 - share) / many), rel=0.5)


def test_where_there_is_none() -> None:
    fixed = lm.load(run={"q": ["d0", "d4"], "r": ["d4", "d0"]}, groups={"g": SIDE})
    assert lm.evaluate(fixed, [RATIO]).mean()["se"].to_list() == [None]
    assert errors(drawn(0, samples=2), RATIO)["se"].to_list() == [None]
    assert errors(drawn(0, samples=3), RATIO)["se"].null_count() == 0
    result = lm.evaluate(drawn(0), [RATIO, RATIO(amortised=False)], policy=lm.Samples())
    assert result.per_query().filter(pl.col("measure") == str(RATIO))["se"].null_count() == 12
    # the same numbers every time
    assert (
        result.mean()["se"].to_list()
        == lm.evaluate(drawn(0), [RATIO, RATIO(amortised=False)], policy=lm.Samples()).mean()["se"].to_list()
    )


def test_a_query_that_is_not_answered_has_no_error() -> None:
    c = drawn(0)
    more = lm.load(
        run=pl.DataFrame(
            [(q, s, d, 6.0 - r) for q in ("a", "b") for s in range(9) for r, d in enumerate(np.roll(DOCS, s + ord(q)))],
            schema=["query", "sample", "doc", "score"],
            orient="row",
        ),
        qrels={q: {"d0": 1} for q in ("a", "b", "c")},
        groups={"g": SIDE},
    )
    assert errors(more, RATIO, missing="zero")["se"].to_list() == [None]
    assert errors(more, RATIO, missing="skip")["se"].null_count() == 0
    assert errors(c, RATIO)["se"].null_count() == 0


def test_of_one_query_it_leaves_out_each_ranking() -> None:
    """Five rankings, five folds: the delete-one jackknife, from five evaluations."""
    rng = np.random.default_rng(4)
    orders = [rng.permutation(6) for _ in range(5)]

    def value(kept: list[int]) -> tuple[float, float | None]:
        rows = [("q", s, DOCS[d], 6.0 - r) for s in kept for r, d in enumerate(orders[s].tolist())]
        run = pl.DataFrame(rows, schema=["query", "sample", "doc", "score"], orient="row")
        found = errors(lm.load(run=run, groups={"g": SIDE}), RATIO).row(0, named=True)
        return found["value"], found["se"]

    without = np.array([value([s for s in range(5) if s != gone])[0] for gone in range(5)])
    assert value(list(range(5)))[1] == pytest.approx(np.sqrt(4 / 5 * ((without - without.mean()) ** 2).sum()))
