"""Pictures can be read by who does not know the field: words for rules, what is counted is seen, few lines above."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.plots.conftest import collection, datasets, people, rows_with, run, title
from tests.plots.test_every_picture import PICTURES
from tests.plots.test_read_rightly import about, marks, nodes

import lightmeter as lm
from lightmeter.findings import glossary
from lightmeter.findings.language import measured
from lightmeter.plots.cutoffs import _where, four_fifths, reversal
from lightmeter.plots.points import SIDE, contours, to_pixels


@pytest.mark.parametrize("name", [n for n in PICTURES if n != "beside"])
def test_few_lines_and_no_notation_of_rules(name: str, request: pytest.FixtureRequest) -> None:
    told = PICTURES[name](request.getfixturevalue).to_dict()["title"].get("subtitle", [])
    assert len(told) <= 4, told
    assert not [line for line in told if "docno" in line or "Samples(" in line or "documents tied" in line]


def test_rules_that_cannot_matter_are_left_out() -> None:
    rules = {
        "policy": "Static(ties='docno')",
        "ties": "docno (score descending, then document id descending); 0 documents tied",
        "unknown": "uniform (counts for all values alike)",
        "unknown side": "x 0.0% of documents, 0.0% of exposure (exposure as 1/log2(rank + 1))",
    }
    assert glossary.rules(rules) == ""
    tied = rules | {"ties": "file (score descending, then file order); 10 documents tied"}
    assert glossary.rules(tied) == "equal scores as in the file"
    gone = rules | {"unknown side": "x 0.1% of documents, 0.0% of exposure (exposure as 1/log2(rank + 1))"}
    assert glossary.rules(gone) == "documents of unknown group count equally for every group"
    assert glossary.rules(gone | {"unknown": "drop (keeps its rank, belongs to no group)"}) == (
        "documents of unknown group keep their rank and count for no group"
    )


def test_rules_of_a_result_in_words() -> None:
    runs = {"x": {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}, "y": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}}
    c = lm.load(run=runs, qrels={"q": {"a": 1}}, groups={"side": {"a": "f", "b": "m"}})
    told = about(lm.plots.tradeoff(lm.evaluate(c, ["RR", "GF(by='side', user=RBP(p=0.5))"])))
    assert "equal scores by document id" in told
    assert "documents of unknown group count equally for every group" in told
    assert "RR: reciprocal rank (relevance); GF: group fairness" in told


def test_every_measure_has_a_meaning() -> None:
    from lightmeter.terms.catalogue import entries_named

    for name in ("ERR", "GF", "EEL", "AP", "Gini", "logDP", "JME_II", "NDKL"):
        (measure,) = [e for e in entries_named(name) if e.kind == "measure"]
        told = glossary.meanings([lm.parse(measure.example, kind="measure")])
        assert told.startswith(f"{name}: ")
        assert 8 < len(told) < 90, told


def test_levels_stay_in_the_frame() -> None:
    for domain in (((0.0, 1.0), (0.0, 1.0)), ((0.49, 0.98), (0.65, 1.01))):
        layers, _ = contours((0.5, 0.5), domain)
        for row in rows_with(layers[0], "at_x").iter_rows(named=True):
            x, y = to_pixels(row["at_x"], row["at_y"], domain)
            assert 10 <= x <= SIDE - 10
            assert 5 <= y <= SIDE - 5


def test_areas_stand_in_the_panels(sweep: lm.SweepResult) -> None:
    shown = rows_with(lm.plots.curve(sweep), "panel", "told", "at")
    told = shown.filter(pl.col("panel") == "run good")["told"].drop_nulls().to_list()
    ends = sweep.summary().filter(pl.col("measure") == "EEAUC", pl.col("run") == "good")
    areas = [
        f"{p} {sweep.area(p, 'good'):.3f} [{low:.3f}, {high:.3f}]"
        for p, low, high in ends.filter(pl.col("policy") != "frontier").select("policy", "low", "high").iter_rows()
    ]
    assert len(areas) == 2
    assert sorted(told) == sorted([*areas, "area below (EEAUC)"])
    places = shown.filter(pl.col("panel") == "run good", pl.col("told").is_not_null())["at"]
    assert len(set(places)) == 3


def test_best_line_is_off_the_frame(sweep: lm.SweepResult) -> None:
    chart = lm.plots.curve(sweep)
    top = max(r for r in rows_with(chart, "relevance")["relevance"].drop_nulls())
    domains = [
        n["encoding"]["y"]["scale"]["domain"]
        for n in nodes(chart.to_dict())
        if "scale" in n.get("encoding", {}).get("y", {})
    ]
    assert domains
    assert all(d[1] >= 1.04 * top or d[1] > top + 0.02 for d in domains)


def test_four_fifths_are_told_apart_from_chance() -> None:
    def part(value: list[float], high: list[float]) -> pl.DataFrame:
        cutoff = list(range(1, len(value) + 1))
        made = {"cutoff": cutoff, "value": value, "high": high, "low": [0.0] * len(value)}
        return pl.DataFrame(made).with_columns(group=pl.lit("b"), reference=pl.lit("a"), even=pl.lit(1.0))

    sure = "b is below four fifths at every cutoff; its whole band is at"
    assert four_fifths(part([0.5, 0.7], [0.9, 0.95]), ["b"]) == f"{sure} none of the 2 cutoffs with a band"
    assert four_fifths(part([0.5, 0.7], [0.9, 0.75]), ["b"]) == f"{sure} 1 of the 2 cutoffs with a band"
    assert four_fifths(part([0.5, 0.7], [0.7, 0.75]), ["b"]) == f"{sure} all 2 cutoffs with a band"
    assert four_fifths(part([0.9, 0.9], [1.1, 1.1]), ["b"]) == "b is never below four fifths"


def test_many_stretches_are_counted() -> None:
    frame = pl.DataFrame({"cutoff": [1, 10, 20, 30, 40, 50, 100]})
    gap = pl.Series([1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    assert _where(frame, gap).replace("\u00a0", " ") == "at 4 of 6 cutoffs drawn from k = 10 on"


def test_a_reversal_at_the_top_is_told() -> None:
    made = {"cutoff": [1, 2, 3, 10, 20], "value": [None, 2.0, 1.005, 0.7, 0.8], "high": [None, None, None, 0.9, 0.95]}
    frame = pl.DataFrame(made).with_columns(
        group=pl.lit("b"), reference=pl.lit("a"), even=1.0, low=pl.col("high") - 0.5
    )
    told = reversal(frame, True, ["b"]).replace("\u00a0", " ")
    # what is 1.005 times as much is about equal
    assert told == "b has more at k = 2, where there is no band"
    assert reversal(frame.filter(pl.col("cutoff") > 2), True, ["b"]) == ""
    banded = frame.with_columns(high=pl.col("high").fill_null(3.0), low=pl.col("low").fill_null(0.1))
    assert reversal(banded, False, ["b"]).replace("\u00a0", " ") == "b is commoner at k = 2"
    more = frame.with_columns(value=2 - pl.col("value"), low=pl.lit(1.1), high=pl.lit(1.9))
    assert reversal(more, True, ["b"]).replace("\u00a0", " ") == "b has less at k = 2"


def test_attention_of_an_audit_is_a_formula(audit: lm.AuditResult) -> None:
    told = about(lm.plots.cutoffs(audit))
    assert "attention of a rank: 1/log2(rank + 1), 0 below the cutoff" in told
    assert "DCG(" not in told + about(lm.plots.exposure(audit, cutoff=20))


def test_what_is_off_the_scale_is_told() -> None:
    audit = lm.audit(people(1.5, n=300), score="score", group="sex", cutoffs=[20], resamples=100)
    chart = lm.plots.cutoffs(audit)
    top = next(
        n["encoding"]["y"]["scale"]["domain"][1]
        for n in nodes(chart.to_dict())
        if "scale" in n.get("encoding", {}).get("y", {})
    )
    above = rows_with(chart, "cutoff", "value", "low").filter(pl.col("value") > top)
    assert ("off the scale" in about(chart)) == (len(above) > 0)
    undefined = rows_with(chart, "cutoff", "value", "low").filter(pl.col("value").is_null())
    assert ("undefined at k" in about(chart)) == (len(undefined) > 0)


def test_letters_have_contrast() -> None:
    def light(color: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in color)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    runs = {name: run(shift, i) for i, (name, shift) in enumerate([("a", 3.0), ("b", 1.0), ("c", -2.0)])}
    spec = lm.plots.agreement(lm.compare(collection(**runs), ["nDCG@5", "RR"], resamples=100, changed=0)).to_dict()
    scale = next(n["scale"] for n in nodes(spec) if n.get("scale", {}).get("interpolate"))
    for color in scale["range"]:
        # AA of WCAG 2 asks for 4.5
        assert light([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / light([0x22] * 3) > 6
    # each number of the key stands beside a square of its colour
    key = next(n["legend"] for n in nodes(spec) if "values" in (n.get("legend") or {}))
    assert (key["type"], key["values"]) == ("symbol", [1, 0.5, 0, -0.5, -1])


def shares(first: dict[str, Any], second: dict[str, Any]) -> Any:
    groups = {"level": {f"d{i}": ("low", "mid", "high")[i % 3] for i in range(9)}}
    targets = {"level": {"low": 0.4, "mid": 0.4, "high": 0.2}}
    c = lm.load(
        run={"x": first, "y": second}, groups=groups, targets=targets, ordinal={"level": ["low", "mid", "high"]}
    )
    return lm.plots.distribution_at(c, "DistrSim(by='level', div=RNOD)@4", "q")


def test_zero_bars_are_marked_and_order_is_explained() -> None:
    chart = shares({"q": ["d0", "d3", "d1", "d4"]}, {"q": ["d2", "d5", "d8", "d1"]})
    marked = [
        (r["series"], r["value"]) for d in datasets(chart) for r in d if r.get("share") == 0 and "wanted" not in r
    ]
    assert set(marked) == {("x", "high"), ("y", "low")}
    assert "groups are ordered" in about(chart)
    assert "target, as given in a file" in about(chart)
    assert "means over several rankings" not in about(chart)


def test_small_leads_are_called_so() -> None:
    from lightmeter.plots.distribution_at import finding

    names = {"x": "x", "y": "y"}
    measure = lm.parse("DistrSim(by='level')@4", kind="measure")
    near = finding({("q", "x"): 0.839, ("q", "y"): 0.834}, ["q"], names, measure)
    assert near == "All runs are about equally near to the target at rank 4 for query q"
    far = finding({("q", "x"): 0.839, ("q", "y"): 0.734}, ["q"], names, measure)
    assert far == "x is nearest to the target at rank 4 for query q"


def test_means_without_a_test_say_so(result: lm.Result, comparison: lm.Comparison) -> None:
    assert "no test" in about(lm.plots.scores(result))
    assert "no test" not in about(lm.plots.scores(comparison))
    one = lm.evaluate(collection(one=run(1.0, 1)), "RR")
    assert "no test" not in about(lm.plots.scores(one))
    assert title(lm.plots.scores(one)).startswith("'one' has RR")


def test_ends_of_randomness_are_labelled(sweep: lm.SweepResult) -> None:
    chart = lm.plots.randomisation(sweep, policy="PlackettLuce")
    texts = [n for n in nodes(chart.to_dict()) if isinstance(n.get("mark"), dict) and n["mark"]["type"] == "text"]
    data = chart.to_dict()["datasets"]
    ends = {data[n["data"]["name"]][0]["end"] for n in texts}
    assert ends == {"as given", "random order"}
    # a dash tells a run, and nothing else
    assert marks(chart, "rule")
    assert not [mark for mark in marks(chart, "rule") if "strokeDash" in mark]
    assert "thin: ranking as given, and random order" in about(chart)


@pytest.mark.parametrize("name", ["GF", "AWRF"])
def test_no_axis_says_that_a_similarity_could_be_0(name: str) -> None:
    """With an equal target of two groups even one group alone is as similar as 1 - JSD((1, 0), (.5, .5)) = .689."""
    measure = lm.parse(f"{name}(by='side')")
    assert measured(measure) == f"{measure} (at most 1, higher is better; its least depends on the target)"
    assert measured(lm.ERR()) == "ERR (0 to 1, higher is better)"
