"""The table of other names in docs/measures.md leads to terms that there are, and leaves no measure out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lightmeter as lm
from lightmeter.terms.registry import KINDS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measures.md"
TABLE = PAGE.read_text("utf-8").split("## Under other names")[1].split("<!-- catalogue -->")[0]
ROWS = re.findall(r"^\| .* \| (.*) \|$", TABLE, re.MULTILINE)
HERE = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row)]
PARAMETER = "docs='all'"


def kind_of(name: str) -> str | None:
    for kind in KINDS:
        try:
            term = lm.parse(name, kind=kind)
        except lm.TermError:
            continue
        if lm.parse(str(term), kind=kind) == term:
            return kind
    return None


@pytest.mark.parametrize("name", [n for n in dict.fromkeys(HERE) if n != PARAMETER and not n.startswith("lightmeter ")])
def test_every_name_is_one_that_the_parser_takes(name: str) -> None:
    assert kind_of(name) is not None


def test_every_measure_of_fairness_stands_in_the_table() -> None:
    named = {re.split(r"[(@]", name)[0] for name in HERE}
    assert len(HERE) > 60
    missing = {
        name for name in lm.__all__ if isinstance(getattr(lm, name), type) and issubclass(getattr(lm, name), lm.Measure)
    } - named
    # parts of the opening of an audit, under their plain names, and what is no measure of its own
    assert missing <= {"Count", "Share", "MeanScore", "DistrSim", "MaxDeviation", "Entropy", "Measure"}
