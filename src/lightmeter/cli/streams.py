"""Standard output and standard error, and pipes that close."""

from __future__ import annotations

import os
import sys

from lightmeter.errors import LightmeterError


def write_out(content: bytes) -> None:
    """Write to standard output, bytes as they are."""
    if sys.stdout is None:
        raise LightmeterError("standard output is closed. Open it, or name a file with -o.")
    try:
        sys.stdout.flush()
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(content.decode())
        else:
            binary.write(content)
            binary.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LightmeterError(f"standard output cannot be written: {error.strerror or error}.") from None


def is_terminal() -> bool:
    """Whether somebody reads standard output in a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def leave_pipes() -> None:
    """Leave nothing behind that would be flushed into a closed pipe (or a full disk) when the process ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
