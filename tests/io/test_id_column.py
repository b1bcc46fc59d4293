"""Ids that stay in Arrow's memory give what a series of them gives."""

import numpy as np
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lightmeter.data.ids import IdIndex, hash_ids
from lightmeter.io.id_column import IdColumn, as_series

chunks = st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=6), max_size=5)


def column(parts: list[list[str]]) -> IdColumn:
    # a slice, so that chunks do not begin where their buffers do
    arrays = [pa.array(["zz", *part], pa.string()).slice(1) for part in parts]
    return IdColumn(pa.chunked_array(arrays, pa.string()))


@given(chunks, st.data())
def test_a_column_is_its_series(parts: list[list[str]], data: st.DataObject) -> None:
    ids, flat = column(parts), [text for part in parts for text in part]
    series = pl.Series("doc", flat, dtype=pl.String)
    assert as_series(ids).to_list() == flat
    assert len(ids) == len(flat)
    assert [ids[i] for i in range(len(flat))] == flat
    assert hash_ids(ids).tolist() == hash_ids(series).tolist()
    rows = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=12)) if flat else []
    assert ids.gather(np.array(rows, dtype=np.int64)).to_list() == [flat[i] for i in rows]
    index = IdIndex(series.unique(maintain_order=True))
    assert index.find(ids).tolist() == index.find(series).tolist()


def test_many_rows_are_gathered_from_the_whole_series() -> None:
    ids = column([[str(i) for i in range(1000)], [str(-i) for i in range(500)]])
    rows = np.random.default_rng(1).integers(0, 1500, 200_000)
    assert ids.gather(rows).equals(as_series(ids).gather(rows))
