"""Rank transposition for users who read the documents: drawn without bias, with honest errors."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter.data.rankings import Ranked
from lightmeter.exposure.transposition import transposition_marginals
from lightmeter.measures.context import Context
from lightmeter.sweeping.candidates import Candidates
from lightmeter.sweeping.sampled import Draws, _capped, _swap

USER = lm.Cascade(p=0.9, u=0.6)
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "p": {"a": 3.0, "b": 2.0, "c": 1.0}}
QRELS = {"q": {"a": 1, "c": 1}, "p": {"c": 1}}
GROUPS = {"g": {"a": "x", "b": "x", "c": "y", "d": "y"}}


def exactly(go_on: np.ndarray, theta: float) -> np.ndarray:
    """Exposure by listing: the law of the shuffled ranking solves a linear system over all permutations."""
    n = len(go_on)
    orders = list(itertools.permutations(range(n)))
    place = {o: i for i, o in enumerate(orders)}
    step = np.zeros((len(orders), len(orders)))
    pairs = list(itertools.combinations(range(n), 2))
    for o in orders:
        for i, j in pairs:
            new = list(o)
            new[i], new[j] = new[j], new[i]
            step[place[o], place[tuple(new)]] += 1 / len(pairs)
    start = np.zeros(len(orders))
    start[place[tuple(range(n))]] = 1.0
    law = theta * np.linalg.solve(np.eye(len(orders)) - (1 - theta) * step.T, start)
    out = np.zeros(n)
    for o, p in zip(orders, law, strict=True):
        view = 1.0
        for d in o:
            out[d] += p * view
            view *= go_on[d]
    return out


def draws(paths: int, seed: int = 3) -> tuple[Candidates, Draws]:
    c = lm.load({"a": RUN}, QRELS, GROUPS)
    ranked, _ = Ranked.of(c, c.runs["a"], "docno")
    candidates = Candidates(Context(c, {"a": ranked}), ranked, np.array([0, 1]), USER, None, [None, "g"])
    return candidates, Draws(candidates, USER, None, paths, np.random.default_rng(seed))


def test_estimates_are_those_of_all_permutations() -> None:
    candidates, drawn = draws(3_000)
    thetas = np.array([0.9, 0.6, 0.3, 0.05])
    for theta, found in zip(thetas, drawn.at(thetas, [None, "g"]), strict=True):
        for q, go_on in enumerate(([0.36, 0.9, 0.36, 0.9], [0.9, 0.9, 0.36])):
            n = len(go_on)
            eps = exactly(np.array(go_on), theta)
            target = candidates.target[q, :n]
            relevant = np.array(go_on) < 0.9
            xi = np.array([eps[[0, 1]][relevant[[0, 1]]].sum(), eps[2:][relevant[2:]].sum()])
            goal = np.array([target[:2].sum(), target[2:].sum()])
            want = {None: (eps @ eps, eps @ target), "g": (xi @ xi, xi @ goal)}
            for by, values in want.items():
                for estimate, exact in zip(found[by], values, strict=True):
                    without = estimate[1:, q]
                    se = np.sqrt((len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum())
                    assert abs(estimate[0, q] - exact) < 4.5 * se + 1e-12, (theta, q, by)
                    assert se < 0.03


@pytest.mark.parametrize("paths", [5, 100])
@pytest.mark.parametrize("by", [None, "g"])
def test_leaving_paths_out_is_what_it_says(paths: int, by: str | None) -> None:
    """The jackknife rows are the estimator without a path, or without a group of them, written out."""
    candidates, drawn = draws(paths)
    rng = np.random.default_rng(0)
    e = rng.random((2, paths, 4)) * candidates.block.valid[:, None, :]
    found = drawn._leaving_out(by, *drawn._sums(e, drawn.starts, by))

    def estimate(q: int, keep: np.ndarray) -> tuple[float, float]:
        some, target = e[q, keep], candidates.target[q]
        if by is not None:
            relevant = candidates.grade[q] > 0
            some = np.stack([some[:, :2] @ relevant[:2], some[:, 2:] @ relevant[2:]], axis=1)
            target = np.array([target[:2].sum(), target[2:].sum()])
        n = len(some)
        dots = some @ some.T
        return (dots.sum() - np.trace(dots)) / (n * (n - 1)), some.mean(axis=0) @ target

    parts = [np.arange(paths), *(np.delete(np.arange(paths), g) for g in np.split(np.arange(paths), drawn.starts[1:]))]
    for q in range(2):
        want = [estimate(q, keep) for keep in parts]
        assert found[0][:, q] == pytest.approx([w[0] for w in want])
        assert found[1][:, q] == pytest.approx([w[1] for w in want])


@pytest.mark.parametrize("theta", [0.7, 0.2])
def test_paths_have_the_marginals_of_rank_transposition(theta: float) -> None:
    """A path that came by way of another theta is still a draw of this one."""
    _, drawn = draws(20_000)
    order = np.tile(np.arange(4, dtype=np.int32), (20_000, 1))
    length = np.full(len(order), 4)
    before = 1.0
    for now in (0.9, theta):
        _swap(order, drawn._further(before, now, len(order)), length, drawn.rng)
        before = now
    found = np.stack([(order == d).mean(axis=0) for d in range(4)])
    assert found == pytest.approx(transposition_marginals(4, theta), abs=4.5 * np.sqrt(0.25 / len(order)))


def test_long_walks_keep_their_parity() -> None:
    steps = np.array([3, 10, 11, 10**15, 10**15 + 1])
    assert _capped(steps, np.full(5, 10)).tolist() == [3, 10, 11, 10, 11]


def test_the_result_says_what_was_drawn_and_how_sure_it_is() -> None:
    rng = np.random.default_rng(5)
    run = {f"q{q}": {f"d{i}": float(9 - i) for i in range(8)} for q in range(30)}
    qrels = {f"q{q}": {f"d{i}": int(g) for i, g in enumerate(rng.integers(0, 2, 8))} | {"d9": 1} for q in range(30)}
    c = lm.load({"a": run}, qrels)
    result = lm.sweep(c, ["PlackettLuce", "RankTransposition"], "Cascade(p=0.5, u=0.5)", resamples=50)
    assert result.conventions["exact"] == "PlackettLuce with Cascade(p=0.5, u=0.5)"
    told = result.conventions["drawn"]
    assert told.startswith("RankTransposition with Cascade(p=0.5, u=0.5): ")
    assert "standard error" in told
    curve = result.find("RankTransposition")
    errors = curve.error()
    assert errors is not None
    assert max(e.max() for e in errors) <= 2e-3
    assert max(e[[0, -1]].max() for e in errors) < 1e-12  # the ends are exact
    assert curve.area().se > 0
    assert result.find("PlackettLuce").area().se is None
    assert curve.mean[0][-1] == pytest.approx(1.0)
    assert curve.longest_step < 0.02
    table = result.curve().filter(pl.col("policy") == "RankTransposition")
    assert table["se"].null_count() == 0
    per_query = result.per_query(points=True)
    assert set(per_query["measure"]) == {
        "disparity",
        "relevance",
        "EED",
        "EER",
        "EEAUC",
        "EEAUC_frontier",
        "EEAUC_share",
    }


def test_errors_of_areas_cover_other_seeds() -> None:
    c = lm.load({"a": RUN}, QRELS)
    found = [lm.sweep(c, "RankTransposition", USER, samples=24, resamples=2, rng=seed).curves[0] for seed in range(20)]
    middle, told = len(found[0].points.parameter) // 2, [curve.points.sampled for curve in found]
    areas = [curve.area() for curve in found]
    for values, errors in (
        ([a.value for a in areas], [a.se for a in areas]),
        ([k.query_areas[1] for k in found], [s.area[1] for s in told if s]),  # it hardly turns back
        ([k.query_areas[0] for k in found], [s.area[0] for s in told if s]),  # it does
        ([k.points.eed[0, middle] for k in found], [s.eed[0, middle] for s in told if s]),
        ([k.points.eer[0, middle] for k in found], [s.eer[0, middle] for s in told if s]),
    ):
        assert np.std(values, ddof=1) == pytest.approx(np.mean(errors), rel=0.5)  # of 20 values it is known to 16%


def test_drawn_rankings_follow_the_seed_alone() -> None:
    c = lm.load({"a": RUN}, QRELS)
    one, two, other = (
        lm.sweep(c, "RankTransposition", USER, samples=5, resamples=5, rng=seed).frame() for seed in (1, 1, 2)
    )
    assert one.equals(two)
    assert not one.equals(other)


def test_each_query_has_paths_of_its_own() -> None:
    """Of two documents a path is known by how often it swaps them: like queries that share paths come out alike."""
    c = lm.load({"a": {q: {"r": 2.0, "n": 1.0} for q in "pqrs"}}, {q: {"r": 1} for q in "pqrs"})
    for cells in (1, 1 << 20):  # one query at a time, and all at once
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("lightmeter.sweeping.sampled.CELLS", cells)
            eer = lm.sweep(c, "RankTransposition", USER, samples=40, resamples=2).curves[0].points.eer
        off = eer[:, 5:-5:10] - eer[:, 5:-5:10].mean(axis=1, keepdims=True)
        assert len({tuple(row) for row in off.round(12).tolist()}) == 4


def test_errors_of_queries_are_independent() -> None:
    """Of 60 queries that are alike: the error of their mean is a 60th, in squares, of what theirs is."""
    many = [f"q{i}" for i in range(60)]
    c = lm.load({"a": {q: {"r": 2.0, "n": 1.0} for q in many}}, {q: {"r": 1} for q in many})
    ranked, _ = Ranked.of(c, c.runs["a"], "docno")
    candidates = Candidates(Context(c, {"a": ranked}), ranked, np.arange(60), USER, None, [None])
    thetas = np.array([0.7, 0.4])
    truth = [exactly(np.array([0.36, 0.9]), x)[0] * candidates.target[0, 0] for x in thetas]
    ratios = []
    for seed in range(20):
        drawn = Draws(candidates, USER, None, 40, np.random.default_rng(seed))
        for right, found in zip(truth, drawn.at(thetas, [None]), strict=True):
            eer = found[None][1][0]
            ratios.append((eer.mean() - right) ** 2 / (eer.var(ddof=1) / 60))
    assert 0.4 < np.mean(ratios[::2]) < 2  # squares of 20 standard normal numbers
    assert 0.4 < np.mean(ratios[1::2]) < 2


def test_a_reader_who_minds_no_document_agrees_with_the_closed_form() -> None:
    """Cascade with u = 0 is RBP: what is drawn is corrected to what is known, exactly."""
    c = lm.load({"a": RUN}, QRELS)
    drawn = lm.sweep(c, "RankTransposition", "Cascade(p=0.5, u=0)", samples=3, resamples=2).curves[0].points
    for place, theta in enumerate(drawn.parameter[1:-1], start=1):
        exact = lm.evaluate(c, ["EED(user=RBP(p=0.5))"], policy=lm.RankTransposition(theta=theta))
        assert drawn.eed[:, place] == pytest.approx(exact.values("EED(user=RBP(p=0.5))"), abs=1e-12)


def test_a_cutoff_ends_what_is_seen_of_drawn_rankings() -> None:
    c = lm.load({"a": RUN}, QRELS)
    ranked, _ = Ranked.of(c, c.runs["a"], "docno")
    user = lm.Cascade(p=0.5, u=0)
    candidates = Candidates(Context(c, {"a": ranked}), ranked, np.array([0, 1]), user, 2, [None])
    thetas = np.array([0.7, 0.1])
    found = Draws(candidates, user, 2, 3, np.random.default_rng(0)).at(thetas, [None])
    for theta, one in zip(thetas, found, strict=True):
        want = lm.evaluate(c, ["EED(user=RBP(p=0.5))@2"], policy=lm.RankTransposition(theta=theta))
        assert one[None][0][0] == pytest.approx(want.values("EED(user=RBP(p=0.5))@2"), abs=1e-12)


def test_long_walks_are_cut_where_all_that_is_left_is_their_parity(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then 1 - 2/(n-1), the largest eigenvalue of a swap of two of n but for 1 and -1, is raised to nothing."""
    seen: list[np.ndarray] = []

    def capped(steps: np.ndarray, enough: np.ndarray) -> np.ndarray:
        seen.append(enough)
        return _capped(steps, enough)

    monkeypatch.setattr("lightmeter.sweeping.sampled._capped", capped)
    _, drawn = draws(50)
    walked = np.zeros(100, dtype=np.int64)
    further = drawn._further

    def count(before: float, theta: float, size: int) -> np.ndarray:
        gone = further(before, theta, size)
        walked[:] += gone
        return gone

    monkeypatch.setattr(drawn, "_further", count)
    monkeypatch.setattr(drawn, "_estimates", lambda order, *_: order.copy())
    for order in drawn.at(np.array([0.5, 1e-3, 1e-6, 1e-7]), [None]):
        inversions = sum(order[:, i] > order[:, j] for i, j in itertools.combinations(range(4), 2))
        assert (inversions % 2 == walked % 2).all()  # a swap changes the parity
    for n in (3, 4):
        assert ((1 - 2 / (n - 1)) ** seen[0][np.repeat(drawn.lengths, 50) == n] < 1e-15).all()


def test_nobody_waits_for_the_end_of_the_longest_walk() -> None:
    _, drawn = draws(3)
    assert drawn._further(0.5, 1e-300, 6).tolist() == [10**15] * 6
    assert drawn._further(1.0, 1.0, 6).tolist() == [0] * 6
