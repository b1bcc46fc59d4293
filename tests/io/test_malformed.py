# ruff: noqa: E501
"""Every way of being wrong gives one InputError that names the file and line, or the row and column."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lightmeter.errors import InputError
from lightmeter.io.groups import attributes_from_columns, read_groups
from lightmeter.io.judgments import judgments_from_columns, read_intents, read_judgments, read_sequence, read_targets
from lightmeter.io.runs import read_run

INTENTS = {"query": ["q"], "intent": ["1"], "doc": ["d"], "grade": [1]}
GOOD = "q1 Q0 d1 1 3.5 t\n"
CUT = gzip.compress((GOOD * 5000).encode(), mtime=0)[:-20]
CUT_ZST = pa.compress((GOOD * 5000).encode(), codec="zstd", asbytes=True)[:-5]


def groups(**options: Any) -> Any:
    return lambda path: read_groups(path, **options)


def named(kind: str) -> Any:
    return lambda path: read_groups(f"x={path}{kind}")


# reader, file name, content, line (None: the whole file), words of the message
FILES: list[tuple[Any, str, str | bytes, int | None, str]] = [
    # the file as a whole
    (read_run, "run.txt", "", None, "the file is empty"),
    (read_run, "run.csv", "", None, "the file is empty"),
    (read_run, "run.txt", "\n \n", None, "no data lines"),
    (read_run, "run.txt", "<SYSDESC>x</SYSDESC>\n", None, "no data lines"),
    (read_run, "run.csv", "query,doc,score\n", None, "header (query, doc, score) but no rows"),
    (read_run, "run.gz", CUT, None, "cut short"),
    (read_run, "run.csv.gz", CUT, None, "cut short"),
    (read_run, "run.zst", CUT_ZST, None, "cut short"),
    (read_run, "run.bz2", b"BZh91AY&SY", None, "bzip2"),
    (read_run, "run.zip", b"PK\x03\x04aaaa", None, "zip"),
    (read_run, "run.txt", GOOD.encode() + b"q1 Q0 d\x002 2 1 t\n", 2, "zero byte"),
    (read_run, "run.txt", GOOD.encode() * 2 + b"q1 Q0 caf\xe9 2 1 t\n", 3, "byte 0xe9 is not UTF-8"),
    (read_run, "run.txt", GOOD.encode("utf-16"), 1, "UTF-16"),
    (read_run, "run.csv", b"query,doc,score\nq,d,1\nq,\xff,1\n", 3, "byte 0xff is not UTF-8"),
    (read_run, "run.parquet", b"not parquet", None, "not Parquet"),
    (read_run, "run.parquet", b"PAR1 and then nothing", None, "cannot be read"),
    # TREC runs
    (read_run, "run.txt", GOOD + "q1 Q0 d2 2\n", 2, "4 fields"),
    (read_run, "run.txt", GOOD + "\nq1 Q0 d2 2 1.5 t extra\n", 3, "7 fields"),
    (read_run, "run.txt", GOOD + "\n\n" + "q1 Q0 d2 2 high t\n", 4, "the score 'high' is not a finite number"),
    (read_run, "run.txt", GOOD + "q1 Q0 d2 2 nan t\n", 2, "the score 'nan'"),
    (read_run, "run.txt", GOOD + "q1 Q0 d2 2 -inf t\n", 2, "the score '-inf'"),
    (read_run, "run.txt", GOOD + "q1 Q0 d2 2 1e999 t\n", 2, "the score '1e999'"),
    (read_run, "run.txt", GOOD + "q1 Q0 d2 2 0x1p3 t\n", 2, "the score '0x1p3'"),
    (read_run, "run.txt", GOOD + "q1  Q0 d2 2 1,5 t\n", 2, "the score '1,5'"),
    (read_run, "run.txt", "q1 Q0 d1 1 first t\n", 1, "the score 'first'"),
    (read_run, "run.txt", "q1,Q0,d1,1,2.5,t\n", None, "header (q1, Q0, d1, 1, 2.5, t) but no rows"),
    # tables
    (read_run, "run.csv", "qid,doc,score\nq,d,1\n", 1, "no column 'query'; the columns are 'qid', 'doc', 'score'"),
    (read_run, "run.csv", "query,doc\nq,d\n", 1, "no column 'score'"),
    (read_run, "run.csv", "query,doc,doc,score\nq,d,d,1\n", 1, "several columns are named 'doc'"),
    (read_run, "run.csv", "query,doc,score\nq,d,1\n\nq,e\n", 4, "2 cells in a table of 3 columns"),
    (read_run, "run.csv", "query,doc,score\nq,d,1\nq,e,1,1\n", 3, "4 cells in a table of 3 columns"),
    (read_run, "run.csv", "query,doc,score\nq,d,1\n\nq,e,x\n", 4, "the score 'x' is not a finite number"),
    (read_run, "run.csv", 'query,doc,score\n"q\nq",d,1\nq,e,\n', 4, "the score is missing"),
    (read_run, "run.csv", "query,doc,score\nq,,1\n", 2, "the document id is missing"),
    (read_run, "run.csv", "query,doc,score\n,d,1\n", 2, "the query id is missing"),
    (read_run, "run.csv", 'query,doc,score\nq,"d,1\nq,e,2\n', 2, "double quote"),
    (read_run, "run.csv", "query,doc,score\nq,d,1\rq,e,2\n", 2, "carriage return"),
    (read_run, "run.csv", "\nquery,doc\r,score\nq,d,1\n", 2, "carriage return"),
    (read_run, "run.csv", "query,doc,score\rq,d,1\r", 1, "carriage return"),
    (read_run, "run.tsv", "query\tdoc\trank\nq\td\tone\n", 2, "the rank 'one'"),
    (read_run, "run.csv", "query,doc,score,sample,weight\nq,d,1,s,-1\n", 2, "the weight -1 is below 0"),
    (read_run, "run.csv", "query,doc,score,run\nq,d,1,a\nq,d,1,b\n", None, "2 runs in one table"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n{"query": "q",\n', 2, "not JSON"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": NaN}\n', 1, "NaN is not JSON"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n[1]\n', 2, "a JSON list instead of an object"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n\n{"query": "q", "doc": "e"}\n', 3, "the score is missing"),
    (read_run, "run.jsonl", '{"query": "q", "doc": 1.5, "score": 1}\n', 1, "the document id is 1.5"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": {"a": 1}}\n', 1, "the score has the type JSON: a JSON object"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n{"query": "q", "doc": true, "score": 1}\n', 2, "the document id is true"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n{"query": 1.0, "doc": "e", "score": 1}\n', 2, "the query id is 1.0"),
    (read_run, "run.jsonl", '{"query": "q", "doc": ["d"], "score": 1}\n', 1, 'the document id is ["d"]'),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": [1]}\n', 1, "the score has the type List(String): a list"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 1}\n\n{"query": "q", "doc": "e", "doc": "f", "score": 1}\n', 3, "the key 'doc' is given twice"),
    (read_run, "run.csv", "doc,score\nd,1\n", 1, "For a single list add a column query with one value."),
    (read_run, "run.jsonl", '{"query": "\\ud800", "doc": "d", "score": 1}\n', 1, "surrogate"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": ' + "9" * 5000 + "}\n", 1, "too many digits"),
    (read_run, "run.jsonl", '{"query": "q", "doc": "d", "score": 0.5}\n{"query": "q", "doc": "e", "score": 1' + "0" * 400 + "}\n", 2, "is not a finite number"),
    (read_run, "run.jsonl", "[" * 100000, 1, "nested too deeply"),
    (read_run, "run.jsonl", "{}\n", None, "no keys"),
    (read_run, "run.csv", "query,doc,score\nq,a,1\n \nq,b,2\n", 3, "only blanks in a table of 3 columns"),
    (read_run, "run.gz", gzip.compress(GOOD.encode(), mtime=0) + b"garbage", None, "cannot be read"),
    # judgments
    (read_judgments, "qrels", "", None, "empty"),
    (read_judgments, "qrels", "q 0 d 1\nq 0 e\n", 2, "3 fields in a file whose first line has 4"),
    (read_judgments, "qrels", "q 0 d 1\nq 0 e 1 1\n", 2, "5 fields"),
    (read_judgments, "qrels", "q 0 d 1\nq 0 e nan\n", 2, "the grade 'nan'"),
    (read_judgments, "qrels", "q 0 d 1\nq 0 e L\n", 2, "the grade 'L'"),
    (read_judgments, "qrels", "q d L1\nq e LL2\n", 2, "the grade 'LL2'"),
    (read_judgments, "qrels", "q 0 d 1\n\nq 0 d 2\n", 3, "has grade 2 here and 1 at line 1"),
    (read_judgments, "qrels.csv", "query,doc,grade\nq,d,1\nq,e,inf\n", 3, "the grade 'inf'"),
    (read_judgments, "qrels.csv", "query,doc,label\nq,d,1\n", 1, "no column 'grade'"),
    (read_judgments, "q.json", '{"qid": 1, "documents": []}\n{"qid": 1}\n', 2, "no usable documents"),
    (read_judgments, "q.json", '{"qid": 1, "documents": [{"doc_id": "a", "relevance": "x"}]}\n', 1, "the relevance 'x'"),
    (read_judgments, "q.json", '{"qid": 1, "documents": [{"id": "a"}]}\n', 1, "doc_id"),
    (read_judgments, "q.json", '{"qid": 1, "documents": [{"doc_id": "a", "relevance": 1' + "0" * 400 + "}]}\n", 1, "is not a number"),
    (read_judgments, "q.json", '{"qid": 1, "documents": []}\n', None, "no query has a document"),
    # groups
    (read_groups, "g.csv", "item,gender\nd,f\n", 1, "no column 'doc'"),
    (read_groups, "g.csv", "doc\nd\n", None, "no attribute column"),
    (read_groups, "g.csv", "doc,gender\nd,\n", None, "no attribute has a value"),
    (read_groups, "g.csv", "doc,gender\nd,f\ne,m\nd,m\n", 4, "has gender 'm' here and 'f' at line 2"),
    (read_groups, "g.csv", "doc,gender\nd,f||m\n", 2, "an empty value in 'f||m'"),
    (read_groups, "g.csv", "doc,age\n" + "".join(f"d{i},{i}\n" for i in range(20)), 2, "--bins age=0,6,13"),
    (read_groups, "g.csv", "doc,age\nd,0.5\ne,1\n", 2, "cannot be groups as they are"),
    (groups(bins={"age": [1, 5]}), "g.csv", "doc,age\nd,2\ne,0\n", 3, "0 is below the first bin"),
    (groups(bins={"age": [1, 5]}), "g.csv", "doc,age\nd,2\ne,old\n", 3, "'old' is not a number"),
    (groups(ordinal={"a": ["low", "high"]}), "g.csv", "doc,a\nd,low\ne,hihg\n", 3, "Did you mean 'high'?"),
    (groups(ordinal={"a": ["low", "high"]}), "g.csv", "doc,a\nd,low\ne,low|mid\n", 3, "'mid' is not in the order"),
    (groups(ordinal={"b": ["low", "high"]}), "g.csv", "doc,a\nd,low\n", None, "names 'b', but the attributes are 'a'"),
    (groups(only=["gendre"]), "g.csv", "doc,gender\nd,f\n", None, "no attribute 'gendre'"),
    (named(":bias"), "g.csv", "doc,x\nd,0.5\ne,1.5\n", 3, "'1.5' is not a number from -1 to 1"),
    (named(":bais"), "g.csv", "doc,x\nd,0.5\n", None, "Did you mean 'bias'?"),
    (lambda path: read_groups(f"{path}:gains"), "g.txt", "q 1 d 1\n", None, "need a name"),
    (read_groups, "g.csv", "doc,attribute,value,weight\nd,g,f,0.5\nd,g,m,0.4\n", 3, "sum to 0.9"),
    (read_groups, "g.csv", "doc,attribute,value,weight\nd,g,f,1.5\nd,g,m,-0.5\n", 3, "the weight -0.5 is below 0"),
    (read_groups, "g.csv", "doc,attribute,value,weight\nd,g,f,0.5\ne,g,f,1\nd,g,f,0.5\n", 4, "twice, here and at line 2"),
    (read_groups, "g.csv", "doc,attribute,value,query\nd,g,f,q\nd,g,m,\n", 3, "without a query"),
    (named(""), "g.gmemb", "q d 0.5 0.5\nq e 0.5\n", 2, "3 fields"),
    (named(""), "g.gmemb", "q d 0.5 0.5\nq e 0.5 0.4\n", 2, "sum to 0.9"),
    (named(""), "g.gmemb", "q d 0.5 0.5\nq e 1.5 -0.5\n", 2, "is below 0"),
    (named(""), "g.gmemb", "q d 0.5 0.5\nq d 1 0\n", 2, "here and"),
    (groups(ordinal={"x": ["1", "2"]}), "g.txt", "d 1\n", None, "has a header"),
    (named(":gains"), "g.txt", "q 1 d 1\nq 2 d x\n", 2, "the gain 'x'"),
    (named(":gains"), "g.txt", "q 1 d 1\nq 2 d -1\n", 2, "is below 0"),
    (named(":gains"), "g.txt", "q 1 d 1\nq unknown d 1\n", 2, "which is no value"),
    (read_groups, "g.csv", "doc,attribute,value,weight\ne,g,f,1\nd,g,f,0.5\nd,g,unknown,0.5\n", 4, "is 'unknown' with weight 0.5"),
    (read_groups, "g.jsonl", '{"doc": "d", "g": "f"}\n{"doc": "e", "g": {"f": 0.5, "m": 0.5}}\n', 2, "Shares go into a long table doc, attribute, value, weight"),
    (read_groups, "g.jsonl", '{"doc": "d", "g": ["f"]}\n{"doc": "e", "g": [0.5]}\n', 2, "a JSON list of more than text"),
    (named(""), "g.csv", "doc,attribute,value\nd,gender,f\n", None, "no attribute 'x'; the attributes are 'gender'"),
    (named(":annotations"), "a.csv", "d,x\n,y\n", 2, "the document id is missing"),
    (named(":annotations"), "a.csv", "d,x\nd,y\n", 2, "has x 'y' here and 'x' at line 1"),
    # targets, intents, sequences
    (read_targets, "t.csv", "attribute,value,share\ng,f,0.5\ng,m,0.4\n", 3, "sum to 0.9"),
    (read_targets, "t.csv", "attribute,value,share\ng,f,1.5\ng,m,-0.5\n", 3, "the share -0.5 is below 0"),
    (read_targets, "t.csv", "attribute,value,share\ng,f,0.5\ng,f,0.5\n", 3, "has a share here and at line 2"),
    (read_targets, "t.csv", "attribute,value,share\ng,,1\n", 2, "the value id is missing"),
    (read_targets, "t.csv", "attribute,value,share\ng,f,0.5\ng,unknown,0.5\n", 3, "the value unknown never enters a target"),
    (lambda path: read_targets(f"g={path}"), "t.golddistr", "0.5\n\n0.x\n", 3, "the share '0.x'"),
    (lambda path: read_targets(f"g={path}"), "t.csv", "attribute,value,share\ng,f,1\n", None, "Leave out g= for a table"),
    (read_targets, "t.golddistr", "0.5\n0.5\n", None, "NAME="),
    (read_intents, "i.txt", "q 1 d 1\nq 1 d 2\n", 2, "has grade 2 here and 1 at line 1"),
    (read_intents, "i.txt", "q 1 d 1\nq d 2\n", 2, "3 fields"),
    (lambda path: read_intents(pl.DataFrame(INTENTS), path), "p.txt", "q 1 0.5\nq 2 0.4\n", 2, "sum to 0.9"),
    (lambda path: read_intents(pl.DataFrame(INTENTS), path), "p.txt", "q 1 0.5\nq 2 half\n", 2, "the probability 'half'"),
    (read_intents, "i.txt", "q 1 d 1\nq 2 d 2\nq 3 d one\n", 3, "the grade 'one'"),
    (read_sequence, "s.csv", "0.0,1\n0.1\n", 2, "is not a place and a query"),
    (read_sequence, "s.csv", "sequence,qid\n0.1,1\n", 1, "Remove the header"),
    (read_sequence, "s.csv", "0.0,1\n0.0,2\n", 2, "here and '1' at line 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "name", "content", "line", "words"), FILES, ids=[f"{i}-{f[1]}-{f[4][:24]}" for i, f in enumerate(FILES)]
)
def test_files(tmp_path: Path, reader: Any, name: str, content: str | bytes, line: int | None, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        reader(str(path))
    message = str(caught.value)
    assert words in message
    assert re.search(re.escape(str(path)) + (f":{line}[:,]" if line else "(?!:[0-9])"), message), message
    assert caught.value.line == line
    assert path.read_bytes() == before


D, Q = ["a", "b"], ["q", "q"]
FRAMES: list[tuple[Any, Any, int | None, str | None, str]] = [
    (read_run, pl.DataFrame({"query": Q, "doc": D, "score": [1.0, None]}), 1, "score", "the score is missing"),
    (read_run, pl.DataFrame({"query": Q, "doc": D, "score": [1.0, float("nan")]}), 1, "score", "nan"),
    (read_run, pl.DataFrame({"query": Q, "doc": ["a", None], "score": [1, 2]}), 1, "doc", "the document id is missing"),
    (read_run, pl.DataFrame({"query": Q, "doc": ["a", ""], "score": [1, 2]}), 1, "doc", "the document id is missing"),
    (read_run, pl.DataFrame({"query": Q, "doc": [1.0, 2.0], "score": [1, 2]}), None, "doc", "Float64"),
    (read_run, pl.DataFrame({"query": Q, "doc": [True, False], "score": [1, 2]}), None, "doc", "Boolean"),
    (read_run, pl.DataFrame({"query": Q, "doc": D, "score": [[1], [2]]}), None, "score", "List"),
    (read_run, pl.DataFrame({"query": [], "doc": [], "score": []}), None, None, "no rows"),
    (read_run, pd.DataFrame({"query": Q, "doc": [1, None], "score": [1, 2]}), None, "doc", "Float64"),
    (read_run, pd.DataFrame({"query": Q, "doc": D}), None, None, "no column 'score'"),
    (read_run, pd.DataFrame({"query": Q, "doc": ["a", 1], "score": [1, 2]}), None, "doc", "values of mixed types"),
    (read_run, pd.DataFrame([["q", "a", 1, 2]], columns=["query", "doc", "score", "score"]), None, None, "several columns have one name"),
    (read_run, pl.DataFrame({"query": Q, "doc": D, "score": [1, 2]}).to_arrow().to_batches()[0], None, None, "RecordBatch"),
    (read_groups, pl.DataFrame({"doc": D, "g": [1.0, float("inf")]}), 1, "g", "the value inf is not a finite number"),
    (read_groups, pl.DataFrame({"doc": D, "g": [{"x": 1}, None]}), None, "g", "values of type Struct"),
    (read_run, pa.table({"query": Q, "doc": D, "score": ["1", "x"]}), 1, "score", "the score 'x'"),
    (read_run, {"q": {"a": 1.0, "b": float("inf")}}, 1, "score", "inf"),
    (read_run, {"q": {"a": 1.0, "b": "2"}}, 1, "score", "'2'"),
    (read_run, {"q": {"a": 1.0}, "p": ["a"]}, None, None, "query 'p' has a list"),
    (read_run, {"q": {1.5: 1.0}}, None, None, "the document id 1.5"),
    (read_run, {}, None, None, "empty"),
    (read_run, {"q": []}, None, None, "no documents"),
    (read_run, {"q": {"a": 1.0, "b": 10**400}}, 1, "score", "is not a finite number"),
    (read_run, {"q": {"a": 1.0, "b": 10**5000}}, 1, "score", "is not a finite number"),
    (read_judgments, {"q": {"a": 10**400}}, 0, "grade", "is not a finite number"),
    (read_run, pd.DataFrame({"query": Q, "doc": D, "score": [10**400, 1]}), None, "score", "numbers too large for a column"),
    (read_run, pl.DataFrame({"query": Q, "doc": D, "score": pl.Series([10**400, 1], dtype=pl.Object)}), None, "score", "Object"),
    (read_run, {"q": {"\ud800": 1.0}}, None, None, "surrogate"),
    (read_run, {"\ud800": ["a"]}, None, None, "surrogate"),
    (read_run, pd.DataFrame({"query": Q, "doc": pd.Series(["\ud800", "b"], dtype=object), "score": [2, 1]}), None, "doc", "surrogate"),
    (read_groups, {"g": {"a": "\ud800"}}, None, "g", "cannot be used"),
    (read_groups, {"g": {"a": {"x": "1"}}}, None, "g", "cannot be used"),
    (read_groups, {"g": {"a": [["x"]]}}, None, "g", "cannot be used"),
    (read_groups, {"g": {"a": {"x": 0.5}}}, 0, None, "sum to 0.5"),
    (read_groups, {"g": {"a": {"x": 0.5, "y": 0.5}, "b": ["x", "y"]}}, None, "g", "cannot be used"),
    (read_groups, {"g": {1.0: "x"}}, None, None, "the document id 1.0"),
    (read_groups, {"g": ["x"]}, None, None, "no dictionaries of documents"),
    (groups(ordinal={"g": ["low", "unknown"]}), {"g": {"a": "low"}}, None, None, "which is no value"),
    (groups(bins={"g": [0, 10**400]}), {"g": {"a": 1}}, None, None, "are not all numbers"),
    (read_run, 3, None, None, "the type int cannot be read"),
    (read_judgments, pl.DataFrame({"query": Q, "doc": ["a", "a"], "grade": [1, 2]}), 1, None, "here and 1 at row 0"),
    (read_judgments, {"q": ["a"]}, None, None, "grades"),
    (read_judgments, {"q": {"a": None}}, 0, "grade", "None"),
    (read_groups, pl.DataFrame({"doc": ["a", "a"], "g": ["x", None]}), 1, None, "here and 'x' at row 0"),
    (read_groups, [pl.DataFrame({"doc": ["a"], "g": ["x"]})] * 2, None, None, "'g' is given twice"),
    (read_targets, {"g": {"f": 0.5}}, 0, None, "sum to 0.5"),
    (read_targets, {"g": {"f": float("nan"), "m": 1}}, 0, "share", "not a finite number"),
    (read_targets, {"g": {"f": 10**400}}, 0, "g", "is not a number"),
    (read_targets, {"g": {"\ud800": 1}}, None, None, "surrogate"),
    (read_targets, {"g": {"unknown": 0.5, "f": 0.5}}, 0, "value", "never enters a target"),
    (read_targets, {"g": ["f"]}, None, None, "the target of 'g' is a list"),
    (read_targets, [], None, None, "no targets"),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "source", "row", "column", "words"), FRAMES, ids=range(len(FRAMES)))
def test_frames_and_dictionaries(reader: Any, source: Any, row: int | None, column: str | None, words: str) -> None:
    with pytest.raises(InputError) as caught:
        reader(source)
    assert words in str(caught.value)
    assert (caught.value.row, caught.value.column) == (row, column)
    if row is not None:
        assert f"row {row}" in str(caught.value)


@pytest.mark.parametrize("reader", [read_run, read_judgments, read_groups, read_targets, read_intents, read_sequence])
def test_missing_files_and_empty_folders(tmp_path: Path, reader: Any) -> None:
    (tmp_path / "run-a.txt").write_text(GOOD)
    with pytest.raises(InputError, match=r"run-b.txt: no such file or folder.*Did you mean 'run-a.txt'\?"):
        reader(str(tmp_path / "run-b.txt"))
    with pytest.raises(InputError, match=r"NOFILE: no such file or folder for the \w.*pattern. Check the path.$"):
        reader(str(tmp_path / "NOFILE"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "_SUCCESS").write_text("")
    with pytest.raises(InputError, match="folder: the folder has no files to read"):
        reader(str(tmp_path / "folder"))
    with pytest.raises(InputError, match="no file matches this pattern"):
        reader(str(tmp_path / "*.tsv"))


def test_part_files_name_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(GOOD * 3)
    (tmp_path / "b").write_text("\nq1 Q0 d2 2 x t\n")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'b'}:2: the score 'x'")):
        read_run(tmp_path)
    (tmp_path / "b").write_text("query,doc,score\nq,d,1\n")
    with pytest.raises(InputError, match="TREC files and tables are mixed"):
        read_run(tmp_path)
    (tmp_path / "a").write_text("query,doc,rank\nq,d,1\n")
    with pytest.raises(
        InputError, match=r"the column 'rank' is not in all part files|the column 'score' is not in all"
    ):
        read_run(tmp_path)


def test_columns_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,doc,score,g,label\nq,a,1,f,1\nq,b,1,m,0\nq,a,2,m,0\n")
    run = read_run(path)
    with pytest.raises(InputError, match=r"log.csv:4: query 'q', doc 'a' has grade 0 here and 1 at line 2"):
        judgments_from_columns(run, "label")
    with pytest.raises(InputError, match=r"log.csv:4: doc 'a', query 'q' has g 'm' here and 'f' at line 2"):
        attributes_from_columns(run, ["g"])
    with pytest.raises(InputError, match=r"no further column 'lable'.*Did you mean 'label'\?"):
        judgments_from_columns(run, "lable")
