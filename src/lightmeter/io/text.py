"""Text files: decompression, a scan of every byte on its way in, and exact lines.

Clean files take a fast path through Arrow. :class:`Scan` sits between the file and Arrow and looks at each byte once;
whatever the fast path would read differently from the rules (several blanks in a row, a lone carriage return, bytes
that are not UTF-8) raises :class:`Odd`, and the file is then read by exact lines.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Integers
from lightmeter.errors import InputError
from lightmeter.io.series import series_of

BOM = codecs.BOM_UTF8
SYSDESC = b"<SYSDESC>"
_PIECE = 1 << 18
_REFUSED = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"\x1f\x9d": "compress",
}


class Odd(Exception):
    """The file is not clean enough for the fast path."""


def open_bytes(path: str) -> Any:
    """Open a file for reading bytes, decompressing gzip and zstd (told by their first bytes, not by the name)."""
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


def line_finder(path: str, skip: int) -> Callable[[int], tuple[str, int]]:
    """A ``line_of`` that reads the file again when it is called."""

    def line_of(row: int) -> tuple[str, int]:
        return path, int(row_lines(read_lines(path), skip)[row])

    return line_of


class Scan(io.RawIOBase):
    """A file that checks its bytes while it is read; feed it to Arrow.

    Parameters
    ----------
    path
        The file.
    skip
        Bytes to pass over at the beginning (a byte-order mark, head lines).
    blanks
        Bytes that must not appear at all.
    single
        A byte that must not appear twice in a row, or None.

    Attributes
    ----------
    lines
        The number of lines read so far (a last line without an end counts).
    quotes, size
        The number of double quotes and of bytes read so far.
    """

    def __init__(self, path: str, skip: int = 0, blanks: bytes = b"", single: int | None = None) -> None:
        super().__init__()
        self._stream = open_bytes(path)
        self._never = (*blanks, 0)
        self._never_above = max(blanks, default=0) >= 32
        self._pair = None if single is None else single * 257
        self._single = single
        self._last = 10
        self._feeds = 0
        self._decoder: Any = None
        self.quotes = 0
        self.size = 0
        self.error: OSError | None = None
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
        return self._feeds + (self._last != 10)

    def read(self, size: int = -1) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            self.error = error
            raise
        if data:
            self._check(data)
        elif self._last == 13 or (self._decoder is not None and self._decoder.getstate()[0]):
            raise Odd
        return data

    def _check(self, data: bytes) -> None:
        everything = np.frombuffer(data, np.uint8)
        for start in range(0, len(data), _PIECE):
            piece = everything[start : start + _PIECE]
            feeds = int(np.count_nonzero(piece == 10))
            self._feeds += feeds
            if self._single is not None and self._pairs(piece):
                raise Odd
            # nearly always the line feeds are the only bytes below the space
            if self._last == 13 or np.count_nonzero(piece < 32) > feeds or self._never_above:
                self._check_controls(piece)
            self._last = int(piece[-1])
        self.size += len(data)
        self.quotes += data.count(b'"')
        if self._decoder is None and not data.isascii():
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        if self._decoder is not None:
            try:
                for start in range(0, len(data), _PIECE):
                    self._decoder.decode(data[start : start + _PIECE])
            except UnicodeDecodeError:
                raise Odd from None

    def _check_controls(self, piece: NDArray[np.uint8]) -> None:
        if any(np.count_nonzero(piece == c) for c in self._never):
            raise Odd
        if self._last == 13 and piece[0] != 10:
            raise Odd
        returns = np.flatnonzero(piece == 13)
        if returns.size and (piece[returns[returns < piece.size - 1] + 1] != 10).any():
            raise Odd

    def _pairs(self, piece: NDArray[np.uint8]) -> bool:
        if self._last == self._single and piece[0] == self._single:
            return True
        for shifted in (piece, piece[1:]):
            even = shifted[: shifted.size // 2 * 2]
            if np.count_nonzero(even.view(np.uint16) == self._pair):
                return True
        return False
