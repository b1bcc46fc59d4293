"""Amortised group exposure over the query sequence of TREC Fair Ranking 2019, against plain loops over its files."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

import lightmeter as lm

P, U = 0.5, 0.7


@pytest.mark.slow
def test_trec_fair_2019(shared_data: Path) -> None:
    folder = shared_data / "trec-fair-2019"
    queries = [
        json.loads(line) for line in (folder / "TREC-Competition-eval-sample-with-rel.json").read_text().splitlines()
    ]
    asked = Counter(line.strip().split(",")[1] for line in (folder / "sequence-head.csv").read_text().splitlines())
    levels = {}
    for line in (folder / "article-level.csv").read_text().splitlines():
        doc, *values = line.strip().split(",")
        if any(values):
            levels[doc] = sorted({v for v in values if v})

    total: defaultdict[str, float] = defaultdict(float)
    docs = set()
    for q in queries:
        view = 1.0
        for d in q["documents"]:
            if asked[str(q["qid"])]:
                total[d["doc_id"]] += asked[str(q["qid"])] * view
                docs.add(d["doc_id"])
            view *= P * (1 - U) if d["relevance"] else P
    requests = sum(asked[str(q["qid"])] for q in queries)
    expected = {}
    for level in ("Advanced", "Developing"):
        mine = [d for d in docs if level in levels.get(d, [])]
        expected[level] = sum(total[d] for d in mine) / len(mine) / requests

    run = [(str(q["qid"]), d["doc_id"], -float(k)) for q in queries for k, d in enumerate(q["documents"])]
    c = lm.load(
        run=pl.DataFrame(run, ["query", "doc", "score"], orient="row"),
        qrels=folder / "TREC-Competition-eval-sample-with-rel.json",
        groups=f"level={folder / 'article-level.csv'}:annotations",
        sequence=folder / "sequence-head.csv",
    )
    measures = [m(by="level", user=lm.Cascade(p=P, u=U), amortised=True) for m in (lm.MeanExposure, lm.ExposureRatio)]
    found = lm.evaluate(c, measures, unknown="drop").mean()["value"].to_list()
    assert requests == 20_000
    assert found[:2] == pytest.approx([expected["Advanced"], expected["Developing"]], rel=1e-12)
    assert found[2] == pytest.approx(expected["Advanced"] / expected["Developing"], rel=1e-12)
    assert found[2] == pytest.approx(0.698712, abs=5e-7)
