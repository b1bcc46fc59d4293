"""Text files: decompression, a scan of every byte on its way in, exact lines, and the fields of lines.

Arrow reads clean files fast. :class:`Scan` sits between the file and Arrow and looks at each byte once; whatever Arrow
would read differently from the rules (several blanks in a row, a lone carriage return, bytes that are not UTF-8) raises
:class:`Odd`, and the file is then read line by line.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Integers
from lightmeter.errors import InputError
from lightmeter.io.columns import fault, first
from lightmeter.io.forms import Form
from lightmeter.io.id_column import series_of
from lightmeter.io.sources import add_counts
from lightmeter.io.tables import Source, Table

BOM = codecs.BOM_UTF8
_REFUSED = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"\x1f\x9d": "compress",
}


class Odd(Exception):
    """The file is not clean enough for the fast path."""


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes, decompressing gzip and zstd (known by their first bytes, not by the name)."""
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
    except OSError as error:
        raise InputError(
            f"the file cannot be opened ({error.strerror})", where=path, hint="Check its permissions"
        ) from None
    for start, name in _REFUSED.items():
        if magic.startswith(start):
            raise InputError(
                f"the file is compressed with {name}",
                where=path,
                accepted="plain text, gzip, zstd",
                hint="Unpack it first",
            )
    if magic.startswith((b"\x1f\x8b", b"(\xb5/\xfd")):
        import pyarrow as pa

        codec = "gzip" if magic[0] == 0x1F else "zstd"
        return pa.CompressedInputStream(pa.OSFile(path), codec)
    return open(path, "rb", buffering=0)


def read_bytes(path: str, limit: int = -1) -> bytes:
    """Read a (decompressed) file, or at least its first ``limit`` bytes if it has them."""
    try:
        with open_bytes(path) as stream:
            if limit < 0 and isinstance(stream, io.RawIOBase):
                return stream.read() or b""
            chunks, size = [], 0
            while (limit < 0 or size < limit) and (chunk := stream.read(1 << 22 if limit < 0 else limit - size)):
                chunks.append(chunk)
                size += len(chunk)
            return b"".join(chunks)
    except OSError as error:
        raise broken(path, error) from None


def broken(path: str, error: OSError) -> InputError:
    """The error for a file that cannot be read to its end."""
    text = str(error)
    found = "the compressed file is cut short" if "runcated" in text else f"the file cannot be read ({text})"
    return InputError(
        found, where=path, accepted="a complete plain, gzip or zstd file", hint="Copy or download the file again"
    )


def head_lines(path: str, size: int = 1 << 16) -> list[str]:
    """The first lines of a file, for telling its format; damaged text is left for the readers to report."""
    data = read_bytes(path, size)
    if not data:
        raise InputError("the file is empty", where=path, hint="Check the program that wrote it")
    _refuse_binary(path, data)
    lines = data.removeprefix(BOM).decode("utf-8", "replace").split("\n")
    return lines[:-1] if len(lines) > 1 and len(data) >= size else lines


def _refuse_binary(path: str, data: bytes) -> None:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            "the file is encoded as UTF-16",
            where=path,
            line=1,
            accepted="UTF-8",
            hint="Convert it: iconv -f UTF-16 -t UTF-8",
        )
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise InputError(
            "a zero byte: this is not a text file", where=path, line=line, accepted="UTF-8 text, Parquet, gzip, zstd"
        )


def check_text(path: str, data: bytes) -> None:
    """Refuse bytes that are not UTF-8 text, naming the line."""
    _refuse_binary(path, data)
    if data.isascii():
        return
    try:
        codecs.utf_8_decode(data, "strict", True)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            where=path,
            line=line,
            accepted="UTF-8",
            hint="Convert it: iconv -f LATIN1 -t UTF-8",
        ) from None


