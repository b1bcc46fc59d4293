"""Standard output, standard error, the terminal and its progress bar; pipes that close."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Self

from lightmeter.errors import LightmeterError
from lightmeter.results.text import printable

#: seconds after which work counts as long
_SHORT = 1.0


def say(text: str) -> None:
    """Print a message to standard error, named as ours. Where that is closed or full, nobody can be reached."""
    if sys.stderr is None:
        return
    try:
        print(f"lightmeter: {printable(text)}", file=sys.stderr, flush=True)
    except OSError:
        leave_pipes()


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


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; None where it is none."""
    import shutil

    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


class Progress:
    """A progress bar, where standard error is a terminal and the work takes more than a second."""

    def __init__(self, *, quiet: bool = False, what: str = "evaluating") -> None:
        self._what = what
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, done: int, total: int) -> None:
        """Show how much is done."""
        if not self._wanted or not total:
            return
        if self._bar is None:
            if time.monotonic() - self._started < _SHORT or done >= total:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=total)
        self._bar.update(self._task, completed=done)
