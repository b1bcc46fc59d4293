"""Which queries count, how much, and for what: in exact and in drawn curves, of documents and of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.sweeping import sampled as drawing
from lightmeter.sweeping.curve import Curve

CASCADE = "Cascade(p=0.9, u=0.6)"
ABC = {"a": 3.0, "b": 2.0, "c": 1.0}


def drawn_curve(samples: int, **more: Any) -> Curve:
    """Two queries of weights 3 and 1, one of weight 2 that is not answered, one without relevant documents."""
    c = lm.load(
        {"x": {"q": ABC | {"d": 0.5}, "p": {"c": 2.0, "a": 1.0}, "none": ABC}},
        {"q": {"a": 1, "d": 1}, "p": {"a": 1}, "gone": {"a": 1}, "none": {"a": 0}},
        sequence=pl.DataFrame({"query": ["q", "p", "gone", "none"], "weight": [3.0, 1.0, 2.0, 50.0]}),
    )
    return lm.sweep(c, "RankTransposition", CASCADE, samples=samples, resamples=2, **more).curves[0]


def test_queries_weigh_in_the_errors_of_drawn_means_as_in_the_means() -> None:
    """Estimates that leave one path out have the estimate from all as their mean, pair by pair."""
    curve = drawn_curve(5)
    sampled = curve.points.sampled
    assert sampled is not None
    eed, eer, most = curve.points.eed, curve.points.eer, curve.scale.most
    q, p, gone, none = (curve.scale.weight.tolist().index(w) for w in (3.0, 1.0, 2.0, 50.0))
    assert curve.scale.reason[[q, p, gone, none]].tolist() == [None, None, "not_in_run", "no_relevant"]
    assert sampled.without_eed.shape == (5, len(curve.points.parameter))
    assert sampled.without_eed.mean(axis=0) == pytest.approx((3 * eed[q] + eed[p]) / 4)
    relevance = (3 * eer[q] / most[q] + eer[p] / most[p]) / 6
    assert curve.mean[1] == pytest.approx(relevance)
    assert sampled.without_relevance.mean(axis=0) == pytest.approx(relevance)
    without = curve._without
    assert without is not None
    assert without[0].mean(axis=0) == pytest.approx(curve.mean[0], abs=1e-12)
    skipped = drawn_curve(5, missing="skip")
    assert skipped.mean[1] == pytest.approx(relevance * 6 / 4)
    assert skipped.points.sampled.without_relevance.mean(axis=0) == pytest.approx(relevance * 6 / 4)  # type: ignore[union-attr]


@pytest.mark.parametrize("cells", [1, 1 << 20])
def test_queries_are_drawn_apart_and_stay_in_place(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """However many are worked on at once; a reader who minds no document says what each must be."""
    monkeypatch.setattr(drawing, "CELLS", cells)
    lists = {f"q{i}": {f"d{j}": float(-j) for j in range(3 + i % 2)} for i in range(4)}
    qrels = {f"q{i}": {f"d{i % 3}": 1} for i in range(4)}
    c = lm.load({"x": lists}, qrels)
    known = lm.sweep(c, "RankTransposition", "Cascade(p=0.5, u=0)", samples=3, resamples=2).curves[0].points
    middle = len(known.parameter) // 2
    policy = lm.RankTransposition(theta=known.parameter[middle])
    exact = lm.evaluate(c, ["EED(user=RBP(p=0.5))", "EER(user=RBP(p=0.5))"], policy=policy)
    for mine, measure in ((known.eed, "EED"), (known.eer, "EER")):
        assert mine[:, middle] == pytest.approx(exact.values(f"{measure}(user=RBP(p=0.5))"), abs=1e-12)
    same = lm.load({"x": dict.fromkeys("abcd", ABC)}, {q: {"a": 1, "c": 1} for q in "abcd"})
    eed = lm.sweep(same, "RankTransposition", CASCADE, samples=5, resamples=2).curves[0].points.eed
    assert (eed[:, [0, -1]] == eed[0, [0, -1]]).all()
    assert len({tuple(row) for row in eed.tolist()}) == 4  # queries are alike, their draws are not


def test_groups_of_paths_a_few_at_a_time_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    c = lm.load({"x": {"q": ABC | {"d": 0.5}}}, {"q": {"a": 1, "c": 1}}, {"g": {"a": "1", "c": "2"}})
    found = []
    for cells in (1 << 20, 130):
        monkeypatch.setattr(drawing, "CELLS", cells)
        found.append(lm.sweep(c, "RankTransposition", CASCADE, [None, "g"], samples=101, resamples=2, rng=4))
    for one, two in zip(found[0].curves, found[1].curves, strict=True):
        assert one.points.eed == pytest.approx(two.points.eed, abs=1e-12)
        assert one.points.eer == pytest.approx(two.points.eer, abs=1e-12)
        assert one.points.sampled.without_eed == pytest.approx(two.points.sampled.without_eed, abs=1e-12)  # type: ignore[union-attr]


def test_short_steps_of_drawn_curves_are_left_alone_and_long_ones_halved() -> None:
    """Disparity is the square of L where lists are equally long; with one that is much shorter it is not."""
    from lightmeter.sweeping.points import _rising

    def points(lengths: list[int]) -> Curve:
        run = {f"q{i}": {f"d{j:02}": float(-j) for j in range(n)} for i, n in enumerate(lengths)}
        c = lm.load({"x": run}, {q: {"d01": 1} for q in run})
        return lm.sweep(c, "RankTransposition", "Cascade(p=0.5, u=0)", samples=3, resamples=2).curves[0]

    assert len(points([6, 6]).points.parameter) == len(_rising())
    uneven = points([3, 60])
    assert len(uneven.points.parameter) > len(_rising())
    assert 0.01 < uneven.longest_step <= 0.0199


def test_relevance_is_that_of_a_user_with_the_same_cutoff() -> None:
    """RBP(p=0.5)@1 with two relevant documents: whoever stands first has all there is."""
    c = lm.load({"x": {"q": ABC}}, {"q": {"a": 1, "b": 1}})
    y = lm.sweep(c, users="RBP(p=0.5)@1", resamples=2).curves[0].mean[1]
    assert y[[0, -1]] == pytest.approx([2 / 3, 1.0])


@pytest.mark.parametrize(("unknown", "counts"), [("uniform", False), ("drop", False), ("distinct", True)])
def test_queries_of_which_no_group_is_known(unknown: str, counts: bool) -> None:
    """Judgments tell the group of a document that is not ranked; of what is ranked nobody's is known."""
    c = lm.load(
        {"x": {"q": ABC, "p": {"e": 2.0, "f": 1.0}}},
        {"q": {"a": 1, "b": 1}, "p": {"e": 1, "z": 1}},
        {"g": {"a": "1", "b": "2", "z": "1"}},
    )
    result = lm.sweep(c, "RankTransposition", by="g", unknown=unknown, resamples=3)  # type: ignore[arg-type]
    curve = result.curves[0]
    assert curve.scale.reason.tolist() == [None, None if counts else "no_known_member"]
    assert np.isnan(curve.query_areas).tolist() == [False, not counts]
    assert (curve.area().n, curve.query_mean().n) == (1 + counts, 1 + counts)
    rows = result.per_query().filter(pl.col("measure") == "EEAUC").select("query", "reason").rows()
    assert rows == [("q", None), ("p", None if counts else "no_known_member")]


