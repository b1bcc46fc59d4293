"""Integer codes for ids, and finding ids in tables, for millions of rows at a time.

Ids are strings and stay strings. Hashes only narrow the search: a match is believed after the strings themselves were
compared, so no two ids are ever taken for one another.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Codes, Integers
from lightmeter.io.id_column import IdColumn, as_series
from lightmeter.io.threads import in_threads


def freeze(array: AnyArray) -> AnyArray:
    """The array, no longer writable."""
    array.flags.writeable = False
    return array


def codes_of(column: pl.Series, vocabulary: list[str]) -> Codes:
    """Index of each string in the vocabulary, which must hold it."""
    # counted by polars: its series of a NumPy array would load masked arrays first
    lookup = pl.DataFrame({"id": pl.Series(vocabulary, dtype=pl.String)}).with_row_index("code")
    return (
        pl.DataFrame({"id": column})
        .join(lookup, on="id", how="left", maintain_order="left")["code"]
        .to_numpy()
        .astype(np.int32)
    )


def changes_of(code: NDArray[np.integer] | NDArray[np.floating]) -> Integers:
    """Rows at which a new value starts."""
    if len(code) == 0:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1]).astype(np.int64)


def values_of(code: Integers) -> Integers:
    """The different values, rising. NumPy's own ``unique`` hashes them, which costs many times as much where they are
    many, and would load masked arrays first.
    """
    ordered = np.sort(code)
    return ordered[changes_of(ordered)]


def distinct(code: NDArray[np.integer]) -> int:
    """Number of different values."""
    return len(changes_of(np.sort(code)))


Hashes = NDArray[np.uint64]
#: gives the groups of some rows
GroupOf = Callable[[Integers], NDArray[np.integer]]
#: rows worked on at a time: their hashes stay in the cache
STEP = 1 << 17
#: bits a table of entries has at least, at most, and until when it stays in the cache
_LEAST, _MOST, _CACHED = 10, 26, 20
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hash_ids(ids: pl.Series | IdColumn) -> Hashes:
    """64-bit hashes of strings, the same within one process."""
    if isinstance(ids, pl.Series):
        return ids.hash(seed=17).to_numpy()
    out = np.empty(len(ids), dtype=np.uint64)

    def fill(piece: tuple[int, Callable[[], pl.Series]]) -> None:
        start, series = piece
        part = series().hash(seed=17).to_numpy()
        out[start : start + len(part)] = part

    for _ in in_threads(fill, ids.pieces()):
        pass
    return out


def _table_bits(entries: int) -> int:
    """Bits of the slots' numbers: a slot in 64 is taken while the table stays in the cache, else one in 16 to 32."""
    roomy = min((64 * entries).bit_length(), _CACHED)
    return min(max((16 * entries).bit_length(), roomy, _LEAST), _MOST)


def _group_of(group: NDArray[np.integer] | GroupOf) -> GroupOf:
    return group if callable(group) else lambda rows: group[rows]


