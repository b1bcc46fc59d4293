"""An attacker reads everything an audit writes and looks for the counts that it masks."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, milp

import lightmeter as lm
from lightmeter.auditing.cells import Cells, Total, cells_of
from lightmeter.auditing.masking import hidden_lists, suppressed
from lightmeter.auditing.table import read_audit_table
from lightmeter.results.table import WRITERS

FORMS = ("table", "csv", "jsonl", "parquet", "latex", "markdown")
Key = tuple[str, str]


def ends(sums: np.ndarray, known: np.ndarray, lower: np.ndarray, worth: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest whole number that ``worth @ z`` can be where ``sums @ z`` is known."""
    out = []
    for sign in (1, -1):
        found = milp(
            sign * worth, constraints=LinearConstraint(sums, known, known), integrality=np.ones(len(worth)),
            bounds=(lower, np.full(len(worth), 10_000)),
        )  # fmt: skip
        out.append(sign * found.fun)
    return out[0], out[1]


# --- the search for masks, on plain cells ---------------------------------------------------------------------------


def cross(table: np.ndarray) -> tuple[np.ndarray, list[Total]]:
    """Cells of a table and of its margins."""
    rows, columns = table.shape
    cells = np.arange(table.size).reshape(table.shape)
    counts = np.concatenate([table.ravel(), table.sum(axis=1), table.sum(axis=0)])
    totals = [Total(cells.ravel())]
    totals += [Total(cells[i], np.array([table.size + i])) for i in range(rows)]
    totals += [Total(cells[:, j], np.array([table.size + rows + j])) for j in range(columns)]
    totals += [Total(table.size + np.arange(rows)), Total(table.size + rows + np.arange(columns))]
    return counts, totals


