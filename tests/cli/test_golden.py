"""Values that NTCIREVAL computes for its group-fairness example, through the command line.

The example's files are not ours to copy: the test reads them beside the repository, or is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# run, topic, attribute: ERR, iRBU, GF-JSD, GF-NMD, GF-RNOD
FULL = {
    ("toyrun1", "P001", "HINDEX"): (0.765625, 0.802537, 0.397854, 0.432292, 0.356075),
    ("toyrun1", "P001", "GENDER"): (0.765625, 0.802537, 0.466444, 0.432291, 0.383731),
    ("toyrun1", "P002", "RATINGS"): (0.120833, 0.420885, 0.419619, 0.383333, 0.363701),
    ("toyrun1", "P002", "ORIGIN"): (0.120833, 0.420885, 0.406806, 0.398992, 0.383383),
    ("toyrun1", "P003", "FOLLOWERS"): (0.559375, 0.932539, 0.636771, 0.761979, 0.624737),
    ("toyrun1", "P004", "SUBSCS"): (0.195833, 0.777507, 0.783255, 0.747222, 0.696514),
    ("toyrun2", "P001", "HINDEX"): (0.390625, 0.795112, 0.730068, 0.619792, 0.579244),
    ("toyrun2", "P003", "FOLLOWERS"): (0.809375, 0.937489, 0.518013, 0.553646, 0.469876),
}
# the same of toyrun1 at cutoff 3; four digits; None: not printed
AT_3 = {
    ("P001", "HINDEX"): (0.7500, 0.7425, 0.3384, 0.3750, 0.3037),
    ("P002", "RATINGS"): (None, None, 0.2378, 0.2083, 0.2004),
    ("P003", "FOLLOWERS"): (0.5312, 0.7988, 0.5002, 0.6354, 0.5008),
    ("P004", "SUBSCS"): (0.0833, 0.2426, 0.2378, 0.2222, 0.2066),
}
ATTRIBUTES = {"HINDEX": "R", "GENDER": "R", "RATINGS": "M", "ORIGIN": "M", "FOLLOWERS": "T", "SUBSCS": "Y"}
RELEVANCE = ("ERR(max_grade=2)", "iRBU(p=0.99, max_grade=2)")


def measures_of(attribute: str) -> list[str]:
    groups = (f"GF(by='{attribute}'{div}, user=ERR(max_grade=2))" for div in ("", ", div=NMD", ", div=RNOD"))
    return [*RELEVANCE, *groups]


@pytest.fixture(scope="module")
def values(shared_data: Path) -> dict[tuple[str, str, str], float]:
    """By run, query and measure."""
    command = ["evaluate", "toyrun1", "toyrun2", "--qrels", "toy.4topics.qrels", "--ties", "file", "-f", "jsonl"]
    for name, kind in ATTRIBUTES.items():
        command += ["--groups", f"{name}=toy.{kind}-{name}.gmemb", "--targets", f"{name}={kind}-{name}.golddistr"]
    for measure in dict.fromkeys(m for name in ATTRIBUTES for m in measures_of(name)):
        command += ["-m", measure, "-m", f"{measure}@3"]
    done = subprocess.run(
        [sys.executable, "-m", "lightmeter", *command, "--per-query"],
        capture_output=True, text=True, check=False, cwd=shared_data / "fairweb-toy",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(r["run"], r["query"], r["measure"]): r["value"] for r in rows}


@pytest.mark.parametrize("row", FULL, ids=" ".join)
def test_whole_rankings(values, row):
    run, query, attribute = row
    got = [values[run, query, measure] for measure in measures_of(attribute)]
    assert got == pytest.approx(FULL[row], abs=5.1e-7, rel=0)


@pytest.mark.parametrize("row", AT_3, ids=" ".join)
def test_at_cutoff_3(values, row):
    query, attribute = row
    for measure, expected in zip(measures_of(attribute), AT_3[row], strict=True):
        if expected is not None:
            assert values["toyrun1", query, f"{measure}@3"] == pytest.approx(expected, abs=5.1e-5, rel=0), measure
