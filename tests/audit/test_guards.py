"""What an auditor is kept from: small cells, differences that give them away, words that judge."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

import lightmeter as lm


def shown(result: lm.AuditResult) -> dict[tuple[str, str], int]:
    """Sizes of the groups, as far as they can be read."""
    whole = result.rows.filter((pl.col("measure") == "count") & pl.col("cutoff").is_null())
    return {(r["attribute"], r["group"]): r["value"] for r in whole.iter_rows(named=True) if r["value"] is not None}


def test_a_small_group_and_the_next_smallest_are_masked():
    table = {"p": range(100), "g": ["a"] * 60 + ["b"] * 25 + ["c"] * 12 + ["d"] * 3}
    result = lm.audit(table, score="p", group="g", cutoffs=20, resamples=0)
    assert shown(result) == {("g", "a"): 60, ("g", "b"): 25}
    gone = result.rows.filter(pl.col("group").is_in(["c", "d"]))
    assert set(gone["reason"]) == {"masked"}
    for column in ("value", "low", "high", "n"):
        assert gone[column].null_count() == len(gone)
    assert "g: 2 groups are masked" in result.notes
    every = lm.audit(table, score="p", group="g", min_cell=1, resamples=0)
    assert shown(every)["g", "d"] == 3
    assert not any("masked" in note for note in every.notes)


def test_the_masked_together_are_no_small_group_either():
    """d and e are 4 persons: their sum is masked with c."""
    table = {"p": range(100), "g": ["a"] * 60 + ["b"] * 25 + ["c"] * 11 + ["d"] * 2 + ["e"] * 2}
    assert shown(lm.audit(table, score="p", group="g", resamples=0)) == {("g", "a"): 60, ("g", "b"): 25}


def test_unknown_is_a_cell_too():
    table = {"p": range(100), "g": ["a"] * 60 + ["b"] * 36 + [None] * 4}
    result = lm.audit(table, score="p", group="g", resamples=0)
    assert shown(result) == {("g", "a"): 60}
    assert "masked" in result.conventions["unknown"]


def test_nothing_masked_is_compared_with():
    """The reference and the highest rate are groups that are shown."""
    table = {"p": range(100, 0, -1), "g": ["tiny"] * 4 + ["next"] * 11 + ["a"] * 45 + ["b"] * 40}
    result = lm.audit(table, score="p", group="g", cutoffs=30, resamples=0)
    known = result.rows.filter(pl.col("value").is_not_null())
    assert set(known["reference"].drop_nulls()) == {"a"}
    named = lm.audit(table, score="p", group="g", cutoffs=30, resamples=0, reference="tiny")
    ratios = named.rows.filter(pl.col("measure") == "exposure_ratio")
    assert ratios["value"].null_count() == len(ratios)
    assert set(ratios["reason"]) == {"masked"}
    assert "g masked" in named.conventions["reference"]


def test_two_groups_of_which_one_is_small_leave_nothing():
    table = {"p": range(30), "g": ["a"] * 26 + ["b"] * 4}
    result = lm.audit(table, score="p", group="g", cutoffs=5, resamples=0)
    assert result.rows["value"].null_count() == len(result.rows)


def test_margins_do_not_give_cells_away():
    """sex, race and sex,race in one audit: every masked cell is free within what is shown."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 400
        sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
        race = rng.choice(["w", "b", "a", "o"], n, p=[0.6, 0.3, 0.07, 0.03])
        table = {"p": rng.random(n), "sex": sex, "race": race}
        result = lm.audit(table, score="p", group=["sex", "race", "sex,race"], resamples=0)
        seen = shown(result)
        cells = [("sex,race", f"{s},{r}") for s in "fm" for r in "wbao"]
        cells += [("sex", s) for s in "fm"] + [("race", r) for r in "wbao"]
        index = {c: i for i, c in enumerate(cells)}
        rows = [_row(index, [("sex,race", f"{s},{r}") for r in "wbao"], ("sex", s)) for s in "fm"]
        rows += [_row(index, [("sex,race", f"{s},{r}") for s in "fm"], ("race", r)) for r in "wbao"]
        rows += [_row(index, [c for c in cells if c[0] == name]) for name in ("sex", "race", "sex,race")]
        system = np.array(rows)
        # a cell without a row is known to be empty
        there = set(sex) | set(race) | {f"{s},{r}" for s, r in zip(sex, race, strict=True)}
        hidden = [i for c, i in index.items() if c not in seen and c[1] in there]
        if not hidden:
            continue
        _, values, right = np.linalg.svd(system[:, hidden])
        null = right[(values > 1e-9).sum() :]
        assert len(null), seed
        assert (np.abs(null).max(axis=0) > 1e-9).all(), seed