def test_relevant_documents_without_a_group_leave_no_target() -> None:
    c = lm.load({"x": {"q": ABC}}, {"q": {"a": 1}}, {"g": {"b": "1", "c": "2"}})
    assert lm.sweep(c, by="g", unknown="drop", resamples=2).curves[0].scale.reason.tolist() == ["no_known_member"]


def test_groups_beside_documents_have_no_frontier_and_count_relevant_documents() -> None:
    """a, relevant, and b are of group 1: the ideal exposes a alone, (1)^2, and so does the ranking."""
    c = lm.load({"x": {"q": ABC}}, {"q": {"a": 1, "c": 0}}, {"g": {"a": "1", "b": "1", "c": "2"}})
    own, grouped = lm.sweep(c, "RankTransposition", by=[None, "g"], resamples=2).curves
    assert (own.best is None, grouped.best is None) == (False, True)
    assert grouped.scale.most.tolist() == [1.0]
    assert grouped.mean[1][-1] == pytest.approx(1.0)


def test_a_list_of_one_counts_where_disparity_is_of_means() -> None:
    c = lm.load({"x": {"q": ABC, "one": {"a": 1.0}}}, {"q": {"c": 1}, "one": {"a": 1}})
    curve = lm.sweep(c, users=CASCADE, resamples=2).curves[0]
    assert curve.area().n == 2
    assert curve.query_reasons().tolist() == [None, "no_disparity_range"]
    assert lm.sweep(c, resamples=2).curves[0].area().n == 1


