"""The collections beside the repository are read whole (skipped where they are absent)."""

from __future__ import annotations

from pathlib import Path

import pytest

from lightmeter.errors import InputError
from lightmeter.io.groups import read_groups
from lightmeter.io.judgments import read_judgments, read_sequence, read_targets
from lightmeter.io.runs import read_run, trec_file


def test_robust03(shared_data: Path) -> None:
    folder = shared_data / "robust03"
    assert len(read_judgments(folder / "qrels.txt.gz").frame) == 128_796
    whole = read_run(folder / "runs")
    assert len(whole.doc) == 1_510_973
    assert len(whole.queries) == 100
    one = str(folder / "runs" / "input.pircRBa1.gz")
    fast, exact = trec_file(one), trec_file(one, exact=True)
    assert fast.doc.equals(exact.doc)
    assert fast.score.tobytes() == exact.score.tobytes()


def test_fairweb(shared_data: Path) -> None:
    folder = shared_data / "fairweb-toy"
    run = read_run(folder / "toyrun1")
    assert (len(run.doc), run.ignored) == (20, {"SYSDESC lines": 1})
    assert len(read_judgments(folder / "toy.4topics.qrels").frame) == 14
    for path in folder.glob("*.gmemb"):
        (table,) = read_groups(f"x={path}")
        target = read_targets(f"x={folder / path.name.split('.')[1]}.golddistr")
        assert target.frame["value"].to_list() == list(table.values)


def test_trec_fair(shared_data: Path) -> None:
    folder = shared_data / "trec-fair-2019"
    judgments = read_judgments(folder / "TREC-Competition-eval-sample-with-rel.json")
    assert len(judgments.frame) == 4_339
    assert judgments.frame["query"].n_unique() == 635
    (level,) = read_groups(f"level={folder / 'article-level.csv'}:annotations")
    assert level.values == ("Advanced", "Developing")
    assert len(read_sequence(folder / "sequence-head.csv")) == 635


def test_movielens(shared_data: Path) -> None:
    folder = shared_data / "ml-100k"
    columns = {"query": "user_id:token", "doc": "item_id:token", "grade": "rating:float", "score": "rating:float"}
    assert len(read_judgments(folder / "ml-100k.inter", columns=columns).frame) == 100_000
    assert len(read_run(folder / "ml-100k.inter", columns=columns).queries) == 943
    with pytest.raises(InputError, match="--bins age:token=7,29,51"):
        read_groups(folder / "ml-100k.user", columns={"doc": "user_id:token"})


def test_tables_with_marks_and_unnamed_columns(shared_data: Path) -> None:
    columns = {"doc": "race", "query": "sex", "score": "LSAT"}
    run = read_run(shared_data / "tables" / "law_data.csv", columns=columns)
    assert len(run.doc) == 21_791
    assert run.ignored == {"columns without a name": 3}
