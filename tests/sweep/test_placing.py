"""Where points of a curve are put, in which coordinates, and what is taken for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.exposure.transposition import staying
from lightmeter.sweeping.areas import envelope_area
from lightmeter.sweeping.candidates import Scale
from lightmeter.sweeping.families import LuceFamily, TranspositionFamily
from lightmeter.sweeping.points import _rising, errors, lost, refine, unstable, wide

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


def circle(t: np.ndarray) -> np.ndarray:
    return np.array([[np.sin(1.5 * t), 1.0 - np.cos(1.5 * t)]])


def encloses(t: np.ndarray) -> np.ndarray:
    """Area between each chord and its arc of the unit circle."""
    angle = 1.5 * np.diff(t)
    return (angle - np.sin(angle)) / 2.0


@pytest.mark.parametrize("power", [0.8, 1.0, 1.5])  # steps of one length, falling or rising ones
def test_what_straight_lines_leave_out_of_an_arc(power: float) -> None:
    t = np.linspace(0.0, 1.0, 60) ** power
    x, y = circle(t)[0][:, None] * 1.0
    found, want = lost(t, x, y, False)[0], encloses(t)
    assert found.shape == want.shape
    assert found[3:] == pytest.approx(want[3:], rel=0.03)
    assert (found >= 0.97 * want).all()


def test_only_what_is_between_0_and_1_counts() -> None:
    t = np.linspace(0.0, 1.0, 60)
    (x, y), whole = circle(t)[0][:, None], lost(t, *circle(t)[0][:, None], False)[0]
    assert lost(t, x + 2.0, y, False)[0].tolist() == lost(t, x - 2.0, y, False)[0].tolist() == [0.0] * 59
    moved = lost(t, x - x[:, 10:11] + np.diff(x[:, 9:11]) / 4.0, y, False)[0]  # a quarter of the tenth step is inside
    assert moved[:10] == pytest.approx([0.0] * 9 + [whole[9] / 4.0])
    assert moved[11:] == pytest.approx(whole[11:])
    up = lost(t, 0.0 * x + np.array([[0.5], [1.0], [1.5]]), np.vstack([y, y, y]), False)
    assert not up.any()


@pytest.mark.parametrize(
    ("x", "y", "want"),
    [
        ([0, 0, 0.4, 0.4, 1], [0, 0, 0.2, 0.2, 0.2], 0.02),  # it stands still on both sides: half the triangle
        ([0, 0.07, 0.47, 0.54, 1], [0, 0, 0.2, 0.2, 0.2], 0.02),  # all but still
        ([0, 0.09, 0.49, 0.58, 1], [0, 0, 0.2, 0.2, 0.2], 0.0015),  # both triangles are 0.009
        ([0, 0.2, 0.4, 0.4, 1], [0, 0, 0.2, 0.2, 0.2], 0.02 / 6),  # what is to the left says what it is
        ([0, 0, 0.4, 0.6, 1], [0, 0, 0.2, 0.2, 0.2], 0.02 / 6),
    ],
)
def test_where_neighbours_tell_nothing_the_curve_may_go_any_way(x: list[float], y: list[float], want: float) -> None:
    t = np.linspace(0.0, 0.1, 5)
    points = np.array([x], dtype=float), np.array([y], dtype=float)
    assert lost(t, *points, False)[0, 1] == pytest.approx(want)
    assert lost(10.0 * t, *points, False)[0, 1] == pytest.approx(
        (x[2] - x[1]) * (y[2] - y[1]) / 4
    )  # nor is it trusted in long steps


def test_how_far_a_curve_goes_that_turns_back() -> None:
    """For an eighth of what it moved, times its height; without that the last area here is 1.1e-4 off."""
    t = np.linspace(0.0, 1.0, 5)
    y = np.array([0.5, 0.7, 0.8, 0.9, 0.6])
    x = np.array([0.5, 0.7, 0.9, 0.8, 0.6])
    plain, more = (lost(t, x[None], y[None], envelope)[0] for envelope in (False, True))
    assert more - plain == pytest.approx([0, 0.2 / 8 * 0.3, 0.1 / 8 * 0.3, 0])  # in proportion to how they move
    beyond = lost(t, x[None] + 0.08, y[None], True)[0] - lost(t, x[None] + 0.08, y[None], False)[0]
    assert beyond == pytest.approx([0, 0.02 * 0.3 * 2 / 3, 0.02 * 0.3 / 3, 0])  # it ends at 1
    assert lost(t, x[None] + 0.2, y[None], True).tolist() == lost(t, x[None] + 0.2, y[None], False).tolist()
    down = lost(t, 1.0 - x[None], y[None], True)[0] - lost(t, 1.0 - x[None], y[None], False)[0]
    assert down == pytest.approx(more - plain)
    assert lost(t, t[None], y[None], True).tolist() == lost(t, t[None], y[None], False).tolist()

    def back(t: np.ndarray) -> np.ndarray:
        return t + 0.37 * np.sin(3.0 * np.pi * t)

    def height(t: np.ndarray) -> np.ndarray:
        return 0.6 + 0.4 * np.sin(5.0 * t)

    fine = np.linspace(0.0, 1.0, 5001)
    t, _ = refined(back, height, envelope=True)
    assert envelope_area(back(t), height(t)) == pytest.approx(envelope_area(back(fine), height(fine)), abs=5e-5)
    assert len(t) < 250


@pytest.mark.parametrize(
    ("error", "want"),
    [
        ([[2e-5, 2.9e-5, 0]], []),  # 5e-5 is what an estimate may come to
        ([[2e-5, 3.1e-5, 0]], [1]),  # a quarter is left
        ([[4e-5, 8e-5, 0]], [0, 1]),
        ([[3e-5, 8e-5, 0]], [1]),
        ([[6e-5, 0, 0], [0, 0, 9e-5], [0, 4e-5, 0]], [0, 2]),
        ([[1e-3, 1e-3, 1e-5]], [0, 1]),  # all that matters, though not enough
        ([[NAN, NAN, NAN], [0, 7e-5, 0]], [1]),
    ],
)
def test_the_fewest_steps_are_halved_that_make_areas_stable(error: list[list[float]], want: list[int]) -> None:
    assert np.flatnonzero(unstable(np.array(error))).tolist() == want


def test_curves_with_unknown_points_and_the_last_step_have_no_error_to_mend() -> None:
    t = np.linspace(0.0, 1.0, 5)
    x, y = np.vstack([t, [0, NAN, 0.2, 0.5, 1]]), np.vstack([t**2, t])
    found = errors(t, x, y, False, 0.75)
    assert np.isnan(found[1]).all()
    assert found[0] == pytest.approx([*lost(t, x, y, False)[0][:3], 0.0])
    assert found[0, 2] > 0


def refined(x: object, y: object, last: float = 1.0, envelope: bool = False) -> tuple[np.ndarray, list[np.ndarray]]:
    """x and y make ``[points]`` of coordinates, or ``[curves, points]``."""
    asked: list[np.ndarray] = []

    def compute(t: np.ndarray) -> None:
        asked.append(t)
        assert len(asked) < 100, "it goes on for ever"

    t = refine(
        np.array([0.0, 0.25, 0.5, 0.75, 1.0]),
        last,
        compute,
        lambda t: [(np.atleast_2d(x(t)), np.atleast_2d(y(t)))],  # type: ignore[operator]
        [envelope],
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


def test_areas_of_queries_are_looked_after_and_their_steps_are_not() -> None:
    def x(t: np.ndarray) -> np.ndarray:
        return np.vstack([t, np.clip((t - 0.4) / 0.05, 0.0, 1.0)])

    straight, _ = refined(x, x)
    assert straight.tolist() == refined(lambda t: t, lambda t: t)[0].tolist()
    t, _ = refined(x, lambda t: np.vstack([t, x(t)[1] ** 2]))
    assert np.trapezoid(x(t)[1] ** 2, x(t)[1]) == pytest.approx(1 / 3, abs=5e-5)
    assert len(straight) < len(t) < len(straight) + 70


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