def read_lines(path: str) -> pl.Series:
    """Every line of a text file, exactly: split at line feeds only, a byte-order mark removed, carriage returns and
    ends kept.

    Line ``i`` of the file is element ``i - 1``.
    """
    import pyarrow as pa

    data = read_bytes(path).removeprefix(BOM)
    if not data:
        raise InputError("the file is empty", where=path, hint="Check the program that wrote it")
    check_text(path, data)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + 1
    offsets = np.concatenate(([0], ends, [len(data)] if not data.endswith(b"\n") else [])).astype(np.int64)
    array = pa.Array.from_buffers(
        pa.large_string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return series_of("line", pa.chunked_array([array]))


def data_lines(path: str, accepted: str, skip: int = 0) -> tuple[pl.Series, Source, int]:
    """The lines after the first ``skip`` that are not blank, where each stands, and how many are blank."""
    lines = read_lines(path)
    rows = row_lines(lines, skip)
    if not len(rows):
        raise InputError(
            "the file has no data lines", where=path, accepted=accepted, hint="Check the program that wrote it"
        )
    blank = len(lines) - skip - len(rows)
    source = Source(path, (path,), lambda row: (path, int(rows[row])))
    return lines.gather(rows - 1) if len(rows) < len(lines) else lines, source, blank


def sysdesc_lines(lines: list[str]) -> int:
    """How many first lines belong to a ``<SYSDESC>`` (one line, or up to its closing tag)."""
    count = 0
    while count < len(lines) and lines[count].lstrip().startswith("<SYSDESC>"):
        open_at = count
        while count < len(lines) and "</SYSDESC>" not in lines[count]:
            count += 1
        count = count + 1 if count < len(lines) else open_at + 1
    return count


def row_lines(lines: pl.Series, skip: int) -> Integers:
    """The 1-based line of every data row: lines after the first ``skip`` that are not blank."""
    rows = np.flatnonzero(lines.str.contains(r"[^ \t\r\n]").to_numpy()) + 1
    return rows[rows > skip]


class Scan(io.RawIOBase):
    """A file whose bytes are looked at while Arrow reads them: what only the exact pass can judge raises :class:`Odd`.

    Refused are zero bytes, carriage returns without a line feed, and bytes that are not UTF-8.

    Parameters
    ----------
    path
        The file.
    skip
        Bytes to pass over at the beginning (a byte-order mark, head lines).
    never
        Further bytes that must not appear: single ones, or two in a row.

    Attributes
    ----------
    lines
        The number of lines read so far (a last line without an end counts).
    quotes, size
        The number of double quotes and of bytes read so far.
    """

    def __init__(self, path: str, skip: int = 0, never: Sequence[bytes] = ()) -> None:
        super().__init__()
        self._stream = open_bytes(path)
        self._never = (b"\0", *never)
        self._last = b"\n"
        self._feeds = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.quotes = 0
        self.size = 0
        while skip > 0 and (chunk := self._stream.read(skip)):
            skip -= len(chunk)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    @property
    def lines(self) -> int:
        return self._feeds + (self._last != b"\n")

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        edge = self._last + data[:1]  # the last byte of the piece before, and the first of this one
        returns = data.count(b"\r")
        if (
            any(one in data or one in edge for one in self._never)
            or (edge[:1] == b"\r" and edge != b"\r\n")
            or (returns and returns - data.endswith(b"\r") != data.count(b"\r\n"))
        ):
            raise Odd
        if not data or not data.isascii() or self._decoder.getstate()[0]:
            try:
                self._decoder.decode(data, not data)
            except UnicodeDecodeError:
                raise Odd from None
        self._feeds += data.count(b"\n")
        self.quotes += data.count(b'"')
        self.size += len(data)
        self._last = data[-1:] or self._last
        return data


# lines of fields between blanks

_BLANK = r"[ \t\r]"
_FIELD = r"[^ \t\r\n]+"


def read_fields(path: str, form: Form) -> Table:
    """Read lines of fields between blanks, as TREC writes them; the first line with another number of fields is
    refused.

    Blank lines and first ``<SYSDESC>`` lines are passed over and counted.
    """
    skip = sysdesc_lines(head_lines(path))
    lines, source, blank = data_lines(path, form.accepted, skip)
    widths = sorted(len(line) for line in form.lines)
    kept = {i for line in form.lines for i, name in enumerate(line) if name is not None}
    frame = lines.str.extract_groups(_pattern(widths[0], widths[-1], kept)).struct.unnest()
    if (row := first(frame["f0"].is_null())) is not None:
        text = str(lines[row])
        hint = "Correct this line"
        if "," in text and len(text.split()) < 3:
            hint = (
                "Fields are separated by spaces or tabs here; a comma-separated table needs a header with column names"
            )
        raise fault(_fields_of(text), source, row, accepted=form.accepted, hint=hint)
    line = _layout(frame, form, source)
    frame = frame.select(pl.col(f"f{i}").alias(name) for i, name in enumerate(line) if name is not None)
    return Table(frame, source, add_counts({"SYSDESC lines": skip, "blank lines": blank}), headless=True)


def _layout(frame: pl.DataFrame, form: Form, source: Source) -> tuple[str | None, ...]:
    """What the fields are; where that depends on their number, all lines have as many as the first."""
    long, short = form.lines[0], form.lines[-1]
    if long[: len(short)] == short:
        return long
    is_short = frame[f"f{len(long) - 1}"].is_null()
    if (row := first(is_short != is_short[0])) is not None:
        counts = [len(short) if is_short[i] else len(long) for i in (row, 0)]
        raise fault(
            f"{counts[0]} fields in a file whose first line has {counts[1]}", source, row, accepted=form.accepted
        )
    return short if is_short[0] else long


def _fields_of(text: str) -> str:
    n, text = len(text.split()), text.strip()
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f"{n} field{'s' * (n != 1)} in {shown!r}"


def _pattern(least: int, most: int, kept: set[int]) -> str:
    """A line of ``least`` to ``most`` fields, with a named group for each field that is kept."""
    fields = [f"(?<f{i}>{_FIELD})" if i in kept else _FIELD for i in range(most)]
    must = rf"{_BLANK}+".join(fields[:least])
    may = "".join(rf"(?:{_BLANK}+{one}" for one in fields[least:]) + ")?" * (most - least)
    return rf"^{_BLANK}*{must}{may}{_BLANK}*\n?$"