def _row(index: dict, parts: list, whole: tuple | None = None) -> np.ndarray:
    row = np.zeros(len(index))
    for c in parts:
        row[index[c]] = 1
    if whole is not None:
        row[index[whole]] = -1
    return row


def test_per_query_rows_are_masked_by_query():
    rng = np.random.default_rng(0)
    q = np.repeat(["q1", "q2", "q3"], 60)
    g = np.concatenate([["a"] * 40 + ["b"] * 20, ["a"] * 55 + ["b"] * 5, ["a"] * 30 + ["b"] * 30])
    table = {"p": rng.random(180), "g": g, "q": q}
    result = lm.audit(table, score="p", group="g", query="q", cutoffs=10, per_query=True, resamples=0)
    count = result.rows.filter((pl.col("measure") == "count") & pl.col("cutoff").is_null())
    seen = {(r["query"], r["group"]): r["value"] for r in count.iter_rows(named=True)}
    assert seen["q2", "b"] is None
    # the other queries' b and the pooled b would give it away
    assert sum(seen[q, "b"] is None for q in ("q1", "q2", "q3")) >= 2
    assert seen[None, "b"] == 55
    for q in ("q1", "q2", "q3"):
        assert sum(seen[q, x] is None for x in "ab") in (0, 2)


def test_a_query_is_not_compared_with_a_masked_reference():
    """In q2 the reference has 5 members, and c goes with it: b over a would tell of a."""
    g = (
        ["a"] * 40
        + ["b"] * 30
        + ["c"] * 30
        + ["a"] * 5
        + ["b"] * 40
        + ["c"] * 30
        + ["a"] * 50
        + ["b"] * 20
        + ["c"] * 20
    )
    q = ["q1"] * 100 + ["q2"] * 75 + ["q3"] * 90
    table = {"p": np.random.default_rng(0).random(len(g)), "g": g, "q": q}
    result = lm.audit(table, score="p", group="g", query="q", per_query=True, reference="a", resamples=0)
    at = result.rows.filter((pl.col("query") == "q2") & (pl.col("group") == "b"))
    assert at.filter(pl.col("measure") == "exposure")["value"].null_count() == 0
    assert at.filter(pl.col("measure") == "exposure_ratio")["reason"].to_list() == ["masked"]


def test_unknown_is_a_row_of_its_own_in_no_ratio():
    table = {"p": range(60), "g": (["f", "m", None] * 20)}
    rows = lm.audit(table, score="p", group="g", cutoffs=15, resamples=50).rows
    unknown = rows.filter(pl.col("group") == "unknown")
    assert {"count", "pool_share", "share", "mean_score", "exposure"} <= set(unknown["measure"])
    assert not [m for m in unknown["measure"] if "ratio" in m or "gap" in m or "merit" in m or "fisher" in m]
    assert "unknown" not in set(rows["reference"])
    # shares of the top are of all places, the unknown among them
    share = rows.filter((pl.col("measure") == "share") & (pl.col("cutoff") == 15))
    assert share["value"].sum() == pytest.approx(1.0)


def test_words_describe_and_do_not_judge():
    table = {"p": range(100), "sex": ["f"] * 50 + ["m"] * 50, "race": ["x", "y"] * 50, "y": [1, 0, 0, 1] * 25}
    for preset in (None, "ll144"):
        result = lm.audit(table, score="p", group=["sex", "race"], label="y", cutoffs=20, preset=preset, resamples=50)
        for form in ("table", "csv", "jsonl", "markdown", "latex"):
            text = result.render(form).decode().lower()
            for word in ("pass", "fail", "complian", "violat", "unfair", "discriminat"):
                assert word not in text, (form, word)
        assert any("four fifths" in n and "no legal finding" in n for n in result.notes)