def test_two_attributes_are_each_as_if_alone() -> None:
    groups = {"g": {"a": "2", "b": "2", "c": "1"}, "h": {"a": "1", "b": "2", "c": "3"}}
    c = lm.load({"x": {"q": ABC, "p": ABC}}, {"q": {"a": 1, "b": 1, "c": 1}, "p": {"a": 1, "c": 2}}, groups)
    steps: list[tuple[int, int]] = []
    both = lm.sweep(c, "RankTransposition", by=["g", "h"], resamples=2, progress=lambda *now: steps.append(now))
    assert steps == [(1, 1)]
    for curve in both.curves:
        alone = lm.sweep(c, "RankTransposition", by=curve.by, resamples=2).curves[0]
        assert (curve.mean[0][0], curve.mean[0][-1]) == pytest.approx((0.0, 1.0))
        assert curve.area().value == pytest.approx(alone.area().value, abs=1e-4)
        for name in ("eed", "eer"):
            mine, other = getattr(curve.points, name), getattr(alone.points, name)
            assert mine[:, [0, -1]] == pytest.approx(other[:, [0, -1]])
        assert curve.scale.most == pytest.approx(alone.scale.most)


def test_depth_progress_and_weights_of_what_is_evaluated() -> None:
    """A query without judgments, ranked first, is not evaluated and takes no weight from those that are."""
    lists = {"unjudged": ABC, "q": ABC | {"d": 0.5}, "p": {"c": 2.0, "a": 1.0}}
    weights = pl.DataFrame({"query": ["unjudged", "q", "p"], "weight": [9.0, 3.0, 1.0]})
    c = lm.load({"x": lists}, {"q": {"a": 1, "d": 1}, "p": {"a": 1}}, sequence=weights)
    steps: list[tuple[int, int]] = []
    result = lm.sweep(
        c, "RankTransposition", ["DCG", "RBP(p=0.5)"], depth=2, resamples=2, progress=lambda *now: steps.append(now)
    )
    assert steps == [(1, 2), (2, 2)]
    assert result.curves[0].scale.weight.tolist() == [3.0, 1.0]
    cut = {q: dict(sorted(run.items(), key=lambda pair: -pair[1])[:2]) for q, run in lists.items()}
    short = lm.load({"x": cut}, {"q": {"a": 1, "d": 1}, "p": {"a": 1}}, sequence=weights)
    other = lm.sweep(short, "RankTransposition", ["DCG", "RBP(p=0.5)"], resamples=2)
    for one, two in zip(result.curves, other.curves, strict=True):
        assert one.mean[1][[0, -1]] == pytest.approx(two.mean[1][[0, -1]], abs=1e-12)
        assert one.area().value == pytest.approx(two.area().value, abs=1e-9)


def test_a_group_that_nobody_ranks_is_no_group_of_the_next_query() -> None:
    groups = {"g": {"a": "1", "z": "2"}}
    qrels = {"p": {"a": 1, "z": 1}, "q": {"a": 1}}
    both = lm.load({"x": {"p": ABC, "q": ABC}}, qrels, groups)
    eer = lm.sweep(both, "RankTransposition", by="g", unknown="drop", resamples=2).curves[0].points.eer
    assert eer[:, -1] == pytest.approx([0.75, 1.0])  # the ideal of p gives a and z 0.75 each
