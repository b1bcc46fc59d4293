"""The tables of scored people beside the repository."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm

TABLES = {
    "GermanCredit_age25.csv": ("score", ["age25"], None),
    "GermanCredit_age35.csv": ("score", ["age35"], None),
    "GermanCredit_sex.csv": ("score", ["sex"], None),
    "ProPublica_race.csv": ("Recidivism_rawscore", ["race"], None),
    "ProPublica_sex.csv": (["Recidivism_rawscore", "Violence_rawscore"], ["sex"], None),
    "german_credit.csv": ("Credit Amount", ["Sex & Marital Status", "Foreign Worker"], "Creditability"),
    "law_data.csv": (["LSAT", "ZFYA"], ["race", "sex", "sex,race", "region_first"], "first_pf"),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_audited(shared_data: Path, name: str):
    score, group, label = TABLES[name]
    result = lm.audit(
        str(shared_data / "tables" / name), score=score, group=group, label=label, cutoffs=[50, 500], resamples=50
    )
    rows = result.rows
    assert rows["attribute"].unique(maintain_order=True).to_list() == group
    count = rows.filter((pl.col("measure") == "count") & pl.col("cutoff").is_null())
    assert count["value"].drop_nulls().min() >= 10  # type: ignore[operator]
    for k in (50, 500):
        share = rows.filter((pl.col("measure") == "share") & (pl.col("cutoff") == k)).group_by("attribute", "score")
        assert (share.agg(pl.col("value").sum())["value"] <= 1 + 1e-9).all()
    assert repr(result)


def test_the_stray_header_of_the_law_students(shared_data: Path):
    result = lm.audit(str(shared_data / "tables" / "law_data.csv"), score="LSAT", group="race", resamples=0)
    assert result.manifest["ignored"] == {"columns without a name": 3}
    assert result.value("count", "White") == 18285
    assert result.value("count", "Amerindian") == 99
    assert result.manifest["rows"] == 21791
