"""Plain run files, read by Arrow on its own while others work.

Nothing heavy is imported with this module: the command line starts to read the first run here, and imports the rest of
lightmeter meanwhile.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = ("query", "second", "doc", "rank", "score", "tag")
_PIECE = 1 << 18
_MARKS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf", b"PAR1")


class Reading:
    """A run file on its way into memory.

    Attributes
    ----------
    path
        The file.
    delimiter, fields
        What its lines look like.
    second
        Column 2 of the first line.
    """

    def __init__(self, path: str, delimiter: str, fields: int, second: str) -> None:
        self.path, self.delimiter, self.fields, self.second = path, delimiter, fields, second
        self._pool = ThreadPoolExecutor(1)
        self._table: Future[Any] | None = self._pool.submit(self._read)
        self._small: Future[int | None] = self._pool.submit(census, path)
        self._pool.shutdown(wait=False)

    def _read(self) -> pa.Table | None:
        """Column 2 is nearly always the same everywhere, which is cheap to see; else its values are coded."""
        table = read_columns(self.path, self.delimiter, self.fields, self.second)
        return read_columns(self.path, self.delimiter, self.fields) if table is None else table

    def take(self) -> pa.Table | None:
        """Arrow's table, None where it found something out of the ordinary; handed over once, so it can be freed."""
        table, self._table = self._table, None
        try:
            return None if table is None else table.result()
        except OSError:  # the exact reader says what is wrong
            return None

    def proven(self, rows: int) -> bool:
        """Whether nothing but one separator between fields and one end per line stands at or below the space.

        Arrow has seen ``fields - 1`` separators and an end in every line. If no more bytes than these are at or below
        the space (or beyond ASCII), there are no blank lines, carriage returns, other blanks or control characters; and
        if no two of them are neighbours, no field is empty.
        """
        return self._small.result() == rows * self.fields - open_end(self.path)


def read_ahead(spec: str) -> Reading | None:
    """Start to read a run as the command line names it, PATH or NAME=PATH, if it is one plain file."""
    from os.path import isfile

    path = spec if isfile(spec) else spec.partition("=")[2]
    return start_reading(path) if isfile(path) else None


def start_reading(path: str) -> Reading | None:
    """Start to read a file in the background, None unless its first lines are clean TREC lines.

    Only regular, uncompressed files are tried; the first lines must have the same number of fields, five or six,
    between single spaces or tabs, and a whole number as rank.
    """
    try:
        with open(path, "rb") as stream:
            if not stream.seekable():
                return None
            head = stream.read(1 << 14)
    except OSError:
        return None
    if head.startswith(_MARKS) or not head.isascii():
        return None
    lines = head.decode("ascii").split("\n")
    lines = lines[:100] if len(lines) > 100 else lines[:-1]
    if not lines or not lines[0].strip():
        return None
    delimiter = "\t" if "\t" in lines[0] else " "
    fields = len(lines[0].split(delimiter))
    clean = fields in (5, 6) and all(_is_clean(line, delimiter, fields) for line in lines)
    return Reading(path, delimiter, fields, lines[0].split(delimiter)[1]) if clean else None


def _is_clean(line: str, delimiter: str, fields: int) -> bool:
    cells = line.split(delimiter)
    return len(cells) == fields and len(line.split()) == fields and cells[3].isdigit() and not line.endswith("\r")


def read_columns(source: Any, delimiter: str, fields: int, constant: str | None = None) -> pa.Table | None:
    """Arrow's table of a run, None where a line has another number of fields or a score is no number.

    Parameters
    ----------
    source
        A path, or an Arrow file.
    delimiter, fields
        What lines look like.
    constant
        The only value that column 2 may have, if it need not be coded: the column is then of truth values.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    if isinstance(source, str):
        source = pa.OSFile(source)  # from a path Arrow would tell compression by the name
    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"query": coded, "second": coded, "doc": pa.string(), "score": pa.float64()}
    if constant is not None:
        types["second"] = pa.bool_()
    try:
        return csv.read_csv(
            source,
            read_options=csv.ReadOptions(column_names=_COLUMNS[:fields], block_size=1 << 21),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char=False, double_quote=False, escape_char=False
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
                true_values=[] if constant is None else [constant],
                false_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None


def census(path: str, piece_size: int = _PIECE) -> int | None:
    """Number of bytes at or below the space, or beyond ASCII; None where two of them are neighbours or the file begins
    with one.
    """
    import mmap

    import numpy as np

    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # beyond ASCII a signed byte is negative
        signed = np.frombuffer(data, np.int8)
        total, neighbours = 0, False
        below, both = np.empty(piece_size + 1, dtype=bool), np.empty(piece_size, dtype=bool)
        below[0] = True  # before the first byte
        for start in range(0, len(signed), piece_size):
            piece = signed[start : start + piece_size]
            n = len(piece)
            total += int(np.count_nonzero(np.less_equal(piece, 32, out=below[1 : n + 1])))
            neighbours = bool(np.logical_and(below[1 : n + 1], below[:n], out=both[:n]).any())
            if neighbours:
                break
            below[0] = below[n]
        del signed, piece
    return None if neighbours else total


def open_end(path: str) -> int:
    """1 where the last line has no end, else 0; 2 where it ends with a separator, so that its last field is empty."""
    with open(path, "rb") as stream:
        stream.seek(-1, 2)
        last = stream.read(1)
        return 0 if last == b"\n" else 2 if last in b" \t" else 1