def mix(hashes: Hashes, group: NDArray[np.integer] | None) -> Hashes:
    """Hashes of (group, id) pairs; of the ids alone where there is no group."""
    if group is None:
        return hashes
    salt = (group.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    salt ^= salt >> np.uint64(29)
    salt ^= hashes
    return salt


class IdIndex:
    """An index over unique (group, id) pairs that finds the entries of other rows.

    Parameters
    ----------
    ids
        Strings, one per entry.
    group
        Codes of what the ids belong to (such as the query), or None.

    Notes
    -----
    A table of bits by hash turns away nearly all rows that are not in the index, a binary search finds the rest, and
    the strings are compared last. Where two entries share a hash, a join replaces the search.
    """

    def __init__(self, ids: pl.Series, group: NDArray[np.integer] | None = None) -> None:
        self.ids, self.group = ids, group
        plain = hash_ids(ids)
        hashes = mix(plain, group)
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]
        self._collides = bool((self._sorted[1:] == self._sorted[:-1]).any())
        bits = _table_bits(len(hashes))
        self._shift = np.uint64(64 - bits)
        self._bits = np.zeros(1 << bits, dtype=bool)
        # the ids alone: most rows are turned away before their group is looked at
        self._bits[(plain >> self._shift).astype(np.int64)] = True

    def find(
        self,
        ids: pl.Series | IdColumn,
        group: NDArray[np.integer] | GroupOf | None = None,
        hashes: Hashes | None = None,
    ) -> Codes:
        """The entry of each row, -1 where it has none.

        Parameters
        ----------
        ids, group
            The rows looked for; ``group`` wherever the index has one: their groups, or a function that gives those of
            some rows.
        hashes
            ``hash_ids(ids)``, where it is known already.
        """
        belongs = None if self.group is None or group is None else _group_of(group)
        if self._collides:
            return self._join(as_series(ids), None if belongs is None else belongs(np.arange(len(ids))))
        if hashes is None:
            hashes = hash_ids(ids)
        keys = hashes

        def near(start: int) -> tuple[Integers, Integers]:
            """Rows whose hash is in the index, and the entry that has it."""
            slot = (keys[start : start + STEP] >> self._shift).view(np.int64)
            rows = start + np.flatnonzero(self._bits.take(slot, mode="clip"))  # no slot is outside; clipping is faster
            h = mix(keys[rows], None if belongs is None else belongs(rows))
            at = np.searchsorted(self._sorted, h)
            at[at == len(self._sorted)] = 0
            hit = self._sorted[at] == h if len(self._sorted) else np.zeros(len(h), dtype=bool)
            return rows[hit], self._order[at[hit]]

        out = np.full(len(ids), -1, dtype=np.int32)
        for _, (found, entry) in in_threads(near, range(0, len(ids), STEP)):
            out[found] = entry
        rows = np.flatnonzero(out >= 0)
        same = (ids.gather(rows) == self.ids.gather(out[rows])).to_numpy()
        if self.group is not None and belongs is not None:
            same &= belongs(rows) == self.group[out[rows]]
        out[rows[~same]] = -1
        return out

    def _join(self, ids: pl.Series, group: NDArray[np.integer] | None) -> Codes:
        on = ["id"]
        entries = pl.DataFrame({"id": self.ids, "entry": np.arange(len(self.ids), dtype=np.int32)})
        rows = pl.DataFrame({"id": ids})
        if self.group is not None and group is not None:
            on.append("group")
            entries = entries.with_columns(group=pl.Series(np.asarray(self.group, dtype=np.int64)))
            rows = rows.with_columns(group=pl.Series(np.asarray(group, dtype=np.int64)))
        found = rows.join(entries, on=on, how="left", maintain_order="left")["entry"]
        return found.fill_null(-1).to_numpy().astype(np.int32)


def first_repeat(
    ids: pl.Series | IdColumn, group: NDArray[np.integer] | GroupOf, offsets: Integers, hashes: Hashes
) -> tuple[int, int] | None:
    """The first two rows of one group that have the same id, or None.

    Rows of a group are contiguous, from ``offsets[g]`` to ``offsets[g + 1]``. Works through whole groups of about a
    million rows at a time.
    """
    belongs = _group_of(group)
    parts, start, groups = [], 0, len(offsets) - 1
    while start < groups:
        end = int(np.searchsorted(offsets, offsets[start] + STEP, side="right")) - 1
        end = min(max(end, start + 1), groups)
        parts.append(offsets[start : end + 1])
        start = end

    def within(part: Integers) -> tuple[int, int] | None:
        rows = slice(int(part[0]), int(part[-1]))
        return _repeat_within(ids, belongs, rows, hashes[rows], np.diff(part))

    return next((pair for _, pair in in_threads(within, parts) if pair is not None), None)


def _repeat_within(
    ids: pl.Series | IdColumn, group: GroupOf, rows: slice, hashes: Hashes, lengths: Integers
) -> tuple[int, int] | None:
    if bool((lengths == lengths[0]).all()):  # groups of one length lie side by side, each a row of its own
        ordered = np.sort(hashes.reshape(len(lengths), -1), axis=1)
        mixed = hashes
    else:
        mixed = mix(hashes, group(np.arange(rows.start, rows.stop)))
        ordered = np.sort(mixed)[None, :]
    same = ordered[:, 1:] == ordered[:, :-1]
    if not same.any():
        return None
    suspects = np.flatnonzero(np.isin(mixed, ordered[:, 1:][same])) + rows.start
    frame = pl.DataFrame({"row": suspects, "group": group(suspects), "id": ids.gather(suspects)})
    twice = frame.group_by("group", "id", maintain_order=True).agg(pl.col("row")).filter(pl.col("row").list.len() > 1)
    if twice.is_empty():
        return None
    pairs = [tuple(r[:2]) for r in twice["row"].to_list()]
    return min(pairs, key=lambda p: p[1])
