"""What pictures compare with what, on which scale, and how sure their means are."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.plots.conftest import DOCS, QRELS, collection, ordered_runs, rows_with, run, title
from tests.plots.test_read_rightly import about, marks, nodes, titles

import lightmeter as lm
from lightmeter import plots
from lightmeter.findings import means
from lightmeter.findings.attention import finding
from lightmeter.findings.leaning import leaning_finding
from lightmeter.plots import theme

LEAN = "DeltaGF(by='side', positive='f', user=RBP(p=0.8))"
MEAN = "MeanExposure(by='side', user=DCG(clip=False))"


def fewer(first: str) -> lm.Result:
    """A run of five documents of which two are ``f``; they or the others stand first."""
    docs = ["f1", "m1", "f2", "m2", "m3"] if first == "f" else ["m1", "m2", "m3", "f1", "f2"]
    c = lm.load(run={"one": {"q": docs, "r": docs}}, groups={"side": {d: d[0] for d in docs}})
    return lm.evaluate(c, ["DeltaGF(by='side', positive='f', user=TopK(k=5))", MEAN])


def test_the_fewer_can_get_more_each_and_less_in_all() -> None:
    made = fewer("f")
    leans, gets = plots.leaning(made, "DeltaGF(by='side', positive='f', user=TopK(k=5))"), plots.exposure(made)
    # both are so, and each picture says why
    assert float(made.values(MEAN, "one", "f")[0]) > float(made.values(MEAN, "one", "m")[0])
    assert title(gets).startswith("side f gets more exposure per member than side m")
    assert "a small group can get more per member and less in all" in about(gets)
    assert "the fewer can get more exposure each, and less in all" in about(leans)


@pytest.mark.parametrize(
    ("user", "where"), [("ERR", "until something relevant is found"), ("RBP(p=0.8)", "before people stop")]
)
def test_leaning_explains_its_ends(user: str, where: str) -> None:
    made = lm.evaluate(collection(one=run(1.0, 1)), f"DeltaGF(by='side', positive='f', user={user})")
    told = about(plots.leaning(made, other="m"))
    assert f"compared: the documents read {where}; 0: balanced, half each, 1: only side f, -1: only side m" in told
    assert "← more side m · mean DeltaGF (0: balanced) · more side f →" in titles(plots.leaning(made, other="m"), "x")


def test_leaning_has_the_ends_of_its_divergence() -> None:
    made = lm.evaluate(collection(one=run(1.0, 1)), "DeltaGF(by='side', positive='f', div=JSD(base='e'), user=RBP)")
    assert "0.693: only side f, -0.693: only" in about(plots.leaning(made))


def test_a_lean_that_may_be_chance_is_told(result: lm.Result) -> None:
    chart = plots.leaning(result, LEAN)
    ends = result.intervals().filter(pl.col("measure") == str(lm.parse(LEAN, kind="measure")))
    unsure = ends.filter(pl.col("low") <= 0, pl.col("high") >= 0)["run"].to_list()
    assert unsure
    told = title(chart)
    even = [r for r in result.runs if abs(float(np.nanmean(result.values(LEAN, r)))) < 0.05]
    assert set(unsure) - set(even)
    assert all(f"'{name}'" in told for name in set(unsure) - set(even))
    assert "hardly to side f" in told
    assert told.endswith(f"hold 0), {len(even)} about even")
    drawn = rows_with(chart, "low", "high", "side")
    hardly = drawn.filter(pl.col("side") == "hardly leans: its interval holds 0 or ends within 0.02 of it")[
        "name"
    ].to_list()
    assert set(hardly) == set(unsure) - set(even)
    assert dict(drawn.select("name", "low").iter_rows()) == dict(ends.select("run", "low").iter_rows())


def test_intervals_of_exposure_are_over_queries(result: lm.Result) -> None:
    chart = plots.exposure(result)
    ends = result.intervals().filter(pl.col("group").is_not_null())
    wanted = {(r, g): (low, high) for r, g, low, high in ends.select("run", "group", "low", "high").iter_rows()}
    drawn = rows_with(chart, "run", "group", "low", "high")
    assert {(r, g): (a, b) for r, g, a, b in drawn.select("run", "group", "low", "high").iter_rows()} == wanted
    assert "black lines: 95% interval over queries" in about(chart)
    # beside each bar they stand in numbers, as they may be too short to be seen
    texts = rows_with(chart, "ends", "low", "high")
    assert texts["ends"].to_list() == [f"{a:.4g} to {b:.4g}" for a, b in texts.select("low", "high").iter_rows()]


def test_scores_and_tradeoff_draw_the_intervals_of_the_result(result: lm.Result) -> None:
    ends = result.intervals().filter(pl.col("measure") == "nDCG@5")
    wanted = dict(zip(ends["run"], zip(ends["low"], ends["high"], strict=True), strict=True))
    shown = rows_with(plots.scores(result), "measure", "low").filter(pl.col("measure") == "nDCG@5")
    assert dict(zip(shown["run"], zip(shown["low"], shown["high"], strict=True), strict=True)) == wanted
    chart = plots.tradeoff(result, "nDCG@5", "EED(user=RBP(p=0.5))")
    drawn = rows_with(chart, "x_low", "x_high")
    assert dict(zip(drawn["name"], zip(drawn["x_low"], drawn["x_high"], strict=True), strict=True)) == wanted
    for told in (about(plots.scores(result)), about(chart)):
        assert "95% interval over queries" in told
        assert "no test" in told
    low, high = next(
        n["encoding"]["x"]["scale"]["domain"] for n in nodes(chart.to_dict()) if "x" in n.get("encoding", {})
    )
    assert low <= min(v for v, _ in wanted.values())
    assert high >= max(v for _, v in wanted.values())


def test_many_runs_have_no_crosses() -> None:
    made = lm.evaluate(collection(**{f"r{i}": run(1.0, i) for i in range(9)}), ["nDCG@5", "RR"])
    assert "intervals are not drawn; no test" in about(plots.tradeoff(made))
    assert not [m for m in marks(plots.tradeoff(made), "rule") if m.get("color") == theme.BLUE]


def test_why_there_is_no_interval_is_told() -> None:
    one = lm.load(
        run={"a": {"q": DOCS}, "b": {"q": DOCS[::-1]}},
        qrels={"q": QRELS["q1"]},
        groups={"side": {"d0": "f", "d1": "m"}},
    )
    made = lm.evaluate(one, ["nDCG@5", "RR", MEAN, LEAN])
    for chart in (plots.scores(made), plots.tradeoff(made), plots.exposure(made), plots.leaning(made)):
        assert "no intervals: one query" in about(chart)


def test_many_queries_take_the_normal_interval(result: lm.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(means, "_MANY", 5)
    made = means.means_over_queries(result, result.measures[:1])
    value = result.values("nDCG@5", "good")
    row = made.filter(pl.col("run") == "good").row(0, named=True)
    half = 1.959964 * float(np.std(value, ddof=1)) / len(value) ** 0.5
    assert (row["low"], row["high"]) == pytest.approx((value.mean() - half, value.mean() + half))


def test_queries_with_weights_have_no_interval() -> None:
    c = lm.load(run={"one": run(1.0, 1)}, qrels=QRELS, sequence=["q0", "q0", "q1", "q2"])
    made = lm.evaluate(c, ["nDCG@5", "RR"])
    assert made.weight is not None
    assert "no intervals: queries have weights" in about(plots.scores(made))


def test_arrows_tell_the_net_change(result: lm.Result) -> None:
    chart = plots.arrows(result, [("good", "poor"), ("poor", "fair")], "nDCG@5", "EED(user=RBP(p=0.5))")
    x = {r: float(np.mean(result.values("nDCG@5", r))) for r in result.runs}
    way = "improves" if x["fair"] > x["good"] else "hurts"
    assert title(chart).split("; in all, from 'good' to 'fair', it ")[1].startswith(f"{way} nDCG@5")
    start, end = f"{x['good']:.3f}", f"{x['fair']:.3f}"
    assert f"in all: nDCG@5 from {start} to {end} ({float(end) - float(start):+.3f}), EED" in about(chart)
    apart = plots.arrows(result, [("good", "poor"), ("good", "fair")], "nDCG@5", "EED(user=RBP(p=0.5))")
    assert "in all" not in title(apart) + about(apart)


def test_randomisation_names_its_scales(sweep: lm.SweepResult) -> None:
    chart = plots.randomisation(sweep, policy="PlackettLuce")
    ideal = lm.evaluate(collection(best=ordered_runs()[0]), "EER(user=RBP(p=0.5))").mean()["value"][0]
    assert titles(chart, "y") == {
        "mean EED (0 to 1.33, lower is better)",
        f"mean EER (ideal: {ideal:.3f}, higher is better)",
    }
    assert "EED: sum of squared exposure of documents; EER: sum of exposure times an ideal ranking's" in about(chart)


def test_agreement_says_what_comes_first() -> None:
    runs = {name: run(shift, i) for i, (name, shift) in enumerate([("a", 3.0), ("b", 1.0), ("c", -2.0)])}
    lower = lm.compare(collection(**runs), ["nDCG@5", "EED(user=RBP(p=0.5))"], resamples=100, changed=0)
    assert "the best run first (by EED that is the run with the lowest value)?" in about(plots.agreement(lower))
    higher = lm.compare(collection(**runs), ["nDCG@5", "RR"], resamples=100, changed=0)
    assert "in the same order, the best run first?" in about(plots.agreement(higher))


def test_no_line_crosses_the_numbers_of_one_pair() -> None:
    good, bad = ordered_runs()
    two = lm.compare(collection(good=good, bad=bad), ["nDCG@5", "RR"], resamples=200, changed=0)
    chart = plots.significance(two)
    (numbers,) = [n for n in nodes(chart.to_dict()) if isinstance(n.get("mark"), dict) and n["mark"]["type"] == "text"]
    assert numbers["encoding"]["x"]["value"] >= chart.to_dict()["width"]


@pytest.mark.parametrize(("late", "side"), [(0.05, "left"), (0.001, "right")])
def test_the_level_has_its_name_where_no_line_crosses_it(late: float, side: str) -> None:
    from lightmeter.plots.significance import _curves

    rows = [("m", "m", i + 1, p, 9, 10) for i, p in enumerate([0.001] * 9 + [late])]
    frame = pl.DataFrame(rows, schema=["name", "measure", "pair", "p", "significant", "pairs"], orient="row")
    assert {m["align"] for m in marks(_curves(frame, 0.05), "text")} == {side}


def bars_of(groups: int) -> Any:
    docs = [f"d{i}" for i in range(2 * groups)]
    land = {d: f"land {i % groups}" for i, d in enumerate(docs)}
    made = lm.evaluate(
        lm.load(run={"one": {"q": docs, "r": docs[::-1]}}, groups={"land": land}), "MeanExposure(by='land')"
    )
    scale = next(
        n["scale"] for n in nodes(plots.exposure(made).to_dict()) if "range" in n.get("scale", {}) for n in [n]
    )
    return scale["range"]


def test_no_colour_stands_for_two_groups() -> None:
    assert len(set(bars_of(7))) == 7
    # more groups than colours: the names beside the bars tell them apart, and no colour seems to
    assert set(bars_of(8)) == {theme.BLUE}


def test_no_two_series_look_alike() -> None:
    names = [f"s{i}" for i in range(20)]
    for pattern in (theme.dashes(names), theme.shapes(names)):
        looks = list(zip(theme.colours(names).to_dict()["range"], map(str, pattern.to_dict()["range"]), strict=True))
        assert len(set(looks)) == len(names)


def test_beside_is_centred(result: lm.Result) -> None:
    assert plots.beside(plots.leaning(result, LEAN), plots.scores(result)).to_dict()["center"] is True


def test_names_keep_clear_of_the_medians() -> None:
    from lightmeter.plots.labels import covered
    from lightmeter.plots.query_marks import medians

    frame = pl.DataFrame({"x": [0.0, 0.5, 1.0], "y": [0.0, 0.5, 1.0]})
    _, taken = medians(frame, lm.ERR(), lm.AP(), ((0.0, 1.0), (0.0, 1.0)))
    boxes = np.array(taken)
    # anywhere on the lines a name would cover them
    for at in (50.0, 150.0, 350.0):
        assert covered((at - 5, 195.0, at + 5, 205.0), boxes) > 0
        assert covered((195.0, at - 5, 205.0, at + 5), boxes) > 0


def test_intervals_of_a_comparison_have_its_level() -> None:
    made = lm.compare(collection(a=run(3.0, 1), b=run(1.0, 2)), "nDCG@5", resamples=100, changed=0, alpha=0.1)
    assert "lines: 90% interval over queries" in about(plots.scores(made))


def leans(*rows: tuple[str, float, float, float]) -> str:
    frame = pl.DataFrame(rows, schema=["name", "value", "low", "high"], orient="row")
    return leaning_finding(frame, "f", "m", None, {n: n for n in frame["name"]}, (0.05, 0.02))


def test_a_lean_whose_interval_reaches_0_is_hardly_one() -> None:
    sure, far = ("x", -0.7, -0.8, -0.5), ("y", -0.3, -0.4, -0.1)
    assert leans(far, sure) == "Every run leans to m, x the most (-0.700)"
    assert leans(("z", -0.08, -0.15, -0.003), far, sure) == (
        "2 of 3 runs lean to m, x the most (-0.700); z hardly to m (its interval ends within 0.02 of 0)"
    )
    assert leans(("z", -0.08, -0.15, -0.021), sure) == "Every run leans to m, x the most (-0.700)"
    assert leans(("w", 0.2, -0.1, 0.5), ("z", -0.08, -0.15, -0.003)) == (
        "No run surely leans to a side: w hardly to f, z hardly to m (their intervals hold 0 or end within 0.02 of it)"
    )
    assert leans(("z", -0.2, -0.5, 0.1)) == "z leans hardly to m (its interval holds 0)"
    # two that are about the same lead together, so none is named
    assert leans(("y", -0.69, -0.8, -0.5), sure) == "Every run leans to m"
    assert leans(("w", 0.049, 0.04, 0.06), sure) == "1 of 2 runs leans to m, 1 about even"


def test_the_key_has_the_colours_that_are_drawn() -> None:
    docs = {"q": ["f1", "m1"], "r": ["m1", "f1"]}
    both = lm.load(run={"one": docs}, groups={"side": {"f1": "f", "m1": "m"}})
    even = lm.evaluate(both, "DeltaGF(by='side', positive='f', user=RBP(p=0.5))@1")
    split = plots.leaning(even, run="one", other="m")
    assert colours_of(split) == ["leans to side f", "leans to side m"]
    assert colours_of(plots.leaning(even, other="m")) == ["about even: within 0.05 of 0"]
    assert title(plots.leaning(even, other="m")) == "'one' is about even (0.000)"
    assert "no interval: each query as it is" in about(split)


def colours_of(chart: Any) -> list[str]:
    scale: dict[str, list[str]] = next(
        n["scale"] for n in nodes(chart.to_dict()) if "leans" in str(n.get("scale")) or "even" in str(n.get("scale"))
    )
    assert len(scale["domain"]) == len(scale["range"])
    return scale["domain"]


def test_intervals_of_leaning_do_not_cut_the_bars(result: lm.Result) -> None:
    chart = plots.leaning(result, LEAN)
    assert {m["color"] for m in marks(chart, "rule") + marks(chart, "tick")} == {theme.INK}


def test_intervals_narrower_than_a_line_are_told() -> None:
    docs = [f"d{i}" for i in range(40)]
    groups = {"side": {d: "fm"[i % 2] for i, d in enumerate(docs)}}

    def told(change: int) -> str:
        ranked = {"q": docs, "r": docs, "s": docs[:change] + docs[change:][::-1]}
        return about(plots.exposure(lm.evaluate(lm.load(run={"one": ranked}, groups=groups), MEAN)))

    assert "narrower than drawn" in told(38)
    assert "narrower than drawn" not in told(0)


def test_scores_label_the_balance(result: lm.Result) -> None:
    spec = plots.scores(result).to_dict()
    panel = next(p for p in spec["concat"] if "DeltaGF" in str(p["title"]["text"]))
    (axis,) = [n["axis"] for n in nodes(panel) if "values" in n.get("axis", {})]
    assert 0 in axis["values"]
    # fewer digits would name a place that is not there
    assert axis["format"] == ".3~g"
    assert 3 <= len(axis["values"]) <= 7
    assert "of 4 measures that have a best" in title(plots.scores(result))


def test_sensitive_is_not_better() -> None:
    runs = {name: run(shift, i) for i, (name, shift) in enumerate([("a", 3.0), ("b", 1.0), ("c", -2.0)])}
    made = lm.compare(collection(**runs), ["nDCG@5", "RR"], resamples=100, changed=0)
    told = about(plots.significance(made))
    assert "a measure that tells more pairs apart is not a better one" in told
    assert "3 runs, 6 queries" in told
    assert "put the 3 runs (means over 6 queries) in the same order" in about(plots.agreement(made))


def seen(
    *weight: float, series: str = "RBP: some", low: float | None = None, high: float | None = None
) -> pl.DataFrame:
    """A curve by rank, with a band from rank 2 on that is ``low`` below it and ``high`` above."""
    ranks = len(weight)
    rows = {"series": [series] * ranks, "rank": list(range(1, ranks + 1)), "weight": [float(w) for w in weight]}
    band = {
        name: [w + by if by is not None and i else (w if by is not None else None) for i, w in enumerate(weight)]
        for name, by in (("low", low), ("high", high))
    }
    return pl.DataFrame(rows | band, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def test_attention_says_which_models_fit() -> None:
    estimate = seen(1, 0.5, 0.4, 0.3, 0.2, 0.1, series="estimated from clicks", low=-0.05, high=0.05)
    inside = seen(1, 0.52, 0.38, 0.3, 0.2, 0.1)
    once = seen(1, 0.52, 0.38, 0.3, 0.2, 0.2, series="DCG: other")
    never = seen(1, 0.9, 0.9, 0.9, 0.9, 0.1, series="Inverse: one over the rank")
    told = finding(pl.concat([estimate, never, once, inside]), [])
    assert told == (
        "RBP fits the estimate from clicks (within the band at all 5 ranks that have one); "
        "DCG nearly fits (outside the band at 1 of 5 ranks, as chance may have it); "
        "Inverse does not fit (outside the band at 4 of 5 ranks)"
    )
    # without a band, or on another scale, it is told what the last rank gets
    bare = seen(1, 0.5, 0.4, series="estimated from clicks")
    assert finding(pl.concat([bare, seen(1, 0.9, 0.8)]), []).startswith(
        "Of the attention of rank 1, rank 3 gets 40% as"
    )
    assert finding(pl.concat([estimate, seen(0.5, 0.3)]), []).startswith("Of attention, rank 2 gets")


def test_attention_tells_its_clicks() -> None:
    rng = np.random.default_rng(3)
    rank = np.tile(np.arange(1, 7), 600)
    shown = {"query": np.repeat(np.arange(30), 120), "doc": (rank + np.arange(3600) // 6) % 7, "rank": rank}
    log = pl.DataFrame(shown | {"clicked": (rng.random(3600) < 0.8 / rank).astype(int)})
    chart = plots.attention(lm.estimate_attention(log, method="pairs"), "Inverse", "RBP(p=0.9)")
    assert f"30 queries, {log['clicked'].sum():,} clicks; band: 95% interval of each rank by itself" in about(chart)
    assert "RBP does not fit" in title(chart)


def test_curves_say_what_is_sure(sweep: lm.SweepResult) -> None:
    told = about(plots.curve(sweep))
    assert "order of their area (EEAUC); in brackets: its 95% interval over queries; lines have none" in told
    assert "areas of both policies differ beyond chance for 0 of 3 runs (paired test, Holm, p\u00a0<\u00a00.05)" in told
    assert "best: top left" in told
    assert "alpha goes up from 0 (random order) along a line" in told
    runs = collection(**{f"r{i}": run(1.0, i) for i in range(7)})
    many = plots.curve(lm.sweep(runs, "PlackettLuce", "RBP(p=0.5)", resamples=5))
    assert "no interval drawn; no test" in about(many)
    assert not [t for t in rows_with(many, "panel", "told", "at")["told"].drop_nulls() if "[" in t]


def test_distributions_have_no_interval(small: lm.Collection) -> None:
    chart = plots.distribution_at(small, "DistrSim(by='level', div=RNOD)@3", ["q1", "q2"])
    assert "no interval: each query as it is" in about(chart)
