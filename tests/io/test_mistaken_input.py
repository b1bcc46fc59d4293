"""Input that was once called a defect, or read as something it is not."""

from __future__ import annotations

import polars as pl
import pytest

import lightmeter as lm

RUN, QRELS = {"q": ["a", "b"]}, {"q": {"b": 1}}


def file(tmp_path, text, name="groups.csv"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def refused(call, *words):
    with pytest.raises(lm.LightmeterError) as told:
        call()
    text = str(told.value)
    assert all(word in text for word in words), text
    return text


def test_two_columns_of_one_name(tmp_path):
    path = file(tmp_path, "doc,g,g\na,f,m\n")
    refused(lambda: lm.load(RUN, QRELS, path), f"{path}:1", "several columns are named 'g'", "Rename one of them")


@pytest.mark.parametrize("values", [(1.5, 1.5), (1e-320, 2e-320), (1.5, 1e308), (1.5, -1e308)])
def test_numbers_that_no_bins_can_be_named_for(tmp_path, values):
    path = file(tmp_path, f"doc,age\na,{values[0]!r}\nb,{values[1]!r}\n")
    text = refused(lambda: lm.load(RUN, QRELS, path), "cannot be groups as they are")
    assert "--bins" not in text
    assert ("all 1.5" in text) == (values == (1.5, 1.5))


def test_numbers_that_bins_can_be_named_for(tmp_path):
    path = file(tmp_path, "doc,age\na,1.5\nb,31.5\n")
    refused(lambda: lm.load(RUN, QRELS, path), "2 different numbers, from 1.5 to 31.5", "--bins age=1,12,22")


def test_a_header_of_annotations(tmp_path):
    path = file(tmp_path, "doc,g\na,f\nb,m\n")
    refused(lambda: lm.load(RUN, QRELS, f"g={path}:annotations"), f"{path}:1", "'doc,g'", "is a header")
    without = file(tmp_path, "a,f\nb,m\n", "annotations.csv")
    assert lm.load(RUN, QRELS, f"g={without}:annotations").attributes["g"].values == ("f", "m")


@pytest.mark.parametrize(("rank", "word"), [("-1", "below 0"), ("1.5", "not a whole number")])
def test_ranks_that_are_none(tmp_path, rank, word):
    path = file(tmp_path, f"query,doc,rank\nq,a,1\nq,b,{rank}\n", "run.csv")
    refused(lambda: lm.load(path, QRELS), f"{path}:3", word)


def test_rank_0_is_the_first():
    run = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "rank": [1, 0]})
    assert lm.evaluate(lm.load(run, QRELS), "P@1").mean()["value"].to_list() == [1.0]


def test_true_is_no_score():
    run = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [True, False]})
    refused(lambda: lm.load(run, QRELS), "the score has the type")
    refused(lambda: lm.load({"q": {"a": True, "b": False}}, QRELS), "the score True")
    people = pl.DataFrame({"s": [True, False] * 10, "g": ["f", "m"] * 10})
    refused(lambda: lm.audit(people, score="s", group="g"), "the score has the type")


def test_weights_of_clicks_that_cannot_be_added():
    log = {"query": ["q"] * 4, "doc": list("aabb"), "rank": [1, 2, 2, 1], "clicked": [1, 0, 1, 0]}
    for method in ("rate", "pbm", "pairs"):
        heavy = pl.DataFrame(log | {"weight": [1e308] * 4})
        refused(lambda m=method, h=heavy: lm.estimate_attention(h, method=m), "weights add up", "weight")


def test_labels_that_cannot_be_added():
    table = pl.DataFrame({"s": [float(i) for i in range(40)], "g": ["f", "m"] * 20, "y": [1.5e308] * 40})
    rows = lm.audit(table, score="s", group="g", label="y", resamples=20).frame()
    merit = rows.filter(pl.col("measure").is_in(["exposure_per_merit", "exposure_per_merit_ratio"]))
    assert len(merit) > 0
    assert merit["value"].null_count() == len(merit)
    assert set(merit["reason"]) == {"overflow"}


@pytest.mark.parametrize(
    ("columns", "meant"), [("qery=doc", "query=doc"), ("qid=query", "query=qid"), ("docno=doc", "doc=docno")]
)
def test_what_columns_were_meant(columns, meant):
    ours, theirs = columns.split("=")
    refused(lambda: lm.load(RUN, QRELS, columns={ours: theirs}), f"Did you mean {meant}?")


def wrong(c):
    r = lm.evaluate(c, "P@1")
    exposure = {"policy": lm.PlackettLuce(), "user": lm.RBP(p=0.5)}
    return {
        "columns is 'query=qid'": lambda: lm.load(RUN, QRELS, columns="query=qid"),
        "the bins None of 'g'": lambda: lm.load(RUN, QRELS, {"g": {"a": 1.5, "b": 2}}, bins={"g": None}),
        "segment is 5": lambda: lm.load(RUN, QRELS, segment=5),
        "rng is 'x'": lambda: lm.evaluate(c, "P@1", rng="x"),
        "rng is -1": lambda: lm.evaluate(c, "P@1", rng=-1),
        "samples is 0": lambda: lm.evaluate(c, "P@1", samples=0),
        "the scores are no array": lambda: lm.expected_exposure(["a"], [0], **exposure),
        "the grades are no array": lambda: lm.expected_exposure([[1, 2], [3, 4]], [[1, 2], [3]], **exposure),
        "k is 'x'": lambda: lm.fair_table("x", 0.5, 0.1),
        "p is None": lambda: lm.fair_table(3, None, 0.1),
        "path is None": lambda: lm.write_report(r, None),
        "collection is 5": lambda: lm.write_report(r, "x.html", collection=5),
        "path is 7": lambda: lm.write_run(c, 7),
    }


@pytest.mark.parametrize("said", list(wrong(lm.load(RUN, QRELS))))
def test_arguments_of_the_wrong_type(said):
    refused(wrong(lm.load(RUN, QRELS))[said], said, "ccepted")


def test_documents_of_one_rank(tmp_path):
    path = file(tmp_path, "query,doc,rank\nq,a,1\nq,b,2\nq,c,2\np,a,2\n", "run.csv")
    notes = lm.load(path, QRELS).notes
    assert f"{path}: 2 documents have the rank of another, such as rank 2 of query 'q': taken as equal scores" in notes
    apart = file(tmp_path, "query,doc,rank,sample\nq,a,1,x\nq,b,2,x\nq,b,1,y\nq,a,2,y\n", "samples.csv")
    assert lm.load(apart, QRELS).notes == ()
    scored = file(tmp_path, "query,doc,rank,score\nq,a,1,2\nq,b,1,1\n", "scored.csv")
    assert lm.load(scored, QRELS).notes == ()


def test_the_persons_of_a_report_have_no_column():
    from lightmeter.report.people import ids_of

    table = pl.DataFrame({"person": ["a"], "score": [1.0]})
    text = refused(lambda: ids_of(table, "persn"), "no column 'persn'", "identifies them. Did you mean 'person'?")
    assert ".." not in text
    assert "?." not in text
