"""A progress bar, where somebody is looking and the work is long."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

_PATIENCE = 1.0


class Progress:
    """Shows nothing for a second, and nothing at all where standard error is not a terminal."""

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
        """So much is done."""
        if not self._wanted or not total:
            return
        if self._bar is None:
            if time.monotonic() - self._started < _PATIENCE or done >= total:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=total)
        self._bar.update(self._task, completed=done)