def system(counts: np.ndarray, totals: list[Total], mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is masked, and the sums of it that a reader can compute."""
    hidden = np.flatnonzero(mask & (counts > 0))
    sums = np.zeros((len(totals), len(counts)))
    for row, total in zip(sums, totals, strict=True):
        row[total.cells] += 1
        row[total.same] -= 1
    return hidden, sums[:, hidden], sums[:, hidden] @ counts[hidden]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 15))
def test_masked_cells_of_one_total(counts: list[int], floor: int):
    sizes = np.array(counts)
    mask, safe = suppressed(Cells.of(sizes, [Total(np.arange(len(counts)))]), floor)
    small = (sizes > 0) & (sizes < floor)
    assert mask[small].all()
    assert mask.any() == small.any()
    if small.any():
        # each of them may have 1 member, and all that is over may be in one
        room = sizes[mask].sum() - mask.sum()
        assert safe == (room >= floor)
        assert safe or (mask | (sizes == 0)).all()


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_every_small_cell_of_a_cross_table_can_be_many_numbers(seed: int):
    rng = np.random.default_rng(seed)
    floor = int(rng.integers(3, 12))
    table = rng.integers(0, 60, (rng.integers(2, 4), rng.integers(2, 5)))
    table[rng.random(table.shape) < 0.25] = rng.integers(0, floor)
    counts, totals = cross(table)
    mask, safe = suppressed(Cells.of(counts, totals), floor)
    small = (counts > 0) & (counts < floor)
    assert mask[small].all()
    hidden, sums, known = system(counts, totals, mask)
    if not safe:
        assert (mask | (counts == 0)).sum() >= 2 or not small.any()
        return
    lower = np.ones(len(hidden))
    for at in np.flatnonzero(counts[hidden] < floor):
        low, high = ends(sums, known, lower, np.eye(len(hidden))[at])
        assert high - low >= floor, (table, mask)
    # and no group of masked cells with fewer members than the floor is known exactly
    few = np.flatnonzero(counts[hidden] < floor)
    for size in range(2, 5):
        for group in itertools.combinations(few.tolist(), size):
            if counts[hidden][list(group)].sum() < floor:
                low, high = ends(sums, known, lower, np.isin(np.arange(len(hidden)), group).astype(float))
                assert high > low, (table, mask, group)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(2, 4))
def test_a_table_of_four_by_trying_all_tables(counts: list[int], floor: int):
    table = np.array(counts).reshape(2, 2)
    values, totals = cross(table)
    mask, safe = suppressed(Cells.of(values, totals), floor)
    if not safe:
        return
    found: dict[int, set[int]] = {i: set() for i in np.flatnonzero(mask).tolist()}
    n = table.sum()
    for a, b, c in itertools.product(range(n + 1), repeat=3):
        if a + b + c > n:
            continue
        other, _ = cross(np.array([[a, b], [c, n - a - b - c]]))
        shown = ~mask | (values == 0)
        if (other[shown] == values[shown]).all() and (other[~shown] >= 1).all():
            for i in found:
                found[i].add(int(other[i]))
    for i, numbers in found.items():
        if values[i] < floor:
            assert max(numbers) - min(numbers) >= floor


def test_ten_groups_of_one_are_no_ten_unknowns():
    """Each has a name, so at least one member: ten masked names with ten members in all are one each."""
    counts = np.array([500, 60, *[1] * 10])
    mask, safe = suppressed(Cells.of(counts, [Total(np.arange(12))]), 10)
    assert safe
    assert mask.tolist() == [False, *[True] * 11]


def test_what_is_masked_in_vain_is_shown_again():
    """A sum that is masked to hide a cell, and can be computed all the same, hides nothing."""
    counts, totals = cross(np.array([[3, 40, 50], [60, 70, 80]]))
    mask, safe = suppressed(Cells.of(counts, totals), 10)
    assert safe
    assert mask.tolist() == [True, True, False, True, True, *[False] * 6]  # a rectangle and nothing else


@given(st.integers(0, 10**6))
def test_the_sums_are_true(seed: int):
    """Every sum that a reader is said to know is 0, or the number of rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 60))

    def some(names: str) -> list[str | None]:
        return [None if x == "-" else str(x) for x in rng.choice(list(names), n)]

    fine = some("abcdefg-")
    coarse = [None if x is None or rng.random() < 0.1 else "uvw"["abcdefg".index(x) % 3] for x in fine]
    columns = {"p": list(range(n)), "fine": fine, "coarse": coarse, "sex": some("fm-")}
    if any(not any(columns[c]) for c in ("fine", "coarse", "sex")) or not any(
        x and y for x, y in zip(fine, columns["sex"], strict=True)
    ):
        return
    table = read_audit_table(columns, score=["p"], group=["fine", "coarse", "sex", "fine,sex"])
    query = rng.integers(0, 3, n)
    for lists in (None, query):
        cells, first = cells_of(table.attributes, lists, 3)
        sums = np.zeros((cells.sums, len(cells.counts)))
        np.add.at(sums, (cells.row, cells.column), cells.sign)
        assert set(np.unique(sums)) <= {-1.0, 0.0, 1.0}
        assert set((sums @ cells.counts).tolist()) <= {0.0, float(n)}
        assert cells.counts[: len(table.attributes[0].counts)].tolist() == table.attributes[0].counts.tolist()
        if lists is not None:
            at, width = int(first[2]), len(table.attributes[2].counts) + 1
            mine = cells.counts[at : at + 3 * width].reshape(3, width)
            assert mine.sum() == n
            assert mine.sum(axis=1).tolist() == np.bincount(query, minlength=3).tolist()


def test_lists_that_are_not_shown_have_enough_of_each_group_together():
    """c has 4 in the list with a small group, and 20 in each of the others: a second one goes."""
    counts = np.array([[50, 40, 4], [50, 40, 20], [60, 40, 21], [70, 50, 0]])
    none = np.zeros(3, dtype=bool)
    assert hidden_lists([counts], [none], 10).tolist() == [True, True, False, False]
    assert hidden_lists([counts], [np.array([False, False, True])], 10).tolist() == [True, False, False, False]
    assert hidden_lists([counts[1:]], [none], 10).tolist() == [False] * 3


