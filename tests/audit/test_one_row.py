"""``AuditResult.value``: one value by name, and what is said where none or several are meant."""

from __future__ import annotations

from typing import Any

import pytest

import lightmeter as lm


@pytest.fixture(scope="module")
def result() -> lm.AuditResult:
    table = {"p": range(80), "sex": ["f", "m", "m", "f"] * 20, "age": ["old", "young", "young", "young"] * 20}
    return lm.audit(table, score="p", group=["sex", "age"], cutoffs=20, resamples=0)


def test_a_value(result: lm.AuditResult) -> None:
    assert result.value("count", "f") == 40
    assert result.value("count", "f", cutoff=20) == 10
    assert result.value("ndkl", attribute="sex", cutoff=20) == result.value("ndkl", None, attribute="sex", cutoff=20)


@pytest.mark.parametrize(
    ("asked", "where", "told"),
    [
        (("exposure_ration", "f"), {}, "measure 'exposure_ration'. Did you mean 'exposure_ratio'? There are: count, "),
        (("count", "F"), {}, "count has rows, but none with group 'F'. Did you mean 'f'? There are: f, m, "),
        (("count", "f"), {"cutof": 20}, "no column 'cutof'. Did you mean 'cutoff'? There are: measure, cutoff, "),
        (("count", "f"), {"cutoff": 21}, "none with cutoff 21. There are: None (the whole list), 20."),
        (("count", "f"), {"attribute": "sx"}, "none with attribute 'sx'. Did you mean 'sex'? There are: sex, age."),
        (("count", "f"), {"attribute": "age"}, "none with group 'f'. There are: young, old."),
        (("count",), {}, "none with group=None (all groups together). There are: "),
        (("selection_rate", "f"), {}, "none with cutoff=None (the whole list). There are: 20."),
        (("count", "f"), {"cutoff": "20"}, "none with cutoff '20'. There are: None (the whole list), 20."),
        (("count", 1), {}, "none with group 1. There are: f, m, "),
        (
            ("count", "f"),
            {"attribute": ["sex"]},
            "none with attribute ['sex']. Did you mean 'sex'? There are: sex, age.",
        ),
        ((3, "f"), {}, "no rows have measure 3. There are: count, "),
        (
            ("exposure_ratio.high", "m"),
            {},
            "no rows have measure 'exposure_ratio.high'. Did you mean 'exposure_ratio'?",
        ),
        (("count(group='m')", "f"), {}, "no rows have measure \"count(group='m')\""),
        (("count@20", "f"), {"cutoff": 30}, "no rows have measure 'count@20'"),
        (("count@21", "f"), {}, "none with cutoff 21. There are: None (the whole list), 20."),
        (("ndkl",), {}, "2 rows of ndkl are such. Name the attribute (sex, age)."),
    ],
)
def test_what_names_no_row_or_several(
    result: lm.AuditResult, asked: tuple[str, ...], where: dict[str, Any], told: str
) -> None:
    with pytest.raises(lm.LightmeterError) as error:
        result.value(*asked, **where)
    assert told in str(error.value)


def test_names_are_read_as_conditions_read_them(result: lm.AuditResult) -> None:
    assert result.value("count@20", "f") == result.value("count @ 20", "f") == 10
    assert result.value("count", "f", cutoff="all") == result.value("count@all", "f") == 40
    curve = "exposure_ratio(user=RBP(p=0.99))"
    assert result.value(" exposure_ratio( user = RBP( p=.99 ) )", "m") == result.value(curve, "m") > 0