def test_caveats():
    table = {"p": range(1000), "g": ["f"] * 400 + ["m"] * 585 + ["x"] * 15, "y": [0, 1] * 500}
    result = lm.audit(table, score="p", group="g", label="y", inferred="g", resamples=0)
    notes = " | ".join(result.notes)
    assert "g is inferred" in notes
    assert "a label may carry the bias" in notes
    assert "groups with less than 2% of the rows: x (1.50%)" in notes
    assert not any("label may carry" in n for n in lm.audit(table, score="p", group="g", resamples=0).notes)


def test_ties_at_the_cutoff_are_reported():
    table = {"p": [3] * 20 + [2] * 30 + [1] * 50, "g": ["f", "m"] * 50}
    result = lm.audit(table, score="p", group="g", cutoffs=[20, 40], resamples=0)
    assert not any("top-20" in n for n in result.notes)
    assert any(n.startswith("30 people tie at the top-40 cutoff; the order of the table decides") for n in result.notes)
    averaged = lm.audit(table, score="p", group="g", cutoffs=[20, 40], ties="expected", resamples=0)
    assert "30 people tie at the top-40 cutoff; all orders of them are averaged" in averaged.notes
    assert averaged.value("count", "f", cutoff=40) == 20.0
    test = averaged.rows.filter(pl.col("measure") == "fisher_p")
    assert test.sort("cutoff")["reason"].to_list() == [None, "tied"]  # 20 is whole by chance
    assert averaged.value("exposure_ratio", "m", cutoff=40) == pytest.approx(1.0, abs=1e-12)
    assert result.value("exposure_ratio", "m", cutoff=40) < 1.0


def test_spreadsheets_compute_nothing():
    table = {"=p": range(40), "@g": ["=1+1"] * 20 + ["-x"] * 20}
    result = lm.audit(table, score="=p", group="@g", resamples=0)
    for line in result.render("csv").decode().splitlines()[1:]:
        cells = next(iter(__import__("csv").reader([line])))
        assert not any(c[:1] in "=@" for c in cells if c)
        assert not any(c.startswith("-x") for c in cells)
    first = json.loads(result.render("jsonl").splitlines()[0])
    assert first["score"] == "=p"


def test_ll144():
    """Counts by hand: 8 of 100 are of other, set apart; the highest rate is that of a."""
    race = ["a"] * 500 + ["b"] * 480 + ["other"] * 15 + [None] * 20
    sex = ["f", "m"] * 507 + ["f"]
    order = np.random.default_rng(4).permutation(len(race))
    p = np.empty(len(race))
    p[order] = np.arange(len(race))
    p[980:995] += 2000  # other has the highest rate, and impact ratios are not to it
    result = lm.audit({"p": p, "sex": sex, "race": race}, score="p", group=["sex", "race"], preset="ll144", resamples=0)
    assert list(result.rows["attribute"].unique(maintain_order=True)) == ["sex", "race", "sex,race"]
    rows = {
        (r["measure"], r["group"]): r for r in result.rows.filter(pl.col("attribute") == "race").iter_rows(named=True)
    }
    median = np.median(p)
    rate = {g: np.mean([x > median for x, r in zip(p, race, strict=True) if r == g]) for g in ("a", "b", "other")}
    best = max("ab", key=lambda g: rate[g])
    for g in "ab":
        assert rows["scoring_rate", g]["value"] == pytest.approx(rate[g])
        assert rows["impact_ratio", g]["value"] == pytest.approx(rate[g] / rate[best])
    assert rows["scoring_rate", "other"]["value"] == pytest.approx(rate["other"])
    assert rows["impact_ratio", "other"]["value"] is None
    assert rows["impact_ratio", "other"]["reason"] == "small_category"
    assert rows["count", "unknown"]["value"] == 20
    assert ("scoring_rate", "unknown") not in rows
    assert any("6 RCNY 5-300" in n for n in result.notes)
    assert any("race: 20 people assessed are of unknown category" in n for n in result.notes)
    assert "category" in repr(result)


def test_combined_cells():
    rng = np.random.default_rng(1)
    sex, race = rng.choice(["f", "m"], 200), rng.choice(["x", "y"], 200)
    sex = sex.astype(object)
    sex[:5] = "unknown"
    table = {"p": rng.random(200), "sex": sex, "race": race}
    result = lm.audit(table, score="p", group="sex, race", min_cell=1, resamples=0)
    for s, r in itertools.product("fm", "xy"):
        assert result.value("count", f"{s},{r}") == ((sex == s) & (race == r)).sum()
    assert result.value("count", "unknown") == 5


