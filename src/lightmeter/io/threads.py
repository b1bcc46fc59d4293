"""Blocks in parallel: NumPy lets go of the interpreter while it works, so one thread per core is enough."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_local = threading.local()


def in_threads(work: Callable[[A], B], tasks: Iterable[A]) -> Iterator[tuple[A, B]]:
    """``(task, work(task))`` in the order of the tasks, a few computed ahead; the results do not depend on the number
    of threads. Within such a thread there are no further ones.
    """
    todo = list(tasks)
    workers = min(cores(), len(todo))
    if workers <= 1 or getattr(_local, "working", False):
        for task in todo:
            yield task, work(task)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(workers, initializer=lambda: setattr(_local, "working", True)) as pool:
        ahead: deque[tuple[A, Future[B]]] = deque()
        for task in todo:
            ahead.append((task, pool.submit(work, task)))
            if len(ahead) > 2 * workers:
                first, future = ahead.popleft()
                yield first, future.result()
        while ahead:
            first, future = ahead.popleft()
            yield first, future.result()
