"""Real collections evaluate, and say just what is expected of them: any other warning, note or count fails."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import lightmeter as lm
from lightmeter.results.result import Cell

pytestmark = pytest.mark.slow


def undefined(cell: Cell) -> NDArray[np.bool_]:
    """Which queries have no value."""
    return np.isnan(cell.values.value)


def told(result: lm.Result, collection: lm.Collection, folder: Path) -> list[str]:
    """Notes and counts of what was ignored, without the folder."""
    lines = [*collection.notes, *(f"{what}: {n}" for what, n in collection.ignored.items())]
    assert result.manifest["ignored"] == collection.ignored
    return sorted(line.replace(f"{folder}/", "") for line in lines)


def test_robust(shared_data: Path) -> None:
    """17 runs: scores that span 1e10, ranks from 0, 1 and 2, one run of depth 10, one with 97% ties."""
    folder = shared_data / "robust03"
    runs = {p.name.removeprefix("input.").removesuffix(".gz"): p for p in sorted((folder / "runs").glob("*.gz"))}
    assert len(runs) == 17
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = lm.load(run=runs, qrels=folder / "qrels.txt.gz")
        measures = ["nDCG@10", "AP", "ERR@20", "EEL", "EED(user=Cascade(p=0.5, u=0.5))", "EESpread", "Judged@10"]
        r = lm.evaluate(c, measures)
    assert told(r, c, folder) == []
    assert len(r.queries) == 100
    assert all(here.all() for here in r.answered.values())
    ties = {name: run["tied_documents"] for name, run in r.manifest["runs"].items()}
    assert sum(n > 0 for n in ties.values()) > 5
    assert ties["rutcor03100"] == max(ties.values())


def test_fairweb(shared_data: Path) -> None:
    folder = shared_data / "fairweb-toy"
    names = {"HINDEX": "R", "GENDER": "R", "RATINGS": "M", "ORIGIN": "M", "FOLLOWERS": "T", "SUBSCS": "Y"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = lm.load(
            run={"one": folder / "toyrun1", "two": folder / "toyrun2"},
            qrels=folder / "toy.4topics.qrels",
            groups=[f"{n}={folder}/toy.{p}-{n}.gmemb" for n, p in names.items()],
            targets=[f"{n}={folder}/{p}-{n}.golddistr" for n, p in names.items()],
        )
        r = lm.evaluate(c, [lm.GF(by=n, div=d) for n in names for d in (lm.JSD, lm.NMD, lm.RNOD)])
    assert told(r, c, folder) == ["toyrun1: SYSDESC lines: 1", "toyrun2: SYSDESC lines: 1"]
    # each attribute is known for the topics of its own task, and undefined for the others
    defined = {str(x.measure.by): int((~undefined(x)).sum()) for x in r.cells if x.run == "one"}
    assert defined == {"HINDEX": 1, "GENDER": 1, "RATINGS": 1, "ORIGIN": 1, "FOLLOWERS": 1, "SUBSCS": 1}
    assert {x for cell in r.cells for x in cell.values.reasons()} == {None, "no_known_member"}


def test_trec_fair(shared_data: Path) -> None:
    """Candidate lists in their own order and reversed; authors with several values; a query sequence."""
    folder = shared_data / "trec-fair-2019"
    path = folder / "TREC-Competition-eval-sample-with-rel.json"
    lists = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    given = {str(q["qid"]): [d["doc_id"] for d in q["documents"]] for q in lists}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = lm.load(
            run={"given": given, "reversed": {q: docs[::-1] for q, docs in given.items()}},
            qrels=path,
            groups=[f"level={folder}/article-level.csv:annotations", f"h={folder}/article-h_index_4.csv:annotations"],
            sequence=folder / "sequence-head.csv",
            ordinal={"h": ["0", "1", "2", "3"]},
        )
        r = lm.evaluate(
            c,
            ["nDCG", lm.GF(by="level"), lm.AWRF(by="h", div=lm.NMD), lm.EEL(by="level"), "Share(by='level')@5"],
        )
    assert told(r, c, folder) == [
        "TREC-Competition-eval-sample-with-rel.json: candidates: 4339 documents of 635 queries, 4339 of them judged",
        "article-h_index_4.csv: 140 documents have no annotation: unknown",
        "article-h_index_4.csv: repeated values of a document: 2805",
        "article-level.csv: 57 documents have no annotation: unknown",
        "article-level.csv: repeated values of a document: 5225",
    ]
    assert "sequence" in r.conventions["weights"]
    assert not any(undefined(x).all() for x in r.cells)