# --- audits ---------------------------------------------------------------------------------------------------------


def people(seed: int, n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    race = rng.choice(["w", "b", "a", "o"], n, p=[0.6, 0.3, 0.06, 0.04]).astype(object)
    race[rng.random(n) < (0.06 if seed % 2 else 0)] = None
    region = np.where(np.isin(race, ["w", "b"]), "x", "y")
    return {
        "p": rng.random(n), "p2": rng.random(n), "y": rng.integers(0, 2, n), "sex": sex, "race": race, "region": region,
        "list": rng.choice(["l1", "l2", "l3"], n, p=[0.5, 0.4, 0.1]),
    }  # fmt: skip


def told(rows: list[dict[str, Any]], n: int) -> dict[tuple[str | None, str, str], set[int]]:
    """Every number of members that a row gives, by list, attribute and group."""
    out: dict[tuple[str | None, str, str], set[int]] = {}
    for r in rows:
        if r["group"] is None or r["group"] == "":
            continue
        found = out.setdefault((r.get("query") or None, r["attribute"], r["group"]), set())
        value = None if r["value"] in (None, "") else float(r["value"])
        if r["n"] not in (None, ""):
            found.add(int(r["n"]))
        if value is not None and r["measure"] == "count" and r["cutoff"] in (None, ""):
            found.add(round(value))
        if value is not None and r["measure"] == "pool_share" and not r.get("query"):
            found.add(round(value * n))
    return out


def parsed(content: bytes, form: str) -> list[dict[str, Any]]:
    if form == "csv":
        return list(csv.DictReader(io.StringIO(content.decode())))
    if form == "jsonl":
        return [json.loads(line) for line in content.splitlines()]
    return pl.read_parquet(io.BytesIO(content)).to_dicts()


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_small_group_follows_from_the_rows(seed: int, per_query: bool):
    """All that the rows tell as equations over the persons' cells; the masked ones stay unknown."""
    table = people(seed)
    n = len(table["p"])
    names = ["sex", "race", "region", "sex,race"]
    result = lm.audit(
        table, score=["p", "p2"], group=names, label="y", cutoffs=[20, 50], resamples=0, query="list",
        per_query=per_query,
    )  # fmt: skip
    of = [
        tuple(str(x) if x is not None else "unknown" for x in t) for t in zip(table["sex"], table["race"], strict=True)
    ]
    where = table["list"] if per_query else np.full(n, "")
    atoms = sorted(set(zip(of, where, strict=True)))
    true = {a: sum(1 for x in zip(of, where, strict=True) if x == a) for a in atoms}

    def member(attribute: str, atom: Any) -> str:
        sex, race = atom[0]
        region = "x" if race in ("w", "b") else "y"
        both = "unknown" if race == "unknown" else f"{sex},{race}"
        return {"sex": sex, "race": race, "region": region, "sex,race": both}[attribute]

    for form in ("csv", "jsonl", "parquet"):
        known = told(parsed(result.render(form), form), n)
        rows, numbers, masked = [np.ones(len(atoms))], [n], []
        for (query, attribute, group), found in known.items():
            inside = np.array([member(attribute, a) == group and query in (None, a[1]) for a in atoms], dtype=float)
            size = sum(true[a] for a, i in zip(atoms, inside, strict=True) if i)
            assert found in ({size}, set())
            if found:
                rows.append(inside)
                numbers.append(size)
            elif 0 < size < 10:
                masked.append((inside, size))
            if found and query is not None:  # shares tell the length of the list
                rows.append(np.array([a[1] == query for a in atoms], dtype=float))
                numbers.append(sum(true[a] for a in atoms if a[1] == query))
        assert masked
        for inside, size in masked:
            low, high = ends(np.array(rows), np.array(numbers), np.zeros(len(atoms)), inside)
            assert high - low >= 9, (seed, form, size, low, high)  # less 1: here nobody knows that it is not empty


def pictures_read(page: bytes) -> bytes:
    """A report with its pictures as text, without the numbers that pictures get one after the other."""
    text = re.sub(rb"[A-Za-z0-9+/=]{200,}", lambda m: base64.b64decode(m[0]), page)
    return re.sub(rb"clip[0-9]+", b"clip", text)


def swapped(table: dict[str, Any], groups: list[str]) -> dict[str, Any]:
    """The same table with some of the rows of two masked groups exchanged, so that their sizes change too."""
    out = dict(table)
    race = np.array(table["race"], dtype=object)
    mine = np.flatnonzero(np.isin(race, groups))
    race[mine] = [groups[0] if i % 3 else groups[1] for i in range(len(mine))]
    out["race"] = race
    return out


@pytest.mark.parametrize("unknown", [False, True])
def test_nothing_written_depends_on_who_is_in_which_masked_group(unknown: bool):
    """Byte for byte, in every format, with intervals, tests, notes, curves and the report."""
    from lightmeter.report.public import content_of

    rng = np.random.default_rng(0)
    other: Any = None if unknown else "o"
    race = np.array(["w"] * 150 + ["b"] * 90 + ["a"] * 12 + ["z"] * 4 + [other] * 30, dtype=object)
    table = {"p": rng.random(286), "p2": rng.random(286), "y": rng.integers(0, 2, 286), "race": race}
    table["sex"] = rng.choice(["f", "m"], 286)
    written = []
    for one in (table, swapped(table, ["z", "a"])):
        result = lm.audit(one, score=["p", "p2"], group=["race", "sex"], label="y", cutoffs=[30, 90], resamples=120)
        gone = (
            result.rows.filter((pl.col("measure") == "count") & pl.col("value").is_null())["group"].unique().to_list()
        )
        assert {"a", "z"} <= set(gone) <= {"a", "z", "unknown"}
        contents = [result.render(form) for form in FORMS] + [WRITERS["csv"](result.curves), repr(result).encode()]
        contents.append(json.dumps(result.manifest).encode())
        if not unknown:
            contents.append(pictures_read(content_of(result, manifest=result.manifest)))
        written.append(contents)
    for mine, other_ in zip(*written, strict=True):
        assert mine == other_


def test_nothing_written_depends_on_whether_a_masked_person_is_unknown():
    """From what is taken among the known, such as skew, their number follows: it is masked with the unknown."""
    rng = np.random.default_rng(1)
    race = np.array(["w"] * 150 + ["b"] * 90 + ["o"] * 20 + [None] * 4, dtype=object)
    table = {"p": rng.random(264), "race": race}
    moved = dict(table, race=np.array([*race[:-7], *[None] * 7], dtype=object))
    results = [lm.audit(t, score="p", group="race", cutoffs=[30, 90], resamples=120) for t in (table, moved)]
    assert [shown_groups(r) for r in results] == [{"w", "b"}] * 2
    for form in FORMS:
        assert results[0].render(form) == results[1].render(form)
    lost = results[0].rows.filter(pl.col("measure").is_in(["skew", "ndkl", "fa_ir_p"]))
    assert set(lost["reason"]) == {"masked"}
    assert lost["n"].null_count() == len(lost)


def shown_groups(result: lm.AuditResult) -> set[str]:
    whole = result.rows.filter((pl.col("measure") == "count") & pl.col("cutoff").is_null())
    return set(whole.filter(pl.col("value").is_not_null())["group"])


def test_the_order_of_masked_groups_is_that_of_their_names():
    """By size it would tell: of 20 in two groups with none above 11, the second has 9."""
    table = {"p": range(131), "g": ["a"] * 100 + ["z"] * 11 + ["c"] * 11 + ["b"] * 9}
    rows = lm.audit(table, score="p", group="g", resamples=0).rows
    order = rows.filter(pl.col("measure") == "count")["group"].to_list()
    there = shown_groups(lm.audit(table, score="p", group="g", resamples=0))
    masked = [g for g in order if g not in there]
    assert order[: len(there)] == [g for g in order if g in there]
    assert masked == sorted(masked)
    assert "b" in masked


def test_states_and_regions():
    """A region is the sum of its states, though nobody said so."""
    region = ["west"] * 155 + ["east"] * 140
    state = ["ca"] * 100 + ["nv"] * 50 + ["hi"] * 5 + ["ny"] * 100 + ["vt"] * 40
    table = {"p": np.random.default_rng(0).random(295), "region": region, "state": state}
    alone = lm.audit(table, score="p", group="state", resamples=0)
    assert shown_groups(alone) == {"ca", "ny", "nv"}
    both = lm.audit(table, score="p", group=["region", "state"], resamples=0)
    shown = shown_groups(both)
    assert "hi" not in shown
    # with west and its other two states hi would be what is left
    assert not {"west", "ca", "nv"} <= shown
    assert not {"east", "ca", "nv"} <= shown


def test_those_who_are_unknown_elsewhere_are_a_group_too():
    """f less f,w and f,b: three women of unknown race, with every group that is told of ten or more."""
    race = np.array(["w"] * 60 + ["b"] * 37 + [None] * 3 + ["w"] * 80 + ["b"] * 40 + [None] * 30, dtype=object)
    table = {"p": np.random.default_rng(0).random(250), "sex": ["f"] * 100 + ["m"] * 150, "race": race}
    result = lm.audit(table, score="p", group=["sex", "race", "sex,race"], resamples=0)
    whole = result.rows.filter((pl.col("measure") == "count") & pl.col("cutoff").is_null())
    shown = {r["attribute"] + ":" + r["group"] for r in whole.to_dicts() if r["value"] is not None}
    assert not {"sex:f", "sex,race:f,w", "sex,race:f,b"} <= shown
    assert not {"sex:m", "sex,race:m,w", "sex,race:m,b", "race:unknown"} <= shown
    assert len(shown) >= 4


def test_a_curve_does_not_tell_places_one_by_one_where_groups_are_masked():
    """At every place the sex and the race of one person would tell how many are of both."""
    rng = np.random.default_rng(0)
    table = {"p": rng.random(90), "sex": rng.choice(["f", "m"], 90), "race": ["w"] * 60 + ["b"] * 27 + ["o"] * 3}
    curve = lm.audit(table, score="p", group=["sex", "race"], cutoffs=33, resamples=0).curve()
    points = curve["cutoff"].unique().sort()
    assert {33, 90} <= set(points)
    assert (points.diff().drop_nulls() >= 10).all()
    assert points[0] >= 10
    alone = lm.audit(table, score="p", group="race", resamples=0).curve()
    assert alone["cutoff"].n_unique() == 90


def test_a_list_that_is_not_shown_tells_nothing_of_its_groups():
    """With many small lists a list is shown with all of its groups, or none: then every group has a row in it."""
    rng = np.random.default_rng(0)
    sizes = np.repeat([8, 60], [200, 20])
    q = np.repeat([f"q{i}" for i in range(220)], sizes)
    table = {"p": rng.random(len(q)), "g": rng.choice(["a", "b", "c"], len(q), p=[0.5, 0.49, 0.01]), "q": q}
    result = lm.audit(table, score="p", group="g", query="q", per_query=True, cutoffs=3, resamples=0)
    count = result.rows.filter(
        (pl.col("measure") == "count") & pl.col("cutoff").is_null() & pl.col("query").is_not_null()
    )
    by_list = count.group_by("query").agg(pl.col("value").null_count().alias("lost"), pl.len())
    hidden = by_list.filter(pl.col("lost") > 0)
    assert len(hidden) >= 200
    assert (hidden["lost"] == hidden["len"]).all()
    assert (hidden["len"] == 3).all()
    assert result.value("count", "a") == (table["g"] == "a").sum()
    shown = by_list.filter(pl.col("lost") == 0)
    assert len(shown) > 0
