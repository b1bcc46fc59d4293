"""From rows to rankings: ties, depth, blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.data.rankings import Ranked, chunks_of_like_length

# score 2: b, d and ü; score 1: a and c, in this order of the file
TIED = {"q": {"a": 1.0, "b": 2.0, "d": 2.0, "c": 1.0, "ü": 2.0}}


def order(run: object, ties: str, depth: int | None = None) -> list[str]:
    c = lm.load(run=run)
    ranked, _ = Ranked.of(c, c.runs["run"], ties, depth)  # type: ignore[arg-type]
    docs = c.runs["run"].doc.to_list()
    rows = range(len(docs)) if ranked.order is None else ranked.order
    return [docs[r] for r in rows][: int(ranked.offsets[-1])]


def test_ties() -> None:
    """docno: document id descending, byte by byte (trec_eval); file: as they stand."""
    assert order(TIED, "docno") == ["ü", "d", "b", "c", "a"]
    assert order(TIED, "file") == ["b", "d", "ü", "a", "c"]
    assert order({"q": ["a", "b", "c"]}, "docno") == ["a", "b", "c"]
    assert order({"q": {"doc10": 1.0, "doc9": 1.0, "Doc9": 1.0}}, "docno") == ["doc9", "doc10", "Doc9"]
    assert order({"q": {"a": 0.0, "b": -0.0}}, "docno") == ["b", "a"]


def test_ties_refused(tmp_path: Path) -> None:
    with pytest.raises(lm.InputError, match="'b' and 'd' have the same score 2"):
        order(TIED, "error")
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 x 1 3 t\nq2 Q0 a 1 1 t\nq2 Q0 b 2 5 t\nq2 Q0 c 3 1 t\n")
    with pytest.raises(lm.InputError, match=r"run.txt:4.*'a' and 'c'"):
        lm.evaluate(lm.load(run=str(path), qrels={"q2": {"a": 1}}), [lm.AP()], ties="error")
    assert order({"q": {"a": 1.0, "b": 2.0}, "r": {"a": 2.0}}, "error") == ["b", "a", "a"]


def test_ties_are_counted_and_one_rule_holds() -> None:
    c = lm.load(run=TIED, qrels={"q": {"ü": 1}}, groups={"g": {"ü": "x", "a": "y"}})
    measures = [lm.RR(), lm.R(cutoff=1), lm.nDCG(cutoff=1), lm.Share(by="g", cutoff=1), lm.EER(cutoff=1)]
    docno, file = lm.evaluate(c, measures), lm.evaluate(c, measures, ties="file")
    assert [x.values.value[0] for x in docno.cells] == [1, 1, 1, 1, 0, 0, 1]
    assert [x.values.value[0] for x in file.cells] == [pytest.approx(1 / 3), 0, 0, 0, 0, 1, 0]
    assert "5 documents tied" in docno.conventions["ties"]
    assert docno.manifest["runs"]["run"]["tied_documents"] == 5


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 3), st.text("ab", max_size=2)), min_size=1, max_size=6, unique_by=lambda r: r[1]
        ),
        min_size=1,
        max_size=4,
    )
)
def test_order_of_many(queries: list[list[tuple[int, str]]]) -> None:
    run = {f"q{i}": {f"d{d}": float(s) for s, d in rows} for i, rows in enumerate(queries)}
    for ties in ("docno", "file"):
        expected = []
        for rows in queries:
            rows = sorted(rows, key=lambda r: r[1], reverse=True) if ties == "docno" else rows
            expected += [f"d{d}" for _, d in sorted(rows, key=lambda r: -r[0])]
        assert order(run, ties) == expected


def test_depth() -> None:
    """Only the first ranks are looked at at all, by relevance, exposure and group measures alike."""
    c = lm.load(
        run={"q": list("abcd"), "r": ["a"]},
        qrels={"q": {"c": 1, "b": 1}, "r": {"a": 1}},
        groups={"g": {"c": "x", "a": "y"}},
    )
    r = lm.evaluate(c, [lm.R(), lm.EED(user=lm.RBP(p=0.5)), lm.Count(by="g"), lm.Judged()], depth=2)
    assert [x.values.value.tolist() for x in r.cells] == [[0.5, 1], [1.25, 1], [0, 0], [1, 1], [1, 0], [0.5, 1]]
    assert r.conventions["depth"] == "first 2 ranks"
    for wrong in (0, -1, 1.5):
        with pytest.raises(lm.LightmeterError, match="whole number"):
            lm.evaluate(c, [lm.R()], depth=wrong)  # type: ignore[arg-type]


def test_judged_only() -> None:
    """Unjudged documents close up before the cutoff."""
    c = lm.load(run={"q": ["x", "a", "y", "b"]}, qrels={"q": {"a": 0, "b": 1}})
    r = lm.evaluate(
        c,
        [
            lm.RR(judged_only=True),
            lm.RR(),
            lm.R(judged_only=True, cutoff=2),
            lm.P(judged_only=True, cutoff=2),
            lm.R(cutoff=2),
        ],
    )
    assert [x.values.value[0] for x in r.cells] == [0.5, 0.25, 1, 0.5, 0]
    # with none judged at all the ranking is empty
    c = lm.load(run={"q": ["x"], "r": ["a"]}, qrels={"q": {"a": 1}, "r": {"a": 1}})
    assert lm.evaluate(c, [lm.RR(judged_only=True)]).cells[0].values.value.tolist() == [0, 1]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 30))
def test_chunks(lengths: list[int], cells: int) -> None:
    """Every ranking once; padded no larger than asked, unless it is one."""
    chunks = [c.tolist() for c in chunks_of_like_length(np.array(lengths, dtype=np.int64), cells)]
    assert sorted(i for c in chunks for i in c) == list(range(len(lengths)))
    for c in chunks:
        assert len(c) == 1 or len(c) * max(*(lengths[i] for i in c), 1) <= cells


@pytest.mark.parametrize("rankings", [[0, 1, 2, 3], [0, 2, 1, 3], [1, 2], [3, 0], [2]])
@pytest.mark.parametrize("ties", ["file", "docno"])
def test_places_of_a_block(rankings: list[int], ties: str) -> None:
    """Whether the rows of a block stand one after the other or not, each place has its own."""
    from lightmeter.evaluation.evaluate import ranked_context
    from lightmeter.measures.block import Block

    run = {f"q{i}": {f"d{i}{j}": float(-(j // 2)) for j in range(4)} for i in range(4)}
    c = lm.load(run=run, qrels={q: dict.fromkeys(docs, 1) for q, docs in run.items()})
    context = ranked_context(c, ties=ties)  # type: ignore[arg-type]
    ranked = context.ranked["run"]
    block = Block(context, ranked, np.array(rankings))
    whole = np.arange(16).reshape(4, 4) if ties == "file" else np.arange(16).reshape(4, 2, 2)[:, :, ::-1].reshape(4, 4)
    assert block.rows.tolist() == whole[rankings].tolist()
    assert block.at_places(np.arange(16)).tolist() == whole[rankings].tolist()
    deep = Block(context, ranked, np.array(rankings), 3)
    assert deep.at_places(np.arange(16)).tolist() == whole[rankings, :3].tolist()


def test_places_of_rankings_cut_and_padded() -> None:
    """A block cut to two ranks of rankings of 3 and 1 documents has as many places as rows, yet not those."""
    from lightmeter.evaluation.evaluate import ranked_context
    from lightmeter.measures.block import Block

    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"d": 1.0}}
    context = ranked_context(lm.load(run=run, qrels={"q": {"a": 1}, "r": {"d": 1}}), ties="file")
    block = Block(context, context.ranked["run"], np.array([0, 1]), 2)
    assert block.at_places(np.arange(4))[block.valid].tolist() == [0, 1, 3]
