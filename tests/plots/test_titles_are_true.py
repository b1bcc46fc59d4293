"""What titles claim is so, whatever the data: ties, turns, losses, and measures of which neither way is better."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.findings.curves import _compared
from lightmeter.findings.language import counts, course, margin_of
from lightmeter.findings.leaning import leaning_finding
from lightmeter.plots.agreement import tau_finding
from lightmeter.plots.arrows import _effect, arrow_finding
from lightmeter.plots.cutoffs import _mean_gap
from lightmeter.plots.cutoffs import finding as cutoffs_finding
from lightmeter.plots.exposure import exposure_finding
from lightmeter.plots.scores import _apart, _best
from lightmeter.plots.scores import finding as scores_finding
from lightmeter.plots.significance import pair_finding, power_finding
from lightmeter.plots.tradeoff import run_finding

#: Few values, so that there are many ties.
STEP = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9])
SIGNED = st.sampled_from([-0.9, -0.2, -1e-5, 0.0, 1e-5, 0.2, 0.9])
UP, DOWN, NEITHER = lm.ERR(), lm.EED(), lm.DeltaGF(by="side", positive="f")


@given(st.lists(STEP, min_size=2, max_size=9))
def test_course_tells_ends_and_turns(value: list[float]) -> None:
    way, told = course(np.array(value))
    numbers = [float(n) for n in re.findall(r"\d\.\d+|\d+", told)]
    start, end, low, high = value[0], value[-1], min(value), max(value)
    if way == "stays":
        assert low == high
    elif way == "rises and falls":
        assert numbers == [low, high, start, end]
        assert low < min(start, end) <= max(start, end) < high
    elif "then" in way:
        turn = high if way.startswith("rises") else low
        assert numbers == [start, turn, end]
        assert (turn > max(start, end)) if way.startswith("rises") else (turn < min(start, end))
    else:
        assert numbers == [start, end]
        assert (start < end) == way.startswith("rises")
        steps = np.diff(value) * (1 if end > start else -1)
        assert ("ups and downs" in way) == bool((steps < 0).any())


@given(st.lists(st.tuples(STEP, SIGNED), min_size=1, max_size=7), st.sampled_from([UP, DOWN, NEITHER]))
def test_best_run_is_best(points: list[tuple[float, float]], other: Any) -> None:
    rows = [(f"r{i}", x, y, 0.5 * x + 0.5 * y) for i, (x, y) in enumerate(points)]
    frame = pl.DataFrame(rows, schema=["label", "x", "y", "both"], orient="row")
    told = run_finding(frame, lm.RR(), other, None).split(". ")[0]
    if len(points) == 1:
        assert told.startswith("r0 has RR")
        return
    y = frame["y"].to_numpy()
    merit = {"RR": frame["x"].to_numpy(), "EED": -y, "ERR": y, "DeltaGF": -np.abs(y)}
    word = {"RR": "best", "EED": "best", "ERR": "best", "DeltaGF": "most balanced"}
    seen = set()
    for part in told.split("; "):
        names = [m for m in ("RR", type(other).__name__) if re.search(rf"\b{m}\b", part)]
        runs = re.findall(r"r\d", part) or frame["label"].to_list()
        for name in names:
            seen.add(name)
            measure, column = (lm.RR(), "x") if name == "RR" else (other, "y")
            behind = merit[name].max() - merit[name]
            least = margin_of(measure, frame[column].to_list())
            leaders = {r for r, d in zip(frame["label"], behind, strict=True) if not counts(d, least)}
            about = [d for r, d in zip(frame["label"], behind, strict=True) if r in leaders]
            assert ("about the same" in part) == any(about)
            assert set(runs) == leaders or (" other" in part and set(runs) < leaders)
            if not part.lower().startswith("all runs"):
                assert word[name] in part or word["RR"] in part
    assert seen == {"RR", type(other).__name__}
    if other is NEITHER:
        assert "best DeltaGF" not in told


@given(st.lists(st.tuples(SIGNED, SIGNED), min_size=2, max_size=2), st.sampled_from([(UP, DOWN), (UP, NEITHER)]))
def test_one_arrow_says_what_it_does(ends: list[tuple[float, float]], measures: tuple[Any, Any]) -> None:
    (x, y), (x2, y2) = ends
    one, two = measures
    directed = two is not NEITHER
    sign = -1.0 if two is DOWN else 1.0
    least = margin_of(one), margin_of(two)
    moved = pl.DataFrame([{"before": "a", "after": "b", "effect": _effect(x2 - x, sign * (y2 - y), directed, least)}])
    told = arrow_finding(moved, {"a": (x, y), "b": (x2, y2)}, {"a": "a", "b": "b"}, one, two, least)
    _, *parts = re.split(r"\b(improves|hurts|raises|lowers|hardly changes)\b", told)
    claimed = {
        m: verb for verb, what in zip(parts[::2], parts[1::2], strict=True) for m in re.findall(r"[A-Z]\w+", what)
    }
    for name, change in (("ERR", x2 - x), (type(two).__name__, sign * (y2 - y))):
        up, down = ("improves", "hurts") if directed else ("raises", "lowers")
        if abs(change) < 0.01:
            assert claimed[name] == "hardly changes"
        else:
            assert claimed[name] == (up if change > 0 else down)


@given(st.lists(SIGNED, min_size=1, max_size=7), st.booleans())
def test_leaning_counts_both_sides(values: list[float], by_query: bool) -> None:
    values = sorted(values, reverse=True)
    names = [f"n{i}" for i in range(len(values))]
    frame = pl.DataFrame({"name": names, "value": values})
    run = "the run" if by_query else None
    told = leaning_finding(frame, "f", "m", run, dict(zip(names, names, strict=True)), (0.05, 0.02))
    plus, minus = sum(v > 0.05 for v in values), sum(v < -0.05 for v in values)
    if plus == minus == 0:
        assert "about even" in told
        return
    for side, many in (("f", plus), ("m", minus)):
        if re.search(rf"Every run leans to {side}\b", told) or re.fullmatch(rf"n0 leans to {side} \(.*\)", told):
            assert many == len(values)
        elif found := re.search(rf"(\d+) of \d+ runs? leans? to {side}\b|, (\d+) to {side}\b", told):
            assert int(found[1] or found[2]) == many
        elif found := re.search(rf"to {side} on (\d+)", told):
            assert int(found[1]) == many
        else:
            assert many == 0
    if found := re.search(r"(n\d) the most", told):
        size = sorted(values if plus >= minus else [-v for v in values])
        assert (values if plus >= minus else [-v for v in values])[names.index(found[1])] == size[-1]
        assert size[-1] > size[-2]


@given(st.integers(1, 6), st.sampled_from([2, 3]), st.data())
def test_exposure_names_the_ends(runs: int, groups: int, data: Any) -> None:
    rows = [(f"r{i}", f"g{j}", data.draw(STEP)) for i in range(runs) for j in range(groups)]
    frame = pl.DataFrame(rows, schema=["run", "name", "value"], orient="row")
    frame = frame.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    told = exposure_finding(frame, "exposure")
    value = {(r, g): v for r, g, v in rows}

    def extremes(run: str) -> tuple[float, float]:
        mine = [value[run, f"g{j}"] for j in range(groups)]
        return min(mine), max(mine)

    if told.startswith("Which"):
        run, most, least = re.search(r"in (r\d) \((g\d) and (g\d)", told).groups()  # type: ignore[union-attr]
        assert (value[run, least], value[run, most]) == extremes(run)
        assert value[run, most] - value[run, least] == max(b - a for a, b in map(extremes, {r for r, _, _ in rows}))
        return
    for part in told.split("; "):
        who = re.findall(r"r\d", part) or (["r0"] if runs == 1 else [])
        assert who
        top, _, rest = part.partition(" the most " if groups == 3 else " than ")
        bottom = rest.split(" the least")[0] if groups == 3 else rest.split(" in ")[0]
        for run in who:
            low, high = extremes(run)
            if named := re.findall(r"g\d", top):
                assert {value[run, g] for g in named} == {high}
                assert {value[run, g] for g in re.findall(r"g\d", bottom)} == {low}
                assert low < high
                if "other" not in part:
                    assert len(named) == sum(value[run, f"g{j}"] == high for j in range(groups))
            else:
                assert part.lower().startswith("all groups are about equal")
                assert low == high
    if "others" not in told and " other" not in told:
        assert len(re.findall(r"r\d", told)) == (runs if runs > 1 else 0)


@given(st.integers(2, 5), st.data())
def test_best_means_are_the_best(runs: int, data: Any) -> None:
    measures = {"ERR": UP, "EED(user=RBP(p=0.5))": DOWN, str(NEITHER): NEITHER}
    rows = [(m, f"r{i}", data.draw(STEP)) for m in measures for i in range(runs)]
    frame = pl.DataFrame(rows, schema=["measure", "run", "value"], orient="row")
    best = {m: _best(frame.filter(pl.col("measure") == m), one) for m, one in measures.items()}
    apart = {m for m, one in measures.items() if _apart(frame.filter(pl.col("measure") == m), one, best[m])}
    told = scores_finding(best, measures, {f"r{i}": f"r{i}" for i in range(runs)}, apart)
    assert "DeltaGF" not in told
    alone: dict[str, int] = {}
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, sign in (("ERR", 1), ("EED(user=RBP(p=0.5))", -1)):
        mine = {r: sign * v for m, r, v in rows if m == name}
        leaders = [r for r, v in mine.items() if v == max(mine.values())]
        if len(leaders) == 1:
            alone[leaders[0]] = alone.get(leaders[0], 0) + 1
        else:
            shared.setdefault(tuple(leaders) if len(leaders) < runs else ("all",), []).append(name[:3])
    if list(shared) == [("all",)] and not alone:
        assert told == "All runs are about the same by all 2 measures"
        return
    for part in told.split("; "):
        who = tuple(re.findall(r"r\d", part))
        by = re.findall(r"\b(ERR|EED)\b", part)
        if "about the same" in part:
            if " other" not in part:
                assert shared[who or ("all",)] == by
        elif " by " in part:
            assert {alone[r] for r in who} == {int(re.search(r"by (\d)", part)[1])}  # type: ignore[index]
            assert ("of 2 measures that have a best" in part) == ("has the best" in part or "have the best" in part)
        else:
            assert {alone[r] for r in who} == {2}
    assert all(r in told for r in alone)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 4)), min_size=1, max_size=3, unique_by=lambda r: r[0]))
def test_power_counts(rows: list[tuple[str, int]]) -> None:
    rows = sorted(rows, key=lambda r: -r[1])
    frame = pl.DataFrame([(n, s, 4) for n, s in rows], schema=["name", "significant", "pairs"], orient="row")
    told = power_finding(frame)
    most, least = rows[0][1], rows[-1][1]
    if "the most pairs" in told:
        assert f"{most} of 4" in told
        assert told.endswith(f"the fewest: {least}")
        assert most > least
    else:
        assert most == least
        assert told.startswith("No measure") == (most == 0 and len(rows) > 1) or len(rows) == 1


@given(
    st.lists(
        st.tuples(st.sampled_from("ABCD"), st.sampled_from([0.001, 0.04, 0.3])), min_size=1, unique_by=lambda r: r[0]
    )
)
def test_one_pair_of_runs(rows: list[tuple[str, float]]) -> None:
    frame = pl.DataFrame([(n, p, int(p < 0.05)) for n, p in rows], schema=["name", "p", "significant"], orient="row")
    told = pair_finding(frame, "x and y")
    apart, rest = ([n for n, p in rows if (p < 0.05) == side] for side in (True, False))
    if not apart:
        assert told == (
            "No measure tells x and y apart" if len(rows) > 1 else f"{rows[0][0]} does not tell x and y apart"
        )
    else:
        yes, _, no = told.partition(" x and y apart")
        assert set(re.findall(r"\b[A-D]\b", yes)) <= set(apart)
        assert set(re.findall(r"\b[A-D]\b", no)) <= set(rest)
        assert bool(no) == bool(rest)


@given(st.lists(st.tuples(STEP, STEP).filter(lambda p: sum(p) <= 1), min_size=1, max_size=4))
def test_curves_are_counted(above: list[tuple[float, float]]) -> None:
    told = _compared("A", "B", above, 2, "run")
    a, b = sum(x > 0.5 for x, _ in above), sum(y > 0.5 for _, y in above)
    if all(max(pair) == 0 for pair in above):
        assert told == "A and B give about the same relevance at every disparity"
    elif found := re.search(r"(\w) gives more relevance than (\w) at most disparities for (\d) of", told):
        assert int(found[3]) == {"A": a, "B": b}[found[1]] == max(a, b)
    elif told.startswith("Neither"):
        assert a == b == 0
    else:
        winner = told[0]
        assert {"A": a, "B": b}[winner] == len(above)
        if "every disparity" in told:
            assert all(pair["AB".index(winner)] == 1 for pair in above)


def test_tau_of_ties_names_all() -> None:
    rows = [("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 1.0), ("a", "d", -0.5), ("b", "d", -0.5), ("c", "d", -0.5)]
    frame = pl.DataFrame(rows, schema=["a", "b", "tau"], orient="row")
    assert tau_finding(frame) == (
        "a, b and c order the runs most alike (tau 1.00), d and each of 3 others least (tau -0.50)"
    )
    same = frame.with_columns(tau=pl.lit(0.8))
    assert tau_finding(same) == "All pairs of measures order the runs about as much alike (tau 0.80)"
    assert tau_finding(frame.head(1).with_columns(tau=pl.lit(-0.9))) == (
        "Kendall's tau of the orders by a and b is -0.90"
    )


def cut(group: str, high: float, value: float = 0.9) -> pl.DataFrame:
    rows = [(group, "a", k, value, value - 0.3, high, 1.0) for k in (10, 20, 40)]
    return pl.DataFrame(rows, schema=["group", "reference", "cutoff", "value", "low", "high", "even"], orient="row")


def test_how_far_a_group_is_from_equal_is_told_where_it_has_a_band() -> None:
    wild = cut("few", 1.2, 0.9).vstack(
        pl.DataFrame([("few", "a", 5, 9.0, None, None, 1.0)], schema=cut("few", 1.2).schema, orient="row")
    )
    assert _mean_gap(wild) == pytest.approx(-0.1)
    assert _mean_gap(wild.filter(pl.col("low").is_null())) == pytest.approx(8.0)


def test_a_gap_beyond_chance_comes_before_a_wider_one_of_chance() -> None:
    frame = pl.concat([cut("noisy", 1.4, 0.5), cut("sure", 0.95, 0.9), cut("even", 1.3, 1.0)])
    told = cutoffs_finding(frame, True, ["noisy", "sure", "even"])
    assert told == "Beyond chance, sure has less exposure than a at every cutoff"
    assert cutoffs_finding(cut("even", 1.3, 1.0), True, ["even"]) == "even has the same exposure as a at every cutoff"


@pytest.mark.parametrize(("high", "words"), [(0.3, "(2.00 times)"), (0.45, "(2.00 times, intervals overlap)")])
def test_intervals_that_overlap_are_told(high: float, words: str) -> None:
    frame = pl.DataFrame(
        {"run": ["r"] * 2, "name": ["a", "b"], "value": [0.4, 0.2], "low": [0.35, 0.1], "high": [0.5, high]}
    )
    assert exposure_finding(frame, "exposure") == f"Group a gets more exposure than b {words}"
