"""Time whole processes: wall seconds and peak resident memory, runs of different jobs alternated.

Nothing heavy is imported here: a child's peak memory as the kernel reports it is never below its parent's.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

NOT_AGAIN = 90.0  # a job that took longer than this many seconds is not repeated


@dataclass
class Job:
    """A command to time; `read` turns what it printed into values to check and to show."""

    name: str
    command: list[str]
    read: Callable[[str], dict] = field(default=lambda text: json.loads(text.strip().splitlines()[-1]))
    seconds: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)
    values: dict = field(default_factory=dict)
    problem: str | None = None

    @property
    def wall(self) -> float | None:
        return median(self.seconds) if self.seconds else None

    @property
    def peak(self) -> float | None:
        """Megabytes (10^6)."""
        return max(self.peaks) if self.peaks else None

    def once(self, timeout: float) -> None:
        if not Path(self.command[0]).exists():
            self.problem = "not installed"
            return
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = time.perf_counter()
            child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            status, usage = _wait(child, timeout)
            wall = time.perf_counter() - started
            out.seek(0)
            err.seek(0)
            text, complaint = out.read().decode(errors="replace"), err.read().decode(errors="replace").strip()
        if status is None:
            self.problem = f"stopped after {timeout:.0f} s"
        elif status != 0:
            missing = "ModuleNotFoundError" in complaint or "No module named" in complaint
            last = complaint.splitlines()[-1] if complaint else ""
            self.problem = "not installed" if missing else f"failed ({status}): {last[:160]}"
        else:
            self.seconds.append(wall)
            self.peaks.append(usage.ru_maxrss * 1024 / 1e6)
            try:
                self.values = self.read(text)
            except (ValueError, KeyError, IndexError) as error:
                self.problem = f"output not understood: {error}"

    def record(self) -> dict:
        return {
            "name": self.name,
            "seconds": self.wall,
            "all_seconds": self.seconds,
            "peak_mb": self.peak,
            "values": self.values,
            "problem": self.problem,
            "command": self.command,
        }


def _wait(child: subprocess.Popen, timeout: float):
    """(exit status, resource usage of the child and of what it waited for); status None when out of time."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        if time.monotonic() > deadline:
            child.kill()
            child.wait()
            return None, None
        time.sleep(pause)


def alternate(jobs: list[Job], repeats: int, timeout: float, say: Callable[[str], None]) -> None:
    """Run every job once, then every job again, `repeats` times."""
    for turn in range(repeats):
        for job in jobs:
            if job.problem or (turn and job.seconds[0] > NOT_AGAIN):
                continue
            job.once(timeout)
            say(f"  {job.name}: {job.problem or f'{job.seconds[-1]:.2f} s, {job.peaks[-1]:.0f} MB'}")