@pytest.mark.parametrize("column", ["score", "label"])
def test_means_beyond_the_largest_number_say_so(column: str):
    table = {"score": [1.0] * 8, "label": [1.0] * 8, "sex": ["f", "m"] * 4} | {column: [1.7e308] * 8}
    rows = lm.audit(table, score="score", group="sex", label="label", min_cell=1, resamples=20).table()
    mean = rows.filter(pl.col("measure") == f"mean_{column}")
    assert mean["value"].to_list() == [None, None]
    assert mean["reason"].to_list() == ["overflow", "overflow"]
    assert rows.filter(pl.col("value").is_null() & pl.col("reason").is_null()).is_empty()


def test_one_resample_makes_no_interval():
    rows = lm.audit({"s": [3.0, 2, 1, 0], "g": ["f", "m"] * 2}, score="s", group="g", min_cell=1, resamples=1).table()
    ratio = rows.filter((pl.col("measure") == "exposure_ratio") & (pl.col("cutoff").is_null()))
    assert ratio["value"].is_not_null().all()
    assert ratio["low"].null_count() == len(ratio) > 0


def test_a_question_ends_a_message():
    with pytest.raises(lm.LightmeterError, match=r"Did you mean 'score'\?$"):
        lm.audit({"score": [1.0, 2.0], "g": ["a", "b"]}, score="scor", group="g")


def test_margins_do_not_give_a_small_cell_away():
    """f,b = 114 and m,b = 122 - 114 = 8 would follow from the margins, with every combination masked."""
    people = [("m", "w")] * 273 + [("m", "b")] * 8 + [("f", "b")] * 114
    table = {"p": range(len(people)), "sex": [s for s, _ in people], "race": [r for _, r in people]}
    result = lm.audit(table, score="p", group=["sex", "race", "sex,race"], resamples=0)
    there = shown(result)
    assert not {("sex", "f"), ("race", "b")} <= set(there)
    assert not {("sex", "m"), ("race", "w")} <= set(there)


def test_an_attribute_that_is_masked_altogether_takes_one_line():
    table = {"p": range(60), "g": ["a"] * 55 + ["b"] * 5, "h": ["x", "y"] * 30}
    result = lm.audit(table, score="p", group=["g", "h"], cutoffs=5, resamples=0)
    text = result.render("table").decode()
    assert "g: all groups are masked\n" in text
    sheet = text.partition("g: all groups are masked\n")[2].partition("\n\n")[0]
    assert len(sheet.splitlines()) == 3
    assert "exposure_ratio" in text.partition("\nh\n")[2]
    # in other formats every row says so
    assert result.frame().filter(pl.col("attribute") == "g")["reason"].unique().to_list() == ["masked"]
    assert len(result.frame().filter(pl.col("attribute") == "g")) > 20


def test_conventions_name_what_is_there():
    table = {"p": [1] * 40, "g": ["a", "b"] * 20}
    tied = lm.audit(table, score="p", group="g", cutoffs=5, ties="expected", resamples=0)
    assert tied.conventions["tests"] == "no Fisher tests"
    one = lm.audit(table | {"p": range(40)}, score="p", group="g", cutoffs=5, resamples=0)
    assert one.conventions["tests"].startswith("1 Fisher test;")
    assert "ndkl" not in one.conventions["min_cell"]
    small = lm.audit(table | {"g": ["a", "b"] * 17 + ["c"] * 6, "p": range(40)}, score="p", group="g", resamples=0)
    assert "ndkl treats the masked groups as one" in small.conventions["min_cell"]


def test_masked_tests_say_so():
    table = {"p": range(100), "g": ["a"] * 60 + ["b"] * 25 + ["c"] * 12 + ["d"] * 3}
    rows = lm.audit(table, score="p", group="g", cutoffs=20, resamples=0).frame()
    holm = rows.filter(pl.col("measure") == "fisher_p_holm")
    assert dict(holm.select("group", "reason").rows()) == {"b": None, "c": "masked", "d": "masked"} or dict(
        holm.select("group", "reason").rows()
    ) == {"a": None, "c": "masked", "d": "masked"}
    for preset in (None, "ll144"):
        rows = lm.audit(table, score="p", group="g", cutoffs=20, resamples=0, preset=preset).frame()
        assert rows.filter(pl.col("value").is_null() & pl.col("reason").is_null()).is_empty()
