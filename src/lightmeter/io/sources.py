"""What the user named: ``NAME=PATH``, ``PATH:kind``, folders and globs, turned into files that exist."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lightmeter.errors import InputError, suggest
from lightmeter.io.tables import Source

#: what a file of groups can be, besides a plain table
GROUP_KINDS = ("bias", "gains", "annotations", "gmemb")


@dataclass(frozen=True)
class Parts:
    """The files of one source, sorted, and what was passed over in its folder."""

    files: tuple[str, ...]
    ignored: dict[str, int] = field(default_factory=dict)


def is_path(source: object) -> bool:
    """Whether a source is a path (str or os.PathLike) rather than a table."""
    return isinstance(source, (str, os.PathLike))


def split_name(spec: str | os.PathLike[str]) -> tuple[str | None, str]:
    """Split ``NAME=PATH``; a path that exists (or a pattern that matches) is never split.

    Examples
    --------
    >>> split_name("bm25=runs/a.txt")
    ('bm25', 'runs/a.txt')
    >>> split_name("runs/fold=1/a.txt")
    (None, 'runs/fold=1/a.txt')
    """
    if not isinstance(spec, str):
        return None, os.fspath(spec)
    name, equals, path = spec.partition("=")
    if not equals or not name.strip() or "/" in name or os.sep in name or _found(spec):
        return None, spec
    return name.strip(), path


def split_kind(path: str) -> tuple[str, str | None]:
    """Split ``PATH:kind`` for a kind of :data:`GROUP_KINDS`; a path that exists is never split."""
    if os.path.exists(path) or ":" not in path:
        return path, None
    stem, _, kind = path.rpartition(":")
    if kind in GROUP_KINDS:
        return stem, kind
    if os.path.exists(stem):
        raise InputError(
            f"unknown kind {kind!r} after the path",
            where=stem,
            accepted=", ".join(f"PATH:{k}" for k in GROUP_KINDS),
            hint=f"{suggest(kind, GROUP_KINDS)} Leave out ':' and what follows for a plain table".strip(),
        )
    return path, None


def parts(path: str | os.PathLike[str], what: str | None = None) -> Parts:
    """Find the files of a file, a folder or a glob pattern; ``what`` is to be read from it, for messages.

    Files whose names begin with a dot or an underscore (``_SUCCESS``) and folders inside a folder are passed over and
    counted.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        found = sorted(os.path.join(path, name) for name in os.listdir(path))
    elif os.path.exists(path):
        if not os.path.isfile(path):
            raise InputError(
                "this is a pipe or device, and files are read more than once",
                where=path,
                accepted="a file on disk (gzip and zstd are fine as they are)",
            )
        return Parts((path,))
    elif _is_pattern(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise InputError(
                f"no file matches this pattern{_for(what)}",
                where=path,
                hint="Check the pattern, and quote it for the shell",
            )
    else:
        raise InputError(
            f"no such file or folder{_for(what)}" + (": standard input is not read" if path == "-" else ""),
            where=path,
            accepted="a file, a folder of part files or a pattern",
            hint="Write it to a file first" if path == "-" else _near(path),
        )
    files = [f for f in found if os.path.isfile(f) and os.path.basename(f)[0] not in "._"]
    if not files:
        raise InputError(
            "the folder has no files to read" if os.path.isdir(path) else "the pattern matches no file to read",
            where=path,
            accepted="part files; names that begin with '.' or '_' are passed over",
            hint="Name the folder that holds the part files themselves",
        )
    folders = sum(os.path.isdir(f) for f in found)
    hidden = len(found) - len(files) - folders
    return Parts(tuple(files), {k: n for k, n in (("hidden files", hidden), ("folders inside", folders)) if n})


def one_file(path: str | os.PathLike[str], what: str | None = None) -> str:
    """The path of a file that exists and is not a folder."""
    found = parts(path, what)
    if len(found.files) > 1 or os.path.isdir(os.fspath(path)):
        raise InputError(
            f"a folder or pattern cannot be read here{_for(what)}", where=os.fspath(path), accepted="one file"
        )
    return found.files[0]


def merge_sources(name: str, sources: Sequence[Source], rows: Sequence[int]) -> Source:
    """One source for tables put one after the other; ``rows`` are their lengths."""
    if len(sources) == 1:
        only = sources[0]
        return Source(name, only.files, only.line_of)
    ends = np.cumsum(np.asarray(rows, dtype=np.int64))

    def line_of(row: int) -> tuple[str, int]:
        part = int(np.searchsorted(ends, row, side="right"))
        inner = sources[part].line_of
        start = int(ends[part]) - rows[part]
        return inner(row - start) if inner is not None else (sources[part].name, row - start)

    return Source(name, tuple(f for s in sources for f in s.files), line_of)


def add_counts(*counts: dict[str, int]) -> dict[str, int]:
    """Add dictionaries of what was ignored; zero counts are left out."""
    total: dict[str, int] = {}
    for one in counts:
        for key, n in one.items():
            if n:
                total[key] = total.get(key, 0) + int(n)
    return total


def _is_pattern(path: str) -> bool:
    return any(c in path for c in "*?[")


def _found(path: str) -> bool:
    return os.path.exists(path) or (_is_pattern(path) and bool(glob.glob(path)))


def _near(path: str) -> str:
    folder = Path(path).parent
    if not folder.is_dir():
        return f"The folder {str(folder)!r} does not exist"
    names = {p.name.lower(): p.name for p in folder.iterdir() if p.name[0] not in "._"}
    near = difflib.get_close_matches(Path(path).name.lower(), names, n=1, cutoff=0.75)
    return f"Did you mean {names[near[0]]!r}? Check the path" if near else "Check the path"


def _for(what: str | None) -> str:
    return f" for the {what}" if what else ""
