"""What commands write: the result in a format, the manifest and the report."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lightmeter.cli.console import write_out
from lightmeter.cli.parsing import Request
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_writable, write_whole

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

#: formats that programs read; the others have notes below their table
DATA_FORMATS = ("csv", "jsonl", "parquet")
_ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
}
_WRITTEN = ("output", "manifest", "curve", "report")


def written_files(request: Request) -> list[tuple[str, str]]:
    """The options that name files to write, and the files."""
    named = [(f"--{option}", getattr(request, option)) for option in _WRITTEN]
    return [(option, path) for option, path in named if path is not None]


def check_outputs(request: Request) -> str:
    """Refuse what cannot be written, before anything is read; the format of the result."""
    if request.output == "-":
        request.output = None
    form = request.format or ending_format(request.output) or "table"
    if form == "parquet" and request.output is None:
        raise LightmeterError("the format parquet needs a file. Name it with -o FILE.parquet.")
    written = written_files(request)
    for option, path in written:
        check_writable(path, option)
        same = [o for o, other in written if o != option and os.path.realpath(other) == os.path.realpath(path)]
        if same:
            raise LightmeterError(f"{option} and {same[0]} are both {path}. Give them different names.")
    if request.report is not None:
        from lightmeter.report.public import check_report

        check_report(request.report)
    return str(form)


def ending_format(path: str | None) -> str | None:
    """The format that the ending of a file's name stands for."""
    return _ENDINGS.get(os.path.splitext(path or "")[1].lower())


def write_content(request: Request, content: bytes) -> None:
    """Write a result to the file that is named, else to standard output."""
    if request.output is not None:
        write_whole(request.output, content)
    else:
        write_out(content)


def write_manifest(
    request: Request,
    manifest: dict[str, Any],
    files: Sequence[str],
    started: float,
    more: dict[str, Any],
    *,
    within: Sequence[str] = (),
    result: Any = None,
    context: Callable[[], Context] | None = None,
    people: Any = None,
) -> None:
    """Write the manifest and the report, where the user named files for them.

    Parameters
    ----------
    request
        The options; its ``manifest`` and ``report`` name the files.
    manifest
        The result's own manifest.
    files
        All input files.
    started
        When the command started, in seconds.
    more
        What else the manifest says.
    within
        Input files that are named within measures and policies.
    result
        What the report is of.
    context
        Makes the rankings that were looked at, for the report.
    people
        A table of individual people for the report.
    """
    if request.manifest is None and request.report is None:
        return
    from datetime import UTC, datetime

    whole = {
        **manifest,
        "inputs": [*manifest["inputs"], *({"name": f, "files": [f]} for f in within)],
        "command": "lightmeter " + shlex.join(sys.argv[1:]),
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "seed": None,
        **more,
        "files": _file_digests([f for f in files if os.path.isfile(f)]),
    }
    if request.manifest is not None:
        write_whole(request.manifest, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())
    if request.report is not None and result is not None:
        from lightmeter.report.public import content_of

        content = content_of(result, context=None if context is None else context(), manifest=whole, people=people)
        write_whole(request.report, content)


def _file_digests(files: list[str]) -> list[dict[str, Any]]:
    """Size and SHA-256 of input files."""
    import hashlib

    out = []
    for path in files:
        digest = hashlib.sha256()
        with open(path, "rb") as handle:
            while chunk := handle.read(1 << 20):
                digest.update(chunk)
        out.append({"path": path, "bytes": os.path.getsize(path), "sha256": digest.hexdigest()})
    return out
