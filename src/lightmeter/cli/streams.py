"""Standard output and standard error, and pipes that close."""

from __future__ import annotations

import os
import sys


def write_out(content: bytes) -> None:
    """Write to standard output, bytes as they are."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(content.decode())
    else:
        binary.write(content)
        binary.flush()


def leave_pipes() -> None:
    """Leave nothing behind that would be flushed into a closed pipe when the process ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
