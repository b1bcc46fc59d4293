"""Where points of a curve are put, in which coordinates, and what is taken for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.exposure.transposition import staying
from lightmeter.sweeping.families import LuceFamily, TranspositionFamily
from lightmeter.sweeping.points import _rising
from lightmeter.sweeping.refining import refine, unstable, wide
from lightmeter.sweeping.scale import Scale

RAW = LuceFamily("raw", lm.PlackettLuce(scores="raw"))
NAN = np.nan


def spread(top: float) -> np.ndarray:
    """Two lists with a standard deviation of 0.5, and one that reaches far."""
    return np.array([[0.0, 1.0], [0.0, 1.0], [0.0, top]])


def test_scores_are_refused_where_no_alpha_suits_them_all() -> None:
    assert RAW.fitted(spread(1e279)) == LuceFamily("raw", RAW.term, 0.5)  # 2e279 standard deviations
    with pytest.raises(lm.LightmeterError, match="has no scale"):
        RAW.fitted(spread(1e281))
    run = {q: {"r": s, "n": 0.0} for q, s in (("a", 1.0), ("b", 1.0), ("c", 1e281))}
    c = lm.load({"x": run}, {q: {"r": 1} for q in run})
    with pytest.raises(lm.LightmeterError, match="scores='zscore' or 'minmax'"):
        lm.sweep(c, "PlackettLuce(scores='raw')")
    assert lm.sweep(c, "PlackettLuce", resamples=2).curves[0].area().n == 3


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([[0, 2], [0, 4], [0, 20]], 2.0),  # standard deviations 1, 2, 10
        ([[0, 2, NAN], [0, 4, NAN], [NAN, NAN, NAN]], 1.5),
        ([[3, 3], [-5, -5]], 5.0),  # all tied: the largest log-weight
        ([[0, 0]], 1.0),
        ([[1e308, -1e308]], 1e308),  # the standard deviation overflows
        ([[NAN, NAN]], 1.0),
    ],
)
def test_alpha_is_told_in_units_of_the_scores(scores: list[list[float]], scale: float) -> None:
    fitted = RAW.fitted(np.array(scores, dtype=float))
    assert isinstance(fitted, LuceFamily)
    assert fitted.scale == pytest.approx(scale)
    by_z = LuceFamily("z", lm.PlackettLuce())
    assert by_z.fitted(np.array(scores, dtype=float)) is by_z


def test_coordinates_of_alpha() -> None:
    """Even up to 1e-2 of the spread, then a decade each 0.07 up to 1e12; from 0.99 on there is only the static end."""
    t = np.array([0.0, 1e-305, 0.005, 0.01, 0.15, 0.5, 0.99, 0.995, 1.0])
    want = [0.0, 1e-300, 0.005, 0.01, 1.0, 1e5, 1e12, 1e12, np.inf]
    assert LuceFamily("z", lm.PlackettLuce()).parameters(t) == pytest.approx(want, rel=1e-9, abs=0)
    assert LuceFamily("z", lm.PlackettLuce(), 4.0).parameters(t[3:6]) == pytest.approx([0.0025, 0.25, 25e3])


@pytest.mark.parametrize("length", [2, 3, 7, 100])
def test_coordinates_of_theta_are_the_weight_of_the_ranking(length: int) -> None:
    family = TranspositionFamily("RankTransposition", length)
    t = np.array([0.0, 1e-3, 0.3, 0.9, 1.0])
    theta = family.parameters(t)
    assert (theta[0], theta[-1]) == (0.0, 1.0)
    assert [staying(np.array([length]), x)[0] for x in theta[1:]] == pytest.approx(t[1:])
    assert [family.weight(x, np.array([length]))[0] for x in theta[1:]] == pytest.approx(t[1:])


@pytest.mark.parametrize(
    ("lengths", "length"), [([1, 1, 1], 2), ([2, 5, 9], 5), ([5, 9, 9], 9), ([], 2)]
)  # the median of the lists, of two documents at least
def test_theta_suits_the_list_in_the_middle(lengths: list[int], length: int) -> None:
    score = np.where(np.arange(10) < np.array(lengths, dtype=int)[:, None], 1.0, NAN)
    fitted = TranspositionFamily("RankTransposition").fitted(score.reshape(-1, 10))
    assert fitted == TranspositionFamily("RankTransposition", length)


def scale_of(uniform: list[float], static: list[float]) -> Scale:
    n = len(static)
    reason, no = np.full(n, None, dtype=object), np.zeros(n, dtype=bool)
    return Scale(np.array(uniform), np.array(static), np.ones(n), reason, no, np.ones(n), True)


def test_what_is_a_range_and_what_is_rounding() -> None:
    """A share of 1e-12, whatever the size of EED."""
    low = [1 - 1e-13, 1 - 1e-11, 1e6 - 1e-7, 1e6 - 1e-5, 0.5e-20, 1.1, NAN, 0.0]
    high = [1.0, 1.0, 1e6, 1e6, 1e-20, 1.0, NAN, 0.0]
    want = [False, True, False, True, True, False, False, False]
    scale = scale_of(low, high)
    assert scale.ranged.tolist() == want
    x = scale.disparity(np.array(high)[:, None])[:, 0]
    assert np.where(np.isnan(x), NAN, x) == pytest.approx([1.0 if w else NAN for w in want], nan_ok=True)
    of_mean = Scale.rescaled(np.array(high), np.array(low), np.array(high))
    assert of_mean == pytest.approx([1.0 if w else NAN for w in want], nan_ok=True)


def test_how_much_too_long_steps_are() -> None:
    """0.0185 of x, or 0.03 of its root; coordinates that are one have no step."""
    t = np.array([0.0, 0.1, 0.2, 0.2 + 1e-10])
    assert wide(t, np.array([0.0, 0.0036, 0.0406, 0.9])) == pytest.approx(
        [2.0, max(2.0, (0.0406**0.5 - 0.06) / 0.03), 0]
    )
    assert wide(t[:3], np.array([0.5, 0.518, 0.4])) == pytest.approx([0.018 / 0.0185, 0.118 / 0.0185])
    assert wide(t[:2], np.array([-1e-17, 0.0]))[0] < 1e-9


X = np.linspace(0.0, 1.0, 5)


@pytest.mark.parametrize(
    ("y", "want"),
    [
        ([0, 3.9e-4, 0, 0, 0], []),  # an area of 0.975e-4 hangs on one point
        ([0, 4.1e-4, 0, 0, 0], [0, 1]),  # 1.025e-4: the steps on both sides of it
        ([0, -4.1e-4, 0, 0, 0], [0, 1]),
        ([0, 0, 0, 4.1e-4, 0], [2, 3]),
        ([0, 1, 0, 0.4, 0], [0, 1, 2, 3]),  # half the mean is 0.35
        ([0, 1, 0, 0.3, 0], [0, 1]),  # half the mean is 0.325
        ([0, 0.25, 0.5, 0.75, 1], []),
    ],
)
def test_steps_are_halved_where_the_area_hangs_on_them(y: list[float], want: list[int]) -> None:
    assert np.flatnonzero(unstable(X, np.array(y, dtype=float), False)).tolist() == want


def test_few_points_hang_on_nothing() -> None:
    assert unstable(X[:4], np.array([0.0, 1, 0, 1]), False).tolist() == [False] * 3


def test_a_curve_that_turns_back_is_judged_by_its_largest_relevance() -> None:
    """What is below the envelope plays no part in the area."""
    x, y = np.array([0.0, 0.5, 1.0, 0.5, 0.25, 0.5, 1.0]), np.array([1.0, 1, 1, 0, 0.9, 0, 1])
    assert not unstable(x, y, True).any()
    assert unstable(x, y, False).any()


def refined(x: object, y: object, last: float = 1.0, **more: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    asked: list[np.ndarray] = []

    def compute(t: np.ndarray) -> None:
        asked.append(t)
        assert len(asked) < 100, "it goes on for ever"

    t = refine(
        np.array([0.0, 0.25, 0.5, 0.75, 1.0]),
        last,
        compute,
        lambda t: [(x(t), y(t))],  # type: ignore[operator]
        [more.get("envelope", False)],
    )
    return t, asked


def test_points_are_added_until_steps_are_short() -> None:
    t, asked = refined(lambda t: t, lambda t: t)
    assert np.diff(t).max() <= 0.0185
    assert np.diff(np.sqrt(t)).max() <= 0.03
    assert len(t) < 120
    assert sorted(np.concatenate(asked)) == t.tolist()  # each is computed once
    half, _ = refined(lambda t: t, lambda t: t, last=0.5)
    assert half[half > 0.5].tolist() == [0.75, 1.0]
    assert half[half <= 0.5].tolist() == t[t <= 0.5].tolist()


def test_points_are_added_where_the_area_needs_them() -> None:
    def bump(t: np.ndarray) -> np.ndarray:
        return np.exp(-(((t - 0.503) / 0.004) ** 2))

    t, _ = refined(lambda t: t, bump)
    assert np.trapezoid(bump(t), t) == pytest.approx(0.004 * np.sqrt(np.pi), abs=1e-4)
    assert len(t) < 150


def test_a_jump_is_not_closed_for_ever() -> None:
    t, _ = refined(lambda t: (t > 0.3).astype(float), lambda t: t)
    assert len(t) < 130
    assert np.diff(t).min() < 1e-8
    back, _ = refined(lambda t: np.where(t > 0.3, 1 - t, t), lambda t: (t > 0.3).astype(float))
    assert len(back) < 200


def test_first_points_of_drawn_curves_rise_in_short_steps() -> None:
    t = _rising()
    assert (t[0], t[-1]) == (0.0, 1.0)
    assert np.diff(t**2).max() <= 0.015 + 1e-12
    assert np.diff(t).max() <= 0.03 + 1e-12
    assert len(t) <= 80
